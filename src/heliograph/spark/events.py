"""Events on their way to a route: dealt by event_id to parts, each part for every share of the exchange.

The laws: events with one id meet in one part, so that a second one is refused; which part an event is in changes
nothing else. They travel as Arrow, many to a cell, and those of files are read where they are dealt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from heliograph.route.sharing import homes
from heliograph.spark.frames import ROW, SOURCE
from heliograph.spark.packing import FOR_SHARDS, from_bytes, larger, parcel
from heliograph.spark.reading import files_of, read_rows
from heliograph.spark.spelling import spelled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_AT_ONCE = 1 << 17  # events dealt together


def parts_of(frame: DataFrame, shares: int) -> int:
    """So many parts that parts and shares together are as many tasks as a shuffle has."""
    tasks = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    return max(1, tasks // shares)


def event_rows(frame: DataFrame, parts: int, shares: int) -> DataFrame:
    """The events in parcels: each part for all shares."""
    files = files_of(frame)
    if files is not None:
        packed = files.mapInArrow(partial(read_and_deal, parts, shares), FOR_SHARDS)
    else:
        packed = spelled(frame, "events").mapInArrow(partial(deal, parts, shares), FOR_SHARDS)
    return packed.repartitionById(parts * shares, "shard")


# --- in the workers ---------------------------------------------------------------------------------------------


def read_and_deal(parts: int, shares: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return deal(parts, shares, read_rows("events", batches))


def deal(parts: int, shares: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A parcel for each part and share; those of the first share are numbered first."""
    for table in larger(batches, _AT_ONCE):
        rows, bounds = _dealt(table, parts)
        for part, (first, last) in enumerate(pairwise(bounds)):
            for share in range(shares if first < last else 0):
                yield parcel(share * parts + part, rows.slice(first, last - first))


def _dealt(table: pa.Table, parts: int) -> tuple[pa.Table, list[int]]:
    """The rows in the order of their parts, without their places in files, and where each part begins."""
    table = table.drop_columns([name for name in (SOURCE, ROW) if name in table.column_names])
    if parts == 1:
        return table, [0, table.num_rows]
    place = homes(table["event_id"].combine_chunks(), parts)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(place, minlength=parts))])
    return table.take(np.argsort(place, kind="stable")), bounds.tolist()


def taken(batches: Iterable[pa.RecordBatch]) -> tuple[int, pa.Table] | None:
    """The number of a task's parcels, and all their rows; None where there are none."""
    number, tables = 0, []
    for batch in batches:
        rows: list[dict[str, Any]] = batch.to_pylist()
        for row in rows:
            number = row["shard"]
            tables.append(from_bytes(row["payload"]))
    return (number, pa.concat_tables(tables)) if tables else None
