"""INV, the second algorithm of [Z] section 3.1: queries found by the edges they are made of.

A query of k edges is stored in k buckets of an inverted index; table T holds how many edges a query has and how many
of them are matched; an update looks its edge up, counts, and the touched rows of T tell which queries match now.

`PrintedInv` is that as printed, over vertex pairs, for additions only. `Inv` has the mends that SEED_NOTES ask for:
an edge that arrives twice is counted once, deletions count back, the key is the whole triple instead of the pair of
vertices, and a query can be added to a graph that is not empty, and taken away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from heliograph.baselines.watch_algorithm import (
    ADD,
    Changes,
    Edge,
    Match,
    Values,
    Vertex,
    concrete_edges,
    nothing,
)
from heliograph.syntax.query import Query

Pair = tuple[Vertex, Vertex]


@dataclass(slots=True)
class Row:
    """A row of table T."""

    pairs: int
    matched: int


class PrintedInv:
    """As printed. Its fault: `publish` counts an edge each time it arrives."""

    def __init__(self) -> None:
        self.index: defaultdict[Pair, list[str]] = defaultdict(list)
        self.table: dict[str, Row] = {}

    def subscribe(self, id: str, pairs: Iterable[Pair]) -> None:
        distinct = list(dict.fromkeys(pairs))
        self.table[id] = Row(len(distinct), 0)
        for pair in distinct:
            self.index[pair].append(id)

    def publish(self, pair: Pair) -> list[str]:
        """Adds an edge; the queries that match by it."""
        touched = self.index.get(pair, [])
        for id in touched:
            self.table[id].matched += 1
        return [id for id in touched if self.table[id].matched == self.table[id].pairs]


class Inv:
    """As mended. `touched` counts the rows of T that updates changed."""

    def __init__(self) -> None:
        self.touched = 0
        self._graph: set[Edge] = set()
        self._index: dict[Edge, dict[str, None]] = {}  # mend: triples, and buckets from which an id can be taken
        self._table: dict[str, Row] = {}
        self._edges: dict[str, tuple[Edge, ...]] = {}

    def subscribe(self, id: str, query: Query) -> None:
        edges = concrete_edges(query)
        for edge in edges:
            self._index.setdefault(edge, {})[id] = None
        self._edges[id] = edges
        self._table[id] = Row(len(edges), len(self._graph.intersection(edges)))  # mend: the graph may not be empty

    def unsubscribe(self, id: str) -> None:
        for edge in self._edges.pop(id, ()):
            del self._index[edge][id]
            if not self._index[edge]:
                del self._index[edge]
        self._table.pop(id, None)

    def update(self, op: str, triple: Edge) -> Changes:
        changes = nothing()
        if (triple in self._graph) == (op == ADD):
            return changes  # mend: what changes nothing is not counted
        touched = self._index.get(triple, {})
        self.touched += len(touched)
        if op == ADD:
            self._graph.add(triple)
            _rise(changes, touched, self._table)
        else:
            self._graph.remove(triple)
            _fall(changes, touched, self._table)
        return changes

    def matches(self, id: str) -> set[Values]:
        row = self._table.get(id)
        return {()} if row is not None and row.matched == row.pairs else set()


def _rise(changes: Changes, touched: Iterable[str], table: dict[str, Row]) -> None:
    for id in touched:
        row = table[id]
        row.matched += 1
        if row.matched == row.pairs:
            changes.gained.append(Match(id, ()))
            changes.rose.append(id)


def _fall(changes: Changes, touched: Iterable[str], table: dict[str, Row]) -> None:
    for id in touched:
        row = table[id]
        if row.matched == row.pairs:
            changes.lost.append(Match(id, ()))
            changes.fell.append(id)
        row.matched -= 1
