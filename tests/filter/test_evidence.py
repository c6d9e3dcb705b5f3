"""Bindings on demand: which variables, which rows, in which order, and when something was kept back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from heliograph import Filter
from heliograph.filter import report as evidence

EDGES = [("b", "p", "10"), ("a", "p", "9"), ("a", "p", "2"), ("_:n", "p", '"text"')]


def proof(query: str, bindings: int = 10, edges: Any = EDGES) -> Any:
    engine = Filter()
    engine.subscribe(("s", query))
    return engine.publish(("d", edges), bindings=bindings)[0].proof


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT ?y { ?x :p ?y }", [{"y": "2"}, {"y": "9"}, {"y": "10"}, {"y": '"text"'}]),
        ("SELECT DISTINCT ?x { ?x :p ?y }", [{"x": "_:n"}, {"x": "a"}, {"x": "b"}]),
        ("SELECT ?y ?x { ?x :p ?y FILTER(?y < 10) }", [{"y": "2", "x": "a"}, {"y": "9", "x": "a"}]),
        ("ASK { ?x :p ?y FILTER(?y > 9) }", [{"x": "b", "y": "10"}]),
        ("SELECT * { _:hidden :p ?y FILTER(?y > 9) }", [{"y": "10"}]),
        ("ASK { :b :p 10 }", [{}]),
        ("SELECT * { :b :p ?y VALUES ?z { UNDEF } }", [{"y": "10"}]),
    ],
)
def test_rows_are_in_term_order(query: str, expected: list[dict[str, str]]) -> None:
    assert proof(query) == {"bindings": expected}


def test_pattern_tables_show_all_their_variables() -> None:
    engine = Filter()
    engine.subscribe(patterns=[("s", "?x", "p", "?y")], constraints=[("s", "?y", ">", "9")])
    assert engine.publish(("d", EDGES), bindings=1)[0].proof == {"bindings": [{"x": "b", "y": "10"}]}


@pytest.mark.parametrize(("limit", "complete"), [(1, False), (3, False), (4, True), (5, True)])
def test_a_limit_that_cuts_is_told(limit: int, complete: bool) -> None:
    engine = Filter()
    engine.subscribe([("s", "SELECT ?x ?y { ?x :p ?y }"), ("one", "SELECT ?x { ?x :p 10 }")])
    found = engine.publish(("d", EDGES), bindings=limit)
    assert len(found[0].proof["bindings"]) == min(limit, 4)
    assert found.complete is complete
    assert found.stats.truncated == (0 if complete else 1)


def test_the_guard_bounds_the_work_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "GUARD", 3)
    monkeypatch.setattr(evidence, "_REPEATED", 1)
    engine = Filter()
    engine.subscribe(("s", "SELECT ?y { ?x :p ?y }"))
    found = engine.publish(("d", EDGES), bindings=10)
    assert found[0].proof == {"bindings": [{"y": "2"}, {"y": "9"}, {"y": "10"}]}
    assert not found.complete


def test_counts_always_carry_their_value() -> None:
    assert proof("ASK { ?x :p ?y } HAVING (COUNT(*) > 2)", bindings=0) == {"value": 4}
    grouped = "SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) < 2)"
    assert proof(grouped, bindings=0) == {"value": 1}
    assert proof(grouped) == {"bindings": [{"x": "_:n", "n": "1"}, {"x": "b", "n": "1"}], "value": 1}
    engine = Filter()
    engine.subscribe(("s", grouped))
    assert not engine.publish(("d", EDGES), bindings=1).complete


def test_evidence_is_json_as_people_read_it() -> None:
    text = Filter()
    text.subscribe(("s", "SELECT ?y { :x :p ?y }"))
    shown = text.publish(("d", [("x", "p", '"é"@fr')]), bindings=1)[0].evidence
    assert shown is not None
    assert "é" in shown
    assert json.loads(shown) == {"bindings": [{"y": '"é"@fr'}]}
