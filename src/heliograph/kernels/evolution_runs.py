"""The edges of each vertex by property and direction, kept as edges come and go.

A run's block has room for the next power of two of its length, which therefore need not be stored. An edge goes out of
a run by the last one taking its place, so both cost the same whatever the run's length; only a run that outgrows its
block is copied, if the block above it is taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import head_entry, head_of, other_end, run_in, run_tag
from heliograph.kernels.evolution_layout import (
    EDGE,
    IDLE,
    IN,
    KEY,
    LENGTH,
    NEED,
    NEIGHBOUR,
    NEXT_RUN,
    OBJECT,
    OUT,
    PREDICATE,
    RUN_BITS,
    RUNS,
    START,
    SUBJECT,
    VERTEX,
    Graph,
)
from heliograph.kernels.evolution_pool import claim_buddy, give, take


@kernel()
def join_runs(graph: Graph, edge: Any) -> None:
    """An edge that has come stands in a run of each of its ends."""
    subject, key, object = graph.edges[edge, SUBJECT], 2 * graph.edges[edge, PREDICATE], graph.edges[edge, OBJECT]
    _join(graph, subject, key + OUT, edge)
    _join(graph, object, key + IN, edge)


@kernel()
def quit_runs(graph: Graph, edge: Any) -> None:
    """An edge that goes leaves the runs of its ends."""
    subject, key, object = graph.edges[edge, SUBJECT], 2 * graph.edges[edge, PREDICATE], graph.edges[edge, OBJECT]
    _quit(graph, subject, key + OUT, edge)
    _quit(graph, object, key + IN, edge)


@kernel()
def _join(graph: Graph, vertex: Any, key: Any, edge: Any) -> None:
    place = head_of(graph, vertex, key)
    if graph.heads[place] == 0:
        _begin(graph, vertex, key, place)
    run = run_in(graph, place)
    length = np.int64(graph.runs[run, LENGTH])
    if length == 0:
        graph.runs[run, START] = edge
        graph.counters[IDLE] -= 1
    else:
        if length & (length - 1) == 0:
            _widen(graph, run, length)
        last = graph.runs[run, START] + length
        graph.pool[last, NEIGHBOUR] = other_end(graph, edge, key & 1)
        graph.pool[last, EDGE] = edge
    graph.places[edge, key & 1] = length
    graph.runs[run, LENGTH] = length + 1
    if length & (length + 1) == 0:  # a full block: next time two runs may need one twice the size, one after a gap
        graph.counters[NEED] = max(graph.counters[NEED], 6 * (length + 1))


@kernel()
def _begin(graph: Graph, vertex: Any, key: Any, place: Any) -> None:
    """A run without edges, in its place in `heads`."""
    run = graph.counters[RUNS]
    graph.runs[run, VERTEX], graph.runs[run, KEY] = vertex, key
    graph.runs[run, START], graph.runs[run, LENGTH] = 0, 0
    graph.runs[run, NEXT_RUN] = graph.first[vertex]
    graph.first[vertex] = run + 1
    graph.heads[place] = head_entry(run_tag(vertex, key), run + 1, graph.counters[RUN_BITS])
    graph.counters[RUNS] = run + 1
    graph.counters[IDLE] += 1


@kernel()
def _widen(graph: Graph, run: Any, length: Any) -> None:
    """A full run, of a power of two, gets room for twice as many."""
    k, start = _logarithm(length), np.int64(graph.runs[run, START])
    if k == 0:
        block = take(graph, 1)
        graph.pool[block, NEIGHBOUR] = other_end(graph, start, graph.runs[run, KEY] & 1)
        graph.pool[block, EDGE] = start
        graph.runs[run, START] = block
    elif not claim_buddy(graph, start, k):
        block = take(graph, k + 1)
        for i in range(length):
            graph.pool[block + i, NEIGHBOUR] = graph.pool[start + i, NEIGHBOUR]
            graph.pool[block + i, EDGE] = graph.pool[start + i, EDGE]
        give(graph, start, k)
        graph.runs[run, START] = block


@kernel()
def _quit(graph: Graph, vertex: Any, key: Any, edge: Any) -> None:
    run = run_in(graph, head_of(graph, vertex, key))
    length, start = np.int64(graph.runs[run, LENGTH]) - 1, np.int64(graph.runs[run, START])
    graph.runs[run, LENGTH] = length
    if length == 0:
        graph.counters[IDLE] += 1
        return
    place, last = graph.places[edge, key & 1], start + length
    if place != length:
        graph.pool[start + place, NEIGHBOUR] = graph.pool[last, NEIGHBOUR]
        graph.pool[start + place, EDGE] = graph.pool[last, EDGE]
        graph.places[graph.pool[last, EDGE], key & 1] = place
    if length & (length - 1) == 0:
        _narrow(graph, run, length)


@kernel()
def _narrow(graph: Graph, run: Any, length: Any) -> None:
    """A run that fills half of its block gives the other half back; a single edge needs no block."""
    start = np.int64(graph.runs[run, START])
    if length == 1:
        graph.runs[run, START] = graph.pool[start, EDGE]
        give(graph, start, 1)
    else:
        give(graph, start + length, _logarithm(length))


@kernel()
def _logarithm(power: Any) -> Any:
    k = np.int64(0)
    while power > 1:
        power >>= 1
        k += 1
    return k
