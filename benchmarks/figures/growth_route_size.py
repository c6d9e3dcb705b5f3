"""Growth of the route: time of an event against how many attributes it has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_route import timed, with_attributes


def measure(run: Run) -> Iterator[Point]:
    """Six attributes that targeting asks for, and others."""
    for attributes in run["attributes"]:
        yield timed(run, "heliograph", attributes, {}, partial(with_attributes, count=attributes))


EXPERIMENT = growth(
    "route-size",
    "route: time against the size of an event",
    (Axis("attributes of an event"), Axis("time an event", "µs")),
    {
        Scale.SMALL: {"attributes": [6, 12, 24, 48, 96, 192], "scale": 0.1, "events": 500, "repeats": 5},
        Scale.PAPER: {"attributes": [6, 12, 24, 48, 96, 192, 384], "scale": 1.0, "events": 1_000, "repeats": 5},
    },
    measure,
    notes="Reading the JSON of the events is on the clock.",
)
