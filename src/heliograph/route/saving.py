"""A saved exchange: its nodes and edges as tables, in order, with the text of their targeting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from heliograph.baselines.exchange import Edge, Exchange, Node, refused_node
from heliograph.errors import Place, PredicateError, StorageError, UsageError
from heliograph.route.options import check_match
from heliograph.storage import read_folder, write_folder
from heliograph.syntax.predicate_form import Predicate
from heliograph.syntax.predicates import compile_predicates

KIND = "route"
VERSION = 1

_NODE_COLUMNS: dict[str, pa.DataType] = {
    "node_id": pa.string(),
    "targeting": pa.string(),
    "cost": pa.float64(),
    "labels": pa.list_(pa.string()),
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

_SCHEMAS = {"nodes": pa.schema(_NODE_COLUMNS), "edges": pa.schema(_EDGE_COLUMNS)}


def save_graph(path: str | Path, graph: Exchange, match: str | None) -> None:
    """Writes the exchange; the order of rows is the order of subscribing."""
    nodes = sorted(graph.nodes.values(), key=lambda node: graph.rank(node)[1])
    tables = {
        "nodes": pa.Table.from_pylist([_node_row(node) for node in nodes], schema=_SCHEMAS["nodes"]),
        "edges": pa.Table.from_pylist([_edge_row(edge) for edge in graph.edges], schema=_SCHEMAS["edges"]),
    }
    write_folder(path, KIND, VERSION, tables=tables, meta={"match": match})


def load_graph(path: str | Path) -> tuple[Exchange, str | None]:
    """The exchange and the comparison of labels that were saved at `path`."""
    saved = read_folder(path, KIND, (VERSION,))
    for name, schema in _SCHEMAS.items():
        if name not in saved.tables or not saved.tables[name].schema.equals(schema):
            raise _damaged(path, f"the table {name} is missing or has other columns")
    nodes, edges = saved.tables["nodes"].to_pylist(), saved.tables["edges"].to_pylist()
    targeting = _compiled(path, [row["targeting"] for row in (*nodes, *edges)])
    graph = Exchange()
    graph.put_nodes([_node(row, form) for row, form in zip(nodes, targeting, strict=False)])
    graph.put_edges([_edge(row, form) for row, form in zip(edges, targeting[len(nodes) :], strict=True)])
    try:
        return graph, check_match(saved.meta.get("match"))
    except UsageError as error:
        raise _damaged(path, error.message) from error


def _compiled(path: str | Path, texts: list[str | None]) -> list[Predicate]:
    forms: list[Predicate] = []
    for form in compile_predicates(texts):
        if isinstance(form, PredicateError):
            raise _damaged(path, f"a targeting cannot be read: {form.message}")
        forms.append(form)
    return forms


def _damaged(path: str | Path, why: str) -> StorageError:
    return StorageError("HG-805", f"a damaged save: {why}", place=Place(str(path)), fix="save it again")


def _node(row: dict[str, Any], targeting: Predicate) -> Node:
    if row["refused"]:
        return refused_node(row["node_id"], row["refused"])
    labels = frozenset(row["labels"])
    return Node(row["node_id"], targeting, row["targeting"], row["cost"], labels, listed=row["listed"])


def _edge(row: dict[str, Any], targeting: Predicate) -> Edge:
    return Edge(row["source"], row["target"], row["edge_id"], targeting, row["targeting"], row["cost"])


def _node_row(node: Node) -> dict[str, object]:
    return {
        "node_id": node.id,
        "targeting": node.text,
        "cost": node.cost,
        "labels": sorted(node.labels),
        "refused": node.refused,
        "listed": node.listed,
    }


def _edge_row(edge: Edge) -> dict[str, object]:
    return {
        "source": edge.source,
        "target": edge.target,
        "edge_id": edge.id,
        "targeting": edge.text,
        "cost": edge.cost,
    }
