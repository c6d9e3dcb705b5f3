"""Saves of an exchange: what a save holds, saves of the first release, and tables that nobody could have saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from heliograph.errors import StorageError
from heliograph.exchange.rows import Edge, Node
from heliograph.exchange.store import Exchange
from heliograph.exchange.tables import EDGES, NODES
from heliograph.route import Route
from heliograph.route.saving import load_exchange, save_exchange
from heliograph.storage import read_folder, write_folder
from tests.exchange.worlds import World, seen_in
from tests.route.exchanges import reached

NODE = {"node_id": "a", "targeting": "x = 1", "cost": 2.0, "labels": ["A"], "refused": None, "listed": True}
EDGE = {"source": "p", "target": "a", "edge_id": None, "targeting": None, "cost": 1.0}


def write(path: Path, nodes: list[dict[str, Any]], edges: list[dict[str, Any]]) -> None:
    tables = {"nodes": pa.Table.from_pylist(nodes, NODES), "edges": pa.Table.from_pylist(edges, EDGES)}
    write_folder(path, "route", 1, tables=tables, meta={"match": None})


def test_all_that_can_be_seen_comes_back(tmp_path: Path) -> None:
    world = World()
    world.put_nodes([("good", "b", "x = 1", 1.0, frozenset("AB")), ("bad", "a", None, 0.0, frozenset())])
    world.put_edges([("p", "a", None, None, 1.0), ("p", "a", "e", "x = 2", 0.5), ("c", "b", None, "", 2.0)])
    with world.store.reading() as version:
        save_exchange(tmp_path / "save", version)
        assert seen_in(load_exchange(tmp_path / "save").current) == seen_in(version)


def test_a_loaded_exchange_goes_on_changing(tmp_path: Path) -> None:
    exchange = Exchange()
    exchange.put_nodes([Node(f"n{number}", text=f"x = {number}") for number in range(100)])
    exchange.put_edges([Edge("p", f"n{number}") for number in range(100)])
    save_exchange(tmp_path / "save", exchange.current)
    engine = Route.load(tmp_path / "save", algorithm="walk")
    engine.remove_nodes("n7")
    engine.add_nodes(("n8", "x = 7"))
    assert reached(engine.route("p", {"x": 7})) == ["n8"]
    engine.save(tmp_path / "save")
    assert reached(Route.load(tmp_path / "save", algorithm="walk").route("p", {"x": 7})) == ["n8"]


def test_a_save_of_the_first_release(tmp_path: Path) -> None:
    """It had ends of edges between the listed nodes, in the order in which all of them came."""
    loose = {**NODE, "node_id": "p", "targeting": None, "cost": 0.0, "labels": [], "listed": False}
    broken = {**loose, "node_id": "c", "refused": "HG-451"}
    write(tmp_path / "save", [NODE, loose, broken, {**NODE, "node_id": "b"}], [EDGE, {**EDGE, "target": "b"}])
    version = load_exchange(tmp_path / "save").current
    nodes = [version.node(int(number)) for number in version.node_numbers()]
    assert [(node.id, node.listed, node.refused) for node in nodes] == [
        ("a", True, None),
        ("b", True, None),
        ("p", False, None),
        ("c", False, "HG-451"),
    ]
    assert reached(Route.load(tmp_path / "save").route("p", {"x": 1})) == ["a", "b"]


@pytest.mark.parametrize(
    ("node", "edge", "why"),
    [
        ({"node_id": None}, {}, "nodes lacks a node_id"),
        ({"cost": None}, {}, "nodes lacks a cost"),
        ({"listed": None}, {}, "nodes lacks a listed"),
        ({"cost": -1.0}, {}, "a cost that is no number from 0"),
        ({"targeting": "x ="}, {}, "a targeting cannot be read"),
        ({}, {"source": None}, "edges lacks a source"),
        ({}, {"target": None}, "edges lacks a target"),
        ({}, {"cost": float("nan")}, "a cost that is no number from 0"),
        ({}, {"cost": 1e301}, "a cost that is no number from 0"),
        ({}, {"targeting": "x ="}, "a targeting cannot be read"),
    ],
)
def test_a_damaged_row(tmp_path: Path, node: dict[str, Any], edge: dict[str, Any], why: str) -> None:
    write(tmp_path / "save", [NODE | node], [EDGE | edge])
    with pytest.raises(StorageError, match=why) as caught:
        Route.load(tmp_path / "save")
    assert caught.value.code == "HG-805"


def test_ids_that_come_twice(tmp_path: Path) -> None:
    write(tmp_path / "nodes", [NODE, NODE], [EDGE])
    write(tmp_path / "edges", [NODE], [EDGE | {"edge_id": "e"}, EDGE | {"edge_id": "e"}])
    for name in ("nodes", "edges"):
        with pytest.raises(StorageError, match="twice"):
            load_exchange(tmp_path / name)


def test_other_columns(tmp_path: Path) -> None:
    write(tmp_path / "save", [NODE], [EDGE])
    saved = read_folder(tmp_path / "save", "route", (1,))
    tables = {**saved.tables, "nodes": saved.tables["nodes"].drop_columns(["labels"])}
    write_folder(tmp_path / "other", "route", 1, tables=tables, meta=saved.meta)
    with pytest.raises(StorageError, match="other columns"):
        load_exchange(tmp_path / "other")


def test_an_empty_exchange(tmp_path: Path) -> None:
    Route().save(tmp_path / "save")
    assert Route.load(tmp_path / "save").stats().subscriptions == 0
