"""[Z] figure 1 (b): the time of an update against the number of queries."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict, Word
from benchmarks.experiments.z_filtering import (
    CHECKED,
    NOTES,
    OURS,
    PACKED_INV,
    PAIRS,
    beside,
    filtering_points,
    orders,
    setting,
    verdict,
)


def measure(run: Run) -> Iterator[Point]:
    for queries in run["queries"]:
        run.tell(f"{queries:,} queries")
        yield from filtering_points(queries, setting(run, queries=queries))


def judge(outcome: Outcome) -> Verdict:
    """Two statements: every time grows with the database, and INV is four orders ahead."""
    grown = {name: outcome.growth(name) for pair in PAIRS for name in pair}
    word, text = orders(outcome)
    if min(grown.values()) <= 1:
        word = Word.DIFFERENT if word is Word.DIFFERENT else Word.PARTLY
    times = float(outcome.xs[-1]) / float(outcome.xs[0])
    return verdict(
        word,
        text,
        f"{times:g} times the queries take "
        + ", ".join(f"{name} {growth:.2f}" for name, growth in grown.items())
        + f" and heliograph {outcome.growth(OURS):.2f} times as long",
        f"{beside(outcome)}, which takes {1 / outcome.last(PACKED_INV):.1f} million updates a second at the last point",
    )


EXPERIMENT = Experiment(
    name="z-1b",
    paper="[Z] fig. 1 (b)",
    title="filtering time against the number of queries",
    statement=(
        "With queries of 5 edges on average, 5 % of which match, the time of an update grows with the database for "
        "both algorithms, and with 50,000 queries INV is 45,000 times as quick as BF. (The rates that the paper sums "
        "up with, over 2 million updates a second against about 500, are 4,000 apart.)"
    ),
    checked=CHECKED,
    x=Axis("queries in the database"),
    y=Axis("time an update", "µs", log=True),
    parameters={
        Scale.SMALL: {
            "vertices": 120_000,
            "updates": 100_000,
            "queries": [1_000, 3_000, 5_000],
            "length": 5,
            "matching": 0.05,
            "scanned": 20,
            "walked": 10_000,
            "repeats": 3,
        },
        Scale.PAPER: {
            "vertices": 1_200_000,
            "updates": 1_000_000,
            "queries": [10_000, 30_000, 50_000],
            "length": 5,
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
