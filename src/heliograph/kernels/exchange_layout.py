"""The shapes of an exchange in flat arrays, shared by kernels and their callers. Does not import Numba.

Many versions live in the same arrays. A reader of version v sees the edges with BORN <= v < DIED, and of each node the
record that it finds from the node's own by following NEWER while DIED <= v. The one writer only appends, and gives
birth or death in versions that nobody reads yet, so that readers need no lock.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.kernels.targeting_layout import Floats, Int32s, Int64s

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
