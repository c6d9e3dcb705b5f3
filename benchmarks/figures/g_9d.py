"""[G] figure 9(d): memory against the size of subscriptions."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments import filter_memory
from benchmarks.experiments.claims import judged
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.g_sizes import steps
from benchmarks.experiments.g_workload import ALL, NOTES, PAPER, SIZES, SMALL, named, sized


def measure(run: Run) -> Iterator[Point]:
    return filter_memory.points(run, ALL, [(named(size), sized(size)) for size in run["sizes"]])


def judge(outcome: Outcome) -> Verdict:
    found = steps(outcome, "G-ToPSS")
    ours = steps(outcome, "heliograph")
    sentence = (
        f"Twice the edges take G-ToPSS {found.doubled:.2f} times the memory and heliograph {ours.doubled:.2f} times; "
        f"more nodes with as many edges {found.nodes:.2f} and {ours.nodes:.2f} times."
    )
    return judged([found.doubled > 1.25, found.doubled > found.nodes], sentence)


EXPERIMENT = Experiment(
    name="g-9d",
    paper="[G] fig. 9 (d)",
    title="memory against the size of subscriptions",
    statement=(
        "The drawing has no sentence of its own; the analysis of the paper makes space grow with the edges, for each "
        "of which a subscription stands in a list, and not with the nodes."
    ),
    checked="every engine answers a batch as the workload must be answered before its memory counts",
    x=Axis("nodes and edges of a subscription"),
    y=Axis("memory", "MiB"),
    parameters={
        Scale.SMALL: {**SMALL, "sizes": SIZES, "publications": 5},
        Scale.PAPER: {**PAPER, "sizes": SIZES, "publications": 5},
    },
    measure=measure,
    judge=judge,
    notes=f"{NOTES} {filter_memory.NOTES}",
)
