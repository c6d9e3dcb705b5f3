"""Whether arrays are those of an exchange: kernels trust them, so whatever they lead to has to be there.

The law: what `rebuilding` lays out passes. Records are those of the nodes, by number; edges lie by their sources and
entries by their targets, without gaps; nothing is dead. Each rule is one pass over an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.exchange.growing import NAMES, Arrays
from heliograph.exchange.reading import MAX_COST
from heliograph.kernels import exchange_layout as at
from heliograph.kernels.exchange_layout import NEVER_DIED, PRESENT, RECORD, TARGET
from heliograph.kernels.layout import Table
from heliograph.vocabulary.hashtable import PRIME

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
