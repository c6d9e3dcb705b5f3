"""Peers of the filter: one publication against subscriptions with up to two variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.experiments import peers_filter as peers
from benchmarks.experiments.experiment import Axis, Experiment, Point, Run, Scale
from benchmarks.experiments.peers import OURS, against_ours
from benchmarks.filter_workloads import Tables, WrongAnswer
from heliograph.workloads.filter import generate_filter

PEERS: dict[str, Callable[[Tables, list[str]], Callable[[str], Any]]] = {
    OURS: peers.heliograph,
    "pyoxigraph ASK loop": peers.pyoxigraph,
    "DuckDB join": peers.duckdb,
    "plain Python": partial(peers.heliograph, algorithm="naive"),
    "rdflib": peers.rdflib,
}


def measure(run: Run) -> Iterator[Point]:
    for subscriptions in run["subscriptions"]:
        counts = {"publications": run["publications"], "matches": run["matches"]}
        tables = generate_filter(run.seed, subscriptions=subscriptions, **counts)
        for name, ready in PEERS.items():
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


EXPERIMENT = Experiment(
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
    measure=measure,
    judge=against_ours,
    notes="Subscriptions and stores are ready before the clock starts. Plain Python tries one after the other.",
)
