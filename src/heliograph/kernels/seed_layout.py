"""The shapes that the seed's route algorithms work on, shared by kernels and their callers. Does not import Numba.

Nodes have the seed's ids: components in topological order, the nodes of one component consecutive ([B] 3.2.1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.quick_layout import Job
from heliograph.kernels.targeting_layout import Floats, Int32s, Int64s, Masks

DAG, DAG_SKIP, GENERAL, SCC_SKIP, INDEX_BFS, BFS = 0, 1, 2, 3, 4, 5

# Columns of the counters. SKIPPED are the ids that a skip jumped over; TESTED and EDGE_TESTED the predicates of nodes
# and edges that were evaluated, HELD those of both that were true; EDGES the edges examined; RECURSIVE the calls of
# updatePath by itself; FIRST the calls of the index before the first result, or -1.
CALLS, RETURNED, SKIPPED, TESTED, EDGE_TESTED, HELD, EDGES, UPDATES, RECURSIVE, FIRST = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
COUNTERS = 10


class SeedGraph(NamedTuple):
    """Node n has the edges from offsets[n] to offsets[n + 1], component c the ids from begins[c] to begins[c + 1]."""

    offsets: Int64s
    targets: Int32s
    edge_expressions: Int32s
    expressions: Int32s
    components: Int32s
    begins: Int32s


class Lists(NamedTuple):
    """Lists of ids end to end: list k holds those from offsets[k] to offsets[k + 1], in ascending order."""

    offsets: Int64s
    ids: Int32s


class Set(NamedTuple):
    """A set of ids as a bitmap of two levels."""

    words: Masks
    summary: Masks


class SeedIndex(NamedTuple):
    """An inverted index of the nodes' expressions.

    Lists by word, by attribute that has to be there, and by stretch of numbers: attribute a cuts the numbers at
    bounds[cuts[a]] … bounds[cuts[a + 1] - 1], and the stretches between are the leaves of a tree of 2 × sizes[a] lists
    that begin with trees[a]. `always` are the candidates of every event.
    """

    always: Set
    words: Lists
    present: Lists
    cuts: Int64s
    bounds: Floats
    trees: Int64s
    sizes: Int64s
    stretches: Lists


class Sets(NamedTuple):
    """The sets of one evaluation, empty between two, room for a stack or a queue of ids, and the event's lane.

    64 events share a board: an event is evaluated by itself, but what is learnt from a board serves all of them.
    """

    reachable: Set
    valid: Set
    result: Set
    marked: Set  # the candidates that the index has found for the event
    stack: Int32s
    lane: Masks


class Task(NamedTuple):
    """What the algorithms see of an exchange and of the events."""

    graph: SeedGraph
    lookup: SeedIndex
    job: Job
    sets: Sets


class Deliveries(NamedTuple):
    """Event e reached the ids from offsets[e] to offsets[e + 1], ascending, and has a row of counters."""

    offsets: Int64s
    ids: Int32s
    counters: npt.NDArray[np.int64]


def make_sets(nodes: int) -> Sets:
    """Empty sets of ids below `nodes`."""
    reachable, valid, result, marked = (_make_set(nodes) for _ in range(4))
    return Sets(reachable, valid, result, marked, np.empty(nodes + 1, np.int32), np.zeros(1, np.uint64))


def _make_set(nodes: int) -> Set:
    words = nodes // 64 + 1
    return Set(np.zeros(words, np.uint64), np.zeros(words // 64 + 1, np.uint64))
