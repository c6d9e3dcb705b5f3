"""Growth of the watch: time of an update against the share of queries that become true."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_watch import timed


def measure(run: Run) -> Iterator[Point]:
    """The x is the number of notifications that the stream must give."""
    for matching in run["matching"]:
        options = {name: run[name] for name in ("vertices", "updates", "queries")}
        point = timed(run, "concrete queries", matching, {**options, "matching": matching})
        yield point._replace(x=point.facts["notifications"])


EXPERIMENT = growth(
    "watch-matches",
    "watch: time against matches",
    (Axis("notifications of the stream"), Axis("time an update", "µs")),
    {
        Scale.SMALL: {
            "matching": [0.001, 0.01, 0.1, 1.0],
            "vertices": 120_000,
            "updates": 100_000,
            "queries": 10_000,
            "repeats": 3,
        },
        Scale.PAPER: {
            "matching": [0.001, 0.01, 0.1, 1.0],
            "vertices": 1_200_000,
            "updates": 1_000_000,
            "queries": 50_000,
            "repeats": 3,
        },
    },
    measure,
)
