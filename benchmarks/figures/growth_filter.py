"""Growth of the filter: time of a publication against the number of subscriptions, as many matches at every number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict, Word
from benchmarks.filter_workloads import make


def measure(run: Run) -> Iterator[Point]:
    """Batches of different publications, each with as many matches."""
    for subscriptions in run["subscriptions"]:
        run.tell(f"{subscriptions:,} subscriptions")
        options: dict[str, Any] = {"publications": run["publications"], "matches": run["matches"]}
        case = make(run.seed, run["batch"], {"subscriptions": subscriptions, **options})
        samples = [case.seconds() * 1e6 for _ in range(run["repeats"])]
        found = case.engine.publish(case.batch)
        yield Point("heliograph", subscriptions, samples, {"candidates a match": found.stats.candidates / len(found)})


def judge(outcome: Outcome) -> Verdict:
    slope = outcome.exponent("heliograph")
    times = float(outcome.xs[-1]) / float(outcome.xs[0])
    sentence = (
        f"{times:,.0f} times the subscriptions take {outcome.growth('heliograph'):.1f} times as long where matches stay "
        f"as many: the time grows as the number to the power {slope:.2f}."
    )
    return Verdict(Word.OURS, sentence)


EXPERIMENT = Experiment(
    name="growth-filter",
    paper="Growth",
    title="filter: time against subscriptions",
    statement="",
    checked="notifications are those that the workload must give",
    x=Axis("subscriptions", log=True),
    y=Axis("time a publication", "µs", log=True),
    parameters={
        Scale.SMALL: {
            "subscriptions": [1_000, 10_000, 100_000],
            "publications": 10,
            "matches": 50,
            "batch": 200,
            "repeats": 5,
        },
        Scale.PAPER: {
            "subscriptions": [1_000, 10_000, 100_000, 1_000_000],
            "publications": 10,
            "matches": 50,
            "batch": 1_000,
            "repeats": 5,
        },
    },
    measure=measure,
    judge=judge,
    fitted=True,
)
