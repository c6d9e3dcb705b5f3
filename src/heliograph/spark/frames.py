"""What goes into Spark and comes out of it: tables of the contract as DataFrames, files, and rows in Arrow batches.

The laws:
- One DataFrame carries notifications and refusals. A row is a notification, or it is a refusal: then `rejected` is not
  null and every other column is. Inside a verb a row may also be a measurement, which Spark adds up in the progress of
  the query and nobody else sees.
- A cell means the same on Spark as in the embedded engines: cells go to the workers as they are, and the embedded
  reader takes or refuses them there. The JVM would cast a double, a date or a struct to the name of something else.
- Files are read by the workers with the embedded readers. Which worker reads a file changes nothing; each file is read
  by one task, and a path must lead to the same file on every machine.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.errors import FAILED, Place, TableError, UsageError
from heliograph.io.documents import join_documents, read_source
from heliograph.io.rdf import Interner
from heliograph.io.schemas import CellKind, table_schema
from heliograph.io.sources import (
    DOCUMENT_SUFFIXES,
    FEED_SUFFIXES,
    TABLE_SUFFIXES,
    Source,
    collector_paused,
    find_sources,
)
from heliograph.io.tables import as_table, read_encoded
from heliograph.model import (
    NOTIFICATIONS_SCHEMA,
    REJECTED_SCHEMA,
    STATS_KEYS,
    Notifications,
    Rejected,
    Rejections,
    Stats,
)
from heliograph.terms import Position
from heliograph.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pc: Any = pyarrow.compute
_LOG = logging.getLogger("heliograph")

Step = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
SOURCE, ROW, REJECTED = ORIGIN = ("source", "row", "rejected")
"""Columns beside those of a table: the file and number of a row that was read from a file, or the refusal of one.

Triples of documents have no number, those of a feed's items a negative one: items are told apart by file and number."""
STATS = "stats"
COUNTS = tuple(name for name in STATS_KEYS if name not in ("complete", "subscriptions", "load_ns"))

# --- columns as Spark and as Arrow spell them ---------------------------------------------------------------------

_TEXTS = ", ".join(f"{name}: string" for name in REJECTED_SCHEMA.names)
_NOTIFIED = ", ".join(
    f"{field.name} {'timestamp' if pa.types.is_timestamp(field.type) else 'string'}" for field in NOTIFICATIONS_SCHEMA
)
_REFUSAL = f"{REJECTED} struct<{_TEXTS}>"
COLUMNS = f"{_NOTIFIED}, {_REFUSAL}"
"""What the three verbs return."""
MEASUREMENT = f"{STATS} struct<{', '.join(f'{name}: bigint' for name in COUNTS)}>"
_MEASURED = f"{COLUMNS}, {MEASUREMENT}"
"""What the last stage of a verb gives."""

REJECTED_TYPE = pa.struct(list(REJECTED_SCHEMA))
STATS_TYPE = pa.struct([(name, pa.int64()) for name in COUNTS])
MEASURED_SCHEMA = pa.schema([*NOTIFICATIONS_SCHEMA, pa.field(REJECTED, REJECTED_TYPE), pa.field(STATS, STATS_TYPE)])

_SPARK_TYPES = {
    CellKind.INTEGER: "bigint",
    CellKind.NUMBER: "double",
    CellKind.TIME: "timestamp",
    CellKind.LABELS: "array<string>",
}


def read_schema(name: str) -> str:
    """The columns of a table that was read from files, as Spark spells them."""
    columns = (f"{each.name} {_SPARK_TYPES.get(each.kind, 'string')}" for each in table_schema(name).columns)
    return f"{', '.join(columns)}, {SOURCE} string, {ROW} bigint, {_REFUSAL}"


def _arrow_schema(name: str, *more: pa.Field[Any]) -> pa.Schema:
    return pa.schema([*table_schema(name).arrow, *more, pa.field(REJECTED, REJECTED_TYPE)])


_PLACE = (pa.field(SOURCE, pa.string()), pa.field(ROW, pa.int64()))


# --- rows that come out -------------------------------------------------------------------------------------------

_MOST = 1 << 16  # rows of a batch that goes back to the JVM
_OURS = (None, "publications", "subscriptions", "patterns", "constraints")  # no files
_ROW_IN_WORDS = re.compile(r" in row \d+(?=, column)| \(item \d+\)(?=;|$)")
_UNNAMED = re.compile(r"no publication_id\b|an event without event_id\b")


def measured(found: Notifications, again: bool = False) -> Iterator[pa.RecordBatch]:
    """Notifications, refusals and the measurement of one call as rows of one table.

    What is looked at `again`, in a second stage or shard, is not counted as published or reported as refused a second
    time; only what failed there is, since nobody else reports that.
    """
    entries = [each for each in found.rejected if each.code == FAILED] if again else found.rejected
    stats = replace(found.stats, publications=0, rejected=len(entries)) if again else found.stats
    table = found.table
    yield from _batches(table.num_rows, dict(zip(table.column_names, table.columns, strict=True)))
    refused = Rejections(map(unnumbered, entries)).table
    if refused.num_rows:
        yield from _batches(refused.num_rows, {REJECTED: refused.to_struct_array()})
    yield from _batches(1, {STATS: pa.array([{name: getattr(stats, name) for name in COUNTS}], STATS_TYPE)})


def _batches(rows: int, known: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Rows with the columns that they lack as nulls."""
    columns = [known[each.name] if each.name in known else pa.nulls(rows, each.type) for each in MEASURED_SCHEMA]
    yield from pa.Table.from_arrays(columns, schema=MEASURED_SCHEMA).to_batches(max_chunksize=_MOST)


def unnumbered(entry: Rejected) -> Rejected:
    """A refusal that names no row, since the rows of a DataFrame have no numbers and are cut anew in each run.

    A row without an id has nothing else to be named by, so it has no name then.
    """
    if entry.source not in _OURS:
        return entry
    item = None if _UNNAMED.match(entry.message) else entry.item
    return replace(entry, item=item, message=_ROW_IN_WORDS.sub("", entry.message))


def refusals(rejected: Iterable[Rejected]) -> Iterator[pa.RecordBatch]:
    """Refusals alone, where there are any."""
    entries = Rejections(rejected)
    if len(entries):
        yield from measured(Notifications((), entries, Stats(rejected=entries.total)))


# --- rows that go in ----------------------------------------------------------------------------------------------


def check_frame(items: Any, name: str) -> None:
    """What is published must be a DataFrame; the embedded engines take everything else."""
    if not is_frame(items):
        fix = f"give spark.createDataFrame(…), or heliograph.spark.read(spark, {name!r}, path)"
        raise UsageError("HG-086", f"{name} as {type(items).__name__}, which is no DataFrame", fix=fix)


def is_frame(items: Any) -> bool:
    """Whether this is a DataFrame of Spark, classic or connected."""
    return type(items).__module__.startswith("pyspark.sql")


def is_read(frame: DataFrame) -> bool:
    """Whether the rows were read from files by us: then each knows its place, or is the refusal of one."""
    return set(frame.columns) >= set(ORIGIN)


def collected(items: Any, name: str) -> Any:
    """Interests as an engine takes them: a DataFrame is brought to the driver, where the engine reads its cells."""
    if not is_frame(items):
        return items
    return items.select(*own_columns(items, name)).toArrow()


def own_columns(frame: DataFrame, name: str) -> list[str]:
    """The columns of a DataFrame that belong to a table of the contract; with the origin of rows that we read."""
    schema = table_schema(name)
    schema.check(frame.columns, Place(name))
    columns = [column for column in schema.columns if column.name in frame.columns]
    for name, kind in ((column.name, column.kind) for column in columns):
        if frame.schema[name].dataType.simpleString() == "binary":
            fix = f"cast the column to {_SPARK_TYPES.get(kind, 'string')}"
            raise TableError("HG-204", f"bytes in column {name!r}", fix=fix)
    return [*(column.name for column in columns), *(ORIGIN if is_read(frame) else ())]


def spelled(name: str, table: pa.Table) -> pa.Table:
    """In a worker: rows as the embedded reader reads them, and what it refuses as rows of their own. Columns beside
    those of the table go with their rows."""
    if REJECTED in table.column_names:
        return table
    known = [column for column in table.column_names if column in table_schema(name).names]
    more = [column for column in table.column_names if column not in known]
    read = as_table(name, table.select(known))
    kept = [table[column].take(read.rows - 1) for column in more]
    schema = _arrow_schema(name, *(table.schema.field(column) for column in more))
    good: list[Any] = [*read.table.columns, *kept, pa.nulls(read.table.num_rows, REJECTED_TYPE)]
    return pa.concat_tables(
        [pa.Table.from_arrays(good, schema=schema), pa.Table.from_batches(_refused(schema, read.rejected), schema)]
    )


def spell_rows(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.schema.equals(table_schema(name).arrow):  # there is nothing to spell
            yield batch
        else:
            yield from spelled(name, pa.Table.from_batches([batch])).to_batches()


def _refused(schema: pa.Schema, rejected: Iterable[Rejected]) -> Iterator[pa.RecordBatch]:
    table = Rejections(rejected).table
    if table.num_rows:
        nothing = [pa.nulls(table.num_rows, field.type) for field in list(schema)[:-1]]
        yield pa.RecordBatch.from_arrays([*nothing, table.to_struct_array().combine_chunks()], schema=schema)


def parted(table: pa.Table) -> tuple[pa.Table, list[Rejected]]:
    """The rows that can be used, and what was refused when they were read."""
    if REJECTED not in table.column_names:
        return table, []
    refused: list[Any] = table[REJECTED].drop_null().to_pylist()
    good = table.filter(pc.is_null(table[REJECTED])) if refused else table
    return good.drop_columns([REJECTED]), [Rejected(**entry) for entry in refused]


def plain(table: pa.Table) -> pa.Table:
    """Without the places of the rows."""
    return table.drop_columns([name for name in ORIGIN if name in table.column_names])


# --- files --------------------------------------------------------------------------------------------------------

_POSITIONS = (Position.SUBJECT, Position.PROPERTY, Position.OBJECT)
_BINARY = "path string, modificationTime timestamp, length bigint, content binary"  # Spark's, which it does not presume
_TOGETHER = 1000  # publications of a document in one batch
_FILES_OF: WeakKeyDictionary[Any, DataFrame] = WeakKeyDictionary()
"""By a DataFrame of rows the DataFrame of the files that they are read from."""


def read(spark: SparkSession, name: str, spec: str, *, follow: bool = False) -> DataFrame:
    """A table of the contract from a file, a folder or a glob, as the embedded engines read it.

    Publications may be documents and feeds too. `follow` makes it a stream of what is in a folder and comes to it.
    """
    if follow:
        files = _followed(spark, spec, suffixes_of(name))
    else:
        paths = [(str(Path(str(each.path)).absolute()), each.name) for each in find_sources(spec, suffixes_of(name))]
        files = spark.createDataFrame(paths, "path string, name string")
    rows = files.mapInArrow(partial(read_rows, name), read_schema(name))
    _FILES_OF[rows] = files
    return rows


def suffixes_of(name: str) -> tuple[str, ...]:
    """The files that a table can be read from."""
    return TABLE_SUFFIXES + (DOCUMENT_SUFFIXES + FEED_SUFFIXES if name == "publications" else ())


def files_of(rows: DataFrame) -> DataFrame | None:
    """The files of rows that were read here: a step that reads them itself spares the rows the way through the JVM."""
    return _FILES_OF.get(rows)


def run_step(frame: DataFrame, name: str, step: Step, columns: str) -> DataFrame:
    """A step over the rows of a table, which the workers read first; where they come from files, they read those."""
    files = files_of(frame)
    if files is not None:
        return files.mapInArrow(partial(read_and_step, read_rows, name, step), columns)
    return frame.select(*own_columns(frame, name)).mapInArrow(partial(read_and_step, spell_rows, name, step), columns)


def read_and_step(
    read: Callable[..., Iterator[pa.RecordBatch]], name: str, step: Step, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """In a worker: a step over the rows that are read."""
    return step(read(name, batches))


def _followed(spark: SparkSession, folder: str, suffixes: Sequence[str]) -> DataFrame:
    """The files in a folder, and those that come to it, as a stream."""
    from pyspark.sql import functions

    base = str(Path(folder).resolve())
    glob = f"*.{{{','.join(suffix.removeprefix('.') for suffix in suffixes)}}}"
    reader = spark.readStream.format("binaryFile").option("pathGlobFilter", glob).option("recursiveFileLookup", "true")
    reader = reader.option("maxFileAge", "36500d")  # Spark would pass over what is a week older than the newest
    path = functions.expr("regexp_replace(path, '^file:/+', '/')")  # spelled as it is, a percent sign too
    files = reader.schema(_BINARY).load(base).select(path.alias("path"))
    name_of = functions.substring(files["path"], functions.lit(len(base) + 2), functions.length(files["path"]))
    return files.select("path", name_of.alias("name"))


def read_rows(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: files as rows of a table."""
    schema = _arrow_schema(name, *_PLACE)
    for table in read_tables(name, batches):
        columns = [
            table[each.name].cast(each.type) if each.name in table.column_names else pa.nulls(len(table), each.type)
            for each in schema
        ]
        yield from pa.Table.from_arrays(columns, schema=schema).to_batches()


def read_tables(name: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """In a worker: files as tables; texts may be interned, and a column of refusals is only where there are some."""
    files: Iterator[Any] = (file for batch in batches for file in batch.to_pylist())
    for source in (Source(Path(file["path"]), file["name"]) for file in files):
        if source.suffix not in TABLE_SUFFIXES:
            yield from (pa.Table.from_batches([batch]) for batch in document_rows(source))
            continue
        for read in read_encoded(name, source):
            named = pa.DictionaryArray.from_arrays(np.zeros(read.table.num_rows, np.int8), pa.array([source.name]))
            yield read.table.append_column(SOURCE, named).append_column(ROW, pa.array(read.rows))
            yield from (pa.Table.from_batches([batch]) for batch in refused_rows(name, read.rejected))


def document_rows(source: Source) -> Iterator[pa.RecordBatch]:
    """The triples of one document by publication."""
    vocabulary, schema = Vocabulary(), _arrow_schema("publications", *_PLACE)
    interner = Interner(vocabulary)
    with collector_paused():
        whole = read_source(source, interner)
    row = pa.scalar(-1 if whole.are_items else None, pa.int64())
    for found in join_documents([whole], interner, _TOGETHER):
        publications = found.publications
        ids = np.repeat(np.arange(len(publications.ids)), np.diff(publications.offsets))
        terms = [vocabulary.spell(*column) for column in zip(publications.triples, _POSITIONS, strict=True)]
        columns: list[Any] = [pa.array(publications.ids, pa.string()).take(ids), *terms]
        columns += [pa.repeat(pa.scalar(source.name, pa.string()), len(ids))]
        columns += [pa.repeat(row, len(ids)), pa.nulls(len(ids), REJECTED_TYPE)]
        yield from pa.Table.from_arrays(columns, schema=schema).to_batches()
        yield from refused_rows("publications", found.rejected)


def refused_rows(name: str, rejected: Iterable[Rejected]) -> Iterator[pa.RecordBatch]:
    """What was refused of files, as rows of their table."""
    return _refused(_arrow_schema(name, *_PLACE), rejected)


# --- what a verb returns, and what each batch cost ----------------------------------------------------------------

NAME = "heliograph"
_PROGRESS = pa.schema([("batch", pa.int64()), *((name, pa.int64()) for name in COUNTS)])


class Making(NamedTuple):
    """What a DataFrame of a verb is made of: `write` runs the step itself and spares the rows their way through the
    JVM."""

    rows: DataFrame
    step: Step
    rejected: tuple[Rejected, ...]


_MADE: WeakKeyDictionary[Any, Making] = WeakKeyDictionary()
_COUNTED: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
"""By the DataFrame of a batch what Spark observes of it, or what was counted when it was written."""


def finished(rows: DataFrame, step: Step, rejected: Iterable[Rejected]) -> DataFrame:
    """What a verb returns after its last step: the measurements taken out of the rows, refused interests added.

    The measurements of a stream are in `observedMetrics` of the query's progress, those of a batch in `batch_counts`.
    A stream cannot begin with rows of refused interests, so there they are logged.
    """
    from pyspark.sql import Observation

    entries = tuple(rejected)
    frame = rows.mapInArrow(step, _MEASURED)
    observation = None if frame.isStreaming else Observation(NAME)
    found = observed(frame, observation or NAME).where(frame[STATS].isNull()).drop(STATS)
    if frame.isStreaming:
        for entry in entries:
            _LOG.warning("%s: %s (%s)", entry.code, entry.message, entry.item or entry.source)
    elif entries:
        nothing = [None] * len(NOTIFICATIONS_SCHEMA)
        refused = [(*nothing, (entry.source, entry.item, entry.code, entry.message)) for entry in entries]
        found = found.unionByName(found.sparkSession.createDataFrame(refused, COLUMNS))
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


def set_counts(frame: DataFrame, counts: Mapping[str, int]) -> None:
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
    return pa.Table.from_pylist(rows, schema=_PROGRESS)
