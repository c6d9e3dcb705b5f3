"""[G] figure 9(c): memory against the overlap of subscriptions, of the union graph and of everything."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments import filter_memory
from benchmarks.experiments.claims import judged
from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict
from benchmarks.experiments.filter_memory import MATRIX
from benchmarks.experiments.g_workload import NOTES, PAPER, SMALL

OVERLAPS = [0.0, 0.25, 0.5, 0.75, 0.95]
NOTICED = 0.95  # of the first: less of a change is not told from noise


def measure(run: Run) -> Iterator[Point]:
    names = ["G-ToPSS", MATRIX, "heliograph"]
    return filter_memory.points(run, names, [(100 * share, {"overlap": share}) for share in run["overlap"]])


def judge(outcome: Outcome) -> Verdict:
    matrix, whole, ours = (outcome.growth(name) for name in (MATRIX, "G-ToPSS", "heliograph"))
    sentence = (
        f"From {outcome.xs[0]:g} to {outcome.xs[-1]:g} % overlap the union graph goes to {matrix:.0%} of its memory, "
        f"everything to {whole:.0%}, and heliograph to {ours:.0%}: who holds an edge is still listed for each."
    )
    return judged([matrix < NOTICED, whole < NOTICED], sentence)


EXPERIMENT = Experiment(
    name="g-9c",
    paper="[G] fig. 9 (c)",
    title="memory against the overlap of subscriptions",
    statement=(
        "The space of subscriptions shrinks as more of them overlap; drawn for the union graph (the matrix) and for "
        "the matrix together with the subscriptions themselves."
    ),
    checked="every engine answers a batch as the workload must be answered before its memory counts",
    x=Axis("subscriptions that repeat another's nodes and edges", "%"),
    y=Axis("memory", "MiB"),
    parameters={
        Scale.SMALL: {**SMALL, "overlap": OVERLAPS, "publications": 5},
        Scale.PAPER: {**PAPER, "overlap": OVERLAPS, "publications": 5},
    },
    measure=measure,
    judge=judge,
    notes=f"{NOTES} {filter_memory.NOTES} That of the matrix alone is counted by tracemalloc while edges are inserted.",
)
