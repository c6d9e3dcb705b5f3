"""The arrays that say which vertices belong to which group, and how dense each group is. Does not import Numba.

A *group* is a set of vertices whose induced subgraph is measured: what lies within some hops of a centre, or what
solutions select. An *entry* says that a group holds a vertex. Groups around centres know the depth of each vertex and
how many of its neighbours lie one step nearer; the law of such a group: a vertex is in it while it is the centre or has
such a neighbour.

Entries of a vertex are listed by whether its neighbours must be in the group too: INNER ones (nearer than the last hop)
and OUTER ones (at the last hop, or selected).
"""

from __future__ import annotations

from typing import NamedTuple

from heliograph.kernels.evolution_layout import Floats, Int32s, Int64s

GROUP, VERTEX, DEPTH, COUNT, NEXT, BEFORE = range(6)  # of entries; NEXT and BEFORE are 1 + an entry of the same list
ENTRY_COLUMNS = 6  # COUNT: neighbours one step nearer, or how often a vertex is selected
PENDING = -1  # in COUNT: the vertex has joined, and its arcs are not counted yet

NOBODY = -1  # in GROUP: a free entry

INNER, OUTER = range(2)  # of heads and lengths
INSTANCE, SIZE, ARCS, TOUCHED = range(4)  # of groups
GROUP_COLUMNS = 4

# of counters: LIVE: entries in use; GIVEN: numbers of entries given out; FREE: 1 + the first free number, NEXT of it
# the next; HOPS; ROW and PICK: the next row of the log and of the selections; PHASE; HEAD and TAIL: what waits in the
# queue; ORPHAN and ORPHANS: the next of those that lost their place, and how many there are; CHANGED: groups touched in
# this step; SAID: sayings so far; NEEDED: free entries that were asked for and not there
LIVE, GIVEN, FREE, HOPS, ROW, PICK, PHASE, HEAD, TAIL, ORPHAN, ORPHANS, CHANGED, SAID, NEEDED = range(14)
COUNTERS = 14

READY, SETTLING, TELLING = range(3)  # phases of a row


class Groups(NamedTuple):
    """Everything changes; the table has twice as many places as there is room for entries."""

    keys: Int64s  # open addressing of a power of two: 1 + (group << 32 | vertex); 0 is free
    numbers: Int32s  # beside the keys: the number of the entry
    entries: Int32s  # rows
    heads: Int32s  # rows by vertex: 1 + the first of its INNER and of its OUTER entries
    lengths: Int32s  # rows by vertex: how many there are of each
    groups: Int64s  # rows
    values: Floats  # by group: the density at the end of the last step
    queue: Int32s  # entries whose depth is new, or that lost their last nearer neighbour
    orphans: Int32s  # rows (group, vertex)
    changed: Int32s  # groups
    counters: Int64s


class Selections(NamedTuple):
    """How vertices come to be selected and go, in order of step: `times` more solutions bind one, or fewer."""

    step: Int32s
    instance: Int32s
    vertex: Int32s
    times: Int32s


class Sayings(NamedTuple):
    """Room for what is said: see metric_layout.Said."""

    rows: Int32s
    values: Floats
