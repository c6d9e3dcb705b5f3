"""The shortest path that is shown, as edges. Its choice is told in metric_paths_search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import edge_at, first_run, neighbour, next_run, run_length
from heliograph.kernels.evolution_layout import PREDICATE, SUBJECT
from heliograph.kernels.evolution_types import GRAPH, NEW_INT32S
from heliograph.kernels.metric_paths_balls import leads
from heliograph.kernels.metric_paths_costs import both_costs, compare, is_weighted, step_cost, weight_at
from heliograph.kernels.metric_paths_layout import MARKED, NOWHERE, SEEN
from heliograph.kernels.metric_paths_search import clean, meet_sides, set_side_cost, side_cost
from heliograph.kernels.metric_paths_world import REACH, SCRATCH, heaps_of, hops_of, places_of, seen_of, sizes_of


@kernel((GRAPH, REACH, SCRATCH, int64, int64, NEW_INT32S))
def trace(graph: Any, reach: Any, scratch: Any, start: Any, end: Any, edges: Any) -> Any:
    """The edges of the path that is shown, from its end; their number, or -1 if there is none."""
    best, count = meet_sides(graph, reach, scratch, start, end), np.int64(-1)
    if best[2] != NOWHERE:
        _mark(graph, reach, scratch, best)
        count, vertex = np.int64(0), np.int64(end)
        while vertex != start:
            vertex, edges[count] = _step_back(graph, reach, scratch, vertex)
            count += 1
    clean(scratch)
    return count


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


@kernel()
def _step_back(graph: Any, reach: Any, scratch: Any, vertex: Any) -> Any:
    """The vertex before another on the path, and the edge between them."""
    best, chosen, weighted, run = np.int64(-1), np.int64(-1), is_weighted(reach), first_run(graph, vertex)
    while run >= 0:
        if leads(reach, graph, run, 1):
            for i in range(run_length(graph, run)):
                tail = neighbour(graph, run, i)
                if hops_of(scratch)[tail, 0] != NOWHERE and (best < 0 or tail <= best):
                    offered = step_cost(side_cost(scratch, 0, tail), weight_at(weighted, graph, run, i))
                    if compare(offered, side_cost(scratch, 0, vertex)) == 0:
                        edge = edge_at(graph, run, i)
                        if tail != best or _is_shown_before(graph, edge, chosen):
                            chosen = edge
                        best = tail
        run = next_run(graph, run)
    return best, chosen


@kernel(inline=True)
def _is_shown_before(graph: Any, edge: Any, other: Any) -> Any:
    if graph.edges[edge, PREDICATE] != graph.edges[other, PREDICATE]:
        return graph.edges[edge, PREDICATE] < graph.edges[other, PREDICATE]
    return graph.edges[edge, SUBJECT] < graph.edges[other, SUBJECT]
