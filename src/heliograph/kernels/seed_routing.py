"""The seed's route algorithms ([B] figures 3, 5, 6 and 8, section 3.4), one event at a time.

What they compute: the valid nodes that are reachable from the start through valid nodes, by edges that accept the
event. `baselines.route_seed` tells the story and names the mends; the code here keeps the figures' own names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels import seed_layout as at
from heliograph.kernels.board_layout import LANES
from heliograph.kernels.cache import kernel
from heliograph.kernels.lanes import lay_out
from heliograph.kernels.quick import JOB, accepted
from heliograph.kernels.seed_index import is_valid, mark, next_entity
from heliograph.kernels.seed_layout import Deliveries, SeedGraph, Set, Sets, Task
from heliograph.kernels.seed_sets import add, empty, has, least_from, list_members
from heliograph.kernels.targeting_layout import ALWAYS, Int32s, Int64s
from heliograph.kernels.targeting_types import (
    FLOATS,
    INT32S,
    INT64S,
    MASKS,
    NEW_INT32S,
    NEW_INT64S,
    NEW_MASKS,
)
from heliograph.kernels.types import named, rows

_NONE, _ONE = np.uint64(0), np.uint64(1)
_LISTS: Any = named(at.Lists, INT64S, INT32S)
_SET: Any = named(at.Set, MASKS, MASKS)
_GRAPH: Any = named(at.SeedGraph, INT64S, INT32S, INT32S, INT32S, INT32S, INT32S)
_INDEX: Any = named(at.SeedIndex, _SET, _LISTS, _LISTS, INT64S, FLOATS, INT64S, INT64S, _LISTS)
_NEW_SET: Any = named(at.Set, NEW_MASKS, NEW_MASKS)
_SETS: Any = named(at.Sets, *[_NEW_SET] * 4, NEW_INT32S, NEW_MASKS)
_TASK: Any = named(at.Task, _GRAPH, _INDEX, JOB, _SETS)
_DELIVERIES: Any = named(at.Deliveries, NEW_INT64S, NEW_INT32S, rows(int64, writable=True))


@kernel((_TASK, int64, INT64S, INT32S, _DELIVERIES))
def route_events(task: Task, algorithm: int, events: Int64s, starts: Int32s, out: Deliveries) -> Any:
    """Routes events, each from the start beside it (-1: nowhere), while there is room; returns how many were done."""
    filled = 0
    for place in range(len(events)):
        counts = out.counters[place]
        counts[:] = 0
        counts[at.FIRST] = -1
        if place % LANES == 0:
            lay_out(task.job.events.cells, events[place : place + LANES], task.job.board)
        task.sets.lane[0] = _ONE << np.uint64(place % LANES)
        if starts[place] >= 0:
            if algorithm != at.BFS:
                mark(task.lookup, task.job.events.cells, events[place], task.sets.marked)
            _evaluate(task, algorithm, np.int64(starts[place]), counts)
            filled += list_members(task.sets.result, out.ids[filled:])
            _empty_all(task.sets)
        if filled > len(out.ids):
            return place
        out.offsets[place + 1] = filled
    return len(events)


@kernel()
def _empty_all(sets: Sets) -> None:
    empty(sets.reachable)
    empty(sets.valid)
    empty(sets.result)
    empty(sets.marked)


@kernel(inline=True)
def _evaluate(task: Task, algorithm: Any, start: Any, counts: Int64s) -> None:
    if algorithm == at.DAG or algorithm == at.DAG_SKIP:
        _dag(task, start, algorithm == at.DAG_SKIP, counts)
    elif algorithm == at.GENERAL:
        _general(task, start, counts)
    elif algorithm == at.SCC_SKIP:
        _scc_skip(task, start, counts)
    else:
        if algorithm == at.INDEX_BFS:
            _take_valid(task, counts)
        _search(task, start, algorithm == at.INDEX_BFS, counts)


@kernel()
def _dag(task: Task, start: Any, skipping: Any, counts: Int64s) -> None:
    """Figure 3; with skipping, figure 5."""
    nodes = len(task.graph.expressions)
    _reach_children(task, start, counts)
    skip = start + 1
    if skipping:
        skip = _jump(nodes, skip, least_from(task.sets.reachable, skip), counts)
    while skip >= 0:
        node = next_entity(task, skip, counts)
        if node < 0:
            return
        if has(task.sets.reachable, node):
            _emit(task.sets.result, node, counts)
            _reach_children(task, node, counts)
        skip = node + 1
        if skipping:
            skip = _jump(nodes, skip, least_from(task.sets.reachable, skip), counts)


@kernel()
def _general(task: Task, start: Any, counts: Int64s) -> None:
    """Figure 6."""
    _reach_children(task, start, counts)
    node = next_entity(task, np.int64(0), counts)
    while node >= 0:
        add(task.sets.valid, node)
        if has(task.sets.reachable, node):
            _update_path(task, node, start, counts)
        node = next_entity(task, node + 1, counts)


@kernel()
def _scc_skip(task: Task, start: Any, counts: Int64s) -> None:
    """Figure 8. reachableSCCs is read off the reachable set: a component is in it if one of its ids is there."""
    graph, reachable = task.graph, task.sets.reachable
    nodes = len(graph.expressions)
    _reach_children(task, start, counts)
    skip = _jump(nodes, np.int64(0), _first_beside(graph, least_from(reachable, np.int64(0))), counts)
    while skip >= 0:
        node = next_entity(task, skip, counts)
        if node < 0:
            return
        component = graph.components[node]
        least = least_from(reachable, graph.begins[component])
        skip = node + 1
        if 0 <= least < graph.begins[component + 1]:
            add(task.sets.valid, node)
            if has(reachable, node):
                _update_path(task, node, start, counts)
        else:
            skip = _jump(nodes, skip, _first_beside(graph, least), counts)


@kernel(inline=True)
def _first_beside(graph: SeedGraph, node: Any) -> Any:
    """The first id of a node's component: where figure 8 has the component's number for an id."""
    return node if node < 0 else np.int64(graph.begins[graph.components[node]])


@kernel(inline=True)
def _update_path(task: Task, node: Any, start: Any, counts: Int64s) -> None:
    """updatePath, with a stack of its own. The start's edges were examined before all others, and are not again."""
    graph, sets = task.graph, task.sets
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
            if _reach(task, edge, child, counts) and has(sets.valid, child):
                _emit(sets.result, child, counts)
                counts[at.UPDATES] += 1
                counts[at.RECURSIVE] += 1
                sets.stack[top] = child
                top += 1


@kernel()
def _take_valid(task: Task, counts: Int64s) -> None:
    """The first half of the index baseline: all valid nodes."""
    node = next_entity(task, np.int64(0), counts)
    while node >= 0:
        add(task.sets.valid, node)
        node = next_entity(task, node + 1, counts)


@kernel()
def _search(task: Task, start: Any, known: Any, counts: Int64s) -> None:
    """Breadth first. Where validity is not known, match is called once for each reachable node."""
    graph, sets = task.graph, task.sets
    sets.stack[0] = start
    begin, end = 0, 1
    while begin < end:
        node = sets.stack[begin]
        begin += 1
        counts[at.EDGES] += graph.offsets[node + 1] - graph.offsets[node]
        for edge in range(graph.offsets[node], graph.offsets[node + 1]):
            child = np.int64(graph.targets[edge])
            if not _reach(task, edge, child, counts):
                continue
            if has(sets.valid, child) if known else is_valid(task, child, counts):
                _emit(sets.result, child, counts)
                if child != start:
                    sets.stack[end] = child
                    end += 1


@kernel(inline=True)
def _reach_children(task: Task, node: Any, counts: Int64s) -> None:
    graph = task.graph
    counts[at.EDGES] += graph.offsets[node + 1] - graph.offsets[node]
    for edge in range(graph.offsets[node], graph.offsets[node + 1]):
        _reach(task, edge, graph.targets[edge], counts)


@kernel(inline=True)
def _reach(task: Task, edge: Any, child: Any, counts: Int64s) -> Any:
    """Adds a child to what is reachable; whether it is new there.

    Figures 6 and 8 ask whether the child is a result. One that is reachable and valid is a result already, so asking
    whether it is reachable leaves out the same ones, and those for which nothing would change.
    """
    if has(task.sets.reachable, child):
        return False
    expression = task.graph.edge_expressions[edge]
    if expression != ALWAYS and not _is_open(task, expression, counts):
        return False
    add(task.sets.reachable, child)
    return True


@kernel()
def _is_open(task: Task, expression: Any, counts: Int64s) -> Any:
    """Whether an edge accepts the event."""
    counts[at.EDGE_TESTED] += 1
    if accepted(task.job, expression, task.sets.lane[0]) == _NONE:
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
