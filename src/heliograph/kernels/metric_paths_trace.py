"""All shortest paths between two vertices, step by step from their end.

Which is shown is told in watch.metrics.distance. The caller begins, asks by which edges the paths come to one vertex
after the other, and ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import edge_at, first_run, neighbour, next_run, run_length
from heliograph.kernels.evolution_types import GRAPH, NEW_INT32S
from heliograph.kernels.metric_paths_balls import leads
from heliograph.kernels.metric_paths_costs import both_costs, compare, is_weighted, step_cost, weight_at
from heliograph.kernels.metric_paths_layout import MARKED, NOWHERE, SEEN
from heliograph.kernels.metric_paths_search import clean, meet_sides, set_side_cost, side_cost
from heliograph.kernels.metric_paths_world import REACH, SCRATCH, heaps_of, hops_of, places_of, seen_of, sizes_of


@kernel((GRAPH, REACH, SCRATCH, int64, int64))
def begin_trace(graph: Any, reach: Any, scratch: Any, start: Any, end: Any) -> Any:
    """Finds all vertices on shortest paths; whether there are any paths."""
    best = meet_sides(graph, reach, scratch, start, end)
    if best[2] == NOWHERE:
        return False
    _mark(graph, reach, scratch, best)
    return True


@kernel((SCRATCH,))
def end_trace(scratch: Any) -> None:
    clean(scratch)


@kernel()
def _mark(graph: Any, reach: Any, scratch: Any, best: Any) -> None:
    """Gives every vertex on a shortest path its cost from the start, those that were met from the end only too.

    The heap of the start's side has done its work and serves as a stack.
    """
    count = np.int64(0)
    for at in range(sizes_of(scratch)[SEEN]):
        vertex = np.int64(seen_of(scratch)[at, 0])
        places_of(scratch)[vertex, 0] = 0
        if hops_of(scratch)[vertex, 1] != NOWHERE:
            whole = both_costs(side_cost(scratch, 0, vertex), side_cost(scratch, 1, vertex))
            if compare(whole, best) == 0:
                heaps_of(scratch)[count, 0], places_of(scratch)[vertex, 0] = vertex, MARKED
                count += 1
    while count:
        count = _mark_heads(graph, reach, scratch, count - 1)


@kernel()
def _mark_heads(graph: Any, reach: Any, scratch: Any, count: Any) -> Any:
    """Goes on from the last vertex on the stack towards the end; the size of the stack after it."""
    vertex, weighted = np.int64(heaps_of(scratch)[count, 0]), is_weighted(reach)
    run = first_run(graph, vertex)
    while run >= 0:
        if leads(reach, graph, run, 0):
            for i in range(run_length(graph, run)):
                head, weight = neighbour(graph, run, i), weight_at(weighted, graph, run, i)
                if places_of(scratch)[head, 0] != MARKED and hops_of(scratch)[head, 1] != NOWHERE:
                    rest = step_cost(side_cost(scratch, 1, head), weight)
                    if compare(rest, side_cost(scratch, 1, vertex)) == 0:
                        _reach(scratch, head, step_cost(side_cost(scratch, 0, vertex), weight))
                        heaps_of(scratch)[count, 0] = head
                        count += 1
        run = next_run(graph, run)
    return count


@kernel()
def _reach(scratch: Any, vertex: Any, cost: Any) -> None:
    if hops_of(scratch)[vertex, 0] == NOWHERE:
        seen_of(scratch)[sizes_of(scratch)[SEEN], 0] = vertex
        sizes_of(scratch)[SEEN] += 1
    set_side_cost(scratch, 0, vertex, cost)
    places_of(scratch)[vertex, 0] = MARKED


@kernel((GRAPH, REACH, SCRATCH, int64, NEW_INT32S))
def step_back(graph: Any, reach: Any, scratch: Any, vertex: Any, edges: Any) -> Any:
    """The edges by which shortest paths come to a vertex; their number, though there may be no room for all."""
    count, weighted, run = np.int64(0), is_weighted(reach), first_run(graph, vertex)
    while run >= 0:
        if leads(reach, graph, run, 1):
            for i in range(run_length(graph, run)):
                tail = neighbour(graph, run, i)
                if hops_of(scratch)[tail, 0] != NOWHERE:
                    offered = step_cost(side_cost(scratch, 0, tail), weight_at(weighted, graph, run, i))
                    if compare(offered, side_cost(scratch, 0, vertex)) == 0:
                        if count < len(edges):
                            edges[count] = edge_at(graph, run, i)
                        count += 1
        run = next_run(graph, run)
    return count
