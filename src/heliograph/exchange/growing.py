"""The arrays of an exchange with room to grow.

The law: what one array says about another is valid in every version that holds both. Rows that readers see are
extended in place, and may lead a reader of an old version to places that came later, which it finds there and passes
over, because they were born later. So the arrays of a version have their whole capacity in view, and where one of them
is exchanged for a larger one, all are: those that readers hold are left as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np

from heliograph.errors import SubscriptionError
from heliograph.kernels.exchange_layout import EDGE_COLUMNS, NEVER_DIED, NODE_COLUMNS, RECORD_COLUMNS, Graph
from heliograph.kernels.targeting_layout import Floats, Int32s

ROOM = 3  # the column of `blocks`, known to the writer only, where the places of a block end
BLOCK_COLUMNS = 4
DEGREE = 7  # the column of `nodes`, known to the writer only, that counts the edges that touch a node

MOST_ROWS = np.iinfo(np.int32).max  # of each kind: about 80 GB of nodes, 60 GB of edges
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
    """The arrays and how many rows of each are in use."""

    nodes: Int32s
    records: Int32s
    record_costs: Floats
    edges: Int32s
    sources: Int32s
    edge_costs: Floats
    serials: Int32s  # the order in which edges were added
    entries: Int32s
    blocks: Int32s
    listed: Int32s
    loose: Int32s

    def __init__(self, room: Room | None = None) -> None:
        self.used = Room()
        self.capacity = room or Room()
        for kind in _KINDS:
            setattr(self.capacity, kind, max(_LEAST, getattr(self.capacity, kind)))
        self._graph: Graph | None = None
        self._shared = False
        for name, array in _allocated(self.capacity).items():
            setattr(self, name, array)

    @classmethod
    def of(cls, rows: Mapping[str, Any], used: Room) -> Self:
        """Arrays that are full, and may be mapped: to be made one's `own` before anything is changed."""
        made = cls.__new__(cls)
        made.used, made.capacity, made._graph, made._shared = used, replace(used), None, True
        for name in NAMES:
            setattr(made, name, rows[name])
        return made

    def own(self) -> None:
        """Sees to it that the arrays can be written to."""
        if self._shared:
            self._shared = False
            for kind in _KINDS:
                used = getattr(self.used, kind)
                setattr(self.capacity, kind, used + used // _SLACK + _LEAST)
            self._renew()

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def take(self, kind: str, count: int) -> int:
        """Takes rows of one kind into use and tells where they begin. Numbers of rows are int32."""
        first: int = getattr(self.used, kind)
        if first + count > MOST_ROWS:
            message = f"more than {MOST_ROWS:,} {kind} in one exchange, with those that were removed lately"
            raise SubscriptionError("HG-662", message, fix="divide it among several exchanges")
        if first + count > getattr(self.capacity, kind):
            self._grow(kind, first + count)
        setattr(self.used, kind, first + count)
        return first

    def _grow(self, kind: str, needed: int) -> None:
        setattr(self.capacity, kind, needed + needed // _SLACK + _LEAST)
        self._renew()

    def _renew(self) -> None:
        """Readers may look at single arrays meanwhile, so each is filled before it is shown."""
        for name, array in _allocated(self.capacity).items():
            old = getattr(self, name)
            array[: len(old)] = old
            setattr(self, name, array)
        self._graph = None

    def graph(self, version: int) -> Graph:
        """The arrays for readers of a version."""
        if self._graph is None:
            self._graph = Graph(0, 0, 0, *(_fixed(getattr(self, name)) for name in Graph._fields[3:]))
        return self._graph._replace(version=version, node_count=self.used.nodes, listed_count=self.used.listed)


def _allocated(rows: Room) -> dict[str, Any]:
    """Arrays in which nothing is visible yet."""
    return {
        "nodes": np.zeros((rows.nodes, NODE_COLUMNS), np.int32),
        "records": np.zeros((rows.records, RECORD_COLUMNS), np.int32),
        "record_costs": np.zeros(rows.records),
        "edges": np.full((rows.edges, EDGE_COLUMNS), NEVER_DIED, np.int32),
        "sources": np.zeros(rows.edges, np.int32),
        "edge_costs": np.zeros(rows.edges),
        "serials": np.zeros(rows.edges, np.int32),
        "entries": np.full(rows.entries, -1, np.int32),
        "blocks": np.zeros((rows.blocks, BLOCK_COLUMNS), np.int32),
        "listed": np.zeros(rows.listed, np.int32),
        "loose": np.zeros(rows.loose, np.int32),
    }


def _fixed(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


NAMES = tuple(_allocated(Room()))
"""Of the arrays."""
