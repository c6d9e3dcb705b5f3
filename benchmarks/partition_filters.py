"""Filters that run a plan, loaded with the filter workload once for all rows that ask about them.

To arrange 100,000 patterns takes far longer than what most rows measure, so a row takes its samples from one engine.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, NamedTuple

from benchmarks.filter_workloads import Case, Size, Tables, WrongAnswer, check, repeated
from heliograph import Filter
from heliograph.filter.encode import encode
from heliograph.partition.plan import Outline
from heliograph.terms import PREFIXES
from heliograph.workloads.filter import generate_filter


class Planned(NamedTuple):
    """A loaded filter, its workload, and the processor's seconds that loading took."""

    engine: Filter
    tables: Tables
    load_seconds: float

    def case(self, batch: int, seed: int) -> Case:
        """With a batch to publish, of which the answer is known to be right."""
        strings, expected = repeated(self.tables, max(1, batch // _publications(self.tables)), seed)
        publications = encode(strings, self.engine.vocabulary, PREFIXES).publications
        case = Case(self.engine, self.tables, publications, strings, expected)
        check(self.engine.publish(publications), expected)
        return case


@lru_cache(maxsize=2)
def workload(seed: int, subscriptions: int, publications: int, matches: int) -> Tables:
    return generate_filter(seed, subscriptions=subscriptions, publications=publications, matches=matches)


def planned(seed: int, size: Size, partition: str | None, shards: int = 2) -> Planned:
    """The filter workload in a plan; without a partition: in one index."""
    key = (seed, size, partition, shards)
    if key not in _KEPT:
        _KEPT[key] = load(workload(seed, **size.options()), _scheme(partition, shards))
    return _KEPT[key]


def _scheme(partition: str | None, shards: int) -> dict[str, Any]:
    return {} if partition is None else {"partition": partition, "shards": shards}


def take(seed: int, size: Size, partition: str) -> Planned:
    """The same for whoever changes it: nobody else gets it afterwards."""
    given = planned(seed, size, partition)
    del _KEPT[seed, size, partition, 2]
    return given


_KEPT: dict[tuple[int, Size, str | None, int], Planned] = {}


def load(tables: Tables, scheme: dict[str, Any]) -> Planned:
    """An engine with the subscriptions of the tables."""
    _warm()
    return _loaded(tables, scheme)


@lru_cache(maxsize=1)
def _warm() -> None:
    """Kernels are compiled and modules imported before a clock runs."""
    tables = generate_filter(0, subscriptions=200, publications=10, matches=5)
    _loaded(tables, _scheme("merging", 1)).engine.publish(tables["publications"])


def _loaded(tables: Tables, scheme: dict[str, Any]) -> Planned:
    engine = Filter(tables["taxonomy"], **scheme)
    started = time.process_time()
    receipt = engine.subscribe(patterns=tables["patterns"], constraints=tables["constraints"])
    took = time.process_time() - started
    if receipt.rejected:
        raise WrongAnswer(f"refused: {receipt.rejected[0]}")
    return Planned(engine, tables, took)


def outline(engine: Filter) -> Outline:
    """The plan of an engine that has one."""
    found = engine.plan()
    if found is None:
        raise WrongAnswer("no plan where one was asked for")
    return found


def _publications(tables: Tables) -> int:
    return len(tables["publications"]["publication_id"].unique())
