"""The contract, sentence by sentence, through the public classes alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from heliograph import Filter, Route, Watch
from heliograph.errors import HeliographError
from heliograph.model import Notification, Notifications

Triple = tuple[str, str, str]


def filter_matches(query: str, *triples: Triple, taxonomy: Sequence[tuple[str, str]] = ()) -> bool:
    engine = Filter(taxonomy=list(taxonomy) or None)
    engine.subscribe(("s", query))
    return len(engine.publish([("p", list(triples))])) == 1


def watched(query: str, updates: Sequence[Any], **options: Any) -> list[tuple[str | None, str]]:
    engine = Watch(**options)
    engine.subscribe(("s", query))
    return [(n.publication_id, n.change) for n in engine.publish(list(updates))]


# --- terms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "constant", "expected"),
    [
        ("05", "5", True),
        ('"5"^^xsd:int', "5", True),
        ("5", "5.0", False),
        ("5G", "<urn:heliograph:5G>", True),
        ("NaN", ":NaN", True),
        ("RSS Filter", "<urn:heliograph:RSS%20Filter>", True),
        ('"chat"@FR', '"chat"@fr', True),
        ('"x"', '"x"^^xsd:string', True),
        ('"2026-01-01T00:00:00Z"^^xsd:dateTime', '"2026-01-01T01:00:00+01:00"^^xsd:dateTime', False),
        ("true", "true", True),
        ("1e5", "100000.0e0", True),
    ],
)
def test_constants_match_by_canonical_term(cell: str, constant: str, expected: bool) -> None:
    assert filter_matches(f"ASK {{ :s :p {constant} }}", ("s", "p", cell)) is expected


@pytest.mark.parametrize(
    ("cell", "condition", "expected"),
    [
        ("5", "?x = 5.0", True),
        ('"2026-01-01T00:00:00Z"^^xsd:dateTime', '?x = "2026-01-01T01:00:00+01:00"^^xsd:dateTime', True),
        ('"a"', "?x != 5", False),
        ("Alice", "?x != 5", True),
        ("Alice", '?x != "Alice"', True),
        ('"a"@EN', '?x = "a"@en', True),
        ("99999999999999999999999", "?x > 99999999999999999999998", True),
        ('"2026-05-05"^^xsd:date', '?x < "2026-05-06"^^xsd:date', True),
        ("5", '?x IN (4, 5.0, "a")', True),
        ("5", "?x NOT IN (4, 6)", True),
        ("5", "!(?x > 6) && (?x * 2 = 10 || ?x = 0)", True),
        ('"Hello"', 'REGEX(?x, "^hel", "i") && CONTAINS(?x, "ll") && STRSTARTS(?x, "H") && STRENDS(?x, "o")', True),
        ("Alice", "isIRI(?x) && !isLiteral(?x) && BOUND(?x)", True),
        ('"chat"@fr', 'LANG(?x) = "fr" && STR(?x) = "chat"', True),
        ("5", "DATATYPE(?x) = xsd:integer", True),
    ],
)
def test_filters_compare_by_value(cell: str, condition: str, expected: bool) -> None:
    assert filter_matches(f"ASK {{ :s :p ?x FILTER({condition}) }}", ("s", "p", cell)) is expected


@pytest.mark.parametrize(
    "triple",
    [
        ("", "p", "o"),
        ("s", "", "o"),
        ("s", "p", ""),
        ('"s"', "p", "o"),
        ("s", "5", "o"),
        ("s", "p", "foo:bar"),
        ("s", "p", "?x"),
        ("s", "p", "http://example.org/"),
    ],
)
def test_a_bad_cell_is_rejected_and_loses_nothing_else(triple: Triple) -> None:
    engine = Filter()
    engine.subscribe(("s", "ASK { :good :p :o }"))
    found = engine.publish([("p1", [triple, ("good", "p", "o")]), ("p2", [("good", "p", "o")])])
    assert [n.publication_id for n in found] == ["p1", "p2"]
    assert len(found.rejected) == 1
    assert found.rejected[0].code.startswith("HG-1")
    assert found.stats.rejected == 1


def test_a_means_type_in_the_property_column_only() -> None:
    assert filter_matches("ASK { :x a :C . :a :p :a }", ("x", "a", "C"), ("a", "p", "a"))


def test_declared_prefixes_are_read() -> None:
    engine = Filter(prefixes={"ex": "http://example.org/"})
    engine.subscribe(("s", "ASK { ex:a ex:p <http://example.org/b> }"))
    assert len(engine.publish(("p", [("<http://example.org/a>", "ex:p", "ex:b")]))) == 1


# --- publications and notifications -----------------------------------------------------------------------------


def test_rows_of_one_id_are_one_publication_wherever_they_lie() -> None:
    rows = [("p1", "a", "p", "b"), ("p2", "a", "p", "b"), ("p1", "b", "p", "c")]
    columns = ("publication_id", "subject", "property", "object")
    table = pa.table({name: [row[number] for row in rows] for number, name in enumerate(columns)})
    engine = Filter()
    engine.subscribe([("two", "ASK { ?x :p ?y . ?y :p ?z }"), ("one", "ASK { :a :p :b }")])
    found = [(n.publication_id, n.subscription_id) for n in engine.publish(table)]
    assert found == [("p1", "two"), ("p1", "one"), ("p2", "one")]
    assert len(engine.publish(table)) == 3, "the same id in a later call is a new publication"


def test_notifications_have_the_columns_of_the_contract() -> None:
    engine = Filter()
    engine.subscribe({"subscription_id": "s", "subscriber": "me", "query": "SELECT ?x { ?x :p ?y }"})
    found = engine.publish([("p", [("a", "p", "b"), ("a", "p", "c")])], bindings=5)
    assert isinstance(found, Notifications)
    assert isinstance(found[0], Notification)
    names = ["subscription_id", "subscriber", "publication_id", "verb", "change", "at", "evidence"]
    assert found.table.column_names == names
    assert found.table.to_pylist() == [
        {**dict.fromkeys(names), "subscription_id": "s", "subscriber": "me", "publication_id": "p"}
        | {"verb": "filter", "change": "+", "evidence": '{"bindings":[{"x":"a"}]}'}
    ]
    assert found.complete


def test_evidence_is_off_by_default() -> None:
    engine = Filter()
    engine.subscribe(("s", "SELECT * { ?x :p ?y }"))
    assert engine.publish(("p", [("a", "p", "b")]))[0].evidence is None


def test_homomorphism() -> None:
    assert filter_matches("ASK { ?x :p ?y . ?y :p ?z }", ("a", "p", "a"))
    assert not filter_matches("ASK { ?x :p ?y FILTER(?x != ?y) }", ("a", "p", "a"))


def test_member_matches_any_container_property() -> None:
    assert filter_matches("ASK { ?bag rdfs:member :b }", ("bag", "rdf:_7", "b"))


# --- is-a -------------------------------------------------------------------------------------------------------

TAXONOMY = (("Report", "Publication"), ("Report", "Department"), ("paper", "Report"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ASK { ?x :by :Arno ; a/rdfs:subClassOf* :Publication }", True),
        ("ASK { ?x :by :Arno ; a/rdfs:subClassOf* :Department }", True),
        ("ASK { ?x :by :Arno ; a :Publication }", False),
        ("ASK { ?x :by :Arno ; a :Report }", True),
        ("ASK { ?x :by :Arno . ?x rdfs:subClassOf+ :Publication }", True),
        ("ASK { ?x :by :Arno . :Publication rdfs:subClassOf+ ?x }", False),
        ("ASK { ?y :kind ?k . :paper rdfs:subClassOf+ ?k }", True),
        ("ASK { ?x rdfs:subClassOf :Publication }", False),
        ("ASK { :paper ?p :Report }", False),
    ],
)
def test_the_is_a_forms(query: str, expected: bool) -> None:
    triples = (("paper", "by", "Arno"), ("paper", "kind", "Publication"))
    assert filter_matches(query, *triples, taxonomy=TAXONOMY) is expected


def test_the_taxonomy_is_joined_with_the_document() -> None:
    document = (("x", "a", "Memo"), ("Memo", "rdfs:subClassOf", "Report"))
    assert filter_matches("ASK { :x a/rdfs:subClassOf* :Publication }", *document, taxonomy=TAXONOMY)


@pytest.mark.parametrize(
    "construct",
    [
        "OPTIONAL { ?x :q ?y }",
        "{ ?x :q ?y } UNION { ?x :r ?y }",
        "MINUS { ?x :q ?y }",
        "FILTER EXISTS { ?x :q ?y }",
        "?x :q/:r ?y",
        "{ SELECT * { ?x :q ?y } }",
        "GRAPH :g { ?x :q ?y }",
        "BIND(1 AS ?z)",
    ],
)
def test_other_sparql_is_refused_with_its_place(construct: str) -> None:
    with pytest.raises(HeliographError) as caught:
        Filter().subscribe(("s", f"SELECT * {{\n ?x :p ?y .\n {construct}\n}}"))
    assert caught.value.line == 3
    assert caught.value.column is not None
    assert caught.value.snippet


@pytest.mark.parametrize("tail", ["ORDER BY ?x", "LIMIT 3"])
def test_order_and_limit_are_refused(tail: str) -> None:
    with pytest.raises(HeliographError, match=tail.split()[0]):
        Filter().subscribe(("s", f"SELECT * {{ ?x :p ?y }} {tail}"))


# --- watch ------------------------------------------------------------------------------------------------------

AB, BC = ("+", "a", "p", "b"), ("+", "b", "p", "c")


@pytest.mark.parametrize(
    ("query", "updates", "options", "expected"),
    [
        ("SELECT * { ?x :p ?y . ?y :p ?z }", [AB, BC, ("-", "a", "p", "b")], {}, [("2", "+"), ("3", "-")]),
        ("ASK { ?x :p ?y }", [AB, BC, ("-", "a", "p", "b")], {}, [("1", "+")]),
        ("SELECT * { ?x :p ?y }", [AB, AB, BC], {}, [("1", "+"), ("3", "+")]),
        ("SELECT * { ?x :p ?y }", [AB, BC], {"mode": "change"}, [("1", "+")]),
        ("SELECT DISTINCT ?x { ?x :p ?y }", [AB, ("+", "a", "p", "c"), ("-", "a", "p", "b")], {}, [("1", "+")]),
        ("SELECT * { :a :p ?y }", [AB, ("=", "a", "p", "c")], {}, [("1", "+"), ("2", "-"), ("2", "+")]),
        ("SELECT * { ?x :p ?y }", [AB, BC, ("-", "b", None, None)], {},
         [("1", "+"), ("2", "+"), ("3", "-"), ("3", "-")]),
        ("SELECT * { ?x :p ?y }", [("-", "a", "p", "b")], {}, []),
        ("ASK { ?x :p ?y } HAVING (COUNT(*) >= 2)", [AB, BC, ("-", "a", "p", "b")], {}, [("2", "+"), ("3", "-")]),
        ("SELECT * { ?x :p ?y }", [AB, BC, ("+", "c", "p", "d")], {"window_updates": 2},
         [("1", "+"), ("2", "+"), ("3", "-"), ("3", "+")]),
    ],
)  # fmt: skip
def test_watch(query: str, updates: list[Any], options: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert watched(query, updates, **options) == expected
    one_by_one = Watch(**options)
    one_by_one.subscribe(("s", query))
    assert [(n.publication_id, n.change) for update in updates for n in one_by_one.publish([update])] == expected


def update(seq: int | None, op: str, *triple: str, **more: Any) -> dict[str, Any]:
    return {"seq": seq, "op": op, "subject": triple[0], "property": triple[1], "object": triple[2], **more}


def test_a_seq_not_above_every_earlier_one_is_rejected() -> None:
    engine = Watch()
    engine.subscribe(("s", "SELECT * { ?x :p ?y }"))
    found = engine.publish(
        [update(5, "+", "a", "p", "b"), update(5, "+", "b", "p", "c"), update(9, "+", "c", "p", "d")]
    )
    assert [n.publication_id for n in found] == ["5", "9"]
    assert len(found.rejected) == 1
    assert len(engine.publish([update(7, "+", "d", "p", "e")]).rejected) == 1


def test_negative_weights_and_unknown_operations_are_rejected() -> None:
    found = Watch().publish([update(1, "+", "a", "p", "b", weight=-1.0), update(2, "*", "a", "p", "b")])
    assert len(found.rejected) == 2


def test_initial_matches_come_first_with_a_null_publication() -> None:
    engine = Watch(initial=True)
    engine.load_graph([("a", "p", "b")])
    engine.subscribe(("s", "SELECT * { ?x :p ?y }"))
    assert [(n.publication_id, n.change) for n in engine.publish([BC])] == [(None, "+"), ("1", "+")]


# --- route ------------------------------------------------------------------------------------------------------


def reached(attributes: dict[str, Any], targeting: str | None, **options: Any) -> list[str]:
    engine = Route([("P", None), ("N", targeting), ("A", None)], [("P", "N"), ("N", "A")])
    return [n.subscription_id for n in engine.route("P", attributes, **options)]


@pytest.mark.parametrize(
    ("targeting", "attributes", "accepted"),
    [
        (None, {}, True),
        ("  ", {}, True),
        ("age > 30", {"age": 31}, True),
        ("age > 30", {"age": "31"}, False),
        ("NOT (age > 30)", {"age": "31"}, False),
        ("age > 30", {}, False),
        ("NOT (age > 30)", {}, False),
        ("age IS NULL", {"age": None}, True),
        ("Age > 30", {"age": 31}, False),
        ("a.b = 1", {"a": {"b": 1}}, True),
        ("t = 'x'", {"t": ["w", "x"]}, True),
        ("NOT t = 'x'", {"t": ["w", "x"]}, False),
        ("NOT t = 'x'", {"t": []}, True),
        ("t BETWEEN 2 AND 3", {"t": [1, 4]}, False),
        ("t LIKE 'Sp%'", {"t": ["News", "Sports"]}, True),
        ("t IN ('x', 'y') OR age > 3", {"age": 4}, True),
        ("flag = 1", {"flag": True}, False),
    ],
)
def test_predicates(targeting: str | None, attributes: dict[str, Any], accepted: bool) -> None:
    assert reached(attributes, targeting) == (["N", "A"] if accepted else [])


def test_subscribers_only_are_the_nodes_without_outgoing_edges() -> None:
    assert reached({}, None, subscribers_only=True) == ["A"]


def test_the_start_is_an_answer_only_when_a_path_returns_to_it() -> None:
    loop = Route([("P", "age > 30"), ("N", None)], [("P", "N"), ("N", "P")])
    assert [n.subscription_id for n in loop.route("P", {"age": 1})] == ["N"]
    assert [n.subscription_id for n in loop.route("P", {"age": 31})] == ["P", "N"]


def test_a_limit_is_per_event_and_is_told() -> None:
    engine = Route([("P", None)], [("P", "A"), ("P", "B"), ("P", "C")])
    events = [{"event_id": str(number), "publisher": "P", "attributes": {}} for number in range(2)]
    found = engine.publish(events, limit=2)
    assert [n.publication_id for n in found] == ["0", "0", "1", "1"]
    assert not found.complete
    assert found.stats.truncated > 0


def test_unknown_publishers_and_negative_costs_are_rejected() -> None:
    engine = Route([("P", None)], [("P", "A")])
    assert len(engine.publish([{"event_id": "e", "publisher": "X", "attributes": {}}]).rejected) == 1
    assert len(engine.add_edges([{"source": "P", "target": "B", "cost": -1.0}]).rejected) == 1


@pytest.mark.parametrize(
    ("match", "labels", "expected"),
    [
        ("superset", ["a"], ["N"]),
        ("superset", ["a", "z"], []),
        ("subset", ["a", "b", "c"], ["N"]),
        ("subset", ["a"], []),
        ("intersects", ["b", "z"], ["N"]),
        ("intersects", ["z"], []),
    ],
)
def test_label_sets(match: str, labels: list[str], expected: list[str]) -> None:
    nodes = [{"node_id": "P"}, {"node_id": "N", "labels": ["a", "b"]}]
    engine = Route(nodes, [("P", "N")], match=match)
    assert [n.subscription_id for n in engine.route("P", {"labels": labels})] == expected


# --- all engines ------------------------------------------------------------------------------------------------

ENGINES = [(Filter, "ASK { ?x :p ?y }"), (Watch, "ASK { ?x :p ?y }")]


@pytest.mark.parametrize(("make", "query"), ENGINES, ids=lambda value: getattr(value, "__name__", None))
def test_duplicate_and_unknown_ids_are_named(make: Any, query: str) -> None:
    engine = make()
    engine.subscribe(("twice", query))
    with pytest.raises(HeliographError, match="twice"):
        engine.subscribe(("twice", query))
    receipt = engine.subscribe([("twice", query), ("other", query)])
    assert (receipt.accepted, len(receipt.rejected)) == (1, 1)
    with pytest.raises(HeliographError, match="nobody"):
        engine.unsubscribe("nobody")
    assert engine.unsubscribe(["twice", "nobody"]).accepted == 1
    assert engine.stats().subscriptions == 1
