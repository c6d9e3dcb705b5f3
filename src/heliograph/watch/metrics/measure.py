"""What every metric is to those who ask it: the narrow waist of `hg:` functions.

A measure keeps one metric over one projection of the graph up to date, from a log of changes, for everybody who asks.
The laws: `value` is that of the graph after the last change of the log, whatever batches it came in; `follow` tells of
every instance that is watched each step at whose end it lies on the other side of a cut than when it was last told or
watched; whoever is not watched costs nothing beyond what the others need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy.typing as npt

from heliograph.kernels.evolution_layout import Int64s
from heliograph.kernels.metric_layout import Log, Said

Points: TypeAlias = "Sequence[float] | None"  # values to be told of when they are passed; None: every change
Order: TypeAlias = "Callable[[int], Any]"  # what term ids are sorted by


class Measure(Protocol):
    """One metric. Vertices are term ids; instances are numbers: of a metric of one vertex, that vertex."""

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        """Somebody asks for these vertices (none for a metric of the whole graph); the number of the instance.

        Asked for again, it takes the points in addition.
        """
        ...

    def unwatch(self, instance: int, points: Points) -> None:
        """Somebody who watched with these points goes."""
        ...

    def watch_all(self, points: Points) -> None:
        """Somebody asks for every vertex there is or will be. Of metrics of one vertex only."""
        ...

    def unwatch_all(self, points: Points) -> None: ...

    def follow(self, log: Log) -> Said:
        """Takes changes over, and tells what passed a cut."""
        ...

    def value(self, instance: int) -> float:
        """The value now. Of a metric of one vertex, whether it is watched or not."""
        ...

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """What is shown beside a value: an interval, or a path or tree as edges of term ids, as it is now."""
        ...

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        """What cannot be worked out again from the edges alone; empty if all of it can."""
        ...

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        """Takes over the edges of a saved graph, all of them as having come in one step, and what was saved."""
        ...


class Counting(Measure, Protocol):
    """A metric that depends on how many vertices there are, those that no edge of the projection touches too."""

    def follow(self, log: Log, existing: Int64s | None = None) -> Said:
        """Takes changes over, and tells what passed a cut.

        `existing` is how many vertices there are at the end of each step; without it, as many as before are untouched.
        """
        ...
