"""[G] figure 9(g): G-ToPSS against OPS, where edges have many labels and where they have few."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments import filter_times
from benchmarks.experiments.claims import judged, span
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.g_workload import NUMBERS, PAPER, PAPER_NUMBERS, SMALL, TIMED, TIMED_NOTES

NAMES = ("OPS", "G-ToPSS", "heliograph")


def measure(run: Run) -> Iterator[Point]:
    """With the generator's own number of labels, and with few."""
    yield from filter_times.points(run, NAMES, [(number, {"subscriptions": number}) for number in run["subscriptions"]])
    few = [(number, {"subscriptions": number, "properties": run["few_properties"]}) for number in run["subscriptions"]]
    for point in filter_times.points(run, NAMES, few):
        yield point._replace(series=f"{point.series}, few labels")


def judge(outcome: Outcome) -> Verdict:
    """OPS is slower everywhere, and grows faster, in either setting."""
    claims, texts = [], []
    for few in ("", ", few labels"):
        lines = (outcome.line(f"{name}{few}") for name in NAMES[:2])
        times = [slow.median / fast.median for slow, fast in zip(*lines, strict=True)]
        slopes = [outcome.exponent(f"{name}{few}") for name in NAMES[:2]]
        claims += [min(times) > 1, slopes[0] > slopes[1]]
        texts.append(
            f"{span(times, '.1f')} times as long as G-ToPSS and grows as the number to the power "
            f"{slopes[0]:.2f} (G-ToPSS {slopes[1]:.2f})"
        )
    sentence = (
        f"With many edge labels OPS takes {texts[0]}; with few it takes {texts[1]}. "
        "How many labels the paper had is not said."
    )
    return judged(claims, sentence)


EXPERIMENT = Experiment(
    name="g-9g",
    paper="[G] fig. 9 (g)",
    title="G-ToPSS against OPS",
    statement=(
        "OPS, which takes every node of a subscription for a variable, becomes slower very quickly with the number of "
        "subscriptions; G-ToPSS is always faster."
    ),
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions"),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {**SMALL, "subscriptions": NUMBERS, "few_properties": 5, **TIMED},
        Scale.PAPER: {**PAPER, "subscriptions": PAPER_NUMBERS, "few_properties": 5, **TIMED},
    },
    measure=measure,
    judge=judge,
    fitted=True,
    notes=(
        f"{TIMED_NOTES} [G] tells of OPS in words only; this is the classic algorithm of that description. Edges have "
        "one of 50 labels, the generator's own number; the setting with few was added once the first had contradicted "
        "the paper, to see what decides."
    ),
)
