"""Who is told of an instance, found by what its value passed: thousands of thresholds cost a step of bisection.

The law: whoever may judge otherwise after a change of value is among those found.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Hashable, Iterable, Iterator
from math import inf, nextafter
from typing import Generic, TypeVar

from heliograph.semantics.expressions import METRIC_TOLERANCE

Who = TypeVar("Who", bound=Hashable)


def points_at(limits: Iterable[float]) -> tuple[float, ...]:
    """Where a comparison with these limits may change its truth: on either side of each, by the tolerance."""
    return tuple(
        sorted(p for each in limits for p in (each - METRIC_TOLERANCE, nextafter(each + METRIC_TOLERANCE, inf)))
    )


class Listeners(Generic[Who]):
    """Those who wait for one instance, or for all: with points, or for every change."""

    def __init__(self) -> None:
        self._points: list[float] = []
        self._waiting: dict[float, dict[Who, None]] = {}
        self._every: dict[Who, None] = {}

    def __bool__(self) -> bool:
        return bool(self._points or self._every)

    def __iter__(self) -> Iterator[Who]:
        """Everybody."""
        yield from {who: None for some in (self._every, *self._waiting.values()) for who in some}

    def add(self, who: Who, points: tuple[float, ...] | None) -> None:
        if points is None:
            self._every[who] = None
        for point in points or ():
            if point not in self._waiting:
                insort(self._points, point)
                self._waiting[point] = {}
            self._waiting[point][who] = None

    def remove(self, who: Who, points: tuple[float, ...] | None) -> None:
        if points is None:
            del self._every[who]
        for point in points or ():
            del self._waiting[point][who]
            if not self._waiting[point]:
                del self._waiting[point]
                del self._points[bisect_left(self._points, point)]

    def between(self, before: float | None, after: float) -> Iterator[Who]:
        """Whoever must judge again; what the value was before may not be known."""
        yield from self._every
        first, last = 0, len(self._points)
        if before is not None:
            first, last = sorted(bisect_right(self._points, each) for each in (before, after))
        found = {who: None for point in self._points[first:last] for who in self._waiting[point]}
        yield from found
