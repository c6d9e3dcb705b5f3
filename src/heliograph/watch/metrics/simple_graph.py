"""A growing simple graph for metrics: its arrays, their room, and which vertices there are. Does not import Numba."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from heliograph.compiled.growing import first_room
from heliograph.watch.layout import Floats, Int8s, Int32s, Int64s
from heliograph.watch.updates import Flags

# ----------------------------------------------------------------------------------------------------------------------
# The arrays that kernels of metrics and their callers share. Does not import Numba.
#
# A metric sees the evolving graph as a *log*: every change of an edge in its projection, in order. Changes belong to
# steps; a step is what one update does in one phase, and only what holds at its end counts. What a metric says of an
# *instance* (a vertex, a pair, a set of terminals) is told when it passes one of the *cuts* that somebody set there.
#
# The law of cuts: a condition on a metric changes its truth only where the value passes a cut, or where it was asked
# to be told every change; so what lies between two cuts need not be told.
# ----------------------------------------------------------------------------------------------------------------------

WENT, CAME, CHANGED = 0, 1, 2  # what became of an edge; CHANGED: another weight

SILENT, EVERY = -1, -2  # in place of a list of cuts: nobody asks, and every change is told


class Log(NamedTuple):
    """Changes of edges, in order. An edge is (subject, predicate, object): one that came was absent, one that went was
    present, and two edges may join the same vertices."""

    step: Int32s  # ascending, from 0; several changes may belong to one step
    change: Int8s
    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats  # after the change, or of an edge that went the one it had; NaN where it has none


class Cuts(NamedTuple):
    """Lists of values, each ascending: list n is points[firsts[n]:firsts[n + 1]]."""

    points: Floats
    firsts: Int32s


class Said(NamedTuple):
    """What was said of instances at the ends of steps: in order of step, an instance at most once in each."""

    step: Int32s
    instance: Int32s
    value: Floats

    @classmethod
    def nothing(cls) -> Said:
        return cls(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float64))


STEP, INSTANCE = range(2)  # columns of a kernel's rows of sayings
SAID_COLUMNS = 2


# ----------------------------------------------------------------------------------------------------------------------
# The arrays of a growing simple graph, and of what is asked of instances. Does not import Numba.
#
# Edges (s, p, o) of a log make *arcs* (s, o) and *pairs* {s, o}: an arc is there while an edge leads from s to o, a
# pair while one leads either way. One row per pair counts the edges of both directions, so parallel edges cost a
# count. A loop (s = o) is counted and makes its vertex one of the graph, but it stands in no list.
#
# A list of a vertex's neighbours is a block of a power of two in a pool, in no order. Whoever stands there knows its
# pair and the pair knows where, so that anybody can leave at once: the last one takes the place.
# ----------------------------------------------------------------------------------------------------------------------

A, B, FORWARD, BACKWARD = range(4)  # of pairs: A <= B, edges from A to B, edges from B to A; a loop's are FORWARD
PLACES = 4  # the columns from here on: of each kept kind of lists two, the place in the list of A and in that of B

START, LENGTH = range(2)  # of heads

# of the counters of a graph: TAKEN: pairs there, loops too; NUMBERS: numbers of pairs given out; FREE: 1 + the first
# free number, A of it the next; JOINED, ARCS, LOOPS: pairs and arcs without loops, loops; VERTICES: that edges touch
TAKEN, NUMBERS, FREE, JOINED, ARCS, LOOPS, VERTICES = range(7)
GRAPH_COUNTERS = 7

# of the counters of lists: POOL: places given out; NEED: places that the next edge might need; COLUMN: the first of the
# two columns of pairs that hold places in these lists
POOL, NEED, COLUMN = range(3)
LIST_COUNTERS = 3
SIZES = 32  # classes of blocks

FULL, PARTS = 5, 8  # of the open addressing at most 5 places in 8 are taken

NEW_PAIR, NEW_ARC = 1, 2  # what a change of an edge changed: bits


class Lists(NamedTuple):
    """Lists of neighbours by vertex. Kinds that nobody keeps have empty arrays."""

    heads: Int32s  # rows by vertex: list v is pool[START:START + LENGTH]
    room: Int8s  # by vertex: the logarithm of its block's size; 0 without a block
    pool: Int32s  # neighbours; of a free block the first place is 1 + the next free block of its size
    owners: Int32s  # beside the pool: the number of the pair
    free: Int32s  # by the logarithm of the size: 1 + the first free block
    counters: Int64s


class Simple(NamedTuple):
    """A growing simple graph: everything changes."""

    keys: Int64s  # open addressing of a power of two: 1 + (A << 32 | B); 0 is free
    numbers: Int32s  # beside the keys: the number of the pair
    pairs: Int32s  # rows
    touching: Int32s  # by vertex: pairs that touch it, its loop too
    undirected: Lists
    out: Lists
    into: Lists
    counters: Int64s


class Asked(NamedTuple):
    """Who is to be told what: the cuts (see metric_layout.Cuts) of instances, and those of all."""

    points: Floats
    firsts: Int32s
    numbers: Int32s  # by instance: its list of cuts, SILENT or EVERY; SILENT where the array ends
    everyone: int  # the list of cuts of all, SILENT or EVERY


# ----------------------------------------------------------------------------------------------------------------------
# A growing simple graph as its owner sees it: who makes room, and hands kernels the arrays. Does not import Numba.
#
# Kernels change the graph for as long as they have room; then they return, `grow` makes more, and `arrays` is to be
# asked for again. Numbers of pairs and orders of lists outlive every growth.
# ----------------------------------------------------------------------------------------------------------------------

_LEAST = 16  # rows of a new array; a power of two
_FIRST_NEED = 4  # places for two blocks of two
_KINDS = (np.int32, np.uint8, np.int32, np.int32, np.int32, np.float64)  # of a log
_ARRAY = TypeVar("_ARRAY", bound="npt.NDArray[Any]")


class GrowingGraph:
    """The simple graph of a log's edges, with lists of neighbours of the kinds that are kept."""

    def __init__(self, *, undirected: bool = True, directed: bool = False) -> None:
        self.arrays = Simple(
            np.zeros(first_room(_LEAST), np.int64),
            np.empty(first_room(_LEAST), np.int32),
            np.empty((first_room(_LEAST), PLACES + 2 * undirected + 4 * directed), np.int32),
            np.zeros(first_room(_LEAST), np.int32),
            _lists(PLACES if undirected else 0),
            _lists(PLACES + 2 * undirected if directed else 0),
            _lists(PLACES + 2 * undirected + 2 if directed else 0),
            np.zeros(GRAPH_COUNTERS, np.int64),
        )

    @property
    def vertices(self) -> int:
        """How many ids of vertices are covered."""
        return len(self.arrays.touching)

    @property
    def nbytes(self) -> int:
        graph = self.arrays
        flat = (graph.keys, graph.numbers, graph.pairs, graph.touching, graph.counters)
        return sum(array.nbytes for array in (*flat, *graph.undirected, *graph.out, *graph.into))

    def take_over(self, log: Log) -> None:
        """Applies a whole log, however much room it needs."""
        from heliograph.watch.metrics.simple_graph_kernels import take_over

        log, row = fixed_log(log), 0
        self.cover_log(log)
        while (row := take_over(self.arrays, log, row)) < len(log.step):
            self.grow()

    def cover_log(self, log: Log) -> None:
        """Makes the vertices of a log valid ends of edges."""
        if len(log.step):
            self.cover(1 + int(max(log.subject.max(), log.object.max())))

    def cover(self, vertices: int) -> None:
        """Makes ids below `vertices` valid ends of edges."""
        if vertices > self.vertices:
            rows, graph = max(vertices, more(self.vertices)), self.arrays
            undirected, out, into = (_covering(lists, rows) for lists in (graph.undirected, graph.out, graph.into))
            touching = enlarged(graph.touching, rows)
            self.arrays = graph._replace(touching=touching, undirected=undirected, out=out, into=into)

    def grow(self) -> None:
        """Makes room wherever there is none for another change."""
        graph, counters = self.arrays, self.arrays.counters
        if counters[FREE] == 0 and counters[NUMBERS] >= len(graph.pairs):
            graph = graph._replace(pairs=enlarged(graph.pairs, more(len(graph.pairs))))
        if PARTS * (counters[TAKEN] + 1) > FULL * len(graph.keys):
            graph = _rehashed(graph)
        undirected, out, into = (_grown(lists) for lists in (graph.undirected, graph.out, graph.into))
        self.arrays = graph._replace(undirected=undirected, out=out, into=into)


def _lists(column: int) -> Lists:
    """Lists without neighbours, with the first of their columns; none at all where there is no such column."""
    rows, counters = first_room(_LEAST) if column else 0, np.zeros(LIST_COUNTERS, np.int64)
    counters[NEED], counters[COLUMN] = _FIRST_NEED if column else 0, column
    heads, sizes = np.zeros((rows, 2), np.int32), np.zeros(rows, np.uint8)
    return Lists(heads, sizes, np.empty(rows, np.int32), np.empty(rows, np.int32), np.zeros(SIZES, np.int32), counters)


def _covering(lists: Lists, rows: int) -> Lists:
    if not lists.counters[COLUMN]:
        return lists
    return lists._replace(heads=enlarged(lists.heads, rows), room=enlarged(lists.room, rows))


def _grown(lists: Lists) -> Lists:
    needed = int(lists.counters[POOL] + lists.counters[NEED])
    if needed <= len(lists.pool):
        return lists
    places = max(needed, more(len(lists.pool)))
    return lists._replace(pool=enlarged(lists.pool, places), owners=enlarged(lists.owners, places))


def _rehashed(graph: Simple) -> Simple:
    from heliograph.watch.metrics.simple_graph_kernels import rehash

    keys, numbers = np.zeros(2 * len(graph.keys), np.int64), np.empty(2 * len(graph.keys), np.int32)
    rehash(fixed(graph.keys, np.int64), fixed(graph.numbers, np.int32), keys, numbers)
    return graph._replace(keys=keys, numbers=numbers)


# --- arrays -----------------------------------------------------------------------------------------------------


def more(rows: int) -> int:
    """Half as many again: what is copied in growing is twice what there is in the end."""
    return first_room(rows + rows // 2 + _LEAST, rows + 1)


def enlarged(array: _ARRAY, rows: int) -> _ARRAY:
    """The same rows, with room for more; the new ones hold zeros."""
    larger = np.zeros((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger  # type: ignore[return-value]


def fixed(column: Any, kind: Any) -> Any:
    """As kernels take what they only read."""
    view = np.ascontiguousarray(column, kind).view()
    view.flags.writeable = False
    return view


def fixed_log(log: Log) -> Log:
    """A log as kernels take it."""
    return Log._make(fixed(column, kind) for column, kind in zip(log, _KINDS, strict=True))


def counted(graph: Simple, counter: int) -> int:
    """One of the counters of a graph."""
    counters: Int64s = graph.counters
    return int(counters[counter])


# ----------------------------------------------------------------------------------------------------------------------
# Where kernels write what is said of instances, and how far they came. Does not import Numba.
# ----------------------------------------------------------------------------------------------------------------------

ROW, SAID, NEEDED = range(3)  # of counters: the next change, sayings so far, sayings that there was no room for
_COUNTERS = 3
_SIMPLE_GRAPH_TELLING_LAYOUT_LEAST = 1024  # sayings that there is room for at first


class Telling(NamedTuple):
    """Sayings in the order of their steps, and the place in the log up to which they are complete."""

    rows: Int32s  # rows (STEP, INSTANCE)
    values: Floats
    counters: Int64s

    @classmethod
    def nothing(cls) -> Telling:
        rows = np.empty((first_room(_SIMPLE_GRAPH_TELLING_LAYOUT_LEAST), SAID_COLUMNS), np.int32)
        return cls(rows, np.empty(len(rows)), np.zeros(_COUNTERS, np.int64))

    def with_room(self) -> Telling:
        """The same sayings, with room for as many again and for what was lacking."""
        least = int(self.counters[SAID] + self.counters[NEEDED])
        rows = first_room(least + int(self.counters[SAID]) + _SIMPLE_GRAPH_TELLING_LAYOUT_LEAST, least)
        if rows <= len(self.values):
            return self
        return self._replace(rows=enlarged(self.rows, rows), values=enlarged(self.values, rows))

    def said(self) -> Said:
        """All that was said, in arrays of their own."""
        count = int(self.counters[SAID])
        steps, instances = (self.rows[:count, column].copy() for column in (STEP, INSTANCE))
        return Said(steps, instances, self.values[:count].copy())


# ----------------------------------------------------------------------------------------------------------------------
# Which vertices there are: a vertex exists while an edge touches it or an attribute is set on it.
# ----------------------------------------------------------------------------------------------------------------------

_FEW = 8  # ends that are sooner counted one by one: 7 to 11 µs instead of 60


class Ends(NamedTuple):
    """Ends of edges that came or went: vertices, in order of step."""

    step: Int64s
    vertex: Int32s
    came: Flags


class Turnout(NamedTuple):
    """Vertices that are there at the end of a step and were not before, and the other way round; by step."""

    step: Int64s
    vertex: Int32s
    came: Flags


class Vertices:
    """How many ends of edges each vertex has."""

    def __init__(self) -> None:
        self._ends: Int64s = np.zeros(0, np.int64)
        self.count = 0

    def __contains__(self, vertex: int) -> bool:
        return vertex < len(self._ends) and bool(self._ends[vertex])

    @property
    def all(self) -> Int32s:
        """Every vertex, by id."""
        return np.flatnonzero(self._ends).astype(np.int32)

    def follow(self, ends: Ends) -> Turnout:
        """Takes ends over; who came and who went."""
        if not len(ends.vertex):
            return Turnout(ends.step, ends.vertex, ends.came)
        self._cover(int(ends.vertex.max()) + 1)
        if len(ends.vertex) <= _FEW:
            return self._follow_few(ends)
        order = np.lexsort((ends.step, ends.vertex))
        vertex, step = ends.vertex[order], ends.step[order]
        delta = np.where(ends.came[order], 1, -1)
        after = np.cumsum(delta)
        firsts = np.flatnonzero(np.diff(vertex, prepend=-1))
        sizes = np.diff(np.append(firsts, len(vertex)))
        base = self._ends[vertex[firsts]] - np.where(firsts, after[firsts - 1], 0)
        after += np.repeat(base, sizes)
        lasts = np.append((vertex[1:] != vertex[:-1]) | (step[1:] != step[:-1]), True)  # of a vertex in a step
        seen, counts = vertex[lasts], after[lasts]
        begins = np.diff(seen, prepend=-1) != 0
        before = np.where(begins, self._ends[seen], np.append(0, counts[:-1]))
        turned = (before > 0) != (counts > 0)
        self._ends[seen] = counts  # in order, so the last one counts
        self.count += int((counts > 0)[turned].sum() - (before > 0)[turned].sum())
        steps, vertices, there = step[lasts][turned], seen[turned], (counts > 0)[turned]
        by_step = np.argsort(steps, kind="stable")
        return Turnout(steps[by_step], vertices[by_step], there[by_step])

    def _follow_few(self, ends: Ends) -> Turnout:
        """The same, one after the other."""
        turned: list[tuple[int, int, bool]] = []
        rows = zip(ends.step.tolist(), ends.vertex.tolist(), ends.came.tolist(), strict=True)
        for step, some in groupby(rows, key=itemgetter(0)):
            known: dict[int, bool] = {}
            for _, vertex, came in some:
                known.setdefault(vertex, vertex in self)
                self._ends[vertex] += 1 if came else -1
            turned += [(step, vertex, not was) for vertex, was in sorted(known.items()) if was != (vertex in self)]
        self.count += sum(1 if came else -1 for _, _, came in turned)
        steps, vertices, there = zip(*turned, strict=True) if turned else ((), (), ())
        return Turnout(np.array(steps, np.int64), np.array(vertices, np.int32), np.array(there, np.bool_))

    def _cover(self, size: int) -> None:
        if size > len(self._ends):
            larger = np.zeros(max(size, 2 * len(self._ends)), np.int64)
            larger[: len(self._ends)] = self._ends
            self._ends = larger


def ends_of(step: Int64s, change: Int8s, triples: Int32s, literal: Flags) -> Ends:
    """The ends of edges that changed; an attribute has one, and a new weight changes none."""
    kept = change != CHANGED
    step, change, triples, literal = step[kept], change[kept], triples[kept], literal[kept]
    objects = ~literal
    steps = np.concatenate((step, step[objects]))
    vertices = np.concatenate((triples[:, 0], triples[objects, 2]))
    came = np.concatenate((change, change[objects])) == CAME
    order = np.argsort(steps, kind="stable")
    return Ends(steps[order], vertices[order], came[order])
