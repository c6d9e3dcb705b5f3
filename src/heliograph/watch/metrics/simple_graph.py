"""A growing simple graph for metrics: its arrays, and the kernels that keep it as edges come and go.

Edges (s, p, o) of a log make *arcs* (s, o) and *pairs* {s, o}: an arc is there while an edge leads from s to o, a pair
while one leads either way. One row per pair counts the edges of both directions, so parallel edges cost a count. A loop
(s = o) is counted and makes its vertex one of the graph, but it stands in no list.

The laws.

- After any log the graph is that of the edges that are there, whatever came and went before; only the order of lists
  depends on the past. Numbers of pairs and orders of lists outlive every growth.
- A kernel asks `has_room` before it adds or drops an edge, and returns to its caller where there is none: a list that
  shrinks moves too.
- A list of a vertex's neighbours is a block of a power of two in a pool, in no order. An entry knows its pair and the
  pair knows where, so that each can leave at once: the last one takes its place. Joining and leaving cost the same
  whatever the length of a list, but for the copy of one that outgrows its block, or fills a quarter of it and moves to
  one half the size. Blocks that were left wait, whole, in a list of free ones of their size.
- Pairs are found by their ends in a table with linear probing: between the place where a key belongs and the one where
  it stands no place is free. A key that goes is followed by those that it kept away.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int32, int64, uint8

from heliograph.compiled.arrays import FLOATS, INT8S, INT32S, INT64S, NEW_INT32S, NEW_INT64S, named, prefetch
from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.hashmap import find_key, pair_key, rehash, spread, vacate
from heliograph.compiled.records import ADDRESS, Struct, array, more, number, part, view, wanted
from heliograph.watch.layout import Floats, Int8s, Int32s, Int64s
from heliograph.watch.metrics.thresholds import (
    CAME,
    EVERY,
    SILENT,
    WENT,
    Log,
    Reported,
    ThresholdLists,
    fixed,
    fixed_log,
)

A, B, FORWARD, BACKWARD, PLACES = range(5)  # of pairs: A <= B; edges from A to B, and from B to A (a loop's: FORWARD)
_COLUMNS = 8  # from PLACES on, of each kept kind of lists two: the place in the list of A and in that of B
START, LENGTH = range(2)  # of heads
NEW_PAIR, NEW_ARC = 1, 2  # what a change of an edge changed: bits

_LEAST = 16  # rows of a new array; a power of two
_SIZES = 32  # classes of blocks
_FIRST_NEED = 4  # places for two blocks of two
_FULL, _PARTS = 5, 8  # of the table at most 5 places in 8 are taken


class NeighbourLists(Struct):
    """Lists of neighbours by vertex. Kinds that nobody keeps have no rows."""

    heads: Int32s = array(int32, "vertex", 2)  # list v is pool[START:START + LENGTH]
    room: Int8s = array(uint8, "vertex")  # the logarithm of its block's size; 0 without a block
    pool: Int32s = array(int32, "place")  # neighbours; a free block begins with 1 + the next free block of its size
    owners: Int32s = array(int32, "place")  # the number of the pair
    free: Int32s = array(int32, "size")  # by the logarithm of the size: 1 + the first free block
    used: int = number()  # places given out
    need: int = number()  # places that the next edge might need
    column: int = number()  # the first of the two columns of pairs that hold places in these lists


class SimpleGraph(Struct):
    """A growing simple graph with lists of neighbours, undirected or directed ones, or none."""

    keys: Int64s = array(int64, "slot")  # a power of two: 1 + (A << 32 | B); 0 is free
    numbers: Int32s = array(int32, "slot")  # beside the keys: the number of the pair
    pairs: Int32s = array(int32, "pair", _COLUMNS)
    touching: Int32s = array(int32, "vertex")  # pairs that touch it, its loop too
    undirected: NeighbourLists = part(NeighbourLists)
    out: NeighbourLists = part(NeighbourLists)
    into: NeighbourLists = part(NeighbourLists)
    taken: int = number()  # pairs there, loops too
    given: int = number()  # numbers of pairs given out
    free: int = number()  # 1 + the first free number, A of it the next
    joined: int = number()  # pairs without loops
    arcs: int = number()  # arcs without loops
    loops: int = number()
    touched: int = number()  # vertices that edges touch

    def __init__(self, *, undirected: bool = True, directed: bool = False) -> None:
        assert not (undirected and directed), "pairs have places for one of them"
        rows, parts = first_room(_LEAST), {}
        for name, column in (("undirected", PLACES), ("out", PLACES), ("into", PLACES + 2)):
            kept = first_room(_LEAST) if (undirected if name == "undirected" else directed) else 0
            lists = parts[name] = NeighbourLists(vertex=kept, place=kept, size=_SIZES)
            lists.need, lists.column = _FIRST_NEED if kept else 0, column
        super().__init__(parts, slot=rows, pair=rows, vertex=rows)

    @property
    def vertices(self) -> int:
        """How many ids of vertices are covered."""
        return len(self.touching)

    def cover(self, vertices: int) -> None:
        """Makes ids below `vertices` valid ends of edges."""
        if vertices > self.vertices:
            rows = max(vertices, more(self.vertices))
            self.resize("vertex", rows)
            for lists in (self.undirected, self.out, self.into):
                if lists.need:
                    lists.resize("vertex", rows)

    def cover_log(self, log: Log) -> None:
        """Makes the vertices of a log valid ends of edges."""
        if len(log.step):
            self.cover(1 + int(max(log.subject.max(), log.object.max())))

    def take_over(self, log: Log) -> None:
        """Applies a whole log, however much room it needs."""
        log, row = fixed_log(log), 0
        self.cover_log(log)
        while (row := take_over(self.address, log, row)) < len(log.step):
            self.make_room()

    def make_room(self) -> None:
        """Makes room wherever there is none for another change."""
        if self.free == 0 and self.given >= len(self.pairs):
            self.resize("pair", more(len(self.pairs)))
        if _PARTS * (self.taken + 1) > _FULL * len(self.keys):
            rehash_into(self, 2 * len(self.keys))
        for lists in (self.undirected, self.out, self.into):
            needed = lists.used + lists.need
            if needed > len(lists.pool):
                lists.resize("place", max(needed, more(len(lists.pool))))


def rehash_into(table: Any, places: int) -> None:
    """Gives a structure with `keys` and `numbers` a table of so many places."""
    keys, numbers = np.zeros(places, np.int64), np.empty(places, np.int32)
    _rehash(fixed(table.keys, np.int64), fixed(table.numbers, np.int32), keys, numbers)
    table.keys, table.numbers = keys, numbers


class MetricReport(Struct):
    """What kernels report of instances, in order of steps, and the row of the log up to which it is complete."""

    steps: Int32s = array(int32, "row")
    instances: Int32s = array(int32, "row")
    values: Floats = array(float64, "row")
    count: int = number()
    count_wanted: int = wanted("row")
    row: int = number()  # the next change of the log

    def __init__(self) -> None:
        super().__init__(row=first_room(_LEAST))

    def begin(self) -> MetricReport:
        """Nothing is reported yet."""
        self.count = self.row = self.count_wanted = 0
        return self

    def reported(self) -> Reported:
        """All that was reported, in arrays of their own."""
        count = self.count
        return Reported(self.steps[:count].copy(), self.instances[:count].copy(), self.values[:count].copy())


simple_graph_at, report_at = view(SimpleGraph), view(MetricReport)
LOG: Any = named(Log, INT32S, INT8S, INT32S, INT32S, INT32S, FLOATS)
ASKED: Any = named(ThresholdLists, FLOATS, INT32S, INT32S, int64)


# --- lists of neighbours ---------------------------------------------------------------------------------------------

_ONE = np.int64(1)


@kernel(inline=True)
def list_start(lists: NeighbourLists, vertex: Any) -> Any:
    return np.int64(lists.heads[vertex, START])


@kernel(inline=True)
def list_length(lists: NeighbourLists, vertex: Any) -> Any:
    return np.int64(lists.heads[vertex, LENGTH])


@kernel()
def join_list(lists: Any, pairs: Any, vertex: Any, neighbour: Any, pair: Any) -> None:
    """A neighbour stands at the end of a vertex's list; there is room."""
    length = np.int64(lists.heads[vertex, LENGTH])
    if length & (length - 1) == 0:
        k = np.int64(lists.room[vertex])  # a list that fills its block gets one twice the size
        if k == 0 or length == _ONE << k:
            _move(lists, vertex, length, k + 1)
            lists.need = max(lists.need, _ONE << (k + 3))  # two lists, each twice as large again
    place = lists.heads[vertex, START] + length
    lists.pool[place], lists.owners[place] = neighbour, pair
    lists.heads[vertex, LENGTH] = length + 1
    pairs[pair, place_column(lists, pairs, vertex, pair)] = length


@kernel(inline=True)
def place_column(lists: NeighbourLists, pairs: Any, vertex: Any, pair: Any) -> Any:
    """Which column says where in a vertex's list a pair stands."""
    return lists.column + (0 if pairs[pair, A] == vertex else 1)


@kernel()
def _move(lists: Any, vertex: Any, length: Any, k: Any) -> None:
    """Moves a list to a block of 2^k places, a free one or a new one."""
    block, start = np.int64(lists.free[k]) - 1, np.int64(lists.heads[vertex, START])
    if block < 0:
        block = lists.used
        lists.used = block + (_ONE << k)
    else:
        lists.free[k] = lists.pool[block]
    for i in range(length):
        lists.pool[block + i], lists.owners[block + i] = lists.pool[start + i], lists.owners[start + i]
    if lists.room[vertex] != 0:
        _give(lists, start, np.int64(lists.room[vertex]))
    lists.heads[vertex, START], lists.room[vertex] = block, k


@kernel()
def leave_list(lists: NeighbourLists, pairs: Any, vertex: Any, pair: Any) -> None:
    """A pair goes out of a vertex's list; the last one takes its place."""
    start, last = lists.heads[vertex, START], np.int64(lists.heads[vertex, LENGTH]) - 1
    place = pairs[pair, place_column(lists, pairs, vertex, pair)]
    if place != last:
        moved = np.int64(lists.owners[start + last])
        lists.pool[start + place], lists.owners[start + place] = lists.pool[start + last], moved
        pairs[moved, place_column(lists, pairs, vertex, moved)] = place
    lists.heads[vertex, LENGTH] = last
    if last & (last - 1) == 0:
        k = np.int64(lists.room[vertex])  # and gives back what it does not need
        if last == 0:
            _give(lists, np.int64(start), k)
            lists.room[vertex] = 0
        elif k > 1 and last << 2 <= _ONE << k:
            _move(lists, vertex, last, k - 1)


@kernel(inline=True)
def _give(lists: NeighbourLists, block: Any, k: Any) -> None:
    lists.pool[block] = lists.free[k]
    lists.free[k] = block + 1


# --- pairs by their ends ---------------------------------------------------------------------------------------------


@kernel(inline=True)
def _key_of(one: Any, other: Any) -> Any:
    """What stands for an unordered pair of vertices."""
    return pair_key(min(one, other), max(one, other))


@kernel(inline=True)
def _home_of(graph: SimpleGraph, one: Any, other: Any) -> Any:
    """Where the search for a pair begins."""
    return np.int64(spread(_key_of(one, other))) & np.int64(len(graph.keys) - 1)


@kernel(inline=True)
def find_pair(graph: SimpleGraph, one: Any, other: Any) -> Any:
    """The number of a pair that is there (a loop's too), or -1."""
    slot = find_key(graph.keys, _key_of(one, other))
    return np.int64(graph.numbers[slot]) if graph.keys[slot] != 0 else np.int64(-1)


@kernel(inline=True)
def are_joined(graph: SimpleGraph, one: Any, other: Any) -> Any:
    """Whether an edge leads from one vertex to the other, either way. Touches nothing but the keys."""
    return graph.keys[find_key(graph.keys, _key_of(one, other))] != 0


@kernel(inline=True)
def count_edges(graph: SimpleGraph, subject: Any, object: Any) -> Any:
    """How many edges lead from one vertex to another."""
    pair = find_pair(graph, subject, object)
    if pair < 0:
        return np.int64(0)
    return np.int64(graph.pairs[pair, FORWARD if subject <= object else BACKWARD])


# --- neighbours of one vertex, asked many times ----------------------------------------------------------------------

_SHORT = 16  # neighbours: one line of the cache


@kernel(inline=True)
def ask_for_pairs(graph: SimpleGraph, start: Any, length: Any, vertex: Any) -> None:
    """Asks for the places where the pairs of a list's neighbours with a vertex would stand, if they are to be asked."""
    if list_length(graph.undirected, vertex) > _SHORT:
        for i in range(start, start + length):
            prefetch(graph.keys, _home_of(graph, vertex, np.int64(graph.undirected.pool[i])))


@kernel(inline=True)
def is_neighbour(graph: SimpleGraph, vertex: Any, neighbour: Any) -> Any:
    """Whether two different vertices are joined: a short list is read through, else the pair is looked up."""
    lists = graph.undirected
    start, length = list_start(lists, vertex), list_length(lists, vertex)
    if length > _SHORT:
        return are_joined(graph, vertex, neighbour)
    found = False
    for i in range(start, start + length):
        found |= lists.pool[i] == neighbour
    return found


# --- edges that come and go ------------------------------------------------------------------------------------------


@kernel(inline=True)
def has_room(graph: SimpleGraph) -> Any:
    """Whether another edge can come or go, whichever it is."""
    if graph.free == 0 and graph.given >= len(graph.pairs):
        return False
    if _PARTS * (graph.taken + 1) > _FULL * len(graph.keys):
        return False
    return _fits(graph.undirected) and _fits(graph.out) and _fits(graph.into)


@kernel(inline=True)
def _fits(lists: NeighbourLists) -> Any:
    return lists.used + lists.need <= len(lists.pool)


@kernel()
def add_edge(graph: SimpleGraph, subject: Any, object: Any) -> Any:
    """One more edge from a vertex to another; there is room. What is new of NEW_PAIR and NEW_ARC."""
    key = _key_of(subject, object)
    slot, changed = find_key(graph.keys, key), 0
    if graph.keys[slot] == 0:
        _enter_pair(graph, slot, key)
        changed = NEW_PAIR
    pair, column = np.int64(graph.numbers[slot]), FORWARD if subject <= object else BACKWARD
    graph.pairs[pair, column] += 1
    if subject == object:
        return 0
    if graph.pairs[pair, column] == 1:
        graph.arcs += 1
        if len(graph.out.heads):
            join_list(graph.out, graph.pairs, subject, object, pair)
            join_list(graph.into, graph.pairs, object, subject, pair)
        changed |= NEW_ARC
    return changed


@kernel()
def _enter_pair(graph: SimpleGraph, slot: Any, key: Any) -> None:
    """A pair that no edge joined so far takes a number, and its place in lists."""
    pair, one, other = graph.free - 1, (key - 1) >> 32, (key - 1) & 0x7FFFFFFF
    if pair < 0:
        pair = graph.given
        graph.given = pair + 1
    else:
        graph.free = graph.pairs[pair, A]
    graph.keys[slot], graph.numbers[slot] = key, pair
    graph.pairs[pair, A], graph.pairs[pair, B] = one, other
    graph.pairs[pair, FORWARD] = graph.pairs[pair, BACKWARD] = 0
    graph.taken += 1
    _touch(graph, one)
    if one == other:
        graph.loops += 1
        return
    _touch(graph, other)
    graph.joined += 1
    if len(graph.undirected.heads):
        join_list(graph.undirected, graph.pairs, one, other, pair)
        join_list(graph.undirected, graph.pairs, other, one, pair)


@kernel(inline=True)
def _touch(graph: SimpleGraph, vertex: Any) -> None:
    graph.touching[vertex] += 1
    if graph.touching[vertex] == 1:
        graph.touched += 1


@kernel()
def drop_edge(graph: SimpleGraph, subject: Any, object: Any) -> Any:
    """One edge less from a vertex to another, if there is one. What is no more of NEW_PAIR and NEW_ARC."""
    slot, changed = find_key(graph.keys, _key_of(subject, object)), 0
    if graph.keys[slot] == 0:
        return 0
    pair, column = np.int64(graph.numbers[slot]), FORWARD if subject <= object else BACKWARD
    if graph.pairs[pair, column] == 0:
        return 0
    graph.pairs[pair, column] -= 1
    if subject != object and graph.pairs[pair, column] == 0:
        graph.arcs -= 1
        if len(graph.out.heads):
            leave_list(graph.out, graph.pairs, subject, pair)
            leave_list(graph.into, graph.pairs, object, pair)
        changed = NEW_ARC
    if graph.pairs[pair, FORWARD] == 0 and graph.pairs[pair, BACKWARD] == 0:
        _leave_pair(graph, pair)
        vacate(graph.keys, graph.numbers, slot)
        changed |= NEW_PAIR if subject != object else 0
    return changed


@kernel()
def _leave_pair(graph: SimpleGraph, pair: Any) -> None:
    """A pair that no edge joins any more leaves the lists; its number is free."""
    one, other = np.int64(graph.pairs[pair, A]), np.int64(graph.pairs[pair, B])
    graph.taken -= 1
    _untouch(graph, one)
    if one == other:
        graph.loops -= 1
    else:
        _untouch(graph, other)
        graph.joined -= 1
        if len(graph.undirected.heads):
            leave_list(graph.undirected, graph.pairs, one, pair)
            leave_list(graph.undirected, graph.pairs, other, pair)
    graph.pairs[pair, A] = graph.free
    graph.free = pair + 1


@kernel(inline=True)
def _untouch(graph: SimpleGraph, vertex: Any) -> None:
    graph.touching[vertex] -= 1
    if graph.touching[vertex] == 0:
        graph.touched -= 1


@kernel((ADDRESS, LOG, int64))
def take_over(address: Any, log: Log, row: Any) -> Any:
    """Applies the changes from a row on; the first that there was no room for, or the number of rows."""
    graph = simple_graph_at(address)
    while row < len(log.step) and has_room(graph):
        if log.change[row] == CAME:
            add_edge(graph, np.int64(log.subject[row]), np.int64(log.object[row]))
        elif log.change[row] == WENT:
            drop_edge(graph, np.int64(log.subject[row]), np.int64(log.object[row]))
        row += 1
    return row


@kernel((INT64S, INT32S, NEW_INT64S, NEW_INT32S))
def _rehash(keys: Any, numbers: Any, larger_keys: Any, larger_numbers: Any) -> None:
    rehash(keys, numbers, larger_keys, larger_numbers)


# --- asking for memory ahead -----------------------------------------------------------------------------------------
#
# The ends of an edge lie anywhere, so a change is a dozen misses of the cache: rows of vertices, the place of the pair,
# then lists, then those that stand last in them. Rows are asked for some changes ahead; when they are there, nearer to
# the change, what they lead to. Nothing is decided by it: what is asked for in vain costs a line of the cache.

_FAR, _NEAR = 24, 10  # changes ahead


@kernel(inline=True)
def ask_for_rows(graph: SimpleGraph, vertices: Any, log: Log, row: Any) -> None:
    """The rows of a change's vertices, also in another array of two columns, and the place of its pair."""
    row += _FAR
    if row < len(log.step):
        subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
        _ask_for_vertex(graph, vertices, subject)
        _ask_for_vertex(graph, vertices, object)
        home = _home_of(graph, subject, object)
        prefetch(graph.keys, home)
        prefetch(graph.numbers, home)


@kernel(inline=True)
def _ask_for_vertex(graph: SimpleGraph, vertices: Any, vertex: Any) -> None:
    prefetch(graph.undirected.heads, 2 * vertex)
    prefetch(graph.touching, vertex)
    prefetch(graph.undirected.room, vertex)
    prefetch(vertices, 2 * vertex)


@kernel(inline=True)
def ask_for_lists(graph: SimpleGraph, log: Log, row: Any) -> None:
    """The lists of a change's vertices, whose rows were asked for before, and the row of its pair."""
    row += _NEAR
    if row < len(log.step):
        subject, object = np.int64(log.subject[row]), np.int64(log.object[row])
        _ask_for_list(graph, subject)
        _ask_for_list(graph, object)
        home = _home_of(graph, subject, object)
        if graph.keys[home] != 0:
            prefetch(graph.pairs, graph.numbers[home] * graph.pairs.shape[1])


@kernel(inline=True)
def _ask_for_list(graph: SimpleGraph, vertex: Any) -> None:
    lists = graph.undirected
    start, length = np.int64(lists.heads[vertex, START]), np.int64(lists.heads[vertex, LENGTH])
    if length:
        prefetch(lists.pool, start)
        prefetch(lists.pool, start + length)
        prefetch(lists.owners, start + length)


# --- thresholds and reports ------------------------------------------------------------------------------------------


@kernel(inline=True)
def below(points: Any, first: Any, last: Any, value: Any) -> Any:
    """How many points lie below a value or at it."""
    low, high = np.int64(first), np.int64(last)
    while low < high:
        middle = (low + high) >> 1
        if points[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(inline=True)
def passes(points: Any, firsts: Any, number: Any, before: Any, after: Any) -> Any:
    """Whether a list of thresholds has one between two values; `number` is that of the list, SILENT or EVERY."""
    if number == SILENT or before == after:
        return False
    if number == EVERY:
        return True
    first, last = firsts[number], firsts[number + 1]
    return below(points, first, last, before) != below(points, first, last, after)


@kernel(inline=True)
def asked_number(asked: ThresholdLists, instance: Any) -> Any:
    """The number of an instance's own list of thresholds, SILENT or EVERY."""
    return asked.numbers[instance] if instance < len(asked.numbers) else SILENT


@kernel(inline=True)
def is_asked(asked: ThresholdLists, instance: Any) -> Any:
    """Whether anybody might hear of an instance."""
    return asked.everyone != SILENT or asked_number(asked, instance) != SILENT


@kernel()
def is_reported(asked: ThresholdLists, instance: Any, before: Any, after: Any) -> Any:
    """Whether a value passes a threshold of the instance's own, or one of all."""
    if passes(asked.points, asked.firsts, asked.everyone, before, after):
        return True
    return passes(asked.points, asked.firsts, asked_number(asked, instance), before, after)


@kernel(inline=True)
def step_end(log: Log, row: Any) -> Any:
    """The row after the last change of a row's step."""
    step = log.step[row]
    while row < len(log.step) and log.step[row] == step:
        row += 1
    return row


@kernel(inline=True)
def can_report(report: MetricReport, rows: Any) -> Any:
    """Whether there is room for so many more rows."""
    report.count_wanted = report.count + rows
    return report.count + rows <= len(report.values)


@kernel(inline=True)
def write_report(report: MetricReport, step: Any, instance: Any, value: Any) -> None:
    """Writes one row; there is room."""
    row = report.count
    report.steps[row], report.instances[row], report.values[row] = step, instance, value
    report.count = row + 1
