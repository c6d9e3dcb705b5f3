"""Subscribing to a graph that is there: microseconds a query, in one call and one by one.

What subscribing puts off counts too: an update that concerns nobody is published on the clock after it. What such an
update takes anyway is taken off where queries come one by one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from benchmarks.filter_workloads import Tables
from benchmarks.watch_workloads import (
    NOBODYS,
    Size,
    accepted,
    concrete,
    load_kernels,
    one_query,
    seconds,
    subscribed,
    with_variables,
)
from heliograph import Watch

FULL = Size()
Samples = Sequence[float]
SHAPES = ("chain", "star", "cyclic")


class Subscribing(NamedTuple):
    """Microseconds a query: in one call, one by one, and one by one of a kind that was not there."""

    together: float
    alone: float
    new: float


def measure_together(seed: int, kind: str, size: Size = FULL) -> Samples:
    """Microseconds a query where all come in one call; the kind is `concrete` or `variables`."""
    return [each.together for each in subscribe(seed, kind, size)]


def measure_alone(seed: int, kind: str, size: Size = FULL) -> Samples:
    """Microseconds a query where some come one by one to the others, an update after each."""
    return [each.alone for each in subscribe(seed, kind, size)]


def measure_new(seed: int, size: Size = FULL) -> Samples:
    """Microseconds a query with variables whose structure nobody asked for before, an update after each."""
    return [each.new for each in subscribe(seed, "variables", size)]


@lru_cache(maxsize=2)
def subscribe(seed: int, kind: str, size: Size) -> Sequence[Subscribing]:
    load_kernels()
    tables = concrete(seed, size) if kind == "concrete" else with_variables(seed, size)
    return [_subscribe(tables, _unknown(seed, kind, size), size) for _ in range(2)]


def _unknown(seed: int, kind: str, size: Size) -> list[tuple[str, str]]:
    """Queries of other structures."""
    if kind == "concrete":
        return []
    return [(shape, str(one_query(seed, size, shape)["subscriptions"]["query"][0])) for shape in SHAPES]


def _subscribe(tables: Tables, unknown: list[tuple[str, str]], size: Size) -> Subscribing:
    queries, engine = tables["subscriptions"], _graph(tables)

    def together() -> None:
        accepted(engine.subscribe(queries))
        accepted(engine.publish(NOBODYS))

    took = seconds(together)
    some = [(str(id), str(query)) for id, query in zip(*_texts(queries.slice(0, size.subscribed)), strict=True)]
    accepted(engine.unsubscribe([id for id, _ in some]))
    return Subscribing(took / queries.num_rows * 1e6, _one_by_one(engine, some), _one_by_one(engine, unknown))


def _graph(tables: Tables) -> Watch:
    """An engine with the whole graph."""
    engine = subscribed(tables["subscriptions"].slice(0, 0))
    if "graph" in tables:
        accepted(engine.load_graph(tables["graph"]))
    accepted(engine.load_graph(tables["updates"]))
    accepted(engine.publish(NOBODYS))
    return engine


def _texts(queries: pa.Table) -> tuple[list[object], list[object]]:
    return queries["subscription_id"].to_pylist(), queries["query"].to_pylist()


def _one_by_one(engine: Watch, items: list[tuple[str, str]]) -> float:
    """Microseconds a query, what publishing takes anyway taken off."""
    taken = publishing = 0.0
    for item in items:
        started = time.process_time()
        accepted(engine.subscribe(item))
        engine.publish(NOBODYS)
        between = time.process_time()
        engine.publish(NOBODYS)
        publishing += time.process_time() - between
        taken += between - started
    return (taken - publishing) / max(1, len(items)) * 1e6
