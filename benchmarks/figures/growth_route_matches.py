"""Growth of the route: time of an event against how many nodes it reaches."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_route import timed


def measure(run: Run) -> Iterator[Point]:
    """One exchange whose targeting accepts a growing share of the events."""
    for selectivity in run["selectivities"]:
        point = timed(run, "heliograph", selectivity, {"selectivity": selectivity})
        yield point._replace(x=max(point.facts["reached"], 1e-3))


EXPERIMENT = growth(
    "route-matches",
    "route: time against nodes reached",
    (Axis("nodes reached by an event"), Axis("time an event", "µs")),
    {
        Scale.SMALL: {"selectivities": [1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.9], "scale": 0.2, "events": 300, "repeats": 5},
        Scale.PAPER: {"selectivities": [1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.9], "scale": 1.0, "events": 1_000, "repeats": 5},
    },
    measure,
)
