"""`hg:density(x, hops)` and `hg:density()`: how dense the surroundings of a vertex are, or what a query selects.

Directed simple edges over n(n - 1), of the n vertices that lie within some hops of x in either direction, x included;
or of the n vertices that are bound in any solution, whether an edge touches them or not. Loops do not count, and 0 is
the density of less than two vertices. Exact.

A *group* is a set of vertices whose induced subgraph is measured: what lies within some hops of a centre, or what
solutions select. An *entry* says that a group holds a vertex. Entries of a vertex are listed by whether its neighbours
must be in the group too: INNER ones (nearer than the last hop) and OUTER ones (at the last hop, or selected).

The laws.

- A group around a centre knows the depth of each vertex and how many of its neighbours lie one step nearer: a vertex is
  in it while it is the centre or has such a neighbour. After each step it holds exactly the vertices within its hops,
  and counts exactly the arcs between them.
- Solutions come and go as edges do, and in the same steps. So beside the log stands what they bind: `times` more
  solutions of an instance's query binding a vertex, or fewer. A vertex is selected while some solution binds it.
- At the end of each step the value is that of the edges and of the vertices selected by then; within a step neither
  order nor detours matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int32, int64

from heliograph.compiled.arrays import INT32S, named
from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.hashmap import find_key, pair_key, vacate
from heliograph.compiled.records import ADDRESS, Struct, array, more, number, part, run, view, wanted
from heliograph.watch.layout import Floats, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    ASKED,
    BACKWARD,
    FORWARD,
    LOG,
    NEW_ARC,
    NEW_PAIR,
    MetricReport,
    SimpleGraph,
    add_edge,
    can_report,
    drop_edge,
    has_room,
    is_reported,
    list_length,
    list_start,
    rehash_into,
    report_at,
    write_report,
)
from heliograph.watch.metrics.thresholds import (
    CAME,
    NO_THRESHOLDS,
    WENT,
    Log,
    Measure,
    Points,
    Reported,
    Saved,
    ThresholdLists,
    fixed,
    fixed_log,
)

GROUP, VERTEX, DEPTH, COUNT, NEXT, BEFORE = range(6)  # of entries; NEXT and BEFORE are 1 + an entry of the same list;
# COUNT: neighbours one step nearer, or how often a vertex is selected
PENDING = -1  # in COUNT: the vertex has joined, and its arcs are not counted yet
NOBODY = -1  # in GROUP: a free entry
INNER, OUTER = range(2)  # of heads and lengths
INSTANCE, SIZE, ARCS, TOUCHED = range(4)  # of groups
READY, SETTLING, REPORTING = range(3)  # phases of a row
FOLLOW, GATHER, DISSOLVE, CLEAR = range(4)  # operations
_LEAST = 16  # entries of a new array; a power of two
_FAR = np.int64(1) << 31


class Selections(NamedTuple):
    """How vertices come to be selected and go, in order of step: `times` more solutions bind one, or fewer."""

    step: Int32s
    instance: Int32s
    vertex: Int32s
    times: Int32s


SELECTIONS: Any = named(Selections, INT32S, INT32S, INT32S, INT32S)


def selections(rows: Iterable[tuple[int, int, int, int]]) -> Selections:
    """Rows (step, instance, vertex, times) in order of step, as columns."""
    table = np.array(list(rows), np.int32).reshape(-1, len(Selections._fields))
    return Selections._make(fixed(column, np.int32) for column in table.T)


class VertexGroups(Struct):
    """A growing graph and groups of its vertices; the table has twice as many places as there is room for entries."""

    graph: SimpleGraph = part(SimpleGraph)
    hops: int = number()  # how far a group reaches from its centre, if it has one
    keys: Int64s = array(int64, "slot")  # a power of two: 1 + (group << 32 | vertex); 0 is free
    numbers: Int32s = array(int32, "slot")  # beside the keys: the number of the entry
    entries: Int32s = array(int32, "entry", 6)
    live: int = number()  # entries in use
    given: int = number()  # numbers of entries given out
    free: int = number()  # 1 + the first free number, NEXT of it the next
    entries_wanted: int = wanted("entry")
    queue: Int32s = array(int32, "entry")  # entries whose depth is new, or that lost their last nearer neighbour
    head: int = number()  # what waits in the queue: from here
    tail: int = number()  # up to here
    orphans: Int32s = array(int32, "entry", 2)  # (group, vertex) of those that lost their place
    orphan: int = number()  # the next of them
    orphaned: int = number()  # how many there are
    heads: Int32s = array(int32, "vertex", 2)  # 1 + the first of its INNER and of its OUTER entries
    lengths: Int32s = array(int32, "vertex", 2)  # how many there are of each
    groups: Int64s = array(int64, "group", 4)
    values: Floats = array(float64, "group")  # the density at the end of the last step
    changed: Int32s = array(int32, "group")  # groups touched in this step
    changes: int = number()
    pick: int = number()  # the next row of the selections
    phase: int = number()

    def __init__(self, hops: int = 0) -> None:
        graph, rows = SimpleGraph(), first_room(_LEAST)
        super().__init__({"graph": graph}, slot=2 * rows, entry=rows, vertex=graph.vertices, group=rows)
        self.hops, self._report, self._free, self._given = hops, MetricReport(), list[int](), 0

    def make_room(self) -> None:
        """Room for as many entries as are wanted, at least twice as many as there were."""
        self.graph.make_room()
        if self.entries_wanted > len(self.entries):
            least = 1 << (self.entries_wanted - 1).bit_length()
            size = first_room(max(2 * len(self.entries), least), least)
            self.resize("entry", size)
            rehash_into(self, 2 * size)

    def cover(self, vertices: int) -> None:
        """Makes ids below `vertices` valid members of groups."""
        self.graph.cover(vertices)
        if self.graph.vertices > len(self.heads):
            self.resize("vertex", self.graph.vertices)

    def new_group(self, instance: int | None = None, *, gather: bool = False) -> int:
        """A group without vertices, or with what lies around its instance; its own number if it is given none."""
        if self._free:
            group = self._free.pop()
        else:
            group, self._given = self._given, self._given + 1
            if self._given > len(self.groups):
                self.resize("group", more(self._given))
        self.groups[group] = 0
        self.groups[group, INSTANCE] = group if instance is None else instance
        self.values[group] = 0.0
        if gather and instance is not None:
            self.cover(instance + 1)
            self._run(GATHER, group, instance)
        return group

    def drop_group(self, group: int, centre: int | None = None) -> None:
        self._run(CLEAR if centre is None else DISSOLVE, group, centre or 0)
        self._free.append(group)

    def _run(self, op: int, group: int, centre: int) -> None:
        run(keep_groups, op, self, _NO_LOG, _NOTHING_SELECTED, NO_THRESHOLDS, self._report, group, centre)

    def follow(self, log: Log, selected: Selections, asked: ThresholdLists) -> Reported:
        """Takes both over; what passed a threshold."""
        log = fixed_log(log)
        self.graph.cover_log(log)
        self.cover(1 + int(selected.vertex.max(initial=-1)))
        self.pick = 0
        run(keep_groups, FOLLOW, self, log, selected, asked, self._report.begin(), 0, 0)
        return self._report.reported()


vertex_groups_at = view(VertexGroups)


# --- entries: which group holds which vertex -------------------------------------------------------------------------


@kernel(inline=True)
def find_entry(groups: VertexGroups, group: Any, vertex: Any) -> Any:
    """The entry that says that a group holds a vertex, or -1."""
    slot = find_key(groups.keys, pair_key(group, vertex))
    return np.int64(groups.numbers[slot]) if groups.keys[slot] != 0 else np.int64(-1)


@kernel(inline=True)
def has_entries(groups: VertexGroups, needed: Any) -> Any:
    """Whether so many entries are free."""
    groups.entries_wanted = groups.live + needed
    return groups.entries_wanted <= len(groups.entries)


@kernel()
def make_entry(groups: VertexGroups, group: Any, vertex: Any, depth: Any) -> Any:
    """A vertex joins a group, PENDING; there is room. The number of its entry."""
    entry = groups.free - 1
    if entry < 0:
        entry = groups.given
        groups.given = entry + 1
    else:
        groups.free = groups.entries[entry, NEXT]
    groups.live += 1
    groups.entries[entry, GROUP], groups.entries[entry, VERTEX] = group, vertex
    groups.entries[entry, DEPTH], groups.entries[entry, COUNT] = depth, PENDING
    key = pair_key(group, vertex)
    slot = find_key(groups.keys, key)
    groups.keys[slot], groups.numbers[slot] = key, entry
    _link(groups, entry)
    return entry


@kernel()
def free_entry(groups: VertexGroups, entry: Any) -> None:
    """A vertex leaves a group."""
    key = pair_key(groups.entries[entry, GROUP], groups.entries[entry, VERTEX])
    vacate(groups.keys, groups.numbers, find_key(groups.keys, key))
    _unlink(groups, entry)
    groups.entries[entry, GROUP] = NOBODY
    groups.entries[entry, NEXT] = groups.free
    groups.free = entry + 1
    groups.live -= 1


@kernel()
def _set_depth(groups: VertexGroups, entry: Any, depth: Any) -> None:
    _unlink(groups, entry)
    groups.entries[entry, DEPTH] = depth
    _link(groups, entry)


@kernel(inline=True)
def _list_of(groups: VertexGroups, entry: Any) -> Any:
    return INNER if groups.entries[entry, DEPTH] < groups.hops else OUTER


@kernel(inline=True)
def _link(groups: VertexGroups, entry: Any) -> None:
    vertex, which = groups.entries[entry, VERTEX], _list_of(groups, entry)
    following = groups.heads[vertex, which]
    groups.entries[entry, NEXT], groups.entries[entry, BEFORE] = following, 0
    if following:
        groups.entries[following - 1, BEFORE] = entry + 1
    groups.heads[vertex, which] = entry + 1
    groups.lengths[vertex, which] += 1


@kernel(inline=True)
def _unlink(groups: VertexGroups, entry: Any) -> None:
    vertex, which = groups.entries[entry, VERTEX], _list_of(groups, entry)
    following, before = groups.entries[entry, NEXT], groups.entries[entry, BEFORE]
    if before:
        groups.entries[before - 1, NEXT] = following
    else:
        groups.heads[vertex, which] = following
    if following:
        groups.entries[following - 1, BEFORE] = before
    groups.lengths[vertex, which] -= 1


# --- arcs inside groups ----------------------------------------------------------------------------------------------
#
# An arc counts for the groups that hold both its ends. Those are met without looking at every group: where one end is
# INNER, from that end's list; where both are OUTER, from the shorter of two lists. Most arcs of a vertex with many
# neighbours lie at the rim of the groups that hold it, where nothing follows from them but the count.
#
# A pair that comes may bring its farther end nearer to a centre, or into the group: that spreads from there like a
# breadth-first search, in a queue. A pair that goes takes a nearer neighbour from its farther end. A vertex that loses
# the last one is an *orphan*, and may make orphans of those behind it; all orphans leave their groups and then join
# again wherever a neighbour is left. What is spread costs the neighbours of vertices whose depth changes, nothing else.


@kernel(inline=True)
def _push(groups: VertexGroups, entry: Any) -> None:
    groups.queue[groups.tail] = entry
    groups.tail += 1


@kernel(inline=True)
def _count_arcs(groups: VertexGroups, group: Any, arcs: Any) -> None:
    """A group has so many arcs more; it is looked at at the end of the step."""
    groups.groups[group, ARCS] += arcs
    if groups.groups[group, TOUCHED] == 0:
        groups.groups[group, TOUCHED] = 1
        groups.changed[groups.changes] = group
        groups.changes += 1


@kernel()
def _meet(groups: VertexGroups, one: Any, other: Any, arcs: Any, pair: Any) -> None:
    """An arc between two vertices comes (1) or goes (-1), or neither (0); and so does their pair."""
    _meet_inner(groups, one, other, arcs, pair, True)
    _meet_inner(groups, other, one, arcs, pair, False)
    if groups.lengths[one, OUTER] > groups.lengths[other, OUTER]:
        one, other = other, one
    entry = np.int64(groups.heads[one, OUTER]) - 1
    while entry >= 0:  # the groups that have both ends OUTER: neither is nearer
        group = groups.entries[entry, GROUP]
        found = find_entry(groups, group, other)
        if found >= 0 and groups.entries[found, DEPTH] == groups.hops:
            _count_arcs(groups, group, arcs)
        entry = np.int64(groups.entries[entry, NEXT]) - 1


@kernel()
def _meet_inner(groups: VertexGroups, near: Any, far: Any, arcs: Any, pair: Any, first: Any) -> None:
    """The groups that have one end INNER; where both are, each group is met from its nearer end, at first or at last.

    The list of the nearer end stays as it is meanwhile. A farther end waits if the pair, which leads from a nearer
    vertex to its depth, matters to it.
    """
    entry = np.int64(groups.heads[near, INNER]) - 1
    while entry >= 0:
        group, depth = groups.entries[entry, GROUP], groups.entries[entry, DEPTH]
        other = find_entry(groups, group, far)
        if other < 0:
            _push(groups, make_entry(groups, group, far, depth + 1))
        elif depth + (0 if first else 1) <= groups.entries[other, DEPTH]:
            _count_arcs(groups, group, arcs)
            if pair > 0 and groups.entries[other, DEPTH] > depth + 1:
                _set_depth(groups, other, depth + 1)
                _push(groups, other)
            elif groups.entries[other, DEPTH] == depth + 1:
                groups.entries[other, COUNT] += pair
                if groups.entries[other, COUNT] == 0:
                    _push(groups, other)
        entry = np.int64(groups.entries[entry, NEXT]) - 1


# --- vertices that join -----------------------------------------------------------------------------------------


@kernel()
def settle(graph: SimpleGraph, groups: VertexGroups) -> Any:
    """Works the queue off, and lets orphans join again; whether there was room. If not, it goes on next time."""
    while True:
        while groups.head < groups.tail:
            entry = np.int64(groups.queue[groups.head])
            leads_on = groups.entries[entry, DEPTH] < groups.hops
            if leads_on and not has_entries(groups, list_length(graph.undirected, groups.entries[entry, VERTEX])):
                return False
            _settle_entry(graph, groups, entry)
            groups.head += 1
        groups.head = groups.tail = 0
        if groups.orphan == groups.orphaned:
            groups.orphan = groups.orphaned = 0
            return True
        if not has_entries(groups, 1):
            return False
        _return_orphan(graph, groups)
        groups.orphan += 1


@kernel()
def _settle_entry(graph: SimpleGraph, groups: VertexGroups, entry: Any) -> None:
    """A vertex at its new depth: what lies behind it is drawn nearer, and if it has joined its arcs are counted.

    What waits in the queue counts its nearer neighbours itself, when it is its turn: all of them have had theirs.
    """
    group, depth = groups.entries[entry, GROUP], groups.entries[entry, DEPTH]
    has_joined, nearer, arcs = groups.entries[entry, COUNT] == PENDING, 0, 0
    start = list_start(graph.undirected, groups.entries[entry, VERTEX])
    for place in range(start, start + list_length(graph.undirected, groups.entries[entry, VERTEX])):
        other = find_entry(groups, group, graph.undirected.pool[place])
        if other < 0:
            if depth < groups.hops:
                _push(groups, make_entry(groups, group, graph.undirected.pool[place], depth + 1))
            continue
        is_counted = groups.entries[other, COUNT] != PENDING
        if has_joined and is_counted:
            arcs += _arcs(graph, graph.undirected.owners[place])
        if groups.entries[other, DEPTH] == depth - 1:
            nearer += 1
        elif groups.entries[other, DEPTH] > depth + 1:
            _set_depth(groups, other, depth + 1)
            _push(groups, other)
        elif groups.entries[other, DEPTH] == depth + 1 and is_counted:
            groups.entries[other, COUNT] += 1
    groups.entries[entry, COUNT] = nearer
    if has_joined:
        groups.groups[group, SIZE] += 1
        _count_arcs(groups, group, arcs)


@kernel(inline=True)
def _arcs(graph: SimpleGraph, pair: Any) -> Any:
    """In how many directions edges lead between a pair."""
    return (1 if graph.pairs[pair, FORWARD] else 0) + (1 if graph.pairs[pair, BACKWARD] else 0)


# --- vertices that leave ----------------------------------------------------------------------------------------


@kernel()
def _orphan(graph: SimpleGraph, groups: VertexGroups) -> None:
    """Those in the queue have no nearer neighbour: they leave, with all that hung on them, and are to join again."""
    _spread_orphans(graph, groups)
    for i in range(groups.tail):
        entry = np.int64(groups.queue[i])
        groups.orphans[i, GROUP] = groups.entries[entry, GROUP]
        groups.orphans[i, VERTEX] = groups.entries[entry, VERTEX]
        _leave(graph, groups, entry)
    groups.orphaned = groups.tail
    groups.head = groups.tail = 0


@kernel()
def _spread_orphans(graph: SimpleGraph, groups: VertexGroups) -> None:
    while groups.head < groups.tail:
        entry = np.int64(groups.queue[groups.head])
        group, behind = groups.entries[entry, GROUP], groups.entries[entry, DEPTH] + 1
        start = list_start(graph.undirected, groups.entries[entry, VERTEX])
        for place in range(start, start + list_length(graph.undirected, groups.entries[entry, VERTEX])):
            other = find_entry(groups, group, graph.undirected.pool[place])
            if other >= 0 and groups.entries[other, DEPTH] == behind:
                groups.entries[other, COUNT] -= 1
                if groups.entries[other, COUNT] == 0:
                    _push(groups, other)
        groups.head += 1


@kernel()
def _leave(graph: SimpleGraph, groups: VertexGroups, entry: Any) -> None:
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
def _return_orphan(graph: SimpleGraph, groups: VertexGroups) -> None:
    """An orphan joins again, behind the nearest of its neighbours; or comes nearer, if it is back already."""
    i = groups.orphan
    group, vertex, depth = groups.orphans[i, GROUP], groups.orphans[i, VERTEX], _FAR
    start = list_start(graph.undirected, vertex)
    for place in range(start, start + list_length(graph.undirected, vertex)):
        other = find_entry(groups, group, graph.undirected.pool[place])
        if other >= 0:
            depth = min(depth, np.int64(groups.entries[other, DEPTH]) + 1)
    entry = find_entry(groups, group, vertex)
    if entry < 0 and depth <= groups.hops:
        _push(groups, make_entry(groups, group, vertex, depth))
    elif entry >= 0 and depth < groups.entries[entry, DEPTH]:
        _set_depth(groups, entry, depth)
        _push(groups, entry)


# --- a log and selections --------------------------------------------------------------------------------------------
#
# A row is gone on with where room was lacking: READY, nothing of it is done; SETTLING, the graph has changed and
# groups are catching up; REPORTING, what is left is to look at the groups that the step touched.


@kernel((int64, ADDRESS, LOG, SELECTIONS, ASKED, ADDRESS, int64, int64))
def keep_groups(
    op: Any,
    address: Any,
    log: Log,
    selections: Selections,
    asked: ThresholdLists,
    report_address: Any,
    group: Any,
    centre: Any,
) -> Any:
    """One of the operations; whether it is done. If not, room is lacking."""
    groups, report = vertex_groups_at(address), report_at(report_address)
    graph = groups.graph
    if op == FOLLOW:
        return _follow(graph, groups, log, selections, asked, report)
    if op == GATHER:  # the group around a centre, from when it was begun; what changes counts as reported
        if find_entry(groups, group, centre) < 0:
            if not has_entries(groups, 1):
                return False
            groups.queue[0] = make_entry(groups, group, centre, 0)
            groups.tail = 1
        if not settle(graph, groups):
            return False
        for i in range(groups.changes):
            changed = groups.changed[i]
            groups.groups[changed, TOUCHED] = 0
            groups.values[changed] = _density(groups, changed)
        groups.changes = 0
        return True
    if op == DISSOLVE:  # the group around a centre goes
        _push(groups, find_entry(groups, group, centre))
        _spread_orphans(graph, groups)
        for i in range(groups.tail):
            free_entry(groups, np.int64(groups.queue[i]))
        groups.head = groups.tail = 0
    if op == CLEAR:  # a group without a centre goes: its entries are looked for among all
        for entry in range(groups.given):
            if groups.entries[entry, GROUP] == group:
                free_entry(groups, np.int64(entry))
    groups.groups[group, SIZE] = groups.groups[group, ARCS] = 0
    groups.values[group] = 0.0
    return True


@kernel(inline=True)
def _density(groups: VertexGroups, group: Any) -> Any:
    size = np.float64(groups.groups[group, SIZE])
    return groups.groups[group, ARCS] / (size * (size - 1.0)) if size >= 2.0 else 0.0


@kernel()
def _follow(
    graph: SimpleGraph,
    groups: VertexGroups,
    log: Log,
    selections: Selections,
    asked: ThresholdLists,
    report: MetricReport,
) -> Any:
    """Goes on with the rows of both; whether they are done. In a step, edges are before selections."""
    while groups.phase != READY or report.row < len(log.step) or groups.pick < len(selections.step):
        row, pick = report.row, groups.pick
        if groups.phase == READY:
            if row < len(log.step) and (pick == len(selections.step) or log.step[row] <= selections.step[pick]):
                inner = groups.lengths[log.subject[row], INNER] + groups.lengths[log.object[row], INNER]
                if not has_room(graph) or not has_entries(groups, inner):  # the other end may join each of these
                    return False
                _change_edge(graph, groups, log, row)
                report.row = row = row + 1
            else:
                if not has_entries(groups, 1):
                    return False
                _select(graph, groups, selections, pick)
                groups.pick = pick = pick + 1
            groups.phase = SETTLING
        step = np.int64(log.step[row - 1]) if row else np.int64(-1)  # of the last row that was done
        step = max(step, np.int64(selections.step[pick - 1])) if pick else step
        if groups.phase == SETTLING:
            if not settle(graph, groups):
                return False
            ends = row == len(log.step) or log.step[row] != step
            ends = ends and (pick == len(selections.step) or selections.step[pick] != step)
            groups.phase = REPORTING if ends else READY
        if groups.phase == REPORTING:
            if not can_report(report, groups.changes):
                return False
            for i in range(groups.changes):
                group = groups.changed[i]
                groups.groups[group, TOUCHED] = 0
                value, instance = _density(groups, group), groups.groups[group, INSTANCE]
                if is_reported(asked, instance, groups.values[group], value):
                    write_report(report, step, instance, value)
                groups.values[group] = value
            groups.changes = 0
            groups.phase = READY
    return True


@kernel()
def _change_edge(graph: SimpleGraph, groups: VertexGroups, log: Log, row: Any) -> None:
    one, other, sign, changed = np.int64(log.subject[row]), np.int64(log.object[row]), 1, 0
    if log.change[row] == CAME:
        changed = add_edge(graph, one, other)
    elif log.change[row] == WENT:
        changed, sign = drop_edge(graph, one, other), -1
    if changed:
        _meet(groups, one, other, sign if changed & NEW_ARC else 0, sign if changed & NEW_PAIR else 0)
        if sign < 0 and groups.tail:
            _orphan(graph, groups)


@kernel()
def _select(graph: SimpleGraph, groups: VertexGroups, selections: Selections, pick: Any) -> None:
    """A vertex is selected more often or less; there is room for it to join."""
    group, vertex = selections.instance[pick], selections.vertex[pick]
    entry = find_entry(groups, group, vertex)
    if entry < 0:
        entry = make_entry(groups, group, vertex, 0)
        groups.queue[0], groups.tail = entry, 1
        settle(graph, groups)  # a selection reaches no further: depth 0 is the last hop, and that needs no room
    groups.entries[entry, COUNT] += selections.times[pick]
    if groups.entries[entry, COUNT] == 0:
        _leave(graph, groups, entry)


# --- measures --------------------------------------------------------------------------------------------------------

_NO_LOG, _NOTHING_SELECTED = Log.empty(), selections(())


class SelectionDensity(Measure):
    """The density of sets of vertices that change. An instance is one such set, empty at first."""

    def __init__(self) -> None:
        super().__init__()
        self._groups = VertexGroups()

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        """Somebody asks for a set of its own, with these vertices selected once each."""
        instance = self._groups.new_group()
        self.thresholds.watch(instance, points)
        self.select(instance, vertices, ())
        return instance

    def watch_again(self, instance: int, points: Points) -> None:
        """Somebody else asks for the same set."""
        self.thresholds.watch(instance, points)

    def unwatch(self, instance: int, points: Points) -> None:
        """The set goes with the last that watches it."""
        self.thresholds.unwatch(instance, points)
        if not self.thresholds.watches(instance):
            self._groups.drop_group(instance)

    def select(self, instance: int, added: Sequence[int], removed: Sequence[int]) -> None:
        """Vertices that solutions bind and no longer bind, silently; one that several bind is named as often."""
        rows = [*((0, instance, vertex, 1) for vertex in added), *((0, instance, vertex, -1) for vertex in removed)]
        self._groups.follow(_NO_LOG, selections(rows), NO_THRESHOLDS)

    def follow(self, log: Log, selected: Selections | None = None) -> Reported:
        """Takes changes of edges over, and what came to be selected in the same steps."""
        return self._groups.follow(log, selected or _NOTHING_SELECTED, self.thresholds.asked())

    def value(self, instance: int) -> float:
        return float(self._groups.values[instance])

    def restore(self, log: Log, saved: Saved) -> None:
        """Selections are not saved: the caller, which restores the solutions, selects what they bind."""
        self._groups.follow(log, _NOTHING_SELECTED, NO_THRESHOLDS)


class NeighbourhoodDensity(Measure):
    """The density of what lies within `hops` of a vertex. An instance is the vertex.

    An edge costs a look-up for each group that has one of its ends nearer than the last hop, and for each of the fewer
    groups that have one of its ends there; what joins or leaves a group costs its neighbours.
    """

    def __init__(self, hops: int) -> None:
        super().__init__()
        self._groups = VertexGroups(hops)
        self._by_centre: dict[int, int] = {}
        self._gathered = 0  # while all are watched: every vertex below has a group

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        self._gather(vertices[0])
        return super().watch(vertices, points)

    def unwatch(self, instance: int, points: Points) -> None:
        super().unwatch(instance, points)
        self._forget_unwatched([instance])

    def watch_all(self, points: Points) -> None:
        super().watch_all(points)
        self._gather_all()

    def unwatch_all(self, points: Points) -> None:
        super().unwatch_all(points)
        self._forget_unwatched(list(self._by_centre))

    def follow(self, log: Log) -> Reported:
        self._groups.graph.cover_log(log)
        if self.thresholds.watches_all:
            self._gather_all()
        return self._groups.follow(log, _NOTHING_SELECTED, self.thresholds.asked())

    def value(self, instance: int) -> float:
        """Of a vertex that nobody watches it is worked out for the moment."""
        is_watched = instance in self._by_centre
        self._gather(instance)
        value = float(self._groups.values[self._by_centre[instance]])
        if not is_watched:
            self._dissolve(instance)
        return value

    def restore(self, log: Log, saved: Saved) -> None:
        """Groups are gathered around their centres when all edges are there, which is less than to follow each."""
        centres = list(self._by_centre)
        for centre in centres:
            self._dissolve(centre)
        self._groups.graph.take_over(log)
        for centre in centres:
            self._gather(centre)

    def _gather(self, centre: int) -> None:
        if centre not in self._by_centre:
            self._by_centre[centre] = self._groups.new_group(centre, gather=True)

    def _gather_all(self) -> None:
        """A group around every vertex there can be."""
        vertices = self._groups.graph.vertices
        for centre in range(self._gathered, vertices):
            self._gather(centre)
        self._gathered = vertices

    def _forget_unwatched(self, centres: Sequence[int]) -> None:
        if not self.thresholds.watches_all:
            self._gathered = 0
            for centre in centres:
                if not self.thresholds.watches(centre):
                    self._dissolve(centre)

    def _dissolve(self, centre: int) -> None:
        self._groups.drop_group(self._by_centre.pop(centre), centre)
