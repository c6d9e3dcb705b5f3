"""Groups of vertices and the arcs inside them, kept as edges and vertices come and go.

An arc counts for the groups that hold both its ends. Those are met without looking at every group: where one end is
INNER, from that end's list; where both are OUTER, from the shorter of two lists. Most arcs of a vertex with many
neighbours lie at the rim of the groups that hold it, where nothing follows from them but the count.

A pair that comes may bring its farther end nearer to a centre, or into the group: that spreads from there like a
breadth-first search, in a queue. A pair that goes takes a nearer neighbour from its farther end. Whoever loses the last
one is an *orphan*, and may make orphans of those behind it; all orphans leave their groups and then join again wherever
a neighbour is left. What is spread costs the neighbours of those whose depth changes, and nothing else.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_density_entries import find_entry, free_entry, has_entries, make_entry, set_depth
from heliograph.kernels.metric_density_entries import touch_group as touch
from heliograph.kernels.metric_density_layout import (
    ARCS,
    COUNT,
    DEPTH,
    GROUP,
    HEAD,
    HOPS,
    INNER,
    NEXT,
    ORPHAN,
    ORPHANS,
    OUTER,
    PENDING,
    SIZE,
    TAIL,
    VERTEX,
    Groups,
)
from heliograph.kernels.simple_graph_layout import BACKWARD, FORWARD, Simple
from heliograph.kernels.simple_graph_lists import list_length, list_start

_FAR = np.int64(1) << 31


@kernel(inline=True)
def _push(groups: Groups, entry: Any) -> None:
    groups.queue[groups.counters[TAIL]] = entry
    groups.counters[TAIL] += 1


@kernel(inline=True)
def _count_arcs(groups: Groups, group: Any, arcs: Any) -> None:
    groups.groups[group, ARCS] += arcs
    touch(groups, group)


# --- arcs that come and go --------------------------------------------------------------------------------------


@kernel()
def meet(groups: Groups, ends: Any, arcs: Any, pair: Any) -> None:
    """An arc between two vertices comes (1) or goes (-1), or neither (0); and so does their pair."""
    _meet_inner(groups, ends[0], ends[1], arcs, pair, True)
    _meet_inner(groups, ends[1], ends[0], arcs, pair, False)
    _meet_outer(groups, ends, arcs)


@kernel()
def _meet_inner(groups: Groups, near: Any, far: Any, arcs: Any, pair: Any, first: Any) -> None:
    """The groups that have one end INNER; where both are, each group is met from its nearer end, at first or at last.

    The list of the nearer end stays as it is meanwhile.
    """
    entry = np.int64(groups.heads[near, INNER]) - 1
    while entry >= 0:
        group = groups.entries[entry, GROUP]
        other = find_entry(groups, group, far)
        if other < 0:
            _push(groups, make_entry(groups, group, far, groups.entries[entry, DEPTH] + 1))
        elif groups.entries[entry, DEPTH] + (0 if first else 1) <= groups.entries[other, DEPTH]:
            _count_arcs(groups, group, arcs)
            _change_pair(groups, groups.entries[entry, DEPTH] + 1, other, pair)
        entry = np.int64(groups.entries[entry, NEXT]) - 1


@kernel()
def _change_pair(groups: Groups, depth: Any, other: Any, pair: Any) -> None:
    """A pair that leads from a nearer vertex to this depth comes or goes; its farther end waits if that matters."""
    if pair > 0 and groups.entries[other, DEPTH] > depth:
        set_depth(groups, other, depth)
        _push(groups, other)
    elif groups.entries[other, DEPTH] == depth:
        groups.entries[other, COUNT] += pair
        if groups.entries[other, COUNT] == 0:
            _push(groups, other)


@kernel()
def _meet_outer(groups: Groups, ends: Any, arcs: Any) -> None:
    """The groups that have both ends OUTER: neither is nearer."""
    one, other = ends
    if groups.lengths[one, OUTER] > groups.lengths[other, OUTER]:
        one, other = other, one
    entry = np.int64(groups.heads[one, OUTER]) - 1
    while entry >= 0:
        group = groups.entries[entry, GROUP]
        found = find_entry(groups, group, other)
        if found >= 0 and groups.entries[found, DEPTH] == groups.counters[HOPS]:
            _count_arcs(groups, group, arcs)
        entry = np.int64(groups.entries[entry, NEXT]) - 1


# --- vertices that join -----------------------------------------------------------------------------------------


@kernel()
def settle(graph: Simple, groups: Groups) -> Any:
    """Works the queue off, and lets orphans join again; whether there was room. If not, it goes on next time."""
    counters = groups.counters
    while True:
        if not _settle_queue(graph, groups):
            return False
        if counters[ORPHAN] == counters[ORPHANS]:
            counters[ORPHAN] = counters[ORPHANS] = 0
            return True
        if not has_entries(groups, 1):
            return False
        _return_orphan(graph, groups)
        counters[ORPHAN] += 1


@kernel()
def _settle_queue(graph: Simple, groups: Groups) -> Any:
    counters = groups.counters
    while counters[HEAD] < counters[TAIL]:
        entry = np.int64(groups.queue[counters[HEAD]])
        leads_on = groups.entries[entry, DEPTH] < counters[HOPS]
        if leads_on and not has_entries(groups, list_length(graph.undirected, groups.entries[entry, VERTEX])):
            return False
        _settle_entry(graph, groups, entry)
        counters[HEAD] += 1
    counters[HEAD] = counters[TAIL] = 0
    return True


@kernel()
def _settle_entry(graph: Simple, groups: Groups, entry: Any) -> None:
    """A vertex at its new depth: what lies behind it is drawn nearer, and if it has joined its arcs are counted.

    Whoever waits in the queue counts its nearer neighbours itself, when it is its turn: all of them have had theirs.
    """
    group, depth = groups.entries[entry, GROUP], groups.entries[entry, DEPTH]
    has_joined, nearer, arcs = groups.entries[entry, COUNT] == PENDING, 0, 0
    start = list_start(graph.undirected, groups.entries[entry, VERTEX])
    for place in range(start, start + list_length(graph.undirected, groups.entries[entry, VERTEX])):
        other = find_entry(groups, group, graph.undirected.pool[place])
        if other < 0:
            if depth < groups.counters[HOPS]:
                _push(groups, make_entry(groups, group, graph.undirected.pool[place], depth + 1))
            continue
        if has_joined and groups.entries[other, COUNT] != PENDING:
            arcs += _arcs(graph, graph.undirected.owners[place])
        if groups.entries[other, DEPTH] == depth - 1:
            nearer += 1
        else:
            _draw_nearer(groups, other, depth + 1)
    groups.entries[entry, COUNT] = nearer
    if has_joined:
        groups.groups[group, SIZE] += 1
        _count_arcs(groups, group, arcs)


@kernel(inline=True)
def _draw_nearer(groups: Groups, other: Any, depth: Any) -> None:
    """A neighbour gets a new way of a length."""
    if groups.entries[other, DEPTH] > depth:
        set_depth(groups, other, depth)
        _push(groups, other)
    elif groups.entries[other, DEPTH] == depth and groups.entries[other, COUNT] != PENDING:
        groups.entries[other, COUNT] += 1


@kernel(inline=True)
def _arcs(graph: Simple, pair: Any) -> Any:
    """In how many directions edges lead between a pair."""
    return (1 if graph.pairs[pair, FORWARD] else 0) + (1 if graph.pairs[pair, BACKWARD] else 0)


# --- vertices that leave ----------------------------------------------------------------------------------------


@kernel()
def orphan(graph: Simple, groups: Groups) -> None:
    """Those in the queue have no nearer neighbour: they leave, with all that hung on them, and are to join again."""
    _spread_orphans(graph, groups)
    for number in range(groups.counters[TAIL]):
        entry = np.int64(groups.queue[number])
        groups.orphans[number, GROUP] = groups.entries[entry, GROUP]
        groups.orphans[number, VERTEX] = groups.entries[entry, VERTEX]
        leave(graph, groups, entry)
    groups.counters[ORPHANS] = groups.counters[TAIL]
    groups.counters[HEAD] = groups.counters[TAIL] = 0


@kernel()
def _spread_orphans(graph: Simple, groups: Groups) -> None:
    counters = groups.counters
    while counters[HEAD] < counters[TAIL]:
        entry = np.int64(groups.queue[counters[HEAD]])
        group, behind = groups.entries[entry, GROUP], groups.entries[entry, DEPTH] + 1
        start = list_start(graph.undirected, groups.entries[entry, VERTEX])
        for place in range(start, start + list_length(graph.undirected, groups.entries[entry, VERTEX])):
            other = find_entry(groups, group, graph.undirected.pool[place])
            if other >= 0 and groups.entries[other, DEPTH] == behind:
                groups.entries[other, COUNT] -= 1
                if groups.entries[other, COUNT] == 0:
                    _push(groups, other)
        counters[HEAD] += 1


@kernel()
def leave(graph: Simple, groups: Groups, entry: Any) -> None:
    """A vertex leaves a group, with its arcs to those who stay."""
    group, vertex, arcs = groups.entries[entry, GROUP], groups.entries[entry, VERTEX], 0
    start = list_start(graph.undirected, vertex)
    for place in range(start, start + list_length(graph.undirected, vertex)):
        if find_entry(groups, group, graph.undirected.pool[place]) >= 0:
            arcs += _arcs(graph, graph.undirected.owners[place])
    groups.groups[group, SIZE] -= 1
    _count_arcs(groups, group, -arcs)
    free_entry(groups, entry)


@kernel()
def _return_orphan(graph: Simple, groups: Groups) -> None:
    """An orphan joins again, behind the nearest of its neighbours; or comes nearer, if it is back already."""
    number = groups.counters[ORPHAN]
    group, vertex, depth = groups.orphans[number, GROUP], groups.orphans[number, VERTEX], _FAR
    start = list_start(graph.undirected, vertex)
    for place in range(start, start + list_length(graph.undirected, vertex)):
        other = find_entry(groups, group, graph.undirected.pool[place])
        if other >= 0:
            depth = min(depth, np.int64(groups.entries[other, DEPTH]) + 1)
    entry = find_entry(groups, group, vertex)
    if entry < 0 and depth <= groups.counters[HOPS]:
        _push(groups, make_entry(groups, group, vertex, depth))
    elif entry >= 0 and depth < groups.entries[entry, DEPTH]:
        set_depth(groups, entry, depth)
        _push(groups, entry)


@kernel()
def disband(graph: Simple, groups: Groups, entry: Any) -> None:
    """The group around a centre, by the centre's entry, is no more."""
    group = groups.entries[entry, GROUP]
    _push(groups, entry)
    _spread_orphans(graph, groups)
    for number in range(groups.counters[TAIL]):
        free_entry(groups, np.int64(groups.queue[number]))
    groups.groups[group, SIZE] = groups.groups[group, ARCS] = 0
    groups.counters[HEAD] = groups.counters[TAIL] = 0
