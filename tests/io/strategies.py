"""Hostile tables: rows of every table of the contract, as their schema's Python values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from heliograph.io.coerce import json_text
from heliograph.io.schemas import CellKind, TableColumn, TableSchema

_NASTY = st.sampled_from(
    [*'" "" , \\ 007 true 1e5 null NaN é 😀'.split(), "\n", "\r\n", "\r", "\x00", "\ufeff", "\u2028", " "]
)
TEXT = st.lists(_NASTY | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=4).map("".join)
_SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
_JSON = st.recursive(
    _SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=5
)
_TIMES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)).map(
    lambda time: time.replace(tzinfo=UTC)
)

CELLS: Mapping[CellKind, st.SearchStrategy[Any]] = {
    CellKind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    CellKind.NUMBER: st.floats(),
    CellKind.TIME: _TIMES,
    CellKind.LABELS: st.lists(TEXT, max_size=3),
    CellKind.TRUTH: st.booleans(),
    CellKind.JSON: st.dictionaries(TEXT, _JSON, max_size=3).map(json_text),
}


def cells(column: TableColumn) -> st.SearchStrategy[Any]:
    """Cells of a column; a required one may be empty but not null."""
    values = CELLS.get(column.kind, TEXT)
    return values if column.required and not column.sparse else st.none() | values


def tables(schema: TableSchema) -> st.SearchStrategy[pa.Table]:
    row = st.fixed_dictionaries({column.name: cells(column) for column in schema.columns})
    return st.lists(row, max_size=6).map(lambda rows: pa.Table.from_pylist(rows, schema=schema.arrow))


def comparable(table: pa.Table, *, empty_is_null: bool = False) -> list[dict[str, Any]]:
    """Rows that compare equal when they are the same: NaN is itself, and in CSV an empty text is null."""
    return [{name: _comparable(cell, empty_is_null) for name, cell in row.items()} for row in table.to_pylist()]


def _comparable(cell: Any, empty_is_null: bool) -> Any:
    if isinstance(cell, float) and math.isnan(cell):
        return "NaN"
    return None if empty_is_null and cell == "" else cell
