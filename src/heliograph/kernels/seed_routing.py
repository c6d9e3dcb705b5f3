"""The seed's route algorithms ([B] figures 3, 5, 6 and 8, section 3.4), one event at a time.

What they compute: the valid nodes that are reachable from the start through valid nodes, by edges that accept the
event. `baselines.route_seed` tells the story and names the mends; the code here keeps the figures' own names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels import seed_layout as at
from heliograph.kernels.cache import kernel
from heliograph.kernels.lanes import gather
from heliograph.kernels.seed_index import FIRST_LANE, is_valid, mark, next_entity
from heliograph.kernels.seed_layout import Deliveries, Job, SeedGraph, Set, Sets
from heliograph.kernels.seed_sets import add, empty, has, least_from, list_members
from heliograph.kernels.targeting_layout import ALWAYS, Int32s, Int64s
from heliograph.kernels.targeting_types import (
    BOARD,
    EVENTS,
    FLOATS,
    INT32S,
    INT64S,
    MASKS,
    NEW_INT32S,
    NEW_INT64S,
    NEW_MASKS,
)
from heliograph.kernels.truth import holds
from heliograph.kernels.types import named, rows

_NONE = np.uint64(0)
_LISTS: Any = named(at.Lists, INT64S, INT32S)
_SET: Any = named(at.Set, MASKS, MASKS)
_GRAPH: Any = named(at.SeedGraph, INT64S, INT32S, INT32S, INT32S, INT32S, INT32S)
_INDEX: Any = named(at.SeedIndex, _SET, _LISTS, _LISTS, INT64S, FLOATS, INT64S, INT64S, _LISTS)
_NEW_SET: Any = named(at.Set, NEW_MASKS, NEW_MASKS)
_SETS: Any = named(at.Sets, *[_NEW_SET] * 4, NEW_INT32S)
_JOB: Any = named(at.Job, _GRAPH, _INDEX, EVENTS, BOARD, _SETS)
_DELIVERIES: Any = named(at.Deliveries, NEW_INT64S, NEW_INT32S, rows(int64, writable=True))


@kernel((_JOB, int64, INT64S, INT32S, _DELIVERIES))
def route_events(job: Job, algorithm: int, chosen: Int64s, starts: Int32s, out: Deliveries) -> Any:
    """Routes the chosen events, each from the start beside it, as long as there is room; returns how many were done."""
    filled = 0
    for place in range(len(chosen)):
        counts = out.counters[place]
        counts[:] = 0
        counts[at.FIRST] = -1
        gather(job.events.cells, chosen[place : place + 1], job.board)
        if algorithm != at.BFS:
            mark(job.lookup, job.events.cells, chosen[place], job.sets.marked)
        _evaluate(job, algorithm, np.int64(starts[place]), counts)
        filled += list_members(job.sets.result, out.ids[filled:])
        _empty_all(job.sets)
        if filled > len(out.ids):
            return place
        out.offsets[place + 1] = filled
    return len(chosen)


@kernel()
def _empty_all(sets: Sets) -> None:
    empty(sets.reachable)
    empty(sets.valid)
    empty(sets.result)
    empty(sets.marked)


@kernel(inline=True)
def _evaluate(job: Job, algorithm: Any, start: Any, counts: Int64s) -> None:
    if algorithm == at.DAG or algorithm == at.DAG_SKIP:
        _dag(job, start, algorithm == at.DAG_SKIP, counts)
    elif algorithm == at.GENERAL:
        _general(job, start, counts)
    elif algorithm == at.SCC_SKIP:
        _scc_skip(job, start, counts)
    else:
        if algorithm == at.INDEX_BFS:
            _take_valid(job, counts)
        _search(job, start, algorithm == at.INDEX_BFS, counts)


@kernel()
def _dag(job: Job, start: Any, skipping: Any, counts: Int64s) -> None:
    """Figure 3; with skipping, figure 5."""
    nodes = len(job.graph.expressions)
    _reach_children(job, start, counts)
    skip = start + 1
    if skipping:
        skip = _jump(nodes, skip, least_from(job.sets.reachable, skip), counts)
    while skip >= 0:
        node = next_entity(job, skip, counts)
        if node < 0:
            return
        if has(job.sets.reachable, node):
            _emit(job.sets.result, node, counts)
            _reach_children(job, node, counts)
        skip = node + 1
        if skipping:
            skip = _jump(nodes, skip, least_from(job.sets.reachable, skip), counts)


@kernel()
def _general(job: Job, start: Any, counts: Int64s) -> None:
    """Figure 6."""
    _reach_children(job, start, counts)
    node = next_entity(job, np.int64(0), counts)
    while node >= 0:
        add(job.sets.valid, node)
        if has(job.sets.reachable, node):
            _update_path(job, node, start, counts)
        node = next_entity(job, node + 1, counts)


@kernel()
def _scc_skip(job: Job, start: Any, counts: Int64s) -> None:
    """Figure 8. reachableSCCs is read off the reachable set: a component is in it if one of its ids is there."""
    graph, reachable = job.graph, job.sets.reachable
    nodes = len(graph.expressions)
    _reach_children(job, start, counts)
    skip = _jump(nodes, np.int64(0), _first_beside(graph, least_from(reachable, np.int64(0))), counts)
    while skip >= 0:
        node = next_entity(job, skip, counts)
        if node < 0:
            return
        component = graph.components[node]
        least = least_from(reachable, graph.begins[component])
        skip = node + 1
        if 0 <= least < graph.begins[component + 1]:
            add(job.sets.valid, node)
            if has(reachable, node):
                _update_path(job, node, start, counts)
        else:
            skip = _jump(nodes, skip, _first_beside(graph, least), counts)


@kernel(inline=True)
def _first_beside(graph: SeedGraph, node: Any) -> Any:
    """The first id of a node's component: where figure 8 has the component's number for an id."""
    return node if node < 0 else np.int64(graph.begins[graph.components[node]])


@kernel(inline=True)
def _update_path(job: Job, node: Any, start: Any, counts: Int64s) -> None:
    """updatePath, with a stack of its own. The start's edges were examined before all others, and are not again."""
    graph, sets = job.graph, job.sets
    _emit(sets.result, node, counts)
    counts[at.UPDATES] += 1
    sets.stack[0] = node
    top = 1
    while top > 0:
        top -= 1
        node = np.int64(sets.stack[top])
        if node == start:
            continue
        counts[at.EDGES] += graph.offsets[node + 1] - graph.offsets[node]
        for edge in range(graph.offsets[node], graph.offsets[node + 1]):
            child = graph.targets[edge]
            if _reach(job, edge, child, counts) and has(sets.valid, child):
                _emit(sets.result, child, counts)
                counts[at.UPDATES] += 1
                counts[at.RECURSIVE] += 1
                sets.stack[top] = child
                top += 1


@kernel()
def _take_valid(job: Job, counts: Int64s) -> None:
    """The first half of the index baseline: all valid nodes."""
    node = next_entity(job, np.int64(0), counts)
    while node >= 0:
        add(job.sets.valid, node)
        node = next_entity(job, node + 1, counts)


@kernel()
def _search(job: Job, start: Any, known: Any, counts: Int64s) -> None:
    """Breadth first. Where validity is not known, match is called once for each reachable node."""
    graph, sets = job.graph, job.sets
    sets.stack[0] = start
    begin, end = 0, 1
    while begin < end:
        node = sets.stack[begin]
        begin += 1
        counts[at.EDGES] += graph.offsets[node + 1] - graph.offsets[node]
        for edge in range(graph.offsets[node], graph.offsets[node + 1]):
            child = np.int64(graph.targets[edge])
            if not _reach(job, edge, child, counts):
                continue
            if has(sets.valid, child) if known else is_valid(job, child, counts):
                _emit(sets.result, child, counts)
                if child != start:
                    sets.stack[end] = child
                    end += 1


@kernel(inline=True)
def _reach_children(job: Job, node: Any, counts: Int64s) -> None:
    graph = job.graph
    counts[at.EDGES] += graph.offsets[node + 1] - graph.offsets[node]
    for edge in range(graph.offsets[node], graph.offsets[node + 1]):
        _reach(job, edge, graph.targets[edge], counts)


@kernel(inline=True)
def _reach(job: Job, edge: Any, child: Any, counts: Int64s) -> Any:
    """Adds a child to what is reachable; whether it is new there.

    Figures 6 and 8 ask whether the child is a result. One that is reachable and valid is a result already, so asking
    whether it is reachable leaves out the same ones, and those for which nothing would change.
    """
    if has(job.sets.reachable, child):
        return False
    expression = job.graph.edge_expressions[edge]
    if expression != ALWAYS and not _is_open(job, expression, counts):
        return False
    add(job.sets.reachable, child)
    return True


@kernel()
def _is_open(job: Job, expression: Any, counts: Int64s) -> Any:
    """Whether an edge accepts the event."""
    counts[at.EDGE_TESTED] += 1
    if holds(job.events, job.board, expression, FIRST_LANE) == _NONE:
        return False
    counts[at.HELD] += 1
    return True


@kernel(inline=True)
def _emit(result: Set, node: Any, counts: Int64s) -> None:
    add(result, node)
    if counts[at.FIRST] < 0:
        counts[at.FIRST] = counts[at.CALLS]


@kernel(inline=True)
def _jump(nodes: Any, after: Any, to: Any, counts: Int64s) -> Any:
    """Where the index goes on, or -1: nothing more is reachable. Counts the ids in between."""
    counts[at.SKIPPED] += (nodes if to < 0 else to) - after
    return to
