"""Watching queries with variables: updates a second, microseconds an update, and what deletions cost.

One query sees the whole stream from an empty graph. Many queries are measured where the graph is largest: most
additions are loaded silently, the next ones are published in batches, then some one by one, then batches in which every
other update removes an edge that is there. When patience is at an end no further batch is taken.

Every answer is checked before its time counts: DuckDB counts the matches of one query, or of some of many, at the end.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.filter_workloads import Tables, WrongAnswer
from benchmarks.watch_oracle import Oracle
from benchmarks.watch_stage import Stage
from benchmarks.watch_subscriptions import Items, one_by_one
from benchmarks.watch_workloads import (
    Size,
    accepted,
    load_kernels,
    one_query,
    seconds,
    settled,
    subscribed,
    with_variables,
)
from heliograph.model import Notifications

FULL = Size()
Samples = Sequence[float]
SHAPES = ("chain", "star", "cyclic")
CAP, UNCAPPED = 1_000, 0  # the largest degree


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
    """Seconds an update: in each batch of additions, alone, and in each batch with deletions. Microseconds a query:
    all in one call, some one by one, and some of structures that nobody asked for before."""

    additions: Samples
    alone: Samples
    mixed: Samples
    together_us: float
    one_us: float
    new_us: float


def measure_many(seed: int, queries: int, cap: int = CAP, size: Size = FULL) -> Samples:
    """Updates a second."""
    return [1 / each for each in course(seed, queries, cap, size).additions]


def measure_deletions(seed: int, queries: int, size: Size = FULL) -> float:
    """How many times as long an update takes where every other is a deletion."""
    taken = course(seed, queries, CAP, size)
    return statistics.median(taken.mixed) / statistics.median(taken.additions)


def measure_latency(seed: int, queries: int, percent: int, cap: int = CAP, size: Size = FULL) -> float:
    """Microseconds that so many percent of single updates do not exceed."""
    return float(np.percentile(course(seed, queries, cap, size).alone, percent)) * 1e6


def measure_together(seed: int, queries: int, size: Size = FULL) -> float:
    """Microseconds a query where all come in one call to a graph that is there."""
    return course(seed, queries, CAP, size).together_us


def measure_one_by_one(seed: int, queries: int, size: Size = FULL) -> float:
    """Microseconds a query where some come one by one to the others, an update after each."""
    return course(seed, queries, CAP, size).one_us


def measure_new(seed: int, queries: int, size: Size = FULL) -> float:
    """Microseconds a query whose structure nobody asked for before, an update after each."""
    return course(seed, queries, CAP, size).new_us


@lru_cache(maxsize=1)
def course(seed: int, queries: int, cap: int, size: Size) -> Course:
    """Loads, publishes and checks."""
    load_kernels()
    stage = Stage(with_variables(seed, size, cap), min(queries, size.queries), size)
    rng = np.random.default_rng(seed)
    additions = stage.publish((stage.additions(size.batch) for _ in range(size.batches)), size.patience)
    alone = stage.publish((stage.additions(1) for _ in range(size.alone)), size.patience)
    mixed = stage.publish((stage.mixed(size.batch, rng) for _ in range(size.batches)), size.patience)
    stage.check(size.asked, rng)
    one, new = (one_by_one(stage.engine, items, size.patience) for items in _coming(seed, size, stage))
    return Course(additions, alone, mixed, stage.subscribing / stage.queries.num_rows * 1e6, one, new)


def _coming(seed: int, size: Size, stage: Stage) -> tuple[Items, Items]:
    """Queries like those that are there, under other ids, and one of each shape."""
    texts = stage.queries["query"].slice(0, size.subscribed).to_pylist()
    shapes = [(shape, str(one_query(seed, size, shape)["subscriptions"]["query"][0])) for shape in SHAPES]
    return [(f"again{number}", str(text)) for number, text in enumerate(texts)], shapes
