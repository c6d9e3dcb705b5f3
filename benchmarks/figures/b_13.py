"""[B] figure 13: run time against selectivity, beside the index baseline."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.b_exchange import INDEX
from benchmarks.experiments.b_points import CHECKED, NOTES, RUNNING, judge_against_index, selectivities, time_points
from benchmarks.experiments.experiment import Axis, Experiment, Point, Run, Scale


def measure(run: Run) -> Iterator[Point]:
    for name, given in selectivities(run):
        yield from time_points(name, given, (*RUNNING, INDEX))


EXPERIMENT = Experiment(
    name="b-13",
    paper="[B] fig. 13",
    title="run time against selectivity, beside the index baseline",
    statement=(
        "Evaluate beside the baseline that first takes all valid nodes from the index and then walks among them, with "
        "the time spent in the index, on an axis that ends at 100 ms. The text names no ratio; section 3.4 gives both "
        "the same bound and evaluate no more edges, which we read as: it takes no longer."
    ),
    checked=CHECKED,
    x=Axis("selectivity"),
    y=Axis("time an event", "ms", log=True),
    parameters={
        Scale.SMALL: {"scale": 1.0, "divisors": [16, 8, 4, 2, 1], "events": 200, "repeats": 3},
        Scale.PAPER: {"scale": 1.0, "divisors": [16, 8, 4, 2, 1], "events": 400, "repeats": 5},
    },
    measure=measure,
    judge=judge_against_index,
    notes=f"{NOTES} `index alone` takes all valid nodes from the index and does nothing with them.",
)
