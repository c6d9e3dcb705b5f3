"""[R] figure 9(g): the size of the server's index against the merge percentage."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from benchmarks.experiments.claims import judged
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.r_merging import PAPER, SMALL, sweep
from benchmarks.experiments.r_workload import NOTES

FORMULA = "number × (1 − percentage)"
REACHED = 1.1  # times the formula


def measure(run: Run) -> Iterator[Point]:
    for share, found in sweep(run):
        x = round(100 * share, 3)
        yield Point("merging", x, [found.front])
        yield Point(FORMULA, x, [run["subscriptions"] * (1 - share)])


def judge(outcome: Outcome) -> Verdict:
    line, wanted = outcome.line("merging"), outcome.line(FORMULA)
    falls = all(after.median <= before.median for before, after in pairwise(line))
    above = line[-1].median > wanted[-1].median
    reached = [at.x for at, goal in zip(line, wanted, strict=True) if at.median <= REACHED * goal.median]
    sentence = (
        f"The index {'shrinks' if falls else 'does not shrink'} at every step, to {line[-1].median:,.0f} patterns at "
        f"{line[-1].x:g} %, {line[-1].median / wanted[-1].median:.1f} times number × (1 − percentage); what was asked "
        f"for is reached up to {max(map(float, reached), default=0):g} %."
    )
    return judged([falls, above], sentence)


EXPERIMENT = Experiment(
    name="r-9g",
    paper="[R] fig. 9 (g)",
    title="index size against the merge percentage",
    statement=(
        "The index shrinks as the merge percentage rises, to 629 at 99 %; it stays above number × (1 − percentage), "
        "since subscriptions without anything in common are left alone."
    ),
    checked="every plan notifies as the workload must be answered",
    x=Axis("merge percentage", "%"),
    y=Axis("patterns at the server"),
    parameters={Scale.SMALL: SMALL, Scale.PAPER: PAPER},
    measure=measure,
    judge=judge,
    notes=f"{NOTES} Counted, so there is nothing to repeat.",
)
