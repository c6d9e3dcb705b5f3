"""Growth of the route: time of an event against the number of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_route import timed


def measure(run: Run) -> Iterator[Point]:
    """Once exchanges side by side, so that the reach stays; once one exchange that grows, and its reach with it."""
    for copies in run["copies"]:
        point = timed(run, "same reach", copies, {"copies": copies})
        yield point._replace(x=point.facts["nodes"])
    for scale in run["scales"]:
        point = timed(run, "reach grows too", scale, {"scale": scale})
        yield point._replace(x=point.facts["nodes"])


EXPERIMENT = growth(
    "route",
    "route: time against nodes",
    (Axis("nodes"), Axis("time an event", "µs")),
    {
        Scale.SMALL: {
            "copies": [1, 3, 10, 30],
            "scales": [0.05, 0.15, 0.5, 1.5],
            "scale": 0.05,
            "events": 300,
            "repeats": 5,
        },
        Scale.PAPER: {
            "copies": [1, 3, 10, 15],
            "scales": [0.05, 0.15, 0.5, 1.0, 5.0],
            "scale": 1.0,
            "events": 1_000,
            "repeats": 5,
        },
    },
    measure,
)
