"""What a pair that comes or goes does to triangles.

The law: it makes or breaks one with each vertex that both its ends have for neighbour, and no other. The shorter list
of neighbours is gone through; each of them is looked for in the longer one if that is short, else among the pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_triangles_layout import (
    ALL,
    MARK,
    SUMMING,
    TOUCHED,
    TRIANGLES,
    TRIPLES,
    Triangles,
)
from heliograph.kernels.simple_graph_asked import is_asked
from heliograph.kernels.simple_graph_common import ask_for_pairs, is_neighbour
from heliograph.kernels.simple_graph_layout import Asked
from heliograph.kernels.simple_graph_lists import list_length, list_start


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
