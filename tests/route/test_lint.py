"""Findings on an exchange."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.predicate.evaluate import Attributes, accepts, never_holds
from heliograph.predicate.form import Predicate
from heliograph.predicate.parser import parse_predicate
from heliograph.route.lint import doubtful_expressions, lint_route, never_accepts
from heliograph.route.read import Edge, Node
from tests.predicate.strategies import events, predicates
from tests.route.exchange_worlds import Exchange
from tests.route.exchanges import TARGETING, Case, exchanges


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
def test_networkx_finds_the_same_unreachable_nodes(exchange: Case) -> None:
    found = lint_route(exchange.nodes, exchange.edges).to_pylist()
    closed = {node["node_id"] for node in exchange.nodes if not TARGETING[node["targeting"]]}
    entered = {edge["target"] for edge in exchange.edges}
    graph = nx.DiGraph()
    graph.add_nodes_from(exchange.ends())
    passable = [edge for edge in exchange.edges if TARGETING[edge["targeting"]] and edge["target"] not in closed]
    graph.add_edges_from((edge["source"], edge["target"]) for edge in passable)
    publishers = (exchange.ends() - entered) or exchange.ends()
    from_publishers = {end for name in publishers for end in nx.descendants(graph, name)}
    loops = {
        name for name in publishers if any(name in nx.descendants(graph, end) or name == end for end in graph[name])
    }
    unreachable = entered - closed - from_publishers - loops
    assert {row["subject_id"] for row in found if row["code"] == "HG-701"} == unreachable


def test_edges_are_named_with_their_ids() -> None:
    edges = [
        {"source": "p", "target": "a", "edge_id": "first", "targeting": "x IS NULL AND x = 1"},
        {"source": "a", "target": "a"},
        {"source": "q", "target": "p", "targeting": "FALSE"},
    ]
    assert findings([("p",)], edges) == [
        ("p → a (first)", "HG-702", "a"),
        ("q → p", "HG-702", "p"),
        ("p", "HG-701", "q"),
        ("a", "HG-701", "p"),
        ("p → a (first)", "HG-703", "a"),
        ("a → a", "HG-703", "a"),
        ("q → p", "HG-703", "q"),
    ]


@pytest.mark.parametrize("length", [10, 3_000])
def test_chains_and_stars_are_followed(length: int) -> None:
    """A long chain is walked node by node, a star as a whole; behind what never holds nothing is reached."""
    chain = [(f"c{number}", f"c{number + 1}") for number in range(length)]
    star = [("c0", f"s{number}") for number in range(length)] + [(f"s{number}", "end") for number in range(length)]
    nodes = [{"node_id": name} for name in dict.fromkeys(end for edge in (*chain, *star) for end in edge)]
    assert findings(nodes, [*chain, *star]) == []
    closed = [{**node, "targeting": "FALSE"} if node["node_id"] == "c5" else node for node in nodes]
    found = findings(closed, [*chain, *star])
    assert [row for row in found if row[1] == "HG-702"] == [("c5", "HG-702", None)]
    assert [row[0] for row in found if row[1] == "HG-701"] == [f"c{number}" for number in range(6, length + 1)]


# --- expressions that never hold ----------------------------------------------------------------------------------


@settings(max_examples=80)
@given(st.lists(predicates, min_size=1, max_size=4), st.lists(predicates, max_size=2), st.lists(events, max_size=6))
def test_what_never_holds_is_found_in_the_code(
    nodes: list[Predicate], edges: list[Predicate], asked: list[Any]
) -> None:
    """All that the forms tell, and nothing that holds for some event."""
    exchange = Exchange()
    exchange.put_nodes([Node(f"n{number}", form) for number, form in enumerate(nodes)])
    exchange.put_edges([Edge("p", f"n{number}", None, form) for number, form in enumerate(edges)])
    never = never_accepts(exchange.current)
    for form in (*nodes, *edges):
        number = exchange.targeting.add(form)
        if never_holds(form):
            assert never[number]
        if any(accepts(form, Attributes(one)) for one in asked):
            assert not never[number]


def test_plain_targeting_is_not_parsed_again() -> None:
    """Code that only AND and OR tests which something satisfies is never in doubt."""
    exchange = Exchange()
    texts = ["x = 1", "x > 5 AND x < 3", "(x = 1 AND y IN ('a', 'b')) OR z BETWEEN 1 AND 2", "NOT x = 1", "x LIKE 'a%'"]
    doubted = ["x = 1 AND NOT x = 2", "x BETWEEN 2 AND 1", "x IS NULL", "x BETWEEN 'b' AND 'a'", "x ILIKE 'a'"]
    numbers = [exchange.targeting.add(parse_predicate(text)) for text in (*texts, *doubted)]
    doubtful = doubtful_expressions(exchange.targeting.snapshot())
    assert doubtful[numbers].tolist() == [False] * len(texts) + [True] * len(doubted)
