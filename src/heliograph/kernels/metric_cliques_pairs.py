"""How many cliques a pair is part of.

The law: the k-cliques with a pair are the (k − 2)-cliques among the vertices that both its ends have for neighbour; and
those with one vertex of a set, of whose cliques none with an earlier vertex is counted again, are the cliques among its
neighbours later in the set. Between a vertex's neighbours and the rest of the set, the fewer are gone through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_cliques_layout import SIZE, Cliques
from heliograph.kernels.simple_graph_common import ask_for_pairs, is_neighbour
from heliograph.kernels.simple_graph_lists import list_length, list_start
from heliograph.kernels.simple_graph_pairs import are_joined


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
