"""Subscribing to a graph that is there: microseconds a query, in one call and one by one.

What subscribing puts off counts too: an update that concerns nobody is published on the clock after it. What such an
update takes anyway is taken off where queries come one by one. Queries with variables are in `watch_patterns`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from benchmarks.filter_workloads import Tables
from benchmarks.watch_workloads import NOBODYS, Size, accepted, concrete, empty, load_kernels, seconds
from heliograph import Watch

FULL = Size()
Samples = Sequence[float]
Items = list[tuple[str, str]]  # ids and texts


class Subscribing(NamedTuple):
    """Microseconds a query: all in one call, and some one by one to the others."""

    together: float
    one: float


def measure_together(seed: int, size: Size = FULL) -> Samples:
    """Microseconds a concrete query where all come in one call."""
    return [each.together for each in subscribe(seed, size)]


def measure_one_by_one(seed: int, size: Size = FULL) -> Samples:
    """Microseconds a concrete query where some come one by one to the others, an update after each."""
    return [each.one for each in subscribe(seed, size)]


@lru_cache(maxsize=1)
def subscribe(seed: int, size: Size) -> Sequence[Subscribing]:
    load_kernels()
    return [_subscribe(concrete(seed, size), size) for _ in range(size.samples)]


def _subscribe(tables: Tables, size: Size) -> Subscribing:
    queries, engine = tables["subscriptions"], empty()
    accepted(engine.load_graph(tables["updates"]))
    accepted(engine.publish(NOBODYS))

    def together() -> None:
        accepted(engine.subscribe(queries))
        accepted(engine.publish(NOBODYS))

    took = seconds(together)
    texts = queries["query"].slice(0, size.subscribed).to_pylist()
    coming = [(f"again{number}", str(text)) for number, text in enumerate(texts)]
    return Subscribing(took / queries.num_rows * 1e6, one_by_one(engine, coming, size.patience))


def one_by_one(engine: Watch, items: Items, patience: float) -> float:
    """Microseconds a query, what publishing takes anyway taken off; after so many seconds no further one comes."""
    taken = publishing = count = 0.0
    for item in items:
        started = time.process_time()
        accepted(engine.subscribe(item))
        engine.publish(NOBODYS)
        between = time.process_time()
        engine.publish(NOBODYS)
        publishing += time.process_time() - between
        taken += between - started
        count += 1
        if taken > patience:
            break
    return (taken - publishing) / max(1, count) * 1e6
