"""[G] figure 9(h): OPS against asking one subscription after the other."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments import filter_times
from benchmarks.experiments.claims import judged, span
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.g_workload import NUMBERS, PAPER, PAPER_NUMBERS, SMALL, TIMED, TIMED_NOTES

FAR = 3.0  # times as long


def measure(run: Run) -> Iterator[Point]:
    names = ["naive", "OPS", "heliograph"]
    return filter_times.points(run, names, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge(outcome: Outcome) -> Verdict:
    times = [slow.median / fast.median for slow, fast in zip(*map(outcome.line, ("naive", "OPS")), strict=True)]
    sentence = (
        f"Asking one subscription after the other takes {span(times, '.1f')} times as long as OPS, and "
        f"{outcome.last('naive') / outcome.last('heliograph'):,.0f} times as long as heliograph at the largest number."
    )
    return judged([min(times) >= FAR, min(times) > 1], sentence)


EXPERIMENT = Experiment(
    name="g-9h",
    paper="[G] fig. 9 (h)",
    title="OPS against naive",
    statement="OPS scales worse than G-ToPSS, but is far better than checking all subscriptions one after the other.",
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "subscriptions": NUMBERS, **TIMED},
        Scale.PAPER: {**PAPER, "subscriptions": PAPER_NUMBERS, **TIMED},
    },
    measure=measure,
    judge=judge,
    fitted=True,
    notes=TIMED_NOTES,
)
