"""What an exchange is made of, one by one: nodes, edges, events; and many at once, as columns.

The law: a row's text alone says what it accepts. `Node.targeting` and `Edge.targeting` are that text parsed, and the
expressions of columns are that text compiled, so rows can be compiled again for another store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.kernels.targeting_layout import Floats, Int32s
from heliograph.syntax.predicate_form import ACCEPT, Constant, Predicate, to_sql
from heliograph.syntax.predicate_truth import Attributes
from heliograph.tables.columns import Array

NODE_COST = 0.0
EDGE_COST = 1.0
NO_LABELS: frozenset[str] = frozenset()

Texts = Array | None  # strings; None where all are null
LABELS_TYPE = pa.list_(pa.string())


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """`listed` is False for a node known only as the end of an edge. `number` is its own in one version."""

    id: str
    targeting: Predicate = ACCEPT
    text: str | None = None
    cost: float = NODE_COST
    labels: frozenset[str] = NO_LABELS
    refused: str | None = None  # the code for which the node's row was rejected
    listed: bool = True
    number: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """Parallel edges may be alike in every field but `number`, so an edge is equal to itself only."""

    source: str
    target: str
    id: str | None = None
    targeting: Predicate = ACCEPT
    text: str | None = None
    cost: float = EDGE_COST
    number: int = -1

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


class Expressions(NamedTuple):
    """The number of each row's expression in one store of targeting."""

    store: object
    numbers: Int32s


@dataclass(frozen=True, slots=True)
class NodeRows:
    """Nodes as columns. `refused` has the code of each row that was refused; those are not listed."""

    ids: Array
    texts: Texts
    costs: Floats
    labels: Array | None = None
    refused: dict[int, str] = field(default_factory=dict)
    listed: bool = True
    compiled: Expressions | None = None

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> NodeRows:
        """The columns of nodes that are all listed, or all not."""
        ids = pa.array([node.id for node in nodes], pa.string())
        texts = texts_of(_text(node) for node in nodes)
        costs = np.array([node.cost for node in nodes], np.float64)
        refused = {row: node.refused for row, node in enumerate(nodes) if node.refused}
        return cls(ids, texts, costs, labels_of(node.labels for node in nodes), refused, all(n.listed for n in nodes))

    def slice(self, first: int, last: int) -> NodeRows:
        """The rows from one to before another."""
        size = last - first
        texts = None if self.texts is None else self.texts.slice(first, size)
        labels = None if self.labels is None else self.labels.slice(first, size)
        refused = {row - first: code for row, code in self.refused.items() if first <= row < last}
        compiled = self.compiled and self.compiled._replace(numbers=self.compiled.numbers[first:last])
        ids, costs = self.ids.slice(first, size), self.costs[first:last]
        return NodeRows(ids, texts, costs, labels, refused, self.listed, compiled)


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """Edges as columns; no two have the same id."""

    sources: Array
    targets: Array
    ids: Texts
    texts: Texts
    costs: Floats
    compiled: Expressions | None = None

    def __len__(self) -> int:
        return len(self.sources)

    @classmethod
    def of(cls, edges: Sequence[Edge]) -> EdgeRows:
        sources = pa.array([edge.source for edge in edges], pa.string())
        targets = pa.array([edge.target for edge in edges], pa.string())
        costs = np.array([edge.cost for edge in edges], np.float64)
        return cls(sources, targets, texts_of(edge.id for edge in edges), texts_of(map(_text, edges)), costs)


def _text(row: Node | Edge) -> str | None:
    if row.text is not None or row.targeting == ACCEPT:
        return row.text
    return None if isinstance(row, Node) and row.refused else to_sql(row.targeting)


def texts_of(texts: Iterable[str | None]) -> Texts:
    """The texts as a column; None where there is none at all."""
    several = list(texts)
    return pa.array(several, pa.string()) if any(text is not None for text in several) else None


def labels_of(labels: Iterable[frozenset[str]]) -> Array | None:
    """The label sets as a column; None where all are empty."""
    several = [sorted(some) for some in labels]
    return pa.array(several, LABELS_TYPE) if any(several) else None
