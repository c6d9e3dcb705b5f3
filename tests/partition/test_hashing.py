"""Hashing spreads subscriptions, keeps no order among them, and is the same everywhere."""

from __future__ import annotations

from collections import Counter

from heliograph.partition.plan import EVERYTHING, Hashing, PlanChange, preferred
from heliograph.sparql.templates import parse_sparql

QUERY = parse_sparql("ASK { ?x :p ?y }", verb="filter")


def test_the_same_numbers_prefer_the_same_shards() -> None:
    assert [preferred(number, 4) for number in range(12)] == [3, 1, 2, 1, 2, 2, 0, 3, 2, 0, 2, 1]
    spread = Counter(preferred(number, 4) for number in range(10_000))
    assert max(spread.values()) < 1.1 * min(spread.values())


def test_everybody_is_below_everything() -> None:
    hashing = Hashing()
    assert hashing.insert([(0, QUERY), (1, QUERY)]) == PlanChange(placed=((0, EVERYTHING), (1, EVERYTHING)))
    assert hashing.take([2]) == PlanChange(placed=((2, EVERYTHING),))
    assert hashing.root_of(hashing.node_of(1)) == EVERYTHING
    assert hashing.query_of(1) == QUERY
    assert hashing.subscribers_of(1) == (1,)
    assert not hashing.is_synthetic(1)
    assert list(hashing.roots()) == []
    assert hashing.remove([0, 2]) == PlanChange(gone=(0, 2))
