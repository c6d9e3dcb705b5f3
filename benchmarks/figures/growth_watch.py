"""Growth of the watch: time of an update against the number of queries."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_watch import timed, with_patterns


def measure(run: Run) -> Iterator[Point]:
    """Concrete queries of which 5 % become true in the stream, and queries with variables."""
    for queries in run["queries"]:
        options = {"vertices": run["vertices"], "updates": run["updates"], "queries": queries}
        yield timed(run, "concrete queries", queries, options)
    for queries in run["pattern queries"]:
        yield with_patterns(run, "queries with variables", queries)


EXPERIMENT = growth(
    "watch",
    "watch: time against queries",
    (Axis("queries"), Axis("time an update", "µs")),
    {
        Scale.SMALL: {
            "queries": [100, 1_000, 10_000, 30_000],
            "pattern queries": [10, 100, 1_000],
            "vertices": 120_000,
            "updates": 100_000,
            "repeats": 3,
        },
        Scale.PAPER: {
            "queries": [1_000, 10_000, 100_000, 1_000_000],
            "pattern queries": [10, 100, 1_000, 10_000],
            "vertices": 1_200_000,
            "updates": 1_000_000,
            "repeats": 3,
        },
    },
    measure,
    notes="Of queries with variables DuckDB counts the matches of some at the end. Matches grow with the queries.",
)
