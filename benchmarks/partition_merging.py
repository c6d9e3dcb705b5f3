"""Merging at the percentages of [R] figures 9(e), (g) and (h): what is left at the front, and what it asks in vain.

A merger answers yes in vain if none of its members matches. [R] reports false positives without saying of what; here
they are a share of the mergers' answers, as in the option that bounds them. That share says nothing where nothing
matches, so of publications that no subscription was drawn from it is told how many vain answers each one gets. Nothing
was published before the subscriptions came: mergers are made by what patterns share, not yet by what is met together.
All other options have their defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from benchmarks.filter_workloads import Size, check, numbers
from benchmarks.partition_filters import Planned, load, outline, planned, workload
from heliograph.workloads.filter import generate_filter

FULL = Size()
COUNTED = 16  # publications a call, so that the engine counts the answers of every one
LIKE_THE_PAPER = 0.99


class Merged(NamedTuple):
    """A front, the seconds that it took, and the answers of its mergers."""

    front: int
    seconds: float
    answers: int
    vain: int
    stray: float  # vain answers a publication that is like the others, and matches next to nothing


def measure_front(seed: int, size: Size = FULL) -> float:
    """Patterns at the front."""
    return merged(seed, size).front


def measure_vain(seed: int, size: Size = FULL) -> float:
    """Per cent of the mergers' answers that were in vain."""
    return _per_cent(merged(seed, size))


def measure_stray(seed: int, size: Size = FULL) -> float:
    """Vain answers to a publication of which no subscription was drawn."""
    return merged(seed, size).stray


def measure_seconds(seed: int, size: Size = FULL) -> float:
    """Seconds of the processor to subscribe, arranging and indexing included."""
    return merged(seed, size).seconds


def measure_few_vain(seed: int, size: Size = FULL) -> float:
    """The same as the second, of as many subscriptions as in [R] 9(e)."""
    return _per_cent(_asked(_few(seed, size, 0.9), seed, size.publications))


def measure_few_front(seed: int, size: Size = FULL) -> float:
    """Patterns at the front of the fewer subscriptions, merged as far as in [R] 9(g)."""
    return outline(_few(seed, size, LIKE_THE_PAPER).engine).front


def _per_cent(found: Merged) -> float:
    return 100 * found.vain / max(1, found.answers)


# --- counting ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def merged(seed: int, size: Size) -> Merged:
    """The filter workload, merged by 90 per cent, which is the default."""
    return _asked(planned(seed, size, "merging"), seed, size.different)


def _few(seed: int, size: Size, percentage: float) -> Planned:
    matches = min(size.matches, size.few // size.publications // 2)
    tables = workload(seed, size.few, size.publications, matches)
    return load(tables, {"partition": "merging", "shards": 2, "merging": {"percentage": percentage}})


def _asked(given: Planned, seed: int, strangers: int) -> Merged:
    """Publishes everything once, since mergers that err are taken apart."""
    front = outline(given.engine).front
    _publish(given, given.tables["publications"], given.tables["expected"])
    after = outline(given.engine)
    others = generate_filter(seed + 1_000, subscriptions=0, publications=strangers)["publications"]
    for part in _parts(others):
        given.engine.publish(part)
    stray = outline(given.engine).false_positives - after.false_positives
    return Merged(front, given.load_seconds, after.answers, after.false_positives, stray / strangers)


def _publish(given: Planned, publications: pa.Table, expected: pa.Table) -> None:
    for part, answer in zip(_parts(publications), _parts(expected), strict=True):
        check(given.engine.publish(part), answer)


def _parts(table: pa.Table) -> Iterator[pa.Table]:
    """The rows of a few publications at a time."""
    part = numbers(table["publication_id"]) // COUNTED
    for number in range(int(part.max()) + 1):
        yield table.filter(pa.array(part == number))
