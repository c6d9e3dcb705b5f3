"""`hg:density(x, hops)` and `hg:density()`: how dense the surroundings of a vertex are, or what a query selects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import int64

from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.types import INT32S, NEW_FLOATS, NEW_INT32S, NEW_INT64S, named, rows
from heliograph.watch.layout import Floats, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    BACKWARD,
    CAME,
    FORWARD,
    NEW_ARC,
    NEW_PAIR,
    SAID_COLUMNS,
    STEP,
    WENT,
    Asked,
    GrowingGraph,
    Log,
    Said,
    Simple,
    enlarged,
    fixed,
    fixed_log,
    more,
)
from heliograph.watch.metrics.simple_graph import INSTANCE as SIMPLE_GRAPH_INSTANCE
from heliograph.watch.metrics.simple_graph_kernels import (
    ASKED,
    INT32_ROWS,
    LOG,
    SIMPLE,
    add_edge,
    drop_edge,
    has_room,
    is_told,
    list_length,
    list_start,
    pair_slot,
    vacate,
)
from heliograph.watch.metrics.thresholds import Cutting, Points

# ----------------------------------------------------------------------------------------------------------------------
# The arrays that say which vertices belong to which group, and how dense each group is. Does not import Numba.
#
# A *group* is a set of vertices whose induced subgraph is measured: what lies within some hops of a centre, or what
# solutions select. An *entry* says that a group holds a vertex. Groups around centres know the depth of each vertex
# and how many of its neighbours lie one step nearer; the law of such a group: a vertex is in it while it is the
# centre or has such a neighbour.
#
# Entries of a vertex are listed by whether its neighbours must be in the group too: INNER ones (nearer than the last
# hop) and OUTER ones (at the last hop, or selected).
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# Which group holds which vertex: entries by their group and vertex, and lists of them by vertex.
#
# The table is one like that of a simple graph's pairs, and shares its kernels.
# ----------------------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def entry_key(group: Any, vertex: Any) -> Any:
    return ((np.int64(group) << 32) | np.int64(vertex)) + 1


@kernel(inline=True)
def find_entry(groups: Any, group: Any, vertex: Any) -> Any:
    """The entry that says that a group holds a vertex, or -1."""
    slot = pair_slot(groups, entry_key(group, vertex))
    return np.int64(groups.numbers[slot]) if groups.keys[slot] != 0 else np.int64(-1)


@kernel(inline=True)
def has_entries(groups: Groups, needed: Any) -> Any:
    """Whether so many entries are free; if not, it is noted for whoever makes room."""
    if len(groups.entries) - groups.counters[LIVE] >= needed:
        return True
    groups.counters[NEEDED] = needed
    return False


@kernel(inline=True)
def touch_group(groups: Groups, group: Any) -> None:
    """A group is looked at at the end of the step."""
    if groups.groups[group, TOUCHED] == 0:
        groups.groups[group, TOUCHED] = 1
        groups.changed[groups.counters[CHANGED]] = group
        groups.counters[CHANGED] += 1


@kernel()
def make_entry(groups: Any, group: Any, vertex: Any, depth: Any) -> Any:
    """A vertex joins a group, PENDING; there is room. The number of its entry."""
    entry = groups.counters[FREE] - 1
    if entry < 0:
        entry = groups.counters[GIVEN]
        groups.counters[GIVEN] = entry + 1
    else:
        groups.counters[FREE] = groups.entries[entry, NEXT]
    groups.counters[LIVE] += 1
    groups.entries[entry, GROUP], groups.entries[entry, VERTEX] = group, vertex
    groups.entries[entry, DEPTH], groups.entries[entry, COUNT] = depth, PENDING
    key = entry_key(group, vertex)
    slot = pair_slot(groups, key)
    groups.keys[slot], groups.numbers[slot] = key, entry
    _link(groups, entry)
    return entry


@kernel()
def free_entry(groups: Any, entry: Any) -> None:
    """A vertex leaves a group."""
    vacate(groups, pair_slot(groups, entry_key(groups.entries[entry, GROUP], groups.entries[entry, VERTEX])))
    _unlink(groups, entry)
    groups.entries[entry, GROUP] = NOBODY
    groups.entries[entry, NEXT] = groups.counters[FREE]
    groups.counters[FREE] = entry + 1
    groups.counters[LIVE] -= 1


@kernel()
def set_depth(groups: Groups, entry: Any, depth: Any) -> None:
    _unlink(groups, entry)
    groups.entries[entry, DEPTH] = depth
    _link(groups, entry)


@kernel(inline=True)
def _list_of(groups: Groups, entry: Any) -> Any:
    return INNER if groups.entries[entry, DEPTH] < groups.counters[HOPS] else OUTER


@kernel(inline=True)
def _link(groups: Groups, entry: Any) -> None:
    vertex, which = groups.entries[entry, VERTEX], _list_of(groups, entry)
    following = groups.heads[vertex, which]
    groups.entries[entry, NEXT], groups.entries[entry, BEFORE] = following, 0
    if following:
        groups.entries[following - 1, BEFORE] = entry + 1
    groups.heads[vertex, which] = entry + 1
    groups.lengths[vertex, which] += 1


@kernel(inline=True)
def _unlink(groups: Groups, entry: Any) -> None:
    vertex, which = groups.entries[entry, VERTEX], _list_of(groups, entry)
    following, before = groups.entries[entry, NEXT], groups.entries[entry, BEFORE]
    if before:
        groups.entries[before - 1, NEXT] = following
    else:
        groups.heads[vertex, which] = following
    if following:
        groups.entries[following - 1, BEFORE] = before
    groups.lengths[vertex, which] -= 1


# ----------------------------------------------------------------------------------------------------------------------
# Groups of vertices and the arcs inside them, kept as edges and vertices come and go.
#
# An arc counts for the groups that hold both its ends. Those are met without looking at every group: where one end is
# INNER, from that end's list; where both are OUTER, from the shorter of two lists. Most arcs of a vertex with many
# neighbours lie at the rim of the groups that hold it, where nothing follows from them but the count.
#
# A pair that comes may bring its farther end nearer to a centre, or into the group: that spreads from there like a
# breadth-first search, in a queue. A pair that goes takes a nearer neighbour from its farther end. Whoever loses the
# last one is an *orphan*, and may make orphans of those behind it; all orphans leave their groups and then join again
# wherever a neighbour is left. What is spread costs the neighbours of those whose depth changes, and nothing else.
# ----------------------------------------------------------------------------------------------------------------------

_FAR = np.int64(1) << 31


@kernel(inline=True)
def _push(groups: Groups, entry: Any) -> None:
    groups.queue[groups.counters[TAIL]] = entry
    groups.counters[TAIL] += 1


@kernel(inline=True)
def _count_arcs(groups: Groups, group: Any, arcs: Any) -> None:
    groups.groups[group, ARCS] += arcs
    touch_group(groups, group)


# --- arcs that come and go --------------------------------------------------------------------------------------


@kernel()
def meet(groups: Groups, ends: Any, arcs: Any, pair: Any) -> None:
    """An arc between two vertices comes (1) or goes (-1), or neither (0); and so does their pair."""
    _meet_inner(groups, ends[0], ends[1], arcs, pair, True)
    _meet_inner(groups, ends[1], ends[0], arcs, pair, False)
    _meet_outer(groups, ends, arcs)


@kernel()
def _meet_inner(groups: Groups, near: Any, far: Any, arcs: Any, pair: Any, first: Any) -> None:
    """The groups that have one end INNER; where both are, each group is met from its nearer end, at first or at last.

    The list of the nearer end stays as it is meanwhile.
    """
    entry = np.int64(groups.heads[near, INNER]) - 1
    while entry >= 0:
        group = groups.entries[entry, GROUP]
        other = find_entry(groups, group, far)
        if other < 0:
            _push(groups, make_entry(groups, group, far, groups.entries[entry, DEPTH] + 1))
        elif groups.entries[entry, DEPTH] + (0 if first else 1) <= groups.entries[other, DEPTH]:
            _count_arcs(groups, group, arcs)
            _change_pair(groups, groups.entries[entry, DEPTH] + 1, other, pair)
        entry = np.int64(groups.entries[entry, NEXT]) - 1


@kernel()
def _change_pair(groups: Groups, depth: Any, other: Any, pair: Any) -> None:
    """A pair that leads from a nearer vertex to this depth comes or goes; its farther end waits if that matters."""
    if pair > 0 and groups.entries[other, DEPTH] > depth:
        set_depth(groups, other, depth)
        _push(groups, other)
    elif groups.entries[other, DEPTH] == depth:
        groups.entries[other, COUNT] += pair
        if groups.entries[other, COUNT] == 0:
            _push(groups, other)


@kernel()
def _meet_outer(groups: Groups, ends: Any, arcs: Any) -> None:
    """The groups that have both ends OUTER: neither is nearer."""
    one, other = ends
    if groups.lengths[one, OUTER] > groups.lengths[other, OUTER]:
        one, other = other, one
    entry = np.int64(groups.heads[one, OUTER]) - 1
    while entry >= 0:
        group = groups.entries[entry, GROUP]
        found = find_entry(groups, group, other)
        if found >= 0 and groups.entries[found, DEPTH] == groups.counters[HOPS]:
            _count_arcs(groups, group, arcs)
        entry = np.int64(groups.entries[entry, NEXT]) - 1


# --- vertices that join -----------------------------------------------------------------------------------------


@kernel()
def settle(graph: Simple, groups: Groups) -> Any:
    """Works the queue off, and lets orphans join again; whether there was room. If not, it goes on next time."""
    counters = groups.counters
    while True:
        if not _settle_queue(graph, groups):
            return False
        if counters[ORPHAN] == counters[ORPHANS]:
            counters[ORPHAN] = counters[ORPHANS] = 0
            return True
        if not has_entries(groups, 1):
            return False
        _return_orphan(graph, groups)
        counters[ORPHAN] += 1


@kernel()
def _settle_queue(graph: Simple, groups: Groups) -> Any:
    counters = groups.counters
    while counters[HEAD] < counters[TAIL]:
        entry = np.int64(groups.queue[counters[HEAD]])
        leads_on = groups.entries[entry, DEPTH] < counters[HOPS]
        if leads_on and not has_entries(groups, list_length(graph.undirected, groups.entries[entry, VERTEX])):
            return False
        _settle_entry(graph, groups, entry)
        counters[HEAD] += 1
    counters[HEAD] = counters[TAIL] = 0
    return True


@kernel()
def _settle_entry(graph: Simple, groups: Groups, entry: Any) -> None:
    """A vertex at its new depth: what lies behind it is drawn nearer, and if it has joined its arcs are counted.

    Whoever waits in the queue counts its nearer neighbours itself, when it is its turn: all of them have had theirs.
    """
    group, depth = groups.entries[entry, GROUP], groups.entries[entry, DEPTH]
    has_joined, nearer, arcs = groups.entries[entry, COUNT] == PENDING, 0, 0
    start = list_start(graph.undirected, groups.entries[entry, VERTEX])
    for place in range(start, start + list_length(graph.undirected, groups.entries[entry, VERTEX])):
        other = find_entry(groups, group, graph.undirected.pool[place])
        if other < 0:
            if depth < groups.counters[HOPS]:
                _push(groups, make_entry(groups, group, graph.undirected.pool[place], depth + 1))
            continue
        if has_joined and groups.entries[other, COUNT] != PENDING:
            arcs += _arcs(graph, graph.undirected.owners[place])
        if groups.entries[other, DEPTH] == depth - 1:
            nearer += 1
        else:
            _draw_nearer(groups, other, depth + 1)
    groups.entries[entry, COUNT] = nearer
    if has_joined:
        groups.groups[group, SIZE] += 1
        _count_arcs(groups, group, arcs)


@kernel(inline=True)
def _draw_nearer(groups: Groups, other: Any, depth: Any) -> None:
    """A neighbour gets a new way of a length."""
    if groups.entries[other, DEPTH] > depth:
        set_depth(groups, other, depth)
        _push(groups, other)
    elif groups.entries[other, DEPTH] == depth and groups.entries[other, COUNT] != PENDING:
        groups.entries[other, COUNT] += 1


@kernel(inline=True)
def _arcs(graph: Simple, pair: Any) -> Any:
    """In how many directions edges lead between a pair."""
    return (1 if graph.pairs[pair, FORWARD] else 0) + (1 if graph.pairs[pair, BACKWARD] else 0)


# --- vertices that leave ----------------------------------------------------------------------------------------


@kernel()
def orphan(graph: Simple, groups: Groups) -> None:
    """Those in the queue have no nearer neighbour: they leave, with all that hung on them, and are to join again."""
    _spread_orphans(graph, groups)
    for number in range(groups.counters[TAIL]):
        entry = np.int64(groups.queue[number])
        groups.orphans[number, GROUP] = groups.entries[entry, GROUP]
        groups.orphans[number, VERTEX] = groups.entries[entry, VERTEX]
        leave(graph, groups, entry)
    groups.counters[ORPHANS] = groups.counters[TAIL]
    groups.counters[HEAD] = groups.counters[TAIL] = 0


@kernel()
def _spread_orphans(graph: Simple, groups: Groups) -> None:
    counters = groups.counters
    while counters[HEAD] < counters[TAIL]:
        entry = np.int64(groups.queue[counters[HEAD]])
        group, behind = groups.entries[entry, GROUP], groups.entries[entry, DEPTH] + 1
        start = list_start(graph.undirected, groups.entries[entry, VERTEX])
        for place in range(start, start + list_length(graph.undirected, groups.entries[entry, VERTEX])):
            other = find_entry(groups, group, graph.undirected.pool[place])
            if other >= 0 and groups.entries[other, DEPTH] == behind:
                groups.entries[other, COUNT] -= 1
                if groups.entries[other, COUNT] == 0:
                    _push(groups, other)
        counters[HEAD] += 1


@kernel()
def leave(graph: Simple, groups: Groups, entry: Any) -> None:
    """A vertex leaves a group, with its arcs to those who stay."""
    group, vertex, arcs = groups.entries[entry, GROUP], groups.entries[entry, VERTEX], 0
    start = list_start(graph.undirected, vertex)
    for place in range(start, start + list_length(graph.undirected, vertex)):
        if find_entry(groups, group, graph.undirected.pool[place]) >= 0:
            arcs += _arcs(graph, graph.undirected.owners[place])
    groups.groups[group, SIZE] -= 1
    _count_arcs(groups, group, -arcs)
    free_entry(groups, entry)


@kernel()
def _return_orphan(graph: Simple, groups: Groups) -> None:
    """An orphan joins again, behind the nearest of its neighbours; or comes nearer, if it is back already."""
    number = groups.counters[ORPHAN]
    group, vertex, depth = groups.orphans[number, GROUP], groups.orphans[number, VERTEX], _FAR
    start = list_start(graph.undirected, vertex)
    for place in range(start, start + list_length(graph.undirected, vertex)):
        other = find_entry(groups, group, graph.undirected.pool[place])
        if other >= 0:
            depth = min(depth, np.int64(groups.entries[other, DEPTH]) + 1)
    entry = find_entry(groups, group, vertex)
    if entry < 0 and depth <= groups.counters[HOPS]:
        _push(groups, make_entry(groups, group, vertex, depth))
    elif entry >= 0 and depth < groups.entries[entry, DEPTH]:
        set_depth(groups, entry, depth)
        _push(groups, entry)


@kernel()
def disband(graph: Simple, groups: Groups, entry: Any) -> None:
    """The group around a centre, by the centre's entry, is no more."""
    group = groups.entries[entry, GROUP]
    _push(groups, entry)
    _spread_orphans(graph, groups)
    for number in range(groups.counters[TAIL]):
        free_entry(groups, np.int64(groups.queue[number]))
    groups.groups[group, SIZE] = groups.groups[group, ARCS] = 0
    groups.counters[HEAD] = groups.counters[TAIL] = 0


# ----------------------------------------------------------------------------------------------------------------------
# Follows a log, and selections beside it, and tells of the groups whose density passed a cut at the end of a step.
#
# A row is gone on with where room was lacking: READY, nothing of it is done; SETTLING, the graph has changed and
# groups are catching up; TELLING, what is left is to look at the groups that the step touched.
# ----------------------------------------------------------------------------------------------------------------------

INT64_ROWS = rows(int64, writable=True)
GROUPS = named(
    Groups,
    NEW_INT64S,  # keys
    NEW_INT32S,  # numbers
    INT32_ROWS,  # entries
    INT32_ROWS,  # heads
    INT32_ROWS,  # lengths
    INT64_ROWS,  # groups
    NEW_FLOATS,  # values
    NEW_INT32S,  # queue
    INT32_ROWS,  # orphans
    NEW_INT32S,  # changed
    NEW_INT64S,  # counters
)
SELECTIONS = named(Selections, INT32S, INT32S, INT32S, INT32S)
SAYINGS = named(Sayings, INT32_ROWS, NEW_FLOATS)


@kernel(inline=True)
def _density(groups: Groups, group: Any) -> Any:
    size = np.float64(groups.groups[group, SIZE])
    return groups.groups[group, ARCS] / (size * (size - 1.0)) if size >= 2.0 else 0.0


@kernel((SIMPLE, GROUPS, LOG, SELECTIONS, ASKED, SAYINGS))
def follow(graph: Simple, groups: Groups, log: Log, selections: Selections, asked: Asked, said: Sayings) -> Any:
    """Goes on with the rows of both; whether they are done. If not, room is lacking."""
    counters = groups.counters
    while counters[PHASE] != READY or counters[ROW] < len(log.step) or counters[PICK] < len(selections.step):
        if counters[PHASE] == READY and not _begin(graph, groups, log, selections):
            return False
        if counters[PHASE] == SETTLING:
            if not settle(graph, groups):
                return False
            counters[PHASE] = TELLING if _ends_step(groups, log, selections) else READY
        if counters[PHASE] == TELLING:
            if counters[SAID] + counters[CHANGED] > len(said.rows):
                return False
            _tell(groups, _step_before(groups, log, selections), asked, said)
            counters[PHASE] = READY
    return True


@kernel(inline=True)
def _is_edge_next(groups: Groups, log: Log, selections: Selections) -> Any:
    """Whether an edge changes next; in a step, edges are before selections."""
    row, pick = groups.counters[ROW], groups.counters[PICK]
    return row < len(log.step) and (pick == len(selections.step) or log.step[row] <= selections.step[pick])


@kernel()
def _begin(graph: Simple, groups: Groups, log: Log, selections: Selections) -> Any:
    """Does a row, but for what follows in groups; whether there was room."""
    counters = groups.counters
    if _is_edge_next(groups, log, selections):
        row = counters[ROW]
        if not _has_room(graph, groups, log.subject[row], log.object[row]):
            return False
        _change_edge(graph, groups, log, row)
        counters[ROW] = row + 1
    else:
        if not has_entries(groups, 1):
            return False
        _select(graph, groups, selections, counters[PICK])
        counters[PICK] += 1
    counters[PHASE] = SETTLING
    return True


@kernel(inline=True)
def _has_room(graph: Simple, groups: Groups, subject: Any, object: Any) -> Any:
    """The other end of an edge may join each group that has one end INNER."""
    return has_room(graph) and has_entries(groups, groups.lengths[subject, INNER] + groups.lengths[object, INNER])


@kernel()
def _change_edge(graph: Simple, groups: Groups, log: Log, row: Any) -> None:
    ends = (log.subject[row], log.object[row])
    if log.change[row] == CAME:
        changed = add_edge(graph, ends[0], ends[1])
        if changed:
            meet(groups, ends, 1 if changed & NEW_ARC else 0, 1 if changed & NEW_PAIR else 0)
    elif log.change[row] == WENT:
        changed = drop_edge(graph, ends[0], ends[1])
        if changed:
            meet(groups, ends, -1 if changed & NEW_ARC else 0, -1 if changed & NEW_PAIR else 0)
            if groups.counters[TAIL]:
                orphan(graph, groups)


@kernel()
def _select(graph: Simple, groups: Groups, selections: Selections, pick: Any) -> None:
    """A vertex is selected more often or less; there is room for it to join."""
    group, vertex = selections.instance[pick], selections.vertex[pick]
    entry = find_entry(groups, group, vertex)
    if entry < 0:
        entry = make_entry(groups, group, vertex, 0)
        groups.queue[0], groups.counters[TAIL] = entry, 1
        settle(graph, groups)  # a selection reaches no further: depth 0 is the last hop, and that needs no room
    groups.entries[entry, COUNT] += selections.times[pick]
    if groups.entries[entry, COUNT] == 0:
        leave(graph, groups, entry)


# --- the end of a step ------------------------------------------------------------------------------------------


@kernel(inline=True)
def _step_before(groups: Groups, log: Log, selections: Selections) -> Any:
    """The step of the last row that was done."""
    row, pick = groups.counters[ROW], groups.counters[PICK]
    step = np.int64(log.step[row - 1]) if row else np.int64(-1)
    return max(step, np.int64(selections.step[pick - 1])) if pick else step


@kernel(inline=True)
def _ends_step(groups: Groups, log: Log, selections: Selections) -> Any:
    step, row, pick = _step_before(groups, log, selections), groups.counters[ROW], groups.counters[PICK]
    return (row == len(log.step) or log.step[row] != step) and (
        pick == len(selections.step) or selections.step[pick] != step
    )


@kernel()
def _tell(groups: Groups, step: Any, asked: Asked, said: Sayings) -> None:
    """Looks at every group that was touched; there is room to tell of all."""
    for number in range(groups.counters[CHANGED]):
        group = groups.changed[number]
        groups.groups[group, TOUCHED] = 0
        value = _density(groups, group)
        if is_told(asked, groups.groups[group, INSTANCE], groups.values[group], value):
            said.rows[groups.counters[SAID], STEP] = step
            said.rows[groups.counters[SAID], SIMPLE_GRAPH_INSTANCE] = groups.groups[group, INSTANCE]
            said.values[groups.counters[SAID]] = value
            groups.counters[SAID] += 1
        groups.values[group] = value
    groups.counters[CHANGED] = 0


# --- groups that come and go ------------------------------------------------------------------------------------


@kernel((SIMPLE, GROUPS, int64, int64))
def gather(graph: Simple, groups: Groups, group: Any, centre: Any) -> Any:
    """Gathers the group around a centre, from when it was begun; whether there was room for all of it."""
    if find_entry(groups, group, centre) < 0:
        if not has_entries(groups, 1):
            return False
        groups.queue[0] = make_entry(groups, group, centre, 0)
        groups.counters[TAIL] = 1
    return settle(graph, groups)


@kernel((GROUPS,))
def take_as_told(groups: Groups) -> None:
    """What changed since the last step counts as told."""
    for number in range(groups.counters[CHANGED]):
        group = groups.changed[number]
        groups.groups[group, TOUCHED] = 0
        groups.values[group] = _density(groups, group)
    groups.counters[CHANGED] = 0


@kernel((SIMPLE, GROUPS, int64, int64))
def dissolve(graph: Simple, groups: Groups, group: Any, centre: Any) -> None:
    """The group around a centre goes."""
    disband(graph, groups, find_entry(groups, group, centre))
    groups.values[group] = 0.0


@kernel((GROUPS, int64))
def clear(groups: Groups, group: Any) -> None:
    """A group without a centre goes: its entries are looked for among all."""
    for entry in range(groups.counters[GIVEN]):
        if groups.entries[entry, GROUP] == group:
            free_entry(groups, np.int64(entry))
    groups.groups[group, SIZE] = groups.groups[group, ARCS] = 0
    groups.values[group] = 0.0


# ----------------------------------------------------------------------------------------------------------------------
# Groups of vertices as their owner sees them: who makes room, numbers groups, and calls the kernels.
#
# Kernels change graph and groups for as long as they have room; then they return, more is made wherever it is short,
# and they go on where they stopped. Does not import Numba before a kernel is needed.
# ----------------------------------------------------------------------------------------------------------------------

_LEAST = 16  # entries of a new array; a power of two


class Grouping:
    """A growing graph and groups of its vertices; `hops` is how far a group reaches from its centre, if it has one."""

    def __init__(self, hops: int = 0) -> None:
        self.graph = GrowingGraph()
        self.arrays = _empty(hops, self.graph.vertices)
        self._sayings = Sayings(np.empty((first_room(_LEAST), SAID_COLUMNS), np.int32), np.empty(first_room(_LEAST)))
        self._free: list[int] = []
        self._given = 0

    @property
    def nbytes(self) -> int:
        return self.graph.nbytes + sum(array.nbytes for array in self.arrays)

    def cover(self, vertices: int) -> None:
        """Makes ids below `vertices` valid members of groups."""
        self.graph.cover(vertices)
        rows = self.graph.vertices
        if rows > len(self.arrays.heads):
            heads, lengths = (enlarged(array, rows) for array in (self.arrays.heads, self.arrays.lengths))
            self.arrays = self.arrays._replace(heads=heads, lengths=lengths)

    def new_group(self, instance: int | None = None) -> int:
        """A group without vertices; its instance is its own number unless it is told another."""
        if self._free:
            group = self._free.pop()
        else:
            group, self._given = self._given, self._given + 1
            self._cover_groups(self._given)
        self.arrays.groups[group] = 0
        self.arrays.groups[group, INSTANCE] = group if instance is None else instance
        self.arrays.values[group] = 0.0
        return group

    def give_back(self, group: int) -> None:
        """A group without vertices is no more."""
        self._free.append(group)

    def gather(self, group: int, centre: int) -> None:
        """Fills a group with what lies around a centre, silently."""

        self.cover(centre + 1)
        while not gather(self.graph.arrays, self.arrays, group, centre):
            self._grow_entries()
        take_as_told(self.arrays)

    def dissolve(self, group: int, centre: int) -> None:

        dissolve(self.graph.arrays, self.arrays, group, centre)
        self.give_back(group)

    def clear(self, group: int) -> None:
        """A group without a centre goes."""

        clear(self.arrays, group)
        self.give_back(group)

    def take_over(self, log: Log) -> None:
        """Takes edges over while there are no groups."""
        self.graph.take_over(log)
        self.cover(self.graph.vertices)

    def value(self, group: int) -> float:
        return float(self.arrays.values[group])

    def follow(self, log: Log, selections: Selections, asked: Asked) -> Said:
        """Takes both over; what passed a cut."""

        log, selections = fixed_log(log), Selections._make(fixed(column, np.int32) for column in selections)
        self.cover(1 + max((int(column.max()) for column in (log.subject, log.object) if len(column)), default=-1))
        self.cover(1 + int(selections.vertex.max(initial=-1)))
        self.arrays.counters[[ROW, PICK, SAID]] = 0
        while not follow(self.graph.arrays, self.arrays, log, selections, asked, self._sayings):
            self._grow()
        return self._said()

    def _said(self) -> Said:
        said = int(self.arrays.counters[SAID])
        rows = self._sayings.rows[:said]
        return Said(rows[:, STEP].copy(), rows[:, SIMPLE_GRAPH_INSTANCE].copy(), self._sayings.values[:said].copy())

    # --- room -------------------------------------------------------------------------------------------------------

    def _grow(self) -> None:
        """Makes room wherever it might be short."""
        self.graph.grow()
        counters, sayings = self.arrays.counters, self._sayings
        if counters[SAID] + counters[CHANGED] > len(sayings.rows):
            rows = more(int(counters[SAID] + counters[CHANGED]))
            self._sayings = Sayings(enlarged(sayings.rows, rows), enlarged(sayings.values, rows))
        self._grow_entries()

    def _grow_entries(self) -> None:
        """Room for as many entries as a kernel said it needs, at least twice as many as there were if it is short."""
        arrays, needed = self.arrays, int(self.arrays.counters[LIVE] + self.arrays.counters[NEEDED])
        if needed > len(arrays.entries):
            least = 1 << (needed - 1).bit_length()
            size = first_room(max(2 * len(arrays.entries), least), least)
            entries, queue, orphans = (enlarged(each, size) for each in (arrays.entries, arrays.queue, arrays.orphans))
            self.arrays = _rehashed(arrays._replace(entries=entries, queue=queue, orphans=orphans), 2 * size)

    def _cover_groups(self, number: int) -> None:
        arrays = self.arrays
        if number > len(arrays.groups):
            rows = more(number)
            names = ("groups", "values", "changed")
            self.arrays = arrays._replace(**{name: enlarged(getattr(arrays, name), rows) for name in names})


def _empty(hops: int, vertices: int) -> Groups:
    counters, rows = np.zeros(COUNTERS, np.int64), first_room(_LEAST)
    counters[HOPS] = hops
    return Groups(
        keys=np.zeros(2 * rows, np.int64),
        numbers=np.empty(2 * rows, np.int32),
        entries=np.empty((rows, ENTRY_COLUMNS), np.int32),
        heads=np.zeros((vertices, 2), np.int32),
        lengths=np.zeros((vertices, 2), np.int32),
        groups=np.zeros((rows, GROUP_COLUMNS), np.int64),
        values=np.zeros(rows),
        queue=np.empty(rows, np.int32),
        orphans=np.empty((rows, 2), np.int32),
        changed=np.empty(rows, np.int32),
        counters=counters,
    )


def _rehashed(arrays: Groups, places: int) -> Groups:
    from heliograph.watch.metrics.simple_graph_kernels import rehash

    keys, numbers = np.zeros(places, np.int64), np.empty(places, np.int32)
    rehash(fixed(arrays.keys, np.int64), fixed(arrays.numbers, np.int32), keys, numbers)
    return arrays._replace(keys=keys, numbers=numbers)


# ----------------------------------------------------------------------------------------------------------------------
# hg:density(): how dense what a query selects is.
#
# Directed simple edges over n(n - 1), of the n vertices that are bound in any solution; loops do not count, and 0 is
# the density of less than two vertices. Exact. A selected vertex counts whether an edge touches it or not.
#
# Solutions come and go as edges do, and in the same steps. So beside the log stands what they bind: rows (step,
# instance, vertex, times), `times` more solutions of an instance's query binding a vertex, or fewer. A vertex is
# selected while some solution binds it: whoever hands over solutions need not know whether another one binds the
# vertex too. The law: at the end of each step the value is that of the edges and of the vertices selected by then;
# within a step neither order nor detours matter.
# ----------------------------------------------------------------------------------------------------------------------


def selections(rows: Iterable[tuple[int, int, int, int]]) -> Selections:
    """Rows (step, instance, vertex, times) in order of step, as columns."""
    table = np.array(list(rows), np.int32).reshape(-1, len(Selections._fields))
    return Selections._make(np.ascontiguousarray(table[:, column]) for column in range(table.shape[1]))


def nothing_selected() -> Selections:
    return selections(())


class SelectionDensity:
    """The density of sets of vertices that change. An instance is one such set, empty at first."""

    def __init__(self) -> None:
        self._grouping = Grouping()
        self._cutting = Cutting()

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        """Somebody asks for a set of its own, with these vertices selected once each."""
        instance = self._grouping.new_group()
        self._cutting.watch(instance, points)
        self.select(instance, vertices, ())
        return instance

    def watch_again(self, instance: int, points: Points) -> None:
        """Somebody else asks for the same set."""
        self._cutting.watch(instance, points)

    def unwatch(self, instance: int, points: Points) -> None:
        """The set goes with the last who watches it."""
        self._cutting.unwatch(instance, points)
        if not self._cutting.watches(instance):
            self._grouping.clear(instance)

    def watch_all(self, points: Points) -> None:
        """Somebody asks for every set there is or will be."""
        self._cutting.watch_all(points)

    def unwatch_all(self, points: Points) -> None:
        self._cutting.unwatch_all(points)

    def select(self, instance: int, added: Sequence[int], removed: Sequence[int]) -> None:
        """Vertices that solutions bind and no longer bind, silently; one that several bind is named as often."""
        rows = [*((0, instance, vertex, 1) for vertex in added), *((0, instance, vertex, -1) for vertex in removed)]
        self._grouping.follow(_no_edges(), selections(rows), Cutting().asked())

    def follow(self, log: Log, selected: Selections | None = None) -> Said:
        """Takes changes of edges over, and what came to be selected in the same steps."""
        return self._grouping.follow(log, selected or nothing_selected(), self._cutting.asked())

    def value(self, instance: int) -> float:
        return self._grouping.value(instance)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        """Nothing: whoever restores the solutions selects what they bind."""
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._grouping.follow(log, nothing_selected(), Cutting().asked())


def _no_edges() -> Log:
    return Log(*(np.zeros(0, kind) for kind in (np.int32, np.uint8, *[np.int32] * 3, np.float64)))


# ----------------------------------------------------------------------------------------------------------------------
# hg:density(x, hops): how dense the surroundings of a vertex are.
#
# Directed simple edges over n(n - 1), of the n vertices that lie within some hops of x in either direction, x
# included; loops do not count, and 0 is the density of less than two vertices. Exact.
#
# Every watched vertex is the centre of a group that is kept as edges come and go: see kernels.metric_density. The
# law: after each step a group holds exactly the vertices within its hops, and counts exactly the arcs between them.
# An edge costs a look-up for each group that has one of its ends nearer than the last hop, and for each of the fewer
# groups that have one of its ends there; what joins or leaves a group costs its neighbours.
# ----------------------------------------------------------------------------------------------------------------------


class NeighbourhoodDensity:
    """The density of what lies within `hops` of a vertex. An instance is the vertex."""

    def __init__(self, hops: int) -> None:
        self._grouping = Grouping(hops)
        self._cutting = Cutting()
        self._groups: dict[int, int] = {}  # by centre
        self._gathered = 0  # while all are watched: every vertex below has a group

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        (centre,) = vertices
        self._gather(centre)
        self._cutting.watch(centre, points)
        return centre

    def unwatch(self, instance: int, points: Points) -> None:
        self._cutting.unwatch(instance, points)
        self._forget_unwatched([instance])

    def watch_all(self, points: Points) -> None:
        self._cutting.watch_all(points)
        self._gather_all()

    def unwatch_all(self, points: Points) -> None:
        self._cutting.unwatch_all(points)
        self._forget_unwatched(list(self._groups))

    def follow(self, log: Log) -> Said:
        if len(log.step):
            self._grouping.cover(1 + int(max(log.subject.max(), log.object.max())))
        if self._cutting.watches_all:
            self._gather_all()
        return self._grouping.follow(log, nothing_selected(), self._cutting.asked())

    def value(self, instance: int) -> float:
        """Of a vertex that nobody watches it is worked out for the moment."""
        is_watched = instance in self._groups
        self._gather(instance)
        value = self._grouping.value(self._groups[instance])
        if not is_watched:
            self._dissolve(instance)
        return value

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        """Groups are gathered around their centres when all edges are there, which is less than to follow each."""
        centres = list(self._groups)
        for centre in centres:
            self._dissolve(centre)
        self._grouping.take_over(log)
        for centre in centres:
            self._gather(centre)

    # --- groups -----------------------------------------------------------------------------------------------------

    def _gather(self, centre: int) -> None:
        if centre not in self._groups:
            self._groups[centre] = self._grouping.new_group(centre)
            self._grouping.gather(self._groups[centre], centre)

    def _gather_all(self) -> None:
        """A group around every vertex there can be."""
        vertices = self._grouping.graph.vertices
        for centre in range(self._gathered, vertices):
            self._gather(centre)
        self._gathered = vertices

    def _forget_unwatched(self, centres: Sequence[int]) -> None:
        if not self._cutting.watches_all:
            self._gathered = 0
            for centre in centres:
                if not self._cutting.watches(centre):
                    self._dissolve(centre)

    def _dissolve(self, centre: int) -> None:
        self._grouping.dissolve(self._groups.pop(centre), centre)
