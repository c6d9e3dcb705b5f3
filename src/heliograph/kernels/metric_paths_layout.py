"""The arrays of shortest paths between terminals that kernels and their callers share. Does not import Numba.

Around a terminal lies a *ball*: every vertex that can be reached by expanding those no farther than its radius, each
with the cost of the shortest path so found. A cost is (sum of weights, number of edges), compared in that order, so
every edge costs something even where weights are 0. Where hops are counted all sums are 0.

The law: let two balls, one along the edges from a and one against them from b, have radii r and s. In hops, a distance
of at most r + s + 2 is the least sum of the two costs of a vertex that lies in both; with weights, one of at most
r + s. So neither ball need be larger than half of what somebody asks for. A ball with nothing left to expand is
*complete*: then that least sum is the distance whatever the radii are, infinite if no vertex lies in both.

A *group* is what somebody asks for: terminals, with a *pair* of balls for each two of them. Its value is the weight of
a minimum spanning tree over the pairs' distances; for two terminals, their distance.
"""

from __future__ import annotations

from typing import NamedTuple

from heliograph.kernels.evolution_layout import Floats, Int32s, Int64s
from heliograph.kernels.simple_graph_layout import Asked

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
