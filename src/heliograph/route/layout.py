"""The arrays of an exchange and of a walk through it. Does not import Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.predicate.layout import Bytes, Floats, Int32s, Int64s, Masks

# ----------------------------------------------------------------------------------------------------------------------
# The shapes of an exchange in flat arrays, shared by kernels and their callers. Does not import Numba.
#
# Many versions live in the same arrays. A reader of version v sees the edges with BORN <= v < DIED, and of each node
# the record that it finds from the node's own by following NEWER while DIED <= v. The one writer only appends, and
# gives birth or death in versions that nobody reads yet, so that readers need no lock.
# ----------------------------------------------------------------------------------------------------------------------

NEVER_DIED = np.iinfo(np.int32).max  # also the BORN of an edge's place that is still free

# Columns of `nodes`. A node's edges are those from OUT_BEGIN to OUT_END, and those of the blocks that begin with
# OUT_MORE (-1: none); likewise its entries, the numbers of the edges that lead to it (-1: a free place).
# COMPONENT_END is the last node of its strongly connected component, as it was numbered; below the node itself it says
# nothing. Column 7 is the writer's own.
RECORD, OUT_BEGIN, OUT_END, OUT_MORE, IN_BEGIN, IN_END, IN_MORE, COMPONENT_END = 0, 1, 2, 3, 4, 5, 6, 8
NODE_COLUMNS = 9

# Columns of `records`. PLACE is the place in the order of reporting, among the listed nodes or among the others.
EXPRESSION, DIED, NEWER, FLAGS, PLACE = 0, 1, 2, 3, 4
RECORD_COLUMNS = 6
PRESENT, LISTED_NODE, REFUSED = 1, 2, 4  # flags: the node is there; it came as a row of its own; that row was refused

# Columns of `edges`; its expression is the column EXPRESSION too.
TARGET, EDGE_EXPRESSION, BORN, EDGE_DIED = 0, 1, 2, 3
EDGE_COLUMNS = 4

# Columns of `blocks`: further edges, or entries, of one node, and the next such block.
BEGIN, END, MORE = 0, 1, 2


class Graph(NamedTuple):
    """One version of an exchange. Nodes are numbered so that, as far as live changes left it, edges lead upwards."""

    version: int
    node_count: int
    listed_count: int  # places of listed nodes; those of the others follow them in the order of reporting
    nodes: Int32s  # rows
    records: Int32s  # rows
    record_costs: Floats
    edges: Int32s  # rows
    sources: Int32s  # of each edge
    edge_costs: Floats
    entries: Int32s
    blocks: Int32s  # rows
    listed: Int32s  # the node at each place of the listed ones
    loose: Int32s  # the node at each place of the others


Offsets = Int64s


# ----------------------------------------------------------------------------------------------------------------------
# The shapes that the route kernels work on. Does not import Numba.
# ----------------------------------------------------------------------------------------------------------------------

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
ROUTING_LAYOUT_REFUSED, WILLING, ENTERED, MARKS = (
    1,
    2,
    3,
    4,
)  # what `seen` is above MARK: refused; accepted; reached as well


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
