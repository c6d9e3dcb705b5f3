"""Growth of the filter: time of a publication against its size."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_filter import timed


def measure(run: Run) -> Iterator[Point]:
    """Three edges a node, as in the papers' workloads; as many matches at every size."""
    for edges in run["edges"]:
        shape = {"publication_nodes": edges // 3, "publication_edges": edges, "labels": run["labels"]}
        counts = {name: run[name] for name in ("subscriptions", "publications", "matches")}
        yield timed(run, "heliograph", edges, {**counts, **shape})


_COUNTS = {"publications": 10, "matches": 50, "labels": 5_000, "batch": 100, "repeats": 5}

EXPERIMENT = growth(
    "filter-size",
    "filter: time against the size of a publication",
    (Axis("edges of a publication"), Axis("time a publication", "µs")),
    {
        Scale.SMALL: {"edges": [30, 90, 300, 900, 3_000], "subscriptions": 20_000, **_COUNTS},
        Scale.PAPER: {"edges": [30, 90, 300, 900, 3_000, 9_000], "subscriptions": 100_000, **_COUNTS},
    },
    measure,
)
