"""`hg:degree`, `hg:indegree` and `hg:outdegree`: how many edges touch a vertex, come to it, or leave it.

Edges are counted as triples: two of different properties between the same vertices are two, and a loop counts once in
and once out. A change costs one addition at each end, and where a vertex is watched two binary searches in its cuts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from heliograph.kernels.metric_layout import Log, Said
from heliograph.kernels.simple_graph_layout import Asked
from heliograph.kernels.simple_graph_room import enlarged, fixed_log, more
from heliograph.kernels.simple_graph_telling_layout import Telling
from heliograph.watch.metrics.cutting import Cutting
from heliograph.watch.metrics.measure import Points

_ENDS = {"outdegree": 1, "indegree": 2, "degree": 3}  # see kernels.metric_degree


class Degree:
    """Degrees of all vertices, over one projection."""

    def __init__(self, kind: Literal["degree", "indegree", "outdegree"] = "degree") -> None:
        self._ends = _ENDS[kind]
        self._degrees = np.zeros((0, 2), np.int32)
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
        return self._take_over(log, self._cuts.asked())

    def value(self, instance: int) -> float:
        return float(self._degrees[instance, 0]) if instance < len(self._degrees) else 0.0

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._take_over(log, Cutting().asked())

    def _take_over(self, log: Log, asked: Asked) -> Said:
        from heliograph.kernels.metric_degree import follow_degrees

        log, telling = fixed_log(log), Telling.nothing()
        self._cover(log)
        while not follow_degrees(self._degrees, self._ends, log, asked, telling):
            telling = telling.with_room()
        return telling.said()

    def _cover(self, log: Log) -> None:
        vertices = 1 + int(max(log.subject.max(), log.object.max())) if len(log.step) else 0
        if vertices > len(self._degrees):
            self._degrees = enlarged(self._degrees, max(vertices, more(len(self._degrees))))
