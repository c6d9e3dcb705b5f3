"""A watch as it runs in a stream: its state in Spark's store, its engine beside it as a cache.

What is stored for a shard is the history of its engine: the updates of each micro-batch, and from time to time a save
of the whole engine in place of all that went before. The laws: the store alone tells what has happened, and it changes
with the micro-batch or not at all; an engine in memory serves only if it was left by the very version that the store
holds, which a token drawn for each version tells. So wherever a task runs, and however often, its answer is right.
"""

from __future__ import annotations

import io
import secrets
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from heliograph.errors import SetupError
from heliograph.spark.frames import refusals, reported
from heliograph.spark.letters import delivered, pressed
from heliograph.spark.packing import from_bytes, to_bytes
from heliograph.spark.placement import Placement
from heliograph.watch import Watch

UPDATES, ENGINE = 0, 1  # what a piece of history is
_MOST_ENGINES = 16

_ENGINES: dict[str, tuple[str, Watch]] = {}
"""Of this worker: by watch and shard the token of a version and the engine that it left."""


class Head(NamedTuple):
    """What the store says of a shard first: the token of its version, sizes in bytes, who made it, and with which
    version of the subscriptions."""

    token: str
    updates: int
    engine: int
    mark: str
    version: int


class Watching(StatefulProcessor):
    """The engine of each shard, over the micro-batches of a stream."""

    def __init__(self, placement: Placement, shards: dict[int, int], worth: int) -> None:
        self._placement = placement
        self._shards = shards  # by key
        self._worth = worth

    def init(self, handle: StatefulProcessorHandle) -> None:
        head = "token string, updates bigint, engine bigint, mark string, version bigint"
        self._head = handle.getValueState("head", head)
        self._history = handle.getListState("history", "kind int, version bigint, payload binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """The updates of a micro-batch for one shard: letters in, notifications as one parcel out."""
        shard = self._shards[key[0]]
        payloads = [payload for frame in rows for payload in frame["payload"]]
        updates, refused, version = delivered(payloads, shard, self._placement.habits(streaming=True))
        engine, head = self._standing(shard, version)
        found = engine.publish(updates)
        self._keep(shard, engine, head, version, pressed(updates))
        ready = [*reported(found, shard), *(refusals(refused) if refused else ())]
        yield pd.DataFrame({"payload": [to_bytes(pa.Table.from_batches(ready))]})

    def close(self) -> None:
        """Nothing is held open."""

    # --- state --------------------------------------------------------------------------------------------------

    def _standing(self, shard: int, version: int) -> tuple[Watch, Head | None]:
        """The engine as the store has it, brought to a version: the one in memory if that is it, else made again."""
        stored = self._head.get()
        if stored is None:
            return self._placement.engine(shard, version), None
        head = Head(*stored)
        if head.mark != self._placement.mark:
            message = "the checkpoint was made with other subscriptions, graph, options or shards"
            raise SetupError("HG-906", message, fix="give those it was made with, or start a new checkpoint")
        token, engine = _ENGINES.pop(self._name(shard), ("", None))
        if engine is None or token != head.token:
            engine = replayed(self._history.get(), self._placement, shard)
        self._placement.bring(engine, shard, head.version, version)
        return engine, head

    def _keep(self, shard: int, engine: Watch, head: Head | None, version: int, updates: bytes) -> None:
        token, size, saved = secrets.token_hex(16), len(updates), 0
        if head is not None:
            size, saved = size + head.updates, head.engine
        if size > max(self._worth, saved):
            blob = packed_engine(engine)
            self._history.put([(ENGINE, version, blob)])
            size, saved = 0, len(blob)
        else:
            self._history.appendValue((UPDATES, version, updates))
        self._head.update((token, size, saved, self._placement.mark, version))
        while len(_ENGINES) >= _MOST_ENGINES:
            _ENGINES.pop(next(iter(_ENGINES)))
        _ENGINES[self._name(shard)] = (token, engine)

    def _name(self, shard: int) -> str:
        return f"{self._placement.mark} {self._placement.folder} {shard}"


def replayed(history: Iterator[tuple[Any, ...]], placement: Placement, shard: int) -> Watch:
    """An engine after its history, which is never empty; what it said then is not said again."""
    engine, had = None, 0
    for kind, version, payload in history:
        if kind == ENGINE:
            engine = opened_engine(bytes(payload))
        else:
            engine = placement.engine(shard, version) if engine is None else engine
            placement.bring(engine, shard, had or version, version)
            engine.publish(from_bytes(bytes(payload)))
        had = version
    assert engine is not None
    return engine


# --- engines ----------------------------------------------------------------------------------------------------


def packed_engine(engine: Watch) -> bytes:
    """A save of an engine as one piece of bytes."""
    sink = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, tarfile.open(fileobj=sink, mode="w") as archive:
        engine.save(Path(folder, "engine"))
        archive.add(Path(folder, "engine"), "engine")
    return sink.getvalue()


def opened_engine(blob: bytes) -> Watch:
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(blob)) as archive:
            archive.extractall(folder, filter="data")
        return Watch.load(Path(folder, "engine"))
