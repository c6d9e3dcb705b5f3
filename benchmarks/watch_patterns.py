"""Watching queries with variables: updates a second, microseconds an update, and what deletions cost.

One query sees the whole stream from an empty graph. Many queries are measured where the graph is largest: most
additions are loaded silently, the next ones are published in batches, then some one by one, then batches in which every
other update removes an edge that is there. When patience is at an end no further batch is taken.

Every answer is checked before its time counts: DuckDB counts the matches of one query, or of some of many, at the end.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.filter_workloads import Tables, WrongAnswer, numbers
from benchmarks.watch_oracle import Oracle
from benchmarks.watch_workloads import (
    TRIPLE,
    Size,
    accepted,
    load_kernels,
    one_query,
    seconds,
    settled,
    subscribed,
    with_variables,
)
from heliograph import Watch
from heliograph.model import Notifications

FULL = Size()
Samples = Sequence[float]
UNCAPPED = 0


# --- one query --------------------------------------------------------------------------------------------------


def measure_one(seed: int, shape: str, form: str, size: Size = FULL) -> Samples:
    """Updates a second for one query of a shape: whether it has a match (change), or whether so many (count)."""
    load_kernels()
    tables = one_query(seed, size, shape)
    text = str(tables["subscriptions"]["query"][0])
    matches = _matches(seed, size, shape)
    if form == "change":
        cases = [(text, matches > 0)] * 2
    else:  # as many as there are in the end, and one more: the count must be exact
        cases = [(_counting(text, max(matches, 1)), matches > 0), (_counting(text, matches + 1), False)]
    return [size.updates / _through(tables, query, holds) for query, holds in cases]


@lru_cache(maxsize=1)
def _matches(seed: int, size: Size, shape: str) -> int:
    tables = one_query(seed, size, shape)
    return Oracle(tables["updates"], tables["graph"]).count(str(tables["subscriptions"]["query"][0]))


def _counting(text: str, least: int) -> str:
    return f"{text.replace('ASK', 'SELECT (COUNT(*) AS ?n)')} HAVING (COUNT(*) >= {least})"


def _through(tables: Tables, query: str, holds: bool) -> float:
    """Seconds of the whole stream; the query must become true once if it holds in the end."""
    engine = subscribed(pa.table({"subscription_id": ["q"], "query": [query]}))
    accepted(engine.load_graph(tables["graph"]))
    batch, found = settled(engine).encode(tables["updates"]), list[Notifications]()
    took = seconds(lambda: found.append(engine.publish(batch)))
    accepted(found[0])
    if [each.change for each in found[0]] != ["+"] * holds:
        raise WrongAnswer(f"{len(found[0])} notifications where the oracle says {holds}: {query}")
    return took


# --- many queries -----------------------------------------------------------------------------------------------


class Course(NamedTuple):
    """Seconds an update: in each batch of additions, alone, and in each batch with deletions."""

    additions: Samples
    alone: Samples
    mixed: Samples


def measure_many(seed: int, queries: int, cap: int = 1_000, size: Size = FULL) -> Samples:
    """Updates a second."""
    return [1 / each for each in course(seed, queries, cap, size).additions]


def measure_deletions(seed: int, queries: int, size: Size = FULL) -> float:
    """How many times as long an update takes where every other is a deletion."""
    taken = course(seed, queries, 1_000, size)
    return statistics.median(taken.mixed) / statistics.median(taken.additions)


def measure_latency(seed: int, queries: int, percent: int, cap: int = 1_000, size: Size = FULL) -> float:
    """Microseconds that so many percent of single updates do not exceed."""
    return float(np.percentile(course(seed, queries, cap, size).alone, percent)) * 1e6


@lru_cache(maxsize=1)
def course(seed: int, queries: int, cap: int, size: Size) -> Course:
    """Loads, publishes and checks."""
    load_kernels()
    stage = Stage(with_variables(seed, size, cap), min(queries, size.queries), size)
    rng = np.random.default_rng(seed)
    taken = Course(
        stage.publish((stage.additions(size.batch) for _ in range(size.batches)), size.patience),
        stage.publish((stage.additions(1) for _ in range(size.alone)), size.patience),
        stage.publish((stage.mixed(size.batch, rng) for _ in range(size.batches)), size.patience),
    )
    stage.check(size.asked, rng)
    return taken


class Stage:
    """An engine in mid-stream: what is in its graph, and which queries it says are true."""

    def __init__(self, tables: Tables, queries: int, size: Size) -> None:
        self._tables = tables
        self._queries = tables["subscriptions"].slice(0, queries)
        self._updates = tables["updates"].select(TRIPLE)
        self._next = size.loaded
        self._present = np.zeros(self._updates.num_rows, bool)
        self._present[: self._next] = True
        self._true = np.zeros(queries, bool)
        self.engine = self._loaded()

    def _loaded(self) -> Watch:
        """Settled: the first publish brings everything up to the graph, and tells what holds."""
        engine = subscribed(self._queries, initial=True)
        accepted(engine.load_graph(self._tables["graph"]))
        accepted(engine.load_graph(self._updates.slice(0, self._next)))
        self._note(engine.publish(self.additions(1)))
        return engine

    def publish(self, batches: Iterable[pa.Table], patience: float) -> Samples:
        """Seconds an update in each batch, interned before."""
        taken, spent = list[float](), 0.0
        for batch in batches:
            updates = self.engine.encode(batch)
            started = time.process_time()
            found = self.engine.publish(updates)
            took = time.process_time() - started
            self._note(found)
            taken.append(took / batch.num_rows)
            spent += took
            if spent > patience:
                break
        return taken

    def _note(self, found: Notifications) -> None:
        accepted(found)
        told = found.table
        for query, change in zip(numbers(told["subscription_id"]).tolist(), told["change"].to_pylist(), strict=True):
            if self._true[query] == (change == "+"):
                raise WrongAnswer(f"query {query} is told to be {change} twice")
            self._true[query] = change == "+"

    # --- the stream ---------------------------------------------------------------------------------------------

    def additions(self, count: int) -> pa.Table:
        """The next additions."""
        batch = self._updates.slice(self._next, count)
        self._present[self._next : self._next + count] = True
        self._next += batch.num_rows
        return batch

    def mixed(self, count: int, rng: np.random.Generator) -> pa.Table:
        """Removals of edges that are there, and the next additions, one after the other."""
        there = np.flatnonzero(self._present)
        gone = rng.choice(there, min(count // 2, len(there)), replace=False)
        added = self.additions(count - len(gone))
        removed = self._updates.take(gone).set_column(0, "op", pa.array(["-"] * len(gone), pa.string()))
        self._present[gone] = False
        places = np.concatenate([np.arange(0, 2 * len(gone), 2), np.arange(1, 2 * added.num_rows, 2)])
        return pa.concat_tables([removed, added]).take(np.argsort(places, kind="stable")).combine_chunks()

    # --- the oracle ---------------------------------------------------------------------------------------------

    def check(self, count: int, rng: np.random.Generator) -> None:
        """Raises unless the oracle agrees about some queries, as many of them true as false if there are."""
        oracle = Oracle(self._updates.filter(pa.array(self._present)), self._tables["graph"])
        sides = [rng.permutation(np.flatnonzero(self._true == side))[: count // 2] for side in (True, False)]
        texts: list[Any] = self._queries["query"].to_pylist()
        for query in np.concatenate(sides).tolist():
            if (oracle.count(texts[query]) > 0) != self._true[query]:
                raise WrongAnswer(f"the oracle does not say {self._true[query]} of {texts[query]}")
