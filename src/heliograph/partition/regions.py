"""The terms that satisfy a condition on one variable, exactly: a region, and the algebra of regions.

Every term is of one sort. Names, texts, booleans and odd literals are told apart by identity alone, so a region has
either some of them or all but some; numbers and moments lie on a line and a region has intervals of it (`cuts`). A
region may also be just these terms, where VALUES asks for identity and not for value.

The laws: `meet` and `join` are intersection and union, exactly, as long as no region of given terms is joined with one
by value (then the join holds their equals, too); `within` says yes only of a subset.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache
from math import isnan
from typing import NamedTuple

from heliograph.partition.cuts import WHOLE, Line, Number, line_holds, line_join, line_meet, line_within
from heliograph.terms import RDF_LANG_STRING, Term, TermKind, literal, value_of
from heliograph.values import XSD_BOOLEAN, XSD_STRING, Instant, Kind

TRUE, FALSE = literal("true", XSD_BOOLEAN), literal("false", XSD_BOOLEAN)


class Sort(IntEnum):
    """Where a term belongs; the first ones by identity, the others on lines."""

    IRI = 0
    BLANK = 1
    TEXT = 2  # xsd:string and language-tagged
    ODD = 3  # ill-typed literals and unknown datatypes
    BOOLEAN = 4
    NAN = 5  # floats and doubles that are no number: at 0
    EXACT = 6  # integers and decimals
    SINGLE = 7  # xsd:float
    DOUBLE = 8
    TIME = 9  # xsd:dateTime with a zone, in attoseconds
    LOCAL_TIME = 10
    DATE = 11
    LOCAL_DATE = 12


FIRST_LINE = Sort.NAN
NUMBERS = (Sort.EXACT, Sort.SINGLE, Sort.DOUBLE)
LITERALS = tuple(sort for sort in Sort if sort > Sort.BLANK)


class Some(NamedTuple):
    """These terms of a sort or, with `but`, all of it but these."""

    but: bool
    terms: frozenset[Term] = frozenset()


Part = Some | Line

NONE, ALL = Some(False), Some(True)
_BOTH = Some(False, frozenset((TRUE, FALSE)))  # there are no other booleans, so all of them are these two
_EMPTY_PARTS: tuple[Part, ...] = tuple(NONE if sort < FIRST_LINE else () for sort in Sort)


class Region(NamedTuple):
    """A part for each sort; or, where `among` is given, just these terms."""

    parts: tuple[Part, ...] = _EMPTY_PARTS
    among: frozenset[Term] | None = None


def whole(sort: Sort) -> Part:
    if sort == Sort.BOOLEAN:
        return _BOTH
    return ALL if sort < FIRST_LINE else WHOLE


def region(parts: dict[Sort, Part]) -> Region:
    """A region from its parts; sorts that are not given are empty."""
    return normal(tuple([parts.get(sort, _EMPTY_PARTS[sort]) for sort in Sort]))


def normal(parts: tuple[Part, ...]) -> Region:
    """One spelling for each region: what amounts to a few terms is just these terms."""
    if any(parts[FIRST_LINE:]):
        return Region(parts)
    named: set[Term] = set()
    for sort in range(FIRST_LINE):
        part = parts[sort]
        assert isinstance(part, Some)
        if part.but:
            return Region(parts)
        named |= part.terms
    return just(named)


def number_region(lines: tuple[Part, ...], nan: Part = ()) -> Region:
    """Numbers on the lines of exact ones, floats and doubles; with `nan`, what is no number, too."""
    return normal((*_EMPTY_PARTS[: Sort.NAN], nan, *lines, *_EMPTY_PARTS[Sort.TIME :]))


def just(terms: frozenset[Term] | set[Term]) -> Region:
    return Region(_EMPTY_PARTS, frozenset(terms))


EVERYTHING = Region(tuple(whole(sort) for sort in Sort))
NOTHING = just(frozenset())


# --- single terms -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def place_of(term: Term) -> tuple[Sort, Number | None]:
    """The sort of a term and its value there; None where terms are told apart by identity."""
    value = value_of(term)
    if value is None:
        return _sort_of_unvalued(term), None
    kind, known = value
    if isinstance(known, Instant):
        first = Sort.TIME if kind is Kind.DATETIME else Sort.DATE
        return Sort(first + (known.zone is None)), known.atto
    if kind is Kind.BOOLEAN:
        return Sort.BOOLEAN, None
    if isinstance(known, float):
        sort = Sort.SINGLE if kind is Kind.FLOAT else Sort.DOUBLE
        return (Sort.NAN, 0) if isnan(known) else (sort, known)
    return Sort.EXACT, known


def _sort_of_unvalued(term: Term) -> Sort:
    if term.kind is not TermKind.LITERAL:
        return Sort.IRI if term.kind is TermKind.IRI else Sort.BLANK
    return Sort.TEXT if term.datatype in (XSD_STRING, RDF_LANG_STRING) else Sort.ODD


def holds(region: Region, term: Term) -> bool:
    """Whether a term lies in a region."""
    if region.among is not None:
        return term in region.among
    sort, value = place_of(term)
    part = region.parts[sort]
    if isinstance(part, Some):
        return (term in part.terms) != part.but
    assert value is not None
    return line_holds(part, value)


# --- algebra ----------------------------------------------------------------------------------------------------


def meet(one: Region, other: Region) -> Region:
    """What lies in both."""
    if one is EVERYTHING or other is EVERYTHING:
        return other if one is EVERYTHING else one
    if one.among is not None:
        return just({term for term in one.among if holds(other, term)})
    if other.among is not None:
        return just({term for term in other.among if holds(one, term)})
    return normal(tuple(_parts_meet(one.parts, other.parts)))


def join(one: Region, other: Region) -> Region:
    """What lies in either."""
    if one.among is not None and other.among is not None:
        return just(one.among | other.among)
    return normal(tuple([_part_join(*pair) for pair in zip(_parts(one), _parts(other), strict=True)]))


def within(one: Region, other: Region) -> bool:
    """Whether all that lies in one region lies in the other."""
    if one is other or other is EVERYTHING:
        return True
    if one.among is not None:
        return all(holds(other, term) for term in one.among)
    if other.among is not None:
        return False  # one has a whole interval, or all but some of a sort
    return all(
        mine is theirs or _part_within(mine, theirs) for mine, theirs in zip(one.parts, other.parts, strict=True)
    )


def _parts(region: Region) -> tuple[Part, ...]:
    """The parts of a region, with the equals of given terms."""
    if region.among is None:
        return region.parts
    parts = list(_EMPTY_PARTS)
    for term in region.among:
        sort, value = place_of(term)
        point: Part = Some(False, frozenset((term,))) if value is None else ((value, 0), (value, 1))
        parts[sort] = _part_join(parts[sort], point)
    return tuple(parts)


def _parts_meet(one: tuple[Part, ...], other: tuple[Part, ...]) -> Iterator[Part]:
    """Part by part. Lines that exact numbers and doubles share stay one object: there are very many of them."""
    known: dict[tuple[int, int], Part] = {}
    for mine, theirs in zip(one, other, strict=True):
        if mine is theirs:
            yield mine
            continue
        pair = id(mine), id(theirs)
        if pair not in known:
            known[pair] = _part_meet(mine, theirs)
        yield known[pair]


def _part_meet(one: Part, other: Part) -> Part:
    if isinstance(one, Some) and isinstance(other, Some):
        if one.but and other.but:
            return Some(True, one.terms | other.terms)
        some, rest = (other, one) if one.but else (one, other)
        return Some(False, some.terms - rest.terms if rest.but else some.terms & rest.terms)
    assert not isinstance(one, Some)
    assert not isinstance(other, Some)
    return line_meet(one, other)


def _part_join(one: Part, other: Part) -> Part:
    if one is other:
        return one
    if isinstance(one, Some) and isinstance(other, Some):
        if not one.but and not other.but:
            return Some(False, one.terms | other.terms)
        rest, some = (one, other) if one.but else (other, one)
        return Some(True, rest.terms & some.terms if some.but else rest.terms - some.terms)
    assert not isinstance(one, Some)
    assert not isinstance(other, Some)
    return line_join(one, other)


def _part_within(one: Part, other: Part) -> bool:
    if isinstance(one, Some) and isinstance(other, Some):
        if one.but:
            return other.but and other.terms <= one.terms
        return not (one.terms & other.terms) if other.but else one.terms <= other.terms
    assert not isinstance(one, Some)
    assert not isinstance(other, Some)
    return line_within(one, other)


def convex(region: Region) -> Region:
    """A region with the gaps of its lines filled."""
    if region.among is not None:
        return region
    return normal(tuple([part if isinstance(part, Some) or not part else (part[0], part[-1]) for part in region.parts]))
