"""A saved exchange: compiled, as arrays that are checked and mapped when it is opened."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.errors import Place, PredicateError, StorageError, UsageError
from heliograph.io.coerce import Array
from heliograph.predicate.layout import Int32s
from heliograph.predicate.save import pack_targeting, unpack_targeting
from heliograph.route import layout as at
from heliograph.route.exchange import EDGES, NODES, Exchange, exchange_of, rebuild
from heliograph.route.layout import NEVER_DIED, PRESENT, RECORD, TARGET
from heliograph.route.read import LABELS_TYPE, MAX_COST
from heliograph.route.strategy import check_match
from heliograph.route.version import NAMES, Arrays, Ids, Ledger, Room, Version, pays
from heliograph.storage import Saved, read_folder, write_folder
from heliograph.vocabulary.columns import PRIME
from heliograph.vocabulary.mapped import Table

# ----------------------------------------------------------------------------------------------------------------------
# Whether arrays are those of an exchange: kernels trust them, so whatever they lead to has to be there.
#
# The law: what `rebuilding` lays out passes. Records are those of the nodes, by number; edges lie by their sources
# and entries by their targets, without gaps; nothing is dead. Each rule is one pass over an array.
# ----------------------------------------------------------------------------------------------------------------------

_UNIQUE = {"nodes": "node_id", "edges": "edge_id"}
pc: Any = pyarrow.compute

Given = Mapping[str, "np.ndarray[Any, Any]"]


def check_table(name: str, table: pa.Table | None, schema: pa.Schema) -> None:
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


def check_arrays(given: Given, nodes: int, edges: int, expressions: int) -> None:
    """Raises ValueError for arrays that are not those of so many nodes, edges and expressions."""
    sizes = {"nodes": nodes, "records": nodes, "record_costs": nodes, "blocks": 0}
    for name, model in ((name, getattr(Arrays(), name)) for name in NAMES):
        found = given.get(name)
        if found is None or found.dtype != model.dtype or found.shape[1:] != model.shape[1:]:
            raise ValueError(f"the array {name} is missing or of another type")
        if name not in ("listed", "loose") and len(found) != sizes.get(name, edges):
            raise ValueError(f"the array {name} has another length")
    rules = (*_of_nodes(given, nodes), *_of_edges(given, nodes), *_of_expressions(given, expressions))
    if not all(np.all(rule) for rule in rules):
        raise ValueError("its nodes and edges do not fit together")


def _of_nodes(given: Given, nodes: int) -> list[Any]:
    rows, records, numbers = given["nodes"], given["records"], np.arange(nodes)
    listed = records[:, at.FLAGS] & at.LISTED_NODE != 0
    ends, costs = rows[:, at.COMPONENT_END], given["record_costs"]
    return [
        rows[:, RECORD] == numbers,
        rows[:, [at.OUT_MORE, at.IN_MORE]] == -1,
        (ends >= numbers) & (ends < nodes),
        (records[:, at.DIED] == NEVER_DIED) & (records[:, at.NEWER] == -1),
        records[:, at.FLAGS] & PRESENT != 0,
        (costs >= 0) & (costs <= MAX_COST),
        _in_places(given["listed"], records, np.flatnonzero(listed)),
        _in_places(given["loose"], records, np.flatnonzero(~listed)),
    ]


def _in_places(places: Any, records: Any, members: Any) -> bool:
    """Whether the nodes at these places are the members, each at its own."""
    if len(places) != len(members) or not np.array_equal(np.sort(places), members):
        return False
    return bool((records[places, at.PLACE] == np.arange(len(places))).all())


def _of_edges(given: Given, nodes: int) -> list[Any]:
    rows, edges, sources, entries = given["nodes"], given["edges"], given["sources"], given["entries"]
    count, costs = len(edges), given["edge_costs"]
    known = (edges[:, TARGET] >= 0) & (edges[:, TARGET] < nodes)
    inside = (entries >= 0) & (entries < count)
    if not (known.all() and inside.all()):
        return [False]
    return [
        (edges[:, at.BORN] == 0) & (edges[:, at.EDGE_DIED] == NEVER_DIED),
        (costs >= 0) & (costs <= MAX_COST),
        np.array_equal(np.sort(given["serials"]), np.arange(count)),
        np.array_equal(np.sort(entries), np.arange(count)),
        _spans(rows, (at.OUT_BEGIN, at.OUT_END), sources),
        _spans(rows, (at.IN_BEGIN, at.IN_END), edges[entries, TARGET]),
    ]


def _spans(rows: Any, columns: tuple[int, int], owners: Any) -> bool:
    """Whether each node has the places from its beginning to its end, and all of them are someone's."""
    begins, ends = rows[:, columns[0]].astype(np.int64), rows[:, columns[1]].astype(np.int64)
    sizes = np.bincount(owners, minlength=len(rows)) if len(owners) and owners.min() >= 0 else np.zeros(len(rows), int)
    if len(sizes) != len(rows) or sizes.sum() != len(owners) or (np.diff(owners) < 0).any():
        return False
    return np.array_equal(ends, np.cumsum(sizes)) and np.array_equal(begins, ends - sizes)


def _of_expressions(given: Given, expressions: int) -> list[Any]:
    several = given["records"][:, at.EXPRESSION], given["edges"][:, at.EDGE_EXPRESSION]
    return [(some >= 0) & (some < expressions) for some in several]


def check_hashes(table: Table, count: int) -> None:
    """A table that is searched until an empty slot is found has one, and leads to so many ids and to nothing else."""
    slots, marks, key = table
    if slots.dtype != np.int32 or marks.dtype != np.uint32 or not isinstance(key, int) or not 0 < key < PRIME:
        raise ValueError("a hash table is of another type")
    if slots.ndim != 1 or marks.shape != slots.shape or not len(slots) or len(slots) & (len(slots) - 1):
        raise ValueError("a hash table is of another size")
    taken = slots[slots >= 0]
    if 2 * count > len(slots) or not np.array_equal(np.sort(taken), np.arange(count)):
        raise ValueError("a hash table does not lead to the ids")


# ----------------------------------------------------------------------------------------------------------------------
# An exchange as flat arrays and tables, compiled and numbered, and back.
#
# The law: what is opened shows what was saved. A ledger made anew of the version is saved, so that nothing dead is,
# and nodes, records and edges lie in one known way, which is checked when they are opened; see `checking`. Arrays and
# texts are then used where they lie: mapped, they are shared by all processes of a machine, until something is
# changed.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# A saved exchange: compiled, as arrays that are mapped when it is opened, with the texts of its targeting.
#
# The laws: what is loaded shows what was saved; what no exchange could have written is refused as damaged. A save of
# version 1, which older releases wrote, has tables alone, nodes and edges in order, and is compiled when it is
# opened.
# ----------------------------------------------------------------------------------------------------------------------

KIND = "route"
VERSION, PLAIN = 2, 1

_SAVING_SCHEMAS = {"nodes": NODES, "edges": EDGES}
_NEEDED = {"nodes": ("node_id", "cost", "listed"), "edges": ("source", "target", "cost")}


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
    for name in _SAVING_SCHEMAS:
        why = _fault(name, saved.tables.get(name))
        if why is not None:
            raise _damaged(path, why)
    try:
        return exchange_of(saved.tables["nodes"], saved.tables["edges"], match)
    except PredicateError as error:
        raise _damaged(path, f"a targeting cannot be read: {error.message}") from error


def _fault(name: str, table: pa.Table | None) -> str | None:
    """What is wrong with a table, if anything."""
    if table is None or not table.schema.equals(_SAVING_SCHEMAS[name]):
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
