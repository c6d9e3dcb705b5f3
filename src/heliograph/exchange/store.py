"""The exchange: nodes and directed edges with their targeting, changed by one writer while many read.

The laws: adding replaces, a node by its id, an edge by its edge_id or, without one, by its two ends (edges of one call
that share both ends and have no id are alternatives and all stay); an end of an edge that is no listed node is a node
without targeting, and vanishes with its last edge; a node whose row was refused accepts nothing until a good row comes,
because taking it for a node without targeting would deliver what its owner may have forbidden.

A change costs what it touches, not what the exchange holds. Readers hold a version and no lock: see `kernels.
exchange_layout`. What changes leave behind is cleared away in the background: see `settling`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from heliograph.exchange import edge_changes, node_changes
from heliograph.exchange.columns import strings
from heliograph.exchange.compiling import edge_expressions, node_expressions
from heliograph.exchange.ledger import Ledger
from heliograph.exchange.rebuilding import rebuild
from heliograph.exchange.rows import Edge, EdgeRows, Node, NodeRows
from heliograph.exchange.settling import Settling
from heliograph.exchange.version import Version
from heliograph.kernels.exchange_layout import EDGE_EXPRESSION, EXPRESSION
from heliograph.kernels.targeting_layout import Programs
from heliograph.targeting.store import Targeting


class Exchange:
    """One exchange. Whoever changes it, or compiles for it, holds `writing`; whoever reads it uses `reading`.

    Numbers of nodes and edges are those of one version: after a change they may be others.
    """

    def __init__(self, match: str | None = None) -> None:
        self._begin(Ledger(Targeting(), match, threading.RLock()))

    def _begin(self, ledger: Ledger) -> None:
        self.writing = ledger.writing
        self._registry = threading.Lock()
        self._readers: dict[int, int] = {}  # how many read each version
        self._ledger = ledger
        self._version = 0
        self._programs: tuple[int, Programs] = len(ledger.targeting), ledger.targeting.snapshot()
        self._settling = Settling(self)
        self._publish()

    @classmethod
    def of_version(cls, version: Version) -> Exchange:
        """An exchange of its own that begins as a version. Both compile for one store, so they share `writing`."""
        return cls.of_ledger(rebuild(version).ledger)

    @classmethod
    def of_ledger(cls, ledger: Ledger) -> Exchange:
        """An exchange that begins with a ledger."""
        made = cls.__new__(cls)
        made._begin(ledger)
        return made

    @property
    def match(self) -> str | None:
        return self._ledger.match

    @property
    def targeting(self) -> Targeting:
        return self._ledger.targeting

    @property
    def age(self) -> int:
        """How many versions there were since the ledger was made. BORN and DIED hold less than 2**31 - 1."""
        return self._version

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def current(self) -> Version:
        """The latest version; without `reading` it is valid only while `writing` is held."""
        return self._current

    @contextmanager
    def reading(self) -> Iterator[Version]:
        """The latest version, which stays as it is until it is released."""
        version = self.hold()
        try:
            yield version
        finally:
            self.release(version)

    def hold(self) -> Version:
        """Registers a reader of the latest version."""
        with self._registry:
            version = self._current
            number = version.graph.version
            self._readers[number] = self._readers.get(number, 0) + 1
        return version

    def release(self, version: Version) -> None:
        number = version.graph.version
        with self._registry:
            self._readers[number] -= 1
            if not self._readers[number]:
                del self._readers[number]
        if self._ledger.history and self.writing.acquire(blocking=False):  # else the writer sees to it
            try:
                self._relink()
            finally:
                self.writing.release()

    def _relink(self) -> None:
        """Drops the history that nobody reads."""
        with self._registry:
            oldest = min(self._readers, default=self._version)
        self._ledger.relink(oldest)

    # --- changes ------------------------------------------------------------------------------------------------

    def put_nodes(self, nodes: NodeRows | Iterable[Node]) -> None:
        """Adds nodes or replaces those of the same id; a refused one never replaces a good one."""
        parts = [nodes] if isinstance(nodes, NodeRows) else _columns(list(nodes))
        with self.writing:
            for rows in parts:
                for part in _runs(rows):
                    self._put_nodes(part)

    def _put_nodes(self, rows: NodeRows) -> None:
        expressions = node_expressions(rows, self.targeting, self.match)
        self._change(lambda ledger, now: node_changes.put_nodes(ledger, rows, expressions, now))
        self._settling.note(self._ledger, "put_nodes", rows, expressions)

    def put_edges(self, edges: EdgeRows | Sequence[Edge]) -> None:
        """Adds edges; those that they replace go first."""
        rows = edges if isinstance(edges, EdgeRows) else EdgeRows.of(edges)
        if not len(rows):
            return
        with self.writing:
            expressions = edge_expressions(rows, self.targeting)
            numbers = self._change(lambda ledger, now: edge_changes.put_edges(ledger, rows, expressions, now))
            self._settling.note(self._ledger, "put_edges", rows, expressions, numbers)

    def drop_nodes(self, ids: Collection[str]) -> None:
        """Removes nodes with all their edges; ids of no node are passed over."""
        with self.writing:
            numbers = np.unique(self._current.numbers(pa.array(list(ids), pa.string())))
            numbers = numbers[numbers >= 0]
            if len(numbers):
                self._change(lambda ledger, now: edge_changes.drop_nodes(ledger, numbers, now))
                self._settling.note(self._ledger, "drop_nodes", ids)

    def drop_edges(self, edges: Iterable[Edge | int]) -> None:
        """Removes edges of the latest version, and the ends that nothing else makes known."""
        several = [edge.number if isinstance(edge, Edge) else edge for edge in edges]
        if not several:
            return
        with self.writing:
            numbers = np.unique(np.array(several, np.int32))
            self._change(lambda ledger, now: edge_changes.drop_edges(ledger, numbers, now))
            self._settling.note(self._ledger, "drop_edges", numbers)

    def put_aside(
        self, version: Version, expressions: Collection[int]
    ) -> tuple[list[tuple[Node, int]], list[tuple[Edge, int]]]:
        """Nodes and edges whose targeting is one of these of a version accept nothing from now on, until they are
        replaced. Returns them, each with the expression it had.
        """
        with self.writing:
            if self.targeting is not version.targeting:  # compiled anew meanwhile
                return [], []
            graph, wanted = self._current.graph, list(expressions)
            nodes, edges = self._current.node_numbers(), self._current.edge_numbers()
            records = self._current.records_of(nodes)
            nodes, records = (some[np.isin(graph.records[records, EXPRESSION], wanted)] for some in (nodes, records))
            edges = edges[np.isin(graph.edges[edges, EDGE_EXPRESSION], wanted)]
            named = [
                (self._current.node(int(node)), int(graph.records[record, EXPRESSION]))
                for node, record in zip(nodes, records, strict=True)
            ]
            linked = [(self._current.edge(int(edge)), int(graph.edges[edge, EDGE_EXPRESSION])) for edge in edges]

            if named or linked:
                self._change(lambda ledger, _: ledger.close(wanted))
                self._settling.note(self._ledger, "close", wanted)
            return named, linked

    def edge_number(self, id: str) -> int:
        """The number of the edge that has an edge_id in the latest version, or -1."""
        return edge_changes.find_edge(self._ledger, id)

    def find_edges(self, source: str | None, target: str | None, id: str | None) -> list[int]:
        """The edges of the latest version with this id, or these ends, or both where both are given."""
        version = self._current
        if id is None:
            return version.between_numbers(version.number(source or ""), version.number(target or ""))
        number = self.edge_number(id)
        if number < 0:
            return []
        edge = version.edge(number)
        return [number] if source in (None, edge.source) and target in (None, edge.target) else []

    def _change(self, change: Callable[[Ledger, int], Any]) -> Any:
        """Makes the next version."""
        self._ledger.arrays.own()
        result = change(self._ledger, self._version + 1)
        self._version += 1
        self._publish()
        return result

    def _publish(self) -> None:
        ledger = self._ledger
        if self._programs[0] != len(ledger.targeting):
            self._programs = len(ledger.targeting), ledger.targeting.snapshot()
        version = Version(ledger, ledger.arrays.graph(self._version), self._programs[1], ledger.size)
        with self._registry:
            self._current = version
        self._relink()

    # --- settling -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Clears away what changes left behind, now. Not to be called while holding `writing`."""
        self._settling.run()

    def wait(self) -> None:
        """Waits until nothing is being cleared away in the background."""
        self._settling.wait()

    def swap(self, ledger: Ledger) -> None:
        """Goes on with another ledger that shows the same. For `settling`, which holds `writing`."""
        self._ledger = ledger
        self._programs = len(ledger.targeting), ledger.targeting.snapshot()
        self._version = 0  # who reads the other ledger has versions of its own, and at most delays `relink`
        self._publish()


def _columns(nodes: Sequence[Node]) -> list[NodeRows]:
    """Nodes as columns, in parts that are all listed or all not."""
    parts: list[list[Node]] = []
    for node in nodes:
        if not parts or parts[-1][-1].listed != node.listed:
            parts.append([])
        parts[-1].append(node)
    return [NodeRows.of(part) for part in parts]


def _runs(rows: NodeRows) -> Iterator[NodeRows]:
    """The rows in parts in which no id comes twice."""
    if not len(rows):
        return
    if len(rows) == 1 or len(rows) == len(rows.ids.unique()):
        yield rows
        return
    first = 0
    seen: set[str] = set()
    for row, id in enumerate(strings(rows.ids)):
        if id in seen:
            yield rows.slice(first, row)
            first, seen = row, set()
        seen.add(id)
    yield rows.slice(first, len(rows))
