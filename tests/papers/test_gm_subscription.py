"""A subscription as the seeds see it: what edges and constraints say in full, and what is kept of other queries."""

from __future__ import annotations

import pytest

from heliograph.papers.filter import Choice, ClassConstraint, GraphEdge, Relation, SubscriptionGraph, ValueConstraint
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import Variable, literal, plain_name
from heliograph.values import XSD_INTEGER

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
