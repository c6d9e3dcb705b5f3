"""What is merged: patterns that meet under a key, picked by summaries first, no more than too many, none too wide."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from heliograph.partition.containment import contains
from heliograph.partition.merging import (
    AccessMatrix,
    Candidate,
    Estimator,
    Frequencies,
    Knowledge,
    MergeKeys,
    Proposal,
    TermNumbers,
    Tolerance,
    alike,
    antiunify,
    propose,
    same_edges,
)
from heliograph.partition.statistics import Graph, Sample, Summary
from heliograph.sparql.normalize import NormalForm, form_of
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Taxonomy
from heliograph.terms import parse_cell


class World:
    """Patterns by number, with what is known of them."""

    def __init__(self, *texts: str, sample: Sequence[Graph] = (), taxonomy: Taxonomy | None = None) -> None:
        self.taxonomy = taxonomy or Taxonomy()
        self.names = TermNumbers(self.taxonomy)
        self.merge_keys = MergeKeys(self.names.anchorless)
        self.frequencies = Frequencies(self.names)
        self.sample = Sample()
        for each in sample:
            self.sample.add(each)
        self.forms = {
            number: form_of(parse_sparql(f"ASK {{ {text} }}", verb="filter")) for number, text in enumerate(texts)
        }
        self.pool = {number: self.candidate(form) for number, form in self.forms.items()}
        for candidate in self.pool.values():
            self.frequencies.count(candidate)

    def candidate(self, form: NormalForm) -> Candidate:
        found = self.names.candidate(form)
        assert found is not None
        return found

    def propose(self, goal: int, *summaries: Summary, share: float = 0.5) -> list[Proposal]:
        known = Knowledge(self.taxonomy, self.names, self.frequencies, summaries, self.sample, share)
        return propose(self.pool, goal, known)

    def keys(self, way: Any, number: int) -> list[tuple[int, ...]]:
        return [key for key, _ in way(self.pool[number])]


def graph(*edges: str) -> Graph:
    """A publication; each edge three cells."""
    return frozenset(tuple(map(parse_cell, edge.split())) for edge in edges)  # type: ignore[misc]


def check_proposals(world: World, proposals: Sequence[Proposal], goal: int) -> None:
    """Each merges what stands alone at that moment, and holds it."""
    alone = dict(world.forms)
    for number, members, form in proposals:
        assert len(members) > 1
        for member in members:
            assert contains(form, alone.pop(member), world.taxonomy)
        alone[number] = form
    assert len(alone) >= min(goal, len(world.forms))


# --- keys -------------------------------------------------------------------------------------------------------


def test_patterns_of_one_structure_meet_whatever_their_variables_and_constants_are() -> None:
    world = World("?x :p :A . ?x :q ?y", "?a :q ?b . ?a :p :B", "?x :p ?z . ?x :q ?y")
    first, second, third = (world.keys(same_edges, number) for number in range(3))
    assert first == second == third
    first, second, third = (world.keys(alike, number) for number in range(3))
    assert first == second != third


def test_edges_laid_side_by_side_belong_to_one_another() -> None:
    world = World("?x :p :A . ?x :q ?y", "?a :q ?b . ?a :p :B")
    rows = [next(same_edges(world.pool[number]))[1] for number in (0, 1)]
    assert [edge.label for edge in rows[0]] == [edge.label for edge in rows[1]]


def test_patterns_with_a_constant_on_an_edge_meet_there() -> None:
    world = World(":A :p ?x . ?x :q :B", ":A :p ?y . ?y :r :C . :D :s ?y", ":E :p ?y . ?y :r :C")
    assert set(world.keys(world.merge_keys.anchors, 0)) & set(world.keys(world.merge_keys.anchors, 1))
    assert set(world.keys(world.merge_keys.anchored_paths, 0)) & set(world.keys(world.merge_keys.anchored_paths, 1))
    assert not set(world.keys(world.merge_keys.anchored_paths, 0)) & set(world.keys(world.merge_keys.anchored_paths, 2))
    assert set(world.keys(world.merge_keys.paths, 1)) & set(world.keys(world.merge_keys.paths, 2))


def test_patterns_that_begin_at_a_constant_meet_there_whatever_the_property() -> None:
    world = World(":A :p ?x . ?x :q :B", ":A :r ?y . ?y :s :C")
    assert set(world.keys(world.merge_keys.rooted_paths, 0)) & set(world.keys(world.merge_keys.rooted_paths, 1))
    assert not set(world.keys(world.merge_keys.anchored_paths, 0)) & set(world.keys(world.merge_keys.anchored_paths, 1))


def test_edges_of_one_property_meet_if_something_is_asked_of_their_ends() -> None:
    world = World("?x :p ?y FILTER(?y > 1)", "?x :p ?y FILTER(?y < 9)", "?x :p ?y")
    keys = [world.keys(world.merge_keys.properties, number) for number in range(3)]
    assert keys[0] == keys[1]
    assert keys[2] == []


def test_nobody_meets_at_a_class_or_at_a_variable_property() -> None:
    taxonomy = Taxonomy([(parse_cell("K"), parse_cell("L"))])
    world = World("?x a :K", "?x a/rdfs:subClassOf* :K", "?x ?p :A", "?x rdfs:member :A", taxonomy=taxonomy)
    ways = (
        world.merge_keys.anchors,
        world.merge_keys.properties,
        world.merge_keys.anchored_paths,
        world.merge_keys.paths,
    )
    assert [world.keys(way, number) for way in ways for number in range(4)] == [[]] * 16


# --- proposals --------------------------------------------------------------------------------------------------


def test_no_more_is_merged_than_is_too_many() -> None:
    world = World(*(f"?x :author :A{number}" for number in range(20)))
    for goal in (1, 5, 19, 20, 30):
        proposals = world.propose(goal)
        check_proposals(world, proposals, goal)
        assert len(world.pool) - sum(len(each.members) - 1 for each in proposals) == min(goal, 20)


def test_patterns_without_anything_in_common_are_left_alone() -> None:
    assert World("?x :p :A", "?x :q :B", ":C :r ?x").propose(1) == []


def test_the_most_frequent_summary_picks_first() -> None:
    world = World("?x :p :A", "?x :p :B", "?x :q :C", "?x :q :D")
    often, seldom = graph("S p A", "S p B"), graph("S q C", "S q D")
    first = world.propose(3, Summary(often, 9), Summary(seldom, 1))
    other = world.propose(3, Summary(seldom, 9), Summary(often, 1))
    assert [set(each.members) for each in first] == [{0, 1}]
    assert [set(each.members) for each in other] == [{2, 3}]


def test_once_the_summaries_are_used_up_structure_decides() -> None:
    world = World("?x :p :A", "?x :p :B", "?x :q :C", "?x :q :D")
    proposals = world.propose(1, Summary(graph("S p A", "S p B"), 9))
    assert [set(each.members) for each in proposals] == [{0, 1}, {2, 3}]


def test_mergers_are_merged_again() -> None:
    world = World(*(f"?x :author :A{number}" for number in range(200)))
    proposals = world.propose(1)
    check_proposals(world, proposals, 1)
    assert max(max(each.members) for each in proposals) > 199


def test_neighbouring_intervals_are_merged() -> None:
    random = Random(1)
    order = random.sample(range(64), 64)
    world = World(*(f"?x :year ?y FILTER(?y >= {10 * at} && ?y < {10 * at + 9})" for at in order))
    for _, members, _ in world.propose(2):
        places = sorted(order[member] for member in members)
        assert places == list(range(places[0], places[0] + len(places)))


@pytest.mark.parametrize("seed", range(5))
def test_proposals_hold_what_they_merge(seed: int) -> None:
    random = Random(seed)

    def pattern() -> str:
        edges = [(f":n{random.randrange(4)}", f":p{random.randrange(3)}", f"?v{random.randrange(2)}") for _ in range(3)]
        texts = [" ".join(edge if random.random() < 0.7 else edge[::-1]) for edge in edges]
        return " . ".join(texts) + (f" FILTER(?v0 > {random.randrange(9)})" if "?v0" in " ".join(texts) else "")

    world = World(*dict.fromkeys(pattern() for _ in range(60)), sample=[graph("n1 p1 n2", "n2 p0 n3")])
    goal = random.randrange(1, 30)
    proposals = world.propose(goal, Summary(graph("n1 p1 n2", "n2 p0 n3"), 3), share=1.0)
    check_proposals(world, proposals, goal)
    assert proposals


# --- estimates --------------------------------------------------------------------------------------------------


def accepted(world: World, merger: str, *numbers: int, tolerance: Tolerance) -> bool:
    estimator = Estimator(world.frequencies, world.sample, 0.1)
    candidate = world.candidate(World(merger).forms[0])
    members = [world.pool[number] for number in numbers]
    product = antiunify(members, [next(same_edges(each))[1][: len(candidate.edges)] for each in members])
    return estimator.accepts(candidate, members, product, tolerance)


def test_a_merger_must_ask_for_something() -> None:
    world = World("?x :p :A . ?x :q :B", "?x :p :C . ?x :r :D", "?x :p ?y")
    wide = Tolerance(1e9, anchored=False)
    assert not accepted(world, "?x :p ?y", 0, 1, tolerance=wide)
    assert accepted(world, "?x :p ?y", 0, 2, tolerance=wide)  # one of the members asks for nothing either


def test_a_merger_must_keep_what_it_is_looked_up_by() -> None:
    world = World(":A :p ?x . ?x :q :B", ":A :r ?x . ?x :q :C")
    sets = "?x ?p ?y VALUES ?x { :A } VALUES ?p { :p :r }"
    assert not accepted(world, sets, 0, 1, tolerance=Tolerance(1e9, anchored=False))
    assert accepted(world, ":A ?p ?y VALUES ?p { :p :r }", 0, 1, tolerance=Tolerance(1e9, anchored=True))
    assert not accepted(world, "?x :q ?y VALUES ?y { :B :C }", 0, 1, tolerance=Tolerance(1e9, anchored=True))
    assert accepted(world, "?x :q ?y VALUES ?y { :B :C }", 0, 1, tolerance=Tolerance(1e9, anchored=False))


def test_a_merger_that_is_expected_too_often_is_not_accepted() -> None:
    world = World(*(f":A :p :B{number} . :B{number} :q :C{number}" for number in range(9)))
    estimator = Estimator(world.frequencies, world.sample, 0.1)
    expected = estimator.expected(world.candidate(World(":A :p ?x").forms[0]))
    assert accepted(world, ":A :p ?x", 0, 1, tolerance=Tolerance(1.01 * expected, anchored=True))
    assert not accepted(world, ":A :p ?x", 0, 1, tolerance=Tolerance(0.99 * expected, anchored=True))


def test_narrower_patterns_are_expected_less() -> None:
    world = World(*(f":A{number} :p :B{number} . :B{number} :q{number} :C" for number in range(9)))
    estimator = Estimator(world.frequencies, world.sample, 0.1)
    texts = [
        "?x :p ?y",
        "?x :p ?y FILTER(?y > 1)",
        ":A1 :p ?y",
        ":A1 :p ?y . ?y ?q :C VALUES ?q { :q1 :q2 }",
        ":A1 :p ?y . ?y :q1 :C",
    ]
    expected = [estimator.expected(world.candidate(form)) for form in World(*texts).forms.values()]
    assert expected == sorted(expected, reverse=True)
    assert len(set(expected)) == len(texts)


def test_two_edges_that_one_edge_may_meet_are_expected_like_one() -> None:
    world = World(*(f":A{number} :p :B{number} . :A{number} :q :C{number}" for number in range(50)))
    estimator = Estimator(world.frequencies, world.sample, 0.1)
    common = "VALUES ?y { :B1 :B2 } VALUES ?z { %s }"
    texts = [f"?x :p ?y . ?x ?q ?z VALUES ?q {{ :p }} {common % names}" for names in (":B1 :B2", ":B3 :B4")]
    one, other = (estimator.expected(world.candidate(form)) for form in World(*texts).forms.values())
    assert one > 5 * other


def test_what_the_sample_shows_to_be_met_in_vain_is_not_accepted() -> None:
    texts = ["?x :p :A . ?x :q :B", "?x :p :C . ?x :q :D"]
    vain = [graph(f"S{number} p A", f"S{number} q D") for number in range(5)]
    level = Tolerance(1e9, anchored=False)
    merger = "?x :p ?y . ?x :q ?z VALUES ?y { :A :C } VALUES ?z { :B :D }"
    assert accepted(World(*texts), merger, 0, 1, tolerance=level)
    assert not accepted(World(*texts, sample=vain), merger, 0, 1, tolerance=level)
    right = [graph(f"S{number} p A", f"S{number} q B") for number in range(100)]
    assert accepted(World(*texts, sample=vain + right), merger, 0, 1, tolerance=level)


# --- what a summary picks ---------------------------------------------------------------------------------------


def test_a_summary_picks_the_patterns_whose_edges_it_holds() -> None:
    world = World("?x :p :A", ":S :p ?y . ?y :q :B", "?x :p ?y", ":S :p :C", "?x ?p :A", "?x :r :A")
    matrix = AccessMatrix(world.pool, world.names)
    assert matrix.picked(graph("S p A", "A q B", "A u V")) == [0, 1, 2]
    assert matrix.picked(graph("T p C")) == [2]
    assert matrix.picked(frozenset()) == []
