"""Python items to the same coerced tables that files give.

An item is a dict with the table's columns or a tuple in a short form; many of them come in any iterable; whole tables
come as anything that Arrow can take. Positions count from 1. A table without a required column is a wrong call and
raises; an item of the wrong shape is rejected by its position.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from heliograph.errors import HeliographError, Place, TableError, UsageError
from heliograph.io.read import Whole, read_all
from heliograph.io.reads import Raw, Read, Refused, find_sources, finish, numbered
from heliograph.io.schemas import TableSchema, table_schema
from heliograph.model import Rejected, Rejections
from heliograph.terms import Term, Variable

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
# Updates that begin with a number have it as their seq.
_SEQ_FORMS = tuple(("seq", *form) for form in _FORMS["updates"])


def is_single(items: Any) -> bool:
    """Whether this is one item and not several: a dict, or a tuple that does not begin with an item."""
    if isinstance(items, Mapping):
        return True
    return isinstance(items, tuple) and not isinstance(items, (Read, Whole)) and bool(items) and _is_cell(items[0])


def _is_cell(value: Any) -> bool:
    return isinstance(value, (Term, Variable)) or not isinstance(value, (Mapping, tuple, list))


def as_table(name: str, items: Any) -> Read:
    """One item, several, or a whole table (Arrow, pandas, polars, a file's path) as the coerced table.

    What was read already keeps its places.
    """
    schema = table_schema(name)
    if isinstance(items, Read):
        return items
    if isinstance(items, Whole):
        return _from_whole(items)
    if isinstance(items, (str, os.PathLike)):
        return _from_path(schema, items)
    if _is_frame(items):
        return _from_frame(schema, items)
    if is_single(items):
        return _from_items(schema, [items])
    if isinstance(items, Iterable):
        return _from_items(schema, items)
    raise UsageError("HG-024", f"{type(items).__name__} given as {name}", fix=_fix(schema))


def _from_path(schema: TableSchema, path: str | os.PathLike[str]) -> Read:
    return _from_whole(read_all(schema.name, find_sources(path)))._replace(source=os.fspath(path))


def _from_whole(whole: Whole) -> Read:
    rows = np.concatenate([numbered(1, 0), *(part.rows for part in whole.parts)])
    return Read(None, whole.table, 1, whole.rejected, rows)


def _is_frame(items: Any) -> bool:
    kinds = (pa.Table, pa.RecordBatch, pa.RecordBatchReader)
    return isinstance(items, kinds) or hasattr(items, "__arrow_c_stream__") or hasattr(items, "__dataframe__")


def _from_frame(schema: TableSchema, frame: Any) -> Read:
    """A whole table; a data frame whose columns mix types, which Arrow does not take, goes row by row."""
    try:
        table = _arrow(frame)
    except (pa.ArrowException, TypeError, ValueError):
        return _from_items(schema, _records(frame))
    return _from_arrow(schema, table)


def _arrow(frame: Any) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    if isinstance(frame, pa.RecordBatchReader):
        return frame.read_all()
    if hasattr(frame, "__arrow_c_stream__"):
        return pa.table(frame)
    from pyarrow.interchange.from_dataframe import from_dataframe

    return from_dataframe(frame)


def _records(frame: Any) -> list[dict[str, Any]]:
    """The rows of a pandas data frame, whose many spellings of a missing value all mean null."""
    rows: list[dict[str, Any]] = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return rows


def _from_arrow(schema: TableSchema, table: pa.Table) -> Read:
    schema.check(table.column_names, Place())
    schema.hint(table.column_names, Place())
    wanted = table.select([name for name in schema.names if name in table.column_names])
    reads = list(_batches(schema, wanted))
    if not reads:
        return Read(None, schema.empty(), 1, Rejections(), numbered(1, 0))
    rejected = Rejections(entry for read in reads for entry in read.rejected)
    rows = np.concatenate([read.rows for read in reads])
    return Read(None, pa.concat_tables([read.table for read in reads]), 1, rejected, rows)


def _batches(schema: TableSchema, table: pa.Table) -> Iterator[Read]:
    row = 1
    for batch in table.to_batches(_BATCH_ROWS):
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        yield finish(schema, Raw(None, columns, numbered(row, batch.num_rows)))
        row += batch.num_rows


def _from_items(schema: TableSchema, items: Iterable[Any]) -> Read:
    rows: list[Mapping[str, Any]] = []
    numbers: list[int] = []
    refused: list[Refused] = []
    for number, item in enumerate(items, 1):
        try:
            made = _rows(schema, item, Place(None, str(number)))
        except HeliographError as error:
            refused.append(Refused(number, Rejected.of(error)))
        else:
            rows += made
            numbers += [number] * len(made)
    if schema.optional:
        schema.hint(map(str, set().union(*rows)), Place())
    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    return finish(schema, Raw(None, columns, np.array(numbers, dtype=np.int64), refused))


def _rows(schema: TableSchema, item: Any, place: Place) -> list[Mapping[str, Any]]:
    """The rows that an item stands for: one, or one for each triple of a publication."""
    if isinstance(item, Mapping):
        for name in schema.row_required:
            if name not in item:
                raise schema.lacking(name, [str(key) for key in item], place)
        return [item]
    if isinstance(item, str) and len(schema.row_required) == 1:
        return [{schema.row_required[0]: item}]
    if not isinstance(item, (tuple, list)) or isinstance(item, (Term, Variable)):
        raise _misshapen(schema, item, place)
    if schema.name == "publications" and len(item) == 2:
        return _publication(schema, item, place)
    for form in _forms(schema, item):
        if len(form) == len(item):
            return [dict(zip(form, item, strict=True))]
    raise _misshapen(schema, item, place)


def _forms(schema: TableSchema, item: tuple[Any, ...] | list[Any]) -> Iterator[tuple[str, ...]]:
    if schema.name == "updates" and item and not isinstance(item[0], str):
        yield from _SEQ_FORMS
    else:
        yield from _FORMS.get(schema.name, ())
    yield schema.names


def _publication(schema: TableSchema, item: tuple[Any, ...] | list[Any], place: Place) -> list[Mapping[str, Any]]:
    publication_id, triples = item
    if isinstance(triples, (str, Mapping)) or not isinstance(triples, Iterable):
        raise _misshapen(schema, item, place)
    rows: list[Mapping[str, Any]] = []
    for triple in triples:
        if not isinstance(triple, (tuple, list)) or isinstance(triple, Term) or len(triple) != 3:
            raise _misshapen(schema, triple, place)
        rows.append(dict(zip(schema.names, (publication_id, *triple), strict=True)))
    return rows


def _misshapen(schema: TableSchema, item: Any, place: Place) -> TableError:
    shown = repr(item)
    shown = shown if len(shown) <= 60 else shown[:60] + "…"
    return TableError("HG-208", f"no item of {schema.name}: {shown}", place=place, fix=_fix(schema))


def _fix(schema: TableSchema) -> str:
    columns = ", ".join(f"{column.name!r}: …" for column in schema.columns if column.required)
    short = {"subscriptions": " or (id, query)", "publications": " or (id, [(s, p, o), …])"}.get(schema.name, "")
    forms = _FORMS.get(schema.name, (schema.names,))[: 2 if schema.name == "updates" else 1]
    short = short or "".join(f" or ({', '.join(form)})" for form in forms)
    return f"give {{{columns}}}{short}, or an Arrow table"
