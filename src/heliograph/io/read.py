"""Tables from files and pipes: Parquet, CSV and NDJSON, piece by piece or at once, and rows grouped into
publications.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, Place, TableError, UsageError
from heliograph.io.csv import read_csv
from heliograph.io.ndjson import read_ndjson
from heliograph.io.reads import TABLE_SUFFIXES, Raw, Read, Refused, Source, failed, finish, numbered
from heliograph.io.schemas import TableSchema, table_schema
from heliograph.model import Rejected, Rejections
from heliograph.vocabulary.columns import together

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile


# ----------------------------------------------------------------------------------------------------------------------
# Parquet to raw columns, a batch of rows at a time, only the columns that the table has.
#
# A damaged row group costs its own rows: it is refused with their numbers, and the next one is read.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# Tables from files and pipes: `read_table` piece by piece, `read_all` at once.
#
# A file that cannot be read, or lacks a column, is one rejection; the other files still come through.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# Parquet to tables whose texts stay encoded, as the file has them: each distinct text of a row group once.
#
# The law: the rows, their numbers and what is refused are those of `read_table`. Where a file or a row group is not
# of texts, or damaged, it is that which reads it.
# ----------------------------------------------------------------------------------------------------------------------

_LARGE = 1 << 28  # bytes of a row group that is read in smaller pieces


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


# ----------------------------------------------------------------------------------------------------------------------
# Rows to publications: all rows with one id in one call, or runs of one id on a pipe.
# ----------------------------------------------------------------------------------------------------------------------

Numbers = npt.NDArray[np.int64]
Cells = Any  # an Arrow array of texts, plain or encoded


class Groups(NamedTuple):
    """The rows of group i are permutation[offsets[i] : offsets[i + 1]], in their order; a null id is a group too."""

    ids: tuple[str | None, ...]
    offsets: Numbers
    permutation: Numbers


def group_rows(table: pa.Table, column: str) -> Groups:
    """Group rows by a column; groups come in the order of their first row.

    Where no id comes again after another one, which is usual, the rows are groups already and only runs are looked at.
    """
    cells = together(table[column])
    starts = _starts(cells)
    runs = _encoded(cells.take(pa.array(starts)))
    lengths = np.diff(starts, append=len(cells))
    ids = tuple(runs.dictionary.to_pylist())
    if len(ids) == len(starts):
        return Groups(ids, np.append(starts, len(cells)), np.arange(len(cells)))
    codes = np.repeat(runs.indices.to_numpy(zero_copy_only=False), lengths)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(ids)))))
    return Groups(ids, offsets, np.argsort(codes, kind="stable"))


def complete_publications(reads: Iterable[Read], column: str = "publication_id") -> Iterator[Read]:
    """Cut what a pipe brings so that each piece holds only whole publications, and no id twice.

    A change of id ends a publication, the end of the pipe the last one; so the last run of rows waits for its end.
    What was rejected does not wait.
    """
    held: list[Read] = []
    for read in reads:
        if read.rejected:
            yield _slice(read, 0, 0)._replace(rejected=read.rejected)
        if read.table.num_rows:
            held.append(_slice(read, 0, read.table.num_rows))
        if len(held) > 1 and _goes_on(held[-2], held[-1], column):
            continue
        if held:
            joined = _joined(held)
            starts = run_starts(joined.table, column)
            yield from _pieces(joined, starts.tolist(), column)
            held = [_slice(joined, int(starts[-1]), joined.table.num_rows)]
    if held:
        yield _joined(held)


def _goes_on(before: Read, after: Read, column: str) -> bool:
    """Whether `after` is nothing but more of the publication that `before` ends with."""
    ids = pc.unique(after.table[column])
    return len(ids) == 1 and bool(ids[0].as_py() == before.table[column][-1].as_py())


def _pieces(read: Read, starts: list[int], column: str) -> Iterator[Read]:
    """All runs but the last, cut before each id that came before in the piece."""
    ids = read.table[column].take(pa.array(starts)).to_pylist()
    seen: set[str | None] = set()
    first = 0
    for start, publication_id in zip(starts[:-1], ids[:-1], strict=True):
        if publication_id in seen:
            yield _slice(read, first, start)
            first, seen = start, set()
        seen.add(publication_id)
    if seen:
        yield _slice(read, first, starts[-1])


def run_starts(table: pa.Table, column: str) -> Numbers:
    """The rows where the id differs from that of the row before; the first row counts."""
    return _starts(together(table[column]))


def _starts(cells: Cells) -> Numbers:
    """Encoded ids are compared by their numbers; a dictionary that lists an id twice may cut a run of it."""
    if cells.null_count:
        cells = _encoded(cells)
    numbers = cells.indices if pa.types.is_dictionary(cells.type) else cells
    changes = pc.not_equal(numbers[1:], numbers[:-1]).to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.concatenate((np.ones(min(len(cells), 1), np.bool_), changes)))


def _encoded(cells: Cells) -> Any:
    """The cells as numbers of the distinct ones, in the order of their first rows; null is one of them."""
    plain = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
    return plain.dictionary_encode(null_encoding="encode")


def _slice(read: Read, start: int, end: int) -> Read:
    rows = read.rows[start:end]
    first = int(rows[0]) if len(rows) else read.first_row
    return Read(read.source, read.table.slice(start, end - start), first, Rejections(), rows)


def _joined(reads: list[Read]) -> Read:
    if len(reads) == 1:
        return reads[0]
    rows = np.concatenate([read.rows for read in reads])
    return Read(reads[0].source, pa.concat_tables([read.table for read in reads]), int(rows[0]), Rejections(), rows)
