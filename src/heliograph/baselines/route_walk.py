"""The plain route: walk the exchange from the publisher and test each node and edge that is met.

What it computes: every node that a path from the publisher reaches whose edges, and whose nodes after the first, all
accept the event. The publisher itself is tested, and is a result, only where a path leads back to it. This is the BFS
baseline of [B] section 3.4; `cheapest` is the same walk in order of path cost.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from heliograph.baselines.exchange import Edge, Event, Exchange, Node
from heliograph.syntax.predicate_form import ACCEPT
from heliograph.syntax.predicate_truth import accepts

Labels = frozenset[str]

# Ln is the node's label set, Q the event's ([B] section 2).
MATCHES: dict[str, Callable[[Labels, Labels], bool]] = {
    "superset": lambda node, event: node >= event,
    "subset": lambda node, event: node <= event,
    "intersects": lambda node, event: not node.isdisjoint(event),
}


class Acceptance:
    """Whether nodes and edges accept one event; each is asked at most once, and a null targeting is not asked."""

    def __init__(self, event: Event, match: str | None = None) -> None:
        self._event = event
        self._compare = MATCHES[match] if match else None
        self._nodes: dict[str, bool] = {}
        self._edges: dict[Edge, bool] = {}
        self.candidates = 0
        self.verified = 0

    def node(self, node: Node) -> bool:
        answer = self._nodes.get(node.id)
        if answer is None:
            answer = self._nodes[node.id] = self._ask_node(node)
        return answer

    def edge(self, edge: Edge) -> bool:
        if edge.targeting is ACCEPT:
            return True
        answer = self._edges.get(edge)
        if answer is None:
            answer = self._edges[edge] = self._count(accepts(edge.targeting, self._event.attributes))
        return answer

    def _ask_node(self, node: Node) -> bool:
        if node.refused:
            return False
        if self._compare is not None:
            return self._count(self._compare(node.labels, self._event.labels))
        return node.targeting is ACCEPT or self._count(accepts(node.targeting, self._event.attributes))

    def _count(self, answer: bool) -> bool:
        self.candidates += 1
        self.verified += answer
        return answer


class Arrival(NamedTuple):
    """A valid path: its last node, the path before it, its cost and its number of edges.

    The cost is that of the edges and of the nodes entered; the publisher's own counts only where it is entered again.
    """

    node: Node
    previous: Arrival | None
    cost: float
    hops: int

    def path(self) -> list[str]:
        """The ids of the nodes from the publisher to the last."""
        ids: list[str] = []
        arrival: Arrival | None = self
        while arrival is not None:
            ids.append(arrival.node.id)
            arrival = arrival.previous
        return ids[::-1]


Arrivals = dict[str, Arrival]


def fewest_hops(graph: Exchange, publisher: str, acceptance: Acceptance, hops: int | None = None) -> Arrivals:
    """Every node reached, each by a valid path of as few edges as possible, at most `hops`."""
    reached: Arrivals = {}
    frontier = deque([Arrival(graph.nodes[publisher], None, 0.0, 0)])
    while frontier:
        here = frontier.popleft()
        if hops is not None and here.hops >= hops:
            break
        for arrival in _steps(graph, here, acceptance, reached):
            reached[arrival.node.id] = arrival
            frontier.append(arrival)
    return reached


def cheapest(graph: Exchange, publisher: str, acceptance: Acceptance, hops: int | None = None) -> Arrivals:
    """Every node reached, each by a valid path of least cost (then of fewest edges) among those of at most `hops`.

    Paths come in order of cost. Of a node's later paths only one with fewer edges than all before it can matter, and
    only because it may go on further within `hops`.
    """
    reached: Arrivals = {}
    fewest: dict[str, int] = {}
    heap = [(0.0, 0, 0, Arrival(graph.nodes[publisher], None, 0.0, 0))]
    entered = 0
    while heap:
        here = heapq.heappop(heap)[3]
        if here.previous is not None:
            known = fewest.get(here.node.id)
            if known is not None and (hops is None or here.hops >= known):
                continue
            fewest[here.node.id] = here.hops
            reached.setdefault(here.node.id, here)
        if hops is not None and here.hops >= hops:
            continue
        for arrival in _steps(graph, here, acceptance, {} if hops is not None else reached):
            entered += 1
            heapq.heappush(heap, (arrival.cost, arrival.hops, entered, arrival))
    return reached


def _steps(graph: Exchange, here: Arrival, acceptance: Acceptance, settled: Arrivals) -> Iterator[Arrival]:
    """The valid paths that are one edge longer and end at a node that is not settled."""
    for edge in graph.out.get(here.node.id, ()):
        node = graph.nodes[edge.target]
        if edge.target not in settled and acceptance.node(node) and acceptance.edge(edge):
            yield Arrival(node, here, here.cost + edge.cost + node.cost, here.hops + 1)
