"""Balls as edges come and go.

The laws: a member is expanded exactly if it is no farther than the radius; its cost is the least of those that
expanded members offer it by an edge, and TIGHT counts the edges that offer just that. Every edge costs something, so a
cost never rests on itself: when TIGHT falls to 0 the cost is lost, and so are those that rested on it alone. Whoever
lost theirs take the best that the others offer, the nearest first. All that is touched is what changes, and its edges.

Source: Ramalingam and Reps, "On the computational complexity of dynamic graph problems" (1996), cut off at a radius.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import first_run, neighbour, next_run, run_length
from heliograph.kernels.evolution_layout import KEY
from heliograph.kernels.metric_paths_costs import compare, cost_of, extent, is_weighted, step_cost, weight_at
from heliograph.kernels.metric_paths_entries import add_entry, drop_entry, find_entry, has_entry_room
from heliograph.kernels.metric_paths_heap import clear_heap, pop, push
from heliograph.kernels.metric_paths_layout import (
    ALERTS,
    BALL,
    BALLS_BROKEN,
    BROKEN,
    CENTRE,
    FIRST_MEMBER,
    HEAPED,
    HIGH,
    HOPS,
    HORIZON,
    LOW,
    MEMBERS,
    NEXT_MEMBER,
    OPEN,
    TIGHT,
    UNDIRECTED,
    VERTEX,
    WAY,
)
from heliograph.kernels.metric_paths_pairs import alert, gain, make_all_stale, queue_all
from heliograph.kernels.metric_paths_world import (
    balls_of,
    counters_of,
    entries_of,
    heap_of,
    limits_of,
    radii_of,
    sums_of,
)

_SOME = 16  # members that are expanded at once, at least


@kernel(inline=True)
def leads(reach: Any, graph: Any, run: Any, way: Any) -> Any:
    """Whether a run holds edges that may be followed this way."""
    return counters_of(reach)[UNDIRECTED] != 0 or (graph.runs[run, KEY] & 1) == way


@kernel(inline=True)
def set_cost(reach: Any, entry: Any, cost: Any) -> None:
    entries_of(reach)[entry, HOPS], entries_of(reach)[entry, TIGHT] = cost[2], 1
    if is_weighted(reach):
        sums_of(reach)[entry, HIGH], sums_of(reach)[entry, LOW] = cost[0], cost[1]


@kernel(inline=True)
def is_open(reach: Any, ball: Any, cost: Any) -> Any:
    """Whether a member of this cost is too far away to be expanded."""
    return extent(reach, cost) > radii_of(reach)[ball]


@kernel()
def relax(reach: Any, entry: Any, head: Any, weight: Any) -> Any:
    """Offers a cost to the vertex at the other end of an edge of an expanded member; whether there was room."""
    ball, cost = np.int64(entries_of(reach)[entry, BALL]), step_cost(cost_of(reach, entry), weight)
    if cost[0] == np.inf:
        return True
    other = find_entry(reach, head, ball)
    if other < 0:
        if not has_entry_room(reach):
            return False
        other = add_entry(reach, head, ball)
        balls_of(reach)[ball, OPEN] += is_open(reach, ball, cost)
        _lower(reach, other, cost)
        return True
    before = cost_of(reach, other)
    order = compare(cost, before)
    if order < 0:
        balls_of(reach)[ball, OPEN] += np.int64(is_open(reach, ball, cost)) - np.int64(is_open(reach, ball, before))
        _lower(reach, other, cost)
    elif order == 0:
        entries_of(reach)[other, TIGHT] += 1
        if balls_of(reach)[ball, ALERTS]:
            alert(reach, other)
    return True


@kernel()
def _lower(reach: Any, entry: Any, cost: Any) -> None:
    set_cost(reach, entry, cost)
    gain(reach, entry)
    if extent(reach, cost) <= limits_of(reach)[HORIZON]:
        push(reach, entry)


@kernel()
def expand(graph: Any, reach: Any, entry: Any) -> Any:
    """Offers costs along all edges of a member; whether there was room."""
    ball, weighted = np.int64(entries_of(reach)[entry, BALL]), is_weighted(reach)
    way, run = balls_of(reach)[ball, WAY], first_run(graph, entries_of(reach)[entry, VERTEX])
    while run >= 0:
        if leads(reach, graph, run, way):
            for i in range(run_length(graph, run)):
                if not relax(reach, entry, neighbour(graph, run, i), weight_at(weighted, graph, run, i)):
                    return False
        run = next_run(graph, run)
    return True


@kernel()
def spread(graph: Any, reach: Any, ball: Any) -> None:
    """Expands whoever stands in the heap and whoever comes into it, the nearest first."""
    while counters_of(reach)[HEAPED]:
        if not expand(graph, reach, pop(reach)):
            break_ball(reach, ball)


@kernel()
def break_ball(reach: Any, ball: Any) -> None:
    """There was no room: the ball has to be made anew."""
    clear_heap(reach)
    if balls_of(reach)[ball, BROKEN] == 0:
        balls_of(reach)[ball, BROKEN] = 1
        counters_of(reach)[BALLS_BROKEN] += 1
    make_all_stale(reach, ball)


@kernel()
def reach_head(graph: Any, reach: Any, entry: Any, head: Any, weight: Any) -> None:
    """An edge has come that leads from an expanded member to a vertex."""
    ball = np.int64(entries_of(reach)[entry, BALL])
    was_complete = balls_of(reach)[ball, OPEN] == 0
    limits_of(reach)[HORIZON] = radii_of(reach)[ball]
    if relax(reach, entry, head, weight):
        spread(graph, reach, ball)
    else:
        break_ball(reach, ball)
    if was_complete and balls_of(reach)[ball, OPEN]:
        queue_all(reach, ball)


# --- centres and radii ------------------------------------------------------------------------------------------


@kernel()
def fill(graph: Any, reach: Any, ball: Any) -> None:
    """Makes an empty ball around a vertex that is there, up to the radius."""
    if not has_entry_room(reach):
        break_ball(reach, ball)
        return
    balls_of(reach)[ball, OPEN] = 0
    limits_of(reach)[HORIZON] = radii_of(reach)[ball]
    _lower(reach, add_entry(reach, np.int64(balls_of(reach)[ball, CENTRE]), ball), (0.0, 0.0, np.int64(0)))
    spread(graph, reach, ball)


@kernel()
def empty_ball(reach: Any, ball: Any) -> None:
    """Takes all members out, whatever their state."""
    while balls_of(reach)[ball, FIRST_MEMBER]:
        drop_entry(reach, np.int64(balls_of(reach)[ball, FIRST_MEMBER]) - 1)
    balls_of(reach)[ball, OPEN] = 0


@kernel()
def grow(graph: Any, reach: Any, ball: Any, limit: Any) -> Any:
    """Expands the nearest open members, at least some, all of equal distance, none beyond a limit; whether there was
    room. The radius grows with them."""
    _heap_open(reach, ball)
    limits_of(reach)[HORIZON] = np.inf
    wanted, radius = max(_SOME, balls_of(reach)[ball, MEMBERS] >> 1), radii_of(reach)[ball]
    while counters_of(reach)[HEAPED]:
        nearest = extent(reach, cost_of(reach, np.int64(heap_of(reach)[0])))
        if nearest > limit:
            radius = limit
            break
        if wanted <= 0 and nearest > radius:
            break
        radius = nearest
        wanted -= 1
        if not expand(graph, reach, pop(reach)):
            radii_of(reach)[ball] = radius
            break_ball(reach, ball)
            return False
    clear_heap(reach)
    radii_of(reach)[ball] = radius
    _count_open(reach, ball)
    return True


@kernel()
def _heap_open(reach: Any, ball: Any) -> None:
    entry = np.int64(balls_of(reach)[ball, FIRST_MEMBER]) - 1
    while entry >= 0:
        if is_open(reach, ball, cost_of(reach, entry)):
            push(reach, entry)
        entry = np.int64(entries_of(reach)[entry, NEXT_MEMBER]) - 1


@kernel()
def _count_open(reach: Any, ball: Any) -> None:
    count, entry = 0, np.int64(balls_of(reach)[ball, FIRST_MEMBER]) - 1
    while entry >= 0:
        count += is_open(reach, ball, cost_of(reach, entry))
        entry = np.int64(entries_of(reach)[entry, NEXT_MEMBER]) - 1
    balls_of(reach)[ball, OPEN] = count
