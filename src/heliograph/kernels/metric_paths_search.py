"""How long a shortest path is, found from both ends.

Both sides settle vertices in order of cost. The law: when the least costs not yet settled sum up to no less than the
best path found, that is the shortest; and every shortest path then has a vertex with a right cost on both sides. Of
paths that weigh the same those with fewer edges are shorter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import first_run, neighbour, next_run, run_length
from heliograph.kernels.metric_paths_balls import leads
from heliograph.kernels.metric_paths_costs import both_costs, compare, is_weighted, step_cost, weight_at
from heliograph.kernels.metric_paths_layout import HIGH, LOW, NOWHERE, SEEN
from heliograph.kernels.metric_paths_world import (
    heaps_of,
    hops_of,
    places_of,
    seen_of,
    sizes_of,
    totals_of,
    touching_of,
)


@kernel(inline=True)
def side_cost(scratch: Any, side: Any, vertex: Any) -> Any:
    """The cost of a vertex on one side; that of NOWHERE is greater than any."""
    hops = np.int64(hops_of(scratch)[vertex, side])
    if len(totals_of(scratch)):
        return totals_of(scratch)[vertex, 2 * side + HIGH], totals_of(scratch)[vertex, 2 * side + LOW], hops
    return 0.0, 0.0, hops


@kernel(inline=True)
def set_side_cost(scratch: Any, side: Any, vertex: Any, cost: Any) -> None:
    hops_of(scratch)[vertex, side] = cost[2]
    if len(totals_of(scratch)):
        totals_of(scratch)[vertex, 2 * side + HIGH], totals_of(scratch)[vertex, 2 * side + LOW] = cost[0], cost[1]


@kernel()
def search(graph: Any, reach: Any, scratch: Any, start: Any, end: Any) -> Any:
    """The cost of a shortest path, NOWHERE hops if there is none. Leaves the sides clean."""
    best = meet_sides(graph, reach, scratch, start, end)
    clean(scratch)
    return best


@kernel()
def meet_sides(graph: Any, reach: Any, scratch: Any, start: Any, end: Any) -> Any:
    """The cost of a shortest path; the sides stay as they are."""
    best = (np.inf if len(totals_of(scratch)) else 0.0, 0.0, np.int64(NOWHERE))
    if touching_of(reach)[start] == 0 or touching_of(reach)[end] == 0:
        return best
    if start == end:
        best = (0.0, 0.0, np.int64(0))
    _offer(scratch, 0, start, (0.0, 0.0, np.int64(0)))
    _offer(scratch, 1, end, (0.0, 0.0, np.int64(0)))
    while sizes_of(scratch)[0] and sizes_of(scratch)[1]:
        tops = np.int64(heaps_of(scratch)[0, 0]), np.int64(heaps_of(scratch)[0, 1])
        if compare(both_costs(side_cost(scratch, 0, tops[0]), side_cost(scratch, 1, tops[1])), best) >= 0:
            break
        side = 0 if sizes_of(scratch)[0] <= sizes_of(scratch)[1] else 1
        best = _settle(graph, reach, scratch, side, best)
    return best


@kernel()
def _settle(graph: Any, reach: Any, scratch: Any, side: Any, best: Any) -> Any:
    """Settles the nearest vertex of a side; the cost of the best path so far."""
    vertex = _pop(scratch, side)
    cost, weighted = side_cost(scratch, side, vertex), is_weighted(reach)
    run = first_run(graph, vertex)
    while run >= 0:
        if leads(reach, graph, run, side):
            for i in range(run_length(graph, run)):
                head, offered = neighbour(graph, run, i), step_cost(cost, weight_at(weighted, graph, run, i))
                if offered[0] < np.inf and compare(offered, side_cost(scratch, side, head)) < 0:
                    _offer(scratch, side, head, offered)
                    if hops_of(scratch)[head, 1 - side] != NOWHERE:
                        whole = both_costs(offered, side_cost(scratch, 1 - side, head))
                        best = whole if compare(whole, best) < 0 else best
        run = next_run(graph, run)
    return best


@kernel()
def _offer(scratch: Any, side: Any, vertex: Any, cost: Any) -> None:
    """A vertex has a lower cost than before."""
    if hops_of(scratch)[vertex, side] == NOWHERE:
        seen_of(scratch)[sizes_of(scratch)[SEEN + side], side] = vertex
        sizes_of(scratch)[SEEN + side] += 1
    set_side_cost(scratch, side, vertex, cost)
    place = np.int64(places_of(scratch)[vertex, side]) - 1
    if place < 0:
        place = sizes_of(scratch)[side]
        sizes_of(scratch)[side] = place + 1
    _rise(scratch, side, vertex, place)


@kernel()
def clean(scratch: Any) -> None:
    for side in range(2):
        for at in range(sizes_of(scratch)[SEEN + side]):
            vertex = np.int64(seen_of(scratch)[at, side])
            set_side_cost(scratch, side, vertex, (np.inf, 0.0, np.int64(NOWHERE)))
            places_of(scratch)[vertex, side] = 0
        sizes_of(scratch)[side] = sizes_of(scratch)[SEEN + side] = 0


# --- the heap of a side -----------------------------------------------------------------------------------------


@kernel()
def _rise(scratch: Any, side: Any, vertex: Any, place: Any) -> None:
    cost = side_cost(scratch, side, vertex)
    while place > 0:
        above = (place - 1) >> 1
        other = np.int64(heaps_of(scratch)[above, side])
        if compare(side_cost(scratch, side, other), cost) <= 0:
            break
        _stand(scratch, side, other, place)
        place = above
    _stand(scratch, side, vertex, place)


@kernel(inline=True)
def _stand(scratch: Any, side: Any, vertex: Any, place: Any) -> None:
    heaps_of(scratch)[place, side] = vertex
    places_of(scratch)[vertex, side] = place + 1


@kernel()
def _pop(scratch: Any, side: Any) -> Any:
    top = np.int64(heaps_of(scratch)[0, side])
    places_of(scratch)[top, side] = 0
    size = sizes_of(scratch)[side] - 1
    sizes_of(scratch)[side] = size
    if size:
        _sink(scratch, side, np.int64(heaps_of(scratch)[size, side]), size)
    return top


@kernel()
def _sink(scratch: Any, side: Any, vertex: Any, size: Any) -> None:
    cost, place = side_cost(scratch, side, vertex), np.int64(0)
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        other = np.int64(heaps_of(scratch)[below, side])
        if below + 1 < size:
            second = np.int64(heaps_of(scratch)[below + 1, side])
            if compare(side_cost(scratch, side, second), side_cost(scratch, side, other)) < 0:
                below, other = below + 1, second
        if compare(cost, side_cost(scratch, side, other)) <= 0:
            break
        _stand(scratch, side, other, place)
        place = below
    _stand(scratch, side, vertex, place)
