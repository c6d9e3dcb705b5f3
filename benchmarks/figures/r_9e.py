"""[R] figure 9(e): false positives against the merge percentage."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.claims import judged
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.r_merging import PAPER, SMALL, sweep
from benchmarks.experiments.r_workload import NOTES

PAPERS_90 = 0.13  # per cent, at a merge percentage of 90: [R] section 5.1
ALL, ANSWERS = "of all publications", "of the mergers' answers"


def measure(run: Run) -> Iterator[Point]:
    for share, found in sweep(run):
        x = round(100 * share, 3)
        facts = {"published": found.published, "went on": found.sent, "in vain": found.vain, "answers": found.answers}
        yield Point(ALL, x, [100 * found.vain / found.published], facts)
        yield Point(ANSWERS, x, [100 * found.false / max(1, found.answers)], facts)


def judge(outcome: Outcome) -> Verdict:
    at = max(x for x in map(float, outcome.xs) if x <= 90)
    found, answers = (outcome.at(name, at) for name in (ALL, ANSWERS))
    rises = outcome.last(ALL) >= outcome.first(ALL)
    sentence = (
        f"Merged by {at:g} %, {found:.2f} % of the publications go to the shards in vain, and {answers:.2f} % of the "
        f"mergers' answers to publications that match something are false; the paper says {PAPERS_90} %, of what is "
        "not told, and its publications are not told either: here most are strangers that match nothing."
    )
    return judged([rises, min(found, answers) <= 1, max(found, answers) <= 1], sentence)


EXPERIMENT = Experiment(
    name="r-9e",
    paper="[R] fig. 9 (e)",
    title="false positives against the merge percentage",
    statement=(
        "Of 10,000 subscriptions and 20,000 publications, a merge percentage of 90 % gives 0.13 % false positives; "
        "the more is merged, the more of them."
    ),
    checked="every plan notifies as the workload must be answered",
    x=Axis("merge percentage", "%"),
    y=Axis("false positives", "%"),
    parameters={Scale.SMALL: SMALL, Scale.PAPER: PAPER},
    measure=measure,
    judge=judge,
    notes=(
        f"{NOTES} Mergers are made by what patterns share: nothing was published before. Counted, so there is nothing "
        "to repeat."
    ),
)
