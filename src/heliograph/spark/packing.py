"""Tables as single cells: Arrow streams, with each text once where that is worth it.

A worker that only packs or unpacks needs nothing else, so nothing else is imported here: engines take a second or two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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


def encoded(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The same with each distinct text of these columns once."""
    columns = [
        column.dictionary_encode().unify_dictionaries() if name in names else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, table.column_names).combine_chunks()


def larger(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """So many batches together that what a call costs by itself is little."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(each.num_rows for each in held) >= rows:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


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
