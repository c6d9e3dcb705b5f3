"""[R] figure 9(c): the size of the server's index against the number of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.claims import judged, span
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.filter_options import options
from benchmarks.experiments.r_front import MERGING, SERIES, front
from benchmarks.experiments.r_workload import NOTES, OVERLAP, SECTION_5

ALONE = "centralised"


def measure(run: Run) -> Iterator[Point]:
    for number in run["subscriptions"]:
        yield Point(ALONE, number, [number])
        given = options(run, subscriptions=number)
        for series in SERIES:
            run.tell(f"{series}, {number:,} subscriptions")
            yield Point(series, number, [front(run.seed, given, run["contained"], series)])


def judge(outcome: Outcome) -> Verdict:
    shares = {
        name: [small.median / whole.median for small, whole in zip(*map(outcome.line, (name, ALONE)), strict=True)]
        for name in SERIES
    }
    told = {name: span(found, ".0%") for name, found in shares.items()}
    sentence = (
        f"Containment leaves {told['containment']} of the subscriptions at the server where half of them are "
        f"contained in others, merging {told[MERGING]}."
    )
    return judged([max(found) <= 0.55 for found in shares.values()], sentence)


EXPERIMENT = Experiment(
    name="r-9c",
    paper="[R] fig. 9 (c)",
    title="server index size against the number of subscriptions",
    statement="Compared with a centralised index, indexing leaves 50 % of the subscriptions at the server.",
    checked="every plan notifies as the workload must be answered",
    x=Axis("subscriptions"),
    y=Axis("patterns at the server"),
    parameters={
        Scale.SMALL: {
            **SECTION_5,
            "subscriptions": [1_000, 2_000, 3_000],
            "contained": OVERLAP,
            "match_share": 0.001,
            "publications": 10,
        },
        Scale.PAPER: {
            **SECTION_5,
            "subscriptions": [20_000, 40_000, 60_000, 80_000, 100_000],
            "contained": OVERLAP,
            "match_share": 0.001,
            "publications": 100,
        },
    },
    measure=measure,
    judge=judge,
    notes=f"{NOTES} A size is counted, so there is nothing to repeat. Merging may ask for any size: see figure 9 (g).",
)
