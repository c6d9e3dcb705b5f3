"""A taxonomy that is RDF means what it says; a table's row is both."""

from __future__ import annotations

from pathlib import Path

import pytest

from heliograph import Filter, Watch

PREFIXES = {"schema": "https://schema.org/"}
CLASSES = """@prefix schema: <https://schema.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
schema:NewsArticle rdfs:subClassOf schema:Article . schema:Article rdfs:subClassOf schema:CreativeWork ."""
QUERIES = {
    "direct": "SELECT ?x { ?x a schema:Article }",
    "any": "SELECT ?x { ?x a/rdfs:subClassOf* schema:Article }",
    "sub": "SELECT ?x { ?x rdfs:subClassOf+ schema:CreativeWork }",
}


def _found(taxonomy: object, triples: list[tuple[str, str, str]]) -> dict[str, list[str]]:
    engine = Filter(taxonomy, prefixes=PREFIXES)
    engine.subscribe(QUERIES)
    found = engine.publish("d", triples, bindings=10)
    return {n.subscription_id: [row["x"] for row in n.proof["bindings"]] for n in found}


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    path = tmp_path / "classes.ttl"
    path.write_text(CLASSES)
    return path


def test_a_subclass_is_no_instance(classes: Path) -> None:
    found = _found(str(classes), [("x", "p", "y")])
    assert found.keys() == {"sub"}


def test_instances_of_subclasses_are_found(classes: Path) -> None:
    found = _found(str(classes), [("x", "a", "schema:NewsArticle"), ("y", "a", "schema:Article")])
    assert found["any"] == ["x", "y"]
    assert found["direct"] == ["y"]


def test_types_in_a_taxonomy_are_types(tmp_path: Path) -> None:
    (tmp_path / "t.nt").write_text(
        "<https://schema.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://schema.org/Article> .\n"
    )
    found = _found(str(tmp_path / "t.nt"), [("x", "p", "y")])
    assert found.keys() == {"direct", "any"}


def test_a_row_of_a_table_is_both() -> None:
    found = _found([("schema:NewsArticle", "schema:Article")], [("x", "p", "y")])
    assert set(found) >= {"direct", "any"}


def test_the_index_and_the_plain_strategy_agree(classes: Path) -> None:
    for algorithm in ("naive", "indexed"):
        engine = Filter(str(classes), prefixes=PREFIXES, algorithm=algorithm)
        engine.subscribe(QUERIES)
        found = engine.publish([("d", [("x", "p", "y")]), ("e", [("x", "a", "schema:NewsArticle")])])
        assert {(n.publication_id, n.subscription_id) for n in found} == {("d", "sub"), ("e", "any"), ("e", "sub")}


def test_the_witness_of_an_is_a_match_lists_edges_of_the_graph() -> None:
    watch = Watch(taxonomy=[("Dog", "Animal"), ("Animal", "Thing")])
    watch.subscribe("q", "SELECT ?x { ?x a/rdfs:subClassOf* :Thing ; :name ?n }")
    (found,) = watch.publish([("+", "rex", "a", "Dog"), ("+", "rex", "name", '"Rex"')], witness=True)
    edges = found.proof["edges"]
    assert ["rex", "name", '"Rex"'] in edges
    for edge in edges:
        assert edge in (["rex", "a", "Dog"], ["rex", "rdf:type", "Dog"], ["rex", "name", '"Rex"']), edge


def test_the_witness_names_the_chain_of_classes_that_the_graph_holds() -> None:
    watch = Watch()
    watch.subscribe("q", "SELECT ?x { ?x a/rdfs:subClassOf* :Thing ; :name ?n }")
    updates = [
        ("+", "Dog", "rdfs:subClassOf", "Animal"),
        ("+", "Animal", "rdfs:subClassOf", "Thing"),
        ("+", "rex", "a", "Dog"),
        ("+", "rex", "name", '"Rex"'),
    ]
    (found,) = watch.publish(updates, witness=True)
    assert sorted(found.proof["edges"]) == sorted(
        [
            ["Dog", "rdfs:subClassOf", "Animal"],
            ["Animal", "rdfs:subClassOf", "Thing"],
            ["rex", "rdf:type", "Dog"],
            ["rex", "name", '"Rex"'],
        ]
    )
