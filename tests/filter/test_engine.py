"""The filter from outside: what it accepts, what it refuses, in which order it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from heliograph import Filter
from heliograph.errors import HeliographError, SparqlError, SubscriptionError, TableError, UsageError
from heliograph.io.tables import as_table
from heliograph.model import Notifications

ANY = "ASK { ?s ?p ?o }"


def pairs(found: Notifications) -> list[tuple[str, str | None]]:
    return [(each.subscription_id, each.publication_id) for each in found]


def subscribed(**queries: str) -> Filter:
    engine = Filter()
    engine.subscribe(list(queries.items()))
    return engine


# --- publications -----------------------------------------------------------------------------------------------


def test_rows_of_one_id_are_one_publication_wherever_they_lie() -> None:
    table = pa.table(
        {
            "publication_id": ["b", "a", "b", "a"],
            "subject": ["x", "x", "x", "x"],
            "property": ["p", "p", "q", "p"],
            "object": ["1", "1", "2", "1"],
        }
    )
    engine = subscribed(both="ASK { :x :p 1 ; :q 2 }", one="ASK { :x :p 1 }")
    assert pairs(engine.publish(table)) == [("both", "b"), ("one", "b"), ("one", "a")]


def test_the_same_id_in_a_later_call_is_a_new_publication() -> None:
    engine = subscribed(both="ASK { :x :p 1 ; :q 2 }")
    assert not engine.publish(("a", [("x", "p", "1")]))
    assert not engine.publish(("a", [("x", "q", "2")]))


def test_triples_are_a_set() -> None:
    engine = subscribed(two="ASK { ?x :p ?y } HAVING (COUNT(*) = 1)")
    assert len(engine.publish(("a", [("x", "p", "1"), ("x", "p", "01"), ("x", "p", '"1"^^xsd:int')]))) == 1


@pytest.mark.parametrize(
    "items",
    [
        ("a", [("x", "p", "1")]),
        [("a", [("x", "p", "1")])],
        {"publication_id": "a", "subject": "x", "property": "p", "object": "1"},
        [("a", "x", "p", "1")],
        pa.table({"publication_id": ["a"], "subject": ["x"], "property": ["p"], "object": ["1"]}),
        pa.RecordBatch.from_pydict({"publication_id": ["a"], "subject": ["x"], "property": ["p"], "object": ["1"]}),
        as_table("publications", ("a", [("x", "p", "1")])),
        iter([("a", [("x", "p", "1")])]),
    ],
)
def test_every_way_to_give_a_publication(items: Any) -> None:
    assert pairs(subscribed(s="ASK { :x :p 1 }").publish(items)) == [("s", "a")]


def test_bad_rows_are_rejected_one_by_one_and_the_rest_stays() -> None:
    rows = [
        ("a", "x", "p", "1"),
        ("a", None, "p", "1"),
        ("a", '"text"', "p", "1"),
        ("a", "x", "", "1"),
        ("a", "x", "p", "unheard:of"),
        ("a", "x", "p", "?variable"),
        (None, "x", "p", "1"),
        ("", "x", "p", "1"),
        ("gone", "x", "p", None),
    ]
    columns = ["publication_id", "subject", "property", "object"]
    table = pa.table(
        {name: pa.array(cells, pa.string()) for name, cells in zip(columns, zip(*rows, strict=True), strict=True)}
    )
    found = subscribed(any=ANY).publish(table)
    assert pairs(found) == [("any", "a")]
    assert found.stats.publications == 1
    assert [(entry.source, entry.item, entry.code) for entry in found.rejected] == [
        ("publications", "a", "HG-101"),
        ("publications", "a", "HG-102"),
        ("publications", "a", "HG-101"),
        ("publications", "a", "HG-104"),
        ("publications", "a", "HG-106"),
        ("publications", "7", "HG-601"),
        ("publications", "8", "HG-601"),
        ("publications", "gone", "HG-101"),
    ]
    assert "in row 5, column object" in found.rejected[3].message
    assert "--prefix unheard=IRI" in found.rejected[3].message


def test_publications_come_in_the_order_of_their_first_row_even_a_bad_one() -> None:
    rows = [("late", "x", "bad:p", "1"), ("gone", "x", "bad:p", "1"), ("early", "x", "p", "1"), ("late", "x", "p", "1")]
    assert pairs(subscribed(any=ANY).publish(rows)) == [("any", "late"), ("any", "early")]


def test_prefixes_of_ones_own() -> None:
    engine = Filter(prefixes={"ex": "http://example.org/"})
    engine.subscribe(("s", "ASK { ex:x :p ?y }"))
    assert len(engine.publish(("a", [("ex:x", "p", "1")]))) == 1
    assert len(engine.publish(("a", [("<http://example.org/x>", "p", "1")]))) == 1


def test_a_table_without_a_column_is_a_wrong_call() -> None:
    with pytest.raises(TableError, match="subject"):
        Filter().publish(pa.table({"publication_id": ["a"]}))


# --- subscriptions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "items",
    [
        ("s", ANY),
        [("s", ANY)],
        {"subscription_id": "s", "query": ANY},
        pa.table({"subscription_id": ["s"], "query": [ANY]}),
        pa.table({"subscription_id": ["s"], "subject": ["?s"], "property": ["?p"], "object": ["?o"]}),
    ],
)
def test_every_way_to_subscribe(items: Any) -> None:
    engine = Filter()
    assert engine.subscribe(items).accepted == 1
    assert pairs(engine.publish(("a", [("x", "p", "1")]))) == [("s", "a")]


def test_the_subscriber_is_passed_on() -> None:
    engine = Filter()
    engine.subscribe([{"subscription_id": "s", "subscriber": "Alice", "query": ANY}, ("t", ANY)])
    assert [found.subscriber for found in engine.publish(("a", [("x", "p", "1")]))] == ["Alice", None]


def test_patterns_and_constraints() -> None:
    engine = Filter()
    patterns = [("s", "?x", "year", "?y"), ("bad", "?x", "no:prefix", "?y"), ("t", "?x", "year", "?y")]
    receipt = engine.subscribe(patterns=patterns, constraints=[("s", "?y", ">", "2000"), ("lost", "?y", ">", "1")])
    assert receipt.accepted == 2
    assert [entry.item for entry in receipt.rejected] == ["bad", "lost"]
    assert pairs(engine.publish(("a", [("x", "year", "1999")]))) == [("t", "a")]


def test_nothing_to_subscribe_to() -> None:
    with pytest.raises(UsageError):
        Filter().subscribe()


def test_what_a_refused_subscription_says() -> None:
    engine = Filter()
    receipt = engine.subscribe([("s", ANY), ("s", ANY), ("u", "ASK { ?s ?p ?o MINUS { ?s ?p 1 } }"), (None, ANY)])
    assert receipt.accepted == 1
    assert [(entry.source, entry.item) for entry in receipt.rejected] == [
        ("subscriptions", "s"),
        ("subscriptions", "u"),
        ("subscriptions", "4"),
    ]
    assert receipt.rejected[0].code == "HG-501"
    assert "'s' exists already" in receipt.rejected[0].message
    assert "MINUS" in receipt.rejected[1].message
    with pytest.raises(SubscriptionError, match="'s'"):
        engine.subscribe(("s", ANY))
    with pytest.raises(SparqlError):
        engine.subscribe(("v", "ASK {"))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (None, None),
        ("", None),
        ('{"mode": "change"}', None),
        ('{"node": "change", "k": 1}', "HG-521"),
        ("[]", "HG-520"),
        ("{", "HG-520"),
    ],
)
def test_options_are_checked(options: str | None, code: str | None) -> None:
    table = pa.table({"subscription_id": ["s"], "query": [ANY], "options": pa.array([options], pa.string())})
    receipt = Filter().subscribe(table)
    assert [entry.code for entry in receipt.rejected] == ([code] if code else [])
    if code == "HG-521":
        assert "'k', 'node'" in receipt.rejected[0].message


def test_a_metric_is_refused_in_a_filter() -> None:
    with pytest.raises(SparqlError, match="degree"):
        Filter().subscribe(("s", "ASK { ?x :p ?y FILTER(hg:degree(?x) > 2) }"))


@pytest.mark.parametrize("ids", [["a", "b"], ("a", "b"), pa.array(["a", "b"]), iter(["a", "b"])])
def test_unsubscribing_several(ids: Any) -> None:
    engine = subscribed(a=ANY, b=ANY, c=ANY)
    assert engine.unsubscribe(ids).accepted == 2
    assert pairs(engine.publish(("d", [("x", "p", "1")]))) == [("c", "d")]


# --- order, stats, choices --------------------------------------------------------------------------------------


def test_notifications_come_by_publication_and_then_by_order_of_subscribing() -> None:
    engine = subscribed(z=ANY, m=ANY)
    engine.subscribe([("a", ANY)])
    engine.unsubscribe("z")
    engine.subscribe([("z", ANY)])
    publications = [("late", [("x", "p", "1")]), ("early", [("x", "p", "1")])]
    order = ["m", "a", "z"]
    assert pairs(engine.publish(publications)) == [(id, name) for name in ("late", "early") for id in order]


def test_stats_of_a_call() -> None:
    engine = subscribed(yes="ASK { :x :p 1 }", no="ASK { :x :p 2 }")
    stats = engine.publish([("a", [("x", "p", "1")]), ("b", [("x", "bad:p", "1")])]).stats
    assert (stats.subscriptions, stats.publications, stats.notifications) == (2, 1, 1)
    assert (stats.candidates, stats.verified, stats.rejected) == (2, 2, 1)
    assert stats.complete
    assert stats.parse_ns > 0
    assert stats.match_ns > 0
    assert engine.stats().rejected == 1


@pytest.mark.parametrize("options", [{"algorithm": "fastest"}])
def test_an_unknown_algorithm_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="fastest"):
        Filter(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("bindings", [-1, True, "3", 2.0])
def test_a_wrong_number_of_bindings_is_refused(bindings: Any) -> None:
    with pytest.raises(UsageError):
        Filter().publish([], bindings=bindings)


def test_taxonomy_rows_that_cannot_be_read_are_reported() -> None:
    engine = Filter([("x", "top"), ("x", "no:prefix")])
    assert [entry.code for entry in engine.rejected] == ["HG-104"]
    engine.subscribe(("s", "ASK { ?x a :top ; :p 1 }"))
    assert len(engine.publish(("a", [("x", "p", "1")]))) == 1


@pytest.mark.parametrize(
    "items", [5, [5], ["text"], [("a", "b", "c", "d", "e", "f")], [{"x": 1}], [("a", [("x", "p")])]]
)
def test_garbage_is_a_heliograph_error_or_a_rejection(items: Any) -> None:
    for call in (Filter().publish, Filter().subscribe):
        assert _refused(call, items)


def _refused(call: Any, items: Any) -> bool:
    try:
        return bool(call(items).rejected)
    except HeliographError as error:
        return error.code.startswith("HG-")


def test_ids_are_strings_wherever_they_are_given() -> None:
    engine = Filter()
    engine.subscribe([(5, ANY)])
    assert engine.explain(5, ("a", [("x", "year", "1999")])).matched  # type: ignore[arg-type]
    assert engine.unsubscribe(5).accepted == 1
    with pytest.raises(SubscriptionError, match="no subscription '5'"):
        engine.unsubscribe(5)


def test_documents_and_feeds_are_published_by_path(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("<urn:heliograph:Ann> <urn:heliograph:knows> <urn:heliograph:Bob> .")
    (tmp_path / "b.rss").write_text("<rss><channel><item><guid>g</guid><title>t</title></item></channel></rss>")
    engine = Filter()
    engine.subscribe([("knows", "ASK { ?x :knows ?y }"), ("item", 'ASK { ?x rss:title "t" }')])
    assert [n.subscription_id for n in engine.publish(tmp_path / "a.ttl")] == ["knows"]
    assert [n.publication_id for n in engine.publish(str(tmp_path / "b.rss"))] == [f"{tmp_path}/b.rss#g"]
    (tmp_path / "c.ttl").write_text("<urn:a")
    assert [entry.code for entry in engine.publish(tmp_path / "c.ttl").rejected] == ["HG-302"]
