"""Throughput of [R]'s cluster (figures 9(i) and 10), reckoned from what each node has to do.

The server holds the front and each back-end node a shard, and all work at once, so a batch takes as long as the node
that is busiest with it. Each node's part is done here one after the other, by the processor's time; what the nodes say
to each other is not in it. The nodes match with [R]'s own matcher or with the index; the plan is the same.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from benchmarks.filter_workloads import Case, Tables, WrongAnswer, loaded
from benchmarks.partition_filters import Planned
from heliograph.filter.shards import ShardedMatcher, ShardedVersion
from heliograph.filter.strategy import Failures, Matches, PairwiseMatcher, PairwiseVersion
from heliograph.io.publications import Publications
from heliograph.papers.filter import RssMatcher
from heliograph.partition.plan import FRONT, MERGERS, Plan
from heliograph.subscriptions import Subscription

NOTES = (
    "Reckoned: publications a second of the busiest node, front or shard, by its processor's time, as if every node "
    "had a machine of its own and messages were free. RSS matcher: the paper's algorithm in plain Python, on the same "
    "plan."
)
_MERGER = "merger"  # the id of whoever is nobody's subscription

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Reckoned(NamedTuple):
    """Publications a second in each repeat, and what was counted."""

    samples: Sequence[float]
    facts: Mapping[str, Any]


class Stages(Protocol):
    """The front and the shards of a plan, each to be asked by itself."""

    def front(self, publications: Publications) -> Matches: ...

    def shard(self, number: int, publications: Publications) -> Matches: ...


def alone(tables: Tables, algorithm: str, batch: int, repeats: int, seed: int) -> Reckoned:
    """One engine with all subscriptions."""
    case = Planned(loaded(tables, algorithm), tables, 0.0).case(batch, seed)
    gc.collect()
    return Reckoned([1 / case.seconds() for _ in range(repeats)], {})


def reckoned(case: Case, algorithm: str, repeats: int) -> Reckoned:
    """A front and its shards, each by itself."""
    matcher = case.engine._matcher
    assert isinstance(matcher, ShardedMatcher)
    version = matcher.version()
    parts = [chosen(case.batch, wanted) for wanted in version.front(case.batch, Failures())[1]]
    stages = _Rss(matcher.plan) if algorithm == "rss" else _Indexed(version)
    gc.collect()
    runs = [_seconds(stages, case, parts) for _ in range(repeats)]
    count, last = len(case.batch.ids), runs[-1]
    facts = {
        "front": len(matcher.plan.placement().front),
        "sent": sum(len(part.ids) for part in parts) / count,
        "busiest": "front" if last[0] == max(last) else "shard",
    }
    return Reckoned([count / max(run) for run in runs], facts)


def _seconds(stages: Stages, case: Case, parts: Sequence[Publications]) -> list[float]:
    """Of the front and of each shard; what they find together is compared first."""
    found = [_timed(partial(stages.front, case.batch))]
    found += [_timed(partial(stages.shard, at, part)) for at, part in enumerate(parts)]
    pairs = sorted(
        pair
        for (matches, _), given in zip(found, [case.batch, *parts], strict=True)
        for pair in _pairs(matches, given)
        if pair[0] != _MERGER
    )
    if pairs != sorted(zip(*(column.to_pylist() for column in case.expected.columns), strict=True)):
        raise WrongAnswer(f"{len(pairs)} matches at the nodes that are not the {case.expected.num_rows} expected")
    return [seconds for _, seconds in found]


def _pairs(matches: Matches, given: Publications) -> Iterable[tuple[str, str]]:
    subscriptions = matches.subscribed(matches.place)
    for subscription, row in zip(subscriptions, matches.publication.tolist(), strict=True):
        yield subscription.id, given.ids[row]


def _timed(work: Callable[[], Matches]) -> tuple[Matches, float]:
    started = time.process_time()
    found = work()
    return found, time.process_time() - started


def chosen(publications: Publications, rows: Ints) -> Publications:
    """Some of the publications."""
    first, last = publications.offsets[rows], publications.offsets[rows + 1]
    held = [np.arange(*ends) for ends in zip(first, last, strict=True)]
    triples = np.concatenate(held) if held else np.zeros(0, np.int64)
    return publications._replace(
        ids=tuple(publications.ids[row] for row in rows.tolist()),
        offsets=np.concatenate([[0], np.cumsum(last - first)]),
        triples=type(publications.triples)(*(column[triples] for column in publications.triples)),
    )


class _Indexed:
    """The nodes with the index."""

    def __init__(self, version: ShardedVersion) -> None:
        self._version = version

    def front(self, publications: Publications) -> Matches:
        return self._version.front(publications, Failures())[0]

    def shard(self, number: int, publications: Publications) -> Matches:
        return self._version.shard(number, publications, Failures())


class _Rss:
    """The nodes of the same plan with [R]'s matcher; mergers are subscriptions of nobody."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        by_place: dict[int, list[Subscription]] = {place: [] for place in range(FRONT, plan.scheme.shards)}
        for number, subscription in plan.members.items():
            by_place[plan.find(number)].append(subscription)
        by_place[FRONT] += self._mergers()
        self._nodes = {place: self._node(own) for place, own in by_place.items()}

    def _mergers(self) -> Iterable[Subscription]:
        placement = self._plan.placement()
        for number, node in placement.front.items():
            if number >= MERGERS:
                yield Subscription(_MERGER, None, placement.arrangement.query_of(node), number)

    def _node(self, subscriptions: list[Subscription]) -> PairwiseVersion:
        matcher = PairwiseMatcher(RssMatcher(), self._plan.context.taxonomy)
        matcher.insert(subscriptions)
        return matcher.version()

    def front(self, publications: Publications) -> Matches:
        return self._nodes[FRONT].match(publications, Failures())

    def shard(self, number: int, publications: Publications) -> Matches:
        return self._nodes[number].match(publications, Failures())
