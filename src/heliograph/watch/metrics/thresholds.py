"""What every metric is to those who ask it, and at which values which query is to hear of it."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import inf, nextafter
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from heliograph.sparql.evaluate import METRIC_TOLERANCE
from heliograph.watch.layout import Floats, Int64s
from heliograph.watch.metrics.simple_graph import EVERY, SILENT, Asked, Log, Said, enlarged, fixed, more

# ----------------------------------------------------------------------------------------------------------------------
# What every metric is to those who ask it: the narrow waist of `hg:` functions.
#
# A measure keeps one metric over one projection of the graph up to date, from a log of changes, for everybody who
# asks. The laws: `value` is that of the graph after the last change of the log, whatever batches it came in; `follow`
# tells of every instance that is watched each step at whose end it lies on the other side of a cut than when it was
# last told or watched; whoever is not watched costs nothing beyond what the others need.
# ----------------------------------------------------------------------------------------------------------------------

Points: TypeAlias = "Sequence[float] | None"  # values to be told of when they are passed; None: every change
Order: TypeAlias = "Callable[[int], Any]"  # what term ids are sorted by


class Measure(Protocol):
    """One metric. Vertices are term ids; instances are numbers: of a metric of one vertex, that vertex."""

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        """Somebody asks for these vertices (none for a metric of the whole graph); the number of the instance.

        Asked for again, it takes the points in addition.
        """
        ...

    def unwatch(self, instance: int, points: Points) -> None:
        """Somebody who watched with these points goes."""
        ...

    def watch_all(self, points: Points) -> None:
        """Somebody asks for every vertex there is or will be. Of metrics of one vertex only."""
        ...

    def unwatch_all(self, points: Points) -> None: ...

    def follow(self, log: Log) -> Said:
        """Takes changes over, and tells what passed a cut."""
        ...

    def value(self, instance: int) -> float:
        """The value now. Of a metric of one vertex, whether it is watched or not."""
        ...

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """What is shown beside a value: an interval, or a path or tree as edges of term ids, as it is now."""
        ...

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        """What cannot be worked out again from the edges alone; empty if all of it can."""
        ...

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        """Takes over the edges of a saved graph, all of them as having come in one step, and what was saved."""
        ...


class Counting(Measure, Protocol):
    """A metric that depends on how many vertices there are, those that no edge of the projection touches too."""

    def follow(self, log: Log, existing: Int64s | None = None) -> Said:
        """Takes changes over, and tells what passed a cut.

        `existing` is how many vertices there are at the end of each step; without it, as many as before are untouched.
        """
        ...


# ----------------------------------------------------------------------------------------------------------------------
# Who asks to be told at which values: cuts by instance and for all, as the arrays that kernels look them up in.
#
# Thousands of thresholds at one vertex are one ascending list, so a change of its value costs two binary searches
# however many ask. Instances with equal cuts share a list: one threshold at each of a million vertices is one list of
# one point.
#
# The law: an instance's list holds the points of all who watch it and have not gone, each once, however often asked
# for; if one of them asks for every change, so does the instance.
# ----------------------------------------------------------------------------------------------------------------------

Bools: TypeAlias = "npt.NDArray[np.bool_]"
_Key = float | None  # a point, or None for every change
_ALL = -1  # in place of an instance: everyone
_NOWHERE = -math.inf  # a point that no value passes
_ONLY = 0  # the instance of a metric of the whole graph
_IDLE = 1024  # points that may stand in lists that nobody uses any more, whatever the others


class Cutting:
    """Cuts with counts of who asked for them."""

    def __init__(self) -> None:
        self._counts: dict[int, Counter[_Key]] = {}
        self._live = 0  # keys in all counts
        self._changed: set[int] = set()
        self._forget_lists()

    def watch(self, instance: int, points: Points) -> None:
        counts = self._counts.setdefault(instance, Counter())
        self._live -= len(counts)
        counts.update(_keys(points))
        self._live += len(counts)
        self._changed.add(instance)

    def unwatch(self, instance: int, points: Points) -> None:
        """Takes back what `watch` was told; whoever did not watch is a KeyError."""
        counts, keys = self._counts[instance], _keys(points)
        if missing := [key for key in keys if key not in counts]:
            raise KeyError(f"instance {instance} is not watched at {missing}")
        for key in keys:
            counts[key] -= 1
            if not counts[key]:
                del counts[key]
                self._live -= 1
        if not counts:
            del self._counts[instance]
        self._changed.add(instance)

    def watch_all(self, points: Points) -> None:
        self.watch(_ALL, points)

    def unwatch_all(self, points: Points) -> None:
        self.unwatch(_ALL, points)

    @property
    def watches_all(self) -> bool:
        return _ALL in self._counts

    def watches(self, instance: int) -> bool:
        """Whether somebody asks for this very instance."""
        return instance in self._counts

    def instances(self) -> Iterator[int]:
        """Those that somebody asks for by themselves."""
        return (instance for instance in self._counts if instance != _ALL)

    def points(self, instance: int) -> Points:
        """The cuts of an instance, ascending, without those of all; None: every change is told."""
        counts = self._counts.get(instance, Counter())
        return None if None in counts else sorted(key for key in counts if key is not None and key != _NOWHERE)

    def points_of_all(self) -> Points:
        return self.points(_ALL)

    def asked(self) -> Asked:
        """The cuts as arrays."""
        if self._changed:
            self._renew()
        return Asked(
            fixed(self._points, np.float64),
            fixed(self._firsts, np.int32),
            fixed(self._numbers, np.int32),
            self._everyone,
        )

    def passing(self, instance: int, before: float, values: Floats) -> Bools:
        """Of successive values of an instance, which lie on the other side of one of its cuts than the one before."""
        points, row = self.points(instance), np.concatenate([[before], values])
        below = row if points is None else np.searchsorted(points, row, side="right")
        passed: Bools = below[1:] != below[:-1]
        return passed

    # --- lists ------------------------------------------------------------------------------------------------------

    def _forget_lists(self) -> None:
        self._lists: dict[tuple[float, ...], int] = {}
        self._points, self._firsts = np.zeros(0), np.zeros(1, np.int32)
        self._numbers, self._everyone = np.zeros(0, np.int32), SILENT

    def _renew(self) -> None:
        """Gives whoever changed a list. Where most points stand in lists of nobody, all get theirs anew."""
        self._number()
        if len(self._points) > _IDLE + 2 * self._live:
            self._forget_lists()
            self._changed = set(self._counts)
            self._number()

    def _number(self) -> None:
        """Writes down the lists of those who changed; new lists stand behind those that are there."""
        known, highest = len(self._numbers), max(self._changed, default=_ALL)
        if highest >= known:
            self._numbers = enlarged(self._numbers, max(highest + 1, more(known)))
            self._numbers[known:] = SILENT
        fresh: list[tuple[float, ...]] = []
        for instance in self._changed:
            number = self._list_of(instance, fresh)
            if instance == _ALL:
                self._everyone = number
            else:
                self._numbers[instance] = number
        self._changed.clear()
        self._points = np.concatenate([self._points, *fresh])
        ends = self._firsts[-1] + np.cumsum([len(points) for points in fresh], dtype=np.int32)
        self._firsts = np.concatenate([self._firsts, ends])

    def _list_of(self, instance: int, fresh: list[tuple[float, ...]]) -> int:
        """The number of an instance's list; a new one is put among the fresh."""
        points = self.points(instance)
        if not points:
            return EVERY if points is None else SILENT
        key = tuple(points)
        if key not in self._lists:
            self._lists[key] = len(self._lists)
            fresh.append(key)
        return self._lists[key]


def _keys(points: Points) -> Sequence[_Key]:
    """A watcher's points, each once; whoever has none is counted all the same."""
    return [None] if points is None else sorted(set(points)) or [_NOWHERE]


class Whole:
    """The cuts of the one instance that a metric of the whole graph has, and the value that was seen last.

    Some of these metrics count vertices, and a vertex may exist that no edge of the projection touches: `existing`, by
    step, says how many exist at the end of each. Without it there are `isolated` ones beside those that edges touch.
    """

    def __init__(self) -> None:
        self._cuts = Cutting()
        self._last = 0.0
        self.isolated = 0

    def watch(self, vertices: Sequence[int], points: Points, value: float) -> int:
        if vertices:
            raise ValueError(f"a metric of the whole graph is asked for vertices {list(vertices)}")
        if not self._cuts.watches(_ONLY):
            self._last = value
        self._cuts.watch(_ONLY, points)
        return _ONLY

    def unwatch(self, instance: int, points: Points) -> None:
        self._cuts.unwatch(instance, points)

    def said(self, steps: Int64s, values: Floats) -> Said:
        """What is told of successive values, each at the end of a step."""
        told = self._cuts.passing(_ONLY, self._last, values)
        self._last = float(values[-1]) if len(values) else self._last
        return Said(steps[told].astype(np.int32), np.full(np.count_nonzero(told), _ONLY, np.int32), values[told])

    def count_vertices(self, touched: Int64s, existing: Int64s | None) -> Int64s:
        """How many vertices exist where edges touch so many; what `existing` says last holds from then on."""
        if existing is None or not len(existing):
            return touched + self.isolated
        self.isolated = int(existing[-1] - touched[-1])
        return np.asarray(existing, np.int64)


def at_steps(series: Int64s, before: Int64s, steps: int) -> Int64s:
    """Rows that begin with their step, made into one for each step; up to the first one `before` holds."""
    index = np.searchsorted(series[:, 0], np.arange(steps), side="right")
    filled = np.concatenate([before[None], series])[index]
    filled[:, 0] = np.arange(steps)
    return filled


def count_steps(log: Log) -> int:
    """How many steps have changes in a log."""
    return int(np.count_nonzero(np.diff(log.step))) + 1 if len(log.step) else 0


# ----------------------------------------------------------------------------------------------------------------------
# Who is told of an instance, found by what its value passed: thousands of thresholds cost a step of bisection.
#
# The law: whoever may judge otherwise after a change of value is among those found.
# ----------------------------------------------------------------------------------------------------------------------

Who = TypeVar("Who", bound=Hashable)


def points_at(limits: Iterable[float]) -> tuple[float, ...]:
    """Where a comparison with these limits may change its truth: on either side of each, by the tolerance."""
    return tuple(
        sorted(p for each in limits for p in (each - METRIC_TOLERANCE, nextafter(each + METRIC_TOLERANCE, inf)))
    )


class Attention(NamedTuple):
    """What somebody is to be told of, and which of that makes them judge again: values passed, or None for all.

    Whoever looks at several metrics must know of every change what the value is when another one passes its limit.
    """

    told: tuple[float, ...] | None
    heeded: tuple[float, ...] | None


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
