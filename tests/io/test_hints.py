"""A misspelt optional column is ignored like any unknown one, but not in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from heliograph.io.tables import as_table

NODES = {"node_id": ["a", "b"], "targetting": ["x = 1", None], "region": ["eu", "us"]}
TOLD = "nodes{}: no column 'targeting', but 'targetting', which is ignored: is that a slip?"


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> Any:
    def messages() -> list[str]:
        assert all((record.name, record.levelname) == ("heliograph", "WARNING") for record in caplog.records)
        return [record.getMessage() for record in caplog.records]

    return messages


def write(path: Path, table: pa.Table, copies: int = 1) -> Path:
    if path.suffix == ".csv":
        csv.write_csv(table, path)
    elif path.suffix == ".parquet":
        parquet.write_table(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist() * copies))
    return path


@pytest.mark.parametrize("items", [pa.table(NODES), pa.table(NODES).to_pylist(), pa.table(NODES).to_pylist()[0]])
def test_in_python(told: Any, items: Any) -> None:
    assert as_table("nodes", items).table["targeting"].null_count == as_table("nodes", items).table.num_rows
    assert told() == [TOLD.format("")] * 2


@pytest.mark.parametrize("copies", [1, 1000])
@pytest.mark.parametrize("kind", ["csv", "parquet", "ndjson"])
def test_in_files(told: Any, tmp_path: Path, kind: str, copies: int) -> None:
    read = as_table("nodes", write(tmp_path / f"n.{kind}", pa.table(NODES), copies))
    assert not read.rejected
    assert told() == [TOLD.format(f" ({tmp_path / 'n'}.{kind})")]


def test_a_pipe_that_begins_with_blanks_or_faults(told: Any, tmp_path: Path) -> None:
    path = tmp_path / "n.ndjson"
    for first in ("\n \n", "{\n", '{"node": 1}\n'):
        path.write_text(first + '{"node_id": "a", "Targeting": "x = 1"}\n')
        assert as_table("nodes", path).table.num_rows == 1
    assert told() == [f"nodes ({path}): no column 'targeting', but 'Targeting', which is ignored: is that a slip?"]


@pytest.mark.parametrize(
    ("table", "row", "named"),
    [
        ("nodes", {"node_id": "a", "label": ["A"], "costs": 1}, ["labels", "cost"]),
        ("edges", {"source": "a", "target": "b", "edgeid": "x"}, ["edge_id"]),
        ("updates", {"op": "+", "subject": "s", "property": "p", "object": "o", "wieght": 1}, ["weight"]),
        ("updates", {"op": "+", "subject": "s", "property": "p", "object": "o", "AT": "2026-01-01"}, ["at"]),
        ("subscriptions", {"subscription_id": "a", "query": "ASK {}", "option": "{}"}, ["options"]),
    ],
)
def test_near(told: Any, table: str, row: dict[str, Any], named: list[str]) -> None:
    as_table(table, row)
    assert [message.split("'")[1] for message in told()] == sorted(named, key=lambda name: name != "cost")


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("nodes", {"node_id": "a", "targeting": "x = 1", "targetting": "old"}),
        ("nodes", {"node_id": "a", "name": "A", "city": "t"}),
        ("updates", {"op": "+", "subject": "s", "property": "p", "object": "o", "lat": 1.0}),
        ("events", {"event_id": "a", "publisher": "b", "attributes": {}, "attribute": 1}),
    ],
)
def test_far(told: Any, table: str, row: dict[str, Any]) -> None:
    """What is there, what is required, what is unlike, and short names that chance makes alike."""
    assert as_table(table, row).table.num_rows == 1
    assert told() == []


def test_a_column_that_some_items_have_is_not_lacking(told: Any) -> None:
    as_table("nodes", [{"node_id": "a", "targetting": "x = 1"}, {"node_id": "b", "targeting": "x = 1"}])
    assert told() == []
