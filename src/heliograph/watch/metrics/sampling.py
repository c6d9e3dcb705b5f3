"""Betweenness estimated from sampled shortest paths, kept as edges come and go.

The guarantee, at the end of any one step: with probability at least 1 − δ the values of all vertices at once are off by
at most ε. For the share of samples that lead through a vertex is a mean of independent draws of 0 or 1, so by
Hoeffding's inequality it is off by ε' or more with probability at most 2 exp(−2 r ε'²); over n vertices that adds up to
δ when r = ln(2n / δ) / 2ε'². A bound by the graph's diameter would need fewer samples, but a bound on the diameter of a
changing directed graph has to be kept too; what a change costs does not depend on r much.

Pairs are drawn from all n² ordered ones, which makes them a function of hashes, and a share of them is n² / (n−1)(n−2)
times as large as a share of what the normalised value counts: ε' is ε divided by that.

The law: samples are a function of the seed, their number, and the graph. Nothing but their number is to be saved. A
vertex is known by a hash of its term, not by its id: those depend on what else was named before.
"""

from __future__ import annotations

import math
from hashlib import blake2b

import numpy as np

from heliograph.kernels.evolution_layout import Int32s
from heliograph.kernels.metric_betweenness_layout import Board, Samples, Search
from heliograph.kernels.simple_graph_layout import Simple
from heliograph.kernels.simple_graph_room import enlarged
from heliograph.kernels.sizes import room
from heliograph.watch.metrics.measure import Order

_WIDTH = 32  # inner vertices of a path, or vertices that a search cannot leave, that a sample has room for
_GATED = 8  # as many samples cost about as much to draw again as one arc to search around


class Sampling:
    """Samples of shortest paths, with a board to count them on."""

    def __init__(self, seed: int, epsilon: float, delta: float, order: Order = int) -> None:
        self._seed = np.uint64(seed)
        self._epsilon, self._delta = epsilon, delta
        self._samples = _samples(0)
        self._search = _search(0)
        self._order = order
        self._is_marked = np.zeros(0, np.bool_)

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self._samples.source)

    def needed(self, vertices: int, least: int) -> int:
        """How many samples so many vertices need, up to the next power of two, if never fewer than `least` are left."""
        least, most = max(least, 3), 1 << max(vertices - 1, 3).bit_length()
        epsilon = self._epsilon * (least - 1) * (least - 2) / least**2
        return math.ceil(math.log(2 * most / self._delta) / (2 * epsilon**2))

    def enlarge(self, graph: Simple, count: int) -> None:
        """Makes the samples this many, if they are fewer. The new ones are dirty."""
        from heliograph.kernels.metric_betweenness_picks import pick

        known = len(self)
        if count > known:
            self._samples = Samples._make(enlarged(array, count) for array in self._samples)
            self._cover(graph)
            pick(self._samples, graph.touching, self._search.marks, self._seed, known)

    def gate(self, graph: Simple, arcs: Int32s, count: int) -> None:
        """Marks the samples that arcs can affect, in the union of the graphs before and after a step."""
        from heliograph.kernels.metric_betweenness_gates import gate_arcs

        self._cover(graph)
        if count * _GATED > len(self):
            self._samples.dirty[:] = 1
        elif count:
            gate_arcs(graph, self._search, self._samples, arcs, count)

    def repick(self, graph: Simple, ends: Int32s) -> None:
        """Makes the pairs those of the vertices that are there; these may have come or gone."""
        from heliograph.kernels.metric_betweenness_picks import repick

        self._cover(graph)
        repick(self._samples, graph.touching, self._search.marks, self._seed, ends)

    def refresh(self, graph: Simple, board: Board) -> None:
        """Draws dirty samples again, and counts them."""
        from heliograph.kernels.metric_betweenness_paths import refresh

        self._cover(graph)
        while needed := refresh(graph, self._search, self._samples, board, self._seed):
            rows = np.zeros((len(self), room(2 * needed, needed)), np.int32)
            rows[:, : self._samples.rows.shape[1]] = self._samples.rows
            self._samples = self._samples._replace(rows=rows)

    def _cover(self, graph: Simple) -> None:
        """Makes room for all vertices, and marks those that are new."""
        vertices = len(graph.touching)
        if len(self._search.forward) < vertices:
            self._search = _search(vertices)._replace(marks=enlarged(self._search.marks, vertices))
            self._is_marked = enlarged(self._is_marked, vertices)
        fresh = np.flatnonzero((graph.touching > 0) & ~self._is_marked)
        self._search.marks[fresh] = [_mark(self._order(vertex)) for vertex in fresh.tolist()]
        self._is_marked[fresh] = True


def _mark(key: object) -> int:
    """A hash of what a vertex is sorted by, the same in every process."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=8).digest(), "little")


def _samples(count: int) -> Samples:
    ints = [np.zeros(count, np.int32) for _ in range(4)]
    hashes = [np.zeros(count, np.uint64) for _ in range(2)]
    bytes_ = [np.zeros(count, np.uint8) for _ in range(2)]
    return Samples._make((*ints[:2], *hashes, *ints[2:], *bytes_, np.zeros((count, room(_WIDTH)), np.int32)))


def _search(vertices: int) -> Search:
    depths = [np.full(vertices, -1, np.int32) for _ in range(2)]
    queues = [np.empty(vertices, np.int32) for _ in range(2)]
    return Search._make((*depths, np.empty(vertices), *queues, np.zeros(vertices, np.uint64)))
