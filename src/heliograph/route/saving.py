"""A saved exchange: compiled, as arrays that are mapped when it is opened, with the texts of its targeting.

The laws: what is loaded shows what was saved; what no exchange could have written is refused as damaged. A save of
version 1, which older releases wrote, has tables alone, nodes and edges in order, and is compiled when it is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute

from heliograph.errors import Place, PredicateError, StorageError, UsageError
from heliograph.exchange.reading import MAX_COST
from heliograph.exchange.saving import PackedExchange, pack_exchange, unpack_exchange
from heliograph.exchange.store import Exchange
from heliograph.exchange.tables import EDGES, NODES, exchange_of
from heliograph.exchange.version import Version
from heliograph.route.options import check_match
from heliograph.storage import Saved, read_folder, write_folder

KIND = "route"
VERSION, PLAIN = 2, 1

_SCHEMAS = {"nodes": NODES, "edges": EDGES}
_NEEDED = {"nodes": ("node_id", "cost", "listed"), "edges": ("source", "target", "cost")}
_UNIQUE = {"nodes": "node_id", "edges": "edge_id"}
pc: Any = pyarrow.compute


def save_exchange(path: str | Path, version: Version) -> None:
    """Writes a version of the exchange."""
    packed = pack_exchange(version)
    meta = {"match": version.match, "keys": dict(packed.keys)}
    write_folder(path, KIND, VERSION, arrays=packed.arrays, tables=packed.tables, meta=meta)


def load_exchange(path: str | Path) -> Exchange:
    """The exchange that was saved at `path`."""
    saved = read_folder(path, KIND, (PLAIN, VERSION))
    try:
        match = check_match(saved.meta.get("match"))
    except UsageError as error:
        raise _damaged(path, error.message) from error
    if saved.version == PLAIN:
        return _compiled(path, saved, match)
    given = saved.meta.get("keys")
    keys = given if isinstance(given, dict) else {}
    try:
        return unpack_exchange(PackedExchange(saved.arrays, saved.tables, keys), match)
    except ValueError as error:
        raise _damaged(path, str(error)) from error


def _compiled(path: str | Path, saved: Saved, match: str | None) -> Exchange:
    """The exchange of a save that has tables alone."""
    for name in _SCHEMAS:
        why = _fault(name, saved.tables.get(name))
        if why is not None:
            raise _damaged(path, why)
    try:
        return exchange_of(saved.tables["nodes"], saved.tables["edges"], match)
    except PredicateError as error:
        raise _damaged(path, f"a targeting cannot be read: {error.message}") from error


def _fault(name: str, table: pa.Table | None) -> str | None:
    """What is wrong with a table, if anything."""
    if table is None or not table.schema.equals(_SCHEMAS[name]):
        return f"the table {name} is missing or has other columns"
    for column in _NEEDED[name]:
        if table.column(column).null_count:
            return f"the table {name} lacks a {column}"
    ids = table.column(_UNIQUE[name]).drop_null()
    if pc.count_distinct(ids).as_py() != len(ids):
        return f"the table {name} has a {_UNIQUE[name]} twice"
    costs = table.column("cost")
    if not pc.all(pc.and_(pc.greater_equal(costs, 0), pc.less_equal(costs, MAX_COST)), min_count=0).as_py():
        return f"the table {name} has a cost that is no number from 0 to 1e300"
    return None


def _damaged(path: str | Path, why: str) -> StorageError:
    return StorageError("HG-805", f"a damaged save: {why}", place=Place(str(path)), fix="save it again")
