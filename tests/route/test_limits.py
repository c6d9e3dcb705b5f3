"""Batches, attributes, lists, texts and edges at the limits of narrow integers; and limits that are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from heliograph import PredicateIndex, Route
from heliograph.errors import PredicateError, SubscriptionError
from heliograph.predicate import layout
from heliograph.predicate.compile import MOST_ATTRIBUTES, Targeting, instruction
from heliograph.predicate.evaluate import Attributes, blame
from heliograph.predicate.parser import parse_predicate
from heliograph.route import exchange as compaction
from heliograph.route import exchange as growing
from heliograph.route.layout import NEVER_DIED
from heliograph.route.read import Edge, Node
from tests.route.exchange_worlds import Exchange

EDGES = [("p", node) for node in "abcd"]


def event(attributes: dict[str, Any], id: str = "e") -> dict[str, Any]:
    return {"event_id": id, "publisher": "p", "attributes": attributes}


def answers(nodes: list[Any], edges: list[Any], events: Any, *algorithms: str) -> pa.Table:
    """What all of the algorithms say."""
    tables = [
        Route(nodes, edges, algorithm=name).publish(events).table.select(["publication_id", "subscription_id"])
        for name in algorithms or ("walk", "lanes", "bfs", "scc-skip")
    ]
    assert all(table.equals(tables[0]) for table in tables)
    return tables[0]


@pytest.mark.parametrize("count", [63, 64, 65, 32_767, 32_768, 65_535, 65_536])
def test_events_of_one_call(count: int) -> None:
    events = pa.table(
        {
            "event_id": [f"e{n}" for n in range(count)],
            "publisher": ["p"] * count,
            "attributes": [json.dumps({"x": n, "t": str(n)}) for n in range(count)],
        }
    )
    nodes = [("a", f"x = {count - 1}"), ("b", f"x >= {count - 2}"), ("c", f"t LIKE '{count - 1}'"), ("d", "x < 1")]
    found = answers(nodes, EDGES, events, "lanes", "dag-skip")
    last = f"e{count - 1}"
    expected = [("e0", "d"), (f"e{count - 2}", "b"), (last, "a"), (last, "b"), (last, "c")]
    assert [tuple(row.values()) for row in found.to_pylist()] == expected
    index = PredicateIndex(nodes).match(events.drop_columns(["event_id", "publisher"]))
    assert (index[0], index[count - 2], index[count - 1]) == (("d",), ("b",), ("a", "b", "c"))
    assert index.stats.notifications == 5


@pytest.mark.parametrize("count", [127, 128, 129, 255, 256, 257])
def test_attributes(count: int) -> None:
    nodes = [(f"n{n}", f"a{n} = {n} AND b = 1") for n in range(count)]
    every = event({**{f"a{n}": n for n in range(count)}, "b": 1})
    last = event({f"a{count - 1}": count - 1, "b": 1}, "f")
    found = answers(nodes, [("p", id) for id, _ in nodes], [every, last])
    assert found.num_rows == count + 1
    assert [len(row) for row in PredicateIndex(nodes).match([every["attributes"], last["attributes"]])] == [count, 1]


def test_attributes_that_are_not_looked_at_in_advance() -> None:
    """What each alternative requires is kept in int16, up to attribute 32,766."""
    nodes = [(f"n{n}", f"a{n} = 1 AND b{n} = 1") for n in range(16_385)]  # attributes 0 to 32,769
    index = PredicateIndex(nodes)
    for n in (16_382, 16_383, 16_384):
        assert list(index.match([{f"a{n}": 1, f"b{n}": 1}, {f"a{n}": 1}, {f"b{n}": 1}])) == [(f"n{n}",), (), ()]


@pytest.mark.parametrize("count", [127, 128, 255, 256, 32_767, 32_768, 65_535, 65_536])
def test_elements_of_a_list(count: int) -> None:
    nodes = [
        ("a", f"x = {count - 1}"),
        ("b", "x = -1"),
        ("c", f"x BETWEEN {count - 2} AND {count - 2}"),
        ("d", f"NOT x = {count}"),
    ]
    found = answers(nodes, EDGES, [event({"x": list(range(count))})], "walk", "lanes")
    assert found["subscription_id"].to_pylist() == ["a", "c", "d"]


@pytest.mark.parametrize("size", [127, 128, 255, 256, 32_767, 32_768, 65_535, 65_536])
def test_lengths_of_texts(size: int) -> None:
    text = "q" * (size - 1) + "z"
    nodes = [("a", "t LIKE '%z'"), ("b", f"t = '{text}'"), ("c", "t >= 'qr'"), ("d", "t LIKE 'q%q_'")]
    found = answers(nodes, EDGES, [event({"t": text}), event({"t": text[:-1] + "éz"}, "f")], "walk", "lanes")
    assert [tuple(row.values()) for row in found.to_pylist()] == [("e", "a"), ("e", "b"), ("e", "d"), ("f", "a")]


@pytest.mark.parametrize("count", [255, 256, 32_768])
def test_parallel_edges(count: int) -> None:
    edges = [("p", "a", f"i{n}", f"y = {n % 300}") for n in range(count)] + [("p", "a", "last", "y = 1000")]
    found = answers(
        [("a", "x = 1")], edges, [event({"x": 1, "y": 1000}), event({"x": 1, "y": -1}, "f")], "lanes", "bfs"
    )
    assert found["publication_id"].to_pylist() == ["e"]


# --- limits that are refused, or never met ----------------------------------------------------------------------


def test_the_last_attribute_and_the_one_beyond() -> None:
    last = instruction(layout.IS_NULL, MOST_ATTRIBUTES - 1, 0)
    assert np.frombuffer(last, np.int32)[0] >> layout.ATTRIBUTE_SHIFT == MOST_ATTRIBUTES - 1
    with pytest.raises(PredicateError, match="HG-490"):
        instruction(layout.IS_NULL, MOST_ATTRIBUTES, 0)


@pytest.mark.parametrize("count", [2, 200])  # compiled one by one, and in bulk
def test_a_node_beyond_the_last_attribute_is_refused_alone(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Route()
    names = engine._exchange.targeting.names
    whole = type(names).attribute
    monkeypatch.setattr(
        type(names), "attribute", lambda self, path: whole(self, path) + MOST_ATTRIBUTES * (path == ("far",))
    )
    receipt = engine.add_nodes([(f"n{n}", "far = 1" if n == 1 else f"near = {n}") for n in range(count)])
    assert [(entry.item, entry.code) for entry in receipt.rejected] == [("n1", "HG-490")]
    assert receipt.accepted == count - 1


def test_versions_are_counted_anew_before_they_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    exchange = Exchange()
    exchange.put_nodes([Node("a", text="x = 1")])
    exchange._version = NEVER_DIED - 4  # after some two thousand million changes
    monkeypatch.setattr(compaction, "OLD", NEVER_DIED - 3)
    for number in range(20):
        exchange.put_nodes([Node("a", text=f"x = {number}")])
        exchange.put_edges([Edge("p", "a")])
        exchange.wait()
        with exchange.reading() as version:
            node = version.node(version.number("a"))
            assert (node.text, len(version.edge_numbers())) == (f"x = {number}", 1)
    assert exchange.age < 60


def test_more_rows_than_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "MOST_ROWS", 10)
    exchange = Exchange()
    exchange.put_nodes([Node(f"n{number}") for number in range(10)])
    with pytest.raises(SubscriptionError, match="HG-662"):
        exchange.put_nodes([Node("n10")])


# --- work that grows as its input does --------------------------------------------------------------------------


def test_a_long_value_is_spelled_once_for_a_long_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    whole = json.dumps

    def counting(*given: Any, **options: Any) -> str:
        nonlocal calls
        calls += 1
        return whole(*given, **options)

    monkeypatch.setattr(json, "dumps", counting)
    form = parse_predicate(" OR ".join(f"a = {n}" for n in range(2000)))
    said = blame(form, Attributes({"a": "x" * 100_000}))
    assert calls == 1
    assert said.startswith('a = 0 (a is "xxx')
    assert said.count("; and ") == 1999


@pytest.mark.parametrize("shape", [" OR ".join, " AND ".join, lambda parts: "NOT (" + " OR ".join(parts) + ")"])
def test_long_chains_are_compiled_once_each(shape: Any) -> None:
    targeting = Targeting()
    sizes = []
    for count in (2_000, 8_000):
        (number,) = targeting.add_many([shape([f"a{n} = {n}" for n in range(count)])])
        assert isinstance(number, int)
        sizes.append(len(targeting.parts.expressions.content(number)))
    assert sizes[1] < 4.1 * sizes[0]


@pytest.mark.parametrize("algorithm", ["dag", "walk", "lanes"])
def test_long_chains_and_lists_of_constants_are_answered(algorithm: str) -> None:
    count = 10_000
    nodes = [
        ("a", " OR ".join(f"x = {n}" for n in range(count))),
        ("b", " AND ".join(f"x <> {n}" for n in range(1, count))),
        ("c", "t IN (" + ", ".join(f"'v{n}'" for n in range(10 * count)) + ")"),
        ("d", f"t LIKE '{'%v' * 5_000}'"),
    ]
    engine = Route(nodes, EDGES, algorithm=algorithm)
    assert list(engine.rejected) == []
    found = engine.publish([event({"x": 0, "t": "v99999"}), event({"x": -1, "t": "w"}, "f")])
    assert [(n.publication_id, n.subscription_id) for n in found] == [("e", "a"), ("e", "b"), ("e", "c"), ("f", "b")]
    assert not engine.explain("a", event({"x": -1})).matched
