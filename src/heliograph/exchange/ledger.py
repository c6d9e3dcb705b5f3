"""All that an exchange holds: its arrays, and beside them the ids, texts and labels that kernels do not need.

The law: everything is added and nothing changed, so that every version can be read from the same ledger. A node's
number, once given, stays with its id; when the node goes, its next record says that it is not there.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from heliograph.exchange.columns import Column, Ids
from heliograph.exchange.growing import Arrays, Room
from heliograph.exchange.rows import LABELS_TYPE, NO_LABELS, Edge, Node, refused_node
from heliograph.kernels.exchange_layout import (
    DIED,
    EDGE_EXPRESSION,
    EXPRESSION,
    FLAGS,
    LISTED_NODE,
    NEVER_DIED,
    NEWER,
    RECORD,
    TARGET,
)
from heliograph.kernels.targeting_layout import ALWAYS, NEVER, Int32s
from heliograph.syntax.predicate_form import Predicate
from heliograph.syntax.predicates import parse_predicate

if TYPE_CHECKING:
    from heliograph.targeting.store import Targeting

_REMEMBERED = 1 << 16  # nodes and edges made into objects; forgotten all at once when full


class Ledger:
    """The holdings of one exchange. The one writer adds; readers read."""

    def __init__(
        self, targeting: Targeting, match: str | None, writing: threading.RLock, room: Room | None = None
    ) -> None:
        self.targeting = targeting
        self.writing = writing  # held by whoever adds to the ledger or to its targeting
        self.match = match  # how nodes' labels are compared in place of their targeting
        # The expression of a node without targeting and labels.
        self.plain = ALWAYS if match is None else targeting.add_labels(NO_LABELS, match)
        self.arrays = Arrays(room)
        self.size = 0  # nodes that are there
        self.edge_count = 0  # edges that are there
        self.next_serial = 0
        self.settled = 0  # nodes and edges that came with the ledger
        self.wear = 0  # what is dead, lies apart or leads down because of changes: see `settling`
        self.history: deque[tuple[int, Int32s, Int32s]] = deque()  # versions, nodes, and their records from then on
        self.ids, self.names = Ids(), Column(pa.string())  # of nodes
        self.texts, self.labels = Column(pa.string()), Column(LABELS_TYPE)  # by record
        self.refused: dict[int, str] = {}  # by record
        self.edge_ids = Ids()
        self.edge_names, self.edge_texts = Column(pa.string()), Column(pa.string())  # by serial
        self._nodes: dict[int, Node] = {}
        self._edges: dict[int, Edge] = {}

    def node(self, number: int, record: int) -> Node:
        """A node as one of its records has it."""
        known = self._nodes.get(record)
        return self._remember(self._nodes, record, self._node(number, record)) if known is None else known

    def edge(self, number: int) -> Edge:
        known = self._edges.get(number)
        return self._remember(self._edges, number, self._edge(number)) if known is None else known

    def _remember(self, memo: dict[int, Any], key: int, made: Any) -> Any:
        """The object that is known by this key, so that all who ask at the same time get the same one."""
        if len(memo) >= _REMEMBERED:
            memo.clear()
        return memo.setdefault(key, made)

    def _node(self, number: int, record: int) -> Node:
        id = self.names.get(number)
        if record in self.refused:
            return replace(refused_node(id, self.refused[record]), number=number)
        text, labels = self.texts.get(record), self.labels.get(record)
        listed = bool(self.arrays.records[record, FLAGS] & LISTED_NODE)
        cost = float(self.arrays.record_costs[record])
        return Node(id, form_of(text), text, cost, frozenset(labels) if labels else NO_LABELS, None, listed, number)

    def _edge(self, number: int) -> Edge:
        arrays = self.arrays
        source, target = (self.names.get(int(end)) for end in (arrays.sources[number], arrays.edges[number, TARGET]))
        serial = int(arrays.serials[number])
        text, cost = self.edge_texts.get(serial), float(arrays.edge_costs[number])
        return Edge(source, target, self.edge_names.get(serial), form_of(text), text, cost, number)

    def close(self, expressions: list[int]) -> None:
        """Whatever has one of these expressions accepts nothing from now on, in every version."""
        records, edges = self.arrays.records, self.arrays.edges
        records[np.isin(records[:, EXPRESSION], expressions), EXPRESSION] = NEVER
        edges[np.isin(edges[:, EDGE_EXPRESSION], expressions), EDGE_EXPRESSION] = NEVER

    def relink(self, oldest: int) -> None:
        """Lets nodes begin with the record that the oldest version in use sees: earlier ones are out of use."""
        while self.history and self.history[0][0] <= oldest:
            _, numbers, records = self.history.popleft()
            self.arrays.nodes[numbers, RECORD] = records

    @property
    def nbytes(self) -> int:
        """The memory of everything but the texts and what came one by one."""
        columns = (self.names, self.texts, self.labels, self.edge_names, self.edge_texts)
        return self.arrays.nbytes + self.ids.nbytes + self.edge_ids.nbytes + sum(column.nbytes for column in columns)


@lru_cache(_REMEMBERED)
def form_of(text: str | None) -> Predicate:
    """The form of a targeting that was read before."""
    return parse_predicate(text)


def newest(arrays: Arrays, numbers: Int32s) -> Int32s:
    """The last record of each node."""
    records: Int32s = arrays.nodes[numbers, RECORD]
    while True:
        old = np.flatnonzero(arrays.records[records, DIED] != NEVER_DIED)
        if not len(old):
            return records
        records[old] = arrays.records[records[old], NEWER]
