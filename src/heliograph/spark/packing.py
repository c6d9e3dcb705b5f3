"""Tables as single cells: Arrow streams, with each text once where that is worth it.

A worker that only packs or unpacks needs no engine, so none is imported here: they take a second or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from heliograph.cells import encode

FOR_SHARDS = "shard int, payload binary"
_TYPES: dict[str, pa.DataType] = {"shard": pa.int32(), "payload": pa.binary()}


def to_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream, as plain as it is."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def from_bytes(payload: bytes) -> pa.Table:
    with pa.ipc.open_stream(payload) as stream:
        return stream.read_all()


def encoded(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The same with each distinct text of these columns, and of those that are encoded already, once."""
    columns = [
        _encoded(column) if name in names or pa.types.is_dictionary(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, table.column_names)


def _encoded(column: pa.ChunkedArray[Any]) -> Any:
    """A column as numbers of its distinct texts: only those that occur, and numbers no wider than it takes."""
    codes, dictionary = encode(column)
    narrow = next(width for width in (np.int8, np.int16, np.int32) if len(dictionary) <= np.iinfo(width).max)
    return pa.DictionaryArray.from_arrays(codes.astype(narrow), dictionary, from_pandas=True)


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of encoded tables; a column that one of them lacks is null there."""
    return pa.concat_tables(map(_widened, tables), promote_options="default").unify_dictionaries()


def _widened(table: pa.Table) -> pa.Table:
    """Numbers of texts so wide that those of other tables go in as well."""
    kinds = [
        pa.dictionary(pa.int32(), kind.value_type) if pa.types.is_dictionary(kind) else kind
        for kind in table.schema.types
    ]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def larger(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """So many batches together that what a call costs by itself is little."""
    for tables in larger_tables((pa.Table.from_batches([batch]) for batch in batches), rows):
        yield pa.concat_tables(tables)


def larger_tables(tables: Iterable[pa.Table], rows: int) -> Iterator[list[pa.Table]]:
    """The same of tables, which need not have the same columns."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(each.num_rows for each in held) >= rows:
            yield held
            held = []
    if held:
        yield held


def parcel(part: int, table: pa.Table) -> pa.RecordBatch:
    """A table for one part."""
    columns: list[Any] = [pa.array([part], pa.int32()), pa.array([to_bytes(table)], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(_TYPES))


def pack_for_all(keys: list[int], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of a task as one parcel for each key."""
    some = [batch for batch in batches if batch.num_rows]
    if some:
        payload = to_bytes(pa.Table.from_batches(some))
        columns: list[Any] = [pa.array(keys, pa.int32()), pa.array([payload] * len(keys), pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(_TYPES))


def unpack_found(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of parcels."""
    for batch in batches:
        payloads: list[Any] = batch["payload"].to_pylist()
        for payload in payloads:
            yield from from_bytes(payload).to_batches()
