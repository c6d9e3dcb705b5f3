"""`hg:cliques(k)`: how many sets of k vertices are joined pair by pair, in the undirected simple projection, exactly.

k = 1 are the vertices, 2 the pairs, 3 the triangles.

The laws.

- A pair that comes or goes changes the count by the cliques that it is part of. The k-cliques with a pair are the
  (k − 2)-cliques among the vertices that both its ends have for neighbour; and those with one vertex of a set, of whose
  cliques none with an earlier vertex is counted again, are the cliques among its neighbours later in the set. Between a
  vertex's neighbours and the rest of the set, the fewer are gone through.
- A change is begun only if there is room for all that it may do, so a kernel that returns for want of room goes on from
  the very place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, uint8

from heliograph.compiled.compile import kernel
from heliograph.compiled.records import ADDRESS, Struct, array, number, part, run, view, wanted
from heliograph.watch.layout import Floats, Int8s, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    LOG,
    NEW_PAIR,
    SimpleGraph,
    add_edge,
    are_joined,
    ask_for_pairs,
    drop_edge,
    has_room,
    is_neighbour,
    list_length,
    list_start,
)
from heliograph.watch.metrics.thresholds import CAME, CHANGED, Log, WholeMeasure, count_steps, fixed_log

LARGEST = 5  # vertices of a clique
S_STEP, S_CLIQUES, S_VERTICES = range(3)  # of series
_SERIES = 3


class CliqueCounts(Struct):
    """Cliques of a growing simple graph. Those of 1 and 2 need no lists, marks or room."""

    graph: SimpleGraph = part(SimpleGraph)
    size: int = number()  # how many vertices a clique has
    cliques: int = number()
    marks: Int8s = array(uint8, "vertex")  # while cliques are counted: in which of two nested sets a vertex is
    found: Int32s = array(int32, "found")  # those sets, one behind the other
    found_wanted: int = wanted("found")
    series: Int64s = array(int64, "step", _SERIES)  # cliques and vertices at the end of each step of the log
    ended: int = number()  # steps of the log that are over
    row: int = number()  # the next change of the log


clique_counts_at = view(CliqueCounts)


# --- kernels ----------------------------------------------------------------------------------------------------


@kernel((ADDRESS, LOG))
def follow_cliques(address: Any, log: Log) -> Any:
    """Takes a log over, change by change; whether all of it is, or room is lacking."""
    state = clique_counts_at(address)
    graph = state.graph
    while state.row < len(log.step):
        row = state.row
        subject, object, change = np.int64(log.subject[row]), np.int64(log.object[row]), log.change[row]
        if state.size > 2:
            lists = graph.undirected  # three sets of common neighbours may be found
            state.found_wanted = 3 * (1 + min(list_length(lists, subject), list_length(lists, object)))
        if state.found_wanted > len(state.found) or not has_room(graph):
            return False
        if change != CHANGED:
            changed = add_edge(graph, subject, object) if change == CAME else drop_edge(graph, subject, object)
            if changed & NEW_PAIR and state.size > 2:
                count = _cliques_with(state, subject, object)
                state.cliques += count if change == CAME else -count
        state.row = row + 1
        if row + 1 == len(log.step) or log.step[row + 1] != log.step[row]:
            ended = state.ended
            state.ended = ended + 1
            state.series[ended, S_STEP], state.series[ended, S_VERTICES] = log.step[row], graph.touched
            state.series[ended, S_CLIQUES] = graph.joined if state.size == 2 else state.cliques
    return True


@kernel()
def _cliques_with(state: CliqueCounts, one: Any, other: Any) -> Any:
    """The cliques of `size`, at least 3, that a pair is part of or would be."""
    lists, size, common = state.graph.undirected, state.size, np.int64(0)
    near, far = (one, other) if list_length(lists, one) <= list_length(lists, other) else (other, one)
    start, length = list_start(lists, near), list_length(lists, near)
    ask_for_pairs(state.graph, start, length, far)
    for i in range(start, start + length):
        vertex = np.int64(lists.pool[i])
        if vertex != far and is_neighbour(state.graph, far, vertex):
            state.found[common] = vertex
            common += 1
    if size == 3 or common < size - 2:
        return common if size == 3 else np.int64(0)
    if size == 4:
        return _pairs_within(state, np.int64(0), common, 1)
    triangles = np.int64(0)
    for i in range(common):
        state.marks[state.found[i]] = 1
    for i in range(common):
        vertex = np.int64(state.found[i])
        state.marks[vertex] = 0
        later = _find_later(state, vertex, i, common, 1)
        if later > 1:
            triangles += _pairs_within(state, common, common + later, 2)
    return triangles


@kernel()
def _pairs_within(state: CliqueCounts, first: Any, last: Any, mark: Any) -> Any:
    """The pairs among those found between two places; they have the mark below when it is done."""
    pairs = np.int64(0)
    for i in range(first, last):
        state.marks[state.found[i]] = mark
    for i in range(first, last):
        vertex = np.int64(state.found[i])
        state.marks[vertex] = mark - 1
        pairs += _find_later(state, vertex, i, last, mark)
    return pairs


@kernel()
def _find_later(state: CliqueCounts, vertex: Any, place: Any, last: Any, mark: Any) -> Any:
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


# --- the measure ------------------------------------------------------------------------------------------------


class Cliques(WholeMeasure):
    """The number of cliques of one size, over one projection."""

    def __init__(self, size: int) -> None:
        if not 1 <= size <= LARGEST:
            raise ValueError(f"cliques of {size} vertices are not counted, only those of 1 to {LARGEST}")
        super().__init__()
        self._counts = CliqueCounts({"graph": SimpleGraph(undirected=size > 2)})
        self._counts.size = size

    def _now(self) -> Int64s:
        graph = self._counts.graph
        cliques = graph.joined if self._counts.size == 2 else self._counts.cliques
        return np.array([[0, cliques, graph.touched]], np.int64)

    def _rows(self, log: Log) -> Int64s:
        counts, log = self._counts, fixed_log(log)
        counts.graph.cover_log(log)
        if counts.graph.vertices > len(counts.marks):
            counts.resize("vertex", counts.graph.vertices)
        counts.row = counts.ended = 0
        counts.series = np.empty((count_steps(log), _SERIES), np.int64)
        run(follow_cliques, counts, log)
        return counts.series

    def _values(self, rows: Int64s, vertices: Int64s) -> Floats:
        return (vertices if self._counts.size == 1 else rows[:, S_CLIQUES]).astype(np.float64)
