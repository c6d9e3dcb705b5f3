"""What if: deliveries before and after, and the engine as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import HeliographError
from heliograph.route import Route
from heliograph.tables.schemas import TABLES
from tests.route.exchanges import NAMES, Case, event, exchanges, node_rows, reached

NODES = [("a", "x = 1"), ("b",)]
EDGES = [("p", "a"), ("a", "b"), ("a", "b", "second")]
EVENTS = [event("p", 1, "one"), event("p", 2, "two")]


def rows(changes: Any, engine: Route | None = None) -> list[tuple[str, str, bool, bool]]:
    table = (engine or Route(NODES, EDGES)).what_if(changes, EVENTS)
    return [(row["event_id"], row["node_id"], row["before"], row["after"]) for row in table.to_pylist()]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"kind": "node", "op": "-", "node_id": "a"}, [("one", "a", True, False), ("one", "b", True, False)]),
        (
            {"kind": "node", "op": "=", "node_id": "a", "targeting": "x = 2"},
            [
                ("one", "a", True, False),
                ("one", "b", True, False),
                ("two", "a", False, True),
                ("two", "b", False, True),
            ],
        ),
        ({"kind": "node", "op": "+", "node_id": "a"}, [("two", "a", False, True), ("two", "b", False, True)]),
        ({"kind": "edge", "op": "-", "source": "a", "target": "b"}, [("one", "b", True, False)]),
        ({"kind": "edge", "op": "=", "source": "a", "target": "b", "targeting": "FALSE"}, [("one", "b", True, False)]),
        ({"kind": "edge", "op": "+", "source": "a", "target": "b", "targeting": "FALSE"}, []),
        (
            {"kind": "edge", "op": "+", "source": "p", "target": "c", "targeting": "x = 2", "cost": 3},
            [("two", "c", False, True)],
        ),
    ],
)
def test_change(change: dict[str, Any], expected: list[tuple[str, str, bool, bool]]) -> None:
    assert rows(change) == expected


def test_changes_apply_in_order() -> None:
    changes = [
        {"kind": "node", "op": "+", "node_id": "c", "targeting": "x = 2"},
        {"kind": "edge", "op": "+", "source": "p", "target": "c"},
        {"kind": "edge", "op": "+", "source": "c", "target": "b"},
    ]
    assert rows(changes) == [("two", "b", False, True), ("two", "c", False, True)]
    assert rows([*changes, {"kind": "node", "op": "-", "node_id": "c"}]) == []


def test_events_come_in_order_and_what_is_lost_comes_first() -> None:
    changes = [
        {"kind": "node", "op": "-", "node_id": "b"},
        {"kind": "node", "op": "=", "node_id": "a", "targeting": "x = 2"},
        {"kind": "edge", "op": "+", "source": "p", "target": "new"},
        {"kind": "node", "op": "+", "node_id": "newer"},
        {"kind": "edge", "op": "+", "source": "new", "target": "newer"},
    ]
    assert rows(changes) == [
        ("one", "a", True, False),
        ("one", "b", True, False),
        ("one", "newer", False, True),
        ("one", "new", False, True),
        ("two", "a", False, True),
        ("two", "newer", False, True),
        ("two", "new", False, True),
    ]


def test_a_publisher_of_one_version_only() -> None:
    engine = Route(NODES, EDGES)
    events = [event("a", 1, "one"), event("q", 1, "two")]
    changes = [
        {"kind": "node", "op": "-", "node_id": "a"},
        {"kind": "edge", "op": "+", "source": "q", "target": "b"},
    ]
    compared = engine.compare(changes, events)
    assert [tuple(row.values()) for row in compared.table.to_pylist()] == [
        ("one", "b", True, False),
        ("two", "b", False, True),
    ]
    assert not compared.rejected


def test_nothing_to_compare() -> None:
    compared = Route(NODES, EDGES).compare([], [])
    assert (compared.table.num_rows, compared.table.schema) == (0, TABLES["what_if"].arrow)
    assert (compared.stats.publications, compared.stats.subscriptions, len(compared.rejected)) == (0, 3, 0)


def test_a_node_that_was_removed_and_came_back() -> None:
    """It has another number then, and is the same node."""
    engine = Route(NODES, EDGES)
    engine.remove_nodes("a")
    engine.add_nodes(("a", "x = 1"))
    engine.add_edges([("p", "a"), ("a", "b")])
    assert rows({"kind": "node", "op": "+", "node_id": "unrelated"}, engine) == []
    assert rows({"kind": "edge", "op": "-", "source": "a", "target": "b"}, engine) == [("one", "b", True, False)]


@pytest.mark.parametrize("algorithm", ["walk", "lanes", "general"])
def test_every_algorithm_compares_alike(algorithm: str) -> None:
    engine = Route(NODES, EDGES, algorithm=algorithm)
    changes = [
        {"kind": "node", "op": "=", "node_id": "a", "targeting": "x = 2 AND y IS NULL"},
        {"kind": "edge", "op": "+", "source": "p", "target": "new", "targeting": "x = 1"},
    ]
    assert rows(changes, engine) == [
        ("one", "a", True, False),
        ("one", "b", True, False),
        ("one", "new", False, True),
        ("two", "a", False, True),
        ("two", "b", False, True),
    ]


def test_the_engine_stays_as_it_was() -> None:
    engine = Route(NODES, EDGES)
    assert rows({"kind": "node", "op": "-", "node_id": "p"}, engine)
    assert reached(engine.route("p", {"x": 1})) == ["a", "b"]


def test_the_stats_count_both_versions() -> None:
    engine = Route([("a", "x = 1"), ("b", "x = 1")], [("p", "a"), ("p", "b")])
    stats = engine.compare(
        {"kind": "node", "op": "-", "node_id": "a"}, [event("p", 1, "one"), event("p", 2, "two")]
    ).stats
    assert (stats.subscriptions, stats.publications, stats.notifications) == (3, 2, 1)
    assert (stats.candidates, stats.verified) == (6, 3)


def test_labels_stay() -> None:
    engine = Route([{"node_id": "a", "labels": ["A"]}], [("p", "a")], match="superset")
    one = {"event_id": "e", "publisher": "p", "attributes": {"labels": ["A"]}}
    table = engine.what_if({"kind": "node", "op": "=", "node_id": "a", "cost": 5}, one)
    assert table.num_rows == 0
    new = [{"kind": "node", "op": "+", "node_id": "b"}, {"kind": "edge", "op": "+", "source": "p", "target": "b"}]
    assert engine.what_if(new, one).num_rows == 0
    assert engine.what_if(new, {**one, "attributes": {}})["node_id"].to_pylist() == ["b"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"kind": "vertex", "op": "+"}, "HG-660"),
        ({"kind": "node", "op": "~"}, "HG-660"),
        ({"kind": "node", "op": "=", "node_id": "nobody"}, "HG-661"),
        ({"kind": "node", "op": "-"}, "HG-661"),
        ({"kind": "node", "op": "+"}, "HG-650"),
        ({"kind": "node", "op": "+", "node_id": "a", "targeting": "x ="}, "HG-451"),
        ({"kind": "node", "op": "+", "node_id": "a", "cost": -1}, "HG-652"),
        ({"kind": "edge", "op": "-", "source": "b", "target": "a"}, "HG-661"),
        ({"kind": "edge", "op": "+", "source": "a"}, "HG-655"),
        ({"kind": "edge", "op": "=", "source": "a", "target": "b", "targeting": "x ="}, "HG-451"),
    ],
)
def test_a_bad_change(change: dict[str, Any], code: str) -> None:
    good = {"kind": "node", "op": "-", "node_id": "b"}
    engine = Route(NODES, EDGES)
    with pytest.raises(HeliographError, match=code):
        engine.what_if([change, good], EVENTS)
    compared = engine.compare([good | {"node_id": "a"}, change, good], EVENTS)
    assert [(item.item, "(item 2" in item.message) for item in compared.rejected] == [("2", True)]
    compared = engine.compare([change, good], [*EVENTS, event("nobody", 1, "three"), ("four", "p", "[")])
    assert {item.code for item in compared.rejected} == {code, "HG-643", "HG-642"}
    assert all(error.fix for error in compared.errors)
    assert compared.table.to_pylist() == [{"event_id": "one", "node_id": "b", "before": True, "after": False}]


@given(exchanges, st.lists(node_rows, max_size=3), st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
def test_what_if_is_what_then_happens(exchange: Case, nodes: list[Any], gone: list[str]) -> None:
    engine = Route(exchange.nodes, exchange.edges)
    changes = [{"kind": "node", "op": "+", **node} for node in nodes]
    changes += [{"kind": "node", "op": "-", "node_id": name} for name in gone]
    events = [event(name, x, f"{name}{x}") for name in sorted(exchange.ends()) for x in (1, 2, None)]
    before = {(item.publication_id, item.subscription_id) for item in engine.publish(events)}
    foretold = engine.compare(changes, events).table.to_pylist()
    for node in nodes:
        engine.add_nodes(node)
    for name in gone:
        engine.remove_nodes([name])
    after = {(item.publication_id, item.subscription_id) for item in engine.publish(events)}
    assert {(row["event_id"], row["node_id"]) for row in foretold if row["before"]} == before - after
    assert {(row["event_id"], row["node_id"]) for row in foretold if row["after"]} == after - before
