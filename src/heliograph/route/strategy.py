"""How events are routed: a plain walk while there is little to do, kernels as soon as they pay, the paper's
algorithms by name.
"""

from __future__ import annotations

import heapq
import sys
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from heliograph.compiled.compile import announce, is_warm
from heliograph.compiled.growing import fixed
from heliograph.errors import UsageError
from heliograph.predicate.attributes import take_cells
from heliograph.predicate.compile import NOTHING_SLOW, Room, TargetingFailed
from heliograph.predicate.evaluate import accepts
from heliograph.predicate.form import Predicate
from heliograph.predicate.layout import ALWAYS, LANES, NEVER, Cells, Int32s, Int64s, Job
from heliograph.route import layout as at
from heliograph.route.events import Events
from heliograph.route.layout import (
    COMPONENT_END,
    EDGE_EXPRESSION,
    EXPRESSION,
    FLAGS,
    LISTED_NODE,
    OUT_BEGIN,
    OUT_END,
    PLACE,
    TARGET,
    Trail,
    Walk,
    make_ranks,
    make_trail,
    make_walk,
)
from heliograph.route.layout import Batch as LayoutBatch
from heliograph.route.read import Event, Node
from heliograph.route.version import Version, strings

if TYPE_CHECKING:
    from heliograph.papers.route import SeedExchange


# ----------------------------------------------------------------------------------------------------------------------
# The plain route: walk a version of the exchange from the publisher and test each node and edge that is met.
#
# What it computes: every node that a path from the publisher reaches whose edges, and whose nodes after the first,
# all accept the event. The publisher itself is tested, and is a result, only where a path leads back to it. This is
# the BFS baseline of [B] section 3.4; `cheapest` is the same walk in order of path cost.
#
# It works on Python objects and needs no kernel: for small jobs, and as what the others are compared with. Nodes and
# edges are known by their numbers in the version; objects are made of those that are met, once for all events.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# How an event is routed: the options of `publish`, checked once.
# ----------------------------------------------------------------------------------------------------------------------

_MOST = 2**62  # a larger number means as much: no exchange has so many nodes


class Choices(TypedDict, total=False):
    """The keyword options of `Route.publish` and `Route.route`."""

    paths: bool
    rank: str | None
    limit: int | None
    subscribers_only: bool
    hops: int | None


@dataclass(frozen=True, slots=True)
class Options:
    """`rank` is "cost" or None; `limit` counts results per event; `hops` bounds the edges of a path."""

    paths: bool = False
    rank: str | None = None
    limit: int | None = None
    subscribers_only: bool = False
    hops: int | None = None

    def __post_init__(self) -> None:
        if self.rank not in (None, "cost"):
            raise UsageError("HG-065", f"results cannot be ranked by {self.rank!r}", fix="write cost")
        for name in ("limit", "hops"):
            object.__setattr__(self, name, _count(name, getattr(self, name)))

    @property
    def evidence(self) -> bool:
        """Whether results carry their path; ranking implies it."""
        return self.paths or self.rank is not None

    @property
    def alone(self) -> bool:
        """Whether each event has to walk by itself: for its paths, or to count their edges."""
        return self.evidence or self.hops is not None


def check_match(match: Any) -> str | None:
    """The comparison of labels, by name."""
    if match not in (None, "superset", "subset", "intersects"):
        fix = "write superset, subset or intersects"
        raise UsageError("HG-062", f"labels cannot be compared by {match!r}", fix=fix)
    return match if match is None else str(match)


def _count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError("HG-063", f"{name} is {value!r}", fix="write a whole number from 0")
    return min(value, _MOST)


# ----------------------------------------------------------------------------------------------------------------------
# Which nodes events reach, by the kernels: all of a batch together, 64 at a time.
#
# Events of one publisher with the same attributes are routed once.
# ----------------------------------------------------------------------------------------------------------------------

_LARGE = 200_000  # nodes; in a smaller exchange most events meet anyway
_EDGES = 4  # of a publisher, that are looked at to find out where its events get to


class Reached(NamedTuple):
    """Event e reaches nodes[offsets[e]:offsets[e + 1]], in the order of reporting.

    `candidates` are the predicates that were evaluated, `verified` those of them that held.
    """

    offsets: Int64s
    nodes: Int32s
    candidates: int
    verified: int

    def cut(self, limit: int) -> Reached:
        """At most so many of each event."""
        sizes = np.minimum(np.diff(self.offsets), limit)
        rows = np.repeat(self.offsets[:-1], sizes) + _within(sizes)
        return self._replace(offsets=np.concatenate(([0], np.cumsum(sizes))), nodes=self.nodes[rows])

    def spread(self, twin: Int64s) -> Reached:
        """For each event the nodes of the one that it is like."""
        begins, ends = self.offsets[twin].tolist(), self.offsets[twin + 1].tolist()
        parts = [self.nodes[begin:end] for begin, end in zip(begins, ends, strict=True)]
        offsets = np.concatenate(([0], np.cumsum(np.diff(self.offsets)[twin])))
        return self._replace(offsets=offsets, nodes=np.concatenate([self.nodes[:0], *parts]))

    def events(self) -> Int64s:
        """The event of each node."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))


def _within(sizes: Int64s) -> Int64s:
    """0, 1, … for each of the sizes, end to end."""
    counted: Int64s = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return counted


def joined(parts: list[Reached]) -> Reached:
    """Several batches as one."""
    sizes = [np.diff(part.offsets) for part in parts]
    offsets = np.concatenate(([0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *sizes]))))
    nodes = np.concatenate([np.zeros(0, np.int32), *(part.nodes for part in parts)])
    return Reached(offsets, nodes, sum(part.candidates for part in parts), sum(part.verified for part in parts))


def in_order(version: Version, nodes: Sequence[int] | Int32s) -> Int32s:
    """Nodes in the order of reporting."""
    numbers = np.asarray(nodes, np.int32)
    return numbers[np.argsort(places_of(version, numbers), kind="stable")]


def reported(version: Version, found: Reached, ends_only: bool) -> Reached:
    """What was found in any order, in the order of reporting; with `ends_only` without nodes that edges leave."""
    events, nodes = found.events(), found.nodes
    order = np.lexsort((places_of(version, nodes), events))
    if ends_only:
        ends = {node: not version.out_numbers(node) for node in np.unique(nodes).tolist()}
        order = order[[ends[node] for node in nodes[order].tolist()]]
    sizes = np.bincount(events[order], minlength=len(found.offsets) - 1)
    return found._replace(offsets=np.concatenate(([0], np.cumsum(sizes))), nodes=nodes[order])


def places_of(version: Version, numbers: Int32s) -> Int64s:
    """Where nodes stand in the order of reporting."""
    records = version.graph.records[version.records_of(numbers)]
    loose = records[:, FLAGS] & LISTED_NODE == 0
    places: Int64s = records[:, PLACE] + loose * np.int64(version.graph.listed_count)
    return places


class Evaluator:
    """Routes batches through versions of an exchange. Any number of threads may route at once, each in its own room."""

    def __init__(self) -> None:
        self._rooms: list[tuple[Room, Walk]] = []

    def reach(self, version: Version, events: Events, cells: Cells, starts: Int32s, ends_only: bool) -> Reached:
        """Whom each event reaches from its start; nobody where that is -1."""
        first, twin = _distinct(events, starts)
        cuts = _even(len(first))
        if version.graph.node_count > _LARGE and len(first) > LANES:
            first, twin, cuts = _neighbours(version, starts, first, twin)
        if twin is not first:
            cells, starts = take_cells(cells, first), starts[first]
        slow = slow_truth(version, events, first)
        found = self._reach(version, (cells, slow), LayoutBatch(starts, cuts), ends_only)
        return found if twin is first else found.spread(twin)

    def _reach(
        self, version: Version, asked: tuple[Cells, npt.NDArray[np.int8]], batch: LayoutBatch, ends_only: bool
    ) -> Reached:
        announce("route.kernels.route")
        from heliograph.route.kernels import EVALUATED, HELD, route

        room, walk = self._borrow(version)
        job = room.job(version.targeting, version.targeting.compiled(version.programs), *asked)
        offsets, tally = np.zeros(len(batch.starts) + 1, np.int64), np.zeros(4, np.int64)
        nodes = route(version.graph, job, fixed(batch), walk, ends_only, offsets, tally)
        self._rooms.append((room, walk))
        return Reached(offsets, nodes, int(tally[EVALUATED]), int(tally[HELD]))

    def _borrow(self, version: Version) -> tuple[Room, Walk]:
        """A room that nobody uses, large enough for the version."""
        try:
            room, walk = self._rooms.pop()
        except IndexError:
            room, walk = Room(), make_walk(0, 0)
        nodes, places = version.graph.node_count, version.place_count
        if len(walk.touched) <= nodes or len(walk.place_lanes) <= places:
            walk = make_walk(nodes + nodes // 4, places + places // 4)
        return room, walk


def slow_truth(version: Version, events: Events, rows: Int64s) -> npt.NDArray[np.int8]:
    """What Python decides about these events."""
    targeting = version.targeting
    return targeting.slow_truth([events.tree(int(row)) for row in rows]) if targeting.slow else NOTHING_SLOW


def _distinct(events: Events, starts: Int32s) -> tuple[Int64s, Int64s]:
    """The rows of the first events of their kind, and for each event which of these it is like; if all differ, twice
    the same.
    """
    if len(starts) == 1:
        only = np.zeros(1, np.int64)
        return only, only
    texts = events.texts.dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
    _, first, twin = np.unique(texts << 32 | (starts.astype(np.int64) + 1), return_index=True, return_inverse=True)
    if len(first) == len(starts):
        every = np.arange(len(starts))
        return every, every
    order = np.argsort(first)
    return first[order], _inverse(order)[twin]


def _even(count: int) -> Int64s:
    """Blocks of 64 events."""
    return np.append(np.arange(0, count, LANES), count)


def _neighbours(version: Version, starts: Int32s, first: Int64s, twin: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """The same with events next to each other that begin in the same part of the exchange, so that they share more;
    and blocks that end where such a part does, if they are half full.
    """
    region = _regions(version, starts[first])
    order = np.argsort(region, kind="stable")
    changes = np.flatnonzero(np.diff(region[order])) + 1
    cuts = [0]
    while cuts[-1] < len(order):
        last = min(cuts[-1] + LANES, len(order))
        place = int(np.searchsorted(changes, last, side="right")) - 1
        early = int(changes[place]) if place >= 0 else 0
        cuts.append(early if last < len(order) and early - cuts[-1] >= LANES // 2 else last)
    return first[order], _inverse(order)[twin], np.array(cuts, np.int64)


def _regions(version: Version, starts: Int32s) -> Int64s:
    """Where events that start here get to first: the largest component that one of the first edges leads to."""
    graph = version.graph
    region, size = starts.astype(np.int64), np.full(len(starts), -1, np.int64)
    for edge in range(_EDGES):
        here = np.flatnonzero(graph.nodes[starts, OUT_BEGIN] + edge < graph.nodes[starts, OUT_END])
        target = graph.edges[graph.nodes[starts[here], OUT_BEGIN] + edge, TARGET].astype(np.int64)
        end = np.maximum(graph.nodes[target, COMPONENT_END], target)
        larger = end - target > size[here]
        region[here[larger]], size[here[larger]] = end[larger], (end - target)[larger]
    return region


def _inverse(order: Int64s) -> Int64s:
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.arange(len(order))
    return inverse


# ----------------------------------------------------------------------------------------------------------------------
# One event by itself, by the kernels: by which path, at what cost, and the first results first.
#
# The law: paths are those of `baselines.route_walk`, up to ties; a walk holds its room until it ends.
# ----------------------------------------------------------------------------------------------------------------------

_CHUNKS = (1, 8, 64)  # how many results a stream gives at first; then ever more


class Delivery(NamedTuple):
    """A node that an event reached, what its path costs, and how to get the nodes of that, the publisher first."""

    node: int
    cost: float
    path: Callable[[], list[int]]


class Asked(NamedTuple):
    """The deliveries of one event, and what they took; `cut` where a limit left at least one out."""

    deliveries: list[Delivery]
    candidates: int
    verified: int
    cut: int = 0


class Journey(NamedTuple):
    """An event that is about to start: in which version, from where, over how many edges at most."""

    version: Version
    events: Events
    cells: Cells
    row: int
    start: int
    hops: int | None = None
    ends_only: bool = False


class Walker:
    """Lets events walk alone. Any number of threads may do so at once, each in its own room."""

    def __init__(self) -> None:
        self._rooms: list[tuple[Room, Trail]] = []

    def fewest_hops(self, journey: Journey) -> Asked:
        """Every node reached, by a path of as few edges as possible, in order of discovery."""
        announce("route.kernels.advance")
        from heliograph.route.kernels import advance

        room, trail, job = self._begin(journey)
        advance(journey.version.graph, job, trail, np.iinfo(np.int64).max)
        queue, before = (part[: trail.head[at.TAIL]].tolist() for part in (trail.queue, trail.before))
        costs = _costs(journey.version, trail, before)
        deliveries = [
            Delivery(node, costs[place], partial(_back, queue, before, place))
            for place, node in enumerate(queue)
            if place > 0 and _is_wanted(journey, node)
        ]
        counts = _counts(trail)
        self._rooms.append((room, trail))
        return Asked(deliveries, *counts)

    def cheapest(self, journey: Journey, limit: int | None = None) -> Asked:
        """Every node reached, by a cheapest path, cheapest first; at least the first `limit` and all their ties."""
        announce("route.kernels.rank")
        from heliograph.route.kernels import rank

        room, trail, job = self._begin(journey)
        graph, most = journey.version.graph, 1024
        edges = 0 if journey.hops is None else len(graph.edges)
        ranks = make_ranks(graph.node_count, edges, most)
        while not rank(graph, job, trail, ranks, -1 if limit is None else limit, journey.ends_only):
            most *= 4
            ranks = make_ranks(graph.node_count, edges, most)
            _reset(trail, journey)
        found = ranks.found[: ranks.sizes[at.FOUND]]
        nodes, costs = ranks.labels[found, at.NODE].tolist(), ranks.costs[found].tolist()
        paths = [partial(_chain, ranks.labels, label) for label in found.tolist()]
        deliveries = [Delivery(*parts) for parts in zip(nodes, costs, paths, strict=True)]
        counts = _counts(trail)
        self._rooms.append((room, trail))
        return Asked(deliveries, *counts)

    def stream(self, journey: Journey) -> Iterator[int]:
        """The nodes reached, as they are found."""
        announce("route.kernels.advance")
        from heliograph.route.kernels import advance

        room, trail, job = self._begin(journey)
        given, wanted = 1, iter(_CHUNKS)
        more = True
        while more:
            more = advance(journey.version.graph, job, trail, given + next(wanted, given))
            found = trail.queue[given : trail.head[at.TAIL]].tolist()
            given += len(found)
            yield from (node for node in found if _is_wanted(journey, node))
        self._rooms.append((room, trail))

    def _begin(self, journey: Journey) -> tuple[Room, Trail, Job]:
        from heliograph.predicate.kernels import gather

        version, row = journey.version, np.array([journey.row])
        try:
            room, trail = self._rooms.pop()
        except IndexError:
            room, trail = Room(), make_trail(0)
        if len(trail.seen) <= version.graph.node_count:
            trail = make_trail(version.graph.node_count + version.graph.node_count // 4)
        compiled = version.targeting.compiled(version.programs)
        cells = journey.cells if len(journey.cells.offsets) == 2 else take_cells(journey.cells, row)
        job = room.job(version.targeting, compiled, cells, slow_truth(version, journey.events, row))
        gather(job.events.cells, fixed(np.zeros(1, np.int64)), job.board)
        _reset(trail, journey)
        return room, trail, job


def _reset(trail: Trail, journey: Journey) -> None:
    """Ready for an event that nobody has asked about."""
    head = trail.head
    head[at.MARK] += at.MARKS
    head[at.HEAD : at.MOST_HOPS] = 0
    head[at.TAIL], head[at.BLOCK] = 1, -1
    head[at.MOST_HOPS] = at.NO_LIMIT if journey.hops is None else journey.hops
    head[at.EVALUATED] = head[at.HELD] = 0
    trail.queue[0], trail.before[0], trail.by_edge[0], trail.hops[0] = journey.start, -1, -1, 0


def _counts(trail: Trail) -> tuple[int, int]:
    return int(trail.head[at.EVALUATED]), int(trail.head[at.HELD])


def _is_wanted(journey: Journey, node: int) -> bool:
    return not journey.ends_only or not journey.version.out_numbers(node)


def _back(queue: list[int], before: list[int], place: int) -> list[int]:
    """The path to a place of the queue."""
    path: list[int] = []
    while place >= 0:
        path.append(queue[place])
        place = before[place]
    return path[::-1]


def _costs(version: Version, trail: Trail, before: list[int]) -> list[float]:
    """What the path to each place of the queue costs: its edges and the nodes that they lead to, from the start on."""
    graph, edges = version.graph, trail.by_edge[1 : len(before)]
    entered = graph.record_costs[version.records_of(graph.edges[edges, TARGET])].tolist()
    costs = [0.0]
    for previous, edge, node in zip(before[1:], graph.edge_costs[edges].tolist(), entered, strict=True):
        costs.append(costs[previous] + edge + node)
    return costs


def _chain(labels: np.ndarray[tuple[int, int], np.dtype[np.int32]], label: int) -> list[int]:
    path: list[int] = []
    while label >= 0:
        path.append(int(labels[label, at.NODE]))
        label = int(labels[label, at.BEFORE])
    return path[::-1]


# ----------------------------------------------------------------------------------------------------------------------
# How events are routed: in plain Python while there is little to do, by the kernels as soon as they pay.
#
# A small job ends in milliseconds and loads no kernel. The law: all ways give the same answers in the same order; of
# paths that are as short, or as cheap, they may give different ones.
# ----------------------------------------------------------------------------------------------------------------------

_KERNEL = "heliograph.route.kernels"

# How long the plain walk may take in an engine's life before the kernels are loaded, which takes about a second, or
# compiled, which takes about a minute.
WARM_NS, COLD_NS = 300_000_000, 8_000_000_000
FEW = 2_000  # nodes; for more of them, kernels that need no compiling are loaded at once

_SEVERAL = 4  # events that are worth a call of the kernel that encodes them

SEEDS = ("dag", "dag-skip", "general", "scc-skip", "index-bfs", "bfs")
ALGORITHMS = ("auto", "lanes", "walk", *SEEDS)


class Batch:
    """The events of one call, each with the number of the node that it starts from, or -1.

    With `encoded` they are encoded at once, in the one pass over their texts that also finds out which are good.
    """

    def __init__(self, version: Version, events: Events, encoded: bool) -> None:
        self.version = version
        self.events = events
        if encoded:
            self.cells  # noqa: B018
        self.starts: Int32s = _starts(version, events)

    @cached_property
    def cells(self) -> Cells:
        return self.events.encode(self.version.targeting.names, compiled=self.events.given >= _SEVERAL)

    def __len__(self) -> int:
        return len(self.starts)


def _starts(version: Version, events: Events) -> Int32s:
    if len(events) != 1:
        return version.numbers(events.publishers)
    return np.array([version.number(events.publishers[0].as_py())], np.int32)


class Strategy(Protocol):
    """A way to route. `encodes` tells that it will want the events encoded."""

    def encodes(self, version: Version) -> bool: ...

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        """The nodes that each event reaches, in the order of reporting."""

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        """The deliveries of one event with their paths, in no particular order unless they are ranked."""

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        """The nodes that one event reaches, as they are found."""


class Plain:
    """Walks over the exchange's nodes and edges in Python."""

    def encodes(self, version: Version) -> bool:
        return False

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        return joined([self.reach_one(batch, row, ends_only) for row in range(len(batch))])

    def reach_one(self, batch: Batch, row: int, ends_only: bool) -> Reached:
        asked = self.walk(batch, row, Options(subscribers_only=ends_only))
        nodes = in_order(batch.version, [delivery.node for delivery in asked.deliveries])
        return Reached(np.array([0, len(nodes)]), nodes, asked.candidates, asked.verified)

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        version, start = batch.version, int(batch.starts[row])
        if start < 0:
            return Asked([], 0, 0)
        acceptance = Acceptance(version, batch.events.event(row), version.match)
        by = cheapest if options.rank else fewest_hops
        found = _wanted(version, by(version, start, acceptance, options.hops).values(), options)
        deliveries = [Delivery(arrival.node, arrival.cost, arrival.numbers) for arrival in found]
        return Asked(deliveries, acceptance.candidates, acceptance.verified)

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        version = batch.version
        acceptance = Acceptance(version, batch.events.event(row), version.match)
        found = arrivals(version, int(batch.starts[row]), acceptance, options.hops)
        return (arrival.node for arrival in _wanted(version, found, options))


def _wanted(version: Version, found: Iterable[Arrival], options: Options) -> Iterator[Arrival]:
    return (each for each in found if not options.subscribers_only or not version.out_numbers(each.node))


class Lanes:
    """The kernels: batches 64 at a time, single events for their paths."""

    def encodes(self, version: Version) -> bool:
        return True

    def __init__(self) -> None:
        self._evaluator, self._walker = Evaluator(), Walker()

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        return self._evaluator.reach(batch.version, batch.events, batch.cells, batch.starts, ends_only)

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        if batch.starts[row] < 0:
            return Asked([], 0, 0)
        journey = _journey(batch, row, options)
        return self._walker.cheapest(journey, options.limit) if options.rank else self._walker.fewest_hops(journey)

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        return self._walker.stream(_journey(batch, row, options)) if batch.starts[row] >= 0 else iter(())


def _journey(batch: Batch, row: int, options: Options) -> Journey:
    start = int(batch.starts[row])
    return Journey(batch.version, batch.events, batch.cells, row, start, options.hops, options.subscribers_only)


class Seed:
    """One of the seed's algorithms, on structures built for one version; paths as `Lanes` finds them."""

    def encodes(self, version: Version) -> bool:
        return True

    def __init__(self, name: str) -> None:
        self._name = name
        self._lanes = Lanes()
        self._built: tuple[Version, SeedExchange] | None = None

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        version, known = batch.version, np.flatnonzero(batch.starts >= 0)
        slow = slow_truth(version, batch.events, known)
        compiled = version.targeting.compiled(version.programs)
        job = Room().job(version.targeting, compiled, take_cells(batch.cells, known), slow)
        announce("papers.route.route_events")
        routed = self._exchange(version).route(job, batch.starts[known], self._name)
        sizes = np.zeros(len(batch), np.int64)
        sizes[known] = np.diff(routed.offsets)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        return reported(version, Reached(offsets, routed.nodes, routed.tested, routed.held), ends_only)

    def _exchange(self, version: Version) -> SeedExchange:
        """The seed's structures for a version, kept until another one is routed."""
        built = self._built
        if built is None or built[0] is not version:
            built = self._built = version, _paper().SeedExchange.of_version(version)
        return built[1]

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        return self._lanes.walk(batch, row, options)

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        return self._lanes.stream(batch, row, options)


def _paper() -> Any:
    """The paper's algorithms, imported when they are asked for."""
    return import_module("heliograph.papers.route")


class Auto:
    """Plain, until it has taken as long as loading the kernels does."""

    def __init__(self) -> None:
        self._plain, self._lanes = Plain(), Lanes()
        self._spent_ns = 0

    def reach(self, batch: Batch, ends_only: bool) -> Reached:
        parts: list[Reached] = []
        for row in range(len(batch)):
            if self._pays(batch.version):
                break
            began = time.perf_counter_ns()
            parts.append(self._plain.reach_one(batch, row, ends_only))
            self._spent_ns += time.perf_counter_ns() - began
        if len(parts) < len(batch):
            parts = [self._lanes.reach(batch, ends_only)]
        return joined(parts)

    def walk(self, batch: Batch, row: int, options: Options) -> Asked:
        if self._pays(batch.version):
            return self._lanes.walk(batch, row, options)
        began = time.perf_counter_ns()
        asked = self._plain.walk(batch, row, options)
        self._spent_ns += time.perf_counter_ns() - began
        return asked

    def stream(self, batch: Batch, row: int, options: Options) -> Iterator[int]:
        return (self._lanes if self._pays(batch.version) else self._plain).stream(batch, row, options)

    def encodes(self, version: Version) -> bool:
        return self._pays(version)

    def _pays(self, version: Version) -> bool:
        if _KERNEL in sys.modules:
            return True
        if self._spent_ns < WARM_NS and version.graph.node_count <= FEW:
            return False
        return self._spent_ns >= COLD_NS or self._is_warm

    @cached_property
    def _is_warm(self) -> bool:
        return is_warm("route.kernels.route")


def strategy(name: str) -> Strategy:
    """A way to route, by name."""
    if name in SEEDS:
        return Seed(name)
    known: dict[str, type[Auto] | type[Lanes] | type[Plain]] = {"auto": Auto, "lanes": Lanes, "walk": Plain}
    if name not in known:
        raise UsageError("HG-045", f"no algorithm is called {name!r}", fix=f"write one of {', '.join(ALGORITHMS)}")
    return known[name]()
