"""Peers of the watch's metrics: exact betweenness of every vertex after each added edge."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.experiments import peers_betweenness as peers
from benchmarks.experiments.experiment import Axis, Experiment, Point, Run, Scale
from benchmarks.experiments.peers import OURS, against_ours
from benchmarks.experiments.peers_betweenness import Growing, Timed, check

PEERS: dict[str, Callable[[Growing], Timed]] = {
    OURS: peers.heliograph,
    "NetworKit, dynamic": peers.networkit_dynamic,
    "NetworKit, anew": peers.networkit,
    "networkx, anew": peers.networkx,
}


def measure(run: Run) -> Iterator[Point]:
    for vertices in run["vertices"]:
        taken: dict[str, list[Timed]] = {name: [] for name in PEERS}
        for repeat in range(run["repeats"]):
            given = Growing.of(run.seed + repeat, vertices, run["edges"])
            for name, time_of in PEERS.items():
                run.tell(f"{vertices:,} vertices, {name}")
                taken[name].append(time_of(given))
                check(taken[OURS][-1].values, taken[name][-1].values)
        for name, each in taken.items():
            yield Point(name, vertices, [timed.seconds * 1e3 for timed in each])


EXPERIMENT = Experiment(
    name="peers-betweenness",
    paper="Peers",
    title="watch: betweenness of every vertex after each added edge",
    statement="",
    checked="the values of all four agree in the end to 1e-9",
    x=Axis("vertices", log=True),
    y=Axis("time an added edge", "ms", log=True),
    parameters={
        Scale.SMALL: {"vertices": [100, 200, 400], "edges": 20, "repeats": 3},
        Scale.PAPER: {"vertices": [250, 500, 1_000, 2_000], "edges": 20, "repeats": 3},
    },
    measure=measure,
    judge=against_ours,
    notes="Five directed edges a vertex; one thread each. “Anew” works all values out once more, timed for one edge.",
    needs=("networkit",),
)
