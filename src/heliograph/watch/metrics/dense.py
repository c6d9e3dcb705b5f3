"""hg:dense(x): how dense the densest subgraph is that holds a vertex, within a factor of 2.

A subgraph is a set S of vertices that an edge touches, and its density e(S) / |S|, undirected simple edges over
vertices. The optimum for x is the largest density of any S that holds x. It need not be connected, so the optimum of an
outsider is that of some dense subgraph with x added to it: it comes near to that of the members, and does not reach it.

What is found is the best of C(k) and x together, for any k, where the k-core C(k) is the largest set of vertices that
have k neighbours each within it. It depends on the graph alone. The law: value ≤ optimum ≤ 2 × value. For let S be an
optimum of density r > 0 and m the smallest whole number that is not below r. Whoever is in S, but for x, has at least r
neighbours there, hence m: without it S would be denser.

- If x has as many too, S lies within C(m), which holds x; and as all of C(m) have m neighbours in it, its density is at
  least m / 2.
- If not, S without x is denser than S. Let T be the densest subgraph of that, of density t > r. All of T have at least
  t neighbours in T, so T lies within C(m). The n vertices of C(m) have m neighbours each, so it has at least
  e(T) + (n - |T|) m / 2 ≥ (n + |T|) r / 2 edges: C(m) and x have a density of at least r / 2 × (n + |T|) / (n + 1).

Core numbers are kept as edges come and go: see kernels.metric_dense_cores. Values change with every edge, for nearly
everybody, and most of that passes no cut: see the gate in kernels.metric_dense_values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.kernels.metric_dense_layout import Audience
from heliograph.kernels.metric_dense_room import Coring
from heliograph.kernels.metric_layout import Cuts, Log, Said
from heliograph.kernels.simple_graph_room import fixed
from heliograph.watch.metrics.cutting import Cutting
from heliograph.watch.metrics.measure import Points

FACTOR = 2.0


class Dense:
    """The density of the densest subgraph found that holds a vertex. An instance is the vertex."""

    def __init__(self) -> None:
        self._coring = Coring()
        self._cutting = Cutting()
        self._audience: Audience | None = None

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        (vertex,) = vertices
        self._coring.refresh(vertex, vertex + 1)
        self._cutting.watch(vertex, points)
        self._audience = None
        return vertex

    def unwatch(self, instance: int, points: Points) -> None:
        self._cutting.unwatch(instance, points)
        self._audience = None

    def watch_all(self, points: Points) -> None:
        self._coring.refresh(0, self._coring.vertices)
        self._cutting.watch_all(points)
        self._audience = None

    def unwatch_all(self, points: Points) -> None:
        self._cutting.unwatch_all(points)
        self._audience = None

    def follow(self, log: Log) -> Said:
        return self._coring.follow(log, self._heard())

    def value(self, instance: int) -> float:
        return self._coring.value(instance)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """Between what the optimum lies."""
        return {"interval": [value, FACTOR * value]}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._coring.take_over(log)
        self._coring.refresh(0, self._coring.vertices)

    def _heard(self) -> Audience:
        """Who asks for what, put together when somebody came or went."""
        if self._audience is None:
            asked = self._cutting.asked()
            points = np.unique(asked.points)
            cuts = Cuts(fixed(points, np.float64), fixed([0, len(points)], np.int32))
            self._audience = Audience(asked, cuts, fixed(list(self._cutting.instances()), np.int32))
        return self._audience
