"""Parquet to tables whose texts stay encoded, as the file has them: each distinct text of a row group once.

The law: the rows, their numbers and what is refused are those of `read_table`. Where a file or a row group is not of
texts, or damaged, it is that which reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from heliograph.model import Rejections
from heliograph.tables.parquet import read_group
from heliograph.tables.reader import read_table
from heliograph.tables.reads import Read, finish, numbered
from heliograph.tables.schemas import TableSchema, table_schema
from heliograph.tables.sources import Source

_LARGE = 1 << 28  # bytes of a row group that is read in smaller pieces
_DAMAGED = (pa.ArrowException, OSError, ValueError, MemoryError)


def read_encoded(name: str, source: Source) -> Iterator[Read]:
    """The rows of a source in pieces; those of a Parquet file of texts are encoded."""
    schema = table_schema(name)
    if source.suffix != ".parquet" or not _is_of_texts(schema, source):
        yield from read_table(name, [source])
        return
    from pyarrow import parquet

    with (
        parquet.ParquetFile(str(source.path), read_dictionary=list(schema.names)) as encoded,
        parquet.ParquetFile(str(source.path)) as plain,
    ):
        row = 1
        for group in range(encoded.num_row_groups):
            found = _whole_group(encoded, group, schema)
            if found is None:
                yield from (finish(schema, raw) for raw in read_group(plain, group, list(schema.names), source, row))
            else:
                yield Read(source.name, found, row, Rejections(), numbered(row, found.num_rows))
            row += encoded.metadata.row_group(group).num_rows


def _is_of_texts(schema: TableSchema, source: Source) -> bool:
    """Whether a file has the table's columns, all of them texts."""
    from pyarrow import parquet

    try:
        found = parquet.read_schema(str(source.path))
    except _DAMAGED:
        return False
    names = found.names
    return all(names.count(name) == 1 and pa.types.is_string(found.field(name).type) for name in schema.names)


def _whole_group(file: Any, group: int, schema: TableSchema) -> pa.Table | None:
    """A row group, or None where it is large or something is wrong with it."""
    if file.metadata.row_group(group).total_byte_size > _LARGE:
        return None
    try:
        table: pa.Table = file.read_row_group(group, columns=list(schema.names)).select(list(schema.names))
        table.validate(full=True)  # Parquet promises UTF-8 and does not check it
    except _DAMAGED:
        return None
    return table
