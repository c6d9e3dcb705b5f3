"""[Z] figure 1 (c): the time of an update against the length of queries."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.z_filtering import CHECKED, NOTES, beside, filtering_points, orders, setting, verdict


def measure(run: Run) -> Iterator[Point]:
    for length in run["lengths"]:
        run.tell(f"queries of {length} edges")
        yield from filtering_points(length, setting(run, length=length))


def judge(outcome: Outcome) -> Verdict:
    word, text = orders(outcome)
    return verdict(word, text, beside(outcome))


EXPERIMENT = Experiment(
    name="z-1c",
    paper="[Z] fig. 1 (c)",
    title="filtering time against the length of queries",
    statement=(
        "With 50,000 queries, 5 % of which match, of 4, 5 and 6 edges on average, INV stays more than four orders of "
        "magnitude quicker than BF."
    ),
    checked=CHECKED,
    x=Axis("average length of a query", "edges"),
    y=Axis("time an update", "µs", log=True),
    parameters={
        Scale.SMALL: {
            "vertices": 120_000,
            "updates": 100_000,
            "queries": 5_000,
            "lengths": [4, 5, 6],
            "matching": 0.05,
            "scanned": 20,
            "walked": 10_000,
            "repeats": 3,
        },
        Scale.PAPER: {
            "vertices": 1_200_000,
            "updates": 1_000_000,
            "queries": 50_000,
            "lengths": [4, 5, 6],
            "matching": 0.05,
            "scanned": 40,
            "walked": 20_000,
            "repeats": 3,
        },
    },
    measure=measure,
    judge=judge,
    notes=NOTES,
)
