"""`heliograph.spark.watch`: updates against queries that are divided among shards, with state in Spark's store."""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import tarfile
import tempfile
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypedDict, Unpack

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from heliograph.errors import Place, SetupError, StorageError, UsageError
from heliograph.io.schemas import table_schema
from heliograph.io.tables import TableRows, is_single
from heliograph.model import Receipt, Rejected, Rejections
from heliograph.partition.plan import MOST_SHARDS
from heliograph.spark.envelope import (
    FOR_SHARDS,
    Facts,
    Habits,
    Letter,
    ascending,
    delivered,
    from_bytes,
    larger,
    pieces,
    pressed,
    spreading_keys,
    to_bytes,
    unpack_found,
    written,
)
from heliograph.spark.environment import PROVIDER, PROVIDER_KEY
from heliograph.spark.frames import (
    ROW,
    SOURCE,
    check_frame,
    collected,
    finished,
    measured,
    parted,
    plain,
    refusals,
    reported,
    spelled,
)
from heliograph.spark.inputs import files_of, read_rows
from heliograph.spark.versions import Pointer, Versions, opened, storage_folder, task_number
from heliograph.spark.visibility import (
    ANYTHING,
    EVERYTHING,
    Key,
    Keys,
    Switchboard,
    covers,
    keys_of,
    keys_table,
    read_keys,
)
from heliograph.storage import Saved, read_folder, write_folder
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.subscriptions import written as subscriptions_written
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES
from heliograph.vocabulary import Vocabulary
from heliograph.watch import Updates, Watch
from heliograph.watch.options import Options, check_options, read_options
from heliograph.watch.updates import UpdateColumns, background, extent

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# ----------------------------------------------------------------------------------------------------------------------
# Which queries of a watch stand together in a shard.
#
# The laws: a query's notifications depend on nobody else's query, except in a top-k set, whose members therefore
# stand in one shard. Queries are put in an order in which those that see much the same are neighbours, first those
# that see everything, and the order is cut into stretches of equal size; so each update concerns few of them. The
# same queries are always dealt in the same way.
# ----------------------------------------------------------------------------------------------------------------------

Shown = tuple[tuple[str, str, str], ...]


class Asking(NamedTuple):
    """A subscription as it matters here: what it sees, and the top-k set that it is in."""

    id: str
    keys: Keys
    set: str | None


def dealt(askings: Iterable[Asking], shards: int, growing: bool = False) -> dict[str, int]:
    """The shard of each subscription. Where more may come, shard 0 is that of whoever could not stand elsewhere."""
    units: dict[tuple[bool, str], list[Asking]] = {}
    for asking in askings:
        units.setdefault((asking.set is not None, asking.id if asking.set is None else asking.set), []).append(asking)
    first = 1 if growing and shards > 1 else 0
    ordered = sorted((unit for unit in units.values() if not (first and _stays(unit[0]))), key=_order)
    places = {asking.id: 0 for unit in units.values() for asking in unit}
    total, done = sum(map(len, ordered)), 0
    for unit in ordered:
        places.update((asking.id, first + done * (shards - first) // total) for asking in unit)
        done += len(unit)
    return places


def placed(asking: Asking, known: Sequence[Collection[Key]], sizes: Mapping[int, int]) -> int:
    """The shard of a newcomer: the least full of those that see all that it sees, at last shard 0, which does."""
    if _stays(asking):
        return 0
    able = [shard for shard, keys in enumerate(known) if shard and covers(keys, asking.keys)]
    return min(able, key=lambda shard: (sizes.get(shard, 0), shard)) if able else 0


def _stays(asking: Asking) -> bool:
    """Whether a subscription belongs where everything is seen: it does itself, or somebody may join its set."""
    return asking.set is not None or asking.keys == EVERYTHING


def set_of(options: str | None) -> str | None:
    """The name of the top-k set that a subscription is in."""
    if not options or "top_k_of" not in options:
        return None
    top = json.loads(options).get("top_k_of")
    if top is None:
        return None
    return str(top.get("set", "")) if isinstance(top, dict) else ""


def _keys(asking: Asking) -> Keys:
    return asking.keys


def _order(unit: Sequence[Asking]) -> tuple[bool, tuple[str, ...], Shown]:
    keys = frozenset[Key]().union(*map(_keys, unit))
    shown = tuple(sorted(_shown(key) for key in keys))
    properties = tuple(sorted({property for _, property, _ in shown}))
    return EVERYTHING not in map(_keys, unit), properties, shown


def _shown(key: Key) -> tuple[str, str, str]:
    subject, property, object = ("" if term is None else term.value for term in key)
    return subject, property, object


# ----------------------------------------------------------------------------------------------------------------------
# Where the queries of a watch stand, as workers find it in a folder that all see.
#
# The folder holds the keys of each shard and an engine of each over the graph at the start, which never change, and
# versions of the subscriptions with their shards. The law: the engine of a shard at some version, brought to another,
# is an engine that was subscribed to and unsubscribed from in between; so it tells what an embedded engine would
# tell.
# ----------------------------------------------------------------------------------------------------------------------

pc: Any = pyarrow.compute

KIND, PLAN = "watchers", "watchers plan"
TABLES = ("subscriptions", "patterns", "constraints")
_PLACES: dict[str, pa.DataType] = {"subscription_id": pa.string(), "shard": pa.int32()}
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Placement:
    """The folder of a watch; `mark` tells whether a state was made by the same."""

    folder: str
    mark: str
    shards: int
    windowed: bool
    timed: bool
    prefixes: Mapping[str, str]

    @property
    def versions(self) -> Versions:
        return Versions.at(self.folder)

    def habits(self, streaming: bool) -> Habits:
        return Habits(self.shards, streaming, self.windowed, self.timed)

    def base(self, shard: int) -> Path:
        """Where the engine of a shard lies as it was before anybody subscribed."""
        return Path(self.folder, f"shard-{shard:04d}")

    # --- writing ------------------------------------------------------------------------------------------------

    def save(self, keys: pa.Table, mode: str, initial: bool) -> None:
        """The keys of the shards, and how subscriptions are meant that do not say."""
        meta: dict[str, Any] = {name: getattr(self, name) for name in ("mark", "shards", "windowed", "timed")}
        meta |= {"prefixes": dict(self.prefixes), "setting": {"mode": mode, "initial": initial}}
        write_folder(Path(self.folder, "plan"), PLAN, _FORMAT, tables={"keys": keys}, meta=meta)

    def save_version(self, path: Path, tables: Mapping[str, pa.Table], places: Mapping[str, int]) -> None:
        rows = pa.table({"subscription_id": [*places], "shard": [*places.values()]}, schema=pa.schema(_PLACES))
        write_folder(path, KIND, _FORMAT, tables={**tables, "places": rows})

    # --- reading ------------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, folder: str) -> tuple[Placement, list[tuple[int, Key]], dict[str, Any]]:
        """The placement in a folder, the keys of its shards, and how subscriptions are meant."""
        saved = _plan(folder)
        meta = dict(saved.meta)
        setting = meta.pop("setting")
        return cls(folder, **meta), read_keys(saved.tables["keys"]), setting

    def version(self, number: int) -> dict[str, pa.Table]:
        return read_folder(self.versions.path(number), KIND, {_FORMAT}).tables

    def letters(self, updates: pa.Table, facts: Facts, streaming: bool) -> Iterator[Letter]:
        """What the shards are written of some updates."""
        board = opened(("switchboard", self.folder, self.mark), self._switchboard)
        return written(updates, facts, self.habits(streaming), board, {**PREFIXES, **self.prefixes})

    def _switchboard(self) -> Switchboard:
        return Switchboard(_plan(self.folder).tables["keys"])

    def engine(self, shard: int, version: int) -> Watch:
        """A new engine of a shard with the subscriptions of a version."""
        engine = Watch.load(self.base(shard))
        subscribe(engine, own_tables(self.version(version), shard))
        return engine

    def bring(self, engine: Watch, shard: int, before: int, after: int) -> None:
        """Subscribes and unsubscribes what is new and gone from one version to another."""
        if before == after:
            return
        old, new = (own_tables(self.version(number), shard) for number in (before, after))
        known, wanted = contents(old), contents(new)
        gone = [id for id, content in known.items() if wanted.get(id) != content]
        engine.unsubscribe(gone)
        come = {id for id, content in wanted.items() if known.get(id) != content}
        subscribe(engine, {name: _rows(table, come) for name, table in new.items()})


def _plan(folder: str) -> Saved:
    return read_folder(Path(folder, "plan"), PLAN, {_FORMAT})


def own_tables(tables: Mapping[str, pa.Table], shard: int) -> dict[str, pa.Table]:
    """The subscriptions of one shard, as `subscribe` takes them: those of pattern tables have no text."""
    places = tables["places"]
    ids = places.filter(pc.equal(places["shard"], shard))["subscription_id"]
    own = {name: tables[name].filter(pc.is_in(tables[name]["subscription_id"], value_set=ids)) for name in TABLES}
    texts = own["subscriptions"]
    return {**own, "subscriptions": texts.filter(texts["query"].is_valid())}


def subscribe(engine: Watch, tables: Mapping[str, pa.Table]) -> None:
    if tables["subscriptions"].num_rows:
        engine.subscribe(tables["subscriptions"])
    if tables["patterns"].num_rows:
        engine.subscribe(patterns=tables["patterns"], constraints=tables["constraints"])


def contents(tables: Mapping[str, pa.Table]) -> dict[str, list[Any]]:
    """What each subscription is, to tell whether one id still stands for the same."""
    found: dict[str, list[Any]] = {}
    for name in TABLES:
        for row in tables[name].to_pylist():
            found.setdefault(str(row["subscription_id"]), []).append((name, *row.values()))
    return found


def _rows(table: pa.Table, ids: set[str]) -> pa.Table:
    return table.filter(pc.is_in(table["subscription_id"], value_set=pa.array(sorted(ids), pa.string())))


# ----------------------------------------------------------------------------------------------------------------------
# The subscriptions of a watch as versions in a folder: divided among shards and saved by the driver, for the workers.
#
# The first version settles what each shard sees: its queries' keys, and the graph at the start as far as those match
# it. The law: a shard gets what its keys match from the beginning, or not at all; so whoever subscribes later stands
# in a shard that has seen all they see. That is shard 0 at the latest, which sees everything unless the interests are
# fixed.
# ----------------------------------------------------------------------------------------------------------------------


class Setting(TypedDict, total=False):
    """What a watch is made with."""

    mode: str
    taxonomy: Any
    prefixes: Mapping[str, str] | None
    initial: bool
    window: Any
    window_updates: int | None
    witness: bool


class Watchers:
    """The versions of a watch's subscriptions. A folder that holds some already goes on from the latest.

    `graph` and the settings, which are those of `Watch`, are there from the start. `fixed` says that all subscriptions
    come at once: then no shard has to see everything.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        graph: Any = None,
        shards: int | None = None,
        fixed: bool = False,
        **setting: Unpack[Setting],
    ) -> None:
        self._folder = str(Path(folder).absolute())
        self._lock, self._waiting = threading.Lock(), False
        self._fixed, self._shards = fixed, _checked(shards)
        self._graph = collected(graph, "graph")
        self._setting: Setting = {**setting, "taxonomy": collected(setting.get("taxonomy"), "taxonomy")}
        self._keys: list[tuple[int, Key]] = []
        self._places: dict[str, int] = {}
        self._placement: Placement | None = None
        self._subscriptions = Subscriptions("watch", setting.get("prefixes"))
        self.rejected = Watch(**self._setting).rejected
        """What was refused so far: of the taxonomy, the graph and what was subscribed to."""
        if not fixed and Versions.at(self._folder).numbers():
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
    def placement(self) -> Placement:
        """Where the workers find everything; raises where nobody has subscribed yet."""
        if self._placement is None:
            fix = "subscribe before it is used"
            raise StorageError("HG-801", "no version in this folder", place=Place(self._folder), fix=fix)
        return self._placement

    @property
    def versions(self) -> Versions:
        return self.placement.versions

    def pointer(self, streaming: bool) -> Pointer:
        """What tells a task which version is meant: a stream follows the versions, a batch has one."""
        return Pointer(self.versions, 1 if self._fixed else None if streaming else self.versions.latest())

    # --- changes ------------------------------------------------------------------------------------------------

    def subscribe(self, items: Any = None, *, patterns: Any = None, constraints: Any = None) -> Receipt:
        """Takes subscriptions and writes a version with them: tables, items, or DataFrames, which are collected."""
        given = {"patterns": collected(patterns, "patterns"), "constraints": collected(constraints, "constraints")}
        several = collected([items] if is_single(items) else items, "subscriptions")
        with self._lock:
            if self._fixed and self._placement is not None:
                fix = "give all subscriptions at once, or Watchers that are not fixed"
                raise UsageError("HG-089", "a subscription to a watch that is fixed", fix=fix)
            _, receipt = self._subscriptions.subscribe(several, **given, accept=self._check)
            return self._saved(receipt)

    def unsubscribe(self, ids: Any) -> Receipt:
        """Removes subscriptions by id and writes a version without them."""
        with self._lock:
            _, receipt = self._subscriptions.unsubscribe([ids] if isinstance(ids, str) else ids)
            left = {each.id for each in self._subscriptions}
            self._places = {id: shard for id, shard in self._places.items() if id in left}  # who comes back is new
            return self._saved(receipt)

    @contextmanager
    def together(self) -> Iterator[Self]:
        """All changes within become one version."""
        self._waiting = True
        try:
            yield self
        finally:
            self._waiting = False
        self._write()

    def _saved(self, receipt: Receipt) -> Receipt:
        self.rejected += receipt.rejected
        if not self._waiting:
            self._write()
        return receipt

    def _check(self, subscription: Subscription) -> None:
        defaults = Options(self._setting.get("mode", "each"), bool(self._setting.get("initial")))
        check_options(read_options(subscription.options, defaults), subscription.query, subscription.text)

    # --- versions -----------------------------------------------------------------------------------------------

    def _write(self) -> None:
        everybody = tuple(self._subscriptions)
        tables = subscriptions_written(everybody)
        if self._placement is None:
            self._placement = self._planned(tables, everybody)
        else:
            self._place(everybody)
        placement, places = self._placement, self._places
        if self._fixed:
            placement.save_version(placement.versions.path(1), tables, places)
        else:
            placement.versions.add(lambda path: placement.save_version(path, tables, places))

    def _planned(self, tables: Mapping[str, pa.Table], everybody: Sequence[Subscription]) -> Placement:
        """Divides the first subscriptions among the shards, and saves an engine for each over what it sees."""
        askings = [_asking(each) if self._shards > 1 else Asking(each.id, EVERYTHING, None) for each in everybody]
        self._places = dealt(askings, self._shards, growing=not self._fixed)
        self._keys = list(dict.fromkeys((self._places[each.id], key) for each in askings for key in each.keys))
        self._keys += [] if self._fixed else [(0, ANYTHING)]
        self._subscriptions.release(everybody)
        mark = _mark(tables, self._graph, self._shards, self._setting) if self._fixed else secrets.token_hex(8)
        folder = str(Path(self._folder, mark)) if self._fixed else self._folder
        size = extent(self._setting.get("window"), self._setting.get("window_updates"))
        prefixes = dict(self._setting.get("prefixes") or {})
        placement = Placement(folder, mark, self._shards, bool(size), size.span is not None, prefixes)
        keys = keys_table(self._keys)
        self._save_engines(placement, keys)
        placement.save(keys, self._setting.get("mode", "each"), bool(self._setting.get("initial")))
        return placement

    def _save_engines(self, placement: Placement, keys: pa.Table) -> None:
        """Saves an engine for each shard, with what it sees of the graph; in a window the clock is everybody's."""
        board = Switchboard(keys if self._graph is not None else keys.slice(0, 0))
        vocabulary = board.vocabulary.overlay()
        prefixes = {**PREFIXES, **placement.prefixes}
        graph, refused = background(() if self._graph is None else self._graph, vocabulary, prefixes)
        self.rejected += Rejections(refused)
        seen = None if placement.windowed or placement.shards == 1 else board.seen(graph, vocabulary)
        for shard in range(placement.shards):
            engine = Watch(**self._setting)
            if len(graph):
                some = graph if seen is None else graph.take(seen.of(shard))
                engine.load_graph(_updates(some, vocabulary))
            engine.save(placement.base(shard))
        self._graph = None

    def _place(self, everybody: Sequence[Subscription]) -> None:
        """Gives newcomers their shards."""
        known: list[set[Key]] = [set() for _ in range(self._shards)]
        for shard, key in self._keys:
            known[shard].add(key)
        sizes = Counter(self._places.values())
        for each in everybody:
            if each.id not in self._places:
                self._places[each.id] = shard = placed(_asking(each), known, sizes)
                sizes[shard] += 1

    def _open(self) -> None:
        """Goes on from the latest version in the folder."""
        self._placement, self._keys, setting = Placement.load(self._folder)
        self._setting = {"prefixes": self._placement.prefixes, **setting}  # type: ignore[typeddict-item]
        self._shards = self._placement.shards
        self._subscriptions = Subscriptions("watch", self._placement.prefixes)
        saved = self._placement.version(self._placement.versions.latest())
        self._subscriptions.restore(saved, accept=self._check)
        ids, shards = (column.to_pylist() for column in saved["places"].columns)
        self._places = {str(id): int(shard or 0) for id, shard in zip(ids, shards, strict=True)}


def _checked(shards: Any) -> int:
    if shards is None:
        return 1
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS:
        raise UsageError("HG-051", f"shards is {shards!r}", fix=f"give how many, from 1 to {MOST_SHARDS}")
    return shards


def _asking(subscription: Subscription) -> Asking:
    return Asking(subscription.id, keys_of(subscription.query), set_of(subscription.options))


def _updates(graph: UpdateColumns, vocabulary: Vocabulary) -> Updates:
    triples = (graph.subject, graph.predicate, graph.object)
    return Updates.of(vocabulary, triples, graph.op, seq=graph.seq, weight=graph.weight, at=graph.at)


def _mark(tables: Mapping[str, pa.Table], graph: Any, shards: int, setting: Setting) -> str:
    """What tells these interests from others, in whichever process."""
    digest = hashlib.sha256(str(shards).encode())
    for name, value in sorted({**setting, **tables, "graph": graph}.items()):
        digest.update(f"\0{name}\0".encode())
        for text in _spelled(value):
            digest.update(text.encode())
    return digest.hexdigest()[:16]


def _spelled(value: Any) -> Iterator[str]:
    if isinstance(value, pa.Table):
        yield from ("\0".join(map(str, column.to_pylist())) for column in value.columns)
    else:
        yield repr(value.rows) if isinstance(value, Taxonomy) else repr(value)


# ----------------------------------------------------------------------------------------------------------------------
# A watch as it runs in a stream: its state in Spark's store, its engine beside it as a cache.
#
# What is stored for a shard is the history of its engine: the updates of each micro-batch, and from time to time a
# save of the whole engine in place of all that went before. The laws: the store alone tells what has happened, and it
# changes with the micro-batch or not at all; an engine in memory serves only if it was left by the very version that
# the store holds, which a token drawn for each version tells. So wherever a task runs, and however often, its answer
# is right.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# `heliograph.spark.watch`: updates of an evolving graph against queries that are divided among shards.
#
# The path of an update: the task that has it asks the switchboard who can see it → a letter takes it to those shards,
# in Arrow, not row by row → each shard puts its updates in ascending seq and publishes them. A batch is one such run;
# a stream keeps its engines in Spark's state store (see `state`). The law: notifications are the embedded engine's
# for the updates in ascending seq, wherever they are cut into tasks, shards and micro-batches.
# ----------------------------------------------------------------------------------------------------------------------

HISTORY = 4 << 20  # bytes of updates that are sooner replayed than an engine is saved
_TOGETHER = 1 << 17  # updates of a letter, and published in one call
_NOTHING = np.empty(0, np.int64)


class WatchOptions(Setting, total=False):
    """What `watch` takes beside updates and subscriptions."""

    patterns: Any
    constraints: Any
    graph: Any
    shards: int | None
    history: int
    folder: str | None


class Task(NamedTuple):
    """What a task must know: where the queries stand, and under which keys the shards get their letters."""

    placement: Placement
    pointer: Pointer
    keys: list[int]
    streaming: bool


def watch(updates: DataFrame, subscriptions: Any = None, **options: Unpack[WatchOptions]) -> DataFrame:
    """The notifications of updates: a DataFrame (op, subject, property, object; seq, weight, at) in ascending seq.

    Without a column seq a batch is taken in the order of its files; a stream must have one. `subscriptions` are a
    DataFrame, a table, items, `Watchers` or their folder; or `patterns` with `constraints`. Other options are those of
    `Watch`, `graph`, `shards`, `history` (bytes of updates that a stream keeps before it saves an engine in their
    place), and `folder`, where workers find the engines.
    """
    check_frame(updates, "updates")
    given: dict[str, Any] = {**options}
    tables = {name: given.pop(name, None) for name in TABLES[1:]}
    history, folder = _check_history(given.pop("history", HISTORY)), given.pop("folder", None)
    if updates.isStreaming:
        _check_stream(updates)
    watchers = Watchers.of(subscriptions, tables, folder, given)
    placement, pointer = watchers.placement, watchers.pointer(updates.isStreaming)
    if updates.isStreaming:
        task = Task(placement, pointer, spreading_keys(placement.shards), streaming=True)
        return finished(_streamed(updates, task, history), unpack_found, watchers.rejected)
    task = Task(placement, pointer, list(range(placement.shards)), streaming=False)
    files = files_of(updates)
    if placement.shards == 1 and files is not None:  # one task reads, orders and publishes: nothing has to travel
        return finished(files.coalesce(1), partial(run_files, task), watchers.rejected)
    return finished(_at_once(updates, task), partial(run_shard, task), watchers.rejected)


def _check_history(history: Any) -> int:
    if isinstance(history, bool) or not isinstance(history, int) or history < 0:
        raise UsageError("HG-087", f"history is {history!r}", fix="give a number of bytes, 0 or more")
    return history


def _check_stream(updates: DataFrame) -> None:
    if "seq" not in updates.columns:
        fix = "number the updates in a column seq"
        raise UsageError("HG-083", "a stream of updates without seq: its rows have no order", fix=fix)
    if updates.sparkSession.conf.get(PROVIDER_KEY, "") != PROVIDER:
        fix = f"use heliograph.spark.session(), or set {PROVIDER_KEY} to {PROVIDER}"
        raise SetupError("HG-907", "a session that does not keep its state in RocksDB", fix=fix)


def _letters(updates: DataFrame, task: Task) -> DataFrame:
    """The letters to all shards; files that were to be read are read by whoever writes them."""
    files = files_of(updates)
    if files is not None:
        return files.mapInArrow(partial(read_and_post, task), FOR_SHARDS)
    rows = spelled(updates, "updates")
    if task.streaming:
        rows = rows.withColumn("seq", rows["seq"].try_cast("bigint"))
    return rows.mapInArrow(partial(post, task), FOR_SHARDS)


def _at_once(updates: DataFrame, task: Task) -> DataFrame:
    """The letters of a batch; an empty one goes to each shard, so that each runs even if nothing is updated."""
    opening = updates.sparkSession.range(0, 1, 1, 1).mapInArrow(partial(open_batch, task), FOR_SHARDS)
    return _letters(updates, task).unionByName(opening).repartitionById(len(task.keys), "shard")


def _streamed(updates: DataFrame, task: Task, history: int) -> DataFrame:

    processor = Watching(task.placement, {key: shard for shard, key in enumerate(task.keys)}, history)
    letters = _letters(updates, task).groupBy("shard")
    return letters.transformWithStateInPandas(processor, "payload binary", "Append", "None")


# --- in the workers ---------------------------------------------------------------------------------------------


def read_and_post(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return post(task, read_rows("updates", batches))


def post(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The updates of a task as letters."""
    filled = (batch for batch in batches if batch.num_rows)
    for number, some in enumerate(larger(filled, _TOGETHER)):
        rows, rejected = parted(some)
        facts = Facts(task_number(), number, task.pointer.resolved(), _NOTHING, tuple(rejected))
        for key, letter in zip(task.keys, task.placement.letters(plain(rows), facts, task.streaming), strict=True):
            yield _addressed(key, letter)


def open_batch(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """An empty letter to each shard, before all others."""
    for _ in batches:
        facts = Facts(-1, 0, task.pointer.resolved(), _NOTHING)
        for key in task.keys:
            yield _addressed(key, Letter(facts, table_schema("updates").empty()))


def _addressed(key: int, letter: Letter) -> pa.RecordBatch:
    columns: list[Any] = [pa.array([key], pa.int32()), pa.array([letter.pack()], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["shard", "payload"])


def run_shard(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All letters of a batch to one shard, through its engine."""
    payloads: list[Any] = []
    shard = 0
    for batch in batches:
        payloads += batch["payload"].to_pylist()
        shard = batch["shard"][0].as_py() if batch.num_rows else shard
    if payloads:
        updates, rejected, version = delivered(payloads, shard, task.placement.habits(streaming=False))
        yield from refusals(rejected) if rejected else ()
        yield from _run(task.placement, shard, version, updates)


def run_files(task: Task, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All updates of files through the only engine, where they are read."""
    rows = [batch for batch in read_rows("updates", batches) if batch.num_rows]
    table, rejected = parted(pa.Table.from_batches(rows)) if rows else (table_schema("updates").empty(), [])
    if rows and table["seq"].null_count == table.num_rows:
        engine = task.placement.engine(0, task.pointer.resolved())
        for read in _as_read(table, rejected):
            yield from measured(engine.publish(read))
        return
    updates, refused = ascending(plain(table), streaming=False)
    yield from refusals([*rejected, *refused]) if rejected or refused else ()
    yield from _run(task.placement, 0, task.pointer.resolved(), updates)


def _as_read(table: pa.Table, rejected: Sequence[Rejected]) -> Iterator[TableRows]:
    """Rows without seqs as the embedded engine reads them, file by file: their numbers count what was refused."""
    names = dict.fromkeys([*table[SOURCE].unique().to_pylist(), *(entry.source for entry in rejected)])
    for name in names:
        some: Any = table.filter(pc.equal(table[SOURCE], pa.scalar(name, pa.string())))
        refused = Rejections(entry for entry in rejected if entry.source == name)
        yield TableRows(name, plain(some), refused, some[ROW].to_numpy())


def _run(placement: Placement, shard: int, version: int, updates: pa.Table) -> Iterator[pa.RecordBatch]:
    engine = placement.engine(shard, version)
    for some in pieces(updates, _TOGETHER):
        yield from reported(engine.publish(some), shard)
