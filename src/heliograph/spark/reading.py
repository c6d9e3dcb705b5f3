"""Files as DataFrames, read by the workers with the readers of the embedded engines, so that they mean the same.

A row is a row of the table with its file and number, or the refusal of one. The law: which worker reads a file changes
nothing; each file is read by one task, and paths must lead to the same files everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa

from heliograph.feeds import read_documents
from heliograph.model import REJECTED_SCHEMA, Rejected
from heliograph.spark.frames import REFUSAL, REJECTED_TYPE, ROW, SOURCE, SPARK_TYPES
from heliograph.tables.encoded import read_encoded
from heliograph.tables.reader import read_table
from heliograph.tables.schemas import table_schema
from heliograph.tables.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, TABLE_SUFFIXES, Source, find_sources
from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_POSITIONS = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)
_FILES = "path string, name string"
_BINARY = "path string, modificationTime timestamp, length bigint, content binary"  # Spark's, which it does not presume


def read_schema(name: str) -> str:
    """The columns of a table that was read, as Spark spells them."""
    own = (f"{column.name} {SPARK_TYPES.get(column.kind, 'string')}" for column in table_schema(name).columns)
    return ", ".join([*own, f"{SOURCE} string", f"{ROW} bigint", REFUSAL])


def _arrow_schema(name: str) -> pa.Schema:
    more = [pa.field(SOURCE, pa.string()), pa.field(ROW, pa.int64()), pa.field("rejected", REJECTED_TYPE)]
    return pa.schema([*table_schema(name).arrow, *more])


def read_files(spark: SparkSession, name: str, sources: Sequence[Source]) -> DataFrame:
    """The rows of these files, in the order of the files."""
    rows = [(str(Path(str(source.path)).absolute()), source.name) for source in sources]
    return _rows_of(spark.createDataFrame(rows, _FILES), name)


def follow_folder(spark: SparkSession, name: str, folder: str, suffixes: Sequence[str]) -> DataFrame:
    """The rows of the files in a folder, and of those that come to it, as a stream."""
    from pyspark.sql import functions

    base = str(Path(folder).resolve())
    glob = f"*.{{{','.join(suffix.removeprefix('.') for suffix in suffixes)}}}"
    reader = spark.readStream.format("binaryFile").option("pathGlobFilter", glob).option("recursiveFileLookup", "true")
    reader = reader.option("maxFileAge", "36500d")  # Spark would pass over what is a week older than the newest
    path = functions.expr("regexp_replace(path, '^file:/+', '/')")  # spelled as it is, a percent sign too
    files = reader.schema(_BINARY).load(base).select(path.alias("path"))
    name_of = functions.substring(files["path"], functions.lit(len(base) + 2), functions.length(files["path"]))
    return _rows_of(files.select("path", name_of.alias("name")), name)


_READ: WeakKeyDictionary[Any, DataFrame] = WeakKeyDictionary()
"""By a DataFrame of rows the DataFrame of the files that they are read from."""


def _rows_of(files: DataFrame, name: str) -> DataFrame:
    rows = files.mapInArrow(partial(read_rows, name), read_schema(name))
    _READ[rows] = files
    return rows


def files_of(rows: DataFrame) -> DataFrame | None:
    """The files of rows that were read here: who reads them himself spares the rows their way through the JVM."""
    return _READ.get(rows)


def read(spark: SparkSession, name: str, spec: str, *, follow: bool = False) -> DataFrame:
    """A table of the contract from a file, a folder or a glob, as the embedded engines read it.

    Publications may be documents and feeds too. `follow` makes it a stream of what is in a folder and comes to it.
    """
    if follow:
        return follow_folder(spark, name, spec, suffixes_of(name))
    return read_files(spark, name, find_sources(spec, suffixes_of(name)))


def suffixes_of(name: str) -> tuple[str, ...]:
    """The files that a table can be read from."""
    return TABLE_SUFFIXES + (DOCUMENT_SUFFIXES + FEED_SUFFIXES if name == "publications" else ())


# --- in the workers ---------------------------------------------------------------------------------------------


def read_rows(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Files as rows of a table."""
    for batch in batches:
        files: list[dict[str, Any]] = batch.to_pylist()
        for file in files:
            source = Source(Path(file["path"]), file["name"])
            yield from (table_rows(name, source) if source.suffix in TABLE_SUFFIXES else document_rows(source))


def table_rows(name: str, source: Source) -> Iterator[pa.RecordBatch]:
    schema = _arrow_schema(name)
    for read in read_table(name, [source]):
        size = read.table.num_rows
        origin: list[Any] = [
            pa.repeat(pa.scalar(source.name, pa.string()), size),
            pa.array(read.rows),
            pa.nulls(size, REJECTED_TYPE),
        ]
        yield from pa.Table.from_arrays([*read.table.columns, *origin], schema=schema).to_batches()
        yield from refused_rows(name, read.rejected)


def read_tables(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Files as tables for a worker: texts may be encoded, and a column of refusals is only where there are some."""
    for batch in batches:
        files: list[dict[str, Any]] = batch.to_pylist()
        for file in files:
            source = Source(Path(file["path"]), file["name"])
            if source.suffix in TABLE_SUFFIXES:
                yield from _encoded_tables(name, source)
            else:
                yield from map(_alone, document_rows(source))


def _encoded_tables(name: str, source: Source) -> Iterator[pa.Table]:
    for read in read_encoded(name, source):
        table = read.table
        once = pa.DictionaryArray.from_arrays(np.zeros(table.num_rows, np.int8), pa.array([source.name]))
        yield table.append_column(SOURCE, once).append_column(ROW, pa.array(read.rows))
        yield from map(_alone, refused_rows(name, read.rejected))


def _alone(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def document_rows(source: Source) -> Iterator[pa.RecordBatch]:
    """The triples of one document by publication."""
    vocabulary, schema = Vocabulary(), _arrow_schema("publications")
    for found in read_documents([source], vocabulary):
        publications = found.publications
        ids = np.repeat(np.arange(len(publications.ids)), np.diff(publications.offsets))
        terms = [vocabulary.spell(*column) for column in zip(publications.triples, _POSITIONS, strict=True)]
        columns: list[Any] = [pa.array(publications.ids, pa.string()).take(ids), *terms]
        columns += [pa.repeat(pa.scalar(source.name, pa.string()), len(ids))]
        columns += [pa.nulls(len(ids), pa.int64()), pa.nulls(len(ids), REJECTED_TYPE)]
        yield from pa.Table.from_arrays(columns, schema=schema).to_batches()
        yield from refused_rows("publications", found.rejected)


def refused_rows(name: str, rejected: Iterable[Rejected]) -> Iterator[pa.RecordBatch]:
    """What was refused on the way, as rows of their own."""
    schema = _arrow_schema(name)
    rows = [{name: getattr(entry, name) for name in REJECTED_SCHEMA.names} for entry in rejected]
    if rows:
        nothing = [pa.nulls(len(rows), field.type) for field in list(schema)[:-1]]
        yield pa.RecordBatch.from_arrays([*nothing, pa.array(rows, REJECTED_TYPE)], schema=schema)
