"""[B] figure 15: run time against the size of the graph, beside the index baseline."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.b_exchange import INDEX, OURS
from benchmarks.experiments.b_points import (
    CHECKED,
    EVALUATE,
    INDEX_BFS,
    NOTES,
    RUNNING,
    judge_against_index,
    sizes,
    time_points,
)
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict


def measure(run: Run) -> Iterator[Point]:
    for times, given in sizes(run):
        yield from time_points(times, given, (*RUNNING, INDEX))


def judge(outcome: Outcome) -> Verdict:
    found = judge_against_index(outcome)
    grown = ", ".join(f"{name} {outcome.growth(name):.1f}" for name in (EVALUATE, INDEX_BFS, OURS))
    times = float(outcome.xs[-1]) / float(outcome.xs[0])
    return found._replace(sentence=f"{found.sentence} {times:g} times the graph takes so many times as long: {grown}.")


EXPERIMENT = Experiment(
    name="b-15",
    paper="[B] fig. 15",
    title="run time against the size of the graph",
    statement=(
        "Exchanges up to five times as large with the same degrees, at selectivity 1/4: evaluate beside the index "
        "baseline and the time spent in the index, on an axis that ends at 180 ms. The text names no ratio; as in fig. "
        "13 we read it as: evaluate takes no longer."
    ),
    checked=CHECKED,
    x=Axis("times the size of the exchange"),
    y=Axis("time an event", "ms", log=True),
    parameters={
        Scale.SMALL: {"scale": 1.0, "times": [1, 2, 3], "divisor": 4, "events": 200, "repeats": 3},
        Scale.PAPER: {"scale": 1.0, "times": [1, 2, 3, 4, 5], "divisor": 4, "events": 400, "repeats": 5},
        Scale.LARGE: {"scale": 1.0, "times": [1, 2, 5, 10], "divisor": 4, "events": 400, "repeats": 5},
    },
    measure=measure,
    judge=judge,
    notes=f"{NOTES} `index alone` takes all valid nodes from the index and does nothing with them.",
)
