"""Sets of coordinates: their algebra is that of sets, and they come out as few intervals."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.sparql.regions import (
    DOUBLE,
    EMPTY,
    EXACT,
    HIGH_OPEN,
    INEXACT,
    LOW_OPEN,
    ROUNDED,
    WHOLE,
    Atom,
    Domain,
    Line,
    Place,
    above,
    atoms,
    below,
    complement,
    intersection,
    point,
    union,
)
from tests.filter.membership import SURE, Located, lies_in

INF = float("inf")
COORDINATES = (-INF, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, INF)

_ends = st.sampled_from([-INF, 0.0, 1.0, 2.0, INF])
_cuts = st.sampled_from([EXACT, DOUBLE])
_simple: st.SearchStrategy[Line] = st.one_of(
    st.builds(below, _ends, _cuts, st.booleans()),
    st.builds(above, _ends, _cuts, st.booleans()),
    st.builds(point, _ends, _cuts),
    st.sampled_from([EMPTY, WHOLE]),
)


def _combined(parts: st.SearchStrategy[Line]) -> st.SearchStrategy[Line]:
    several = st.lists(parts, max_size=4)
    return st.one_of(several.map(union), several.map(intersection), parts.map(complement))


lines = st.recursive(_simple, _combined, max_leaves=8)


def members(line: Line) -> set[float]:
    """The coordinates that exact values in the set have."""
    found = atoms(Domain.NUMBER, line)
    return {at for at in COORDINATES if lies_in(found, Located(Place(Domain.NUMBER, at), frozenset())) == SURE}


def possible(line: Line) -> set[float]:
    """The coordinates that values in the set may have, rounded ones included."""
    found = atoms(Domain.NUMBER, line)
    return {at for at in COORDINATES if lies_in(found, Located(Place(Domain.NUMBER, at, True), frozenset()))}


@settings(max_examples=300)
@given(st.lists(lines, max_size=4))
def test_union_and_intersection_are_those_of_sets(several: list[Line]) -> None:
    whole = set(COORDINATES)
    sets = [members(line) for line in several]
    assert members(union(several)) == set().union(*sets)
    assert members(intersection(several)) == whole.intersection(*sets)
    assert possible(union(several)) >= set().union(*map(possible, several))
    for line, its in zip(several, sets, strict=True):
        assert members(complement(line)) == whole - its
        assert complement(complement(line)) == line


def test_intervals_are_few() -> None:
    low, high = above(1.0, EXACT, True), below(2.0, EXACT, False)
    assert atoms(2, intersection([low, high])) == [Atom(2, 1.0, 2.0, HIGH_OPEN)]
    assert atoms(2, union([low, high])) == [Atom(2, -INF, INF)]
    assert atoms(2, union([below(1.0, EXACT, False), low])) == [Atom(2, -INF, INF)]
    assert atoms(2, intersection([below(1.0, EXACT, False), low])) == []
    assert atoms(2, complement(point(1.0, EXACT))) == [Atom(2, -INF, 1.0, HIGH_OPEN), Atom(2, 1.0, INF, LOW_OPEN)]


def test_a_rounded_value_may_pass_between_a_double_and_a_number() -> None:
    number, double = below(1.0, EXACT, False), above(1.0, DOUBLE, True)
    assert atoms(2, intersection([number, double])) == [Atom(2, 1.0, 1.0, ROUNDED)]
    assert atoms(2, union([number, double])) == [Atom(2, -INF, 1.0), Atom(2, 1.0, INF)]


def test_a_rounded_constant_leaves_its_own_place_in_doubt() -> None:
    under, over = below(1.0, INEXACT, False), above(1.0, INEXACT, True)
    assert atoms(2, under) == [Atom(2, -INF, 1.0, ROUNDED)]
    assert atoms(2, intersection([under, over])) == [Atom(2, 1.0, 1.0, ROUNDED)]
    assert atoms(2, union([under, over])) == [Atom(2, -INF, 1.0, ROUNDED), Atom(2, 1.0, INF, ROUNDED)]
    assert atoms(2, complement(point(1.0, INEXACT))) == [Atom(2, -INF, 1.0, ROUNDED), Atom(2, 1.0, INF, ROUNDED)]
