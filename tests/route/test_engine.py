"""The contract of route, sentence by sentence."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.errors import PredicateError, PublicationError, SubscriptionError, TableError, UsageError
from heliograph.model import NOTIFICATIONS_SCHEMA
from heliograph.route import Route
from tests.route.exchanges import Case, event, exchanges, reached, values

pytestmark = pytest.mark.usefixtures("each_half")

CHAIN = [("p", "a"), ("a", "b"), ("b", "c")]


def test_intermediaries_are_results() -> None:
    assert reached(Route(edges=CHAIN).route("p", {})) == ["a", "b", "c"]


def test_subscribers_only_are_nodes_without_outgoing_edges() -> None:
    engine = Route(edges=[*CHAIN, ("a", "d"), ("d", "d")])
    assert reached(engine.route("p", {}, subscribers_only=True)) == ["c"]


def test_the_start_is_not_tested() -> None:
    assert reached(Route([("p", "FALSE")], CHAIN).route("p", {})) == ["a", "b", "c"]


def test_the_start_is_a_result_where_a_path_returns() -> None:
    engine = Route([("p", "x = 1")], [*CHAIN, ("c", "p")])
    assert reached(engine.route("p", {"x": 1}, paths=True)) == ["p", "a", "b", "c"]
    assert engine.route("p", {"x": 1}, paths=True)[0].proof == {"path": ["p", "a", "b", "c", "p"], "cost": 4.0}
    assert reached(engine.route("p", {"x": 2})) == ["a", "b", "c"]


def test_a_self_loop_returns_to_the_start() -> None:
    engine = Route([("p", None, 2)], [("p", "p")])
    assert engine.route("p", {}, rank="cost")[0].proof == {"path": ["p", "p"], "cost": 3.0}


@pytest.mark.parametrize("blank", [None, "", "  \n", "-- all"])
def test_null_or_blank_targeting_accepts(blank: str | None) -> None:
    edges = [{"source": "p", "target": "a", "targeting": blank}]
    assert reached(Route([("a", blank)], edges).route("p", {})) == ["a"]


def test_parallel_edges_are_alternatives() -> None:
    edges = [
        {"source": "p", "target": "a", "targeting": "x = 1", "cost": 5},
        {"source": "p", "target": "a", "targeting": "x = 2", "cost": 3},
        {"source": "p", "target": "a", "edge_id": "third", "targeting": "x = 2", "cost": 4},
    ]
    engine = Route(edges=edges)
    assert [engine.route("p", {"x": x}, rank="cost").table.num_rows for x in (1, 2, 3)] == [1, 1, 0]
    assert engine.route("p", {"x": 1}, rank="cost")[0].proof["cost"] == 5.0
    assert engine.route("p", {"x": 2}, rank="cost")[0].proof["cost"] == 3.0


def test_an_unknown_publisher_is_rejected_and_the_rest_routed() -> None:
    found = Route(edges=CHAIN).publish([event("nobody", 1, "e1"), event("b", 1, "e2")])
    assert [(item.item, item.code) for item in found.rejected] == [("e1", "HG-643")]
    assert [(item.publication_id, item.subscription_id) for item in found] == [("e2", "c")]
    assert (found.stats.rejected, found.stats.publications) == (1, 2)


@pytest.mark.parametrize("cost", [-1, float("nan"), float("inf"), 1e301, "dear"])
def test_a_bad_cost_is_rejected(cost: Any) -> None:
    engine = Route([{"node_id": "a", "cost": cost}], [("p", "a"), {"source": "p", "target": "b", "cost": cost}])
    assert len(engine.rejected) == 2
    assert all(item.code in ("HG-652", "HG-204") for item in engine.rejected)


def test_a_node_with_a_bad_row_accepts_nothing() -> None:
    """Its edges make it known, and taking it for a node without targeting would deliver too much."""
    engine = Route([("a", "age >"), ("b", "x = 1")], [("p", "a"), ("p", "b"), ("a", "c")])
    assert [(item.item, item.code) for item in engine.rejected] == [("a", "HG-451")]
    assert reached(engine.route("p", {"x": 1})) == ["b"]
    assert "HG-451" in str(engine.explain("c", event("p", 1)))
    assert engine.add_nodes([("a", "x = 1")]).accepted == 1
    assert reached(engine.route("p", {"x": 1})) == ["b", "a", "c"]


def test_a_node_with_an_unreadable_cell_accepts_nothing() -> None:
    engine = Route([{"node_id": "a", "targeting": "x = 1", "cost": "dear"}, {"node_id": "b"}], [("p", "a"), ("p", "b")])
    assert [(item.item, item.code) for item in engine.rejected] == [("a", "HG-204")]
    assert reached(engine.route("p", {"x": 1})) == ["b"]


def test_a_bad_replacement_leaves_the_node_as_it_was() -> None:
    engine = Route([("a", "x = 1")], [("p", "a")])
    assert len(engine.add_nodes([("a", "x ==")]).rejected) == 1
    assert reached(engine.route("p", {"x": 1})) == ["a"]
    assert reached(engine.route("p", {"x": 2})) == []


def test_a_bad_edge_is_dropped() -> None:
    engine = Route(edges=[{"source": "p", "target": "a", "targeting": "x ="}, ("p", "b")])
    assert [item.item for item in engine.rejected] == ["p → a"]
    assert reached(engine.route("p", {})) == ["b"]


def test_rows_without_ids_and_rows_that_come_twice() -> None:
    nodes = [{"node_id": None}, {"node_id": ""}, ("a", "x = 1"), ("a", "x = 2")]
    edges = [("p", None), (None, "a"), ("p", "a", "e1"), ("p", "b", "e1"), ("p", "b", "e2")]
    engine = Route(nodes, edges)
    codes = [item.code for item in engine.rejected]
    assert codes == ["HG-650", "HG-650", "HG-651", "HG-655", "HG-655", "HG-656"]
    assert reached(engine.route("p", {"x": 1})) == ["a", "b"]


# --- label sets -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("match", "labels", "expected", "candidates"),
    [
        ("superset", ["A"], ["a", "ab"], 4),
        ("superset", [], ["none", "a", "ab", "c"], 4),
        ("subset", ["A"], ["none", "a"], 3),
        ("subset", ["A", "B"], ["none", "a", "ab"], 3),
        ("intersects", ["B", "C"], ["ab", "c"], 3),
        ("intersects", [], [], 3),
        ("intersects", "C", ["c"], 3),
        ("superset", None, ["none", "a", "ab", "c"], 4),
    ],
)
def test_labels(match: str, labels: Any, expected: list[str], candidates: int) -> None:
    """No labels are a subset of all, and share none with any: that is known without asking."""
    nodes: list[dict[str, Any]] = [
        {"node_id": "none", "targeting": "FALSE"},
        {"node_id": "a", "labels": ["A"]},
        {"node_id": "ab", "labels": ["A", "B"]},
        {"node_id": "c", "labels": ["C"]},
    ]
    engine = Route(nodes, [("p", node["node_id"]) for node in nodes], match=match)
    found = engine.route("p", {"labels": labels})
    assert reached(found) == expected
    assert found.stats.candidates == candidates


@pytest.mark.parametrize("labels", [5, ["A", 5], {"A": 1}, [["A"]]])
def test_labels_that_are_no_strings_are_rejected(labels: Any) -> None:
    found = Route(edges=[("p", "n")], match="subset").route("p", {"labels": labels})
    assert [item.code for item in found.rejected] == ["HG-644"]
    assert len(Route(edges=[("p", "n")]).route("p", {"labels": labels})) == 1


# --- events -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ("{", "HG-642"),
        ("[1]", "HG-642"),
        ('"x"', "HG-642"),
        ('{"x": NaN}', "HG-642"),
        ('{"x": -Infinity}', "HG-642"),
        ('{"x": 1e999}', "HG-642"),
        ('{"x": ' + "9" * 5000 + "}", "HG-642"),
        ('{"x": ' + "[" * 100_000, "HG-642"),
    ],
)
def test_bad_attributes_are_rejected(attributes: str, code: str) -> None:
    found = Route(edges=CHAIN).publish([("e1", "p", attributes), ("e2", "b", "{}")])
    assert [(item.item, item.code) for item in found.rejected] == [("e1", code)]
    assert reached(found) == ["c"]


@pytest.mark.parametrize("attributes", [None, "", " ", "{}", {}])
def test_no_attributes(attributes: Any) -> None:
    assert reached(Route([("a", "x IS NULL")], [("p", "a")]).route("p", attributes)) == ["a"]


def test_events_without_ids_and_events_that_come_twice() -> None:
    rows = [("e1", "p", "{}"), (None, "p", "{}"), ("e2", None, "{}"), ("e1", "b", "{}")]
    found = Route(edges=CHAIN).publish(rows)
    assert [item.code for item in found.rejected] == ["HG-640", "HG-640", "HG-641"]
    assert {item.publication_id for item in found} == {"e1"}


def test_an_arrow_table_of_events() -> None:
    table = pa.table({"event_id": ["e1"], "publisher": ["b"], "attributes": ['{"x": 1}']})
    found = Route([("c", "x = 1")], CHAIN).publish(table)
    assert found.table.schema.equals(NOTIFICATIONS_SCHEMA)
    assert found.table.to_pylist() == [
        {
            "subscription_id": "c",
            "subscriber": None,
            "publication_id": "e1",
            "verb": "route",
            "change": "+",
            "at": None,
            "evidence": None,
        }
    ]


# --- order, ranks and limits ------------------------------------------------------------------------------------


def test_order_is_that_of_the_nodes_then_of_the_ends_of_edges() -> None:
    edges = [("p", "z"), ("p", "y"), ("p", "b"), ("p", "a")]
    engine = Route([("b",), ("a",)], edges)
    assert reached(engine.route("p", {})) == ["b", "a", "z", "y"]
    engine.add_nodes([("z",)])
    assert reached(engine.route("p", {})) == ["b", "a", "z", "y"]
    engine.add_nodes([("b", "TRUE")])
    assert reached(engine.route("p", {})) == ["b", "a", "z", "y"]


def test_events_come_in_their_order() -> None:
    found = Route(edges=CHAIN).publish([event("b", 1, "z"), event("a", 1, "y")])
    assert [(item.publication_id, item.subscription_id) for item in found] == [("z", "c"), ("y", "b"), ("y", "c")]


def test_path_costs_are_of_edges_and_of_nodes_entered() -> None:
    nodes = [("p", None, 100), ("a", None, 10), ("b",)]
    edges = [{"source": "p", "target": "a", "cost": 2}, {"source": "a", "target": "b"}]
    proofs = [item.proof for item in Route(nodes, edges).route("p", {}, paths=True)]
    assert proofs == [{"path": ["p", "a"], "cost": 12.0}, {"path": ["p", "a", "b"], "cost": 13.0}]


def test_rank_takes_the_cheapest_path_and_paths_the_shortest() -> None:
    edges = [{"source": "p", "target": "a", "cost": 9}, ("p", "b"), ("b", "a")]
    engine = Route(edges=edges)
    assert [item.proof["path"] for item in engine.route("p", {}, paths=True)] == [["p", "a"], ["p", "b"]]
    assert [item.proof["path"] for item in engine.route("p", {}, rank="cost")] == [["p", "b"], ["p", "b", "a"]]


def test_limit_is_per_event_and_shows() -> None:
    engine = Route(edges=CHAIN)
    found = engine.publish([event("p", 1, "e1"), event("b", 1, "e2")], limit=2)
    assert [(item.publication_id, item.subscription_id) for item in found] == [("e1", "a"), ("e1", "b"), ("e2", "c")]
    assert (found.complete, found.stats.truncated, found.stats.notifications) == (False, 1, 3)
    assert engine.publish(event("p", 1), limit=3).complete
    assert not engine.publish(event("p", 1), limit=0).complete
    assert engine.publish(event("p", 1), hops=1).complete


@given(exchanges, values, st.integers(0, 5), st.booleans())
def test_a_limit_takes_the_first(exchange: Case, x: int | None, limit: int, ranked: bool) -> None:
    engine = Route(exchange.nodes, exchange.edges)
    rank = "cost" if ranked else None
    whole = engine.publish(event(exchange.edges[0]["source"], x), rank=rank)
    cut = engine.publish(event(exchange.edges[0]["source"], x), rank=rank, limit=limit)
    assert cut.items == whole.items[:limit]
    lost = len(whole) - len(cut)
    assert cut.stats.truncated == lost or (ranked and 1 <= cut.stats.truncated < lost)  # where the search ends early
    assert cut.complete == (lost == 0)


@pytest.mark.parametrize("options", [{"rank": "hops"}, {"limit": -1}, {"hops": -1}, {"limit": True}, {"limit": 1.5}])
def test_wrong_options(options: Any) -> None:
    with pytest.raises(UsageError):
        Route(edges=CHAIN).route("p", {}, **options)


def test_wrong_match() -> None:
    with pytest.raises(UsageError, match="HG-062"):
        Route(match="equal")


# --- counting ---------------------------------------------------------------------------------------------------


def test_candidates_are_predicates_evaluated() -> None:
    nodes = [("a", "x = 1"), ("b", "x = 1"), ("c", "x = 2"), ("d",)]
    edges = [
        ("p", "a"),
        ("p", "c"),
        ("a", "b"),
        ("a", "c"),
        {"source": "b", "target": "d", "targeting": "x = 1"},
        ("c", "never met"),
    ]
    found = Route(nodes, edges).route("p", {"x": 1})
    assert reached(found) == ["a", "b", "d"]
    assert (found.stats.candidates, found.stats.verified) == (4, 3)  # a, b, c and the edge b → d


def test_stats_add_up_over_calls() -> None:
    engine = Route([("a", "x = 1")], [("p", "a")])
    engine.route("p", {"x": 1})
    engine.route("p", {"x": 2})
    total = engine.stats()
    assert (total.subscriptions, total.publications, total.notifications, total.candidates) == (2, 2, 1, 2)
    assert total.load_ns > 0
    assert total.match_ns > 0


def test_a_deep_exchange_needs_no_recursion() -> None:
    links = [(str(number), str(number + 1)) for number in range(5_000)]
    found = Route(edges=links).route("0", {}, limit=1)
    assert (reached(found), found.stats.truncated) == (["1"], 4_999)
    ranked = Route(edges=links).route("0", {}, rank="cost", limit=1)
    assert (ranked[0].proof["cost"], ranked.complete) == (1.0, False)
    assert Route(edges=links).explain("5000", event("0", 1)).matched


# --- one bad item raises, several are reported ------------------------------------------------------------------


def test_a_single_bad_item_raises() -> None:
    engine = Route(edges=CHAIN)
    with pytest.raises(PredicateError) as caught:
        engine.add_nodes({"node_id": "a", "targeting": "age > 30 AND LOWER(topic) = 'sports'"})
    assert (caught.value.line, caught.value.column) == (1, 14)
    with pytest.raises(PublicationError, match="HG-652"):
        engine.add_edges({"source": "p", "target": "a", "cost": -1})
    with pytest.raises(TableError):
        engine.add_edges({"source": "p", "target": "a", "cost": "dear"})
    with pytest.raises(SubscriptionError, match="HG-502"):
        engine.unsubscribe("nobody")
    with pytest.raises(PublicationError, match="HG-657"):
        engine.remove_edges(("a", "p"))


def test_several_bad_items_are_reported() -> None:
    engine = Route(edges=CHAIN)
    assert [item.code for item in engine.subscribe([("q", "x ="), ("r",)]).rejected] == ["HG-451"]
    assert [item.item for item in engine.unsubscribe(["nobody", "r", "r"]).rejected] == ["nobody"]
    assert [item.item for item in engine.remove_edges([("a", "p"), ("p", "a")]).rejected] == ["a → p"]
    assert [item.code for item in engine.route("p", {}).rejected] == ["HG-643"]  # p was known by its edge only


def test_evidence_is_json() -> None:
    name = 'qu"ote\n\u2028é'
    (found,) = Route(edges=[("p", name)]).route("p", {}, paths=True)
    assert json.loads(found.evidence or "") == {"path": ["p", name], "cost": 1.0}


def test_one_event_is_one_event() -> None:
    engine = Route(edges=[("p", "a")])
    several = [event("p", 1, "first"), event("p", 2, "second")]
    for ask in (lambda: engine.explain("a", several), lambda: list(engine.stream(several))):
        with pytest.raises(UsageError, match="2 events where one is asked for"):
            ask()
