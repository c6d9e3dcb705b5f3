"""The subscriptions of a filter as versions in a folder: compiled, planned and saved by the driver, opened by workers.

Each change writes a version; a stream that runs takes it up with its next micro-batch. A folder that holds versions
already goes on from the latest.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from heliograph.filter import Filter
from heliograph.model import Receipt, Rejections
from heliograph.partition.outline import Outline
from heliograph.spark.frames import collected
from heliograph.spark.scratch import storage_folder
from heliograph.spark.versions import Pointer, Versions


class Division(TypedDict, total=False):
    """How the subscriptions are read, and divided among shards."""

    taxonomy: Any
    prefixes: Mapping[str, str] | None
    shards: int | None
    partition: str | None
    merging: Mapping[str, Any] | None


class Plans:
    """The versions of a filter's subscriptions. Without `shards` or `partition` every worker has all of them."""

    def __init__(self, folder: str | Path, **division: Unpack[Division]) -> None:
        self.versions = Versions.at(folder)
        self._lock, self._waiting = threading.Lock(), False
        numbers = self.versions.numbers()
        self._engine = Filter.load(self.versions.path(numbers[-1])) if numbers else _engine(division)
        self.rejected = self._engine.rejected
        """What was refused so far: of the taxonomy, and of what was subscribed to."""

    @classmethod
    def of(cls, interests: Any, tables: Mapping[str, Any], folder: str | None, division: Division) -> Self:
        """Plans as they are given, or new ones of these subscriptions."""
        if isinstance(interests, cls):
            return interests
        if isinstance(interests, (str, Path)) and Versions.at(interests).numbers():
            return cls(interests, **division)
        plans = cls(storage_folder(folder, "filter"), **division)
        plans.subscribe(interests, **tables)
        return plans

    @property
    def shards(self) -> int | None:
        """How many shards there are; None where every worker has all subscriptions."""
        plan = self.outline()
        return None if plan is None else len(plan.shards)

    def outline(self) -> Outline | None:
        """How the subscriptions are divided among shards; None if they are not."""
        return self._engine.plan()

    @property
    def size(self) -> int:
        """How many subscriptions there are now."""
        return self._engine.stats().subscriptions

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        """Takes subscriptions and writes a version with them: tables, items, or DataFrames, which are collected."""
        given = {"patterns": collected(patterns, "patterns"), "constraints": collected(constraints, "constraints")}
        with self._lock:
            receipt = self._engine.subscribe(_several(collected(items, "subscriptions")), **given)
            return self._saved(receipt)

    def unsubscribe(self, ids: Any) -> Receipt:
        """Removes subscriptions by id and writes a version without them."""
        with self._lock:
            return self._saved(self._engine.unsubscribe([ids] if isinstance(ids, str) else ids))

    @contextmanager
    def together(self) -> Iterator[Self]:
        """All changes within become one version."""
        self._waiting = True
        try:
            yield self
        finally:
            self._waiting = False
        self.versions.add(self._engine.save)

    def _saved(self, receipt: Receipt) -> Receipt:
        self.rejected = Rejections((*self.rejected, *receipt.rejected))
        if not self._waiting:
            self.versions.add(self._engine.save)
        return receipt

    def pointer(self, streaming: bool) -> Pointer:
        """What tells a task which version to open: a stream follows the versions, a batch has one."""
        return Pointer(self.versions, None if streaming else self.versions.latest())


def _engine(division: Division) -> Filter:
    taxonomy = collected(division.get("taxonomy"), "taxonomy")
    return Filter(**{**division, "taxonomy": taxonomy})


def _several(items: Any) -> Any:
    """One subscription is a batch of one here: what is wrong with it is reported, not raised."""
    is_pair = isinstance(items, tuple) and all(isinstance(part, str) for part in items)
    return [items] if is_pair or isinstance(items, dict) else items
