"""A filter on disk: what comes back, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from heliograph import Filter
from heliograph.errors import StorageError
from heliograph.storage import read_folder, write_folder

PUBLICATION = ("d", [("ex:x", "year", "2001"), ("ex:x", "title", '"a \\"quoted\\" title"@en')])


def filled() -> Filter:
    engine = Filter([("ex:x", "Paper"), ("Paper", "Publication")], prefixes={"ex": "http://example.org/"})
    engine.subscribe(
        [{"subscription_id": "text", "subscriber": "Alice", "query": "ASK { ex:x :year ?y }", "options": None}]
    )
    engine.subscribe(
        patterns=[("p1", "?x", "year", "?y"), ("gone", "?x", "?p", "?o")], constraints=[("p1", "?y", ">", "2000")]
    )
    engine.subscribe(("class", "SELECT ?x { ?x a/rdfs:subClassOf* :Publication }"))
    engine.subscribe(patterns=[("p2", "?x", "year", "?y")], constraints=[("p2", "?x", "is-a", "Publication")])
    engine.unsubscribe("gone")
    return engine


def test_everything_comes_back_in_order(tmp_path: Path) -> None:
    engine = filled()
    engine.save(tmp_path / "saved")
    loaded = Filter.load(tmp_path / "saved")
    found = engine.publish(PUBLICATION, bindings=3)
    assert [each.subscription_id for each in found] == ["text", "p1", "class", "p2"]
    assert list(loaded.publish(PUBLICATION, bindings=3)) == list(found)
    loaded.save(tmp_path / "again")
    assert list(Filter.load(tmp_path / "again").publish(PUBLICATION, bindings=3)) == list(found)
    assert loaded.stats().subscriptions == 4


def test_an_empty_filter(tmp_path: Path) -> None:
    Filter().save(tmp_path / "saved")
    assert list(Filter.load(tmp_path / "saved").publish(PUBLICATION)) == []


@pytest.mark.parametrize("spoil", ["tables", "columns", "prefixes", "query"])
def test_a_damaged_save_is_refused(tmp_path: Path, spoil: str) -> None:
    filled().save(tmp_path / "saved")
    saved = read_folder(tmp_path / "saved", "filter", {2})
    tables, meta = dict(saved.tables), dict(saved.meta)
    if spoil == "tables":
        del tables["patterns"]
    elif spoil == "columns":
        tables["taxonomy"] = tables["taxonomy"].drop_columns(["parent"])
    elif spoil == "prefixes":
        del meta["prefixes"]
    else:
        cells = {name: pa.array([None], pa.string()) for name in tables["subscriptions"].schema.names}
        tables["subscriptions"] = pa.table({**cells, "subscription_id": ["s"], "query": ["ASK { nonsense"]})
    write_folder(tmp_path / "spoilt", "filter", 2, tables=tables, meta=meta)
    with pytest.raises(StorageError) as raised:
        Filter.load(tmp_path / "spoilt")
    assert raised.value.code == "HG-810"


def test_a_save_of_something_else_is_refused(tmp_path: Path) -> None:
    write_folder(tmp_path / "other", "route", 1)
    with pytest.raises(StorageError):
        Filter.load(tmp_path / "other")
