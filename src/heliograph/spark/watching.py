"""`heliograph.spark.watch`: updates of an evolving graph against queries that are divided among shards.

The path of an update: the task that has it asks the switchboard who can see it → a letter takes it to those shards, in
Arrow, not row by row → each shard puts its updates in ascending seq and publishes them. A batch is one such run; a
stream keeps its engines in Spark's state store (see `state`). The law: notifications are the embedded engine's for the
updates in ascending seq, wherever they are cut into tasks, shards and micro-batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.errors import SetupError, UsageError
from heliograph.model import Rejected, Rejections
from heliograph.spark.frames import ROW, SOURCE, check_frame, measured, parted, plain, refusals, reported
from heliograph.spark.hashing import spreading_keys
from heliograph.spark.letters import Facts, Letter, ascending, delivered, pieces
from heliograph.spark.metrics import finished
from heliograph.spark.packing import FOR_SHARDS, larger, unpack_found
from heliograph.spark.placement import TABLES, Placement
from heliograph.spark.reading import files_of, read_rows
from heliograph.spark.sessions import PROVIDER, PROVIDER_KEY
from heliograph.spark.spelling import spelled
from heliograph.spark.versions import Pointer, task_number
from heliograph.spark.watchers import Setting, Watchers
from heliograph.tables.reads import Read
from heliograph.tables.schemas import table_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pc: Any = pyarrow.compute

HISTORY = 4 << 20  # bytes of updates that are sooner replayed than an engine is saved
_TOGETHER = 1 << 17  # updates of a letter, and published in one call
_NOTHING = np.empty(0, np.int64)


class WatchOptions(Setting, total=False):
    """What `watch` takes beside updates and subscriptions."""

    patterns: Any
    constraints: Any
    graph: Any
    shards: int | None
    history: int
    folder: str | None


class Task(NamedTuple):
    """What a task must know: where the queries stand, and under which keys the shards get their letters."""

    placement: Placement
    pointer: Pointer
    keys: list[int]
    streaming: bool


def watch(updates: DataFrame, subscriptions: Any = None, **options: Unpack[WatchOptions]) -> DataFrame:
    """The notifications of updates: a DataFrame (op, subject, property, object; seq, weight, at) in ascending seq.

    Without a column seq a batch is taken in the order of its files; a stream must have one. `subscriptions` are a
    DataFrame, a table, items, `Watchers` or their folder; or `patterns` with `constraints`. Other options are those of
    `Watch`, `graph`, `shards`, `history` (bytes of updates that a stream keeps before it saves an engine in their
    place), and `folder`, where workers find the engines.
    """
    check_frame(updates, "updates")
    given: dict[str, Any] = {**options}
    tables = {name: given.pop(name, None) for name in TABLES[1:]}
    history, folder = _check_history(given.pop("history", HISTORY)), given.pop("folder", None)
    if updates.isStreaming:
        _check_stream(updates)
    watchers = Watchers.of(subscriptions, tables, folder, given)
    placement, pointer = watchers.placement, watchers.pointer(updates.isStreaming)
    if updates.isStreaming:
        task = Task(placement, pointer, spreading_keys(placement.shards), streaming=True)
        return finished(_streamed(updates, task, history), unpack_found, watchers.rejected)
    task = Task(placement, pointer, list(range(placement.shards)), streaming=False)
    files = files_of(updates)
    if placement.shards == 1 and files is not None:  # one task reads, orders and publishes: nothing has to travel
        return finished(files.coalesce(1), partial(run_files, task), watchers.rejected)
    return finished(_at_once(updates, task), partial(run_shard, task), watchers.rejected)


def _check_history(history: Any) -> int:
    if isinstance(history, bool) or not isinstance(history, int) or history < 0:
        raise UsageError("HG-087", f"history is {history!r}", fix="give a number of bytes, 0 or more")
    return history


def _check_stream(updates: DataFrame) -> None:
    if "seq" not in updates.columns:
        fix = "number the updates in a column seq"
        raise UsageError("HG-083", "a stream of updates without seq: its rows have no order", fix=fix)
    if updates.sparkSession.conf.get(PROVIDER_KEY, "") != PROVIDER:
        fix = f"use heliograph.spark.session(), or set {PROVIDER_KEY} to {PROVIDER}"
        raise SetupError("HG-907", "a session that does not keep its state in RocksDB", fix=fix)


def _letters(updates: DataFrame, task: Task) -> DataFrame:
    """The letters to all shards; files that were to be read are read by whoever writes them."""
    files = files_of(updates)
    if files is not None:
        return files.mapInArrow(partial(read_and_post, task), FOR_SHARDS)
    rows = spelled(updates, "updates")
    if task.streaming:
        rows = rows.withColumn("seq", rows["seq"].try_cast("bigint"))
    return rows.mapInArrow(partial(post, task), FOR_SHARDS)


def _at_once(updates: DataFrame, task: Task) -> DataFrame:
    """The letters of a batch; an empty one goes to each shard, so that each runs even if nothing is updated."""
    opening = updates.sparkSession.range(0, 1, 1, 1).mapInArrow(partial(open_batch, task), FOR_SHARDS)
    return _letters(updates, task).unionByName(opening).repartitionById(len(task.keys), "shard")


def _streamed(updates: DataFrame, task: Task, history: int) -> DataFrame:
    from heliograph.spark.state import Watching

    processor = Watching(task.placement, {key: shard for shard, key in enumerate(task.keys)}, history)
    letters = _letters(updates, task).groupBy("shard")
    return letters.transformWithStateInPandas(processor, "payload binary", "Append", "None")


# --- in the workers ---------------------------------------------------------------------------------------------


def read_and_post(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return post(task, read_rows("updates", batches))


def post(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The updates of a task as letters."""
    filled = (batch for batch in batches if batch.num_rows)
    for number, some in enumerate(larger(filled, _TOGETHER)):
        rows, rejected = parted(some)
        facts = Facts(task_number(), number, task.pointer.resolved(), _NOTHING, tuple(rejected))
        for key, letter in zip(task.keys, task.placement.letters(plain(rows), facts, task.streaming), strict=True):
            yield _addressed(key, letter)


def open_batch(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """An empty letter to each shard, before all others."""
    for _ in batches:
        facts = Facts(-1, 0, task.pointer.resolved(), _NOTHING)
        for key in task.keys:
            yield _addressed(key, Letter(facts, table_schema("updates").empty()))


def _addressed(key: int, letter: Letter) -> pa.RecordBatch:
    columns: list[Any] = [pa.array([key], pa.int32()), pa.array([letter.pack()], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["shard", "payload"])


def run_shard(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All letters of a batch to one shard, through its engine."""
    payloads: list[Any] = []
    shard = 0
    for batch in batches:
        payloads += batch["payload"].to_pylist()
        shard = batch["shard"][0].as_py() if batch.num_rows else shard
    if payloads:
        updates, rejected, version = delivered(payloads, shard, task.placement.habits(streaming=False))
        yield from refusals(rejected) if rejected else ()
        yield from _run(task.placement, shard, version, updates)


def run_files(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All updates of files through the only engine, where they are read."""
    rows = [batch for batch in read_rows("updates", batches) if batch.num_rows]
    table, rejected = parted(pa.Table.from_batches(rows)) if rows else (table_schema("updates").empty(), [])
    if rows and table["seq"].null_count == table.num_rows:
        engine = task.placement.engine(0, task.pointer.resolved())
        for read in _as_read(table, rejected):
            yield from measured(engine.publish(read))
        return
    updates, refused = ascending(plain(table), streaming=False)
    yield from refusals([*rejected, *refused]) if rejected or refused else ()
    yield from _run(task.placement, 0, task.pointer.resolved(), updates)


def _as_read(table: pa.Table, rejected: Sequence[Rejected]) -> Iterator[Read]:
    """Rows without seqs as the embedded engine reads them, file by file: their numbers count what was refused."""
    names = dict.fromkeys([*table[SOURCE].unique().to_pylist(), *(entry.source for entry in rejected)])
    for name in names:
        some: Any = table.filter(pc.equal(table[SOURCE], pa.scalar(name, pa.string())))
        refused = Rejections(entry for entry in rejected if entry.source == name)
        yield Read(name, plain(some), 1, refused, some[ROW].to_numpy())


def _run(placement: Placement, shard: int, version: int, updates: pa.Table) -> Iterator[pa.RecordBatch]:
    engine = placement.engine(shard, version)
    for some in pieces(updates, _TOGETHER):
        yield from reported(engine.publish(some), shard)
