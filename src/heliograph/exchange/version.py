"""One version of an exchange, as its readers see it: arrays for kernels, nodes and edges as objects for the rest.

The laws: a version never changes, whatever the writer does meanwhile, as long as it is read within
`Exchange.reading`; the edges of a node come in the order of adding; nodes are reported in the order of `node_numbers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from heliograph.exchange.ledger import Ledger
from heliograph.exchange.rows import Edge, Node
from heliograph.kernels.exchange_layout import (
    BEGIN,
    BORN,
    DIED,
    EDGE_DIED,
    END,
    FLAGS,
    IN_BEGIN,
    IN_END,
    IN_MORE,
    LISTED_NODE,
    MORE,
    NEWER,
    OUT_BEGIN,
    OUT_END,
    OUT_MORE,
    PLACE,
    PRESENT,
    RECORD,
    TARGET,
    Graph,
)
from heliograph.kernels.targeting_layout import Int32s, Programs
from heliograph.tables.columns import Array

if TYPE_CHECKING:
    from heliograph.exchange.store import Exchange
    from heliograph.targeting.store import Targeting


class Version:
    """What there was at one moment. `graph` and `programs` are for kernels; ids are shared between versions."""

    def __init__(self, ledger: Ledger, graph: Graph, programs: Programs, size: int) -> None:
        self.ledger = ledger
        self.graph = graph
        self.programs = programs
        self.size = size
        self.loose_count = ledger.arrays.used.loose

    @property
    def targeting(self) -> Targeting:
        return self.ledger.targeting

    @property
    def match(self) -> str | None:
        return self.ledger.match

    @property
    def place_count(self) -> int:
        """The places of listed nodes and of the others in the order of reporting."""
        return self.graph.listed_count + self.loose_count

    def __len__(self) -> int:
        """How many nodes there are."""
        return self.size

    # --- nodes --------------------------------------------------------------------------------------------------

    def number(self, id: str) -> int:
        """The number of a node, or -1."""
        number = self.ledger.ids.find(id)
        return number if number < self.graph.node_count and number >= 0 and self._flags(number) & PRESENT else -1

    def numbers(self, ids: Array) -> Int32s:
        """The number of the node with each id, or -1."""
        numbers = self.ledger.ids.find_many(ids)
        known = np.flatnonzero((numbers >= 0) & (numbers < self.graph.node_count))
        flags = self.graph.records[self.records_of(numbers[known]), FLAGS]
        found = np.full(len(numbers), -1, np.int32)
        found[known[flags & PRESENT != 0]] = numbers[known[flags & PRESENT != 0]]
        return found

    def name(self, number: int) -> str:
        """The id of a node by its number."""
        id: str = self.ledger.names.get(number)
        return id

    def names(self, numbers: Int32s) -> Array:
        """The ids of nodes by their numbers."""
        return self.ledger.names.take(numbers)

    @property
    def ids(self) -> Array:
        """The ids of all nodes by number, of those too that are not there any more."""
        return self.ledger.names.whole(self.graph.node_count)

    def node(self, number: int) -> Node:
        return self.ledger.node(number, self._record(number))

    def node_numbers(self) -> Int32s:
        """The nodes in the order of reporting: the listed ones in order of subscribing, then the others."""
        graph = self.graph
        listed = self._at_places(graph.listed[: graph.listed_count], LISTED_NODE)
        return np.concatenate((listed, self._at_places(graph.loose[: self.loose_count], 0)))

    def listed_size(self) -> int:
        """How many of the nodes are listed."""
        return len(self._at_places(self.graph.listed[: self.graph.listed_count], LISTED_NODE))

    def rank(self, number: int) -> tuple[bool, int]:
        """Sorts nodes into the order of reporting."""
        record = self.graph.records[self._record(number)]
        return not record[FLAGS] & LISTED_NODE, int(record[PLACE])

    def records_of(self, numbers: Int32s) -> Int32s:
        """The record of each node in this version."""
        records, version = self.graph.records, self.graph.version
        found: Int32s = self.graph.nodes[numbers, RECORD]
        while True:
            old = np.flatnonzero(records[found, DIED] <= version)
            if not len(old):
                return found
            found[old] = records[found[old], NEWER]

    def _record(self, number: int) -> int:
        records, version = self.graph.records, self.graph.version
        record = int(self.graph.nodes[number, RECORD])
        while records[record, DIED] <= version:
            record = int(records[record, NEWER])
        return record

    def _flags(self, number: int) -> int:
        return int(self.graph.records[self._record(number), FLAGS])

    def _at_places(self, nodes: Int32s, listed: int) -> Int32s:
        """Of the nodes that stood at places, those that still do."""
        records = self.graph.records[self.records_of(nodes)]
        here = (records[:, FLAGS] & (PRESENT | LISTED_NODE)) == PRESENT | listed
        found: Int32s = nodes[here & (records[:, PLACE] == np.arange(len(nodes)))]
        return found

    # --- edges --------------------------------------------------------------------------------------------------

    def out(self, number: int) -> list[Edge]:
        """The edges that leave a node."""
        return [self.ledger.edge(edge) for edge in self.out_numbers(number)]

    def into(self, number: int) -> list[Edge]:
        """The edges that lead to a node."""
        return [self.ledger.edge(edge) for edge in self.into_numbers(number)]

    def between(self, source: int, target: int) -> list[Edge]:
        """The parallel edges from one node to another."""
        return [self.ledger.edge(edge) for edge in self.between_numbers(source, target)]

    def between_numbers(self, source: int, target: int) -> list[int]:
        edges = self.graph.edges
        return [edge for edge in self.out_numbers(source) if edges[edge, TARGET] == target] if target >= 0 else []

    def edge(self, number: int) -> Edge:
        return self.ledger.edge(number)

    def edges(self) -> Iterator[Edge]:
        """Every edge, in the order of adding."""
        return (self.ledger.edge(int(number)) for number in self.edge_numbers())

    def edge_numbers(self) -> Int32s:
        """The numbers of the edges that there are, in the order of adding."""
        seen = visible(self.graph)
        found: Int32s = seen[np.argsort(self.ledger.arrays.serials[seen], kind="stable")]
        return found

    def out_numbers(self, number: int) -> list[int]:
        if number < 0:
            return []
        graph, version = self.graph, self.graph.version
        found: list[int] = []
        for first, last in _ranges(graph, number, (OUT_BEGIN, OUT_END, OUT_MORE)):
            rows = graph.edges[first:last].tolist()
            found += [edge for edge, row in enumerate(rows, first) if row[BORN] <= version < row[EDGE_DIED]]
        return found

    def into_numbers(self, number: int) -> list[int]:
        if number < 0:
            return []
        graph = self.graph
        spans = _ranges(graph, number, (IN_BEGIN, IN_END, IN_MORE))
        entries = [edge for first, last in spans for edge in graph.entries[first:last].tolist() if edge >= 0]
        return [edge for edge in entries if self._is_visible(edge)]

    def _is_visible(self, edge: int) -> bool:
        row = self.graph.edges[edge]
        return bool(row[BORN] <= self.graph.version < row[EDGE_DIED])

    # --- copies -------------------------------------------------------------------------------------------------

    def copy(self) -> Exchange:
        """An independent exchange that begins as this version."""
        from heliograph.exchange.store import Exchange

        return Exchange.of_version(self)


def visible(graph: Graph) -> Int32s:
    """The numbers of the edges that a version sees, ascending."""
    edges = graph.edges
    seen: Any = np.flatnonzero((edges[:, BORN] <= graph.version) & (graph.version < edges[:, EDGE_DIED]))
    return seen.astype(np.int32)  # type: ignore[no-any-return]


def _ranges(graph: Graph, number: int, columns: tuple[int, int, int]) -> Iterator[tuple[int, int]]:
    """Where the edges, or the entries, of a node lie."""
    first, last, more = (int(graph.nodes[number, column]) for column in columns)
    yield first, last
    while more >= 0:
        first, last, more = (int(graph.blocks[more, column]) for column in (BEGIN, END, MORE))
        yield first, last
