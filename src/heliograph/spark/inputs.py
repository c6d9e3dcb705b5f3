"""Publications, events and files on their way into Spark, read by the workers as the embedded engines read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from heliograph.io.documents import read_documents
from heliograph.io.publications import group_rows
from heliograph.io.schemas import table_schema
from heliograph.io.sources import DOCUMENT_SUFFIXES, FEED_SUFFIXES, TABLE_SUFFIXES, Source, find_sources
from heliograph.io.tables import TableRows, read_encoded, read_table
from heliograph.model import REJECTED_SCHEMA, Rejected, Rejections
from heliograph.route.shares import homes
from heliograph.spark.envelope import FOR_SHARDS, encoded, from_bytes, larger, larger_tables, parcel, together
from heliograph.spark.frames import (
    REFUSAL,
    REJECTED,
    REJECTED_TYPE,
    ROW,
    SOURCE,
    SPARK_TYPES,
    is_read,
    parted,
    plain,
    refusals,
    spelled,
)
from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary
from heliograph.vocabulary.columns import encode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# ----------------------------------------------------------------------------------------------------------------------
# Files as DataFrames, read by the workers with the readers of the embedded engines, so that they mean the same.
#
# A row is a row of the table with its file and number, or the refusal of one. The law: which worker reads a file
# changes nothing; each file is read by one task, and paths must lead to the same files everywhere.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# Publications on their way to a filter: triples, or documents and feeds that are parsed where they lie.
#
# The laws are the embedded reader's: all rows with one publication_id are one publication, so they meet in one task;
# documents share no blank nodes, so where one publication has parts in several, those of each are named anew.
# ----------------------------------------------------------------------------------------------------------------------

pc: Any = pyarrow.compute

DOCUMENTS = {"path", "content"}
_TEXTS = ("publication_id", "subject", "property", "object", SOURCE)
_AT_ONCE = 1 << 18  # rows dealt together


def publication_rows(frame: DataFrame) -> DataFrame:
    """Triples by publication, each publication's in one partition; they travel in parcels, not row by row."""
    parts = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    files = files_of(frame)
    if files is not None:
        packed = files.mapInArrow(partial(read_and_deal, parts), FOR_SHARDS)
    elif set(frame.columns) >= DOCUMENTS and not is_read(frame):
        packed = frame.select("path", "content").mapInArrow(partial(parse_and_deal, parts), FOR_SHARDS)
    else:
        packed = spelled(frame, "publications").mapInArrow(partial(deal, parts), FOR_SHARDS)
    return packed.repartitionById(parts, "shard")


# --- in the workers ---------------------------------------------------------------------------------------------


def read_and_deal(parts: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for tables in larger_tables(read_tables("publications", batches), _AT_ONCE):
        whole = tables[0] if len(tables) == 1 else together([encoded(table, _TEXTS) for table in tables])
        yield from _parcels(parts, whole)


def parse_and_deal(parts: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return deal(parts, parse(batches))


def deal(parts: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Triples as parcels, all of one publication for the same part."""
    for table in larger(batches, _AT_ONCE):
        yield from _parcels(parts, table)


def _parcels(parts: int, table: pa.Table) -> Iterator[pa.RecordBatch]:
    rows, bounds = _dealt(_slim(encoded(table, _TEXTS)), parts)
    for part, (first, last) in enumerate(pairwise(bounds)):
        if first < last:
            yield parcel(part, encoded(rows.slice(first, last - first), ()) if parts > 1 else rows)


def _slim(table: pa.Table) -> pa.Table:
    """Without what a parcel need not carry: refusals where there are none, and the upper halves of row numbers."""
    if REJECTED in table.column_names and table[REJECTED].null_count == table.num_rows:
        table = table.drop_columns([REJECTED])
    if ROW in table.column_names and (pc.max(table[ROW]).as_py() or 0) <= np.iinfo(np.int32).max:
        table = table.set_column(table.column_names.index(ROW), ROW, table[ROW].cast(pa.int32()))
    return table


def _dealt(table: pa.Table, parts: int) -> tuple[pa.Table, list[int]]:
    """The rows in the order of their parts, and where each part begins."""
    if parts == 1:
        return table, [0, table.num_rows]
    codes, dictionary = encode(table["publication_id"])
    places = np.array([crc32((id or "").encode()) % parts for id in [*dictionary.to_pylist(), None]], np.int64)
    place = places[codes]  # of a null id, -1, the last
    bounds = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=parts))])
    return table.take(np.argsort(place, kind="stable")), bounds.tolist()


def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Documents and feeds as triples of publications, and what was refused of them."""
    for batch in batches:
        rows: list[dict[str, Any]] = batch.to_pylist()
        for row in rows:
            yield from document_rows(Source(Path(row["path"]), row["path"], row["content"] or b""))


class Intake(NamedTuple):
    """The publications of a task, and what was refused before they came here."""

    table: pa.Table
    rejected: list[Rejected]

    def refusals(self) -> Iterator[pa.RecordBatch]:
        return refusals(self.rejected) if self.rejected else iter(())

    def parts(self, size: int) -> Iterator[pa.Table]:
        """The rows of so many publications at a time."""
        groups = group_rows(self.table, "publication_id")
        if len(groups.ids) <= size:
            yield self.table
            return
        ordered = self.table if _is_ordered(groups.permutation) else self.table.take(groups.permutation)
        bounds = [*groups.offsets[:-1:size].tolist(), len(groups.permutation)]
        for first, last in pairwise(bounds):
            yield ordered.slice(first, last - first)


def _is_ordered(places: npt.NDArray[np.int64]) -> bool:
    return bool((places[1:] > places[:-1]).all())


def intake(batches: Iterable[pa.RecordBatch]) -> Intake:
    """All publications of a task; their rows are in no order."""
    tables = [from_bytes(payload) for batch in batches for payload in batch["payload"].to_pylist() if payload]
    if not tables:
        return Intake(table_schema("publications").empty(), [])
    table, rejected = parted(together(tables))
    return Intake(_apart(table) if SOURCE in table.column_names else table, rejected)


def placed(table: pa.Table) -> pa.Table | TableRows:
    """The rows with their places, where they are known, so that a refusal can name file and row."""
    if SOURCE not in table.column_names:
        return table
    names: Any = table[SOURCE].combine_chunks()
    codes = names.indices.to_numpy(zero_copy_only=False)
    rows = table if len(names.dictionary) == 1 else table.take(np.argsort(codes, kind="stable"))
    sizes = np.bincount(codes, minlength=len(names.dictionary))
    numbers = pc.fill_null(rows[ROW], 0).to_numpy()
    terms, ends = plain(rows), np.cumsum(sizes)
    parts = []
    for name, first, last in zip(names.dictionary.to_pylist(), [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        parts.append(TableRows(name, terms.slice(first, last - first), Rejections(), numbers[first:last]))
    return TableRows(None, terms, Rejections(), numbers, tuple(parts), tuple(ends.tolist()))


def _apart(table: pa.Table) -> pa.Table:
    """Blank nodes of documents named anew where a publication has parts in several files."""
    sources: Any = table[SOURCE].combine_chunks()
    if len(sources.dictionary) == 1:
        return table
    keys = pa.table({"publication_id": table["publication_id"], SOURCE: sources.indices})
    pairs = keys.group_by(["publication_id", SOURCE]).aggregate([])
    if len(pairs) == len(pc.unique(pairs["publication_id"])):
        return table
    suffix = pc.binary_join_element_wise("", pc.cast(sources.indices, pa.string()), "-d")
    of_document = pc.is_null(table[ROW].combine_chunks())
    for name in ("subject", "object"):
        cells = table[name].cast(pa.string()).combine_chunks()
        where = pc.and_(of_document, pc.fill_null(pc.starts_with(cells, "_:"), False))
        renamed = pc.binary_join_element_wise(cells, suffix, "")
        table = table.set_column(table.column_names.index(name), name, pc.if_else(where, renamed, cells))
    return table


# ----------------------------------------------------------------------------------------------------------------------
# Events on their way to a route: dealt by event_id to parts, each part for every share of the exchange.
#
# The laws: events with one id meet in one part, so that a second one is refused; which part an event is in changes
# nothing else. They travel as Arrow, many to a cell, and those of files are read where they are dealt.
# ----------------------------------------------------------------------------------------------------------------------

_EVENTS_AT_ONCE = 1 << 17  # events dealt together


def parts_of(frame: DataFrame, shares: int) -> int:
    """So many parts that parts and shares together are as many tasks as a shuffle has."""
    tasks = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    return max(1, tasks // shares)


def event_rows(frame: DataFrame, parts: int, shares: int) -> DataFrame:
    """The events in parcels: each part for all shares."""
    files = files_of(frame)
    if files is not None:
        packed = files.mapInArrow(partial(events_read_and_deal, parts, shares), FOR_SHARDS)
    else:
        packed = spelled(frame, "events").mapInArrow(partial(events_deal, parts, shares), FOR_SHARDS)
    return packed.repartitionById(parts * shares, "shard")


# --- in the workers ---------------------------------------------------------------------------------------------


def events_read_and_deal(parts: int, shares: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return events_deal(parts, shares, read_rows("events", batches))


def events_deal(parts: int, shares: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A parcel for each part and share; those of the first share are numbered first."""
    for table in larger(batches, _EVENTS_AT_ONCE):
        rows, bounds = _events_dealt(table, parts)
        for part, (first, last) in enumerate(pairwise(bounds)):
            for share in range(shares if first < last else 0):
                yield parcel(share * parts + part, rows.slice(first, last - first))


def _events_dealt(table: pa.Table, parts: int) -> tuple[pa.Table, list[int]]:
    """The rows in the order of their parts, without their places in files, and where each part begins."""
    table = table.drop_columns([name for name in (SOURCE, ROW) if name in table.column_names])
    if parts == 1:
        return table, [0, table.num_rows]
    place = homes(table["event_id"].combine_chunks(), parts)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=parts))])
    return table.take(np.argsort(place, kind="stable")), bounds.tolist()


def taken(batches: Iterable[pa.RecordBatch]) -> tuple[int, pa.Table] | None:
    """The number of a task's parcels, and all their rows; None where there are none."""
    number, tables = 0, []
    for batch in batches:
        rows: list[dict[str, Any]] = batch.to_pylist()
        for row in rows:
            number = row["shard"]
            tables.append(from_bytes(row["payload"]))
    return (number, pa.concat_tables(tables)) if tables else None
