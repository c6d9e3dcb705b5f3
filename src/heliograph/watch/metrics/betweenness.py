"""`hg:betweenness(x)`: the share of shortest paths between others that lead through a vertex, exact or sampled.

Up to a limit of vertices the value is exact; above, it is estimated and carries its interval. The limit is passed
upwards when there are more vertices at the end of a step, and downwards again when fewer than three quarters are left,
so that a graph about that size is not worked out anew again and again.

The laws.

- Whatever way values are kept, only sums are; a value is a sum times one factor for all vertices. A step that changes
  the number of vertices changes every value, and costs one multiplication each. Values are rounded to 12 decimals: the
  sums of a graph differ in less by the order in which it came, and equal graphs are to have equal values.
- Exact: the sum of a vertex is, over all pairs (s, t) of others, the share of shortest paths from s to t that lead
  through it. A change of an arc changes what is due to the pairs for which it matters and nothing else: that is swept
  off with the old distances and counts, and on again with the new ones. No dependency is stored. Tables are kept
  between *slots*: vertices with an arc have one each, from 0, so that they stay small whatever the term ids are. A slot
  without a vertex is one without arcs: nothing leads there, and its sum is 0. Ten bytes for every pair of slots: 160 MB
  at 4,000 vertices.
- Sampled: a *sample* is a pair of vertices with one of its shortest paths; what is asked of all of them is how many
  lead through a vertex. At the end of any one step, with probability at least 1 − δ the values of all vertices at once
  are off by at most ε. For the share of samples that lead through a vertex is a mean of independent draws of 0 or 1, so
  by Hoeffding's inequality it is off by ε' or more with probability at most 2 exp(−2 r ε'²); over n vertices that adds
  up to δ when r = ln(2n / δ) / 2ε'². A bound by the graph's diameter would need fewer samples, but a bound on the
  diameter of a changing directed graph has to be kept too; what a change costs does not depend on r much. Pairs are
  drawn from all n² ordered ones, which makes them a function of hashes, and a share of them is n² / (n−1)(n−2) times as
  large as a share of what the normalised value counts: ε' is ε divided by that.
- Samples are a function of the seed, their number, and the graph: nothing but their number is saved. A vertex is known
  by a hash of its term, not by its id: ids depend on what else was named before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import float64, int16, int32, int64, uint8, uint64

from heliograph.compiled.arrays import INT32S
from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.records import ADDRESS, ANY, Struct, array, enlarged, more, number, part, run, view
from heliograph.watch.layout import Floats, Int8s, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    ASKED,
    BACKWARD,
    FORWARD,
    LOG,
    NEW_ARC,
    A,
    B,
    MetricReport,
    NeighbourLists,
    SimpleGraph,
    add_edge,
    can_report,
    count_edges,
    drop_edge,
    has_room,
    is_reported,
    list_length,
    list_start,
    report_at,
    write_report,
)
from heliograph.watch.metrics.thresholds import (
    CAME,
    NO_THRESHOLDS,
    WENT,
    CountingMeasure,
    Log,
    Order,
    Reported,
    Saved,
    ThresholdLists,
    fixed,
    fixed_log,
)

Hashes: TypeAlias = "npt.NDArray[np.uint64]"
Int16s: TypeAlias = "npt.NDArray[np.int16]"
Arc: TypeAlias = tuple[int, int]

# --- the graph, and sums by term id ----------------------------------------------------------------------------------

TAKE, FORESEE, REPORT = range(3)  # operations
DIGITS = 1e12  # values are reported in this many parts: sums of floats differ in less, by the order of additions


class Sums(Struct):
    """The graph by term id, the arcs that a step changes, and what was counted of vertices.

    Edges that come are added before those that go are dropped: between the two, the graph is the union of before and
    after the step, in which samples are gated. An edge that goes and comes again changes nothing.
    """

    graph: SimpleGraph = part(SimpleGraph)
    arcs: Int32s = array(int32, "arc", 2)  # (tail, head)
    found: int = number()  # arcs so far
    row: int = number()  # the next row of the log
    last: int = number()  # where the step ends there
    change: int = number()  # which rows are applied: CAME or WENT
    raw: Floats = array(float64, "vertex")
    values: Floats = array(float64, "vertex")  # at the end of the last step
    listed: Int8s = array(uint8, "vertex")
    names: Int32s = array(int32, "vertex")  # those whose sum or last value is not 0, and maybe others
    named: int = number()

    def __init__(self) -> None:
        graph = SimpleGraph(undirected=False, directed=True)
        super().__init__({"graph": graph}, vertex=graph.vertices)

    def cover(self, log: Log) -> None:
        """Makes room for the vertices of a log."""
        self.graph.cover_log(log)
        if self.graph.vertices > len(self.raw):
            self.resize("vertex", self.graph.vertices)

    def every_arc(self) -> Int32s:
        """The arcs of the graph, as rows (tail, head)."""
        pairs = self.graph.pairs[self.graph.numbers[self.graph.keys != 0]]
        pairs = pairs[pairs[:, A] != pairs[:, B]]
        return np.concatenate((pairs[pairs[:, FORWARD] > 0][:, [A, B]], pairs[pairs[:, BACKWARD] > 0][:, [B, A]]))


sums_at = view(Sums)


@kernel((int64, ADDRESS, LOG, ASKED, float64, int64, ADDRESS))
def keep_sums(
    op: Any, address: Any, log: Log, asked: ThresholdLists, scale: Any, step: Any, report_address: Any
) -> Any:
    """One of the operations; whether it is done. If not, room is lacking."""
    sums = sums_at(address)
    graph = sums.graph
    if op == REPORT:
        return _report_values(sums, asked, scale, step, report_at(report_address))
    if op == FORESEE:  # lists the arcs that rows may take away: those with no more edges than there are such rows
        going = np.int64(0)
        for row in range(sums.row, sums.last):
            going += log.change[row] == WENT
        for row in range(sums.row, sums.last):
            tail, head = np.int64(log.subject[row]), np.int64(log.object[row])
            if log.change[row] == WENT and tail != head and count_edges(graph, tail, head) <= going:
                _list_arc(sums, tail, head)
        return True
    while sums.row < sums.last:  # TAKE: applies rows of one kind, and lists the arcs that are new or gone
        if not has_room(graph):
            return False
        row, changed = sums.row, 0
        tail, head = np.int64(log.subject[row]), np.int64(log.object[row])
        if log.change[row] == sums.change:
            changed = add_edge(graph, tail, head) if sums.change == CAME else drop_edge(graph, tail, head)
        if changed & NEW_ARC:
            _list_arc(sums, tail, head)
        sums.row = row + 1
    return True


@kernel(inline=True)
def _list_arc(sums: Sums, tail: Any, head: Any) -> None:
    sums.arcs[sums.found, 0], sums.arcs[sums.found, 1] = tail, head
    sums.found += 1


@kernel()
def _report_values(sums: Any, asked: ThresholdLists, scale: Any, step: Any, report: MetricReport) -> Any:
    """Works the values out and reports those that passed a threshold; whether there was room."""
    if not can_report(report, sums.named):
        return False
    kept = np.int64(0)
    for k in range(sums.named):
        vertex = np.int64(sums.names[k])
        before, after = sums.values[vertex], np.rint(sums.raw[vertex] * scale * DIGITS) / DIGITS + 0.0
        if after != before:
            if is_reported(asked, vertex, before, after):
                write_report(report, step, vertex, after)
            sums.values[vertex] = after
        if sums.raw[vertex] != 0.0 or after != 0.0:
            sums.names[kept] = vertex
            kept += 1
        else:
            sums.listed[vertex] = 0
    sums.named = kept
    return True


@kernel(inline=True)
def _list_vertex(sums: Sums, vertex: Any) -> None:
    if sums.listed[vertex] == 0:
        sums.listed[vertex], sums.names[sums.named] = 1, vertex
        sums.named += 1


# --- exact values ----------------------------------------------------------------------------------------------------

UNREACHED = 10_000  # a distance that is none; above every one, and three times as much fits into 16 bits
MOST_PATHS = 1e300  # between two vertices: beyond that, sums of counts end in infinity and values in nonsense
ANCESTOR, TARGET = 1, 2  # marks of a sweep
NOWHERE = np.int64(-1)  # in place of an end of an arc
ADD, DROP, ANEW, POST = range(4)  # operations


class ExactTables(Struct):
    """For every pair of slots the distance and the number of shortest paths, and by slot the sum of dependencies.

    What an update writes along its way has two rows more than there are slots; marks and levels are 0 in between.
    """

    graph: SimpleGraph = part(SimpleGraph)
    names: Int32s = array(int32, "slot", fill=-1)
    sums: Floats = array(float64, "slot")
    distance: Int16s = array(int16, "square", ANY)
    paths: Floats = array(float64, "square", ANY)
    arcs: Int32s = array(int32, "arc", 2)  # of slots, to be entered from scratch
    arc: int = number()  # the next of them
    is_beyond: int = number()  # whether there are more shortest paths than can be counted
    dependency: Floats = array(float64, "way")
    mark: Int8s = array(uint8, "way")
    lost: Int8s = array(uint8, "way")
    level: Int32s = array(int32, "way")  # by distance: 1 + the first slot that waits there
    following: Int32s = array(int32, "way")  # by slot: 1 + the next one that waits at its level
    targets: Int32s = array(int32, "way")
    queue: Int32s = array(int32, "way")
    sources: Int32s = array(int32, "way")  # the slots that reach the tail of an arc,
    near: Int32s = array(int32, "way")  # and at which distance
    tree: Int32s = array(int32, "way")  # the slots that the head of an arc reaches, in breadth-first order
    children: Int32s = array(int32, "way")  # of the n-th in the tree: tree[children[n]:children[n + 1]]

    def __init__(self, limit: int, arcs: Int32s | None = None) -> None:
        """Tables of the arcs, rows of ids; they grow by half as many slots again, up to the limit."""
        super().__init__({"graph": SimpleGraph(undirected=False, directed=True)})
        self._limit, self._slots, self._free = limit, dict[int, int](), list[int]()
        if arcs is not None and len(arcs):
            self._cover(len(np.unique(arcs)))
            self.arcs = np.array([[self._slot(name) for name in arc] for arc in arcs.tolist()], np.int32)
            self._run(ANEW)

    @property
    def slots(self) -> int:
        """How many vertices there is room for."""
        return len(self.names)

    def change(self, gone: Iterable[Arc], come: Iterable[Arc], sums: Sums) -> bool:
        """Takes arcs away, then adds some. Whether shortest paths can be counted."""
        gone = list(gone)
        for tail, head in gone:
            self._run(DROP, self._slots[tail], self._slots[head])
        for name in {name for arc in gone for name in arc}:
            slot = self._slots[name]
            if self.graph.touching[slot] == 0:  # a vertex without arcs gives its slot back
                del self._slots[name]
                self._free.append(slot)
                self.names[slot], self.sums[slot], sums.raw[name] = -1, 0.0, 0.0
        for tail, head in come:
            self._run(ADD, self._slot(tail), self._slot(head))
            if self.is_beyond:
                break
        return not self.is_beyond

    def post(self, sums: Sums) -> None:
        """Writes the sums of slots under the ids that the slots have."""
        run(keep_tables, POST, self, sums, 0, 0)

    def _run(self, op: int, tail: int = 0, head: int = 0) -> None:
        run(keep_tables, op, self, self, tail, head)

    def _slot(self, name: int) -> int:
        """The slot of a vertex, which takes one if it has none."""
        slot = self._slots.get(name)
        if slot is None:
            if not self._free:
                self._cover(max(min(more(self.slots), self._limit), self.slots + 1))
            slot = self._slots[name] = self._free.pop()
            self.names[slot] = name
        return slot

    def _cover(self, slots: int) -> None:
        known = self.slots
        distance, paths = np.full((slots, slots), UNREACHED, np.int16), np.zeros((slots, slots))
        np.fill_diagonal(distance, 0)
        np.fill_diagonal(paths, 1.0)
        distance[:known, :known], paths[:known, :known] = self.distance, self.paths
        self.distance, self.paths = distance, paths
        self.resize("slot", slots)
        self.resize("way", slots + 2)
        self._free += range(slots - 1, known - 1, -1)
        self.graph.cover(slots)


exact_tables_at = view(ExactTables)


class SourceRow(NamedTuple):
    """What is known of one source."""

    distance: Int16s
    paths: Floats


@kernel((int64, ADDRESS, ADDRESS, int64, int64))
def keep_tables(op: Any, address: Any, sums_address: Any, tail: Any, head: Any) -> Any:
    """One of the operations; whether it is done. If not, room is lacking in the graph."""
    exact = exact_tables_at(address)
    graph = exact.graph
    if op == POST:
        sums = sums_at(sums_address)
        for slot in range(len(exact.names)):
            vertex = np.int64(exact.names[slot])
            if vertex >= 0:
                sums.raw[vertex] = exact.sums[slot]
                if exact.sums[slot] != 0.0:
                    _list_vertex(sums, vertex)
        return True
    if op == ANEW:
        while exact.arc < len(exact.arcs):
            if not has_room(graph):
                return False
            add_edge(graph, np.int64(exact.arcs[exact.arc, 0]), np.int64(exact.arcs[exact.arc, 1]))
            exact.arc += 1
        _count_anew(graph, exact)
        return True
    if not has_room(graph):
        return False
    if op == ADD:
        _add_arc(graph, exact, tail, head)
    else:
        _drop_arc(graph, exact, tail, head)
    return True


@kernel()
def _add_arc(graph: SimpleGraph, exact: ExactTables, tail: Any, head: Any) -> None:
    """An arc comes that was not there. While a row is worked on the arc itself is not in the graph; a sweep that is to
    see it is given it."""
    sources, most, beyond = _find_sources(graph, exact, tail), 0.0, SourceRow(exact.distance[head], exact.paths[head])
    _grow_tree(graph, exact, head)
    for k in range(sources):
        source, first = np.int64(exact.sources[k]), np.int64(exact.near[k]) + 1
        if first <= exact.distance[source, head]:
            row = SourceRow(exact.distance[source], exact.paths[source])
            count = _find_targets(exact, row.distance, beyond.distance, first)
            _sweep(graph, row, exact, count, NOWHERE, NOWHERE, -1.0)
            ways = row.paths[tail]
            for i in range(count):  # targets get their distances and counts by way of the arc
                target = exact.targets[i]
                length, paths = first + np.int64(beyond.distance[target]), ways * beyond.paths[target]
                if length == row.distance[target]:
                    paths += row.paths[target]
                row.distance[target], row.paths[target] = length, paths
                most = max(most, paths)
            _sweep(graph, row, exact, count, tail, head, 1.0)
    add_edge(graph, tail, head)
    exact.is_beyond = most > MOST_PATHS


@kernel()
def _drop_arc(graph: SimpleGraph, exact: ExactTables, tail: Any, head: Any) -> None:
    """An arc goes that was there."""
    drop_edge(graph, tail, head)
    sources = _find_sources(graph, exact, tail)
    _grow_tree(graph, exact, head)
    for k in range(sources):
        source, first = np.int64(exact.sources[k]), np.int64(exact.near[k]) + 1
        if first == exact.distance[source, head]:
            row = SourceRow(exact.distance[source], exact.paths[source])
            count = _find_targets(exact, row.distance, exact.distance[head], first)
            _sweep(graph, row, exact, count, tail, head, -1.0)
            _repair(graph, row, exact, count)
            _sweep(graph, row, exact, count, NOWHERE, NOWHERE, 1.0)


@kernel()
def _count_anew(graph: SimpleGraph, exact: ExactTables) -> None:
    """Works everything out from the graph alone."""
    exact.sums[:] = 0.0
    most, targets = 0.0, exact.targets
    for source in range(len(exact.sums)):
        row = SourceRow(exact.distance[source], exact.paths[source])
        row.distance[:], row.paths[:] = UNREACHED, 0.0
        row.distance[source], row.paths[source], targets[0] = 0, 1.0, source
        count, k = 1, 0
        while k < count:
            before = np.int64(targets[k])
            start, level = list_start(graph.out, before), row.distance[before] + 1
            for place in range(start, start + list_length(graph.out, before)):
                after = graph.out.pool[place]
                if row.distance[after] == UNREACHED:
                    row.distance[after], targets[count] = level, after
                    count += 1
                if row.distance[after] == level:
                    row.paths[after] += row.paths[before]
            k += 1
        for k in range(count):
            most = max(most, row.paths[targets[k]])
        targets[0] = targets[count - 1]  # the source is none of its own targets
        _sweep(graph, row, exact, count - 1, NOWHERE, NOWHERE, 1.0)
    exact.is_beyond = most > MOST_PATHS


# --- dependencies of one source on the vertices between it and some targets ------------------------------------------
#
# The law (Brandes): what a source s depends on a vertex p for reaching targets is the sum, over the vertices w that
# come after p on shortest paths from s, of paths(p) / paths(w) * (1 if w is a target + the dependency on w). So a
# sweep goes from the farthest targets towards the source and looks only at vertices that lie on the way to a target.


@kernel()
def _wait(exact: ExactTables, level: Any, slot: Any) -> None:
    """A slot waits at a level."""
    exact.following[slot] = exact.level[level]
    exact.level[level] = slot + 1


@kernel(inline=True)
def _credit(row: SourceRow, exact: ExactTables, slot: Any, level: Any, share: Any) -> None:
    """Adds to the dependency on a slot, if shortest paths lead through it."""
    if row.distance[slot] == level:
        if exact.mark[slot] == 0:
            exact.mark[slot], exact.dependency[slot] = ANCESTOR, 0.0
            _wait(exact, level, slot)
        exact.dependency[slot] += row.paths[slot] * share


@kernel()
def _sweep(graph: SimpleGraph, row: SourceRow, exact: ExactTables, count: Any, tail: Any, head: Any, sign: Any) -> None:
    """Adds the dependencies for reaching targets[:count], times a sign, to the sums. An arc from the tail to the head,
    which is not in the graph, counts too.

    In one function: called once for each slot, the inner part took a seventh of an update longer.
    """
    farthest = np.int64(0)
    for k in range(count):  # targets that are reached wait at their distances
        target = np.int64(exact.targets[k])
        level = np.int64(row.distance[target])
        if level < UNREACHED:
            exact.mark[target], exact.dependency[target] = TARGET, 0.0
            _wait(exact, level, target)
            farthest = max(farthest, level)
    for depth in range(farthest, 0, -1):
        slot = np.int64(exact.level[depth]) - 1
        exact.level[depth] = 0
        while slot >= 0:
            own = 1.0 if exact.mark[slot] == TARGET else 0.0
            share = (own + exact.dependency[slot]) / row.paths[slot]
            start = list_start(graph.into, slot)
            for place in range(start, start + list_length(graph.into, slot)):
                _credit(row, exact, np.int64(graph.into.pool[place]), depth - 1, share)
            if slot == head:
                _credit(row, exact, tail, depth - 1, share)
            exact.sums[slot] += sign * exact.dependency[slot]
            exact.mark[slot] = 0
            slot = np.int64(exact.following[slot]) - 1
    if exact.level[0] != 0:  # the source itself
        exact.mark[exact.level[0] - 1] = 0
        exact.level[0] = 0


# --- for which sources and targets an arc matters --------------------------------------------------------------------
#
# The laws, for an arc (u, v) that comes or goes, with distances in the graph without it (d(s, u) and d(v, t) are the
# same with it): a source s is affected only if d(s, u) + 1 <= d(s, v), and then its targets are the t with d(s, u) +
# 1 + d(v, t) <= d(s, t), where d(s, .) is before the change. If t is one of them, so is every vertex on a shortest
# path from v to t: targets are found by going down a tree of such paths and turning back where the test fails.


@kernel()
def _find_sources(graph: SimpleGraph, exact: ExactTables, tail: Any) -> Any:
    """Lists the slots that reach one, with distances; how many."""
    exact.sources[0], exact.near[0], exact.mark[tail] = tail, 0, 1
    count, k = 1, 0
    while k < count:
        start = list_start(graph.into, exact.sources[k])
        for place in range(start, start + list_length(graph.into, exact.sources[k])):
            slot = graph.into.pool[place]
            if exact.mark[slot] == 0:
                exact.mark[slot], exact.sources[count], exact.near[count] = 1, slot, exact.near[k] + 1
                count += 1
        k += 1
    for k in range(count):
        exact.mark[exact.sources[k]] = 0
    return count


@kernel()
def _grow_tree(graph: SimpleGraph, exact: ExactTables, root: Any) -> Any:
    """Lists the slots that one reaches as a tree of shortest paths; how many."""
    exact.tree[0], exact.mark[root] = root, 1
    count, k = 1, 0
    while k < count:
        exact.children[k] = count
        start = list_start(graph.out, exact.tree[k])
        for place in range(start, start + list_length(graph.out, exact.tree[k])):
            slot = graph.out.pool[place]
            if exact.mark[slot] == 0:
                exact.mark[slot], exact.tree[count] = 1, slot
                count += 1
        k += 1
    exact.children[count] = count
    for k in range(count):
        exact.mark[exact.tree[k]] = 0
    return count


@kernel()
def _find_targets(exact: ExactTables, distance: Any, beyond: Any, first: Any) -> Any:
    """Lists the targets of a source for which an arc matters, in order of their distance by way of it; how many.

    `distance` is the source's, `beyond` that of the arc's head, which is `first` away from the source by the arc.
    """
    queue, targets, tree, children = exact.queue, exact.targets, exact.tree, exact.children
    queue[0], targets[0] = 0, tree[0]
    count, k = 1, 0
    while k < count:
        place = np.int64(queue[k])
        for child in range(children[place], children[place + 1]):
            slot = tree[child]
            if first + np.int64(beyond[slot]) <= distance[slot]:
                queue[count], targets[count] = child, slot
                count += 1
        k += 1
    return count


# --- distances and numbers of paths when an arc on some of them went -------------------------------------------------
#
# The laws: a target keeps its distance while one of those right before it does. A target that loses it is at least one
# farther, and is then reached either from one that kept it or from another one that was reached anew; in order of the
# new distance each is settled once. Numbers of paths are sums over those right before, never differences: a difference
# of large counts would leave nothing but rounding.


@kernel()
def _nearest(graph: SimpleGraph, distance: Any, lost: Any, slot: Any) -> Any:
    """The distance of a slot by way of those before it that are not lost."""
    nearest = np.int64(UNREACHED - 1)
    start = list_start(graph.into, slot)
    for place in range(start, start + list_length(graph.into, slot)):
        before = graph.into.pool[place]
        if lost[before] == 0:
            nearest = min(nearest, np.int64(distance[before]))
    return nearest + 1


@kernel()
def _settle(graph: SimpleGraph, row: SourceRow, exact: ExactTables, slot: Any, end: Any) -> Any:
    """A lost slot has its distance; those after it that it brings nearer are put at the end of the queue."""
    exact.lost[slot] = 0
    level = np.int64(row.distance[slot]) + 1
    start = list_start(graph.out, slot)
    for place in range(start, start + list_length(graph.out, slot)):
        after = graph.out.pool[place]
        if exact.lost[after] != 0 and row.distance[after] > level:
            row.distance[after], exact.queue[end] = level, after
            end += 1
    return end


@kernel()
def _recount(graph: SimpleGraph, row: SourceRow, slot: Any) -> None:
    """The number of shortest paths to a slot, from those to the ones right before it."""
    total, level = 0.0, row.distance[slot] - 1
    start = list_start(graph.into, slot)
    for place in range(start, start + list_length(graph.into, slot)):
        before = graph.into.pool[place]
        if row.distance[before] == level:
            total += row.paths[before]
    row.paths[slot] = total


@kernel()
def _repair(graph: SimpleGraph, row: SourceRow, exact: ExactTables, count: Any) -> None:
    """Makes a source's row right for exact.targets[:count], which are in order of their old distances."""
    lost = 0
    for k in range(count):  # those that nothing right before them holds any more
        target = np.int64(exact.targets[k])
        if _nearest(graph, row.distance, exact.lost, target) != row.distance[target]:
            exact.lost[target], exact.queue[lost] = 1, target
            lost += 1
    if lost == 0:
        for k in range(count):
            _recount(graph, row, np.int64(exact.targets[k]))
        return
    level, high = np.int64(UNREACHED), np.int64(0)
    for k in range(lost):  # lost targets wait where those that were not lost would lead to them
        target = np.int64(exact.queue[k])
        nearest = _nearest(graph, row.distance, exact.lost, target)
        row.distance[target] = nearest
        if nearest < UNREACHED:
            _wait(exact, nearest, target)
            level, high = min(level, nearest), max(high, nearest)
    first = end = 0  # the queue is free again: it holds those brought nearer, by level; each is so at most once
    while level <= high or first < end:
        last, slot = end, np.int64(exact.level[level]) - 1
        exact.level[level] = 0
        while slot >= 0:
            if exact.lost[slot] != 0 and row.distance[slot] == level:
                end = _settle(graph, row, exact, slot, end)
            slot = np.int64(exact.following[slot]) - 1
        for k in range(first, last):
            if exact.lost[exact.queue[k]] != 0:
                end = _settle(graph, row, exact, np.int64(exact.queue[k]), end)
        first, level = last, level + 1
    low, high = np.int64(UNREACHED), np.int64(0)
    for k in range(count):  # recounted in order of their new distances
        target = np.int64(exact.targets[k])
        exact.lost[target], level = 0, np.int64(row.distance[target])
        if level < UNREACHED:
            _wait(exact, level, target)
            low, high = min(low, level), max(high, level)
        else:
            row.paths[target] = 0.0
    for depth in range(low, high + 1):
        slot = np.int64(exact.level[depth]) - 1
        exact.level[depth] = 0
        while slot >= 0:
            _recount(graph, row, slot)
            slot = np.int64(exact.following[slot]) - 1


# --- sampled values --------------------------------------------------------------------------------------------------

UNREACHABLE = -1  # in place of a length: there is no path
TOO_LARGE = -1  # in place of the number of vertices that a sample stores
FORWARD_CLOSED, BACKWARD_CLOSED = 0, 1
PICK, REPICK, GATE, REFRESH = range(4)  # operations
_WIDTH = 32  # inner vertices of a path, or vertices that a search cannot leave, that a sample has room for
_GATED = 8  # as many samples cost about as much to draw again as one arc to search around


class SampledPaths(Struct):
    """Pairs of vertices with a shortest path each, and what a search writes along its way.

    Of a pair with a path `stored` inner vertices stand in the row. Of one without, the row holds all vertices that the
    source reaches, or all that reach the target, as `side` says: while no arc leads out of them, there is none.
    """

    sums: Sums = part(Sums)
    seed: int = number(0, uint64)
    source: Int32s = array(int32, "sample")
    target: Int32s = array(int32, "sample")
    source_hash: Hashes = array(uint64, "sample")  # the smallest of all vertices' ones
    target_hash: Hashes = array(uint64, "sample")
    length: Int32s = array(int32, "sample")
    stored: Int32s = array(int32, "sample")
    side: Int8s = array(uint8, "sample")
    dirty: Int8s = array(uint8, "sample")  # whether the path may be another one by now
    inner: Int32s = array(int32, "sample", ANY)
    width_wanted: int = number()  # inner vertices of a path that there was no room for
    forward: Int32s = array(int32, "vertex", fill=-1)  # depths of a search, -1 in between
    backward: Int32s = array(int32, "vertex", fill=-1)
    weight: Floats = array(float64, "vertex")  # shortest paths from the source, up to a factor of the depth
    ahead: Int32s = array(int32, "vertex")  # queues
    behind: Int32s = array(int32, "vertex")
    marks: Hashes = array(uint64, "vertex")  # what stands for a vertex in hashes, whatever its id is

    def __init__(self, sums: Sums, seed: int, order: Order = int) -> None:
        super().__init__({"sums": sums})
        self.seed, self._order, self._is_marked = seed, order, np.zeros(0, np.bool_)
        self.inner = np.zeros((0, first_room(_WIDTH)), np.int32)

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self.source)

    def enlarge(self, count: int) -> None:
        """Makes the samples this many, if they are fewer. The new ones are dirty."""
        known = len(self)
        if count > known:
            self.resize("sample", count)
            self._run(PICK, first=known)

    def gate(self, count: int) -> None:
        """Marks the samples that listed arcs can affect, in the union of the graphs before and after a step."""
        if count * _GATED > len(self):
            self.dirty[:] = 1
        elif count:
            self._run(GATE)

    def repick(self, ends: Int32s) -> None:
        """Makes the pairs those of the vertices that are there; these may have come or gone."""
        self._run(REPICK, ends)

    def refresh(self) -> None:
        """Draws dirty samples again, and counts them."""
        self._run(REFRESH)

    def make_room(self) -> None:
        wider = np.zeros((len(self), first_room(2 * self.width_wanted, self.width_wanted)), np.int32)
        wider[:, : self.inner.shape[1]] = self.inner
        self.inner = wider

    def _run(self, op: int, ends: Int32s | None = None, first: int = 0) -> None:
        """Makes room for all vertices, marks those that are new, and calls the kernel."""
        touching = self.sums.graph.touching
        if len(self.forward) < len(touching):
            self.resize("vertex", len(touching))
            self._is_marked = enlarged(self._is_marked, len(touching))
        for vertex in np.flatnonzero((touching > 0) & ~self._is_marked).tolist():
            digest = blake2b(repr(self._order(vertex)).encode(), digest_size=8).digest()  # the same in every process
            self.marks[vertex], self._is_marked[vertex] = int.from_bytes(digest, "little"), True
        run(keep_samples, op, self, _NO_ENDS if ends is None else fixed(ends, np.int32), first)


_NO_ENDS: Int32s = fixed((), np.int32)
sampled_paths_at = view(SampledPaths)


def samples_needed(vertices: int, least: int, epsilon: float, delta: float) -> int:
    """How many samples so many vertices need, up to the next power of two, if never fewer than `least` are left."""
    least, most = max(least, 3), 1 << max(vertices - 1, 3).bit_length()
    epsilon = epsilon * (least - 1) * (least - 2) / least**2
    return math.ceil(math.log(2 * most / delta) / (2 * epsilon**2))


@kernel((int64, ADDRESS, INT32S, int64))
def keep_samples(op: Any, address: Any, ends: Any, first: Any) -> Any:
    """One of the operations; whether it is done. If not, room is lacking."""
    samples = sampled_paths_at(address)
    sums = samples.sums
    graph, touching = sums.graph, sums.graph.touching
    if op == PICK:  # the ends of the samples from a number on, among all vertices
        for sample in range(first, len(samples.source)):
            samples.source_hash[sample] = samples.target_hash[sample] = _NONE
            _offer_all(samples, touching, sample)
    elif op == REPICK:
        _repick(samples, touching, ends)
    elif op == GATE:
        _gate_arcs(graph, samples, sums.arcs, sums.found)
    elif op == REFRESH:
        return _refresh(graph, samples, sums)
    return True


# --- which pairs are sampled -----------------------------------------------------------------------------------------
#
# By hashes, so that they are a function of the seed and of the vertices that are there. The law: the source of a sample
# is the vertex whose hash, of the seed, the sample and the vertex's mark, is the smallest; so is its target, by hashes
# of their own (they may be the same vertex, and then no path counts). Every ordered pair is equally likely, samples are
# independent, and whatever came and went before, the same vertices give the same pairs: a vertex that comes takes its
# share of the samples, and those of one that goes are the only ones to be picked again.

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_27, _30, _31 = np.uint64(27), np.uint64(30), np.uint64(31)
_ONE, _TWO = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)  # of the mixing step of SplitMix64
_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
SOURCES, TARGETS, CHOICES = range(3)  # what a hash is for


@kernel(inline=True)
def _mix(value: Any) -> Any:
    value = (value ^ (value >> _30)) * _ONE
    value = (value ^ (value >> _27)) * _TWO
    return value ^ (value >> _31)


@kernel(inline=True)
def _sample_key(seed: Any, sample: Any, purpose: Any) -> Any:
    return _mix(np.uint64(seed) + _ODD * np.uint64(3 * sample + purpose + 1))


@kernel(inline=True)
def _vertex_hash(key: Any, mark: Any) -> Any:
    return _mix(key + _ODD * (mark + np.uint64(1)))


@kernel()
def _offer(samples: SampledPaths, sample: Any, vertex: Any) -> None:
    """A vertex becomes an end of a sample if its hash is smaller."""
    hashed = _vertex_hash(_sample_key(samples.seed, sample, SOURCES), samples.marks[vertex])
    if hashed < samples.source_hash[sample]:
        samples.source[sample], samples.source_hash[sample], samples.dirty[sample] = vertex, hashed, 1
    hashed = _vertex_hash(_sample_key(samples.seed, sample, TARGETS), samples.marks[vertex])
    if hashed < samples.target_hash[sample]:
        samples.target[sample], samples.target_hash[sample], samples.dirty[sample] = vertex, hashed, 1


@kernel()
def _offer_all(samples: SampledPaths, touching: Any, sample: Any) -> None:
    for vertex in range(len(touching)):
        if touching[vertex] > 0:
            _offer(samples, sample, vertex)


@kernel()
def _repick(samples: SampledPaths, touching: Any, ends: Any) -> None:
    """Makes the pairs those of the vertices that are there, when only the `ends`, ids, may have come or gone.

    To offer a vertex again that was there changes nothing: no hash is smaller than itself.
    """
    for sample in range(len(samples.source)):
        gone = False
        if touching[samples.source[sample]] == 0:
            samples.source_hash[sample], gone = _NONE, True
        if touching[samples.target[sample]] == 0:
            samples.target_hash[sample], gone = _NONE, True
        if gone:
            _offer_all(samples, touching, sample)
    for k in range(len(ends)):
        if touching[ends[k]] > 0:
            for sample in range(len(samples.source)):
                _offer(samples, sample, np.int64(ends[k]))


# --- one shortest path of each sampled pair, all of them equally likely ----------------------------------------------
#
# A search goes from both ends at once, the side with fewer arcs ahead first, until they meet. Counts of paths from
# the source are then carried on to the target, along shortest paths only; going back from there, each vertex before
# is taken with the share of the paths that lead through it.
#
# The law: which path is taken is a function of the seed, of the sample, and of the graph of shortest paths between
# its ends. A draw with weights is a race: of exponential times, each divided by its weight, the shortest wins; the
# times are hashes of the vertices. So a path that no change can have affected need not be drawn again, and to draw it
# again in vain changes nothing.

_11 = np.uint64(11)
_LARGE, _SMALLER = 2.0**500, 2.0**-500


@kernel()
def _forget(samples: SampledPaths, end: Any, end_behind: Any) -> None:
    """Takes the depths of a search back."""
    for k in range(end):
        samples.forward[samples.ahead[k]] = -1
    for k in range(end_behind):
        samples.backward[samples.behind[k]] = -1


@kernel()
def _widen(lists: NeighbourLists, depths: Any, others: Any, queue: Any, first: Any, end: Any) -> Any:
    """The next depth of a search. The new end of the queue, arcs ahead of it, and whether it met the other side."""
    depth, last, volume, met = depths[queue[first]] + 1, end, np.int64(0), False
    for k in range(first, last):
        start = list_start(lists, queue[k])
        for place in range(start, start + list_length(lists, queue[k])):
            vertex = lists.pool[place]
            if depths[vertex] < 0:
                depths[vertex], queue[end] = depth, vertex
                volume += list_length(lists, vertex)
                met |= others[vertex] >= 0
                end += 1
    return end, volume, met


@kernel()
def _go_on(graph: SimpleGraph, samples: SampledPaths, first: Any, end: Any) -> Any:
    """The next depth from the source, with counts of paths. The new end, arcs ahead of it, and whether ends met."""
    depth, last, volume, met = samples.forward[samples.ahead[first]] + 1, end, np.int64(0), False
    for k in range(first, last):
        before = samples.ahead[k]
        start = list_start(graph.out, before)
        for place in range(start, start + list_length(graph.out, before)):
            after = graph.out.pool[place]
            if samples.forward[after] < 0:
                samples.forward[after], samples.weight[after], samples.ahead[end] = depth, 0.0, after
                volume += list_length(graph.out, after)
                met |= samples.backward[after] >= 0
                end += 1
            if samples.forward[after] == depth:
                samples.weight[after] += samples.weight[before]
    _scale(samples, last, end)
    return end, volume, met


@kernel()
def _scale(samples: SampledPaths, first: Any, end: Any) -> None:
    """Keeps counts finite: only shares within one depth matter."""
    most = 0.0
    for k in range(first, end):
        most = max(most, samples.weight[samples.ahead[k]])
    if most > _LARGE:
        for k in range(first, end):
            samples.weight[samples.ahead[k]] *= _SMALLER


@kernel()
def _meet(graph: SimpleGraph, samples: SampledPaths, source: Any, target: Any) -> Any:
    """Searches from both ends: where the last depth from the source begins and ends, and how many stand behind.

    Where they do not meet, the first number is -1 if all that the source reaches was seen, -2 if all that reaches the
    target was.
    """
    forward, backward, behind = samples.forward, samples.backward, samples.behind
    forward[source], samples.weight[source], samples.ahead[0] = 0, 1.0, source
    backward[target], behind[0] = 0, target
    first, end, first_behind, end_behind = 0, 1, 0, 1
    volume, volume_behind = list_length(graph.out, source), list_length(graph.into, target)
    met = source == target
    while not met:
        if volume <= volume_behind:
            last, (end, volume, met) = end, _go_on(graph, samples, first, end)
            first = last
            if first == end:
                return -1, end, end_behind
        else:
            last = end_behind
            end_behind, volume_behind, met = _widen(graph.into, backward, forward, behind, first_behind, last)
            first_behind = last
            if first_behind == end_behind:
                return -2, end, end_behind
    return first, end, end_behind


@kernel()
def _carry_on(graph: SimpleGraph, samples: SampledPaths, first: Any, end: Any, target: Any) -> Any:
    """Carries depths and counts on from where the ends met to the target, along shortest paths. The new end."""
    while samples.forward[target] < 0:
        last, depth = end, samples.forward[samples.ahead[first]] + 1
        for k in range(first, last):
            before = samples.ahead[k]
            left = samples.backward[before] - 1
            if left < 0:
                continue
            start = list_start(graph.out, before)
            for place in range(start, start + list_length(graph.out, before)):
                after = graph.out.pool[place]
                if samples.backward[after] != left:
                    continue
                if samples.forward[after] < 0:
                    samples.forward[after], samples.weight[after], samples.ahead[end] = depth, 0.0, after
                    end += 1
                samples.weight[after] += samples.weight[before]
        _scale(samples, last, end)
        first = last
    return end


@kernel()
def _take_path(graph: SimpleGraph, samples: SampledPaths, sample: Any, key: Any) -> None:
    """Writes the inner vertices of the path that is taken, which there is room for, from its end backwards."""
    vertex = np.int64(samples.target[sample])
    for inner in range(samples.stored[sample] - 1, -1, -1):
        winner, shortest, depth = np.int64(-1), np.inf, samples.forward[vertex] - 1
        start = list_start(graph.into, vertex)
        for place in range(start, start + list_length(graph.into, vertex)):
            before = graph.into.pool[place]
            if samples.forward[before] == depth:
                share = (np.float64(_vertex_hash(key, samples.marks[before]) >> _11) + 1.0) * 2.0**-53
                time = -np.log(share) / samples.weight[before]
                if time < shortest or winner < 0:
                    winner, shortest = np.int64(before), time
        vertex = samples.inner[sample, inner] = winner


@kernel()
def _take_closed(samples: SampledPaths, sample: Any, queue: Any, end: Any) -> None:
    """Writes the vertices that a search could not leave, if there is room for them."""
    samples.length[sample], samples.stored[sample] = UNREACHABLE, TOO_LARGE
    if end <= samples.inner.shape[1]:
        samples.stored[sample] = end
        for place in range(end):
            samples.inner[sample, place] = queue[place]


@kernel()
def _draw(graph: SimpleGraph, samples: SampledPaths, sample: Any, seed: Any) -> Any:
    """Draws the path of a sample; whether there was room for it."""
    source, target = np.int64(samples.source[sample]), np.int64(samples.target[sample])
    first, end, end_behind = _meet(graph, samples, source, target)
    fits = True
    if first >= 0:
        end = _carry_on(graph, samples, first, end, target)
        samples.length[sample] = samples.forward[target]
        samples.stored[sample] = max(samples.length[sample] - 1, 0)
        fits = samples.stored[sample] <= samples.inner.shape[1]
        if fits:
            _take_path(graph, samples, sample, _sample_key(seed, sample, CHOICES))
    elif first == -1:
        samples.side[sample] = FORWARD_CLOSED
        _take_closed(samples, sample, samples.ahead, end)
    else:
        samples.side[sample] = BACKWARD_CLOSED
        _take_closed(samples, sample, samples.behind, end_behind)
    _forget(samples, end, end_behind)
    return fits


@kernel()
def _count(sums: Sums, samples: SampledPaths, sample: Any, change: Any) -> None:
    """Counts the path of a sample, or no longer."""
    if samples.length[sample] <= 0:
        return
    for place in range(samples.stored[sample]):
        vertex = samples.inner[sample, place]
        sums.raw[vertex] += change
        _list_vertex(sums, vertex)


@kernel()
def _refresh(graph: SimpleGraph, samples: SampledPaths, sums: Sums) -> Any:
    """Draws dirty samples again; whether there was room for their paths."""
    for sample in range(len(samples.source)):
        if samples.dirty[sample] != 0:
            _count(sums, samples, sample, -1.0)
            if not _draw(graph, samples, sample, samples.seed):
                samples.width_wanted = samples.stored[sample]
                samples.length[sample] = UNREACHABLE
                return False
            _count(sums, samples, sample, 1.0)
            samples.dirty[sample] = 0
    return True


# --- which samples a change of an arc can affect ---------------------------------------------------------------------
#
# The laws, for one step from a graph G to H, and the union of both: a sample whose shortest paths are others in H
# than in G has an arc (u, v) that came or went with d(s, u) + 1 + d(v, t) <= its length in G, distances taken in the
# union. For if a shortest path in G lost an arc, that arc lies on it; and if none did, a path in H that is as short
# has an arc that came. A sample without a path gets one only if an arc that came leads out of what its source
# reaches, and into what reaches its target.
#
# Distances are searched around both ends, the side with fewer vertices first, until the two depths together exceed
# every length: a vertex beyond counts as one farther than the depth. That lets more through than need be, which costs
# time and changes nothing.

_FAR = np.int64(1 << 40)


@kernel()
def _surround(graph: SimpleGraph, samples: SampledPaths, tail: Any, head: Any, longest: Any) -> Any:
    """Depths of what reaches the tail (in `backward`), and of what the head reaches (in `forward`), far enough.

    The ends of both queues, and for either side the least depth of what it did not find.
    """
    forward, backward, ahead, behind = samples.forward, samples.backward, samples.ahead, samples.behind
    backward[tail], behind[0], forward[head], ahead[0] = 0, tail, 0, head
    first, end, first_behind, end_behind = 0, 1, 0, 1
    beyond, beyond_behind = np.int64(1), np.int64(1)
    while beyond + beyond_behind + 1 <= longest:
        if beyond_behind == _FAR or (beyond != _FAR and end - first <= end_behind - first_behind):
            last, (end, _, _) = end, _widen(graph.out, forward, backward, ahead, first, end)
            first, beyond = last, beyond + 1 if end > last else _FAR
        else:
            last = end_behind
            end_behind, _, _ = _widen(graph.into, backward, forward, behind, first_behind, last)
            first_behind, beyond_behind = last, beyond_behind + 1 if end_behind > last else _FAR
    return end, end_behind, beyond, beyond_behind


@kernel()
def _matters(samples: SampledPaths, sample: Any, tail: Any, head: Any, beyond: Any, beyond_behind: Any) -> Any:
    """Whether an arc, searched around, can affect a sample. `beyond`: depths of what was not found."""
    length = np.int64(samples.length[sample])
    if length == UNREACHABLE and samples.stored[sample] != TOO_LARGE:
        tail_stored = head_stored = False  # does it lead out of what a search could not leave, or backward into it?
        for place in range(samples.stored[sample]):
            tail_stored |= samples.inner[sample, place] == tail
            head_stored |= samples.inner[sample, place] == head
        return tail_stored != head_stored and tail_stored == (samples.side[sample] == FORWARD_CLOSED)
    to_tail = np.int64(samples.backward[samples.source[sample]])
    from_head = np.int64(samples.forward[samples.target[sample]])
    to_tail = to_tail if to_tail >= 0 else beyond_behind
    from_head = from_head if from_head >= 0 else beyond
    return to_tail + 1 + from_head <= (length if length >= 0 else _FAR - 1)


@kernel()
def _gate_arcs(graph: SimpleGraph, samples: SampledPaths, arcs: Any, count: Any) -> None:
    """Marks the samples that arcs, in the union of the graphs before and after, can affect.

    When half of them are marked, so are the others: to search on would cost more than to draw again.
    """
    marked = 0
    for k in range(count):
        tail, head, longest = np.int64(arcs[k, 0]), np.int64(arcs[k, 1]), np.int64(0)
        for sample in range(len(samples.length)):  # the largest length of one that is not dirty
            if samples.dirty[sample] == 0:
                longest = max(longest, np.int64(samples.length[sample]))
                if samples.length[sample] == UNREACHABLE and samples.stored[sample] == TOO_LARGE:
                    longest = 2 * _FAR  # both sides are searched to their ends
                    break
        end, end_behind, beyond, beyond_behind = _surround(graph, samples, tail, head, longest)
        for sample in range(len(samples.length)):
            if samples.dirty[sample] == 0 and _matters(samples, sample, tail, head, beyond, beyond_behind):
                samples.dirty[sample] = 1
                marked += 1
        _forget(samples, end, end_behind)
        if 2 * marked > len(samples.dirty):
            samples.dirty[:] = 1
            break


# --- the measure -----------------------------------------------------------------------------------------------------

LIMIT = 4_000
_MANY = 16  # arcs, and a 32nd of the vertices: to change more in one step takes longer than to work all out anew
_NO_LOG = Log.empty()


class Betweenness(CountingMeasure):
    """A measure of one vertex. `limit` is the number of vertices up to which values are exact."""

    def __init__(
        self, *, limit: int = LIMIT, epsilon: float = 0.05, delta: float = 0.1, seed: int = 0, order: Order = int
    ) -> None:
        if not 0 <= limit < UNREACHED:
            raise ValueError(f"a limit of {limit}: exact betweenness is kept for up to {UNREACHED - 1:,} vertices")
        super().__init__()
        self._limit, self._epsilon, self._delta, self._seed, self._order = limit, epsilon, delta, seed, order
        self._report = MetricReport()
        self._forget()

    def _forget(self) -> None:
        self._sums = Sums()
        self._ceiling = self._limit  # lower than the limit where exact values failed
        self._exact: ExactTables | None = ExactTables(self._limit)
        self._sampling: SampledPaths | None = None
        self._isolated = 0  # vertices that no edge of the projection touches

    @property
    def sampled(self) -> bool:
        """Whether values are estimates."""
        return self._sampling is not None

    @property
    def samples(self) -> int:
        """How many paths the estimates are from."""
        return 0 if self._sampling is None else len(self._sampling)

    def value(self, instance: int) -> float:
        return float(self._sums.values[instance]) if instance < len(self._sums.values) else 0.0

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """Of an estimate, the interval that holds the exact value with probability 1 − δ, for all vertices at once."""
        if not self.sampled:
            return {}
        return {"interval": [max(value - self._epsilon, 0.0), min(value + self._epsilon, 1.0)]}

    # --- changes ------------------------------------------------------------------------------------------------

    def follow(self, log: Log, existing: Int64s | None = None) -> Reported:
        log, report = fixed_log(log), self._report.begin()
        self._sums.cover(log)
        steps: npt.NDArray[Any] = np.unique(log.step)
        if existing is not None:  # the steps at whose ends values may be others
            before = self._sums.graph.touched + self._isolated
            steps = np.union1d(steps, np.flatnonzero(np.diff(existing, prepend=before)))
        for step in steps.tolist():
            first, last = np.searchsorted(log.step, [step, step + 1]).tolist()
            if first < last:
                self._change(log, first, last)
            if existing is not None:
                self._isolated = int(existing[step]) - self._sums.graph.touched
            self._report_step(self.thresholds.asked(), step)
        found = report.reported()
        order = np.lexsort((found.instance, found.step))
        return Reported(found.step[order], found.instance[order], found.value[order])

    def _report_step(self, asked: ThresholdLists, step: int) -> None:
        vertices = self._sums.graph.touched
        total = vertices + self._isolated
        pairs = (total - 1) * (total - 2) if total > 2 else 1
        scale = vertices**2 / (self.samples * pairs) if self.sampled else 1 / pairs
        run(keep_sums, REPORT, self._sums, _NO_LOG, asked, scale, step, self._report)

    def _change(self, log: Log, first: int, last: int) -> None:
        """One step: what comes, gates in the union of before and after, what goes, and the values."""
        came = self._apply(log, first, last, CAME)
        if self._sampling is not None:
            self._sums.row = first
            run(keep_sums, FORESEE, self._sums, log, NO_THRESHOLDS, 0.0, 0, self._report)
            self._sampling.gate(self._sums.found)
        gone = self._apply(log, first, last, WENT)
        vertices = self._sums.graph.touched
        if self._sampling is None and vertices > self._ceiling:
            self._begin_sampling(0)
        elif self._sampling is not None and 4 * vertices < 3 * self._ceiling:
            self._begin_exact()
        elif self._sampling is not None:
            self._sampling.repick(np.unique([log.subject[first:last], log.object[first:last]]))
            self._sampling.enlarge(self._needed())
            self._sampling.refresh()
        elif self._exact is not None:
            self._change_exact(self._exact, came, gone)

    def _apply(self, log: Log, first: int, last: int, change: int) -> Int32s:
        """The arcs that are new or gone; there is room to list as many again beside them."""
        sums = self._sums
        if len(sums.arcs) < 2 * (last - first):
            sums.resize("arc", 2 * (last - first))
        sums.row, sums.last, sums.change, sums.found = first, last, change, 0
        run(keep_sums, TAKE, sums, log, NO_THRESHOLDS, 0.0, 0, self._report)
        return sums.arcs[: sums.found].copy()

    def _change_exact(self, exact: ExactTables, came: Int32s, gone: Int32s) -> None:
        come, go = ({(tail, head) for tail, head in arcs.tolist()} for arcs in (came, gone))
        changes = sorted(go - come), sorted(come - go)
        if sum(map(len, changes)) > _MANY + self._sums.graph.touched // 32:
            self._begin_exact()
        elif exact.change(*changes, self._sums):
            exact.post(self._sums)
        else:
            self._give_up()

    def _begin_exact(self) -> None:
        """Works exact values out anew."""
        self._sums.raw[:] = 0.0
        exact = ExactTables(self._limit, self._sums.every_arc())
        if exact.is_beyond:
            self._give_up()
        else:
            exact.post(self._sums)
            self._exact, self._sampling, self._ceiling = exact, None, self._limit

    def _give_up(self) -> None:
        """More shortest paths than can be counted: sampled until a quarter of the vertices are gone."""
        self._ceiling = min(self._ceiling, self._sums.graph.touched)
        self._begin_sampling(0)

    def _begin_sampling(self, count: int) -> None:
        """Draws samples anew, at least so many."""
        self._sums.raw[:] = 0.0
        self._exact, self._sampling = None, SampledPaths(self._sums, self._seed, self._order)
        self._sampling.enlarge(max(count, self._needed()))
        self._sampling.refresh()

    def _needed(self) -> int:
        return samples_needed(self._sums.graph.touched, self._ceiling * 3 // 4, self._epsilon, self._delta)

    # --- saving -------------------------------------------------------------------------------------------------

    def saved(self) -> Saved:
        """Whether values are estimates, and from how many samples; samples themselves follow from the seed."""
        return {"sampling": np.array([self.samples, self._ceiling], np.int64)} if self.sampled else {}

    def restore(self, log: Log, saved: Saved) -> None:
        self._forget()
        log = fixed_log(log)
        self._sums.cover(log)
        self._sums.graph.take_over(log)
        if "sampling" in saved:
            count, ceiling = (int(each) for each in saved["sampling"].tolist())
            most = samples_needed(1 << 31, 3, self._epsilon, self._delta)
            if not (0 < count <= most and 0 <= ceiling <= self._limit):
                raise ValueError(f"betweenness from {count} samples down from {ceiling} vertices")
            self._ceiling = ceiling
            self._begin_sampling(count)
        elif self._sums.graph.touched > self._ceiling:
            self._begin_sampling(0)
        else:
            self._begin_exact()
        self._report.begin()
        self._report_step(NO_THRESHOLDS, 0)
