"""Which nodes events reach, by the kernels: all of a batch together, 64 at a time.

Events of one publisher with the same attributes are routed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.exchange.version import Version
from heliograph.index.arrays import fixed
from heliograph.kernels.board_layout import LANES
from heliograph.kernels.cache import announce
from heliograph.kernels.exchange_layout import COMPONENT_END, FLAGS, LISTED_NODE, OUT_BEGIN, OUT_END, PLACE, TARGET
from heliograph.kernels.routing_layout import Batch, Walk, make_walk
from heliograph.kernels.targeting_layout import Cells, Int32s, Int64s
from heliograph.route.events import Events
from heliograph.targeting.cell_arrays import take_cells
from heliograph.targeting.room import NOTHING_SLOW, Room

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
        found = self._reach(version, (cells, slow), Batch(starts, cuts), ends_only)
        return found if twin is first else found.spread(twin)

    def _reach(
        self, version: Version, asked: tuple[Cells, npt.NDArray[np.int8]], batch: Batch, ends_only: bool
    ) -> Reached:
        announce("routing.route")
        from heliograph.kernels.routing import EVALUATED, HELD, route

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
