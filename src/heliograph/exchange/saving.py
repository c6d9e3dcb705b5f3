"""An exchange as flat arrays and tables, compiled and numbered, and back.

The law: what is opened shows what was saved. A ledger made anew of the version is saved, so that nothing dead is, and
nodes, records and edges lie in one known way, which is checked when they are opened; see `checking`. Arrays and texts
are then used where they lie: mapped, they are shared by all processes of a machine, until something is changed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.exchange.checking import check_arrays, check_hashes, check_table
from heliograph.exchange.columns import Ids, pays
from heliograph.exchange.growing import NAMES, Arrays, Room
from heliograph.exchange.ledger import Ledger
from heliograph.exchange.rebuilding import rebuild
from heliograph.exchange.rows import LABELS_TYPE
from heliograph.exchange.store import Exchange
from heliograph.exchange.version import Version
from heliograph.kernels.layout import Table
from heliograph.kernels.targeting_layout import Int32s
from heliograph.tables.columns import Array
from heliograph.targeting.saving import pack_targeting, unpack_targeting

_TEXT, _ROWS = pa.string(), {"record_costs": "records", "sources": "edges", "edge_costs": "edges", "serials": "edges"}
_NODE_COLUMNS: dict[str, pa.DataType] = {"node_id": _TEXT, "targeting": _TEXT, "labels": LABELS_TYPE, "refused": _TEXT}
_EDGE_COLUMNS: dict[str, pa.DataType] = {"edge_id": _TEXT, "targeting": _TEXT}
_SCHEMAS = {"nodes": pa.schema(_NODE_COLUMNS), "edges": pa.schema(_EDGE_COLUMNS)}


class PackedExchange(NamedTuple):
    """What is saved of an exchange; `keys` are those of the hash tables of ids."""

    arrays: Mapping[str, np.ndarray[Any, Any]]
    tables: Mapping[str, pa.Table]
    keys: Mapping[str, Any]


def pack_exchange(version: Version) -> PackedExchange:
    """A version, compiled."""
    with version.ledger.writing:
        ledger = rebuild(version).ledger
        targeting = pack_targeting(ledger.targeting)
    arrays = {name: _used(ledger.arrays, name) for name in NAMES}
    keys: dict[str, int] = {}
    for name, ids in (("node_ids", ledger.ids), ("edge_ids", ledger.edge_ids)):
        if ids.table is not None:
            arrays |= {f"{name}.slots": ids.table.slots, f"{name}.marks": ids.table.marks}
            keys[name] = ids.table.key
    return PackedExchange({**arrays, **targeting.arrays}, {**_tables(ledger), **targeting.tables}, keys)


def _used(arrays: Arrays, name: str) -> Any:
    return getattr(arrays, name)[: getattr(arrays.used, _ROWS.get(name, name))]


def _tables(ledger: Ledger) -> dict[str, pa.Table]:
    """What kernels do not need: of nodes by number, of edges in the order of adding."""
    nodes, edges = (np.arange(count, dtype=np.int32) for count in (ledger.size, ledger.edge_count))
    codes = pa.array([ledger.refused.get(record) for record in nodes.tolist()], pa.string())
    columns: dict[str, Any] = {
        "nodes": [ledger.names.take(nodes), ledger.texts.take(nodes), ledger.labels.take(nodes), codes],
        "edges": [ledger.edge_names.take(edges), ledger.edge_texts.take(edges)],
    }
    return {name: pa.Table.from_arrays(some, schema=_SCHEMAS[name]) for name, some in columns.items()}


# --- opening ------------------------------------------------------------------------------------------------------


def unpack_exchange(packed: PackedExchange, match: str | None) -> Exchange:
    """The exchange that was packed; raises ValueError where it cannot be."""
    for name, schema in _SCHEMAS.items():
        check_table(name, packed.tables.get(name), schema)
    nodes, edges = packed.tables["nodes"], packed.tables["edges"]
    targeting = unpack_targeting(packed.arrays, packed.tables)
    check_arrays(packed.arrays, len(nodes), len(edges), len(targeting))
    ledger = Ledger(targeting, match, threading.RLock())
    ledger.arrays = Arrays.of(packed.arrays, Room(*(len(packed.arrays[kind.name]) for kind in fields(Room))))
    ledger.size, ledger.edge_count, ledger.next_serial = len(nodes), len(edges), len(edges)
    ledger.settled = len(nodes) + len(edges)
    _describe(ledger, packed)
    return Exchange.of_ledger(ledger)


def _describe(ledger: Ledger, packed: PackedExchange) -> None:
    """The ids, texts and labels."""
    nodes, edges = packed.tables["nodes"], packed.tables["edges"]
    ids, names = _column(nodes, "node_id"), _column(edges, "edge_id")
    ledger.names.extend(0, ids)
    ledger.ids = _ids("node_ids", packed, ids, np.arange(len(ids), dtype=np.int32))
    moved = np.empty(len(edges), np.int32)
    moved[ledger.arrays.serials] = np.arange(len(edges), dtype=np.int32)
    given = names.is_valid().to_numpy(zero_copy_only=False)
    ledger.edge_ids = _ids("edge_ids", packed, names.drop_null(), moved[given])
    for column, values in (
        (ledger.texts, _column(nodes, "targeting")),
        (ledger.labels, _column(nodes, "labels")),
        (ledger.edge_names, names),
        (ledger.edge_texts, _column(edges, "targeting")),
    ):
        column.extend(0, None if values.null_count == len(values) else values)
    codes = _column(nodes, "refused")
    refused = np.flatnonzero(codes.is_valid().to_numpy(zero_copy_only=False))
    ledger.refused.update((row, codes[row].as_py()) for row in refused.tolist())


def _ids(name: str, packed: PackedExchange, ids: Array, numbers: Int32s) -> Ids:
    """With the hash table that was saved, or with one of their own where there is none, or they are few."""
    slots, marks = packed.arrays.get(f"{name}.slots"), packed.arrays.get(f"{name}.marks")
    if slots is not None and marks is not None and pays(len(ids)):
        table = Table(slots, marks, packed.keys.get(name, 0))
        check_hashes(table, len(ids))
        return Ids.of(ids, numbers, table)
    made = Ids()
    made.extend(ids, numbers)
    return made


def _column(table: pa.Table, name: str) -> Array:
    """As it lies, where it is in one piece."""
    found: Any = table.column(name)
    return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()  # type: ignore[no-any-return]
