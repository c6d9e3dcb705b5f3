"""The parts of the papers' filter algorithms: subscriptions as graphs, binding tables, constraints as intervals."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.papers.filter import (
    HIGHEST,
    LOWEST,
    BindingTable,
    Bound,
    Choice,
    ClassConstraint,
    Constraint,
    GraphEdge,
    Interval,
    IntervalTree,
    Relation,
    SubscriptionGraph,
    ValueConstraint,
    Vertex,
    holds,
    intervals,
    joinable,
    natural_join,
    point,
)
from heliograph.sparql.solve import Graph
from heliograph.sparql.templates import parse_sparql
from heliograph.taxonomy import Classes, Taxonomy
from heliograph.terms import Term, Variable, literal, plain_name
from heliograph.values import XSD_INTEGER
from tests import term_strategies
from tests.papers.matchers import VALUES
from tests.sparql import strategies

A, C, P, Q = map(plain_name, "ACpq")
FIVE, NINE = literal("5", XSD_INTEGER), literal("9", XSD_INTEGER)


def graph(text: str) -> SubscriptionGraph:
    return SubscriptionGraph.of(parse_sparql(text))


def test_edges_and_stars() -> None:
    made = graph("ASK { :A :p ?x . ?x :q ?y . :A :p ?x . ?y :p _:b }")
    assert made.edges == (GraphEdge(A, P, 1), GraphEdge(1, Q, 2), GraphEdge(2, P, 3))
    assert made.stars[:2] == (Variable("x"), Variable("y"))
    assert made.constraints == ((), (), ())
    assert made.plan is None


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("FILTER(?x > 5)", (ValueConstraint(">", FIVE),)),
        ("FILTER(5 <= ?x)", (ValueConstraint(">=", FIVE),)),
        ("FILTER(?x > 5 && (9 > ?x && ?x != 5))", (">", "<", "!=")),
        ("FILTER(?x IN (5, 9))", (Choice((FIVE, NINE)),)),
        ("FILTER(?x NOT IN (5, 9))", (ValueConstraint("!=", FIVE), ValueConstraint("!=", NINE))),
        ("?x a/rdfs:subClassOf* :C", (ClassConstraint(Relation.IS_A, C),)),
        ("?x a :C", (ClassConstraint(Relation.DIRECT, C),)),
        ("?x rdfs:subClassOf+ :C", (ClassConstraint(Relation.BELOW, C),)),
        (":C rdfs:subClassOf+ ?x", (ClassConstraint(Relation.ABOVE, C),)),
    ],
)
def test_constraints(condition: str, expected: tuple[object, ...]) -> None:
    made = graph(f"ASK {{ :A :p ?x . {condition} }}")
    (constraints,) = made.constraints
    shown = [each.operator for each in constraints if isinstance(each, ValueConstraint)]
    assert constraints == expected or tuple(shown) == expected
    assert made.constraints_of(1) == constraints
    assert made.constraints_of(A) == ()
    assert made.plan is None


@pytest.mark.parametrize(
    "more",
    [
        "?x ?property ?y",
        "?y a :C",
        ":A a :C",
        "?x a ?y",
        "?x rdfs:member ?y",
        "?x a/rdfs:subClassOf* ?y",
        "FILTER(?x + 1 > 5)",
        "FILTER(?x > 5 || ?x < 3)",
        "FILTER(!(?x > 5))",
        "FILTER(CONTAINS(STR(?x), 'a'))",
        "FILTER(?x IN (5, 2 + 3))",
        "FILTER(?nowhere > 5)",
        "FILTER(true)",
        "VALUES ?x { 5 }",
    ],
)
def test_what_the_seeds_have_no_notion_of_is_left_to_the_plan(more: str) -> None:
    made = graph(f"ASK {{ :A :p ?x . {more} }}")
    assert made.plan is not None
    assert made.edges == (GraphEdge(A, P, 1),)


def test_counts_need_their_edges_unless_nothing_may_satisfy_them() -> None:
    assert graph("ASK { :A :p ?x } HAVING (COUNT(*) < 3)").edges == ()
    assert graph("SELECT ?x (COUNT(*) AS ?n) { :A :p ?x } GROUP BY ?x HAVING (COUNT(*) < 3)").edges == (
        GraphEdge(A, P, 1),
    )
    assert graph("SELECT (COUNT(*) AS ?n) { :A :p ?x }").edges == (GraphEdge(A, P, 1),)
    assert graph("SELECT (COUNT(*) AS ?n) { :A :p ?x }").plan is not None


# --- binding tables: [G] figure 8, the join against DuckDB's, and truth without listing ---------------------------


B, E = map(plain_name, "BE")
NODES = [plain_name(name) for name in "ABCD"]


def pairs(text: str) -> list[tuple[Term, ...]]:
    return [tuple(plain_name(name) for name in pair) for pair in text.split()]


def test_g_figure_8() -> None:
    """ "Joining of these two tables produces ACB and AEB and hence *1 can be bound with value C and E"."""
    left = BindingTable((A, 1), pairs("AB AC AE"))
    right = BindingTable((1, B), pairs("AB DB CB EB GB"))
    assert natural_join(left, right) == BindingTable((A, 1, B), pairs("ACB AEB"))


def test_r_figure_6() -> None:
    """e1(a, b), e1(a, *) and e2(*, d): "joining of these three tables produces one entry (a, b, c, d)". Under
    homomorphism * may be b too: the printed join drops (a, b, b, d) unsaid."""
    a, b, d = map(plain_name, "abd")
    first, second, third = BindingTable((a, b), pairs("ab")), BindingTable((a, 1), pairs("ab ac")), pairs("bd cd")
    joined = natural_join(natural_join(first, second), BindingTable((1, d), third))
    assert joined == BindingTable((a, b, 1, d), pairs("abbd abcd"))


nodes = st.sampled_from(NODES)
columns = st.sampled_from([(1, 2), (2, 1), (2, 3), (3, 1), (4, 3), (1,), (3,), (5,), ()])


@st.composite
def tables(draw: st.DrawFn) -> BindingTable:
    names: tuple[Vertex, ...] = draw(columns)
    return BindingTable(names, draw(st.lists(st.tuples(*(nodes for _ in names)), max_size=6, unique=True)))


def full_join(given_tables: list[BindingTable]) -> BindingTable:
    joined = BindingTable((), [()])
    for table in given_tables:
        joined = natural_join(joined, table)
    return joined


@settings(max_examples=300, deadline=None)
@given(st.lists(tables(), max_size=5), st.sets(st.tuples(st.integers(1, 5), nodes), max_size=6))
def test_joinable_is_whether_the_full_join_has_an_accepted_row(
    given_tables: list[BindingTable], refused: set[tuple[Vertex, Term]]
) -> None:
    def accept(column: Vertex, value: Term) -> bool:
        return (column, value) not in refused

    full = full_join(given_tables)
    accepted = [row for row in full.rows if all(accept(*cell) for cell in zip(full.columns, row, strict=True))]
    assert joinable(given_tables, accept) is bool(accepted)


def test_a_fork_is_not_multiplied_out() -> None:
    """SEED_NOTES, filter 2: the rows that are checked are those of single tables, not of their product."""
    rows = [(A, node) for node in NODES]
    seen: list[Term] = []
    fork = [BindingTable((1, star), rows) for star in range(2, 12)]
    assert joinable(fork, lambda column, value: not seen.append(value))  # type: ignore[func-returns-value]
    assert len(seen) == 1 + 10 * len(NODES)
    assert len(list(product(rows, repeat=3))) == len(full_join(fork[:3]).rows)


# --- constraints as intervals: no comparison that holds is missed, and a tree is stabbed as a list is -------------


NOTHING = Classes(Graph(), Taxonomy())
terms = st.one_of(st.sampled_from(VALUES), strategies.terms, term_strategies.numbers, term_strategies.objects)
constraints: st.SearchStrategy[Constraint] = st.one_of(
    st.builds(ValueConstraint, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), terms),
    st.builds(Choice, st.lists(terms, max_size=3).map(tuple)),
)


def integer(text: str) -> Term:
    return literal(text, XSD_INTEGER)


def inside(places: tuple[Interval, ...], term: Term) -> bool:
    at = point(term)
    return at is not None and any(each.axis == at.axis and each.low <= at.bound <= each.high for each in places)


@settings(max_examples=400, deadline=None)
@given(st.lists(constraints, min_size=1, max_size=3), terms)
def test_what_satisfies_the_constraints_lies_in_their_intervals(asked: list[Constraint], term: Term) -> None:
    places = intervals(asked)
    if places is not None and all(holds(each, term, NOTHING) for each in asked):
        assert inside(places, term)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_near_values_lie_in_the_intervals_too(draw: st.DataObject) -> None:
    """Numbers around a float32's tie, as integer, decimal, float and double, each against each."""
    kinds = [f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("integer", "decimal", "float", "double")]
    near = st.builds(
        lambda base, step, kind: literal(str(base + step), kind),
        st.sampled_from([2**24, 2**53, 2**60, -(2**24)]),
        st.integers(-2, 2),
        st.sampled_from(kinds),
    )
    operator, value, term = draw.draw(st.sampled_from(["=", "<", "<=", ">", ">="])), draw.draw(near), draw.draw(near)
    constraint = ValueConstraint(operator, value)
    assert not holds(constraint, term, NOTHING) or inside(intervals([constraint]) or (), term)


def test_the_constraints_of_a_variable_are_intersected() -> None:
    """SEED_NOTES, filter 9: `?x > 5`, `?x < 9` is one interval; [R] has two lists."""
    two_sided = intervals([ValueConstraint(">", integer("5")), ValueConstraint("<", integer("9"))])
    assert two_sided == (Interval(("number",), (0, 5.0), (0, 9.0)),)
    assert intervals([ValueConstraint(">", integer("9")), ValueConstraint("<", integer("5"))]) == ()
    assert intervals([ValueConstraint(">", integer("5")), ValueConstraint("<", literal("a"))]) == ()
    chosen = intervals([Choice((integer("3"), integer("7"), literal("a"))), ValueConstraint(">", integer("5"))])
    assert chosen == (Interval(("number",), (0, 7.0), (0, 7.0)),)


def test_integers_beyond_a_double_lie_at_its_end() -> None:
    huge = integer("9" * 400)
    assert point(huge) == (("number",), (0, math.inf))
    assert point(integer("-" + "9" * 400)) == (("number",), (0, -math.inf))
    assert inside(intervals([ValueConstraint("<", integer("9" * 401))]) or (), huge)


bounds: st.SearchStrategy[Bound] = st.one_of(
    st.just(LOWEST), st.just(HIGHEST), st.integers(0, 20).map(lambda key: (0, key))
)
spans = st.tuples(bounds, bounds).map(lambda ends: Interval(("number",), min(ends), max(ends)))


@settings(max_examples=200, deadline=None)
@given(st.lists(spans, max_size=120), st.lists(spans, max_size=60), st.lists(st.integers(-1, 21), max_size=5))
def test_a_tree_is_stabbed_as_a_list_is(first: list[Interval], more: list[Interval], keys: list[int]) -> None:
    tree: IntervalTree[int] = IntervalTree()
    known: list[Interval] = []
    for part in (first, more):
        for each in part:
            tree.add(each, len(known))
            known.append(each)
        for key in keys:
            expected = [place for place, each in enumerate(known) if each.low <= (0, key) <= each.high]
            assert sorted(tree.stab((0, key))) == expected
