"""Growth of the watch: time of an update against how many are published at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.experiments.experiment import Axis, Point, Run, Scale
from benchmarks.experiments.growth import growth
from benchmarks.experiments.growth_watch import timed


def measure(run: Run) -> Iterator[Point]:
    """The same stream and queries, cut into batches of so many updates."""
    for batch in run["batches"]:
        options = {"vertices": run["vertices"], "updates": run["updates"], "queries": run["queries"]}
        cut = replace(run, parameters={**run.parameters, "batch": batch})
        yield timed(cut, "concrete queries", batch, options)


_SIZES = {"vertices": 60_000, "queries": 1_000, "repeats": 3}

EXPERIMENT = growth(
    "watch-batch",
    "watch: time against the size of a publication",
    (Axis("updates published at once"), Axis("time an update", "µs")),
    {
        Scale.SMALL: {"batches": [1, 10, 100, 1_000], "updates": 4_000, **_SIZES},
        Scale.PAPER: {"batches": [1, 10, 100, 1_000, 10_000, 50_000], "updates": 50_000, **_SIZES},
    },
    measure,
    notes="What falls is the price of a call, shared by the updates of a batch.",
)
