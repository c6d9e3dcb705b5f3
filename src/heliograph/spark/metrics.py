"""What each micro-batch cost: summed up by Spark itself while the rows go by, and told in the progress of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from heliograph.spark.frames import COUNTS, REJECTED, STATS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "heliograph"
_COLUMNS = pa.schema([("batch", pa.int64()), *((name, pa.int64()) for name in COUNTS)])


def metered(frame: DataFrame) -> DataFrame:
    """Takes the measurements out of a verb's rows; they are in `observedMetrics` of the query's progress."""
    from pyspark.sql import functions

    sums = [functions.sum(frame[STATS][name]).alias(name) for name in COUNTS]
    return frame.observe(NAME, *sums).where(frame[STATS].isNull()).drop(STATS)


def progress_table(query: Any) -> pa.Table:
    """The measurements of a streaming query, a row for each micro-batch that Spark remembers."""
    rows = []
    for progress in query.recentProgress:
        observed = progress.observedMetrics.get(NAME)
        if observed is not None:
            counts = observed.asDict()
            rows.append({"batch": progress.batchId, **{name: counts.get(name) or 0 for name in COUNTS}})
    return pa.Table.from_pylist(rows, schema=_COLUMNS)


def told(frame: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Notifications and refusals apart."""
    refused = frame.where(frame[REJECTED].isNotNull()).select(f"{REJECTED}.*")
    return frame.where(frame[REJECTED].isNull()).drop(REJECTED), refused
