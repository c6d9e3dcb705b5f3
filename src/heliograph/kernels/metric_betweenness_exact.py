"""Exact betweenness, kept as arcs come and go: for every source only what an arc can change.

The law: the sum of a vertex is, over all pairs (s, t) of others, the share of shortest paths from s to t that lead
through it. A change of an arc changes what is due to the pairs for which it matters (see metric_betweenness_reach) and
nothing else: that is swept off with the old distances and counts, and on again with the new ones. No dependency is
stored. While a row is worked on the arc itself is not in the graph; a sweep that is to see it is told of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_betweenness_layout import DONE, MOST_PATHS, NO_ROOM, TOO_MANY, UNREACHED, Exact, Row
from heliograph.kernels.metric_betweenness_reach import find_sources, find_targets, grow_tree
from heliograph.kernels.metric_betweenness_repair import repair
from heliograph.kernels.metric_betweenness_sweep import NOWHERE, sweep
from heliograph.kernels.metric_betweenness_types import EXACT
from heliograph.kernels.simple_graph import add_edge, drop_edge, has_room
from heliograph.kernels.simple_graph_layout import Simple
from heliograph.kernels.simple_graph_lists import list_length, list_start
from heliograph.kernels.simple_graph_types import SIMPLE
from heliograph.kernels.types import NEW_INT32S


@kernel()
def _lead_through(row: Row, beyond: Row, exact: Exact, count: Any, through: Any) -> Any:
    """Targets get their distances and counts by way of a new arc: `through` is the distance of its head by it, and the
    number of paths to its tail. What the largest count is."""
    first, ways, most = through[0], through[1], 0.0
    for k in range(count):
        target = exact.work.targets[k]
        length, paths = first + np.int64(beyond.distance[target]), ways * beyond.paths[target]
        if length == row.distance[target]:
            paths += row.paths[target]
        row.distance[target], row.paths[target] = length, paths
        most = max(most, paths)
    return most


@kernel()
def _add_for(graph: Simple, exact: Exact, row: Row, arc: Any, first: Any) -> Any:
    """A source's part of an arc that comes. What the largest new number of paths is."""
    beyond, change = Row(exact.distance[arc[1]], exact.paths[arc[1]]), exact.sums
    count = find_targets(exact.work, row.distance, beyond.distance, first)
    sweep(graph, row, exact.work, count, NOWHERE, (change, -1.0))
    most = _lead_through(row, beyond, exact, count, (first, row.paths[arc[0]]))
    sweep(graph, row, exact.work, count, arc, (change, 1.0))
    return most


@kernel((SIMPLE, EXACT, int64, int64))
def add_arc(graph: Simple, exact: Exact, tail: Any, head: Any) -> Any:
    """An arc comes that was not there: DONE, NO_ROOM in the graph, or TOO_MANY paths to be counted any more."""
    if not has_room(graph):
        return NO_ROOM
    sources, most = find_sources(graph, exact.work, tail), 0.0
    grow_tree(graph, exact.work, head)
    for k in range(sources):
        source, first = np.int64(exact.work.sources[k]), np.int64(exact.work.near[k]) + 1
        if first <= exact.distance[source, head]:
            row = Row(exact.distance[source], exact.paths[source])
            most = max(most, _add_for(graph, exact, row, (tail, head), first))
    add_edge(graph, tail, head)
    return DONE if most <= MOST_PATHS else TOO_MANY


@kernel()
def _drop_for(graph: Simple, exact: Exact, row: Row, arc: Any, first: Any) -> None:
    """A source's part of an arc that went."""
    count = find_targets(exact.work, row.distance, exact.distance[arc[1]], first)
    sweep(graph, row, exact.work, count, arc, (exact.sums, -1.0))
    repair(graph, row, exact.work, count)
    sweep(graph, row, exact.work, count, NOWHERE, (exact.sums, 1.0))


@kernel((SIMPLE, EXACT, int64, int64))
def drop_arc(graph: Simple, exact: Exact, tail: Any, head: Any) -> Any:
    """An arc goes that was there: DONE, or NO_ROOM in the graph."""
    if not has_room(graph):
        return NO_ROOM
    drop_edge(graph, tail, head)
    sources = find_sources(graph, exact.work, tail)
    grow_tree(graph, exact.work, head)
    for k in range(sources):
        source, first = np.int64(exact.work.sources[k]), np.int64(exact.work.near[k]) + 1
        if first == exact.distance[source, head]:
            _drop_for(graph, exact, Row(exact.distance[source], exact.paths[source]), (tail, head), first)
    return DONE


# --- from scratch -----------------------------------------------------------------------------------------------


@kernel()
def _count_paths(graph: Simple, row: Row, targets: Any, source: Any) -> Any:
    """Distances and counts from a source; lists whom it reaches, itself first. How many."""
    row.distance[:], row.paths[:] = UNREACHED, 0.0
    row.distance[source], row.paths[source], targets[0] = 0, 1.0, source
    count, k = 1, 0
    while k < count:
        before = np.int64(targets[k])
        start, level = list_start(graph.out, before), row.distance[before] + 1
        for place in range(start, start + list_length(graph.out, before)):
            after = graph.out.pool[place]
            if row.distance[after] == UNREACHED:
                row.distance[after], targets[count] = level, after
                count += 1
            if row.distance[after] == level:
                row.paths[after] += row.paths[before]
        k += 1
    return count


@kernel((SIMPLE, EXACT))
def count_anew(graph: Simple, exact: Exact) -> Any:
    """Works everything out from the graph alone: DONE, or TOO_MANY paths to be counted."""
    exact.sums[:] = 0.0
    most = 0.0
    for source in range(len(exact.sums)):
        row = Row(exact.distance[source], exact.paths[source])
        count = _count_paths(graph, row, exact.work.targets, source)
        for k in range(count):
            most = max(most, row.paths[exact.work.targets[k]])
        exact.work.targets[0] = exact.work.targets[count - 1]  # the source is none of its own targets
        sweep(graph, row, exact.work, count - 1, NOWHERE, (exact.sums, 1.0))
    return DONE if most <= MOST_PATHS else TOO_MANY


@kernel((SIMPLE, NEW_INT32S, NEW_INT32S, int64))
def enter_arcs(graph: Simple, tails: Any, heads: Any, arc: Any) -> Any:
    """Enters arcs from a number on, for `count_anew`; the first that there was no room for, or how many there are."""
    while arc < len(tails) and has_room(graph):
        add_edge(graph, np.int64(tails[arc]), np.int64(heads[arc]))
        arc += 1
    return arc
