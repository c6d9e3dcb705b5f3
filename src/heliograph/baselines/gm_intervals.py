"""Constraints as intervals on an axis of values, and the intervals that a value stabs.

A term lies on one axis, at one key; terms of different axes are never equal and never ordered. The law: if `x op c`
holds for one of = < <= > >=, then x lies on c's axis, in the interval of `op c`. The converse may fail by a rounding or
at an end, so what is stabbed is checked again by CheckConstraint.

Numbers lie at the nearest float32 of the nearest double: of SPARQL's four kinds of comparison (exact, float, double
after promotion) each is monotone in that key, and equal under any of them means equal there. Dates and dateTimes lie at
their instant, with or without a zone: where the unknown zone leaves the order open, no comparison holds.

Mend (SEED_NOTES, filter 9): [R] section 4.1 keeps one ordered list for each operator, so `?x > 5 && ?x < 9` is looked
for in either list and found half of the time in vain. Here the constraints of a variable are intersected first, and a
tree of intervals answers: those that contain a centre, ordered by both ends, and the rest to its left and right. As
in [R], going through an ordered list stops "at the first non-satisfied look-up".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Generic, NamedTuple, TypeVar

from heliograph.baselines.gm_constraints import Choice, Constraint, ValueConstraint
from heliograph.terms import RDF_LANG_STRING, Term, value_of
from heliograph.values import NUMERIC, XSD_STRING, Instant, to_float32

Axis = tuple[str, ...]
Bound = tuple[int] | tuple[int, Any]  # (-1,) and (1,) lie beyond every (0, key)

LOWEST: Bound = (-1,)
HIGHEST: Bound = (1,)
_UNORDERED: Axis = ("term",)  # every term for itself: equal to itself alone
_FEW = 32  # intervals that are looked at one by one

T = TypeVar("T")


class Interval(NamedTuple):
    """Everything on an axis from `low` to `high`, both included."""

    axis: Axis
    low: Bound
    high: Bound


class Point(NamedTuple):
    """Where a term lies."""

    axis: Axis
    bound: Bound


def point(term: Term) -> Point | None:
    """Where a term lies; None for a double that is no number, to which nothing is equal."""
    value = value_of(term)
    if value is None:
        if term.datatype in (XSD_STRING, RDF_LANG_STRING):
            return Point(("text", term.language), (0, term.value))
        return Point(_UNORDERED, (0, term))
    if value.kind in NUMERIC:
        nearest = _rounded(value.value)
        return None if math.isnan(nearest) else Point(("number",), (0, nearest))
    key = value.value.atto if isinstance(value.value, Instant) else value.value
    return Point((value.kind.name,), (0, key))


def _rounded(number: Any) -> float:
    try:
        return to_float32(float(number))
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def intervals(constraints: Iterable[Constraint]) -> tuple[Interval, ...] | None:
    """Where a value must lie that satisfies the constraints; None if they do not say (`!=`, classes)."""
    sets = [found for constraint in constraints if (found := _interval_set(constraint)) is not None]
    return reduce(_intersect, sets) if sets else None


def _interval_set(constraint: Constraint) -> tuple[Interval, ...] | None:
    match constraint:
        case Choice(values):
            return tuple(dict.fromkeys(each for value in values for each in _comparable("=", value)))
        case ValueConstraint("!=", _):
            return None
        case ValueConstraint(operator, value):
            return _comparable(operator, value)
        case _:
            return None


def _comparable(operator: str, value: Term) -> tuple[Interval, ...]:
    at = point(value)
    if at is None:
        return ()
    low = LOWEST if operator in ("<", "<=") else at.bound
    high = HIGHEST if operator in (">", ">=") else at.bound
    return (Interval(at.axis, at.bound, at.bound) if at.axis == _UNORDERED else Interval(at.axis, low, high),)


def _intersect(ones: tuple[Interval, ...], others: tuple[Interval, ...]) -> tuple[Interval, ...]:
    met = (
        Interval(one.axis, max(one.low, other.low), min(one.high, other.high))
        for one in ones
        for other in others
        if one.axis == other.axis
    )
    return tuple(dict.fromkeys(each for each in met if each.low <= each.high))


# --- stabbing ---------------------------------------------------------------------------------------------------

Item = tuple[Bound, Bound, T]


@dataclass(frozen=True, slots=True)
class _Tree(Generic[T]):
    """The intervals around a centre by their low ends and, falling, by their high ends; the others on either side."""

    centre: Bound
    by_low: Sequence[Item[T]]
    by_high: Sequence[Item[T]]
    left: _Tree[T] | None
    right: _Tree[T] | None


class IntervalTree(Generic[T]):
    """Intervals of one axis with an item each. One writer; a reader that finds many new ones builds the tree anew."""

    def __init__(self) -> None:
        self._items: list[Item[T]] = []
        self._built: tuple[int, _Tree[T] | None] = (0, None)  # how many items are in the tree

    def add(self, interval: Interval, item: T) -> None:
        self._items.append((interval.low, interval.high, item))

    def stab(self, at: Bound) -> Iterator[T]:
        """The items of the intervals that hold a bound."""
        count, tree = self._grown()
        yield from _stabbed(tree, at)
        for low, high, item in self._items[count:]:
            if low <= at <= high:
                yield item

    def _grown(self) -> tuple[int, _Tree[T] | None]:
        count, tree = self._built
        known = len(self._items)
        if known - count > max(_FEW, count // 16):
            # Two readers may do this at once; whichever is kept last, its count says what it holds.
            count, tree = self._built = known, _build(self._items[:known])
        return count, tree


def _build(items: list[Item[T]]) -> _Tree[T] | None:
    if not items:
        return None
    ends = sorted(end for low, high, _ in items for end in (low, high))
    centre = ends[len(items)]  # an end of some interval, which therefore holds it: each level takes one at least
    here = [item for item in items if item[0] <= centre <= item[1]]
    return _Tree(
        centre,
        sorted(here, key=lambda item: item[0]),
        sorted(here, key=lambda item: item[1], reverse=True),
        _build([item for item in items if item[1] < centre]),
        _build([item for item in items if item[0] > centre]),
    )


def _stabbed(tree: _Tree[T] | None, at: Bound) -> Iterator[T]:
    while tree is not None:
        below = at < tree.centre
        for low, high, item in tree.by_low if below else tree.by_high:
            if low > at or high < at:
                break
            yield item
        tree = tree.left if below else tree.right
