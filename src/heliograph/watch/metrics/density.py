"""hg:density(x, hops): how dense the surroundings of a vertex are.

Directed simple edges over n(n - 1), of the n vertices that lie within some hops of x in either direction, x included;
loops do not count, and 0 is the density of less than two vertices. Exact.

Every watched vertex is the centre of a group that is kept as edges come and go: see kernels.metric_density. The law:
after each step a group holds exactly the vertices within its hops, and counts exactly the arcs between them. An edge
costs a look-up for each group that has one of its ends nearer than the last hop, and for each of the fewer groups that
have one of its ends there; what joins or leaves a group costs its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from heliograph.kernels.metric_density_room import Grouping
from heliograph.kernels.metric_layout import Log, Said
from heliograph.watch.metrics.cutting import Cutting
from heliograph.watch.metrics.measure import Points
from heliograph.watch.metrics.selection import nothing_selected


class NeighbourhoodDensity:
    """The density of what lies within `hops` of a vertex. An instance is the vertex."""

    def __init__(self, hops: int) -> None:
        self._grouping = Grouping(hops)
        self._cutting = Cutting()
        self._groups: dict[int, int] = {}  # by centre
        self._gathered = 0  # while all are watched: every vertex below has a group

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        (centre,) = vertices
        self._gather(centre)
        self._cutting.watch(centre, points)
        return centre

    def unwatch(self, instance: int, points: Points) -> None:
        self._cutting.unwatch(instance, points)
        self._forget_unwatched([instance])

    def watch_all(self, points: Points) -> None:
        self._cutting.watch_all(points)
        self._gather_all()

    def unwatch_all(self, points: Points) -> None:
        self._cutting.unwatch_all(points)
        self._forget_unwatched(list(self._groups))

    def follow(self, log: Log) -> Said:
        if len(log.step):
            self._grouping.cover(1 + int(max(log.subject.max(), log.object.max())))
        if self._cutting.watches_all:
            self._gather_all()
        return self._grouping.follow(log, nothing_selected(), self._cutting.asked())

    def value(self, instance: int) -> float:
        """Of a vertex that nobody watches it is worked out for the moment."""
        is_watched = instance in self._groups
        self._gather(instance)
        value = self._grouping.value(self._groups[instance])
        if not is_watched:
            self._dissolve(instance)
        return value

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        return {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        """Groups are gathered around their centres when all edges are there, which is less than to follow each."""
        centres = list(self._groups)
        for centre in centres:
            self._dissolve(centre)
        self._grouping.take_over(log)
        for centre in centres:
            self._gather(centre)

    # --- groups -----------------------------------------------------------------------------------------------------

    def _gather(self, centre: int) -> None:
        if centre not in self._groups:
            self._groups[centre] = self._grouping.new_group(centre)
            self._grouping.gather(self._groups[centre], centre)

    def _gather_all(self) -> None:
        """A group around every vertex there can be."""
        vertices = self._grouping.graph.vertices
        for centre in range(self._gathered, vertices):
            self._gather(centre)
        self._gathered = vertices

    def _forget_unwatched(self, centres: Sequence[int]) -> None:
        if not self._cutting.watches_all:
            self._gathered = 0
            for centre in centres:
                if not self._cutting.watches(centre):
                    self._dissolve(centre)

    def _dissolve(self, centre: int) -> None:
        self._grouping.dissolve(self._groups.pop(centre), centre)
