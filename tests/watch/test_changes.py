"""The limits of a count say where its condition holds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.evaluate import Condition
from heliograph.sparql.query import Query
from heliograph.sparql.templates import parse_sparql
from heliograph.watch.changes import CountRule, limits_of


def query_of(text: str) -> Query:
    return parse_sparql(text, verb="watch")


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
