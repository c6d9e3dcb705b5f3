"""What a group of terminals is worth: the weight of a minimum spanning tree over its pairs' distances.

Pairs are in a total order: by distance, then by number of edges, then as they stand; so the tree is unique. A pair
whose balls have not met closely enough counts with what it costs at least, before any other that costs the same.

The law: if the tree under what pairs cost at least holds none but pairs that are known, it is the tree of the true
distances. If it weighs as much as the bound, so does the true one. Otherwise one of its unknown pairs has to be known
better: the smaller one of its balls grows. So balls grow no farther than the answer needs.

Source: Kou, Markowsky and Berman, "A fast algorithm for Steiner trees" (1981): at most twice the optimum. The spanning
tree is found as Prim does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_paths_balls import grow
from heliograph.kernels.metric_paths_costs import add, compare, extent, is_weighted
from heliograph.kernels.metric_paths_layout import (
    BY,
    CENTRE,
    CHOSEN,
    FIRST_PAIR,
    HIGH,
    JOINED,
    KNOWN,
    LEFT,
    LOW,
    MEMBERS,
    NOWHERE,
    RIGHT,
    SETTLED,
    STALE,
    TERMINALS,
    VALUE,
)
from heliograph.kernels.metric_paths_pairs import compare_balls, is_complete, meet_of
from heliograph.kernels.metric_paths_search import search
from heliograph.kernels.metric_paths_world import (
    balls_of,
    bounds_of,
    counters_of,
    groups_of,
    limits_of,
    notes_of,
    pairs_of,
    radii_of,
    tree_of,
)

_SURE, _MORE = 1 - 1e-12, 1 + 1e-9  # radii are rounded sums
_HOPS = 2  # of costs
EXACT, BEYOND, LACKING = range(3)  # what is known of a group's value: all, that it is not below the bound, no room


# --- pairs ------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def _at_least(reach: Any, pair: Any) -> Any:
    """How far the centres of a pair are apart at least if their balls do not meet."""
    radii = radii_of(reach)[pairs_of(reach)[pair, LEFT]] + radii_of(reach)[pairs_of(reach)[pair, RIGHT]]
    return radii * _SURE if is_weighted(reach) else radii + 3


@kernel(inline=True)
def _is_known(reach: Any, pair: Any) -> Any:
    """Whether the least sum of a pair is its distance."""
    at_least, meet = _at_least(reach, pair), extent(reach, meet_of(reach, pair))
    return meet < at_least or (meet == at_least and is_weighted(reach)) or is_complete(reach, pair)


@kernel()
def _note_cost(reach: Any, scratch: Any, pair: Any, place: Any) -> None:
    """Notes what a pair costs, or costs at least."""
    known = _is_known(reach, pair)
    cost = meet_of(reach, pair)
    if not known and is_weighted(reach):
        cost = (_at_least(reach, pair), 0.0, np.int64(-1))
    elif not known:
        cost = (0.0, 0.0, np.int64(_at_least(reach, pair)))
    _note(scratch, place, cost, known)


@kernel(inline=True)
def _note(scratch: Any, place: Any, cost: Any, known: Any) -> None:
    notes_of(scratch)[place, HIGH], notes_of(scratch)[place, LOW], notes_of(scratch)[place, _HOPS] = cost
    notes_of(scratch)[place, KNOWN] = 1.0 if known else 0.0


@kernel(inline=True)
def _noted(scratch: Any, place: Any) -> Any:
    return notes_of(scratch)[place, HIGH], notes_of(scratch)[place, LOW], np.int64(notes_of(scratch)[place, _HOPS])


@kernel()
def _approach(graph: Any, reach: Any, pair: Any, bound: Any) -> Any:
    """Grows the smaller ball of a pair that is not known, as far as it may be needed; whether there was room."""
    ball, other = np.int64(pairs_of(reach)[pair, LEFT]), np.int64(pairs_of(reach)[pair, RIGHT])
    if balls_of(reach)[other, MEMBERS] < balls_of(reach)[ball, MEMBERS]:
        ball, other = other, ball
    meet = meet_of(reach, pair)
    if is_weighted(reach):
        return grow(graph, reach, ball, min(bound, meet[0]) * _MORE - radii_of(reach)[other])
    wanted = min(np.ceil(bound) - 3, np.inf if meet[2] == NOWHERE else meet[2] - 2.0)
    return grow(graph, reach, ball, max(wanted - radii_of(reach)[other], radii_of(reach)[ball] + 1))


# --- the tree ---------------------------------------------------------------------------------------------------


@kernel(inline=True)
def _place(terminals: Any, one: Any, other: Any) -> Any:
    """Where the pair of two terminals, counted from 0, stands among those of their group."""
    low, high = min(one, other), max(one, other)
    return low * (2 * terminals - low - 1) // 2 + high - low - 1


@kernel()
def _comes_before(scratch: Any, place: Any, other: Any) -> Any:
    order = compare(_noted(scratch, place), _noted(scratch, other))
    if order:
        return order < 0
    if notes_of(scratch)[place, KNOWN] != notes_of(scratch)[other, KNOWN]:
        return notes_of(scratch)[place, KNOWN] == 0.0
    return place < other


@kernel()
def _span(scratch: Any, terminals: Any) -> Any:
    """Chooses the tree over noted costs; its cost, and its first pair that is not known, or -1."""
    tree_of(scratch)[0, JOINED] = 1
    for terminal in range(1, terminals):
        tree_of(scratch)[terminal, JOINED], tree_of(scratch)[terminal, BY] = 0, _place(terminals, 0, terminal)
    high, low, hops, unknown = 0.0, 0.0, np.int64(0), np.int64(-1)
    for _ in range(1, terminals):
        joined = _nearest(scratch, terminals)
        place = np.int64(tree_of(scratch)[joined, BY])
        _join(scratch, terminals, joined)
        cost = _noted(scratch, place)
        high, low = add(high, low, cost[0], cost[1])
        hops += cost[2]
        if notes_of(scratch)[place, KNOWN] == 0.0 and (unknown < 0 or _comes_before(scratch, place, unknown)):
            unknown = place
    return (high, low, hops), unknown


@kernel()
def _nearest(scratch: Any, terminals: Any) -> Any:
    """The terminal that the tree reaches next."""
    best = np.int64(-1)
    for terminal in range(1, terminals):
        if tree_of(scratch)[terminal, JOINED] == 0 and (
            best < 0
            or _comes_before(scratch, np.int64(tree_of(scratch)[terminal, BY]), np.int64(tree_of(scratch)[best, BY]))
        ):
            best = np.int64(terminal)
    return best


@kernel()
def _join(scratch: Any, terminals: Any, joined: Any) -> None:
    """A terminal joins the tree; others may be nearer to it than to those that joined before."""
    tree_of(scratch)[joined, JOINED] = 1
    for terminal in range(1, terminals):
        if tree_of(scratch)[terminal, JOINED] == 0:
            place = _place(terminals, joined, terminal)
            if _comes_before(scratch, place, np.int64(tree_of(scratch)[terminal, BY])):
                tree_of(scratch)[terminal, BY] = place


@kernel(inline=True)
def _value(reach: Any, cost: Any) -> Any:
    """A cost as a number that is told."""
    if not is_weighted(reach) and cost[2] >= NOWHERE:
        return np.inf
    return extent(reach, cost)


# --- groups -----------------------------------------------------------------------------------------------------


@kernel()
def settle_group(graph: Any, reach: Any, scratch: Any, group: Any) -> Any:
    """Finds a group's value, into VALUE: infinite if it is BEYOND. Balls grow as far as it takes."""
    terminals, first = np.int64(groups_of(reach)[group, TERMINALS]), np.int64(groups_of(reach)[group, FIRST_PAIR])
    pairs = terminals * (terminals - 1) // 2
    counters_of(reach)[SETTLED] += 1
    while True:
        for place in range(pairs):
            if pairs_of(reach)[first + place, STALE]:
                compare_balls(reach, first + place)
            _note_cost(reach, scratch, first + place, place)
        cost, unknown = _span(scratch, terminals)
        weight = _value(reach, cost)
        if unknown < 0 or weight >= bounds_of(reach)[group]:
            limits_of(reach)[VALUE] = weight if unknown < 0 else np.inf
            _mark_chosen(reach, scratch, group)
            return EXACT if unknown < 0 else BEYOND
        if not _approach(graph, reach, first + unknown, bounds_of(reach)[group]):
            return LACKING


@kernel()
def _mark_chosen(reach: Any, scratch: Any, group: Any) -> None:
    """Notes which pairs the tree holds, if it is one."""
    terminals, first = np.int64(groups_of(reach)[group, TERMINALS]), np.int64(groups_of(reach)[group, FIRST_PAIR])
    for pair in range(first, first + terminals * (terminals - 1) // 2):
        pairs_of(reach)[pair, CHOSEN] = 0
    if limits_of(reach)[VALUE] < np.inf:
        for terminal in range(1, terminals):
            pairs_of(reach)[first + tree_of(scratch)[terminal, BY], CHOSEN] = 1


@kernel()
def appraise_group(graph: Any, reach: Any, scratch: Any, group: Any) -> Any:
    """The value of a group that was just settled, beyond its bound too: unknown pairs are searched for."""
    terminals, first = np.int64(groups_of(reach)[group, TERMINALS]), np.int64(groups_of(reach)[group, FIRST_PAIR])
    for place in range(terminals * (terminals - 1) // 2):
        if notes_of(scratch)[place, KNOWN] == 0.0:
            left, right = pairs_of(reach)[first + place, LEFT], pairs_of(reach)[first + place, RIGHT]
            ends = np.int64(balls_of(reach)[left, CENTRE]), np.int64(balls_of(reach)[right, CENTRE])
            _note(scratch, place, search(graph, reach, scratch, ends[0], ends[1]), True)
    cost, _ = _span(scratch, terminals)
    return _value(reach, cost)
