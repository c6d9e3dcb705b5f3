"""Saves of an exchange: what a save holds, and tables and arrays that nobody could have saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from heliograph.errors import StorageError
from heliograph.predicate.compile import Targeting
from heliograph.route import Route
from heliograph.route import numbering as columns
from heliograph.route.read import Edge, Node
from heliograph.route.save import load_exchange, save_exchange
from heliograph.storage import Saved, read_folder, write_folder
from tests.route.exchange_worlds import Exchange, World, seen_in
from tests.route.exchanges import reached


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


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("nodes", lambda table: table.set_column(0, "node_id", pa.array(["a"] * len(table))), "a node_id twice"),
        ("nodes", lambda table: table.set_column(0, "node_id", pa.array([None] * len(table), pa.string())), "lacks a"),
        ("edges", lambda table: table.set_column(0, "edge_id", pa.array(["e"] * len(table))), "an edge_id twice|twice"),
        ("nodes", lambda table: table.drop_columns(["labels"]), "other columns"),
    ],
)
def test_damaged_tables(tmp_path: Path, name: str, change: Any, why: str) -> None:
    Route([("a", "x = 1"), ("b",)], [("p", "a"), ("p", "b")]).save(tmp_path / "save")
    saved = read_folder(tmp_path / "save", "route", (2,))
    tables = {**saved.tables, name: change(saved.tables[name])}
    write_folder(tmp_path / "other", "route", 2, arrays=saved.arrays, tables=tables, meta=saved.meta)
    with pytest.raises(StorageError, match=why) as caught:
        load_exchange(tmp_path / "other")
    assert caught.value.code == "HG-805"


def test_another_version_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path / "save", "route", 1, tables={}, meta={"match": None})
    with pytest.raises(StorageError):
        load_exchange(tmp_path / "save")


def test_an_empty_exchange(tmp_path: Path) -> None:
    Route().save(tmp_path / "save")
    assert Route.load(tmp_path / "save").stats().subscriptions == 0


# --- what is mapped -----------------------------------------------------------------------------------------------


def saved(path: Path) -> Saved:
    """A save of some nodes in a ring."""
    nodes = [Node(f"n{number}", text=f"x <> {number} AND y = 'a'") for number in range(5)]
    exchange = Exchange()
    exchange.put_nodes(nodes)
    exchange.put_edges([Edge(f"n{number}", f"n{(number + 1) % 5}", f"e{number}") for number in range(5)])
    save_exchange(path, exchange.current)
    return read_folder(path, "route", (2,))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("nodes", lambda a: a + 1),
        ("records", lambda a: a[:, ::-1]),
        ("record_costs", lambda a: a - 1),
        ("edges", lambda a: a + 5),
        ("edges", lambda a: a - 1),
        ("edge_costs", lambda a: a * np.nan),
        ("sources", lambda a: a[::-1]),
        ("sources", lambda a: a - 1),
        ("serials", lambda a: a * 0),
        ("entries", lambda a: a + 1),
        ("entries", lambda a: a[::-1]),
        ("listed", lambda a: a[::-1]),
        ("listed", lambda a: a[1:]),
        ("edges", lambda a: a[1:]),
        ("edges", lambda a: a.astype(np.int64)),
        ("blocks", lambda a: np.zeros((1, 4), np.int32)),
    ],
)
def test_arrays_that_no_exchange_has(tmp_path: Path, name: str, change: Any) -> None:
    """Kernels would follow them anywhere, so they are refused."""
    whole = saved(tmp_path / "save")
    arrays = {**whole.arrays, name: change(whole.arrays[name])}
    write_folder(tmp_path / "other", "route", 2, arrays=arrays, tables=whole.tables, meta=whole.meta)
    with pytest.raises(StorageError, match="damaged") as caught:
        Route.load(tmp_path / "other")
    assert caught.value.code == "HG-805"


@pytest.mark.parametrize("part", ["slots", "marks", "key"])
def test_hash_tables_that_lead_nowhere(tmp_path: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_COLD", "_WARM"):
        monkeypatch.setattr(columns, name, 100)
    Route([(f"n{number}", None) for number in range(150)]).save(tmp_path / "save")
    whole = read_folder(tmp_path / "save", "route", (2,))
    arrays = {name: array + 1 if name == f"node_ids.{part}" else array for name, array in whole.arrays.items()}
    arrays = {
        name: array[1:] if name == "node_ids.marks" and part == "marks" else array for name, array in arrays.items()
    }
    meta = {**whole.meta, "keys": {"node_ids": "1"}} if part == "key" else whole.meta
    write_folder(tmp_path / "other", "route", 2, arrays=arrays, tables=whole.tables, meta=meta)
    with pytest.raises(StorageError, match="a hash table"):
        Route.load(tmp_path / "other")


def test_nothing_is_compiled_or_copied_until_something_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [(f"n{number}", f"x > {number % 100}") for number in range(3000)]
    engine = Route(nodes, [("p", id) for id, _ in nodes])
    engine.save(tmp_path / "save")
    monkeypatch.setattr(Targeting, "add_many", lambda *_: pytest.fail("it was compiled"))
    again = Route.load(tmp_path / "save", algorithm="lanes")
    with again._exchange.reading() as version:
        assert all(
            _lies_in_a_file(array) for array in (version.graph.edges, version.graph.records, version.programs.code)
        )
    event = {"event_id": "1", "publisher": "p", "attributes": {"x": 50}}
    assert list(again.publish(event)) == list(engine.publish(event))
    monkeypatch.undo()
    for one in (engine, again):
        one.add_nodes([("n7", "x > 60"), ("new", "y = 'a'")])
        one.add_edges(("n8", "new"))
    event["attributes"] = {"x": 50, "y": "a"}
    assert list(again.publish(event)) == list(engine.publish(event))


def _lies_in_a_file(array: Any) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None
