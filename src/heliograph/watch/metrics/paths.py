"""Shortest paths between terminals, kept as edges come and go: balls around terminals that meet, for distances and
Steiner trees.

Around a terminal lies a *ball*: every vertex that can be reached by expanding those no farther than its radius, each
with the cost of the shortest path so found. A cost is (sum of weights, number of edges), compared in that order, so
every edge costs something even where weights are 0. Where hops are counted all sums are 0. A *group* is what somebody
asks for: terminals, with a *pair* of balls for each two of them. Its value is the weight of a minimum spanning tree
over the pairs' distances; for two terminals, their distance.

The laws.

- Let two balls, one along the edges from a and one against them from b, have radii r and s. In hops, a distance of at
  most r + s + 2 is the least sum of the two costs of a vertex that lies in both; with weights, one of at most r + s. So
  neither ball need be larger than half of what somebody asks for. A ball with nothing left to expand is *complete*:
  then that least sum is the distance whatever the radii are, infinite if no vertex lies in both.
- An edge whose ends no ball holds costs one look-up; where nobody asks for values beyond a bound, nothing beyond half
  of it is known.
- Of the shortest paths those with the fewest edges count; of those, from the end backwards, the first vertex in the
  order of terms comes before each; of parallel edges of equal weight the one with the first predicate, then subject, is
  shown. So what is shown depends on nothing but the graph.
- Numbers of entries, balls, pairs and groups outlive every growth.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numba import float64, int32, int64

from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.hashmap import find_key, pair_key, vacate
from heliograph.compiled.records import ADDRESS, Struct, array, number, view, wanted
from heliograph.watch.graph import FlatGraph
from heliograph.watch.graph_kernels import (
    drop,
    edge_at,
    find_edge,
    first_run,
    graph_at,
    has_room,
    neighbour,
    next_run,
    put,
    run_length,
)
from heliograph.watch.layout import IN, KEY, OBJECT, OUT, PREDICATE, SUBJECT, Floats, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    ASKED,
    LOG,
    MetricReport,
    can_report,
    is_reported,
    rehash_into,
    report_at,
    write_report,
)
from heliograph.watch.metrics.thresholds import (
    CAME,
    CHANGED,
    NO_THRESHOLDS,
    WENT,
    Log,
    Order,
    Points,
    Reported,
    ThresholdLists,
    fixed_log,
)

# of entries: a vertex in a ball. TIGHT: edges by which its cost is reached; PLACE: 1 + its place in the heap.
VERTEX, BALL, HOPS, TIGHT, PLACE, NEXT, BEFORE, NEXT_MEMBER, BEFORE_MEMBER = range(9)
LOST = -1  # PLACE of an entry whose cost is no longer reached

# of balls. WAY: whether it follows edges (OUT) or goes against them (IN); OPEN: members beyond the radius.
CENTRE, WAY, FIRST_MEMBER, MEMBERS, OPEN, BROKEN, FIRST_LINK, NEXT_BALL, ALERTS = range(9)

# of pairs. LINKS: the next pair of the left ball, and of the right one, as 1 + 2 * pair + side. TIES: vertices at which
# the least sum is reached; STALE: it has to be looked for again; CHOSEN: it stands in the group's tree.
LEFT, RIGHT, LINKS, LINKS_RIGHT, TIES, STALE, CHOSEN, MEET_HOPS, GROUP = range(9)

TERMINALS, FIRST_PAIR, QUEUED, ALERT = range(4)  # of groups. ALERT: whether its owner follows the paths of its tree
HIGH, LOW = range(2)  # of sums: a number of twice the precision, so that sums do not depend on their order
NOWHERE = 2**31 - 1  # hops to what is not reached
MARKED = -1  # in places: on a shortest path
SEEN = 2  # the first of the two sizes of `seen`
JOINED, BY = range(2)  # of a tree: whether a terminal has joined it, and by which pair it does or would
KNOWN = 3  # of notes, behind HIGH, LOW and the hops: whether it is the cost, or only less

FOLLOW, SETTLE, WORTH, MEND, BEGIN_BALL, END_BALL, BEGIN_GROUP, END_GROUP = range(8)  # operations
BEGIN_TRACE, STEP_BACK, END_TRACE, QUEUE_GROUPS, FORGET_BALLS = range(8, 13)
DONE, LACKS_EDGES, LACKS_ROOM, ALERTED = range(4)  # what an operation stopped for

_LEAST = 16  # rows of a new array; a power of two
_SLOTS = 2  # places of the table for each entry there may be


class Paths(Struct):
    """Balls, pairs and groups. Where hops are counted, sums, meets and totals have no rows."""

    keys: Int64s = array(int64, "slot")  # a power of two: of (vertex, ball); 0 is free
    numbers: Int32s = array(int32, "slot")  # beside the keys: the number of the entry
    entries: Int32s = array(int32, "entry", 9)
    sums: Floats = array(float64, "sum", 2)  # by entry
    heap: Int32s = array(int32, "entry")  # entries by cost
    stack: Int32s = array(int32, "entry")  # entries whose cost is lost
    first: Int32s = array(int32, "vertex")  # 1 + its first entry
    touching: Int32s = array(int32, "vertex")  # edges that touch it
    centred: Int32s = array(int32, "vertex")  # 1 + the first ball around it
    balls: Int32s = array(int32, "ball", 9)
    radii: Floats = array(float64, "ball")
    pairs: Int32s = array(int32, "pair", 9)
    meets: Floats = array(float64, "meet", 2)  # by pair: the least sum
    groups: Int32s = array(int32, "group", 4)
    bounds: Floats = array(float64, "group")  # values from here on need not be distinguished
    reported: Floats = array(float64, "group")  # the value that was last reported, or at which it was watched
    queue: Int32s = array(int32, "group")  # a ring: groups whose value may have changed
    queue_first: int = number()
    queued: int = number()
    given: int = number()  # numbers of entries given out
    free_entry: int = number()  # 1 + the first free one
    live: int = number()  # entries in use
    heaped: int = number()
    broken: int = number()  # balls that lacked room
    is_undirected: int = number()
    horizon: float = number(0.0, float64)  # up to where entries are expanded
    value: float = number(0.0, float64)  # what the last group that was settled is worth
    events: int = number()  # costs that changed,
    settled: int = number()  # and groups settled: the work done

    # What a search for one path needs, two sides with their costs, clean before and after; and a spanning tree.
    hops: Int32s = array(int32, "vertex", 2, fill=NOWHERE)  # a column for each side
    totals: Floats = array(float64, "total", 4)  # by vertex: HIGH and LOW of one side, then of the other
    places: Int32s = array(int32, "vertex", 2)  # 1 + its place in the heap; MARKED
    heaps: Int32s = array(int32, "vertex", 2)
    seen: Int32s = array(int32, "vertex", 2)  # vertices that were reached
    sizes: Int64s = array(int64, "size")  # of both heaps, then of both columns of `seen`
    tree: Int32s = array(int32, "terminal", 2)
    notes: Floats = array(float64, "note", 4)  # by pair of one group: what it costs
    traced: Int32s = array(int32, "traced")  # edges by which shortest paths come to a vertex
    traced_wanted: int = wanted("traced")

    def __init__(self, *, undirected: bool) -> None:
        rows = first_room(_LEAST)
        super().__init__(slot=rows * _SLOTS, entry=rows, ball=rows, pair=rows, group=rows, size=4, terminal=2, note=1)
        self.is_undirected = undirected

    @property
    def is_weighted(self) -> bool:
        return len(self.sums) > 0

    def weigh(self) -> None:
        """From now on costs have sums of weights, all of which were 1 so far."""
        sums, meets = (np.zeros((len(rows), 2)) for rows in (self.entries, self.pairs))
        sums[:, HIGH] = self.entries[:, HOPS]
        hops = self.pairs[:, MEET_HOPS]
        meets[:, HIGH] = np.where(hops == NOWHERE, np.inf, hops)
        self.sums, self.meets = sums, meets
        self.cover(0)

    def cover(self, vertices: int) -> None:
        if vertices > len(self.first):
            self.resize("vertex", max(vertices, first_room(2 * len(self.first))))
        if self.is_weighted and len(self.totals) < len(self.first):
            self.totals = np.tile([np.inf, 0.0], (len(self.first), 2))

    def cover_numbers(self, **numbers: int) -> None:
        """Room for so many balls, pairs or groups; nothing stands in the queue."""
        for dimension, count in numbers.items():
            if count > self.rows(dimension):
                self.resize(dimension, first_room(2 * count, count))
        if self.is_weighted and len(self.meets) < len(self.pairs):
            self.resize("meet", len(self.pairs))

    def cover_terminals(self, terminals: int) -> None:
        if terminals > len(self.tree):
            self.resize("terminal", terminals)
            self.resize("note", terminals * (terminals - 1) // 2)

    def double_entries(self) -> None:
        """Room for twice as many members of balls."""
        self.resize("entry", 2 * len(self.entries))
        if self.is_weighted:
            self.resize("sum", len(self.entries))
        rehash_into(self, _SLOTS * len(self.entries))


paths_at = view(Paths)


# --- costs of paths: sums of weights in twice the precision of a float, then edges -----------------------------------
#
# The law: as long as the sums in play span less than 100 bits, from the last bit of the smallest weight to the first
# of the largest sum, no addition rounds. So equal costs are equal however they were added up, the value of a distance
# is its exact sum rounded once, and which paths are the shortest does not depend on the order of updates.
#
# Source: the addition of unevaluated pairs of floats is that of Dekker (1971) in Knuth's form.


@kernel()
def add(high: Any, low: Any, more_high: Any, more_low: Any) -> Any:
    """The sum of two numbers of twice the precision; what is too large is infinite."""
    total = high + more_high
    if total == np.inf:
        return np.inf, 0.0
    part = total - high
    rest = (high - (total - part)) + (more_high - part)
    lows = low + more_low
    part = lows - low
    last = (low - (lows - part)) + (more_low - part)
    rest += lows
    upper = total + rest
    rest = (rest - (upper - total)) + last
    answer = upper + rest
    return answer, rest - (answer - upper)


@kernel(inline=True)
def compare(cost: Any, other: Any) -> Any:
    """Below 0, 0 or above 0, as one cost (high, low, hops) is less, equal or greater than another."""
    if cost[0] != other[0]:
        return -1 if cost[0] < other[0] else 1
    if cost[1] != other[1]:
        return -1 if cost[1] < other[1] else 1
    return cost[2] - other[2]


@kernel(inline=True)
def is_weighted(paths: Paths) -> Any:
    return len(paths.sums) > 0


@kernel(inline=True)
def cost_of(paths: Paths, entry: Any) -> Any:
    hops = np.int64(paths.entries[entry, HOPS])
    if is_weighted(paths):
        return paths.sums[entry, HIGH], paths.sums[entry, LOW], hops
    return 0.0, 0.0, hops


@kernel()
def step_cost(cost: Any, weight: Any) -> Any:
    """The cost after one more edge."""
    high, low = add(cost[0], cost[1], weight, 0.0)
    return high, low, cost[2] + 1


@kernel()
def both_costs(cost: Any, other: Any) -> Any:
    high, low = add(cost[0], cost[1], other[0], other[1])
    return high, low, cost[2] + other[2]


@kernel(inline=True)
def extent(paths: Paths, cost: Any) -> Any:
    """A cost as a distance."""
    return cost[0] if is_weighted(paths) else np.float64(cost[2])


@kernel(inline=True)
def weight_of(weighted: Any, graph: Any, edge: Any) -> Any:
    """The weight of an edge: 1 if it has none; 0 where hops are counted."""
    if not weighted:
        return 0.0
    weight = graph.weights[edge]
    return 1.0 if np.isnan(weight) else weight


@kernel(inline=True)
def weight_at(weighted: Any, graph: Any, run: Any, i: Any) -> Any:
    """The weight of a run's edge."""
    return weight_of(weighted, graph, edge_at(graph, run, i)) if weighted else 0.0


# --- entries: the vertices of balls ----------------------------------------------------------------------------------
#
# One table for all balls, with the members of each ball and the entries of each vertex in lists. An update looks up the
# entries of the vertex that its edge leaves: a ball that has none there is not concerned, and costs nothing.


@kernel()
def find_entry(paths: Paths, vertex: Any, ball: Any) -> Any:
    """The entry of a vertex in a ball, or -1."""
    keys = paths.keys
    place = find_key(keys, pair_key(vertex, ball))
    return np.int64(paths.numbers[place]) if keys[place] != 0 else np.int64(-1)


@kernel(inline=True)
def has_entry_room(paths: Paths) -> Any:
    return paths.free_entry != 0 or paths.given < len(paths.entries)


@kernel()
def add_entry(paths: Paths, vertex: Any, ball: Any) -> Any:
    """A new entry, without a cost. Needs room."""
    entries, balls, entry = paths.entries, paths.balls, paths.free_entry - 1
    if entry >= 0:
        paths.free_entry = entries[entry, NEXT]
    else:
        entry = paths.given
        paths.given = entry + 1
    entries[entry, VERTEX], entries[entry, BALL] = vertex, ball
    entries[entry, TIGHT] = entries[entry, PLACE] = 0
    key = pair_key(vertex, ball)
    place = find_key(paths.keys, key)
    paths.keys[place], paths.numbers[place] = key, entry
    following = paths.first[vertex]
    entries[entry, NEXT], entries[entry, BEFORE] = following, 0
    if following:
        entries[following - 1, BEFORE] = entry + 1
    paths.first[vertex] = entry + 1
    following = balls[ball, FIRST_MEMBER]
    entries[entry, NEXT_MEMBER], entries[entry, BEFORE_MEMBER] = following, 0
    if following:
        entries[following - 1, BEFORE_MEMBER] = entry + 1
    balls[ball, FIRST_MEMBER] = entry + 1
    balls[ball, MEMBERS] += 1
    paths.live += 1
    return entry


@kernel()
def drop_entry(paths: Paths, entry: Any) -> None:
    """Takes an entry out of the table and of both lists."""
    entries, balls = paths.entries, paths.balls
    place = find_key(paths.keys, pair_key(entries[entry, VERTEX], entries[entry, BALL]))
    vacate(paths.keys, paths.numbers, place)
    following, before = entries[entry, NEXT], entries[entry, BEFORE]
    if following:
        entries[following - 1, BEFORE] = before
    if before:
        entries[before - 1, NEXT] = following
    else:
        paths.first[entries[entry, VERTEX]] = following
    following, before = entries[entry, NEXT_MEMBER], entries[entry, BEFORE_MEMBER]
    ball = entries[entry, BALL]
    if following:
        entries[following - 1, BEFORE_MEMBER] = before
    if before:
        entries[before - 1, NEXT_MEMBER] = following
    else:
        balls[ball, FIRST_MEMBER] = following
    balls[ball, MEMBERS] -= 1
    entries[entry, VERTEX] = -1
    entries[entry, NEXT] = paths.free_entry
    paths.free_entry = entry + 1
    paths.live -= 1


# --- heaps by cost ---------------------------------------------------------------------------------------------------
#
# Binary heaps that know where each item stands, so that costs may fall: of the entries of one ball, and of the vertices
# that a search has reached from either side.


def _heap(cost_at: Any, item_at: Any, stand: Any) -> tuple[Any, Any]:
    """Kernels `rise` and `sink`, which find the place of an item above one, or below the top of a heap of a size."""

    @kernel()
    def rise(paths: Paths, side: Any, item: Any, place: Any) -> None:
        cost = cost_at(paths, side, item)
        while place > 0:
            above = (place - 1) >> 1
            other = item_at(paths, side, above)
            if compare(cost_at(paths, side, other), cost) <= 0:
                break
            stand(paths, side, other, place)
            place = above
        stand(paths, side, item, place)

    @kernel()
    def sink(paths: Paths, side: Any, item: Any, size: Any) -> None:
        cost, place = cost_at(paths, side, item), np.int64(0)
        while True:
            below = 2 * place + 1
            if below >= size:
                break
            other = item_at(paths, side, below)
            if below + 1 < size:
                second = item_at(paths, side, below + 1)
                if compare(cost_at(paths, side, second), cost_at(paths, side, other)) < 0:
                    below, other = below + 1, second
            if compare(cost, cost_at(paths, side, other)) <= 0:
                break
            stand(paths, side, other, place)
            place = below
        stand(paths, side, item, place)

    return rise, sink


@kernel(inline=True)
def _entry_cost(paths: Paths, side: Any, entry: Any) -> Any:
    return cost_of(paths, entry)


@kernel(inline=True)
def _entry_at(paths: Paths, side: Any, place: Any) -> Any:
    return np.int64(paths.heap[place])


@kernel(inline=True)
def _stand(paths: Paths, side: Any, entry: Any, place: Any) -> None:
    paths.heap[place] = entry
    paths.entries[entry, PLACE] = place + 1


_rise, _sink = _heap(_entry_cost, _entry_at, _stand)


@kernel()
def push(paths: Any, entry: Any) -> None:
    """Puts an entry into the heap, or nearer to its top after its cost was lowered."""
    place = np.int64(paths.entries[entry, PLACE]) - 1
    if place < 0:
        place = paths.heaped
        paths.heaped = place + 1
    _rise(paths, 0, entry, place)


@kernel()
def pop(paths: Paths) -> Any:
    """Takes the entry of the least cost out of a heap that has one."""
    top = np.int64(paths.heap[0])
    paths.entries[top, PLACE] = 0
    size = paths.heaped - 1
    paths.heaped = size
    if size:
        _sink(paths, 0, np.int64(paths.heap[size]), size)
    return top


@kernel()
def clear_heap(paths: Paths) -> None:
    for place in range(paths.heaped):
        paths.entries[paths.heap[place], PLACE] = 0
    paths.heaped = 0


# --- where two balls meet --------------------------------------------------------------------------------------------
#
# A vertex that is gained, or whose cost falls, can only lower the sum or add a tie. One that is lost takes a tie
# away; when none is left the pair is *stale*: nobody knows the next sum until both balls are compared again, which
# waits until somebody needs it.
#
# The law of alerts: an update changes the shortest paths of a pair only if it changes, in one of the two balls, the
# cost of some vertex or the edges by which that cost is reached, and a path through that vertex may be as short as
# the pair's distance. A vertex that is not in the other ball is farther from its centre than its radius.


@kernel()
def queue_group(paths: Paths, group: Any) -> None:
    """A group's value may have changed."""
    if paths.groups[group, QUEUED] == 0:
        paths.groups[group, QUEUED] = 1
        paths.queue[(paths.queue_first + paths.queued) % len(paths.queue)] = group
        paths.queued += 1


@kernel()
def unqueue_group(paths: Paths) -> None:
    """The first of the queue has been settled."""
    first = paths.queue_first
    paths.groups[paths.queue[first], QUEUED] = 0
    paths.queue_first = (first + 1) % len(paths.queue)
    paths.queued -= 1


@kernel(inline=True)
def meet_of(paths: Paths, pair: Any) -> Any:
    """The least sum of a pair that is not stale."""
    hops = np.int64(paths.pairs[pair, MEET_HOPS])
    if is_weighted(paths):
        return paths.meets[pair, HIGH], paths.meets[pair, LOW], hops
    return 0.0, 0.0, hops


@kernel(inline=True)
def _set_meet(paths: Paths, pair: Any, cost: Any) -> None:
    paths.pairs[pair, MEET_HOPS], paths.pairs[pair, TIES] = cost[2], 1
    if is_weighted(paths):
        paths.meets[pair, HIGH], paths.meets[pair, LOW] = cost[0], cost[1]


@kernel()
def change_meets(paths: Paths, entry: Any, gained: Any) -> None:
    """An entry has a cost that it did not have, or a lower one; or else its cost is no longer reached."""
    ball, vertex = np.int64(paths.entries[entry, BALL]), np.int64(paths.entries[entry, VERTEX])
    paths.events += 1
    link = np.int64(paths.balls[ball, FIRST_LINK])
    while link:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        if paths.pairs[pair, STALE] == 0:
            other = find_entry(paths, vertex, np.int64(paths.pairs[pair, RIGHT - side]))
            if other >= 0:
                cost = both_costs(cost_of(paths, entry), cost_of(paths, other))
                if gained:
                    _offer(paths, pair, cost)
                elif compare(cost, meet_of(paths, pair)) == 0:
                    paths.pairs[pair, TIES] -= 1
                    if paths.pairs[pair, TIES] == 0:
                        make_stale(paths, pair)
        link = np.int64(paths.pairs[pair, LINKS + side])
    if paths.balls[ball, ALERTS]:
        alert(paths, entry)


@kernel()
def _offer(paths: Paths, pair: Any, cost: Any) -> None:
    order = compare(cost, meet_of(paths, pair))
    if order < 0:
        _set_meet(paths, pair, cost)
        queue_group(paths, np.int64(paths.pairs[pair, GROUP]))
    elif order == 0:
        paths.pairs[pair, TIES] += 1


@kernel()
def make_stale(paths: Paths, pair: Any) -> None:
    paths.pairs[pair, STALE] = 1
    queue_group(paths, np.int64(paths.pairs[pair, GROUP]))


@kernel()
def queue_all(paths: Paths, ball: Any, stale: Any) -> None:
    """What the pairs of a ball relied on has gone; of those that are stale by that nothing is known any more."""
    link = np.int64(paths.balls[ball, FIRST_LINK])
    while link:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        paths.pairs[pair, STALE] |= stale
        queue_group(paths, np.int64(paths.pairs[pair, GROUP]))
        link = np.int64(paths.pairs[pair, LINKS + side])


@kernel()
def alert(paths: Paths, entry: Any) -> None:
    """Queues the groups whose tree may go through an entry of which something changed."""
    ball, vertex = np.int64(paths.entries[entry, BALL]), np.int64(paths.entries[entry, VERTEX])
    weighted, link = is_weighted(paths), np.int64(paths.balls[ball, FIRST_LINK])
    while link:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        if paths.pairs[pair, CHOSEN] and paths.groups[paths.pairs[pair, GROUP], ALERT]:
            ball = np.int64(paths.pairs[pair, RIGHT - side])
            other, rest = find_entry(paths, vertex, ball), paths.radii[ball]  # at least from the other centre
            if other < 0:
                rest += 0 if weighted else 2
            else:
                rest = min(rest if weighted else rest + 1, extent(paths, cost_of(paths, other)))
            distance = extent(paths, meet_of(paths, pair))
            distance *= 1 + 1e-12 if weighted else 1.0  # a little more: sums of floats round where costs do not
            if paths.pairs[pair, STALE] or extent(paths, cost_of(paths, entry)) + rest <= distance:
                queue_group(paths, np.int64(paths.pairs[pair, GROUP]))
        link = np.int64(paths.pairs[pair, LINKS + side])


@kernel()
def compare_balls(paths: Paths, pair: Any) -> None:
    """Finds the least sum of a stale pair, from the members of the smaller ball."""
    left, right = np.int64(paths.pairs[pair, LEFT]), np.int64(paths.pairs[pair, RIGHT])
    if paths.balls[right, MEMBERS] < paths.balls[left, MEMBERS]:
        left, right = right, left
    _set_meet(paths, pair, (np.inf if is_weighted(paths) else 0.0, 0.0, np.int64(NOWHERE)))
    paths.pairs[pair, STALE] = 0
    entry = np.int64(paths.balls[left, FIRST_MEMBER]) - 1
    while entry >= 0:
        other = find_entry(paths, np.int64(paths.entries[entry, VERTEX]), right)
        if other >= 0:
            _offer(paths, pair, both_costs(cost_of(paths, entry), cost_of(paths, other)))
        entry = np.int64(paths.entries[entry, NEXT_MEMBER]) - 1


# --- balls as edges come ---------------------------------------------------------------------------------------------
#
# The laws: a member is expanded exactly if it is no farther than the radius; its cost is the least of those that
# expanded members offer it by an edge, and TIGHT counts the edges that offer just that. Every edge costs something,
# so a cost never rests on itself: when TIGHT falls to 0 the cost is lost, and so are those that rested on it alone.
# Whoever lost theirs take the best that the others offer, the nearest first. All that is touched is what changes, and
# its edges.
#
# Source: Ramalingam and Reps, "On the computational complexity of dynamic graph problems" (1996), cut off at a
# radius.

_SOME = 16  # members that are expanded at once, at least


@kernel(inline=True)
def leads(paths: Paths, graph: Any, run: Any, way: Any) -> Any:
    """Whether a run holds edges that may be followed this way."""
    return paths.is_undirected != 0 or (graph.runs[run, KEY] & 1) == way


@kernel(inline=True)
def set_cost(paths: Paths, entry: Any, cost: Any) -> None:
    paths.entries[entry, HOPS], paths.entries[entry, TIGHT] = cost[2], 1
    if is_weighted(paths):
        paths.sums[entry, HIGH], paths.sums[entry, LOW] = cost[0], cost[1]


@kernel(inline=True)
def is_open(paths: Paths, ball: Any, cost: Any) -> Any:
    """Whether a member of this cost is too far away to be expanded."""
    return extent(paths, cost) > paths.radii[ball]


@kernel()
def relax(paths: Paths, entry: Any, head: Any, weight: Any) -> Any:
    """Offers a cost to the vertex at the other end of an edge of an expanded member; whether there was room."""
    ball, cost = np.int64(paths.entries[entry, BALL]), step_cost(cost_of(paths, entry), weight)
    if cost[0] == np.inf:
        return True
    other = find_entry(paths, head, ball)
    if other < 0:
        if not has_entry_room(paths):
            return False
        other = add_entry(paths, head, ball)
        paths.balls[ball, OPEN] += is_open(paths, ball, cost)
        _lower(paths, other, cost)
        return True
    before = cost_of(paths, other)
    order = compare(cost, before)
    if order < 0:
        paths.balls[ball, OPEN] += np.int64(is_open(paths, ball, cost)) - np.int64(is_open(paths, ball, before))
        _lower(paths, other, cost)
    elif order == 0:
        paths.entries[other, TIGHT] += 1
        if paths.balls[ball, ALERTS]:
            alert(paths, other)
    return True


@kernel()
def _lower(paths: Paths, entry: Any, cost: Any) -> None:
    set_cost(paths, entry, cost)
    change_meets(paths, entry, True)
    if extent(paths, cost) <= paths.horizon:
        push(paths, entry)


@kernel()
def expand(graph: Any, paths: Paths, entry: Any) -> Any:
    """Offers costs along all edges of a member; whether there was room."""
    ball, weighted = np.int64(paths.entries[entry, BALL]), is_weighted(paths)
    way, run = paths.balls[ball, WAY], first_run(graph, paths.entries[entry, VERTEX])
    while run >= 0:
        if leads(paths, graph, run, way):
            for i in range(run_length(graph, run)):
                if not relax(paths, entry, neighbour(graph, run, i), weight_at(weighted, graph, run, i)):
                    return False
        run = next_run(graph, run)
    return True


@kernel()
def spread(graph: Any, paths: Paths, ball: Any) -> None:
    """Expands whoever stands in the heap and whoever comes into it, the nearest first."""
    while paths.heaped:
        if not expand(graph, paths, pop(paths)):
            break_ball(paths, ball)


@kernel()
def break_ball(paths: Paths, ball: Any) -> None:
    """There was no room: the ball has to be made anew."""
    clear_heap(paths)
    if paths.balls[ball, BROKEN] == 0:
        paths.balls[ball, BROKEN] = 1
        paths.broken += 1
    queue_all(paths, ball, 1)


@kernel()
def reach_head(graph: Any, paths: Paths, entry: Any, head: Any, weight: Any) -> None:
    """An edge has come that leads from an expanded member to a vertex."""
    ball = np.int64(paths.entries[entry, BALL])
    was_complete = paths.balls[ball, OPEN] == 0
    paths.horizon = paths.radii[ball]
    if relax(paths, entry, head, weight):
        spread(graph, paths, ball)
    else:
        break_ball(paths, ball)
    if was_complete and paths.balls[ball, OPEN]:
        queue_all(paths, ball, 0)  # a ball that was complete is so no more


@kernel()
def fill(graph: Any, paths: Paths, ball: Any) -> None:
    """Makes an empty ball around a vertex that is there, up to the radius."""
    if not has_entry_room(paths):
        break_ball(paths, ball)
        return
    paths.balls[ball, OPEN] = 0
    paths.horizon = paths.radii[ball]
    _lower(paths, add_entry(paths, np.int64(paths.balls[ball, CENTRE]), ball), (0.0, 0.0, np.int64(0)))
    spread(graph, paths, ball)


@kernel()
def empty_ball(paths: Paths, ball: Any) -> None:
    """Takes all members out, whatever their state."""
    while paths.balls[ball, FIRST_MEMBER]:
        drop_entry(paths, np.int64(paths.balls[ball, FIRST_MEMBER]) - 1)
    paths.balls[ball, OPEN] = 0


@kernel()
def grow(graph: Any, paths: Paths, ball: Any, limit: Any) -> Any:
    """Expands the nearest open members, at least some, all of equal distance, none beyond a limit; whether there was
    room. The radius grows with them."""
    entry = np.int64(paths.balls[ball, FIRST_MEMBER]) - 1
    while entry >= 0:
        if is_open(paths, ball, cost_of(paths, entry)):
            push(paths, entry)
        entry = np.int64(paths.entries[entry, NEXT_MEMBER]) - 1
    paths.horizon = np.inf
    wanted, radius = max(_SOME, paths.balls[ball, MEMBERS] >> 1), paths.radii[ball]
    while paths.heaped:
        nearest = extent(paths, cost_of(paths, np.int64(paths.heap[0])))
        if nearest > limit:
            radius = limit
            break
        if wanted <= 0 and nearest > radius:
            break
        radius = nearest
        wanted -= 1
        if not expand(graph, paths, pop(paths)):
            paths.radii[ball] = radius
            break_ball(paths, ball)
            return False
    clear_heap(paths)
    paths.radii[ball] = radius
    count, entry = 0, np.int64(paths.balls[ball, FIRST_MEMBER]) - 1
    while entry >= 0:
        count += is_open(paths, ball, cost_of(paths, entry))
        entry = np.int64(paths.entries[entry, NEXT_MEMBER]) - 1
    paths.balls[ball, OPEN] = count
    return True


# --- balls as edges go -----------------------------------------------------------------------------------------------


@kernel()
def unreach_head(graph: Any, paths: Paths, entry: Any, head: Any, weight: Any) -> None:
    """An edge has gone that led from an expanded member to a vertex."""
    other = find_entry(paths, head, np.int64(paths.entries[entry, BALL]))
    if other < 0 or compare(step_cost(cost_of(paths, entry), weight), cost_of(paths, other)) != 0:
        return
    count = _loosen(paths, other, np.int64(0))
    if count:
        count = _find_lost(graph, paths, count)
        _offer_lost(graph, paths, count)
        _settle(graph, paths)
        for at in range(count):  # those that were offered nothing leave the ball
            lost = np.int64(paths.stack[at])
            if paths.entries[lost, PLACE] == LOST:
                drop_entry(paths, lost)


@kernel()
def _loosen(paths: Paths, entry: Any, count: Any) -> Any:
    """One edge less offers an entry its cost; how many entries on the stack have lost theirs."""
    paths.entries[entry, TIGHT] -= 1
    ball = np.int64(paths.entries[entry, BALL])
    if paths.entries[entry, TIGHT]:
        if paths.balls[ball, ALERTS]:
            alert(paths, entry)
        return count
    change_meets(paths, entry, False)
    paths.balls[ball, OPEN] -= is_open(paths, ball, cost_of(paths, entry))
    paths.entries[entry, PLACE] = LOST
    paths.stack[count] = entry
    return count + 1


@kernel()
def _find_lost(graph: Any, paths: Paths, count: Any) -> Any:
    """Follows lost costs to those that rested on them; how many lost theirs in all."""
    at, weighted = 0, is_weighted(paths)
    while at < count:
        entry = np.int64(paths.stack[at])
        ball, cost = np.int64(paths.entries[entry, BALL]), cost_of(paths, entry)
        run = first_run(graph, paths.entries[entry, VERTEX]) if not is_open(paths, ball, cost) else np.int64(-1)
        while run >= 0:
            if leads(paths, graph, run, paths.balls[ball, WAY]):
                for i in range(run_length(graph, run)):
                    other = find_entry(paths, neighbour(graph, run, i), ball)
                    if other >= 0 and paths.entries[other, PLACE] != LOST:
                        offered = step_cost(cost, weight_at(weighted, graph, run, i))
                        if compare(offered, cost_of(paths, other)) == 0:
                            count = _loosen(paths, other, count)
            run = next_run(graph, run)
        at += 1
    return count


@kernel()
def _offer_lost(graph: Any, paths: Paths, count: Any) -> None:
    """Offers each that lost its cost what those offer that have theirs.

    In hops, a new cost is larger than the one that was lost; beyond the outermost there is none.
    """
    weighted = is_weighted(paths)
    for at in range(count):
        entry = np.int64(paths.stack[at])
        ball, run = np.int64(paths.entries[entry, BALL]), np.int64(-1)
        if weighted or not is_open(paths, ball, cost_of(paths, entry)):
            run = first_run(graph, paths.entries[entry, VERTEX])
        while run >= 0:
            if leads(paths, graph, run, 1 - paths.balls[ball, WAY]):
                for i in range(run_length(graph, run)):
                    other = find_entry(paths, neighbour(graph, run, i), ball)
                    if other >= 0 and paths.entries[other, PLACE] != LOST:
                        cost = cost_of(paths, other)
                        if not is_open(paths, ball, cost):
                            _take(paths, entry, step_cost(cost, weight_at(weighted, graph, run, i)))
            run = next_run(graph, run)
    for at in range(count):
        entry = np.int64(paths.stack[at])
        if paths.entries[entry, TIGHT]:
            push(paths, entry)


@kernel()
def _take(paths: Paths, entry: Any, cost: Any) -> Any:
    """One of those that lost their cost is offered another; whether it is the best so far."""
    if cost[0] == np.inf:
        return False
    order = compare(cost, cost_of(paths, entry)) if paths.entries[entry, TIGHT] else -1
    if order < 0:
        set_cost(paths, entry, cost)
        return True
    if order == 0:
        paths.entries[entry, TIGHT] += 1
    return False


@kernel()
def _settle(graph: Any, paths: Paths) -> None:
    """The nearest of those that were offered a cost has it for good, and offers others theirs."""
    weighted = is_weighted(paths)
    while paths.heaped:
        entry = pop(paths)
        ball, cost, run = np.int64(paths.entries[entry, BALL]), cost_of(paths, entry), np.int64(-1)
        change_meets(paths, entry, True)
        if is_open(paths, ball, cost):
            paths.balls[ball, OPEN] += 1
        else:
            run = first_run(graph, paths.entries[entry, VERTEX])
        while run >= 0:
            if leads(paths, graph, run, paths.balls[ball, WAY]):
                for i in range(run_length(graph, run)):
                    other = find_entry(paths, neighbour(graph, run, i), ball)
                    if other < 0 or paths.entries[other, PLACE] == 0:
                        continue
                    if _take(paths, other, step_cost(cost, weight_at(weighted, graph, run, i))):
                        push(paths, other)
            run = next_run(graph, run)


# --- how long a shortest path is, found from both ends ---------------------------------------------------------------
#
# Both sides settle vertices in order of cost. The law: when the least costs not yet settled sum up to no less than
# the best path found, that is the shortest; and every shortest path then has a vertex with a right cost on both
# sides. Of paths that weigh the same those with fewer edges are shorter.


@kernel(inline=True)
def side_cost(paths: Paths, side: Any, vertex: Any) -> Any:
    """The cost of a vertex on one side; that of NOWHERE is greater than any."""
    hops = np.int64(paths.hops[vertex, side])
    if len(paths.totals):
        return paths.totals[vertex, 2 * side + HIGH], paths.totals[vertex, 2 * side + LOW], hops
    return 0.0, 0.0, hops


@kernel(inline=True)
def set_side_cost(paths: Paths, side: Any, vertex: Any, cost: Any) -> None:
    paths.hops[vertex, side] = cost[2]
    if len(paths.totals):
        paths.totals[vertex, 2 * side + HIGH], paths.totals[vertex, 2 * side + LOW] = cost[0], cost[1]


@kernel(inline=True)
def _vertex_at(paths: Paths, side: Any, place: Any) -> Any:
    return np.int64(paths.heaps[place, side])


@kernel(inline=True)
def _stand_side(paths: Paths, side: Any, vertex: Any, place: Any) -> None:
    paths.heaps[place, side] = vertex
    paths.places[vertex, side] = place + 1


_rise_side, _sink_side = _heap(side_cost, _vertex_at, _stand_side)


@kernel()
def meet_sides(graph: Any, paths: Paths, start: Any, end: Any) -> Any:
    """The cost of a shortest path, NOWHERE hops if there is none; the sides stay as they are."""
    weighted = is_weighted(paths)
    best = (np.inf if weighted else 0.0, 0.0, np.int64(NOWHERE))
    if paths.touching[start] == 0 or paths.touching[end] == 0:
        return best
    if start == end:
        best = (0.0, 0.0, np.int64(0))
    for side in range(2):
        _offer_side(paths, side, end if side else start, (0.0, 0.0, np.int64(0)))
    while paths.sizes[0] and paths.sizes[1]:
        tops = np.int64(paths.heaps[0, 0]), np.int64(paths.heaps[0, 1])
        if compare(both_costs(side_cost(paths, 0, tops[0]), side_cost(paths, 1, tops[1])), best) >= 0:
            break
        side = 0 if paths.sizes[0] <= paths.sizes[1] else 1  # the smaller one settles its nearest vertex
        vertex = np.int64(paths.heaps[0, side])
        paths.places[vertex, side] = 0
        size = paths.sizes[side] - 1
        paths.sizes[side] = size
        if size:
            _sink_side(paths, side, np.int64(paths.heaps[size, side]), size)
        cost, run = side_cost(paths, side, vertex), first_run(graph, vertex)
        while run >= 0:
            if leads(paths, graph, run, side):
                for i in range(run_length(graph, run)):
                    head, offered = neighbour(graph, run, i), step_cost(cost, weight_at(weighted, graph, run, i))
                    if offered[0] < np.inf and compare(offered, side_cost(paths, side, head)) < 0:
                        _offer_side(paths, side, head, offered)
                        if paths.hops[head, 1 - side] != NOWHERE:
                            whole = both_costs(offered, side_cost(paths, 1 - side, head))
                            best = whole if compare(whole, best) < 0 else best
            run = next_run(graph, run)
    return best


@kernel()
def _offer_side(paths: Paths, side: Any, vertex: Any, cost: Any) -> None:
    """A vertex has a lower cost than before."""
    if paths.hops[vertex, side] == NOWHERE:
        paths.seen[paths.sizes[SEEN + side], side] = vertex
        paths.sizes[SEEN + side] += 1
    set_side_cost(paths, side, vertex, cost)
    place = np.int64(paths.places[vertex, side]) - 1
    if place < 0:
        place = paths.sizes[side]
        paths.sizes[side] = place + 1
    _rise_side(paths, side, vertex, place)


@kernel()
def clean(paths: Paths) -> None:
    for side in range(2):
        for at in range(paths.sizes[SEEN + side]):
            vertex = np.int64(paths.seen[at, side])
            set_side_cost(paths, side, vertex, (np.inf, 0.0, np.int64(NOWHERE)))
            paths.places[vertex, side] = 0
        paths.sizes[side] = paths.sizes[SEEN + side] = 0


# --- all shortest paths between two vertices, step by step from their end --------------------------------------------
#
# Which is shown is told in watch.metrics.distance. The caller begins, asks by which edges the paths come to one
# vertex after the other, and ends.


@kernel()
def _mark_paths(graph: Any, paths: Paths, best: Any) -> None:
    """Gives every vertex on a shortest path its cost from the start, those reached from the end only too.

    The heap of the start's side has done its work and serves as a stack.
    """
    count, weighted = np.int64(0), is_weighted(paths)
    for at in range(paths.sizes[SEEN]):
        vertex = np.int64(paths.seen[at, 0])
        paths.places[vertex, 0] = 0
        if paths.hops[vertex, 1] != NOWHERE:
            whole = both_costs(side_cost(paths, 0, vertex), side_cost(paths, 1, vertex))
            if compare(whole, best) == 0:
                paths.heaps[count, 0], paths.places[vertex, 0] = vertex, MARKED
                count += 1
    while count:  # on from the last vertex of the stack towards the end
        count -= 1
        vertex = np.int64(paths.heaps[count, 0])
        cost, left, run = side_cost(paths, 0, vertex), side_cost(paths, 1, vertex), first_run(graph, vertex)
        while run >= 0:
            if leads(paths, graph, run, 0):
                for i in range(run_length(graph, run)):
                    head, weight = neighbour(graph, run, i), weight_at(weighted, graph, run, i)
                    if paths.places[head, 0] == MARKED or paths.hops[head, 1] == NOWHERE:
                        continue
                    if compare(step_cost(side_cost(paths, 1, head), weight), left) == 0:
                        if paths.hops[head, 0] == NOWHERE:
                            paths.seen[paths.sizes[SEEN], 0] = head
                            paths.sizes[SEEN] += 1
                        set_side_cost(paths, 0, head, step_cost(cost, weight))
                        paths.places[head, 0], paths.heaps[count, 0] = MARKED, head
                        count += 1
            run = next_run(graph, run)


@kernel()
def _step_back(graph: Any, paths: Paths, vertex: Any) -> Any:
    """Writes down the edges by which shortest paths come to a vertex; how many, though there may be no room for all."""
    count, weighted, run = np.int64(0), is_weighted(paths), first_run(graph, vertex)
    while run >= 0:
        if leads(paths, graph, run, 1):
            for i in range(run_length(graph, run)):
                tail = neighbour(graph, run, i)
                if paths.hops[tail, 0] != NOWHERE:
                    offered = step_cost(side_cost(paths, 0, tail), weight_at(weighted, graph, run, i))
                    if compare(offered, side_cost(paths, 0, vertex)) == 0:
                        if count < len(paths.traced):
                            paths.traced[count] = edge_at(graph, run, i)
                        count += 1
        run = next_run(graph, run)
    return count


# --- what a group of terminals is worth ------------------------------------------------------------------------------
#
# Pairs are in a total order: by distance, then by number of edges, then as they stand; so the tree is unique. A pair
# whose balls have not met closely enough counts with what it costs at least, before any other that costs the same.
#
# The law: if the tree under what pairs cost at least holds none but pairs that are known, it is the tree of the true
# distances. If it weighs as much as the bound, so does the true one. Otherwise one of its unknown pairs has to be
# known better: the smaller one of its balls grows. So balls grow no farther than the answer needs.
#
# Source: Kou, Markowsky and Berman, "A fast algorithm for Steiner trees" (1981): at most twice the optimum. The
# spanning tree is found as Prim does.

_SURE, _MORE = 1 - 1e-12, 1 + 1e-9  # radii are rounded sums
_HOPS = 2  # of costs
EXACT, BEYOND, LACKING = range(3)  # what is known of a group's value: all, that it is not below the bound, no room


@kernel(inline=True)
def _at_least(paths: Paths, pair: Any) -> Any:
    """How far the centres of a pair are apart at least if their balls do not meet."""
    radii = paths.radii[paths.pairs[pair, LEFT]] + paths.radii[paths.pairs[pair, RIGHT]]
    return radii * _SURE if is_weighted(paths) else radii + 3


@kernel(inline=True)
def _is_known(paths: Paths, pair: Any) -> Any:
    """Whether the least sum of a pair is its distance: it is small enough, or one of the balls is complete."""
    at_least, meet = _at_least(paths, pair), extent(paths, meet_of(paths, pair))
    left, right = paths.pairs[pair, LEFT], paths.pairs[pair, RIGHT]
    is_complete = paths.balls[left, OPEN] == 0 or paths.balls[right, OPEN] == 0
    return meet < at_least or (meet == at_least and is_weighted(paths)) or is_complete


@kernel()
def _note_cost(paths: Paths, pair: Any, place: Any) -> None:
    """Notes what a pair costs, or costs at least."""
    known = _is_known(paths, pair)
    cost = meet_of(paths, pair)
    if not known and is_weighted(paths):
        cost = (_at_least(paths, pair), 0.0, np.int64(-1))
    elif not known:
        cost = (0.0, 0.0, np.int64(_at_least(paths, pair)))
    _note(paths, place, cost, known)


@kernel(inline=True)
def _note(paths: Paths, place: Any, cost: Any, known: Any) -> None:
    paths.notes[place, HIGH], paths.notes[place, LOW], paths.notes[place, _HOPS] = cost
    paths.notes[place, KNOWN] = 1.0 if known else 0.0


@kernel(inline=True)
def _noted(paths: Paths, place: Any) -> Any:
    return paths.notes[place, HIGH], paths.notes[place, LOW], np.int64(paths.notes[place, _HOPS])


@kernel()
def _approach(graph: Any, paths: Paths, pair: Any, bound: Any) -> Any:
    """Grows the smaller ball of a pair that is not known, as far as it may be needed; whether there was room."""
    ball, other = np.int64(paths.pairs[pair, LEFT]), np.int64(paths.pairs[pair, RIGHT])
    if paths.balls[other, MEMBERS] < paths.balls[ball, MEMBERS]:
        ball, other = other, ball
    meet = meet_of(paths, pair)
    if is_weighted(paths):
        return grow(graph, paths, ball, min(bound, meet[0]) * _MORE - paths.radii[other])
    wanted = min(np.ceil(bound) - 3, np.inf if meet[2] == NOWHERE else meet[2] - 2.0)
    return grow(graph, paths, ball, max(wanted - paths.radii[other], paths.radii[ball] + 1))


@kernel(inline=True)
def _place(terminals: Any, one: Any, other: Any) -> Any:
    """Where the pair of two terminals, counted from 0, stands among those of their group."""
    low, high = min(one, other), max(one, other)
    return low * (2 * terminals - low - 1) // 2 + high - low - 1


@kernel()
def _comes_before(paths: Paths, place: Any, other: Any) -> Any:
    order = compare(_noted(paths, place), _noted(paths, other))
    if order:
        return order < 0
    if paths.notes[place, KNOWN] != paths.notes[other, KNOWN]:
        return paths.notes[place, KNOWN] == 0.0
    return place < other


@kernel()
def _span(paths: Paths, terminals: Any) -> Any:
    """Chooses the tree over noted costs; its cost, and its first pair that is not known, or -1."""
    tree = paths.tree
    tree[0, JOINED] = 1
    for terminal in range(1, terminals):
        tree[terminal, JOINED], tree[terminal, BY] = 0, _place(terminals, 0, terminal)
    high, low, hops, unknown = 0.0, 0.0, np.int64(0), np.int64(-1)
    for _ in range(1, terminals):
        joined, place = np.int64(-1), np.int64(-1)  # the terminal that the tree reaches next, and by which pair
        for terminal in range(1, terminals):
            if tree[terminal, JOINED] == 0 and (
                joined < 0 or _comes_before(paths, np.int64(tree[terminal, BY]), place)
            ):
                joined, place = np.int64(terminal), np.int64(tree[terminal, BY])
        tree[joined, JOINED] = 1
        for terminal in range(1, terminals):  # others may be nearer to it than to those that joined before
            nearer = _place(terminals, joined, terminal)
            if tree[terminal, JOINED] == 0 and _comes_before(paths, nearer, np.int64(tree[terminal, BY])):
                tree[terminal, BY] = nearer
        cost = _noted(paths, place)
        high, low = add(high, low, cost[0], cost[1])
        hops += cost[2]
        if paths.notes[place, KNOWN] == 0.0 and (unknown < 0 or _comes_before(paths, place, unknown)):
            unknown = place
    return (high, low, hops), unknown


@kernel(inline=True)
def _value(paths: Paths, cost: Any) -> Any:
    """A cost as a number that is reported."""
    if not is_weighted(paths) and cost[2] >= NOWHERE:
        return np.inf
    return extent(paths, cost)


@kernel()
def settle_group(graph: Any, paths: Paths, group: Any) -> Any:
    """Finds a group's value, into VALUE: infinite if it is BEYOND. Balls grow as far as it takes."""
    terminals, first = np.int64(paths.groups[group, TERMINALS]), np.int64(paths.groups[group, FIRST_PAIR])
    pairs = terminals * (terminals - 1) // 2
    paths.settled += 1
    while True:
        for place in range(pairs):
            if paths.pairs[first + place, STALE]:
                compare_balls(paths, first + place)
            _note_cost(paths, first + place, place)
        cost, unknown = _span(paths, terminals)
        weight = _value(paths, cost)
        if unknown < 0 or weight >= paths.bounds[group]:
            paths.value = weight if unknown < 0 else np.inf
            for pair in range(first, first + pairs):
                paths.pairs[pair, CHOSEN] = 0
            for terminal in range(1, terminals if paths.value < np.inf else 0):
                paths.pairs[first + paths.tree[terminal, BY], CHOSEN] = 1
            return EXACT if unknown < 0 else BEYOND
        if not _approach(graph, paths, first + unknown, paths.bounds[group]):
            return LACKING


@kernel()
def appraise_group(graph: Any, paths: Paths, group: Any) -> Any:
    """The value of a group that was just settled, beyond its bound too: unknown pairs are searched for."""
    terminals, first = np.int64(paths.groups[group, TERMINALS]), np.int64(paths.groups[group, FIRST_PAIR])
    for place in range(terminals * (terminals - 1) // 2):
        if paths.notes[place, KNOWN] == 0.0:
            left, right = paths.pairs[first + place, LEFT], paths.pairs[first + place, RIGHT]
            ends = np.int64(paths.balls[left, CENTRE]), np.int64(paths.balls[right, CENTRE])
            _note(paths, place, meet_sides(graph, paths, ends[0], ends[1]), True)
            clean(paths)
    cost, _ = _span(paths, terminals)
    return _value(paths, cost)


# --- a log of changes, step by step ----------------------------------------------------------------------------------
#
# Every change leaves all balls right. Where there is no room for an edge, the run returns before the change; where a
# ball lacks room it is broken, and made anew as soon as there is more. So a run goes on from where it stopped, and
# borders of batches are nothing but places to stop.


@kernel()
def _change_edge(graph: Any, paths: Paths, log: Log, row: Any, came: Any) -> None:
    """An edge comes or goes, and the balls that hold its tail, expanded, follow. With the first edge that touches a
    vertex the balls around it begin, and with the last one what is left of them goes."""
    subject, predicate, object = np.int64(log.subject[row]), np.int64(log.predicate[row]), np.int64(log.object[row])
    if came:
        _touch(graph, paths, subject)
        _touch(graph, paths, object)
        edge = put(graph, subject, predicate, object)
        if is_weighted(paths):
            graph.weights[edge] = log.weight[row]
        weight = weight_of(is_weighted(paths), graph, edge)
    else:
        edge = find_edge(graph, subject, predicate, object)
        weight = weight_of(is_weighted(paths), graph, edge)
        drop(graph, edge)
    for way in range(2 if subject != object else 0):
        tail, head = (subject, object) if way == OUT else (object, subject)
        entry = np.int64(paths.first[tail]) - 1
        while entry >= 0:
            following = np.int64(paths.entries[entry, NEXT]) - 1
            ball = np.int64(paths.entries[entry, BALL])
            fits = paths.is_undirected != 0 or paths.balls[ball, WAY] == way
            if fits and paths.balls[ball, BROKEN] == 0 and not is_open(paths, ball, cost_of(paths, entry)):
                if came:
                    reach_head(graph, paths, entry, head, weight)
                else:
                    unreach_head(graph, paths, entry, head, weight)
            entry = following
    if not came:
        _leave(paths, subject)
        _leave(paths, object)


@kernel()
def _touch(graph: Any, paths: Paths, vertex: Any) -> None:
    paths.touching[vertex] += 1
    ball = np.int64(paths.centred[vertex]) - 1
    while ball >= 0 and paths.touching[vertex] == 1:
        fill(graph, paths, ball)
        ball = np.int64(paths.balls[ball, NEXT_BALL]) - 1


@kernel()
def _leave(paths: Paths, vertex: Any) -> None:
    paths.touching[vertex] -= 1
    ball = np.int64(paths.centred[vertex]) - 1
    while ball >= 0 and paths.touching[vertex] == 0:
        entry = find_entry(paths, vertex, ball)
        if entry >= 0 and paths.balls[ball, BROKEN] == 0:
            change_meets(paths, entry, False)
            drop_entry(paths, entry)
        ball = np.int64(paths.balls[ball, NEXT_BALL]) - 1


# --- what Python calls -----------------------------------------------------------------------------------------------


@kernel((int64, ADDRESS, ADDRESS, LOG, ASKED, ADDRESS, int64, int64))
def keep_paths(
    op: Any,
    graph_address: Any,
    address: Any,
    log: Log,
    asked: ThresholdLists,
    report_address: Any,
    one: Any,
    other: Any,
) -> Any:
    """One of the operations; what it stopped for."""
    graph, paths, report = graph_at(graph_address), paths_at(address), report_at(report_address)
    if op == FOLLOW:
        return _follow(graph, paths, log, asked, report)
    if op == SETTLE:  # queued groups, in silence
        while paths.queued:
            if settle_group(graph, paths, np.int64(paths.queue[paths.queue_first])) == LACKING:
                return LACKS_ROOM
            unqueue_group(paths)
    elif op == WORTH:  # of a group, from now on the value that was last reported
        known = settle_group(graph, paths, one)
        if known == LACKING:
            return LACKS_ROOM
        paths.reported[one] = paths.value
        if known == BEYOND:
            paths.value = appraise_group(graph, paths, one)
    elif op == MEND:  # makes broken balls anew; those that lack room again stay broken
        paths.broken = 0
        for ball in range(len(paths.balls)):
            if paths.balls[ball, BROKEN]:
                paths.balls[ball, BROKEN] = 0
                empty_ball(paths, ball)
                if paths.touching[paths.balls[ball, CENTRE]]:
                    fill(graph, paths, ball)
    elif op == BEGIN_BALL:  # a new one, which Python has made, takes its place at its centre
        centre = np.int64(paths.balls[one, CENTRE])
        paths.balls[one, NEXT_BALL] = paths.centred[centre]
        paths.centred[centre] = one + 1
        if paths.touching[centre]:
            fill(graph, paths, one)
    elif op == BEGIN_TRACE:  # finds all vertices on shortest paths; the value is infinite if there are none
        best = meet_sides(graph, paths, one, other)
        paths.value = np.inf if best[2] == NOWHERE else 0.0
        if best[2] != NOWHERE:
            _mark_paths(graph, paths, best)
    elif op == STEP_BACK:
        paths.traced_wanted = _step_back(graph, paths, one)
        if paths.traced_wanted > len(paths.traced):
            return LACKS_ROOM
    elif op == END_TRACE:
        clean(paths)
    elif op == END_BALL:
        _end_ball(paths, one)
    elif op == BEGIN_GROUP:
        _begin_group(paths, one)
    elif op == END_GROUP:
        _end_group(paths, one)
    elif op == QUEUE_GROUPS:  # what is known of any group may no longer be enough
        for ball in range(len(paths.balls)):
            queue_all(paths, ball, 0)
    elif op == FORGET_BALLS:  # all balls have to be made anew
        for ball in range(len(paths.balls)):
            if paths.balls[ball, FIRST_LINK]:
                break_ball(paths, ball)
    return DONE


@kernel()
def _follow(graph: Any, paths: Paths, log: Log, asked: ThresholdLists, report: MetricReport) -> Any:
    """Goes on with a log; what it stopped for."""
    while True:
        row = report.row
        if paths.queued and (row == len(log.step) or (row and log.step[row] != log.step[row - 1])):
            stop = _report_step(graph, paths, log.step[row - 1], asked, report)
            if stop != DONE:
                return stop
        if row == len(log.step):
            return DONE
        if not has_room(graph):
            return LACKS_EDGES
        report.row = row + 1
        change = log.change[row]
        if change != CHANGED or is_weighted(paths):  # another weight is an edge that goes and one that comes
            for came in range(1 if change == CAME else 0, 1 if change == WENT else 2):
                _change_edge(graph, paths, log, row, came)
        if paths.broken:
            return LACKS_ROOM


@kernel()
def _report_step(graph: Any, paths: Paths, step: Any, asked: ThresholdLists, report: MetricReport) -> Any:
    """Reports what queued groups are worth at a step's end; what it stopped for."""
    while paths.queued:
        if not can_report(report, 1):
            return LACKS_ROOM
        group = np.int64(paths.queue[paths.queue_first])
        known = settle_group(graph, paths, group)
        if known == LACKING:
            return LACKS_ROOM
        unqueue_group(paths)
        value = paths.value
        if paths.groups[group, ALERT]:
            write_report(report, step, group, value)
            return ALERTED
        if is_reported(asked, group, paths.reported[group], value):
            paths.reported[group] = value
            write_report(report, step, group, appraise_group(graph, paths, group) if known == BEYOND else value)
    return DONE


@kernel()
def _end_ball(paths: Paths, ball: Any) -> None:
    """Nobody needs a ball any more."""
    empty_ball(paths, ball)
    centre = np.int64(paths.balls[ball, CENTRE])
    if paths.centred[centre] == ball + 1:
        paths.centred[centre] = paths.balls[ball, NEXT_BALL]
    else:
        other = np.int64(paths.centred[centre]) - 1
        while paths.balls[other, NEXT_BALL] != ball + 1:
            other = np.int64(paths.balls[other, NEXT_BALL]) - 1
        paths.balls[other, NEXT_BALL] = paths.balls[ball, NEXT_BALL]


@kernel()
def _begin_group(paths: Paths, group: Any) -> None:
    """The pairs of a new group, whose balls Python has named, take their places at their balls."""
    terminals, first = np.int64(paths.groups[group, TERMINALS]), np.int64(paths.groups[group, FIRST_PAIR])
    for pair in range(first, first + terminals * (terminals - 1) // 2):
        for side in range(2):
            ball = np.int64(paths.pairs[pair, LEFT + side])
            paths.pairs[pair, LINKS + side] = paths.balls[ball, FIRST_LINK]
            paths.balls[ball, FIRST_LINK] = 1 + 2 * pair + side
            paths.balls[ball, ALERTS] += paths.groups[group, ALERT]
        make_stale(paths, pair)
    queue_group(paths, group)


@kernel()
def _end_group(paths: Paths, group: Any) -> None:
    """Takes the pairs of a group away from their balls."""
    terminals, first = np.int64(paths.groups[group, TERMINALS]), np.int64(paths.groups[group, FIRST_PAIR])
    for pair in range(first, first + terminals * (terminals - 1) // 2):
        for side in range(2):
            ball, sought = np.int64(paths.pairs[pair, LEFT + side]), 1 + 2 * pair + side
            paths.balls[ball, ALERTS] -= paths.groups[group, ALERT]
            link = np.int64(paths.balls[ball, FIRST_LINK])
            if link == sought:
                paths.balls[ball, FIRST_LINK] = paths.pairs[pair, LINKS + side]
            while link != sought:
                other, at = (link - 1) >> 1, (link - 1) & 1
                link = np.int64(paths.pairs[other, LINKS + at])
                if link == sought:
                    paths.pairs[other, LINKS + at] = paths.pairs[pair, LINKS + side]


# --- groups of terminals, for measures -------------------------------------------------------------------------------

Edge = tuple[int, int, int]
_NO_LOG = Log.empty()


def _ignore(step: int, group: int) -> None:
    """Nobody asked for alerts."""


class FreeNumbers:
    """Numbers in rows of neighbours: given back, a row of the same length is taken again."""

    def __init__(self) -> None:
        self._next, self._free = 0, dict[int, list[int]]()

    def take(self, count: int) -> int:
        if self._free.get(count):
            return self._free[count].pop()
        self._next += count
        return self._next - count

    def give(self, first: int, count: int) -> None:
        self._free.setdefault(count, []).append(first)


class TerminalGroups:
    """Groups of terminals over one projection: owns the arrays, makes room and calls kernels."""

    def __init__(self, *, undirected: bool, weighted: bool, order: Order) -> None:
        self.graph, self.order = FlatGraph(), order
        self.graph.keep_adjacency()
        self.paths, self._report = Paths(undirected=undirected), MetricReport()
        self._may_weigh, self._undirected = weighted, undirected
        self._balls: dict[tuple[int, int], int] = {}  # by centre and way
        self._users: Counter[int] = Counter()
        self._free_balls, self._free_pairs, self._free_groups = FreeNumbers(), FreeNumbers(), FreeNumbers()

    @property
    def work(self) -> Mapping[str, int]:
        """Costs that changed in balls, groups that were settled, and members of balls now."""
        return {"events": self.paths.events, "settled": self.paths.settled, "members": self.paths.live}

    # --- calling the kernel -------------------------------------------------------------------------------------

    def _run(
        self,
        op: int,
        one: int = 0,
        other: int = 0,
        log: Log = _NO_LOG,
        asked: ThresholdLists = NO_THRESHOLDS,
        alerted: Callable[[int, int], None] = _ignore,
    ) -> None:
        """Runs an operation to its end, making room as it lacks any."""
        paths, graph, report = self.paths, self.graph.arrays, self._report
        while stop := keep_paths(op, graph.address, paths.address, log, asked, report.address, one, other):
            if stop == LACKS_EDGES:
                self.graph.grow()
            elif stop == ALERTED:
                last = report.count = report.count - 1
                alerted(int(report.steps[last]), int(report.instances[last]))
            else:
                report.make_room()
                paths.make_room()
                self._mend()

    def _mend(self) -> None:
        """Makes room for members until no ball lacks any."""
        while self.paths.broken:
            self.paths.double_entries()
            self._run(MEND)

    def cover(self, vertices: int) -> None:
        """Makes term ids below `vertices` valid ends of edges, and valid terminals."""
        self.paths.cover(vertices)
        self.graph.cover(len(self.paths.first))

    def _expect(self, log: Log) -> None:
        """Makes ready for the vertices of a log, and for its weights. While all were 1, sums were hops, and balls half
        as large were enough."""
        if len(log.step):
            self.cover(1 + int(max(log.subject.max(), log.object.max())))
        weighs = self._may_weigh and not self.paths.is_weighted
        if weighs and (~np.isnan(log.weight) & (log.weight != 1)).any():
            self.graph.keep_weights()
            self.paths.weigh()
            self._run(QUEUE_GROUPS)
            self.settle()

    # --- groups -------------------------------------------------------------------------------------------------

    def enter(self, terminals: Sequence[int], alert: bool = False) -> int:
        """A new group of at least two terminals; one that `alert`s is called whenever its tree may have changed."""
        self.cover(1 + max(terminals))
        paths, count = self.paths, len(terminals) * (len(terminals) - 1) // 2
        group, first = self._free_groups.take(1), self._free_pairs.take(count)
        paths.cover_numbers(pair=first + count, group=group + 1)
        paths.cover_terminals(len(terminals))
        paths.groups[group, [TERMINALS, FIRST_PAIR, ALERT]] = len(terminals), first, alert
        paths.bounds[group] = -math.inf
        pairs = [(one, other) for i, one in enumerate(terminals) for other in terminals[i + 1 :]]
        for pair, (one, other) in enumerate(pairs, first):
            against = OUT if self._undirected and one != other else IN
            balls = self._ball(one, OUT), self._ball(other, against)
            paths.pairs[pair, [LEFT, RIGHT, GROUP, STALE]] = *balls, group, 0
        self._run(BEGIN_GROUP, group)
        self._mend()
        self.settle()
        return group

    def leave(self, group: int) -> None:
        """Nobody asks for a group any more."""
        self._run(END_GROUP, group)
        terminals, first = self.paths.groups[group, [TERMINALS, FIRST_PAIR]].tolist()
        pairs = terminals * (terminals - 1) // 2
        for ball in self.paths.pairs[first : first + pairs, [LEFT, RIGHT]].ravel().tolist():
            self._users[ball] -= 1
            if not self._users[ball]:
                self._run(END_BALL, ball)
                centre, way = self.paths.balls[ball, [CENTRE, WAY]].tolist()
                del self._balls[centre, way]
                self._free_balls.give(ball, 1)
        self._free_pairs.give(first, pairs)
        self._free_groups.give(group, 1)

    def _ball(self, centre: int, way: int) -> int:
        if (centre, way) not in self._balls:
            ball = self._balls[centre, way] = self._free_balls.take(1)
            self.paths.cover_numbers(ball=ball + 1)
            self.paths.balls[ball] = 0
            self.paths.balls[ball, [CENTRE, WAY]] = centre, way
            self.paths.radii[ball] = 0.0
            self._run(BEGIN_BALL, ball)
        self._users[self._balls[centre, way]] += 1
        return self._balls[centre, way]

    def set_bound(self, group: int, points: Points) -> None:
        """Values need only be distinguished below the last point."""
        self.paths.bounds[group] = math.inf if points is None else max(points, default=-math.inf)

    def value(self, group: int) -> float:
        """What a group is worth; changes are reported from this value on."""
        value = self._worth(group)
        self.settle()
        return value

    def _worth(self, group: int) -> float:
        self._run(WORTH, group)
        return self.paths.value

    def settle(self) -> None:
        """Brings groups up to date that are queued, in silence."""
        self._run(SETTLE)

    # --- changes ------------------------------------------------------------------------------------------------

    def follow(self, log: Log, asked: ThresholdLists, alerted: Callable[[int, int], None] = _ignore) -> Reported:
        """Takes changes over, and reports what passed a threshold, in order of step and instance. Alerts (step, group)
        come while the graph is as it was at the end of that step."""
        log = fixed_log(log)
        self._expect(log)
        self._report.begin()
        self._run(FOLLOW, log=log, asked=asked, alerted=alerted)
        found = self._report.reported()
        order = np.lexsort((found.instance, found.step))
        return Reported(found.step[order], found.instance[order], found.value[order])

    def restore(self, log: Log) -> None:
        """Takes over edges, and makes all balls anew."""
        log = fixed_log(log)
        self._expect(log)
        self.graph.load(log.subject, log.predicate, log.object, log.weight if self.paths.is_weighted else None)
        for ends in (log.subject, log.object):
            np.add.at(self.paths.touching, ends, 1)
        self._run(FORGET_BALLS)
        self._mend()
        self.settle()

    # --- paths and trees ----------------------------------------------------------------------------------------

    def tree(self, group: int) -> list[Edge] | None:
        """The paths between terminals that a group's value is the weight of, as edges; None if there are none.

        Groups that this queues are left to the caller.
        """
        if self._worth(group) == math.inf:
            return None
        count, first = self.paths.groups[group, [TERMINALS, FIRST_PAIR]].tolist()
        pairs = first + self.paths.tree[1:count, BY]
        ends = self.paths.balls[self.paths.pairs[pairs][:, [LEFT, RIGHT]], CENTRE].tolist()
        return [edge for start, end in ends for edge in self.path(start, end) or ()]

    def path(self, start: int, end: int) -> list[Edge] | None:
        """The shortest path that is shown, from its start; None if there is none."""
        self.cover(1 + max(start, end))
        path: list[Edge] = []
        try:
            self._run(BEGIN_TRACE, start, end)
            if self.paths.value == math.inf:
                return None
            while end != start:
                path.append(self._last_edge(end))
                end = _other_end(path[-1], end)
        finally:
            self._run(END_TRACE)
        return path[::-1]

    def _last_edge(self, vertex: int) -> Edge:
        """The edge by which the path that is shown comes to a vertex on it."""
        self._run(STEP_BACK, vertex)
        numbers = self.paths.traced[: self.paths.traced_wanted]
        tied = [tuple(row) for row in self.graph.arrays.edges[numbers][:, [SUBJECT, PREDICATE, OBJECT]].tolist()]
        order = self.order
        return min(tied, key=lambda edge: (order(_other_end(edge, vertex)), order(edge[1]), order(edge[0])))

    def weight(self, edge: Edge) -> float:
        """The weight of an edge that is there."""
        weights = self.graph.arrays.weights
        weight = float(weights[self.graph.find(*edge)]) if len(weights) else math.nan
        return 1.0 if math.isnan(weight) else weight


def _other_end(edge: Edge, vertex: int) -> int:
    return edge[0] if edge[2] == vertex else edge[2]
