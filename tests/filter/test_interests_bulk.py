"""Pattern sets in bulk: every subscription gets the interest of its query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.filter import interests as bulk
from heliograph.filter.interests import Interest, Interests, interest_of, interests_of
from heliograph.sparql.regions import Atom
from heliograph.sparql.tables import PatternSet, Reader, read_patterns
from heliograph.taxonomy import Taxonomy
from heliograph.terms import plain_name
from heliograph.vocabulary import Vocabulary
from heliograph.workloads.filter import generate_filter

Row = tuple[str, str, str, str]
PATTERNS = ["subscription_id", "subject", "property", "object"]
CONSTRAINTS = ["subscription_id", "variable", "operator", "value"]
TAXONOMY = Taxonomy([(plain_name("n1"), plain_name("C")), (plain_name("C"), plain_name("D"))])


def table(names: Sequence[str], rows: Iterable[Row]) -> pa.Table:
    columns = list(zip(*rows)) or [()] * 4
    return pa.table({name: pa.array(list(column), pa.string()) for name, column in zip(names, columns)})


def pattern_set(patterns: Iterable[Row], constraints: Iterable[Row] = ()) -> PatternSet:
    return read_patterns(table(PATTERNS, patterns), table(CONSTRAINTS, constraints), Reader())


def single(interests: Interests, number: int) -> Interest:
    """One interest, out of its columns."""
    edges = slice(*interests.edge_offsets[number : number + 2])
    conjuncts = range(*interests.conjunct_offsets[number : number + 2])
    return Interest(
        tuple(zip(*(column[edges].tolist() for column in interests.edges))),
        tuple((int(interests.conjuncts.variable[each]), alternatives(interests, each)) for each in conjuncts),
        int(interests.flags[number]),
    )


def alternatives(interests: Interests, conjunct: int) -> tuple[Atom, ...]:
    rows = slice(*interests.conjuncts.offsets[conjunct : conjunct + 2])
    return tuple(Atom(*atom) for atom in zip(*(column[rows].tolist() for column in interests.conjuncts.atoms)))


def meaning(interest: Interest) -> tuple[Any, ...]:
    """An interest as sets; a conjunct without atoms never holds, of whichever variable."""
    conjuncts = {(variable if atoms else None, frozenset(atoms)) for variable, atoms in interest.conjuncts}
    return set(interest.edges), conjuncts, interest.flags


def check_law(patterns: PatternSet, taxonomy: Taxonomy, rows: Sequence[int]) -> None:
    vocabulary = Vocabulary()
    numbers = [7 * row for row in rows]
    found = interests_of(patterns, rows, numbers, vocabulary, taxonomy)
    assert found.numbers.tolist() == numbers
    assert len(found.edge_offsets) == len(found.conjunct_offsets) == len(found.flags) + 1 == len(rows) + 1
    assert [column.dtype for column in found.edges] == [np.dtype(np.int32)] * 3
    for place, row in enumerate(rows):
        assert meaning(single(found, place)) == meaning(interest_of(patterns.query(row), vocabulary, taxonomy))


IDS = [f"s{number}" for number in range(8)]
ENDS = ["?x", "?y", "?z", "_:b", "n1", "n2", "C"]
PROPERTIES = ["p", "q", "r", "?p", "?x", "a", "rdfs:member", "rdfs:subClassOf"]
VALUES = [
    "5",
    "5.0",
    "5e0",
    "5.5",
    "0.1",
    "-3",
    "+7",
    "7",
    "1e400",
    "12345678901234567890",
    ".",
    "n1",
    '"a"',
    '"5"^^xsd:int',
]
VALUES += ['"INF"^^xsd:double', '"2020-01-01"^^xsd:date', "5G", "true", "?y", "?x", '"NaN"^^xsd:double', "1.", "0.5"]
CLASSES = ["C", "D", "n1", "?y", "?d"]

edges = st.tuples(
    st.sampled_from(IDS), st.sampled_from(ENDS), st.sampled_from(PROPERTIES), st.sampled_from([*ENDS, "5", "05"])
)
plain_edges = st.tuples(st.sampled_from(IDS), st.sampled_from(ENDS), st.just("p"), st.sampled_from(ENDS))
variables = st.sampled_from(["?x", "y", "?z"])
ranges = st.tuples(
    st.sampled_from(IDS),
    variables,
    st.sampled_from(["<", "<=", ">", ">=", "="]),
    st.sampled_from(["3", "5", "5.0", "7", "5e0", "7.5"]),
)
limits = st.one_of(
    ranges,
    st.tuples(
        st.sampled_from(IDS), variables, st.sampled_from(["<", "<=", ">", ">=", "=", "!="]), st.sampled_from(VALUES)
    ),
    st.tuples(
        st.sampled_from(IDS),
        variables,
        st.sampled_from(["is-a", "direct-is-a", "subclass-of", "superclass-of"]),
        st.sampled_from(CLASSES),
    ),
    st.tuples(st.sampled_from(IDS), variables, st.just("in"), st.sampled_from(["[]", "[5]", '["n1", "0.1", "C"]'])),
    st.tuples(
        st.sampled_from(IDS), variables, st.sampled_from(["contains", "starts-with", "regex"]), st.just("abcdef")
    ),
)
BOUND: list[Row] = [(id, variable, "bound", "?z") for id in IDS for variable in ("?x", "?y")]


@given(
    st.lists(st.one_of(edges, plain_edges), max_size=30),
    st.lists(st.one_of(ranges, limits), max_size=24),
    st.sampled_from([Taxonomy(), TAXONOMY]),
    st.data(),
)
@settings(max_examples=300, deadline=None)
def test_an_interest_in_bulk_is_that_of_the_query(
    patterns: list[Row], constraints: list[Row], taxonomy: Taxonomy, data: st.DataObject
) -> None:
    made = pattern_set([*BOUND, *patterns], constraints)
    right = [row for row in range(len(made)) if row not in made.errors]
    check_law(made, taxonomy, data.draw(st.permutations(right)))


@pytest.mark.parametrize("options", [{}, {"constraints": 0.5}, {"classes": 20}, {"one_structure": True}], ids=str)
def test_workloads(options: dict[str, Any]) -> None:
    made = generate_filter(subscriptions=300, publications=5, seed=3, **options)
    patterns = read_patterns(made["patterns"], made["constraints"], Reader())
    check_law(patterns, Taxonomy.read(made["taxonomy"]), range(len(patterns)))


def test_numbers_and_ranges_make_no_terms() -> None:
    """Bounds are coordinates: a vocabulary that remembered each of them would grow with every subscription."""
    made = pattern_set(BOUND, [(id, "?x", ">=", str(number)) for number, id in enumerate(IDS)])
    vocabulary = Vocabulary()
    interests_of(made, range(len(made)), range(len(made)), vocabulary, Taxonomy())
    assert [str(vocabulary.term(id)) for id in range(len(vocabulary))] == ["bound"]


def test_equal_constraints_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Mock(side_effect=interest_of)
    monkeypatch.setattr("heliograph.filter.interests.interest_of", compiler)
    made = pattern_set(BOUND, [(id, "?x", "contains", "RSS") for id in IDS])
    interests_of(made, range(len(made)), range(len(made)), Vocabulary(), TAXONOMY)
    assert compiler.call_count == 1


def test_too_many_edges_for_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST_VARIABLES", 9)
    rows = [("s0", "?x", f"p{number}", "?y") for number in range(9)]
    made = pattern_set([*rows, *BOUND])
    check_law(made, Taxonomy(), range(len(made)))
