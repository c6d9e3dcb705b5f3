"""A growing simple graph, kept as edges come and go: which pairs and arcs are new, which are no more.

The law: after any log the graph is that of the edges that are there, whatever came and went before; only the order of
lists tells of the past. Whoever adds an edge, or takes one away, asks `has_room` first, and returns to its caller where
there is none: a list that shrinks moves too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_layout import CAME, WENT, Log
from heliograph.kernels.simple_graph_layout import (
    ARCS,
    BACKWARD,
    FORWARD,
    FREE,
    FULL,
    JOINED,
    LOOPS,
    NEED,
    NEW_ARC,
    NEW_PAIR,
    NUMBERS,
    PARTS,
    POOL,
    TAKEN,
    VERTICES,
    A,
    B,
    Lists,
    Simple,
)
from heliograph.kernels.simple_graph_lists import join_list, leave_list
from heliograph.kernels.simple_graph_pairs import key_home, pair_key, pair_slot, vacate
from heliograph.kernels.simple_graph_types import LOG, SIMPLE
from heliograph.kernels.types import INT32S, INT64S, NEW_INT32S, NEW_INT64S


@kernel(inline=True)
def has_room(graph: Simple) -> Any:
    """Whether another edge can come or go, whichever it is."""
    counters = graph.counters
    if counters[FREE] == 0 and counters[NUMBERS] >= len(graph.pairs):
        return False
    if PARTS * (counters[TAKEN] + 1) > FULL * len(graph.keys):
        return False
    return _fits(graph.undirected) and _fits(graph.out) and _fits(graph.into)


@kernel(inline=True)
def _fits(lists: Lists) -> Any:
    return lists.counters[POOL] + lists.counters[NEED] <= len(lists.pool)


@kernel()
def add_edge(graph: Simple, subject: Any, object: Any) -> Any:
    """One more edge from a vertex to another; there is room. What is new of NEW_PAIR and NEW_ARC."""
    key = pair_key(subject, object)
    slot, changed = pair_slot(graph, key), 0
    if graph.keys[slot] == 0:
        _enter_pair(graph, slot, key)
        changed = NEW_PAIR
    pair, column = np.int64(graph.numbers[slot]), FORWARD if subject <= object else BACKWARD
    graph.pairs[pair, column] += 1
    if subject == object:
        return 0
    if graph.pairs[pair, column] == 1:
        _enter_arc(graph, pair, subject, object)
        changed |= NEW_ARC
    return changed


@kernel()
def _enter_pair(graph: Simple, slot: Any, key: Any) -> None:
    """A pair that no edge joined so far takes a number, and its place in lists."""
    pair, one, other = _take_number(graph), (key - 1) >> 32, (key - 1) & 0x7FFFFFFF
    graph.keys[slot], graph.numbers[slot] = key, pair
    graph.pairs[pair, A], graph.pairs[pair, B] = one, other
    graph.pairs[pair, FORWARD] = graph.pairs[pair, BACKWARD] = 0
    graph.counters[TAKEN] += 1
    _touch(graph, one)
    if one == other:
        graph.counters[LOOPS] += 1
        return
    _touch(graph, other)
    graph.counters[JOINED] += 1
    if len(graph.undirected.heads):
        join_list(graph.undirected, graph.pairs, one, other, pair)
        join_list(graph.undirected, graph.pairs, other, one, pair)


@kernel(inline=True)
def _take_number(graph: Simple) -> Any:
    pair = graph.counters[FREE] - 1
    if pair < 0:
        pair = graph.counters[NUMBERS]
        graph.counters[NUMBERS] = pair + 1
    else:
        graph.counters[FREE] = graph.pairs[pair, A]
    return pair


@kernel(inline=True)
def _touch(graph: Simple, vertex: Any) -> None:
    graph.touching[vertex] += 1
    if graph.touching[vertex] == 1:
        graph.counters[VERTICES] += 1


@kernel()
def _enter_arc(graph: Simple, pair: Any, subject: Any, object: Any) -> None:
    graph.counters[ARCS] += 1
    if len(graph.out.heads):
        join_list(graph.out, graph.pairs, subject, object, pair)
        join_list(graph.into, graph.pairs, object, subject, pair)


@kernel()
def drop_edge(graph: Simple, subject: Any, object: Any) -> Any:
    """One edge less from a vertex to another, if there is one. What is no more of NEW_PAIR and NEW_ARC."""
    slot, changed = pair_slot(graph, pair_key(subject, object)), 0
    if graph.keys[slot] == 0:
        return 0
    pair, column = np.int64(graph.numbers[slot]), FORWARD if subject <= object else BACKWARD
    if graph.pairs[pair, column] == 0:
        return 0
    graph.pairs[pair, column] -= 1
    if subject != object and graph.pairs[pair, column] == 0:
        _leave_arc(graph, pair, subject, object)
        changed = NEW_ARC
    if graph.pairs[pair, FORWARD] == 0 and graph.pairs[pair, BACKWARD] == 0:
        _leave_pair(graph, pair)
        vacate(graph, slot)
        changed |= NEW_PAIR if subject != object else 0
    return changed


@kernel()
def _leave_arc(graph: Simple, pair: Any, subject: Any, object: Any) -> None:
    graph.counters[ARCS] -= 1
    if len(graph.out.heads):
        leave_list(graph.out, graph.pairs, subject, pair)
        leave_list(graph.into, graph.pairs, object, pair)


@kernel()
def _leave_pair(graph: Simple, pair: Any) -> None:
    """A pair that no edge joins any more leaves the lists; its number is free."""
    one, other = graph.pairs[pair, A], graph.pairs[pair, B]
    graph.counters[TAKEN] -= 1
    _untouch(graph, one)
    if one == other:
        graph.counters[LOOPS] -= 1
    else:
        _untouch(graph, other)
        graph.counters[JOINED] -= 1
        if len(graph.undirected.heads):
            leave_list(graph.undirected, graph.pairs, one, pair)
            leave_list(graph.undirected, graph.pairs, other, pair)
    graph.pairs[pair, A] = graph.counters[FREE]
    graph.counters[FREE] = pair + 1


@kernel(inline=True)
def _untouch(graph: Simple, vertex: Any) -> None:
    graph.touching[vertex] -= 1
    if graph.touching[vertex] == 0:
        graph.counters[VERTICES] -= 1


@kernel((SIMPLE, LOG, int64))
def take_over(graph: Simple, log: Log, row: Any) -> Any:
    """Applies the changes from a row on; the first that there was no room for, or the number of rows."""
    while row < len(log.step) and has_room(graph):
        if log.change[row] == CAME:
            add_edge(graph, log.subject[row], log.object[row])
        elif log.change[row] == WENT:
            drop_edge(graph, log.subject[row], log.object[row])
        row += 1
    return row


@kernel((INT64S, INT32S, NEW_INT64S, NEW_INT32S))
def rehash(keys: Any, numbers: Any, larger_keys: Any, larger_numbers: Any) -> None:
    """Takes all pairs over into a larger table without any."""
    mask = np.int64(len(larger_keys) - 1)
    for old in range(len(keys)):
        if keys[old] != 0:
            slot = key_home(keys[old], mask)
            while larger_keys[slot] != 0:
                slot = (slot + 1) & mask
            larger_keys[slot], larger_numbers[slot] = keys[old], numbers[old]
