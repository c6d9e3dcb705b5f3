"""Parquet to raw columns, a batch of rows at a time, only the columns that the table has.

A damaged row group costs its own rows: it is refused with their numbers, and the next one is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from heliograph.errors import Place, TableError
from heliograph.model import Rejected
from heliograph.tables.reads import Raw, Refused, numbered
from heliograph.tables.schemas import TableSchema
from heliograph.tables.sources import Source

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

BATCH_ROWS = 1 << 17
_DAMAGED = (pa.ArrowException, OSError, ValueError, MemoryError)


def read_parquet(schema: TableSchema, source: Source) -> Iterator[Raw]:
    """The rows of one file, row group by row group."""
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(str(source.path))
        present = file.schema_arrow.names
    except _DAMAGED as error:
        raise _unreadable(source, "no Parquet file", error) from error
    with file:
        schema.check(present, Place(source.name))
        schema.hint(present, Place(source.name))
        wanted = [name for name in schema.names if name in present]
        row = 1
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            yield from read_group(file, group, wanted, source, row)
            row += rows


def read_group(file: ParquetFile, group: int, wanted: list[str], source: Source, row: int) -> Iterator[Raw]:
    """The batches of one row group, whose first row has the number `row`; damage ends them with a refusal."""
    last = row + file.metadata.row_group(group).num_rows - 1
    try:
        for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=wanted):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield Raw(source.name, columns, numbered(row, batch.num_rows))
            row += batch.num_rows
    except _DAMAGED as error:
        problem = _unreadable(source, f"rows {row} to {last} are damaged", error)
        yield Raw(source.name, {}, numbered(row, 0), [Refused(row, Rejected.of(problem, item=str(row)))])


def _unreadable(source: Source, problem: str, error: BaseException) -> TableError:
    reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
    fix = "write the file again, or give it the suffix of what it is"
    return TableError("HG-201", f"{problem}: {reason}", place=Place(source.name), fix=fix)
