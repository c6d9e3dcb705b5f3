"""What goes through the shuffle between front and shards: whole tables as single cells, one row for each shard.

A row of Spark costs the same whatever it holds, and a shuffle cuts batches into rows; so the triples for a shard travel
as one Arrow stream, their texts each once. What the front has already found out travels the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

PARCELS = "shard int, version bigint, payload binary"
_SCHEMA = pa.schema([("shard", pa.int32()), ("version", pa.int64()), ("payload", pa.binary())])
_DONE = -1  # the version of what needs no more work


class Parcel(NamedTuple):
    """Publications for a shard of a version."""

    shard: int
    version: int
    table: pa.Table


def packed(parcel: Parcel) -> pa.RecordBatch:
    encoded = [column.dictionary_encode().unify_dictionaries() for column in parcel.table.columns]
    table = pa.Table.from_arrays(encoded, parcel.table.column_names).combine_chunks()
    return _row(parcel.shard, parcel.version, _stream(table.to_batches()))


def done(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows that are ready, to be passed on by whichever shard's task."""
    ready = [batch for batch in batches if batch.num_rows]
    if ready:
        yield _row(0, _DONE, _stream(ready))


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[Parcel | pa.RecordBatch]:
    for batch in batches:
        for shard, version, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            with pa.ipc.open_stream(payload) as stream:
                if version == _DONE:
                    yield from stream
                else:
                    yield Parcel(shard, version, stream.read_all())


def _stream(batches: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _row(shard: int, version: int, payload: bytes) -> Any:
    return pa.RecordBatch.from_arrays(
        [pa.array([shard], pa.int32()), pa.array([version], pa.int64()), pa.array([payload], pa.binary())],
        schema=_SCHEMA,
    )
