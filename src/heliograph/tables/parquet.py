"""Parquet to raw columns, a batch of rows at a time, only the columns that the table has."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from heliograph.errors import Place, TableError
from heliograph.tables.reads import Raw, numbered
from heliograph.tables.schemas import TableSchema
from heliograph.tables.sources import Source

BATCH_ROWS = 1 << 16


def read_parquet(schema: TableSchema, source: Source) -> Iterator[Raw]:
    """The rows of one file. What cannot be read ends it with an error; the batches before stay good."""
    from pyarrow import parquet

    row = 1
    try:
        with parquet.ParquetFile(str(source.path)) as file:
            present = file.schema_arrow.names
            schema.check(present, Place(source.name))
            wanted = [name for name in schema.names if name in present]
            for batch in file.iter_batches(BATCH_ROWS, columns=wanted):
                yield Raw(
                    source.name,
                    dict(zip(batch.schema.names, batch.columns, strict=True)),
                    numbered(row, batch.num_rows),
                )
                row += batch.num_rows
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise _unreadable(source, row, error) from error


def _unreadable(source: Source, row: int, error: BaseException) -> TableError:
    where = "this is no Parquet file" if row == 1 else f"from row {row} on the file is damaged"
    reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
    return TableError(
        "HG-201", f"{where}: {reason}", place=Place(source.name), fix="write it again, or give the right suffix"
    )
