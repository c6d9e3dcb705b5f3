"""Peers of the route: events through the advertising exchange of [B]."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.experiments import peers_route as peers
from benchmarks.experiments.experiment import Axis, Experiment, Point, Run, Scale
from benchmarks.experiments.peers import OURS, against_ours
from benchmarks.filter_workloads import Tables
from benchmarks.route_workloads import Case, load_kernels, loaded, warmed
from heliograph.workloads.route import generate_route


def heliograph(tables: Tables) -> float:
    return warmed(Case(loaded(tables), tables)).seconds()


PEERS: dict[str, Callable[[Tables], float]] = {
    OURS: heliograph,
    "plain Python walk": peers.plain_walk,
    "networkx": peers.networkx,
}


def measure(run: Run) -> Iterator[Point]:
    load_kernels()
    for selectivity in run["selectivities"]:
        tables = generate_route(run.seed, scale=run["scale"], events=run["events"], selectivity=selectivity)
        for name, seconds in PEERS.items():
            run.tell(f"selectivity {selectivity:g}, {name}")
            yield Point(name, selectivity, [seconds(tables) * 1e6 for _ in range(run["repeats"])])


EXPERIMENT = Experiment(
    name="peers-route",
    paper="Peers",
    title="route: events through an exchange",
    statement="",
    checked="each reaches the nodes that the workload must reach, for every event",
    x=Axis("share of events that a node accepts", log=True),
    y=Axis("time an event", "µs", log=True),
    parameters={
        Scale.SMALL: {"selectivities": [1 / 16, 1 / 8, 1 / 4, 1 / 2], "scale": 0.1, "events": 100, "repeats": 3},
        Scale.PAPER: {"selectivities": [1 / 16, 1 / 8, 1 / 4, 1 / 2, 0.9], "scale": 1.0, "events": 200, "repeats": 3},
    },
    measure=measure,
    judge=against_ours,
    notes="The walk and networkx call one compiled Python lambda for each node met; events are parsed before.",
)
