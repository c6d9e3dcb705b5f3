"""Arithmetic on terms: numbers in, numbers out; None stands for SPARQL's type error.

Integers and decimals are exact, except that a division keeps 18 decimal places (cut, not rounded, as oxigraph does);
dividing them by zero is an error, and so is arithmetic on a decimal of more than 20,000 characters. Floats and doubles
follow IEEE 754 without a minus zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any

from heliograph import values
from heliograph.semantics.comparison import promote
from heliograph.terms import Term, TermKind, value_of
from heliograph.values import NUMERIC, Kind, Value

_PLACES = 18  # decimal places that a division keeps
_LONGEST = 20_000  # characters of an operand: dividing takes time quadratic in them, 13 s for half a million
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)  # never used to divide
_DATATYPES = {
    Kind.INTEGER: values.XSD_INTEGER,
    Kind.DECIMAL: values.XSD_DECIMAL,
    Kind.FLOAT: values.XSD_FLOAT,
    Kind.DOUBLE: values.XSD_DOUBLE,
}
_PLAIN: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_DECIMAL: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _EXACT.add,
    "-": _EXACT.subtract,
    "*": _EXACT.multiply,
}


def calculate(symbol: str, left: Term, right: Term) -> Term | None:
    """`left symbol right` for + - * /."""
    one, other = value_of(left), value_of(right)
    if one is None or other is None or one.kind not in NUMERIC or other.kind not in NUMERIC:
        return None
    if len(left.value) > _LONGEST or len(right.value) > _LONGEST:
        return None
    kind, pair = promote(one, other)
    if symbol == "/":
        return _divide(kind, pair.left, pair.right)
    apply = _DECIMAL[symbol] if kind is Kind.DECIMAL else _PLAIN[symbol]
    return number(kind, apply(pair.left, pair.right))


def negate(operand: Term) -> Term | None:
    value = value_of(operand)
    if value is None or value.kind not in NUMERIC:
        return None
    negated = value.value.copy_negate() if isinstance(value.value, Decimal) else -value.value  # type: ignore[operator]
    return number(value.kind, negated)


def number(kind: Kind, result: int | Decimal | float) -> Term:
    """The canonical literal of a number."""
    if isinstance(result, float):
        result = (values.to_float32(result) if kind is Kind.FLOAT else result) + 0.0  # no minus zero
    return Term(TermKind.LITERAL, values.canonical(Value(kind, result)), _DATATYPES[kind])


def _divide(kind: Kind, left: Any, right: Any) -> Term | None:
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        return number(kind, left / right if right else _by_zero(left))
    if not right:
        return None
    return number(Kind.DECIMAL, _quotient(left, right))


def _by_zero(dividend: float) -> float:
    return math.nan if dividend == 0 or math.isnan(dividend) else math.copysign(math.inf, dividend)


def _quotient(left: int | Decimal, right: int | Decimal) -> Decimal:
    upper, lower = left.as_integer_ratio(), right.as_integer_ratio()
    dividend, divisor = upper[0] * lower[1] * 10**_PLACES, upper[1] * lower[0]
    cut = abs(dividend) // abs(divisor)
    return Decimal(cut if (dividend < 0) == (divisor < 0) else -cut).scaleb(-_PLACES, _EXACT)
