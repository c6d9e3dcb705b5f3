"""[B] figure 14: time to the first result against selectivity."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.b_exchange import OURS
from benchmarks.experiments.b_points import (
    BFS,
    CHECKED_FIRST,
    EVALUATE,
    INDEX_BFS,
    NOTES_FIRST,
    SKIPPING,
    first_points,
    ratios,
    selectivities,
    span,
)
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict, Word


def measure(run: Run) -> Iterator[Point]:
    for name, given in selectivities(run):
        yield from first_points(name, given)


def judge(outcome: Outcome) -> Verdict:
    """About half: 0.35 to 0.65 of the baseline's time, everywhere."""
    shares = ratios(outcome, EVALUATE, INDEX_BFS)
    word = Word.DIFFERENT
    if all(share < 1 for share in shares):
        word = Word.REPRODUCED if all(0.35 <= share <= 0.65 for share in shares) else Word.PARTLY
    sentence = (
        f"Evaluate has its first node after {span(shares)} of the index baseline's time; skipping components takes "
        f"{span(ratios(outcome, SKIPPING, INDEX_BFS))} of it, walking without an index "
        f"{span(ratios(outcome, BFS, INDEX_BFS))}, a call of heliograph's stream "
        f"{span(ratios(outcome, OURS, INDEX_BFS))}."
    )
    return Verdict(word, sentence)


EXPERIMENT = Experiment(
    name="b-14",
    paper="[B] fig. 14",
    title="time to the first result against selectivity",
    statement=(
        "Evaluate gives its first result always about 50 % sooner than the index baseline, since it need not take all "
        "valid nodes from the index before."
    ),
    checked=CHECKED_FIRST,
    x=Axis("selectivity"),
    y=Axis("time to the first node", "ms", log=True),
    parameters={
        Scale.SMALL: {"scale": 1.0, "divisors": [16, 8, 4, 2, 1], "events": 200, "repeats": 3},
        Scale.PAPER: {"scale": 1.0, "divisors": [16, 8, 4, 2, 1], "events": 400, "repeats": 5},
    },
    measure=measure,
    judge=judge,
    notes=NOTES_FIRST,
)
