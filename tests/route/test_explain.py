"""Why, and why not."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import HeliographError, PublicationError
from heliograph.route import Route
from tests.route.exchanges import NAMES, Case, event, exchanges, reached, valid_graph, values

NODES = [("net", "topic = 'Sports' AND age > 30"), ("adv", "age < 60"), ("far", None)]
EDGES: list[Any] = [
    ("pub", "net"),
    {"source": "net", "target": "adv", "targeting": "device IN ('mobile', 'tablet')"},
    ("adv", "far"),
    ("lonely", "isle"),
]
OPEN = {"topic": "Sports", "age": 35, "device": "mobile"}


def visit(**changes: Any) -> dict[str, Any]:
    return {"event_id": "v", "publisher": "pub", "attributes": {**OPEN, **changes}}


def test_delivered() -> None:
    explanation = Route(NODES, EDGES).explain("far", visit())
    assert explanation.matched
    assert explanation.evidence == {"path": ["pub", "net", "adv", "far"], "cost": 3.0}
    assert explanation.summary == "far is reached by v over pub → net → adv → far at cost 3"
    assert explanation.held == (
        "pub (the publisher)",
        "net: topic = 'Sports' AND age > 30",
        "adv: age < 60",
        "far",
    )


@pytest.mark.parametrize(
    ("changes", "failed", "held"),
    [
        ({"age": 20}, "node net: age > 30 (age is 20)", 1),
        ({"topic": None}, "node net: topic = 'Sports' (topic is missing)", 1),
        ({"age": 70}, "node adv: age < 60 (age is 70)", 2),
        ({"device": "tv"}, "edge net → adv: device IN ('mobile', 'tablet') (device is \"tv\")", 2),
        ({"device": []}, "edge net → adv: device IN ('mobile', 'tablet') (device is [])", 2),
    ],
)
def test_blocked(changes: dict[str, Any], failed: str, held: int) -> None:
    explanation = Route(NODES, EDGES).explain("far", visit(**changes))
    assert not explanation.matched
    assert explanation.failed == failed
    assert len(explanation.held) == held
    assert failed in str(explanation)


def test_no_path_at_all() -> None:
    for goal in ("isle", "pub"):
        explanation = Route(NODES, EDGES).explain(goal, visit())
        assert explanation.failed == f"no path of the exchange leads from pub to {goal}"


def test_an_unknown_node() -> None:
    explanation = Route(NODES, EDGES).explain("nobody", visit())
    assert not explanation.matched
    assert explanation.failed == "nobody is neither a node nor an end of an edge"


def test_the_nearest_block_comes_first_and_all_are_counted() -> None:
    nodes = [(f"n{number}", "FALSE") for number in range(9)] + [("ok",), ("goal", "x = 1")]
    edges = [(f"n{number}", "n0") for number in range(1, 9)] + [("n0", "goal")]
    edges += [("pub", f"n{number}") for number in range(1, 9)] + [("pub", "ok"), ("ok", "goal")]
    explanation = Route(nodes, edges).explain("goal", {"event_id": "e", "publisher": "pub", "attributes": {}})
    assert explanation.failed == "node goal: x = 1 (x is missing)"
    assert explanation.held == ("pub (the publisher)", "ok")
    assert explanation.summary.endswith(
        "every other way is stopped by node n1, node n2, node n3, node n4, node n5 and 3 more"
    )


def test_labels() -> None:
    nodes = [{"node_id": "a", "labels": ["B", "A"]}]
    explanation = Route(nodes, [("pub", "a")], match="subset").explain("a", visit(labels=["C"]))
    assert explanation.failed == "node a: its labels {A, B} against the event's {C} fail subset"


# --- the cut ----------------------------------------------------------------------------------------------------


def test_the_cut_names_every_refusal() -> None:
    nodes = [("net", "age > 30"), ("adv", "age < 20 OR age > 60")]
    edges: list[Any] = [
        ("pub", "net"),
        ("pub", "mid"),
        {"source": "mid", "target": "adv", "edge_id": "direct", "targeting": "device = 'tv'"},
        {"source": "mid", "target": "adv", "edge_id": "other"},
        ("adv", "far"),
        ("net", "far"),
        {"source": "mid", "target": "aside", "targeting": "FALSE"},
    ]
    explanation = Route(nodes, edges).explain("far", visit(age=25))
    assert explanation.evidence == {
        "cut": [
            {"node": "net", "failed": "age > 30 (age is 25)", "after": ["pub"]},
            {"node": "adv", "failed": "age < 20 (age is 25); and age > 60 (age is 25)", "after": ["pub", "mid"]},
            {
                "edge": ["mid", "adv", "direct"],
                "failed": "device = 'tv' (device is \"mobile\")",
                "after": ["pub", "mid"],
            },
        ]
    }
    assert explanation.failed == "node net: age > 30 (age is 25)"
    assert explanation.summary.endswith("every other way is stopped by node adv")


def test_an_edge_and_the_node_behind_it_both_refuse() -> None:
    """To open one of them would change nothing."""
    explanation = Route(NODES, EDGES).explain("far", visit(age=70, device="tv"))
    node, edge = "node adv: age < 60 (age is 70)", "edge net → adv: device IN ('mobile', 'tablet') (device is \"tv\")"
    assert explanation.failed == node
    assert explanation.summary == f"far is not reached by v: {node}, and {edge}"
    assert str(explanation).splitlines()[-2:] == [f"  failed  {node}", f"  failed  {edge}"]


def test_who_can_be_entered_by_an_open_edge_needs_no_other() -> None:
    closed = {"source": "pub", "target": "a", "targeting": "FALSE"}
    assert Route([("a", "FALSE")], [closed, ("pub", "a")]).explain("a", visit()).summary == (
        "a is not reached by v: node a: FALSE holds for no event"
    )
    nodes = [("b", "FALSE"), ("a", "FALSE")]
    edges = [("pub", "b"), {**closed, "target": "a", "edge_id": "x"}, ("a", "goal"), ("b", "goal")]
    assert Route(nodes, edges).explain("goal", visit()).summary == (
        "goal is not reached by v: node b: FALSE holds for no event; "
        "every other way is stopped by node a and edge pub → a (x)"
    )


def test_the_text_lists_the_cut() -> None:
    nodes = [(f"n{number}", "x = 1") for number in range(150)]
    edges: list[Any] = [("pub", name) for name, _ in nodes] + [(name, "goal") for name, _ in nodes]
    edges.append({"source": "pub", "target": "goal", "edge_id": "short", "targeting": "x = 2"})
    explanation = Route(nodes, edges).explain("goal", visit())
    lines = [line for line in str(explanation).splitlines() if line.startswith("  failed")]
    assert lines[0] == f"  failed  {explanation.failed}" == "  failed  edge pub → goal (short): x = 2 (x is missing)"
    assert lines[1:20] == [f"  failed  node n{number}: x = 1 (x is missing)" for number in range(19)]
    assert lines[20:] == ["  failed  and 131 more"]


def test_a_long_cut_says_how_much_is_left_out() -> None:
    nodes = [(f"n{number}", "FALSE") for number in range(150)]
    edges = [("pub", name) for name, _ in nodes] + [(name, "goal") for name, _ in nodes]
    evidence = Route(nodes, edges).explain("goal", visit()).evidence
    assert (len(evidence["cut"]), evidence["more"]) == (100, 50)
    assert evidence["cut"][99] == {"node": "n99", "failed": "FALSE holds for no event", "after": ["pub"]}


def test_a_refused_row_is_in_the_cut() -> None:
    explanation = Route([("a", "x ="), ("b",)], [("pub", "a"), ("a", "b")]).explain("b", visit())
    assert explanation.evidence["cut"][0]["failed"] == "its row was rejected (HG-451), so it accepts nothing"


def test_the_start_is_in_the_cut_only_of_itself() -> None:
    engine = Route([("pub", "FALSE"), ("b", "FALSE")], [("pub", "a"), ("a", "pub"), ("a", "b")])
    assert [member["node"] for member in engine.explain("b", visit()).evidence["cut"]] == ["b"]
    assert engine.explain("pub", visit()).evidence["cut"] == [
        {"node": "pub", "failed": "FALSE holds for no event", "after": ["pub", "a"]}
    ]


def opened(exchange: Case, cut: list[dict[str, Any]], members: bool) -> Route:
    """The exchange with everything in the cut accepting, or everything that is not."""
    nodes = {member["node"] for member in cut if "node" in member}
    edges = {member["edge"][2] for member in cut if "edge" in member}
    return Route(
        [{**node, "targeting": None} if (node["node_id"] in nodes) is members else node for node in exchange.nodes],
        [{**edge, "targeting": None} if (edge["edge_id"] in edges) is members else edge for edge in exchange.edges],
    )


@settings(max_examples=100)
@given(exchanges, values, st.sampled_from(NAMES))
def test_the_cut_is_one(case: Case, x: int | None, goal: str) -> None:
    """What is outside of it never suffices; all of it together brings the event on, towards the goal."""
    exchange = Case(case.nodes, [{**edge, "edge_id": f"e{number}"} for number, edge in enumerate(case.edges)])
    one = event(exchange.edges[0]["source"], x)
    engine = Route(exchange.nodes, exchange.edges)
    explanation = engine.explain(goal, one)
    graph = nx.DiGraph((edge["source"], edge["target"]) for edge in exchange.edges)
    if explanation.matched or goal not in exchange.ends():
        return
    cut = explanation.evidence["cut"]
    assert goal not in reached(opened(exchange, cut, members=False).publish(one))
    new = set(reached(opened(exchange, cut, members=True).publish(one))) - set(reached(engine.publish(one)))
    assert bool(cut) == any(goal in (name, *nx.descendants(graph, name)) for name in new)


@given(exchanges, values, st.sampled_from(NAMES))
def test_ways_to_the_cut_are_valid(case: Case, x: int | None, goal: str) -> None:
    engine = Route(case.nodes, case.edges)
    one = event(case.edges[0]["source"], x)
    explanation = engine.explain(goal, one)
    graph = valid_graph(case, one["publisher"], x)
    for member in [] if explanation.matched or explanation.evidence is None else explanation.evidence["cut"]:
        steps = ["start", *member["after"][1:]]
        assert member["after"][0] == one["publisher"]
        assert all(graph.has_edge(*step) for step in pairwise(steps))


# --- bad questions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        {"event_id": "v", "publisher": "nobody", "attributes": {}},
        {"event_id": "v", "publisher": "pub", "attributes": "["},
        {"event_id": "v", "attributes": {}},
        [],
    ],
)
def test_a_bad_event_raises(bad: Any) -> None:
    with pytest.raises(HeliographError):
        Route(NODES, EDGES).explain("far", bad)


def test_an_unknown_publisher_raises_by_name() -> None:
    with pytest.raises(PublicationError, match="nobody"):
        Route(NODES, EDGES).explain("far", {"event_id": "v", "publisher": "nobody", "attributes": {}})


@given(exchanges, values, st.sampled_from(NAMES))
def test_explain_and_publish_agree(exchange: Case, x: int | None, goal: str) -> None:
    """What explain says happened is what publish does, and a block that it names lies next to what was reached."""
    engine = Route(exchange.nodes, exchange.edges)
    one = event(exchange.edges[0]["source"], x)
    results = reached(engine.publish(one))
    explanation = engine.explain(goal, one)
    assert explanation.matched == (goal in results)
    if explanation.failed and explanation.failed.startswith(("node", "edge")):
        before = explanation.held[-1].split(":")[0].split(" ")[0]
        assert before in [one["publisher"], *results]
