"""A watch in shards without Spark: envelopes are packed and delivered by hand, one engine for each shard.

Now and then a shard loses its engine, which is then made again from its history, as a worker would do it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa

from heliograph.spark.envelope import to_bytes, unpack
from heliograph.spark.frames import measured
from heliograph.spark.visibility import DeliveredUpdates, UpdateNotes
from heliograph.spark.watch_job import ENGINE, UPDATES, Watchers, packed_engine, replayed
from heliograph.watch import Watch
from tests.spark.compare import unnumbered

Rows = Counter[tuple[Any, ...]]


class Shards:
    """The shards of a watch, as a stream or a batch would drive them."""

    def __init__(self, watchers: Watchers, streaming: bool, chance: Random) -> None:
        self.watchers, self.streaming, self._chance = watchers, streaming, chance
        self._engines: dict[int, tuple[Watch, int]] = {}
        self._history: dict[int, list[tuple[int, int, bytes]]] = {}
        self.notified: Rows = Counter()
        self.refused: Rows = Counter()
        self.told = 0  # rows that went to shards, as they are
        self.given = 0  # rows, times shards

    def publish(self, tables: Sequence[pa.Table]) -> None:
        """One micro-batch: a table for each task."""
        shared, version = self.watchers.shared, self.watchers.versions.latest()
        boxes: list[list[pa.RecordBatch]] = [[] for _ in range(shared.shards)]
        for task, table in enumerate(tables):
            sent = shared.shard_updates(table, UpdateNotes(task, 0, version), self.streaming)
            for shard, (notes, updates) in enumerate(sent):
                boxes[shard].append(notes.pack(shard, updates))
                self.told += sum(cell != "<urn:heliograph:fn:tick>" for cell in updates["subject"].to_pylist())
            self.given += table.num_rows * shared.shards
        for shard, box in enumerate(boxes):
            self._deliver(shard, DeliveredUpdates.of(unpack(box), shard, shared.windowed))

    def _deliver(self, shard: int, delivery: DeliveredUpdates) -> None:
        engine = self._engine(shard, delivery.version)
        found = pa.Table.from_batches(list(measured(engine.publish(delivery.updates), again=shard > 0)))
        self._remember(shard, engine, delivery)
        names = found.column_names[:-2]
        for row in found.to_pylist():
            if row["rejected"] is not None:
                self._refuse(row["rejected"])
            elif row["stats"] is None:
                self.notified[tuple(row[name] for name in names)] += 1
        for entry in delivery.rejected:
            self._refuse({"item": entry.item, "code": entry.code, "message": entry.message})

    def _refuse(self, entry: dict[str, Any]) -> None:
        self.refused[entry["item"], entry["code"], unnumbered(entry["message"])] += 1

    def _engine(self, shard: int, version: int) -> Watch:
        shared = self.watchers.shared
        if shard not in self._engines:
            return shared.engine(shard, version)
        engine, had = self._engines[shard]
        if self._chance.random() < 0.2:
            engine = replayed(iter(self._history[shard]), shared, shard)
        shared.bring(engine, shard, had, version)
        return engine

    def _remember(self, shard: int, engine: Watch, delivery: DeliveredUpdates) -> None:
        self._engines[shard] = engine, delivery.version
        pieces = self._history.setdefault(shard, [])
        pieces.append((UPDATES, delivery.version, to_bytes(delivery.updates, compressed=True)))
        if self._chance.random() < 0.2:
            pieces[:] = [(ENGINE, delivery.version, packed_engine(engine))]
