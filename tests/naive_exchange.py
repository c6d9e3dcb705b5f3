"""The exchange as Python objects: the obvious twin of `exchange.store`.

The laws: adding replaces, a node by its id, an edge by its edge_id or, without one, by its two ends (edges of one call
that share both ends and have no id are alternatives and all stay); an end of an edge that is no listed node is a node
without targeting, and vanishes with its last edge; a node whose row was refused accepts nothing until a good row comes,
because taking it for a node without targeting would deliver what its owner may have forbidden.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from heliograph.predicate.evaluate import Attributes
from heliograph.predicate.form import ACCEPT, Constant, Predicate

NODE_COST = 0.0
EDGE_COST = 1.0
NO_LABELS: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """`listed` is False for a node known only as the end of an edge."""

    id: str
    targeting: Predicate = ACCEPT
    text: str | None = None
    cost: float = NODE_COST
    labels: frozenset[str] = NO_LABELS
    refused: str | None = None  # the code for which the node's row was rejected
    listed: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """Parallel edges may be alike in every field, so an edge is equal to itself only."""

    source: str
    target: str
    id: str | None = None
    targeting: Predicate = ACCEPT
    text: str | None = None
    cost: float = EDGE_COST

    def __str__(self) -> str:
        return f"{self.source} → {self.target}" + (f" ({self.id})" if self.id is not None else "")


def refused_node(id: str, code: str) -> Node:
    """A node whose row was rejected."""
    return Node(id, Constant(False), refused=code, listed=False)


class Event(NamedTuple):
    """A publisher's event. `labels` is its attribute of that name, where label sets are compared."""

    id: str
    publisher: str
    attributes: Attributes
    labels: frozenset[str] = NO_LABELS


class Exchange:
    """One version of the exchange."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.edges: dict[Edge, None] = {}  # a set that keeps the order of adding
        self.out: dict[str, tuple[Edge, ...]] = {}
        self.into: dict[str, tuple[Edge, ...]] = {}
        self.by_id: dict[str, Edge] = {}
        self._order: dict[str, int] = {}
        self._next = 0

    def copy(self) -> Exchange:
        """An independent version; the tuples of edges are shared, being immutable."""
        twin = Exchange()
        twin.nodes, twin.edges, twin.by_id = dict(self.nodes), dict(self.edges), dict(self.by_id)
        twin.out, twin.into = dict(self.out), dict(self.into)
        twin._order, twin._next = dict(self._order), self._next
        return twin

    def rank(self, node: Node) -> tuple[bool, int]:
        """Sorts listed nodes in order of subscribing, then the others in order of appearance."""
        return not node.listed, self._order[node.id]

    def between(self, source: str, target: str) -> list[Edge]:
        """The parallel edges from one node to another."""
        return [edge for edge in self.out.get(source, ()) if edge.target == target]

    def put_nodes(self, nodes: Iterable[Node]) -> None:
        """Adds nodes or replaces those of the same id; a refused one never replaces a good one."""
        for node in nodes:
            known = self.nodes.get(node.id)
            if node.refused and known is not None and known.listed:
                continue
            if known is None or known.listed != node.listed:
                self._next += 1
                self._order[node.id] = self._next
            self.nodes[node.id] = node

    def put_edges(self, edges: Collection[Edge]) -> None:
        """Adds edges; those that they replace go first."""
        self.drop_edges(self._replaced_by(edges))
        self.edges.update(dict.fromkeys(edges))
        _extend(self.out, edges, lambda edge: edge.source)
        _extend(self.into, edges, lambda edge: edge.target)
        self.by_id.update((edge.id, edge) for edge in edges if edge.id is not None)
        ends = [end for edge in edges for end in (edge.source, edge.target) if end not in self.nodes]
        self.put_nodes(Node(end, listed=False) for end in dict.fromkeys(ends))

    def drop_nodes(self, ids: Collection[str]) -> None:
        """Removes nodes with all their edges."""
        touching = (edge for id in ids for edge in (*self.out.get(id, ()), *self.into.get(id, ())))
        self.drop_edges(dict.fromkeys(touching))
        for id in ids:
            self.nodes.pop(id, None)
            self._order.pop(id, None)

    def drop_edges(self, edges: Collection[Edge]) -> None:
        """Removes edges, and the ends that nothing else makes known."""
        if not edges:
            return
        gone = set(edges)
        _shrink(self.out, gone, {edge.source for edge in gone})
        _shrink(self.into, gone, {edge.target for edge in gone})
        for edge in gone:
            del self.edges[edge]
            if edge.id is not None:
                del self.by_id[edge.id]
            self._forget(edge.source)
            self._forget(edge.target)

    def _forget(self, id: str) -> None:
        node = self.nodes.get(id)
        if node and not node.listed and not node.refused and id not in self.out and id not in self.into:
            del self.nodes[id]
            del self._order[id]

    def _replaced_by(self, edges: Iterable[Edge]) -> list[Edge]:
        return list(dict.fromkeys(known for edge in edges for known in self._same(edge)))

    def _same(self, edge: Edge) -> list[Edge]:
        """The edges that adding this one replaces."""
        if edge.id is not None:
            return [self.by_id[edge.id]] if edge.id in self.by_id else []
        return [known for known in self.between(edge.source, edge.target) if known.id is None]


def _extend(index: dict[str, tuple[Edge, ...]], edges: Iterable[Edge], key: Callable[[Edge], str]) -> None:
    grouped: dict[str, list[Edge]] = {}
    for edge in edges:
        grouped.setdefault(key(edge), []).append(edge)
    for end, added in grouped.items():
        index[end] = (*index.get(end, ()), *added)


def _shrink(index: dict[str, tuple[Edge, ...]], gone: Collection[Edge], ends: Iterable[str]) -> None:
    for end in ends:
        kept = tuple(edge for edge in index.get(end, ()) if edge not in gone)
        if kept:
            index[end] = kept
        else:
            index.pop(end, None)
