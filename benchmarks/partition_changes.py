"""A plan that changes under load: a thousand random changes while two threads publish, and every answer judged.

A publish must have seen one version of the plan: one of those that stood between its begin and its end. Whatever it
lacks of the nearest of them counts as lost, whatever it has beyond that, or twice, as doubled. Half of those who come
and go match what is published, so that a fault would show; the others only move somebody. Nobody changes the plan
faster than it is published to: there is at least one publish for every two changes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from itertools import cycle
from random import Random
from typing import NamedTuple

import pyarrow as pa

from benchmarks.filter_workloads import Size, Tables, numbers, queries
from benchmarks.partition_filters import Planned, take
from heliograph.model import Notifications

FULL = Size()
CHANGES = 1_000
MOVING = 500  # subscriptions that come and go
PUBLISHERS = 2
TOGETHER = 10  # publications that are published at once

Pairs = frozenset[tuple[int, int]]  # publications and subscriptions


class Changed(NamedTuple):
    """Matches that were lost or doubled, the publishes that were judged, and what a change took."""

    wrong: int
    publishes: int
    milliseconds: float


def measure_wrong(seed: int, size: Size = FULL, partition: str = "hash") -> float:
    """Matches that were lost or doubled."""
    return changed(seed, size, partition).wrong


def measure_change(seed: int, size: Size = FULL, partition: str = "hash") -> float:
    """Milliseconds of the writer's own processor time for one change."""
    return changed(seed, size, partition).milliseconds


@lru_cache(maxsize=3)
def changed(seed: int, size: Size, partition: str) -> Changed:
    """Changes a plan at random."""
    return History(take(seed, size, partition), seed, min(MOVING, size.subscriptions // 2)).run(
        min(CHANGES, size.changes)
    )


class Batch(NamedTuple):
    """A few publications, and what they match of those who stay and of those who come and go."""

    publications: pa.Table
    staying: Pairs
    moving: Pairs

    def wrong(self, found: Notifications, versions: Sequence[frozenset[int]]) -> int:
        """What is lost or doubled, held against the version that comes closest."""
        table = found.table
        answered = list(zip(*(numbers(table[name]).tolist() for name in _PAIR), strict=True))
        distinct = frozenset(answered)
        expected = (self.staying.union(pair for pair in self.moving if pair[1] in live) for live in versions)
        return len(answered) - len(distinct) + min(len(distinct ^ each) for each in expected)


_PAIR = ("publication_id", "subscription_id")


class History:
    """The versions of a plan, by those who come and go: noted before a change begins, counted when it is done."""

    def __init__(self, given: Planned, seed: int, many: int) -> None:
        self._engine, self._random = given.engine, Random(seed)
        self._moving = self._chosen(given.tables, many)
        self._texts = queries(given.tables, [f"s{number}" for number in self._moving])
        self._batches = _batches(given.tables, frozenset(self._moving))
        self._versions = [frozenset(self._moving)]
        self._done = 0
        self._published = [0] * PUBLISHERS

    def _chosen(self, tables: Tables, many: int) -> list[int]:
        """Half of them match something."""
        matched = set(numbers(tables["expected"]["subscription_id"]).tolist())
        others = set(numbers(tables["patterns"]["subscription_id"]).tolist()) - matched
        half = min(len(matched), many // 2)
        return self._random.sample(sorted(matched), half) + self._random.sample(sorted(others), many - half)

    def run(self, changes: int) -> Changed:
        over = threading.Event()
        with ThreadPoolExecutor(PUBLISHERS) as pool:
            threads = [pool.submit(self._publish, number, over) for number in range(PUBLISHERS)]
            try:
                seconds = sum(self._change(number, threads) for number in range(changes))
            finally:
                over.set()
            wrong = sum(thread.result() for thread in threads)
        return Changed(wrong, sum(self._published), seconds / changes * 1e3)

    def _change(self, number: int, threads: Sequence[Future[int]]) -> float:
        """Somebody comes or goes, once there were publishes enough."""
        while 2 * sum(self._published) < number and not any(thread.done() for thread in threads):
            time.sleep(1e-4)
        live, who = self._versions[-1], self._random.choice(self._moving)
        id = f"s{who}"
        self._versions.append(live ^ {who})
        started = time.thread_time()
        if who in live:
            self._engine.unsubscribe(id)
        else:
            self._engine.subscribe((id, self._texts[id]))
        self._done += 1
        return time.thread_time() - started

    def _publish(self, number: int, over: threading.Event) -> int:
        """Publishes until all is over; returns what was wrong."""
        wrong = 0
        for batch in cycle(self._batches):
            first = self._done
            found = self._engine.publish(batch.publications)
            wrong += batch.wrong(found, self._versions[first:])
            self._published[number] += 1
            if over.is_set():
                break
        return wrong


def _batches(tables: Tables, moving: frozenset[int]) -> list[Batch]:
    """The publications a few at a time, with what they match."""
    publications, expected = tables["publications"], tables["expected"]
    part = numbers(publications["publication_id"]) // TOGETHER
    pairs: dict[int, set[tuple[int, int]]] = {}
    for pair in zip(*(numbers(expected[name]).tolist() for name in _PAIR), strict=True):
        pairs.setdefault(pair[0] // TOGETHER, set()).add(pair)
    batches = []
    for number in range(int(part.max()) + 1):
        own = pairs.get(number, set())
        movers = frozenset(pair for pair in own if pair[1] in moving)
        batches.append(Batch(publications.filter(pa.array(part == number)), frozenset(own - movers), movers))
    return batches
