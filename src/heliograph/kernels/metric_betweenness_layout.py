"""The arrays that kernels of betweenness and their callers share. Does not import Numba.

Exact values are kept between *slots*: vertices with an arc have one each, from 0, so that tables by pairs of slots stay
small whatever the term ids are. A slot without a vertex is one without arcs: nothing leads there, and its sum is 0.

Sampled values are kept by term id. A *sample* is a pair of vertices with one of its shortest paths; what is asked of
all of them is how many lead through a vertex. The *board* holds what either way counted, by term id, and the values
that were last told.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Floats, Int8s, Int32s, Int64s

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
