"""Why, and why not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import HeliographError, PublicationError
from heliograph.route import Route
from tests.route.exchanges import NAMES, Case, event, exchanges, reached, values

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
