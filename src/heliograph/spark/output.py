"""`heliograph.spark.write`: notifications and rejected items, both from one query, each batch once.

What a batch gave stands in one folder with its number, `batch=N`, and is replaced as a whole when the batch is run
again. So a stream that is restarted from its checkpoint leaves each notification once. Parquet on a mounted file system
is written by the workers as they find it; anything else goes through Spark's rows and writers. A row of the JVM costs
more than most notifications: with 2 million of them through Spark's rows and Parquet writer a route had 0.03 to 0.10 of
the embedded throughput.

The laws of what workers write:
- A task writes a file of notifications, one of refusals, or neither, and reports them in one row when they are
  complete. The columns are those that Spark would have written.
- A file is written under a name that no other has, in a folder that readers pass over. Only files that a task which
  succeeded reported are taken. A batch appears whole, and replaces what an earlier run of it left. So attempts that
  die, copies of a task that run beside it, and a driver that dies at any point leave nothing that is read, and the
  batch can be run again. One writer at a time has an output.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute
from pyarrow import parquet

from heliograph.errors import Place, StorageError, UsageError
from heliograph.model import NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA, Rejected, Rejections
from heliograph.spark.frames import (
    COUNTS,
    MEASUREMENT,
    NAME,
    REJECTED,
    STATS,
    STATS_TYPE,
    Step,
    making_of,
    observed,
    set_counts,
)
from heliograph.spark.versions import task_number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

pc: Any = pyarrow.compute

FORMATS = ("parquet", "json", "csv", "orc")
STAGING, CHECKPOINT, REFUSED = "_staging", "_checkpoint", "_rejected"  # names that Spark's readers pass over
_SUCCESS = "_SUCCESS"  # what Spark leaves in a folder that is complete
_OUTPUTS = ("notifications", "rejected")
_SCHEMAS = (NOTIFICATIONS_SCHEMA, REJECTED_SCHEMA)
_STORED = f"{', '.join(f'{name} string' for name in _OUTPUTS)}, {MEASUREMENT}"
"""What a task reports: a file for each output, or null, and its measurements."""
_STORED_SCHEMA = pa.schema([*((name, pa.string()) for name in _OUTPUTS), (STATS, STATS_TYPE)])
_GROUP = 1 << 20  # rows of a row group


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

    What was refused goes to a folder `_rejected` beside the notifications unless another is given. A batch is written
    as batch 0, in place of one that is there. `trigger` is Spark's, such as `availableNow=True` or
    `processingTime="10 seconds"`; `checkpoint` is a folder `_checkpoint` beside the notifications unless another is
    given.
    """
    if format not in FORMATS:
        raise UsageError("HG-082", f"no format {format!r}", fix=f"use {' or '.join(map(repr, FORMATS))}")
    folder = str(notifications).rstrip("/")
    if not str(notifications) or folder == str(rejected).rstrip("/"):
        fix = "give notifications and rejected a folder each"
        raise UsageError("HG-082", f"no folder for notifications alone: {str(notifications)!r}", fix=fix)
    folders = (str(notifications), f"{folder}/{REFUSED}" if rejected is None else str(rejected))
    making = making_of(frame)
    stagings = _stagings(frame.sparkSession, folders) if making is not None and format == "parquet" else None
    rows = frame
    save: Any = partial(_save_rows, folders, format)
    if making is not None and stagings is not None:
        rows = making.rows.mapInArrow(partial(store, making.step, stagings), _STORED)
        save = partial(_save_files, stagings, () if frame.isStreaming else making.rejected)  # a stream's are logged
    if frame.isStreaming:
        writer = (rows if rows is frame else observed(rows, NAME)).writeStream.foreachBatch(save)
        writer = writer.option("checkpointLocation", checkpoint or f"{folder}/{CHECKPOINT}")
        return (writer.trigger(**trigger) if trigger else writer).start()
    counts = save(rows, 0)
    if counts is not None:
        set_counts(frame, counts)
    return None


def _save_rows(folders: Sequence[str], format: str, frame: DataFrame, batch: int) -> None:
    """Writes one batch by Spark's writers; the rows are computed once for both outputs."""
    is_cached = getattr(frame, "is_cached", False)
    if not is_cached:
        frame.persist()
    try:
        notified = frame.where(frame[REJECTED].isNull()).drop(REJECTED)
        refused = frame.where(frame[REJECTED].isNotNull()).select(f"{REJECTED}.*")
        for rows, path in zip((notified, refused), folders, strict=True):
            rows.write.mode("overwrite").format(format).save(f"{path.rstrip('/')}/batch={batch}")
    finally:
        if not is_cached:
            frame.unpersist()


def _stagings(spark: SparkSession, folders: Sequence[str]) -> list[Staging] | None:
    """Where the workers can write themselves, if they can."""
    paths = [path for folder in folders if (path := _file_path(spark, folder)) is not None]
    return [Staging.begin(path) for path in paths] if len(paths) == len(folders) else None


def _file_path(spark: SparkSession, path: str) -> str | None:
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


# --- files of one run, on their way into the folder of their batch ------------------------------------------------


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
        try:
            for name in names:
                os.rename(self.folder / name, ready / name)
        except FileNotFoundError as error:
            message = "a file that a worker wrote is not here"
            fix = "give a path that leads to the same folder on all machines, and to one query at a time"
            raise StorageError("HG-811", message, place=Place(self.output), fix=fix) from error
        if not os.listdir(ready):
            parquet.write_table(schema.empty_table(), ready / "part-00000.parquet", store_schema=False)
        (ready / _SUCCESS).touch()
        target = Path(self.output, f"batch={batch}")
        if target.exists():  # a folder with files cannot be replaced in one step: for a moment there is none
            os.rename(target, self.folder / f"replaced-{secrets.token_hex(8)}")
        os.rename(ready, target)
        self.clear()

    def clear(self) -> None:
        """Removes what is left of the run: files of attempts that do not count, and the batch that was replaced."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with suppress(OSError):  # somebody's file is there still
            self.folder.parent.rmdir()


# --- the last step of a verb, with the storing of what it found ---------------------------------------------------


def _save_files(
    stagings: Sequence[Staging], refused: Sequence[Rejected], frame: DataFrame, batch: int
) -> dict[str, int]:
    """Runs the tasks, which write files, and takes those of tasks that succeeded; returns the measurements. No task
    knows what was `refused` of the interests."""
    try:
        rows = frame.collect()
        files = [[row[name] for row in rows if row[name] is not None] for name in _OUTPUTS]
        if refused:
            path = stagings[1].draft(0)
            parquet.write_table(Rejections(refused).table, path, store_schema=False)
            files[1].append(path.name)
        for staging, names, schema in zip(stagings, files, _SCHEMAS, strict=True):
            staging.commit(names, schema, batch)
        return {name: sum(row[STATS][name] for row in rows) for name in COUNTS}
    finally:
        for staging in stagings:
            staging.clear()


def store(step: Step, stagings: Sequence[Staging], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: runs a step, writes what it finds, and gives the one row that reports it."""
    files = [OutputFile(staging, schema) for staging, schema in zip(stagings, _SCHEMAS, strict=True)]
    counts = dict.fromkeys(COUNTS, 0)
    for batch in step(batches):
        refused: Any = batch[REJECTED].drop_null()
        stats: Any = batch[STATS].drop_null()
        if len(refused) or len(stats):
            batch = batch.filter(pc.and_(pc.is_null(batch[REJECTED]), pc.is_null(batch[STATS])))
        files[0].add(batch)
        if len(refused):
            files[1].add(pa.RecordBatch.from_struct_array(refused))
        for each in stats.to_pylist():
            counts = {name: count + (each[name] or 0) for name, count in counts.items()}
    row = {**{name: file.close() for name, file in zip(_OUTPUTS, files, strict=True)}, STATS: counts}
    yield pa.RecordBatch.from_pylist([row], schema=_STORED_SCHEMA)


class OutputFile:
    """The file of a task for one output: begun with the first row, and in row groups of a size that readers like."""

    def __init__(self, staging: Staging, schema: pa.Schema) -> None:
        self._staging, self._schema = staging, schema
        self._held: list[pa.RecordBatch] = []
        self._path: Path | None = None
        self._writer: Any = None

    def add(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._held.append(batch.select(self._schema.names))
            if sum(each.num_rows for each in self._held) >= _GROUP:
                self._flush()

    def close(self) -> str | None:
        """The name of the file, once it is complete."""
        if self._held:
            self._flush()
        if self._path is None:
            return None
        self._writer.close()
        return self._path.name

    def _flush(self) -> None:
        if self._path is None:
            self._path = self._staging.draft(task_number())
            # Without the Arrow schema a file says no more than one that Spark wrote.
            self._writer = parquet.ParquetWriter(self._path, self._schema, store_schema=False)
        self._writer.write_table(pa.Table.from_batches(self._held, self._schema), row_group_size=_GROUP)
        self._held = []
