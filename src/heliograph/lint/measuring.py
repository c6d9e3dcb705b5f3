"""What subscriptions cost on a sample, by the filter's own account: how often each was tried, and the steps it took.

A small job is not worth an index: there every query is asked of every publication, as it is of the few that look
expensive in a large one. What is counted then are ways through the edges, before conditions: the product of the ways
of parts that share no variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heliograph.baselines.solve import Plan, World
from heliograph.filter.auto import PAIRS
from heliograph.filter.failures import Failures
from heliograph.lint.expense import parts_of
from heliograph.lint.sample import Sample
from heliograph.model import Slow, slowest
from heliograph.publications import Publications
from heliograph.subscriptions import Subscription
from heliograph.syntax.query import Query
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from heliograph.filter.indexed import IndexedMatcher

STEPS = 20  # edges looked at, for each publication of the sample, from which on a subscription is expensive
WAYS = 1_000  # through the edges of one publication, from which on they are many
SUSPECTS = 50  # queries whose ways are counted in a large job


class Cost(NamedTuple):
    """What is to be said of the query at a place."""

    place: int
    message: str


class Trial:
    """An index of queries by their places, to which a sample is published."""

    def __init__(self, queries: Sequence[tuple[int, Query]], vocabulary: Vocabulary, taxonomy: Taxonomy) -> None:
        from heliograph.filter.indexed import IndexedMatcher
        from heliograph.kernels.cache import announce

        announce("matching.verify")
        self._matcher: IndexedMatcher = IndexedMatcher(vocabulary, taxonomy)
        self._matcher.insert([Subscription(str(place), None, query, place) for place, query in queries])
        self._slow: tuple[Slow, ...] = ()
        self._matched: Counter[str] = Counter()

    def publish(self, publications: Publications) -> None:
        matches = self._matcher.version().match(publications, Failures())
        self._slow = slowest((*self._slow, *matches.slow()))
        places, counts = np.unique(matches.place, return_counts=True)
        for owner, count in zip(matches.roster.subscriptions(places), counts.tolist(), strict=True):
            self._matched[owner.id] += count

    def costs(self, published: int) -> Iterator[Cost]:
        """The queries that took many steps, the most expensive first."""
        for entry in self._slow:
            if entry.steps >= STEPS * published:
                yield Cost(int(entry.subscription_id), self._said(entry, published))

    def _said(self, entry: Slow, published: int) -> str:
        tried = min(entry.publications, published)  # one that the whole query decided was searched for before
        matched, each = self._matched[entry.subscription_id], entry.steps // tried
        often = "it matches most of them, so ask for less" if 2 * matched >= tried else None
        return (
            f"expensive on the sample: tried on {tried:,} of {published:,} publications, matched {matched:,} of them, "
            f"looked at {each:,} edges each time; {often or 'add an edge with a rarer constant'}"
        )


def is_small(queries: int, sample: Sample) -> bool:
    """Whether every query can be asked of every publication."""
    return queries * sample.size <= PAIRS


def many_ways(queries: Iterable[tuple[int, Query]], sample: Sample) -> Iterator[Cost]:
    """The queries that have very many ways through some publication that was kept."""
    for place, query in queries:
        for publication in sample.publications:
            ways = _ways(query, publication.world)
            if ways >= WAYS:
                yield Cost(place, _many(query, ways, publication.id))
                break


def _ways(query: Query, world: World) -> int:
    """The ways through the edges of a query, before its conditions; up to a thousand and one of each part."""
    return prod(_count(Query(patterns=tuple(part)), world) for part in parts_of(query))


def _count(query: Query, world: World) -> int:
    return sum(1 for _ in islice(Plan.of(query).solutions(world), WAYS + 1))


def _many(query: Query, ways: int, publication: str) -> str:
    """Conditions may cut the ways short, so with them it is only perhaps expensive."""
    counted = f"expensive on the sample: {ways:,} or more ways through its edges in {publication}"
    if query.filters or query.values or query.having is not None:
        return f"perhaps {counted}, before its conditions; a constant in an edge leaves fewer than a condition does"
    return f"{counted}; write a constant in one, or leave out those that are not needed"
