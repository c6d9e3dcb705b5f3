"""The arrays of an exchange, and of walks through it, as kernels and their callers share them.

Each structure is declared once, as in `predicate.layout`; `EXCHANGE` says of each array of an exchange which rows it
has and what a free row holds, for making room, saving and checking. This module does not import Numba.

Many versions of an exchange live in the same arrays. A reader of version v sees the edges with BORN <= v < EDGE_DIED,
and of each node the record that it finds from the node's own by following NEWER while DIED <= v. The one writer only
appends, and gives birth or death in versions that nobody reads yet, so that readers need no lock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.predicate.layout import Bytes, Floats, Int32Rows, Int32s, Int64s, MaskRows, Masks, zeros

# --- an exchange ------------------------------------------------------------------------------------------------------

NEVER_DIED = np.iinfo(np.int32).max  # also the BORN of an edge's place that is still free

# Columns of `nodes`. A node's edges are those from OUT_BEGIN to OUT_END, and those of the blocks that begin with
# OUT_MORE (-1: none); likewise its entries, the numbers of the edges that lead to it (-1: a free place). DEGREE, known
# to the writer only, counts the edges that touch a node. COMPONENT_END is the last node of its strongly connected
# component, as it was numbered; below the node itself it says nothing.
RECORD, OUT_BEGIN, OUT_END, OUT_MORE, IN_BEGIN, IN_END, IN_MORE, DEGREE, COMPONENT_END = range(9)

# Columns of `records`. PLACE is the place in the order of reporting, among the listed nodes or among the others.
EXPRESSION, DIED, NEWER, FLAGS, PLACE = range(5)
PRESENT, LISTED_NODE, REFUSED = 1, 2, 4  # flags: the node is there; it came as a row of its own; that row was refused

TARGET, EDGE_EXPRESSION, BORN, EDGE_DIED = range(4)  # columns of `edges`

# Columns of `blocks`: further edges, or entries, of one node, the next such block, and, known to the writer only,
# where the places of the block end.
BEGIN, END, MORE, ROOM = range(4)


class ExchangeGraph(NamedTuple):
    """One version of an exchange. Nodes are numbered so that, as far as live changes left it, edges lead upwards."""

    version: int
    node_count: int
    listed_count: int  # places of listed nodes; those of the others follow them in the order of reporting
    nodes: Int32Rows
    records: Int32Rows
    record_costs: Floats
    edges: Int32Rows
    sources: Int32s  # of each edge
    edge_costs: Floats
    entries: Int32s
    blocks: Int32Rows
    listed: Int32s  # the node at each place of the listed ones
    loose: Int32s  # the node at each place of the others


class Stored(NamedTuple):
    """An array of an exchange: of which kind its rows are, how many columns it has, its type, what a free row holds."""

    rows: str
    columns: int = 0
    dtype: type = np.int32
    free: int = 0


EXCHANGE = {
    "nodes": Stored("nodes", 9),
    "records": Stored("records", 6),
    "record_costs": Stored("records", dtype=np.float64),
    "edges": Stored("edges", 4, free=NEVER_DIED),
    "sources": Stored("edges"),
    "edge_costs": Stored("edges", dtype=np.float64),
    "serials": Stored("edges"),  # the order in which edges were added
    "entries": Stored("entries", free=-1),
    "blocks": Stored("blocks", 4),
    "listed": Stored("listed"),
    "loose": Stored("loose"),
}

# --- events that walk together ----------------------------------------------------------------------------------------

# Columns of `lanes`: those that came to a node by an edge that accepts them, those for which it was asked, those that
# it accepted, and those that start there.
COME, ASKED, REACHED, STARTING = range(4)


class Walk(NamedTuple):
    """Room for events that walk together. Between two blocks all of it is empty."""

    lanes: MaskRows  # of each node
    pending: Masks
    pending_summary: Masks
    places: Masks  # what is reached, in the order of reporting
    places_summary: Masks
    place_lanes: Masks  # of each place that is among them
    touched: Int32s  # the nodes that lanes came to
    found: Int32s  # the results of all lanes in the order of reporting
    found_lanes: Masks
    counts: Int64s  # of each lane's results; then where the next one goes


def words_for(size: int) -> int:
    """How many words of 64 bits have a bit for each of so many, and one more."""
    return (size >> 6) + 1


def make_walk(nodes: int, places: int) -> Walk:
    """Room for an exchange of so many nodes."""
    words, order = words_for(nodes), words_for(places)
    bitmaps = words, words_for(words), order, words_for(order)
    return zeros(Walk, (nodes + 1, 4), *bitmaps, places + 1, nodes + 1, nodes + 1, nodes + 1, 64)


# --- an event that walks alone ----------------------------------------------------------------------------------------

# `Trail.head`: where this event's marks begin; the queue's ends; where the walk stands among a node's edges and blocks;
# how many edges a path may have; how many predicates were evaluated and how many of them held.
MARK, HEAD, TAIL, EDGE, EDGE_END, BLOCK, MOST_HOPS, EVALUATED, HELD = range(9)
UNWILLING, WILLING, ENTERED, MARKS = 1, 2, 3, 4  # what `seen` is above MARK: refused; accepted; reached as well
NO_LIMIT = 2**62  # of MOST_HOPS


class Trail(NamedTuple):
    """Room for one event that walks alone: the nodes in the order in which they were reached, and by which edge."""

    head: Int64s
    seen: Int64s  # of each node; below MARK it is of an earlier event
    queue: Int32s  # the start, then the nodes reached
    before: Int32s  # for each of them the place in the queue of the one before it, or -1
    by_edge: Int32s
    hops: Int32s


def make_trail(nodes: int) -> Trail:
    """Room for an exchange of so many nodes."""
    return zeros(Trail, 9, nodes + 1, *[nodes + 2] * 4)


# Columns of labels, which are paths: the last node, the label of the path before it, the last edge, how many edges.
NODE, BEFORE, BY_EDGE, HOPS = range(4)
LABELS, FOUND, HEAPED = range(3)  # `Ranks.sizes`


class Ranks(NamedTuple):
    """Room for paths in order of cost; `Trail.hops` has the fewest edges of a path gone on with, by node."""

    sizes: Int64s
    labels: Int32Rows
    costs: Floats
    heap: Int32s  # labels to go on with
    found: Int32s  # the labels of results, cheapest first
    edges: Bytes  # UNWILLING or WILLING, of those that were asked; none where edges are not asked again


def make_ranks(nodes: int, edges: int, labels: int) -> Ranks:
    """Room for so many labels."""
    return zeros(Ranks, 3, (labels, 4), labels, labels, nodes + 1, edges)
