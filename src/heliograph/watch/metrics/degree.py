"""`hg:degree`, `hg:indegree` and `hg:outdegree`: how many edges touch a vertex, come to it, or leave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import int64

from heliograph.compiled.compile import kernel
from heliograph.compiled.text import prefetch
from heliograph.watch.metrics.simple_graph import (
    CAME,
    CHANGED,
    NEEDED,
    ROW,
    Asked,
    Log,
    Said,
    Telling,
    enlarged,
    fixed_log,
    more,
)
from heliograph.watch.metrics.simple_graph_kernels import (
    ASKED,
    INT32_ROWS,
    LOG,
    TELLING,
    can_tell,
    is_told,
    step_end,
    tell,
)
from heliograph.watch.metrics.thresholds import Cutting, Points

# ----------------------------------------------------------------------------------------------------------------------
# Degrees of vertices, kept as edges come and go.
#
# The law: only what a step adds up to counts. What it adds is collected beside the degree; at its end the ends of its
# edges are gone through once more, and whoever was met has nothing left to collect.
# ----------------------------------------------------------------------------------------------------------------------

NOW, PENDING = range(2)  # of the rows of vertices
OUT, IN = 1, 2  # which ends count: bits
_AHEAD = 16  # changes; the ends of edges lie anywhere, so their rows are asked for before they are needed


@kernel((INT32_ROWS, int64, LOG, ASKED, TELLING))
def follow_degrees(degrees: Any, ends: Any, log: Log, asked: Asked, telling: Telling) -> Any:
    """Takes a log over, step by step; whether all of it is, or room for sayings is lacking."""
    while telling.counters[ROW] < len(log.step):
        row = telling.counters[ROW]
        end = step_end(log, row)
        telling.counters[NEEDED] = 2 * (end - row)
        if not can_tell(telling, 2 * (end - row)):
            return False
        _collect(degrees, ends, log, row, end)
        _settle_ends(degrees, ends, log, asked, telling)
        telling.counters[ROW] = end
    return True


@kernel()
def _collect(degrees: Any, ends: Any, log: Log, row: Any, end: Any) -> None:
    for i in range(row, end):
        _look_ahead(degrees, log, i + _AHEAD)
        if log.change[i] != CHANGED:
            by = 1 if log.change[i] == CAME else -1
            if ends & OUT:
                degrees[log.subject[i], PENDING] += by
            if ends & IN:
                degrees[log.object[i], PENDING] += by


@kernel(inline=True)
def _look_ahead(degrees: Any, log: Log, row: Any) -> None:
    if row < len(log.step):
        prefetch(degrees, 2 * np.int64(log.subject[row]))
        prefetch(degrees, 2 * np.int64(log.object[row]))


@kernel(inline=True)
def _settle_ends(degrees: Any, ends: Any, log: Log, asked: Asked, telling: Telling) -> None:
    """The step that begins at the telling's row is over."""
    row = telling.counters[ROW]
    step = log.step[row]
    while row < len(log.step) and log.step[row] == step:
        if ends & OUT:
            _settle(degrees, log.subject[row], step, asked, telling)
        if ends & IN:
            _settle(degrees, log.object[row], step, asked, telling)
        row += 1


@kernel(inline=True)
def _settle(degrees: Any, vertex: Any, step: Any, asked: Asked, telling: Telling) -> None:
    """What a vertex collected is added to its degree, and told if it passes a cut."""
    by, before = degrees[vertex, PENDING], degrees[vertex, NOW]
    if by == 0:
        return
    degrees[vertex, NOW], degrees[vertex, PENDING] = before + by, 0
    if is_told(asked, vertex, np.float64(before), np.float64(before + by)):
        tell(telling, step, vertex, np.float64(before + by))


# ----------------------------------------------------------------------------------------------------------------------
# `hg:degree`, `hg:indegree` and `hg:outdegree`: how many edges touch a vertex, come to it, or leave it.
#
# Edges are counted as triples: two of different properties between the same vertices are two, and a loop counts once
# in and once out. A change costs one addition at each end, and where a vertex is watched two binary searches in its
# cuts.
# ----------------------------------------------------------------------------------------------------------------------

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

        log, telling = fixed_log(log), Telling.nothing()
        self._cover(log)
        while not follow_degrees(self._degrees, self._ends, log, asked, telling):
            telling = telling.with_room()
        return telling.said()

    def _cover(self, log: Log) -> None:
        vertices = 1 + int(max(log.subject.max(), log.object.max())) if len(log.step) else 0
        if vertices > len(self._degrees):
            self._degrees = enlarged(self._degrees, max(vertices, more(len(self._degrees))))
