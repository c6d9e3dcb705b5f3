"""Growth of the watch: time of an update against the size of the stream and its graph."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_watch import timed


def measure(run: Run) -> Iterator[Point]:
    """As many queries over streams from an empty graph; vertices grow with the updates."""
    for updates in run["edges"]:
        options = {"vertices": updates * 6 // 5, "updates": updates, "queries": run["queries"]}
        yield timed(run, "concrete queries", updates, options)


EXPERIMENT = growth(
    "watch-graph",
    "watch: time against the size of the graph",
    (Axis("edges that come to the graph"), Axis("time an update", "µs")),
    {
        Scale.SMALL: {"edges": [10_000, 30_000, 100_000, 300_000], "queries": 1_000, "repeats": 3},
        Scale.PAPER: {"edges": [10_000, 100_000, 1_000_000, 4_000_000], "queries": 1_000, "repeats": 3},
    },
    measure,
)
