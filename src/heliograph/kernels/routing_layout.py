"""The shapes that the route kernels work on. Does not import Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.kernels.targeting_layout import Bytes, Floats, Int32s, Int64s, Masks

# Columns of `lanes`: those that came to a node by an edge that accepts them, those for which it was asked, those that
# it accepted, and those that start there.
COME, ASKED, REACHED, STARTING = 0, 1, 2, 3


class Batch(NamedTuple):
    """Events to route: the node that each starts from, or -1, and where the blocks of at most 64 of them begin."""

    starts: Int32s
    cuts: Int64s


class Walk(NamedTuple):
    """Room for events that walk together. Between two blocks all of it is empty."""

    lanes: Masks  # rows, a node each
    pending: Masks
    pending_summary: Masks
    places: Masks  # what is reached, in the order of reporting
    places_summary: Masks
    place_lanes: Masks  # of each place that is among them
    touched: Int32s  # the nodes that lanes came to
    found: Int32s  # the results of all lanes in the order of reporting
    found_lanes: Masks
    counts: Int64s  # of each lane's results; then where the next one goes


# `Trail.head`: where this event's marks begin; the queue's ends; where the walk stands among a node's edges and blocks;
# how many edges a path may have; how many predicates were evaluated and how many of them held.
MARK, HEAD, TAIL, EDGE, EDGE_END, BLOCK, MOST_HOPS, EVALUATED, HELD = 0, 1, 2, 3, 4, 5, 6, 7, 8
REFUSED, WILLING, ENTERED, MARKS = 1, 2, 3, 4  # what `seen` is above MARK: refused; accepted; reached as well


class Trail(NamedTuple):
    """Room for one event that walks alone: the nodes in the order in which they were reached, and by which edge."""

    head: Int64s
    seen: Int64s  # of each node; below MARK it is of an earlier event
    queue: Int32s  # the start, then the nodes reached
    before: Int32s  # for each of them the place in the queue of the one before it, or -1
    by_edge: Int32s
    hops: Int32s


NO_LIMIT = 2**62  # of MOST_HOPS

# Columns of labels, which are paths: the last node, the label of the path before it, the last edge, how many edges.
NODE, BEFORE, BY_EDGE, HOPS = 0, 1, 2, 3
LABELS, FOUND, HEAPED = 0, 1, 2  # `Ranks.sizes`


class Ranks(NamedTuple):
    """Room for paths in order of cost; `Trail.hops` has the fewest edges of a path gone on with, by node."""

    sizes: Int64s
    labels: Int32s  # rows
    costs: Floats
    heap: Int32s  # labels to go on with
    found: Int32s  # the labels of results, cheapest first
    edges: Bytes  # REFUSED or WILLING, of those that were asked; none where edges are not asked again


def make_ranks(nodes: int, edges: int, labels: int) -> Ranks:
    return Ranks(
        np.zeros(3, np.int64),
        np.empty((labels, 4), np.int32),
        np.empty(labels, np.float64),
        np.empty(labels, np.int32),
        np.empty(nodes + 1, np.int32),
        np.zeros(edges, np.uint8),
    )


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
        np.empty(places + 1, np.uint64),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.int32),
        np.empty(nodes + 1, np.uint64),
        np.zeros(64, np.int64),
    )


def make_trail(nodes: int) -> Trail:
    return Trail(
        np.zeros(9, np.int64), np.full(nodes + 1, -1, np.int64), *(np.empty(nodes + 2, np.int32) for _ in range(4))
    )
