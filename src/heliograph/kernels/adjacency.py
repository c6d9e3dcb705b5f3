"""One publication as a small graph in a scratch array: is this edge there, and which edges have these parts?

Every list of edges is a chain through a hash table; only the lists that an index asks for are made. It is all one
array, made once for a batch and used for one publication after another: a kernel that hands dozens of arrays from
function to function spends its time on that.

The array holds six numbers, the edges as (subject, predicate, object), the heads of six tables, and their links.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.filter_layout import Edges, Int32s

WHOLE, BY_SP, BY_PO, BY_S, BY_O, BY_P = 0, 1, 2, 3, 4, 5
_TABLES = 6
SIZE, _SHIFT, _HEADS_AT, _SPACE, _LINKS_AT, _MOST = range(6)  # edges; 64 less the bits of a head; where the rest is
_EDGES_AT = 6
_ANY = np.int32(-1)

# Odd multipliers without pattern: the upper bits of the sum are a hash that costs three multiplications side by side.
_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
_THIRD = np.uint64(0x165667B19E3779F9)


@kernel(allocates=True)
def make_graph(most: int) -> Any:
    """Room for a publication of so many edges."""
    space = 16
    while space < 2 * most:
        space *= 2
    graph = np.empty(_EDGES_AT + 3 * most + _TABLES * (space + most), np.int32)
    graph[SIZE], graph[_SHIFT], graph[_HEADS_AT] = 0, 0, _EDGES_AT + 3 * most
    graph[_SPACE], graph[_LINKS_AT], graph[_MOST] = space, _EDGES_AT + 3 * most + _TABLES * space, most
    return graph


@kernel()
def part(graph: Int32s, edge: int, number: int) -> Any:
    """The subject (0), predicate (1) or object (2) of an edge."""
    return graph[_EDGES_AT + 3 * edge + number]


@kernel()
def _head(graph: Int32s, table: int, subject: Any, predicate: Any, object: Any) -> Any:
    spread = np.uint64(subject) * _FIRST + np.uint64(predicate) * _SECOND + np.uint64(object) * _THIRD
    return graph[_HEADS_AT] + table * graph[_SPACE] + np.int64(spread >> np.uint64(graph[_SHIFT]))


@kernel()
def _link(graph: Int32s, table: int, edge: int, head: int) -> None:
    graph[graph[_LINKS_AT] + table * graph[_MOST] + edge] = graph[head]
    graph[head] = edge


@kernel()
def first(graph: Int32s, table: int, subject: Any, predicate: Any, object: Any) -> Any:
    """The first edge of a chain; parts that the table does not ask for are -1. Others may stand in it: compare."""
    return graph[_head(graph, table, subject, predicate, object)]


@kernel()
def following(graph: Int32s, table: int, edge: int) -> Any:
    return graph[graph[_LINKS_AT] + table * graph[_MOST] + edge]


@kernel()
def holds(graph: Int32s, subject: Any, predicate: Any, object: Any) -> Any:
    """Whether the publication has an edge."""
    edge = first(graph, WHOLE, subject, predicate, object)
    while edge >= 0:
        if part(graph, edge, 0) == subject and part(graph, edge, 1) == predicate and part(graph, edge, 2) == object:
            return True
        edge = following(graph, WHOLE, edge)
    return False


@kernel()
def _clear(graph: Int32s, edges: int, wanted: int) -> None:
    heads, bits = 16, 4
    while heads < 2 * edges:
        heads, bits = 2 * heads, bits + 1
    graph[SIZE], graph[_SHIFT] = 0, 64 - bits
    for table in range(_TABLES):
        if wanted >> table & 1:
            start = graph[_HEADS_AT] + table * graph[_SPACE]
            for head in range(start, start + heads):
                graph[head] = -1


@kernel()
def fill(graph: Int32s, edges: Edges, publication: int, wanted: int) -> None:
    """Makes the graph that of one publication, each edge once; `wanted` has a bit for each table that is needed."""
    start, stop = edges.offsets[publication], edges.offsets[publication + 1]
    _clear(graph, stop - start, wanted)
    for row in range(start, stop):
        subject, predicate, object = edges.subject[row], edges.predicate[row], edges.object[row]
        if not holds(graph, subject, predicate, object):
            edge = graph[SIZE]
            graph[SIZE] += 1
            place = _EDGES_AT + 3 * edge
            graph[place], graph[place + 1], graph[place + 2] = subject, predicate, object
            _enter(graph, edge, wanted)


@kernel()
def _enter(graph: Int32s, edge: int, wanted: int) -> None:
    subject, predicate, object = part(graph, edge, 0), part(graph, edge, 1), part(graph, edge, 2)
    _link(graph, WHOLE, edge, _head(graph, WHOLE, subject, predicate, object))
    if wanted >> BY_SP & 1:
        _link(graph, BY_SP, edge, _head(graph, BY_SP, subject, predicate, _ANY))
    if wanted >> BY_PO & 1:
        _link(graph, BY_PO, edge, _head(graph, BY_PO, _ANY, predicate, object))
    if wanted >> BY_S & 1:
        _link(graph, BY_S, edge, _head(graph, BY_S, subject, _ANY, _ANY))
    if wanted >> BY_O & 1:
        _link(graph, BY_O, edge, _head(graph, BY_O, _ANY, _ANY, object))
    if wanted >> BY_P & 1:
        _link(graph, BY_P, edge, _head(graph, BY_P, _ANY, predicate, _ANY))
