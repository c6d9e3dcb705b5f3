"""What reading a piece of a table gives: the rows that are good, where they stood, and what was refused.

The law: every row of the input is in the table or in `rejected`, exactly once; a refused row takes no other with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import HeliographError, Place, TableError
from heliograph.model import Brief, Rejected, Rejections
from heliograph.tables.columns import Array, Bad, Coerced, coerce_array, coerce_values, nulls
from heliograph.tables.schemas import Column, TableSchema

Rows = npt.NDArray[np.int64]
RawColumn = Array | Sequence[Any]


class Read(NamedTuple):
    """Rows of one source, coerced to the schema. `rows` are their numbers in the source, from 1."""

    source: str | None
    table: pa.Table
    first_row: int
    rejected: Rejections
    rows: Rows

    def place(self, index: int) -> Place:
        """Where the table's row `index` (from 0) stood in its source."""
        return Place(self.source, str(self.rows[index]))


class Refused(NamedTuple):
    """A row that was refused before its cells were looked at."""

    row: int
    rejected: Rejected


class Raw(NamedTuple):
    """Columns as they were found, before coercion; `rows` are the numbers of their rows."""

    source: str | None
    columns: Mapping[str, RawColumn]
    rows: Rows
    refused: Sequence[Refused] = ()


def finish(schema: TableSchema, raw: Raw) -> Read:
    """Coerce every column; the rows with a bad cell are rejected, the others go on."""
    coerced = {column.name: _coerce(column, raw) for column in schema.columns}
    table = pa.Table.from_arrays([column.array for column in coerced.values()], schema=schema.arrow)
    worst: dict[int, tuple[str, Bad]] = {}
    for name, column in coerced.items():
        for bad in column.bad:
            worst.setdefault(bad.row, (name, bad))
    if not worst:
        return _read(raw, table, raw.rows, raw.refused)
    keys = coerced[schema.key].array if schema.key else None
    brief = Brief()
    refused = [_refuse(raw, keys, name, bad, brief) for name, bad in worst.values()]
    keep = np.ones(len(raw.rows), dtype=bool)
    keep[list(worst)] = False
    return _read(raw, table.filter(pa.array(keep)), raw.rows[keep], [*raw.refused, *refused])


def _read(raw: Raw, table: pa.Table, rows: Rows, refused: Iterable[Refused]) -> Read:
    in_order = sorted(refused, key=lambda entry: entry.row)
    first = int(rows[0]) if len(rows) else (int(raw.rows[0]) if len(raw.rows) else 1)
    return Read(raw.source, table, first, Rejections(entry.rejected for entry in in_order), rows)


def _coerce(column: Column, raw: Raw) -> Coerced:
    values = raw.columns.get(column.name)
    if values is None:
        return Coerced(nulls(len(raw.rows), column.type))
    return coerce_array(column.kind, values) if isinstance(values, pa.Array) else coerce_values(column.kind, values)


def _refuse(raw: Raw, keys: Array | None, name: str, bad: Bad, brief: Brief) -> Refused:
    row = int(raw.rows[bad.row])
    key = None if keys is None else keys[bad.row].as_py()
    if not brief.wants("HG-204"):
        return Refused(row, Rejected(raw.source, key or str(row), "HG-204", ""))
    error = TableError(
        "HG-204", f"{_shown(bad.value)} in column {name!r}", place=Place(raw.source, str(row)), fix=bad.expected
    )
    return Refused(row, Rejected.of(error, raw.source, key))


def _shown(value: Any, limit: int = 60) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[:limit] + "…"


def failed(source: str | None, error: HeliographError, schema: TableSchema) -> Read:
    """A source, or the rest of it, that cannot be read at all."""
    none = np.empty(0, dtype=np.int64)
    return Read(source, schema.empty(), 1, Rejections([Rejected.of(error, source)]), none)


def numbered(start: int, count: int) -> Rows:
    """Row numbers from `start`."""
    return np.arange(start, start + count, dtype=np.int64)
