"""Comparing terms by value, as SPARQL 1.1 does; None stands for SPARQL's type error everywhere.

The laws: `compare("!=", a, b)` is the negation of `compare("=", a, b)`, an error staying an error; `<` and `>` are
mirrors of each other; two identical terms are equal unless they are not-a-number.

Literals of different families (numbers, texts, booleans, dateTimes, dates) are incomparable: both `=` and `!=` are
errors, as are those of ill-typed or unknown literals unless they are the same term. An IRI or a blank node is simply
different from any other term, and is ordered only against itself: any term is `<=` itself. Texts are ordered by code
point within one language.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from heliograph import values
from heliograph.terms import RDF_LANG_STRING, Term, TermKind, value_of
from heliograph.values import ATTO, NUMERIC, XSD_STRING, Instant, Kind, Value

ZONE_DOUBT = 14 * 3600 * ATTO  # a zone lies within 14 hours of UTC, so an unknown one shifts no further than that
_TEXTS = (XSD_STRING, RDF_LANG_STRING)

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Pair(NamedTuple):
    """Two Python values of one kind that Python's own operators compare as SPARQL wants."""

    left: Any
    right: Any


def compare(symbol: str, left: Term, right: Term, tolerance: float = 0.0) -> bool | None:
    """`left symbol right`; numbers that are floats and differ by no more than `tolerance` count as equal."""
    if symbol == "=":
        return equal(left, right, tolerance)
    if symbol == "!=":
        same = equal(left, right, tolerance)
        return None if same is None else not same
    pair = _ordered(left, right)
    if pair is None:
        return symbol in ("<=", ">=") if left == right else None
    if tolerance and _close(pair, tolerance):
        return symbol in ("<=", ">=")
    return _OPERATORS[symbol](*pair)


def equal(left: Term, right: Term, tolerance: float = 0.0) -> bool | None:
    """Equality of values; None where the two are incomparable."""
    if left.kind is not TermKind.LITERAL or right.kind is not TermKind.LITERAL:
        return left == right
    if left.datatype in _TEXTS and right.datatype in _TEXTS:
        return left == right
    one, other = value_of(left), value_of(right)
    if one is None or other is None:
        return True if left == right else None
    if one.kind in NUMERIC and other.kind in NUMERIC:
        pair = promote(one, other)[1]
        return pair.left == pair.right or bool(tolerance and _close(pair, tolerance))
    if one.kind is not other.kind:
        return None
    return _same_instant(one.value, other.value) if isinstance(one.value, Instant) else one.value == other.value


def effective_boolean(term: Term) -> bool | None:
    """SPARQL's effective boolean value: of booleans, numbers and plain strings; anything else is an error."""
    if term.datatype == XSD_STRING:
        return term.value != ""
    value = value_of(term)
    if value is None or isinstance(value.value, Instant):
        return None
    return bool(value.value) and value.value == value.value  # not-a-number is false


def promote(left: Value, right: Value) -> tuple[Kind, Pair]:
    """Two numbers in the wider of their kinds: integer < decimal < float < double."""
    kind = max(left.kind, right.kind)
    convert = _CONVERSIONS[kind]
    return kind, Pair(convert(left.value), convert(right.value))


def _ordered(left: Term, right: Term) -> Pair | None:
    """The two as ordered Python values, or None where `<` is an error."""
    one, other = value_of(left), value_of(right)
    if one is None or other is None:
        texts = left.datatype in _TEXTS and left[2:] == right[2:]
        return Pair(left.value, right.value) if texts else None
    if one.kind in NUMERIC and other.kind in NUMERIC:
        return promote(one, other)[1]
    if one.kind is not other.kind:
        return None
    if isinstance(one.value, Instant) and isinstance(other.value, Instant):
        return _ordered_instants(one.value, other.value)
    return Pair(one.value, other.value)


def _ordered_instants(left: Instant, right: Instant) -> Pair | None:
    if (left.zone is None) != (right.zone is None) and abs(left.atto - right.atto) <= ZONE_DOUBT:
        return None
    return Pair(left.atto, right.atto)


def _same_instant(left: Any, right: Any) -> bool:
    """A dateTime without a zone is never known to equal one with a zone, and counts as different from it."""
    return (left.zone is None) == (right.zone is None) and left.atto == right.atto


def _close(pair: Pair, tolerance: float) -> bool:
    floats = isinstance(pair.left, float) and isinstance(pair.right, float)
    return floats and math.isclose(pair.left, pair.right, rel_tol=0.0, abs_tol=tolerance)


def _to_double(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _to_float(number: Any) -> float:
    return values.to_float32(_to_double(number))


_CONVERSIONS: dict[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: int,
    Kind.DECIMAL: Decimal,
    Kind.FLOAT: _to_float,
    Kind.DOUBLE: _to_double,
}
