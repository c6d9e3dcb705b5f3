"""Forms: one for all spellings of a pattern, and back to a query that means the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.sparql.normalize import NormalForm, form_of, laid, numbered, query_of, raised
from heliograph.sparql.query import Compare, Expression, Not, Query
from heliograph.sparql.regions import EVERYTHING, holds
from heliograph.sparql.templates import parse_sparql
from heliograph.terms import Variable, literal
from heliograph.values import XSD_INTEGER
from tests.filter.interest_strategies import all_filters
from tests.partition.patterns import X, Y, Z, queries, renamed


def form(text: str) -> NormalForm:
    return form_of(parse_sparql(text, verb="filter"))


SAME = [
    ("ASK { ?a :p ?b . ?b :q :C }", "SELECT ?y { ?y :q :C . ?x :p ?y }"),
    ("ASK { ?a :p ?b . ?a :p ?b }", "ASK { ?x :p ?y }"),
    ("ASK { ?a :p ?b FILTER(?b > 1 && ?b < 5) }", "ASK { ?x :p ?y FILTER(5 > ?y) FILTER(?y > 1) }"),
    ("ASK { ?a :p ?b FILTER(?b > 1) FILTER(?b > 3) }", "ASK { ?x :p ?y FILTER(?y > 3) }"),
    ("ASK { ?a :p ?b FILTER(?b IN (:A, :B)) }", "ASK { ?x :p ?y VALUES ?y { :B :A } }"),
    ("ASK { ?a :p ?b FILTER(?b = 1 + 1) }", "ASK { ?x :p ?y FILTER(?y = 2) }"),
    ("ASK { ?a :p ?b FILTER(?a != ?b) }", "ASK { ?x :p ?y FILTER(?y != ?x) }"),
    ("ASK { ?a :p ?b FILTER(?a > ?b) }", "ASK { ?x :p ?y FILTER(?y < ?x) }"),
    ("ASK { ?a :p ?b FILTER(BOUND(?b)) }", "ASK { ?x :p ?y }"),
    ("ASK { _:n :p ?b }", "ASK { ?x :p ?y }"),
    ("ASK { ?a a/rdfs:subClassOf* :C . ?a :p ?b }", "ASK { ?x :p ?y . ?x a/rdfs:subClassOf* :C }"),
    ("ASK { ?a :p ?b . ?b :p ?c . ?c :q ?d }", "ASK { ?z :q ?n . ?y :p ?z . ?x :p ?y }"),
    (
        "SELECT (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?a HAVING (COUNT(*) > 2)",
        "SELECT (COUNT(*) AS ?m) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) > 2)",
    ),
]
DIFFERENT = [
    ("ASK { ?a :p ?b }", "ASK { ?a :p ?a }"),
    ("ASK { ?a :p ?b . ?b :p ?c }", "ASK { ?a :p ?b . ?c :p ?b }"),
    ("ASK { ?a :p ?b FILTER(?b > 1) }", "ASK { ?a :p ?b FILTER(?b >= 1) }"),
    ("ASK { ?a :p ?b FILTER(?b = 1) }", "ASK { ?a :p ?b VALUES ?b { 1 } }"),  # 1.0 equals 1 and is another term
    ("ASK { ?a a :C }", "ASK { ?a a/rdfs:subClassOf* :C }"),
    ('ASK { ?a :p ?b FILTER(CONTAINS(?b, "x")) }', 'ASK { ?a :p ?b FILTER(STRSTARTS(?b, "x")) }'),
    ("SELECT (COUNT(*) AS ?n) { ?a :p ?b } HAVING (COUNT(*) > 2)", "ASK { ?a :p ?b }"),
    (
        "SELECT (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?a HAVING (COUNT(*) > 2)",
        "SELECT (COUNT(*) AS ?n) { ?a :p ?b } GROUP BY ?b HAVING (COUNT(*) > 2)",
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_form_for_all_spellings(one: str, other: str) -> None:
    assert form(one) == form(other)
    assert hash(form(one)) == hash(form(other))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_forms_of_different_patterns(one: str, other: str) -> None:
    assert form(one) != form(other)


@pytest.mark.parametrize("text", [text for pair in SAME + DIFFERENT for text in pair])
def test_the_query_of_a_form_has_that_form(text: str) -> None:
    assert form_of(query_of(form(text))) == form(text)


@given(queries, st.permutations([X, Y, Z]))
def test_names_of_variables_make_no_difference_to_the_edges_and_regions(query: Query, names: list[Variable]) -> None:
    other = renamed(query, dict(zip((X, Y, Z), names, strict=True)))
    mine, theirs = form_of(query), form_of(other)
    assert len(mine.edges) == len(theirs.edges)
    assert mine.opaque == theirs.opaque
    assert sorted(map(repr, (region for _, region in mine.regions))) == sorted(
        map(repr, (region for _, region in theirs.regions))
    )


def test_regions_by_variable() -> None:
    found = form("ASK { ?a :p ?b FILTER(?b > 1) }")
    assert found.variables == (numbered(0), numbered(1))
    assert holds(found.region(numbered(1)), literal("2", XSD_INTEGER))
    assert not holds(found.region(numbered(1)), literal("1", XSD_INTEGER))
    assert found.region(numbered(0)) is EVERYTHING
    assert numbered(100) == Variable("v100")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT (COUNT(*) AS ?n) { ?a :p ?b } HAVING (COUNT(*) > 2)",
        "ASK { ?a :p ?b VALUES ?c { :A } }",
        "ASK { ?a :p ?b VALUES (?b ?c) { (:A :B) (UNDEF :C) } }",
        "ASK { ?a :p ?b FILTER(?c > 1) }",
        "ASK { ?a :p ?b FILTER(!BOUND(?c)) }",
    ],
)
def test_what_is_known_only_as_a_whole_is_opaque(text: str) -> None:
    assert form(text).opaque
    assert form_of(query_of(form(text))) == form(text)


def test_values_of_several_variables_are_residue() -> None:
    found = form("ASK { ?a :p ?b VALUES (?a ?b) { (:A :B) (UNDEF :C) } }")
    assert not found.opaque
    assert not found.regions
    assert len(found.residue) == 1
    assert form_of(query_of(found)) == found


@given(all_filters)
def test_expressions_are_raised_as_they_were_laid(expression: Expression) -> None:
    assert raised(laid(expression)) == expression


def test_deep_filters_need_no_recursion() -> None:
    deep: Expression = Compare("<", X, Y)
    for _ in range(20_000):
        deep = Not(deep)
    query = Query(patterns=parse_sparql("ASK { ?x :p ?y }", verb="filter").patterns, filters=(deep,))
    found = form_of(query)
    assert found == form_of(query)
    assert len(found.residue[0]) == 20_003
    assert len(laid(query_of(found).filters[0])) == 20_003
