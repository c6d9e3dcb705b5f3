"""The shapes that the route kernels work on. Does not import Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.kernels.board_layout import Board, Events
from heliograph.kernels.quick_layout import Facts, Quick, Sorted
from heliograph.kernels.targeting_layout import Floats, Int32s, Int64s, Masks

# Columns of `lanes`: those that came to a node by an edge that accepts them, those for which it was asked, those that it
# accepted, and those that start there and have not left.
COME, ASKED, REACHED, STARTING = 0, 1, 2, 3


class Job(NamedTuple):
    """Events to route, with all that is needed to ask expressions about them."""

    events: Events
    quick: Quick
    order: Sorted
    facts: Facts
    board: Board


class Walk(NamedTuple):
    """Room for events that walk together. Between two blocks all of it is empty."""

    lanes: Masks  # rows, a node each
    pending: Masks
    pending_summary: Masks
    places: Masks  # what is reached, in the order of reporting
    places_summary: Masks
    touched: Int32s  # the nodes that lanes came to
    found: Int32s  # the results of all lanes in the order of reporting
    found_lanes: Masks
    counts: Int64s  # of each lane's results; then where the next one goes


# `Trail.head`: what this event's stamps are; the queue's ends; where the walk stands among a node's edges and blocks; how
# many edges a path may have; how many predicates were evaluated and how many held.
MARK, HEAD, TAIL, EDGE, EDGE_END, BLOCK, MOST_HOPS, EVALUATED, HELD = 0, 1, 2, 3, 4, 5, 6, 7, 8


class Trail(NamedTuple):
    """Room for one event that walks alone: the nodes in the order in which they were reached, and by which edge.

    A node's `seen` is current if it is at least MARK: MARK + 1 refused, MARK + 2 accepted, MARK + 3 reached.
    """

    head: Int64s
    seen: Int64s
    queue: Int32s  # the start, then the nodes reached
    before: Int32s  # for each of them the place in the queue of the one before it, or -1
    by_edge: Int32s
    hops: Int32s


class Ranks(NamedTuple):
    """Room for one event whose paths are followed in order of cost. Labels are paths; a heap holds those to follow."""

    head: Int64s
    seen: Int64s
    fewest: Int32s  # hops of the path with the fewest edges that was followed to a node
    labels: Int32s  # rows: node, the label before, edge, hops
    costs: Floats
    heap: Int32s
    settled: Int32s  # the labels of the nodes reached, cheapest first


def words_for(size: int) -> int:
    return (size >> 6) + 1


def make_walk(nodes: int, places: int) -> Walk:
    """Room for an exchange of so many nodes."""
    words, order = words_for(nodes), words_for(places)
    return Walk(
        np.zeros((nodes + 1, 4), np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(words_for(words), np.uint64),
        np.zeros(order, np.uint64),
        np.zeros(words_for(order), np.uint64),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.uint64),
        np.zeros(64, np.int64),
    )


def make_trail(nodes: int) -> Trail:
    return Trail(np.zeros(9, np.int64), np.zeros(nodes + 1, np.int64), *(np.empty(nodes + 2, np.int32) for _ in range(4)))


Results = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]
