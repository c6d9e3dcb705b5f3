"""`hg:cliques(k)`: how many sets of k vertices are joined pair by pair, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.types import NEW_INT8S, NEW_INT32S, NEW_INT64S, named
from heliograph.watch.layout import Int8s, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    CAME,
    CHANGED,
    JOINED,
    NEW_PAIR,
    VERTICES,
    GrowingGraph,
    Log,
    Said,
    Simple,
    counted,
    enlarged,
    fixed_log,
)
from heliograph.watch.metrics.simple_graph_kernels import (
    INT64_ROWS,
    LOG,
    SIMPLE,
    add_edge,
    are_joined,
    ask_for_pairs,
    drop_edge,
    has_room,
    is_neighbour,
    list_length,
    list_start,
)
from heliograph.watch.metrics.thresholds import Points, Whole, at_steps, count_steps

# ----------------------------------------------------------------------------------------------------------------------
# The arrays in which cliques are counted. Does not import Numba.
# ----------------------------------------------------------------------------------------------------------------------

# of counters: how many vertices a clique has; cliques; the next change of the log; its steps that are over; the room
# in `found` that the next change might need
SIZE, CLIQUES, ROW, ENDED, WANTED = range(5)
COUNTERS = 5

S_STEP, S_CLIQUES, S_VERTICES = range(3)  # of series
SERIES_COLUMNS = 3


class Cliques(NamedTuple):
    """Cliques of a growing simple graph: everything changes. Those of 1 and 2 need no lists, marks or room."""

    graph: Simple
    marks: Int8s  # by vertex, while cliques are counted: in which of two sets it is, the second within the first
    found: Int32s  # those sets, one behind the other
    counters: Int64s
    series: Int64s  # rows: cliques and vertices at the end of each step of the log


# ----------------------------------------------------------------------------------------------------------------------
# How many cliques a pair is part of.
#
# The law: the k-cliques with a pair are the (k − 2)-cliques among the vertices that both its ends have for neighbour;
# and those with one vertex of a set, of whose cliques none with an earlier vertex is counted again, are the cliques
# among its neighbours later in the set. Between a vertex's neighbours and the rest of the set, the fewer are gone
# through.
# ----------------------------------------------------------------------------------------------------------------------


@kernel()
def cliques_with(state: Cliques, one: Any, other: Any) -> Any:
    """The cliques of SIZE, at least 3, that a pair is part of or would be."""
    lists, size = state.graph.undirected, state.counters[SIZE]
    near, far = (one, other) if list_length(lists, one) <= list_length(lists, other) else (other, one)
    common = _find_common(state, near, far)
    if size == 3 or common < size - 2:
        return common if size == 3 else np.int64(0)
    return _triangles_within(state, common) if size == 5 else _pairs_within(state, np.int64(0), common, 1)


@kernel()
def _find_common(state: Cliques, near: Any, far: Any) -> Any:
    """Puts the common neighbours of two vertices, the first with the shorter list, into `found`; how many."""
    lists, common = state.graph.undirected, np.int64(0)
    start, length = list_start(lists, near), list_length(lists, near)
    ask_for_pairs(state.graph, start, length, far)
    for i in range(start, start + length):
        vertex = np.int64(lists.pool[i])
        if vertex != far and is_neighbour(state.graph, far, vertex):
            state.found[common] = vertex
            common += 1
    return common


@kernel()
def _triangles_within(state: Cliques, last: Any) -> Any:
    """The triangles among those found up to a place."""
    triangles = np.int64(0)
    _mark(state, np.int64(0), last, 1)
    for i in range(last):
        vertex = np.int64(state.found[i])
        state.marks[vertex] = 0
        later = _find_later(state, vertex, i, last, 1)
        if later > 1:
            triangles += _pairs_within(state, last, last + later, 2)
    return triangles


@kernel()
def _pairs_within(state: Cliques, first: Any, last: Any, mark: Any) -> Any:
    """The pairs among those found between two places; they have the mark below when it is done."""
    pairs = np.int64(0)
    _mark(state, first, last, mark)
    for i in range(first, last):
        vertex = np.int64(state.found[i])
        state.marks[vertex] = mark - 1
        pairs += _find_later(state, vertex, i, last, mark)
    return pairs


@kernel(inline=True)
def _mark(state: Cliques, first: Any, last: Any, mark: Any) -> None:
    for i in range(first, last):
        state.marks[state.found[i]] = mark


@kernel()
def _find_later(state: Cliques, vertex: Any, place: Any, last: Any, mark: Any) -> Any:
    """Puts those behind a vertex's place, and with the mark, that are its neighbours behind the last; how many."""
    lists, found = state.graph.undirected, last
    start, length = list_start(lists, vertex), list_length(lists, vertex)
    if length <= last - place:
        for i in range(start, start + length):
            if state.marks[lists.pool[i]] == mark:
                state.found[found] = lists.pool[i]
                found += 1
    else:
        for i in range(place + 1, last):
            if are_joined(state.graph, vertex, np.int64(state.found[i])):
                state.found[found] = state.found[i]
                found += 1
    return found - last


# ----------------------------------------------------------------------------------------------------------------------
# Counts of cliques, kept as edges come and go.
#
# The law: a pair that comes or goes changes the count by the cliques that it is part of. A change is begun only if
# there is room for all that it may do, so whoever returns for want of room goes on from the very place.
# ----------------------------------------------------------------------------------------------------------------------

STATE: Any = named(Cliques, SIMPLE, NEW_INT8S, NEW_INT32S, NEW_INT64S, INT64_ROWS)


@kernel((STATE, LOG))
def follow_cliques(state: Cliques, log: Log) -> Any:
    """Takes a log over, change by change; whether all of it is, or room is lacking."""
    row = state.counters[ROW]
    while row < len(log.step):
        if not _has_room(state, log.subject[row], log.object[row]):
            return False
        state.counters[CLIQUES] += _change(
            state, np.int64(log.subject[row]), np.int64(log.object[row]), log.change[row]
        )
        row += 1
        state.counters[ROW] = row
        if row == len(log.step) or log.step[row] != log.step[row - 1]:
            _note(state, log.step[row - 1])
    return True


@kernel(inline=True)
def _has_room(state: Cliques, one: Any, other: Any) -> Any:
    """Whether a pair can come or go, and three sets of its common neighbours be found."""
    if state.counters[SIZE] > 2:
        lists = state.graph.undirected
        state.counters[WANTED] = 3 * (1 + min(list_length(lists, one), list_length(lists, other)))
    return state.counters[WANTED] <= len(state.found) and has_room(state.graph)


@kernel(inline=True)
def _change(state: Cliques, subject: Any, object: Any, change: Any) -> Any:
    """By how much a change of an edge changes the count."""
    if change == CHANGED:
        return np.int64(0)
    by = np.int64(1) if change == CAME else np.int64(-1)
    changed = add_edge(state.graph, subject, object) if change == CAME else drop_edge(state.graph, subject, object)
    if not changed & NEW_PAIR or state.counters[SIZE] < 3:
        return np.int64(0)
    return by * cliques_with(state, subject, object)


@kernel(inline=True)
def _note(state: Cliques, step: Any) -> None:
    """Writes down what holds at the end of a step."""
    ended, size = state.counters[ENDED], state.counters[SIZE]
    vertices, pairs = state.graph.counters[VERTICES], state.graph.counters[JOINED]
    state.counters[ENDED] = ended + 1
    state.series[ended, S_STEP], state.series[ended, S_VERTICES] = step, vertices
    state.series[ended, S_CLIQUES] = pairs if size == 2 else state.counters[CLIQUES]


# ----------------------------------------------------------------------------------------------------------------------
# `hg:cliques(k)`: how many sets of k vertices are joined pair by pair, in the undirected simple projection, exactly.
#
# k = 1 are the vertices, 2 the pairs, 3 the triangles. Where a pair comes or goes, the cliques that it is part of are
# counted among the common neighbours of its ends: see kernels.metric_cliques_pairs.
# ----------------------------------------------------------------------------------------------------------------------

LARGEST = 5  # vertices of a clique


class CliquesCliques:
    """The number of cliques of one size, over one projection."""

    def __init__(self, size: int) -> None:
        if not 1 <= size <= LARGEST:
            raise ValueError(f"cliques of {size} vertices are not counted, only those of 1 to {LARGEST}")
        self._graph = GrowingGraph(undirected=size > 2)
        counters = np.zeros(COUNTERS, np.int64)
        counters[SIZE] = size
        marks, found, series = np.zeros(0, np.uint8), np.empty(0, np.int32), np.empty((0, SERIES_COLUMNS), np.int64)
        self._state = Cliques(self._graph.arrays, marks, found, counters, series)
        self.whole = Whole()

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
        before = self._now()
        series = self._take_over(log)
        if existing is not None:
            series = at_steps(series, before[0], len(existing))
        return self.whole.said(series[:, S_STEP], self._values(series, existing).astype(np.float64))

    def value(self, instance: int) -> float:
        return float(self._values(self._now(), None)[0])

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._take_over(log)

    def _values(self, series: Int64s, existing: Int64s | None) -> Int64s:
        vertices = self.whole.count_vertices(series[:, S_VERTICES], existing)
        return vertices if self._state.counters[SIZE] == 1 else series[:, S_CLIQUES]

    def _now(self) -> Int64s:
        """What holds now, as one row of a series."""
        graph, counters = self._graph.arrays, self._state.counters
        cliques = counted(graph, JOINED) if counters[SIZE] == 2 else int(counters[CLIQUES])
        return np.array([[0, cliques, counted(graph, VERTICES)]])

    def _take_over(self, log: Log) -> Int64s:
        """Takes changes over; what held at the end of each step that has any."""

        log = fixed_log(log)
        self._graph.cover_log(log)
        self._state.counters[[ROW, ENDED]] = 0
        series = np.empty((count_steps(log), SERIES_COLUMNS), np.int64)
        self._make_room(series)
        while not follow_cliques(self._state, log):
            self._graph.grow()
            self._make_room(series)
        return series

    def _make_room(self, series: Int64s) -> None:
        state, wanted = self._state._replace(graph=self._graph.arrays, series=series), self._state.counters[WANTED]
        if self._graph.vertices > len(state.marks):
            state = state._replace(marks=enlarged(state.marks, self._graph.vertices))
        if wanted > len(state.found):
            state = state._replace(found=enlarged(state.found, first_room(2 * int(wanted), int(wanted))))
        self._state = state
