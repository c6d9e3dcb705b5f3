"""One publication as a small graph in scratch arrays: is this edge there, and which edges have these parts?

Every list of edges is a chain through a hash table; the chains by subject, object and predicate alone are made only for
indexes that ask for them. The arrays are made once for a batch and used for one publication after another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.edges import edge_hash
from heliograph.kernels.filter_layout import Edges, Int32s, Int64s
from heliograph.kernels.types import NEW_INT32S, NEW_INT64S, named

WHOLE, BY_SP, BY_PO, BY_S, BY_O, BY_P = 0, 1, 2, 3, 4, 5
_TABLES = 6


class Graph(NamedTuple):
    """Distinct edges 0 … size[0] - 1, and six hash tables over them, each of heads and of one link an edge."""

    subject: Int32s
    predicate: Int32s
    object: Int32s
    heads: Int32s  # six tables end to end: an edge, or -1
    links: Int32s  # six lists end to end: the next edge of the chain, or -1
    size: Int64s  # edges, heads in use of each table, heads allocated for each, links allocated for each


GRAPH = named(Graph, NEW_INT32S, NEW_INT32S, NEW_INT32S, NEW_INT32S, NEW_INT32S, NEW_INT64S)


@kernel()
def make_graph(most: int) -> Graph:
    """Room for a publication of so many edges."""
    capacity = 16
    while capacity < 2 * most:
        capacity *= 2
    return Graph(
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        np.empty(_TABLES * capacity, np.int32),
        np.empty(_TABLES * most, np.int32),
        np.array([0, 0, capacity, most], np.int64),
    )


@kernel()
def _head(graph: Graph, table: int, subject: Any, predicate: Any, object: Any) -> Any:
    slot = edge_hash(subject, predicate, object) & np.uint64(graph.size[1] - 1)
    return table * graph.size[2] + np.int64(slot)


@kernel()
def _link(graph: Graph, table: int, edge: int, head: int) -> None:
    graph.links[table * graph.size[3] + edge] = graph.heads[head]
    graph.heads[head] = edge


@kernel()
def first(graph: Graph, table: int, subject: Any, predicate: Any, object: Any) -> Any:
    """The first edge of a chain; parts that the table does not ask for are -1. Others may stand in it: compare."""
    return graph.heads[_head(graph, table, subject, predicate, object)]


@kernel()
def following(graph: Graph, table: int, edge: int) -> Any:
    return graph.links[table * graph.size[3] + edge]


@kernel()
def holds(graph: Graph, subject: Any, predicate: Any, object: Any) -> Any:
    """Whether the publication has an edge."""
    edge = first(graph, WHOLE, subject, predicate, object)
    while edge >= 0:
        if graph.subject[edge] == subject and graph.predicate[edge] == predicate and graph.object[edge] == object:
            return True
        edge = following(graph, WHOLE, edge)
    return False


@kernel()
def fill(graph: Graph, edges: Edges, publication: int, wanted: int) -> None:
    """Makes the graph that of one publication, each edge once; `wanted` has a bit for each table that is needed."""
    start, stop = edges.offsets[publication], edges.offsets[publication + 1]
    capacity = 16
    while capacity < 2 * (stop - start):
        capacity *= 2
    graph.size[0], graph.size[1] = 0, capacity
    for table in range(_TABLES):
        if wanted >> table & 1:
            for head in range(table * graph.size[2], table * graph.size[2] + capacity):
                graph.heads[head] = -1
    for row in range(start, stop):
        subject, predicate, object = edges.subject[row], edges.predicate[row], edges.object[row]
        if not holds(graph, subject, predicate, object):
            edge = graph.size[0]
            graph.size[0] += 1
            graph.subject[edge], graph.predicate[edge], graph.object[edge] = subject, predicate, object
            _link(graph, WHOLE, edge, _head(graph, WHOLE, subject, predicate, object))
            _enter(graph, edge, wanted)


@kernel()
def _enter(graph: Graph, edge: int, wanted: int) -> None:
    subject, predicate, object = graph.subject[edge], graph.predicate[edge], graph.object[edge]
    if wanted >> BY_SP & 1:
        _link(graph, BY_SP, edge, _head(graph, BY_SP, subject, predicate, np.int32(-1)))
    if wanted >> BY_PO & 1:
        _link(graph, BY_PO, edge, _head(graph, BY_PO, np.int32(-1), predicate, object))
    if wanted >> BY_S & 1:
        _link(graph, BY_S, edge, _head(graph, BY_S, subject, np.int32(-1), np.int32(-1)))
    if wanted >> BY_O & 1:
        _link(graph, BY_O, edge, _head(graph, BY_O, np.int32(-1), np.int32(-1), object))
    if wanted >> BY_P & 1:
        _link(graph, BY_P, edge, _head(graph, BY_P, np.int32(-1), predicate, np.int32(-1)))
