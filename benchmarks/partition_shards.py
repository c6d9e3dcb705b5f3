"""Two shards against one, and plans against one index: how many times the publications in the same time.

By the clock, because threads are to run side by side; so these rows need two cores that nobody else uses, unlike all
others. The batches that make up a ratio are published in turns. What is *reckoned* beside that is what a free machine
could do: by the processor's time of the busiest shard and of the caller, as if those two never overlapped.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

from benchmarks.filter_workloads import Case, Size, check
from benchmarks.partition_filters import load, planned, workload
from heliograph.filter.shards import ShardedMatcher

FULL = Size()
SAMPLES = 9
OFTEN = 200  # [R] 9(i): one of so many subscriptions matches


def measure_two(seed: int, size: Size = FULL) -> Sequence[float]:
    """The throughput of two shards, as a multiple of that of one."""
    return _ratios(_shards(seed, size, 1), _shards(seed, size, 2))


def measure_two_reckoned(seed: int, size: Size = FULL) -> Sequence[float]:
    """The same, reckoned."""
    return _reckoned(_shards(seed, size, 1), _shards(seed, size, 2))


def measure_two_often(seed: int, size: Size = FULL) -> Sequence[float]:
    """The throughput of two shards, as a multiple of that of one, with as many matches as in [R] 9(i)."""
    return _ratios(*_often(seed, size))


def measure_two_often_reckoned(seed: int, size: Size = FULL) -> Sequence[float]:
    """The same, reckoned."""
    return _reckoned(*_often(seed, size))


def measure_plan(seed: int, size: Size = FULL, partition: str = "hash") -> Sequence[float]:
    """The throughput of a plan with two shards, as a multiple of that of one index."""
    plain, plan = (planned(seed, size, each).case(size.batch, seed) for each in (None, partition))
    return _ratios(plain, plan)


def _shards(seed: int, size: Size, shards: int) -> Case:
    return planned(seed, size, "hash", shards).case(size.batch, seed)


@lru_cache(maxsize=1)
def _often(seed: int, size: Size) -> tuple[Case, Case]:
    matches = max(1, size.subscriptions // OFTEN)
    tables = workload(seed, size.subscriptions, min(size.publications, OFTEN // 2), matches)
    one, two = (load(tables, {"partition": "hash", "shards": shards}).case(size.batch, seed) for shards in (1, 2))
    return one, two


# --- by the clock -----------------------------------------------------------------------------------------------


def _ratios(slow: Case, fast: Case) -> Sequence[float]:
    return [_elapsed(slow) / _elapsed(fast) for _ in range(SAMPLES)]


def _elapsed(case: Case) -> float:
    started = time.perf_counter()
    found = case.engine.publish(case.batch)
    took = time.perf_counter() - started
    check(found, case.expected)
    return took


# --- reckoned ---------------------------------------------------------------------------------------------------


def _reckoned(slow: Case, fast: Case) -> Sequence[float]:
    return [_longest(slow) / _longest(fast) for _ in range(SAMPLES)]


def _longest(case: Case) -> float:
    """Seconds of the processor: the caller's, and the busiest shard's."""
    matcher = case.engine._matcher
    assert isinstance(matcher, ShardedMatcher)
    before, own = _spent(matcher), time.thread_time()
    found = case.engine.publish(case.batch)
    own, after = time.thread_time() - own, _spent(matcher)
    check(found, case.expected)
    return own + max(late - early for early, late in zip(before, after, strict=True))


def _spent(matcher: ShardedMatcher) -> list[float]:
    """The processor's seconds of each shard's thread so far."""
    return [thread.submit(time.thread_time).result() for thread in matcher.threads]
