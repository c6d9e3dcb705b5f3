"""[G] figure 9(a): memory against the number of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from benchmarks.experiments import filter_memory
from benchmarks.experiments.claims import judged, span
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.g_workload import ALL, NOTES, NUMBERS, PAPER, PAPER_NUMBERS, SMALL

STEADY = 1.75  # times the least: hash tables double now and then; a square or a root would give more


def measure(run: Run) -> Iterator[Point]:
    return filter_memory.points(run, ALL, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge(outcome: Outcome) -> Verdict:
    """What a further subscription takes is to be the same at every step; a process has costs before the first."""
    each = [
        (after.median - before.median) * 1024 / (float(after.x) - float(before.x))
        for before, after in pairwise(outcome.line("G-ToPSS"))
    ]
    ratio = outcome.last("G-ToPSS") / outcome.last("heliograph")
    sentence = (
        f"A further subscription takes G-ToPSS {span(each, '.1f')} KiB from step to step (as a power of the "
        f"number: {outcome.exponent('G-ToPSS'):.2f}); at the largest number it takes {ratio:.1f} times "
        "the memory of heliograph."
    )
    return judged([min(each) > 0 and max(each) <= STEADY * min(each)], sentence)


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
    notes=(
        f"{NOTES} {filter_memory.NOTES} Judged by what a further subscription takes, not by the exponent as at first: "
        "what a process takes before the first subscription bends that."
    ),
)
