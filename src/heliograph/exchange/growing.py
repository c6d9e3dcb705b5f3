"""The arrays of an exchange with room to grow.

The law: what one array says about another is valid in every version that holds both. Rows that readers see are
extended in place, and may lead a reader of an old version to places that came later, which it finds there and passes
over, because they were born later. So the arrays of a version have their whole capacity in view, and where one of them
is exchanged for a larger one, all are: those that readers hold are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from heliograph.kernels.exchange_layout import EDGE_COLUMNS, NEVER_DIED, NODE_COLUMNS, RECORD_COLUMNS, Graph
from heliograph.kernels.targeting_layout import Floats, Int32s

ROOM = 3  # the column of `blocks`, known to the writer only, where the places of a block end
BLOCK_COLUMNS = 4
DEGREE = 7  # the column of `nodes`, known to the writer only, that counts the edges that touch a node

_SLACK = 4  # of a full array one part in so many is added as room: growth costs each element a few copies
_LEAST = 16


@dataclass(slots=True)
class Room:
    """Rows of every kind of array: those in use, or those that there is memory for."""

    nodes: int = 0
    records: int = 0
    edges: int = 0
    entries: int = 0
    blocks: int = 0
    listed: int = 0
    loose: int = 0


_KINDS = tuple(field.name for field in fields(Room))


class Arrays:
    """The arrays and how many rows of each are in use. Only the writer uses this."""

    def __init__(self, room: Room | None = None) -> None:
        self.used = Room()
        self.capacity = room or Room()
        for kind in _KINDS:
            setattr(self.capacity, kind, max(_LEAST, getattr(self.capacity, kind)))
        self._allocate()

    def _allocate(self) -> None:
        rows = self.capacity
        self.nodes: Int32s = np.zeros((rows.nodes, NODE_COLUMNS), np.int32)
        self.records: Int32s = np.zeros((rows.records, RECORD_COLUMNS), np.int32)
        self.record_costs: Floats = np.zeros(rows.records)
        self.edges: Int32s = np.full((rows.edges, EDGE_COLUMNS), NEVER_DIED, np.int32)
        self.sources: Int32s = np.zeros(rows.edges, np.int32)
        self.edge_costs: Floats = np.zeros(rows.edges)
        self.serials: Int32s = np.zeros(rows.edges, np.int32)  # the order in which edges were added
        self.entries: Int32s = np.full(rows.entries, -1, np.int32)
        self.blocks: Int32s = np.zeros((rows.blocks, BLOCK_COLUMNS), np.int32)
        self.listed: Int32s = np.zeros(rows.listed, np.int32)
        self.loose: Int32s = np.zeros(rows.loose, np.int32)
        self._graph: Graph | None = None

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._parts().values())

    def take(self, kind: str, count: int) -> int:
        """Takes rows of one kind into use and tells where they begin."""
        first: int = getattr(self.used, kind)
        if first + count > getattr(self.capacity, kind):
            self._grow(kind, first + count)
        setattr(self.used, kind, first + count)
        return first

    def _grow(self, kind: str, needed: int) -> None:
        old = self._parts()
        setattr(self.capacity, kind, needed + needed // _SLACK + _LEAST)
        self._allocate()
        for name, array in self._parts().items():
            array[: len(old[name])] = old[name]

    def _parts(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def graph(self, version: int) -> Graph:
        """The arrays for readers of a version."""
        if self._graph is None:
            self._graph = Graph(0, 0, 0, *(_fixed(getattr(self, name)) for name in Graph._fields[3:]))
        return self._graph._replace(version=version, node_count=self.used.nodes, listed_count=self.used.listed)


def _fixed(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view
