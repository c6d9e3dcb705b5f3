"""A saved exchange: its nodes and edges as tables, in order, with the text of their targeting."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from heliograph.errors import PredicateError, StorageError
from heliograph.route.graph import Edge, Graph, Node, refused_node
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


def save_graph(path: str | Path, graph: Graph, match: str | None) -> None:
    """Writes the exchange; the order of rows is the order of subscribing."""
    nodes = sorted(graph.nodes.values(), key=lambda node: graph.rank(node)[1])
    tables = {
        "nodes": pa.Table.from_pylist([_node_row(node) for node in nodes], schema=pa.schema(_NODE_COLUMNS)),
        "edges": pa.Table.from_pylist([_edge_row(edge) for edge in graph.edges], schema=pa.schema(_EDGE_COLUMNS)),
    }
    write_folder(path, KIND, VERSION, tables=tables, meta={"match": match})


def load_graph(path: str | Path) -> tuple[Graph, str | None]:
    """The exchange and the comparison of labels that were saved at `path`."""
    saved = read_folder(path, KIND, (VERSION,))
    graph = Graph()
    nodes, edges = saved.tables["nodes"].to_pylist(), saved.tables["edges"].to_pylist()
    targeting = _compiled(path, [row["targeting"] for row in (*nodes, *edges)])
    graph.put_nodes(
        refused_node(row["node_id"], row["refused"])
        if row["refused"]
        else Node(
            row["node_id"],
            targeting[number],
            row["targeting"],
            row["cost"],
            frozenset(row["labels"]),
            listed=row["listed"],
        )
        for number, row in enumerate(nodes)
    )
    graph.put_edges(
        [
            Edge(row["source"], row["target"], row["edge_id"], form, row["targeting"], row["cost"])
            for row, form in zip(edges, targeting[len(nodes) :], strict=True)
        ]
    )
    return graph, check_match(saved.meta["match"])


def _compiled(path: str | Path, texts: list[str | None]) -> list[Predicate]:
    forms: list[Predicate] = []
    for form in compile_predicates(texts):
        if isinstance(form, PredicateError):
            raise StorageError("HG-805", f"a saved targeting cannot be read: {form.message}", fix="save it again")
        forms.append(form)
    return forms


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
