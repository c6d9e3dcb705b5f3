"""Subscribing and unsubscribing one by one while another thread publishes: what a change costs, how long it holds up.

Times are the processor's, as if the process had one core to itself, so that a busy machine does not decide. The cost of
a change is the time of all threads but the publishing one, so that merging in the background counts. A pause is the
time of all threads during the slowest publish, above the median: whatever a publish waits for is done by one of them.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.filter_workloads import Size, Tables, WrongAnswer, check, loaded, numbers, queries
from heliograph import Filter
from heliograph.workloads.filter import generate_filter

FULL = Size()
TOGETHER = 10  # publications that are published at once

Calls = Iterable[Callable[[], Any]]


class Changes(NamedTuple):
    """What changing cost: microseconds a subscription, and the longest pause in milliseconds."""

    subscribe_us: float
    unsubscribe_us: float
    pause_ms: float


class Small(NamedTuple):
    """A few publications, and how many notifications they may have while subscriptions come and go."""

    publications: pa.Table
    fewest: int
    most: int


class Storm(NamedTuple):
    """The seconds that changes took, and the seconds of each publish meanwhile."""

    cost: float
    publishes: list[float]


def measure_subscribe(seed: int, size: Size = FULL) -> float:
    """Microseconds for one subscription, half of them as SPARQL text and half as pattern rows."""
    return change(seed, size).subscribe_us


def measure_unsubscribe(seed: int, size: Size = FULL) -> float:
    """Microseconds for taking one away."""
    return change(seed, size).unsubscribe_us


def measure_pause(seed: int, size: Size = FULL) -> float:
    """Milliseconds that the slowest publish took above the median."""
    return change(seed, size).pause_ms


@lru_cache(maxsize=1)
def change(seed: int, size: Size) -> Changes:
    """Loads most of a workload, then adds the rest one by one and takes it away again."""
    tables = generate_filter(seed, **size.options(subscriptions=size.subscriptions + size.changes))
    first = {name: _split(table, size.subscriptions)[0] for name, table in tables.items()}
    last = {name: _split(table, size.subscriptions)[1] for name, table in tables.items()}
    engine = loaded(first)
    batches = _batches(first, tables["expected"])
    check(engine.publish(first["publications"]), first["expected"])
    coming = _storm(engine, batches, _subscribes(engine, last))
    check(engine.publish(first["publications"]), tables["expected"])
    going = _storm(engine, batches, (partial(engine.unsubscribe, id) for id in _ids(last["patterns"])))
    check(engine.publish(first["publications"]), first["expected"])
    publishes = coming.publishes + going.publishes
    pause = max(publishes) - statistics.median(publishes)
    return Changes(coming.cost / size.changes * 1e6, going.cost / size.changes * 1e6, pause * 1e3)


# --- while publishing -------------------------------------------------------------------------------------------


def _storm(engine: Filter, batches: Sequence[Small], calls: Calls) -> Storm:
    """Makes the calls one after another while a thread publishes as fast as it can."""
    done = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        started = time.process_time()
        publishing = pool.submit(_publish, engine, batches, done)
        try:
            for call in calls:
                call()
        finally:
            done.set()
        own, publishes = publishing.result()
        return Storm(time.process_time() - started - own, publishes)


def _publish(engine: Filter, batches: Sequence[Small], done: threading.Event) -> tuple[float, list[float]]:
    """This thread's own seconds, and the seconds of the whole process during each publish."""
    took: list[float] = []
    for batch in cycle(batches):
        started = time.process_time()
        found = len(engine.publish(batch.publications))
        took.append(time.process_time() - started)
        if not batch.fewest <= found <= batch.most:
            raise WrongAnswer(f"{found} notifications where there are {batch.fewest} to {batch.most}")
        if done.is_set():
            break
    return time.thread_time(), took


# --- the workload -----------------------------------------------------------------------------------------------


def _split(table: pa.Table, subscriptions: int) -> tuple[pa.Table, pa.Table]:
    """The rows of the first subscriptions, and those of the others; of no subscription: the whole table for both."""
    if "subscription_id" not in table.column_names:
        return table, table
    early = numbers(table["subscription_id"]) < subscriptions
    return table.filter(pa.array(early)), table.filter(pa.array(~early))


def _ids(table: pa.Table) -> list[str]:
    return [str(id) for id in table["subscription_id"].unique().to_pylist()]


def _subscribes(engine: Filter, tables: Tables) -> Calls:
    """A call for each subscription: one with rows of patterns, the next with SPARQL text.

    Nothing but texts is made before: the garbage collector must not go through the benchmark's own objects.
    """
    texts, rows = queries(tables, _ids(tables["patterns"])), _rows(tables["patterns"])
    return (
        partial(engine.subscribe, (id, text))
        if number % 2
        else partial(engine.subscribe, patterns=_items(id, rows[id]))
        for number, (id, text) in enumerate(texts.items())
    )


def _rows(patterns: pa.Table) -> dict[str, tuple[str, ...]]:
    """The cells of each subscription, row after row."""
    rows: dict[str, tuple[str, ...]] = {}
    for id, *edge in zip(*(column.to_pylist() for column in patterns.columns), strict=True):
        rows[str(id)] = (*rows.get(str(id), ()), *map(str, edge))
    return rows


def _items(id: str, cells: Sequence[str]) -> list[dict[str, str]]:
    edges = zip(cells[::3], cells[1::3], cells[2::3], strict=True)
    return [{"subscription_id": id, "subject": s, "property": p, "object": o} for s, p, o in edges]


def _batches(first: Tables, everything: pa.Table) -> list[Small]:
    """The publications a few at a time, with the matches of the first subscriptions and of all of them."""
    number = numbers(first["publications"]["publication_id"]) // TOGETHER
    counts = [
        np.bincount(numbers(expected["publication_id"]) // TOGETHER, minlength=int(number.max()) + 1).tolist()
        for expected in (first["expected"], everything)
    ]
    tables = (first["publications"].filter(pa.array(number == at)) for at in range(len(counts[0])))
    return [Small(*each) for each in zip(tables, *counts, strict=True)]
