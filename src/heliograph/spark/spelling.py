"""Columns of other types than the table has: their cells are spelled as the embedded reader spells them.

The law: a cell means the same on Spark as in the embedded engines. The JVM casts texts, whole numbers and truth values
as the reader does; a double, a date or a struct it would cast to the name of something else. So those go to the workers
as they are, and what the reader refuses of them is a refusal here too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from heliograph.errors import Place
from heliograph.model import REJECTED_SCHEMA, Rejections
from heliograph.spark.frames import REFUSAL, REJECTED, REJECTED_TYPE, SPARK_TYPES, is_read, shaped
from heliograph.tables.items import as_table
from heliograph.tables.schemas import Kind, table_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TEXTS = {"string", "void", "binary"}  # bytes are refused when the frame is shaped
_WHOLE = {*_TEXTS, "tinyint", "smallint", "int", "bigint"}
_CAST = {
    Kind.JSON: _TEXTS,
    Kind.INTEGER: _WHOLE,
    Kind.NUMBER: {*_WHOLE, "double"},
    Kind.TIME: {*_TEXTS, "timestamp"},
    Kind.LABELS: {*_TEXTS, "array<string>"},
}
"""The types that the JVM casts as the reader does; to texts and terms also truth values."""


def spelled(frame: DataFrame, name: str) -> DataFrame:
    """A DataFrame as `shaped`; with refusals in a column `rejected` where its cells had to be read."""
    table_schema(name).check(frame.columns, Place(name))
    if is_read(frame) or not strange(frame, name):
        return shaped(frame, name)
    known = [frame[column] for column in table_schema(name).names if column in frame.columns]
    own = (f"{column.name} {SPARK_TYPES.get(column.kind, 'string')}" for column in table_schema(name).columns)
    return frame.select(*known).mapInArrow(partial(spell, name), ", ".join([*own, REFUSAL]))


def strange(frame: DataFrame, name: str) -> list[str]:
    """The columns that the JVM would cast to something else."""
    types = {field.name: field.dataType.simpleString() for field in frame.schema}
    columns = table_schema(name).columns
    usual = {column.name: _CAST.get(column.kind, {*_WHOLE, "boolean"}) for column in columns if column.name in types}
    return [column for column, cast in usual.items() if types[column] not in cast]


# --- in the workers ---------------------------------------------------------------------------------------------


def spell(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows as the embedded reader reads them, and what it refuses as rows of their own."""
    schema = pa.schema([*table_schema(name).arrow, pa.field(REJECTED, REJECTED_TYPE)])
    for batch in batches:
        read = as_table(name, batch)
        good: list[Any] = [*read.table.columns, pa.nulls(read.table.num_rows, REJECTED_TYPE)]
        yield from pa.Table.from_arrays(good, schema=schema).to_batches()
        yield from refused(read.rejected, schema)


def refused(rejected: Rejections, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows = [{name: getattr(entry, name) for name in REJECTED_SCHEMA.names} for entry in rejected]
    if rows:
        nothing = [pa.nulls(len(rows), field.type) for field in list(schema)[:-1]]
        yield pa.RecordBatch.from_arrays([*nothing, pa.array(rows, REJECTED_TYPE)], schema=schema)
