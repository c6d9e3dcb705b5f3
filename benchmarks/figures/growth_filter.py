"""Growth of the filter: time of a publication against the number of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_filter import timed


def measure(run: Run) -> Iterator[Point]:
    """Once with as many matches at every number, once with a share of the subscriptions."""
    publications = run["publications"]
    for subscriptions in run["subscriptions"]:
        kinds = {f"{run['matches']} matches": run["matches"], "1 of 1,000 matches": max(1, subscriptions // 1_000)}
        for series, matches in kinds.items():
            options = {"subscriptions": subscriptions, "publications": publications, "matches": matches}
            yield timed(run, series, subscriptions, options)


EXPERIMENT = growth(
    "filter",
    "filter: time against subscriptions",
    (Axis("subscriptions"), Axis("time a publication", "µs")),
    {
        Scale.SMALL: {
            "subscriptions": [1_000, 10_000, 100_000],
            "publications": 10,
            "matches": 50,
            "batch": 200,
            "repeats": 5,
        },
        Scale.PAPER: {
            "subscriptions": [1_000, 10_000, 100_000, 1_000_000],
            "publications": 10,
            "matches": 50,
            "batch": 1_000,
            "repeats": 5,
        },
    },
    measure,
)
