"""The workloads of the watch table: continuous queries, updates to publish, and what they must tell.

Concrete queries come with the notifications that they must give, in order. Of queries with variables some are counted
by DuckDB when the stream has been through; see `watch_oracle`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.filter_workloads import Tables, WrongAnswer
from heliograph import Watch
from heliograph.model import Notifications, Receipt
from heliograph.workloads.watch import generate_watch

ALGORITHM = "indexed"  # by kernels from the first update on
NOBODYS = ("+", "nobody", "knows", "nobody")  # an update that concerns no query
TRIPLE = ["op", "subject", "property", "object"]  # the columns of updates without seqs


class Size(NamedTuple):
    """How large the workloads are; the defaults are the issue's."""

    vertices: int = 1_200_000
    updates: int = 1_000_000
    queries: int = 50_000
    few: int = 1_000  # queries with variables, of the smaller workload
    structures: int = 200
    samples: int = 3  # fresh engines for what takes a whole stream
    scanned: int = 40  # updates for which BF tries all queries
    walked: int = 20_000  # updates for which the trie joins
    batches: int = 5
    batch: int = 20_000  # updates with variables; so many batches with additions, and with deletions
    alone: int = 2_000  # updates that are published one by one
    patience: float = 8.0  # seconds after which no further batch is taken
    asked: int = 20  # queries with variables that the oracle answers
    subscribed: int = 500  # queries that come one by one
    warm: int = 2_000  # updates of the workload that a fresh process goes through before what is measured

    @property
    def loaded(self) -> int:
        """How many additions stand before queries with variables are measured: with what is published they make up the
        stream, unless that is too small."""
        return max(self.updates // 2, self.updates - 2 * self.batches * self.batch - self.alone)


# --- tables -----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def concrete(seed: int, size: Size, deletions: float = 0.0, duplicates: float = 0.0) -> Tables:
    """Concrete queries and a stream of which these shares are removals and repeated additions."""
    options = {"vertices": size.vertices, "updates": size.updates, "queries": size.queries}
    return generate_watch(seed, **options, deletions=deletions, duplicates=duplicates)


@lru_cache(maxsize=1)
def with_variables(seed: int, size: Size, cap: int = 1_000) -> Tables:
    """Queries with variables; the first of them are the smaller workload."""
    return _patterns(seed, size, queries=size.queries, structures=size.structures, degree_cap=cap)


@lru_cache(maxsize=1)
def one_query(seed: int, size: Size, shape: str) -> Tables:
    """One query of five edges of a shape, with variables only."""
    return _patterns(seed, size, queries=1, structures=1, spread=0, concrete=0.0, shape=shape)


def _patterns(seed: int, size: Size, **options: Any) -> Tables:
    return generate_watch(seed, vertices=size.vertices, updates=size.updates, variables=True, **options)


def query_edges(subscriptions: pa.Table) -> int:
    """How many edges all queries have together, their classes too."""
    joints: Any = pc.sum(pc.count_substring(subscriptions["query"], " . "))
    return int(joints.as_py()) + subscriptions.num_rows


# --- engines ----------------------------------------------------------------------------------------------------


@cache
def load_kernels() -> None:
    """Compiled or not, they are there before anything is timed."""
    small = generate_watch(0, vertices=200, updates=300, queries=20, variables=True, classes=3, deletions=0.2)
    engine = subscribed(small["subscriptions"])
    accepted(engine.load_graph(small["graph"]))
    engine.publish(engine.encode(small["updates"]))


def empty(**options: Any) -> Watch:
    return Watch("change", algorithm=ALGORITHM, **options)


def subscribed(subscriptions: pa.Table) -> Watch:
    """An engine with these queries."""
    engine = empty()
    accepted(engine.subscribe(subscriptions))
    return engine


def settled(engine: Watch) -> Watch:
    """The same once it has done what subscribing puts off until there is an update; seqs may begin at 1."""
    accepted(engine.publish((0, *NOBODYS)))
    return engine


def accepted(receipt: Receipt | Notifications) -> None:
    """Raises where anything was refused: there would be nothing to measure."""
    if receipt.rejected:
        raise WrongAnswer(f"refused: {receipt.rejected[0]}")


def seconds(call: Callable[[], Any]) -> float:
    """The processor's seconds of a call; what was garbage before is not charged to it."""
    gc.collect()
    started = time.process_time()
    call()
    return time.process_time() - started
