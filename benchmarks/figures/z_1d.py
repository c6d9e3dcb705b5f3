"""[Z] figure 1 (d): the time of an update against the share of queries that match."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.z_filtering import CHECKED, NOTES, beside, filtering_points, orders, setting, verdict


def measure(run: Run) -> Iterator[Point]:
    for percent in run["percents"]:
        run.tell(f"{percent} % of the queries match")
        yield from filtering_points(percent, setting(run, matching=percent / 100))


def judge(outcome: Outcome) -> Verdict:
    word, text = orders(outcome)
    return verdict(word, text, beside(outcome))


EXPERIMENT = Experiment(
    name="z-1d",
    paper="[Z] fig. 1 (d)",
    title="filtering time against the matching share",
    statement=(
        "With 50,000 queries of 5 edges on average, of which 5, 10 and 15 % match the final graph, INV stays more than "
        "four orders of magnitude quicker than BF."
    ),
    checked=CHECKED,
    x=Axis("queries that match", "%"),
    y=Axis("time an update", "µs", log=True),
    parameters={
        Scale.SMALL: {
            "vertices": 120_000,
            "updates": 100_000,
            "queries": 5_000,
            "length": 5,
            "percents": [5, 10, 15],
            "scanned": 20,
            "walked": 10_000,
            "repeats": 3,
        },
        Scale.PAPER: {
            "vertices": 1_200_000,
            "updates": 1_000_000,
            "queries": 50_000,
            "length": 5,
            "percents": [5, 10, 15],
            "scanned": 40,
            "walked": 20_000,
            "repeats": 3,
        },
    },
    measure=measure,
    judge=judge,
    notes=NOTES,
)
