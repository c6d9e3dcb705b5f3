"""Watching concrete queries: updates a second on one core, as multiples of INV, BF and tries in plain Python.

Every answer is checked before its time counts. Times are the processor's, of all threads, so that a busy machine does
not decide; the timings that make up a ratio are taken in turns, so that what slows it down falls on both. A stream can
go through an engine but once, so each sample has an engine of its own: queries are subscribed and updates interned off
the clock, the graph grows from nothing on it.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pyarrow import parquet

from benchmarks.filter_workloads import Tables, check
from benchmarks.watch_opponents import as_numbers, brute_force_seconds, inv_seconds, trie_seconds
from benchmarks.watch_workloads import Size, concrete, load_kernels, seconds, settled, subscribed
from heliograph.model import Notifications

FULL = Size()
Samples = Sequence[float]


class Mix(NamedTuple):
    """Which shares of a stream remove an edge, and add one again."""

    deletions: float = 0.0
    duplicates: float = 0.0


ADDITIONS, HALF, MIXED = Mix(), Mix(deletions=0.5), Mix(0.2, 0.2)


class Turn(NamedTuple):
    """Seconds an update."""

    ours: float
    inv: float


# --- interned ids -----------------------------------------------------------------------------------------------


def measure_inv(seed: int, mix: Mix = ADDITIONS, size: Size = FULL) -> Samples:
    """How many times as long INV takes, over packed integers."""
    return [turn.inv / turn.ours for turn in turns(seed, mix, size)]


def measure_rate(seed: int, mix: Mix = ADDITIONS, size: Size = FULL) -> Samples:
    """Updates a second."""
    return [1 / turn.ours for turn in turns(seed, mix, size)]


def measure_inv_rate(seed: int, mix: Mix = ADDITIONS, size: Size = FULL) -> Samples:
    """Updates a second by INV."""
    return [1 / turn.inv for turn in turns(seed, mix, size)]


def measure_deletions(seed: int, size: Size = FULL) -> Samples:
    """How many times as long an update takes where half of them are deletions."""
    plain = turns(seed, ADDITIONS, size)
    return [turn.ours / other.ours for turn, other in zip(turns(seed, HALF, size), plain, strict=True)]


@lru_cache(maxsize=3)
def turns(seed: int, mix: Mix, size: Size) -> Sequence[Turn]:
    """Ours and INV, in turns."""
    load_kernels()
    tables, numbers = concrete(seed, size, *mix), as_numbers(seed, size, *mix)
    return [Turn(_interned(tables), inv_seconds(numbers)) for _ in range(size.samples)]


def _interned(tables: Tables) -> float:
    engine = settled(subscribed(tables["subscriptions"]))
    batch, found = engine.encode(tables["updates"]), list[Notifications]()
    took = seconds(lambda: found.append(engine.publish(batch)))
    check(found[0], tables["expected"])
    return took / len(batch)


# --- text -------------------------------------------------------------------------------------------------------


def measure_parquet(seed: int, size: Size = FULL) -> Samples:
    """Updates a second from a Parquet file with text to a table of notifications."""
    load_kernels()
    tables = concrete(seed, size)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "updates.parquet")
        parquet.write_table(tables["updates"], path)
        return [size.updates / _read(tables, path) for _ in range(size.samples)]


def _read(tables: Tables, path: Path) -> float:
    engine, found = settled(subscribed(tables["subscriptions"])), list[Notifications]()

    def publish() -> None:
        found.append(engine.publish(path))
        _ = found[0].table

    took = seconds(publish)
    check(found[0], tables["expected"])
    return took


# --- opponents that would take too long -------------------------------------------------------------------------


def measure_brute_force(seed: int, size: Size = FULL) -> float:
    """How many times as long an update takes where every query is tried: [Z] says 45,000."""
    return brute_force_seconds(as_numbers(seed, size), size.scanned) / _ours(seed, size)


def measure_trie(seed: int, size: Size = FULL) -> float:
    """How many times as long an update takes with tries of shared paths."""
    return trie_seconds(as_numbers(seed, size), size.walked) / _ours(seed, size)


def _ours(seed: int, size: Size) -> float:
    return statistics.median(turn.ours for turn in turns(seed, ADDITIONS, size))
