"""Tables from files and pipes: `read_table` piece by piece, `read_all` at once.

A file that cannot be read, or lacks a column, is one rejection; the other files still come through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.errors import HeliographError, Place, TableError, UsageError
from heliograph.model import Rejected, Rejections
from heliograph.tables.csvs import read_csv
from heliograph.tables.ndjson import read_ndjson
from heliograph.tables.parquet import read_parquet
from heliograph.tables.reads import Raw, Read, failed, finish
from heliograph.tables.schemas import TableSchema, table_schema
from heliograph.tables.sources import TABLE_SUFFIXES, Source

_FORMATS: Mapping[str, Callable[[TableSchema, Source], Iterator[Raw]]] = {
    ".parquet": read_parquet,
    ".csv": read_csv,
    ".ndjson": read_ndjson,
    ".jsonl": read_ndjson,
}


class Whole(NamedTuple):
    """A whole table from several sources; `ends[i]` is where the rows of `parts[i]` end in it."""

    table: pa.Table
    rejected: Rejections
    parts: tuple[Read, ...]
    ends: tuple[int, ...]

    def place(self, index: int) -> Place:
        """Where the table's row `index` (from 0) stood."""
        part = int(np.searchsorted(self.ends, index, side="right"))
        return self.parts[part].place(index - (self.ends[part - 1] if part else 0))


def read_table(name: str, sources: Sequence[Source]) -> Iterator[Read]:
    """The rows of all sources in order, in pieces; from a pipe as they arrive."""
    schema = table_schema(name)
    for source in sources:
        yield from _read_source(schema, source)


def read_all(name: str, sources: Sequence[Source]) -> Whole:
    """All rows of all sources as one table."""
    parts = tuple(read_table(name, sources))
    table = pa.concat_tables([table_schema(name).empty(), *(part.table for part in parts)])
    rejected: list[Rejected] = [entry for part in parts for entry in part.rejected]
    ends = np.cumsum([part.table.num_rows for part in parts])
    return Whole(table, Rejections(rejected), parts, tuple(ends.tolist()))


def _read_source(schema: TableSchema, source: Source) -> Iterator[Read]:
    try:
        for raw in _reader(source)(schema, source):
            read = finish(schema, raw)
            if read.table.num_rows or read.rejected:
                yield read
    except HeliographError as error:
        yield failed(source.name, error, schema)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        problem = TableError("HG-201", f"cannot read it: {reason}", place=Place(source.name), fix="check the file")
        yield failed(source.name, problem, schema)
    except (MemoryError, RecursionError) as error:
        reason = f"cannot read it: {type(error).__name__}"
        problem = TableError("HG-201", reason, place=Place(source.name), fix="cut it into smaller files")
        yield failed(source.name, problem, schema)


def _reader(source: Source) -> Callable[[TableSchema, Source], Iterator[Raw]]:
    if source.is_pipe:
        return read_ndjson
    reader = _FORMATS.get(source.suffix)
    if reader is None:
        accepted = " ".join(TABLE_SUFFIXES)
        raise UsageError("HG-022", f"{source.name} is no table", fix=f"give a file that ends in {accepted}")
    return reader
