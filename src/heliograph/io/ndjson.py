"""NDJSON to raw columns: one object a line, blank lines skipped and not counted.

Arrow reads a block in which every line is one object and every column keeps one type; Python reads the others line by
line. The law: both give the same rows. A line that is no object, or lacks a required column, is refused by itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from heliograph.errors import HeliographError, Place, TableError
from heliograph.io.coerce import DECODER, BadCell, json_cell
from heliograph.io.schemas import ARROW_TYPES, CellKind, TableSchema
from heliograph.io.sources import Source, read_blocks
from heliograph.io.tables import RawColumns, numbered
from heliograph.model import MessageLimit, Rejected

# The scanner in C, which does not look at what follows the value.
_SCAN: Callable[[str, int], tuple[Any, int]] = vars(DECODER)["scan_once"]

# Rows are unloaded this often: many live dicts make Python's garbage collector take half of the time.
_SLICE = 2048
# Below this many bytes (some 300 lines) starting Arrow's reader, 0.3 ms, costs more than it saves.
_SMALL = 1 << 15


def read_ndjson(schema: TableSchema, source: Source) -> Iterator[RawColumns]:
    """The rows of a file or a pipe, block by block."""
    row = line = 1
    for block in read_blocks(source):
        if row == 1:
            with suppress(TableError):  # warn of misspelt columns, judged by the first row
                schema.hint(_row(schema, block.lstrip().split(b"\n", 1)[0]), Place(source.name))
        columns = _by_arrow(schema, block) if len(block) >= _SMALL else None
        if columns is None:
            raw = _by_line(schema, source.name, block, row, line)
        else:
            raw = RawColumns(source.name, columns, numbered(row, len(next(iter(columns.values())))))
        yield raw
        row += len(raw.rows) + len(raw.refused)
        line += block.count(b"\n")


# --- a block in Arrow ---


def _by_arrow(schema: TableSchema, block: bytes) -> Mapping[str, Any] | None:
    """The columns as Arrow reads them, or None where it might not agree with Python."""
    from pyarrow import json as arrow_json

    block = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    block = block if block.endswith(b"\n") else block + b"\n"
    lines = block.count(b"\n")
    # Every line begins with { and ends with }: then no object can go on over a line's end, since `}` newline `{` is
    # never JSON, and as many objects as lines means one on each.
    whole = block[:1] == b"{" and block.count(b"\n{") == lines - 1 and block.count(b"}\n") == lines
    if not whole or b"NaN" in block or b"Inf" in block:
        return None
    try:
        if not block.isascii():
            block.decode("utf-8")
        first = _decode(block[: block.index(b"\n")].decode("utf-8"))
        types = pa.schema([(column.name, _type(column.kind, first.get(column.name))) for column in schema.columns])
        found = arrow_json.read_json(
            cast("IO[bytes]", pa.BufferReader(block)),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=arrow_json.ParseOptions(explicit_schema=types, unexpected_field_behavior="ignore"),
        )
    except (HeliographError, pa.ArrowException, UnicodeError, OverflowError):
        return None
    if found.num_rows != lines or any(found[name].null_count for name in schema.row_required):
        return None
    return {name: found[name].combine_chunks() for name in found.column_names}


def _type(kind: CellKind, sample: Any) -> pa.DataType:
    """The type to ask Arrow for, judged by the first row. Only Python keeps the spelling of a fraction."""
    if isinstance(sample, bool):
        return pa.bool_()
    if isinstance(sample, int):
        return pa.float64() if kind is CellKind.NUMBER else pa.int64()
    if isinstance(sample, str) or kind is CellKind.TIME:
        return pa.string()
    return ARROW_TYPES.get(kind, pa.string())


# --- line by line ---


def _by_line(schema: TableSchema, source: str, block: bytes, row: int, line: int) -> RawColumns:
    """The rows of a block whose first row and line have these numbers."""
    rows: list[dict[str, Any]] = []
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    numbers: list[int] = []
    refused: list[tuple[int, Rejected]] = []
    limit = MessageLimit()
    for number, text in enumerate(block.split(b"\n"), line):
        if not text or text.isspace():
            continue
        try:
            rows.append(_row(schema, text, limit))
            numbers.append(row)
        except TableError as error:
            if limit.allows(error.code):
                error.place = Place(source, str(row), number, error.column)
                refused.append((row, Rejected.of(error)))
            else:
                refused.append((row, Rejected(source, str(row), error.code, "")))
        row += 1
        if len(rows) == _SLICE:
            _unload(schema, rows, columns)
    _unload(schema, rows, columns)
    return RawColumns(source, columns, np.array(numbers, dtype=np.int64), refused)


def _unload(schema: TableSchema, rows: list[dict[str, Any]], columns: dict[str, list[Any]]) -> None:
    """Move the rows to the columns, nested objects as JSON text already."""
    for column in schema.columns:
        values = [row.get(column.name) for row in rows]
        columns[column.name] += values if column.kind is not CellKind.JSON else map(_flat, values)
    rows.clear()


def _flat(value: Any) -> Any:
    try:
        return json_cell(value)
    except BadCell:
        return value  # to be refused with its place, like any other cell


def _row(schema: TableSchema, line: bytes, limit: MessageLimit | None = None) -> dict[str, Any]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TableError("HG-207", f"bytes that are not UTF-8: {error.reason}", fix="save it as UTF-8") from error
    row = _decode(text)
    more = text.count('":') - len(row)
    if more:
        more -= sum(len(value) for value in row.values() if type(value) is dict)
    if more or " :" in text or "\t:" in text or "\r:" in text:  # a look that costs little: a key may stand twice
        _check_keys(schema, text)
    for name in schema.row_required:
        if name not in row:
            if limit is not None and limit.is_reached("HG-202"):
                raise TableError("HG-202", "")
            raise schema.lacking([name], list(row), Place())
    return row


_PAIRS = json.JSONDecoder(object_pairs_hook=tuple, parse_int=str, parse_float=str)  # arrays are lists


def _check_keys(schema: TableSchema, text: str) -> None:
    """Refuses a column that stands twice, and a key that does so in a column's value; other columns are ignored."""
    columns = [pair for pair in _PAIRS.decode(text.strip(" \t\r\n")) if pair[0] in schema.names]
    stack: list[Any] = [tuple(columns)]
    while stack:
        value = stack.pop()
        if isinstance(value, tuple):
            keys = [key for key, _ in value]
            if len(set(keys)) < len(keys):
                twice = next(key for key, times in Counter(keys).items() if times > 1)
                raise TableError(
                    "HG-220", f"the key {twice[:60]!r} stands twice in an object", fix="drop one of the two"
                )
            stack += [inner for _, inner in value]
        elif isinstance(value, list):
            stack += value


def _decode(text: str) -> dict[str, Any]:
    """The object on a line."""
    text = text.strip(" \t\r\n")
    try:
        value, end = _SCAN(text, 0)
        if end != len(text):
            value = DECODER.decode(text)
    except StopIteration as error:
        raise _broken("no JSON value", error.value) from error
    except ValueError as error:
        raise _broken(getattr(error, "msg", str(error)), getattr(error, "pos", 0)) from error
    except RecursionError as error:
        raise _broken("nested too deeply", 0) from error
    if not isinstance(value, dict):
        raise TableError(
            "HG-205", f"a line that is no object: {text[:40]}", fix='write {"column": value, …} on each line'
        )
    return value


def _broken(problem: str, position: int) -> TableError:
    message = f"a line that is not JSON: {problem[:1].lower()}{problem[1:80]}"
    return TableError("HG-205", message, place=Place(column=position + 1), fix='write {"column": value, …} on one line')
