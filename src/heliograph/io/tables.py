"""Tables from whatever is given: files and pipes, Arrow tables and data frames, Python items.

Everything becomes `TableRows`: the good rows coerced to the schema, where each stood, and what was rejected.

The laws: every row of the input is in the table or in `rejected`, exactly once, and a refused row takes no other with
it. A file that cannot be read, or lacks a column, is one rejection; the other files still come through. Of Python
items, positions count from 1; a frame without a required column is a wrong call and raises, an item of the wrong
shape is rejected by its position.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import HeliographError, Place, TableError, UsageError
from heliograph.io.coerce import AS_THEY_ARE, CELLS, FAILED, Array, Coerced, coerce_array, coerce_values, nulls, plain
from heliograph.io.schemas import TABLES, TableSchema, table_schema
from heliograph.io.sources import TABLE_SUFFIXES, Source, find_sources
from heliograph.model import MessageLimit, Rejected, Rejections
from heliograph.terms import Term, Variable

if TYPE_CHECKING:
    from pyarrow.parquet import ParquetFile

RowNumbers = npt.NDArray[np.int64]


class TableRows(NamedTuple):
    """Rows coerced to a schema. `rows` are their numbers in the source, from 1.

    Rows of several sources know their `parts`: those of parts[i] end at ends[i].
    """

    source: str | None
    table: pa.Table
    rejected: Rejections
    rows: RowNumbers
    parts: tuple[TableRows, ...] = ()
    ends: tuple[int, ...] = ()

    def place(self, index: int) -> Place:
        """Where the table's row `index` (from 0) stood."""
        source = self.parts[bisect_right(self.ends, index)].source if self.parts else self.source
        return Place(source, str(self.rows[index]))


class RawColumns(NamedTuple):
    """Columns as they were found, before coercion; `rows` are the numbers of their rows.

    Rows that were `refused` before their cells were looked at come with their numbers.
    """

    source: str | None
    columns: Mapping[str, Array | Sequence[Any]]
    rows: RowNumbers
    refused: Sequence[tuple[int, Rejected]] = ()


def numbered(start: int, count: int) -> RowNumbers:
    """Row numbers from `start`."""
    return np.arange(start, start + count, dtype=np.int64)


def coerce_rows(schema: TableSchema, raw: RawColumns) -> TableRows:
    """Coerce every column; the rows with a bad cell are rejected, the others go on."""
    coerced: dict[str, Coerced] = {}
    for column in schema.columns:
        values = raw.columns.get(column.name)
        if values is None:
            coerced[column.name] = Coerced(nulls(len(raw.rows), column.type))
        else:
            coerce: Callable[..., Coerced] = coerce_array if isinstance(values, pa.Array) else coerce_values
            coerced[column.name] = coerce(column.kind, values)
    table = pa.Table.from_arrays([column.array for column in coerced.values()], schema=schema.arrow)
    rows, refused = raw.rows, list(raw.refused)
    worst = {bad.row: (name, bad) for name in reversed(coerced) for bad in coerced[name].bad}  # the first of a row
    if worst:
        keys = coerced[schema.key].array if schema.key else None
        limit = MessageLimit()
        for index, (name, bad) in sorted(worst.items()):
            row, key = int(rows[index]), None if keys is None else keys[index].as_py()
            if limit.allows("HG-204"):
                message = f"{_shown(bad.value)} in column {name!r}"
                error = TableError("HG-204", message, place=Place(raw.source, str(row)), fix=bad.expected)
                refused.append((row, Rejected.of(error, raw.source, key)))
            else:
                refused.append((row, Rejected(raw.source, key or str(row), "HG-204", "")))
        keep = np.ones(len(rows), dtype=bool)
        keep[list(worst)] = False
        table, rows = table.filter(pa.array(keep)), rows[keep]
    refused.sort(key=lambda entry: entry[0])
    return TableRows(raw.source, table, Rejections(rejected for _, rejected in refused), rows)


def joined(schema: TableSchema, parts: Sequence[TableRows], source: str | None = None) -> TableRows:
    """Parts as one, with all that was rejected in them."""
    table = pa.concat_tables([schema.empty(), *(part.table for part in parts)])
    rejected = Rejections(entry for part in parts for entry in part.rejected)
    return TableRows(source, table, rejected, np.concatenate([numbered(1, 0), *(part.rows for part in parts)]))


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:60] + "…"


# --- files and pipes ---


def read_table(name: str, sources: Iterable[Source]) -> Iterator[TableRows]:
    """The rows of all sources in order, in pieces; from a pipe as they arrive."""
    schema = table_schema(name)
    for source in sources:
        try:
            for raw in _reader(source)(schema, source):
                rows = coerce_rows(schema, raw)
                if rows.table.num_rows or rows.rejected:
                    yield rows
            continue
        except HeliographError as error:
            problem = error
        except (OSError, MemoryError, RecursionError) as error:
            reason = f"cannot read it: {getattr(error, 'strerror', None) or type(error).__name__}"
            fix = "check the file" if isinstance(error, OSError) else "cut it into smaller files"
            problem = TableError("HG-201", reason, place=Place(source.name), fix=fix)
        yield TableRows(source.name, schema.empty(), Rejections([Rejected.of(problem, source.name)]), numbered(1, 0))


def read_all(name: str, sources: Sequence[Source]) -> TableRows:
    """All rows of all sources as one table."""
    parts = tuple(read_table(name, sources))
    ends = tuple(accumulate(part.table.num_rows for part in parts))
    return joined(table_schema(name), parts)._replace(parts=parts, ends=ends)


def _reader(source: Source) -> Callable[[TableSchema, Source], Iterator[RawColumns]]:
    if source.is_pipe or source.suffix in (".ndjson", ".jsonl"):
        from heliograph.io.ndjson import read_ndjson

        return read_ndjson
    if source.suffix == ".csv":
        from heliograph.io.csv import read_csv

        return read_csv
    if source.suffix == ".parquet":
        return read_parquet
    fix = f"give a file that ends in {' '.join(TABLE_SUFFIXES)}"
    raise UsageError("HG-022", f"{source.name} is no table", fix=fix)


# --- Parquet: a damaged row group costs its own rows, which are refused with their numbers ---

BATCH_ROWS = 1 << 17
_LARGE = 1 << 28  # bytes of a row group that is read in smaller pieces
_DAMAGED = (pa.ArrowException, OSError, ValueError, MemoryError)


def read_parquet(schema: TableSchema, source: Source) -> Iterator[RawColumns]:
    """The rows of one file, row group by row group, only the columns that the table has."""
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
            yield from _read_group(file, group, wanted, source, row)
            row += file.metadata.row_group(group).num_rows


def _read_group(file: ParquetFile, group: int, wanted: list[str], source: Source, row: int) -> Iterator[RawColumns]:
    """The batches of one row group, whose first row has the number `row`; damage ends them with a refusal."""
    last = row + file.metadata.row_group(group).num_rows - 1
    try:
        for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=wanted):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            yield RawColumns(source.name, columns, numbered(row, batch.num_rows))
            row += batch.num_rows
    except _DAMAGED as error:
        problem = _unreadable(source, f"rows {row} to {last} are damaged", error)
        yield RawColumns(source.name, {}, numbered(row, 0), [(row, Rejected.of(problem, item=str(row)))])


def _unreadable(source: Source, problem: str, error: BaseException) -> TableError:
    reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
    fix = "write the file again, or give it the suffix of what it is"
    return TableError("HG-201", f"{problem}: {reason}", place=Place(source.name), fix=fix)


def read_encoded(name: str, source: Source) -> Iterator[TableRows]:
    """The rows of a source in pieces; the texts of a Parquet file stay encoded, each distinct one of a row group once.

    The law: the rows, their numbers and what is refused are those of `read_table`. Where a file or a row group is not
    of texts, or damaged, it is `read_table` that reads it.
    """
    schema = table_schema(name)
    names = list(schema.names)
    if source.suffix != ".parquet" or not _is_of_texts(names, source):
        yield from read_table(name, [source])
        return
    from pyarrow import parquet

    path, row = str(source.path), 1
    with parquet.ParquetFile(path, read_dictionary=names) as encoded, parquet.ParquetFile(path) as decoded:
        for group in range(encoded.num_row_groups):
            table: pa.Table | None = None
            if encoded.metadata.row_group(group).total_byte_size <= _LARGE:
                try:
                    table = encoded.read_row_group(group, columns=names).select(names)
                    table.validate(full=True)  # Parquet promises UTF-8 and does not check it
                except _DAMAGED:
                    table = None
            if table is None:
                yield from (coerce_rows(schema, raw) for raw in _read_group(decoded, group, names, source, row))
            else:
                yield TableRows(source.name, table, Rejections(), numbered(row, table.num_rows))
            row += encoded.metadata.row_group(group).num_rows


def _is_of_texts(names: list[str], source: Source) -> bool:
    """Whether a file has the table's columns, all of them texts."""
    from pyarrow import parquet

    try:
        found = parquet.read_schema(str(source.path))
    except _DAMAGED:
        return False
    return all(found.names.count(name) == 1 and pa.types.is_string(found.field(name).type) for name in names)


# --- items and frames ---

_SMALL = 64  # rows; so many go to Arrow as rows, more as columns
_CONVERSIONS = {
    name: [(column.name, AS_THEY_ARE[column.kind], CELLS[column.kind]) for column in schema.columns]
    for name, schema in TABLES.items()
}
_BATCH_ROWS = 1 << 16

# Tuples in short forms, by their length; any table also takes a tuple of all its columns in order.
_EDGES = (("source", "target"), ("source", "target", "edge_id"), ("source", "target", "edge_id", "targeting"))
_FORMS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "subscriptions": (("subscription_id", "query"), ("subscription_id", "subscriber", "query")),
    "updates": (
        ("op", "subject"),
        ("op", "subject", "property", "object"),
        ("op", "subject", "property", "object", "weight"),
        ("op", "subject", "property", "object", "weight", "at"),
    ),
    "nodes": (("node_id",), ("node_id", "targeting"), ("node_id", "targeting", "cost")),
    "edges": _EDGES,
    "removals": _EDGES,
    "changes": (("kind", "op", "node_id", "source", "target", "targeting", "cost"),),
}
_SEQ_FORMS = tuple(("seq", *form) for form in _FORMS["updates"])  # of updates that begin with a number


def is_single(items: Any) -> bool:
    """Whether this is one item and not several: a dict, or a tuple that does not begin with an item."""
    if isinstance(items, tuple):
        if not items or isinstance(items, TableRows):
            return False
        first = items[0]
        return isinstance(first, (str, Term, Variable)) or not isinstance(first, (tuple, list, Mapping))
    return isinstance(items, (dict, Mapping))


def as_table(name: str, items: Any) -> TableRows:
    """One item, several, or a whole table (Arrow, pandas, polars, a file's path) as the coerced table.

    What was read already keeps its places.
    """
    schema = table_schema(name)
    if type(items) is list:
        return _from_items(schema, items)
    if isinstance(items, TableRows):
        return items
    if is_single(items):
        return _from_items(schema, (items,))
    if isinstance(items, (str, os.PathLike)):
        return joined(schema, tuple(read_table(name, find_sources(items))), os.fspath(items))
    if hasattr(items, "__arrow_c_stream__") or hasattr(items, "__dataframe__"):
        return _from_frame(schema, items)
    if isinstance(items, Iterable):
        return _from_items(schema, items)
    raise UsageError("HG-024", f"{type(items).__name__} given as {name}", fix=_fix(schema))


def _from_frame(schema: TableSchema, frame: Any) -> TableRows:
    """A whole table; a data frame whose columns mix types, which Arrow does not take, goes row by row."""
    try:
        if hasattr(frame, "__arrow_c_stream__"):  # Arrow's own batches and readers too
            table = frame if isinstance(frame, pa.Table) else pa.table(frame)
        else:
            from pyarrow.interchange.from_dataframe import from_dataframe

            table = from_dataframe(frame)
    except (pa.ArrowException, TypeError, ValueError):
        # The many spellings of a missing value in pandas all mean null.
        return _from_items(schema, frame.astype(object).where(frame.notna(), None).to_dict(orient="records"))
    present = table.column_names
    schema.check(present, Place())
    schema.hint(present, Place())
    parts: list[TableRows] = []
    row = 1
    for batch in table.select([name for name in schema.names if name in present]).to_batches(_BATCH_ROWS):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        parts.append(coerce_rows(schema, RawColumns(None, columns, numbered(row, batch.num_rows))))
        row += batch.num_rows
    return joined(schema, parts)


def _from_items(schema: TableSchema, items: Iterable[Any]) -> TableRows:
    rows: list[Mapping[str, Any]] = []
    numbers: list[int] = []
    refused: list[tuple[int, Rejected]] = []
    for number, item in enumerate(items, 1):
        try:
            made = _rows(schema, item)
        except HeliographError as error:
            error.place = Place(None, str(number))
            refused.append((number, Rejected.of(error)))
        else:
            rows += made
            numbers += [number] * len(made)
    if schema.optional and (keys := set().union(*rows)) and not keys.issubset(schema.names):
        schema.hint(map(str, keys), Place())
    places = np.array(numbers, dtype=np.int64)
    if not refused and len(rows) <= _SMALL and (table := _small_table(schema, rows)) is not None:
        return TableRows(None, table, Rejections(), places)
    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    return coerce_rows(schema, RawColumns(None, columns, places, refused))


def _small_table(schema: TableSchema, rows: list[Mapping[str, Any]]) -> pa.Table | None:
    """A few rows, each converted by itself and given to Arrow whole; None where a cell is bad.

    The law is that of a column: see `coerce`. For one row this is a tenth of the calls that columns take.
    """
    made: list[Mapping[str, Any]] = []
    columns = _CONVERSIONS[schema.name]
    try:
        for row in rows:
            for name, as_they_are, to_cell in columns:
                value = row.get(name)
                if type(value) not in as_they_are:
                    row = {**row, name: to_cell(plain(value))}
            made.append(row)
        array: Any = pa.array(made, schema.struct)
        return pa.Table.from_struct_array(array)
    except FAILED:
        return None


def _rows(schema: TableSchema, item: Any) -> list[Mapping[str, Any]]:
    """The rows that an item stands for: one, or one for each triple of a publication."""
    if isinstance(item, (dict, Mapping)):
        for name in schema.row_required:
            if name not in item:
                raise schema.lacking([name], [str(key) for key in item], Place())
        return [item]
    if isinstance(item, str) and len(schema.row_required) == 1:
        return [{schema.row_required[0]: item}]
    if not isinstance(item, (tuple, list)) or isinstance(item, (Term, Variable)):
        raise _misshapen(schema, item)
    if schema.name == "publications" and len(item) == 2:
        return _publication(schema, item)
    forms = _FORMS.get(schema.name, ())
    if schema.name == "updates" and item and not isinstance(item[0], str):
        forms = _SEQ_FORMS
    for form in (*forms, schema.names):
        if len(form) == len(item):
            return [dict(zip(form, item, strict=True))]
    raise _misshapen(schema, item)


def _publication(schema: TableSchema, item: tuple[Any, ...] | list[Any]) -> list[Mapping[str, Any]]:
    publication_id, triples = item
    if isinstance(triples, (str, Mapping)) or not isinstance(triples, Iterable):
        raise _misshapen(schema, item)
    rows: list[Mapping[str, Any]] = []
    for triple in triples:
        if not isinstance(triple, (tuple, list)) or isinstance(triple, Term) or len(triple) != 3:
            raise _misshapen(schema, triple)
        rows.append(dict(zip(schema.names, (publication_id, *triple), strict=True)))
    return rows


def _misshapen(schema: TableSchema, item: Any) -> TableError:
    return TableError("HG-208", f"no item of {schema.name}: {_shown(item)}", fix=_fix(schema))


def _fix(schema: TableSchema) -> str:
    columns = ", ".join(f"{column.name!r}: …" for column in schema.columns if column.required)
    short = {"subscriptions": " or (id, query)", "publications": " or (id, [(s, p, o), …])"}.get(schema.name, "")
    forms = _FORMS.get(schema.name, (schema.names,))[: 2 if schema.name == "updates" else 1]
    short = short or "".join(f" or ({', '.join(form)})" for form in forms)
    return f"give {{{columns}}}{short}, or an Arrow table"
