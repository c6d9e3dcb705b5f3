"""A taxonomy that is RDF means what it says; a table's row is both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heliograph import Filter, Watch
from heliograph.lint import lint_subscriptions
from heliograph.taxonomy import Taxonomy
from heliograph.terms import parse_cell

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


# --- everywhere the same ----------------------------------------------------------------------------------------

SEVERAL = {f"q{number}": f"SELECT ?x {{ ?x a/rdfs:subClassOf* schema:Article ; :p :o{number} }}" for number in range(8)}


@pytest.mark.parametrize("partition", ["hash", "containment", "merging"])
def test_partitions_agree(classes: Path, partition: str) -> None:
    queries = QUERIES | SEVERAL | {"plain": "SELECT ?x { ?x a schema:Article ; :p ?y }"}
    documents: Any = [
        ("d", [("x", "p", "o1")]),
        ("e", [("x", "a", "schema:NewsArticle"), ("x", "p", "o1")]),
        ("f", [("x", "a", "schema:Article"), ("x", "p", "o2")]),
        ("g", [("schema:NewsArticle", "p", "o3")]),
    ]
    found = []
    for settings in ({"algorithm": "naive"}, {"shards": 2, "partition": partition}):
        engine = Filter(classes, prefixes=PREFIXES, **settings)
        engine.subscribe(queries)
        found.append({(n.publication_id, n.subscription_id) for n in engine.publish(documents)})
    assert found[0] == found[1]
    assert {pair for pair in found[0] if pair[0] == "g"} == {("g", "sub")}


def test_a_save_keeps_types_and_subclasses_apart(classes: Path, tmp_path: Path) -> None:
    engine = Filter(classes, prefixes=PREFIXES, algorithm="indexed")
    engine.subscribe(QUERIES)
    engine.save(tmp_path / "filter")
    again = Filter.load(tmp_path / "filter")
    assert {n.subscription_id for n in again.publish("d", [("x", "p", "y")])} == {"sub"}
    watch = Watch(taxonomy=classes, prefixes=PREFIXES)
    watch.subscribe(QUERIES)
    watch.save(tmp_path / "watch")
    found = Watch.load(tmp_path / "watch").publish([("+", "x", "a", "schema:NewsArticle")])
    assert [n.subscription_id for n in found] == ["any"]


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_a_watch_tells_them_apart(classes: Path, algorithm: str) -> None:
    watch = Watch(taxonomy=str(classes), prefixes=PREFIXES, algorithm=algorithm)
    watch.subscribe({**QUERIES, "typed": "SELECT ?x { ?x a ?c . ?x :p ?y }"})
    updates = [
        ("+", "schema:NewsArticle", "p", "y"),  # no instance of anything
        ("+", "x", "p", "y"),
        ("+", "x", "a", "schema:NewsArticle"),
        ("-", "x", "a", "schema:NewsArticle"),
    ]
    found = [(n.publication_id, n.change, n.subscription_id) for n in watch.publish(updates)]
    assert found == [("3", "+", "any"), ("3", "+", "typed"), ("4", "-", "any"), ("4", "-", "typed")]


def test_files_of_both_kinds_are_read_together(classes: Path, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("child,parent\nschema:Blog,schema:Article\nschema:Bad Name:,\n")
    for given in (tmp_path, [classes, tmp_path / "t.csv"], str(tmp_path / "*")):
        taxonomy = Taxonomy.read(given, PREFIXES)
        kind, blog = parse_cell("schema:Article", prefixes=PREFIXES), parse_cell("schema:Blog", prefixes=PREFIXES)
        assert taxonomy.instances_of(kind) == (blog,)
        assert set(map(str, taxonomy.children(kind))) >= {str(blog)}
        assert len(taxonomy.children(kind)) == 2
        assert [entry.source is not None for entry in taxonomy.rejected] == [True]


def test_blank_nodes_of_a_taxonomy_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "t.ttl").write_text(
        "_:b <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://schema.org/Article> ."
    )
    engine = Filter(tmp_path / "t.ttl", prefixes=PREFIXES)
    engine.subscribe("q", "SELECT ?x { ?x a schema:Article ; :p ?y }")
    assert not len(engine.publish("d", [("_:b", "p", "y"), ("_:b0", "p", "y")]))


def test_lint_says_what_matches_everything(classes: Path) -> None:
    assert "HG-721" not in lint_subscriptions([*QUERIES.items()], taxonomy=[], prefixes=PREFIXES)["code"].to_pylist()
    found = lint_subscriptions([*QUERIES.items()], taxonomy=classes, prefixes=PREFIXES).to_pylist()
    assert [each["subject_id"] for each in found if each["code"] == "HG-721"] == ["sub"]
    table = [("schema:NewsArticle", "schema:Article")]
    found = lint_subscriptions([*QUERIES.items()], taxonomy=table, prefixes=PREFIXES).to_pylist()
    assert [each["subject_id"] for each in found if each["code"] == "HG-721"] == ["direct", "any"]


# --- witnesses --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_what_was_lost_shows_the_chain_that_it_had(algorithm: str) -> None:
    watch = Watch(taxonomy=[("Animal", "Thing")], algorithm=algorithm)
    watch.subscribe("q", "SELECT ?x { ?x a/rdfs:subClassOf* :Thing ; :name ?n }")
    watch.subscribe("m", "SELECT ?x { ?x rdfs:member :rex ; a :Animal }")
    updates = [
        ("+", "Dog", "rdfs:subClassOf", "Animal"),
        ("+", "rex", "a", "Dog"),
        ("+", "rex", "name", '"Rex"'),
        ("-", "Dog", "rdfs:subClassOf", "Animal"),
        ("+", "Dog", "rdfs:subClassOf", "Animal"),
        ("-", "Dog"),
        ("+", "pack", "rdf:_2", "rex"),
        ("+", "pack", "a", "Animal"),
        ("-", "pack"),
    ]
    chain = [["rex", "rdf:type", "Dog"], ["Dog", "rdfs:subClassOf", "Animal"], ["rex", "name", '"Rex"']]
    pack = [["pack", "rdf:_2", "rex"], ["pack", "rdf:type", "Animal"]]
    both = [(n.publication_id, n.change, n.proof["edges"]) for n in watch.publish(updates, witness=True)]
    expected = [("3", "+", chain), ("4", "-", chain), ("5", "+", chain), ("6", "-", chain)]
    assert both == [*expected, ("8", "+", pack), ("9", "-", pack)]
    assert [n.proof.keys() for n in watch.publish([("+", "Dog", "rdfs:subClassOf", "Animal")])] == []


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_a_window_that_forgets_a_class(algorithm: str) -> None:
    watch = Watch(algorithm=algorithm, window_updates=3, witness=True)
    watch.subscribe("q", "SELECT ?x { ?x a/rdfs:subClassOf* :Thing }")
    updates = [
        ("+", "Dog", "rdfs:subClassOf", "Thing"),
        ("+", "rex", "a", "Dog"),
        ("+", "a", "p", "b"),
        ("+", "c", "p", "d"),
    ]
    chain = [["rex", "rdf:type", "Dog"], ["Dog", "rdfs:subClassOf", "Thing"]]
    assert [(n.change, n.proof["edges"]) for n in watch.publish(updates)] == [("+", chain), ("-", chain)]


@pytest.mark.parametrize("algorithm", ["plain", "indexed"])
def test_the_witness_of_a_type_that_comes_and_goes_in_one_batch(algorithm: str) -> None:
    watch = Watch(algorithm=algorithm, window_updates=1)
    watch.subscribe("q", "SELECT * { ?x a :b }")
    found = watch.publish([("+", "c", "a", "b"), ("+", "a", "a", "c")], witness=True)
    assert [(n.change, n.proof["edges"]) for n in found] == [
        ("+", [["c", "rdf:type", "b"]]),
        ("-", [["c", "rdf:type", "b"]]),
    ]
