"""Publications on their way to a filter: triples, or documents and feeds that are parsed where they lie.

The laws are the embedded reader's: all rows with one publication_id are one publication, so they meet in one task;
documents share no blank nodes, so where one publication has parts in several, those of the later ones are named anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.feeds import read_documents
from heliograph.model import REJECTED_SCHEMA, Rejected
from heliograph.spark.frames import REJECTED, refusals, shaped
from heliograph.tables.grouping import group_rows
from heliograph.tables.schemas import table_schema
from heliograph.tables.sources import Source
from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pc: Any = pyarrow.compute

DOCUMENTS = {"path", "content"}
SOURCE = "source"

_NAMES = list(table_schema("publications").names)
_POSITIONS = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)
_PARSED = pa.schema(
    [*((name, pa.string()) for name in [*_NAMES, SOURCE]), (REJECTED, pa.struct(list(REJECTED_SCHEMA)))]
)
PARSED = ", ".join(f"{name} string" for name in [*_NAMES, SOURCE]) + (
    f", {REJECTED} struct<{', '.join(f'{name}: string' for name in REJECTED_SCHEMA.names)}>"
)


def publication_rows(frame: DataFrame) -> DataFrame:
    """Triples by publication, each publication's in one partition."""
    if set(frame.columns) >= {*_NAMES, SOURCE, REJECTED}:
        rows = frame  # read by `heliograph.spark` itself
    elif set(frame.columns) >= DOCUMENTS and "publication_id" not in frame.columns:
        rows = frame.select("path", "content").mapInArrow(parse, PARSED)
    else:
        rows = shaped(frame, "publications")
    return rows.repartition("publication_id")


# --- in the workers ---------------------------------------------------------------------------------------------


def parse(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Documents and feeds as triples of publications, and what was refused of them."""
    for batch in batches:
        rows: list[dict[str, Any]] = batch.to_pylist()
        for row in rows:
            yield from parsed(Source(Path(row["path"]), row["path"], row["content"] or b""))


def parsed(source: Source) -> Iterator[pa.RecordBatch]:
    """The triples of one document. Rejections come as rows of their own."""
    vocabulary = Vocabulary()
    for found in read_documents([source], vocabulary):
        publications = found.publications
        ids = np.repeat(np.arange(len(publications.ids)), np.diff(publications.offsets))
        terms = [vocabulary.spell(*column) for column in zip(publications.triples, _POSITIONS, strict=True)]
        columns: list[Any] = [pa.array(publications.ids, pa.string()).take(ids), *terms]
        columns += [pa.repeat(pa.scalar(source.name, pa.string()), len(ids)), pa.nulls(len(ids), _PARSED.field(5).type)]
        yield from pa.Table.from_arrays(columns, schema=_PARSED).to_batches()
        yield from refused_rows(found.rejected)


def refused_rows(rejected: Iterable[Rejected]) -> Iterator[pa.RecordBatch]:
    """What was refused on the way, as rows among triples."""
    rows = [{name: getattr(entry, name) for name in REJECTED_SCHEMA.names} for entry in rejected]
    if rows:
        nothing = [pa.nulls(len(rows), pa.string())] * (len(_NAMES) + 1)
        yield pa.RecordBatch.from_arrays([*nothing, pa.array(rows, _PARSED.field(5).type)], schema=_PARSED)


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
        ordered = self.table.take(groups.permutation)
        bounds = [*groups.offsets[:-1:size].tolist(), len(groups.permutation)]
        for first, last in pairwise(bounds):
            yield ordered.slice(first, last - first)


def intake(batches: Iterable[pa.RecordBatch]) -> Intake:
    """All publications of a task; their rows are in no order."""
    some = [batch for batch in batches if batch.num_rows]
    if not some:
        return Intake(table_schema("publications").empty(), [])
    table = pa.Table.from_batches(some)
    if REJECTED not in table.column_names:
        return Intake(table, [])
    refused: list[Any] = table.filter(pc.is_valid(table[REJECTED]))[REJECTED].to_pylist()
    good = _apart(table.filter(pc.is_null(table[REJECTED])).drop_columns([REJECTED]))
    return Intake(good.drop_columns([SOURCE]), [Rejected(**entry) for entry in refused])


def _apart(table: pa.Table) -> pa.Table:
    """Blank nodes named anew where a publication has parts in several documents."""
    pairs = table.select(["publication_id", SOURCE]).group_by(["publication_id", SOURCE]).aggregate([])
    if len(pairs) == len(pc.unique(pairs["publication_id"])):
        return table
    codes = pc.fill_null(table[SOURCE].combine_chunks(), "").dictionary_encode().indices
    suffix = pc.binary_join_element_wise("", pc.cast(codes, pa.string()), "-d")
    for name in ("subject", "object"):
        cells = table[name].combine_chunks()
        renamed = pc.binary_join_element_wise(cells, suffix, "")
        where = pc.fill_null(pc.starts_with(cells, "_:"), False)
        table = table.set_column(table.column_names.index(name), name, pc.if_else(where, renamed, cells))
    return table
