"""[G] figure 9(a): memory against the number of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments import filter_memory
from benchmarks.experiments.claims import judged, linear
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.g_workload import ALL, NOTES, NUMBERS, PAPER, PAPER_NUMBERS, SMALL


def measure(run: Run) -> Iterator[Point]:
    return filter_memory.points(run, ALL, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge(outcome: Outcome) -> Verdict:
    slope = outcome.exponent("G-ToPSS")
    ratio = outcome.last("G-ToPSS") / outcome.last("heliograph")
    sentence = (
        f"The memory of G-ToPSS grows as the number of subscriptions to the power {slope:.2f}; at the largest number "
        f"it takes {ratio:.1f} times the memory of heliograph."
    )
    return judged([linear(slope)], sentence)


EXPERIMENT = Experiment(
    name="g-9a",
    paper="[G] fig. 9 (a)",
    title="memory against the number of subscriptions",
    statement="Memory of G-ToPSS grows linearly: subscriptions of one size and a fixed overlap take the same each.",
    checked="every engine answers a batch as the workload must be answered before its memory counts",
    x=Axis("subscriptions"),
    y=Axis("memory", "MiB"),
    parameters={
        Scale.SMALL: {**SMALL, "subscriptions": NUMBERS, "publications": 5},
        Scale.PAPER: {**PAPER, "subscriptions": PAPER_NUMBERS, "publications": 5},
    },
    measure=measure,
    judge=judge,
    fitted=True,
    notes=f"{NOTES} {filter_memory.NOTES}",
)
