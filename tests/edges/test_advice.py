"""Advice that a refusal gives leads to something that says the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph import Filter, HeliographError, Route, Watch
from heliograph.predicate.form import to_sql
from heliograph.predicate.parser import parse_predicate
from heliograph.route.lint import lint_route


def _refusal(query: str) -> str:
    with pytest.raises(HeliographError) as refused:
        Filter().subscribe("q", query)
    return str(refused.value)


def test_counting_distinct_is_not_counting_all() -> None:
    assert "write COUNT(*)" not in _refusal(
        "SELECT (COUNT(DISTINCT ?x) AS ?n) { ?x :p ?y } HAVING (COUNT(DISTINCT ?x) > 2)"
    )


def test_the_advice_for_a_year_holds_on_dates_and_on_times() -> None:
    said = _refusal("ASK { ?x :d ?d FILTER(YEAR(?d) = 2026) }")
    assert "STRSTARTS(STR(?d)" in said
    engine = Filter()
    engine.subscribe("q", 'ASK { ?x :d ?d FILTER(STRSTARTS(STR(?d), "2026-")) }')
    for value in ('"2026-02-03"^^xsd:date', '"2026-02-03T10:00:00Z"^^xsd:dateTime'):
        assert len(engine.publish("d", [("x", "d", value)])) == 1
    assert len(engine.publish("d", [("x", "d", '"2025-02-03"^^xsd:date')])) == 0


def test_the_advice_for_not_exists_is_a_count_of_nought() -> None:
    said = _refusal("ASK { ?x :p ?y FILTER NOT EXISTS { ?x :q ?z } }")
    assert "HAVING (COUNT(*) = 0)" in said
    assert "!=" not in said


@pytest.mark.parametrize(
    "predicate",
    [
        "day >= CURRENT_DATE",
        "at > CURRENT_TIMESTAMP",
        "at > CURRENT_TIME",
        "at > LOCALTIME",
        "at > LOCALTIMESTAMP",
        "owner = CURRENT_USER",
        "owner = SESSION_USER",
        "owner = USER",
        "x = DEFAULT",
        "day >= current_date",
    ],
)
def test_words_that_sql_fills_in_are_refused_by_name(predicate: str) -> None:
    route = Route(nodes=[("P", None), ("N", predicate), ("M", None)], edges=[("P", "N"), ("P", "M")])
    (refused,) = route.rejected
    word = next(
        part
        for part in predicate.split()
        if part.strip('"').upper() == part.upper() and part[0].isalpha() and part not in ("day", "at", "owner", "x")
    )
    assert refused.item == "N"
    assert word.upper() in refused.message.upper()
    assert [n.subscription_id for n in route.route("P", {})] == ["M"]


def test_a_quoted_word_that_sql_fills_in_is_an_attribute() -> None:
    route = Route(nodes=[("P", None), ("N", "\"user\" = 'ann'")], edges=[("P", "N")])
    assert not route.rejected
    assert len(route.route("P", {"user": "ann"})) == 1


@pytest.mark.parametrize(
    ("predicate", "advice"), [("tags @> 'x'", "tags = 'x'"), ("'database' IN tags", "tags = 'database'")]
)
def test_asking_for_an_element_of_a_list(predicate: str, advice: str) -> None:
    route = Route(nodes=[("P", None), ("N", predicate)], edges=[("P", "N")])
    (refused,) = route.rejected
    assert advice in refused.message
    again = Route(nodes=[("P", None), ("N", advice)], edges=[("P", "N")])
    assert len(again.route("P", {"tags": ["a", "x", "database"]})) == 1


def test_in_without_something_before_it() -> None:
    assert "did you mean IN" not in _refusal("ASK { ?x :p ?y FILTER(IN (1)) }")


@pytest.mark.parametrize(
    ("predicate", "advice", "event"),
    [
        ("tags @> 'x'", "tags = 'x'", {"tags": ["a", "x"]}),
        ("a.tags @> 'x'", "a.tags = 'x'", {"a": {"tags": ["x"]}}),
        ("'x' <@ \"my tags\"", "\"my tags\" = 'x'", {"my tags": ["x"]}),
        ("'it''s' IN tags", "tags = 'it''s'", {"tags": ["it's"]}),
        ("'x' NOT IN tags", "NOT tags = 'x'", {"tags": ["a"]}),
        ("x IN tags", "tags = x", {"x": 5, "tags": [4, 5]}),
        ("x IN [1, 2]", "x IN (1, 2)", {"x": 2}),
        ('x LIKE "a%"', "'a%'", None),
        ('x IN ("a", "b")', "'a'", None),
        ("tags CONTAINS 'x'", "tags = 'a'", {"tags": ["a"]}),
        ("title = web server", "'web server'", None),
        ("IN (1)", "x IN (1, 2)", {"x": 1}),
        ("at > NOW()", "with the event", None),
    ],
)
def test_what_to_write_instead(predicate: str, advice: str, event: dict[str, object] | None) -> None:
    (refused,) = Route(nodes=[("P", None), ("N", predicate)], edges=[("P", "N")]).rejected
    assert advice in refused.message
    if event is not None:
        assert len(Route(nodes=[("P", None), ("N", advice)], edges=[("P", "N")]).route("P", event)) == 1


@pytest.mark.parametrize("path", ["user.name", "event.user", 'a."user"', '"default"', '"CURRENT_DATE"'])
def test_part_of_a_nested_attribute_may_be_such_a_word(path: str) -> None:
    form = parse_predicate(f"{path} = 1")
    assert parse_predicate(to_sql(form)) == form


def test_lint_says_that_double_quotes_name_an_attribute() -> None:
    nodes = [("P", None), ("A", 'service = "web-1"'), ("B", "\"home town\" = 'Nice'"), ("C", "x = '\"a\"'")]
    edges = [("P", "A"), ("P", "B"), {"source": "P", "target": "C", "targeting": 'q <> "it\'s" AND q <> "b".c'}]
    found = [(row["subject_id"], row["code"], row["message"]) for row in lint_route(nodes, edges).to_pylist()]
    assert [(id, code) for id, code, _ in found] == [("A", "HG-705"), ("P → C", "HG-705")]
    assert "'web-1'" in found[0][2]
    assert "'it''s'" in found[1][2]


@pytest.mark.parametrize(
    "query", ["SELECT (COUNT(*) AS ?n) { ?x :p ?y }", "SELECT (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x"]
)
def test_the_advice_for_a_count_without_a_condition_is_accepted(query: str) -> None:
    with pytest.raises(HeliographError) as refused:
        Watch().subscribe("q", query)
    said = str(refused.value)
    assert refused.value.code == "HG-524"
    assert ("top_k_of" in said) == ("GROUP BY" not in query)
    assert "GROUP BY ?x HAVING (COUNT(*) >= 10)" in said or "GROUP BY" not in query
    Watch().subscribe("q", f"{query} HAVING (COUNT(*) >= 10)")
    if "GROUP BY" not in query:
        Watch().subscribe(("q", None, query, '{"top_k_of": {"set": "name", "k": 3}}'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<!DOCTYPE html><html><head/></html>", 'rel="alternate"'),
        ('<opml version="2.0"><body/></opml>', "list of feeds"),
        ('<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>', "sitemap"),
        ('{"version": "https://jsonfeed.org/version/1.1"}', ".jsonld"),
        ("", "an empty file"),
        (" \n", "an empty file"),
        ("<catalog/>", "rdf:RDF, rss and feed"),
        ("plain words", "no root element"),
    ],
)
def test_what_is_no_feed_is_called_by_its_name(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(text)
    engine = Filter()
    engine.subscribe("q", "ASK { ?s :p ?o }")
    (refused,) = engine.publish(tmp_path / "a.xml").rejected
    assert refused.code == "HG-309"
    assert said in refused.message
