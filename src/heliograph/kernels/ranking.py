"""One event through an exchange in order of cost: each node reached by a cheapest path, the cheapest first.

Paths are followed in order of cost, then of the number of their edges. A node's first path is its cheapest. Of its
later ones only one with fewer edges than all before it can matter, and only because it may go on further where their
number is limited; nor can a path that came back to the start. So the K cheapest results are known when K nodes are
settled, and the paths that tie with the last.
"""

from __future__ import annotations

from typing import Any

from numba import boolean, int64

from heliograph.kernels import exchange_layout as of
from heliograph.kernels import routing_layout as at
from heliograph.kernels.cache import kernel
from heliograph.kernels.exchange_layout import Graph
from heliograph.kernels.hopping import TRAIL, ask_alone, is_willing
from heliograph.kernels.quick import JOB
from heliograph.kernels.quick_layout import Job
from heliograph.kernels.routing import is_end, record_of
from heliograph.kernels.routing_layout import Ranks, Trail
from heliograph.kernels.targeting_types import GRAPH, NEW_BYTES, NEW_FLOATS, NEW_INT32_ROWS, NEW_INT32S, NEW_INT64S
from heliograph.kernels.types import named

RANKS: Any = named(Ranks, NEW_INT64S, NEW_INT32_ROWS, NEW_FLOATS, NEW_INT32S, NEW_INT32S, NEW_BYTES)


@kernel((GRAPH, JOB, TRAIL, RANKS, int64, boolean))
def rank(graph: Graph, job: Job, trail: Trail, ranks: Ranks, limit: Any, ends_only: Any) -> Any:
    """Fills `found` with the labels of the results in order of cost; false where there is no room for more labels.

    The start is trail.queue[0]. With a limit (-1: none) the results are at least those of the first `limit` places,
    ties included, and one more where there is one.
    """
    sizes = ranks.sizes
    sizes[at.LABELS] = sizes[at.FOUND] = sizes[at.HEAPED] = 0
    _push(ranks, trail.queue[0], -1, -1, 0, 0.0)
    while sizes[at.HEAPED] > 0:
        label = _pop(ranks)
        if limit >= 0 and _is_enough(ranks, limit, ranks.costs[label]):
            return True
        if label > 0 and not _settle(graph, ranks, trail, label, ends_only):
            continue
        if ranks.labels[label, at.HOPS] < trail.head[at.MOST_HOPS] and not _leave(graph, job, trail, ranks, label):
            return False
    return True


@kernel()
def _is_enough(ranks: Ranks, limit: Any, cost: Any) -> Any:
    """Whether no path of this cost or a higher one can be among the first `limit`, and one too many is known."""
    found = ranks.sizes[at.FOUND]
    return found > limit and (limit == 0 or cost > ranks.costs[ranks.found[limit - 1]])


@kernel()
def _settle(graph: Graph, ranks: Ranks, trail: Trail, label: Any, ends_only: Any) -> Any:
    """Whether a path is to be gone on with; a node's first one is a result."""
    node, hops = ranks.labels[label, at.NODE], ranks.labels[label, at.HOPS]
    entered = trail.head[at.MARK] + at.ENTERED
    if trail.seen[node] == entered:
        if trail.head[at.MOST_HOPS] == at.NO_LIMIT or hops >= trail.hops[node]:
            return False
    else:
        trail.seen[node] = entered
        if not (ends_only and not is_end(graph, node)):
            ranks.found[ranks.sizes[at.FOUND]] = label
            ranks.sizes[at.FOUND] += 1
    trail.hops[node] = hops
    return node != trail.queue[0]


@kernel()
def _leave(graph: Graph, job: Job, trail: Trail, ranks: Ranks, label: Any) -> Any:
    """Makes the paths that are one edge longer; false where there is no room for them."""
    node = ranks.labels[label, at.NODE]
    first, last, more = graph.nodes[node, of.OUT_BEGIN], graph.nodes[node, of.OUT_END], graph.nodes[node, of.OUT_MORE]
    while True:
        if ranks.sizes[at.LABELS] + last - first > len(ranks.costs):
            return False
        for edge in range(first, last):
            if graph.edges[edge, of.BORN] <= graph.version < graph.edges[edge, of.EDGE_DIED]:
                _follow(graph, job, trail, ranks, label, edge)
        if more < 0:
            return True
        first, last, more = graph.blocks[more, of.BEGIN], graph.blocks[more, of.END], graph.blocks[more, of.MORE]


@kernel(inline=True)
def _follow(graph: Graph, job: Job, trail: Trail, ranks: Ranks, label: Any, edge: Any) -> None:
    target = graph.edges[edge, of.TARGET]
    hops = ranks.labels[label, at.HOPS] + 1
    if trail.seen[target] == trail.head[at.MARK] + at.ENTERED:
        if trail.head[at.MOST_HOPS] == at.NO_LIMIT or hops >= trail.hops[target]:
            return
    elif not is_willing(graph, job, trail, target):
        return
    if _passes(graph, job, trail, ranks, edge):
        cost = ranks.costs[label] + graph.edge_costs[edge] + graph.record_costs[record_of(graph, target)]
        _push(ranks, target, label, edge, hops, cost)


@kernel(inline=True)
def _passes(graph: Graph, job: Job, trail: Trail, ranks: Ranks, edge: Any) -> Any:
    """Whether an edge accepts the event; where a node may be left several times, that is remembered."""
    if len(ranks.edges) == 0:
        return ask_alone(job, trail, graph.edges[edge, of.EDGE_EXPRESSION])
    if ranks.edges[edge] == 0:
        held = ask_alone(job, trail, graph.edges[edge, of.EDGE_EXPRESSION])
        ranks.edges[edge] = at.WILLING if held else at.REFUSED
    return ranks.edges[edge] == at.WILLING


@kernel()
def _push(ranks: Ranks, node: Any, before: Any, edge: Any, hops: Any, cost: Any) -> None:
    label = ranks.sizes[at.LABELS]
    ranks.labels[label, at.NODE], ranks.labels[label, at.BEFORE] = node, before
    ranks.labels[label, at.BY_EDGE], ranks.labels[label, at.HOPS] = edge, hops
    ranks.costs[label] = cost
    ranks.sizes[at.LABELS] = label + 1
    place = ranks.sizes[at.HEAPED]
    ranks.sizes[at.HEAPED] = place + 1
    while place > 0 and _precedes(ranks, label, ranks.heap[(place - 1) >> 1]):
        ranks.heap[place] = ranks.heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    ranks.heap[place] = label


@kernel()
def _pop(ranks: Ranks) -> Any:
    first = ranks.heap[0]
    size = ranks.sizes[at.HEAPED] - 1
    ranks.sizes[at.HEAPED] = size
    moved = ranks.heap[size]
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _precedes(ranks, ranks.heap[child + 1], ranks.heap[child]):
            child += 1
        if not _precedes(ranks, ranks.heap[child], moved):
            break
        ranks.heap[place] = ranks.heap[child]
        place = child
    ranks.heap[place] = moved
    return first


@kernel(inline=True)
def _precedes(ranks: Ranks, one: Any, other: Any) -> Any:
    """By cost, then by edges, then by age."""
    if ranks.costs[one] != ranks.costs[other]:
        return ranks.costs[one] < ranks.costs[other]
    if ranks.labels[one, at.HOPS] != ranks.labels[other, at.HOPS]:
        return ranks.labels[one, at.HOPS] < ranks.labels[other, at.HOPS]
    return one < other
