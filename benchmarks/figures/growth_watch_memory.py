"""Growth of the watch: memory against queries and edges."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_watch import graph_stayed, stayed


def measure(run: Run) -> Iterator[Point]:
    for queries in run["queries"]:
        yield stayed(run, queries)
    for edges in run["edges"]:
        yield graph_stayed(run, edges)


EXPERIMENT = growth(
    "watch-memory",
    "watch: memory against queries and edges",
    (Axis("queries, or edges of the graph"), Axis("memory", "MB")),
    {
        Scale.SMALL: {
            "queries": [1_000, 10_000, 30_000],
            "edges": [30_000, 100_000, 300_000],
            "vertices": 60_000,
            "updates": 50_000,
        },
        Scale.PAPER: {
            "queries": [1_000, 10_000, 100_000, 1_000_000],
            "edges": [100_000, 1_000_000, 4_000_000],
            "vertices": 1_200_000,
            "updates": 1_000_000,
        },
    },
    measure,
    notes="Resident memory that a process of its own keeps, all text included, once the tables are gone; one sample.",
)
