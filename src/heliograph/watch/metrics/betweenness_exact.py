"""Exact betweenness of a graph of some thousand vertices: the owner of the tables by pairs.

Ten bytes for every pair of slots: 160 MB at 4,000 vertices. The tables grow by half as many slots again, up to the
limit, and a slot whose vertex lost its last arc is taken by the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Int32s
from heliograph.kernels.metric_betweenness_layout import DONE, NO_ROOM, UNREACHED, Board, Exact, Work
from heliograph.kernels.simple_graph_room import GrowingGraph, enlarged, more

Arc: TypeAlias = tuple[int, int]
_INTS, _MARKS = 8, 2  # arrays of a Work


class ExactBetweenness:
    """Sums of dependencies of the vertices of a directed simple graph, by slot."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._forget(0)

    def _forget(self, vertices: int) -> None:
        self._graph = GrowingGraph(undirected=False, directed=True)
        self._slots: dict[int, int] = {}
        self._free: list[int] = []
        self._names: Int32s = np.full(0, -1, np.int32)
        self._tables = _tables(0)
        self._cover(vertices)

    @property
    def slots(self) -> int:
        """How many vertices there is room for."""
        return len(self._names)

    def anew(self, arcs: npt.NDArray[np.int32]) -> bool:
        """Takes the arcs, rows of ids, in place of all there were. Whether shortest paths can be counted."""
        from heliograph.kernels.metric_betweenness_exact import count_anew, enter_arcs

        self._forget(len(np.unique(arcs)))
        tails, heads = (np.array([self._slot(name) for name in arcs[:, end].tolist()], np.int32) for end in (0, 1))
        arc = 0
        while (arc := enter_arcs(self._graph.arrays, tails, heads, arc)) < len(tails):
            self._graph.grow()
        return bool(count_anew(self._graph.arrays, self._tables) == DONE)

    def change(self, gone: Sequence[Arc], come: Sequence[Arc], board: Board) -> bool:
        """Takes arcs away, then adds some. Whether shortest paths can be counted."""
        from heliograph.kernels.metric_betweenness_exact import add_arc, drop_arc

        for tail, head in gone:
            while drop_arc(self._graph.arrays, self._tables, self._slots[tail], self._slots[head]) == NO_ROOM:
                self._graph.grow()
        for name in {name for arc in gone for name in arc}:
            self._leave(name, board)
        outcome = DONE
        for tail, head in come:
            ends = self._slot(tail), self._slot(head)
            while (outcome := add_arc(self._graph.arrays, self._tables, *ends)) == NO_ROOM:
                self._graph.grow()
            if outcome != DONE:
                break
        return bool(outcome == DONE)

    def post(self, board: Board) -> None:
        """Puts the sums on a board."""
        from heliograph.kernels.metric_betweenness_steps import post

        post(board, self._names, self._tables.sums, len(self._names))

    # --- slots ------------------------------------------------------------------------------------------------------

    def _slot(self, name: int) -> int:
        """The slot of a vertex, which takes one if it has none."""
        slot = self._slots.get(name)
        if slot is None:
            if not self._free:
                self._cover(max(min(more(self.slots), self._limit), self.slots + 1))
            slot = self._slots[name] = self._free.pop()
            self._names[slot] = name
        return slot

    def _leave(self, name: int, board: Board) -> None:
        """A vertex without arcs gives its slot back."""
        slot = self._slots[name]
        if self._graph.arrays.touching[slot] == 0:
            del self._slots[name]
            self._free.append(slot)
            self._names[slot], self._tables.sums[slot], board.raw[name] = -1, 0.0, 0.0

    def _cover(self, slots: int) -> None:
        known, larger = self.slots, _tables(slots)
        for name in ("distance", "paths"):
            getattr(larger, name)[:known, :known] = getattr(self._tables, name)
        larger.sums[:known] = self._tables.sums
        self._tables, self._names = larger, enlarged(self._names, slots)
        self._names[known:] = -1
        self._free += range(slots - 1, known - 1, -1)
        self._graph.cover(slots)


def _tables(slots: int) -> Exact:
    """Tables of slots without arcs."""
    distance, paths = np.full((slots, slots), UNREACHED, np.int16), np.zeros((slots, slots))
    np.fill_diagonal(distance, 0)
    np.fill_diagonal(paths, 1.0)
    marks = (np.zeros(slots, np.uint8) for _ in range(_MARKS))
    ints = (np.zeros(slots + 2, np.int32) for _ in range(_INTS))
    return Exact(distance, paths, np.zeros(slots), Work._make((np.zeros(slots), *marks, *ints)))
