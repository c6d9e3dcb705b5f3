"""Constraint tables: a member stands under its most selective condition, and is found for every value that suits it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.filter.interests import Interest
from heliograph.filter.layout import FIRST_ENTRY, SCANNED, TABLES
from heliograph.filter.search import search
from heliograph.filter.segment import FEW, choose
from heliograph.sparql.regions import Atom, Domain
from tests.filter.index_worlds import TERMS, answers_of, batch_of, columns_of, segment_of

_INFINITE = float("inf")
EDGE = ((~0, 0, ~1),)
POINT, BOUNDED = Atom(Domain.NUMBER, 2, 2), Atom(Domain.NUMBER, 1, 2)
HALF, OPEN = Atom(Domain.NUMBER, 1, _INFINITE), Atom(Domain.NUMBER, -_INFINITE, _INFINITE)
ABOVE = Atom(Domain.SUPERCLASS_OF, 1, 1)
WIDTHS = [POINT, BOUNDED, HALF, OPEN, ABOVE]


@given(st.lists(st.lists(st.sampled_from(WIDTHS), max_size=4), max_size=6))
def test_the_most_selective_conjunct_is_chosen(members: list[list[Atom]]) -> None:
    columns = columns_of([Interest(EDGE, tuple((1, (atom,)) for atom in member)) for member in members])
    chosen = choose(columns.conjuncts, columns.conjunct_offsets)
    for member, conjunct, begin in zip(members, chosen.tolist(), columns.conjunct_offsets.tolist()):
        widths = [WIDTHS.index(atom) for atom in member]
        if min(widths, default=4) == 4:
            assert conjunct == -1
        else:
            assert conjunct == begin + widths.index(min(widths))


@pytest.mark.parametrize("members", [1, FEW, FEW + 1, 40])
def test_tables_are_made_for_many(members: int) -> None:
    asked = [Interest(EDGE, ((1, (Atom(Domain.NUMBER, number, number + 1),)),)) for number in range(members)]
    (structure,) = segment_of(asked).index.structures
    assert structure[SCANNED] == (members if members <= FEW else 0)
    assert structure[TABLES] == (members > FEW)


def test_members_without_a_usable_conjunct_are_tried_one_by_one() -> None:
    asked = [Interest(EDGE)] * 3 + [Interest(EDGE, ((0, (ABOVE,)),))] * 3 + [Interest(EDGE, ((1, (POINT,)),))] * 4
    (structure,) = segment_of(asked).index.structures
    assert structure[SCANNED] == 6


def test_each_variable_and_domain_has_a_table() -> None:
    texts = Atom(Domain.TEXT, 11, 11)
    asked = [Interest(EDGE, ((1, (POINT, texts)),))] * 5 + [Interest(EDGE, ((0, (Atom(Domain.IRI, 0, 0),)),))] * 5
    segment = segment_of(asked)
    assert segment.index.structures[0, TABLES] == 3
    assert np.diff(segment.index.tables[:, FIRST_ENTRY]).tolist() == [5, 5, 5]
    found = answers_of(search(segment, batch_of([((1, 0, 6),), ((1, 0, 11),), ((0, 0, 0),), ((0, 0, 6),)]), 0))
    assert found.sure == {
        *((row, number) for row in (0, 1, 3) for number in range(5)),
        *((row, number) for row in (2, 3) for number in range(5, 10)),
    }


_ends = st.one_of(st.integers(0, 4).map(float), st.sampled_from([-_INFINITE, _INFINITE]))
_intervals = st.tuples(_ends, _ends).map(sorted)


@pytest.mark.parametrize("size", [1, 2, 9, 1000])
@settings(max_examples=25)
@given(drawn=st.lists(_intervals, min_size=1, max_size=12), value=st.integers(5, 7))
def test_a_value_finds_the_intervals_that_hold_it(size: int, drawn: list[list[float]], value: int) -> None:
    """Infinite ends, points and duplicates, however many."""
    intervals = (drawn * size)[:size]
    number = float(TERMS[value].value)
    asked = [Interest(EDGE, ((1, (Atom(Domain.NUMBER, low, high),)),)) for low, high in intervals]
    found = answers_of(search(segment_of(asked), batch_of([((0, 0, value),)]), 0))
    assert found.sure == {(0, place) for place, (low, high) in enumerate(intervals) if low <= number <= high}
