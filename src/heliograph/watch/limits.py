"""A condition on COUNT(*) as a range of whole numbers, where it is one: so a kernel can tell when it is crossed.

The law: within the range, and nowhere else, the condition holds. A comparison with a number is monotone in the count,
in whatever type it is made, so its bound is found by halving; a condition of several is made of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce
from typing import NamedTuple

from heliograph.semantics.expressions import Condition
from heliograph.syntax.query import And, Compare, Count, Expression, Not, Or
from heliograph.terms import Term, value_of
from heliograph.values import NUMERIC
from heliograph.watch.modes import Threshold

MOST = 2**63 - 1

Ranges = tuple[tuple[int, int], ...]  # apart from each other and in order, both ends included

_ALL: Ranges = ((0, MOST),)


class Limits(NamedTuple):
    """A count begins to hold from `enter_low` to `enter_high`, and then holds from `stay_low` to `stay_high`.

    An empty range is 1 to 0.
    """

    enter_low: int
    enter_high: int
    stay_low: int
    stay_high: int


@lru_cache(maxsize=4096)
def limits_of(having: Expression, hysteresis: float = 0.0) -> Limits | None:
    """The limits of a condition, or None where it is no single range."""
    enter = _ranges(having)
    if enter is None:
        return None
    slack: Ranges = _monotone(Threshold(having, hysteresis).slack) if hysteresis else ()
    stay = _union(enter, slack)
    if len(enter) > 1 or len(stay) > 1:
        return None
    return Limits(*(enter or ((1, 0),))[0], *(stay or ((1, 0),))[0])


def _ranges(condition: Expression) -> Ranges | None:
    match condition:
        case And(operands) | Or(operands):
            parts = [_ranges(operand) for operand in operands]
            known = [part for part in parts if part is not None]
            join = _intersection if isinstance(condition, And) else _union
            return reduce(join, known) if len(known) == len(parts) else None
        case Not(operand):
            inner = _ranges(operand)
            return None if inner is None else _complement(inner)
        case Compare(operator, left, right) if _is_count_and_number(left, right):
            return _compared(operator, left, right)
    return None


def _is_count_and_number(left: Expression, right: Expression) -> bool:
    number = right if isinstance(left, Count) else left
    value = value_of(number) if isinstance(number, Term) else None
    return isinstance(left, Count) is not isinstance(right, Count) and value is not None and value.kind in NUMERIC


def _compared(operator: str, left: Expression, right: Expression) -> Ranges:
    if operator == "!=":
        return _complement(_compared("=", left, right))
    if operator == "=":
        return _intersection(_compared("<=", left, right), _compared(">=", left, right))
    condition = Condition.of(Compare(operator, left, right))
    return _monotone(lambda count: condition.holds({}, count=count))


def _monotone(holds: Callable[[int], bool]) -> Ranges:
    """Where something holds of counts that, if it changes at all, changes once."""
    first = holds(0)
    if first == holds(MOST):
        return _ALL if first else ()
    low, high = 0, MOST  # of which the first is as 0 is, the last is not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) == first else (low, middle)
    return ((0, low),) if first else ((high, MOST),)


# --- sets of ranges ---------------------------------------------------------------------------------------------


def _complement(ranges: Ranges) -> Ranges:
    bounds = [-1, *(bound for low, high in ranges for bound in (low, high)), MOST + 1]
    gaps = zip(bounds[::2], bounds[1::2], strict=True)
    return tuple((before + 1, after - 1) for before, after in gaps if after - before > 1)


def _union(first: Ranges, second: Ranges) -> Ranges:
    joined: list[tuple[int, int]] = []
    for low, high in sorted((*first, *second)):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], high)
        else:
            joined.append((low, high))
    return tuple(joined)


def _intersection(first: Ranges, second: Ranges) -> Ranges:
    return _complement(_union(_complement(first), _complement(second)))
