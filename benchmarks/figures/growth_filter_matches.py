"""Growth of the filter: time of a publication against how many subscriptions match it."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_filter import timed


def measure(run: Run) -> Iterator[Point]:
    for matches in run["matches"]:
        counts = {name: run[name] for name in ("subscriptions", "publications")}
        yield timed(run, "heliograph", matches, {**counts, "matches": matches})


_COUNTS = {"publications": 10, "batch": 100, "repeats": 5}

EXPERIMENT = growth(
    "filter-matches",
    "filter: time against matches",
    (Axis("matches of a publication"), Axis("time a publication", "µs")),
    {
        Scale.SMALL: {"matches": [1, 10, 100, 1_000], "subscriptions": 20_000, **_COUNTS},
        Scale.PAPER: {"matches": [1, 10, 100, 1_000, 5_000], "subscriptions": 100_000, **_COUNTS},
    },
    measure,
)
