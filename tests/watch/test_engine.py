"""The engine as a whole: loading, interests coming and going, saving, threads, measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from heliograph import StorageError, Watch
from heliograph.io.publications import Publications, Triples
from heliograph.io.tables import as_table
from heliograph.storage import read_folder, write_folder
from heliograph.taxonomy import Taxonomy
from heliograph.terms import parse_cell
from heliograph.vocabulary import Vocabulary
from heliograph.watch.save import graph_table

PAIR = ("s", "SELECT * { ?x :p ?y }")


def changes(notifications: Any) -> list[str]:
    return [f"{n.publication_id}{n.change}" for n in notifications]


# --- loading ----------------------------------------------------------------------------------------------------


def documents() -> Publications:
    vocabulary = Vocabulary()
    ids = np.array([[vocabulary.intern(parse_cell(cell)) for cell in "apb"]], np.int32)
    return Publications(vocabulary, ("d",), np.array([0, 1], np.int64), Triples(*ids.T))


@pytest.mark.parametrize(
    "items",
    [
        [("a", "p", "b")],
        ("a", "p", "b"),
        [{"subject": "a", "property": "p", "object": "b"}],
        {"subject": "a", "property": "p", "object": "b"},
        [("doc", [("a", "p", "b")])],
        [("+", "a", "p", "b")],
        [("+", "a", "p", "c"), ("=", "a", "p", "b")],
        pa.table({"subject": ["a"], "property": ["p"], "object": ["b"]}),
        pa.table({"publication_id": ["1"], "subject": ["a"], "property": ["p"], "object": ["b"]}),
        pa.table({"op": ["+"], "subject": ["a"], "property": ["p"], "object": ["b"]}),
        as_table("publications", [("1", [("a", "p", "b")])]),
        documents(),
    ],
    ids=range(12),
)
def test_a_graph_in_any_shape(items: Any) -> None:
    watch = Watch(initial=True)
    watch.subscribe(PAIR)
    assert watch.load_graph(items).accepted >= 1
    assert [n.proof["bindings"] for n in watch.publish([])] == [{"x": "a", "y": "b"}]


def test_a_bad_row_of_a_graph_loses_no_other() -> None:
    watch = Watch(initial=True)
    watch.subscribe(PAIR)
    receipt = watch.load_graph([("a", "p", "b"), ('"a"', "p", "b"), 5, ("a", "p")])
    assert receipt.accepted == 1
    assert [(each.item, each.code) for each in receipt.rejected] == [("3", "HG-208"), ("2", "HG-102"), ("4", "HG-621")]
    assert len(watch.publish([])) == 1


def test_a_loaded_graph_takes_no_seq() -> None:
    watch = Watch()
    watch.subscribe(PAIR)
    watch.load_graph([("a", "p", "b")])
    assert changes(watch.publish(("+", "a", "p", "c"))) == ["1+"]


# --- interests --------------------------------------------------------------------------------------------------


def test_a_subscriber_is_told_by_name() -> None:
    watch = Watch()
    watch.subscribe(("s", "Ann", "ASK { :a :p :b }"))
    assert [n.subscriber for n in watch.publish(("+", "a", "p", "b"))] == ["Ann"]


def test_pattern_tables() -> None:
    watch = Watch()
    receipt = watch.subscribe(
        patterns=[("s", "?x", "age", "?n"), ("s", "?x", "a", "Person"), ("t", "?x", "p", "?y")],
        constraints=[("s", "?n", ">", "30")],
    )
    assert (receipt.accepted, len(receipt.rejected)) == (2, 0)
    updates = [("+", "a", "a", "Person"), ("+", "a", "age", "30"), ("=", "a", "age", "31"), ("+", "a", "p", "b")]
    assert [(n.publication_id, n.subscription_id) for n in watch.publish(updates)] == [("3", "s"), ("4", "t")]


def test_the_taxonomy_is_part_of_the_graph() -> None:
    watch = Watch(taxonomy=[("Dog", "Animal"), ("Animal", "Thing")])
    watch.subscribe([("any", "SELECT ?x { ?x a/rdfs:subClassOf* :Thing . ?x :name ?n }")])
    watch.subscribe([("direct", "SELECT ?x { ?x a :Dog . ?x :name ?n }")])
    updates: list[Any] = [
        ("+", "Rex", "name", '"Rex"'),
        ("+", "Rex", "a", "Puppy"),
        ("+", "Puppy", "rdfs:subClassOf", "Dog"),
    ]
    updates += [("+", "Rex", "a", "Dog"), ("-", "Puppy", None, None), ("-", "Rex", "a", "Dog")]
    found = [(n.publication_id, n.change, n.subscription_id) for n in watch.publish(updates)]
    assert found == [("3", "+", "any"), ("4", "+", "direct"), ("6", "-", "any"), ("6", "-", "direct")]


def test_a_bad_taxonomy_is_told() -> None:
    watch = Watch(taxonomy=[("a", "b"), ("b", "a")])
    assert len(watch.rejected) == 1
    assert len(Watch(taxonomy=Taxonomy()).rejected) == 0


def test_container_members() -> None:
    watch = Watch()
    watch.subscribe(("s", "SELECT * { :bag rdfs:member ?x }"))
    assert changes(watch.publish([("+", "bag", "rdf:_1", "a"), ("+", "bag", "rdf:_2", "a"), ("-", "a")])) == [
        "1+",
        "3-",
    ]


# --- measurements -----------------------------------------------------------------------------------------------


def test_only_queries_that_could_be_concerned_are_candidates() -> None:
    watch = Watch()
    watch.subscribe([(f"s{n}", f"ASK {{ :v{n} :p ?x . ?x :q :w{n} }}") for n in range(50)])
    stats = watch.publish([("+", "v3", "p", "m"), ("+", "m", "q", "w3"), ("+", "m", "r", "w3")]).stats
    assert (stats.candidates, stats.verified, stats.notifications) == (2, 1, 1)
    assert (stats.subscriptions, stats.publications) == (50, 3)
    assert stats.match_ns > 0


def test_an_update_that_changes_nothing_touches_no_query() -> None:
    watch = Watch()
    watch.subscribe(PAIR)
    watch.publish(("+", "a", "p", "b"))
    stats = watch.publish([("+", "a", "p", "b", 2.0), ("-", "x", "p", "y"), ("=", "a", "p", "b")]).stats
    assert (stats.candidates, stats.publications) == (0, 3)
    assert watch.stats().candidates == 1


# --- saving -----------------------------------------------------------------------------------------------------


def saved(path: Path) -> Watch:
    watch = Watch("change", taxonomy=[("Dog", "Animal")], prefixes={"ex": "http://example.org/"}, window=60)
    watch.subscribe([PAIR, {"subscription_id": "o", "query": "ASK { ex:a :p ?y }", "options": '{"mode": "each"}'}])
    watch.subscribe(patterns=[("t", "?x", "p", "?y"), ("gone", "?x", "p", "?y")])
    watch.subscribe(("last", "Ann", "SELECT * { ?x a/rdfs:subClassOf* :Animal }"))
    watch.unsubscribe("gone")
    watch.load_graph([("_:b", "p", '"hé\\n"@fr'), ("a", "q", "5.50")])
    watch.publish({"op": "+", "subject": "a", "property": "p", "object": "b", "at": "2026-01-01T00:00:00Z"})
    watch.save(path)
    return watch


def assert_same_graph(first: Watch, second: Watch) -> None:
    tables = [graph_table(each._strategy.snapshot().edges, each.vocabulary) for each in (first, second)]
    assert tables[0].equals(tables[1])
    assert tables[0].num_rows > 0


def test_everything_is_saved(tmp_path: Path) -> None:
    watch = saved(tmp_path / "w")
    again = Watch.load(tmp_path / "w")
    assert_same_graph(again, watch)
    assert [each.id for each in again._subscriptions] == ["s", "o", "t", "last"]
    update = {"op": "+", "subject": "ex:a", "property": "p", "object": "Rex", "at": "2026-01-01T00:02:00Z"}
    more = [update, {**update, "subject": "Rex", "property": "a", "object": "Dog"}]
    assert list(again.publish(more)) == list(watch.publish(more))
    again.save(tmp_path / "w")
    assert list(Watch.load(tmp_path / "w").publish([("-", "a")]).rejected) != []


@pytest.mark.parametrize("lacks", ["meta", "mode", "tables"])
def test_a_damaged_save_is_refused(tmp_path: Path, lacks: str) -> None:
    saved(tmp_path / "w")
    opened = read_folder(tmp_path / "w", "watch", {1})
    meta = {} if lacks == "meta" else dict(opened.meta)
    meta |= {"settings": {"mode": "wild"}} if lacks == "mode" else {}
    write_folder(tmp_path / "x", "watch", 1, tables={} if lacks == "tables" else opened.tables, meta=meta)
    with pytest.raises(StorageError, match="HG-810"):
        Watch.load(tmp_path / "x")
