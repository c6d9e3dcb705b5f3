"""The last step of a verb with the storing of what it found: workers write files, and tell only which.

A row of the JVM costs more than most notifications: 2 million of a route took ten times as long through Spark's rows
and its Parquet writer as they took to be found. The laws: a task writes a file of notifications, one of refusals, or
neither, and tells of them in one row, when they are complete; the columns are those that Spark would have written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute
from pyarrow import parquet

from heliograph.model import NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA
from heliograph.spark.frames import COUNTS, MEASUREMENT, REJECTED, STATS, STATS_TYPE, Step
from heliograph.spark.staging import Staging
from heliograph.spark.versions import task_number

pc: Any = pyarrow.compute

OUTPUTS = ("notifications", "rejected")
STORED = f"{', '.join(f'{name} string' for name in OUTPUTS)}, {MEASUREMENT}"
"""What a task tells: a file for each output, or null, and its measurements."""
SCHEMAS = (NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA)
_STORED_SCHEMA = pa.schema([*((name, pa.string()) for name in OUTPUTS), (STATS, STATS_TYPE)])
_GROUP = 1 << 20  # rows of a row group


class Places(NamedTuple):
    """Where the files of a run go; an output that nobody wants has no place."""

    notifications: Staging
    rejected: Staging | None


def store(step: Step, places: Places, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs a step, writes what it finds, and gives the one row that tells of it."""
    parts = [Part(place, schema) for place, schema in zip(places, SCHEMAS, strict=True)]
    counts = dict.fromkeys(COUNTS, 0)
    for batch in step(batches):
        told = batch.num_rows - batch[REJECTED].null_count, batch.num_rows - batch[STATS].null_count
        parts[0].add(batch if told == (0, 0) else _notified(batch))
        if told[0]:
            refused: Any = batch[REJECTED].drop_null()
            parts[1].add(pa.RecordBatch.from_struct_array(refused))
        if told[1]:
            _count(batch[STATS], counts)
    files = (part.close() for part in parts)
    row = {**dict(zip(OUTPUTS, files, strict=True)), STATS: counts}
    yield pa.RecordBatch.from_pylist([row], schema=_STORED_SCHEMA)


def _notified(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.filter(pc.and_(pc.is_null(batch[REJECTED]), pc.is_null(batch[STATS])))


def _count(stats: Any, counts: dict[str, int]) -> None:
    for each in stats.drop_null().to_pylist():
        for name in COUNTS:
            counts[name] += each[name] or 0


class Part:
    """The file of a task for one output: begun with the first row, and in row groups of a size that readers like."""

    def __init__(self, place: Staging | None, schema: pa.Schema) -> None:
        self._place, self._schema = place, schema
        self._held: list[pa.RecordBatch] = []
        self._path: Path | None = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        if self._place is None or not batch.num_rows:
            return
        self._held.append(batch.select(self._schema.names))
        if sum(each.num_rows for each in self._held) >= _GROUP:
            self._flush()

    def close(self) -> str | None:
        """The name of the file, once it is complete."""
        if self._held:
            self._flush()
        if self._writer is None or self._path is None:
            return None
        self._writer.close()
        return self._path.name

    def _flush(self) -> None:
        if self._writer is None and self._place is not None:
            self._path = self._place.draft(task_number())
            # Without the Arrow schema a file says no more than one that Spark wrote.
            self._writer = parquet.ParquetWriter(self._path, self._schema, store_schema=False)
        self._writer.write_table(pa.Table.from_batches(self._held, self._schema), row_group_size=_GROUP)
        self._held = []
