"""How events are routed: a plain walk while there is little to do, kernels as soon as they pay, the paper's
algorithms by name.

A small job ends in milliseconds and loads no kernel. The law: all ways give the same answers in the same order; of
paths that are as short, or as cheap, they may give different ones.
"""

from __future__ import annotations

import heapq
import sys
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypedDict
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from heliograph.compiled.background import ready
from heliograph.compiled.growing import fixed
from heliograph.errors import UsageError
from heliograph.io.coerce import json_text
from heliograph.predicate.attributes import take_cells
from heliograph.predicate.compile import NOTHING_SLOW, Room, TargetingFailed
from heliograph.predicate.evaluate import accepts
from heliograph.predicate.form import Predicate
from heliograph.predicate.layout import ALWAYS, LANES, NEVER, Int32s, Int64s, Job
from heliograph.route import layout as at
from heliograph.route.exchange import Version
from heliograph.route.layout import EDGE_EXPRESSION, TARGET, Trail, Walk, make_ranks, make_trail, make_walk
from heliograph.route.numbering import inverse, strings
from heliograph.route.read import Event, Events, Node

if TYPE_CHECKING:
    from heliograph.papers.route import SeedExchange

# --- options ----------------------------------------------------------------------------------------------------------

_MOST = 2**62  # a larger number means as much: no exchange has so many nodes


class Choices(TypedDict, total=False):
    """The keyword options of `Route.publish` and `Route.route`."""

    paths: bool
    rank: str | None
    limit: int | None
    subscribers_only: bool
    hops: int | None


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """`rank` is "cost" or None; `limit` counts results per event; `hops` bounds the edges of a path."""

    paths: bool = False
    rank: str | None = None
    limit: int | None = None
    subscribers_only: bool = False
    hops: int | None = None
    alone: bool = field(init=False)
    """Whether each event has to walk by itself: for its paths, or to count their edges."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "alone", self.paths or self.rank is not None or self.hops is not None)
        if self.rank not in (None, "cost"):
            raise UsageError("HG-065", f"results cannot be ranked by {self.rank!r}", fix="write cost")
        for name, value in (("limit", self.limit), ("hops", self.hops)):
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                    raise UsageError("HG-063", f"{name} is {value!r}", fix="write a whole number from 0")
                object.__setattr__(self, name, min(value, _MOST))

    @property
    def evidence(self) -> bool:
        """Whether results carry their path; ranking implies it."""
        return self.paths or self.rank is not None


def check_match(match: Any) -> str | None:
    """The comparison of labels, by name."""
    if match is not None and match not in MATCHES:
        fix = "write superset, subset or intersects"
        raise UsageError("HG-062", f"labels cannot be compared by {match!r}", fix=fix)
    return match if match is None else str(match)


# --- what is reached --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Reached:
    """Event e reaches nodes[offsets[e]:offsets[e + 1]], in the order of reporting.

    `candidates` are the predicates that were evaluated, `verified` those of them that held. An event that walked alone
    has the cost of each path too, and `path(place)` gives its nodes, the publisher first. `cut` is what a limit took
    away, `evidence` the path and cost of each result as JSON.
    """

    offsets: Int64s
    nodes: Int32s
    candidates: int
    verified: int
    costs: Sequence[float] = ()
    path: Callable[[int], list[int]] | None = None
    cut: int = 0
    evidence: list[str] | None = None

    def limited(self, limit: int) -> Reached:
        """At most so many of each event."""
        sizes = np.minimum(np.diff(self.offsets), limit)
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        kept = self._with(sizes, self.nodes[np.repeat(self.offsets[:-1], sizes) + within])
        kept.cut = len(self.nodes) - len(kept.nodes)
        return kept

    def spread(self, twin: Int64s) -> Reached:
        """For each event the nodes of the one that it is like."""
        begins, ends = self.offsets[twin].tolist(), self.offsets[twin + 1].tolist()
        parts = [self.nodes[begin:end] for begin, end in zip(begins, ends, strict=True)]
        return self._with(np.diff(self.offsets)[twin], np.concatenate([self.nodes[:0], *parts]))

    def ordered(self, version: Version, ends_only: bool) -> Reached:
        """What was found in any order, in the order of reporting; with `ends_only` without nodes that edges leave."""
        events, nodes = self.events(), self.nodes
        order = np.lexsort((version.places_of(nodes), events))
        if ends_only:
            ends = {node: not version.out_numbers(node) for node in np.unique(nodes).tolist()}
            order = order[[ends[node] for node in nodes[order].tolist()]]
        return self._with(np.bincount(events[order], minlength=len(self.offsets) - 1), nodes[order])

    def events(self) -> Int64s:
        """The event of each node."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def _with(self, sizes: Int64s, nodes: Int32s) -> Reached:
        return Reached(np.concatenate(([0], np.cumsum(sizes))), nodes, self.candidates, self.verified)


def joined(parts: Sequence[Reached]) -> Reached:
    """Several batches as one."""
    sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.offsets) for part in parts)])
    nodes = np.concatenate([np.zeros(0, np.int32), *(part.nodes for part in parts)])
    counts = sum(part.candidates for part in parts), sum(part.verified for part in parts)
    return Reached(np.concatenate(([0], np.cumsum(sizes))), nodes, *counts)


_NOWHERE = Reached(np.zeros(2, np.int64), np.zeros(0, np.int32), 0, 0, (), lambda _: [])


class Strategy(Protocol):
    """A way to route. `encodes` says whether it will want the events encoded."""

    def encodes(self, version: Version) -> bool: ...

    def reach(self, version: Version, events: Events, ends_only: bool) -> Reached:
        """The nodes that each event reaches, in the order of reporting; none where the publisher is unknown."""

    def walk(self, version: Version, events: Events, row: int, options: RouteOptions) -> Reached:
        """What one event reaches with paths, in no particular order unless ranked."""

    def stream(self, version: Version, events: Events, row: int, options: RouteOptions) -> Iterator[int]:
        """The nodes that one event reaches, as they are found."""


def reach_alone(strategy: Strategy, version: Version, events: Events, options: RouteOptions) -> Reached:
    """What events reach that walk by themselves, with evidence where it is wanted.

    The law: results come event by event, in the order of reporting or, ranked, by cost and then by id; a limit keeps
    the first of each event, and what it cuts is counted: all of it, or where ranks stop the search early, at least one.
    """
    parts: list[Reached] = []
    evidence: list[str] = []
    cut = 0
    for row in range(len(events)):
        found = strategy.walk(version, events, row, options)
        if options.rank:
            ids = strings(version.names(found.nodes))
            order = sorted(range(len(ids)), key=lambda place: (found.costs[place], ids[place]))
        else:
            order = np.argsort(version.places_of(found.nodes), kind="stable").tolist()
        kept = order[: options.limit]
        cut += len(order) - len(kept)
        nodes = found.nodes[np.array(kept, np.int64)]
        parts.append(Reached(np.array([0, len(kept)]), nodes, found.candidates, found.verified))
        if options.evidence and kept and found.path is not None:
            paths = [found.path(place) for place in kept]
            names = strings(version.names(np.array([node for path in paths for node in path], np.int32)))
            end = 0
            for place, path in zip(kept, paths, strict=True):
                begin, end = end, end + len(path)
                evidence.append(json_text({"path": names[begin:end], "cost": found.costs[place]}))
    whole = joined(parts)
    whole.cut, whole.evidence = cut, evidence if options.evidence else None
    return whole


# --- the plain walk: from the publisher, testing each node and edge that is met ---------------------------------------
#
# What it computes: every node that a path from the publisher reaches whose edges, and whose nodes after the first,
# all accept the event. The publisher itself is tested, and is a result, only where a path leads back to it. This is
# the BFS baseline of [B] section 3.4; `cheapest` is the same walk in order of path cost.
#
# It works on Python objects and needs no kernel: for small jobs, and as what the others are compared with. Nodes and
# edges are known by their numbers in the version; objects are made of those that are met, once for all events.

Labels = frozenset[str]
_KNOWN = {ALWAYS: True, NEVER: False}  # what expressions answer without being asked

# Ln is the node's label set, Q the event's ([B] section 2).
MATCHES: dict[str, Callable[[Labels, Labels], bool]] = {
    "superset": lambda node, event: node >= event,
    "subset": lambda node, event: node <= event,
    "intersects": lambda node, event: not node.isdisjoint(event),
}


class Link(NamedTuple):
    """An edge as the walk needs it; `open` says that it accepts every event."""

    edge: int
    target: int
    cost: float
    open: bool


class KnownParts:
    """What walks have met of one version. Nothing of it ever changes, so that threads may share it.

    `met` are nodes, each with whether it accepts every event or none, where it does; `links` are the edges that leave a
    node, in the order of adding.
    """

    __slots__ = ("links", "met")

    def __init__(self) -> None:
        self.met: dict[int, tuple[Node, bool | None]] = {}
        self.links: dict[int, tuple[Link, ...]] = {}


_KNOWN_PARTS: WeakKeyDictionary[Version, KnownParts] = WeakKeyDictionary()


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


class PlainWalk:
    """One event on its way. Each node and edge is asked at most once, and what accepts all or none is not."""

    def __init__(self, version: Version, event: Event) -> None:
        self._version = version
        self._event = event
        self._compare = MATCHES[version.match] if version.match else None
        self._known = _KNOWN_PARTS.setdefault(version, KnownParts())
        self._nodes: dict[int, bool] = {}
        self._edges: dict[int, bool] = {}
        self.candidates = 0
        self.verified = 0

    def links(self, number: int) -> tuple[Link, ...]:
        """The edges that leave a node."""
        links = self._known.links.get(number)
        if links is None:
            graph, edges = self._version.graph, self._version.out_numbers(number)
            rows, costs = (
                graph.edges[edges].tolist() if edges else (),
                graph.edge_costs[edges].tolist() if edges else (),
            )
            made = (
                Link(edge, row[TARGET], cost, row[EDGE_EXPRESSION] == ALWAYS)
                for edge, row, cost in zip(edges, rows, costs, strict=True)
            )
            links = self._known.links[number] = tuple(made)
        return links

    def node(self, number: int) -> bool:
        """Whether a node accepts the event."""
        answer = self._nodes.get(number)
        if answer is None:
            node, answer = self._meet(number)
            if answer is None:
                if self._compare is not None:
                    answer = self._count(self._compare(node.labels, self._event.labels))
                else:
                    answer = self._asked(node.targeting, partial(self._version.expression_of, number))
            self._nodes[number] = answer
        return answer

    def edge(self, number: int) -> bool:
        """Whether an edge accepts the event."""
        answer = self._edges.get(number)
        if answer is None:
            expression = int(self._version.graph.edges[number, EDGE_EXPRESSION])
            answer = _KNOWN.get(expression)
            if answer is None:
                answer = self._asked(self._version.edge(number).targeting, lambda: expression)
            self._edges[number] = answer
        return answer

    def _meet(self, number: int) -> tuple[Node, bool | None]:
        met = self._known.met.get(number)
        if met is None:
            known = _KNOWN.get(self._version.expression_of(number))
            met = self._known.met[number] = self._version.node(number), known
        return met

    def _asked(self, targeting: Predicate, expression: Callable[[], int]) -> bool:
        """Raises TargetingFailed with the expression, if it raised."""
        try:
            return self._count(accepts(targeting, self._event.attributes))
        except MemoryError:
            raise
        except Exception as error:
            raise TargetingFailed({expression(): error}) from error

    def _count(self, answer: bool) -> bool:
        self.candidates += 1
        self.verified += answer
        return answer

    def _steps(self, here: Arrival, known: Container[int], within: Container[int] | None = None) -> Iterator[Arrival]:
        """The valid paths that are one edge longer and end at a node that is not known, and within these if given."""
        for edge, target, cost, is_open in self.links(here.node):
            if target in known or (within is not None and target not in within):
                continue
            if self.node(target) and (is_open or self.edge(edge)):
                yield Arrival(target, here, here.cost + cost + self._meet(target)[0].cost, here.hops + 1)

    def fewest_hops(self, start: int, hops: int | None = None) -> Iterator[Arrival]:
        """Every node reached, each by a valid path of as few edges as possible, at most `hops`, as they are found."""
        reached: set[int] = set()
        frontier = deque([Arrival(start, None, 0.0, 0)])
        while frontier:
            here = frontier.popleft()
            if hops is not None and here.hops >= hops:
                break
            for arrival in self._steps(here, reached):
                reached.add(arrival.node)
                frontier.append(arrival)
                yield arrival

    def cheapest(
        self, start: int, hops: int | None = None, *, within: Container[int] | None = None
    ) -> dict[int, Arrival]:
        """Every node reached, each by a valid path of least cost (then of fewest edges) among those of at most `hops`.

        Paths come in order of cost. Of a node's later paths only one with fewer edges than all before it can matter,
        and only because it may go on further within `hops`. With `within` only these nodes are walked over.
        """
        reached: dict[int, Arrival] = {}
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
            for arrival in self._steps(here, () if hops is not None else reached, within):
                entered += 1
                heapq.heappush(heap, (arrival.cost, arrival.hops, entered, arrival))
        return reached


class WalkStrategy:
    """Walks over the exchange's nodes and edges in Python."""

    def encodes(self, version: Version) -> bool:
        return False

    def reach(self, version: Version, events: Events, ends_only: bool) -> Reached:
        return joined([self.reach_one(version, events, row, ends_only) for row in range(len(events))])

    def reach_one(self, version: Version, events: Events, row: int, ends_only: bool) -> Reached:
        return self.walk(version, events, row, RouteOptions(subscribers_only=ends_only)).ordered(version, False)

    def walk(self, version: Version, events: Events, row: int, options: RouteOptions) -> Reached:
        start = int(events.starts(version)[row])
        if start < 0:
            return _NOWHERE
        walk = PlainWalk(version, events.event(row))
        arrivals: Iterable[Arrival] = walk.fewest_hops(start, options.hops)
        if options.rank:
            arrivals = walk.cheapest(start, options.hops).values()
        found = list(_wanted(version, arrivals, options))
        nodes = np.array([arrival.node for arrival in found], np.int32)
        costs = [arrival.cost for arrival in found]
        counts = walk.candidates, walk.verified
        return Reached(np.array([0, len(nodes)]), nodes, *counts, costs, lambda place: found[place].numbers())

    def stream(self, version: Version, events: Events, row: int, options: RouteOptions) -> Iterator[int]:
        found = PlainWalk(version, events.event(row)).fewest_hops(int(events.starts(version)[row]), options.hops)
        return (arrival.node for arrival in _wanted(version, found, options))


def _wanted(version: Version, found: Iterable[Arrival], options: RouteOptions) -> Iterator[Arrival]:
    return (each for each in found if not options.subscribers_only or not version.out_numbers(each.node))


# --- the kernels: batches 64 at a time, single events for their paths -------------------------------------------------
#
# Events of one publisher with the same attributes are routed once. Any number of threads may route at once, each in
# room of its own, which a walk holds until it ends. Paths are those of the plain walk, up to ties.

_LARGE = 200_000  # nodes; in a smaller exchange most events meet anyway
_EDGES = 4  # of a publisher, that are looked at to find out where its events get to
_CHUNKS = (1, 8, 64)  # how many results a stream gives at first; then ever more
_ONE_BLOCK = fixed(np.array([0, 1], np.int64))


class WalkRoom:
    """Room for one call at a time, large enough for the exchange that it is used for."""

    def __init__(self) -> None:
        self.room = Room()
        self.walk, self.trail = make_walk(0, 0), make_trail(0)
        self._nodes = self._places = -1  # that there is room for to walk together
        self.tally = np.zeros(4, np.int64)

    def walk_for(self, version: Version) -> Walk:
        """Room to walk together."""
        nodes, places = version.graph.node_count, version.place_count
        if self._nodes < nodes or self._places < places:
            self._nodes, self._places = nodes + nodes // 4, places + places // 4
            self.walk = make_walk(self._nodes, self._places)
        return self.walk

    def trail_for(self, version: Version, start: int, hops: int | None) -> Trail:
        """The trail of an event that nobody has asked about, before it leaves its start."""
        if len(self.trail.seen) <= version.graph.node_count:
            self.trail = make_trail(version.graph.node_count + version.graph.node_count // 4)
        trail, head = self.trail, self.trail.head
        head[at.MARK] += at.MARKS
        head[at.HEAD :] = 0
        head[at.TAIL], head[at.BLOCK], head[at.MOST_HOPS] = 1, -1, at.NO_LIMIT if hops is None else hops
        trail.queue[0], trail.before[0], trail.by_edge[0], trail.hops[0] = start, -1, -1, 0
        return trail


class KernelStrategy:
    """The kernels."""

    def __init__(self) -> None:
        self._rooms: list[WalkRoom] = []

    def encodes(self, version: Version) -> bool:
        return True

    def _borrow(self) -> WalkRoom:
        return self._rooms.pop() if self._rooms else WalkRoom()

    def reach(self, version: Version, events: Events, ends_only: bool) -> Reached:
        from heliograph.route.kernels import EVALUATED, HELD, route

        room = self._rooms.pop() if self._rooms else WalkRoom()
        starts, cuts, twin = events.starts(version), _ONE_BLOCK, None
        if events.one is not None:
            job = room.room.one(version.targeting, version.programs, events.one[2])
        else:
            job, starts, cuts, twin = _together(version, events, room.room)
        offsets, tally = np.zeros(len(starts) + 1, np.int64), room.tally
        tally[EVALUATED] = tally[HELD] = 0
        nodes: Any = route(version.graph, job, starts, cuts, room.walk_for(version), ends_only, offsets, tally)
        found = Reached(offsets, nodes, int(tally[EVALUATED]), int(tally[HELD]))
        self._rooms.append(room)
        return found if twin is None else found.spread(twin)

    def walk(self, version: Version, events: Events, row: int, options: RouteOptions) -> Reached:
        if (start := int(events.starts(version)[row])) < 0:
            return _NOWHERE
        room = self._borrow()
        job = _alone(version, events, row, room.room)
        trail = room.trail_for(version, start, options.hops)
        walked = self._cheapest(version, job, trail, room, options) if options.rank else self._hops(version, job, trail)
        nodes, costs, path = walked
        if options.subscribers_only and not options.rank:
            ends = [place for place, node in enumerate(nodes.tolist()) if not version.out_numbers(node)]
            nodes, costs, path = nodes[ends], [costs[place] for place in ends], partial(_at, path, ends)
        counts = int(trail.head[at.EVALUATED]), int(trail.head[at.HELD])
        self._rooms.append(room)
        return Reached(np.array([0, len(nodes)]), nodes, *counts, costs, path)

    def _hops(self, version: Version, job: Job, trail: Trail) -> tuple[Int32s, list[float], Callable[[int], list[int]]]:
        """Every node reached, by a path of as few edges as possible, in order of discovery."""
        from heliograph.route.kernels import advance

        graph = version.graph
        advance(graph, job, trail, np.iinfo(np.int64).max)
        queue, before = (part[: trail.head[at.TAIL]].copy() for part in (trail.queue, trail.before))
        edges = trail.by_edge[1 : len(before)]
        entered = graph.record_costs[version.records_of(graph.edges[edges, TARGET])].tolist()
        costs = [0.0]
        for previous, edge, node in zip(before[1:].tolist(), graph.edge_costs[edges].tolist(), entered, strict=True):
            costs.append(costs[previous] + edge + node)
        return queue[1:], costs[1:], lambda place: _chain(queue, before, place + 1)

    def _cheapest(
        self, version: Version, job: Job, trail: Trail, room: WalkRoom, options: RouteOptions
    ) -> tuple[Int32s, list[float], Callable[[int], list[int]]]:
        """Every node reached, by a cheapest path, cheapest first; at least the first `limit` and all their ties."""
        from heliograph.route.kernels import rank

        graph, most = version.graph, 1024
        edges, limit = 0 if options.hops is None else len(graph.edges), -1 if options.limit is None else options.limit
        ranks = make_ranks(graph.node_count, edges, most)
        while not rank(graph, job, trail, ranks, limit, options.subscribers_only):
            most *= 4
            ranks = make_ranks(graph.node_count, edges, most)
            trail = room.trail_for(version, int(trail.queue[0]), options.hops)
        found = ranks.found[: ranks.sizes[at.FOUND]]
        nodes, before = ranks.labels[:, at.NODE], ranks.labels[:, at.BEFORE]
        return nodes[found], ranks.costs[found].tolist(), lambda place: _chain(nodes, before, int(found[place]))

    def stream(self, version: Version, events: Events, row: int, options: RouteOptions) -> Iterator[int]:
        if (start := int(events.starts(version)[row])) < 0:
            return
        from heliograph.route.kernels import advance

        room = self._borrow()
        job, trail = _alone(version, events, row, room.room), room.trail_for(version, start, options.hops)
        given, wanted, more = 1, iter(_CHUNKS), True
        while more:
            more = advance(version.graph, job, trail, given + next(wanted, given))
            found = trail.queue[given : trail.head[at.TAIL]].tolist()
            given += len(found)
            yield from (node for node in found if not options.subscribers_only or not version.out_numbers(node))
        self._rooms.append(room)


def _chain(nodes: Int32s, before: Int32s, place: int) -> list[int]:
    """The nodes of a path, from its last place back to the publisher, turned round."""
    path: list[int] = []
    while place >= 0:
        path.append(int(nodes[place]))
        place = int(before[place])
    return path[::-1]


def _at(path: Callable[[int], list[int]], places: list[int], place: int) -> list[int]:
    return path(places[place])


def _alone(version: Version, events: Events, row: int, room: Room) -> Job:
    """One event, laid out on a board."""
    from heliograph.predicate.kernels import gather

    job = room.one(version.targeting, version.programs, events.tree(row), events.labels(row))
    gather(job.events.cells, fixed(np.zeros(1, np.int64)), job.board)
    return job


def _together(version: Version, events: Events, room: Room) -> tuple[Job, Int32s, Int64s, Int64s | None]:
    """All events, those that are alike once: the job, where each starts, where blocks begin, and which one each is
    like, or None where all differ.
    """
    cells, starts = events.cells(version), events.starts(version)
    first, twin = _distinct(events, starts)
    cuts = np.append(np.arange(0, len(first), LANES), len(first))
    if version.graph.node_count > _LARGE and len(first) > LANES:
        first, twin, cuts = _neighbours(version, starts, first, twin)
    if twin is not None:
        cells, starts = take_cells(cells, first), starts[first]
    targeting = version.targeting
    job = room.job(targeting, targeting.compiled(version.programs), cells, slow_truth(version, events, first))
    return job, fixed(starts), fixed(cuts), twin


def slow_truth(version: Version, events: Events, rows: Int64s) -> npt.NDArray[np.int8]:
    """What Python decides about these events."""
    targeting = version.targeting
    return targeting.slow_truth([events.tree(row) for row in rows.tolist()]) if targeting.slow else NOTHING_SLOW


def _distinct(events: Events, starts: Int32s) -> tuple[Int64s, Int64s | None]:
    """The rows of the first events of their kind, and for each event which of these it is like; None if all differ."""
    texts = events.texts.dictionary_encode(null_encoding="encode").indices.to_numpy().astype(np.int64)
    _, first, twin = np.unique(texts << 32 | (starts.astype(np.int64) + 1), return_index=True, return_inverse=True)
    if len(first) == len(starts):
        return np.arange(len(starts)), None
    order = np.argsort(first)
    return first[order], inverse(order)[twin].astype(np.int64)


def _neighbours(version: Version, starts: Int32s, first: Int64s, twin: Int64s | None) -> tuple[Int64s, Int64s, Int64s]:
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
    moved = inverse(order).astype(np.int64)
    return first[order], moved if twin is None else moved[twin], np.array(cuts, np.int64)


def _regions(version: Version, starts: Int32s) -> Int64s:
    """Where events that start here get to first: the largest component that one of the first edges leads to."""
    graph = version.graph
    region, size = starts.astype(np.int64), np.full(len(starts), -1, np.int64)
    for edge in range(_EDGES):
        here = np.flatnonzero(graph.nodes[starts, at.OUT_BEGIN] + edge < graph.nodes[starts, at.OUT_END])
        target = graph.edges[graph.nodes[starts[here], at.OUT_BEGIN] + edge, TARGET].astype(np.int64)
        end = np.maximum(graph.nodes[target, at.COMPONENT_END], target)
        larger = end - target > size[here]
        region[here[larger]], size[here[larger]] = end[larger], (end - target)[larger]
    return region


# --- the paper's algorithms, and the choice between the ways ----------------------------------------------------------

_KERNEL = "heliograph.route.kernels"

# How long the plain walk may take in an engine's life before the kernels are loaded, which takes about a second. Where
# they have to be compiled, which takes about a minute, another process does that meanwhile; only if it cannot, they are
# compiled here.
WARM_NS, COLD_NS = 300_000_000, 8_000_000_000
SMALL = 2_000  # nodes; for more of them, kernels are loaded at once

SEEDS = ("dag", "dag-skip", "general", "scc-skip", "index-bfs", "bfs")
ALGORITHMS = ("auto", "lanes", "walk", *SEEDS)


class PaperStrategy:
    """One of the seed's algorithms, on structures built for one version; paths as `KernelStrategy` finds them."""

    def __init__(self, name: str) -> None:
        lanes = KernelStrategy()
        self.encodes, self.walk, self.stream = lanes.encodes, lanes.walk, lanes.stream
        self._name = name
        self._built: tuple[Version, SeedExchange] | None = None

    def reach(self, version: Version, events: Events, ends_only: bool) -> Reached:
        starts = events.starts(version)
        known = np.flatnonzero(starts >= 0)
        compiled = version.targeting.compiled(version.programs)
        cells, slow = take_cells(events.cells(version), known), slow_truth(version, events, known)
        job = Room().job(version.targeting, compiled, cells, slow)
        built = self._built
        if built is None or built[0] is not version:  # kept until another version is routed
            paper: Any = import_module("heliograph.papers.route")
            built = self._built = version, paper.SeedExchange.of_version(version)
        routed = built[1].route(job, starts[known], self._name)
        sizes = np.zeros(len(starts), np.int64)
        sizes[known] = np.diff(routed.offsets)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        return Reached(offsets, routed.nodes, routed.tested, routed.held).ordered(version, ends_only)


class AutoRouting:
    """The plain walk, until it has taken as long as loading the kernels does."""

    def __init__(self) -> None:
        self._plain, self._lanes = WalkStrategy(), KernelStrategy()
        self._spent_ns = 0

    def encodes(self, version: Version) -> bool:
        return self._pays(version)

    def reach(self, version: Version, events: Events, ends_only: bool) -> Reached:
        parts: list[Reached] = []
        for row in range(len(events)):
            if self._pays(version):
                return self._lanes.reach(version, events, ends_only)
            began = time.perf_counter_ns()
            parts.append(self._plain.reach_one(version, events, row, ends_only))
            self._spent_ns += time.perf_counter_ns() - began
        return joined(parts)

    def walk(self, version: Version, events: Events, row: int, options: RouteOptions) -> Reached:
        if self._pays(version):
            return self._lanes.walk(version, events, row, options)
        began = time.perf_counter_ns()
        found = self._plain.walk(version, events, row, options)
        self._spent_ns += time.perf_counter_ns() - began
        return found

    def stream(self, version: Version, events: Events, row: int, options: RouteOptions) -> Iterator[int]:
        return (self._lanes if self._pays(version) else self._plain).stream(version, events, row, options)

    def _pays(self, version: Version) -> bool:
        if _KERNEL not in sys.modules and self._spent_ns < WARM_NS and version.graph.node_count <= SMALL:
            return False
        return ready("route", overdue=self._spent_ns >= COLD_NS)


def strategy(name: str) -> Strategy:
    """A way to route, by name."""
    if name in SEEDS:
        return PaperStrategy(name)
    known: dict[str, Callable[[], Strategy]] = {
        "auto": AutoRouting,
        "lanes": KernelStrategy,
        "walk": WalkStrategy,
    }
    if name not in known:
        raise UsageError("HG-045", f"no algorithm is called {name!r}", fix=f"write one of {', '.join(ALGORITHMS)}")
    return known[name]()
