"""The steps that Spark runs in its workers, run one after the other with the shuffles between them done by hand.

So they need no Java and cost next to nothing: many cuts into tasks and many stories can be tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

import pyarrow as pa

from heliograph.spark.envelope import shard_events, shard_publications, to_bytes, unpack
from heliograph.spark.filter_job import FilterTask, Plans, look_up, match_all, match_shard
from heliograph.spark.frames import COUNTS, MEASURED_SCHEMA, measured
from heliograph.spark.route_job import Exchanges, RouteTask, route_all
from heliograph.spark.visibility import DeliveredUpdates, UpdateNotes
from heliograph.spark.watch_job import (
    ENGINE,
    UPDATES,
    Watchers,
    WatchTask,
    packed_engine,
    replayed,
    run_shard,
    send,
    send_opening,
)
from heliograph.watch import Watch
from tests.spark.compare import Rows, unnumbered

Batches = Sequence[pa.RecordBatch]


def shuffled(found: Iterable[pa.RecordBatch], shards: int) -> list[list[pa.RecordBatch]]:
    """Envelopes by their shard."""
    places: list[list[pa.RecordBatch]] = [[] for _ in range(shards)]
    for batch in found:
        for row in range(batch.num_rows):
            places[batch["shard"][row].as_py()].append(batch.slice(row, 1))
    return places


def filtered(tasks: Iterable[Batches], plans: Plans, parts: int, bindings: int = 0) -> Iterator[pa.RecordBatch]:
    """As `heliograph.spark.filter` does it."""
    task = FilterTask(plans.pointer(False), bindings, plans.shards or 0)
    sharded = shuffled((sent for each in tasks for sent in shard_publications(parts, each)), parts)
    if not task.shards:
        return (batch for part in sharded for batch in match_all(task, iter(part)))
    looked_up = shuffled((sent for part in sharded for sent in look_up(task, iter(part))), task.shards)
    return (batch for part in looked_up for batch in match_shard(task, iter(part)))


def routed(tasks: Iterable[Batches], exchanges: Exchanges, parts: int, **options: Any) -> Iterator[pa.RecordBatch]:
    """As `heliograph.spark.route` does it."""
    shares = exchanges.shards
    task = RouteTask(exchanges.pointer(False), options, shares, parts)
    sharded = shuffled((sent for each in tasks for sent in shard_events(parts, shares, each)), parts * shares)
    return (batch for part in sharded for batch in route_all(task, iter(part)))


def watched(tasks: Iterable[Batches], watchers: Watchers) -> Iterator[pa.RecordBatch]:
    """As `heliograph.spark.watch` does it with a batch."""
    shards = watchers.shared.shards
    task = WatchTask(watchers.shared, watchers.pointer(False), list(range(shards)), False)
    opening = send_opening(task, [pa.record_batch({"id": [0]})])
    sent = shuffled([*opening, *(batch for each in tasks for batch in send(task, each))], shards)
    return (batch for part in sent for batch in run_shard(task, part))


def taken_apart(found: Iterable[pa.RecordBatch]) -> tuple[pa.Table, list[dict[str, Any]], dict[str, int]]:
    """Notifications, refusals and the sums of measurements; each row is one of these."""
    whole = pa.Table.from_batches(list(found), MEASURED_SCHEMA)
    kinds: list[list[Any]] = [whole[name].to_pylist() for name in ("subscription_id", "rejected", "stats")]
    assert all(sum(cell is not None for cell in cells) == 1 for cells in zip(*kinds, strict=True))
    notified = whole.filter(whole["subscription_id"].is_valid()).drop_columns(["rejected", "stats"])
    counts: list[Any] = whole["stats"].drop_null().to_pylist()
    sums = {name: sum(count[name] for count in counts) for name in COUNTS}
    refused: list[Any] = whole["rejected"].drop_null().to_pylist()
    return notified, refused, sums


class Shards:
    """The shards of a watch, as a stream or a batch would drive them. Now and then a shard loses its engine, which is
    then made again from its history, as a worker would do it."""

    def __init__(self, watchers: Watchers, streaming: bool, chance: Random) -> None:
        self.watchers, self.streaming, self._chance = watchers, streaming, chance
        self._engines: dict[int, tuple[Watch, int]] = {}
        self._history: dict[int, list[tuple[int, int, bytes]]] = {}
        self.notified: Rows = Counter()
        self.refused: Rows = Counter()
        self.sent = 0  # rows that went to shards, as they are
        self.given = 0  # rows, times shards

    def publish(self, tables: Sequence[pa.Table]) -> None:
        """One micro-batch: a table for each task."""
        shared, version = self.watchers.shared, self.watchers.versions.latest()
        boxes: list[list[pa.RecordBatch]] = [[] for _ in range(shared.shards)]
        for task, table in enumerate(tables):
            sent = shared.shard_updates(table, UpdateNotes(task, 0, version), self.streaming)
            for shard, (notes, updates) in enumerate(sent):
                boxes[shard].append(notes.pack(shard, updates))
                self.sent += sum(cell != "<urn:heliograph:fn:tick>" for cell in updates["subject"].to_pylist())
            self.given += table.num_rows * shared.shards
        for shard, box in enumerate(boxes):
            self._deliver(shard, DeliveredUpdates.of(unpack(box), shard, shared.windowed))

    def _deliver(self, shard: int, delivery: DeliveredUpdates) -> None:
        engine = self._engine(shard, delivery.version)
        notified, refused, _ = taken_apart(measured(engine.publish(delivery.updates), again=shard > 0))
        self._engines[shard] = engine, delivery.version
        pieces = self._history.setdefault(shard, [])
        pieces.append((UPDATES, delivery.version, to_bytes(delivery.updates, compressed=True)))
        if self._chance.random() < 0.2:
            pieces[:] = [(ENGINE, delivery.version, packed_engine(engine))]
        self.notified.update(tuple(row.values()) for row in notified.to_pylist())
        self.refused.update((each["item"], each["code"], unnumbered(each["message"])) for each in refused)
        self.refused.update((each.item, each.code, unnumbered(each.message)) for each in delivery.rejected)

    def _engine(self, shard: int, version: int) -> Watch:
        shared = self.watchers.shared
        if shard not in self._engines:
            return shared.engine(shard, version)
        engine, had = self._engines[shard]
        if self._chance.random() < 0.2:
            engine = replayed(iter(self._history[shard]), shared, shard)
        shared.bring(engine, shard, had, version)
        return engine
