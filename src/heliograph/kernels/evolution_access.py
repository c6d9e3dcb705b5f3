"""Reading an evolving graph: is an edge there, and which edges has a vertex?

The law both tables rely on: an entry stands at its home or after it with no free place between (linear probing), so a
search ends at the first free place. Homes follow the order of hashes: a table is made larger by one pass in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.edges import edge_hash
from heliograph.kernels.evolution_layout import (
    EDGE,
    IN,
    KEY,
    LENGTH,
    LINK,
    NEIGHBOUR,
    NEXT_RUN,
    OBJECT,
    OUT,
    PREDICATE,
    PRESENT,
    RUN_BITS,
    RUN_COLUMNS,
    START,
    SUBJECT,
    VERTEX,
    Graph,
)
from heliograph.kernels.prefetching import prefetch

TAG_BITS = 31
NUMBER = (1 << 32) - 1  # the part of a slot that holds 1 + an edge's number; its tag stands above
_ABOVE = 32
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_MIX = np.uint64(0xD6E8FEB86659FD93)
_32, _33 = np.uint64(32), np.uint64(64 - TAG_BITS)


# --- edges ------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def edge_tag(subject: Any, predicate: Any, object: Any) -> Any:
    """What a slot tells of an edge: the upper bits of its hash."""
    return np.int64(edge_hash(subject, predicate, object) >> _33)


@kernel(inline=True)
def home(tag: Any, size: Any) -> Any:
    """Where the search for a tag begins in a table of any size."""
    return (tag * size) >> TAG_BITS


@kernel(inline=True)
def slot_of(graph: Graph, tag: Any, subject: Any, predicate: Any, object: Any) -> Any:
    """The slot of an edge, or the free one that it would take."""
    slots, edges = graph.slots, graph.edges
    place = home(tag, len(slots))
    while slots[place] != 0:
        if slots[place] >> _ABOVE == tag:
            edge = (slots[place] & NUMBER) - 1
            if (
                edges[edge, SUBJECT] == subject
                and edges[edge, OBJECT] == object
                and edges[edge, PREDICATE] == predicate
            ):
                break
        place += 1
        if place == len(slots):
            place = 0
    return place


@kernel()
def find_edge(graph: Graph, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of an edge that is there or waited for, or -1."""
    place = slot_of(graph, edge_tag(subject, predicate, object), subject, predicate, object)
    return (graph.slots[place] & NUMBER) - 1


@kernel(inline=True)
def is_present(graph: Graph, edge: Any) -> Any:
    return (graph.edges[edge, LINK] & PRESENT) != 0


@kernel(inline=True)
def holds_edge(graph: Graph, subject: Any, predicate: Any, object: Any) -> Any:
    edge = find_edge(graph, subject, predicate, object)
    return edge >= 0 and is_present(graph, edge)


@kernel(inline=True)
def prefetch_edge(graph: Graph, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for the memory in which the search for an edge begins, for callers that look a few updates ahead."""
    prefetch(graph.slots, home(edge_tag(subject, predicate, object), len(graph.slots)))


@kernel(inline=True)
def prefetch_row(graph: Graph, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for what an edge's slot, asked for earlier, leads to: its row, if it is the first in its place."""
    entry = graph.slots[home(edge_tag(subject, predicate, object), len(graph.slots))]
    if entry != 0:
        prefetch(graph.edges, ((entry & NUMBER) - 1) * graph.edges.shape[1])


# --- runs -------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def run_tag(vertex: Any, key: Any) -> Any:
    mixed = ((np.uint64(np.uint32(vertex)) << _32) | np.uint64(np.uint32(key))) * _ODD
    return np.int64(((mixed ^ (mixed >> _32)) * _MIX) >> _33)


@kernel(inline=True)
def head_entry(tag: Any, number: Any, bits: Any) -> Any:
    """What stands in `heads` for a run: above 1 + its number, as much as there is room for of its hash's lower bits.

    The upper bits choose the place; the lower ones spare a look at nearly all runs but the one that is sought.
    """
    return ((tag << bits) & ((1 << TAG_BITS) - 1)) | number


@kernel(inline=True)
def run_in(graph: Graph, place: Any) -> Any:
    """The run that stands in a place of `heads`, or -1."""
    return (np.int64(graph.heads[place]) & ((1 << graph.counters[RUN_BITS]) - 1)) - 1


@kernel(inline=True)
def head_of(graph: Graph, vertex: Any, key: Any) -> Any:
    """The place in `heads` of a run, or the free one that it would take."""
    heads, runs, tag, bits = graph.heads, graph.runs, run_tag(vertex, key), graph.counters[RUN_BITS]
    place = home(tag, len(heads))
    mark = head_entry(tag, 0, bits) >> bits
    while heads[place] != 0:
        if heads[place] >> bits == mark:
            run = run_in(graph, place)
            if runs[run, VERTEX] == vertex and runs[run, KEY] == key:
                break
        place += 1
        if place == len(heads):
            place = 0
    return place


@kernel()
def find_run(graph: Graph, vertex: Any, key: Any) -> Any:
    """The run of a vertex's edges of one property in one direction, or -1 if there are none."""
    if len(graph.heads) == 0:
        return np.int64(-1)
    run = run_in(graph, head_of(graph, vertex, key))
    if run >= 0 and graph.runs[run, LENGTH] == 0:
        return np.int64(-1)
    return run


@kernel(inline=True)
def run_length(graph: Graph, run: Any) -> Any:
    return np.int64(graph.runs[run, LENGTH]) if run >= 0 else np.int64(0)


@kernel(inline=True)
def first_run(graph: Graph, vertex: Any) -> Any:
    """The first run of a vertex, empty or not, or -1; `next_run` tells the one after it."""
    return np.int64(graph.first[vertex]) - 1


@kernel(inline=True)
def next_run(graph: Graph, run: Any) -> Any:
    return np.int64(graph.runs[run, NEXT_RUN]) - 1


@kernel(inline=True)
def edge_at(graph: Graph, run: Any, i: Any) -> Any:
    if graph.runs[run, LENGTH] == 1:
        return np.int64(graph.runs[run, START])
    return np.int64(graph.pool[graph.runs[run, START] + i, EDGE])


@kernel(inline=True)
def neighbour(graph: Graph, run: Any, i: Any) -> Any:
    """The vertex at the other end of a run's edge."""
    if graph.runs[run, LENGTH] == 1:
        return other_end(graph, graph.runs[run, START], graph.runs[run, KEY] & 1)
    return np.int64(graph.pool[graph.runs[run, START] + i, NEIGHBOUR])


@kernel(inline=True)
def other_end(graph: Graph, edge: Any, direction: Any) -> Any:
    return np.int64(graph.edges[edge, SUBJECT if direction == IN else OBJECT])


@kernel(inline=True)
def prefetch_ends(graph: Graph, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for the memory in which the search for the runs of an edge's ends begins."""
    size = len(graph.heads)
    prefetch(graph.heads, home(run_tag(subject, 2 * predicate + OUT), size))
    prefetch(graph.heads, home(run_tag(object, 2 * predicate + IN), size))
    prefetch(graph.first, np.int64(subject))
    prefetch(graph.first, np.int64(object))


@kernel(inline=True)
def prefetch_runs(graph: Graph, subject: Any, predicate: Any, object: Any) -> None:
    """Asks for what that memory, asked for earlier, leads to: the runs, if each is the first in its place."""
    _prefetch_run(graph, subject, 2 * predicate + OUT)
    _prefetch_run(graph, object, 2 * predicate + IN)


@kernel(inline=True)
def _prefetch_run(graph: Graph, vertex: Any, key: Any) -> None:
    run = run_in(graph, home(run_tag(vertex, key), len(graph.heads)))
    if run >= 0:
        prefetch(graph.runs, run * RUN_COLUMNS)
