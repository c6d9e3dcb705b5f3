"""A watch in shards without Spark: letters are written and delivered by hand, one engine for each shard.

Now and then a shard loses its engine, which is then made again from its history, as a worker would do it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

from heliograph.spark.envelope import Delivery, Facts, delivered, pressed
from heliograph.spark.frames import reported
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
        placement, version = self.watchers.placement, self.watchers.placement.versions.latest()
        boxes: list[list[bytes]] = [[] for _ in range(placement.shards)]
        for task, table in enumerate(tables):
            facts = Facts(task, 0, version, np.empty(0, np.int64))
            for box, letter in zip(boxes, placement.letters(table, facts, self.streaming), strict=True):
                box.append(letter.pack())
                self.told += sum(cell != "<urn:heliograph:fn:tick>" for cell in letter.updates["subject"].to_pylist())
            self.given += table.num_rows * placement.shards
        for shard, box in enumerate(boxes):
            self._deliver(shard, delivered(box, shard, placement.habits(self.streaming)))

    def _deliver(self, shard: int, delivery: Delivery) -> None:
        engine = self._engine(shard, delivery.version)
        found = pa.Table.from_batches(list(reported(engine.publish(delivery.updates), shard)))
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
        placement = self.watchers.placement
        if shard not in self._engines:
            return placement.engine(shard, version)
        engine, had = self._engines[shard]
        if self._chance.random() < 0.2:
            engine = replayed(iter(self._history[shard]), placement, shard)
        placement.bring(engine, shard, had, version)
        return engine

    def _remember(self, shard: int, engine: Watch, delivery: Delivery) -> None:
        self._engines[shard] = engine, delivery.version
        pieces = self._history.setdefault(shard, [])
        pieces.append((UPDATES, delivery.version, pressed(delivery.updates)))
        if self._chance.random() < 0.2:
            pieces[:] = [(ENGINE, delivery.version, packed_engine(engine))]
