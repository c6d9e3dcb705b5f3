"""[R] figure 9(a): time of an index look-up against the number of subscriptions, of which a fixed share matches."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments import filter_times
from benchmarks.experiments.claims import judged, linear
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.r_workload import SECTION_5

NAMES = ("RSS matcher", "G-ToPSS", "heliograph")


def measure(run: Run) -> Iterator[Point]:
    return filter_times.points(run, NAMES, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge(outcome: Outcome) -> Verdict:
    slope, ours = outcome.exponent("RSS matcher"), outcome.exponent("heliograph")
    last = outcome.line("RSS matcher")[-1].facts
    sentence = (
        f"The time of the RSS matcher grows as the number of subscriptions to the power {slope:.2f}, with "
        f"{last['candidates'] / last['matches']:,.0f} of them taken to the join for each that matches; that of "
        f"heliograph to the power {ours:.2f}."
    )
    return judged([linear(slope)], sentence)


EXPERIMENT = Experiment(
    name="r-9a",
    paper="[R] fig. 9 (a)",
    title="index look-up against the number of subscriptions",
    statement=(
        "With a fixed share of matching subscriptions, matches and the time of a look-up at the server both grow "
        "linearly with the number of subscriptions."
    ),
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {
            **SECTION_5,
            "overlap": 0.5,
            "subscriptions": [1_000, 2_000, 4_000, 6_000],
            "match_share": 0.001,
            "publications": 5,
            "copies": 100,
            "repeats": 3,
        },
        Scale.PAPER: {
            **SECTION_5,
            "overlap": 0.5,
            "subscriptions": [20_000, 40_000, 60_000, 80_000, 100_000],
            "match_share": 0.001,
            "publications": 100,
            "copies": 5,
            "repeats": 3,
        },
    },
    measure=measure,
    judge=judge,
    fitted=True,
    notes=(
        "Processor time of the matching, publications interned before; heliograph takes each of them `copies` times in "
        "a call, in other orders, the others once."
    ),
)
