"""Shortest paths between terminals, kept as edges come and go: balls around terminals that meet, for distances and
Steiner trees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int32, int64

from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.types import array_at, named
from heliograph.watch.graph_kernels import (
    GRAPH,
    INT32_ROWS,
    NEW_FLOATS,
    NEW_INT32S,
    NEW_INT64S,
    drop,
    edge_at,
    find_edge,
    first_run,
    has_room,
    neighbour,
    next_run,
    put,
    run_length,
)
from heliograph.watch.layout import IN, KEY, OUT, Floats, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import CHANGED, INSTANCE, STEP, WENT, Asked
from heliograph.watch.metrics.simple_graph_kernels import ASKED, LOG, is_told

# ----------------------------------------------------------------------------------------------------------------------
# The arrays of shortest paths between terminals that kernels and their callers share. Does not import Numba.
#
# Around a terminal lies a *ball*: every vertex that can be reached by expanding those no farther than its radius,
# each with the cost of the shortest path so found. A cost is (sum of weights, number of edges), compared in that
# order, so every edge costs something even where weights are 0. Where hops are counted all sums are 0.
#
# The law: let two balls, one along the edges from a and one against them from b, have radii r and s. In hops, a
# distance of at most r + s + 2 is the least sum of the two costs of a vertex that lies in both; with weights, one of
# at most r + s. So neither ball need be larger than half of what somebody asks for. A ball with nothing left to
# expand is *complete*: then that least sum is the distance whatever the radii are, infinite if no vertex lies in
# both.
#
# A *group* is what somebody asks for: terminals, with a *pair* of balls for each two of them. Its value is the weight
# of a minimum spanning tree over the pairs' distances; for two terminals, their distance.
# ----------------------------------------------------------------------------------------------------------------------

# of entries: a vertex in a ball. TIGHT: edges by which its cost is reached; PLACE: 1 + its place in the heap.
VERTEX, BALL, HOPS, TIGHT, PLACE, NEXT, BEFORE, NEXT_MEMBER, BEFORE_MEMBER = range(9)
ENTRY_COLUMNS = 9
LOST = -1  # PLACE of an entry whose cost is no longer reached

# of balls. WAY: whether it follows edges (OUT) or goes against them (IN); OPEN: members beyond the radius.
CENTRE, WAY, FIRST_MEMBER, MEMBERS, OPEN, BROKEN, FIRST_LINK, NEXT_BALL, ALERTS = range(9)
BALL_COLUMNS = 9

# of pairs. LINKS: the next pair of the left ball, and of the right one, as 1 + 2 * pair + side. TIES: vertices at which
# the least sum is reached; STALE: it has to be looked for again; CHOSEN: it stands in the group's tree.
LEFT, RIGHT, LINKS, LINKS_RIGHT, TIES, STALE, CHOSEN, MEET_HOPS, GROUP = range(9)
PAIR_COLUMNS = 9

# of groups. ALERT: its owner wants to hear of every change in the shortest paths of its tree.
TERMINALS, FIRST_PAIR, QUEUED, ALERT = range(4)
GROUP_COLUMNS = 4

HIGH, LOW = range(2)  # of sums: a number of twice the precision, so that sums do not depend on their order
NOWHERE = 2**31 - 1  # hops to what is not reached

# of counters
ENTRIES, FREE_ENTRY, LIVE, HEAPED, QUEUE_FIRST, GROUPS_QUEUED, BALLS_BROKEN, UNDIRECTED = range(8)
ROW, SAID, EVENTS, SETTLED = range(8, 12)  # how far a run is; costs that changed and groups settled: the work done
COUNTERS = 12

# of limits
HORIZON, VALUE = range(2)  # up to where entries are expanded; what the last group that was settled is worth
LIMITS = 2

# what a run stopped for
DONE, LACKS_EDGES, LACKS_ENTRIES, LACKS_SAID, ALERTED = range(5)


class Reach(NamedTuple):
    """Arrays with room to grow; kernels take their addresses (see metric_paths_world).

    Where hops are counted, `sums` and `meets` have no rows.
    """

    slots: Int32s  # open addressing over (vertex, ball), of a power of two: 1 + the entry; 0 is free
    entries: Int32s  # rows
    sums: Floats  # rows, by entry
    heap: Int32s  # entries by cost; as many as there may be entries
    stack: Int32s  # entries whose cost is lost; likewise
    first: Int32s  # by vertex: 1 + its first entry
    touching: Int32s  # by vertex: edges that touch it
    centred: Int32s  # by vertex: 1 + the first ball around it
    balls: Int32s  # rows
    radii: Floats  # by ball
    pairs: Int32s  # rows
    meets: Floats  # rows, by pair: the least sum
    groups: Int32s  # rows
    bounds: Floats  # by group: values from here on need not be told apart
    told: Floats  # by group: the value that was last told, or that it had when it was watched
    queue: Int32s  # a ring: groups whose value may have changed
    limits: Floats
    counters: Int64s


class Scratch(NamedTuple):
    """What a search for one path needs, two sides with their costs, clean before and after; and a spanning tree."""

    hops: Int32s  # rows by vertex, a column for each side; NOWHERE: not reached
    totals: Floats  # rows by vertex: HIGH and LOW of one side, then of the other
    places: Int32s  # rows by vertex, a column for each side: 1 + its place in the heap; MARKED
    heaps: Int32s  # rows by place, a column for each side
    seen: Int32s  # likewise: vertices that were reached
    sizes: Int64s  # of both heaps, then of both columns of `seen`
    tree: Int32s  # rows by terminal
    notes: Floats  # rows by pair of one group: what it costs


MARKED = -1  # on a shortest path
SEEN = 2  # the first of two sizes
SCRATCH_SIZES = 4
JOINED, BY = range(2)  # of a tree: whether a terminal has joined it, and by which pair it does or would
KNOWN = 3  # of notes, behind HIGH, LOW and the hops: whether it is the cost, or only less
NOTE_COLUMNS = 4


class Telling(NamedTuple):
    """Who is to be told, and what was said: rows (see metric_layout) with their values, SAID of them so far."""

    asked: Asked
    rows: Int32s
    values: Floats


# ----------------------------------------------------------------------------------------------------------------------
# Arrays for shortest paths between terminals: empty ones and larger ones. Does not import Numba.
#
# The law: numbers of entries, balls, pairs and groups outlive every growth. Arrays double, so what is copied again
# and again costs no more than what stands in them.
# ----------------------------------------------------------------------------------------------------------------------

_LEAST = 16  # rows of a new array; a power of two
_SLOTS = 2  # of the open addressing, for each entry there may be
_ENTRIES = ("entries", "sums", "heap", "stack")
_BY_VERTEX = ("first", "touching", "centred")


def empty_reach(*, undirected: bool) -> Reach:
    """No balls yet, and hops are counted."""
    counters, rows = np.zeros(COUNTERS, np.int64), first_room(_LEAST)
    counters[UNDIRECTED] = undirected
    return Reach(
        slots=np.zeros(rows * _SLOTS, np.int32),
        entries=np.zeros((rows, ENTRY_COLUMNS), np.int32),
        sums=np.zeros((0, 2)),
        heap=np.zeros(rows, np.int32),
        stack=np.zeros(rows, np.int32),
        first=np.zeros(0, np.int32),
        touching=np.zeros(0, np.int32),
        centred=np.zeros(0, np.int32),
        balls=np.zeros((rows, BALL_COLUMNS), np.int32),
        radii=np.zeros(rows),
        pairs=np.zeros((rows, PAIR_COLUMNS), np.int32),
        meets=np.zeros((0, 2)),
        groups=np.zeros((rows, GROUP_COLUMNS), np.int32),
        bounds=np.zeros(rows),
        told=np.zeros(rows),
        queue=np.zeros(rows, np.int32),
        limits=np.zeros(LIMITS),
        counters=counters,
    )


def weighted(reach: Reach) -> Reach:
    """The same where costs have sums of weights, all of which were 1 so far."""
    sums, meets = (np.zeros((len(rows), 2)) for rows in (reach.entries, reach.pairs))
    sums[:, HIGH] = reach.entries[:, HOPS]
    hops = reach.pairs[:, MEET_HOPS]
    meets[:, HIGH] = np.where(hops == NOWHERE, np.inf, hops)
    return reach._replace(sums=sums, meets=meets)


def empty_scratch(vertices: int, terminals: int, *, weighted: bool) -> Scratch:
    """Room for a search among so many vertices, and for the tree of so many terminals."""
    totals = np.zeros((vertices if weighted else 0, 4))
    totals[:, ::2] = np.inf
    return Scratch(
        hops=np.full((vertices, 2), NOWHERE, np.int32),
        totals=totals,
        places=np.zeros((vertices, 2), np.int32),
        heaps=np.zeros((vertices, 2), np.int32),
        seen=np.zeros((vertices, 2), np.int32),
        sizes=np.zeros(SCRATCH_SIZES, np.int64),
        tree=np.zeros((terminals, 2), np.int32),
        notes=np.zeros((terminals * (terminals - 1) // 2, NOTE_COLUMNS)),
    )


def addresses(arrays: Reach | Scratch) -> Int64s:
    """The addresses and lengths of arrays, which the caller keeps while a kernel works on them."""
    return np.array([number for array in arrays for number in (array.ctypes.data, len(array))], np.int64)


def covering(reach: Reach, vertices: int) -> Reach:
    """The same with room for so many vertices."""
    rows = max(vertices, first_room(2 * len(reach.first)))
    return reach if vertices <= len(reach.first) else _resized(reach, _BY_VERTEX, rows)


def with_entries(reach: Reach) -> Reach:
    """The same with room for twice as many members of balls. Imports Numba."""

    reach = _resized(reach, _ENTRIES, 2 * len(reach.entries))
    slots = np.zeros(_SLOTS * len(reach.entries), np.int32)
    rehash_entries(addresses(reach), slots)
    return reach._replace(slots=slots)


def with_balls(reach: Reach, balls: int) -> Reach:
    return reach if balls <= len(reach.balls) else _resized(reach, ("balls", "radii"), first_room(2 * balls, balls))


def with_pairs(reach: Reach, pairs: int) -> Reach:
    return reach if pairs <= len(reach.pairs) else _resized(reach, ("pairs", "meets"), first_room(2 * pairs, pairs))


def with_groups(reach: Reach, groups: int) -> Reach:
    """The same with room for so many groups. Nothing stands in the queue."""
    if groups <= len(reach.groups):
        return reach
    return _resized(reach, ("groups", "bounds", "told", "queue"), first_room(2 * groups, groups))


def _resized(reach: Reach, names: tuple[str, ...], rows: int) -> Reach:
    return reach._replace(**{name: _enlarged(getattr(reach, name), rows) for name in names})


def _enlarged(array: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """The same rows and then zeros; an array without columns of interest, of hops, stays empty."""
    if array.ndim == 2 and array.dtype == np.float64 and not len(array):
        return array
    larger = np.zeros((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger


# ----------------------------------------------------------------------------------------------------------------------
# The arrays of shortest paths between terminals as kernels take them: two tables of addresses, `reach` and `scratch`.
#
# What is taken from them by name is an array again, at the cost of loading its address. Handed over as tuples, these
# 26 arrays took 51 seconds to compile instead of 40, and runs about a tenth longer (see decision 17). A test compares
# types and columns with the arrays.
# ----------------------------------------------------------------------------------------------------------------------

REACH = SCRATCH = NEW_INT64S
TELLING: Any = named(Telling, ASKED, INT32_ROWS, NEW_FLOATS)


TYPES: dict[str, tuple[Any, int]] = {}  # of each array: its numbers, and how many are in a row; 0: no rows


def _reach(name: str, dtype: Any, columns: int = 0) -> Any:
    TYPES[name] = dtype, columns
    return array_at(2 * Reach._fields.index(name), dtype, columns)


def _scratch(name: str, dtype: Any, columns: int = 0) -> Any:
    TYPES[name] = dtype, columns
    return array_at(2 * Scratch._fields.index(name), dtype, columns)


slots_of = _reach("slots", int32)
entries_of = _reach("entries", int32, ENTRY_COLUMNS)
sums_of = _reach("sums", float64, 2)
heap_of = _reach("heap", int32)
stack_of = _reach("stack", int32)
first_of = _reach("first", int32)
touching_of = _reach("touching", int32)
centred_of = _reach("centred", int32)
balls_of = _reach("balls", int32, BALL_COLUMNS)
radii_of = _reach("radii", float64)
pairs_of = _reach("pairs", int32, PAIR_COLUMNS)
meets_of = _reach("meets", float64, 2)
groups_of = _reach("groups", int32, GROUP_COLUMNS)
bounds_of = _reach("bounds", float64)
told_of = _reach("told", float64)
queue_of = _reach("queue", int32)
limits_of = _reach("limits", float64)
counters_of = _reach("counters", int64)

hops_of = _scratch("hops", int32, 2)
totals_of = _scratch("totals", float64, 4)
places_of = _scratch("places", int32, 2)
heaps_of = _scratch("heaps", int32, 2)
seen_of = _scratch("seen", int32, 2)
sizes_of = _scratch("sizes", int64)
tree_of = _scratch("tree", int32, 2)
notes_of = _scratch("notes", float64, NOTE_COLUMNS)


# ----------------------------------------------------------------------------------------------------------------------
# Costs of paths: sums of weights in twice the precision of a float, then the number of edges.
#
# The law: as long as the sums in play span less than 100 bits, from the last bit of the smallest weight to the first
# of the largest sum, no addition rounds. So equal costs are equal however they were added up, the value of a distance
# is its exact sum rounded once, and which paths are the shortest does not depend on the order of updates.
#
# Source: the addition of unevaluated pairs of floats is that of Dekker (1971) in Knuth's form.
# ----------------------------------------------------------------------------------------------------------------------


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
def is_weighted(reach: Any) -> Any:
    return len(sums_of(reach)) > 0


@kernel(inline=True)
def cost_of(reach: Any, entry: Any) -> Any:
    hops = np.int64(entries_of(reach)[entry, HOPS])
    if is_weighted(reach):
        return sums_of(reach)[entry, HIGH], sums_of(reach)[entry, LOW], hops
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
def extent(reach: Any, cost: Any) -> Any:
    """A cost as a distance."""
    return cost[0] if is_weighted(reach) else np.float64(cost[2])


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


# ----------------------------------------------------------------------------------------------------------------------
# The vertices of balls: one table for all, with the members of each ball and the entries of each vertex in lists.
#
# An update looks up the entries of the vertex its edge leaves: whoever has none there is not concerned, and costs
# nothing. The law of the open addressing: an entry stands at its home or after it with no free place between.
# ----------------------------------------------------------------------------------------------------------------------

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_32 = np.uint64(32)


@kernel(inline=True)
def _home(vertex: Any, ball: Any, size: Any) -> Any:
    mixed = ((np.uint64(vertex) << _32) | np.uint64(ball)) * _ODD
    return np.int64(((mixed ^ (mixed >> _32)) * _ODD) >> _32) & (size - 1)


@kernel()
def find_entry(reach: Any, vertex: Any, ball: Any) -> Any:
    """The entry of a vertex in a ball, or -1."""
    slots, entries = slots_of(reach), entries_of(reach)
    place = _home(vertex, ball, len(slots))
    while slots[place] != 0:
        entry = np.int64(slots[place]) - 1
        if entries[entry, VERTEX] == vertex and entries[entry, BALL] == ball:
            return entry
        place = (place + 1) & (len(slots) - 1)
    return np.int64(-1)


@kernel(inline=True)
def has_entry_room(reach: Any) -> Any:
    return counters_of(reach)[FREE_ENTRY] != 0 or counters_of(reach)[ENTRIES] < len(entries_of(reach))


@kernel()
def add_entry(reach: Any, vertex: Any, ball: Any) -> Any:
    """A new entry, without a cost. Needs room."""
    entry = _number(reach)
    entries_of(reach)[entry, VERTEX], entries_of(reach)[entry, BALL] = vertex, ball
    entries_of(reach)[entry, TIGHT] = entries_of(reach)[entry, PLACE] = 0
    _enter(slots_of(reach), vertex, ball, entry)
    _link(reach, entry, vertex, ball)
    counters_of(reach)[LIVE] += 1
    return entry


@kernel()
def _number(reach: Any) -> Any:
    entry = counters_of(reach)[FREE_ENTRY] - 1
    if entry >= 0:
        counters_of(reach)[FREE_ENTRY] = entries_of(reach)[entry, NEXT]
        return entry
    entry = counters_of(reach)[ENTRIES]
    counters_of(reach)[ENTRIES] = entry + 1
    return entry


@kernel()
def _enter(slots: Any, vertex: Any, ball: Any, entry: Any) -> None:
    place = _home(vertex, ball, len(slots))
    while slots[place] != 0:
        place = (place + 1) & (len(slots) - 1)
    slots[place] = entry + 1


@kernel()
def _link(reach: Any, entry: Any, vertex: Any, ball: Any) -> None:
    entries, balls = entries_of(reach), balls_of(reach)
    following = first_of(reach)[vertex]
    entries[entry, NEXT], entries[entry, BEFORE] = following, 0
    if following:
        entries[following - 1, BEFORE] = entry + 1
    first_of(reach)[vertex] = entry + 1
    following = balls[ball, FIRST_MEMBER]
    entries[entry, NEXT_MEMBER], entries[entry, BEFORE_MEMBER] = following, 0
    if following:
        entries[following - 1, BEFORE_MEMBER] = entry + 1
    balls[ball, FIRST_MEMBER] = entry + 1
    balls[ball, MEMBERS] += 1


@kernel()
def drop_entry(reach: Any, entry: Any) -> None:
    """Takes an entry out of the table and of both lists."""
    entries = entries_of(reach)
    _vacate(reach, entry)
    _unlink(reach, entry)
    entries[entry, VERTEX] = -1
    entries[entry, NEXT] = counters_of(reach)[FREE_ENTRY]
    counters_of(reach)[FREE_ENTRY] = entry + 1
    counters_of(reach)[LIVE] -= 1


@kernel()
def _unlink(reach: Any, entry: Any) -> None:
    entries, balls = entries_of(reach), balls_of(reach)
    following, before = entries[entry, NEXT], entries[entry, BEFORE]
    if following:
        entries[following - 1, BEFORE] = before
    if before:
        entries[before - 1, NEXT] = following
    else:
        first_of(reach)[entries[entry, VERTEX]] = following
    following, before = entries[entry, NEXT_MEMBER], entries[entry, BEFORE_MEMBER]
    ball = entries[entry, BALL]
    if following:
        entries[following - 1, BEFORE_MEMBER] = before
    if before:
        entries[before - 1, NEXT_MEMBER] = following
    else:
        balls[ball, FIRST_MEMBER] = following
    balls[ball, MEMBERS] -= 1


@kernel()
def _vacate(reach: Any, entry: Any) -> None:
    """Backward-shift deletion: what stands behind the hole moves up if its home allows."""
    slots, entries, mask = slots_of(reach), entries_of(reach), len(slots_of(reach)) - 1
    hole = _home(entries[entry, VERTEX], entries[entry, BALL], len(slots))
    while slots[hole] != entry + 1:
        hole = (hole + 1) & mask
    place = hole
    while True:
        place = (place + 1) & mask
        if slots[place] == 0:
            break
        other = np.int64(slots[place]) - 1
        wanted = _home(entries[other, VERTEX], entries[other, BALL], len(slots))
        if (place - wanted) & mask >= (place - hole) & mask:
            slots[hole] = slots[place]
            hole = place
    slots[hole] = 0


@kernel((REACH, NEW_INT32S))
def rehash_entries(reach: Any, slots: Any) -> None:
    """Enters all entries into an empty table of another size."""
    for entry in range(counters_of(reach)[ENTRIES]):
        if entries_of(reach)[entry, VERTEX] >= 0:
            _enter(slots, entries_of(reach)[entry, VERTEX], entries_of(reach)[entry, BALL], entry)


# ----------------------------------------------------------------------------------------------------------------------
# The entries of one ball in order of cost: a binary heap that knows where each stands, so that costs may fall.
# ----------------------------------------------------------------------------------------------------------------------


@kernel()
def push(reach: Any, entry: Any) -> None:
    """Puts an entry into the heap, or nearer to its top after its cost was lowered."""
    place = np.int64(entries_of(reach)[entry, PLACE]) - 1
    if place < 0:
        place = counters_of(reach)[HEAPED]
        counters_of(reach)[HEAPED] = place + 1
    _rise(reach, entry, place)


@kernel()
def _rise(reach: Any, entry: Any, place: Any) -> None:
    cost = cost_of(reach, entry)
    while place > 0:
        above = (place - 1) >> 1
        other = np.int64(heap_of(reach)[above])
        if compare(cost_of(reach, other), cost) <= 0:
            break
        _stand(reach, other, place)
        place = above
    _stand(reach, entry, place)


@kernel(inline=True)
def _stand(reach: Any, entry: Any, place: Any) -> None:
    heap_of(reach)[place] = entry
    entries_of(reach)[entry, PLACE] = place + 1


@kernel()
def pop(reach: Any) -> Any:
    """Takes the entry of the least cost out of a heap that has one."""
    top = np.int64(heap_of(reach)[0])
    entries_of(reach)[top, PLACE] = 0
    size = counters_of(reach)[HEAPED] - 1
    counters_of(reach)[HEAPED] = size
    if size:
        _sink(reach, np.int64(heap_of(reach)[size]), size)
    return top


@kernel()
def _sink(reach: Any, entry: Any, size: Any) -> None:
    """Finds the place of an entry that is to stand at the top or below."""
    cost, place = cost_of(reach, entry), np.int64(0)
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        other = np.int64(heap_of(reach)[below])
        if below + 1 < size and compare(cost_of(reach, np.int64(heap_of(reach)[below + 1])), cost_of(reach, other)) < 0:
            below += 1
            other = np.int64(heap_of(reach)[below])
        if compare(cost, cost_of(reach, other)) <= 0:
            break
        _stand(reach, other, place)
        place = below
    _stand(reach, entry, place)


@kernel()
def clear_heap(reach: Any) -> None:
    for place in range(counters_of(reach)[HEAPED]):
        entries_of(reach)[heap_of(reach)[place], PLACE] = 0
    counters_of(reach)[HEAPED] = 0


# ----------------------------------------------------------------------------------------------------------------------
# Where two balls meet: the least sum of both costs over the vertices in both, and at how many it is reached.
#
# A vertex that is gained, or whose cost falls, can only lower the sum or add a tie. One that is lost takes a tie
# away; when none is left the pair is *stale*: nobody knows the next sum until both balls are compared again, which
# waits until somebody needs it.
#
# The law of alerts: an update changes the shortest paths of a pair only if it changes, in one of the two balls, the
# cost of some vertex or the edges by which that cost is reached, and a path through that vertex may be as short as
# the pair's distance. A vertex that is not in the other ball is farther from its centre than its radius.
# ----------------------------------------------------------------------------------------------------------------------


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


# ----------------------------------------------------------------------------------------------------------------------
# Balls as edges come and go.
#
# The laws: a member is expanded exactly if it is no farther than the radius; its cost is the least of those that
# expanded members offer it by an edge, and TIGHT counts the edges that offer just that. Every edge costs something,
# so a cost never rests on itself: when TIGHT falls to 0 the cost is lost, and so are those that rested on it alone.
# Whoever lost theirs take the best that the others offer, the nearest first. All that is touched is what changes, and
# its edges.
#
# Source: Ramalingam and Reps, "On the computational complexity of dynamic graph problems" (1996), cut off at a
# radius.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# Balls as edges go: whose cost rested on an edge, and what the others offer instead. See metric_paths_balls.
# ----------------------------------------------------------------------------------------------------------------------


@kernel()
def unreach_head(graph: Any, reach: Any, entry: Any, head: Any, weight: Any) -> None:
    """An edge has gone that led from an expanded member to a vertex."""
    other = find_entry(reach, head, np.int64(entries_of(reach)[entry, BALL]))
    if other < 0 or compare(step_cost(cost_of(reach, entry), weight), cost_of(reach, other)) != 0:
        return
    count = _loosen(reach, other, np.int64(0))
    if count:
        count = _find_lost(graph, reach, count)
        _offer_all(graph, reach, count)
        _settle(graph, reach)
        _drop_lost(reach, count)


@kernel()
def _loosen(reach: Any, entry: Any, count: Any) -> Any:
    """One edge less offers an entry its cost; how many entries on the stack have lost theirs."""
    entries_of(reach)[entry, TIGHT] -= 1
    ball = np.int64(entries_of(reach)[entry, BALL])
    if entries_of(reach)[entry, TIGHT]:
        if balls_of(reach)[ball, ALERTS]:
            alert(reach, entry)
        return count
    lose(reach, entry)
    balls_of(reach)[ball, OPEN] -= is_open(reach, ball, cost_of(reach, entry))
    entries_of(reach)[entry, PLACE] = LOST
    stack_of(reach)[count] = entry
    return count + 1


@kernel()
def _find_lost(graph: Any, reach: Any, count: Any) -> Any:
    """Follows lost costs to those that rested on them; how many lost theirs in all."""
    at = 0
    while at < count:
        entry = np.int64(stack_of(reach)[at])
        at += 1
        if not is_open(reach, np.int64(entries_of(reach)[entry, BALL]), cost_of(reach, entry)):
            count = _loosen_heads(graph, reach, entry, count)
    return count


@kernel()
def _loosen_heads(graph: Any, reach: Any, entry: Any, count: Any) -> Any:
    ball, weighted = np.int64(entries_of(reach)[entry, BALL]), is_weighted(reach)
    way, run = balls_of(reach)[ball, WAY], first_run(graph, entries_of(reach)[entry, VERTEX])
    while run >= 0:
        if leads(reach, graph, run, way):
            for i in range(run_length(graph, run)):
                other = find_entry(reach, neighbour(graph, run, i), ball)
                if other >= 0 and entries_of(reach)[other, PLACE] != LOST:
                    offered = step_cost(cost_of(reach, entry), weight_at(weighted, graph, run, i))
                    if compare(offered, cost_of(reach, other)) == 0:
                        count = _loosen(reach, other, count)
        run = next_run(graph, run)
    return count


# --- what the others offer --------------------------------------------------------------------------------------


@kernel()
def _offer_all(graph: Any, reach: Any, count: Any) -> None:
    """Offers each that lost its cost what those offer that have theirs.

    In hops, a new cost is larger than the one that was lost; beyond the outermost there is none.
    """
    for at in range(count):
        entry = np.int64(stack_of(reach)[at])
        ball = np.int64(entries_of(reach)[entry, BALL])
        if is_weighted(reach) or not is_open(reach, ball, cost_of(reach, entry)):
            _collect(graph, reach, entry)
    for at in range(count):
        entry = np.int64(stack_of(reach)[at])
        if entries_of(reach)[entry, TIGHT]:
            push(reach, entry)


@kernel()
def _collect(graph: Any, reach: Any, entry: Any) -> None:
    """Sets the best cost that members which have theirs offer, if there is any."""
    ball, weighted = np.int64(entries_of(reach)[entry, BALL]), is_weighted(reach)
    way, run = balls_of(reach)[ball, WAY], first_run(graph, entries_of(reach)[entry, VERTEX])
    while run >= 0:
        if leads(reach, graph, run, 1 - way):
            for i in range(run_length(graph, run)):
                other = find_entry(reach, neighbour(graph, run, i), ball)
                if other >= 0 and entries_of(reach)[other, PLACE] != LOST:
                    cost = cost_of(reach, other)
                    if not is_open(reach, ball, cost):
                        _take(reach, entry, step_cost(cost, weight_at(weighted, graph, run, i)))
        run = next_run(graph, run)


@kernel()
def _take(reach: Any, entry: Any, cost: Any) -> Any:
    """One of those that lost their cost is offered another; whether it is the best so far."""
    if cost[0] == np.inf:
        return False
    order = compare(cost, cost_of(reach, entry)) if entries_of(reach)[entry, TIGHT] else -1
    if order < 0:
        set_cost(reach, entry, cost)
        return True
    if order == 0:
        entries_of(reach)[entry, TIGHT] += 1
    return False


@kernel()
def _settle(graph: Any, reach: Any) -> None:
    """The nearest of those that were offered a cost has it for good, and offers others theirs."""
    while counters_of(reach)[HEAPED]:
        entry = pop(reach)
        ball, cost = np.int64(entries_of(reach)[entry, BALL]), cost_of(reach, entry)
        gain(reach, entry)
        if is_open(reach, ball, cost):
            balls_of(reach)[ball, OPEN] += 1
        else:
            _offer_heads(graph, reach, entry)


@kernel()
def _offer_heads(graph: Any, reach: Any, entry: Any) -> None:
    ball, weighted = np.int64(entries_of(reach)[entry, BALL]), is_weighted(reach)
    way, run = balls_of(reach)[ball, WAY], first_run(graph, entries_of(reach)[entry, VERTEX])
    while run >= 0:
        if leads(reach, graph, run, way):
            for i in range(run_length(graph, run)):
                other = find_entry(reach, neighbour(graph, run, i), ball)
                if other >= 0 and entries_of(reach)[other, PLACE] != 0:
                    cost = step_cost(cost_of(reach, entry), weight_at(weighted, graph, run, i))
                    if _take(reach, other, cost):
                        push(reach, other)
        run = next_run(graph, run)


@kernel()
def _drop_lost(reach: Any, count: Any) -> None:
    """Whoever was offered nothing leaves the ball."""
    for at in range(count):
        entry = np.int64(stack_of(reach)[at])
        if entries_of(reach)[entry, PLACE] == LOST:
            drop_entry(reach, entry)


# ----------------------------------------------------------------------------------------------------------------------
# How long a shortest path is, found from both ends.
#
# Both sides settle vertices in order of cost. The law: when the least costs not yet settled sum up to no less than
# the best path found, that is the shortest; and every shortest path then has a vertex with a right cost on both
# sides. Of paths that weigh the same those with fewer edges are shorter.
# ----------------------------------------------------------------------------------------------------------------------


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
    _metric_paths_search_offer(scratch, 0, start, (0.0, 0.0, np.int64(0)))
    _metric_paths_search_offer(scratch, 1, end, (0.0, 0.0, np.int64(0)))
    while sizes_of(scratch)[0] and sizes_of(scratch)[1]:
        tops = np.int64(heaps_of(scratch)[0, 0]), np.int64(heaps_of(scratch)[0, 1])
        if compare(both_costs(side_cost(scratch, 0, tops[0]), side_cost(scratch, 1, tops[1])), best) >= 0:
            break
        side = 0 if sizes_of(scratch)[0] <= sizes_of(scratch)[1] else 1
        best = _metric_paths_search_settle(graph, reach, scratch, side, best)
    return best


@kernel()
def _metric_paths_search_settle(graph: Any, reach: Any, scratch: Any, side: Any, best: Any) -> Any:
    """Settles the nearest vertex of a side; the cost of the best path so far."""
    vertex = _pop(scratch, side)
    cost, weighted = side_cost(scratch, side, vertex), is_weighted(reach)
    run = first_run(graph, vertex)
    while run >= 0:
        if leads(reach, graph, run, side):
            for i in range(run_length(graph, run)):
                head, offered = neighbour(graph, run, i), step_cost(cost, weight_at(weighted, graph, run, i))
                if offered[0] < np.inf and compare(offered, side_cost(scratch, side, head)) < 0:
                    _metric_paths_search_offer(scratch, side, head, offered)
                    if hops_of(scratch)[head, 1 - side] != NOWHERE:
                        whole = both_costs(offered, side_cost(scratch, 1 - side, head))
                        best = whole if compare(whole, best) < 0 else best
        run = next_run(graph, run)
    return best


@kernel()
def _metric_paths_search_offer(scratch: Any, side: Any, vertex: Any, cost: Any) -> None:
    """A vertex has a lower cost than before."""
    if hops_of(scratch)[vertex, side] == NOWHERE:
        seen_of(scratch)[sizes_of(scratch)[SEEN + side], side] = vertex
        sizes_of(scratch)[SEEN + side] += 1
    set_side_cost(scratch, side, vertex, cost)
    place = np.int64(places_of(scratch)[vertex, side]) - 1
    if place < 0:
        place = sizes_of(scratch)[side]
        sizes_of(scratch)[side] = place + 1
    _metric_paths_search_rise(scratch, side, vertex, place)


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
def _metric_paths_search_rise(scratch: Any, side: Any, vertex: Any, place: Any) -> None:
    cost = side_cost(scratch, side, vertex)
    while place > 0:
        above = (place - 1) >> 1
        other = np.int64(heaps_of(scratch)[above, side])
        if compare(side_cost(scratch, side, other), cost) <= 0:
            break
        _metric_paths_search_stand(scratch, side, other, place)
        place = above
    _metric_paths_search_stand(scratch, side, vertex, place)


@kernel(inline=True)
def _metric_paths_search_stand(scratch: Any, side: Any, vertex: Any, place: Any) -> None:
    heaps_of(scratch)[place, side] = vertex
    places_of(scratch)[vertex, side] = place + 1


@kernel()
def _pop(scratch: Any, side: Any) -> Any:
    top = np.int64(heaps_of(scratch)[0, side])
    places_of(scratch)[top, side] = 0
    size = sizes_of(scratch)[side] - 1
    sizes_of(scratch)[side] = size
    if size:
        _metric_paths_search_sink(scratch, side, np.int64(heaps_of(scratch)[size, side]), size)
    return top


@kernel()
def _metric_paths_search_sink(scratch: Any, side: Any, vertex: Any, size: Any) -> None:
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
        _metric_paths_search_stand(scratch, side, other, place)
        place = below
    _metric_paths_search_stand(scratch, side, vertex, place)


# ----------------------------------------------------------------------------------------------------------------------
# All shortest paths between two vertices, step by step from their end.
#
# Which is shown is told in watch.metrics.distance. The caller begins, asks by which edges the paths come to one
# vertex after the other, and ends.
# ----------------------------------------------------------------------------------------------------------------------


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
                        _metric_paths_trace_reach(scratch, head, step_cost(side_cost(scratch, 0, vertex), weight))
                        heaps_of(scratch)[count, 0] = head
                        count += 1
        run = next_run(graph, run)
    return count


@kernel()
def _metric_paths_trace_reach(scratch: Any, vertex: Any, cost: Any) -> None:
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


# ----------------------------------------------------------------------------------------------------------------------
# What a group of terminals is worth: the weight of a minimum spanning tree over its pairs' distances.
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
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# A log of changes, step by step: the graph changes, balls follow, and each step ends with what groups are worth.
#
# Every change leaves all balls right. Where there is no room for an edge, the run returns before the change; where a
# ball lacks room it is broken, and made anew as soon as there is more. So a run goes on from where it stopped, and
# borders of batches are nothing but places to stop.
# ----------------------------------------------------------------------------------------------------------------------

# --- one change -------------------------------------------------------------------------------------------------


@kernel()
def _pass_on(graph: Any, reach: Any, ends: Any, weight: Any, came: Any) -> None:
    """Tells the balls that hold an edge's tail, expanded, that it came or went. `ends`: tail, head, direction."""
    tail, head, way = ends
    entry = np.int64(first_of(reach)[tail]) - 1
    while entry >= 0:
        following = np.int64(entries_of(reach)[entry, NEXT]) - 1
        ball = np.int64(entries_of(reach)[entry, BALL])
        fits = counters_of(reach)[UNDIRECTED] != 0 or balls_of(reach)[ball, WAY] == way
        if fits and balls_of(reach)[ball, BROKEN] == 0 and not is_open(reach, ball, cost_of(reach, entry)):
            if came:
                reach_head(graph, reach, entry, head, weight)
            else:
                unreach_head(graph, reach, entry, head, weight)
        entry = following


@kernel()
def _pass_both(graph: Any, reach: Any, subject: Any, object: Any, weight: Any, came: Any) -> None:
    if subject != object:
        _pass_on(graph, reach, (subject, object, OUT), weight, came)
        _pass_on(graph, reach, (object, subject, IN), weight, came)


@kernel()
def _touch(graph: Any, reach: Any, vertex: Any) -> None:
    """One more edge will touch a vertex: with the first one it is there, and the balls around it begin."""
    touching_of(reach)[vertex] += 1
    ball = np.int64(centred_of(reach)[vertex]) - 1
    while ball >= 0 and touching_of(reach)[vertex] == 1:
        fill(graph, reach, ball)
        ball = np.int64(balls_of(reach)[ball, NEXT_BALL]) - 1


@kernel()
def _leave(reach: Any, vertex: Any) -> None:
    """One edge less touches a vertex: with the last one it goes, and what is left of the balls around it."""
    touching_of(reach)[vertex] -= 1
    ball = np.int64(centred_of(reach)[vertex]) - 1
    while ball >= 0 and touching_of(reach)[vertex] == 0:
        entry = find_entry(reach, vertex, ball)
        if entry >= 0 and balls_of(reach)[ball, BROKEN] == 0:
            lose(reach, entry)
            drop_entry(reach, entry)
        ball = np.int64(balls_of(reach)[ball, NEXT_BALL]) - 1


@kernel()
def _come(graph: Any, reach: Any, log: Any, row: Any) -> None:
    subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
    _touch(graph, reach, subject)
    _touch(graph, reach, object)
    edge = put(graph, subject, np.int64(log.predicate[row]), object)
    if is_weighted(reach):
        graph.weights[edge] = log.weight[row]
    _pass_both(graph, reach, subject, object, weight_of(is_weighted(reach), graph, edge), True)


@kernel()
def _go(graph: Any, reach: Any, log: Any, row: Any) -> None:
    subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
    edge = find_edge(graph, subject, np.int64(log.predicate[row]), object)
    weight = weight_of(is_weighted(reach), graph, edge)
    drop(graph, edge)
    _pass_both(graph, reach, subject, object, weight, False)
    _leave(reach, subject)
    _leave(reach, object)


@kernel()
def _change(graph: Any, reach: Any, log: Any, row: Any) -> None:
    """One change of the log; another weight is an edge that goes and one that comes."""
    if log.change[row] == CHANGED:
        if is_weighted(reach):
            _go(graph, reach, log, row)
            _come(graph, reach, log, row)
    elif log.change[row] == WENT:
        _go(graph, reach, log, row)
    else:
        _come(graph, reach, log, row)


# --- a run ------------------------------------------------------------------------------------------------------


@kernel((GRAPH, REACH, SCRATCH, LOG, TELLING))
def follow(graph: Any, reach: Any, scratch: Any, log: Any, telling: Any) -> Any:
    """Goes on with a log from ROW; what it stopped for."""
    counters = counters_of(reach)
    while True:
        row = counters[ROW]
        if counters[GROUPS_QUEUED] and (row == len(log.step) or (row and log.step[row] != log.step[row - 1])):
            stop = _settle_queue(graph, reach, scratch, telling, log.step[row - 1])
            if stop != DONE:
                return stop
        if row == len(log.step):
            return DONE
        if not has_room(graph):
            return LACKS_EDGES
        counters[ROW] = row + 1
        _change(graph, reach, log, row)
        if counters[BALLS_BROKEN]:
            return LACKS_ENTRIES


@kernel()
def _settle_queue(graph: Any, reach: Any, scratch: Any, telling: Any, step: Any) -> Any:
    """Tells what queued groups are worth at a step's end; what it stopped for."""
    while counters_of(reach)[GROUPS_QUEUED]:
        if counters_of(reach)[SAID] == len(telling.rows):
            return LACKS_SAID
        group = np.int64(queue_of(reach)[counters_of(reach)[QUEUE_FIRST]])
        known = settle_group(graph, reach, scratch, group)
        if known == LACKING:
            return LACKS_ENTRIES
        unqueue_group(reach)
        value = limits_of(reach)[VALUE]
        if groups_of(reach)[group, ALERT]:
            _say(reach, telling, step, group, value)
            return ALERTED
        if is_told(telling.asked, group, told_of(reach)[group], value):
            told_of(reach)[group] = value
            _say(
                reach, telling, step, group, appraise_group(graph, reach, scratch, group) if known == BEYOND else value
            )
    return DONE


@kernel()
def _say(reach: Any, telling: Any, step: Any, group: Any, value: Any) -> None:
    row = counters_of(reach)[SAID]
    telling.rows[row, STEP], telling.rows[row, INSTANCE] = step, group
    telling.values[row] = value
    counters_of(reach)[SAID] = row + 1


# --- what Python asks -------------------------------------------------------------------------------------------


@kernel((GRAPH, REACH))
def mend(graph: Any, reach: Any) -> None:
    """Makes broken balls anew; those that lack room again stay broken."""
    counters_of(reach)[BALLS_BROKEN] = 0
    for ball in range(len(balls_of(reach))):
        if balls_of(reach)[ball, BROKEN]:
            balls_of(reach)[ball, BROKEN] = 0
            empty_ball(reach, ball)
            if touching_of(reach)[balls_of(reach)[ball, CENTRE]]:
                fill(graph, reach, ball)


@kernel((REACH,))
def queue_groups(reach: Any) -> None:
    """What is known of any group may no longer be enough."""
    for ball in range(len(balls_of(reach))):
        queue_all(reach, ball)


@kernel((REACH,))
def forget_balls(reach: Any) -> None:
    """All balls have to be made anew."""
    for ball in range(len(balls_of(reach))):
        if balls_of(reach)[ball, FIRST_LINK]:
            break_ball(reach, ball)


@kernel((GRAPH, REACH, SCRATCH, int64))
def worth(graph: Any, reach: Any, scratch: Any, group: Any) -> Any:
    """The value of a group, from now on that which was last told; NaN if there was no room to find it."""
    known = settle_group(graph, reach, scratch, group)
    if known == LACKING:
        return np.nan
    told_of(reach)[group] = limits_of(reach)[VALUE]
    return appraise_group(graph, reach, scratch, group) if known == BEYOND else limits_of(reach)[VALUE]


@kernel((GRAPH, REACH, SCRATCH))
def settle_silently(graph: Any, reach: Any, scratch: Any) -> Any:
    """Settles queued groups; whether there was room."""
    while counters_of(reach)[GROUPS_QUEUED]:
        if settle_group(graph, reach, scratch, np.int64(queue_of(reach)[counters_of(reach)[QUEUE_FIRST]])) == LACKING:
            return False
        unqueue_group(reach)
    return True


@kernel((GRAPH, REACH, int64, int64))
def begin_ball(graph: Any, reach: Any, ball: Any, centre: Any) -> None:
    """A new ball, which Python has made, takes its place at its centre."""
    balls_of(reach)[ball, NEXT_BALL] = centred_of(reach)[centre]
    centred_of(reach)[centre] = ball + 1
    if touching_of(reach)[centre]:
        fill(graph, reach, ball)


@kernel((REACH, int64))
def end_ball(reach: Any, ball: Any) -> None:
    """Nobody needs a ball any more."""
    empty_ball(reach, ball)
    centre = np.int64(balls_of(reach)[ball, CENTRE])
    if centred_of(reach)[centre] == ball + 1:
        centred_of(reach)[centre] = balls_of(reach)[ball, NEXT_BALL]
    else:
        other = np.int64(centred_of(reach)[centre]) - 1
        while balls_of(reach)[other, NEXT_BALL] != ball + 1:
            other = np.int64(balls_of(reach)[other, NEXT_BALL]) - 1
        balls_of(reach)[other, NEXT_BALL] = balls_of(reach)[ball, NEXT_BALL]


@kernel((REACH, int64))
def begin_group(reach: Any, group: Any) -> None:
    """The pairs of a new group, whose balls Python has named, take their places at their balls."""
    terminals, first = np.int64(groups_of(reach)[group, TERMINALS]), np.int64(groups_of(reach)[group, FIRST_PAIR])
    for pair in range(first, first + terminals * (terminals - 1) // 2):
        for side in range(2):
            ball = np.int64(pairs_of(reach)[pair, LEFT + side])
            pairs_of(reach)[pair, LINKS + side] = balls_of(reach)[ball, FIRST_LINK]
            balls_of(reach)[ball, FIRST_LINK] = 1 + 2 * pair + side
            balls_of(reach)[ball, ALERTS] += groups_of(reach)[group, ALERT]
        make_stale(reach, pair)
    queue_group(reach, group)


@kernel((REACH, int64))
def end_group(reach: Any, group: Any) -> None:
    """Takes the pairs of a group away from their balls."""
    terminals, first = np.int64(groups_of(reach)[group, TERMINALS]), np.int64(groups_of(reach)[group, FIRST_PAIR])
    for pair in range(first, first + terminals * (terminals - 1) // 2):
        for side in range(2):
            _metric_paths_run_unlink(reach, np.int64(pairs_of(reach)[pair, LEFT + side]), 1 + 2 * pair + side)
            balls_of(reach)[pairs_of(reach)[pair, LEFT + side], ALERTS] -= groups_of(reach)[group, ALERT]


@kernel()
def _metric_paths_run_unlink(reach: Any, ball: Any, sought: Any) -> None:
    following = pairs_of(reach)[(sought - 1) >> 1, LINKS + ((sought - 1) & 1)]
    link = np.int64(balls_of(reach)[ball, FIRST_LINK])
    if link == sought:
        balls_of(reach)[ball, FIRST_LINK] = following
        return
    while True:
        pair, side = (link - 1) >> 1, (link - 1) & 1
        link = np.int64(pairs_of(reach)[pair, LINKS + side])
        if link == sought:
            pairs_of(reach)[pair, LINKS + side] = following
            return
