"""What if: deliveries before and after, and the engine as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import HeliographError
from heliograph.io.schemas import TABLES
from heliograph.route import Route
from tests.route.exchanges import COSTS, NAMES, Case, event, exchanges, reached, targetings

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


# --- named edges and labels -------------------------------------------------------------------------------------


PARALLEL = [
    {"source": "p", "target": "b", "edge_id": "one", "targeting": "x = 1"},
    {"source": "p", "target": "b", "edge_id": "two", "targeting": "x = 2"},
    {"source": "p", "target": "a", "targeting": "FALSE"},
]
LOST_TO_ONE, LOST_TO_TWO = ("one", "b", True, False), ("two", "b", True, False)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"op": "-", "edge_id": "one"}, [LOST_TO_ONE]),
        ({"op": "-", "edge_id": "two", "source": "p", "target": "b"}, [LOST_TO_TWO]),
        ({"op": "-", "source": "p", "target": "b"}, [LOST_TO_ONE, LOST_TO_TWO]),
        ({"op": "-", "source": "p", "target": "b", "edge_id": ""}, [LOST_TO_ONE, LOST_TO_TWO]),
        ({"op": "=", "edge_id": "two", "targeting": "FALSE"}, [LOST_TO_TWO]),
        ({"op": "=", "edge_id": "two", "source": "p", "target": "b", "targeting": "FALSE"}, [LOST_TO_TWO]),
        (
            {"op": "=", "edge_id": "two", "target": "c"},
            [("one", "c", False, True), LOST_TO_TWO, ("two", "c", False, True)],
        ),
        ({"op": "=", "source": "p", "target": "b", "targeting": "x = 1"}, [LOST_TO_TWO]),
        ({"op": "+", "edge_id": "two", "source": "p", "target": "b", "targeting": "FALSE"}, [LOST_TO_TWO]),
        ({"op": "+", "edge_id": "three", "source": "p", "target": "b", "targeting": "FALSE"}, []),
        ({"op": "+", "source": "p", "target": "b", "targeting": "FALSE"}, []),
    ],
)
def test_a_named_edge(change: dict[str, Any], expected: list[tuple[str, str, bool, bool]]) -> None:
    assert rows({"kind": "edge", **change}, Route(NODES, PARALLEL)) == expected


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"op": "-", "edge_id": "none"}, "the edge (none), which"),
        ({"op": "=", "edge_id": "none", "source": "p", "target": "b"}, "the edge (none), which"),
        ({"op": "-", "edge_id": "one", "source": "p", "target": "a"}, "the edge p → a (one), which"),
        ({"op": "-", "source": "b", "target": "p"}, "the edge b → p, which"),
    ],
)
def test_a_named_edge_that_is_not_there(change: dict[str, Any], told: str) -> None:
    compared = Route(NODES, PARALLEL).compare({"kind": "edge", **change}, EVENTS)
    assert [(item.code, told in item.message) for item in compared.rejected] == [("HG-661", True)]
    assert compared.table.num_rows == 0


def test_labels_that_are_given_replace() -> None:
    engine = Route([{"node_id": "a", "labels": ["A"]}], [("p", "a")], match="superset")
    one = {"event_id": "e", "publisher": "p", "attributes": {"labels": ["A"]}}
    change = {"kind": "node", "op": "=", "node_id": "a"}
    assert engine.what_if({**change, "labels": ["B"]}, one)["after"].to_pylist() == [False]
    assert engine.what_if({**change, "labels": []}, one)["after"].to_pylist() == [False]
    assert engine.what_if({**change, "labels": ["A", "B"]}, one).num_rows == 0
    new = [
        {"kind": "node", "op": "+", "node_id": "b", "labels": ["A"]},
        {"kind": "edge", "op": "+", "source": "a", "target": "b"},
    ]
    assert engine.what_if(new, one)["node_id"].to_pylist() == ["b"]


def test_a_change_as_a_tuple() -> None:
    short = ("edge", "+", None, "p", "b", "x = 2", 1.0)
    assert rows([short]) == rows([(*short, "late", None)]) == [("two", "b", False, True)]


def test_subscribers_only() -> None:
    """Of each version its own: a node that gets its first edge is none any more."""
    engine = Route(NODES, EDGES)
    changes = [{"kind": "edge", "op": "+", "source": "b", "target": "c"}]
    table = engine.what_if(changes, EVENTS[:1], subscribers_only=True)
    assert [tuple(row.values()) for row in table.to_pylist()] == [("one", "b", True, False), ("one", "c", False, True)]
    assert rows(changes) == [("one", "c", False, True)]


# --- what is foretold happens -----------------------------------------------------------------------------------

edge_ids = st.sampled_from([None, None, "e0", "e1", "e2"])
labels = st.none() | st.lists(st.sampled_from("AB"), unique=True, max_size=2)
definitions = {"targeting": targetings, "cost": st.sampled_from(COSTS)}
names = st.sampled_from(NAMES)
ops = st.sampled_from("+-=")
changes_of_nodes = st.fixed_dictionaries(
    {"kind": st.just("node"), "op": ops, "node_id": names, "labels": labels, **definitions}
)
changes_of_edges = st.fixed_dictionaries(
    {"kind": st.just("edge"), "op": ops, "source": names, "target": names, "edge_id": edge_ids, **definitions}
)


def make(engine: Route, change: dict[str, Any]) -> None:
    """Makes a change for real, by the engine's own methods; what is not there is left alone."""
    row = {name: value for name, value in change.items() if name not in ("kind", "op")}
    if change["kind"] == "node":
        make_node(engine, change["op"], row)
    else:
        make_edge(engine, change["op"], row)


def make_node(engine: Route, op: str, row: dict[str, Any]) -> None:
    with engine._exchange.reading() as version:
        number = version.number(row["node_id"])
        labels = sorted(version.node(number).labels) if number >= 0 else []
    if op == "-":
        engine.remove_nodes([row["node_id"]])
    elif op == "+" or number >= 0:
        engine.add_nodes({**row, "labels": labels if row["labels"] is None else row["labels"]})


def make_edge(engine: Route, op: str, row: dict[str, Any]) -> None:
    wanted = {"edge_id": row["edge_id"]}
    if op == "-" or not row["edge_id"]:
        wanted |= {"source": row["source"], "target": row["target"]}
    if op == "+" or (engine.remove_edges([wanted]).accepted and op == "="):
        engine.add_edges(row)


@pytest.mark.parametrize("match", [None, "superset"])
@settings(max_examples=60)
@given(exchanges, st.lists(changes_of_nodes | changes_of_edges, max_size=6), st.booleans(), st.data())
def test_what_if_is_what_then_happens(
    match: str | None, exchange: Case, changes: list[dict[str, Any]], only: bool, data: st.DataObject
) -> None:
    ids = data.draw(st.permutations([None] * len(exchange.edges) + ["e0", "e1"]))
    edges = [{**edge, "edge_id": id} for edge, id in zip(exchange.edges, ids, strict=False)]
    engine = Route([{**node, "labels": data.draw(labels)} for node in exchange.nodes], edges, match=match)
    events = [labelled(name, x) for name in NAMES for x in (1, 2, None)]
    before = deliveries(engine, events, only)
    foretold = engine.compare(changes, events, subscribers_only=only).table.to_pylist()
    assert deliveries(engine, events, only) == before
    for change in changes:
        make(engine, change)
    after = deliveries(engine, events, only)
    assert {(row["event_id"], row["node_id"]) for row in foretold if row["before"]} == before - after
    assert {(row["event_id"], row["node_id"]) for row in foretold if row["after"]} == after - before
    assert len(foretold) == len(before ^ after)


def labelled(publisher: str, x: int | None) -> dict[str, Any]:
    attributes = {"x": x, "labels": [] if x is None else ["A", "B"][:x]}
    return {"event_id": f"{publisher}{x}", "publisher": publisher, "attributes": attributes}


def deliveries(engine: Route, events: list[dict[str, Any]], only: bool) -> set[tuple[str | None, str]]:
    return {(item.publication_id, item.subscription_id) for item in engine.publish(events, subscribers_only=only)}


def test_a_change_that_is_refused_does_what_the_engine_would_do() -> None:
    """A node that only edges name accepts everything; a refused row closes it, but never replaces a good one."""
    for name in ("a", "c"):
        engine = Route(NODES, [*EDGES, ("p", "c")])
        found = engine.compare([{"kind": "node", "op": "+", "node_id": name, "targeting": "x ="}], EVENTS)
        assert [each.code for each in found.rejected] == ["HG-451"]
        before = {(n.publication_id, n.subscription_id) for n in engine.publish(EVENTS)}
        engine.add_nodes([{"node_id": name, "targeting": "x ="}])
        after = {(n.publication_id, n.subscription_id) for n in engine.publish(EVENTS)}
        lost = {(row["event_id"], row["node_id"]) for row in found.table.to_pylist() if row["before"]}
        assert lost == before - after
        assert bool(lost) == (name == "c")
