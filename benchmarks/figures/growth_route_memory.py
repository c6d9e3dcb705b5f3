"""Growth of the route: memory against nodes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_route import stayed


def measure(run: Run) -> Iterator[Point]:
    for scale in run["scales"]:
        yield stayed(run, scale)


EXPERIMENT = growth(
    "route-memory",
    "route: memory against nodes",
    (Axis("nodes"), Axis("memory", "MB")),
    {
        Scale.SMALL: {"scales": [0.015, 0.15, 0.7]},
        Scale.PAPER: {"scales": [0.015, 0.15, 1.0, 5.0]},
    },
    measure,
    notes="Resident memory that a process of its own keeps, all text included, once the tables are gone; one sample.",
)
