"""[R] figure 9(h): merging time against the merge percentage."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from benchmarks.experiments.claims import judged
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.r_merging import PAPER, SMALL, sweep
from benchmarks.experiments.r_workload import NOTES


def measure(run: Run) -> Iterator[Point]:
    for share, found in sweep(run):
        yield Point("merging", round(100 * share, 3), [found.seconds], {"front": found.front})


def judge(outcome: Outcome) -> Verdict:
    line = outcome.line("merging")
    rising = sum(after.median > before.median for before, after in pairwise(line))
    times = outcome.growth("merging")
    sentence = (
        f"From {line[0].x:g} to {line[-1].x:g} % merging takes {times:.1f} times as long, and longer at {rising} of "
        f"{len(line) - 1} steps."
    )
    return judged([times > 1.2, rising == len(line) - 1], sentence)


EXPERIMENT = Experiment(
    name="r-9h",
    paper="[R] fig. 9 (h)",
    title="merging time against the merge percentage",
    statement="Merging takes longer the higher the merge percentage is, since more subscriptions are merged.",
    checked="every plan notifies as the workload must be answered",
    x=Axis("merge percentage", "%"),
    y=Axis("time to subscribe and merge", "s"),
    parameters={Scale.SMALL: SMALL, Scale.PAPER: PAPER},
    measure=measure,
    judge=judge,
    notes=(
        f"{NOTES} Processor time to subscribe to all at once, reading, merging and indexing; once for each percentage, "
        "since it is the same run that figures 9 (e) and (g) are drawn from."
    ),
)
