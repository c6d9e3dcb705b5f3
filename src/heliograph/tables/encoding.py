"""Coerced tables as text: CSV fields and NDJSON lines, built column by column in Arrow.

The law: what the readers make of the text is the table again (in CSV an empty text is null).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.tables.cells import json_text
from heliograph.tables.schemas import Column, Kind, TableSchema

Cells = Any  # an Arrow array; the stubs know no function of arrays and scalars

_NEWLINE, _RETURN = b"\n\r"
_ESCAPED = np.zeros(256, np.bool_)  # bytes that JSON writes otherwise, or might
_ESCAPED[[*range(0x20), *b'"\\\x7f']] = True


def csv_table(schema: TableSchema, table: pa.Table) -> pa.Table:
    """The table with every column as the text of its fields."""
    return pa.table({column.name: _field(column, table[column.name]) for column in schema.columns})


def _field(column: Column, cells: Cells) -> Cells:
    if column.kind is Kind.TIME:
        return _iso(cells)
    if column.kind is Kind.LABELS:
        return pa.chunked_array([_labels(chunk) for chunk in cells.chunks], type=pa.string())
    return cells.cast(pa.string())


def _iso(cells: Cells) -> Cells:
    """ISO 8601 in UTC; a fraction of a second only where there is one."""
    naive = cells.cast(pa.timestamp("us")).cast(pa.string())  # thirty times as fast as with a zone
    text = pc.replace_substring(pc.replace_substring(naive, " ", "T"), ".000000", "")
    return pc.binary_join_element_wise(text, "Z", "")


def _labels(cells: Cells) -> Cells:
    return pa.array([None if labels is None else json_text(labels) for labels in cells.to_pylist()], pa.string())


def ndjson_bytes(schema: TableSchema, table: pa.Table) -> bytes:
    """One object a line, every column named, nulls written as null."""
    return b"".join(_lines(schema, batch) for batch in table.to_batches(1 << 16) if batch.num_rows)


def _lines(schema: TableSchema, batch: pa.RecordBatch) -> bytes:
    """What is the same in every line is written between the cells that differ; only those are arrays to join."""
    pieces: list[Cells] = []
    between = "{"
    for column, cells in zip(schema.columns, batch.columns, strict=True):
        between += f"{json.dumps(column.name)}:"
        constant = _is_constant(cells)
        before, texts, after = _json(column.kind, cells[:1] if constant else cells)
        if constant:
            between += f"{before}{texts[0]}{after},"
        else:
            pieces += [between + before, texts]
            between = f"{after},"
    ending = f"{between[:-1]}}}\n"
    if not pieces:
        return ending.encode() * batch.num_rows
    return bytes(_data(pc.binary_join_element_wise(*pieces, ending, "")))


def _is_constant(cells: Cells) -> bool:
    """Whether all cells are null, or the same text."""
    if cells.null_count or not pa.types.is_string(cells.type):
        return bool(cells.null_count == len(cells))
    return bool(pc.all(pc.equal(cells, cells[0])).as_py())


class _Json(NamedTuple):
    """A column as JSON: the cells' texts, and what stands before and after each."""

    before: str
    texts: Cells
    after: str


def _json(kind: Kind, cells: Cells) -> _Json:
    if kind in _BARE:
        return _Json("", pc.fill_null(_BARE[kind](cells), "null"), "")
    if kind is Kind.TIME:
        cells = _iso(cells)
    elif _ESCAPED[np.frombuffer(_data(cells), np.uint8)].any():
        return _Json("", pc.fill_null(_mapped(cells, _string), "null"), "")
    if not cells.null_count:
        return _Json('"', cells, '"')
    return _Json("", pc.fill_null(pc.binary_join_element_wise('"', cells, '"', ""), "null"), "")


def _data(cells: Cells) -> memoryview:
    """The bytes of all texts, one after the other."""
    _, offsets, data = cells.buffers()
    if data is None:
        return memoryview(b"")
    bounds = np.frombuffer(offsets, np.int32)
    return memoryview(data)[bounds[cells.offset] : bounds[cells.offset + len(cells)]]


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _numbers(cells: Cells) -> Cells:
    if pc.all(pc.is_finite(cells)).as_py() is False:
        return _mapped(cells, lambda value: json.dumps(value if math.isfinite(value) else str(value)))
    return cells.cast(pa.string())


def _mapped(cells: Cells, text: Callable[[Any], str]) -> Cells:
    """A Python function of each distinct cell."""
    encoded = cells.dictionary_encode()
    made = [text(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(made, pa.string()).take(encoded.indices)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


_STRICT: Any = json.JSONDecoder(parse_constant=_refuse_constant)


def _objects(cells: Cells) -> Cells:
    """Cells of JSON text as the values that they are; those that can stay as they are need no copy."""
    if _breaks(cells) or not all(map(_is_compact, cells.drop_null().to_pylist())):
        return _mapped(cells, _nested)
    return cells


def _is_compact(text: str) -> bool:
    """Whether this is an object or a list and nothing else; the decoder's own scanner takes half its time."""
    try:
        return text[:1] in ("{", "[") and _STRICT.scan_once(text, 0)[1] == len(text)
    except (ValueError, StopIteration, RecursionError):
        return False


def _breaks(cells: Cells) -> bool:
    data = np.frombuffer(_data(cells), np.uint8)
    return bool(((data == _NEWLINE) | (data == _RETURN)).any())


def _nested(text: str) -> str:
    """JSON text as the object or list that it is; anything else as a string, so that it reads back as that text."""
    try:
        value = _STRICT.decode(text)
    except (ValueError, RecursionError):
        return _string(text)
    if not isinstance(value, (dict, list)):
        return _string(text)
    return text if "\n" not in text and "\r" not in text else json_text(value)


def _as_text(cells: Cells) -> Cells:
    return cells.cast(pa.string())


# Kinds whose texts stand without quotes.
_BARE: Mapping[Kind, Callable[[Cells], Cells]] = {
    Kind.INTEGER: _as_text,
    Kind.TRUTH: _as_text,
    Kind.NUMBER: _numbers,
    Kind.LABELS: _labels,
    Kind.JSON: _objects,
}
