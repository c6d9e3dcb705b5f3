"""Where two balls meet: the least sum of both costs over the vertices in both, and at how many it is reached.

A vertex that is gained, or whose cost falls, can only lower the sum or add a tie. One that is lost takes a tie away;
when none is left the pair is *stale*: nobody knows the next sum until both balls are compared again, which waits until
somebody needs it.

The law of alerts: an update changes the shortest paths of a pair only if it changes, in one of the two balls, the cost
of some vertex or the edges by which that cost is reached, and a path through that vertex may be as short as the pair's
distance. A vertex that is not in the other ball is farther from its centre than its radius.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_paths_costs import both_costs, compare, cost_of, extent, is_weighted
from heliograph.kernels.metric_paths_entries import find_entry
from heliograph.kernels.metric_paths_layout import (
    ALERT,
    ALERTS,
    BALL,
    CHOSEN,
    EVENTS,
    FIRST_LINK,
    FIRST_MEMBER,
    GROUP,
    GROUPS_QUEUED,
    HIGH,
    LEFT,
    LINKS,
    LOW,
    MEET_HOPS,
    MEMBERS,
    NEXT_MEMBER,
    NOWHERE,
    OPEN,
    QUEUE_FIRST,
    QUEUED,
    RIGHT,
    STALE,
    TIES,
    VERTEX,
)
from heliograph.kernels.metric_paths_world import (
    balls_of,
    counters_of,
    entries_of,
    groups_of,
    meets_of,
    pairs_of,
    queue_of,
    radii_of,
)


@kernel()
def queue_group(reach: Any, group: Any) -> None:
    """A group's value may have changed."""
    if groups_of(reach)[group, QUEUED] == 0:
        groups_of(reach)[group, QUEUED] = 1
        queue_of(reach)[
            (counters_of(reach)[QUEUE_FIRST] + counters_of(reach)[GROUPS_QUEUED]) % len(queue_of(reach))
        ] = group
        counters_of(reach)[GROUPS_QUEUED] += 1


@kernel()
def unqueue_group(reach: Any) -> None:
    """The first of the queue has been settled."""
    first = counters_of(reach)[QUEUE_FIRST]
    groups_of(reach)[queue_of(reach)[first], QUEUED] = 0
    counters_of(reach)[QUEUE_FIRST] = (first + 1) % len(queue_of(reach))
    counters_of(reach)[GROUPS_QUEUED] -= 1


@kernel(inline=True)
def meet_of(reach: Any, pair: Any) -> Any:
    """The least sum of a pair that is not stale."""
    hops = np.int64(pairs_of(reach)[pair, MEET_HOPS])
    if is_weighted(reach):
        return meets_of(reach)[pair, HIGH], meets_of(reach)[pair, LOW], hops
    return 0.0, 0.0, hops


@kernel(inline=True)
def _set_meet(reach: Any, pair: Any, cost: Any) -> None:
    pairs_of(reach)[pair, MEET_HOPS], pairs_of(reach)[pair, TIES] = cost[2], 1
    if is_weighted(reach):
        meets_of(reach)[pair, HIGH], meets_of(reach)[pair, LOW] = cost[0], cost[1]


@kernel()
def gain(reach: Any, entry: Any) -> None:
    """An entry has a cost that it did not have, or a lower one."""
    ball, vertex = np.int64(entries_of(reach)[entry, BALL]), np.int64(entries_of(reach)[entry, VERTEX])
    counters_of(reach)[EVENTS] += 1
    link = np.int64(balls_of(reach)[ball, FIRST_LINK])
    while link:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        if pairs_of(reach)[pair, STALE] == 0:
            other = find_entry(reach, vertex, np.int64(pairs_of(reach)[pair, RIGHT - side]))
            if other >= 0:
                _offer(reach, pair, both_costs(cost_of(reach, entry), cost_of(reach, other)))
        link = np.int64(pairs_of(reach)[pair, LINKS + side])
    if balls_of(reach)[ball, ALERTS]:
        alert(reach, entry)


@kernel()
def _offer(reach: Any, pair: Any, cost: Any) -> None:
    order = compare(cost, meet_of(reach, pair))
    if order < 0:
        _set_meet(reach, pair, cost)
        queue_group(reach, np.int64(pairs_of(reach)[pair, GROUP]))
    elif order == 0:
        pairs_of(reach)[pair, TIES] += 1


@kernel()
def lose(reach: Any, entry: Any) -> None:
    """An entry's cost is no longer reached."""
    ball, vertex = np.int64(entries_of(reach)[entry, BALL]), np.int64(entries_of(reach)[entry, VERTEX])
    counters_of(reach)[EVENTS] += 1
    if balls_of(reach)[ball, ALERTS]:
        alert(reach, entry)
    link = np.int64(balls_of(reach)[ball, FIRST_LINK])
    while link:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        if pairs_of(reach)[pair, STALE] == 0:
            other = find_entry(reach, vertex, np.int64(pairs_of(reach)[pair, RIGHT - side]))
            if other >= 0:
                cost = both_costs(cost_of(reach, entry), cost_of(reach, other))
                if compare(cost, meet_of(reach, pair)) == 0:
                    _untie(reach, pair)
        link = np.int64(pairs_of(reach)[pair, LINKS + side])


@kernel()
def _untie(reach: Any, pair: Any) -> None:
    pairs_of(reach)[pair, TIES] -= 1
    if pairs_of(reach)[pair, TIES] == 0:
        make_stale(reach, pair)


@kernel()
def make_stale(reach: Any, pair: Any) -> None:
    pairs_of(reach)[pair, STALE] = 1
    queue_group(reach, np.int64(pairs_of(reach)[pair, GROUP]))


@kernel()
def make_all_stale(reach: Any, ball: Any) -> None:
    """Nothing is known any more of the pairs of a ball."""
    link = np.int64(balls_of(reach)[ball, FIRST_LINK])
    while link:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        make_stale(reach, pair)
        link = np.int64(pairs_of(reach)[pair, LINKS + side])


@kernel()
def queue_all(reach: Any, ball: Any) -> None:
    """A ball that was complete is so no more: what its pairs relied on has gone."""
    link = np.int64(balls_of(reach)[ball, FIRST_LINK])
    while link:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        queue_group(reach, np.int64(pairs_of(reach)[pair, GROUP]))
        link = np.int64(pairs_of(reach)[pair, LINKS + side])


# --- shortest paths of trees ------------------------------------------------------------------------------------


@kernel()
def alert(reach: Any, entry: Any) -> None:
    """Queues the groups whose tree may go through an entry of which something changed."""
    ball, vertex = np.int64(entries_of(reach)[entry, BALL]), np.int64(entries_of(reach)[entry, VERTEX])
    link = np.int64(balls_of(reach)[ball, FIRST_LINK])
    while link:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        if pairs_of(reach)[pair, CHOSEN] and groups_of(reach)[pairs_of(reach)[pair, GROUP], ALERT]:
            at_least = extent(reach, cost_of(reach, entry)) + _rest(reach, vertex, pair, side)
            if pairs_of(reach)[pair, STALE] or at_least <= _slack(reach, extent(reach, meet_of(reach, pair))):
                queue_group(reach, np.int64(pairs_of(reach)[pair, GROUP]))
        link = np.int64(pairs_of(reach)[pair, LINKS + side])


@kernel(inline=True)
def _slack(reach: Any, distance: Any) -> Any:
    """A little more than a distance: sums of floats round where costs do not."""
    return distance * (1 + 1e-12) if is_weighted(reach) else distance


@kernel()
def _rest(reach: Any, vertex: Any, pair: Any, side: Any) -> Any:
    """How far a vertex is at least from the other centre of a pair."""
    ball = np.int64(pairs_of(reach)[pair, RIGHT - side])
    radius, other = radii_of(reach)[ball], find_entry(reach, vertex, ball)
    if other < 0:
        return radius if is_weighted(reach) else radius + 2
    return min(radius if is_weighted(reach) else radius + 1, extent(reach, cost_of(reach, other)))


# --- comparing balls --------------------------------------------------------------------------------------------


@kernel()
def compare_balls(reach: Any, pair: Any) -> None:
    """Finds the least sum of a stale pair, from the members of the smaller ball."""
    left, right = np.int64(pairs_of(reach)[pair, LEFT]), np.int64(pairs_of(reach)[pair, RIGHT])
    if balls_of(reach)[right, MEMBERS] < balls_of(reach)[left, MEMBERS]:
        left, right = right, left
    _set_meet(reach, pair, (np.inf if is_weighted(reach) else 0.0, 0.0, np.int64(NOWHERE)))
    pairs_of(reach)[pair, STALE] = 0
    entry = np.int64(balls_of(reach)[left, FIRST_MEMBER]) - 1
    while entry >= 0:
        other = find_entry(reach, np.int64(entries_of(reach)[entry, VERTEX]), right)
        if other >= 0:
            _offer(reach, pair, both_costs(cost_of(reach, entry), cost_of(reach, other)))
        entry = np.int64(entries_of(reach)[entry, NEXT_MEMBER]) - 1


@kernel(inline=True)
def is_complete(reach: Any, pair: Any) -> Any:
    """Whether one of the two balls has nothing left to expand."""
    return (
        balls_of(reach)[pairs_of(reach)[pair, LEFT], OPEN] == 0
        or balls_of(reach)[pairs_of(reach)[pair, RIGHT], OPEN] == 0
    )
