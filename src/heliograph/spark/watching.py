"""`heliograph.spark.watch`: updates of an evolving graph against queries that are divided among shards.

A shard has the whole graph and some of the queries, so every update goes to every shard, in order. A batch is one
ordered run in each shard; a stream keeps its engines in Spark's state store (see `state`). The law: notifications
are the embedded engine's for the updates in ascending seq, wherever a stream is cut into micro-batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa
import pyarrow.compute

from heliograph.errors import SetupError, UsageError
from heliograph.spark.frames import parted, plain, refusals, reported, shaped
from heliograph.spark.hashing import spreading_keys
from heliograph.spark.metrics import finished
from heliograph.spark.packing import FOR_SHARDS, larger, pack_for_all, unpack_found
from heliograph.spark.scratch import storage_folder
from heliograph.spark.sessions import PROVIDER, PROVIDER_KEY
from heliograph.spark.watchers import TABLES, Setting, Watchers, save_watchers
from heliograph.tables.schemas import table_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pc: Any = pyarrow.compute

HISTORY = 4 << 20  # bytes of updates that are sooner replayed than an engine is saved
_TOGETHER = 1 << 17  # updates published in one call
_SHARD, _PLACE = "_shard", "_place"


class WatchOptions(Setting, total=False):
    """What `watch` takes beside updates and subscriptions."""

    patterns: Any
    constraints: Any
    graph: Any
    shards: int | None
    history: int
    folder: str | None


def watch(updates: DataFrame, subscriptions: Any = None, **options: Unpack[WatchOptions]) -> DataFrame:
    """The notifications of updates: a DataFrame (op, subject, property, object; seq, weight, at) in ascending seq.

    Without a column seq a batch is taken in the order of its files; a stream must have one. `subscriptions` are a
    DataFrame, a table or items; or `patterns` with `constraints`. Other options are those of `Watch`, `graph`,
    `shards`, `history` (bytes of updates that a stream keeps before it saves an engine in their place), and `folder`,
    where workers find the engines.
    """
    given: dict[str, Any] = {**options, "subscriptions": subscriptions}
    interests = {name: given.pop(name, None) for name in TABLES}
    graph, shards, history = given.pop("graph", None), given.pop("shards", None), given.pop("history", HISTORY)
    folder = storage_folder(given.pop("folder", None), "watch")
    if updates.isStreaming:
        _check_stream(updates)
    watchers, rejected = save_watchers(folder, interests, graph, shards, given)  # type: ignore[arg-type]
    if updates.isStreaming:
        return finished(_streamed(updates, watchers, history), unpack_found, rejected)
    return finished(_at_once(updates, watchers), partial(run_shard, watchers), rejected)


def _check_stream(updates: DataFrame) -> None:
    if "seq" not in updates.columns:
        fix = "number the updates in a column seq"
        raise UsageError("HG-083", "a stream of updates without seq: its rows have no order", fix=fix)
    if updates.sparkSession.conf.get(PROVIDER_KEY, "") != PROVIDER:
        fix = f"use heliograph.spark.session(), or set {PROVIDER_KEY} to {PROVIDER}"
        raise SetupError("HG-907", "a session that does not keep its state in RocksDB", fix=fix)


# --- a batch ----------------------------------------------------------------------------------------------------


def _at_once(updates: DataFrame, watchers: Watchers) -> DataFrame:
    """One ordered run in each shard; an empty row goes before, so that each runs even if nothing is updated."""
    from pyspark.sql import functions

    rows = shaped(updates, "updates").withColumn(_PLACE, functions.monotonically_increasing_id())
    first = functions.lit(-1).cast("bigint").alias(_PLACE)
    opening = updates.sparkSession.range(1).select(*_nulls(rows), first)
    everywhere = functions.explode(functions.array(*map(functions.lit, range(watchers.shards)))).alias(_SHARD)
    placed = rows.unionByName(opening).select("*", everywhere).repartitionById(watchers.shards, _SHARD)
    return placed.sortWithinPartitions(*_order())


def _order() -> list[Any]:
    """By seq, or by place where there is none; of several with one seq always the same comes first."""
    from pyspark.sql import functions

    seq, place = functions.col("seq").try_cast("bigint"), functions.col(_PLACE)
    others = table_schema("updates").names[1:]
    return [place >= 0, seq.asc_nulls_first(), functions.when(seq.isNull(), place), *others]


def _nulls(rows: DataFrame) -> list[Any]:
    from pyspark.sql import functions

    fields = [field for field in rows.schema if field.name != _PLACE]
    return [functions.lit(None).cast(field.dataType).alias(field.name) for field in fields]


def run_shard(watchers: Watchers, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All updates through the engine of one shard, in a worker."""
    engine = None
    for some in larger(batches, _TOGETHER):
        shard = some[_SHARD][0].as_py()
        if engine is None:
            engine = watchers.open(shard)
        rows = some.filter(pc.greater_equal(some[_PLACE], 0)).drop_columns([_SHARD, _PLACE])
        table, rejected = parted(rows)
        yield from refusals(rejected) if rejected and shard == 0 else ()
        yield from reported(engine.publish(plain(table)), shard)


# --- a stream ---------------------------------------------------------------------------------------------------


def _streamed(updates: DataFrame, watchers: Watchers, history: int) -> DataFrame:
    from heliograph.spark.state import Watching

    keys = spreading_keys(watchers.shards)
    shape = shaped(updates, "updates")
    rows = shape.withColumn("seq", shape["seq"].try_cast("bigint"))
    parcels = rows.mapInArrow(partial(pack_for_all, keys), FOR_SHARDS)
    processor = Watching(watchers, {key: shard for shard, key in enumerate(keys)}, history)
    return parcels.groupBy("shard").transformWithStateInPandas(processor, "payload binary", "Append", "None")
