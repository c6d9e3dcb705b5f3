"""How long a publication takes with one algorithm on one workload, measured once for all figures that draw it."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from benchmarks.experiments.experiment import Point, Run, X
from benchmarks.experiments.filter_options import ALGORITHMS, Options, options
from benchmarks.filter_workloads import Case, Tables, check, loaded, repeated
from heliograph.filter.encode import encode
from heliograph.terms import PREFIXES
from heliograph.workloads.filter import generate_filter


def points(run: Run, names: Iterable[str], varied: Iterable[tuple[X, dict[str, Any]]]) -> Iterator[Point]:
    """Milliseconds a publication of each algorithm, for each x and what is varied there."""
    for x, changes in varied:
        given = options(run, **changes)
        for name in names:
            run.tell(f"{name} at {x}")
            samples, facts = timed(run.seed, name, given, run["repeats"], run["copies"])
            yield Point(name, x, samples, dict(facts))


@lru_cache(maxsize=256)
def timed(
    seed: int, name: str, given: Options, repeats: int, copies: int
) -> tuple[tuple[float, ...], tuple[tuple[str, float], ...]]:
    """The repeats in milliseconds, and what was counted. The answer is compared before each of them counts."""
    tables = _drawn(seed, given)
    case = _case(tables, ALGORITHMS[name], copies if name == "heliograph" else 1, seed)
    found = case.engine.publish(case.batch)
    check(found, case.expected)
    count = len(case.batch.ids)
    facts = {"matches": len(found) / count, "candidates": found.stats.candidates / count}
    gc.collect()
    return tuple(case.seconds() * 1e3 for _ in range(repeats)), tuple(facts.items())


@lru_cache(maxsize=1)
def _drawn(seed: int, given: Options) -> Tables:
    return generate_filter(seed, **dict(given))


def _case(tables: Tables, algorithm: str, copies: int, seed: int) -> Case:
    engine = loaded(tables, algorithm)
    strings, expected = repeated(tables, copies, seed)
    return Case(engine, tables, encode(strings, engine.vocabulary, PREFIXES).publications, strings, expected)
