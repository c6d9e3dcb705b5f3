"""The figures and notes of [G] and [R]: the union graph and its counters, OPS, constraint tables, the mends."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.filter.encode import Publication
from heliograph.papers.filter import (
    ClassConstraint,
    Constraint,
    ConstraintTable,
    Descent,
    Entry,
    GraphEdge,
    GToPSSMatcher,
    Matching,
    Network,
    OpsMatcher,
    PaperStep,
    Relation,
    RssMatcher,
    RssMatching,
    SubscriptionGraph,
    UnionGraph,
    ValueConstraint,
    holds,
    take_apart,
)
from heliograph.sparql.query import Query
from heliograph.sparql.solve import Graph
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import Term, literal, parse_cell, plain_name
from heliograph.values import XSD_INTEGER
from tests.papers.matchers import (
    NAMES,
    VALUES,
    Row,
    candidates,
    edges,
    found,
    indexed,
    names,
    objects,
    operators,
    publication,
    rows,
    seed_queries,
    subscriptions,
)
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


# --- oPS-style matching: how a subscription is taken apart, what overlapping ones share, and where it gives up ----


C, E, F, G = map(plain_name, "cefg")


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


# --- the RSS matcher: the tables of [R] figures 3 and 4, constraints before joins, and what the mends change ------


NOTHING = Classes(Graph(), Taxonomy())


def number(value: int) -> Term:
    return literal(str(value), XSD_INTEGER)


def valued(*values: int) -> list[tuple[Term, Term, Term]]:
    return [(plain_name("A"), plain_name("E2"), number(value)) for value in values]


# --- figure 4 ---------------------------------------------------------------------------------------------------


def test_r_figure_4_the_constraint_table_of_an_edge() -> None:
    """ "an entry in the > list contains a key value 10 and subscriptions S2 and S5. This means that S2 and S5 contain a
    common edge E2(A,*) with the same constraint * > 10". The other entries of the drawing are lost; one for each list
    stands in for them."""
    table: ConstraintTable[str] = ConstraintTable()
    printed = {"S1": ("=", 7), "S2": (">", 10), "S5": (">", 10), "S3": ("<", 8), "S4": ("!=", 7), "S6": (">", 20)}
    for name, (operator, value) in printed.items():
        table.insert((ValueConstraint(operator, number(value)),), name)
    satisfied = {value: sorted(table.satisfied(number(value), NOTHING)) for value in (7, 9, 15, 25)}
    assert satisfied == {7: ["S1", "S3"], 9: ["S4"], 15: ["S2", "S4", "S5"], 25: ["S2", "S4", "S5", "S6"]}


class_constraints = st.builds(ClassConstraint, st.sampled_from(Relation), names)
value_constraints = st.builds(ValueConstraint, operators, objects)
constraint_sets = st.lists(st.one_of(value_constraints, class_constraints), min_size=1, max_size=3).map(tuple)


@settings(max_examples=300, deadline=None)
@given(st.lists(constraint_sets, max_size=8), rows)
def test_a_constraint_table_misses_nobody(given_sets: list[tuple[Constraint, ...]], given_rows: list[Row]) -> None:
    classes = Classes(Graph(), Taxonomy(given_rows))
    table: ConstraintTable[int] = ConstraintTable()
    for place, constraints in enumerate(given_sets):
        table.insert(constraints, place)
    for value in (*NAMES, *VALUES):
        satisfied = {
            place for place, asked in enumerate(given_sets) if all(holds(each, value, classes) for each in asked)
        }
        assert satisfied <= set(table.satisfied(value, classes))


def test_r_figure_3_label_first_and_four_pairs() -> None:
    """A publication edge has four pairs to look up under its label, however many variables there are."""
    asked = ["ASK { :A :E2 :B }", "ASK { :A :E2 ?x }", "ASK { ?x :E2 :B }", "ASK { ?y :E2 ?x . ?x :E3 ?y }"]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(edges("A E2 B"))) == ["s0", "s1", "s2", "s3"]
    assert candidates(version, publication(edges("A E1 B"))) == []
    assert candidates(version, publication(edges("C E2 D"))) == ["s3"]
    search = version.search(publication(edges("A E2 B, B E2 B, C E3 D")))
    assert isinstance(search, RssMatching)
    assert sorted(map(len, search.tables.values())) == [1, 1, 1, 2, 2]


# --- constraints before joins -----------------------------------------------------------------------------------


def test_only_satisfied_constraints_make_candidates() -> None:
    """[R] figure 9(b): one structure and many ranges; candidates follow the matches, not the subscriptions."""
    shared = ":A :E1 ?x . ?x :E1 :B . :A :E2 ?v"
    document = edges("A E1 C, C E1 B") + valued(505)
    for size in (200, 1000):
        asked = [f"ASK {{ {shared} FILTER(?v >= {low} && ?v < {low + 10}) }}" for low in range(0, size * 10, 10)]
        version = indexed(RssMatcher(), asked)
        assert found(version, publication(document)) == ["s50"]
        assert candidates(version, publication(document)) == ["s50"]


def test_whoever_is_constrained_elsewhere_does_not_enter_through_a_shared_edge() -> None:
    """Printed, C holds all without a constraint on this edge, so SubSet is everybody who shares it."""
    asked = ["ASK { :A :E1 ?x }", "ASK { :A :E1 ?x . :A :E2 ?v FILTER(?v > 5) }"]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(edges("A E1 B"))) == ["s0"]
    assert candidates(version, publication(edges("A E1 B") + valued(7))) == ["s0", "s1"]
    assert candidates(version, publication(edges("A E1 B") + valued(3))) == ["s0"]


def test_note_4_a_shared_table_holds_what_anybody_accepts() -> None:
    """The row (A, 7) is in the table that both share, because of `?x > 5`; only its own constraint lets S10 join it."""
    asked = ["ASK { :A :E2 ?x . :B :E2 ?x FILTER(?x > 5) }", "ASK { :A :E2 ?x . :B :E2 ?x FILTER(?x > 10) }"]
    document = [*valued(7, 12), (plain_name("B"), plain_name("E2"), number(7))]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(document)) == ["s0", "s1"]
    assert found(version, publication(document)) == ["s0"]


def test_note_5_both_ends_of_an_edge() -> None:
    """The union would take S for a1 → 3 because of its source and for b1 → 7 because of its target."""
    asked = ["ASK { ?x :e ?y FILTER(?x = :a1) FILTER(?y > 5) }"]
    version = indexed(RssMatcher(), asked)
    a1, b1, e = map(plain_name, ("a1", "b1", "e"))
    apart = publication([(a1, e, number(3)), (b1, e, number(7))])
    assert candidates(version, apart) == ["s0"]
    assert found(version, apart) == []
    search = version.search(apart)
    assert isinstance(search, RssMatching)
    assert not search.subset
    assert found(version, publication([(a1, e, number(7))])) == ["s0"]


def test_note_5_a_variable_on_several_edges() -> None:
    asked = ["ASK { :p :low ?v . :p :high ?v FILTER(?v > 5) FILTER(?v < 9) }"]
    version = indexed(RssMatcher(), asked)
    p, low, high = map(plain_name, ("p", "low", "high"))
    assert found(version, publication([(p, low, number(7)), (p, high, number(8))])) == []
    assert found(version, publication([(p, low, number(12)), (p, high, number(12))])) == []
    assert found(version, publication([(p, low, number(7)), (p, high, number(7))])) == ["s0"]


def test_note_9_two_sided_ranges_are_one_look_up() -> None:
    """With [R]'s lists, every range that ends above 50 or begins below it would be looked at."""
    asked = [f"ASK {{ :A :E2 ?x FILTER(?x >= {low} && ?x <= {low + 2}) }}" for low in range(100)]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(valued(50))) == ["s48", "s49", "s50"]
    never = indexed(RssMatcher(), ["ASK { :A :E2 ?x FILTER(?x > 9 && ?x < 5) }"])
    assert candidates(never, publication(valued(7))) == []


def test_note_6_classes_are_looked_up_too() -> None:
    asked = [f"ASK {{ ?x :p :y . ?x a/rdfs:subClassOf* :C{number} }}" for number in range(30)]
    version = indexed(RssMatcher(), asked)
    tree: list[Row] = [(plain_name(f"C{number}"), plain_name(f"C{number // 2}")) for number in range(1, 30)]
    published = publication(edges("n p y"), [*tree, (plain_name("n"), plain_name("C20"))])
    expected = ["s0", "s1", "s2", "s5", "s10", "s20"]
    assert candidates(version, published) == expected
    assert found(version, published) == expected


def test_an_inequality_keeps_its_list() -> None:
    asked = [f"ASK {{ :A :E2 ?x FILTER(?x != {value}) }}" for value in (5, 7)] + ["ASK { :A :E2 ?x FILTER(?x != :A) }"]
    version = indexed(RssMatcher(), asked)
    assert candidates(version, publication(valued(5))) == ["s1", "s2"]
    assert candidates(version, publication(edges("A E2 B"))) == ["s0", "s1", "s2"]
