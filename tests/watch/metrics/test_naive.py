"""Functions worked out from scratch against networkx, on random graphs with loops, parallel edges and attributes."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import inf
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.sparql.query import Metric
from heliograph.terms import RDF_TYPE, Term, literal, plain_name, sort_key
from heliograph.values import XSD_INTEGER
from heliograph.watch.metrics.naive import DENSE_FACTOR, Argument, Triple, Weighted, naive_evidence, naive_value

VERTICES = [plain_name(name) for name in "abcdefgh"]
KNOWS, LIKES = plain_name("knows"), plain_name("likes")
ABSENT = plain_name("absent")
UNDIRECTED, WEIGHT = literal("undirected"), literal("weight")
AGE = (VERTICES[0], plain_name("age"), literal("7", XSD_INTEGER))

triples = st.tuples(st.sampled_from(VERTICES), st.sampled_from([KNOWS, LIKES, RDF_TYPE]), st.sampled_from(VERTICES))
weights = st.sampled_from([None, 0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.25])
graphs = st.dictionaries(triples, weights, max_size=24).map(lambda graph: {**graph, AGE: None})
vertices = st.sampled_from(VERTICES)


def whole(number: int) -> Term:
    return literal(str(number), XSD_INTEGER)


def edges_of(graph: Weighted, *properties: Term) -> list[Triple]:
    chosen = properties or (KNOWS, LIKES)
    return [triple for triple in graph if triple[1] in chosen]


def weight_of(graph: Weighted, triple: Triple) -> float:
    weight = graph[triple]
    return 1.0 if weight is None else weight


def directed(graph: Weighted, *properties: Term) -> Any:
    """The directed simple graph of a projection, least weights on it."""
    made = nx.DiGraph()
    for triple in edges_of(graph, *properties):
        known = made.get_edge_data(triple[0], triple[2], {"weight": inf})["weight"]
        made.add_edge(triple[0], triple[2], weight=min(known, weight_of(graph, triple)))
    return made


def undirected(graph: Weighted, *properties: Term) -> Any:
    made = nx.Graph()
    for triple in edges_of(graph, *properties):
        known = made.get_edge_data(triple[0], triple[2], {"weight": inf})["weight"]
        made.add_edge(triple[0], triple[2], weight=min(known, weight_of(graph, triple)))
    return made


def simple(graph: Weighted) -> Any:
    made = undirected(graph)
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    return made


def existing(graph: Weighted) -> set[Term]:
    return {term for s, _, o in graph for term in (s, o) if not term.is_literal}


def value(name: str, *arguments: Argument, graph: Weighted) -> float:
    return naive_value(name, arguments, graph)


# --- degrees, triangles, cliques --------------------------------------------------------------------------------


@given(graphs, vertices, st.sampled_from([(), (KNOWS,), (RDF_TYPE,)]))
def test_degrees_are_those_of_a_multigraph(graph: Weighted, x: Term, properties: tuple[Term, ...]) -> None:
    made = nx.MultiDiGraph([(s, o) for s, _, o in edges_of(graph, *properties)])
    made.add_node(x)
    found = [value(name, x, *properties, graph=graph) for name in ("degree", "indegree", "outdegree")]
    assert found == [made.degree(x), made.in_degree(x), made.out_degree(x)]


@given(graphs, vertices)
def test_clustering(graph: Weighted, x: Term) -> None:
    made = simple(graph)
    made.add_nodes_from(existing(graph) | {x})
    assert value("clustering", x, graph=graph) == pytest.approx(nx.clustering(made, x))
    assert value("transitivity", graph=graph) == pytest.approx(nx.transitivity(made))
    made.remove_nodes_from({x} - existing(graph))
    assert value("averageClustering", graph=graph) == pytest.approx(nx.average_clustering(made))


@given(graphs, st.integers(1, 5))
def test_cliques(graph: Weighted, k: int) -> None:
    made = simple(graph)
    made.add_nodes_from(existing(graph))
    counted = sum(len(clique) == k for clique in nx.enumerate_all_cliques(made))
    assert value("cliques", whole(k), graph=graph) == counted


@given(graphs, vertices)
def test_betweenness(graph: Weighted, x: Term) -> None:
    made = directed(graph)
    made.add_nodes_from(existing(graph) | {x})
    centrality = nx.betweenness_centrality(made.subgraph(existing(graph)))
    assert value("betweenness", x, graph=graph) == pytest.approx(centrality.get(x, 0.0))


# --- density ----------------------------------------------------------------------------------------------------


@given(graphs, vertices, st.integers(0, 3))
def test_density_of_what_surrounds_a_vertex(graph: Weighted, x: Term, hops: int) -> None:
    made, near = directed(graph), undirected(graph)
    near.add_node(x)
    held = nx.ego_graph(near, x, radius=hops).nodes
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    assert value("density", x, whole(hops), graph=graph) == pytest.approx(nx.density(made.subgraph(held)))


@given(graphs, st.sets(vertices))
def test_density_of_what_is_selected(graph: Weighted, selected: set[Term]) -> None:
    made = directed(graph)
    made.remove_edges_from(list(nx.selfloop_edges(made)))
    made.add_nodes_from(selected)
    assert naive_value("density", (), graph, selected) == pytest.approx(nx.density(made.subgraph(selected)))


def best_density(made: Any, x: Term) -> float:
    """The optimum over all vertex sets that hold x, by trying each."""
    others = [vertex for vertex in made if vertex != x]
    sets = (made.subgraph({x, *some}) for size in range(len(others) + 1) for some in combinations(others, size))
    return float(max(some.number_of_edges() / some.number_of_nodes() for some in sets))


@given(graphs, vertices)
def test_dense_is_at_least_half_of_the_optimum(graph: Weighted, x: Term) -> None:
    made = simple(graph)
    made.remove_nodes_from(list(nx.isolates(made)))
    found = value("dense", x, graph=graph)
    best = best_density(made, x) if x in made else 0.0
    low, high = naive_evidence("dense", [x], graph)["interval"]
    assert (low, high) == (found, DENSE_FACTOR * found)
    assert low - 1e-12 <= best <= high + 1e-12


# --- distances --------------------------------------------------------------------------------------------------

OPTIONS = [(), (UNDIRECTED,), (WEIGHT,), (UNDIRECTED, WEIGHT), (KNOWS,), (WEIGHT, KNOWS, RDF_TYPE)]


def world_of(graph: Weighted, options: tuple[Term, ...]) -> tuple[Any, str | None]:
    properties = [option for option in options if not option.is_literal]
    made = (undirected if UNDIRECTED in options else directed)(graph, *properties)
    return made, "weight" if WEIGHT in options else None


@given(graphs, vertices, vertices, st.sampled_from(OPTIONS))
def test_distance(graph: Weighted, a: Term, b: Term, options: tuple[Term, ...]) -> None:
    made, weight = world_of(graph, options)
    expected = inf
    if a in made and b in made and nx.has_path(made, a, b):
        expected = nx.shortest_path_length(made, a, b, weight=weight)
    assert value("distance", a, b, *options, graph=graph) == pytest.approx(expected)


@given(graphs, vertices, vertices, st.sampled_from(OPTIONS))
def test_a_path_leads_from_end_to_end_and_weighs_the_distance(
    graph: Weighted, a: Term, b: Term, options: tuple[Term, ...]
) -> None:
    edges = naive_evidence("distance", [a, b, *options], graph)["edges"]
    distance = value("distance", a, b, *options, graph=graph)
    at = a
    for s, _, o in edges:
        at = o if s == at else s
        assert UNDIRECTED in options or at == o
    weighed = sum(weight_of(graph, edge) if WEIGHT in options else 1.0 for edge in edges)
    assert (at == b and weighed == pytest.approx(distance)) or (distance == inf and edges == [])


@given(graphs, vertices, vertices)
def test_the_path_does_not_depend_on_the_order_of_edges(graph: Weighted, a: Term, b: Term) -> None:
    backwards = dict(reversed(list(graph.items())))
    assert naive_evidence("distance", [a, b], graph) == naive_evidence("distance", [a, b], backwards)


# --- Steiner trees ----------------------------------------------------------------------------------------------

terminals = st.lists(vertices, min_size=2, max_size=4)


def expected_steiner(made: Any, ends: list[Term]) -> float:
    if any(end not in made for end in ends) or any(not nx.has_path(made, ends[0], end) for end in ends):
        return inf
    closure = nx.Graph()
    closure.add_nodes_from(ends)
    for one, other in combinations(set(ends), 2):
        closure.add_edge(one, other, weight=nx.shortest_path_length(made, one, other, weight="weight"))
    return float(nx.minimum_spanning_tree(closure).size(weight="weight"))


@given(graphs, terminals, st.sampled_from([(), (KNOWS,), (LIKES, RDF_TYPE)]))
def test_steiner_is_a_spanning_tree_of_distances(graph: Weighted, ends: list[Term], via: tuple[Term, ...]) -> None:
    arguments: list[Argument] = [*ends, *([Metric("via", via)] if via else [])]
    expected = expected_steiner(undirected(graph, *via), ends)
    assert naive_value("steiner", arguments, graph) == pytest.approx(expected)


@given(graphs, terminals)
def test_the_evidence_is_a_tree_over_the_terminals_and_no_heavier(graph: Weighted, ends: list[Term]) -> None:
    edges = naive_evidence("steiner", ends, graph)["edges"]
    bound = value("steiner", *ends, graph=graph)
    made = nx.Graph([(s, o) for s, _, o in edges])
    made.add_nodes_from(set(ends) if bound < inf else [])
    assert bound == inf or (nx.is_tree(made) and {v for v in made if made.degree(v) < 2} <= set(ends))
    assert sum(weight_of(graph, edge) for edge in edges) <= bound + 1e-12
    points = {x for x in VERTICES if value("steinerPoint", x, *ends, graph=graph)}
    assert points == set(made) - set(ends)


@given(graphs, terminals)
def test_the_tree_depends_on_the_graph_alone(graph: Weighted, ends: list[Term]) -> None:
    backwards = dict(reversed(list(graph.items())))
    assert naive_evidence("steiner", ends, graph) == naive_evidence("steiner", ends[::-1], backwards)


def test_the_order_of_terms_may_be_another() -> None:
    a, b, c, d = VERTICES[:4]
    graph: dict[Triple, float | None] = dict.fromkeys([(a, KNOWS, b), (b, KNOWS, d), (a, KNOWS, c), (c, KNOWS, d)])
    assert naive_evidence("distance", [a, d], graph)["edges"] == [(a, KNOWS, b), (b, KNOWS, d)]
    other = naive_evidence("distance", [a, d], graph, order=lambda term: [-ord(letter) for letter in term.value])
    assert other["edges"] == [(a, KNOWS, c), (c, KNOWS, d)]
    assert value("steinerPoint", b, a, d, graph=graph) == 1.0
    assert value("steinerPoint", c, a, d, graph=graph) == 0.0


def test_paths_that_make_a_ring_are_cut_open() -> None:
    """Between ends a, c, e of a ring of six every pair is two apart, and the third path would close the ring."""
    ring = [*VERTICES[:6], VERTICES[0]]
    graph: dict[Triple, float | None] = {(s, KNOWS, o): None for s, o in pairwise(ring)}
    assert len(naive_evidence("steiner", [ring[0], ring[2], ring[4]], graph)["edges"]) == 4


def test_weights_are_summed_exactly() -> None:
    """0.1 + 0.2 + 0.3 is the same whichever way it is added up, so both ways from a to d are equally short."""
    a, b, c, d = VERTICES[:4]
    e, f = VERTICES[4:6]
    ways = [(a, b, 0.1), (b, c, 0.2), (c, d, 0.3), (a, e, 0.3), (e, f, 0.2), (f, d, 0.1)]
    graph: dict[Triple, float | None] = {(s, KNOWS, o): weight for s, o, weight in ways}
    edges = naive_evidence("distance", [a, d, WEIGHT], graph)["edges"]
    assert [o for _, _, o in edges] == [b, c, d]
    assert value("steiner", a, d, graph=graph) == value("distance", d, a, UNDIRECTED, WEIGHT, graph=graph)


def test_pairs_of_terminals_with_fewer_edges_are_joined_first() -> None:
    """a to b costs 2 by one edge, a to c and b to c cost 2 by two: the pair (a, c) comes after (a, b) for its edges."""
    a, b, c, d, e = VERTICES[:5]
    ways = [(a, b, 2.0), (a, d, 1.0), (d, c, 1.0), (b, e, 1.0), (e, c, 1.0)]
    graph: dict[Triple, float | None] = {(s, KNOWS, o): weight for s, o, weight in ways}
    edges = naive_evidence("steiner", [a, b, c], graph)["edges"]
    assert set(edges) == {(a, KNOWS, b), (a, KNOWS, d), (d, KNOWS, c)}


# --- absent vertices --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [ABSENT, VERTICES[0]], ids=["absent", "attribute only"])
def test_a_vertex_without_edges(x: Term) -> None:
    graph: dict[Triple, float | None] = {AGE: None, (VERTICES[1], KNOWS, VERTICES[2]): None}
    names = ("degree", "indegree", "outdegree", "clustering", "betweenness", "dense")
    assert [value(name, x, graph=graph) for name in names] == [0.0] * len(names)
    assert value("density", x, whole(2), graph=graph) == 0.0
    assert value("distance", x, x, graph=graph) == inf
    assert value("steiner", x, VERTICES[1], graph=graph) == inf
    assert value("steinerPoint", x, VERTICES[1], VERTICES[2], graph=graph) == 0.0
    assert naive_evidence("degree", [x], graph) == {}
    assert sorted(existing(graph), key=sort_key) == VERTICES[:3]


def test_an_empty_graph_has_values() -> None:
    assert [naive_value(name, (), {}) for name in ("transitivity", "averageClustering", "density")] == [0.0] * 3
    assert value("cliques", whole(1), graph={}) == 0
