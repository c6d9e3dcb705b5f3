"""Which nodes events reach, by the kernels: all of a batch together, 64 at a time.

Events of one publisher with the same attributes are routed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.exchange.version import Version
from heliograph.index.arrays import fixed, ragged
from heliograph.kernels.exchange_layout import FLAGS, LISTED_NODE, PLACE
from heliograph.kernels.routing_layout import Walk, make_walk
from heliograph.kernels.targeting_layout import Cells, Int32s, Int64s
from heliograph.route.events import Events
from heliograph.targeting.cell_arrays import take_cells
from heliograph.targeting.room import NOTHING_SLOW, Room


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
        if len(first) < len(starts):
            cells, starts = take_cells(cells, first), starts[first]
        found = self._reach(version, cells, starts, slow_truth(version, events, first), ends_only)
        if len(first) == len(twin):
            return found
        rows, offsets = ragged(found.offsets, twin)
        return found._replace(offsets=offsets, nodes=found.nodes[rows])

    def _reach(
        self, version: Version, cells: Cells, starts: Int32s, slow: npt.NDArray[np.int8], ends_only: bool
    ) -> Reached:
        from heliograph.kernels.routing import EVALUATED, HELD, route

        room, walk = self._borrow(version)
        compiled = version.targeting.compiled(version.programs)
        job = room.job(version.targeting, compiled, cells, slow)
        offsets, tally = np.zeros(len(starts) + 1, np.int64), np.zeros(4, np.int64)
        nodes = route(version.graph, job, fixed(starts), walk, ends_only, offsets, tally)
        self._rooms.append((room, walk))
        return Reached(offsets, nodes, int(tally[EVALUATED]), int(tally[HELD]))

    def _borrow(self, version: Version) -> tuple[Room, Walk]:
        """A room that nobody uses, large enough for the version."""
        try:
            room, walk = self._rooms.pop()
        except IndexError:
            room, walk = Room(), make_walk(0, 0)
        nodes, places = version.graph.node_count, version.place_count
        if len(walk.touched) <= nodes or len(walk.places) * 64 <= places:
            walk = make_walk(nodes + nodes // 4, places + places // 4)
        return room, walk


def slow_truth(version: Version, events: Events, rows: Int64s) -> npt.NDArray[np.int8]:
    """What Python decides about these events."""
    targeting = version.targeting
    return targeting.slow_truth([events.tree(int(row)) for row in rows]) if targeting.slow else NOTHING_SLOW


def _distinct(events: Events, starts: Int32s) -> tuple[Int64s, Int64s]:
    """The rows of the first events of their kind, and for each event which of these it is like."""
    texts = events.texts.dictionary_encode().indices.to_numpy().astype(np.int64)
    _, first, twin = np.unique(texts << 32 | (starts.astype(np.int64) + 1), return_index=True, return_inverse=True)
    if len(first) == len(starts):
        every = np.arange(len(starts))
        return every, every
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return first[order].astype(np.int64), place[twin]
