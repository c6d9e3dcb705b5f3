"""Planning in pieces: the roots of groups, arranged again, are the roots of one arrangement; nobody is lost."""

from __future__ import annotations

import pytest

from heliograph.partition.merging import Arranged, arrange, arrange_roots, group_of, share_of
from heliograph.partition.plan import Scheme
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.taxonomy import Taxonomy

QUERIES = [
    *("ASK { ?x :a ?y }", "ASK { ?x :a :b }", "ASK { ?x :a ?y ; :b ?z }", "ASK { ?x :c ?y ; :a :b }"),
    *("ASK { ?x :c ?y }", "ASK { ?x :c ?y }", "ASK { ?x ?y ?z . ?z :d ?w }", "ASK { ?x :d ?z FILTER(?z > 3) }"),
    *("ASK { ?x :e ?z FILTER(?z > 3) }", "ASK { ?x :e ?z FILTER(?z > 5) }", "ASK { ?x :d ?z ; :e ?z ; :f ?z }"),
]
SCHEME = Scheme("containment", 3)


@pytest.fixture
def people() -> tuple[Subscription, ...]:
    return Subscriptions("filter").subscribe([(f"s{n}", text) for n, text in enumerate(QUERIES)]).subscriptions


def names(arranged: Arranged) -> set[str]:
    return {root.head.id for root in arranged.roots if isinstance(root.head, Subscription)}


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_groups_end_with_the_roots_of_one_arrangement(people: tuple[Subscription, ...], groups: int) -> None:
    parts = [[each for each in people if group_of(each.query, groups) == group] for group in range(groups)]
    arranged = [arrange(part, SCHEME, Taxonomy()) for part in parts]
    roots = {root.head: root.shards for each in arranged for root in each.roots if isinstance(root.head, Subscription)}
    front = arrange_roots(roots, SCHEME, Taxonomy())
    assert names(front) == names(arrange(people, SCHEME, Taxonomy()))
    placed = [each for part in (*arranged, front) for shard in part.shards.values() for each in shard]
    assert len(placed) + len(front.roots) == len(people)
    named = {shard for part in (*arranged, front) for shard in part.shards}
    assert all(any(root.shards >> shard & 1 for root in front.roots) for shard in named)


def test_thresholds_are_shared_among_groups() -> None:
    merging = Scheme("merging", 4, {"upper": 100, "lower": 2, "max_false_positives": 0.2})
    assert share_of(merging, 4).merging == {"upper": 25, "lower": 1, "max_false_positives": 0.05}
    assert share_of(Scheme("merging", 4, {"max_false_positives": 1}), 4).merging["max_false_positives"] == 1
    assert share_of(SCHEME, 4) is SCHEME


def test_mergers_are_queries_that_nobody_asked(people: tuple[Subscription, ...]) -> None:
    arranged = arrange(people, Scheme("merging", 2, {"upper": 4, "lower": 2}), Taxonomy())
    mergers = [root for root in arranged.roots if not isinstance(root.head, Subscription)]
    assert mergers
    assert sum(map(len, arranged.shards.values())) + len(arranged.roots) - len(mergers) == len(people)
