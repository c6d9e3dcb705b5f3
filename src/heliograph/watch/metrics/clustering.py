"""`hg:clustering`, `hg:transitivity` and `hg:averageClustering`, of the undirected simple projection, exactly.

How many of the pairs of a vertex's neighbours are joined themselves; of all such pairs in the graph; and on average
over its vertices. All three follow from the triangles through each vertex, which are kept as pairs come and go: see
kernels.metric_triangles.

The average is over the vertices that an edge of the projection touches, and those that exist without one, of which the
caller tells: each has the coefficient 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Floats, Int64s
from heliograph.kernels.metric_layout import Log, Said
from heliograph.kernels.metric_triangles_layout import (
    ALL,
    COUNTERS,
    ENDED,
    HIGH,
    LOW,
    PLACES,
    S_ALL,
    S_HIGH,
    S_LOW,
    S_STEP,
    S_TRIPLES,
    S_VERTICES,
    SERIES_COLUMNS,
    SUMMING,
    TRIANGLES,
    TRIPLES,
    WANTED,
    Triangles,
)
from heliograph.kernels.simple_graph_layout import LENGTH, VERTICES, Asked
from heliograph.kernels.simple_graph_room import GrowingGraph, counted, enlarged, fixed_log
from heliograph.kernels.simple_graph_telling_layout import Telling
from heliograph.kernels.sizes import room
from heliograph.watch.metrics.cutting import Cutting, Whole, at_steps, count_steps
from heliograph.watch.metrics.measure import Points

_TOUCHED = 64  # vertices that a step may touch at first


class Clustering:
    """Clustering coefficients of all vertices, over one projection."""

    def __init__(self) -> None:
        self._kept = _Kept(summing=False)
        self._cuts = Cutting()

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        (vertex,) = vertices
        self._cuts.watch(vertex, points)
        return vertex

    def unwatch(self, instance: int, points: Points) -> None:
        self._cuts.unwatch(instance, points)

    def watch_all(self, points: Points) -> None:
        self._cuts.watch_all(points)

    def unwatch_all(self, points: Points) -> None:
        self._cuts.unwatch_all(points)

    def follow(self, log: Log) -> Said:
        return self._kept.follow(log, self._cuts.asked())

    def value(self, instance: int) -> float:
        return self._kept.coefficient(instance)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._kept.follow(log, Cutting().asked())


class GlobalClustering:
    """Transitivity or the average coefficient: one instance, told from what held at the ends of steps."""

    def __init__(self, kind: Literal["transitivity", "averageClustering"]) -> None:
        self._averages = kind == "averageClustering"
        self._kept = _Kept(summing=self._averages)
        self.whole = Whole()

    @property
    def total(self) -> float:
        """The sum of all coefficients; 0 where transitivity is kept."""
        return float(_total(self._kept.now())[0])

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
        before = self._kept.now()
        series = self._kept.follow_whole(log)
        if existing is not None:
            series = at_steps(series, before[0], len(existing))
        return self.whole.said(series[:, S_STEP], self._values(series, existing))

    def value(self, instance: int) -> float:
        return float(self._values(self._kept.now(), None)[0])

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._kept.follow_whole(log)

    def _values(self, series: Int64s, existing: Int64s | None) -> Floats:
        if self._averages:
            return _share(_total(series), self.whole.count_vertices(series[:, S_VERTICES], existing))
        return _share(6 * series[:, S_ALL], series[:, S_TRIPLES])


def _total(series: Int64s) -> Floats:
    total: Floats = series[:, S_HIGH] + series[:, S_LOW] / 2.0**PLACES
    return total


def _share(parts: npt.NDArray[Any], wholes: Int64s) -> Floats:
    """Quotients; 0 of nothing."""
    shares: Floats = np.divide(parts, wholes, out=np.zeros(len(parts)), where=wholes != 0)
    return shares


class _Kept:
    """The triangles of a growing graph, and room for them."""

    def __init__(self, *, summing: bool) -> None:
        self._graph = GrowingGraph()
        counters = np.zeros(COUNTERS, np.int64)
        counters[SUMMING] = summing
        touched, before = np.empty(room(_TOUCHED), np.int32), np.empty(room(_TOUCHED))
        vertices = np.zeros((self._graph.vertices, 2), np.int64)
        self._state = Triangles(self._graph.arrays, vertices, touched, before, counters, _NO_SERIES)

    def coefficient(self, vertex: int) -> float:
        if vertex >= self._graph.vertices:
            return 0.0
        triangles = int(self._state.vertices[vertex, TRIANGLES])
        degree = int(self._graph.arrays.undirected.heads[vertex, LENGTH])
        return 2 * triangles / (degree * (degree - 1)) if triangles else 0.0

    def now(self) -> Int64s:
        """What holds of the whole graph, as one row of a series."""
        counters, row = self._state.counters, np.zeros((1, SERIES_COLUMNS), np.int64)
        row[0, [S_ALL, S_TRIPLES, S_HIGH, S_LOW]] = counters[[ALL, TRIPLES, HIGH, LOW]]
        row[0, S_VERTICES] = counted(self._graph.arrays, VERTICES)
        return row

    def follow_whole(self, log: Log) -> Int64s:
        """Takes changes over; what held of the whole graph at the end of each step that has any."""
        self._state = self._state._replace(series=np.empty((count_steps(log), SERIES_COLUMNS), np.int64))
        self.follow(log, Cutting().asked())
        series = self._state.series
        self._state = self._state._replace(series=_NO_SERIES)
        return series

    def follow(self, log: Log, asked: Asked) -> Said:
        """Takes changes over; what is told of vertices."""
        from heliograph.kernels.metric_triangles import follow_triangles

        log, telling = fixed_log(log), Telling.nothing()
        self._graph.cover_log(log)
        self._state.counters[ENDED] = 0
        self._make_room()
        while not follow_triangles(self._state, log, asked, telling):
            self._graph.grow()
            self._make_room()
            telling = telling.with_room()
        return telling.said()

    def _make_room(self) -> None:
        state, wanted = self._state._replace(graph=self._graph.arrays), int(self._state.counters[WANTED])
        if self._graph.vertices > len(state.vertices):
            state = state._replace(vertices=enlarged(state.vertices, self._graph.vertices))
        if wanted > len(state.touched):
            rows = room(2 * wanted, wanted)
            state = state._replace(touched=enlarged(state.touched, rows), before=enlarged(state.before, rows))
        self._state = state


_NO_SERIES: Int64s = np.empty((0, SERIES_COLUMNS), np.int64)
