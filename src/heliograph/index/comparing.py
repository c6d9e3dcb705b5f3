"""Where a comparison with a constant is true, and where it is false; elsewhere it is an error.

The laws come from `semantics.comparison`: `!=` is true where `=` is false; `<` is false where `>=` is true, and of
not-a-number; literals of different families are incomparable, an IRI or a blank node is simply different from
everything else and `<=` itself alone.

Sets are supersets where a line cannot say it exactly; `Truth.exact` tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from heliograph.index.domains import Domain, Place, instant_place, place_of
from heliograph.index.lines import DOUBLE, EXACT, INEXACT, WHOLE, Line, above, below, complement, point
from heliograph.semantics.comparison import ZONE_DOUBT
from heliograph.terms import Term, value_of
from heliograph.values import XSD_DOUBLE, Instant

Lines = dict[int, Line]  # by domain; empty where there is none

PLACES = tuple(domain for domain in Domain if domain <= Domain.FLOAT)
EVERYWHERE: Lines = dict.fromkeys(PLACES, WHOLE)
NAMES: Lines = dict.fromkeys((Domain.IRI, Domain.BLANK), WHOLE)
LITERALS: Lines = {domain: WHOLE for domain in PLACES if domain not in NAMES}
NUMBERS: Lines = dict.fromkeys((Domain.NUMBER, Domain.FLOAT), WHOLE)
_NO_NUMBER: Lines = {Domain.NAN: WHOLE}
_OTHER_ZONE = {
    Domain.TIME: Domain.LOCAL_TIME,
    Domain.LOCAL_TIME: Domain.TIME,
    Domain.DATE: Domain.LOCAL_DATE,
    Domain.LOCAL_DATE: Domain.DATE,
}
NEGATED = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
MIRRORED = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


class Truth(NamedTuple):
    """Where something is true, and whether that says it all."""

    lines: Lines
    exact: bool = True


def comparison(symbol: str, constant: Term, wanted: bool, intern: Callable[[Term], int]) -> Truth:
    """Where `?x symbol constant` is true, or with `wanted` false where it is false."""
    place = place_of(constant, intern)
    domain = place.domain
    if symbol in ("=", "!="):
        return _different(constant, place) if (symbol == "!=") == wanted else _equal(constant, place)
    truth = _ordered(symbol if wanted else NEGATED[symbol], constant, place)
    if not wanted and domain in (Domain.NUMBER, Domain.FLOAT, Domain.NAN):
        return Truth({**truth.lines, **_NO_NUMBER, **(NUMBERS if domain == Domain.NAN else {})}, truth.exact)
    return truth


def identity(constant: Term, intern: Callable[[Term], int]) -> Truth:
    """Where a term is that very constant; several numbers and moments of one value share a place."""
    place = place_of(constant, intern)
    if place.domain == Domain.FLOAT:
        return Truth({Domain.FLOAT: WHOLE}, False)
    shared = place.domain in (Domain.NUMBER, Domain.TIME, Domain.DATE)
    return Truth({place.domain: point(place.coordinate, _cut(constant, place))}, not shared)


def _equal(constant: Term, place: Place) -> Truth:
    domain = place.domain
    if domain == Domain.NAN:
        return Truth({})
    if domain == Domain.FLOAT:
        return Truth(NUMBERS, False)
    lines = {domain: point(place.coordinate, _cut(constant, place))}
    return Truth({**lines, Domain.FLOAT: WHOLE} if domain == Domain.NUMBER else lines)


def _different(constant: Term, place: Place) -> Truth:
    domain = place.domain
    if domain in NAMES:
        return Truth({**EVERYWHERE, domain: _hole(constant, place)})
    if domain == Domain.ODD:
        return Truth(NAMES)
    if domain in (Domain.NAN, Domain.FLOAT):
        return Truth({**NAMES, **NUMBERS, **_NO_NUMBER}, domain == Domain.NAN)
    lines = {**NAMES, domain: _hole(constant, place)}
    if domain == Domain.NUMBER:
        lines |= {Domain.FLOAT: WHOLE, Domain.NAN: WHOLE}
    elif domain in _OTHER_ZONE:
        lines[_OTHER_ZONE[Domain(domain)]] = WHOLE
    return Truth(lines)


def _hole(constant: Term, place: Place) -> Line:
    return complement(point(place.coordinate, _cut(constant, place)))


def _ordered(symbol: str, constant: Term, place: Place) -> Truth:
    domain = place.domain
    if domain == Domain.NUMBER:
        return Truth({domain: _ray(symbol, place, _cut(constant, place)), Domain.FLOAT: WHOLE})
    if domain in _OTHER_ZONE:
        return Truth({domain: _ray(symbol, place, _cut(constant, place)), **_across_zones(symbol, constant)})
    if domain == Domain.BOOLEAN:
        return Truth({domain: _ray(symbol, place, EXACT)})
    if domain in (Domain.TEXT, Domain.FLOAT):
        return Truth({domain: WHOLE} if domain == Domain.TEXT else NUMBERS, False)
    same = symbol in ("<=", ">=") and domain != Domain.NAN
    return Truth({domain: point(place.coordinate, EXACT)} if same else {})


def _across_zones(symbol: str, constant: Term) -> Lines:
    """A moment with a zone and one without are ordered only where no zone could turn them round."""
    value = value_of(constant)
    assert value is not None
    assert isinstance(value.value, Instant)
    doubt = -ZONE_DOUBT if symbol[0] == "<" else ZONE_DOUBT
    other = 0 if value.value.zone is None else None
    place = instant_place(value.kind, Instant(value.value.atto + doubt, other))
    return {place.domain: _ray(symbol[0], place, INEXACT if place.rounded else EXACT)}


def _ray(symbol: str, place: Place, cut: int) -> Line:
    side = below if symbol[0] == "<" else above
    return side(place.coordinate, cut, len(symbol) == 2)


def _cut(constant: Term, place: Place) -> int:
    if place.rounded:
        return INEXACT
    return DOUBLE if constant.datatype == XSD_DOUBLE else EXACT
