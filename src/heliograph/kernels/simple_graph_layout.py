"""The arrays of a growing simple graph, and of what is asked of instances. Does not import Numba.

Edges (s, p, o) of a log make *arcs* (s, o) and *pairs* {s, o}: an arc is there while an edge leads from s to o, a pair
while one leads either way. One row per pair counts the edges of both directions, so parallel edges cost a count. A loop
(s = o) is counted and makes its vertex one of the graph, but it stands in no list.

A list of a vertex's neighbours is a block of a power of two in a pool, in no order. Whoever stands there knows its pair
and the pair knows where, so that anybody can leave at once: the last one takes the place.
"""

from __future__ import annotations

from typing import NamedTuple

from heliograph.kernels.evolution_layout import Floats, Int8s, Int32s, Int64s

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
