"""Queries that ask the same. The laws: a renaming never changes a key; equal keys match the same publications."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.lint.lint import alike, key_of
from heliograph.sparql.query import Query
from heliograph.sparql.templates import parse_sparql
from tests.filter.conditions import WILD
from tests.filter.strategies import Workload, abstracted, documents, workloads


def query(text: str) -> Query:
    return parse_sparql(text, verb="watch")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ASK { ?x :p ?y }", "ASK { ?b :p ?a }"),
        ("ASK { ?x :p ?y }", "SELECT DISTINCT ?x { ?x :p _:n }"),
        ("ASK { ?x :p ?y . ?y :q ?z }", "ASK { ?a :q ?b . ?c :p ?a }"),
        ("ASK { ?x :p ?y FILTER(?y > 5 && ?x != :A) }", "ASK { ?a :p ?b FILTER(:A != ?a) FILTER(5 < ?b) }"),
        ("ASK { ?x :p ?y VALUES ?y { 1 2 } }", "ASK { ?x :p ?z VALUES ?z { 2 1 2 } }"),
        ("ASK { ?x :p ?y . ?y :p ?z . ?z :p ?x }", "ASK { ?c :p ?a . ?b :p ?c . ?a :p ?b }"),
        ("ASK { ?x a/rdfs:subClassOf* :C ; :p 1 }", "ASK { ?s :p 1 . ?s a/rdfs:subClassOf* :C }"),
        (
            "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) > 2)",
            "SELECT ?b (COUNT(*) AS ?m) { ?b :p ?x } GROUP BY ?b HAVING (COUNT(*) > 2)",
        ),
    ],
)
def test_the_same_in_other_words(one: str, other: str) -> None:
    assert key_of(query(one)) == key_of(query(other))
    assert list(alike([query(one), query("ASK { :a :b :c }"), query(other)])) == [[0, 2]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ASK { ?x :p ?y }", "ASK { ?x :p ?x }"),
        ("ASK { ?x :p ?y . ?y :q ?z }", "ASK { ?x :p ?y . ?x :q ?z }"),
        ("ASK { ?x :p ?y FILTER(?y > 5) }", "ASK { ?x :p ?y FILTER(?y < 5) }"),
        ("ASK { ?x :p ?y FILTER(?y > ?x) }", "ASK { ?x :p ?y FILTER(?x > ?y) }"),
        ("ASK { ?x :p ?y FILTER(?y > 5) }", "ASK { ?x :p ?y FILTER(?x > 5) }"),
        ("ASK { ?x :p ?y FILTER(?y IN (1)) }", "ASK { ?x :p ?y FILTER(?y NOT IN (1)) }"),
        ("ASK { ?x :p ?y VALUES ?y { 1 } }", "ASK { ?x :p ?y VALUES ?x { 1 } }"),
        ("ASK { ?x a :C }", "ASK { ?x a/rdfs:subClassOf* :C }"),
        ("ASK { ?x :p ?y } HAVING (COUNT(*) > 2)", "ASK { ?x :p ?y }"),
        ("ASK { ?x :p ?y . ?y :p ?z . ?z :p ?x }", "ASK { ?x :p ?y . ?y :p ?x . ?z :p ?z }"),
    ],
)
def test_not_the_same(one: str, other: str) -> None:
    assert key_of(query(one)) != key_of(query(other))
    assert list(alike([query(one), query(other)])) == []


def test_symmetry_ends() -> None:
    star = " . ".join(f"?x :p ?v{number}" for number in range(40))
    other = " . ".join(f"?y :p ?w{number}" for number in reversed(range(40)))
    assert key_of(query(f"ASK {{ {star} }}")) == key_of(query(f"ASK {{ {other} }}"))


@given(documents(WILD).flatmap(abstracted), st.randoms(use_true_random=False))
def test_renaming_and_reordering_change_nothing(edges: list[tuple[str, ...]], random: st.DataObject) -> None:
    variables = sorted({node for edge in edges for node in edge if node[0] in "?_"})
    fresh = [f"?w{number}" for number in range(len(variables))]
    random.shuffle(fresh)  # type: ignore[attr-defined]
    names = dict(zip(variables, fresh))
    renamed = [tuple(names.get(node, node) for node in edge) for edge in edges]
    random.shuffle(renamed)  # type: ignore[attr-defined]
    texts = [f"ASK {{ {' . '.join(map(' '.join, some))} }}" for some in (edges, renamed)]
    assert key_of(query(texts[0])) == key_of(query(texts[1]))


@given(workloads(WILD))
def test_what_asks_the_same_matches_the_same(workload: Workload) -> None:
    engine = workload.engine("naive")
    subscriptions = list(engine._subscriptions)
    matched: dict[str, set[str | None]] = {each.id: set() for each in subscriptions}
    for notification in engine.publish(workload.publications):
        matched[notification.subscription_id].add(notification.publication_id)
    for group in alike([each.query for each in subscriptions]):
        assert len({frozenset(matched[subscriptions[place].id]) for place in group}) == 1
