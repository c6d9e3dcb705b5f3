"""Patterns and expressions as explanations quote them."""

from __future__ import annotations

import pytest

from heliograph.sparql.query import ClassPattern, ClassRelation, Not, TriplePattern, spell_expression, spell_pattern
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import RDF_TYPE, Variable, parse_cell, plain_name


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("?x > 5", "?x > 5"),
        ("?x > 5 && ?y = :a || !(?x < 3)", "((?x > 5) && (?y = a)) || !(?x < 3)"),
        ("?x IN (1, 'b')", '?x IN (1, "b")'),
        ("?x NOT IN (1)", "?x NOT IN (1)"),
        ("-?x + 2 * 3 >= ?y", "(-?x + (2 * 3)) >= ?y"),
        ("REGEX(STR(?x), 'a', 'i')", 'REGEX(STR(?x), "a", "i")'),
        ("hg:degree(?x, :p) > 2", "hg:degree(?x, p) > 2"),
    ],
)
def test_expressions(text: str, spelled: str) -> None:
    (condition,) = parse_sparql(f"ASK {{ ?x :p ?y FILTER({text}) }}", verb="watch").filters
    assert spell_expression(condition) == spelled


def test_counts() -> None:
    having = parse_sparql("ASK { ?x :p ?y } HAVING (COUNT(*) >= 3)", verb="watch").having
    assert having is not None
    assert spell_expression(having) == "COUNT(*) >= 3"


def test_depth_costs_no_recursion() -> None:
    deep = Not(Variable("x"))
    for _ in range(5_000):
        deep = Not(deep)
    assert spell_expression(deep).count("!") == 5_001


def test_patterns() -> None:
    x, y = Variable("x"), Variable("y")
    assert spell_pattern(TriplePattern(x, plain_name("knows"), y), {y: parse_cell("Bob")}) == "?x knows Bob"
    assert spell_pattern(TriplePattern(x, RDF_TYPE, plain_name("Person"))) == "?x a Person"
    assert spell_pattern(TriplePattern(Variable("_:b"), plain_name("a"), parse_cell("5"))).startswith("_:b <urn")
    assert spell_pattern(ClassPattern(ClassRelation.IS_A, x, plain_name("C"))) == "?x a/rdfs:subClassOf* C"
    assert spell_pattern(ClassPattern(ClassRelation.SUBCLASS_OF, x, y)) == "?x rdfs:subClassOf+ ?y"
