"""Lint says where a query asks for values of a kind that the sample does not have, and where it matches everything."""

from __future__ import annotations

from typing import Any

import pytest

from heliograph import Filter
from heliograph.lint import lint_subscriptions

_FACTS = [
    ("city", "Paris"),
    ("title", '"A text"'),
    ("label", '"chat"@fr'),
    ("year", "2001"),
    ("digits", '"5"'),
    ("day", '"2026-01-01"^^xsd:date'),
    ("at", '"2026-01-01T10:00:00Z"^^xsd:dateTime'),
    ("mixed", "5"),
    ("mixed", '"five"'),
]


def _sample(size: int) -> list[Any]:
    return [(f"d{number}", [(f"P{number}", *fact) for fact in _FACTS]) for number in range(size)]


def _found(query: str, code: str, size: int = 2, **given: Any) -> list[str]:
    rows = lint_subscriptions([("q", query)], sample=_sample(size) if size else None, **given).to_pylist()
    return [row["message"] for row in rows if row["code"] == code]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ('ASK { ?x :city "Paris" }', "as a name write :Paris"),
        ("ASK { ?x :title :A%20text }", 'as text write "A text"'),
        ('ASK { ?x :city ?c FILTER(?c = "Paris") }', "as a name write :Paris"),
        ('ASK { ?x :city ?c FILTER(!("New York" = ?c)) }', "as a name write :New%20York"),
        ('ASK { ?x :city ?c FILTER(?c IN ("Paris", "Rome")) }', 'objects="texts"'),
        ('ASK { ?x :city ?c VALUES ?c { "Paris" "Rome" } }', "a name (Paris)"),
        ('ASK { ?x :city ?c FILTER(CONTAINS(?c, "ari")) }', "STR(?c)"),
        ('ASK { ?x :year ?y FILTER(REGEX(?y, "^20")) }', "STR(?y)"),
        ('ASK { ?x :day ?d FILTER(?d > "2025-01-01T00:00:00Z"^^xsd:dateTime) }', "xsd:date"),
        ('ASK { ?x :at ?d FILTER(?d > "2025-01-01"^^xsd:date) }', "xsd:dateTime"),
        ("ASK { ?x :day ?a ; :at ?b FILTER(?a < ?b) }", "never compare"),
        ('ASK { ?x :year ?y FILTER(?y = "2001") }', "without quotes"),
        ('ASK { ?x :year "2001" }', "without quotes"),
        ("ASK { ?x :digits ?n FILTER(3 < ?n) }", "without quotes"),
        ("ASK { ?x :digits 5 }", "without quotes"),
        ('ASK { ?x :label "chat" }', "the language"),
        ("ASK { ?x :city ?c . ?y :title ?c }", "never equal"),
        ("ASK { ?x :mixed true }", "a boolean"),
    ],
)
def test_a_value_of_another_kind(query: str, said: str) -> None:
    (message,) = _found(query, "HG-720")
    assert said in message
    engine = Filter()
    engine.subscribe("q", query)
    assert len(engine.publish(_sample(2))) == (2 if "!(" in query else 0)


@pytest.mark.parametrize(
    "query",
    [
        "ASK { ?x :city :Rome }",
        "ASK { ?x :city <http://example.org/Rome> }",
        'ASK { ?x :title "another" }',
        'ASK { ?x :mixed ?v FILTER(?v = "six" || ?v = 6) }',
        'ASK { ?x :city ?c FILTER(CONTAINS(STR(?c), "ari")) }',
        'ASK { ?x :label ?c FILTER(CONTAINS(?c, "ha")) }',
        "ASK { ?x :year ?y FILTER(?y > 1999.5) }",
        'ASK { ?x :never_seen "text" }',
        'ASK { ?x ?p "Paris" }',
        "ASK { ?x a :City }",
    ],
)
def test_a_value_of_the_same_kind_or_of_an_unknown_one(query: str) -> None:
    assert _found(query, "HG-720") == []
    assert _found(query, "HG-720", size=0) == []


@pytest.mark.parametrize(
    ("query", "taxonomy", "said"),
    [
        ("ASK { ?s ?p ?o }", [], "any triple"),
        ("ASK { ?s ?p ?o . ?s ?q ?r }", [], "any triple"),
        ("ASK { ?x a :City }", [("Paris", "City")], "the taxonomy alone"),
        ("ASK { ?x a/rdfs:subClassOf* :Place FILTER(?x != :Rome) }", [("Paris", "Place")], "the taxonomy alone"),
    ],
)
def test_what_matches_everything(query: str, taxonomy: list[Any], said: str) -> None:
    (message,) = _found(query, "HG-721", size=0, taxonomy=taxonomy)
    assert message.startswith("matches everything: ")
    assert said in message
    engine = Filter(taxonomy=taxonomy)
    engine.subscribe("q", query)
    assert len(engine.publish("d", [("something", "else", '"entirely"')])) == 1


@pytest.mark.parametrize(
    ("query", "taxonomy"),
    [
        ("ASK { ?s ?p ?s }", []),
        ("ASK { ?s ?p ?o . ?o ?q ?r }", []),
        ("ASK { ?s ?p ?o FILTER(isIRI(?o)) }", []),
        ("ASK { ?x a :City }", []),
        ("ASK { ?x a :City }", [("Paris", "Town")]),
        ("ASK { ?x a :City ; :mayor ?y }", [("Paris", "City")]),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o } HAVING (COUNT(*) > 100)", []),
    ],
)
def test_what_does_not_match_everything(query: str, taxonomy: list[Any]) -> None:
    assert _found(query, "HG-721", size=0, taxonomy=taxonomy) == []
    engine = Filter(taxonomy=taxonomy)
    engine.subscribe("q", query)
    assert len(engine.publish("d", [("something", "else", '"entirely"')])) == 0


def test_what_matches_the_whole_sample() -> None:
    query = "ASK { ?x :year ?y FILTER(?y > 1999) }"
    assert _found(query, "HG-721", size=12) == ["matches everything: all 12 publications of the sample; ask for less"]
    assert _found(query, "HG-721", size=2) == []  # too few to say so
    assert _found("ASK { :P3 :year ?y }", "HG-721", size=12) == []
