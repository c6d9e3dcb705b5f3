"""Tables to files and pipes.

The laws: a file appears whole or not at all (a temporary sibling is renamed when all is written), and appears even when
empty; reading what was written gives the same table. JSON columns are nested values in NDJSON and text elsewhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Protocol, Self

import pyarrow as pa

from heliograph import locks
from heliograph.errors import Place, TableError, UsageError
from heliograph.tables.columns import nulls
from heliograph.tables.encoding import csv_table, ndjson_bytes
from heliograph.tables.schemas import TableSchema, table_schema
from heliograph.tables.sources import PIPE, TABLE_SUFFIXES, is_special


class Writer(Protocol):
    """Something that takes tables. `write` returns False once nobody reads any more."""

    def write(self, table: pa.Table | pa.RecordBatch) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_writer(name: str, path: str | os.PathLike[str]) -> Writer:
    """A writer of the table `name`; the suffix of `path` decides the format, `-` is NDJSON on standard output."""
    schema, text = table_schema(name), os.fspath(path)
    if text == PIPE:
        return StreamWriter(name, sys.stdout.buffer)
    target = Path(text)
    if is_special(target):
        return StreamWriter(name, _opened(target, "wb"), close=True)
    encoder = _ENCODERS.get(target.suffix.lower())
    if encoder is None:
        raise UsageError(
            "HG-022", f"{text} ends in {target.suffix or 'no suffix'}", fix=f"end it in {' '.join(TABLE_SUFFIXES)}"
        )
    if os.path.isdir(text):
        raise UsageError("HG-025", f"{text} is a folder", fix=f"give a file in it, such as {target / name}.parquet")
    if not os.path.isdir(target.parent):
        raise UsageError("HG-025", f"no folder {target.parent} for {text}", fix=f"make it: mkdir -p {target.parent}")
    return FileWriter(schema, target, encoder)


class StreamWriter:
    """NDJSON on a stream, flushed after each table. A reader that has gone away ends it quietly."""

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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._close:
            with suppress(BrokenPipeError):
                self._stream.close()


def _forget(stream: IO[bytes]) -> None:
    """Send what is left to nowhere, or the interpreter would complain about the pipe once more when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Encoder(Protocol):
    def write(self, table: pa.Table) -> None: ...
    def close(self) -> None: ...


class FileWriter:
    """A file that is written beside its place and moved there when the block ends without an error (or by Ctrl-C).

    What a killed writer of the same file left is removed first.
    """

    def __init__(self, schema: TableSchema, path: Path, encoder: Callable[[TableSchema, IO[bytes]], Encoder]) -> None:
        self._schema = schema
        self._path = Path(os.path.realpath(path))
        locks.sweep(self._path.parent, f".{self._path.name}.", ".part", ours=Path.is_file)
        self._part, self._lock = locks.begin(self._new_part)
        self._file = _opened(self._part, "wb")
        self._encoder = encoder(schema, self._file)

    def _new_part(self) -> Path:
        part = self._path.with_name(f".{self._path.name}.{locks.mark()}.part")
        _opened(part, "xb").close()
        return part

    def write(self, table: pa.Table | pa.RecordBatch) -> bool:
        try:
            self._encoder.write(conform(self._schema, table))
        except OSError as error:
            raise _unwritable(str(self._path), error) from error
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        wanted = kind is None or issubclass(kind, KeyboardInterrupt)
        try:
            self._encoder.close()
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


class _Ndjson:
    def __init__(self, schema: TableSchema, file: IO[bytes]) -> None:
        self._schema, self._file = schema, file

    def write(self, table: pa.Table) -> None:
        self._file.write(ndjson_bytes(self._schema, table))

    def close(self) -> None:
        self._file.flush()


class _Csv:
    def __init__(self, schema: TableSchema, file: IO[bytes]) -> None:
        from pyarrow import csv

        self._schema = schema
        self._writer = csv.CSVWriter(file, csv_table(schema, schema.empty()).schema)

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(csv_table(self._schema, table))

    def close(self) -> None:
        self._writer.close()


class _Parquet:
    def __init__(self, schema: TableSchema, file: IO[bytes]) -> None:
        from pyarrow import parquet

        self._writer = parquet.ParquetWriter(file, schema.arrow)

    def write(self, table: pa.Table) -> None:
        if table.num_rows:
            self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()


_ENCODERS: dict[str, Callable[[TableSchema, IO[bytes]], Any]] = {
    ".parquet": _Parquet,
    ".csv": _Csv,
    ".ndjson": _Ndjson,
    ".jsonl": _Ndjson,
}
