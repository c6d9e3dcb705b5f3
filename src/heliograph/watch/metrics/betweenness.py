"""`hg:betweenness(x)`: the share of shortest paths between others that lead through a vertex, exact or sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import float64, int16, int32, int64, uint64

from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.types import NEW_FLOATS, NEW_HASHES, NEW_INT8S, NEW_INT32S, NEW_INT64S, named, rows
from heliograph.watch.layout import Floats, Int8s, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    BACKWARD,
    CAME,
    FORWARD,
    NEW_ARC,
    VERTICES,
    WENT,
    A,
    Asked,
    B,
    GrowingGraph,
    Lists,
    Log,
    Said,
    Simple,
    counted,
    enlarged,
    fixed_log,
    more,
)
from heliograph.watch.metrics.simple_graph_kernels import (
    ASKED,
    LOG,
    SIMPLE,
    add_edge,
    count_edges,
    drop_edge,
    has_room,
    is_told,
    list_length,
    list_start,
)
from heliograph.watch.metrics.thresholds import Cutting, Order, Points

# ----------------------------------------------------------------------------------------------------------------------
# The arrays that kernels of betweenness and their callers share. Does not import Numba.
#
# Exact values are kept between *slots*: vertices with an arc have one each, from 0, so that tables by pairs of slots
# stay small whatever the term ids are. A slot without a vertex is one without arcs: nothing leads there, and its sum
# is 0.
#
# Sampled values are kept by term id. A *sample* is a pair of vertices with one of its shortest paths; what is asked
# of all of them is how many lead through a vertex. The *board* holds what either way counted, by term id, and the
# values that were last told.
# ----------------------------------------------------------------------------------------------------------------------

Hashes: TypeAlias = "npt.NDArray[np.uint64]"
Int16s: TypeAlias = "npt.NDArray[np.int16]"

UNREACHED = 10_000  # a distance that is none; above every one, and three times as much fits into 16 bits
MOST_PATHS = 1e300  # between two vertices: beyond that, sums of counts end in infinity and values in nonsense

DONE, NO_ROOM, TOO_MANY = range(3)  # what a kernel of exact values says

ANCESTOR, TARGET = 1, 2  # marks of a sweep


class Work(NamedTuple):
    """What an exact update writes along its way, by slot; marks and levels are 0 between updates."""

    dependency: Floats
    mark: Int8s
    lost: Int8s
    level: Int32s  # by distance: 1 + the first slot that waits there
    following: Int32s  # by slot: 1 + the next one that waits at its level
    targets: Int32s
    queue: Int32s
    sources: Int32s  # who reaches the tail of an arc, and at which distance
    near: Int32s
    tree: Int32s  # the slots that the head of an arc reaches, in breadth-first order
    children: Int32s  # of the n-th in the tree: tree[children[n]:children[n + 1]]


class Exact(NamedTuple):
    """For every pair of slots the distance and the number of shortest paths, and by slot the sum of dependencies."""

    distance: Int16s  # rows
    paths: Floats  # rows
    sums: Floats
    work: Work


class Row(NamedTuple):
    """What is known of one source."""

    distance: Int16s
    paths: Floats


# --- samples ----------------------------------------------------------------------------------------------------

UNREACHABLE = -1  # in place of a length: there is no path
TOO_LARGE = -1  # in place of the number of vertices that a sample stores
FORWARD_CLOSED, BACKWARD_CLOSED = 0, 1


class Samples(NamedTuple):
    """Pairs with a path each.

    Of a pair with a path `stored` inner vertices stand in the row. Of one without, the row holds all vertices that the
    source reaches, or all that reach the target, as `side` says: while no arc leads out of them, there is none.
    """

    source: Int32s
    target: Int32s
    source_hash: Hashes  # the smallest of all vertices' ones
    target_hash: Hashes
    length: Int32s
    stored: Int32s
    side: Int8s
    dirty: Int8s  # whether the path may be another one by now
    rows: Int32s


class Search(NamedTuple):
    """What a search writes along its way, by term id; depths are -1 between searches."""

    forward: Int32s
    backward: Int32s
    weight: Floats  # shortest paths from the source, up to a factor that all of a depth share
    ahead: Int32s  # queues
    behind: Int32s
    marks: Hashes  # what stands for a vertex in hashes, whatever its id is


NAMES = 0  # of the counters of a board


class Board(NamedTuple):
    """What was counted, by term id."""

    raw: Floats
    last: Floats  # the value at the end of the last step
    listed: Int8s
    names: Int32s  # those whose count or last value is not 0, and maybe others
    counters: Int64s


ROW, LAST, CHANGE, ARCS = range(4)  # of the state of taking changes over: the next row, the end, which, arcs found
STATES = 4


# ----------------------------------------------------------------------------------------------------------------------
# Numba's types for the arrays of betweenness.
# ----------------------------------------------------------------------------------------------------------------------

INT32_ROWS: Any = rows(int32, writable=True)
WORK: Any = named(Work, NEW_FLOATS, NEW_INT8S, NEW_INT8S, *[NEW_INT32S] * 8)
EXACT: Any = named(Exact, rows(int16, writable=True), rows(float64, writable=True), NEW_FLOATS, WORK)
SAMPLES: Any = named(
    Samples,
    *[NEW_INT32S] * 2,
    *[NEW_HASHES] * 2,
    *[NEW_INT32S] * 2,
    *[NEW_INT8S] * 2,
    INT32_ROWS,
)
SEARCH: Any = named(Search, NEW_INT32S, NEW_INT32S, NEW_FLOATS, NEW_INT32S, NEW_INT32S, NEW_HASHES)
BOARD: Any = named(Board, NEW_FLOATS, NEW_FLOATS, NEW_INT8S, NEW_INT32S, NEW_INT64S)


# ----------------------------------------------------------------------------------------------------------------------
# Dependencies of one source on the vertices between it and some targets.
#
# The law (Brandes): what a source s depends on a vertex p for reaching targets is the sum, over the vertices w that
# come after p on shortest paths from s, of paths(p) / paths(w) * (1 if w is a target + the dependency on w). So a
# sweep goes from the farthest targets towards the source and looks only at vertices that lie on the way to a target.
# ----------------------------------------------------------------------------------------------------------------------

NOWHERE = (-1, -1)  # in place of an arc


@kernel()
def wait(work: Work, level: Any, slot: Any) -> None:
    """A slot waits at a level."""
    work.following[slot] = work.level[level]
    work.level[level] = slot + 1


@kernel()
def _enter_targets(row: Row, work: Work, count: Any) -> Any:
    """The targets that are reached wait at their distances; the largest of these."""
    farthest = np.int64(0)
    for k in range(count):
        target = np.int64(work.targets[k])
        level = np.int64(row.distance[target])
        if level < UNREACHED:
            work.mark[target], work.dependency[target] = TARGET, 0.0
            wait(work, level, target)
            farthest = max(farthest, level)
    return farthest


@kernel(inline=True)
def _credit(row: Row, work: Work, slot: Any, level: Any, share: Any) -> None:
    """Adds to the dependency on a slot, if shortest paths lead through it."""
    if row.distance[slot] != level:
        return
    if work.mark[slot] == 0:
        work.mark[slot], work.dependency[slot] = ANCESTOR, 0.0
        wait(work, level, slot)
    work.dependency[slot] += row.paths[slot] * share


@kernel()
def _spread(graph: Simple, row: Row, work: Work, slot: Any, arc: Any) -> None:
    """Credits those before a slot; the arc, which is not in the graph, counts if it ends there."""
    level = np.int64(row.distance[slot]) - 1
    own = 1.0 if work.mark[slot] == TARGET else 0.0
    share = (own + work.dependency[slot]) / row.paths[slot]
    start = list_start(graph.into, slot)
    for place in range(start, start + list_length(graph.into, slot)):
        _credit(row, work, np.int64(graph.into.pool[place]), level, share)
    if arc[1] == slot:
        _credit(row, work, arc[0], level, share)


@kernel()
def sweep(graph: Simple, row: Row, work: Work, count: Any, arc: Any, change: Any) -> None:
    """Adds the dependencies for reaching work.targets[:count] to sums; `change` is the sums and the sign."""
    sums, sign = change
    for level in range(_enter_targets(row, work, count), 0, -1):
        slot = np.int64(work.level[level]) - 1
        work.level[level] = 0
        while slot >= 0:
            _spread(graph, row, work, slot, arc)
            sums[slot] += sign * work.dependency[slot]
            work.mark[slot] = 0
            slot = np.int64(work.following[slot]) - 1
    if work.level[0] != 0:  # the source itself
        work.mark[work.level[0] - 1] = 0
        work.level[0] = 0


# ----------------------------------------------------------------------------------------------------------------------
# Which pairs are sampled: by hashes, so that they are a function of the seed and of the vertices that are there.
#
# The law: the source of a sample is the vertex whose hash, of the seed, the sample and the vertex's mark, is the
# smallest; so is its target, by hashes of their own (they may be the same vertex, and then no path counts). Every
# ordered pair is equally likely, samples are independent, and whatever came and went before, the same vertices give
# the same pairs: a vertex that comes takes its share of the samples, and those of one that goes are the only ones to
# be picked again. Marks do not depend on ids, which are given in order of arrival.
# ----------------------------------------------------------------------------------------------------------------------

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
def sample_key(seed: Any, sample: Any, purpose: Any) -> Any:
    return _mix(np.uint64(seed) + _ODD * np.uint64(3 * sample + purpose + 1))


@kernel(inline=True)
def vertex_hash(key: Any, mark: Any) -> Any:
    return _mix(key + _ODD * (mark + np.uint64(1)))


@kernel()
def _offer(samples: Samples, marks: Any, seed: Any, sample: Any, vertex: Any) -> None:
    """A vertex becomes an end of a sample if its hash is smaller."""
    hashed = vertex_hash(sample_key(seed, sample, SOURCES), marks[vertex])
    if hashed < samples.source_hash[sample]:
        samples.source[sample], samples.source_hash[sample], samples.dirty[sample] = vertex, hashed, 1
    hashed = vertex_hash(sample_key(seed, sample, TARGETS), marks[vertex])
    if hashed < samples.target_hash[sample]:
        samples.target[sample], samples.target_hash[sample], samples.dirty[sample] = vertex, hashed, 1


@kernel((SAMPLES, NEW_INT32S, NEW_HASHES, uint64, int64))
def pick(samples: Samples, touching: Any, marks: Any, seed: Any, first: Any) -> None:
    """Picks the ends of the samples from a number on, among all vertices."""
    for sample in range(first, len(samples.source)):
        samples.source_hash[sample] = samples.target_hash[sample] = _NONE
        for vertex in range(len(touching)):
            if touching[vertex] > 0:
                _offer(samples, marks, seed, sample, vertex)


@kernel()
def _leave(samples: Samples, touching: Any, marks: Any, seed: Any) -> None:
    """Samples with an end that is no vertex any more get another."""
    for sample in range(len(samples.source)):
        gone = False
        if touching[samples.source[sample]] == 0:
            samples.source_hash[sample], gone = _NONE, True
        if touching[samples.target[sample]] == 0:
            samples.target_hash[sample], gone = _NONE, True
        if gone:
            for vertex in range(len(touching)):
                if touching[vertex] > 0:
                    _offer(samples, marks, seed, sample, vertex)


@kernel((SAMPLES, NEW_INT32S, NEW_HASHES, uint64, NEW_INT32S))
def repick(samples: Samples, touching: Any, marks: Any, seed: Any, ends: Any) -> None:
    """Makes the pairs those of the vertices that are there, when only the `ends`, ids, may have come or gone.

    To offer a vertex again that was there changes nothing: no hash is smaller than itself.
    """
    _leave(samples, touching, marks, seed)
    for k in range(len(ends)):
        if touching[ends[k]] > 0:
            for sample in range(len(samples.source)):
                _offer(samples, marks, seed, sample, ends[k])


# ----------------------------------------------------------------------------------------------------------------------
# One shortest path of each sampled pair, all of them equally likely.
#
# A search goes from both ends at once, the side with fewer arcs ahead first, until they meet. Counts of paths from
# the source are then carried on to the target, along shortest paths only; going back from there, each vertex before
# is taken with the share of the paths that lead through it.
#
# The law: which path is taken is a function of the seed, of the sample, and of the graph of shortest paths between
# its ends. A draw with weights is a race: of exponential times, each divided by its weight, the shortest wins; the
# times are hashes of the vertices. So a path that no change can have affected need not be drawn again, and to draw it
# again in vain changes nothing.
# ----------------------------------------------------------------------------------------------------------------------

_11 = np.uint64(11)
_LARGE, _SMALLER = 2.0**500, 2.0**-500


@kernel()
def forget(search: Search, end: Any, end_behind: Any) -> None:
    """Takes the depths of a search back."""
    for k in range(end):
        search.forward[search.ahead[k]] = -1
    for k in range(end_behind):
        search.backward[search.behind[k]] = -1


@kernel()
def _go_on(graph: Simple, search: Search, first: Any, end: Any) -> Any:
    """The next depth from the source, with counts of paths. The new end, arcs ahead of it, and whether ends met."""
    depth, last, volume, met = search.forward[search.ahead[first]] + 1, end, np.int64(0), False
    for k in range(first, last):
        before = search.ahead[k]
        start = list_start(graph.out, before)
        for place in range(start, start + list_length(graph.out, before)):
            after = graph.out.pool[place]
            if search.forward[after] < 0:
                search.forward[after], search.weight[after], search.ahead[end] = depth, 0.0, after
                volume += list_length(graph.out, after)
                met |= search.backward[after] >= 0
                end += 1
            if search.forward[after] == depth:
                search.weight[after] += search.weight[before]
    _scale(search, last, end)
    return end, volume, met


@kernel()
def _scale(search: Search, first: Any, end: Any) -> None:
    """Keeps counts finite: only shares within one depth matter."""
    most = 0.0
    for k in range(first, end):
        most = max(most, search.weight[search.ahead[k]])
    if most > _LARGE:
        for k in range(first, end):
            search.weight[search.ahead[k]] *= _SMALLER


@kernel()
def _go_back(graph: Simple, search: Search, first: Any, end: Any) -> Any:
    """The next depth from the target. The new end, arcs before it, and whether the ends met."""
    depth, last, volume, met = search.backward[search.behind[first]] + 1, end, np.int64(0), False
    for k in range(first, last):
        start = list_start(graph.into, search.behind[k])
        for place in range(start, start + list_length(graph.into, search.behind[k])):
            before = graph.into.pool[place]
            if search.backward[before] < 0:
                search.backward[before], search.behind[end] = depth, before
                volume += list_length(graph.into, before)
                met |= search.forward[before] >= 0
                end += 1
    return end, volume, met


@kernel()
def _meet(graph: Simple, search: Search, source: Any, target: Any) -> Any:
    """Searches from both ends: where the last depth from the source begins and ends, and how many stand behind.

    Where they do not meet, the first number is -1 if all that the source reaches was seen, -2 if all that reaches the
    target was.
    """
    search.forward[source], search.weight[source], search.ahead[0] = 0, 1.0, source
    search.backward[target], search.behind[0] = 0, target
    first, end, first_behind, end_behind = 0, 1, 0, 1
    volume, volume_behind = list_length(graph.out, source), list_length(graph.into, target)
    met = source == target
    while not met:
        if volume <= volume_behind:
            last, (end, volume, met) = end, _go_on(graph, search, first, end)
            first = last
            if first == end:
                return -1, end, end_behind
        else:
            last, (end_behind, volume_behind, met) = end_behind, _go_back(graph, search, first_behind, end_behind)
            first_behind = last
            if first_behind == end_behind:
                return -2, end, end_behind
    return first, end, end_behind


@kernel()
def _carry_on(graph: Simple, search: Search, first: Any, end: Any, target: Any) -> Any:
    """Carries depths and counts on from where the ends met to the target, along shortest paths. The new end."""
    while search.forward[target] < 0:
        last, depth = end, search.forward[search.ahead[first]] + 1
        for k in range(first, last):
            before = search.ahead[k]
            left = search.backward[before] - 1
            if left < 0:
                continue
            start = list_start(graph.out, before)
            for place in range(start, start + list_length(graph.out, before)):
                after = graph.out.pool[place]
                if search.backward[after] != left:
                    continue
                if search.forward[after] < 0:
                    search.forward[after], search.weight[after], search.ahead[end] = depth, 0.0, after
                    end += 1
                search.weight[after] += search.weight[before]
        _scale(search, last, end)
        first = last
    return end


@kernel()
def _before(graph: Simple, search: Search, vertex: Any, key: Any) -> Any:
    """Who comes right before a vertex on the path that is taken."""
    winner, shortest, depth = np.int64(-1), np.inf, search.forward[vertex] - 1
    start = list_start(graph.into, vertex)
    for place in range(start, start + list_length(graph.into, vertex)):
        before = graph.into.pool[place]
        if search.forward[before] == depth:
            share = (np.float64(vertex_hash(key, search.marks[before]) >> _11) + 1.0) * 2.0**-53
            time = -np.log(share) / search.weight[before]
            if time < shortest or winner < 0:
                winner, shortest = np.int64(before), time
    return winner


@kernel()
def _take_path(graph: Simple, search: Search, samples: Samples, sample: Any, key: Any) -> None:
    """Writes the inner vertices of the path that is taken, which there is room for."""
    vertex = np.int64(samples.target[sample])
    for place in range(samples.stored[sample] - 1, -1, -1):
        vertex = _before(graph, search, vertex, key)
        samples.rows[sample, place] = vertex


@kernel()
def _take_closed(samples: Samples, sample: Any, queue: Any, end: Any) -> None:
    """Writes the vertices that a search could not leave, if there is room for them."""
    samples.length[sample], samples.stored[sample] = UNREACHABLE, TOO_LARGE
    if end <= samples.rows.shape[1]:
        samples.stored[sample] = end
        for place in range(end):
            samples.rows[sample, place] = queue[place]


@kernel()
def _draw(graph: Simple, search: Search, samples: Samples, sample: Any, seed: Any) -> Any:
    """Draws the path of a sample; whether there was room for it."""
    source, target = np.int64(samples.source[sample]), np.int64(samples.target[sample])
    first, end, end_behind = _meet(graph, search, source, target)
    fits = True
    if first >= 0:
        end = _carry_on(graph, search, first, end, target)
        samples.length[sample] = search.forward[target]
        samples.stored[sample] = max(samples.length[sample] - 1, 0)
        fits = samples.stored[sample] <= samples.rows.shape[1]
        if fits:
            _take_path(graph, search, samples, sample, sample_key(seed, sample, CHOICES))
    elif first == -1:
        samples.side[sample] = FORWARD_CLOSED
        _take_closed(samples, sample, search.ahead, end)
    else:
        samples.side[sample] = BACKWARD_CLOSED
        _take_closed(samples, sample, search.behind, end_behind)
    forget(search, end, end_behind)
    return fits


@kernel()
def _count(board: Board, samples: Samples, sample: Any, change: Any) -> None:
    """Counts the path of a sample, or no longer."""
    if samples.length[sample] <= 0:
        return
    for place in range(samples.stored[sample]):
        vertex = samples.rows[sample, place]
        board.raw[vertex] += change
        if board.listed[vertex] == 0:
            board.listed[vertex], board.names[board.counters[NAMES]] = 1, vertex
            board.counters[NAMES] += 1


@kernel((SIMPLE, SEARCH, SAMPLES, BOARD, uint64))
def refresh(graph: Simple, search: Search, samples: Samples, board: Board, seed: Any) -> Any:
    """Draws dirty samples again. How many inner vertices a path has that there was no room for, or 0."""
    for sample in range(len(samples.source)):
        if samples.dirty[sample] != 0:
            _count(board, samples, sample, -1.0)
            if not _draw(graph, search, samples, sample, seed):
                needed = np.int64(samples.stored[sample])
                samples.length[sample] = UNREACHABLE
                return needed
            _count(board, samples, sample, 1.0)
            samples.dirty[sample] = 0
    return np.int64(0)


# ----------------------------------------------------------------------------------------------------------------------
# Who reaches an arc, whom it reaches, and for which targets of a source it matters.
#
# The laws, for an arc (u, v) that comes or goes, with distances in the graph without it (d(s, u) and d(v, t) are the
# same with it): a source s is affected only if d(s, u) + 1 <= d(s, v), and then its targets are the t with d(s, u) +
# 1 + d(v, t) <= d(s, t), where d(s, .) is before the change. If t is one of them, so is every vertex on a shortest
# path from v to t: targets are found by going down a tree of such paths and turning back where the test fails.
# ----------------------------------------------------------------------------------------------------------------------


@kernel()
def find_sources(graph: Simple, work: Work, tail: Any) -> Any:
    """Lists who reaches a slot, with distances; how many."""
    work.sources[0], work.near[0], work.mark[tail] = tail, 0, 1
    count, k = 1, 0
    while k < count:
        start = list_start(graph.into, work.sources[k])
        for place in range(start, start + list_length(graph.into, work.sources[k])):
            slot = graph.into.pool[place]
            if work.mark[slot] == 0:
                work.mark[slot], work.sources[count], work.near[count] = 1, slot, work.near[k] + 1
                count += 1
        k += 1
    for k in range(count):
        work.mark[work.sources[k]] = 0
    return count


@kernel()
def grow_tree(graph: Simple, work: Work, root: Any) -> Any:
    """Lists whom a slot reaches as a tree of shortest paths; how many."""
    work.tree[0], work.mark[root] = root, 1
    count, k = 1, 0
    while k < count:
        work.children[k] = count
        start = list_start(graph.out, work.tree[k])
        for place in range(start, start + list_length(graph.out, work.tree[k])):
            slot = graph.out.pool[place]
            if work.mark[slot] == 0:
                work.mark[slot], work.tree[count] = 1, slot
                count += 1
        k += 1
    work.children[count] = count
    for k in range(count):
        work.mark[work.tree[k]] = 0
    return count


@kernel()
def find_targets(work: Work, distance: Any, beyond: Any, first: Any) -> Any:
    """Lists the targets of a source for which an arc matters, in order of their distance by way of it; how many.

    `distance` is the source's, `beyond` that of the arc's head, which is `first` away from the source by the arc.
    """
    work.queue[0], work.targets[0] = 0, work.tree[0]
    count, k = 1, 0
    while k < count:
        place = np.int64(work.queue[k])
        for child in range(work.children[place], work.children[place + 1]):
            slot = work.tree[child]
            if first + np.int64(beyond[slot]) <= distance[slot]:
                work.queue[count], work.targets[count] = child, slot
                count += 1
        k += 1
    return count


# ----------------------------------------------------------------------------------------------------------------------
# Which samples a change of an arc can affect.
#
# The laws, for one step from a graph G to H, and the union of both: a sample whose shortest paths are others in H
# than in G has an arc (u, v) that came or went with d(s, u) + 1 + d(v, t) <= its length in G, distances taken in the
# union. For if a shortest path in G lost an arc, that arc lies on it; and if none did, a path in H that is as short
# has an arc that came. A sample without a path gets one only if an arc that came leads out of what its source
# reaches, and into what reaches its target.
#
# Distances are searched around both ends, the side with fewer vertices first, until the two depths together exceed
# every length: whoever lies beyond counts as one farther than the depth. That lets more through than need be, which
# costs time and changes nothing (see metric_betweenness_paths).
# ----------------------------------------------------------------------------------------------------------------------

_FAR = np.int64(1 << 40)


@kernel()
def _widen(lists: Lists, depths: Any, queue: Any, first: Any, end: Any) -> Any:
    """The next depth around an end of an arc. The new end of the queue."""
    depth, last = depths[queue[first]] + 1, end
    for k in range(first, last):
        start = list_start(lists, queue[k])
        for place in range(start, start + list_length(lists, queue[k])):
            vertex = lists.pool[place]
            if depths[vertex] < 0:
                depths[vertex], queue[end] = depth, vertex
                end += 1
    return end


@kernel()
def _surround(graph: Simple, search: Search, tail: Any, head: Any, longest: Any) -> Any:
    """Depths of who reaches the tail (in `backward`), and of whom the head reaches (in `forward`), far enough.

    The ends of both queues, and for either side the least depth of whoever it did not find.
    """
    search.backward[tail], search.behind[0] = 0, tail
    search.forward[head], search.ahead[0] = 0, head
    first, end, first_behind, end_behind = 0, 1, 0, 1
    beyond, beyond_behind = np.int64(1), np.int64(1)
    while beyond + beyond_behind + 1 <= longest:
        if beyond_behind == _FAR or (beyond != _FAR and end - first <= end_behind - first_behind):
            last, end = end, _widen(graph.out, search.forward, search.ahead, first, end)
            first, beyond = last, beyond + 1 if end > last else _FAR
        else:
            last, end_behind = end_behind, _widen(graph.into, search.backward, search.behind, first_behind, end_behind)
            first_behind, beyond_behind = last, beyond_behind + 1 if end_behind > last else _FAR
    return end, end_behind, beyond, beyond_behind


@kernel()
def _leads_out(samples: Samples, sample: Any, tail: Any, head: Any) -> Any:
    """Whether an arc leads out of what a search could not leave (or, searching backward, into it)."""
    tail_stored = head_stored = False
    for place in range(samples.stored[sample]):
        tail_stored |= samples.rows[sample, place] == tail
        head_stored |= samples.rows[sample, place] == head
    return tail_stored != head_stored and tail_stored == (samples.side[sample] == FORWARD_CLOSED)


@kernel()
def _matters(search: Search, samples: Samples, sample: Any, arc: Any, beyond: Any) -> Any:
    """Whether an arc, searched around, can affect a sample. `beyond`: depths of who was not found."""
    length = np.int64(samples.length[sample])
    if length == UNREACHABLE and samples.stored[sample] != TOO_LARGE:
        return _leads_out(samples, sample, arc[0], arc[1])
    to_tail = np.int64(search.backward[samples.source[sample]])
    from_head = np.int64(search.forward[samples.target[sample]])
    to_tail = to_tail if to_tail >= 0 else beyond[1]
    from_head = from_head if from_head >= 0 else beyond[0]
    return to_tail + 1 + from_head <= (length if length >= 0 else _FAR - 1)


@kernel()
def _longest(samples: Samples) -> Any:
    """The largest length of a sample that is not dirty; larger than any if one has no path and stores no reason."""
    longest = np.int64(0)
    for sample in range(len(samples.length)):
        if samples.dirty[sample] == 0:
            longest = max(longest, np.int64(samples.length[sample]))
            if samples.length[sample] == UNREACHABLE and samples.stored[sample] == TOO_LARGE:
                return 2 * _FAR  # both sides are searched to their ends
    return longest


@kernel()
def _gate(graph: Simple, search: Search, samples: Samples, arc: Any) -> Any:
    """Marks the samples that an arc can affect; how many."""
    end, end_behind, ahead, behind = _surround(graph, search, arc[0], arc[1], _longest(samples))
    marked = 0
    for sample in range(len(samples.length)):
        if samples.dirty[sample] == 0 and _matters(search, samples, sample, arc, (ahead, behind)):
            samples.dirty[sample] = 1
            marked += 1
    forget(search, end, end_behind)
    return marked


@kernel((SIMPLE, SEARCH, SAMPLES, INT32_ROWS, int64))
def gate_arcs(graph: Simple, search: Search, samples: Samples, arcs: Any, count: Any) -> Any:
    """Marks the samples that arcs, in the union of the graphs before and after, can affect; how many there are now.

    When half of them are marked, so are the others: to search on would cost more than to draw again.
    """
    marked = 0
    for k in range(count):
        marked += _gate(graph, search, samples, (np.int64(arcs[k, 0]), np.int64(arcs[k, 1])))
        if 2 * marked > len(samples.dirty):
            samples.dirty[:] = 1
            break
    return marked


# ----------------------------------------------------------------------------------------------------------------------
# Distances and numbers of paths from a source when an arc on some of its shortest paths went.
#
# The laws: a target keeps its distance while one of those right before it does. Whoever loses it is at least one
# farther, and is then reached either from somebody who kept it or from another one that was reached anew; in order of
# the new distance each is settled once. Numbers of paths are sums over those right before, never differences: a
# difference of large counts would leave nothing but rounding.
# ----------------------------------------------------------------------------------------------------------------------


@kernel()
def _nearest(graph: Simple, distance: Any, lost: Any, slot: Any) -> Any:
    """The distance of a slot by way of those before it that are not lost."""
    nearest = np.int64(UNREACHED - 1)
    start = list_start(graph.into, slot)
    for place in range(start, start + list_length(graph.into, slot)):
        before = graph.into.pool[place]
        if lost[before] == 0:
            nearest = min(nearest, np.int64(distance[before]))
    return nearest + 1


@kernel()
def _find_lost(graph: Simple, row: Row, work: Work, count: Any) -> Any:
    """Marks the targets that nobody right before them holds any more, and lists them in work.queue; how many."""
    lost = 0
    for k in range(count):  # in order of distance
        target = np.int64(work.targets[k])
        if _nearest(graph, row.distance, work.lost, target) != row.distance[target]:
            work.lost[target], work.queue[lost] = 1, target
            lost += 1
    return lost


@kernel()
def _enter_lost(graph: Simple, row: Row, work: Work, lost: Any) -> Any:
    """Lost targets wait where those that were not lost would lead to them; the lowest and the highest such level."""
    low, high = np.int64(UNREACHED), np.int64(0)
    for k in range(lost):
        target = np.int64(work.queue[k])
        level = _nearest(graph, row.distance, work.lost, target)
        row.distance[target] = level
        if level < UNREACHED:
            wait(work, level, target)
            low, high = min(low, level), max(high, level)
    return low, high


@kernel()
def _settle(graph: Simple, row: Row, work: Work, slot: Any, end: Any) -> Any:
    """A lost slot has its distance; those after it that it brings nearer are put at the end of the queue."""
    work.lost[slot] = 0
    level = np.int64(row.distance[slot]) + 1
    start = list_start(graph.out, slot)
    for place in range(start, start + list_length(graph.out, slot)):
        after = graph.out.pool[place]
        if work.lost[after] != 0 and row.distance[after] > level:
            row.distance[after], work.queue[end] = level, after
            end += 1
    return end


@kernel()
def _resettle(graph: Simple, row: Row, work: Work, lost: Any) -> None:
    """Gives lost targets their distances. Each waits at one level and is brought nearer at most once."""
    level, high = _enter_lost(graph, row, work, lost)
    first = end = 0  # the queue is free again: it holds those brought nearer, by level
    while level <= high or first < end:
        last, slot = end, np.int64(work.level[level]) - 1
        work.level[level] = 0
        while slot >= 0:
            if work.lost[slot] != 0 and row.distance[slot] == level:
                end = _settle(graph, row, work, slot, end)
            slot = np.int64(work.following[slot]) - 1
        for k in range(first, last):
            if work.lost[work.queue[k]] != 0:
                end = _settle(graph, row, work, np.int64(work.queue[k]), end)
        first, level = last, level + 1


@kernel()
def _recount(graph: Simple, row: Row, slot: Any) -> None:
    """The number of shortest paths to a slot, from those to the ones right before it."""
    total, level = 0.0, row.distance[slot] - 1
    start = list_start(graph.into, slot)
    for place in range(start, start + list_length(graph.into, slot)):
        before = graph.into.pool[place]
        if row.distance[before] == level:
            total += row.paths[before]
    row.paths[slot] = total


@kernel()
def _recount_sorted(graph: Simple, row: Row, work: Work, count: Any) -> None:
    """Recounts the targets in order of their new distances."""
    low, high = np.int64(UNREACHED), np.int64(0)
    for k in range(count):
        target = np.int64(work.targets[k])
        level = np.int64(row.distance[target])
        if level < UNREACHED:
            wait(work, level, target)
            low, high = min(low, level), max(high, level)
        else:
            row.paths[target] = 0.0
    for depth in range(low, high + 1):
        slot = np.int64(work.level[depth]) - 1
        work.level[depth] = 0
        while slot >= 0:
            _recount(graph, row, slot)
            slot = np.int64(work.following[slot]) - 1


@kernel()
def repair(graph: Simple, row: Row, work: Work, count: Any) -> None:
    """Makes a source's row right for work.targets[:count], which are in order of their old distances."""
    lost = _find_lost(graph, row, work, count)
    if lost == 0:
        for k in range(count):
            _recount(graph, row, np.int64(work.targets[k]))
        return
    _resettle(graph, row, work, lost)
    for k in range(count):
        work.lost[work.targets[k]] = 0
    _recount_sorted(graph, row, work, count)


# ----------------------------------------------------------------------------------------------------------------------
# A step of a log as changes of arcs, and what is told at its end.
#
# Edges that come are added before those that go are dropped: between the two, the graph is the union of before and
# after the step, in which gates search (see metric_betweenness_gates). An edge that goes and comes again changes
# nothing.
# ----------------------------------------------------------------------------------------------------------------------

DIGITS = 1e12  # values are told in this many parts: sums of floats differ in less, by the order of additions


@kernel(inline=True)
def _note(arcs: Any, state: Any, tail: Any, head: Any) -> None:
    arcs[state[ARCS], 0], arcs[state[ARCS], 1] = tail, head
    state[ARCS] += 1


@kernel((SIMPLE, LOG, NEW_INT64S, INT32_ROWS))
def take_changes(graph: Simple, log: Log, state: Any, arcs: Any) -> Any:
    """Applies rows of a log that are of one kind, CAME or WENT, and lists the arcs that are new or gone.

    Whether all were applied; else the graph is to grow first.
    """
    while state[ROW] < state[LAST]:
        if not has_room(graph):
            return False
        row, changed = state[ROW], 0
        tail, head = log.subject[row], log.object[row]
        if log.change[row] == state[CHANGE]:
            changed = add_edge(graph, tail, head) if state[CHANGE] == CAME else drop_edge(graph, tail, head)
        if changed & NEW_ARC:
            _note(arcs, state, tail, head)
        state[ROW] += 1
    return True


@kernel((SIMPLE, LOG, NEW_INT64S, INT32_ROWS))
def foresee_gone(graph: Simple, log: Log, state: Any, arcs: Any) -> None:
    """Lists the arcs that rows of a log may take away: those with no more edges than there are such rows."""
    going = np.int64(0)
    for row in range(state[ROW], state[LAST]):
        going += log.change[row] == WENT
    for row in range(state[ROW], state[LAST]):
        tail, head = log.subject[row], log.object[row]
        if log.change[row] == WENT and tail != head and count_edges(graph, tail, head) <= going:
            _note(arcs, state, tail, head)


@kernel((BOARD, ASKED, float64, NEW_INT32S, NEW_FLOATS))
def tell(board: Board, asked: Asked, scale: Any, instances: Any, values: Any) -> Any:
    """Works the values out and writes those that are to be told, in arrays with room for all names; how many."""
    told = kept = np.int64(0)
    for k in range(board.counters[NAMES]):
        vertex = np.int64(board.names[k])
        before, after = board.last[vertex], np.rint(board.raw[vertex] * scale * DIGITS) / DIGITS + 0.0
        if after != before:
            if is_told(asked, vertex, before, after):
                instances[told], values[told] = vertex, after
                told += 1
            board.last[vertex] = after
        if board.raw[vertex] != 0.0 or after != 0.0:
            board.names[kept] = vertex
            kept += 1
        else:
            board.listed[vertex] = 0
    board.counters[NAMES] = kept
    return told


@kernel((BOARD, NEW_INT32S, NEW_FLOATS, int64))
def post(board: Board, names: Any, sums: Any, count: Any) -> None:
    """Puts the sums of slots on the board, under the ids that the slots have."""
    for slot in range(count):
        if names[slot] >= 0:
            vertex = np.int64(names[slot])
            board.raw[vertex] = sums[slot]
            if board.listed[vertex] == 0 and sums[slot] != 0.0:
                board.listed[vertex], board.names[board.counters[NAMES]] = 1, vertex
                board.counters[NAMES] += 1


# ----------------------------------------------------------------------------------------------------------------------
# Exact betweenness, kept as arcs come and go: for every source only what an arc can change.
#
# The law: the sum of a vertex is, over all pairs (s, t) of others, the share of shortest paths from s to t that lead
# through it. A change of an arc changes what is due to the pairs for which it matters (see metric_betweenness_reach)
# and nothing else: that is swept off with the old distances and counts, and on again with the new ones. No dependency
# is stored. While a row is worked on the arc itself is not in the graph; a sweep that is to see it is told of it.
# ----------------------------------------------------------------------------------------------------------------------


@kernel()
def _lead_through(row: Row, beyond: Row, exact: Exact, count: Any, through: Any) -> Any:
    """Targets get their distances and counts by way of a new arc: `through` is the distance of its head by it, and the
    number of paths to its tail. What the largest count is."""
    first, ways, most = through[0], through[1], 0.0
    for k in range(count):
        target = exact.work.targets[k]
        length, paths = first + np.int64(beyond.distance[target]), ways * beyond.paths[target]
        if length == row.distance[target]:
            paths += row.paths[target]
        row.distance[target], row.paths[target] = length, paths
        most = max(most, paths)
    return most


@kernel()
def _add_for(graph: Simple, exact: Exact, row: Row, arc: Any, first: Any) -> Any:
    """A source's part of an arc that comes. What the largest new number of paths is."""
    beyond, change = Row(exact.distance[arc[1]], exact.paths[arc[1]]), exact.sums
    count = find_targets(exact.work, row.distance, beyond.distance, first)
    sweep(graph, row, exact.work, count, NOWHERE, (change, -1.0))
    most = _lead_through(row, beyond, exact, count, (first, row.paths[arc[0]]))
    sweep(graph, row, exact.work, count, arc, (change, 1.0))
    return most


@kernel((SIMPLE, EXACT, int64, int64))
def add_arc(graph: Simple, exact: Exact, tail: Any, head: Any) -> Any:
    """An arc comes that was not there: DONE, NO_ROOM in the graph, or TOO_MANY paths to be counted any more."""
    if not has_room(graph):
        return NO_ROOM
    sources, most = find_sources(graph, exact.work, tail), 0.0
    grow_tree(graph, exact.work, head)
    for k in range(sources):
        source, first = np.int64(exact.work.sources[k]), np.int64(exact.work.near[k]) + 1
        if first <= exact.distance[source, head]:
            row = Row(exact.distance[source], exact.paths[source])
            most = max(most, _add_for(graph, exact, row, (tail, head), first))
    add_edge(graph, tail, head)
    return DONE if most <= MOST_PATHS else TOO_MANY


@kernel()
def _drop_for(graph: Simple, exact: Exact, row: Row, arc: Any, first: Any) -> None:
    """A source's part of an arc that went."""
    count = find_targets(exact.work, row.distance, exact.distance[arc[1]], first)
    sweep(graph, row, exact.work, count, arc, (exact.sums, -1.0))
    repair(graph, row, exact.work, count)
    sweep(graph, row, exact.work, count, NOWHERE, (exact.sums, 1.0))


@kernel((SIMPLE, EXACT, int64, int64))
def drop_arc(graph: Simple, exact: Exact, tail: Any, head: Any) -> Any:
    """An arc goes that was there: DONE, or NO_ROOM in the graph."""
    if not has_room(graph):
        return NO_ROOM
    drop_edge(graph, tail, head)
    sources = find_sources(graph, exact.work, tail)
    grow_tree(graph, exact.work, head)
    for k in range(sources):
        source, first = np.int64(exact.work.sources[k]), np.int64(exact.work.near[k]) + 1
        if first == exact.distance[source, head]:
            _drop_for(graph, exact, Row(exact.distance[source], exact.paths[source]), (tail, head), first)
    return DONE


# --- from scratch -----------------------------------------------------------------------------------------------


@kernel()
def _count_paths(graph: Simple, row: Row, targets: Any, source: Any) -> Any:
    """Distances and counts from a source; lists whom it reaches, itself first. How many."""
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
    return count


@kernel((SIMPLE, EXACT))
def count_anew(graph: Simple, exact: Exact) -> Any:
    """Works everything out from the graph alone: DONE, or TOO_MANY paths to be counted."""
    exact.sums[:] = 0.0
    most = 0.0
    for source in range(len(exact.sums)):
        row = Row(exact.distance[source], exact.paths[source])
        count = _count_paths(graph, row, exact.work.targets, source)
        for k in range(count):
            most = max(most, row.paths[exact.work.targets[k]])
        exact.work.targets[0] = exact.work.targets[count - 1]  # the source is none of its own targets
        sweep(graph, row, exact.work, count - 1, NOWHERE, (exact.sums, 1.0))
    return DONE if most <= MOST_PATHS else TOO_MANY


@kernel((SIMPLE, NEW_INT32S, NEW_INT32S, int64))
def enter_arcs(graph: Simple, tails: Any, heads: Any, arc: Any) -> Any:
    """Enters arcs from a number on, for `count_anew`; the first that there was no room for, or how many there are."""
    while arc < len(tails) and has_room(graph):
        add_edge(graph, np.int64(tails[arc]), np.int64(heads[arc]))
        arc += 1
    return arc


# ----------------------------------------------------------------------------------------------------------------------
# Betweenness estimated from sampled shortest paths, kept as edges come and go.
#
# The guarantee, at the end of any one step: with probability at least 1 − δ the values of all vertices at once are
# off by at most ε. For the share of samples that lead through a vertex is a mean of independent draws of 0 or 1, so
# by Hoeffding's inequality it is off by ε' or more with probability at most 2 exp(−2 r ε'²); over n vertices that
# adds up to δ when r = ln(2n / δ) / 2ε'². A bound by the graph's diameter would need fewer samples, but a bound on
# the diameter of a changing directed graph has to be kept too; what a change costs does not depend on r much.
#
# Pairs are drawn from all n² ordered ones, which makes them a function of hashes, and a share of them is n² /
# (n−1)(n−2) times as large as a share of what the normalised value counts: ε' is ε divided by that.
#
# The law: samples are a function of the seed, their number, and the graph. Nothing but their number is to be saved. A
# vertex is known by a hash of its term, not by its id: those depend on what else was named before.
# ----------------------------------------------------------------------------------------------------------------------

_WIDTH = 32  # inner vertices of a path, or vertices that a search cannot leave, that a sample has room for
_GATED = 8  # as many samples cost about as much to draw again as one arc to search around


class Sampling:
    """Samples of shortest paths, with a board to count them on."""

    def __init__(self, seed: int, epsilon: float, delta: float, order: Order = int) -> None:
        self._seed = np.uint64(seed)
        self._epsilon, self._delta = epsilon, delta
        self._samples = _samples(0)
        self._search = _search(0)
        self._order = order
        self._is_marked = np.zeros(0, np.bool_)

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self._samples.source)

    def needed(self, vertices: int, least: int) -> int:
        """How many samples so many vertices need, up to the next power of two, if never fewer than `least` are left."""
        least, most = max(least, 3), 1 << max(vertices - 1, 3).bit_length()
        epsilon = self._epsilon * (least - 1) * (least - 2) / least**2
        return math.ceil(math.log(2 * most / self._delta) / (2 * epsilon**2))

    def enlarge(self, graph: Simple, count: int) -> None:
        """Makes the samples this many, if they are fewer. The new ones are dirty."""

        known = len(self)
        if count > known:
            self._samples = Samples._make(enlarged(array, count) for array in self._samples)
            self._cover(graph)
            pick(self._samples, graph.touching, self._search.marks, self._seed, known)

    def gate(self, graph: Simple, arcs: Int32s, count: int) -> None:
        """Marks the samples that arcs can affect, in the union of the graphs before and after a step."""

        self._cover(graph)
        if count * _GATED > len(self):
            self._samples.dirty[:] = 1
        elif count:
            gate_arcs(graph, self._search, self._samples, arcs, count)

    def repick(self, graph: Simple, ends: Int32s) -> None:
        """Makes the pairs those of the vertices that are there; these may have come or gone."""

        self._cover(graph)
        repick(self._samples, graph.touching, self._search.marks, self._seed, ends)

    def refresh(self, graph: Simple, board: Board) -> None:
        """Draws dirty samples again, and counts them."""

        self._cover(graph)
        while needed := refresh(graph, self._search, self._samples, board, self._seed):
            rows = np.zeros((len(self), first_room(2 * needed, needed)), np.int32)
            rows[:, : self._samples.rows.shape[1]] = self._samples.rows
            self._samples = self._samples._replace(rows=rows)

    def _cover(self, graph: Simple) -> None:
        """Makes room for all vertices, and marks those that are new."""
        vertices = len(graph.touching)
        if len(self._search.forward) < vertices:
            self._search = _search(vertices)._replace(marks=enlarged(self._search.marks, vertices))
            self._is_marked = enlarged(self._is_marked, vertices)
        fresh = np.flatnonzero((graph.touching > 0) & ~self._is_marked)
        self._search.marks[fresh] = [_mark(self._order(vertex)) for vertex in fresh.tolist()]
        self._is_marked[fresh] = True


def _mark(key: object) -> int:
    """A hash of what a vertex is sorted by, the same in every process."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "little")


def _samples(count: int) -> Samples:
    ints = [np.zeros(count, np.int32) for _ in range(4)]
    hashes = [np.zeros(count, np.uint64) for _ in range(2)]
    bytes_ = [np.zeros(count, np.uint8) for _ in range(2)]
    return Samples._make((*ints[:2], *hashes, *ints[2:], *bytes_, np.zeros((count, first_room(_WIDTH)), np.int32)))


def _search(vertices: int) -> Search:
    depths = [np.full(vertices, -1, np.int32) for _ in range(2)]
    queues = [np.empty(vertices, np.int32) for _ in range(2)]
    return Search._make((*depths, np.empty(vertices), *queues, np.zeros(vertices, np.uint64)))


# ----------------------------------------------------------------------------------------------------------------------
# Exact betweenness of a graph of some thousand vertices: the owner of the tables by pairs.
#
# Ten bytes for every pair of slots: 160 MB at 4,000 vertices. The tables grow by half as many slots again, up to the
# limit, and a slot whose vertex lost its last arc is taken by the next one.
# ----------------------------------------------------------------------------------------------------------------------

Arc: TypeAlias = tuple[int, int]
_INTS, _MARKS = 8, 2  # arrays of a Work


class ExactBetweenness:
    """Sums of dependencies of the vertices of a directed simple graph, by slot."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._forget(0)

    def _forget(self, vertices: int) -> None:
        self._graph = GrowingGraph(undirected=False, directed=True)
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self._names: Int32s = np.full(0, -1, np.int32)
        self._tables = _tables(0)
        self._cover(vertices)

    @property
    def slots(self) -> int:
        """How many vertices there is room for."""
        return len(self._names)

    def anew(self, arcs: npt.NDArray[np.int32]) -> bool:
        """Takes the arcs, rows of ids, in place of all there were. Whether shortest paths can be counted."""

        self._forget(len(np.unique(arcs)))
        tails, heads = (np.array([self._slot(name) for name in arcs[:, end].tolist()], np.int32) for end in (0, 1))
        arc = 0
        while (arc := enter_arcs(self._graph.arrays, tails, heads, arc)) < len(tails):
            self._graph.grow()
        return bool(count_anew(self._graph.arrays, self._tables) == DONE)

    def change(self, gone: Sequence[Arc], come: Sequence[Arc], board: Board) -> bool:
        """Takes arcs away, then adds some. Whether shortest paths can be counted."""

        for tail, head in gone:
            while drop_arc(self._graph.arrays, self._tables, self._slots[tail], self._slots[head]) == NO_ROOM:
                self._graph.grow()
        for name in {name for arc in gone for name in arc}:
            self._leave(name, board)
        outcome = DONE
        for tail, head in come:
            ends = self._slot(tail), self._slot(head)
            while (outcome := add_arc(self._graph.arrays, self._tables, *ends)) == NO_ROOM:
                self._graph.grow()
            if outcome != DONE:
                break
        return bool(outcome == DONE)

    def post(self, board: Board) -> None:
        """Puts the sums on a board."""

        post(board, self._names, self._tables.sums, len(self._names))

    # --- slots ------------------------------------------------------------------------------------------------------

    def _slot(self, name: int) -> int:
        """The slot of a vertex, which takes one if it has none."""
        slot = self._slots.get(name)
        if slot is None:
            if not self._free:
                self._cover(max(min(more(self.slots), self._limit), self.slots + 1))
            slot = self._slots[name] = self._free.pop()
            self._names[slot] = name
        return slot

    def _leave(self, name: int, board: Board) -> None:
        """A vertex without arcs gives its slot back."""
        slot = self._slots[name]
        if self._graph.arrays.touching[slot] == 0:
            del self._slots[name]
            self._free.append(slot)
            self._names[slot], self._tables.sums[slot], board.raw[name] = -1, 0.0, 0.0

    def _cover(self, slots: int) -> None:
        known, larger = self.slots, _tables(slots)
        for name in ("distance", "paths"):
            getattr(larger, name)[:known, :known] = getattr(self._tables, name)
        larger.sums[:known] = self._tables.sums
        self._tables, self._names = larger, enlarged(self._names, slots)
        self._names[known:] = -1
        self._free += range(slots - 1, known - 1, -1)
        self._graph.cover(slots)


def _tables(slots: int) -> Exact:
    """Tables of slots without arcs."""
    distance, paths = np.full((slots, slots), UNREACHED, np.int16), np.zeros((slots, slots))
    np.fill_diagonal(distance, 0)
    np.fill_diagonal(paths, 1.0)
    marks = (np.zeros(slots, np.uint8) for _ in range(_MARKS))
    ints = (np.zeros(slots + 2, np.int32) for _ in range(_INTS))
    return Exact(distance, paths, np.zeros(slots), Work._make((np.zeros(slots), *marks, *ints)))


# ----------------------------------------------------------------------------------------------------------------------
# `hg:betweenness(x)`: the share of shortest paths between others that lead through a vertex.
#
# Up to a limit of vertices the value is exact (see betweenness_exact); above, it is estimated and carries its
# interval (see sampling). The limit is passed upwards when there are more vertices at the end of a step, and
# downwards again when fewer than three quarters are left, so that a graph about that size is not worked out anew
# again and again.
#
# The law: whatever way values are kept, only sums are; a value is a sum times one factor for all vertices. A step
# that changes the number of vertices changes every value, and costs one multiplication each. Values are rounded to 12
# decimals: the sums of a graph differ in less by the order in which it came, and equal graphs are to have equal
# values.
# ----------------------------------------------------------------------------------------------------------------------

LIMIT = 4_000
_MANY = 16  # arcs, and a 32nd of the vertices: to change more in one step takes longer than to work all out anew


class Betweenness:
    """A Measure of one vertex. `limit` is the number of vertices up to which values are exact."""

    def __init__(
        self, *, limit: int = LIMIT, epsilon: float = 0.05, delta: float = 0.1, seed: int = 0, order: Order = int
    ) -> None:
        if not 0 <= limit < UNREACHED:
            raise ValueError(f"a limit of {limit}: exact betweenness is kept for up to {UNREACHED - 1:,} vertices")
        self._limit, self._epsilon, self._delta, self._seed = limit, epsilon, delta, seed
        self._cutting, self._order = Cutting(), order
        self._forget()

    def _forget(self) -> None:
        self._graph = GrowingGraph(undirected=False, directed=True)
        self._board = _board(0)
        self._ceiling = self._limit  # lower than the limit where exact values failed
        self._exact: ExactBetweenness | None = ExactBetweenness(self._limit)
        self._sampling: Sampling | None = None
        self._isolated = 0  # vertices that no edge of the projection touches

    # --- who asks ---------------------------------------------------------------------------------------------------

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        (instance,) = vertices
        self._cutting.watch(instance, points)
        return instance

    def unwatch(self, instance: int, points: Points) -> None:
        self._cutting.unwatch(instance, points)

    def watch_all(self, points: Points) -> None:
        self._cutting.watch_all(points)

    def unwatch_all(self, points: Points) -> None:
        self._cutting.unwatch_all(points)

    # --- values -----------------------------------------------------------------------------------------------------

    @property
    def sampled(self) -> bool:
        """Whether values are estimates."""
        return self._sampling is not None

    @property
    def samples(self) -> int:
        """How many paths the estimates are from."""
        return 0 if self._sampling is None else len(self._sampling)

    def value(self, instance: int) -> float:
        return float(self._board.last[instance]) if instance < len(self._board.last) else 0.0

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """Of an estimate, the interval that holds the exact value with probability 1 − δ, for all vertices at once."""
        if not self.sampled:
            return {}
        return {"interval": [max(value - self._epsilon, 0.0), min(value + self._epsilon, 1.0)]}

    def _scale(self) -> float:
        """What a sum is multiplied by."""
        vertices = self._vertices
        total = vertices + self._isolated
        pairs = (total - 1) * (total - 2) if total > 2 else 1
        return vertices**2 / (self.samples * pairs) if self.sampled else 1 / pairs

    @property
    def _vertices(self) -> int:
        return counted(self._graph.arrays, VERTICES)

    # --- changes ----------------------------------------------------------------------------------------------------

    def follow(self, log: Log, existing: Int64s | None = None) -> Said:
        """Takes changes over, and tells what passed a cut.

        `existing` says how many vertices there are at the end of each step, those that no edge of the projection
        touches too; without it there are as many of these as before.
        """
        log = fixed_log(log)
        self._cover(log)
        said = [self._take(log, step, existing) for step in self._steps(log, existing)]
        return Said(*(np.concatenate(parts) for parts in zip(*said, strict=True))) if said else Said.nothing()

    def _steps(self, log: Log, existing: Int64s | None) -> list[int]:
        """The steps at whose ends values may be others."""
        steps = np.unique(log.step)
        if existing is not None:
            steps = np.union1d(steps, np.flatnonzero(np.diff(existing, prepend=self._vertices + self._isolated)))
        numbers: list[int] = steps.tolist()
        return numbers

    def _take(self, log: Log, step: int, existing: Int64s | None) -> Said:
        first, last = np.searchsorted(log.step, [step, step + 1])
        if first < last:
            self._change(log, int(first), int(last))
        if existing is not None:
            self._isolated = int(existing[step]) - self._vertices
        instances, values = self._tell(self._cutting)
        return Said(np.full(len(instances), step, np.int32), instances, values)

    def _change(self, log: Log, first: int, last: int) -> None:
        """One step: what comes, gates in the union of before and after, what goes, and the values."""
        came = self._apply(log, first, last, CAME)
        if self._sampling is not None:
            self._gate(self._sampling, log, (first, last), came)
        gone = self._apply(log, first, last, WENT)
        if self._exceeds():
            self._begin_sampling(0)
        elif self._sampling is not None and 4 * self._vertices < 3 * self._ceiling:
            self._begin_exact()
        elif self._sampling is not None:
            self._resample(self._sampling, np.unique([log.subject[first:last], log.object[first:last]]))
        elif self._exact is not None:
            self._change_exact(self._exact, came, gone)

    def _exceeds(self) -> bool:
        return self._sampling is None and self._vertices > self._ceiling

    def _apply(self, log: Log, first: int, last: int, change: int) -> Int32s:
        """The arcs that are new or gone."""

        arcs = np.empty((last - first, 2), np.int32)
        state = np.array([first, last, change, 0], np.int64)
        while not take_changes(self._graph.arrays, log, state, arcs):
            self._graph.grow()
        return arcs[: state[ARCS]]

    def _tell(self, cutting: Cutting) -> tuple[Int32s, npt.NDArray[np.float64]]:
        """Who is told, ascending, and what."""

        names = int(self._board.counters[NAMES])
        instances, values = np.empty(names, np.int32), np.empty(names)
        told = tell(self._board, cutting.asked(), self._scale(), instances, values)
        order = np.argsort(instances[:told])
        return instances[order], values[order]

    # --- exact ------------------------------------------------------------------------------------------------------

    def _change_exact(self, exact: ExactBetweenness, came: Int32s, gone: Int32s) -> None:
        come, go = ({(tail, head) for tail, head in arcs.tolist()} for arcs in (came, gone))
        changes = sorted(go - come), sorted(come - go)
        if sum(map(len, changes)) > _MANY + self._vertices // 32:
            self._begin_exact()
        elif exact.change(*changes, self._board):
            exact.post(self._board)
        else:
            self._give_up()

    def _begin_exact(self) -> None:
        """Works exact values out anew."""
        self._clear()
        exact = ExactBetweenness(self._limit)
        if exact.anew(_arcs(self._graph.arrays)):
            exact.post(self._board)
            self._exact, self._sampling, self._ceiling = exact, None, self._limit
        else:
            self._give_up()

    def _give_up(self) -> None:
        """More shortest paths than can be counted: sampled until a quarter of the vertices are gone."""
        self._ceiling = min(self._ceiling, self._vertices)
        self._begin_sampling(0)

    # --- sampled ----------------------------------------------------------------------------------------------------

    def _begin_sampling(self, count: int) -> None:
        """Draws samples anew, at least so many."""
        self._clear()
        self._exact, self._sampling = None, Sampling(self._seed, self._epsilon, self._delta, self._order)
        self._sampling.enlarge(self._graph.arrays, max(count, self._needed(self._sampling)))
        self._sampling.refresh(self._graph.arrays, self._board)

    def _needed(self, sampling: Sampling) -> int:
        return sampling.needed(self._vertices, self._ceiling * 3 // 4)

    def _gate(self, sampling: Sampling, log: Log, rows: tuple[int, int], came: Int32s) -> None:

        arcs = np.empty((len(came) + rows[1] - rows[0], 2), np.int32)
        arcs[: len(came)] = came
        state = np.zeros(STATES, np.int64)
        state[:] = (*rows, WENT, len(came))
        foresee_gone(self._graph.arrays, log, state, arcs)
        sampling.gate(self._graph.arrays, arcs, int(state[ARCS]))

    def _resample(self, sampling: Sampling, ends: Int32s) -> None:
        sampling.repick(self._graph.arrays, ends)
        sampling.enlarge(self._graph.arrays, self._needed(sampling))
        sampling.refresh(self._graph.arrays, self._board)

    # --- saving -----------------------------------------------------------------------------------------------------

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        """Whether values are estimates, and from how many samples; samples themselves follow from the seed."""
        return {"sampling": np.array([self.samples, self._ceiling], np.int64)} if self.sampled else {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._forget()
        log = fixed_log(log)
        self._cover(log)
        self._graph.take_over(log)
        if "sampling" in saved:
            count, self._ceiling = self._read(saved["sampling"])
            self._begin_sampling(count)
        elif self._exceeds():
            self._begin_sampling(0)
        else:
            self._begin_exact()
        self._tell(Cutting())

    def _read(self, sampling: npt.NDArray[Any]) -> tuple[int, int]:
        """The number of samples and the ceiling that were saved; ValueError if nobody could have saved them."""
        count, ceiling = (int(each) for each in sampling.tolist())
        most = Sampling(self._seed, self._epsilon, self._delta).needed(1 << 31, 3)
        if not (0 < count <= most and 0 <= ceiling <= self._limit):
            raise ValueError(f"betweenness from {count} samples down from {ceiling} vertices")
        return count, ceiling

    # --- room -------------------------------------------------------------------------------------------------------

    def _cover(self, log: Log) -> None:
        self._graph.cover_log(log)
        if len(self._board.raw) < self._graph.vertices:
            parts = (enlarged(array, self._graph.vertices) for array in self._board[:-1])
            self._board = Board._make((*parts, self._board.counters))

    def _clear(self) -> None:
        """Takes all sums off the board."""
        self._board.raw[:] = 0.0


def _board(vertices: int) -> Board:
    raw, last = np.zeros(vertices), np.zeros(vertices)
    return Board(raw, last, np.zeros(vertices, np.uint8), np.zeros(vertices, np.int32), np.zeros(1, np.int64))


def _arcs(graph: Simple) -> Int32s:
    """The arcs of a graph, as rows (tail, head)."""
    pairs = graph.pairs[graph.numbers[graph.keys != 0]]
    pairs = pairs[pairs[:, A] != pairs[:, B]]
    there = pairs[pairs[:, FORWARD] > 0][:, [A, B]], pairs[pairs[:, BACKWARD] > 0][:, [B, A]]
    return np.concatenate(there)
