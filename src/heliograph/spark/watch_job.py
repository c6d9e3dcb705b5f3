"""`heliograph.spark.watch`: updates of an evolving graph against queries that are divided among shards.

The path of an update: the task that has it asks the footprint index which shards can see it → an envelope takes it to
those (see `visibility`) → each shard puts its updates in ascending seq and publishes them to its engine. A batch is one
such run; a stream keeps its engines in Spark's state store.

The laws:
- Notifications are the embedded engine's for the updates in ascending seq, wherever they are cut into tasks, shards and
  micro-batches.
- A query's notifications depend on no other query, except in a top-k set, whose members therefore stand in one shard.
  The same queries are always sharded in the same way.
- The first version says what each shard sees: its queries' footprints, and the graph at the start as far as those match
  it. A shard gets what its keys match from the beginning, or not at all. So a query that comes later stands in a shard
  that has seen all it sees: at last in shard 0, which sees everything unless the interests are fixed.
- The engine of a shard at some version, brought to another, is an engine that was subscribed to and unsubscribed from
  in between; so it reports what an embedded engine would report.
- In a stream the store alone says what has happened, and it changes with the micro-batch or not at all. An engine in
  memory serves only if it was left by the very version of the state that the store holds, which a token drawn for each
  version says. So wherever a task runs, and however often, its answer is right.
"""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import tarfile
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, Unpack

import pandas as pd
import pyarrow as pa
import pyarrow.compute
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from heliograph.errors import Place, SetupError, StorageError, UsageError
from heliograph.io.schemas import table_schema
from heliograph.io.tables import TableRows, is_single
from heliograph.model import Receipt, Rejected, Rejections
from heliograph.spark.envelope import (
    ENVELOPES,
    FOUND,
    from_bytes,
    larger_batches,
    pack,
    spreading_keys,
    to_bytes,
    unpack,
    unpack_found,
)
from heliograph.spark.environment import PROVIDER, PROVIDER_KEY
from heliograph.spark.frames import (
    ROW,
    SOURCE,
    check_frame,
    collected,
    files_of,
    finished,
    measured,
    parted,
    plain,
    read_rows,
    refusals,
    run_step,
)
from heliograph.spark.versions import (
    Pointer,
    VersionedInterests,
    Versions,
    check_shards,
    keep,
    opened,
    storage_folder,
    take,
    task_number,
)
from heliograph.spark.visibility import (
    ANYTHING,
    EVERYTHING,
    DeliveredUpdates,
    Footprint,
    FootprintIndex,
    Key,
    UpdateNotes,
    ascending,
    covers,
    footprint_of,
    keys_table,
    read_keys,
    shard_updates,
)
from heliograph.storage import Saved, read_folder, write_folder
from heliograph.subscriptions import Subscription, Subscriptions, written
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES
from heliograph.watch import Updates, Watch
from heliograph.watch.options import Options, check_options, read_options
from heliograph.watch.updates import background, extent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

pc: Any = pyarrow.compute

# --- which queries stand together in a shard ----------------------------------------------------------------------


class WatchedQuery(NamedTuple):
    """A subscription as it matters here: what it sees, and the top-k set that it is in."""

    id: str
    footprint: Footprint
    set: str | None

    @classmethod
    def of(cls, subscription: Subscription) -> Self:
        options = subscription.options
        top = json.loads(options).get("top_k_of") if options and "top_k_of" in options else None
        name = None if top is None else str(top.get("set", "")) if isinstance(top, dict) else ""
        return cls(subscription.id, footprint_of(subscription.query), name)

    @property
    def needs_everything(self) -> bool:
        """Whether it belongs where everything is seen: it sees everything itself, or others may join its set."""
        return self.set is not None or self.footprint == EVERYTHING


def shard_queries(queries: Iterable[WatchedQuery], shards: int, growing: bool = False) -> dict[str, int]:
    """The shard of each query: those that see much the same are neighbours in an order that is cut into stretches of
    equal size, so each update concerns few shards. Where more queries may come, shard 0 is for those that can stand
    nowhere else."""
    units: dict[tuple[bool, str], list[WatchedQuery]] = {}
    for query in queries:
        units.setdefault((query.set is not None, query.id if query.set is None else query.set), []).append(query)
    first = 1 if growing and shards > 1 else 0
    ordered = sorted((unit for unit in units.values() if not (first and unit[0].needs_everything)), key=_order)
    places = {query.id: 0 for unit in units.values() for query in unit}
    total, done = sum(map(len, ordered)), 0
    for unit in ordered:
        places.update((query.id, first + done * (shards - first) // total) for query in unit)
        done += len(unit)
    return places


def _order(unit: Sequence[WatchedQuery]) -> tuple[bool, tuple[str, ...], list[list[str]]]:
    """First those that see everything, then by the properties and terms that they see."""
    keys = frozenset[Key]().union(*(query.footprint for query in unit))
    shown = sorted(["" if term is None else term.value for term in key] for key in keys)
    properties = tuple(sorted({property for _, property, _ in shown}))
    return all(query.footprint != EVERYTHING for query in unit), properties, shown


def shard_newcomer(query: WatchedQuery, known: Sequence[Collection[Key]], sizes: Mapping[int, int]) -> int:
    """The shard of a query that comes later: the least full of those that see all that it sees, at last shard 0."""
    if query.needs_everything:
        return 0
    able = [shard for shard, keys in enumerate(known) if shard and covers(keys, query.footprint)]
    return min(able, key=lambda shard: (sizes.get(shard, 0), shard)) if able else 0


# --- what workers find in the folder ------------------------------------------------------------------------------

_KIND, _PLAN, _FORMAT = "watchers", "watchers plan", 1
_TABLES = ("subscriptions", "patterns", "constraints")
_SHARD_TYPES: dict[str, pa.DataType] = {"subscription_id": pa.string(), "shard": pa.int32()}


@dataclass(frozen=True, slots=True)
class WatchFolder:
    """The folder of a watch: the keys of each shard and an engine of each over the graph at the start, which never
    change, and versions of the subscriptions with their shards. `mark` says whether a state was made by the same."""

    folder: str
    mark: str
    shards: int
    windowed: bool
    timed: bool
    prefixes: Mapping[str, str]

    @classmethod
    def load(cls, folder: str) -> tuple[WatchFolder, list[tuple[int, Key]], dict[str, Any]]:
        """The watch in a folder, the keys of its shards, and how subscriptions are meant that do not say."""
        saved = _read_plan(folder)
        meta = dict(saved.meta)
        setting = meta.pop("setting")
        return cls(folder, **meta), read_keys(saved.tables["keys"]), setting

    def save(self, keys: pa.Table, setting: Mapping[str, Any]) -> None:
        meta: dict[str, Any] = {name: getattr(self, name) for name in ("mark", "shards", "windowed", "timed")}
        meta |= {"prefixes": dict(self.prefixes), "setting": dict(setting)}
        write_folder(Path(self.folder, "plan"), _PLAN, _FORMAT, tables={"keys": keys}, meta=meta)

    @property
    def versions(self) -> Versions:
        return Versions.at(self.folder)

    def base(self, shard: int) -> Path:
        """Where the engine of a shard lies as it was before anybody subscribed."""
        return Path(self.folder, f"shard-{shard:04d}")

    def save_version(self, tables: Mapping[str, pa.Table], shards: Mapping[str, int], path: Path) -> None:
        rows = pa.table({"subscription_id": [*shards], "shard": [*shards.values()]}, schema=pa.schema(_SHARD_TYPES))
        write_folder(path, _KIND, _FORMAT, tables={**tables, "places": rows})

    def version(self, number: int) -> dict[str, pa.Table]:
        return read_folder(self.versions.path(number), _KIND, {_FORMAT}).tables

    # --- in the workers -------------------------------------------------------------------------------------------

    def shard_updates(
        self, updates: pa.Table, notes: UpdateNotes, streaming: bool
    ) -> Iterator[tuple[UpdateNotes, pa.Table]]:
        """What each shard in turn is sent of some updates."""
        table, refused = ascending(updates, streaming)
        notes = notes._replace(rejected=(*notes.rejected, *refused))
        if self.shards == 1:
            return iter([(notes, table)])
        key = ("footprints", self.folder, self.mark)
        index = opened(key, lambda: FootprintIndex(_read_plan(self.folder).tables["keys"]))
        prefixes = {**PREFIXES, **self.prefixes}
        return shard_updates(table, notes, index, prefixes, self.shards, self.windowed, self.timed)

    def engine(self, shard: int, version: int) -> Watch:
        """A new engine of a shard with the subscriptions of a version."""
        engine = Watch.load(self.base(shard))
        _subscribe(engine, self._own_tables(version, shard))
        return engine

    def bring(self, engine: Watch, shard: int, before: int, after: int) -> None:
        """Subscribes and unsubscribes what is new and gone from one version to another."""
        if before == after:
            return
        old, new = (self._own_tables(number, shard) for number in (before, after))
        known, wanted = _contents(old), _contents(new)
        engine.unsubscribe([id for id, content in known.items() if wanted.get(id) != content])
        come = pa.array([id for id, content in wanted.items() if known.get(id) != content], pa.string())
        some = {name: each.filter(pc.is_in(each["subscription_id"], value_set=come)) for name, each in new.items()}
        _subscribe(engine, some)

    def _own_tables(self, version: int, shard: int) -> dict[str, pa.Table]:
        """The subscriptions of one shard, as `subscribe` takes them: those of pattern tables have no text."""
        tables = self.version(version)
        ids = tables["places"].filter(pc.equal(tables["places"]["shard"], shard))["subscription_id"]
        own = {name: tables[name].filter(pc.is_in(tables[name]["subscription_id"], value_set=ids)) for name in _TABLES}
        return {**own, "subscriptions": own["subscriptions"].filter(own["subscriptions"]["query"].is_valid())}


def _read_plan(folder: str) -> Saved:
    return read_folder(Path(folder, "plan"), _PLAN, {_FORMAT})


def _subscribe(engine: Watch, tables: Mapping[str, pa.Table]) -> None:
    if tables["subscriptions"].num_rows:
        engine.subscribe(tables["subscriptions"])
    if tables["patterns"].num_rows:
        engine.subscribe(patterns=tables["patterns"], constraints=tables["constraints"])


def _contents(tables: Mapping[str, pa.Table]) -> dict[str, list[Any]]:
    """What each subscription is, to see whether one id still stands for the same."""
    found: dict[str, list[Any]] = {}
    for name in _TABLES:
        for row in tables[name].to_pylist():
            found.setdefault(str(row["subscription_id"]), []).append((name, *row.values()))
    return found


# --- what the driver holds ----------------------------------------------------------------------------------------


class WatchSetting(TypedDict, total=False):
    """What a watch is made with."""

    mode: str
    taxonomy: Any
    prefixes: Mapping[str, str] | None
    initial: bool
    window: Any
    window_updates: int | None
    witness: bool


class Watchers(VersionedInterests):
    """The versions of a watch's subscriptions. A folder that holds some already goes on from the latest.

    `graph` and the settings, which are those of `Watch`, are there from the start. `fixed` says that all subscriptions
    come at once: then no shard has to see everything. `rejected` is what was refused so far: of the taxonomy, the graph
    and the subscriptions.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        graph: Any = None,
        shards: int | None = None,
        fixed: bool = False,
        **setting: Unpack[WatchSetting],
    ) -> None:
        super().__init__(folder)
        self._fixed, self._shards = fixed, check_shards(shards)
        self._graph = collected(graph, "graph")
        taxonomy = collected(setting.get("taxonomy"), "taxonomy")
        if not (taxonomy is None or isinstance(taxonomy, Taxonomy)):
            taxonomy = Taxonomy.read(taxonomy, Subscriptions("watch", setting.get("prefixes")).prefixes)
        self._setting: WatchSetting = {**setting, "taxonomy": taxonomy}
        self._keys: list[tuple[int, Key]] = []
        self._shard_of: dict[str, int] = {}
        self._shared: WatchFolder | None = None
        self._subscriptions = Subscriptions("watch", setting.get("prefixes"))
        self.rejected = Watch(**self._setting).rejected
        if not fixed and self.versions.numbers():
            self._open()

    @classmethod
    def of(cls, interests: Any, tables: Mapping[str, Any], folder: str | None, given: Mapping[str, Any]) -> Self:
        """Watchers as they are given, or new ones with these subscriptions and no others."""
        if isinstance(interests, cls):
            return interests
        if isinstance(interests, (str, Path)) and Path(interests).is_dir() and Versions.at(interests).numbers():
            return cls(interests)
        watchers = cls(storage_folder(folder, "watch"), fixed=True, **given)
        watchers.subscribe(interests, **tables)
        return watchers

    @property
    def size(self) -> int:
        """How many subscriptions there are now."""
        return len(self._subscriptions)

    @property
    def shared(self) -> WatchFolder:
        """Where the workers find everything; raises where nobody has subscribed yet."""
        if self._shared is None:
            fix = "subscribe before it is used"
            raise StorageError("HG-801", "no version in this folder", place=Place(self.versions.folder), fix=fix)
        return self._shared

    def pointer(self, streaming: bool) -> Pointer:
        return Pointer(self.versions, 1) if self._fixed else super().pointer(streaming)

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        """Takes subscriptions and writes a version with them: tables, items, or DataFrames, which are collected."""
        given = {"patterns": collected(patterns, "patterns"), "constraints": collected(constraints, "constraints")}
        several = collected([items] if is_single(items) else items, "subscriptions")
        with self._lock:
            if self._fixed and self._shared is not None:
                fix = "give all subscriptions at once, or Watchers that are not fixed"
                raise UsageError("HG-089", "a subscription to a watch that is fixed", fix=fix)
            return self._changed(self._subscriptions.subscribe(several, **given, accept=self._check).receipt)

    def unsubscribe(self, ids: Any) -> Receipt:
        """Removes subscriptions by id and writes a version without them."""
        with self._lock:
            receipt = self._subscriptions.unsubscribe([ids] if isinstance(ids, str) else ids).receipt
            left = {each.id for each in self._subscriptions}
            self._shard_of = {id: shard for id, shard in self._shard_of.items() if id in left}  # what returns is new
            return self._changed(receipt)

    def _check(self, subscription: Subscription) -> None:
        options = read_options(subscription.options, Options(**self._defaults()))
        check_options(options, subscription.query, subscription.text)

    def _defaults(self) -> dict[str, Any]:
        """How subscriptions are meant that do not say."""
        return {"mode": self._setting.get("mode", "each"), "initial": bool(self._setting.get("initial"))}

    # --- versions -------------------------------------------------------------------------------------------------

    def _write(self) -> None:
        everybody = tuple(self._subscriptions)
        tables = written(everybody)
        if self._shared is None:
            self._plan(tables, everybody)
        else:
            self._place_newcomers(everybody)
        save = partial(self.shared.save_version, tables, self._shard_of)
        if self._fixed:
            save(self.versions.path(1))
        else:
            self.versions.add(save)

    def _plan(self, tables: Mapping[str, pa.Table], everybody: Sequence[Subscription]) -> None:
        """Divides the first subscriptions among the shards, and saves an engine for each over what it sees."""
        if self._shards > 1:
            queries = [WatchedQuery.of(each) for each in everybody]
        else:
            queries = [WatchedQuery(each.id, EVERYTHING, None) for each in everybody]
        self._shard_of = shard_queries(queries, self._shards, growing=not self._fixed)
        self._keys = list(dict.fromkeys((self._shard_of[each.id], key) for each in queries for key in each.footprint))
        self._keys += [] if self._fixed else [(0, ANYTHING)]
        self._subscriptions.release(everybody)
        mark = self._mark(tables) if self._fixed else secrets.token_hex(8)
        if self._fixed:
            self.versions = Versions.at(Path(self.versions.folder, mark))
        size = extent(self._setting.get("window"), self._setting.get("window_updates"))
        prefixes = dict(self._setting.get("prefixes") or {})
        shared = WatchFolder(self.versions.folder, mark, self._shards, bool(size), size.span is not None, prefixes)
        keys = keys_table(self._keys)
        self._save_engines(shared, keys)
        shared.save(keys, self._defaults())
        self._shared = shared

    def _save_engines(self, shared: WatchFolder, keys: pa.Table) -> None:
        """Saves an engine for each shard, with what it sees of the graph; in a window the clock is everybody's."""
        index = FootprintIndex(keys if self._graph is not None else keys.slice(0, 0))
        vocabulary = index.vocabulary.overlay()
        items = () if self._graph is None else self._graph
        graph, refused = background(items, vocabulary, {**PREFIXES, **shared.prefixes})
        self.rejected += Rejections(refused)
        seen = None if shared.windowed or shared.shards == 1 else index.seen(graph, vocabulary)
        for shard in range(shared.shards):
            engine = Watch(**self._setting)
            if len(graph):
                some = graph if seen is None else graph.take(seen.of(shard))
                triples = (some.subject, some.predicate, some.object)
                engine.load_graph(
                    Updates.of(vocabulary, triples, some.op, seq=some.seq, weight=some.weight, at=some.at)
                )
            engine.save(shared.base(shard))
        self._graph = None

    def _mark(self, tables: Mapping[str, pa.Table]) -> str:
        """What distinguishes these interests from others, in whichever process."""
        digest = hashlib.sha256(str(self._shards).encode())
        for name, value in sorted({**self._setting, **tables, "graph": self._graph}.items()):
            digest.update(f"\0{name}\0".encode())
            if isinstance(value, pa.Table):
                for column in value.columns:
                    digest.update("\0".join(map(str, column.to_pylist())).encode())
            else:
                digest.update(repr(value.table().to_pylist() if isinstance(value, Taxonomy) else value).encode())
        return digest.hexdigest()[:16]

    def _place_newcomers(self, everybody: Sequence[Subscription]) -> None:
        known: list[set[Key]] = [set() for _ in range(self._shards)]
        for shard, key in self._keys:
            known[shard].add(key)
        sizes = Counter(self._shard_of.values())
        for each in everybody:
            if each.id not in self._shard_of:
                self._shard_of[each.id] = shard = shard_newcomer(WatchedQuery.of(each), known, sizes)
                sizes[shard] += 1

    def _open(self) -> None:
        """Goes on from the latest version in the folder."""
        self._shared, self._keys, setting = WatchFolder.load(self.versions.folder)
        self._setting = {"prefixes": self._shared.prefixes, **setting}  # type: ignore[typeddict-item]
        self._shards = self._shared.shards
        self._subscriptions = Subscriptions("watch", self._shared.prefixes)
        saved = self._shared.version(self.versions.latest())
        self._subscriptions.restore(saved, accept=self._check)
        ids, shards = (column.to_pylist() for column in saved["places"].columns)
        self._shard_of = {str(id): int(shard or 0) for id, shard in zip(ids, shards, strict=True)}


# --- the verb -----------------------------------------------------------------------------------------------------

HISTORY = 4 << 20  # bytes of updates that are sooner replayed than an engine is saved
_TOGETHER = 1 << 17  # updates of an envelope, and published in one call


class SparkWatchOptions(WatchSetting, total=False):
    """What `watch` takes beside updates and subscriptions."""

    patterns: Any
    constraints: Any
    graph: Any
    shards: int | None
    history: int
    folder: str | None


class WatchTask(NamedTuple):
    """What a task must know: where the queries stand, and under which keys the shards get their envelopes."""

    shared: WatchFolder
    pointer: Pointer
    keys: list[int]
    streaming: bool


def watch(updates: DataFrame, subscriptions: Any = None, **options: Unpack[SparkWatchOptions]) -> DataFrame:
    """The notifications of updates: a DataFrame (op, subject, property, object; seq, weight, at) in ascending seq.

    Without a column seq a batch is taken in the order of its files; a stream must have one. `subscriptions` are a
    DataFrame, a table, items, `Watchers` or their folder; or `patterns` with `constraints`. Other options are those of
    `Watch`, `graph`, `shards`, `history` (bytes of updates that a stream keeps before it saves an engine in their
    place), and `folder`, where workers find the engines.
    """
    check_frame(updates, "updates")
    given: dict[str, Any] = {**options}
    tables = {name: given.pop(name, None) for name in _TABLES[1:]}
    history, folder = given.pop("history", HISTORY), given.pop("folder", None)
    if isinstance(history, bool) or not isinstance(history, int) or history < 0:
        raise UsageError("HG-087", f"history is {history!r}", fix="give a number of bytes, 0 or more")
    if updates.isStreaming:
        _check_stream(updates)
    watchers = Watchers.of(subscriptions, tables, folder, given)
    shared, pointer, rejected = watchers.shared, watchers.pointer(updates.isStreaming), watchers.rejected
    if updates.isStreaming:
        task = WatchTask(shared, pointer, spreading_keys(shared.shards), streaming=True)
        processor = WatchState(shared, {key: shard for shard, key in enumerate(task.keys)}, history)
        by_shard = run_step(updates, "updates", partial(send, task), ENVELOPES).groupBy("shard")
        found = by_shard.transformWithStateInPandas(processor, ENVELOPES, "Append", "None")
        return finished(found, unpack_found, rejected)
    task = WatchTask(shared, pointer, list(range(shared.shards)), streaming=False)
    files = files_of(updates)
    if shared.shards == 1 and files is not None:  # one task reads, orders and publishes: nothing has to travel
        return finished(files.coalesce(1), partial(run_files, task), rejected)
    opening = updates.sparkSession.range(0, 1, 1, 1).mapInArrow(partial(send_opening, task), ENVELOPES)
    sent = run_step(updates, "updates", partial(send, task), ENVELOPES).unionByName(opening)
    sent = sent.repartitionById(shared.shards, "shard")
    return finished(sent, partial(run_shard, task), rejected)


def _check_stream(updates: DataFrame) -> None:
    if "seq" not in updates.columns:
        fix = "number the updates in a column seq"
        raise UsageError("HG-083", "a stream of updates without seq: its rows have no order", fix=fix)
    if updates.sparkSession.conf.get(PROVIDER_KEY, "") != PROVIDER:
        fix = f"use heliograph.spark.session(), or set {PROVIDER_KEY} to {PROVIDER}"
        raise SetupError("HG-907", "a session that does not keep its state in RocksDB", fix=fix)


# --- in the workers -----------------------------------------------------------------------------------------------


def send(task: WatchTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The updates of a task in envelopes."""
    filled = (batch for batch in batches if batch.num_rows)
    for number, some in enumerate(larger_batches(filled, _TOGETHER)):
        rows, rejected = parted(some)
        notes = UpdateNotes(task_number(), number, task.pointer.resolved(), rejected=tuple(rejected))
        shards = task.shared.shard_updates(plain(rows), notes, task.streaming)
        yield from (own.pack(key, table) for key, (own, table) in zip(task.keys, shards, strict=True))


def send_opening(task: WatchTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """An empty envelope to each shard, before all others, so that each runs even if nothing is updated."""
    for _ in batches:
        notes = UpdateNotes(-1, 0, task.pointer.resolved())
        yield from (notes.pack(key, table_schema("updates").empty()) for key in task.keys)


def run_shard(task: WatchTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All envelopes of a batch to one shard, through its engine."""
    envelopes = list(unpack(batches))
    if envelopes:
        shard = envelopes[0].shard
        updates, rejected, version = DeliveredUpdates.of(envelopes, shard, task.shared.windowed)
        yield from refusals(rejected)
        yield from _run(task.shared, shard, version, updates)


def run_files(task: WatchTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All updates of files through the only engine, where they are read."""
    rows = [batch for batch in read_rows("updates", batches) if batch.num_rows]
    table, rejected = parted(pa.Table.from_batches(rows)) if rows else (table_schema("updates").empty(), [])
    if rows and table["seq"].null_count == table.num_rows:
        engine = task.shared.engine(0, task.pointer.resolved())
        for read in _as_read(table, rejected):
            yield from measured(engine.publish(read))
        return
    updates, refused = ascending(plain(table), streaming=False)
    yield from refusals([*rejected, *refused])
    yield from _run(task.shared, 0, task.pointer.resolved(), updates)


def _as_read(table: pa.Table, rejected: Sequence[Rejected]) -> Iterator[TableRows]:
    """Rows without seqs as the embedded engine reads them, file by file: their numbers count what was refused."""
    for name in dict.fromkeys([*table[SOURCE].unique().to_pylist(), *(entry.source for entry in rejected)]):
        some: Any = table.filter(pc.equal(table[SOURCE], pa.scalar(name, pa.string())))
        refused = Rejections(entry for entry in rejected if entry.source == name)
        yield TableRows(name, plain(some), refused, some[ROW].to_numpy())


def _run(shared: WatchFolder, shard: int, version: int, updates: pa.Table) -> Iterator[pa.RecordBatch]:
    """Publishes at least once, since initial matches may be asked for. All shards refuse the same updates, so only the
    first reports and counts them."""
    engine = shared.engine(shard, version)
    for first in range(0, updates.num_rows or 1, _TOGETHER):
        yield from measured(engine.publish(updates.slice(first, _TOGETHER)), again=shard > 0)


# --- the state of a stream: the history of each shard's engine ----------------------------------------------------

UPDATES, ENGINE = 0, 1  # what a piece of history is: the updates of a micro-batch, or a save in place of all before it


class StateHead(NamedTuple):
    """What the store says of a shard first: the token of its version, sizes in bytes, the mark of the watch that made
    it, and the version of the subscriptions."""

    token: str
    updates: int
    engine: int
    mark: str
    version: int


class WatchState(StatefulProcessor):
    """The engine of each shard, over the micro-batches of a stream."""

    def __init__(self, shared: WatchFolder, shards: dict[int, int], worth: int) -> None:
        self._shared = shared
        self._shards = shards  # by key
        self._worth = worth

    def init(self, handle: StatefulProcessorHandle) -> None:
        head = "token string, updates bigint, engine bigint, mark string, version bigint"
        self._head = handle.getValueState("head", head)
        self._history = handle.getListState("history", "kind int, version bigint, payload binary")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """The updates of a micro-batch for one shard: envelopes in, notifications as one envelope out."""
        shard = self._shards[key[0]]
        envelopes = unpack(pa.RecordBatch.from_pandas(frame, preserve_index=False) for frame in rows)
        updates, refused, version = DeliveredUpdates.of(envelopes, shard, self._shared.windowed)
        engine, head = self._standing(shard, version)
        found = engine.publish(updates)
        self._keep(shard, engine, head, version, to_bytes(updates, compressed=True))
        ready = [*measured(found, again=shard > 0), *refusals(refused)]
        yield pack(key[0], pa.Table.from_batches(ready), FOUND).to_pandas()

    def close(self) -> None:
        """Nothing is held open."""

    def _standing(self, shard: int, version: int) -> tuple[Watch, StateHead | None]:
        """The engine as the store has it, brought to a version: the one in memory if that is it, else made again."""
        stored = self._head.get()
        if stored is None:
            return self._shared.engine(shard, version), None
        head = StateHead(*stored)
        if head.mark != self._shared.mark:
            message = "the checkpoint was made with other subscriptions, graph, options or shards"
            raise SetupError("HG-906", message, fix="give those it was made with, or start a new checkpoint")
        token, engine = take(self._name(shard)) or ("", None)
        if engine is None or token != head.token:
            engine = replayed(self._history.get(), self._shared, shard)
        self._shared.bring(engine, shard, head.version, version)
        return engine, head

    def _keep(self, shard: int, engine: Watch, head: StateHead | None, version: int, updates: bytes) -> None:
        token, size, saved = secrets.token_hex(16), len(updates), 0
        if head is not None:
            size, saved = size + head.updates, head.engine
        if size > max(self._worth, saved):
            blob = packed_engine(engine)
            self._history.put([(ENGINE, version, blob)])
            size, saved = 0, len(blob)
        else:
            self._history.appendValue((UPDATES, version, updates))
        self._head.update((token, size, saved, self._shared.mark, version))
        keep(self._name(shard), (token, engine))

    def _name(self, shard: int) -> tuple[str, str, str, int]:
        return "watch", self._shared.mark, self._shared.folder, shard


def replayed(history: Iterator[tuple[Any, ...]], shared: WatchFolder, shard: int) -> Watch:
    """An engine after its history, which is never empty; what it reported then is not reported again."""
    engine, had = None, 0
    for kind, version, payload in history:
        if kind == ENGINE:
            engine = opened_engine(bytes(payload))
        else:
            engine = shared.engine(shard, version) if engine is None else engine
            shared.bring(engine, shard, had or version, version)
            engine.publish(from_bytes(bytes(payload)))
        had = version
    assert engine is not None
    return engine


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
