"""[R] figure 9(b): the paper's matcher against G-ToPSS, on one structure with a range of its own for each."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments import filter_times
from benchmarks.experiments.claims import judged, linear
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.r_workload import SECTION_5

NAMES = ("G-ToPSS", "RSS matcher", "heliograph")
FLAT = 0.25  # an exponent below which a time counts as constant
ONE_STRUCTURE = {
    **SECTION_5,
    "one_structure": True,
    "one_sided": 0.5,
    "publication_nodes": 25,  # the shared pattern and its value are the other 5 nodes and 11 edges
    "publication_edges": 79,
}


def measure(run: Run) -> Iterator[Point]:
    return filter_times.points(run, NAMES, [(number, {"subscriptions": number}) for number in run["subscriptions"]])


def judge(outcome: Outcome) -> Verdict:
    slopes = {name: outcome.exponent(name) for name in NAMES}
    times = outcome.last("G-ToPSS") / outcome.last("RSS matcher")
    sentence = (
        f"With as many matches at every number, G-ToPSS grows to the power {slopes['G-ToPSS']:.2f}, the RSS matcher to "
        f"the power {slopes['RSS matcher']:.2f} and heliograph {slopes['heliograph']:.2f}; at the largest number "
        f"G-ToPSS takes {times:,.0f} times as long as the RSS matcher."
    )
    return judged([linear(slopes["G-ToPSS"]), abs(slopes["RSS matcher"]) <= FLAT], sentence)


EXPERIMENT = Experiment(
    name="r-9b",
    paper="[R] fig. 9 (b)",
    title="RSS matcher against G-ToPSS on one structure",
    statement=(
        "All subscriptions share one structure and differ in their constraints, the number of matches is fixed: "
        "G-ToPSS rises to 2,500 ms at 100,000 subscriptions, the RSS matcher stays at about 20 ms."
    ),
    checked="notifications of every algorithm are those that the workload must give",
    x=Axis("subscriptions", log=True),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {
            **ONE_STRUCTURE,
            "subscriptions": [500, 1_000, 2_000, 4_000],
            "matches": 20,
            "publications": 3,
            "copies": 40,
            "repeats": 3,
        },
        Scale.PAPER: {
            **ONE_STRUCTURE,
            "subscriptions": [10_000, 20_000, 50_000, 100_000],
            "matches": 100,
            "publications": 10,
            "copies": 20,
            "repeats": 3,
        },
    },
    measure=measure,
    judge=judge,
    fitted=True,
    notes=(
        "Processor time of the matching. Ranges with one end and with two. Two faults of the printed matcher are "
        "mended, without which it cannot be flat; see docs/algorithms.md."
    ),
)
