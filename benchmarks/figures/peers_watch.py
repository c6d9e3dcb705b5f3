"""Peers of the watch: which concrete queries does an added edge make true?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.experiments import peers_watch as peers
from benchmarks.experiments.experiment import Axis, Experiment, Point, Run, Scale
from benchmarks.experiments.peers import OURS, against_ours
from benchmarks.experiments.peers_watch import Window
from benchmarks.watch_workloads import load_kernels
from heliograph.workloads.watch import generate_watch

PEERS: dict[str, Callable[[Window], float]] = {
    OURS: peers.heliograph,
    "plain Python (INV)": peers.inv,
    "DuckDB join": peers.duckdb,
    "pyoxigraph ASK loop": peers.pyoxigraph,
    "rdflib": peers.rdflib,
}


def measure(run: Run) -> Iterator[Point]:
    load_kernels()
    for queries in run["queries"]:
        options = {"vertices": run["vertices"], "updates": run["edges"], "queries": queries, "matching": 0.5}
        tables = generate_watch(run.seed, **options)
        for name, seconds in PEERS.items():
            if queries <= run["most"].get(name, queries):
                run.tell(f"{queries:,} queries, {name}")
                window = Window.of(tables, run["window"].get(name, run["window"][OURS]))
                yield Point(name, queries, [seconds(window) * 1e6 for _ in range(run["repeats"])])


EXPERIMENT = Experiment(
    name="peers-watch",
    paper="Peers",
    title="watch: concrete queries after each added edge",
    statement="",
    checked="each tells what the workload must tell, for every update of the window",
    x=Axis("queries", log=True),
    y=Axis("time an update", "µs", log=True),
    parameters={
        Scale.SMALL: {
            "queries": [100, 1_000, 5_000],
            "vertices": 24_000,
            "edges": 20_000,
            "window": {OURS: 10_000, "DuckDB join": 10, "pyoxigraph ASK loop": 4, "rdflib": 2},
            "most": {"rdflib": 1_000, "pyoxigraph ASK loop": 5_000},
            "repeats": 3,
        },
        Scale.PAPER: {
            "queries": [100, 1_000, 10_000, 50_000],
            "vertices": 1_200_000,
            "edges": 1_000_000,
            "window": {OURS: 20_000, "DuckDB join": 10, "pyoxigraph ASK loop": 10, "rdflib": 2},
            "most": {"rdflib": 1_000},
            "repeats": 3,
        },
    },
    measure=measure,
    judge=against_ours,
    notes="Five edges a query on average. The window of updates that is timed is shorter for the slower ones.",
)
