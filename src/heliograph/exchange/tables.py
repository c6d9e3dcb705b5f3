"""The exchange of two tables: its nodes in the order of reporting, its edges in the order of adding.

The law: it shows what the tables show. Saves of the first version hold such tables.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.exchange.rows import LABELS_TYPE, EdgeRows, NodeRows
from heliograph.exchange.store import Exchange
from heliograph.tables.columns import Array

_NODE_COLUMNS: dict[str, pa.DataType] = {
    "node_id": pa.string(),
    "targeting": pa.string(),
    "cost": pa.float64(),
    "labels": LABELS_TYPE,
    "refused": pa.string(),
    "listed": pa.bool_(),
}
_EDGE_COLUMNS: dict[str, pa.DataType] = {
    "source": pa.string(),
    "target": pa.string(),
    "edge_id": pa.string(),
    "targeting": pa.string(),
    "cost": pa.float64(),
}
NODES, EDGES = pa.schema(_NODE_COLUMNS), pa.schema(_EDGE_COLUMNS)
pc: Any = pyarrow.compute


def exchange_of(nodes: pa.Table, edges: pa.Table, match: str | None = None) -> Exchange:
    """The exchange of such tables. Raises PredicateError for a targeting that cannot be read."""
    exchange = Exchange(match)
    for listed in (True, False):
        some = nodes.filter(pc.equal(nodes.column("listed"), listed))
        exchange.put_nodes(_node_rows(some, listed))
    parts = (_column(edges, name) for name in ("source", "target", "edge_id", "targeting"))
    sources, targets, ids, texts = parts
    costs = _column(edges, "cost").to_numpy(zero_copy_only=False)
    exchange.put_edges(EdgeRows(sources, targets, _some(ids), _some(texts), costs))
    return exchange


def _node_rows(table: pa.Table, listed: bool) -> NodeRows:
    ids, texts, labels = (_column(table, name) for name in ("node_id", "targeting", "labels"))
    codes = _column(table, "refused")
    refused = {row: codes[row].as_py() for row in np.flatnonzero(codes.is_valid()).tolist()}
    costs = _column(table, "cost").to_numpy(zero_copy_only=False)
    return NodeRows(ids, _some(texts), costs, _some(labels), refused, listed)


def _column(table: pa.Table, name: str) -> Array:
    found: Any = table.column(name).combine_chunks()
    return found  # type: ignore[no-any-return]


def _some(values: Array) -> Array | None:
    return None if values.null_count == len(values) else values
