"""The queries of a watch divided among shards, each saved as an engine of its own over the whole graph.

The laws: a query's notifications depend on nobody else's query, except in a top-k set, whose members therefore stand
in one shard; rows with one subscription_id stand in one shard, so a second one is refused there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict
from zlib import crc32

import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.model import Rejected
from heliograph.partition.scheme import MOST_SHARDS
from heliograph.spark.frames import collected
from heliograph.tables.items import as_table
from heliograph.taxonomy import Taxonomy
from heliograph.watch import Watch

TABLES = ("subscriptions", "patterns", "constraints")


class Setting(TypedDict, total=False):
    """What a watch is made with."""

    mode: str
    taxonomy: Any
    prefixes: Mapping[str, str] | None
    initial: bool
    window: Any
    window_updates: int | None
    witness: bool


@dataclass(frozen=True, slots=True)
class Watchers:
    """Saved engines, one for each shard; `mark` tells whether a state was made by the same."""

    folder: str
    shards: int
    mark: str

    def path(self, shard: int) -> Path:
        return Path(self.folder, f"shard-{shard:04d}")

    def open(self, shard: int) -> Watch:
        return Watch.load(self.path(shard))


def save_watchers(
    folder: str, interests: Mapping[str, Any], graph: Any, shards: Any, setting: Setting
) -> tuple[Watchers, list[Rejected]]:
    """Divides the interests, saves an engine for each shard, and says what was refused."""
    count = _checked(shards)
    made: Setting = {**setting, "taxonomy": collected(setting.get("taxonomy"), "taxonomy")}
    background = collected(graph, "graph")
    tables, rejected = _tables(interests)
    watchers = Watchers(folder, count, _mark(tables, background, count, made))
    places = _places(tables, count)
    for shard in range(count):
        engine = Watch(**made)
        refused = list(engine.rejected)
        if background is not None:
            refused += engine.load_graph(background).rejected
        rejected += refused if shard == 0 else []  # every shard refuses the same
        rejected += _subscribe(engine, tables, places, shard)
        engine.save(watchers.path(shard))
    return watchers, rejected


def _checked(shards: Any) -> int:
    if shards is None:
        return 1
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= MOST_SHARDS:
        raise UsageError("HG-051", f"shards is {shards!r}", fix=f"give how many, from 1 to {MOST_SHARDS}")
    return shards


def _tables(interests: Mapping[str, Any]) -> tuple[dict[str, pa.Table], list[Rejected]]:
    tables, rejected = {}, list[Rejected]()
    for name in TABLES:
        if interests.get(name) is not None:
            read = as_table(name, collected(interests[name], name))
            tables[name] = read.table
            rejected += read.rejected
    return tables, rejected


def _subscribe(
    engine: Watch, tables: Mapping[str, pa.Table], places: Mapping[str | None, int], shard: int
) -> Iterable[Rejected]:
    own = {name: _own(table, places, shard) for name, table in tables.items()}
    if "patterns" in own:
        yield from engine.subscribe(patterns=own["patterns"], constraints=own.get("constraints")).rejected
    if "subscriptions" in own:
        yield from engine.subscribe(own["subscriptions"]).rejected


def _own(table: pa.Table, places: Mapping[str | None, int], shard: int) -> pa.Table:
    here = [places[id] == shard for id in table["subscription_id"].to_pylist()]
    return table.filter(pa.array(here, pa.bool_()))


def _places(tables: Mapping[str, pa.Table], shards: int) -> dict[str | None, int]:
    """The shard of each subscription, by its first row."""
    places: dict[str | None, int] = {}
    for id, group in _keyed(tables):
        places.setdefault(id, crc32(group.encode()) % shards)
    return places


def _keyed(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str | None, str]]:
    """Each subscription and what it must stand together with: its set, or nobody."""
    for name, table in tables.items():
        ids = table["subscription_id"].to_pylist()
        options = table["options"].to_pylist() if name == "subscriptions" else [None] * len(ids)
        for id, text in zip(ids, options, strict=True):
            yield id, _set_of(text) or f"id {id}"


def _set_of(options: str | None) -> str | None:
    """The name of the top-k set that a subscription is in; options that cannot be read are the engine's to refuse."""
    if not options or "top_k_of" not in options:
        return None
    try:
        top = json.loads(options)["top_k_of"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return None
    return f"set {top.get('set', '') if isinstance(top, dict) else ''}"


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
