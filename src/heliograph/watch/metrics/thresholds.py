"""What every metric is to its callers, and at which values which query hears of it. Does not import Numba.

A metric sees the evolving graph as a *log*: every change of an edge in its projection, in order. Changes belong to
steps; a step is what one update does in one phase, and only what holds at its end counts. What a metric says of an
*instance* (a vertex, a pair, a set of terminals) is reported when it passes one of the *thresholds* set there.

The laws.

- A condition on a metric changes its truth only where the value passes a threshold, or where every change is asked for;
  so what lies between two thresholds need not be reported.
- `value` is that of the graph after the last change of the log, whatever batches it came in. `follow` reports of every
  watched instance each step at whose end it lies on the other side of a threshold than when it was last reported or
  watched. What nobody watches costs nothing beyond what the others need.
- An instance's list holds the points of all that watch it, each once, however often asked for; if one of them asks for
  every change, so does the instance. Thousands of thresholds at one vertex are one ascending list, so a change of its
  value costs two binary searches however many ask. Instances with equal points share a list: one threshold at each of a
  million vertices is one list of one point.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import inf, nextafter
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from heliograph.compiled.growing import first_room
from heliograph.sparql.evaluate import METRIC_TOLERANCE
from heliograph.watch.layout import Floats, Int8s, Int32s, Int64s

Points: TypeAlias = "Sequence[float] | None"  # values to hear of when they are passed; None: every change
Order: TypeAlias = "Callable[[int], Any]"  # what term ids are sorted by
Saved: TypeAlias = "Mapping[str, npt.NDArray[Any]]"

WENT, CAME, CHANGED = 0, 1, 2  # what became of an edge; CHANGED: another weight
SILENT, EVERY = -1, -2  # in place of a list of thresholds: nobody asks, and every change is reported

_LOG_KINDS = (np.int32, np.uint8, np.int32, np.int32, np.int32, np.float64)


class Log(NamedTuple):
    """Changes of edges, in order. An edge is (subject, predicate, object): one that came was absent, one that went was
    present, and two edges may join the same vertices."""

    step: Int32s  # ascending, from 0; several changes may belong to one step
    change: Int8s
    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats  # after the change, or of an edge that went the one it had; NaN where it has none

    @classmethod
    def empty(cls) -> Log:
        return fixed_log(cls._make([()] * len(_LOG_KINDS)))


class Reported(NamedTuple):
    """What was reported of instances at the ends of steps: in order of step, an instance at most once in each."""

    step: Int32s
    instance: Int32s
    value: Floats

    @classmethod
    def nothing(cls) -> Reported:
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float64))


def fixed(column: Any, kind: Any) -> Any:
    """As kernels take what they only read."""
    view = np.ascontiguousarray(column, kind).view()
    view.flags.writeable = False
    return view


def fixed_log(log: Log) -> Log:
    """A log as kernels take it."""
    return Log._make(map(fixed, log, _LOG_KINDS))


def count_steps(log: Log) -> int:
    """How many steps have changes in a log."""
    return int(np.count_nonzero(np.diff(log.step))) + 1 if len(log.step) else 0


# --- thresholds of instances ------------------------------------------------------------------------------------

_Key = float | None  # a point, or None for every change
_ALL = -1  # in place of an instance: every one
_NOWHERE = -math.inf  # a point that no value passes
_IDLE = 1024  # points that may stand in lists that nobody uses any more, whatever the others


class ThresholdLists(NamedTuple):
    """Thresholds in the form that kernels look them up: list n is points[firsts[n]:firsts[n + 1]]."""

    points: Floats
    firsts: Int32s
    numbers: Int32s  # by instance: its list, SILENT or EVERY; SILENT where the array ends
    everyone: int  # the list of all instances, SILENT or EVERY


class Thresholds:
    """Points by instance and for all, with counts of how often each was asked for."""

    def __init__(self) -> None:
        self._counts: dict[int, Counter[_Key]] = {}
        self._live = 0  # keys in all counts
        self._changed: set[int] = set()
        self._forget_lists()

    def _forget_lists(self) -> None:
        self._lists: dict[tuple[float, ...], int] = {}
        self._points, self._firsts = np.zeros(0), np.zeros(1, np.int32)
        self._numbers, self._everyone = np.zeros(0, np.int32), SILENT
        self._asked: ThresholdLists | None = None

    def watch(self, instance: int, points: Points) -> None:
        counts = self._counts.setdefault(instance, Counter())
        self._live -= len(counts)
        counts.update(_keys(points))
        self._live += len(counts)
        self._changed.add(instance)

    def unwatch(self, instance: int, points: Points) -> None:
        """Takes back what `watch` was given; what was not watched is a KeyError."""
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
        """The points of an instance, ascending, without those of all; None: every change is reported."""
        counts = self._counts.get(instance, Counter())
        return None if None in counts else sorted(key for key in counts if key is not None and key != _NOWHERE)

    def asked(self) -> ThresholdLists:
        """All thresholds as arrays."""
        if self._changed:
            self._number()
            if len(self._points) > _IDLE + 2 * self._live:  # most points stand in lists that nobody uses
                self._forget_lists()
                self._changed = set(self._counts)
                self._number()
            self._asked = None
        if self._asked is None:
            points, firsts = fixed(self._points, np.float64), fixed(self._firsts, np.int32)
            self._asked = ThresholdLists(points, firsts, fixed(self._numbers, np.int32), self._everyone)
        return self._asked

    def passing(self, instance: int, before: float, values: Floats) -> npt.NDArray[np.bool_]:
        """Of successive values of an instance, which lie on the other side of a threshold than the one before."""
        points, row = self.points(instance), np.concatenate([[before], values])
        below = row if points is None else np.searchsorted(points, row, side="right")
        passed: npt.NDArray[np.bool_] = below[1:] != below[:-1]
        return passed

    def _number(self) -> None:
        """Writes down the lists of what changed; new lists stand behind those that are there."""
        known, highest = len(self._numbers), max(self._changed, default=_ALL)
        if highest >= known:
            rows = max(highest + 1, first_room(known + known // 2 + 16, known + 1))
            self._numbers = np.append(self._numbers, np.full(rows - known, SILENT, np.int32))
        fresh: list[tuple[float, ...]] = []
        for instance in self._changed:
            points = self.points(instance)
            number = EVERY if points is None else SILENT
            if points:
                number = self._lists.setdefault(key := tuple(points), len(self._lists))
                if number == len(self._firsts) - 1 + len(fresh):
                    fresh.append(key)
            if instance == _ALL:
                self._everyone = number
            else:
                self._numbers[instance] = number
        self._changed.clear()
        self._points = np.concatenate([self._points, *fresh])
        ends = self._firsts[-1] + np.cumsum([len(points) for points in fresh], dtype=np.int32)
        self._firsts = np.concatenate([self._firsts, ends])


def _keys(points: Points) -> Sequence[_Key]:
    """A watcher's points, each once; one without any is counted all the same."""
    return [None] if points is None else sorted(set(points)) or [_NOWHERE]


NO_THRESHOLDS = Thresholds().asked()


# --- measures ---------------------------------------------------------------------------------------------------


class Measure:
    """One metric over one projection, kept up to date for everybody that asks. Vertices are term ids; instances are
    numbers: of a metric of one vertex, that vertex. What a metric does in its own way it overrides."""

    def __init__(self) -> None:
        self.thresholds = Thresholds()

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        """Somebody asks for these vertices (none for a metric of the whole graph); the number of the instance.

        Asked for again, it takes the points in addition.
        """
        (vertex,) = vertices
        self.thresholds.watch(vertex, points)
        return vertex

    def unwatch(self, instance: int, points: Points) -> None:
        """Somebody that watched with these points goes."""
        self.thresholds.unwatch(instance, points)

    def watch_all(self, points: Points) -> None:
        """Somebody asks for every vertex there is or will be. Of metrics of one vertex only."""
        self.thresholds.watch_all(points)

    def unwatch_all(self, points: Points) -> None:
        self.thresholds.unwatch_all(points)

    def follow(self, log: Log) -> Reported:
        """Takes changes over, and reports what passed a threshold."""
        raise NotImplementedError

    def value(self, instance: int) -> float:
        """The value now. Of a metric of one vertex, whether it is watched or not."""
        raise NotImplementedError

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """What is shown beside a value: an interval, or a path or tree as edges of term ids, as it is now."""
        return {}

    def saved(self) -> Saved:
        """What cannot be worked out again from the edges alone; empty if all of it can."""
        return {}

    def restore(self, log: Log, saved: Saved) -> None:
        """Takes over the edges of a saved graph, all of them as having come in one step, and what was saved."""
        raise NotImplementedError


class CountingMeasure(Measure):
    """A metric that depends on how many vertices there are, those that no edge of the projection touches too."""

    def follow(self, log: Log, existing: Int64s | None = None) -> Reported:
        """Takes changes over, and reports what passed a threshold.

        `existing` is how many vertices there are at the end of each step; without it, as many as before are untouched.
        """
        raise NotImplementedError


class WholeMeasure(CountingMeasure):
    """A metric of the whole graph: one instance, reported from rows of what held at the ends of steps.

    A row begins with its step and ends with how many vertices edges touch. Subclasses say what rows there are (`_rows`
    for a log, `_now` for the moment) and what they are worth.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last = 0.0
        self.isolated = 0  # vertices that exist without an edge of the projection

    def _rows(self, log: Log) -> Int64s:
        """Takes changes over; a row for each step that has any."""
        raise NotImplementedError

    def _now(self) -> Int64s:
        raise NotImplementedError

    def _values(self, rows: Int64s, vertices: Int64s) -> Floats:
        raise NotImplementedError

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        if vertices:
            raise ValueError(f"a metric of the whole graph is asked for vertices {list(vertices)}")
        if not self.thresholds.watches(0):
            self._last = self.value(0)
        self.thresholds.watch(0, points)
        return 0

    def watch_all(self, points: Points) -> None:
        raise TypeError("a metric of the whole graph is not watched vertex by vertex")

    unwatch_all = watch_all

    def follow(self, log: Log, existing: Int64s | None = None) -> Reported:
        before = self._now()
        rows = self._rows(log)
        if existing is not None:  # a row for each step; up to the first one, what held before
            steps = np.arange(len(existing))
            rows = np.concatenate([before, rows])[np.searchsorted(rows[:, 0], steps, side="right")]
            rows[:, 0] = steps
        vertices = rows[:, -1] + self.isolated
        if existing is not None and len(existing):
            self.isolated, vertices = int(existing[-1] - rows[-1, -1]), np.asarray(existing, np.int64)
        values = self._values(rows, vertices)
        passed = self.thresholds.passing(0, self._last, values)
        self._last = float(values[-1]) if len(values) else self._last
        return Reported(rows[passed, 0].astype(np.int32), np.zeros(np.count_nonzero(passed), np.int32), values[passed])

    def value(self, instance: int) -> float:
        rows = self._now()
        return float(self._values(rows, rows[:, -1] + self.isolated)[0])

    def restore(self, log: Log, saved: Saved) -> None:
        self._rows(log)


# --- listeners: the queries that hear of an instance, found by what its value passed --------------------------------

Listener = TypeVar("Listener", bound=Hashable)


def points_at(limits: Iterable[float]) -> tuple[float, ...]:
    """Where a comparison with these limits may change its truth: on either side of each, by the tolerance."""
    return tuple(
        sorted(p for each in limits for p in (each - METRIC_TOLERANCE, nextafter(each + METRIC_TOLERANCE, inf)))
    )


class Attention(NamedTuple):
    """What a query is to hear of, and which of that makes it check again: values passed, or None for all.

    A query that looks at several metrics must know of every change what the value is when another one passes its limit.
    """

    heard: tuple[float, ...] | None
    heeded: tuple[float, ...] | None


class Listeners(Generic[Listener]):
    """Those that wait for one instance, or for all: with points, or for every change.

    The law: every listener that may decide otherwise after a change of value is among those found. Thousands of
    thresholds cost a step of bisection.
    """

    def __init__(self) -> None:
        self._points: list[float] = []
        self._waiting: dict[float, dict[Listener, None]] = {}
        self._every: dict[Listener, None] = {}

    def __bool__(self) -> bool:
        return bool(self._points or self._every)

    def __iter__(self) -> Iterator[Listener]:
        yield from {each: None for some in (self._every, *self._waiting.values()) for each in some}

    def add(self, listener: Listener, points: tuple[float, ...] | None) -> None:
        if points is None:
            self._every[listener] = None
        for point in points or ():
            if point not in self._waiting:
                insort(self._points, point)
                self._waiting[point] = {}
            self._waiting[point][listener] = None

    def remove(self, listener: Listener, points: tuple[float, ...] | None) -> None:
        if points is None:
            del self._every[listener]
        for point in points or ():
            del self._waiting[point][listener]
            if not self._waiting[point]:
                del self._waiting[point]
                del self._points[bisect_left(self._points, point)]

    def between(self, before: float | None, after: float) -> Iterator[Listener]:
        """Those that must check again; what the value was before may not be known."""
        yield from self._every
        first, last = 0, len(self._points)
        if before is not None:
            first, last = sorted(bisect_right(self._points, each) for each in (before, after))
        yield from {each: None for point in self._points[first:last] for each in self._waiting[point]}
