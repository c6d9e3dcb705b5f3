"""Rows of a pattern become the solutions that extend them; the limits of a count say where its condition holds.

Modes, groups and top-k sets: `test_oracle`, `test_modes`.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import Query
from heliograph.sparql.solve import ValuesStep
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import parse_cell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.changes import CountRule, SolutionBuilder, limits_of

TERMS = [parse_cell(cell) for cell in ("a", "b", "c", "9", "10", '"x"', "_:n")]
QUERIES = (
    "SELECT * { ?x :p [ :q ?y ] }",
    "SELECT * { ?x :p ?y FILTER(?x != ?y && STR(?y) != 'x') }",
    "SELECT * { ?x :p ?y FILTER(?x = ?y || ?x < 10) }",
    "SELECT * { ?x :p ?y VALUES (?x ?z) { (:a UNDEF) (:a UNDEF) (UNDEF 1) (:b 2) } VALUES ?y { :a :b 9 } }",
    "SELECT * { ?x :p ?y VALUES (?x ?z) { (:a UNDEF) (UNDEF 1) } VALUES ?z { 1 2 } FILTER(BOUND(?z) || ?x = ?y) }",
)


def query_of(text: str) -> Query:
    return parse_sparql(text, verb="watch")


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(QUERIES), st.sets(st.tuples(*[st.integers(0, len(TERMS) - 1)] * 3), max_size=9))
def test_rows_become_the_solutions_of_the_solver(text: str, drawn: set[tuple[int, ...]]) -> None:
    query, vocabulary = query_of(text), Vocabulary()
    slots = Query(patterns=query.patterns).variables[::-1]
    rows = sorted({row[: len(slots)] for row in drawn})
    ids = [[vocabulary.intern(TERMS[term]) for term in row] for row in rows]
    builder = SolutionBuilder(query, slots, vocabulary, query.filters)
    found = builder(np.array(ids, np.int32).reshape(len(ids), len(slots)))
    expected = [dict(zip(slots, (TERMS[term] for term in row), strict=True)) for row in rows]
    for block in query.values:
        expected = [extended for each in expected for extended in ValuesStep(block).extend(each)]
    holding = (each for each in expected if all(Condition.of(test).holds(each) for test in query.filters))
    made = [frozenset(builder.solution(row).items()) for row in found.terms.tolist()]
    assert len(set(made)) == len(made)
    assert set(made) == {frozenset(each.items()) for each in holding}
    assert list(found.origins) == sorted(found.origins)


# --- limits -----------------------------------------------------------------------------------------------------

NUMBERS = ("0", "1", "3", "2.5", "-1", "1e0", "7.0", "3e300", '"3"^^xsd:float', "9007199254740993", "1e19")
CONDITIONS = st.recursive(
    st.builds(
        lambda number, operator, flipped: (
            f"{number} {operator} COUNT(*)" if flipped else f"COUNT(*) {operator} {number}"
        ),
        st.sampled_from(NUMBERS),
        st.sampled_from(("<", "<=", ">", ">=", "=", "!=")),
        st.booleans(),
    ),
    lambda inner: st.builds(
        lambda one, other, join: f"!({one})" if join == "!" else f"({one} {join} {other})",
        inner,
        inner,
        st.sampled_from(("&&", "||", "!")),
    ),
    max_leaves=3,
)
COUNTS = [*range(12), 2**53, 2**53 + 1, 2**53 + 2, 10**19 // 2, 2**63 - 1]


@settings(deadline=None, max_examples=300)
@given(CONDITIONS)
def test_limits_are_where_the_condition_holds(condition: str) -> None:
    query = query_of(f"ASK {{ ?x :p ?y }} HAVING ({condition})")
    assert query.having is not None
    limits, test = limits_of(query.having), Condition.of(query.having)
    held = [test.holds({}, count=count) for count in COUNTS]
    if limits is None:
        edges = sum(one != other for one, other in pairwise(held))
        assert edges != 1 or "=" in condition
    else:
        assert held == [limits.enter_low <= count <= limits.enter_high for count in COUNTS]
        assert limits[:2] == limits[2:]


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("number", ["3", "2.5", "0", "1e0"])
@pytest.mark.parametrize("hysteresis", [0.5, 1.0, 2.0, 1e300])
def test_limits_with_hysteresis(operator: str, number: str, hysteresis: float) -> None:
    query = query_of(f"ASK {{ ?x :p ?y }} HAVING (COUNT(*) {operator} {number})")
    assert query.having is not None
    limits, rule = limits_of(query.having, hysteresis), CountRule(query, hysteresis)
    assert limits is not None
    for count in range(12):
        assert (limits.enter_low <= count <= limits.enter_high) == rule.holds((), count, False)
        assert (limits.stay_low <= count <= limits.stay_high) == rule.holds((), count, True)


@pytest.mark.parametrize("condition", ["COUNT(*) + 1 > 2", "COUNT(*) > 'many'", "COUNT(*) != 2", "COUNT(*) = COUNT(*)"])
def test_what_is_no_range(condition: str) -> None:
    having = query_of(f"ASK {{ ?x :p ?y }} HAVING ({condition})").having
    assert having is not None
    assert limits_of(having) is None
