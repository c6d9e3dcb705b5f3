"""What a writer writes, the reader reads: every table, every format, hostile text."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heliograph.io.schemas import TABLES, CellKind
from heliograph.io.sources import find_sources
from heliograph.io.tables import read_all
from heliograph.io.write import open_writer
from tests.io.strategies import comparable, tables

SUFFIXES = (".parquet", ".csv", ".ndjson", ".jsonl")
QUIET = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(autouse=True)
def _arrow_always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small blocks go through Arrow's reader too."""
    monkeypatch.setattr("heliograph.io.ndjson._SMALL", 0)


@pytest.mark.parametrize("suffix", SUFFIXES[:3])
@pytest.mark.parametrize("name", TABLES)
@QUIET
@given(data=st.data())
def test_every_table_comes_back(name: str, suffix: str, tmp_path: Path, data: st.DataObject) -> None:
    table = data.draw(tables(TABLES[name]))
    path = tmp_path / f"table{suffix}"
    with open_writer(name, path) as writer:
        assert writer.write(table.slice(0, 2))
        assert writer.write(table.slice(2))
    whole = read_all(name, find_sources(path))
    in_csv = suffix == ".csv"
    assert list(whole.rejected) == []
    assert whole.table.schema == TABLES[name].arrow
    assert _json_read(name, whole.table, in_csv) == _json_read(name, table, in_csv)


def _json_read(name: str, table: pa.Table, empty_is_null: bool) -> list[dict[str, object]]:
    """Rows with their JSON columns parsed: nesting a value in NDJSON may change its spaces, not what it says."""
    nested = {column.name for column in TABLES[name].columns if column.kind is CellKind.JSON}
    return [
        {key: json.loads(cell) if key in nested and isinstance(cell, str) else cell for key, cell in row.items()}
        for row in comparable(table, empty_is_null=empty_is_null)
    ]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", TABLES)
def test_an_empty_table_is_a_file_too(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"none{suffix}"
    with open_writer(name, path):
        pass
    whole = read_all(name, find_sources(path))
    assert (whole.table.num_rows, len(whole.rejected)) == (0, 0)
    assert whole.table.schema == TABLES[name].arrow


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7976931348623157e308, 0.1, 5.0])
@pytest.mark.parametrize("suffix", SUFFIXES[:3])
def test_numbers_come_back_exactly(number: float, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"edges{suffix}"
    with open_writer("edges", path) as writer:
        writer.write(pa.Table.from_pylist([{"source": "a", "target": "b", "cost": number}]))
    assert repr(read_all("edges", find_sources(path)).table["cost"][0].as_py()) == repr(number)
