"""Queries as text: patterns and expressions as explanations quote them, and lines that one process gives another."""

from __future__ import annotations

import pytest

from heliograph.sparql.query import (
    ClassPattern,
    ClassRelation,
    Not,
    Query,
    TriplePattern,
    from_text,
    spell_expression,
    spell_pattern,
    to_text,
)
from heliograph.sparql.templates import compile_sparql, parse_sparql
from heliograph.terms import PREFIXES, RDF_TYPE, Variable, parse_cell, plain_name
from tests.sparql.cases import read_cases


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
        ("COUNT(*) >= 3", "COUNT(*) >= 3"),
    ],
)
def test_expressions(text: str, spelled: str) -> None:
    clauses = f"}} HAVING ({text})" if "COUNT" in text else f"FILTER({text}) }}"
    query = parse_sparql(f"ASK {{ ?x :p ?y {clauses}", verb="watch")
    (condition,) = query.filters or (query.having,)
    assert condition is not None
    assert spell_expression(condition) == spelled


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


def test_a_query_comes_out_as_it_went_in() -> None:
    texts = [case.subscription for case in read_cases()]
    read = compile_sparql(texts, verb="filter", prefixes=PREFIXES)
    queries = [query for query in read if isinstance(query, Query)]
    assert [from_text(to_text(query)) for query in queries] == queries
    assert len(queries) > 50


def test_nothing_else_is_made() -> None:
    assert from_text(to_text(Query())) == Query()
    with pytest.raises(KeyError, match="Path"):
        from_text('["Path","x"]')
    with pytest.raises(ValueError, match="no query"):
        from_text('["Variable","x"]')
