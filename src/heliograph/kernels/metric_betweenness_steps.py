"""A step of a log as changes of arcs, and what is told at its end.

Edges that come are added before those that go are dropped: between the two, the graph is the union of before and after
the step, in which gates search (see metric_betweenness_gates). An edge that goes and comes again changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import float64, int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_betweenness_layout import ARCS, CHANGE, LAST, NAMES, ROW, Board
from heliograph.kernels.metric_betweenness_types import BOARD, INT32_ROWS
from heliograph.kernels.metric_layout import CAME, WENT, Log
from heliograph.kernels.simple_graph import add_edge, drop_edge, has_room
from heliograph.kernels.simple_graph_asked import is_told
from heliograph.kernels.simple_graph_layout import NEW_ARC, Asked, Simple
from heliograph.kernels.simple_graph_pairs import count_edges
from heliograph.kernels.simple_graph_types import ASKED, LOG, SIMPLE
from heliograph.kernels.types import NEW_FLOATS, NEW_INT32S, NEW_INT64S

DIGITS = 1e12  # values are told in this many parts: sums of floats differ in less, by the order of additions


@kernel(inline=True)
def _note(arcs: Any, state: Any, tail: Any, head: Any) -> None:
    arcs[state[ARCS], 0], arcs[state[ARCS], 1] = tail, head
    state[ARCS] += 1


@kernel((SIMPLE, LOG, NEW_INT64S, INT32_ROWS))
def take_changes(graph: Simple, log: Log, state: Any, arcs: Any) -> Any:
    """Applies rows of a log that are of one kind, CAME or WENT, and lists the arcs that are new or gone.

    Whether all were applied; else the graph is to grow first.
    """
    while state[ROW] < state[LAST]:
        if not has_room(graph):
            return False
        row, changed = state[ROW], 0
        tail, head = log.subject[row], log.object[row]
        if log.change[row] == state[CHANGE]:
            changed = add_edge(graph, tail, head) if state[CHANGE] == CAME else drop_edge(graph, tail, head)
        if changed & NEW_ARC:
            _note(arcs, state, tail, head)
        state[ROW] += 1
    return True


@kernel((SIMPLE, LOG, NEW_INT64S, INT32_ROWS))
def foresee_gone(graph: Simple, log: Log, state: Any, arcs: Any) -> None:
    """Lists the arcs that rows of a log may take away: those with no more edges than there are such rows."""
    going = np.int64(0)
    for row in range(state[ROW], state[LAST]):
        going += log.change[row] == WENT
    for row in range(state[ROW], state[LAST]):
        tail, head = log.subject[row], log.object[row]
        if log.change[row] == WENT and tail != head and count_edges(graph, tail, head) <= going:
            _note(arcs, state, tail, head)


@kernel((BOARD, ASKED, float64, NEW_INT32S, NEW_FLOATS))
def tell(board: Board, asked: Asked, scale: Any, instances: Any, values: Any) -> Any:
    """Works the values out and writes those that are to be told, in arrays with room for all names; how many."""
    told = kept = np.int64(0)
    for k in range(board.counters[NAMES]):
        vertex = np.int64(board.names[k])
        before, after = board.last[vertex], np.rint(board.raw[vertex] * scale * DIGITS) / DIGITS + 0.0
        if after != before:
            if is_told(asked, vertex, before, after):
                instances[told], values[told] = vertex, after
                told += 1
            board.last[vertex] = after
        if board.raw[vertex] != 0.0 or after != 0.0:
            board.names[kept] = vertex
            kept += 1
        else:
            board.listed[vertex] = 0
    board.counters[NAMES] = kept
    return told


@kernel((BOARD, NEW_INT32S, NEW_FLOATS, int64))
def post(board: Board, names: Any, sums: Any, count: Any) -> None:
    """Puts the sums of slots on the board, under the ids that the slots have."""
    for slot in range(count):
        if names[slot] >= 0:
            vertex = np.int64(names[slot])
            board.raw[vertex] = sums[slot]
            if board.listed[vertex] == 0 and sums[slot] != 0.0:
                board.listed[vertex], board.names[board.counters[NAMES]] = 1, vertex
                board.counters[NAMES] += 1
