"""OPS-style matching: how a subscription is taken apart, what overlapping ones share, and where it gives up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from heliograph.papers.filter import (
    Descent,
    Entry,
    GraphEdge,
    Network,
    OpsMatcher,
    PaperStep,
    SubscriptionGraph,
    take_apart,
)
from heliograph.sparql.query import Query
from heliograph.terms import plain_name
from tests.papers.matchers import candidates, edges, found, indexed, publication, seed_queries, subscriptions

A, B, C, E, F, G = map(plain_name, ("a", "b", "c", "e", "f", "g"))


def test_every_node_is_a_variable() -> None:
    """[G] section 5: "every node in a subscription is a variable"; constants and stars have numbers alike."""
    steps, vertices = take_apart([GraphEdge(1, G, C), GraphEdge(A, E, 1)])
    assert steps == [PaperStep(E, 0, 1), PaperStep(G, 1, 2)]
    assert vertices == (A, 1, C)
    assert take_apart([GraphEdge(1, E, 1), GraphEdge(1, F, A)]) == ([PaperStep(E, 0, 0), PaperStep(F, 0, 1)], (1, A))


@given(seed_queries())
def test_taking_apart_loses_nothing(query: Query) -> None:
    graph = SubscriptionGraph.of(query)
    steps, vertices = take_apart(graph.edges)
    rebuilt = {GraphEdge(vertices[step.source], step.label, vertices[step.target]) for step in steps}
    assert rebuilt == set(graph.edges)
    known = 0
    for step in steps:
        assert min(step.source, step.target) <= known  # each edge meets those before it, or begins a part anew
        known = max(known, step.source + 1, step.target + 1)


def test_overlapping_subscriptions_share_subgraphs() -> None:
    network = Network()
    asked = ["ASK { :a :e ?x . ?x :f :c }", "ASK { ?y :e :b . :b :f ?z }", "ASK { :a :e ?x . ?x :g :c }"]
    entries = [Entry(each, 1) for each in subscriptions(asked)]
    for entry in entries:
        network.insert(entry)
    first, second, third = (network.placed[entry][0] for entry in entries)
    assert first is second
    assert first is not third
    assert len(network.root.children) == 1
    assert len(list(network.root.below())) == 4


def test_names_come_last() -> None:
    """The structure's instances are the same for all; the constants choose among them."""
    version = indexed(OpsMatcher(), ["ASK { :a :e ?x . ?x :f :c }", "ASK { ?y :e :b . :b :f ?z }", "ASK { :b :e ?x }"])
    published = publication(edges("a e b, b f d"))
    assert candidates(version, published) == ["s0", "s1", "s2"]
    assert found(version, published) == ["s1"]
    search = version.search(published)
    assert isinstance(search, Descent)
    assert sorted(map(len, search.instances.values())) == [1, 1, 1]


def test_where_a_subgraph_has_no_instance_nothing_beyond_is_tried() -> None:
    version = indexed(OpsMatcher(), ["ASK { :a :e ?x . ?x :f ?y . ?y :g ?z }"])
    assert candidates(version, publication(edges("a e b, c f d, d g a"))) == []
    assert candidates(version, publication(edges("a e b, b f d, c g a"))) == ["s0"]


@given(st.integers(12, 24))
def test_too_many_instances_are_given_up(size: int) -> None:
    """A fork of four equal edges on a star of 12 leaves has 12 ** 4 instances."""
    fork = "?p :e ?w . ?p :e ?x . ?p :e ?y . ?p :e ?z"
    asked = [f"ASK {{ {fork} }}", f"ASK {{ {fork} . ?z :e ?p }}", f"ASK {{ {fork} FILTER(?z = :m3 && ?y != :m3) }}"]
    asked += ["ASK { ?p :e ?w }", f"ASK {{ {fork} FILTER(?z != ?y) }}", f"ASK {{ {fork} . :n :e :m5 }}"]
    star = publication(edges(", ".join(f"n e m{leaf}" for leaf in range(size))))
    version = indexed(OpsMatcher(), asked)
    search = version.search(star)
    assert isinstance(search, Descent)
    assert search.given_up
    assert candidates(version, star) == [f"s{number}" for number in range(6)]
    assert found(version, star) == ["s0", "s2", "s3", "s4", "s5"]
