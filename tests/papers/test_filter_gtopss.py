"""G-ToPSS: the union graph of [G] figures 5(d) and 7, its counters, and what the mends change."""

from __future__ import annotations

from heliograph.filter.encode import Publication
from heliograph.papers.filter import Entry, GraphEdge, GToPSSMatcher, Matching, UnionGraph
from heliograph.terms import literal, parse_cell, plain_name
from tests.papers.matchers import candidates, edges, found, indexed, publication, subscriptions
from tests.seeds.test_filter_seed import EVENT, PAPER, S1, S2, TAXONOMY

A, B, E1, E2 = map(plain_name, ("a", "b", "e1", "e2"))
AUTHOR, CONFERENCE, YEAR, SIGMOD = map(plain_name, ("author", "conference", "year", "SIGMOD"))
ARNO, THE_PAPER = literal("Arno Jacobsen"), plain_name(PAPER)


def union(*texts: str) -> tuple[UnionGraph, list[Entry]]:
    graph, entries = UnionGraph(), [Entry(each, 1) for each in subscriptions(texts)]
    for entry in entries:
        graph.insert(entry)
    return graph, entries


def matching(texts: list[str], published: Publication) -> Matching:
    search = indexed(GToPSSMatcher(), texts).search(published)
    assert isinstance(search, Matching)
    return search


def counts(search: Matching) -> dict[str, int]:
    return {entry.subscription.id: number for entry, number in search.counts.items()}


def event() -> Publication:
    cells = [(parse_cell(s), parse_cell(p), parse_cell(o)) for s, p, o in EVENT[1]]
    return publication(cells, [(plain_name(child), plain_name(parent)) for child, parent in TAXONOMY])


def test_g_figure_5d_the_union_of_s1_and_s2() -> None:
    """ "we use one node labelled *1 to represent both ?x and ?z; ?x and ?y are represented by two nodes since they
    appear in the same subscription". The figure gives the year *1 in both: numbers go by appearance, so S2 names it
    first here."""
    later = S2.replace("?y :author", ":SIGMOD :year ?x . ?y :author").replace(". :SIGMOD :year ?x FILTER", "FILTER")
    graph, (s1, s2) = union(S1, later)
    assert graph.stars == 2
    assert [overlap.edge for overlap in graph.overlaps[s1]] == [
        GraphEdge(THE_PAPER, AUTHOR, ARNO),
        GraphEdge(THE_PAPER, CONFERENCE, SIGMOD),
        GraphEdge(SIGMOD, YEAR, 1),
    ]
    assert [overlap.edge for overlap in graph.overlaps[s2]] == [
        GraphEdge(SIGMOD, YEAR, 1),
        GraphEdge(2, AUTHOR, ARNO),
        GraphEdge(2, CONFERENCE, SIGMOD),
    ]
    assert graph.overlaps[s1][2] is graph.overlaps[s2][0]  # stored once, with both subscriptions
    assert graph.overlaps[s1][2].subscriptions == [s1, s2]


def test_g_figure_5_both_match_the_event() -> None:
    version = indexed(GToPSSMatcher(), [S1, S2])
    assert found(version, event()) == ["s0", "s1"]
    search = version.search(event())
    assert isinstance(search, Matching)
    assert counts(search) == {"s0": 3, "s1": 3}


def test_g_figure_7_two_levels_of_hash_tables() -> None:
    """ "There are two edges between node A and B and both s1 and s2 contain the edge a between A and B"."""
    s1 = "ASK { :A :a :B ; :b :B . ?x :a ?y ; :b ?y }"
    graph, (first, second) = union(s1, "ASK { :A :a :B }")
    node_a, node_b, a, b = map(plain_name, "ABab")
    shared, own, *stars = graph.overlaps[first]
    assert [shared.subscriptions, own.subscriptions] == [[first, second], [first]]
    assert graph.overlaps[second] == (shared,)
    assert [edge.edge for edge in (shared, own)] == [GraphEdge(node_a, a, node_b), GraphEdge(node_a, b, node_b)]
    assert [edge.edge for edge in stars] == [GraphEdge(1, a, 2), GraphEdge(1, b, 2)]


def test_stars_are_shared_by_number() -> None:
    """ "The value of index i is bounded by the number of variables in the subscription with the most variables"."""
    graph, entries = union("ASK { :a :e1 ?x }", "ASK { :a :e1 ?y }", "ASK { ?p :e1 ?q . ?q :e1 ?r }")
    assert graph.stars == 3
    assert graph.overlaps[entries[0]] == graph.overlaps[entries[1]]


def test_the_edges_that_a_publication_edge_matches() -> None:
    """v w, v *i, *i w and *i *j; not the reverse, and *i *i only of a loop."""
    graph, _ = union("ASK { :a :e1 :b . :a :e1 ?x . ?x :e1 :b . ?x :e1 ?y . ?x :e1 ?x . :b :e1 :a . ?y :e1 :a }")
    assert {tuple(edge.edge) for edge in graph.edges((A, E1, B))} == {
        (A, E1, B),
        (A, E1, 1),
        (1, E1, B),
        (1, E1, 2),
    }
    assert {tuple(edge.edge) for edge in graph.edges((A, E1, A))} == {
        *((A, E1, 1), (1, E1, 2), (1, E1, 1), (2, E1, A)),
    }
    assert list(graph.edges((A, E2, B))) == []


def test_note_3_counters_count_distinct_subscription_edges() -> None:
    """Printed, each publication edge counts: three for an edge of S look like two edges of S, and S is joined."""
    asked = ["ASK { :a :e1 ?x . :a :e2 ?x }"]
    search = matching(asked, publication(edges("a e1 b, a e1 c, a e1 d")))
    printed = sum(len(rows) for rows in search.tables.values())
    assert printed == 3  # what S.edgeCount would be, against |S.edges| = 2
    assert counts(search) == {"s0": 1}


def test_note_3_counters_and_tables_belong_to_one_publication() -> None:
    version = indexed(GToPSSMatcher(), ["ASK { :a :e1 ?x . :a :e2 ?x }"])
    halves = [publication(edges("a e1 b")), publication(edges("a e2 b"))]
    for half in halves * 2:
        assert candidates(version, half) == ["s0"]
        assert found(version, half) == []
    assert found(version, publication(edges("a e1 b, a e2 b"))) == ["s0"]


def test_complete_counters_still_need_the_join() -> None:
    search = matching(["ASK { :a :e1 ?x . ?x :e2 :b }"], publication(edges("a e1 c, d e2 b")))
    assert counts(search) == {"s0": 2}
    assert not any(search.matches(entry) for entry in search.candidates.values())


def test_note_14_candidates_are_all_that_were_counted() -> None:
    """One shared edge touches every counter; that is what the count of candidates is to show."""
    asked = [f"ASK {{ ?x :common ?y . ?y :rare{number} :z }}" for number in range(50)]
    version = indexed(GToPSSMatcher(), asked)
    published = publication(edges("a common b, b rare7 z"))
    assert len(candidates(version, published)) == 50
    assert found(version, published) == ["s7"]
