"""The plain solver: pyoxigraph gives the same solutions; laws and corners."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.sparql.query import (
    Call,
    ClassPattern,
    ClassRelation,
    Compare,
    Count,
    Expression,
    Metric,
    Not,
    Or,
    Query,
    TriplePattern,
    Values,
)
from heliograph.sparql.solve import Graph, QueryPlan, Triple, matches, solutions, world
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF, RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, iri, literal, plain_name
from heliograph.values import XSD_DECIMAL, XSD_INTEGER
from tests.sparql import oxigraph

X, Y, Z = map(Variable, "xyz")
A, B, C, P, Q = map(plain_name, "ABCpq")


def integer(number: int) -> Term:
    return literal(str(number), XSD_INTEGER)


names = st.sampled_from([A, B, C])
objects = st.one_of(names, st.sampled_from([integer(1), integer(5), literal("5.0", XSD_DECIMAL), literal("t")]))
predicates = st.sampled_from([P, Q, RDF_TYPE, RDFS_SUBCLASS_OF])
variables = st.sampled_from([X, Y, Z])
triples = st.lists(st.tuples(names, predicates, objects), min_size=2, max_size=14)
rows = st.lists(st.tuples(names, names), max_size=3)
triple_patterns = st.builds(
    TriplePattern,
    st.one_of(variables, variables, names),
    st.one_of(predicates, predicates, variables),
    st.one_of(variables, variables, objects),
)
class_patterns = st.builds(
    ClassPattern, st.sampled_from(ClassRelation), st.one_of(variables, names), st.one_of(variables, names)
)
patterns = st.lists(st.one_of(triple_patterns, triple_patterns, class_patterns), min_size=1, max_size=3).map(tuple)
blocks = st.lists(
    st.lists(st.tuples(st.one_of(st.none(), names), st.one_of(st.none(), objects)), max_size=3).map(
        lambda given_rows: Values((X, Y), tuple(given_rows))
    ),
    max_size=2,
).map(tuple)
tests: st.SearchStrategy[Expression] = st.one_of(
    st.builds(Compare, st.sampled_from(["=", "!="]), variables, names),
    st.builds(Compare, st.sampled_from(["<", ">=", "="]), variables, st.sampled_from([integer(3), integer(5)])),
    st.builds(lambda name: Call("BOUND", (name,)), variables),
    st.builds(lambda name: Not(Call("BOUND", (name,))), variables),
    st.builds(lambda name: Call("ISLITERAL", (name,)), variables),
)
filters = st.lists(st.one_of(tests, st.builds(lambda one, two: Or((one, two)), tests, tests)), max_size=1).map(tuple)
queries = st.one_of(
    st.builds(Query, patterns=patterns, filters=filters),
    st.builds(Query, patterns=patterns, filters=filters, values=blocks),
)


@st.composite
def abstracted(draw: st.DrawFn) -> tuple[Query, list[Triple]]:
    """A graph, and a pattern made of some of its triples by turning some terms into variables: it has a solution."""
    data = draw(triples)
    taken = draw(st.lists(st.sampled_from(data), min_size=1, max_size=4))
    hidden = draw(st.fixed_dictionaries({term: st.booleans() for triple in taken for term in triple}))
    nodes = {term: Variable(f"v{number}") if hidden[term] else term for number, term in enumerate(hidden)}
    return Query(patterns=tuple(TriplePattern(nodes[s], nodes[p], nodes[o]) for s, p, o in taken)), data


def canonical(found: object) -> list[list[tuple[Variable, Term]]]:
    return sorted(sorted(solution.items()) for solution in found)  # type: ignore[attr-defined]


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.tuples(queries, triples), st.tuples(queries, triples), abstracted()), rows)
@example((Query(), [(A, P, B)]), [])
@example((Query(values=(Values((X, Y), ((A, None), (A, None), (None, B), (C, C))),)), [(A, P, B)]), [])
@example((Query(patterns=(TriplePattern(X, X, X),)), [(A, P, A), (P, P, P)]), [])
def test_pyoxigraph_finds_the_same_solutions(
    given_case: tuple[Query, list[Triple]], given_rows: list[tuple[Term, Term]]
) -> None:
    query, data = given_case
    expected = oxigraph.answers(oxigraph.store(data, given_rows), oxigraph.query_text(query, taxonomy=True))
    assert canonical(solutions(query, Graph(data), Taxonomy(given_rows))) == canonical(expected)


@settings(max_examples=100, deadline=None)
@given(queries, triples, st.randoms(use_true_random=False))
def test_the_order_of_patterns_and_triples_is_irrelevant(query: Query, data: list[Triple], random: object) -> None:
    shuffled_patterns, shuffled = list(query.patterns), list(data)
    random.shuffle(shuffled_patterns)  # type: ignore[attr-defined]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    other = Query(patterns=tuple(shuffled_patterns), filters=query.filters[::-1], values=query.values[::-1])
    assert canonical(solutions(query, Graph(data))) == canonical(solutions(other, Graph(shuffled)))


@settings(max_examples=100, deadline=None)
@given(triples, triples, st.tuples(*(st.one_of(st.none(), part) for part in (names, predicates, objects))))
def test_a_graph_answers_as_a_set(first: list[Triple], second: list[Triple], asked: tuple[Term | None, ...]) -> None:
    graph = Graph(first)
    graph.match(A, None, None)  # an index that has to be kept up to date from here on
    assert [graph.add(triple) for triple in second] == _changes(first, second)
    removed = [graph.remove(triple) for triple in first]
    expected = set(second) - set(first)
    assert removed.count(True) == len(set(first))
    assert set(graph) == expected
    assert len(graph) == len(expected)
    agreeing = {t for t in expected if all(want is None or want == part for want, part in zip(asked, t, strict=True))}
    assert set(graph.match(*asked)) == agreeing
    assert graph.count(*asked) == len(agreeing)
    assert all(triple in graph for triple in agreeing)


def _changes(first: list[Triple], second: list[Triple]) -> list[bool]:
    seen, changed = set(first), []
    for triple in second:
        changed.append(triple not in seen)
        seen.add(triple)
    return changed


def test_members_of_a_container() -> None:
    first, second = iri(RDF + "_1"), iri(RDF + "_2")
    data = Graph([(A, first, B), (A, second, B), (A, RDFS_MEMBER, C), (A, iri(RDF + "_0x"), A)])
    query = Query(patterns=(TriplePattern(A, RDFS_MEMBER, X),))
    assert [solution[X] for solution in solutions(query, data)] == [B, C]
    bound_later = Query(patterns=(TriplePattern(A, Y, X),), values=(Values((Y,), ((RDFS_MEMBER,),)),))
    assert [solution[X] for solution in solutions(bound_later, data)] == [C]


def test_the_first_solution_costs_little_of_a_huge_product() -> None:
    data = Graph((plain_name(f"s{i}"), P, plain_name(f"o{i}")) for i in range(100))
    query = Query(patterns=tuple(TriplePattern(Variable(f"s{i}"), P, Variable(f"o{i}")) for i in range(20)))
    assert matches(query, data)  # of 100 ** 20


def test_a_long_chain_costs_no_recursion() -> None:
    size = 3000
    data = Graph((plain_name(f"n{i}"), P, plain_name(f"n{i + 1}")) for i in range(size))
    chain = tuple(TriplePattern(Variable(f"v{i}"), P, Variable(f"v{i + 1}")) for i in range(100))
    assert matches(Query(patterns=chain), data)


def test_a_variable_that_only_a_metric_names_ranges_over_the_vertices() -> None:
    query = Query(filters=(Compare(">", Metric("degree", (X,)), integer(1)),))
    degrees = {A: integer(1), B: integer(2)}
    found = solutions(query, Graph(), metrics=lambda _, bindings: degrees[bindings[X]], vertices=[A, B])
    assert list(found) == [{X: B}]


@pytest.mark.parametrize(("least", "expected"), [(0, True), (2, True), (3, False)])
def test_counts(least: int, expected: bool) -> None:
    having = Compare(">=", Count(), integer(least))
    query = Query(patterns=(TriplePattern(X, P, Y),), counted=True, having=having)
    assert matches(query, Graph([(A, P, B), (A, P, C)])) is expected


def test_counts_by_group() -> None:
    having = Compare(">=", Count(), integer(2))
    query = Query(patterns=(TriplePattern(X, P, Y),), counted=True, group_by=(X,), having=having)
    data = Graph([(A, P, B), (A, P, C), (B, P, C)])
    plan = QueryPlan.of(query)
    assert plan.counts(world(data)) == {(A,): 2, (B,): 1}
    assert matches(query, data)
    assert not matches(query, Graph([(A, P, B), (B, P, C)]))
    assert not matches(Query(patterns=query.patterns, counted=True, group_by=(X,)), Graph())


def test_a_count_of_nothing_is_zero_and_without_a_condition_no_match() -> None:
    pattern = (TriplePattern(X, P, Y),)
    none = Query(patterns=pattern, counted=True, having=Compare("=", Count(), integer(0)))
    assert matches(none, Graph())
    assert not matches(Query(patterns=pattern, counted=True), Graph())
    assert matches(Query(patterns=pattern, counted=True), Graph([(A, P, B)]))
