"""One event through an exchange, breadth first: each node reached by as few edges as possible, in order of discovery.

The walk can be stopped after any edge and taken up again, so that the first results are there before the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels import exchange_layout as of
from heliograph.kernels import routing_layout as at
from heliograph.kernels.cache import kernel
from heliograph.kernels.exchange_layout import Graph
from heliograph.kernels.quick import JOB, accepted
from heliograph.kernels.quick_layout import Job
from heliograph.kernels.routing import expression_of
from heliograph.kernels.routing_layout import Trail
from heliograph.kernels.targeting_layout import ALWAYS, NEVER
from heliograph.kernels.targeting_types import GRAPH, NEW_INT32S, NEW_INT64S
from heliograph.kernels.types import named

_ONE, _NONE = np.uint64(1), np.uint64(0)
TRAIL: Any = named(Trail, NEW_INT64S, NEW_INT64S, NEW_INT32S, NEW_INT32S, NEW_INT32S, NEW_INT32S)


@kernel((GRAPH, JOB, TRAIL, int64))
def advance(graph: Graph, job: Job, trail: Trail, wanted: Any) -> Any:
    """Walks on until the queue holds as many as wanted; returns whether there may be more."""
    head = trail.head
    while head[at.TAIL] < wanted:
        if head[at.EDGE] < head[at.EDGE_END]:
            edge = head[at.EDGE]
            head[at.EDGE] += 1
            if graph.edges[edge, of.BORN] <= graph.version < graph.edges[edge, of.EDGE_DIED]:
                _follow(graph, job, trail, edge)
        elif head[at.BLOCK] >= 0:
            block = head[at.BLOCK]
            head[at.EDGE], head[at.EDGE_END] = graph.blocks[block, of.BEGIN], graph.blocks[block, of.END]
            head[at.BLOCK] = graph.blocks[block, of.MORE]
        elif head[at.HEAD] == head[at.TAIL] or trail.hops[head[at.HEAD]] >= head[at.MOST_HOPS]:
            return False
        else:
            node = trail.queue[head[at.HEAD]]
            head[at.HEAD] += 1
            if head[at.HEAD] == 1 or node != trail.queue[0]:  # the start is left once, when it is reached again too
                head[at.EDGE], head[at.EDGE_END] = graph.nodes[node, of.OUT_BEGIN], graph.nodes[node, of.OUT_END]
                head[at.BLOCK] = graph.nodes[node, of.OUT_MORE]
    return True


@kernel(inline=True)
def _follow(graph: Graph, job: Job, trail: Trail, edge: Any) -> None:
    """Enters the edge's target, if both accept the event."""
    head = trail.head
    target = graph.edges[edge, of.TARGET]
    if is_willing(graph, job, trail, target) and ask_alone(job, trail, graph.edges[edge, of.EDGE_EXPRESSION]):
        trail.seen[target] = head[at.MARK] + at.ENTERED
        tail = head[at.TAIL]
        trail.queue[tail], trail.before[tail], trail.by_edge[tail] = target, head[at.HEAD] - 1, edge
        trail.hops[tail] = trail.hops[head[at.HEAD] - 1] + 1
        head[at.TAIL] = tail + 1


@kernel(inline=True)
def is_willing(graph: Graph, job: Job, trail: Trail, node: Any) -> Any:
    """Whether a node that was not entered yet accepts the event; it is asked once."""
    mark = trail.head[at.MARK]
    if trail.seen[node] < mark:
        held = ask_alone(job, trail, expression_of(graph, node))
        trail.seen[node] = mark + (at.WILLING if held else at.REFUSED)
    return trail.seen[node] == mark + at.WILLING


@kernel(inline=True)
def ask_alone(job: Job, trail: Trail, expression: Any) -> Any:
    """Whether an expression accepts the one event on the board, counted; see `routing.ask`."""
    if expression <= NEVER:
        return expression == ALWAYS
    held = accepted(job, expression, _ONE) != _NONE
    trail.head[at.EVALUATED] += 1
    trail.head[at.HELD] += held
    return held
