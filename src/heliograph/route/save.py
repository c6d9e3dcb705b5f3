"""A saved exchange: compiled, as arrays that are checked and mapped when it is opened, with the texts of its targeting.

The laws: what is loaded shows what was saved; what no exchange could have written is refused as damaged. A compacted
version is saved, so that nothing dead is, and nodes, records and edges lie in one known way. Arrays and texts are then
used where they lie: mapped, they are shared by all processes of a machine, until something is changed.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.compiled.background import ready
from heliograph.errors import Place, StorageError, UsageError
from heliograph.io.coerce import Array
from heliograph.predicate.layout import Int32s
from heliograph.predicate.save import pack_targeting, unpack_targeting
from heliograph.route import layout as at
from heliograph.route.exchange import Exchange, ExchangeArrays, Version, compact
from heliograph.route.layout import EXCHANGE, NEVER_DIED, TARGET
from heliograph.route.numbering import Ids, pays
from heliograph.route.read import LABELS_TYPE, MAX_COST, some
from heliograph.route.strategy import check_match
from heliograph.storage import read_folder, write_folder
from heliograph.vocabulary.columns import PRIME
from heliograph.vocabulary.mapped import Table

KIND, VERSION = "route", 2
_TEXT = pa.string()
_NODE_COLUMNS: dict[str, pa.DataType] = {"node_id": _TEXT, "targeting": _TEXT, "labels": LABELS_TYPE, "refused": _TEXT}
_EDGE_COLUMNS: dict[str, pa.DataType] = {"edge_id": _TEXT, "targeting": _TEXT}
_SCHEMAS = {"nodes": pa.schema(_NODE_COLUMNS), "edges": pa.schema(_EDGE_COLUMNS)}
_UNIQUE = {"nodes": "node_id", "edges": "edge_id"}
pc: Any = pyarrow.compute

Given = Mapping[str, "np.ndarray[Any, Any]"]


class PackedExchange(NamedTuple):
    """What is saved of an exchange; `keys` are those of the hash tables of ids."""

    arrays: Given
    tables: Mapping[str, pa.Table]
    keys: Mapping[str, Any]


def save_exchange(path: str | Path, version: Version) -> None:
    """Writes a version of the exchange."""
    packed = pack_exchange(version)
    meta = {"match": version.match, "keys": dict(packed.keys)}
    write_folder(path, KIND, VERSION, arrays=packed.arrays, tables=packed.tables, meta=meta)


def load_exchange(path: str | Path) -> Exchange:
    """The exchange that was saved at `path`."""
    saved = read_folder(path, KIND, (VERSION,))
    keys = saved.meta.get("keys")
    packed = PackedExchange(saved.arrays, saved.tables, keys if isinstance(keys, dict) else {})
    try:
        return unpack_exchange(packed, check_match(saved.meta.get("match")))
    except (UsageError, ValueError) as error:
        why = error.message if isinstance(error, UsageError) else str(error)
        place = Place(str(path))
        raise StorageError("HG-805", f"a damaged save: {why}", place=place, fix="save it again") from error


def pack_exchange(version: Version) -> PackedExchange:
    """A version, compacted and compiled."""
    with version.arrays.writing:
        own = compact(version).arrays
        targeting = pack_targeting(own.targeting)
    arrays = {name: getattr(own, name)[: own.used[stored.rows]] for name, stored in EXCHANGE.items()}
    keys: dict[str, int] = {}
    for name, ids in (("node_ids", own.ids), ("edge_ids", own.edge_ids)):
        if ids.table is not None:
            arrays |= {f"{name}.slots": ids.table.slots, f"{name}.marks": ids.table.marks}
            keys[name] = ids.table.key
    nodes, edges = (np.arange(count, dtype=np.int32) for count in (own.size, own.edge_count))
    codes = pa.array([own.refused.get(record) for record in nodes.tolist()], pa.string())
    columns: dict[str, Any] = {  # of nodes by number, of edges in the order of adding
        "nodes": [own.names.take(nodes), own.texts.take(nodes), own.labels.take(nodes), codes],
        "edges": [own.edge_names.take(edges), own.edge_texts.take(edges)],
    }
    tables = {name: pa.Table.from_arrays(parts, schema=_SCHEMAS[name]) for name, parts in columns.items()}
    return PackedExchange({**arrays, **targeting.arrays}, {**tables, **targeting.tables}, keys)


def unpack_exchange(packed: PackedExchange, match: str | None) -> Exchange:
    """The exchange that was packed; raises ValueError where it cannot be."""
    for name, schema in _SCHEMAS.items():
        _check_table(name, packed.tables.get(name), schema)
    nodes, edges = packed.tables["nodes"], packed.tables["edges"]
    targeting = unpack_targeting(packed.arrays, packed.tables)
    _check_arrays(packed.arrays, len(nodes), len(edges), len(targeting))
    own = ExchangeArrays(targeting, match, threading.RLock())
    own.map(packed.arrays)
    own.size, own.edge_count, own.next_serial = len(nodes), len(edges), len(edges)
    own.compacted = len(nodes) + len(edges)
    ids, names, codes = _column(nodes, "node_id"), _column(edges, "edge_id"), _column(nodes, "refused")
    own.names.extend(0, ids)
    own.ids = _ids("node_ids", packed, ids, np.arange(len(ids), dtype=np.int32))
    moved = np.empty(len(edges), np.int32)
    moved[own.serials] = np.arange(len(edges), dtype=np.int32)
    own.edge_ids = _ids("edge_ids", packed, names.drop_null(), moved[names.is_valid().to_numpy(zero_copy_only=False)])
    own.texts.extend(0, some(_column(nodes, "targeting")))
    own.labels.extend(0, some(_column(nodes, "labels")))
    own.edge_names.extend(0, some(names))
    own.edge_texts.extend(0, some(_column(edges, "targeting")))
    refused = np.flatnonzero(codes.is_valid().to_numpy(zero_copy_only=False))
    own.refused.update((row, codes[row].as_py()) for row in refused.tolist())
    return Exchange(arrays=own)


def _ids(name: str, packed: PackedExchange, ids: Array, numbers: Int32s) -> Ids:
    """With the hash table that was saved, or with one of their own where there is none, or they are few."""
    slots, marks = packed.arrays.get(f"{name}.slots"), packed.arrays.get(f"{name}.marks")
    table = None
    if slots is not None and marks is not None and pays(len(ids)) and ready("vocabulary", overdue=True):
        table = Table(slots, marks, packed.keys.get(name, 0))
        _check_hashes(table, len(ids))
    made = Ids()
    made.extend(ids, numbers, table)
    return made


def _column(table: pa.Table, name: str) -> Array:
    """As it lies, where it is in one piece."""
    found: Any = table.column(name)
    return found.chunk(0) if found.num_chunks == 1 else found.combine_chunks()  # type: ignore[no-any-return]


# --- checks: kernels trust the arrays, so whatever they lead to has to be there ---------------------------------------
#
# The law: what `compact` lays out passes. Records are those of the nodes, by number; edges lie by their sources and
# entries by their targets, without gaps; nothing is dead. Each rule is one pass over an array.


def _check_table(name: str, table: pa.Table | None, schema: pa.Schema) -> None:
    """Raises ValueError for a table with other columns, or with ids that come twice."""
    if table is None or not table.schema.equals(schema):
        raise ValueError(f"the table {name} is missing or has other columns")
    ids = table.column(_UNIQUE[name])
    if name == "nodes" and ids.null_count:
        raise ValueError("the table nodes lacks a node_id")
    ids = ids.drop_null()
    if pc.count_distinct(ids).as_py() != len(ids):
        raise ValueError(f"the table {name} has a {_UNIQUE[name]} twice")
    pa.default_memory_pool().release_unused()  # else counting leaves more behind than all that is opened here


def _check_arrays(given: Given, nodes: int, edges: int, expressions: int) -> None:
    """Raises ValueError for arrays that are not those of so many nodes, edges and expressions."""
    sizes = {"nodes": nodes, "records": nodes, "edges": edges, "entries": edges, "blocks": 0}
    for name, (kind, columns, dtype, _) in EXCHANGE.items():
        found = given.get(name)
        if found is None or found.dtype != dtype or found.shape[1:] != ((columns,) if columns else ()):
            raise ValueError(f"the array {name} is missing or of another type")
        if kind in sizes and len(found) != sizes[kind]:
            raise ValueError(f"the array {name} has another length")
    if not all(np.all(rule) for rule in (*_node_rules(given, nodes), *_edge_rules(given, nodes))) or not all(
        ((codes >= 0) & (codes < expressions)).all()
        for codes in (given["records"][:, at.EXPRESSION], given["edges"][:, at.EDGE_EXPRESSION])
    ):
        raise ValueError("its nodes and edges do not fit together")


def _node_rules(given: Given, nodes: int) -> list[Any]:
    rows, records, numbers = given["nodes"], given["records"], np.arange(nodes)
    listed = records[:, at.FLAGS] & at.LISTED_NODE != 0
    ends, costs = rows[:, at.COMPONENT_END], given["record_costs"]
    return [
        rows[:, at.RECORD] == numbers,
        rows[:, [at.OUT_MORE, at.IN_MORE]] == -1,
        (ends >= numbers) & (ends < nodes),
        (records[:, at.DIED] == NEVER_DIED) & (records[:, at.NEWER] == -1),
        records[:, at.FLAGS] & at.PRESENT != 0,
        (costs >= 0) & (costs <= MAX_COST),
        _in_places(given["listed"], records, np.flatnonzero(listed)),
        _in_places(given["loose"], records, np.flatnonzero(~listed)),
    ]


def _in_places(places: Any, records: Any, members: Any) -> bool:
    """Whether the nodes at these places are the members, each at its own."""
    if len(places) != len(members) or not np.array_equal(np.sort(places), members):
        return False
    return bool((records[places, at.PLACE] == np.arange(len(places))).all())


def _edge_rules(given: Given, nodes: int) -> list[Any]:
    rows, edges, entries, costs = given["nodes"], given["edges"], given["entries"], given["edge_costs"]
    numbers = np.arange(len(edges))
    known = (edges[:, TARGET] >= 0) & (edges[:, TARGET] < nodes)
    inside = (entries >= 0) & (entries < len(edges))
    if not (known.all() and inside.all()):
        return [False]
    return [
        (edges[:, at.BORN] == 0) & (edges[:, at.EDGE_DIED] == NEVER_DIED),
        (costs >= 0) & (costs <= MAX_COST),
        np.array_equal(np.sort(given["serials"]), numbers),
        np.array_equal(np.sort(entries), numbers),
        _has_spans(rows[:, at.OUT_BEGIN], rows[:, at.OUT_END], given["sources"]),
        _has_spans(rows[:, at.IN_BEGIN], rows[:, at.IN_END], edges[entries, TARGET]),
    ]


def _has_spans(begins: Any, ends: Any, owners: Any) -> bool:
    """Whether each node has the places from its beginning to its end, and all of them are someone's."""
    sizes = np.zeros(len(begins), int)
    if len(owners) and owners.min() >= 0:
        sizes = np.bincount(owners, minlength=len(begins))
    if len(sizes) != len(begins) or sizes.sum() != len(owners) or (np.diff(owners) < 0).any():
        return False
    return np.array_equal(ends, np.cumsum(sizes)) and np.array_equal(begins, np.cumsum(sizes) - sizes)


def _check_hashes(table: Table, count: int) -> None:
    """A table that is searched until an empty slot is found has one, and leads to so many ids and to nothing else."""
    slots, marks, key = table
    if slots.dtype != np.int32 or marks.dtype != np.uint32 or not isinstance(key, int) or not 0 < key < PRIME:
        raise ValueError("a hash table is of another type")
    if slots.ndim != 1 or marks.shape != slots.shape or not len(slots) or len(slots) & (len(slots) - 1):
        raise ValueError("a hash table is of another size")
    if 2 * count > len(slots) or not np.array_equal(np.sort(slots[slots >= 0]), np.arange(count)):
        raise ValueError("a hash table does not lead to the ids")
