"""`heliograph.spark.filter`: publications against subscriptions that are versions in a folder, on every worker."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.errors import FAILED, Place, StorageError
from heliograph.filter import Filter
from heliograph.filter import save as saving
from heliograph.filter.encode import check_options
from heliograph.filter.report import check_limit
from heliograph.filter.shards import Fronted, Ground, Stage, restored, save_front, save_shard
from heliograph.io.tables import as_table
from heliograph.model import Notifications, Receipt, Rejected, Rejections, Stats
from heliograph.partition.plan import Outline, Scheme
from heliograph.partition.save import scheme_of
from heliograph.spark import compile_job as compiling
from heliograph.spark.compile_job import Job, Made, Older
from heliograph.spark.envelope import PARCELS, Parcel, Told, done, packed, unpacked
from heliograph.spark.frames import check_frame, collected, finished, is_frame, measured, plain, strange
from heliograph.spark.inputs import intake, placed, publication_rows
from heliograph.spark.versions import Pointer, Versions, opened, own_folder, task_number
from heliograph.storage import kind_of, read_folder, read_table, write_folder
from heliograph.subscriptions import Subscription, Subscriptions, duplicate, holds_patterns, unknown
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# ----------------------------------------------------------------------------------------------------------------------
# A version of a filter that consists of parts: a front, shards, and the small change since these were made.
#
# The laws: a part never changes, and versions share parts, so a small change costs what it is, and a worker keeps the
# shards that it has open. Whoever was added since the parts were made is looked up with the front; whoever was
# removed is taken out of what is found. A task opens the front, or its own shard, and no other.
# ----------------------------------------------------------------------------------------------------------------------

pc: Any = pyarrow.compute

KIND, VERSION = "assembly", 1
PARTS = "parts"  # the folder of them, beside the versions
_IDS = pa.schema([("subscription_id", pa.string())])


class Assembly(NamedTuple):
    """The parts of a version. `added` is how many are in the part `changes`; `removed` are ids of other parts."""

    folder: str
    scheme: Scheme
    front: Told
    shards: tuple[Told | None, ...]
    changes: str | None = None
    added: int = 0
    removed: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """How many subscriptions there are."""
        return self.base - len(self.removed) + self.added

    @property
    def base(self) -> int:
        """How many the parts hold, without the change."""
        return self.front.size - self.front.mergers + sum(each.size for each in self.shards if each is not None)

    def path(self, part: str) -> Path:
        return Path(self.folder, part)

    def parts(self) -> list[str]:
        """The paths of all parts with subscriptions in them, without the change."""
        return [str(self.path(each.part)) for each in (self.front, *self.shards) if each is not None and each.size]

    def outline(self, version: int) -> Outline:
        sizes = tuple(0 if each is None else each.size for each in self.shards)
        front = self.front.size + self.added
        return Outline(self.scheme.partition, version, front, self.front.mergers, sizes)

    def held(self, ids: Iterable[str]) -> set[str]:
        """Which of these the parts hold and nobody removed. It reads the columns of ids and keeps nothing."""
        asked = pa.array(sorted(set(ids) - self.removed), pa.string())
        found: set[str] = set()
        for path in self.parts() if len(asked) else ():
            column = _ids_of(path)
            found.update(column.filter(pc.is_in(column, value_set=asked)).to_pylist())
        return found

    # --- files --------------------------------------------------------------------------------------------------

    def write(self, path: str | Path) -> None:
        plan = {**self.scheme.meta(), "front": tuple(self.front)}
        meta = {**plan, "parts": self.shards, "changes": self.changes, "added": self.added}
        ids = pa.Table.from_arrays([pa.array(sorted(self.removed), pa.string())], schema=_IDS)
        write_folder(path, KIND, VERSION, tables={"removed": ids}, meta=meta)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        opened = read_folder(path, KIND, {VERSION})
        meta = opened.meta
        try:
            shards = tuple(None if each is None else Told(*each) for each in meta["parts"])
            removed: list[Any] = opened.tables["removed"]["subscription_id"].to_pylist()
            parts = str(Path(path).absolute().parent / PARTS)
            changes = meta["changes"], int(meta["added"]), frozenset(removed)
            return cls(parts, scheme_of(meta), Told(*meta["front"]), shards, *changes)
        except (KeyError, TypeError, ValueError) as error:
            message = f"a damaged version of a filter: {error}"
            raise StorageError("HG-810", message, place=Place(str(path)), fix="make it again") from error


def _ids_of(path: str) -> Any:
    """The ids of a part. Its other files are not opened."""
    return read_table(path, "subscriptions")["subscription_id"].combine_chunks()


# --- in the workers ---------------------------------------------------------------------------------------------


class FrontOf(NamedTuple):
    """The front of a version: roots, and whoever was added since."""

    stage: Stage
    changes: Filter | None = None
    removed: frozenset[str] = frozenset()

    def front(self, items: Any, bindings: int) -> Fronted:
        found = self.stage.front(items, bindings)
        return found._replace(notifications=without(found.notifications, self.removed))

    def changed(self, items: Any, bindings: int) -> Iterator[Notifications]:
        """What those are notified of who were added since; what is refused has been told."""
        if self.changes is not None:
            yield _only(self.changes.publish(items, bindings=bindings))


class ShardOf(NamedTuple):
    """One shard of a version."""

    engine: Filter | Stage | None
    removed: frozenset[str] = frozenset()

    def match(self, items: pa.Table, bindings: int) -> Notifications:
        if self.engine is None:
            return Notifications()
        if isinstance(self.engine, Stage):
            return self.engine.match(items, bindings)
        return without(_only(self.engine.publish(items, bindings=bindings)), self.removed)


def open_front(path: Path) -> FrontOf:
    """The front of a version, which a worker keeps open."""
    version = opened(("version", path), partial(assembly_at, path))
    if version is None:
        return FrontOf(opened(("front", path), partial(Stage.open, path)))
    front = version.path(version.front.part)
    stage = opened(("front", front), partial(Stage.open, front))
    if version.changes is None:
        return FrontOf(stage, None, version.removed)
    changes = version.path(version.changes)
    return FrontOf(stage, opened(("part", changes), partial(Filter.load, changes)), version.removed)


def open_shard(path: Path, shard: int) -> ShardOf:
    """A shard of a version, which a worker keeps open, for later versions too if they have the same."""
    version = opened(("version", path), partial(assembly_at, path))
    if version is None:
        return ShardOf(opened(("shard", path, shard), partial(Stage.open, path, shard)))
    told = version.shards[shard]
    if told is None:
        return ShardOf(None)
    part = version.path(told.part)
    return ShardOf(opened(("part", part), partial(Filter.load, part)), version.removed)


def assembly_at(path: Path) -> Assembly | None:
    """The parts of a version; None of one that is a saved filter."""
    return Assembly.read(path) if kind_of(path) == KIND else None


def _only(found: Notifications) -> Notifications:
    """Without what was refused: the front has told that. What failed here nobody else tells."""
    failed = [each for each in found.rejected if each.code == FAILED]
    stats = replace(found.stats, rejected=len(failed))
    return Notifications.of_columns(lambda: found.table, len(found), failed, stats)


def without(found: Notifications, removed: frozenset[str]) -> Notifications:
    """Notifications of those who are still there."""
    if not removed or not len(found):
        return found
    table = found.table
    gone = pc.is_in(table["subscription_id"], value_set=pa.array(sorted(removed), pa.string()))
    kept = table.filter(pc.invert(gone))
    stats: Stats = replace(found.stats, notifications=kept.num_rows)
    return Notifications.of_columns(lambda: kept, kept.num_rows, found.rejected, stats)


# ----------------------------------------------------------------------------------------------------------------------
# A filter that consists of parts, as the driver holds it: parts by name, and the small change since they were made.
#
# The laws: the ids of the parts are looked up in their files and not kept, so the driver is as large as the change;
# an id stands for one subscription at a time, wherever it is; a part is never written again.
# ----------------------------------------------------------------------------------------------------------------------

_FEW = 4096  # subscriptions that may always be looked up with the front
_SHARE = 20  # a change of more than a twentieth of all is built into the parts


class Changes:
    """Parts, and who came and went since."""

    def __init__(self, assembly: Assembly, ground: Ground) -> None:
        self.assembly, self.ground = assembly, ground
        self._added: Subscriptions = ground.registry()
        self._removed = set(assembly.removed)
        if assembly.changes is not None:
            restored(self._added, saving.read(assembly.path(assembly.changes)).tables)

    @classmethod
    def at(cls, path: Path) -> Self:
        """As a version has them."""
        assembly = Assembly.read(path)
        front = saving.read(assembly.path(assembly.front.part))
        return cls(assembly, Ground.of(front.taxonomy, front.prefixes))

    @property
    def size(self) -> int:
        return self.assembly.base - len(self._removed) + len(self._added)

    @property
    def is_large(self) -> bool:
        """Whether the parts had better be made again."""
        return len(self._added) + len(self._removed) > max(_FEW, self.assembly.base // _SHARE)

    # --- changing -----------------------------------------------------------------------------------------------

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        if patterns is None and holds_patterns(items):
            items, patterns = None, items
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
        added = [id for id in wanted if id in self._added]
        held = self._held(id for id in wanted if id not in added)
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
        return self.assembly._replace(removed=frozenset(self._removed)).held(ids)

    # --- saving -------------------------------------------------------------------------------------------------

    def keep(self) -> Assembly:
        """The parts together with the change, saved as a part if there is any."""
        name = None
        if len(self._added):
            name = f"changes-{secrets.token_hex(8)}"
            save_shard(self.assembly.path(name), self._added, self.ground)
        self.assembly = self.assembly._replace(changes=name, added=len(self._added), removed=frozenset(self._removed))
        return self.assembly

    def save(self, path: Path) -> None:
        self.keep().write(path)


# ----------------------------------------------------------------------------------------------------------------------
# The subscriptions of a filter as versions in a folder, opened by workers.
#
# A few are compiled, planned and saved by the driver. DataFrames and large tables that are divided among shards are
# compiled by a Spark job into parts (`compiling`), and the driver holds only what changed since. Each change writes a
# version; a stream that runs takes it up with its next micro-batch. A folder that holds versions already goes on from
# the latest.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# `heliograph.spark.filter`: publications against subscriptions, on every worker.
#
# The path of a publication, where subscriptions are divided among shards: its rows meet in one task → the front says
# which shards it concerns → a shuffle takes it there, and nowhere else → the shard matches. Undivided, the task where
# its rows meet matches it against all of them. The laws: the set of notifications and refusals is the embedded
# engine's, however the rows are cut into tasks; all rows with one publication_id in a batch or micro-batch are one
# publication.
# ----------------------------------------------------------------------------------------------------------------------

_TOGETHER = 4096  # publications matched in one call


class FilterOptions(Division, total=False):
    """What `filter` takes beside publications and subscriptions."""

    patterns: Any
    constraints: Any
    bindings: int
    folder: str | None


def filter(publications: DataFrame, subscriptions: Any = None, **options: Unpack[FilterOptions]) -> DataFrame:
    """The notifications of publications: a DataFrame of triples, or of documents (path, content).

    `subscriptions` are a DataFrame, a table, items, a folder of versions or `Plans`; or `patterns` with `constraints`.
    `shards`, `partition` and `merging` divide them as in `Filter`; `folder` is where workers find them.
    """
    check_frame(publications, "publications")
    tables = {name: options.pop(name, None) for name in ("patterns", "constraints")}  # type: ignore[misc]
    folder, bindings = options.pop("folder", None), check_limit(options.pop("bindings", 0))
    plans = Plans.of(subscriptions, tables, folder, options)
    task = Task(plans.pointer(publications.isStreaming), bindings, plans.shards or 0)
    rows = publication_rows(publications)
    if not task.shards:
        return finished(rows, partial(match_all, task), plans.rejected)
    routed = rows.mapInArrow(partial(look_up, task), PARCELS).repartitionById(task.shards, "shard")
    return finished(routed, partial(match_shards, task), plans.rejected)


class Task(NamedTuple):
    """What a task must know."""

    pointer: Pointer
    bindings: int
    shards: int


# --- in the workers ---------------------------------------------------------------------------------------------


def match_all(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Publications against all subscriptions."""
    taken = intake(batches)
    yield from taken.refusals()
    if taken.table.num_rows:
        path = task.pointer.path()
        engine = opened(("filter", path), partial(Filter.load, path))
        for part in taken.parts(_TOGETHER):
            yield from measured(engine.publish(placed(part), bindings=task.bindings))


def look_up(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Publications at the front: what it notifies itself, and a parcel for each shard that has to do with them."""
    taken = intake(batches)
    yield from done(taken.refusals(), task_number() % task.shards)
    if taken.table.num_rows:
        front = open_front(task.pointer.path())
        for part in taken.parts(_TOGETHER):
            yield from _looked_up(front, part, task)


def _looked_up(front: FrontOf, part: pa.Table, task: Task) -> Iterator[pa.RecordBatch]:
    found, here = front.front(placed(part), task.bindings), task_number() % task.shards
    yield from done(measured(found.notifications), here)
    for more in front.changed(placed(part), task.bindings):
        yield from done(measured(more, again=True), here)
    numbers = pc.index_in(part["publication_id"], value_set=pa.array(found.ids, pa.string()))
    rows = numbers.combine_chunks().fill_null(-1).to_numpy()  # of a publication that is refused nothing goes on
    version = task.pointer.resolved()
    for shard, wanted in enumerate(found.wanted):
        if len(wanted):
            goes = np.zeros(len(found.ids) + 1, np.bool_)
            goes[wanted] = True
            yield packed(Parcel(shard, version, plain(part.filter(pa.array(goes[rows])))))


def match_shards(task: Task, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Parcels in their shards; what was done already is passed on."""
    for parcel in unpacked(batches):
        if isinstance(parcel, pa.RecordBatch):
            yield parcel
            continue
        path = task.pointer.versions.path(parcel.version)
        yield from measured(open_shard(path, parcel.shard).match(parcel.table, task.bindings), again=True)
