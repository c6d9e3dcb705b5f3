"""Core numbers and an order from scratch, for a graph that is there as a whole.

Vertices are sorted by degree; the first one goes, and those of its neighbours that have more move one bin down, all in
linear time (Batagelj and Zaversnik, 2003). The order in which they go is one that can be kept from then on.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_dense_cores import neighbours
from heliograph.kernels.metric_dense_layout import EDGES, LEVELS, VERTICES, Cores
from heliograph.kernels.metric_dense_order import put_last
from heliograph.kernels.metric_dense_types import CORES
from heliograph.kernels.simple_graph_layout import Simple
from heliograph.kernels.simple_graph_lists import list_length
from heliograph.kernels.simple_graph_types import SIMPLE
from heliograph.kernels.types import NEW_INT64S


@kernel((SIMPLE, CORES, NEW_INT64S))
def peel(graph: Simple, cores: Cores, bins: Any) -> Any:
    """Finds core numbers, with `queue` the order and `rising` the places in it; the largest core number.

    `bins` are zeros, two more than the largest degree.
    """
    order, places = cores.queue, cores.rising
    _sort_by_degree(graph, cores, bins)
    for number in range(len(order)):
        vertex = order[number]
        start, end = neighbours(graph, vertex)
        for place in range(start, end):
            other = graph.undirected.pool[place]
            if cores.core[other] > cores.core[vertex]:
                first = bins[cores.core[other]]
                _swap(order, places, places[other], first)
                bins[cores.core[other]] = first + 1
                cores.core[other] -= 1
    return np.int64(cores.core[order[len(order) - 1]]) if len(order) else np.int64(0)


@kernel()
def _sort_by_degree(graph: Simple, cores: Cores, bins: Any) -> None:
    """Core numbers begin as degrees; bins[d] becomes the place of the first vertex of degree d."""
    for vertex in range(len(cores.core)):
        cores.core[vertex] = list_length(graph.undirected, vertex)
        bins[cores.core[vertex] + 1] += 1
    for degree in range(1, len(bins)):
        bins[degree] += bins[degree - 1]
    for vertex in range(len(cores.core)):
        place = bins[cores.core[vertex]]
        cores.queue[place], cores.rising[vertex] = vertex, place
        bins[cores.core[vertex]] = place + 1
    for degree in range(len(bins) - 1, 0, -1):
        bins[degree] = bins[degree - 1]
    bins[0] = 0


@kernel(inline=True)
def _swap(order: Any, places: Any, one: Any, other: Any) -> None:
    order[one], order[other] = order[other], order[one]
    places[order[one]], places[order[other]] = one, other


@kernel((SIMPLE, CORES, int64))
def take_order(graph: Simple, cores: Cores, largest: Any) -> None:
    """Lists vertices in the order of a peeling, and counts what is kept of them; lists and sizes are empty."""
    for number in range(len(cores.queue)):
        vertex = np.int64(cores.queue[number])
        put_last(cores, vertex)
        _count(graph, cores, vertex)
    cores.counters[LEVELS] = largest + 1


@kernel()
def _count(graph: Simple, cores: Cores, vertex: Any) -> None:
    cores.later[vertex] = cores.level[vertex] = 0
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        other = graph.undirected.pool[place]
        cores.later[vertex] += 1 if cores.rising[other] > cores.rising[vertex] else 0
        cores.level[vertex] += 1 if cores.core[other] >= cores.core[vertex] else 0
    cores.sizes[cores.core[vertex], VERTICES] += 1
    cores.sizes[cores.core[vertex], EDGES] += cores.later[vertex]
