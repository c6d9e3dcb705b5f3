"""`heliograph.spark.write`: notifications and refusals, both from one query.

The law: what a batch gave stands in one folder with its number, `batch=N`, and is replaced as a whole when the batch is
run again. So a stream that is restarted from its checkpoint leaves each notification once. Parquet on a file system is
written by the workers as they find it (see `storing`); anything else goes through Spark's rows and writers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from pyarrow import parquet

from heliograph.errors import UsageError
from heliograph.model import Rejections
from heliograph.spark.frames import COUNTS, STATS
from heliograph.spark.metrics import NAME, Making, counted, making_of, observed, told
from heliograph.spark.staging import Staging
from heliograph.spark.storing import OUTPUTS, SCHEMAS, STORED, Places, store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

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
