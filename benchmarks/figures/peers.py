"""Heliograph beside what Python users have at hand, one table a verb."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.experiments import peers_betweenness as peers_betweenness
from benchmarks.experiments import peers_filter as peers_filter
from benchmarks.experiments import peers_route as peers_route
from benchmarks.experiments import peers_watch as peers_watch
from benchmarks.experiments.experiment import Axis, Experiment, Point, Run, Scale
from benchmarks.experiments.peers import OURS, against_ours
from benchmarks.experiments.peers_betweenness import Growing, Timed, check
from benchmarks.experiments.peers_watch import Window
from benchmarks.filter_workloads import Tables, WrongAnswer
from benchmarks.route_workloads import Case, loaded, warmed
from benchmarks.route_workloads import load_kernels as load_kernels_route
from benchmarks.watch_workloads import load_kernels as load_kernels_watch
from heliograph.workloads.filter import generate_filter
from heliograph.workloads.route import generate_route
from heliograph.workloads.watch import generate_watch

# --- Peers of the watch's metrics: exact betweenness of every vertex after each added edge ------------------------


PEERS_BETWEENNESS: dict[str, Callable[[Growing], Timed]] = {
    OURS: peers_betweenness.heliograph,
    "NetworKit, dynamic": peers_betweenness.networkit_dynamic,
    "NetworKit, anew": peers_betweenness.networkit,
    "networkx, anew": peers_betweenness.networkx,
}


def measure_betweenness(run: Run) -> Iterator[Point]:
    for vertices in run["vertices"]:
        taken: dict[str, list[Timed]] = {name: [] for name in PEERS_BETWEENNESS}
        for repeat in range(run["repeats"]):
            given = Growing.of(run.seed + repeat, vertices, run["edges"])
            for name, time_of in PEERS_BETWEENNESS.items():
                run.tell(f"{vertices:,} vertices, {name}")
                taken[name].append(time_of(given))
                check(taken[OURS][-1].values, taken[name][-1].values)
        for name, each in taken.items():
            yield Point(name, vertices, [timed.seconds * 1e3 for timed in each])


EXPERIMENT_BETWEENNESS = Experiment(
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
    measure=measure_betweenness,
    judge=against_ours,
    notes="Five directed edges a vertex; one thread each. “Anew” works all values out once more, timed for one edge.",
    needs=("networkit",),
)


# --- Peers of the filter: one publication against subscriptions with up to two variables --------------------------


PEERS_FILTER: dict[str, Callable[[Tables, list[str]], Callable[[str], Any]]] = {
    OURS: peers_filter.heliograph,
    "pyoxigraph ASK loop": peers_filter.pyoxigraph,
    "DuckDB join": peers_filter.duckdb,
    "plain Python": partial(peers_filter.heliograph, algorithm="naive"),
    "rdflib": peers_filter.rdflib,
}


def measure_filter(run: Run) -> Iterator[Point]:
    for subscriptions in run["subscriptions"]:
        counts = {"publications": run["publications"], "matches": run["matches"]}
        tables = generate_filter(run.seed, subscriptions=subscriptions, **counts)
        for name, ready in PEERS_FILTER.items():
            if subscriptions <= run["most"].get(name, subscriptions):
                run.tell(f"{subscriptions:,} subscriptions, {name}")
                yield Point(name, subscriptions, _samples(tables, ready, run["publications"]))


def _samples(tables: Tables, ready: Callable[[Tables, list[str]], Callable[[str], Any]], count: int) -> list[float]:
    """Milliseconds of each publication, the answer compared."""
    ids = [f"d{number}" for number in range(count)]
    rows = zip(*(tables["expected"][name].to_pylist() for name in ("publication_id", "subscription_id")), strict=True)
    expected: dict[str, set[str]] = {id: set() for id in ids}
    for publication, subscription in rows:
        expected[str(publication)].add(str(subscription))
    answer, samples = ready(tables, ids), []
    for id in ids:
        took, found = answer(id)
        if found != expected[id]:
            raise WrongAnswer(f"{len(found)} matches of {id} that are not the {len(expected[id])} expected")
        samples.append(took * 1e3)
    return samples


EXPERIMENT_FILTER = Experiment(
    name="peers-filter",
    paper="Peers",
    title="filter: one publication at a time",
    statement="",
    checked="each gives the matches that the workload must give, for every publication",
    x=Axis("subscriptions", log=True),
    y=Axis("time a publication", "ms", log=True),
    parameters={
        Scale.SMALL: {
            "subscriptions": [100, 1_000, 10_000],
            "publications": 5,
            "matches": 5,
            "most": {"rdflib": 1_000, "pyoxigraph ASK loop": 10_000},
        },
        Scale.PAPER: {
            "subscriptions": [100, 1_000, 10_000, 100_000],
            "publications": 5,
            "matches": 5,
            "most": {"rdflib": 10_000},
        },
    },
    measure=measure_filter,
    judge=against_ours,
    notes="Subscriptions and stores are ready before the clock starts. Plain Python tries one after the other.",
)


# --- Peers of the route: events through the advertising exchange of [B] -------------------------------------------


def heliograph(tables: Tables) -> float:
    return warmed(Case(loaded(tables), tables)).seconds()


PEERS_ROUTE: dict[str, Callable[[Tables], float]] = {
    OURS: heliograph,
    "plain Python walk": peers_route.plain_walk,
    "networkx": peers_route.networkx,
}


def measure_route(run: Run) -> Iterator[Point]:
    load_kernels_route()
    for selectivity in run["selectivities"]:
        tables = generate_route(run.seed, scale=run["scale"], events=run["events"], selectivity=selectivity)
        for name, seconds in PEERS_ROUTE.items():
            run.tell(f"selectivity {selectivity:g}, {name}")
            yield Point(name, selectivity, [seconds(tables) * 1e6 for _ in range(run["repeats"])])


EXPERIMENT_ROUTE = Experiment(
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
    measure=measure_route,
    judge=against_ours,
    notes="The walk and networkx call one compiled Python lambda for each node met; events are parsed before.",
)


# --- Peers of the watch: which concrete queries does an added edge make true? -------------------------------------


PEERS_WATCH: dict[str, Callable[[Window], float]] = {
    OURS: peers_watch.heliograph,
    "plain Python (INV)": peers_watch.inv,
    "DuckDB join": peers_watch.duckdb,
    "pyoxigraph ASK loop": peers_watch.pyoxigraph,
    "rdflib": peers_watch.rdflib,
}


def measure_watch(run: Run) -> Iterator[Point]:
    load_kernels_watch()
    for queries in run["queries"]:
        options = {"vertices": run["vertices"], "updates": run["edges"], "queries": queries, "matching": 0.5}
        tables = generate_watch(run.seed, **options)
        for name, seconds in PEERS_WATCH.items():
            if queries <= run["most"].get(name, queries):
                run.tell(f"{queries:,} queries, {name}")
                window = Window.of(tables, run["window"].get(name, run["window"][OURS]))
                yield Point(name, queries, [seconds(window) * 1e6 for _ in range(run["repeats"])])


EXPERIMENT_WATCH = Experiment(
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
    measure=measure_watch,
    judge=against_ours,
    notes="Five edges a query on average. The window of updates that is timed is shorter for the slower ones.",
)
