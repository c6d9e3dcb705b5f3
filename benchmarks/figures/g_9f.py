"""[G] figure 9(f): matching time against the share of subscriptions that match."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments import filter_times
from benchmarks.experiments.claims import judged
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.g_workload import PAPER, SMALL, TIMED, TIMED_NOTES

SHARES = [0.001, 0.01, 0.03, 0.1]
QUICKLY = 2.0  # times as long at the end as at the beginning


def measure(run: Run) -> Iterator[Point]:
    varied = [(round(100 * share, 3), {"match_share": share}) for share in run["match_share"]]
    return filter_times.points(run, ["OPS", "G-ToPSS", "heliograph"], varied)


def judge(outcome: Outcome) -> Verdict:
    times, ours = outcome.growth("G-ToPSS"), outcome.growth("heliograph")
    sentence = (
        f"From {outcome.xs[0]:g} to {outcome.xs[-1]:g} % matching G-ToPSS takes {times:.1f} times as long, "
        f"{_each(outcome, 'G-ToPSS'):.1f} µs for each further match; heliograph {ours:.1f} times as long, "
        f"{_each(outcome, 'heliograph'):.2f} µs for each."
    )
    return judged([times >= QUICKLY], sentence)


def _each(outcome: Outcome, series: str) -> float:
    """Microseconds for each further match."""
    first, *_, last = outcome.line(series)
    further: float = last.facts["matches"] - first.facts["matches"]
    return 1e3 * (last.median - first.median) / further


EXPERIMENT = Experiment(
    name="g-9f",
    paper="[G] fig. 9 (f)",
    title="matching time against the share that matches",
    statement="The time grows very quickly with the share of subscriptions that match: each needs its bindings joined.",
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions that match", "%"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "match_share": SHARES, **TIMED},
        Scale.PAPER: {**PAPER, "match_share": SHARES, **TIMED},
    },
    measure=measure,
    judge=judge,
    notes=TIMED_NOTES,
)
