"""[G] figure 9(b): matching time against the number of subscriptions, of which a fixed share matches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from benchmarks.experiments import filter_times
from benchmarks.experiments.claims import judged, linear
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.g_workload import ALL, NUMBERS, PAPER, PAPER_NUMBERS, SMALL, TIMED, TIMED_NOTES


def measure(run: Run) -> Iterator[Point]:
    return filter_times.points(run, ALL, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge(outcome: Outcome) -> Verdict:
    slope, times = outcome.exponent("G-ToPSS"), outcome.last("G-ToPSS") / outcome.last("heliograph")
    line = outcome.line("G-ToPSS")
    touched = line[-1].facts["candidates"] / line[-1].facts["matches"]
    grows = all(before.median < after.median for before, after in pairwise(line))
    sentence = (
        f"The time of G-ToPSS {'rises at every step' if grows else 'does not rise at every step'}, as the number of "
        f"subscriptions to the power {slope:.2f}, and it touches {touched:,.0f} subscriptions for each that matches; "
        f"heliograph is {times:,.0f} times as fast at the largest number."
    )
    return judged([grows, linear(slope)], sentence)


EXPERIMENT = Experiment(
    name="g-9b",
    paper="[G] fig. 9 (b)",
    title="matching time against the number of subscriptions",
    statement=(
        "With 0.1 % of the subscriptions matching, the time of G-ToPSS rises by the same amount for as many more of "
        "them, because matches become more by the same amount."
    ),
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "subscriptions": NUMBERS, **TIMED},
        Scale.PAPER: {**PAPER, "subscriptions": PAPER_NUMBERS, **TIMED},
    },
    measure=measure,
    judge=judge,
    fitted=True,
    notes=TIMED_NOTES,
)
