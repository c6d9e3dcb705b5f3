"""The trie matcher: equal to pyoxigraph and BF after every update, sharing what queries have in common."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from heliograph.errors import SubscriptionError
from heliograph.papers.watch import ADD, REMOVE, BruteForce, Trie, covering_paths, edges_of, pattern
from heliograph.sparql.query import Query
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import Variable
from tests.papers.watch_worlds import check_stream, patterns, streams

X, Y, Z = map(Variable, "xyz")


@settings(deadline=None, max_examples=150)
@given(streams(patterns))
def test_every_update_of_a_stream(actions: list[Any]) -> None:
    check_stream(actions, [Trie(), BruteForce()])


@pytest.mark.long
@settings(deadline=None, max_examples=4000)
@given(streams(patterns))
def test_many_streams(actions: list[Any]) -> None:
    check_stream(actions, [Trie(), BruteForce()])


def test_a_cycle_of_numbers_is_gained_and_lost() -> None:
    """Vertices are whatever can be hashed; a triangle is found once for each of its corners."""
    trie = Trie()
    trie.subscribe("triangle", pattern([(X, 0, Y), (Y, 0, Z), (Z, 0, X)]))
    stream = [(1, 0, 2), (2, 0, 3), (3, 0, 1)]
    counts = [len(trie.update(ADD, edge).gained) for edge in stream]
    assert counts == [0, 0, 3]
    assert trie.matches("triangle") == {(1, 2, 3), (2, 3, 1), (3, 1, 2)}
    broken = trie.update(REMOVE, (2, 0, 3))
    assert (len(broken.lost), broken.fell, trie.matches("triangle")) == (3, ["triangle"], set())


def test_a_walk_that_passes_an_edge_twice_is_counted_once() -> None:
    trie = Trie()
    trie.subscribe("chain", pattern([(X, 0, Y), (Y, 0, Z)]))
    assert [match.values for match in trie.update(ADD, (1, 0, 1)).gained] == [(1, 1, 1)]
    assert [match.values for match in trie.update(REMOVE, (1, 0, 1)).lost] == [(1, 1, 1)]


def test_what_changes_nothing_changes_nothing() -> None:
    trie = Trie()
    trie.subscribe("any", pattern([(X, Y, Z)]))
    assert trie.update(ADD, (1, 2, 3)).rose == ["any"]
    assert not any(trie.update(ADD, (1, 2, 3)))
    assert not any(trie.update(REMOVE, (3, 2, 1)))


def test_queries_share_what_their_paths_have_in_common() -> None:
    """100 chains that differ in their last vertex are one trunk with 100 leaves; the last to leave clears it."""
    trie = Trie()
    for number in range(100):
        trie.subscribe(str(number), pattern([(X, "p", Y), (Y, "q", Z), (Z, "r", number)]))
    trie.subscribe("same", pattern([(Z, "p", X), (X, "q", Y), (Y, "r", 7)]))
    assert trie.nodes == 102
    for edge in (("a", "p", "b"), ("b", "q", "c")):
        trie.update(ADD, edge)
    assert trie.joined == 0
    assert trie.update(ADD, ("c", "r", 7)).rose == ["7", "same"]
    assert trie.joined == 2
    for id in [*map(str, range(100)), "same"]:
        trie.unsubscribe(id)
    assert (trie.nodes, trie.matches("7")) == (0, set())


def test_paths_cover_every_edge_once() -> None:
    edges = edges_of(parse_sparql("ASK { ?a :p ?b . ?b :p ?c . ?b :q ?d . ?d :p ?a . ?e :p ?b . ?b :p ?c }"))
    paths = covering_paths(edges)
    assert sum(len(path.forms) for path in paths) == len(edges) == 5
    assert max(len(path.forms) for path in paths) > 1
    assert [len(path.forms) for path in covering_paths([(X, "p", Y), (X, "p", Z), (Z, "p", Y)])] == [1, 2]


def test_an_empty_query_is_always_true() -> None:
    trie = Trie()
    trie.subscribe("true", Query())
    assert trie.matches("true") == {()}


@pytest.mark.parametrize(
    "text",
    [
        "ASK { ?x :p ?y FILTER(?x != ?y) }",
        "ASK { ?x a/rdfs:subClassOf* :C }",
        "ASK { ?x rdfs:member ?y }",
        "ASK { ?x :p ?y VALUES ?x { :a } }",
        "SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) > 2)",
    ],
)
def test_what_it_cannot_answer_is_refused(text: str) -> None:
    with pytest.raises(SubscriptionError) as caught:
        Trie().subscribe("s", parse_sparql(text, verb="watch"))
    assert (caught.value.code, bool(caught.value.fix)) == ("HG-530", True)
