"""[B] figure 12: run time against selectivity, beside the walk without an index."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.b_exchange import OURS, TESTS, WALK
from benchmarks.experiments.b_points import (
    BFS,
    CHECKED,
    EVALUATE,
    NOTES,
    RUNNING,
    ratios,
    selectivities,
    span,
    time_points,
)
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict, Word

_WINS = ("1/2", "1")  # where the paper's index is ahead


def measure(run: Run) -> Iterator[Point]:
    for name, given in selectivities(run):
        yield from time_points(name, given, (*RUNNING, TESTS))


def judge(outcome: Outcome) -> Verdict:
    """The paper: BFS is ahead while little is reachable, evaluate from selectivity 1/2 on."""
    ahead = dict(zip(outcome.xs, ratios(outcome, BFS, EVALUATE), strict=True))
    late = [ratio > 1 for x, ratio in ahead.items() if x in _WINS]
    early = [ratio < 1 for x, ratio in ahead.items() if x not in _WINS]
    word = Word.REPRODUCED if all(late) and all(early) else Word.PARTLY if any(late) else Word.DIFFERENT
    sentence = (
        f"BFS takes {span(list(ahead.values()))} times as long as evaluate ({outcome.xs[0]}: "
        f"{ahead[outcome.xs[0]]:.2f}, {outcome.xs[-1]}: {ahead[outcome.xs[-1]]:.2f}); a compiled test takes "
        f"{_test_ns(outcome):.0f} ns at most on average where the paper's takes 20,000; heliograph is "
        f"{span(ratios(outcome, BFS, OURS))} times as quick as BFS and {span(ratios(outcome, WALK, OURS))} times as "
        "quick as the plain walk."
    )
    return Verdict(word, sentence)


def _test_ns(outcome: Outcome) -> float:
    """The most that a test took on average at any selectivity, what it takes to lay events out included."""
    return max(point.median * 1e6 / max(1.0, float(point.facts["N_R"])) for point in outcome.line(TESTS))


EXPERIMENT = Experiment(
    name="b-12",
    paper="[B] fig. 12",
    title="run time against selectivity, beside BFS",
    statement=(
        "BFS, which tests every node that it meets, does well while few are reachable, but a test takes 20 µs without "
        "the index: from about 2,000 reachable nodes on (selectivity 1/2) the index is quicker. The axis ends at 180 "
        "ms."
    ),
    checked=CHECKED,
    x=Axis("selectivity"),
    y=Axis("time an event", "ms", log=True),
    parameters={
        Scale.SMALL: {"scale": 1.0, "divisors": [16, 8, 4, 2, 1], "events": 200, "repeats": 3},
        Scale.PAPER: {"scale": 1.0, "divisors": [16, 8, 4, 2, 1], "events": 400, "repeats": 5},
    },
    measure=measure,
    judge=judge,
    notes=(
        f"{NOTES} `tests alone` is what BFS spends in testing the nodes of N_R. The plain walk calls a Python lambda "
        "for each node that it meets."
    ),
)
