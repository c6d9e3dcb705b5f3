"""Publications on their way to a filter: triples, or documents and feeds that are parsed where they lie.

The laws are the embedded reader's: all rows with one publication_id are one publication, so they meet in one task;
documents share no blank nodes, so where one publication has parts in several, those of each are named anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from heliograph.cells import encode
from heliograph.model import Rejected, Rejections
from heliograph.spark.frames import REJECTED, ROW, SOURCE, is_read, parted, plain, refusals
from heliograph.spark.packing import FOR_SHARDS, encoded, from_bytes, larger, larger_tables, parcel, together
from heliograph.spark.reading import document_rows, files_of, read_tables
from heliograph.spark.spelling import spelled
from heliograph.tables.grouping import group_rows
from heliograph.tables.reader import Whole
from heliograph.tables.reads import Read
from heliograph.tables.schemas import table_schema
from heliograph.tables.sources import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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


def placed(table: pa.Table) -> pa.Table | Whole:
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
        parts.append(Read(name, terms.slice(first, last - first), 1, Rejections(), numbers[first:last]))
    return Whole(terms, Rejections(), tuple(parts), tuple(ends.tolist()))


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
