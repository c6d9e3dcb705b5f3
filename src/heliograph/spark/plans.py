"""The subscriptions of a filter as versions in a folder, opened by workers.

A few are compiled, planned and saved by the driver. DataFrames and large tables that are divided among shards are
compiled by a Spark job into parts (`compiling`), and the driver holds only what changed since. Each change writes a
version; a stream that runs takes it up with its next micro-batch. A folder that holds versions already goes on from the
latest.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

import pyarrow as pa

from heliograph.filter import Filter, saving
from heliograph.filter.parts import Ground, save_front
from heliograph.model import Receipt, Rejections
from heliograph.partition.outline import Outline
from heliograph.partition.scheme import Scheme
from heliograph.spark import compiling
from heliograph.spark.assemblies import PARTS, Assembly, assembly_at
from heliograph.spark.changes import Changes
from heliograph.spark.compiling import Job, Made, Older
from heliograph.spark.frames import collected, is_frame
from heliograph.spark.lots import Told
from heliograph.spark.scratch import own_folder
from heliograph.spark.spelling import strange
from heliograph.spark.versions import Pointer, Versions
from heliograph.subscriptions import holds_patterns
from heliograph.tables.items import as_table
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MANY = 500_000  # rows of a table that are compiled by a job: the driver takes seconds for them, a job has a price too


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
        self._held, self._scheme, self._ground = _latest(self.versions.path(numbers[-1])) if numbers else _new(division)
        self.rejected = self._held.rejected if isinstance(self._held, Filter) else Rejections()
        """What was refused so far: of the taxonomy, and of what was subscribed to."""

    @classmethod
    def of(cls, interests: Any, tables: Mapping[str, Any], folder: str | None, division: Division) -> Self:
        """Plans as they are given, or new ones of these subscriptions."""
        if isinstance(interests, cls):
            return interests
        if isinstance(interests, (str, Path)) and Versions.at(interests).numbers():
            return cls(interests, **division)
        plans = cls(own_folder(folder, "filter"), **division)
        plans.subscribe(interests, **tables)
        return plans

    @property
    def shards(self) -> int | None:
        """How many shards there are; None where every worker has all subscriptions."""
        return None if self._scheme is None else self._scheme.shards

    def outline(self) -> Outline | None:
        """How the subscriptions are divided among shards; None if they are not."""
        if isinstance(self._held, Filter):
            return self._held.plan()
        return self._held.assembly.outline((self.versions.numbers() or [0])[-1])

    @property
    def size(self) -> int:
        """How many subscriptions there are now."""
        return self._held.stats().subscriptions if isinstance(self._held, Filter) else self._held.size

    # --- changing -----------------------------------------------------------------------------------------------

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        """Takes subscriptions and writes a version with them: tables, items, or DataFrames.

        A DataFrame is compiled by a job if the subscriptions are divided among shards; else it is collected.
        """
        given = {"subscriptions": items, "patterns": patterns, "constraints": constraints}
        if patterns is None and not is_frame(items) and holds_patterns(items):
            given |= {"subscriptions": None, "patterns": items}
        with self._lock:
            spark = self._compiles(given)
            if spark is not None:
                return self._saved(self._compiled(spark, given))
            items, patterns, constraints = (collected(each, name) for name, each in given.items())
            return self._saved(self._held.subscribe(_several(items), patterns=patterns, constraints=constraints))

    def unsubscribe(self, ids: Any) -> Receipt:
        """Removes subscriptions by id and writes a version without them."""
        with self._lock:
            return self._saved(self._held.unsubscribe([ids] if isinstance(ids, str) else ids))

    @contextmanager
    def together(self) -> Iterator[Self]:
        """All changes within become one version."""
        self._waiting = True
        try:
            yield self
        finally:
            self._waiting = False
        self.versions.add(self._held.save)

    def _saved(self, receipt: Receipt) -> Receipt:
        self.rejected = Rejections((*self.rejected, *receipt.rejected))
        if not self._waiting:
            spark = _session() if isinstance(self._held, Changes) and self._held.is_large else None
            if spark is not None:
                self._compiled(spark, {})
            self.versions.add(self._held.save)
        return receipt

    def pointer(self, streaming: bool) -> Pointer:
        """What tells a task which version to open: a stream follows the versions, a batch has one."""
        return Pointer(self.versions, None if streaming else self.versions.latest())

    # --- by a job -----------------------------------------------------------------------------------------------

    def _compiles(self, given: Mapping[str, Any]) -> SparkSession | None:
        """The session whose job compiles these, if one does; cells of strange types are for the reader here."""
        frames = {name: each for name, each in given.items() if is_frame(each)}
        if self._scheme is None or any(strange(each, name) for name, each in frames.items()):
            return None
        if frames:
            found: SparkSession = next(iter(frames.values())).sparkSession
            return found
        return _session() if any(isinstance(each, pa.Table) and len(each) >= _MANY for each in given.values()) else None

    def _compiled(self, spark: SparkSession, given: Mapping[str, Any]) -> Receipt:
        """Lets a job compile what is new together with what is there."""
        assert self._scheme is not None
        before, token = self.size, secrets.token_hex(8)
        folder = str(Path(self.versions.folder, PARTS))
        job, older = Job(folder, token, self._scheme, self._ground), self._older(folder, token)
        frames = {name: _frame(spark, name, each) for name, each in given.items() if each is not None}
        made = compiling.run(spark, job, frames, older)
        self._held = Changes(_assembly(job, made), self._ground)
        return Receipt(self.size - before, made.rejected)

    def _older(self, folder: str, token: str) -> list[Older]:
        """The parts that hold the subscriptions of now, each with those who are in it in vain."""
        if isinstance(self._held, Changes):
            kept = self._held.keep()
            parts = [Older(path, kept.removed) for path in kept.parts()]
            return parts if kept.changes is None else [*parts, Older(str(kept.path(kept.changes)))]
        if not self.size:
            return []
        path = Path(folder, f"{token}-older")
        self._held.save(path)
        return [Older(str(path))]


def _new(division: Division) -> tuple[Filter | Changes, Scheme | None, Ground]:
    """A filter of nothing yet."""
    prefixes = {**PREFIXES, **(division.get("prefixes") or {})}
    given = collected(division.get("taxonomy"), "taxonomy")
    taxonomy = given if isinstance(given, Taxonomy) else Taxonomy() if given is None else Taxonomy.read(given, prefixes)
    scheme = Scheme.of(division.get("shards"), division.get("partition"), division.get("merging"))
    made: Division = {**division, "taxonomy": taxonomy}
    return Filter(**made), scheme, Ground.of(taxonomy, prefixes)


def _latest(path: Path) -> tuple[Filter | Changes, Scheme | None, Ground]:
    """What a version holds."""
    assembly = assembly_at(path)
    if assembly is not None:
        changes = Changes.at(path)
        return changes, assembly.scheme, changes.ground
    saved = saving.read(path)
    return Filter.load(path), saved.scheme, Ground.of(saved.taxonomy, {**PREFIXES, **saved.prefixes})


def _assembly(job: Job, made: Made) -> Assembly:
    """The parts of a job. A front of nobody is made here: it refuses what is wrong with publications."""
    front = made.front
    if front is None:
        front = Told(job.part("front"), job.front, 0)
        save_front(job.path(front.part), (), job.scheme, job.ground)
    return Assembly(job.folder, job.scheme, front, made.shards)


def _session() -> SparkSession | None:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _frame(spark: SparkSession, name: str, items: Any) -> DataFrame:
    """Interests as a DataFrame."""
    return items if is_frame(items) else spark.createDataFrame(as_table(name, _several(items)).table)


def _several(items: Any) -> Any:
    """One subscription is a batch of one here: what is wrong with it is reported, not raised."""
    is_pair = isinstance(items, tuple) and all(isinstance(part, str) for part in items)
    return [items] if is_pair or isinstance(items, dict) else items
