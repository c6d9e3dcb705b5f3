"""What each micro-batch cost: summed up by Spark itself while the rows go by, and told in the progress of the query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from heliograph.model import Rejected
from heliograph.spark.frames import COUNTS, MEASURED, REJECTED, STATS, with_refusals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "heliograph"
Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
_COLUMNS = pa.schema([("batch", pa.int64()), *((name, pa.int64()) for name in COUNTS)])


_OBSERVED: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""By the DataFrame of a batch what Spark observes of it."""


def finished(rows: DataFrame, step: Step, rejected: Iterable[Rejected]) -> DataFrame:
    """What a verb returns after its last step: the measurements taken out of the rows, refused interests added.

    The measurements of a stream are in `observedMetrics` of the query's progress, those of a batch in `batch_counts`.
    """
    from pyspark.sql import Observation, functions

    frame = rows.mapInArrow(step, MEASURED)
    sums = [functions.sum(frame[STATS][name]).alias(name) for name in COUNTS]
    observation = None if frame.isStreaming else Observation(NAME)
    seen = frame.observe(observation or NAME, *sums).where(frame[STATS].isNull()).drop(STATS)
    found = with_refusals(seen, rejected)
    if observation is not None:
        _OBSERVED[found] = observation
    return found


def batch_counts(frame: DataFrame) -> dict[str, int]:
    """What a batch cost, once its rows were computed."""
    counts = _OBSERVED[frame].get
    return {name: counts.get(name) or 0 for name in COUNTS}


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
