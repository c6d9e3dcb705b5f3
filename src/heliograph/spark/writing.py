"""`heliograph.spark.write`: notifications and refusals, both from one query.

The law: what a batch gave stands in one folder with its number, `batch=N`, and is replaced as a whole when the batch is
run again. So a stream that is restarted from its checkpoint leaves each notification once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heliograph.errors import UsageError
from heliograph.spark.metrics import told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

FORMATS = ("parquet", "json", "csv", "orc")
CHECKPOINT = "_checkpoint"  # a name that Spark's readers pass over


@dataclass(frozen=True, slots=True)
class Target:
    """Where the rows go, and as what."""

    notifications: str
    rejected: str | None
    format: str

    def save(self, frame: DataFrame, batch: int) -> None:
        """Writes one batch; the rows are computed once for both outputs."""
        frame.persist()
        try:
            for rows, path in zip(told(frame), (self.notifications, self.rejected), strict=True):
                if path is not None:
                    rows.write.mode("overwrite").format(self.format).save(f"{path.rstrip('/')}/batch={batch}")
        finally:
            frame.unpersist()


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

    A batch is written as batch 0. `trigger` is Spark's, such as `availableNow=True` or `processingTime="10 seconds"`;
    `checkpoint` is a folder `_checkpoint` beside the notifications unless told.
    """
    if format not in FORMATS:
        raise UsageError("HG-082", f"no format {format!r}", fix=f"use {' or '.join(map(repr, FORMATS))}")
    target = Target(str(notifications), None if rejected is None else str(rejected), format)
    if not frame.isStreaming:
        target.save(frame, 0)
        return None
    place = checkpoint or f"{target.notifications.rstrip('/')}/{CHECKPOINT}"
    writer = frame.writeStream.foreachBatch(target.save).option("checkpointLocation", place)
    return (writer.trigger(**trigger) if trigger else writer).start()
