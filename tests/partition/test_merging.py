"""Merging is an arrangement: whatever matches a node matches its root, changes are exactly the difference, and the
front is as small as was asked for; what it is told of the stream decides what is merged, never what matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import UsageError
from heliograph.filter.encode import encode
from heliograph.partition import merging as merging_module
from heliograph.partition.containment import contains
from heliograph.partition.merging import Merging, Observed
from heliograph.partition.plan import PlanChange
from heliograph.sparql.normalize import form_of
from heliograph.sparql.query import Query
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES, plain_name
from heliograph.vocabulary import Vocabulary
from tests.partition.patterns import matches, queries, specialised, taxonomies, witness

SMALL: dict[str, Any] = {"upper": 4, "lower": 2, "max_false_positives": 1.0}


def query(text: str) -> Query:
    return parse_sparql(f"ASK {{ {text} }}", verb="filter")


def authors(count: int, first: int = 0) -> list[tuple[int, Query]]:
    """Subscriptions that differ in one constant."""
    return [(number, query(f"?x :author :A{number}")) for number in range(first, first + count)]


def merging(count: int, **options: Any) -> Merging:
    made = Merging(Taxonomy(), **{**SMALL, **options})
    made.insert(authors(count))
    return made


class Watched:
    """A merging of which each change is compared with the difference of two states."""

    def __init__(self, made: Merging) -> None:
        self.made = made
        self.roots: dict[int, int] = {}
        self.queries: dict[int, Query] = {}

    def check(self, change: PlanChange, standing: Iterable[int]) -> None:
        nodes = self._nodes(standing)
        now = {node: self.made.root_of(node) for node in nodes}
        changed = {node for node, root in now.items() if self.roots.get(node) != root}
        assert set(change.entered) == {node for node in changed if now[node] == node}
        assert set(change.left) == {node for node in changed if self.roots.get(node) == node}
        assert dict(change.placed) == {node: now[node] for node in changed if now[node] != node}
        assert set(change.gone) == self.roots.keys() - now.keys()
        assert sorted(self.made.roots()) == sorted(node for node, root in now.items() if node == root)
        self.roots = now

    def _nodes(self, standing: Iterable[int]) -> set[int]:
        """The nodes of subscriptions, and everything above them."""
        nodes = {self.made.node_of(number) for number in standing}
        todo = list(self.made.roots())
        while todo:
            node = todo.pop()
            nodes.add(node)
            todo += self.made.children_of(node)
        return nodes


def check_laws(made: Merging, asked: dict[int, Query], taxonomy: Taxonomy) -> None:
    for number, own in asked.items():
        node = made.node_of(number)
        assert number in made.subscribers_of(node)
        assert not made.is_synthetic(node)
        assert form_of(made.query_of(node)) == form_of(own)
    for root in made.roots():
        if made.is_synthetic(root):
            assert made.subscribers_of(root) == ()
            assert len(made.children_of(root)) > 1
        else:
            assert made.children_of(root) == ()


# --- thresholds -------------------------------------------------------------------------------------------------


def test_nothing_is_merged_below_the_upper_threshold() -> None:
    made = merging(9, upper=10, lower=5)
    assert len(list(made.roots())) == 9
    change = made.insert(authors(1, first=9))
    assert len(list(made.roots())) == 5
    assert len(change.left) == 9 - sum(root < 9 for root in made.roots())


@pytest.mark.parametrize(
    ("count", "lower", "percentage", "left"),
    [(100, 10, 1.0, 10), (100, 10, 0.5, 50), (100, 10, 0.0, 100), (40, 3, 0.9, 4)],
)
def test_merging_ends_at_the_lower_threshold_or_at_the_percentage(
    count: int, lower: int, percentage: float, left: int
) -> None:
    made = merging(count, upper=20, lower=lower, percentage=percentage)
    assert len(list(made.roots())) == left


def test_the_front_must_grow_before_merging_begins_again() -> None:
    made = merging(100, upper=20, lower=10, percentage=0.5)
    sizes = []
    for number in range(100, 260):
        made.insert(authors(1, first=number))
        sizes.append(len(list(made.roots())))
    falls = [place for place in range(1, len(sizes)) if sizes[place] < sizes[place - 1]]
    assert 1 <= len(falls) <= 3
    assert max(sizes) <= 2 * 75  # at 150 subscriptions half of them are left, so the front may have twice as many


def test_merging_can_be_asked_for() -> None:
    made = merging(30, upper=100, lower=10)
    assert len(list(made.roots())) == 30
    made.merge()
    assert len(list(made.roots())) == 10


def test_patterns_that_cannot_be_merged_are_left_and_not_tried_at_every_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Merging(Taxonomy(), **SMALL)
    made.insert([(number, query(f":s{number} :p{number} ?x")) for number in range(20)])
    assert len(list(made.roots())) == 20
    assert made.merge() == PlanChange()
    monkeypatch.setattr(merging_module, "propose", lambda *_: pytest.fail("tried again"))
    made.insert([(20, query(":s20 :p20 ?x"))])


def test_counts_are_never_merged() -> None:
    made = Merging(Taxonomy(), **SMALL)
    text = "SELECT (COUNT(*) AS ?n) WHERE {{ ?x :author :A{0} }} HAVING (COUNT(*) > 1)"
    counts = [(number, parse_sparql(text.format(number), verb="filter")) for number in range(6)]
    made.insert([*counts, *authors(6, first=6)])
    assert {made.node_of(number) for number in range(6)} <= set(made.roots())
    assert len(list(made.roots())) < 12


@pytest.mark.parametrize(
    "options",
    [
        {"lower": 200},
        {"lower": 0},
        {"percentage": 1.5},
        {"similarity": -0.1},
        {"max_false_positives": 2},
        {"sample": 0},
        {"speed": 3},
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="HG-031"):
        Merging(Taxonomy(), **options)


# --- the arrangement --------------------------------------------------------------------------------------------


def test_equal_patterns_are_one_node() -> None:
    made = Merging(Taxonomy())
    made.insert([(0, query("?x :p ?y")), (1, query("?a :p ?b")), (2, query("?a :q ?b"))])
    assert made.node_of(0) == made.node_of(1) != made.node_of(2)
    assert list(made.subscribers_of(made.node_of(0))) == [0, 1]
    assert made.remove([0]) == PlanChange()
    assert list(made.subscribers_of(made.node_of(1))) == [1]


@settings(max_examples=60)
@given(st.data(), st.integers(0, 2**32), taxonomies)
def test_changes_are_exactly_the_difference_and_roots_hold_what_is_below(
    data: st.DataObject, seed: int, taxonomy: Taxonomy
) -> None:
    random = Random(seed)
    made, asked, number = Merging(taxonomy, **SMALL), dict[int, Query](), 0
    watched = Watched(made)
    for _ in range(data.draw(st.integers(1, 8))):
        kind = data.draw(st.sampled_from(["insert", "insert", "insert", "remove", "learn", "observe", "merge"]))
        if kind == "insert":
            first = data.draw(queries)
            new = [first, *data.draw(st.lists(st.one_of(specialised(first), queries), max_size=4))]
            given = list(enumerate(new, number))
            number += len(new)
            change = made.insert(given)
            asked.update(given)
        elif kind == "remove":
            going = [each for each in asked if random.random() < 0.4]
            change = made.remove(going)
            for each in going:
                del asked[each]
        elif kind == "learn":
            made.learn([witness(random, each) for each in asked.values()])
            change = PlanChange()
        elif kind == "observe":
            for root in made.roots():
                made.observe(root, random.random() < 0.5, 9)
            change = made.review()
        else:
            change = made.merge()
        watched.check(change, asked)
        check_laws(made, asked, taxonomy)
    check_soundness(made, asked, taxonomy, random)


def check_soundness(made: Merging, asked: dict[int, Query], taxonomy: Taxonomy, random: Random) -> None:
    for number, own in asked.items():
        root = made.query_of(made.root_of(made.node_of(number)))
        for triples in (witness(random, own) for _ in range(5)):
            assert not matches(own, triples, taxonomy) or matches(root, triples, taxonomy), (triples, own, root)


def test_merging_trees_hold_mergers_of_mergers() -> None:
    made = merging(200, upper=150, lower=2, percentage=1.0)
    inner = [member for root in made.roots() for member in made.children_of(root) if made.is_synthetic(member)]
    assert inner
    for member in inner:
        root = made.query_of(made.root_of(member))
        assert contains(form_of(root), form_of(made.query_of(member)), Taxonomy())


def test_what_comes_later_widens_a_merger() -> None:
    made = merging(4, upper=4, lower=1, percentage=1.0)
    (before,) = made.roots()
    change = made.insert(authors(3, first=4))
    (after,) = made.roots()
    assert change.gone == (before,)
    assert len(made.children_of(after)) == 7
    assert change.entered == (after,)
    assert dict(change.placed) == dict.fromkeys(made.children_of(after), after)


# --- decomposition ----------------------------------------------------------------------------------------------


def test_a_merger_stays_until_half_of_its_members_have_gone() -> None:
    made = merging(6, upper=6, lower=1, percentage=1.0)
    (merger,) = made.roots()
    for number in (0, 1):
        assert made.remove([number]) == PlanChange(gone=(made_node(number),))
    assert made.is_synthetic(merger)
    change = made.remove([2])
    assert set(change.gone) == {made_node(2), merger}
    assert set(change.entered) == {made.node_of(number) for number in (3, 4, 5)}
    assert list(made.roots()) == [made.node_of(number) for number in (3, 4, 5)]


def made_node(number: int) -> int:
    """Nodes are numbered as they come."""
    return number


def test_a_merger_of_two_goes_with_either() -> None:
    made = merging(2, upper=2, lower=1, percentage=1.0)
    (merger,) = made.roots()
    change = made.remove([1])
    assert set(change.gone) == {1, merger}
    assert change.entered == (0,)


def test_children_of_a_merger_below_a_merger_go_up_one_step() -> None:
    made = merging(200, upper=150, lower=2, percentage=1.0)
    inner = next(member for root in made.roots() for member in made.children_of(root) if made.is_synthetic(member))
    root, members = made.root_of(inner), made.children_of(inner)
    numbers = [number for member in members for number in made.subscribers_of(member)]
    change = made.remove(numbers[: len(numbers) // 2 + 1])
    assert inner in change.gone
    assert all(made.root_of(made.node_of(number)) == root for number in numbers[len(numbers) // 2 + 1 :])
    above = {number for member in made.children_of(root) for number in made.subscribers_of(member)}
    assert above.issuperset(numbers[len(numbers) // 2 + 1 :])


def test_when_all_are_gone_nothing_is_left() -> None:
    made = merging(50, upper=20, lower=2)
    made.remove(range(50))
    assert list(made.roots()) == []
    assert (made._forms, made._made, made._candidates, made._known) == ({}, {}, {}, {})


# --- false positives --------------------------------------------------------------------------------------------


def test_a_merger_with_too_many_false_answers_is_decomposed_and_stays_so() -> None:
    made = merging(6, upper=6, lower=1, percentage=1.0, max_false_positives=0.1)
    (merger,) = made.roots()
    made.observe(merger, True, 20)
    made.observe(merger, False, 2)
    assert made.review() == PlanChange()
    made.observe(merger, False, 3)
    assert made.observed(merger) == Observed(25, 5)
    change = made.review()
    assert change.gone == (merger,)
    assert set(change.entered) == set(range(6))
    assert made.merge() == PlanChange()
    assert made.observed() == Observed(25, 5)


def test_few_false_answers_prove_nothing() -> None:
    made = merging(6, upper=6, lower=1, percentage=1.0, max_false_positives=0.0)
    (merger,) = made.roots()
    made.observe(merger, False, 3)
    assert made.review() == PlanChange()
    made.observe(merger, False)
    assert made.review().gone == (merger,)


def test_changes_review_as_well() -> None:
    made = merging(6, upper=6, lower=1, percentage=1.0, max_false_positives=0.1)
    (merger,) = made.roots()
    made.observe(merger, False, 9)
    assert merger in made.insert(authors(1, first=6)).gone


def test_what_is_no_merger_is_not_observed() -> None:
    made = merging(3)
    made.observe(0, False, 100)
    made.observe(12345, False, 100)
    assert made.observed() == Observed()
    assert made.observed().share == 0


def test_observing_from_several_threads_counts_everything() -> None:
    made = merging(6, upper=6, lower=1, percentage=1.0)
    (merger,) = made.roots()

    def observe() -> None:
        for _ in range(500):
            made.observe(merger, True)

    threads = [Thread(target=observe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made.observed(merger) == Observed(2000, 0)
    assert made.observed(merger).share == 0


# --- the stream -------------------------------------------------------------------------------------------------


def papers(*names: str) -> list[tuple[Any, Any, Any]]:
    return [(plain_name("P"), plain_name("author"), plain_name(name)) for name in names]


def test_what_publications_match_together_is_merged_first() -> None:
    made = Merging(Taxonomy(), upper=6, lower=3, percentage=1.0)
    made.learn([papers("A1", "A5"), papers("A1", "A5")], [50, 50])
    made.learn([papers("A2")], [1])
    made.insert([*authors(4), (5, query("?x :author :A5")), (6, query("?x :editor :A1"))])
    together = made.root_of(made.node_of(1))
    assert made.is_synthetic(together)
    assert made.root_of(made.node_of(5)) == together


def test_publications_are_learned_from_as_terms_or_interned_with_matches_told_or_not() -> None:
    made = merging(3)
    made.learn([papers("A1", "A2")])
    batch = encode([("d", [("P", "author", "A1"), ("P", "author", "A2")])], Vocabulary(), PREFIXES)
    made.learn(batch.publications, [7])
    (summary,) = made._summaries.ranked()
    assert summary.frequency == 2 + 7
    assert len(made._sample) == 2


def test_memory_is_bounded() -> None:
    made = Merging(Taxonomy(), sample=8)
    made.learn([papers(f"A{number}") for number in range(3000)], [1] * 3000)
    assert len(made._sample) == 8
    assert len(made._summaries) <= 8


def test_what_the_sample_shows_to_be_false_is_not_merged() -> None:
    """Two subscriptions that never match, and publications that match their merger."""
    asked = [(0, query("?x :p :A ; :q :B")), (1, query("?x :p :C ; :q :D"))]
    vain: Sequence[Any] = [
        [(plain_name("S"), plain_name("p"), plain_name("A")), (plain_name("S"), plain_name("q"), plain_name("D"))]
    ] * 20
    options = {"upper": 2, "lower": 1, "percentage": 1.0, "max_false_positives": 0.1}
    blind, taught = Merging(Taxonomy(), **{**options, "max_false_positives": 1.0}), Merging(Taxonomy(), **options)
    taught.learn(vain, [0] * 20)
    blind.insert(asked)
    taught.insert(asked)
    assert len(list(blind.roots())) == 1
    assert len(list(taught.roots())) == 2
