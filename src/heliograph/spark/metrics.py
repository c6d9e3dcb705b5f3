"""What each micro-batch cost: summed up by Spark itself while the rows go by, and told in the progress of the query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import pyarrow as pa

from heliograph.model import Rejected
from heliograph.spark.frames import COUNTS, MEASURED, REJECTED, STATS, Step, with_refusals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "heliograph"
_COLUMNS = pa.schema([("batch", pa.int64()), *((name, pa.int64()) for name in COUNTS)])


class Making(NamedTuple):
    """What a DataFrame of a verb is made of: who writes it himself spares the rows their way through the JVM."""

    rows: DataFrame
    step: Step
    rejected: tuple[Rejected, ...]


_MADE: WeakKeyDictionary[Any, Making] = WeakKeyDictionary()
_COUNTED: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""By the DataFrame of a batch what Spark observes of it, or what was counted when it was written."""


def finished(rows: DataFrame, step: Step, rejected: Iterable[Rejected]) -> DataFrame:
    """What a verb returns after its last step: the measurements taken out of the rows, refused interests added.

    The measurements of a stream are in `observedMetrics` of the query's progress, those of a batch in `batch_counts`.
    """
    from pyspark.sql import Observation

    entries = tuple(rejected)
    frame = rows.mapInArrow(step, MEASURED)
    observation = None if frame.isStreaming else Observation(NAME)
    seen = observed(frame, observation or NAME).where(frame[STATS].isNull()).drop(STATS)
    found = with_refusals(seen, entries)
    _MADE[found] = Making(rows, step, entries)
    if observation is not None:
        _COUNTED[found] = observation
    return found


def observed(frame: DataFrame, by: Any) -> DataFrame:
    """A DataFrame with measurements, summed up while its rows go by."""
    from pyspark.sql import functions

    return frame.observe(by, *(functions.sum(frame[STATS][name]).alias(name) for name in COUNTS))


def making_of(frame: DataFrame) -> Making | None:
    """What a DataFrame is made of, if a verb returned it and nobody changed or cached it."""
    return None if getattr(frame, "is_cached", False) else _MADE.get(frame)


def counted(frame: DataFrame, counts: Mapping[str, int]) -> None:
    """Notes what a batch cost when it was written."""
    _COUNTED[frame] = counts


def batch_counts(frame: DataFrame) -> dict[str, int]:
    """What a batch cost, once its rows were computed or written."""
    known = _COUNTED[frame]
    counts = known if isinstance(known, dict) else known.get
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
