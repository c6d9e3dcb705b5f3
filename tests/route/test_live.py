"""Live changes: adding replaces, removing restores, each publish sees one version, and a save brings it all back."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import PublicationError, StorageError
from heliograph.route import Route
from heliograph.storage import read_folder, write_folder
from tests.route.exchanges import NAMES, Case, edge_rows, event, exchanges, node_rows, reached

pytestmark = pytest.mark.usefixtures("each_half")


def answers(engine: Route) -> list[Any]:
    """All that can be seen of an exchange through its events."""
    events = [event(name, x, f"{name}{x}") for name in NAMES for x in (1, 2, None)]
    found = engine.publish(events, rank="cost")
    plain = engine.publish(events, paths=True)
    return [found.items, plain.items, [item.code for item in found.rejected]]


def sets(engine: Route) -> set[tuple[str, str | None]]:
    events = [event(name, x, f"{name}{x}") for name in NAMES for x in (1, 2, None)]
    return {(item.subscription_id, item.publication_id) for item in engine.publish(events)}


@settings(max_examples=50)  # in each half
@given(exchanges, st.randoms(use_true_random=False))
def test_the_order_of_adding_changes_no_result(exchange: Case, chance: random.Random) -> None:
    whole = Route(exchange.nodes, exchange.edges)
    piecemeal = Route()
    steps = [("add_nodes", node) for node in exchange.nodes]
    numbered = [{**edge, "edge_id": f"e{number}"} for number, edge in enumerate(exchange.edges)]
    steps += [("add_edges", edge) for edge in numbered]
    chance.shuffle(steps)
    for method, item in steps:
        assert getattr(piecemeal, method)(item).accepted == 1
    assert sets(piecemeal) == sets(whole)


@settings(max_examples=50)  # in each half
@given(exchanges, st.lists(node_rows, max_size=3), st.lists(edge_rows, max_size=5))
def test_adding_and_removing_restores(exchange: Case, nodes: list[Any], edges: list[Any]) -> None:
    engine = Route(exchange.nodes, exchange.edges)
    before = answers(engine)
    fresh = [{**node, "node_id": f"new {node['node_id']}"} for node in nodes]
    links = [{**edge, "edge_id": f"new {number}"} for number, edge in enumerate(edges)]
    engine.add_nodes(fresh)
    engine.add_edges([*links, *({"source": "a", "target": node["node_id"]} for node in fresh)])
    engine.remove_edges(links)
    engine.remove_nodes({node["node_id"] for node in fresh})
    engine.add_edges({"source": "gone", "target": "too"})
    engine.remove_nodes("gone")
    known = exchange.ends()
    assert answers(engine) == before
    assert engine.stats().subscriptions == len(known)


def test_adding_an_edge_again_replaces_it() -> None:
    engine = Route(edges=[("p", "a"), ("p", "a"), ("p", "b", "e1")])
    engine.add_edges({"source": "p", "target": "a", "targeting": "FALSE"})
    assert reached(engine.route("p", {})) == ["b"]
    engine.add_edges({"source": "p", "target": "c", "edge_id": "e1"})
    assert reached(engine.route("p", {})) == ["c"]


def test_an_edge_is_removed_by_its_id_or_by_its_ends() -> None:
    edges = [("p", "a", "e1"), ("p", "a", "e2"), ("p", "a")]
    engine = Route(edges=edges)
    assert engine.remove_edges({"source": "p", "target": "a", "edge_id": "e1"}).accepted == 1
    assert reached(engine.route("p", {})) == ["a"]
    assert engine.remove_edges([("p", "a")]).accepted == 2
    assert [item.code for item in engine.route("p", {}).rejected] == ["HG-643"]


def test_an_edge_id_alone_is_enough_to_remove_an_edge() -> None:
    engine = Route(edges=[("p", "a", "e1"), ("p", "b", "e2"), ("p", "c", "e3"), ("p", "d", "e4"), ("p", "e", "e5")])
    assert engine.remove_edges("e1").accepted == 1
    assert engine.remove_edges([{"edge_id": "e2"}]).accepted == 1
    assert engine.remove_edges(pa.array(["e3"])).accepted == 1
    assert engine.remove_edges(pa.table({"edge_id": ["e4"]})).accepted == 1
    assert reached(engine.route("p", {})) == ["e"]
    missing = engine.remove_edges(["e1", ["p", "x"], {"source": "x", "edge_id": "e5"}, {}]).rejected
    assert [item.item for item in missing] == ["e1", "p → x", "x → None (e5)", "without ends and edge_id"]
    with pytest.raises(PublicationError, match="there is no edge e9"):
        engine.remove_edges("e9")


def test_removing_a_node_removes_its_edges() -> None:
    engine = Route([("b",), ("c",)], [("p", "a"), ("a", "b"), ("b", "b"), ("b", "c")])
    assert engine.remove_nodes(pa.array(["a", "b"])).accepted == 2
    assert engine.stats().subscriptions == 1
    engine.add_edges(("p", "b"))
    assert reached(engine.route("p", {})) == ["b"]


def test_labels_and_match_are_saved(tmp_path: Path) -> None:
    engine = Route([{"node_id": "a", "labels": ["A"]}], [("p", "a")], match="superset")
    engine.save(tmp_path / "save")
    engine.save(tmp_path / "save")
    loaded = Route.load(tmp_path / "save")
    assert loaded.match == "superset"
    assert [reached(loaded.route("p", {"labels": labels})) for labels in (["A"], ["B"])] == [["a"], []]


def test_what_is_no_save_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError):
        Route.load(tmp_path / "nothing")
    Route(edges=[("p", "a")]).save(tmp_path / "save")
    saved = read_folder(tmp_path / "save", "route", (2,))
    write_folder(tmp_path / "later", "route", 3, arrays=saved.arrays, tables=saved.tables, meta=saved.meta)
    with pytest.raises(StorageError, match="HG-804"):
        Route.load(tmp_path / "later")
    write_folder(tmp_path / "bad", "route", 2, tables=saved.tables, meta=saved.meta)
    write_folder(tmp_path / "odd", "route", 2, arrays=saved.arrays, tables=saved.tables, meta={"match": "equal"})
    write_folder(tmp_path / "empty", "route", 2)
    for name in ("bad", "odd", "empty"):
        with pytest.raises(StorageError, match="HG-805"):
            Route.load(tmp_path / name)
