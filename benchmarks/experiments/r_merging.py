"""Merging by different percentages ([R] figures 9(e), (g) and (h)), arranged once for all figures that draw it.

A publication goes to the shards in vain if the front sends it there for a merger, and nothing there matches it.
Most publications are strangers: no subscription was drawn from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa

from benchmarks.experiments.experiment import Run
from benchmarks.experiments.filter_options import Options, options
from benchmarks.experiments.r_nodes import chosen
from benchmarks.experiments.r_workload import OVERLAP, SECTION_5, drawn
from benchmarks.filter_workloads import Tables, WrongAnswer, check, numbers
from benchmarks.partition_filters import Planned, load, outline
from heliograph import Filter
from heliograph.filter.encode import encode
from heliograph.filter.shards import ShardedMatcher
from heliograph.filter.strategy import Failures
from heliograph.terms import PREFIXES
from heliograph.workloads.filter import generate_filter

SHARDS = 2
PERCENTAGES = [0.1, 0.3, 0.5, 0.7, 0.9, 0.99]
SMALL: Mapping[str, Any] = {
    **SECTION_5,
    "subscriptions": 2_000,
    "percentages": PERCENTAGES,
    "matches": 10,
    "publications": 20,
    "strangers": 400,
}
PAPER: Mapping[str, Any] = {**SMALL, "subscriptions": 10_000, "matches": 100, "strangers": 19_980}
_TOGETHER = 16  # publications a call, so that the engine counts the answers of every one


class Merged(NamedTuple):
    """A front, the seconds it took, publications that went on and those in vain, answers of mergers and vain ones."""

    front: int
    seconds: float
    published: int
    sent: int
    vain: int
    answers: int
    false: int


def sweep(run: Run) -> Iterator[tuple[float, Merged]]:
    """By merge percentage."""
    given = options(run)
    for share in run["percentages"]:
        run.tell(f"merging {share:.0%}")
        yield share, merged(run.seed, given, share, run["strangers"])


@lru_cache(maxsize=32)
def merged(seed: int, given: Options, percentage: float, strangers: int) -> Merged:
    tables = drawn(seed, given, OVERLAP)
    found = load(tables, {"partition": "merging", "shards": SHARDS, "merging": {"percentage": percentage}})
    front = outline(found.engine).front
    others = _strangers(seed, given, strangers)
    went = [_sent(found.engine, each) for each in (tables["publications"], others)]
    sent, vain = (sum(both) for both in zip(*went, strict=True))
    _publish(found, tables)
    seen = outline(found.engine)
    count = dict(given)["publications"] + strangers
    return Merged(front, found.load_seconds, count, sent, vain, seen.answers, seen.false_positives)


def _strangers(seed: int, given: Options, count: int) -> pa.Table:
    size = {name: value for name, value in given if name.startswith("publication_")}
    return generate_filter(seed + 1_000, subscriptions=0, publications=count, matches=0, **size)["publications"]


def _sent(engine: Filter, publications: pa.Table) -> tuple[int, int]:
    """How many publications go to any shard, and how many of those match nothing in any."""
    matcher = engine._matcher
    assert isinstance(matcher, ShardedMatcher)
    version, batch = matcher.version(), encode(publications, engine.vocabulary, PREFIXES).publications
    sent, hit = set[int](), set[int]()
    for shard, rows in enumerate(version.front(batch, Failures())[1]):
        sent.update(rows.tolist())
        hit.update(rows[version.shard(shard, chosen(batch, rows), Failures()).publication].tolist())
    return len(sent), len(sent - hit)


def _publish(given: Planned, tables: Tables) -> None:
    """Publishes everything once, as it must be answered; the engine counts what its mergers say."""
    number = numbers(tables["publications"]["publication_id"]) // _TOGETHER
    answers = numbers(tables["expected"]["publication_id"]) // _TOGETHER
    if set(answers.tolist()) - set(number.tolist()):
        raise WrongAnswer("answers to nothing that is published")
    for part in range(int(number.max()) + 1):
        rows, expected = (
            tables[name].filter(pa.array(parts == part))
            for name, parts in (("publications", number), ("expected", answers))
        )
        check(given.engine.publish(rows), expected)
