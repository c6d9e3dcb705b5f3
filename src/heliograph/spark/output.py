"""`heliograph.spark.write`: notifications and rejected items, both from one query, each batch once."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute
from pyarrow import parquet

from heliograph.errors import Place, StorageError, UsageError
from heliograph.model import NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA, Rejections
from heliograph.spark.frames import (
    COUNTS,
    MEASUREMENT,
    NAME,
    REJECTED,
    STATS,
    STATS_TYPE,
    Making,
    Step,
    counted,
    making_of,
    observed,
    told,
)
from heliograph.spark.versions import task_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


# ----------------------------------------------------------------------------------------------------------------------
# Files that workers write, on their way into the folder of their batch.
#
# The laws: a file is written under a name that nobody else has, in a folder that readers pass over; only files that a
# task which succeeded told of are taken; a batch appears whole, and replaces what an earlier run of it left. So
# attempts that die, copies of a task that run beside it, and a driver that dies at any point leave nothing that is
# read, and the batch can be run again. One writer at a time has an output.
# ----------------------------------------------------------------------------------------------------------------------

STAGING = "_staging"  # a name that Spark's readers pass over
SUCCESS = "_SUCCESS"  # what Spark leaves in a folder that is complete


@dataclass(frozen=True, slots=True)
class Staging:
    """Where the tasks of one run leave files for an output: a folder of its own inside it."""

    output: str
    run: str

    @classmethod
    def begin(cls, output: str) -> Self:
        """A new run; what runs before it left behind is removed. An output that cannot be had fails here."""
        Path(output).mkdir(parents=True, exist_ok=True)
        shutil.rmtree(Path(output, STAGING), ignore_errors=True)
        return cls(output, secrets.token_hex(8))

    @property
    def folder(self) -> Path:
        return Path(self.output, STAGING, self.run)

    def draft(self, number: int) -> Path:
        """A new file for a task."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"part-{number:05d}-{secrets.token_hex(8)}.parquet"

    def commit(self, names: Iterable[str], schema: pa.Schema, batch: int) -> None:
        """Makes these files the batch; one without rows has an empty file, so that its columns are known."""
        ready = self.folder / f"ready-{secrets.token_hex(8)}"
        ready.mkdir(parents=True)
        for name in names:
            self._take(name, ready)
        if not os.listdir(ready):
            parquet.write_table(schema.empty_table(), ready / "part-00000.parquet", store_schema=False)
        (ready / SUCCESS).touch()
        self._replace(Path(self.output, f"batch={batch}"), ready)
        self.clear()

    def _take(self, name: str, ready: Path) -> None:
        try:
            os.rename(self.folder / name, ready / name)
        except FileNotFoundError as error:
            fix = "give a path that leads to the same folder on all machines, and to one query at a time"
            raise StorageError(
                "HG-811", "a file that a worker wrote is not here", place=Place(self.output), fix=fix
            ) from error

    def _replace(self, target: Path, ready: Path) -> None:
        """A folder with files cannot be replaced in one step: for a moment, or after a death then, there is none."""
        if target.exists():
            os.rename(target, self.folder / f"replaced-{secrets.token_hex(8)}")
        os.rename(ready, target)

    def clear(self) -> None:
        """Removes what is left of the run: files of attempts that nobody asked for, and the batch that was replaced."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # somebody's file is there still
            self.folder.parent.rmdir()


# ----------------------------------------------------------------------------------------------------------------------
# The last step of a verb with the storing of what it found: workers write files, and tell only which.
#
# A row of the JVM costs more than most notifications: with 2 million of them through Spark's rows and Parquet writer
# a route had 0.03 to 0.10 of the embedded throughput. The laws: a task writes a file of notifications, one of
# refusals, or neither, and tells of them in one row, when they are complete; the columns are those that Spark would
# have written.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# `heliograph.spark.write`: notifications and refusals, both from one query.
#
# The law: what a batch gave stands in one folder with its number, `batch=N`, and is replaced as a whole when the
# batch is run again. So a stream that is restarted from its checkpoint leaves each notification once. Parquet on a
# file system is written by the workers as they find it (see `storing`); anything else goes through Spark's rows and
# writers.
# ----------------------------------------------------------------------------------------------------------------------

FORMATS = ("parquet", "json", "csv", "orc")
CHECKPOINT, REFUSED = "_checkpoint", "_rejected"  # names that Spark's readers pass over


@dataclass(frozen=True, slots=True)
class Target:
    """Where the rows go, and as what."""

    notifications: str
    rejected: str
    format: str

    def save(self, frame: DataFrame, batch: int) -> None:
        """Writes one batch; the rows are computed once for both outputs."""
        kept = getattr(frame, "is_cached", False)
        if not kept:
            frame.persist()
        try:
            for rows, path in zip(told(frame), (self.notifications, self.rejected), strict=True):
                rows.write.mode("overwrite").format(self.format).save(f"{path.rstrip('/')}/batch={batch}")
        finally:
            if not kept:
                frame.unpersist()

    def places(self, spark: SparkSession) -> Places | None:
        """Where the workers can write themselves, if they can."""
        if self.format != "parquet":
            return None
        notifications, rejected = (file_path(spark, path) for path in (self.notifications, self.rejected))
        if notifications is None or rejected is None:
            return None
        return Places(Staging.begin(notifications), Staging.begin(rejected))


def file_path(spark: SparkSession, path: str) -> str | None:
    """A path as workers open it, if Spark means by it a file system that is mounted; else None."""
    if urlsplit(path).scheme not in ("", "file"):
        return None
    try:
        context: Any = spark.sparkContext
    except Exception:  # a session that is connected to a server has none
        return None
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    found = place.getFileSystem(context._jsc.hadoopConfiguration()).makeQualified(place).toUri()
    return str(found.getPath()) if found.getScheme() == "file" else None


@dataclass(frozen=True, slots=True)
class Stored:
    """A DataFrame of a verb whose workers write it themselves: the driver only makes their files a batch."""

    making: Making
    places: Places

    @classmethod
    def of(cls, frame: DataFrame, target: Target) -> Self | None:
        """This way of writing, where it can be gone."""
        making = making_of(frame)
        places = None if making is None else target.places(frame.sparkSession)
        return None if making is None or places is None else cls(making, places)

    def frame(self) -> DataFrame:
        """A row for each task, which tells of its files."""
        rows = self.making.rows.mapInArrow(partial(store, self.making.step, self.places), STORED)
        return observed(rows, NAME) if rows.isStreaming else rows

    def save(self, frame: DataFrame, batch: int) -> dict[str, int]:
        """Runs the tasks and takes the files of those that succeeded; returns the measurements."""
        try:
            rows = frame.collect()
            told = [[row[name] for row in rows if row[name] is not None] for name in OUTPUTS]
            told[1] += self._refused_interests()
            for place, files, schema in zip(self.places, told, SCHEMAS, strict=True):
                if place is not None:
                    place.commit(files, schema, batch)
            return {name: sum(row[STATS][name] for row in rows) for name in COUNTS}
        finally:
            for each in filter(None, self.places):
                each.clear()

    def _refused_interests(self) -> list[str]:
        """The file of what was refused of a batch's interests, which no task knows of; a stream's are logged."""
        place, entries = self.places.rejected, self.making.rejected
        if place is None or not entries or self.making.rows.isStreaming:
            return []
        path = place.draft(0)
        parquet.write_table(Rejections(entries).table, path, store_schema=False)
        return [path.name]


def write(
    frame: DataFrame,
    *,
    notifications: str,
    rejected: str | None = None,
    format: str = "parquet",
    checkpoint: str | None = None,
    **trigger: Any,
) -> StreamingQuery | None:
    """Writes what a verb gave; of a stream it starts the query and returns it.

    What was refused goes to a folder `_rejected` beside the notifications unless told. A batch is written as batch 0,
    in place of one that is there. `trigger` is Spark's, such as `availableNow=True` or `processingTime="10 seconds"`;
    `checkpoint` is a folder `_checkpoint` beside the notifications unless told.
    """
    if format not in FORMATS:
        raise UsageError("HG-082", f"no format {format!r}", fix=f"use {' or '.join(map(repr, FORMATS))}")
    if not str(notifications) or str(notifications).rstrip("/") == str(rejected).rstrip("/"):
        fix = "give notifications and rejected a folder each"
        raise UsageError("HG-082", f"no folder for notifications alone: {str(notifications)!r}", fix=fix)
    refused = f"{str(notifications).rstrip('/')}/{REFUSED}" if rejected is None else str(rejected)
    target = Target(str(notifications), refused, format)
    stored = Stored.of(frame, target)
    if frame.isStreaming:
        save: Any
        rows, save = (frame, target.save) if stored is None else (stored.frame(), stored.save)
        place = checkpoint or f"{target.notifications.rstrip('/')}/{CHECKPOINT}"
        writer = rows.writeStream.foreachBatch(save).option("checkpointLocation", place)
        return (writer.trigger(**trigger) if trigger else writer).start()
    if stored is None:
        target.save(frame, 0)
    else:
        counted(frame, stored.save(stored.frame(), 0))
    return None
