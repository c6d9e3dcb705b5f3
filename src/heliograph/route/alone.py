"""One event by itself, by the kernels: by which path, at what cost, and the first results first.

The law: paths are those of `baselines.route_walk`, up to ties; a walk holds its room until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from heliograph.exchange.version import Version
from heliograph.index.arrays import fixed
from heliograph.kernels import routing_layout as at
from heliograph.kernels.cache import announce
from heliograph.kernels.exchange_layout import TARGET
from heliograph.kernels.quick_layout import Job
from heliograph.kernels.routing_layout import Trail, make_ranks, make_trail
from heliograph.kernels.targeting_layout import Cells
from heliograph.route.events import Events
from heliograph.route.reaching import slow_truth
from heliograph.targeting.cell_arrays import take_cells
from heliograph.targeting.room import Room

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
        announce("hopping.advance")
        from heliograph.kernels.hopping import advance

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
        announce("ranking.rank")
        from heliograph.kernels.ranking import rank

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
        announce("hopping.advance")
        from heliograph.kernels.hopping import advance

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
        from heliograph.kernels.lanes import gather

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
