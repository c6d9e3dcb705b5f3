"""`heliograph.spark.filter`: publications against subscriptions that are versions in a folder, on every worker.

The path of a publication, where subscriptions are divided among shards: its rows meet in one task → the front says
which shards it concerns → envelopes take it there, and nowhere else → the shard matches. Undivided, the task where its
rows meet matches it against all of them.

A few subscriptions are compiled, planned and saved by the driver. DataFrames and large tables that are divided among
shards are compiled by a Spark job into parts (`compile_job`), and the driver holds only what changed since.

The laws:
- The set of notifications and refusals is the embedded engine's, however the rows are cut into tasks. All rows with one
  publication_id in a batch or micro-batch are one publication.
- The ids of parts are looked up in their files and not kept, so the driver is as large as the change. An id stands for
  one subscription at a time, wherever it is. A task opens the front, or its own shard, and no other.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.filter import Filter
from heliograph.filter import save as saving
from heliograph.filter.engine import check_options
from heliograph.filter.report import check_limit
from heliograph.filter.shards import Fronted, ShardGround, Stage, restored, save_shard
from heliograph.io.tables import as_table
from heliograph.model import Notifications, Receipt, Rejected, Rejections
from heliograph.partition.plan import Outline, Scheme
from heliograph.spark.compile_job import PARTS, CompileJob, FilterParts, compile_parts
from heliograph.spark.envelope import (
    ENVELOPES,
    FOUND,
    TERMS,
    TaskPublications,
    pack,
    pack_found,
    placed,
    publication_rows,
    unpack,
)
from heliograph.spark.frames import check_frame, collected, finished, is_frame, measured, plain, refusals
from heliograph.spark.versions import Pointer, VersionedInterests, Versions, opened, own_folder, task_number
from heliograph.subscriptions import Subscription, Subscriptions, duplicate, holds_patterns, unknown
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pc: Any = pyarrow.compute

# --- what the driver holds: a filter, or parts and the small change since they were made --------------------------

_FEW = 4096  # subscriptions that may always be looked up with the front
_SHARE = 20  # a change of more than a twentieth of all is built into the parts
_MANY = 500_000  # rows of a table that are compiled by a job: the driver takes seconds for them, a job has a price too


class ChangedParts:
    """Parts, and the subscriptions that came and went since."""

    def __init__(self, parts: FilterParts, ground: ShardGround) -> None:
        self.parts, self.ground = parts, ground
        self._added: Subscriptions = ground.registry()
        self._removed = set(parts.removed)
        if parts.changes is not None:
            restored(self._added, saving.read(parts.path(parts.changes)).tables)

    @property
    def size(self) -> int:
        return self.parts.base - len(self._removed) + len(self._added)

    @property
    def is_large(self) -> bool:
        """Whether the parts had better be made again."""
        return len(self._added) + len(self._removed) > max(_FEW, self.parts.base // _SHARE)

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        items = None if items is None else as_table("subscriptions", items)
        patterns = None if patterns is None else as_table("patterns", patterns)
        tables = [read.table for read in (items, patterns) if read is not None]
        held = self._held(id for table in tables for id in table["subscription_id"].unique().to_pylist() if id)

        def accept(subscription: Subscription) -> None:
            if subscription.id in held:
                raise duplicate(subscription.id)
            check_options(subscription)

        return self._added.subscribe(items, patterns=patterns, constraints=constraints, accept=accept).receipt

    def unsubscribe(self, ids: Iterable[str]) -> Receipt:
        wanted = list(map(str, ids))
        held = self._held(id for id in wanted if id not in self._added)
        rejected: list[Rejected] = []
        for id in wanted:
            if id in self._added:
                self._added.unsubscribe([id])
            elif id in held:
                held.remove(id)
                self._removed.add(id)
            else:
                rejected.append(Rejected.of(unknown(id), item=id))
        return Receipt(len(wanted) - len(rejected), Rejections(rejected))

    def _held(self, ids: Iterable[str]) -> set[str]:
        """Which of these stand in the parts now."""
        return self.parts._replace(removed=frozenset(self._removed)).held(ids)

    def keep(self) -> FilterParts:
        """The parts together with the change, saved as a part if there is any."""
        name = None
        if len(self._added):
            name = f"changes-{secrets.token_hex(8)}"
            save_shard(self.parts.path(name), self._added, self.ground)
        self.parts = self.parts._replace(changes=name, added=len(self._added), removed=frozenset(self._removed))
        return self.parts

    def save(self, path: Path) -> None:
        self.keep().write(path)


class FilterSharding(TypedDict, total=False):
    """How the subscriptions are read, and divided among shards."""

    taxonomy: Any
    prefixes: Mapping[str, str] | None
    shards: int | None
    partition: str | None
    merging: Mapping[str, Any] | None


class Plans(VersionedInterests):
    """The versions of a filter's subscriptions. Without `shards` or `partition` every worker has all of them.

    A folder that holds versions already goes on from the latest. `rejected` is what was refused so far: of the
    taxonomy, and of the subscriptions.
    """

    def __init__(self, folder: str | Path, **sharding: Unpack[FilterSharding]) -> None:
        super().__init__(folder)
        numbers = self.versions.numbers()
        self._held: Filter | ChangedParts
        if numbers:
            self._open(self.versions.path(numbers[-1]))
        else:
            prefixes = {**PREFIXES, **(sharding.get("prefixes") or {})}
            taxonomy = collected(sharding.get("taxonomy"), "taxonomy")
            if not isinstance(taxonomy, Taxonomy):
                taxonomy = Taxonomy() if taxonomy is None else Taxonomy.read(taxonomy, prefixes)
            self._scheme = Scheme.of(sharding.get("shards"), sharding.get("partition"), sharding.get("merging"))
            self._ground = ShardGround.of(taxonomy, prefixes)
            made: FilterSharding = {**sharding, "taxonomy": taxonomy}
            self._held = Filter(**made)
        if isinstance(self._held, Filter):
            self.rejected = self._held.rejected

    def _open(self, path: Path) -> None:
        """Goes on from a version."""
        parts = FilterParts.at(path)
        saved = saving.read(path if parts is None else parts.path(parts.front.part))
        self._ground = ShardGround.of(saved.taxonomy, {**PREFIXES, **saved.prefixes})
        self._scheme = saved.scheme if parts is None else parts.scheme
        self._held = Filter.load(path) if parts is None else ChangedParts(parts, self._ground)

    @classmethod
    def of(cls, interests: Any, tables: Mapping[str, Any], folder: str | None, sharding: FilterSharding) -> Self:
        """Plans as they are given, or new ones of these subscriptions."""
        if isinstance(interests, cls):
            return interests
        if isinstance(interests, (str, Path)) and Versions.at(interests).numbers():
            return cls(interests, **sharding)
        plans = cls(own_folder(folder, "filter"), **sharding)
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
        return self._held.parts.outline((self.versions.numbers() or [0])[-1])

    @property
    def size(self) -> int:
        """How many subscriptions there are now."""
        return self._held.stats().subscriptions if isinstance(self._held, Filter) else self._held.size

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        """Takes subscriptions and writes a version with them: tables, items, or DataFrames.

        A DataFrame is compiled by a job if the subscriptions are divided among shards; else it is collected.
        """
        given = {"subscriptions": _several(items), "patterns": patterns, "constraints": constraints}
        if patterns is None and not is_frame(items) and holds_patterns(items):
            given |= {"subscriptions": None, "patterns": items}
        with self._lock:
            spark = self._compiling_session(given)
            if spark is not None:
                return self._changed(self._compile(spark, given))
            items, patterns, constraints = (collected(each, name) for name, each in given.items())
            return self._changed(self._held.subscribe(items, patterns=patterns, constraints=constraints))

    def unsubscribe(self, ids: Any) -> Receipt:
        """Removes subscriptions by id and writes a version without them."""
        with self._lock:
            return self._changed(self._held.unsubscribe([ids] if isinstance(ids, str) else ids))

    def _write(self) -> None:
        spark = _session() if isinstance(self._held, ChangedParts) and self._held.is_large else None
        if spark is not None:
            self._compile(spark, {})
        self.versions.add(self._held.save)

    # --- by a job -------------------------------------------------------------------------------------------------

    def _compiling_session(self, given: Mapping[str, Any]) -> SparkSession | None:
        """The session whose job compiles these, if one does."""
        if self._scheme is None:
            return None
        frames = [each for each in given.values() if is_frame(each)]
        if frames:
            found: SparkSession = frames[0].sparkSession
            return found
        return _session() if any(isinstance(each, pa.Table) and len(each) >= _MANY for each in given.values()) else None

    def _compile(self, spark: SparkSession, given: Mapping[str, Any]) -> Receipt:
        """Lets a job compile what is new together with what is there."""
        assert self._scheme is not None
        before, token = self.size, secrets.token_hex(8)
        job = CompileJob(str(Path(self.versions.folder, PARTS)), token, self._scheme, self._ground)
        older: dict[str, frozenset[str]] = {}
        if isinstance(self._held, ChangedParts):
            kept = self._held.keep()
            older = dict.fromkeys(kept.paths(), kept.removed)
            older |= {} if kept.changes is None else {str(kept.path(kept.changes)): frozenset()}
        elif self.size:
            path = Path(job.folder, f"{token}-older")
            self._held.save(path)
            older[str(path)] = frozenset()
        frames = {
            name: each if is_frame(each) else spark.createDataFrame(as_table(name, each).table)
            for name, each in given.items()
            if each is not None
        }
        parts, rejected = compile_parts(spark, job, frames, older)
        self._held = ChangedParts(parts, self._ground)
        return Receipt(self.size - before, rejected)


def _session() -> SparkSession | None:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def _several(items: Any) -> Any:
    """One subscription is a batch of one here: what is wrong with it is reported, not raised."""
    is_pair = isinstance(items, tuple) and all(isinstance(part, str) for part in items)
    return [items] if is_pair or isinstance(items, dict) else items


# --- the verb -----------------------------------------------------------------------------------------------------

_TOGETHER = 4096  # publications matched in one call


class SparkFilterOptions(FilterSharding, total=False):
    """What `filter` takes beside publications and subscriptions."""

    patterns: Any
    constraints: Any
    bindings: int
    folder: str | None


class FilterTask(NamedTuple):
    """What a task must know."""

    pointer: Pointer
    bindings: int
    shards: int


def filter(publications: DataFrame, subscriptions: Any = None, **options: Unpack[SparkFilterOptions]) -> DataFrame:
    """The notifications of publications: a DataFrame of triples, or of documents (path, content).

    `subscriptions` are a DataFrame, a table, items, a folder of versions or `Plans`; or `patterns` with `constraints`.
    `shards`, `partition` and `merging` divide them as in `Filter`; `folder` is where workers find them.
    """
    check_frame(publications, "publications")
    tables = {name: options.pop(name, None) for name in ("patterns", "constraints")}  # type: ignore[misc]
    folder, bindings = options.pop("folder", None), check_limit(options.pop("bindings", 0))
    plans = Plans.of(subscriptions, tables, folder, options)
    task = FilterTask(plans.pointer(publications.isStreaming), bindings, plans.shards or 0)
    rows = publication_rows(publications)
    if not task.shards:
        return finished(rows, partial(match_all, task), plans.rejected)
    sent = rows.mapInArrow(partial(look_up, task), ENVELOPES).repartitionById(task.shards, "shard")
    return finished(sent, partial(match_shard, task), plans.rejected)


# --- in the workers -----------------------------------------------------------------------------------------------


def match_all(task: FilterTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Publications against all subscriptions."""
    intake = TaskPublications.of(batches)
    yield from refusals(intake.rejected)
    if intake.table.num_rows:
        path = task.pointer.path()
        engine = opened(("filter", path), partial(Filter.load, path))
        for part in intake.parts(_TOGETHER):
            yield from measured(engine.publish(placed(part), bindings=task.bindings))


def look_up(task: FilterTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Publications at the front: what it notifies itself, and an envelope for each shard that they concern."""
    intake, here = TaskPublications.of(batches), task_number() % task.shards
    yield from pack_found(here, refusals(intake.rejected))
    if not intake.table.num_rows:
        return
    number = task.pointer.resolved()
    version = OpenVersion.at(task.pointer.versions.path(number))
    for part in intake.parts(_TOGETHER):
        items = placed(part)
        found = version.front(items, task.bindings)
        yield from pack_found(here, measured(found.notifications))
        if version.parts is not None and version.parts.changes is not None:
            added = _open_part(version.parts, version.parts.changes).publish(items, bindings=task.bindings)
            yield from pack_found(here, measured(added, again=True))
        numbers = pc.index_in(part["publication_id"], value_set=pa.array(found.ids, pa.string()))
        rows = numbers.combine_chunks().fill_null(-1).to_numpy()  # of a publication that is refused nothing goes on
        for shard, wanted in enumerate(found.wanted):
            if len(wanted):
                goes = np.zeros(len(found.ids) + 1, np.bool_)
                goes[wanted] = True
                own = plain(part.filter(pa.array(goes[rows])))
                yield pack(shard, own, texts=TERMS, notes={"version": b"%d" % number})


def match_shard(task: FilterTask, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Envelopes in their shards; what was found already is passed on."""
    for shard, kind, table, notes in unpack(batches):
        if kind == FOUND:
            yield from table.to_batches()
        else:
            path = task.pointer.versions.path(int(notes["version"]))
            yield from measured(OpenVersion.at(path).match(shard, table, task.bindings), again=True)


class OpenVersion(NamedTuple):
    """A version of which a worker keeps open what it uses, for later versions too if they have the same parts."""

    path: Path
    parts: FilterParts | None  # a saved filter has none

    @classmethod
    def at(cls, path: Path) -> Self:
        return cls(path, opened(("version", path), partial(FilterParts.at, path)))

    def front(self, items: Any, bindings: int) -> Fronted:
        path = self.path if self.parts is None else self.parts.path(self.parts.front.part)
        found = opened(("front", path), partial(Stage.open, path)).front(items, bindings)
        return found._replace(notifications=self._without_removed(found.notifications))

    def match(self, shard: int, items: pa.Table, bindings: int) -> Notifications:
        """What a shard notifies of publications that the front sent there."""
        if self.parts is None:
            return opened(("shard", self.path, shard), partial(Stage.open, self.path, shard)).match(items, bindings)
        saved = self.parts.shards[shard]
        if saved is None:
            return Notifications()
        return self._without_removed(_open_part(self.parts, saved.part).publish(items, bindings=bindings))

    def _without_removed(self, found: Notifications) -> Notifications:
        removed = None if self.parts is None else self.parts.removed
        if not removed or not len(found):
            return found
        gone = pc.is_in(found.table["subscription_id"], value_set=pa.array(sorted(removed), pa.string()))
        kept = found.table.filter(pc.invert(gone))
        stats = replace(found.stats, notifications=kept.num_rows)
        return Notifications.of_columns(lambda: kept, kept.num_rows, found.rejected, stats)


def _open_part(parts: FilterParts, name: str) -> Filter:
    path = parts.path(name)
    return opened(("part", path), partial(Filter.load, path))
