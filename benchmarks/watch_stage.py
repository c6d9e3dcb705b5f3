"""An engine with many queries in mid-stream: what is in its graph, and which queries it says are true."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.filter_workloads import Tables, WrongAnswer, numbers
from benchmarks.watch_oracle import Oracle
from benchmarks.watch_workloads import NOBODYS, TRIPLE, Size, accepted, empty, seconds
from heliograph.model import Notifications

Samples = Sequence[float]


class Stage:
    """Most of the additions are loaded silently; then the queries come."""

    def __init__(self, tables: Tables, queries: int, size: Size) -> None:
        self._tables = tables
        self.queries = tables["subscriptions"].slice(0, queries)
        self._updates = tables["updates"].select(TRIPLE)
        self._next = size.loaded
        self._present = np.zeros(self._updates.num_rows, bool)
        self._present[: self._next] = True
        self._true = np.zeros(queries, bool)
        self.engine = empty(initial=True)
        accepted(self.engine.load_graph(tables["graph"]))
        accepted(self.engine.load_graph(self._updates.slice(0, self._next)))
        accepted(self.engine.publish(NOBODYS))
        self.subscribing = seconds(self._subscribe)  # seconds of all queries together

    def _subscribe(self) -> None:
        """The first publish brings everything up to the graph, and tells what holds."""
        accepted(self.engine.subscribe(self.queries))
        self._note(self.engine.publish(NOBODYS))

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
        texts: list[Any] = self.queries["query"].to_pylist()
        for query in np.concatenate(sides).tolist():
            if (oracle.count(texts[query]) > 0) != self._true[query]:
                raise WrongAnswer(f"the oracle does not say {self._true[query]} of {texts[query]}")
