"""Where the queries of a watch stand, as workers find it in a folder that all see.

The folder holds the keys of each shard and an engine of each over the graph at the start, which never change, and
versions of the subscriptions with their shards. The law: the engine of a shard at some version, brought to another, is
an engine that was subscribed to and unsubscribed from in between; so it tells what an embedded engine would tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute

from heliograph.spark.letters import Facts, Habits, Letter, written
from heliograph.spark.sights import Key
from heliograph.spark.switchboard import Switchboard, read_keys
from heliograph.spark.versions import Versions
from heliograph.spark.workers import opened
from heliograph.storage import Saved, read_folder, write_folder
from heliograph.terms import PREFIXES
from heliograph.watch import Watch

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
