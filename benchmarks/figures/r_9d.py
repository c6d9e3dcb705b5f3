"""[R] figure 9(d): the size of the server's index against the ratio of overlap."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.claims import judged, span
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.filter_options import options
from benchmarks.experiments.r_front import MERGING, SERIES, front
from benchmarks.experiments.r_workload import NOTES, SECTION_5

RATIOS = [0.0, 0.25, 0.5, 0.75, 0.9]
FORMULA = "number × (1 − overlap)"
CLOSE = 0.1  # how far from the formula counts as approximately equal
FIRM = 0.2  # how much of a change counts as none


def measure(run: Run) -> Iterator[Point]:
    given = options(run)
    for ratio in run["contained"]:
        yield Point(FORMULA, 100 * ratio, [run["subscriptions"] * (1 - ratio)])
        for series in SERIES:
            run.tell(f"{series}, {ratio:.0%} contained")
            yield Point(series, 100 * ratio, [front(run.seed, given, ratio, series)])


def judge(outcome: Outcome) -> Verdict:
    pairs = zip(outcome.line("containment"), outcome.line(FORMULA), strict=True)
    off = max(abs(found.median / wanted.median - 1) for found, wanted in pairs)
    sizes = [point.median for point in outcome.line(MERGING)]
    sentence = (
        f"Containment's index is within {off:.1%} of the number × (1 − overlap) at every ratio; that of merging has "
        f"{span(sizes, ',.0f')} patterns over all ratios."
    )
    return judged([off <= CLOSE, max(sizes) / min(sizes) - 1 <= FIRM], sentence)


EXPERIMENT = Experiment(
    name="r-9d",
    paper="[R] fig. 9 (d)",
    title="index size against the ratio of overlap",
    statement=(
        "Containment leaves about number × (1 − overlap) subscriptions at the server; what merging leaves depends on "
        "its threshold and not on the overlap."
    ),
    checked="every plan notifies as the workload must be answered",
    x=Axis("subscriptions contained in another", "%"),
    y=Axis("patterns at the server"),
    parameters={
        Scale.SMALL: {
            **SECTION_5,
            "subscriptions": 2_000,
            "contained": RATIOS,
            "match_share": 0.001,
            "publications": 10,
        },
        Scale.PAPER: {
            **SECTION_5,
            "subscriptions": 100_000,
            "contained": RATIOS,
            "match_share": 0.001,
            "publications": 100,
        },
    },
    measure=measure,
    judge=judge,
    notes=f"{NOTES} A size is counted, so there is nothing to repeat.",
)
