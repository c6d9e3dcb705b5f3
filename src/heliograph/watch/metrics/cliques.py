"""`hg:cliques(k)`: how many sets of k vertices are joined pair by pair, in the undirected simple projection, exactly.

k = 1 are the vertices, 2 the pairs, 3 the triangles. Where a pair comes or goes, the cliques that it is part of are
counted among the common neighbours of its ends: see kernels.metric_cliques_pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Int64s
from heliograph.kernels.metric_cliques_layout import (
    CLIQUES,
    COUNTERS,
    ENDED,
    ROW,
    S_CLIQUES,
    S_STEP,
    S_VERTICES,
    SERIES_COLUMNS,
    SIZE,
    WANTED,
)
from heliograph.kernels.metric_cliques_layout import Cliques as State
from heliograph.kernels.metric_layout import Log, Said
from heliograph.kernels.simple_graph_layout import JOINED, VERTICES
from heliograph.kernels.simple_graph_room import GrowingGraph, counted, enlarged, fixed_log
from heliograph.kernels.sizes import room
from heliograph.watch.metrics.cutting import Whole, at_steps, count_steps
from heliograph.watch.metrics.measure import Points

LARGEST = 5  # vertices of a clique


class Cliques:
    """The number of cliques of one size, over one projection."""

    def __init__(self, size: int) -> None:
        if not 1 <= size <= LARGEST:
            raise ValueError(f"cliques of {size} vertices are not counted, only those of 1 to {LARGEST}")
        self._graph = GrowingGraph(undirected=size > 2)
        counters = np.zeros(COUNTERS, np.int64)
        counters[SIZE] = size
        marks, found, series = np.zeros(0, np.uint8), np.empty(0, np.int32), np.empty((0, SERIES_COLUMNS), np.int64)
        self._state = State(self._graph.arrays, marks, found, counters, series)
        self.whole = Whole()

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        return self.whole.watch(vertices, points, self.value(0))

    def unwatch(self, instance: int, points: Points) -> None:
        self.whole.unwatch(instance, points)

    def watch_all(self, points: Points) -> NoReturn:
        raise TypeError("a metric of the whole graph is not watched vertex by vertex")

    unwatch_all = watch_all

    def follow(self, log: Log, existing: Int64s | None = None) -> Said:
        """Takes changes over; `existing` says how many vertices exist at the end of each step, those that no edge of
        the projection touches too."""
        before = self._now()
        series = self._take_over(log)
        if existing is not None:
            series = at_steps(series, before[0], len(existing))
        return self.whole.said(series[:, S_STEP], self._values(series, existing).astype(np.float64))

    def value(self, instance: int) -> float:
        return float(self._values(self._now(), None)[0])

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._take_over(log)

    def _values(self, series: Int64s, existing: Int64s | None) -> Int64s:
        vertices = self.whole.count_vertices(series[:, S_VERTICES], existing)
        return vertices if self._state.counters[SIZE] == 1 else series[:, S_CLIQUES]

    def _now(self) -> Int64s:
        """What holds now, as one row of a series."""
        graph, counters = self._graph.arrays, self._state.counters
        cliques = counted(graph, JOINED) if counters[SIZE] == 2 else int(counters[CLIQUES])
        return np.array([[0, cliques, counted(graph, VERTICES)]])

    def _take_over(self, log: Log) -> Int64s:
        """Takes changes over; what held at the end of each step that has any."""
        from heliograph.kernels.metric_cliques import follow_cliques

        log = fixed_log(log)
        self._graph.cover_log(log)
        self._state.counters[[ROW, ENDED]] = 0
        series = np.empty((count_steps(log), SERIES_COLUMNS), np.int64)
        self._make_room(series)
        while not follow_cliques(self._state, log):
            self._graph.grow()
            self._make_room(series)
        return series

    def _make_room(self, series: Int64s) -> None:
        state, wanted = self._state._replace(graph=self._graph.arrays, series=series), self._state.counters[WANTED]
        if self._graph.vertices > len(state.marks):
            state = state._replace(marks=enlarged(state.marks, self._graph.vertices))
        if wanted > len(state.found):
            state = state._replace(found=enlarged(state.found, room(2 * int(wanted), int(wanted))))
        self._state = state
