"""Growth of the filter: memory against the number of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_filter import stayed


def measure(run: Run) -> Iterator[Point]:
    for subscriptions in run["subscriptions"]:
        yield stayed(run, subscriptions)


EXPERIMENT = growth(
    "filter-memory",
    "filter: memory against subscriptions",
    (Axis("subscriptions"), Axis("memory", "MB")),
    {
        Scale.SMALL: {"subscriptions": [1_000, 10_000, 100_000]},
        Scale.PAPER: {"subscriptions": [1_000, 10_000, 100_000, 1_000_000]},
    },
    measure,
    notes="Resident memory that a process of its own keeps, all text included, once the tables are gone; one sample.",
)
