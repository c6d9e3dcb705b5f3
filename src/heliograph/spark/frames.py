"""What goes into Spark and comes out of it: the columns of the contract as Spark types and Arrow batches, and the
metrics of a micro-batch.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute

from heliograph.errors import FAILED, Place, TableError, UsageError
from heliograph.io.schemas import CellKind, table_schema
from heliograph.io.tables import as_table
from heliograph.model import (
    NOTIFICATIONS_SCHEMA,
    REJECTED_SCHEMA,
    STATS_KEYS,
    Notifications,
    Rejected,
    Rejections,
    Stats,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


# ----------------------------------------------------------------------------------------------------------------------
# What goes into Spark and comes out of it: the columns of the contract as Spark types and as Arrow batches.
#
# The law: one DataFrame carries notifications and what was rejected. A row is a notification, or it is a refusal:
# then `rejected` is there and every other column is null. Inside a verb a row may also be a measurement, which is
# summed up in the progress of the query (see `metrics`) and seen by nobody else.
# ----------------------------------------------------------------------------------------------------------------------

Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
SOURCE, ROW, REJECTED = ORIGIN = ("source", "row", "rejected")
STATS = "stats"
COUNTS = tuple(name for name in STATS_KEYS if name not in ("complete", "subscriptions", "load_ns"))

pc: Any = pyarrow.compute
_LOG = logging.getLogger("heliograph")
_TEXTS = ", ".join(f"{name}: string" for name in REJECTED_SCHEMA.names)
_NOTIFIED = ", ".join(
    f"{field.name} {'timestamp' if pa.types.is_timestamp(field.type) else 'string'}" for field in NOTIFICATIONS_SCHEMA
)
REFUSAL = f"{REJECTED} struct<{_TEXTS}>"
COLUMNS = f"{_NOTIFIED}, {REFUSAL}"
"""What the three verbs return, as Spark spells it."""
MEASUREMENT = f"{STATS} struct<{', '.join(f'{name}: bigint' for name in COUNTS)}>"
MEASURED = f"{COLUMNS}, {MEASUREMENT}"
"""What a verb's last stage gives."""

REJECTED_TYPE = pa.struct(list(REJECTED_SCHEMA))
STATS_TYPE = pa.struct([(name, pa.int64()) for name in COUNTS])
MEASURED_SCHEMA = pa.schema([*NOTIFICATIONS_SCHEMA, pa.field(REJECTED, REJECTED_TYPE), pa.field(STATS, STATS_TYPE)])
_ROW_IN_WORDS = re.compile(r" in row \d+(?=, column)| \(item \d+\)(?=;|$)")
_OURS = (None, "publications", "subscriptions", "patterns", "constraints")  # no files
_UNNAMED = re.compile(r"no publication_id\b|an event without event_id\b")
_MOST = 1 << 16  # rows of a batch that goes back to the JVM


# --- coming out -------------------------------------------------------------------------------------------------


def measured(found: Notifications, again: bool = False) -> Iterator[pa.RecordBatch]:
    """Notifications, refusals and the measurement of one call as rows of one table.

    What is looked at `again`, in a second stage or shard, is not counted as published or told as refused a second time;
    what failed there, nobody else tells.
    """
    yield from _batches(found.table, {})
    told = [each for each in found.rejected if each.code == FAILED] if again else found.rejected
    refused = Rejections(map(unnumbered, told)).table
    if refused.num_rows:
        yield from _batches(refused.select([]), {REJECTED: refused.to_struct_array()}, refused.num_rows)
    stats = replace(found.stats, publications=0, rejected=len(told)) if again else found.stats
    yield from _batches(refused.select([]), {STATS: _stats(stats)}, 1)


def unnumbered(entry: Rejected) -> Rejected:
    """A refusal that names no row, where a DataFrame's rows have no numbers and are cut anew in each run.

    A row without an id has nothing else to be named by, so it has no name then.
    """
    if entry.source not in _OURS:
        return entry
    item = None if _UNNAMED.match(entry.message) else entry.item
    return replace(entry, item=item, message=_ROW_IN_WORDS.sub("", entry.message))


def refusals(rejected: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    """Refusals alone."""
    entries = Rejections(rejected)
    return measured(Notifications((), entries, Stats(rejected=entries.total)))


def reported(found: Notifications, shard: int) -> Iterator[pa.RecordBatch]:
    """What a shard tells. Every shard refuses the same updates, so only the first says so."""
    return measured(found, again=shard > 0)


def _batches(table: pa.Table, more: dict[str, Any], size: int | None = None) -> Iterator[pa.RecordBatch]:
    """A table with the columns that it lacks as nulls."""
    rows = table.num_rows if size is None else size
    columns = []
    for field in MEASURED_SCHEMA:
        known = table[field.name] if field.name in table.column_names else more.get(field.name)
        columns.append(pa.nulls(rows, field.type) if known is None else known)
    yield from pa.Table.from_arrays(columns, schema=MEASURED_SCHEMA).to_batches(max_chunksize=_MOST)


def _stats(stats: Stats) -> Any:
    return pa.array([{name: getattr(stats, name) for name in COUNTS}], STATS_TYPE)


# --- going in ---------------------------------------------------------------------------------------------------


def shaped(frame: DataFrame, name: str) -> DataFrame:
    """A DataFrame with the columns of a table of the contract, in order and in its types; others are dropped."""
    schema = table_schema(name)
    schema.check(frame.columns, Place(name))
    columns = [_cast(frame, column.name, column.kind) for column in schema.columns]
    return frame.select(*columns, *(frame[more] for more in ORIGIN if is_read(frame)))


def is_read(frame: DataFrame) -> bool:
    """Whether the rows were read from files by us: then each knows its place, or is the refusal of one."""
    return set(frame.columns) >= set(ORIGIN)


SPARK_TYPES = {
    CellKind.INTEGER: "bigint",
    CellKind.NUMBER: "double",
    CellKind.TIME: "timestamp",
    CellKind.LABELS: "array<string>",
}


def _cast(frame: DataFrame, name: str, kind: CellKind) -> Column:
    """A column as the table has it. Texts stay texts: the engine says which of them spell no number or time."""
    from pyspark.sql import functions

    target = SPARK_TYPES.get(kind, "string")
    if name not in frame.columns:
        return functions.lit(None).cast(target).alias(name)
    found = frame.schema[name].dataType.simpleString()
    if found == "binary":
        raise TableError("HG-204", f"bytes in column {name!r}", fix=f"cast the column to {target}")
    return frame[name] if found == "string" else frame[name].cast(target).alias(name)


def gathered(batches: Iterable[pa.RecordBatch], name: str) -> pa.Table:
    """All rows of a task as one table."""
    some = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(some) if some else table_schema(name).empty()


def parted(table: pa.Table) -> tuple[pa.Table, list[Rejected]]:
    """The rows that can be used, and what was refused when they were read."""
    if REJECTED not in table.column_names:
        return table, []
    refused: list[Any] = table.filter(pc.is_valid(table[REJECTED]))[REJECTED].to_pylist()
    good = table.filter(pc.is_null(table[REJECTED])) if refused else table
    return good.drop_columns([REJECTED]), [Rejected(**entry) for entry in refused]


def plain(table: pa.Table) -> pa.Table:
    """Without the places of the rows."""
    return table.drop_columns([name for name in ORIGIN if name in table.column_names])


def check_frame(items: Any, name: str) -> None:
    """What is published must be a DataFrame; whatever else an engine takes, the embedded ones take."""
    if not is_frame(items):
        fix = f"give spark.createDataFrame(…), or heliograph.spark.read(spark, {name!r}, path)"
        raise UsageError("HG-086", f"{name} as {type(items).__name__}, which is no DataFrame", fix=fix)


def is_frame(items: Any) -> bool:
    """Whether this is a DataFrame of Spark, classic or connected."""
    return type(items).__module__.startswith("pyspark.sql")


def collected(items: Any, name: str) -> Any:
    """Interests as an engine takes them: a DataFrame is brought to the driver, where the engine reads its cells."""
    if not is_frame(items):
        return items
    schema = table_schema(name)
    schema.check(items.columns, Place(name))
    return items.select(*(column for column in schema.names if column in items.columns)).toArrow()


def with_refusals(frame: DataFrame, rejected: Iterable[Rejected]) -> DataFrame:
    """A batch with what was refused of the interests. A stream cannot begin with such rows, so there it is logged."""
    entries = list(rejected)
    if entries and frame.isStreaming:
        for entry in entries:
            _LOG.warning("%s: %s (%s)", entry.code, entry.message, entry.item or entry.source)
        return frame
    if not entries:
        return frame
    rows = [
        (*[None] * len(NOTIFICATIONS_SCHEMA), (entry.source, entry.item, entry.code, entry.message))
        for entry in entries
    ]
    return frame.unionByName(frame.sparkSession.createDataFrame(rows, COLUMNS))


# ----------------------------------------------------------------------------------------------------------------------
# Columns of other types than the table has: their cells are spelled as the embedded reader spells them.
#
# The law: a cell means the same on Spark as in the embedded engines. The JVM casts texts, whole numbers and truth
# values as the reader does; a double, a date or a struct it would cast to the name of something else. So those go to
# the workers as they are, and what the reader refuses of them is a refusal here too.
# ----------------------------------------------------------------------------------------------------------------------

_SPELLING_TEXTS = {"string", "void", "binary"}  # bytes are refused when the frame is shaped
_WHOLE = {*_SPELLING_TEXTS, "tinyint", "smallint", "int", "bigint"}
_CAST = {
    CellKind.JSON: _SPELLING_TEXTS,
    CellKind.INTEGER: _WHOLE,
    CellKind.NUMBER: {*_WHOLE, "double"},
    CellKind.TIME: {*_SPELLING_TEXTS, "timestamp"},
    CellKind.LABELS: {*_SPELLING_TEXTS, "array<string>"},
}
"""The types that the JVM casts as the reader does; to texts and terms also truth values."""


def spelled(frame: DataFrame, name: str) -> DataFrame:
    """A DataFrame as `shaped`; with refusals in a column `rejected` where its cells had to be read."""
    table_schema(name).check(frame.columns, Place(name))
    if is_read(frame) or not strange(frame, name):
        return shaped(frame, name)
    known = [frame[column] for column in table_schema(name).names if column in frame.columns]
    own = (f"{column.name} {SPARK_TYPES.get(column.kind, 'string')}" for column in table_schema(name).columns)
    return frame.select(*known).mapInArrow(partial(spell, name), ", ".join([*own, REFUSAL]))


def strange(frame: DataFrame, name: str) -> list[str]:
    """The columns that the JVM would cast to something else."""
    types = {field.name: field.dataType.simpleString() for field in frame.schema}
    columns = table_schema(name).columns
    usual = {column.name: _CAST.get(column.kind, {*_WHOLE, "boolean"}) for column in columns if column.name in types}
    return [column for column, cast in usual.items() if types[column] not in cast]


# --- in the workers ---------------------------------------------------------------------------------------------


def spell(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows as the embedded reader reads them, and what it refuses as rows of their own."""
    schema = pa.schema([*table_schema(name).arrow, pa.field(REJECTED, REJECTED_TYPE)])
    for batch in batches:
        read = as_table(name, batch)
        good: list[Any] = [*read.table.columns, pa.nulls(read.table.num_rows, REJECTED_TYPE)]
        yield from pa.Table.from_arrays(good, schema=schema).to_batches()
        yield from refused(read.rejected, schema)


def refused(rejected: Rejections, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    rows = [{name: getattr(entry, name) for name in REJECTED_SCHEMA.names} for entry in rejected]
    if rows:
        nothing = [pa.nulls(len(rows), field.type) for field in list(schema)[:-1]]
        yield pa.RecordBatch.from_arrays([*nothing, pa.array(rows, REJECTED_TYPE)], schema=schema)


# ----------------------------------------------------------------------------------------------------------------------
# What each micro-batch cost: summed up by Spark itself while the rows go by, and told in the progress of the query.
# ----------------------------------------------------------------------------------------------------------------------

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
