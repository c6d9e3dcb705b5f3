"""The subscriptions of a watch as versions in a folder: divided among shards and saved by the driver, for the workers.

The first version settles what each shard sees: its queries' keys, and the graph at the start as far as those match it.
The law: a shard gets what its keys match from the beginning, or not at all; so whoever subscribes later stands in a
shard that has seen all they see. That is shard 0 at the latest, which sees everything unless the interests are fixed.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import pyarrow as pa

from heliograph.errors import Place, StorageError, UsageError
from heliograph.model import Receipt, Rejections
from heliograph.partition.scheme import MOST_SHARDS
from heliograph.spark.dealing import Asking, dealt, placed, set_of
from heliograph.spark.frames import collected
from heliograph.spark.placement import Placement
from heliograph.spark.scratch import storage_folder
from heliograph.spark.sights import ANYTHING, EVERYTHING, Key, keys_of
from heliograph.spark.switchboard import Switchboard, keys_table
from heliograph.spark.versions import Pointer, Versions
from heliograph.subscriptions import Subscription, Subscriptions, written
from heliograph.tables.items import is_single
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES
from heliograph.vocabulary import Vocabulary
from heliograph.watch import Updates, Watch
from heliograph.watch.background import background
from heliograph.watch.encoding import Encoded
from heliograph.watch.options import Options, check_options, read_options
from heliograph.watch.window import extent


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
        tables = written(everybody)
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


def _updates(graph: Encoded, vocabulary: Vocabulary) -> Updates:
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
