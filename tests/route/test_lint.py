"""Findings on an exchange."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from heliograph.route import Route
from heliograph.route.lint import lint_route
from tests.route.exchanges import Case, event, exchanges, reached


def findings(nodes: Any, edges: Any) -> list[tuple[str, str, str | None]]:
    rows = lint_route(nodes, edges).to_pylist()
    return [(row["subject_id"], row["code"], row["related_id"]) for row in rows]


def test_a_clean_exchange() -> None:
    assert findings([("p",), ("a", "x = 1"), ("b",)], [("p", "a"), ("a", "b"), ("b", "a")]) == []


def test_each_kind() -> None:
    nodes = [
        ("p",),
        ("bad", "x ="),
        ("never", "x BETWEEN 5 AND 3"),
        ("behind",),
        ("isle",),
        ("twice",),
        ("twice",),
    ]
    edges = [
        ("p", "never"),
        ("never", "behind"),
        ("p", "bad"),
        {"source": "p", "target": "twice", "targeting": "x = NULL"},
        ("p", "loose"),
        {"source": "p", "target": "q", "cost": -1},
    ]
    assert findings(nodes, edges) == [
        ("bad", "HG-451", None),
        ("twice", "HG-651", None),
        ("p → q", "HG-652", None),
        ("never", "HG-702", None),
        ("p → twice", "HG-702", "twice"),
        ("behind", "HG-701", "never"),
        ("twice", "HG-701", "p"),
        ("p → loose", "HG-703", "loose"),
        ("isle", "HG-704", None),
    ]


def test_a_cycle_that_nothing_enters() -> None:
    assert findings([("p",), ("a",), ("b",), ("c",)], [("p", "c"), ("a", "b"), ("b", "a")]) == [
        ("a", "HG-701", "b"),
        ("b", "HG-701", "a"),
    ]


def test_without_publishers_every_node_may_publish() -> None:
    assert findings([("a",), ("b",)], [("a", "b"), ("b", "a")]) == []


@given(exchanges)
def test_what_is_unreachable_is_never_reached(exchange: Case) -> None:
    found = lint_route(exchange.nodes, exchange.edges).to_pylist()
    engine = Route(exchange.nodes, exchange.edges)
    entered = {edge["target"] for edge in exchange.edges}
    publishers = (exchange.ends() - entered) or exchange.ends()
    events = [event(name, x, f"{name}{x}") for name in publishers for x in (1, 2, None)]
    delivered = set(reached(engine.publish(events)))
    assert not delivered & {row["subject_id"] for row in found if row["code"] == "HG-701"}
