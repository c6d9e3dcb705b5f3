"""hg:density(): how dense what a query selects is.

Directed simple edges over n(n - 1), of the n vertices that are bound in any solution; loops do not count, and 0 is the
density of less than two vertices. Exact. A selected vertex counts whether an edge touches it or not.

Solutions come and go as edges do, and in the same steps. So beside the log stands what they bind: rows (step, instance,
vertex, times), `times` more solutions of an instance's query binding a vertex, or fewer. A vertex is selected while
some solution binds it: whoever hands over solutions need not know whether another one binds the vertex too. The law: at
the end of each step the value is that of the edges and of the vertices selected by then; within a step neither order
nor detours matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.kernels.metric_density_layout import Selections
from heliograph.kernels.metric_density_room import Grouping
from heliograph.kernels.metric_layout import Log, Said
from heliograph.watch.metrics.cutting import Cutting
from heliograph.watch.metrics.measure import Points


def selections(rows: Iterable[tuple[int, int, int, int]]) -> Selections:
    """Rows (step, instance, vertex, times) in order of step, as columns."""
    table = np.array(list(rows), np.int32).reshape(-1, len(Selections._fields))
    return Selections._make(np.ascontiguousarray(table[:, column]) for column in range(table.shape[1]))


def nothing_selected() -> Selections:
    return selections(())


class SelectionDensity:
    """The density of sets of vertices that change. An instance is one such set, empty at first."""

    def __init__(self) -> None:
        self._grouping = Grouping()
        self._cutting = Cutting()

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        """Somebody asks for a set of its own, with these vertices selected once each."""
        instance = self._grouping.new_group()
        self._cutting.watch(instance, points)
        self.select(instance, vertices, ())
        return instance

    def watch_again(self, instance: int, points: Points) -> None:
        """Somebody else asks for the same set."""
        self._cutting.watch(instance, points)

    def unwatch(self, instance: int, points: Points) -> None:
        """The set goes with the last who watches it."""
        self._cutting.unwatch(instance, points)
        if not self._cutting.watches(instance):
            self._grouping.clear(instance)

    def watch_all(self, points: Points) -> None:
        """Somebody asks for every set there is or will be."""
        self._cutting.watch_all(points)

    def unwatch_all(self, points: Points) -> None:
        self._cutting.unwatch_all(points)

    def select(self, instance: int, added: Sequence[int], removed: Sequence[int]) -> None:
        """Vertices that solutions bind and no longer bind, silently; one that several bind is named as often."""
        rows = [*((0, instance, vertex, 1) for vertex in added), *((0, instance, vertex, -1) for vertex in removed)]
        self._grouping.follow(_no_edges(), selections(rows), Cutting().asked())

    def follow(self, log: Log, selected: Selections | None = None) -> Said:
        """Takes changes of edges over, and what came to be selected in the same steps."""
        return self._grouping.follow(log, selected or nothing_selected(), self._cutting.asked())

    def value(self, instance: int) -> float:
        return self._grouping.value(instance)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        """Nothing: whoever restores the solutions selects what they bind."""
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._grouping.follow(log, nothing_selected(), Cutting().asked())


def _no_edges() -> Log:
    return Log(*(np.zeros(0, kind) for kind in (np.int32, np.uint8, *[np.int32] * 3, np.float64)))
