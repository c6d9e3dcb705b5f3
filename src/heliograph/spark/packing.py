"""Tables as single cells: Arrow streams, with each text once where that is worth it.

A worker that only packs or unpacks needs nothing else, so nothing else is imported here: engines take a second or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

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


def encoded(table: pa.Table) -> pa.Table:
    """The same with each distinct text once."""
    columns = [
        column.dictionary_encode().unify_dictionaries() if pa.types.is_string(column.type) else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, table.column_names).combine_chunks()


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
