"""Asking for what the next changes of a log need of a simple graph, before they need it.

An edge's ends lie anywhere, so a change is a dozen misses of the cache: rows of vertices, the place of the pair, then
lists, then those who stand last in them. Rows are asked for some changes ahead; when they are there, nearer to the
change, what they lead to. Nothing is decided by it: what is asked for in vain costs a line of the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_layout import Log
from heliograph.kernels.prefetching import prefetch
from heliograph.kernels.simple_graph_layout import LENGTH, START, Simple
from heliograph.kernels.simple_graph_pairs import key_home, pair_key

_FAR, _NEAR = 24, 10  # changes ahead


@kernel(inline=True)
def ask_for_rows(graph: Simple, vertices: Any, log: Log, row: Any) -> None:
    """The rows of a change's vertices, also in another array of two columns, and the place of its pair."""
    row += _FAR
    if row < len(log.step):
        subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
        _ask_for_vertex(graph, vertices, subject)
        _ask_for_vertex(graph, vertices, object)
        home = key_home(pair_key(subject, object), np.int64(len(graph.keys) - 1))
        prefetch(graph.keys, home)
        prefetch(graph.numbers, home)


@kernel(inline=True)
def _ask_for_vertex(graph: Simple, vertices: Any, vertex: Any) -> None:
    prefetch(graph.undirected.heads, 2 * vertex)
    prefetch(graph.touching, vertex)
    prefetch(graph.undirected.room, vertex)
    prefetch(vertices, 2 * vertex)


@kernel(inline=True)
def ask_for_lists(graph: Simple, log: Log, row: Any) -> None:
    """The lists of a change's vertices, whose rows were asked for before, and the row of its pair."""
    row += _NEAR
    if row < len(log.step):
        subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
        _ask_for_list(graph, subject)
        _ask_for_list(graph, object)
        home = key_home(pair_key(subject, object), np.int64(len(graph.keys) - 1))
        if graph.keys[home] != 0:
            prefetch(graph.pairs, graph.numbers[home] * graph.pairs.shape[1])


@kernel(inline=True)
def _ask_for_list(graph: Simple, vertex: Any) -> None:
    lists = graph.undirected
    start, length = np.int64(lists.heads[vertex, START]), np.int64(lists.heads[vertex, LENGTH])
    if length:
        prefetch(lists.pool, start)
        prefetch(lists.pool, start + length)
        prefetch(lists.owners, start + length)
