"""Values and classes in the indexed engine: filters, banks of constants and tests, is-a, members, options."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph import Watch
from tests.watch.naive import NaiveGraph, Step
from tests.watch.oracle import Action, check_stream
from tests.watch.scenes import DECIMAL, FLOAT, MOMENTS, Told, act

# --- filters ----------------------------------------------------------------------------------------------------

NUMBERS = ("1", "2", "1.5", "2.50", "1e0", "-3", "7.25e-1")
OTHERS = ('"x"', '"xyz"', '"chat"@fr', "true", *MOMENTS, '"2026-06-01T00:00:00Z"^^xsd:dateTime')
EQUALLY_READ = (  # which pyoxigraph reads as the contract does
    "?y > 1",
    "?y >= 1.5",
    "?y < 2",
    "?y <= 1e0",
    "?y = 1",
    "?y > 0 && ?y < 2",
    "?y < 0 || ?y > 2",
    "!(?y > 1)",
    "?y IN (1, 2.5)",
    "?y + 1 > 2.5",
    '?y >= "2026-01-01T12:30:00Z"^^xsd:dateTime',
    '?y = "2026-01-01T12:00:00Z"^^xsd:dateTime',
    'STR(?y) = "x"',
    'STRSTARTS(STR(?y), "x")',
    'CONTAINS(STR(?y), "h")',
    'STRENDS(STR(?y), "z")',
    'REGEX(STR(?y), "^X", "i")',
    'LANG(?y) = "fr"',
    "DATATYPE(?y) = xsd:decimal",
    "isLiteral(?y)",
    "isIRI(?y)",
    "?y = :b",
    "?x != ?y",
    "?x IN (:a, :c) && ?y > 1",
)
FORMS = (
    "ASK {{ ?x :p ?y FILTER({}) }}",
    "SELECT (COUNT(*) AS ?n) {{ ?x :p ?y . ?z :q ?x FILTER({}) }} HAVING (COUNT(*) >= 2)",
    "SELECT * {{ ?z :q ?x . ?x :p ?y FILTER({}) }}",
)


@pytest.mark.parametrize("form", FORMS, ids=["truth", "count", "rows"])
@settings(deadline=None, max_examples=4)
@given(random=st.randoms(use_true_random=False))
def test_filters_against_pyoxigraph(form: str, random: Random) -> None:
    asked: list[Action] = [("subscribe", text, form.format(text), "each") for text in EQUALLY_READ]
    cells = (*NUMBERS, *OTHERS, "a", "b")
    stream = [Step(random.choice("+++-="), random.choice("abc"), "p", random.choice(cells)) for _ in range(14)]
    stream[4:4] = [Step("+", random.choice("ab"), "q", random.choice("abc")) for _ in range(4)]
    check_stream([*asked, *(("publish", step) for step in stream)], Watch(algorithm="indexed"), NaiveGraph())


def told(watch: Watch, *rows: Any) -> list[tuple[str, str]]:
    return [(n.subscription_id, n.change) for n in watch.publish(list(rows))]


@pytest.mark.parametrize("form", ["ASK {{ ?x :p ?y FILTER({}) }}", "SELECT * {{ ?x :p ?y FILTER({}) }}"])
def test_terms_between_two_numbers(form: str) -> None:
    """A float is compared as a float, a decimal with all its digits, however close they are."""
    watch = Watch(algorithm="indexed")
    conditions = {
        "above": "?y > 1",
        "most": "?y <= 1.1",
        "equal": f"?y = {DECIMAL}",
        "not": "?y != 1",
        "iri": "?y != :a",
    }
    watch.subscribe([(id, form.format(text)) for id, text in conditions.items()])
    expected = {
        "1": ["most", "iri"],
        "1.0": ["most", "iri"],
        DECIMAL: ["above", "most", "equal", "not", "iri"],
        FLOAT: ["above", "not", "iri", "most"],
        "1.1": ["above", "most", "not", "iri"],
        "1.10000000000000000001": ["above", "not", "iri"],
        "b": ["iri", "not"],
        '"text"': ["iri"],
    }
    for cell, ids in expected.items():
        found = told(watch, ("+", "s", "p", cell), ("-", "s", "p", cell))
        assert sorted(id for id, change in found if change == "+") == sorted(ids), cell
        assert sorted(id for id, change in found if change == "-") == sorted(ids), cell


def test_values_with_gaps() -> None:
    watch = Watch(algorithm="indexed")
    rows = "VALUES (?x ?y) { (:a UNDEF) (UNDEF :b) (:c 5) }"
    watch.subscribe([("s", f"SELECT * {{ ?x :p ?y {rows} }}"), ("t", f"ASK {{ ?x :p ?y . ?y :q ?z {rows} }}")])
    assert told(watch, ("+", "a", "p", "1")) == [("s", "+")]
    assert told(watch, ("+", "c", "p", "b"), ("+", "b", "q", "1")) == [("s", "+"), ("t", "+")]
    assert told(watch, ("+", "c", "p", "5.0"), ("+", "c", "p", "5")) == [("s", "+")]
    assert told(watch, ("+", "a", "p", "b")) == [("s", "+")]  # two rows let it pass, one solution
    assert told(watch, ("-", "a"), ("-", "b")) == [("s", "-"), ("s", "-"), ("s", "-"), ("t", "-")]


# --- banks ------------------------------------------------------------------------------------------------------


def check_both(acts: list[Any], **settings: Any) -> list[Told]:
    plain, other = (Watch(algorithm=name, **settings) for name in ("plain", "indexed"))
    found = [(act(other, doing), act(plain, doing)) for doing in acts]
    for (mine, expected), doing in zip(found, acts, strict=True):
        assert mine == expected, doing[0]
    return [mine for mine, _ in found]


def test_more_than_64_constants_in_one_place() -> None:
    """Constants come in two halves, the second over a graph that stands; a third of the first goes in between."""
    queries = [(f"s{n}", f"ASK {{ ?x :p ?y . ?y :q :c{n} }}") for n in range(200)]
    pairs = [(f"t{n}", f"ASK {{ ?x :q :c{n} . ?x :r :c{n % 7} }}") for n in range(150)]
    updates = [("+", "a", "p", "b"), *(("+", "b", "q", f"c{n}") for n in range(0, 200, 3))]
    more = [*(("+", "b", "r", f"c{n}") for n in range(7)), ("-", "a"), ("=", "b", "q", "c9"), ("+", "z", "p", "b")]
    gone = [id for id, _ in queries[:100:3]]
    acts = [("subscribe", queries[:100] + pairs[:75]), ("publish", updates), ("unsubscribe", gone)]
    acts += [("subscribe", queries[100:] + pairs[75:]), ("publish", more), ("publish", [("-", "b")])]
    acts += [("subscribe", queries[:100:3]), ("publish", updates + more)]
    found = check_both(acts)
    assert [len(each.notifications) > 20 for each in found] == [False, True, False, False, True, False, False, True]


def test_more_than_64_thresholds_in_one_place() -> None:
    truths = [(f"s{n}", f"ASK {{ ?x :p ?y . ?x :age ?a FILTER(?a >= {n}) }}") for n in range(150)]
    counts = [
        (f"t{n}", f"SELECT (COUNT(*) AS ?n) {{ ?x :age ?a FILTER(?a < {n}.5) }} HAVING (COUNT(*) >= 2)")
        for n in range(90)
    ]
    ages = [("=", f"v{n % 5}", "age", str(n * 7 % 160)) for n in range(40)]
    acts = [("subscribe", truths[:80]), ("publish", [("+", "v1", "p", "v2")]), ("publish", ages[:20])]
    acts += [("subscribe", truths[80:] + counts), ("publish", ages[20:]), ("publish", [("-", "v1"), *ages])]
    assert sum(len(each.notifications) for each in check_both(acts)) > 300


def test_an_update_that_stands_for_several_edges_at_once() -> None:
    bodies = ["?x :p ?y . ?y :p ?z", "?x :p ?y . ?y :p ?x", "?x :p ?x . ?x :p ?y", "?x :p ?y . ?x :p ?z . ?z :p ?y"]
    texts = [f"SELECT * {{ {body} }}" for body in bodies]
    texts += [f"SELECT (COUNT(*) AS ?n) {{ {body} }} HAVING (COUNT(*) > {n})" for body in bodies for n in (0, 1, 3)]
    loops = [
        ("+", "a", "p", "a"),
        ("+", "a", "p", "b"),
        ("+", "b", "p", "b"),
        ("+", "b", "p", "a"),
        ("-", "a", "p", "a"),
    ]
    rows = [(f"s{n}", text) for n, text in enumerate(texts)]
    found = check_both([("subscribe", rows), ("publish", loops), ("publish", [("-", "a")]), ("publish", loops)])
    first = [
        n.proof["bindings"] for n in found[1].notifications if n.publication_id == "1" and n.subscription_id == "s0"
    ]
    assert first == [{"x": "a", "y": "a", "z": "a"}]


# --- classes ----------------------------------------------------------------------------------------------------

TYPE, SUBCLASS = "rdf:type", "rdfs:subClassOf"
CLASSES = (
    "ASK { ?x rdf:type/rdfs:subClassOf* :a }",
    "ASK { ?x rdf:type/rdfs:subClassOf* :b . ?x :p ?y }",
    "SELECT DISTINCT ?x { ?x rdf:type/rdfs:subClassOf* :c . ?x :p ?y }",
    "SELECT DISTINCT ?x { ?x rdf:type :b }",
    "ASK { ?x rdf:type :c . ?x :p :d }",
    "SELECT DISTINCT ?x { ?x rdfs:subClassOf+ :c }",
    "ASK { :d rdfs:subClassOf+ ?x . ?x :p ?y }",
    "SELECT DISTINCT ?x { :d rdfs:subClassOf+ ?x }",
)
TAXONOMY = (("a", "b"), ("b", "c"))


def in_our_words(text: str) -> str:
    return text.replace("rdf:type", "a")


class Worded(Watch):
    """Takes what SPARQL calls a path by the name that the contract has for it."""

    def subscribe(self, items: Any = None, query: Any = None, **more: Any) -> Any:
        return super().subscribe([{**each, "query": in_our_words(each["query"])} for each in items], **more)


@pytest.mark.parametrize("taxonomy", [(), TAXONOMY], ids=["none", "taxonomy"])
@settings(deadline=None, max_examples=12)
@given(random=st.randoms(use_true_random=False))
def test_classes_against_pyoxigraph(taxonomy: tuple[tuple[str, str], ...], random: Random) -> None:
    """Each row of the taxonomy stands for a type and a subclass; pyoxigraph walks the paths."""
    rows = [{"child": child, "parent": parent} for child, parent in taxonomy]
    beside = tuple((child, link, parent) for child, parent in taxonomy for link in (TYPE, SUBCLASS))
    actions: list[Action] = [("subscribe", text, text, "each") for text in CLASSES[:4]]
    for place in range(20):
        if place == 8:
            actions += [("subscribe", text, text, "each") for text in CLASSES[4:]]
        ends = random.choice("abcd"), random.choice((TYPE, SUBCLASS, SUBCLASS, "p")), random.choice("abcd")
        vertex = random.random() < 0.08
        actions.append(("publish", Step("-", ends[0]) if vertex else Step(random.choice("+++-="), *ends)))
    check_stream(actions, Worded(algorithm="indexed", taxonomy=rows), NaiveGraph(), beside)


def test_members_of_containers() -> None:
    texts = ["SELECT * { ?x rdfs:member ?y }", "ASK { :a rdfs:member :b }", "SELECT DISTINCT ?x { ?x rdfs:member ?y }"]
    texts.append("SELECT (COUNT(*) AS ?n) { ?x rdfs:member ?y . ?y :p ?z } HAVING (COUNT(*) >= 2)")
    rows = [(f"s{n}", text) for n, text in enumerate(texts)]
    updates = [("+", "a", "rdf:_1", "b"), ("+", "a", "rdf:_2", "b"), ("+", "b", "p", "1"), ("+", "a", "rdf:_3", "c")]
    updates += [
        ("+", "c", "p", "2"),
        ("-", "a", "rdf:_1", "b"),
        ("-", "a", "rdf:_2", "b"),
        ("+", "d", "rdfs:member", "c"),
    ]
    found = check_both([("subscribe", rows), ("publish", updates), ("publish", [("-", "a")])])
    assert [n.publication_id for n in found[1].notifications if n.subscription_id == "s1"] == ["1", "7"]


# --- options ----------------------------------------------------------------------------------------------------


def subscription(id: str, query: str, **options: Any) -> dict[str, Any]:
    return {"subscription_id": id, "query": query, "options": json.dumps(options)}


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_a_guard_says_that_it_bites(limit: int) -> None:
    queries = [
        subscription("s", "SELECT * { ?x :p ?y . ?x :q ?z }", max_matches_per_update=limit),
        subscription("d", "SELECT DISTINCT ?y { ?x :p ?y . ?x :q ?z }", max_matches_per_update=limit),
        subscription("free", "SELECT * { ?x :p ?y . ?x :q ?z }"),
    ]
    updates = [*(("+", "a", "p", f"v{n}") for n in range(4)), ("+", "a", "q", "b"), ("-", "a")]
    found = check_both([("subscribe", queries), ("publish", updates[:4]), ("publish", updates[4:])])
    assert [each.complete for each in found] == [True, True, False]
    assert found[-1].truncated == 2 * 2 * (4 - limit)
    assert len([n for n in found[-1].notifications if n.subscription_id == "free"]) == 8


def test_what_stands_is_told_at_first_and_with_its_witness() -> None:
    texts = [
        "SELECT * { ?x :p ?y . ?y :q ?z }",
        "ASK { ?x :p ?y . ?y :q ?z }",
        "SELECT DISTINCT ?z { ?x :p ?y . ?y :q ?z }",
    ]
    texts += ["SELECT (COUNT(*) AS ?n) { ?x :p ?y } HAVING (COUNT(*) >= 2)", "ASK { :a :p :b }"]
    texts.append("SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) >= 2)")
    rows = [subscription(f"s{n}", text, initial=True) for n, text in enumerate(texts)]
    graph = [("a", "p", "b"), ("a", "p", "c"), ("b", "q", "d"), ("c", "q", "d")]
    acts = [("load", graph), ("subscribe", rows), ("publish", [("-", "a", "p", "b"), ("+", "a", "p", "b")])]
    found = check_both(acts, witness=True)[-1].notifications
    assert {n.subscription_id for n in found if n.publication_id is None} == {f"s{n}" for n in range(6)}
    assert all("edges" in n.proof for n in found if n.change == "+" and n.subscription_id in ("s0", "s1", "s2", "s4"))


def test_a_count_that_hesitates() -> None:
    rows = [
        subscription("plain", "ASK { ?x :p ?y } HAVING (COUNT(*) >= 3)"),
        subscription("slow", "ASK { ?x :p ?y } HAVING (COUNT(*) >= 3)", hysteresis=2),
        subscription(
            "groups", "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) > 2)", hysteresis=1
        ),
    ]
    edges = [("a", "p", f"v{n}") for n in range(3)]
    acts = [("subscribe", rows), ("publish", [("+", *edge) for edge in edges])]
    acts += [("publish", [("-", *edge), ("+", *edge)]) for edge in edges] + [
        ("publish", [("-", *edge) for edge in edges])
    ]
    found = check_both(acts)
    lines = [(n.subscription_id, n.change) for each in found for n in each.notifications]
    assert lines.count(("plain", "-")) == 4
    assert lines.count(("slow", "-")) == lines.count(("slow", "+")) == 1
