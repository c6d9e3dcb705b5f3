"""`hg:clustering`, `hg:transitivity` and `hg:averageClustering`, of the undirected simple projection, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.types import NEW_FLOATS, NEW_INT32S, NEW_INT64S, named
from heliograph.watch.layout import Floats, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    CAME,
    CHANGED,
    LENGTH,
    NEEDED,
    NEW_PAIR,
    ROW,
    VERTICES,
    Asked,
    GrowingGraph,
    Log,
    Said,
    Simple,
    Telling,
    counted,
    enlarged,
    fixed_log,
)
from heliograph.watch.metrics.simple_graph_kernels import (
    ASKED,
    INT64_ROWS,
    LOG,
    SIMPLE,
    TELLING,
    add_edge,
    ask_for_lists,
    ask_for_pairs,
    ask_for_rows,
    can_tell,
    drop_edge,
    has_room,
    is_asked,
    is_neighbour,
    is_told,
    list_length,
    list_start,
    tell,
)
from heliograph.watch.metrics.thresholds import Cutting, Points, Whole, at_steps, count_steps

# ----------------------------------------------------------------------------------------------------------------------
# The arrays in which triangles are kept. Does not import Numba.
#
# The clustering coefficient of a vertex is 2 t / d (d − 1), with t triangles through it and d neighbours; 0 where d <
# 2. Their sum over all vertices is kept in two words, HIGH + LOW / 2^60: every coefficient is cut off after 60 binary
# places and adding whole numbers forgets nothing, so the sum is a function of the graph, whatever came and went
# before.
# ----------------------------------------------------------------------------------------------------------------------

TRIANGLES, MARK = range(2)  # of vertices: triangles through it; 1 + its place among those that the step touched

# of counters: all triangles; the sum of d (d − 1); the sum of coefficients; SUMMING: whether that is kept; TOUCHED:
# vertices that the step touched; OPEN: whether changes of a step wait for its end; WANTED: room in `touched` that the
# next change might need; ENDED: steps of the log that are over
ALL, TRIPLES, HIGH, LOW, SUMMING, TOUCHED, OPEN, WANTED, ENDED = range(9)
COUNTERS = 9

S_STEP, S_ALL, S_TRIPLES, S_HIGH, S_LOW, S_VERTICES = range(6)  # of series
SERIES_COLUMNS = 6

PLACES = 60  # binary places of a coefficient in the sum


class Triangles(NamedTuple):
    """Triangles of a growing simple graph: everything changes."""

    graph: Simple
    vertices: Int64s  # rows by vertex
    touched: Int32s  # the vertices that the step touched and that somebody asks for
    before: Floats  # beside them, their coefficients before it
    counters: Int64s
    series: Int64s  # rows: the counters at the end of each step of the log; without rows nobody wants them


# ----------------------------------------------------------------------------------------------------------------------
# What a pair that comes or goes does to triangles.
#
# The law: it makes or breaks one with each vertex that both its ends have for neighbour, and no other. The shorter
# list of neighbours is gone through; each of them is looked for in the longer one if that is short, else among the
# pairs.
# ----------------------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def coefficient(triangles: Any, degree: Any) -> Any:
    """The clustering coefficient, by triangles and neighbours."""
    if degree < 2:
        return 0.0
    return np.float64(2 * triangles) / np.float64(degree * (degree - 1))


@kernel()
def turn_pair(state: Triangles, asked: Asked, one: Any, other: Any, by: Any) -> None:
    """A pair has come (by 1) or gone (by -1): lists of neighbours say so already, triangles do not."""
    lists = state.graph.undirected
    degree, other_degree = list_length(lists, one), list_length(lists, other)
    touch(state, asked, one, degree - by)
    touch(state, asked, other, other_degree - by)
    state.counters[TRIPLES] += _pairs(degree) + _pairs(other_degree) - _pairs(degree - by) - _pairs(other_degree - by)
    if degree <= other_degree:
        common = _turn_common(state, asked, one, other, by)
    else:
        common = _turn_common(state, asked, other, one, by)
    if common != 0:
        state.vertices[one, TRIANGLES] += common
        state.vertices[other, TRIANGLES] += common
        state.counters[ALL] += common


@kernel(inline=True)
def _pairs(degree: Any) -> Any:
    return degree * (degree - 1)


@kernel(inline=True)
def touch(state: Triangles, asked: Asked, vertex: Any, degree: Any) -> None:
    """Remembers a vertex's coefficient before the step, the first time that the step touches it, if it matters."""
    if state.vertices[vertex, MARK] == 0 and (state.counters[SUMMING] != 0 or is_asked(asked, vertex)):
        place = state.counters[TOUCHED]
        state.touched[place] = vertex
        state.before[place] = coefficient(state.vertices[vertex, TRIANGLES], degree)
        state.vertices[vertex, MARK] = 1
        state.counters[TOUCHED] = place + 1


@kernel(inline=True)
def _turn_common(state: Triangles, asked: Asked, near: Any, far: Any, by: Any) -> Any:
    """Each common neighbour has a triangle more or less; how many all of them together. `near` has the shorter list."""
    lists, changed = state.graph.undirected, np.int64(0)
    start, length = list_start(lists, near), list_length(lists, near)
    ask_for_pairs(state.graph, start, length, far)
    for i in range(start, start + length):
        vertex = np.int64(lists.pool[i])
        if vertex != far and is_neighbour(state.graph, far, vertex):
            touch(state, asked, vertex, list_length(lists, vertex))
            state.vertices[vertex, TRIANGLES] += by
            changed += by
    return changed


# ----------------------------------------------------------------------------------------------------------------------
# Triangles and clustering coefficients, kept as edges come and go.
#
# The law: only a pair's first and last edge count, and only what holds at the end of a step is told. A change is
# begun only if there is room for all that it may do, and a step is closed only if there is room for all that it may
# say; so whoever returns for want of room goes on from the very place.
# ----------------------------------------------------------------------------------------------------------------------

STATE: Any = named(Triangles, SIMPLE, INT64_ROWS, NEW_INT32S, NEW_FLOATS, NEW_INT64S, INT64_ROWS)
_UNIT = 2.0**PLACES
_FRACTION = np.int64((1 << PLACES) - 1)


@kernel((STATE, LOG, ASKED, TELLING))
def follow_triangles(state: Triangles, log: Log, asked: Asked, telling: Telling) -> Any:
    """Takes a log over, change by change; whether all of it is, or room is lacking."""
    while True:
        row = telling.counters[ROW]
        ends = state.counters[OPEN] != 0 and (row == len(log.step) or log.step[row] != log.step[row - 1])
        if ends and not _close(state, log.step[row - 1], asked, telling):
            return False
        if row == len(log.step):
            return True
        if not _has_room(state, log.subject[row], log.object[row]):
            return False
        ask_for_rows(state.graph, state.vertices, log, row)
        ask_for_lists(state.graph, log, row)
        _change(state, log, asked, row)
        telling.counters[ROW], state.counters[OPEN] = row + 1, 1


@kernel(inline=True)
def _has_room(state: Triangles, one: Any, other: Any) -> Any:
    """Whether a pair can come or go, and all its common neighbours be touched."""
    lists, touched = state.graph.undirected, state.counters[TOUCHED]
    wanted = touched + 3 + min(list_length(lists, one), list_length(lists, other))
    state.counters[WANTED] = wanted
    return wanted <= len(state.touched) and has_room(state.graph)


@kernel(inline=True)
def _change(state: Triangles, log: Log, asked: Asked, row: Any) -> None:
    subject, object, change = np.int64(log.subject[row]), np.int64(log.object[row]), log.change[row]
    if change == CHANGED:
        return
    if change == CAME:
        if add_edge(state.graph, subject, object) & NEW_PAIR:
            turn_pair(state, asked, subject, object, np.int64(1))
    elif drop_edge(state.graph, subject, object) & NEW_PAIR:
        turn_pair(state, asked, subject, object, np.int64(-1))


@kernel()
def _close(state: Triangles, step: Any, asked: Asked, telling: Telling) -> Any:
    """A step is over: what passed a cut is told; whether there was room for it."""
    counters = state.counters
    telling.counters[NEEDED] = counters[TOUCHED]
    if not can_tell(telling, counters[TOUCHED]):
        return False
    for i in range(counters[TOUCHED]):
        vertex = np.int64(state.touched[i])
        before = state.before[i]
        after = coefficient(state.vertices[vertex, TRIANGLES], list_length(state.graph.undirected, vertex))
        state.vertices[vertex, MARK] = 0
        if counters[SUMMING]:
            _sum_up(counters, before, after)
        if is_told(asked, vertex, before, after):
            tell(telling, step, vertex, after)
    counters[TOUCHED] = counters[OPEN] = 0
    _note(state, step)
    return True


@kernel(inline=True)
def _sum_up(counters: Any, before: Any, after: Any) -> None:
    low = counters[LOW] + np.int64(after * _UNIT) - np.int64(before * _UNIT)
    counters[HIGH] += low >> PLACES
    counters[LOW] = low & _FRACTION


@kernel(inline=True)
def _note(state: Triangles, step: Any) -> None:
    """Writes down what holds of the whole graph, if anybody wants to know."""
    ended = state.counters[ENDED]
    state.counters[ENDED] = ended + 1
    if ended < len(state.series):
        row, counters = state.series[ended], state.counters
        row[S_STEP], row[S_ALL], row[S_TRIPLES] = step, counters[ALL], counters[TRIPLES]
        row[S_HIGH], row[S_LOW] = counters[HIGH], counters[LOW]
        row[S_VERTICES] = state.graph.counters[VERTICES]


# ----------------------------------------------------------------------------------------------------------------------
# `hg:clustering`, `hg:transitivity` and `hg:averageClustering`, of the undirected simple projection, exactly.
#
# How many of the pairs of a vertex's neighbours are joined themselves; of all such pairs in the graph; and on average
# over its vertices. All three follow from the triangles through each vertex, which are kept as pairs come and go: see
# kernels.metric_triangles.
#
# The average is over the vertices that an edge of the projection touches, and those that exist without one, of which
# the caller tells: each has the coefficient 0.
# ----------------------------------------------------------------------------------------------------------------------

_TOUCHED = 64  # vertices that a step may touch at first


class Clustering:
    """Clustering coefficients of all vertices, over one projection."""

    def __init__(self) -> None:
        self._kept = _Kept(summing=False)
        self._cuts = Cutting()

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        (vertex,) = vertices
        self._cuts.watch(vertex, points)
        return vertex

    def unwatch(self, instance: int, points: Points) -> None:
        self._cuts.unwatch(instance, points)

    def watch_all(self, points: Points) -> None:
        self._cuts.watch_all(points)

    def unwatch_all(self, points: Points) -> None:
        self._cuts.unwatch_all(points)

    def follow(self, log: Log) -> Said:
        return self._kept.follow(log, self._cuts.asked())

    def value(self, instance: int) -> float:
        return self._kept.coefficient(instance)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._kept.follow(log, Cutting().asked())


class GlobalClustering:
    """Transitivity or the average coefficient: one instance, told from what held at the ends of steps."""

    def __init__(self, kind: Literal["transitivity", "averageClustering"]) -> None:
        self._averages = kind == "averageClustering"
        self._kept = _Kept(summing=self._averages)
        self.whole = Whole()

    @property
    def total(self) -> float:
        """The sum of all coefficients; 0 where transitivity is kept."""
        return float(_total(self._kept.now())[0])

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        return self.whole.watch(vertices, points, self.value(0))

    def unwatch(self, instance: int, points: Points) -> None:
        self.whole.unwatch(instance, points)

    def watch_all(self, points: Points) -> NoReturn:
        raise TypeError("a metric of the whole graph is not watched vertex by vertex")

    unwatch_all = watch_all

    def follow(self, log: Log, existing: Int64s | None = None) -> Said:
        """Takes changes over; `existing` says how many vertices exist at the end of each step, those that no edge of
        the projection touches too."""
        before = self._kept.now()
        series = self._kept.follow_whole(log)
        if existing is not None:
            series = at_steps(series, before[0], len(existing))
        return self.whole.said(series[:, S_STEP], self._values(series, existing))

    def value(self, instance: int) -> float:
        return float(self._values(self._kept.now(), None)[0])

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._kept.follow_whole(log)

    def _values(self, series: Int64s, existing: Int64s | None) -> Floats:
        if self._averages:
            return _share(_total(series), self.whole.count_vertices(series[:, S_VERTICES], existing))
        return _share(6 * series[:, S_ALL], series[:, S_TRIPLES])


def _total(series: Int64s) -> Floats:
    total: Floats = series[:, S_HIGH] + series[:, S_LOW] / 2.0**PLACES
    return total


def _share(parts: npt.NDArray[Any], wholes: Int64s) -> Floats:
    """Quotients; 0 of nothing."""
    shares: Floats = np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes != 0)
    return shares


class _Kept:
    """The triangles of a growing graph, and room for them."""

    def __init__(self, *, summing: bool) -> None:
        self._graph = GrowingGraph()
        counters = np.zeros(COUNTERS, np.int64)
        counters[SUMMING] = summing
        touched, before = np.empty(first_room(_TOUCHED), np.int32), np.empty(first_room(_TOUCHED))
        vertices = np.zeros((self._graph.vertices, 2), np.int64)
        self._state = Triangles(self._graph.arrays, vertices, touched, before, counters, _NO_SERIES)

    def coefficient(self, vertex: int) -> float:
        if vertex >= self._graph.vertices:
            return 0.0
        triangles = int(self._state.vertices[vertex, TRIANGLES])
        degree = int(self._graph.arrays.undirected.heads[vertex, LENGTH])
        return 2 * triangles / (degree * (degree - 1)) if triangles else 0.0

    def now(self) -> Int64s:
        """What holds of the whole graph, as one row of a series."""
        counters, row = self._state.counters, np.zeros((1, SERIES_COLUMNS), np.int64)
        row[0, [S_ALL, S_TRIPLES, S_HIGH, S_LOW]] = counters[[ALL, TRIPLES, HIGH, LOW]]
        row[0, S_VERTICES] = counted(self._graph.arrays, VERTICES)
        return row

    def follow_whole(self, log: Log) -> Int64s:
        """Takes changes over; what held of the whole graph at the end of each step that has any."""
        self._state = self._state._replace(series=np.empty((count_steps(log), SERIES_COLUMNS), np.int64))
        self.follow(log, Cutting().asked())
        series = self._state.series
        self._state = self._state._replace(series=_NO_SERIES)
        return series

    def follow(self, log: Log, asked: Asked) -> Said:
        """Takes changes over; what is told of vertices."""

        log, telling = fixed_log(log), Telling.nothing()
        self._graph.cover_log(log)
        self._state.counters[ENDED] = 0
        self._make_room()
        while not follow_triangles(self._state, log, asked, telling):
            self._graph.grow()
            self._make_room()
            telling = telling.with_room()
        return telling.said()

    def _make_room(self) -> None:
        state, wanted = self._state._replace(graph=self._graph.arrays), int(self._state.counters[WANTED])
        if self._graph.vertices > len(state.vertices):
            state = state._replace(vertices=enlarged(state.vertices, self._graph.vertices))
        if wanted > len(state.touched):
            rows = first_room(2 * wanted, wanted)
            state = state._replace(touched=enlarged(state.touched, rows), before=enlarged(state.before, rows))
        self._state = state


_NO_SERIES: Int64s = np.empty((0, SERIES_COLUMNS), np.int64)
