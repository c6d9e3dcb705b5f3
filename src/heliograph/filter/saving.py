"""A filter on disk: its subscriptions as they were written, its taxonomy, its prefixes. The law: what is loaded gives
the same notifications in the same order as what was saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from heliograph.errors import HeliographError, Place, StorageError
from heliograph.filter.options import check_options
from heliograph.storage import read_folder, write_folder
from heliograph.subscriptions import Subscription, Subscriptions
from heliograph.tables.schemas import TABLES
from heliograph.taxonomy import Taxonomy
from heliograph.terms import PREFIXES, Position, spell

KIND, VERSION = "filter", 1
_TABLES = ("subscriptions", "patterns", "constraints", "taxonomy")


class Saved(NamedTuple):
    """What a save holds, opened."""

    tables: Mapping[str, pa.Table]
    taxonomy: Taxonomy
    prefixes: Mapping[str, str]
    algorithm: str


class Saving(NamedTuple):
    """What is about to be saved."""

    subscriptions: Subscriptions
    taxonomy: Taxonomy
    algorithm: str

    def write(self, path: str | Path) -> None:
        own = {name: iri for name, iri in self.subscriptions.prefixes.items() if PREFIXES.get(name) != iri}
        tables = {**self.subscriptions.tables(), "taxonomy": _rows(self.taxonomy)}
        write_folder(path, KIND, VERSION, tables=tables, meta={"prefixes": own, "algorithm": self.algorithm})


def read(path: str | Path) -> Saved:
    opened = read_folder(path, KIND, {VERSION})
    tables = {name: _table(path, name, opened.tables.get(name)) for name in _TABLES}
    prefixes, algorithm = opened.meta.get("prefixes"), opened.meta.get("algorithm")
    if not isinstance(prefixes, dict) or not isinstance(algorithm, str):
        raise _damaged(path, "its prefixes or its algorithm are missing")
    return Saved(tables, Taxonomy.read(tables["taxonomy"]), prefixes, algorithm)


def restore(path: str | Path, subscriptions: Subscriptions, saved: Saved) -> tuple[Subscription, ...]:
    """Subscribes to what was saved."""
    try:
        return subscriptions.restore(saved.tables, check_options)
    except HeliographError as error:
        raise _damaged(path, f"it holds a subscription that is refused: {error}") from error


def _rows(taxonomy: Taxonomy) -> pa.Table:
    columns = [[spell(term, Position.SUBJECT) for term in column] for column in zip(*taxonomy.rows, strict=True)]
    return pa.Table.from_arrays([pa.array(column, pa.string()) for column in columns or [[], []]], ["child", "parent"])


def _table(path: str | Path, name: str, table: pa.Table | None) -> pa.Table:
    if table is None or table.schema.names != list(TABLES[name].names):
        raise _damaged(path, f"its table {name} is missing or lacks a column")
    return table


def _damaged(path: str | Path, why: str) -> StorageError:
    return StorageError("HG-810", f"a damaged save of a filter: {why}", place=Place(str(path)), fix="save it again")
