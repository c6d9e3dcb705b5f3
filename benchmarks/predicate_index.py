"""The predicate index by itself: events a second, returning all ids, on one core.

Events come as JSON texts in Arrow and are parsed on the clock. Answers are checked before their time counts. Times are
the processor's, of all threads, so that a busy machine does not decide.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from benchmarks.predicate_workloads import Size, Workload, draw
from heliograph.predicate.index import PredicateIndex, PredicateMatches

SMALL = Size(11_000, 6, 6, 1 / 16, 20_000)
LARGE = Size(100_000, 20, 20, 1 / 16, 2_000)
SPARSE = Size(100_000, 200, 20, 1 / 1000, 10_000)
SAMPLES = 5
CHECKED = 50  # events whose answers are compared with the construction's
ALONE = 300  # events that are given one by one
CHANGES = 20_000


class WrongAnswer(Exception):
    """An answer is not the one that the workload must give: there is nothing to measure."""


class Case(NamedTuple):
    predicates: PredicateIndex
    workload: Workload

    def seconds(self) -> float:
        """Processor time of one batch."""
        started = time.process_time()
        found = self.predicates.match(self.workload.events)
        took = time.process_time() - started
        check(self.workload, found)
        return took


def check(workload: Workload, found: PredicateMatches) -> None:
    """Raises unless the first events' answers are right."""
    for event in range(min(CHECKED, len(found))):
        numbers = found.numbers[found.offsets[event] : found.offsets[event + 1]]
        if not np.array_equal(numbers, workload.accepting(event)):
            raise WrongAnswer(f"event {event} does not match what it must")


def measure_small(seed: int, size: Size = SMALL) -> Sequence[float]:
    """Events a second: few attributes, all defined."""
    return _rates(make(seed, size))


def measure_large(seed: int, size: Size = LARGE) -> Sequence[float]:
    """Events a second: 100,000 predicates, all attributes defined."""
    return _rates(make(seed, size))


def measure_sparse(seed: int, size: Size = SPARSE) -> Sequence[float]:
    """Events a second: 100,000 predicates over attributes of which an event defines a tenth."""
    return _rates(make(seed, size))


def measure_alone(seed: int, size: Size = SMALL) -> Sequence[float]:
    """Events a second where each comes in a call of its own."""
    case = make(seed, size)
    texts = case.workload.events[:ALONE]
    rates = []
    for _ in range(SAMPLES):
        started = time.process_time()
        for number in range(len(texts)):
            case.predicates.match(texts[number : number + 1])
        rates.append(len(texts) / (time.process_time() - started))
    return rates


def measure_parsing(seed: int, size: Size = SMALL) -> Sequence[float]:
    """Microseconds an event of which the parsing of its JSON takes part."""
    case = make(seed, size)
    batches = [case.predicates.match(case.workload.events) for _ in range(SAMPLES)]
    return [batch.stats.parse_ns / 1000 / len(batch) for batch in batches]


def measure_change(seed: int, size: Size = LARGE, changes: int = CHANGES) -> float:
    """Microseconds a change, on average: predicates replaced one by one in a large index."""
    case = make(seed, size)
    ids, texts = (case.workload.table.column(name).to_pylist() for name in ("id", "predicate"))
    chosen = np.random.default_rng(seed).integers(0, size.predicates, (2, min(changes, size.predicates)))
    started = time.process_time()
    for to, source in zip(*chosen.tolist(), strict=True):
        case.predicates.add((ids[to], texts[source]))
    took = time.process_time() - started
    make.cache_clear()  # it is another index now
    return took * 1e6 / min(changes, size.predicates)


@lru_cache(maxsize=1)
def make(seed: int, size: Size) -> Case:
    """The workload, loaded; matched once, so that kernels are there."""
    workload = draw(seed, size)
    case = Case(PredicateIndex(workload.table), workload)
    case.seconds()
    return case


def _rates(case: Case) -> list[float]:
    return [len(case.workload.events) / case.seconds() for _ in range(SAMPLES)]
