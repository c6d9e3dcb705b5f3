"""[B] figure 16: time to the first result against the size of the graph."""

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
    sizes,
)
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict, Word


def measure(run: Run) -> Iterator[Point]:
    for times, given in sizes(run):
        yield from first_points(times, given)


def judge(outcome: Outcome) -> Verdict:
    """Scales better: what a larger graph adds to evaluate's time is well below what it adds to the baseline's."""
    added = {name: outcome.last(name) - outcome.first(name) for name in (EVALUATE, INDEX_BFS)}
    share = added[EVALUATE] / added[INDEX_BFS] if added[INDEX_BFS] > 0 else float("inf")
    word = Word.REPRODUCED if share <= 0.8 else Word.PARTLY if share < 1 else Word.DIFFERENT
    grown = ", ".join(f"{name} {outcome.growth(name):.1f}" for name in (EVALUATE, SKIPPING, INDEX_BFS, BFS, OURS))
    times = float(outcome.xs[-1]) / float(outcome.xs[0])
    sentence = (
        f"{times:g} times the graph adds {added[EVALUATE]:.2g} ms to evaluate and {added[INDEX_BFS]:.2g} ms to the "
        f"index baseline ({share:.2f} of it), and takes so many times as long: {grown}."
    )
    return Verdict(word, sentence)


EXPERIMENT = Experiment(
    name="b-16",
    paper="[B] fig. 16",
    title="time to the first result against the size of the graph",
    statement=(
        "As the graph grows to five times its size, at selectivity 1/4, the time to evaluate's first result grows more "
        "slowly than that of the index baseline."
    ),
    checked=CHECKED_FIRST,
    x=Axis("times the size of the exchange"),
    y=Axis("time to the first node", "ms", log=True),
    parameters={
        Scale.SMALL: {"scale": 1.0, "times": [1, 2, 3], "divisor": 4, "events": 200, "repeats": 3},
        Scale.PAPER: {"scale": 1.0, "times": [1, 2, 3, 4, 5], "divisor": 4, "events": 400, "repeats": 5},
        Scale.LARGE: {"scale": 1.0, "times": [1, 2, 5, 10], "divisor": 4, "events": 400, "repeats": 5},
    },
    measure=measure,
    judge=judge,
    notes=NOTES_FIRST,
)
