"""Where a constant cuts a line of values: the place on each line before which lie the values below the constant.

Numbers are compared after promotion to the wider kind, so one constant cuts three lines at three places: exact numbers
(integers and decimals), xsd:float and xsd:double. A cut is (value, 0) before all that equal the value, (value, 1)
behind them. The law: `x < c` holds exactly of the values before `cuts_of(c)` with side 0, `x <= c` exactly of those
before the ones with side 1. An exact number is rounded before it meets a double, so a double cuts the exact line
halfway between its neighbours; ties go to the even one.
"""

from __future__ import annotations

import struct
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import inf, isinf, nextafter
from typing import NamedTuple

from heliograph.values import Kind, Value, to_float32

Number = int | Decimal | Fraction | float
Cut = tuple[Number, int]
Line = tuple[Cut, ...]  # what lies from the first cut to the second, from the third to the fourth, …

START: Cut = (-inf, 0)
END: Cut = (inf, 1)
WHOLE: Line = (START, END)
_DOUBLES_END = 2**1024  # what would come after the largest double, were there no infinity
_SINGLES_END = 2**128
_UNIFORM = 2**24  # up to here an integer is a float32, so that it cuts all three lines alike


class NumberCuts(NamedTuple):
    """Where a constant cuts the lines of exact numbers, floats and doubles."""

    exact: Cut
    single: Cut
    double: Cut


@lru_cache(maxsize=4096)
def cuts_of(constant: Value, side: int) -> NumberCuts:
    """The cuts of a number that is one."""
    kind, value = constant
    assert isinstance(value, (int, Decimal, float))
    if kind == Kind.DOUBLE:
        assert isinstance(value, float)
        return NumberCuts(_before_rounding(value, side), (value, side), (value, side))
    if kind == Kind.FLOAT:
        assert isinstance(value, float)
        return NumberCuts(_before_rounding(*_before_single(value, side)), (value, side), (value, side))
    exact = (value, side)
    if isinstance(value, int) and -_UNIFORM <= value <= _UNIFORM:
        return NumberCuts(exact, exact, exact)
    double = _to_double(value)
    single = to_float32(double)
    return NumberCuts(
        exact, exact if single == value else (single, side), exact if double == value else (double, side)
    )  # equal cuts are one object: forms by the hundred thousand keep them


def _to_double(value: int | Decimal | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _before_rounding(value: float, side: int) -> Cut:
    """Where exact numbers begin whose double is `value` or, with side 1, above it."""
    if isinf(value) and (value > 0) == bool(side):
        return END if side else START
    low, high = (value, nextafter(value, inf)) if side else (nextafter(value, -inf), value)
    middle = (_exact(low, _DOUBLES_END) + _exact(high, _DOUBLES_END)) / 2
    return middle, side if _is_even(value, "d", "q") else 1 - side


def _before_single(value: float, side: int) -> tuple[float, int]:
    """The same for doubles that are rounded to a float."""
    if isinf(value) and (value > 0) == bool(side):
        return value, side
    low, high = (value, _next_single(value)) if side else (-_next_single(-value), value)
    middle = float((_exact(low, _SINGLES_END) + _exact(high, _SINGLES_END)) / 2)
    return middle, side if _is_even(value, "f", "i") else 1 - side


def _exact(value: float, end: int) -> Fraction:
    return Fraction((end if value > 0 else -end) if isinf(value) else value)


def _is_even(value: float, code: str, bits: str) -> bool:
    """Whether the last binary digit of the mantissa is 0; that of an infinity is."""
    pattern: int = struct.unpack(bits, struct.pack(code, value))[0]
    return pattern % 2 == 0


def _next_single(value: float) -> float:
    """The float32 after one that is not the last."""
    (pattern,) = struct.unpack("i", struct.pack("f", value + 0.0))
    stepped = pattern + 1 if value >= 0 else pattern - 1
    return float(struct.unpack("f", struct.pack("i", stepped))[0])


# --- lines ------------------------------------------------------------------------------------------------------


def between(low: Cut, high: Cut) -> Line:
    return (low, high) if low < high else ()


def line_join(one: Line, other: Line) -> Line:
    """What lies on either line."""
    return _swept(one, other, 1)


def line_meet(one: Line, other: Line) -> Line:
    """What lies on both lines."""
    if len(one) == 2 and len(other) == 2:
        return between(max(one[0], other[0]), min(one[1], other[1]))
    return _swept(one, other, 2) if one and other else ()


def _swept(one: Line, other: Line, needed: int) -> Line:
    """The parts on which at least `needed` of the two lines run."""
    steps = sorted([(cut, -1 if at % 2 else 1) for line in (one, other) for at, cut in enumerate(line)])
    found: list[Cut] = []
    depth = 0
    for cut, step in steps:
        before, depth = depth >= needed, depth + step
        if before != (depth >= needed):
            if found and found[-1] == cut:
                found.pop()
            else:
                found.append(cut)
    return tuple(found)


def line_within(one: Line, other: Line) -> bool:
    """Whether all that lies on one line lies on the other."""
    if len(one) == 2 and len(other) == 2:
        return other[0] <= one[0] and one[1] <= other[1]
    return one == other or line_meet(one, other) == one


def line_holds(line: Line, value: Number) -> bool:
    at, behind = (value, 0), (value, 1)
    return any(line[number] <= at and behind <= line[number + 1] for number in range(0, len(line), 2))
