"""Evidence as plain values, frames, and prefixes in what is printed."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from heliograph import Filter, Route, Watch

TRIPLES = [
    ("x", "int", "5"),
    ("x", "dec", "2.5"),
    ("x", "dbl", "1e0"),
    ("x", "bool", "true"),
    ("x", "text", '"chat"@fr'),
    ("x", "day", '"2026-11-15"^^xsd:date'),
    ("x", "at", '"2026-11-15T10:00:00Z"^^xsd:dateTime'),
    ("x", "iri", "<http://e.org/a>"),
]
PYTHON = {
    "int": 5,
    "dec": Decimal("2.5"),
    "dbl": 1.0,
    "bool": True,
    "text": "chat",
    "day": date(2026, 11, 15),
    "at": datetime(2026, 11, 15, 10, tzinfo=UTC),
    "iri": "http://e.org/a",
}


def test_bindings_are_python_values() -> None:
    engine = Filter()
    engine.subscribe("q", "SELECT * { " + " . ".join(f"?s :{name} ?{name}" for _, name, _ in TRIPLES) + " }")
    (found,) = engine.publish("d", TRIPLES, bindings=1)
    (row,) = found.bindings
    assert {name: row[name] for name in PYTHON} == PYTHON
    assert {name: type(row[name]) for name in PYTHON} == {name: type(value) for name, value in PYTHON.items()}
    assert row["s"] == "x"


def test_bindings_of_a_watch_and_none() -> None:
    watch = Watch()
    watch.subscribe("q", "SELECT ?y { :a :p ?y }")
    (found,) = watch.publish([("+", "a", "p", "5")])
    assert found.bindings == {"y": 5}
    engine = Filter()
    engine.subscribe("q", "ASK { :a :p ?y }")
    (bare,) = engine.publish("d", [("a", "p", "5")])
    assert bare.bindings is None


def test_plain_and_sparql_evidence() -> None:
    engine = Filter()
    engine.subscribe("q", "SELECT ?i ?t ?u { ?s :int ?i ; :text ?t ; :iri ?u }")
    (plain,) = engine.publish("d", TRIPLES, bindings=1, evidence="plain")
    assert json.loads(plain.evidence or "") == {"bindings": [{"i": 5, "t": "chat", "u": "http://e.org/a"}]}
    (sparql,) = engine.publish("d", TRIPLES, bindings=1, evidence="sparql")
    (row,) = json.loads(sparql.evidence or "")["bindings"]
    assert row == {
        "i": {"type": "literal", "value": "5", "datatype": "http://www.w3.org/2001/XMLSchema#integer"},
        "t": {"type": "literal", "value": "chat", "xml:lang": "fr"},
        "u": {"type": "uri", "value": "http://e.org/a"},
    }


def test_notifications_as_a_frame() -> None:
    engine = Filter()
    engine.subscribe("q", "SELECT ?i ?t { ?s :int ?i ; :text ?t }")
    frame = engine.publish("d", TRIPLES, bindings=1).to_pandas()
    assert frame.loc[0, "i"] == 5
    assert frame.loc[0, "t"] == "chat"
    assert frame.loc[0, "subscription_id"] == "q"
    watch = Watch()
    watch.subscribe("q", "SELECT ?y { :a :p ?y }")
    assert watch.publish([("+", "a", "p", "5")]).to_pandas().loc[0, "y"] == 5
    route = Route([("P", None), ("A", None)], [("P", "A")])
    assert route.route("P", {}).to_pandas().loc[0, "subscription_id"] == "A"
    assert list(engine.publish("e", [("a", "b", "c")]).to_pandas().columns)[:1] == ["subscription_id"]


def test_prefixes_are_used_in_what_is_printed() -> None:
    engine = Filter(prefixes={"foaf": "http://xmlns.com/foaf/0.1/"})
    engine.subscribe("q", "SELECT ?p ?t { ?s ?p ?t }")
    rows = [("x", "foaf:name", '"2026-01-01"^^xsd:date'), ("x", "dc:date", "rdf:nil")]
    (found,) = engine.publish("d", rows, bindings=2)
    assert found.proof["bindings"] == [
        {"p": "dc:date", "t": "rdf:nil"},
        {"p": "foaf:name", "t": '"2026-01-01"^^xsd:date'},
    ]
    engine.subscribe("no", "ASK { ?s foaf:knows ?t }")
    assert "foaf:knows" in str(engine.explain("no", ("d", rows)))


def test_explain_has_index_notes_only_when_asked() -> None:
    engine = Filter(algorithm="indexed")
    engine.subscribe("q", "ASK { ?s :p :x }")
    assert "index" not in str(engine.explain("q", ("d", [("a", "p", "b")])))
    assert engine.explain("q", ("d", [("a", "p", "b")]), index=True).index


@pytest.mark.parametrize("engine", [Filter(), Watch()])
def test_engines_in_a_repl(engine: Filter | Watch) -> None:
    assert len(engine) == 0
    engine.subscribe("q", "ASK { :a :p :b }")
    assert len(engine) == 1
    assert "q" in engine
    assert "r" not in engine
    assert engine.subscriptions() == {"q": "ASK { :a :p :b }"}
    assert repr(engine).startswith(type(engine).__name__ + "(")
    assert "1 subscription" in repr(engine)


def test_a_route_in_a_repl() -> None:
    route = Route([("P", None), ("A", "x = 1")], [("P", "A")])
    assert len(route) == 2
    assert "A" in route
    assert route.subscriptions() == {"P": None, "A": "x = 1"}
    assert "2 nodes" in repr(route)
