"""Rows of the nodes and edges tables read one by one: the obvious twin of `exchange.reading`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from heliograph.errors import HeliographError, Place, PublicationError
from heliograph.io.tables import TableRows, as_table
from heliograph.model import Rejected
from heliograph.predicate.form import Predicate
from heliograph.predicate.parser import compile_predicates
from tests.naive_exchange import EDGE_COST, NO_LABELS, NODE_COST, Edge, Node, refused_node

MAX_COST = 1e300  # a path of any length that fits in memory still has a finite cost


class Refusal(NamedTuple):
    error: HeliographError
    rejected: Rejected


class Nodes(NamedTuple):
    """`nodes` are good, `broken` are those whose rows were refused but name a node."""

    nodes: list[Node]
    broken: list[Node]
    refusals: list[Refusal]
    unread: list[Rejected]


class Edges(NamedTuple):
    edges: list[Edge]
    refusals: list[Refusal]
    unread: list[Rejected]


def read_nodes(items: Any) -> Nodes:
    """The nodes of a table or of Python items; an id that comes twice in one call is refused the second time."""
    read = as_table("nodes", items)
    result = Nodes([], _unreadable(read.rejected), [], list(read.rejected))
    seen: set[str] = set()
    for row, cells, targeting in _rows(read, ("node_id", "cost", "labels", "targeting")):
        id = cells["node_id"]
        try:
            result.nodes.append(_node(cells, targeting, seen, read.place(row)))
        except HeliographError as error:
            result.refusals.append(Refusal(error, Rejected.of(error, read.source, id or None)))
            if id and id not in seen:
                result.broken.append(refused_node(id, error.code))
        seen.add(id)
    return result


def _unreadable(rejected: Iterable[Rejected]) -> list[Node]:
    """The nodes of rows in which a cell could not be read (HG-204); the item of such a row is its id."""
    return [refused_node(entry.item, entry.code) for entry in rejected if entry.code == "HG-204" and entry.item]


def _node(cells: dict[str, Any], targeting: Predicate | HeliographError, seen: set[str], place: Place) -> Node:
    id = cells["node_id"]
    if not id:
        raise PublicationError("HG-650", "a node without an id", place=place, fix="write one in node_id")
    if id in seen:
        fix = "keep one row of a node; a later call of add_nodes replaces it"
        raise PublicationError("HG-651", f"the node {id!r} comes twice in one call", place=place, fix=fix)
    cost = _cost(cells["cost"], NODE_COST, place)
    if isinstance(targeting, HeliographError):
        raise targeting
    labels = frozenset(cells["labels"]) if cells["labels"] else NO_LABELS
    return Node(id, targeting, cells["targeting"], cost, labels)


def read_edges(items: Any) -> Edges:
    """The edges of a table or of Python items; an edge_id that comes twice in one call is refused the second time."""
    read = as_table("edges", items)
    result = Edges([], [], list(read.rejected))
    seen: set[str] = set()
    for row, cells, targeting in _rows(read, ("source", "target", "edge_id", "cost", "targeting")):
        try:
            result.edges.append(_edge(cells, targeting, seen, read.place(row)))
        except HeliographError as error:
            result.refusals.append(Refusal(error, Rejected.of(error, read.source, _edge_name(cells))))
    return result


def _edge(cells: dict[str, Any], targeting: Predicate | HeliographError, seen: set[str], place: Place) -> Edge:
    source, target, id = cells["source"], cells["target"], cells["edge_id"] or None
    if not source or not target:
        lacking = "source" if not source else "target"
        raise PublicationError("HG-655", f"an edge without {lacking}", place=place, fix=f"write a node in {lacking}")
    if id in seen:
        fix = "give parallel edges different ids, or none"
        raise PublicationError("HG-656", f"the edge {id!r} comes twice in one call", place=place, fix=fix)
    cost = _cost(cells["cost"], EDGE_COST, place)
    if isinstance(targeting, HeliographError):
        raise targeting
    if id is not None:
        seen.add(id)
    return Edge(source, target, id, targeting, cells["targeting"], cost)


def _edge_name(cells: dict[str, Any]) -> str:
    return cells["edge_id"] or f"{cells['source']} → {cells['target']}"


def _cost(value: float | None, default: float, place: Place) -> float:
    if value is None:
        return default
    if 0 <= value <= MAX_COST:
        return value + 0.0  # minus zero becomes zero
    raise PublicationError("HG-652", f"a cost of {value:g}", place=place, fix="write a number from 0 to 1e300")


def _rows(read: TableRows, names: tuple[str, ...]) -> Iterator[tuple[int, dict[str, Any], Predicate | HeliographError]]:
    """Each row's number, its cells by column, and its targeting compiled."""
    columns = [read.table.column(name).to_pylist() for name in names]
    compiled = compile_predicates(columns[names.index("targeting")])
    for row, (cells, targeting) in enumerate(zip(zip(*columns, strict=True), compiled, strict=True)):
        yield row, dict(zip(names, cells, strict=True)), targeting
