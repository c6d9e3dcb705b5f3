"""How far a region reaches, as two numbers in one order of all terms: what tells most regions apart at once.

The law: if one region is within another, its extent is within the other's. Sorts follow each other; on a line a place
keeps the 48 leading binary digits of its float64, which is monotone. Terms that are told apart by identity alone lie
where they were first met.
"""

from __future__ import annotations

import struct
from math import inf
from typing import NamedTuple

from heliograph.partition.cuts import Number
from heliograph.partition.regions import NONE, Part, Region, Some, place_of
from heliograph.terms import Term

_BITS = 59  # of a place within its sort, so that all sorts fit into 63
_ROUNDED = 64 - _BITS
_SIGN = 1 << 63


class Extent(NamedTuple):
    """The first and the last place of a region; the last lies before the first where there is nothing in it."""

    low: int
    high: int


class Extents:
    """Extents of regions, with the places of the terms that these name."""

    def __init__(self) -> None:
        self._places: dict[Term, int] = {}

    def of(self, region: Region) -> Extent:
        if region.among is not None:
            places = [self._of_term(term) for term in region.among]
            return Extent(min(places), max(places)) if places else Extent(1, 0)
        spans = [self._span(sort, part) for sort, part in enumerate(region.parts) if part and part != NONE]
        return Extent(spans[0][0], spans[-1][1]) if spans else Extent(1, 0)

    def _of_term(self, term: Term) -> int:
        sort, value = place_of(term)
        return (sort << _BITS) | (self._named(term) if value is None else _squeezed(value))

    def _named(self, term: Term) -> int:
        return self._places.setdefault(term, len(self._places))

    def _span(self, sort: int, part: Part) -> tuple[int, int]:
        base = sort << _BITS
        if isinstance(part, Some):
            if part.but:
                return base, base | ((1 << _BITS) - 1)
            places = [self._named(term) for term in part.terms]
            return base | min(places), base | max(places)
        return base | _squeezed(part[0][0]), base | _squeezed(part[-1][0])


def _squeezed(value: Number) -> int:
    """The leading digits of a number, as an integer in the same order."""
    try:
        number = float(value)
    except OverflowError:
        number = inf if value > 0 else -inf
    bits: int = struct.unpack("Q", struct.pack("d", number + 0.0))[0]
    return (bits ^ (2 * _SIGN - 1) if bits & _SIGN else bits | _SIGN) >> _ROUNDED
