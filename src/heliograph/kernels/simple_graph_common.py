"""Whether vertices are neighbours, asked many times of the same vertex."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.prefetching import prefetch
from heliograph.kernels.simple_graph_layout import Simple
from heliograph.kernels.simple_graph_lists import list_length, list_start
from heliograph.kernels.simple_graph_pairs import are_joined, key_home, pair_key

_SHORT = 16  # neighbours: one line of the cache


@kernel(inline=True)
def ask_for_pairs(graph: Simple, start: Any, length: Any, vertex: Any) -> None:
    """Asks for the places where the pairs of a list's neighbours with a vertex would stand, if they are to be asked."""
    if list_length(graph.undirected, vertex) > _SHORT:
        mask = np.int64(len(graph.keys) - 1)
        for i in range(start, start + length):
            prefetch(graph.keys, key_home(pair_key(vertex, np.int64(graph.undirected.pool[i])), mask))


@kernel(inline=True)
def is_neighbour(graph: Simple, vertex: Any, neighbour: Any) -> Any:
    """Whether two different vertices are joined: a short list is read through, else the pair is looked up."""
    lists = graph.undirected
    start, length = list_start(lists, vertex), list_length(lists, vertex)
    if length > _SHORT:
        return are_joined(graph, vertex, neighbour)
    found = False
    for i in range(start, start + length):
        found |= lists.pool[i] == neighbour
    return found
