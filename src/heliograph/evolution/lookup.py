"""Which edges of an evolving graph agree with a pattern? For Python; kernels have ways of their own.

The law: the answer is the numbers of exactly those present edges that have the parts given, ascending, each once. It
is read from the runs of a vertex that is given, if they are kept, and otherwise from the table of edges.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import numpy as np

from heliograph.kernels.evolution_layout import (
    EDGE,
    EDGES,
    IN,
    KEY,
    LENGTH,
    LINK,
    NEXT_RUN,
    OBJECT,
    OUT,
    PREDICATE,
    PRESENT,
    START,
    SUBJECT,
    Graph,
    Int32s,
    Int64s,
)

Parts = tuple[int | None, int | None, int | None]  # subject, predicate, object

_NOTHING = np.empty(0, np.int64)


def present(graph: Graph, hidden: Collection[int] = ()) -> Int64s:
    """All present edges but those of hidden properties."""
    edges = np.flatnonzero(graph.edges[: graph.counters[EDGES], LINK] & PRESENT)
    if not hidden:
        return edges
    seen: Int64s = edges[~np.isin(graph.edges[edges, PREDICATE], list(hidden))]
    return seen


def touching(graph: Graph, vertex: int, hidden: Collection[int] = ()) -> Int64s:
    """The edges with a vertex at either end."""
    if len(graph.runs):
        return _listed(graph, vertex, lambda key: key >> 1 not in hidden)
    edges = present(graph, hidden)
    found: Int64s = edges[(graph.edges[edges][:, [SUBJECT, OBJECT]] == vertex).any(axis=1)]
    return found


def matching(graph: Graph, parts: Parts, hidden: Collection[int] = ()) -> Int64s:
    """The edges with these parts; None is anything, as a property anything but hidden ones."""
    edges = _candidates(graph, parts, hidden if parts[PREDICATE] is None else ())
    for column, part in enumerate(parts):
        if part is not None:
            edges = edges[graph.edges[edges, column] == part]
    return edges


def _candidates(graph: Graph, parts: Parts, hidden: Collection[int]) -> Int64s:
    """Some edges, all that match among them: those of the given end that has fewer, or all."""
    subject, predicate, object = parts
    ends = [(vertex, side) for vertex, side in ((subject, OUT), (object, IN)) if vertex is not None]
    if not ends or not len(graph.runs):
        return present(graph, hidden)

    def wanted(side: int) -> Callable[[int], bool]:
        return lambda key: key & 1 == side and (key >> 1 not in hidden if predicate is None else key >> 1 == predicate)

    vertex, side = min(ends, key=lambda end: _degree(graph, end[0], wanted(end[1])))
    return _listed(graph, vertex, wanted(side))


def _listed(graph: Graph, vertex: int, wanted: Callable[[int], bool]) -> Int64s:
    lists = [_edges_of(graph, run) for run in _runs_of(graph, vertex, wanted)]
    return np.unique(np.concatenate(lists)).astype(np.int64) if lists else _NOTHING


def _degree(graph: Graph, vertex: int, wanted: Callable[[int], bool]) -> int:
    return sum(int(graph.runs[run, LENGTH]) for run in _runs_of(graph, vertex, wanted))


def _runs_of(graph: Graph, vertex: int, wanted: Callable[[int], bool]) -> Iterator[int]:
    """The runs of a vertex whose keys are wanted."""
    run = int(graph.first[vertex]) - 1 if 0 <= vertex < len(graph.first) else -1
    while run >= 0:
        if wanted(int(graph.runs[run, KEY])):
            yield run
        run = int(graph.runs[run, NEXT_RUN]) - 1


def _edges_of(graph: Graph, run: int) -> Int32s:
    start, length = int(graph.runs[run, START]), int(graph.runs[run, LENGTH])
    return graph.pool[start : start + length, EDGE] if length != 1 else graph.runs[run, START : START + 1]
