"""Tables to files and pipes: Parquet, CSV and NDJSON.

The laws: a file appears whole or not at all (a temporary sibling is renamed when all is written), and appears even
when empty; what the readers make of it is the table again (in CSV an empty text is null). JSON columns are nested
values in NDJSON and text elsewhere. Text is built column by column in Arrow.
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph import storage
from heliograph.errors import Place, TableError, UsageError
from heliograph.io.coerce import json_text, nulls
from heliograph.io.schemas import CellKind, TableSchema, table_schema
from heliograph.io.sources import PIPE, TABLE_SUFFIXES, is_special

Cells = Any  # an Arrow array; the stubs know no function of arrays and scalars

_NEWLINE, _RETURN = b"\n\r"
_ESCAPED = np.zeros(256, np.bool_)  # bytes that JSON writes otherwise, or might
_ESCAPED[[*range(0x20), *b'"\\\x7f']] = True


# --- the text of tables ---


def csv_table(schema: TableSchema, table: pa.Table) -> pa.Table:
    """The table with every column as the text of its fields."""
    fields: dict[str, Cells] = {}
    for column in schema.columns:
        cells: Cells = table[column.name]
        if column.kind is CellKind.TIME:
            cells = _iso(cells)
        elif column.kind is CellKind.LABELS:
            cells = pa.chunked_array([_labels(chunk) for chunk in cells.chunks], type=pa.string())
        fields[column.name] = cells.cast(pa.string())
    return pa.table(fields)


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


def _json(kind: CellKind, cells: Cells) -> tuple[str, Cells, str]:
    """A column as JSON: the cells' texts, and what stands before and after each."""
    if kind is CellKind.NUMBER and pc.all(pc.is_finite(cells)).as_py() is False:
        texts = _mapped(cells, lambda value: json.dumps(value if math.isfinite(value) else str(value)))
    elif kind in (CellKind.INTEGER, CellKind.TRUTH, CellKind.NUMBER):
        texts = cells.cast(pa.string())
    elif kind is CellKind.LABELS:
        texts = _labels(cells)
    elif kind is CellKind.JSON:
        texts = _objects(cells)
    else:
        if kind is CellKind.TIME:
            cells = _iso(cells)
        if kind is not CellKind.TIME and _ESCAPED[np.frombuffer(_data(cells), np.uint8)].any():
            texts = _mapped(cells, _string)
        elif not cells.null_count:
            return '"', cells, '"'
        else:
            texts = pc.binary_join_element_wise('"', cells, '"', "")
    return "", pc.fill_null(texts, "null"), ""


def _data(cells: Cells) -> memoryview:
    """The bytes of all texts, one after the other."""
    _, offsets, data = cells.buffers()
    if data is None:
        return memoryview(b"")
    bounds = np.frombuffer(offsets, np.int32)
    return memoryview(data)[bounds[cells.offset] : bounds[cells.offset + len(cells)]]


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


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
    data = np.frombuffer(_data(cells), np.uint8)
    breaks = ((data == _NEWLINE) | (data == _RETURN)).any()
    if breaks or not all(map(_is_compact, cells.drop_null().to_pylist())):
        return _mapped(cells, _nested)
    return cells


def _is_compact(text: str) -> bool:
    """Whether this is an object or a list and nothing else; the decoder's own scanner takes half its time."""
    try:
        return text[:1] in ("{", "[") and _STRICT.scan_once(text, 0)[1] == len(text)
    except (ValueError, StopIteration, RecursionError):
        return False


def _nested(text: str) -> str:
    """JSON text as the object or list that it is; anything else as a string, so that it reads back as that text."""
    try:
        value = _STRICT.decode(text)
    except (ValueError, RecursionError):
        return _string(text)
    if not isinstance(value, (dict, list)):
        return _string(text)
    return text if "\n" not in text and "\r" not in text else json_text(value)


# --- writers ---


def open_writer(name: str, path: str | os.PathLike[str]) -> Writer:
    """A writer of the table `name`; the suffix of `path` decides the format, `-` is NDJSON on standard output."""
    schema = table_schema(name)
    text = os.fspath(path)
    if text == PIPE:
        return StreamWriter(name, sys.stdout.buffer)
    target = Path(text)
    if is_special(target):
        return StreamWriter(name, _opened(target, "wb"), close=True)
    if target.suffix.lower() not in TABLE_SUFFIXES:
        fix = f"end it in {' '.join(TABLE_SUFFIXES)}"
        raise UsageError("HG-022", f"{text} ends in {target.suffix or 'no suffix'}", fix=fix)
    if os.path.isdir(text):
        raise UsageError("HG-025", f"{text} is a folder", fix=f"give a file in it, such as {target / name}.parquet")
    if not os.path.isdir(target.parent):
        raise UsageError("HG-025", f"no folder {target.parent} for {text}", fix=f"make it: mkdir -p {target.parent}")
    return FileWriter(schema, target)


class StreamWriter:
    """NDJSON on a stream, flushed after each table. `write` returns False once the reader has gone away."""

    def __init__(self, name: str, stream: IO[bytes], *, close: bool = False) -> None:
        self._schema = table_schema(name)
        self._stream = stream
        self._close = close
        self._wanted = True

    def write(self, table: pa.Table | pa.RecordBatch) -> bool:
        if self._wanted and table.num_rows:
            try:
                self._stream.write(ndjson_bytes(self._schema, conform(self._schema, table)))
                self._stream.flush()
            except BrokenPipeError:
                self._wanted = False
                _forget(self._stream)
            except OSError as error:
                _forget(self._stream)
                raise _unwritable("the output", error) from error
        return self._wanted

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._close:
            with suppress(BrokenPipeError):
                self._stream.close()


def _forget(stream: IO[bytes]) -> None:
    """Send what is left to nowhere, or the interpreter would complain about the pipe once more when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class FileWriter:
    """A file that is written beside its place and moved there when the block ends without an error (or by Ctrl-C).

    What a killed writer of the same file left is removed first.
    """

    def __init__(self, schema: TableSchema, path: Path) -> None:
        self._schema = schema
        self._path = Path(os.path.realpath(path))
        storage.sweep(self._path.parent, f".{self._path.name}.", ".part", ours=Path.is_file)

        def new_part() -> Path:
            part = self._path.with_name(f".{self._path.name}.{storage.mark()}.part")
            _opened(part, "xb").close()
            return part

        self._part, self._lock = storage.begin(new_part)
        self._file = _opened(self._part, "wb")
        self._encode, self._end = _encoder(schema, self._file, path.suffix.lower())

    def write(self, table: pa.Table | pa.RecordBatch) -> bool:
        try:
            self._encode(conform(self._schema, table))
        except OSError as error:
            raise _unwritable(str(self._path), error) from error
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        wanted = kind is None or issubclass(kind, KeyboardInterrupt)
        try:
            self._end()
            self._file.close()
            if wanted:
                os.replace(self._part, self._path)
        except OSError as problem:
            if wanted:
                raise _unwritable(str(self._path), problem) from problem
        finally:
            self._file.close()
            self._part.unlink(missing_ok=True)
            self._lock.release()


Writer = StreamWriter | FileWriter


def _opened(path: Path, mode: Literal["wb", "xb"]) -> IO[bytes]:
    try:
        return path.open(mode)
    except (OSError, ValueError) as error:
        raise _unwritable(str(path), error) from error


def _unwritable(name: str, error: OSError | ValueError) -> TableError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)[:120]
    return TableError("HG-209", f"cannot write: {reason}", place=Place(name), fix="check the folder and the disk")


def conform(schema: TableSchema, table: pa.Table | pa.RecordBatch) -> pa.Table:
    """The table with exactly the schema's columns; those it lacks are null."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if table.schema.equals(schema.arrow):
        return table
    schema.check(table.column_names, Place(schema.name))
    columns = [
        table[column.name].cast(column.type) if column.name in table.column_names else nulls(len(table), column.type)
        for column in schema.columns
    ]
    return pa.Table.from_arrays(columns, schema=schema.arrow)


def _encoder(schema: TableSchema, file: IO[bytes], suffix: str) -> tuple[Callable[[pa.Table], Any], Callable[[], Any]]:
    """What writes a table to the file in the format of a suffix, and what ends the file."""
    if suffix == ".parquet":
        from pyarrow import parquet

        written: Any = parquet.ParquetWriter(file, schema.arrow)
        return lambda table: table.num_rows and written.write_table(table), written.close
    if suffix == ".csv":
        from pyarrow import csv

        lines = csv.CSVWriter(file, csv_table(schema, schema.empty()).schema)
        return lambda table: lines.write_table(csv_table(schema, table)), lines.close
    return lambda table: file.write(ndjson_bytes(schema, table)), file.flush
