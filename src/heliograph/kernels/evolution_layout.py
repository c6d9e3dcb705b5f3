"""The arrays of an evolving graph that kernels and their callers share. Does not import Numba.

An edge has a number for as long as it is there, or watched: a concrete edge that some query waits for stands in the
table from the beginning, marked as absent, so that one look-up tells both whether an update changes anything and whom
it concerns.

A *run* lists the edges of one vertex with one property in one direction; its key is `2 * property + direction`. A run
of one edge needs no place in the pool. Places in the pool are taken in blocks of a power of two; a block that was left
stands in a list of free ones of its size (see kernels.evolution_pool). The neighbours of a vertex are in no order.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Int8s: TypeAlias = "npt.NDArray[np.uint8]"
Int32s: TypeAlias = "npt.NDArray[np.int32]"
Int64s: TypeAlias = "npt.NDArray[np.int64]"
Floats: TypeAlias = "npt.NDArray[np.float64]"

OUT, IN = 0, 1  # directions: a run of OUT holds edges that leave its vertex

SUBJECT, PREDICATE, OBJECT, LINK = range(4)  # of edges
PRESENT = 1  # in LINK, below 2 * (1 + the first posting of those who wait for the edge)
EDGE_COLUMNS = 4

VERTEX, KEY, START, LENGTH, NEXT_RUN = range(5)  # of runs; START is the edge itself if LENGTH is 1
RUN_COLUMNS = 5
NEIGHBOUR, EDGE = range(2)  # of the pool
AT, SEQ, NUMBER = range(3)  # of times

# of counters
EDGES, FREE_EDGE, LIVE, TAKEN, RUNS, POOL, CLASSES, NEED, VIRTUAL, RUN_BITS, IDLE, VACANT = range(12)
COUNTERS = 12
VIRTUALS = 4  # virtual properties have neighbouring ids, from VIRTUAL on; no variable stands for one of them
FULL, PARTS = 5, 8  # of either open addressing at most 5 entries in 8 are taken: 4 probes on average for what is absent
SIZES = 32  # classes of blocks

# Edges, runs and places in the pool are numbered in 32 bits, with 1 added where 0 is none: `evolution.room` refuses
# more. A run's key is twice a property's id, so ids of properties are below 2^30. Times, seqs, counters have 64 bits.
MOST_ROWS = 2**31 - 2

NO_TIME = np.iinfo(np.int64).min


class Graph(NamedTuple):
    """Arrays with room to grow; `counters` tell how much of each is in use. Everything changes.

    Without adjacency, `places`, `heads`, `runs`, `first` and `pool` are empty: whoever only asks for whole edges needs
    none. Without a window, or without weights, `times` and `weights` are empty.
    """

    slots: Int64s  # open addressing: the upper half of an edge's hash (31 bits) and 1 + its number; 0 is free
    edges: Int32s  # rows
    places: Int32s  # rows: where an edge stands in its run of OUT and in its run of IN
    heads: Int32s  # open addressing over (vertex, key): some bits of a run's hash and 1 + its number; 0 is free
    runs: Int32s  # rows
    first: Int32s  # by vertex: 1 + its first run
    pool: Int32s  # rows
    free: Int64s  # by the logarithm of the size: 1 + the first place of the first free block
    weights: Floats  # by edge; NaN is none
    times: Int64s  # rows by edge; NO_TIME is none
    counters: Int64s  # EDGES: numbers given out; FREE_EDGE: 1 + the first free number, SUBJECT of it the next;
    # LIVE: edges present; TAKEN: slots; RUNS; POOL: places given out; CLASSES: a bit for each size of which there are
    # free blocks; NEED: places that the next edge might need; RUN_BITS: of a run's number in `heads`; IDLE:
    # runs without edges; VACANT: free places below POOL


class Stamp(NamedTuple):
    """What an update says of the edge it adds: NaN and NO_TIME where it says nothing. See watch.window.Edge."""

    weight: float
    at: int
    seq: int
    number: int


class Rows(NamedTuple):
    """Edges to be added, one a row, with their stamps."""

    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats
    at: Int64s
    seq: Int64s
    number: Int64s


SPAN, LAST, CLOCK, ACCEPTED, HEAP, QUEUE_FIRST, QUEUE = range(7)  # of clocks
CLOCKS = 8


class Window(NamedTuple):
    """Which edges go when. Promises (when, edge) that a later renewal made void are noticed when they come up.

    `clocks`: SPAN and LAST are the window's extent (0: none by that measure), CLOCK the time, ACCEPTED the updates so
    far, HEAP and QUEUE the number of promises, QUEUE_FIRST where the queue begins in its ring.
    """

    heap: Int64s  # rows (at, seq, edge), a binary heap by (at, seq)
    queue: Int64s  # rows (number, edge), a ring of a power of two
    clocks: Int64s
