"""[G] figure 9(e): matching time against the size of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments import filter_times
from benchmarks.experiments.claims import judged
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.g_sizes import steps, touched
from benchmarks.experiments.g_workload import PAPER, SIZES, SMALL, TIMED, TIMED_NOTES, named, sized

DOUBLED = 1.6  # what counts as nearly twice the time
UNCHANGED = 0.25  # how far from once the time still counts as no effect


def measure(run: Run) -> Iterator[Point]:
    varied = [(named(size), sized(size)) for size in run["sizes"]]
    return filter_times.points(run, ["OPS", "G-ToPSS", "heliograph"], varied)


def judge(outcome: Outcome) -> Verdict:
    found = steps(outcome, "G-ToPSS")
    ours, met = steps(outcome, "heliograph"), touched(outcome, "G-ToPSS")
    sentence = (
        f"Twice the edges take G-ToPSS {found.doubled:.2f} times as long, more nodes with as many edges "
        f"{found.nodes:.2f} times, where it touches {met.doubled:.2f} and {met.nodes:.2f} times as many subscriptions; "
        f"heliograph takes {ours.doubled:.2f} and {ours.nodes:.2f} times as long."
    )
    return judged([found.doubled >= DOUBLED, abs(found.nodes - 1) <= UNCHANGED], sentence)


EXPERIMENT = Experiment(
    name="g-9e",
    paper="[G] fig. 9 (e)",
    title="matching time against the size of subscriptions",
    statement="Twice the edges (from 4 to 8, say) take G-ToPSS nearly twice as long; how many nodes has no effect.",
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("nodes and edges of a subscription"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "sizes": SIZES, **TIMED},
        Scale.PAPER: {**PAPER, "sizes": SIZES, **TIMED},
    },
    measure=measure,
    judge=judge,
    notes=TIMED_NOTES,
)
