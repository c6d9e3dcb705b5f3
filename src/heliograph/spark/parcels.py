"""What goes through the shuffle between front and shards: whole tables as single cells, one row for each shard.

A row of Spark costs the same whatever it holds, and a shuffle cuts batches into rows; so the triples for a shard travel
as one Arrow stream. What the front has already found out travels the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.spark.packing import encoded, from_bytes, to_bytes

PARCELS = "shard int, version bigint, payload binary"
_TYPES: dict[str, pa.DataType] = {"shard": pa.int32(), "version": pa.int64(), "payload": pa.binary()}
_SCHEMA = pa.schema(_TYPES)
_TERMS = ("subject", "property", "object")
_DONE = -1  # the version of what needs no more work


class Parcel(NamedTuple):
    """Publications for a shard of a version."""

    shard: int
    version: int
    table: pa.Table


def packed(parcel: Parcel) -> pa.RecordBatch:
    return _row(parcel.shard, parcel.version, to_bytes(encoded(parcel.table, _TERMS)))


def done(batches: Iterable[pa.RecordBatch], shard: int) -> Iterator[pa.RecordBatch]:
    """Rows that are ready, to be passed on by this shard's task."""
    ready = [batch for batch in batches if batch.num_rows]
    if ready:
        yield _row(shard, _DONE, to_bytes(pa.Table.from_batches(ready)))


def unpacked(batches: Iterable[pa.RecordBatch]) -> Iterator[Parcel | pa.RecordBatch]:
    for batch in batches:
        for shard, version, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            table = from_bytes(payload)
            if version == _DONE:
                yield from table.to_batches()
            else:
                yield Parcel(shard, version, table)


def _row(shard: int, version: int, payload: bytes) -> pa.RecordBatch:
    columns: list[Any] = [
        pa.array([shard], pa.int32()),
        pa.array([version], pa.int64()),
        pa.array([payload], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
