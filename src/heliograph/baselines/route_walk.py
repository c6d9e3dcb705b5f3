"""The plain route: walk a version of the exchange from the publisher and test each node and edge that is met.

What it computes: every node that a path from the publisher reaches whose edges, and whose nodes after the first, all
accept the event. The publisher itself is tested, and is a result, only where a path leads back to it. This is the BFS
baseline of [B] section 3.4; `cheapest` is the same walk in order of path cost.

It works on Python objects and needs no kernel: for small jobs, and as what the others are compared with. Nodes and
edges are known by their numbers in the version; objects are made of those that are met, once for all events.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Container, Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from heliograph.exchange.columns import strings
from heliograph.exchange.rows import Event, Node
from heliograph.exchange.version import Version
from heliograph.kernels.exchange_layout import EDGE_EXPRESSION, EXPRESSION, TARGET
from heliograph.kernels.targeting_layout import ALWAYS, NEVER
from heliograph.syntax.predicate_form import Predicate
from heliograph.syntax.predicate_truth import accepts
from heliograph.targeting.slow import TargetingFailed

Labels = frozenset[str]
_KNOWN = {ALWAYS: True, NEVER: False}  # what expressions answer without being asked

# Ln is the node's label set, Q the event's ([B] section 2).
MATCHES: dict[str, Callable[[Labels, Labels], bool]] = {
    "superset": lambda node, event: node >= event,
    "subset": lambda node, event: node <= event,
    "intersects": lambda node, event: not node.isdisjoint(event),
}


class Link(NamedTuple):
    """An edge as the walk needs it; `open` tells that it accepts every event."""

    edge: int
    target: int
    cost: float
    open: bool


class Met(NamedTuple):
    """A node that was met; `known` tells whether it accepts every event or none, where it does."""

    node: Node
    known: bool | None


class Ground:
    """What walks have met of one version. Nothing of it ever changes, so that threads may share it."""

    __slots__ = ("links", "met")

    def __init__(self) -> None:
        self.met: dict[int, Met] = {}
        self.links: dict[int, tuple[Link, ...]] = {}


_GROUNDS: WeakKeyDictionary[Version, Ground] = WeakKeyDictionary()


def ground_of(version: Version) -> Ground:
    """What is known of a version, for as long as it is."""
    return _GROUNDS.setdefault(version, Ground())


def links_of(version: Version, ground: Ground, number: int) -> tuple[Link, ...]:
    """The edges that leave a node, in the order of adding."""
    links = ground.links.get(number)
    if links is None:
        links = ground.links[number] = tuple(_links(version, version.out_numbers(number)))
    return links


def _links(version: Version, edges: list[int]) -> Iterator[Link]:
    if edges:
        rows, costs = version.graph.edges[edges].tolist(), version.graph.edge_costs[edges].tolist()
        for edge, row, cost in zip(edges, rows, costs, strict=True):
            yield Link(edge, row[TARGET], cost, row[EDGE_EXPRESSION] == ALWAYS)


def meet(version: Version, ground: Ground, number: int) -> Met:
    """A node as an object."""
    met = ground.met.get(number)
    if met is None:
        met = ground.met[number] = Met(version.node(number), _KNOWN.get(_expression_of(version, number)))
    return met


def _expression_of(version: Version, number: int) -> int:
    record = version.records_of(np.array([number], np.int32))[0]
    return int(version.graph.records[record, EXPRESSION])


class Acceptance:
    """Whether nodes and edges accept one event; each is asked at most once, and what accepts all or none is not."""

    def __init__(self, version: Version, event: Event, match: str | None = None) -> None:
        self._version = version
        self._event = event
        self._compare = MATCHES[match] if match else None
        self._ground = ground_of(version)
        self._nodes: dict[int, bool] = {}
        self._edges: dict[int, bool] = {}
        self.candidates = 0
        self.verified = 0

    def node(self, number: int) -> bool:
        answer = self._nodes.get(number)
        if answer is None:
            answer = self._nodes[number] = self._ask_node(number)
        return answer

    def edge(self, number: int) -> bool:
        answer = self._edges.get(number)
        if answer is None:
            answer = self._edges[number] = self._ask_edge(number)
        return answer

    def _ask_node(self, number: int) -> bool:
        node, known = meet(self._version, self._ground, number)
        if known is not None:
            return known
        if self._compare is not None:
            return self._count(self._compare(node.labels, self._event.labels))
        return self._count(self._accepts(node.targeting, lambda: _expression_of(self._version, number)))

    def _accepts(self, targeting: Predicate, expression: Callable[[], int]) -> bool:
        """Raises TargetingFailed with the expression, if it raised."""
        try:
            return accepts(targeting, self._event.attributes)
        except MemoryError:
            raise
        except Exception as error:
            raise TargetingFailed({expression(): error}) from error

    def _ask_edge(self, number: int) -> bool:
        expression = int(self._version.graph.edges[number, EDGE_EXPRESSION])
        known = _KNOWN.get(expression)
        if known is not None:
            return known
        return self._count(self._accepts(self._version.edge(number).targeting, lambda: expression))

    def _count(self, answer: bool) -> bool:
        self.candidates += 1
        self.verified += answer
        return answer


class Arrival(NamedTuple):
    """A valid path: its last node, the path before it, its cost and its number of edges.

    The cost is that of the edges and of the nodes entered; the publisher's own counts only where it is entered again.
    """

    node: int
    previous: Arrival | None
    cost: float
    hops: int

    def numbers(self) -> list[int]:
        """The nodes from the publisher to the last."""
        numbers: list[int] = []
        arrival: Arrival | None = self
        while arrival is not None:
            numbers.append(arrival.node)
            arrival = arrival.previous
        return numbers[::-1]

    def path(self, version: Version) -> list[str]:
        """The ids of the nodes from the publisher to the last."""
        return strings(version.names(np.array(self.numbers(), np.int32)))


Arrivals = dict[int, Arrival]


class _Walk(NamedTuple):
    """One event on its way; nodes that are not `within` are passed over."""

    version: Version
    ground: Ground
    acceptance: Acceptance
    within: Container[int] | None

    def steps(self, here: Arrival, settled: Container[int]) -> Iterator[Arrival]:
        """The valid paths that are one edge longer and end at a node that is not settled."""
        for edge, target, cost, is_open in links_of(self.version, self.ground, here.node):
            if target in settled or (self.within is not None and target not in self.within):
                continue
            if self.acceptance.node(target) and (is_open or self.acceptance.edge(edge)):
                node = meet(self.version, self.ground, target).node
                yield Arrival(target, here, here.cost + cost + node.cost, here.hops + 1)


def fewest_hops(version: Version, start: int, acceptance: Acceptance, hops: int | None = None) -> Arrivals:
    """Every node reached, each by a valid path of as few edges as possible, at most `hops`."""
    return {arrival.node: arrival for arrival in arrivals(version, start, acceptance, hops)}


def arrivals(version: Version, start: int, acceptance: Acceptance, hops: int | None = None) -> Iterator[Arrival]:
    """The same, one after the other as they are found."""
    walk = _Walk(version, ground_of(version), acceptance, None)
    reached: set[int] = set()
    frontier = deque([Arrival(start, None, 0.0, 0)])
    while frontier:
        here = frontier.popleft()
        if hops is not None and here.hops >= hops:
            break
        for arrival in walk.steps(here, reached):
            reached.add(arrival.node)
            frontier.append(arrival)
            yield arrival


def cheapest(
    version: Version,
    start: int,
    acceptance: Acceptance,
    hops: int | None = None,
    *,
    within: Container[int] | None = None,
) -> Arrivals:
    """Every node reached, each by a valid path of least cost (then of fewest edges) among those of at most `hops`.

    Paths come in order of cost. Of a node's later paths only one with fewer edges than all before it can matter, and
    only because it may go on further within `hops`. With `within` only these nodes are walked over.
    """
    walk = _Walk(version, ground_of(version), acceptance, within)
    reached: Arrivals = {}
    fewest: dict[int, int] = {}
    heap = [(0.0, 0, 0, Arrival(start, None, 0.0, 0))]
    entered = 0
    while heap:
        here = heapq.heappop(heap)[3]
        if here.previous is not None:
            known = fewest.get(here.node)
            if known is not None and (hops is None or here.hops >= known):
                continue
            fewest[here.node] = here.hops
            reached.setdefault(here.node, here)
        if hops is not None and here.hops >= hops:
            continue
        for arrival in walk.steps(here, () if hops is not None else reached):
            entered += 1
            heapq.heappush(heap, (arrival.cost, arrival.hops, entered, arrival))
    return reached
