"""[B] table 2: sizes of the valid, reachable and result sets against selectivity."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.experiments.b_points import CHECKED, TABLE_2, judge_sets, selectivities, set_points
from benchmarks.experiments.experiment import Axis, Experiment, Point, Run, Scale


def measure(run: Run) -> Iterator[Point]:
    for name, given in selectivities(run):
        yield from set_points(name, given, TABLE_2[name])


EXPERIMENT = Experiment(
    name="b-table2",
    paper="[B] table 2",
    title="sizes of node sets against selectivity",
    statement=(
        "On the exchange of table 1, averages over 1,000 events: from selectivity 1/16 to 1 the valid nodes grow from "
        "693 to 11,086, those reachable through valid nodes from 34 to 4,837, the results from 3 to 4,837 and the "
        "edges evaluated from 47 to 8,588."
    ),
    checked=CHECKED,
    x=Axis("selectivity"),
    y=Axis("nodes or edges"),
    parameters={
        Scale.SMALL: {"scale": 1.0, "divisors": [16, 8, 4, 2, 1], "events": 200, "repeats": 3},
        Scale.PAPER: {"scale": 1.0, "divisors": [16, 8, 4, 2, 1], "events": 400, "repeats": 5},
    },
    measure=measure,
    judge=judge_sets,
    table=True,
    notes=(
        "N_V are the nodes that the index gives, N_R the targets of the publisher and of every result, N_R ∩ N_V the "
        "results, out(…) their edges. The targeting is drawn to be true of that share of the events; the paper's is "
        "only approximately so: its 7,064 valid nodes at 1/2 are 64 % of 11,086. The JSON has the standard error of "
        "each average."
    ),
)
