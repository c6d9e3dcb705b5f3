"""A growing simple graph as its owner sees it: who makes room, and hands kernels the arrays. Does not import Numba.

Kernels change the graph for as long as they have room; then they return, `grow` makes more, and `arrays` is to be asked
for again. Numbers of pairs and orders of lists outlive every growth.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Int64s
from heliograph.kernels.metric_layout import Log
from heliograph.kernels.simple_graph_layout import (
    COLUMN,
    FREE,
    FULL,
    GRAPH_COUNTERS,
    LIST_COUNTERS,
    NEED,
    NUMBERS,
    PARTS,
    PLACES,
    POOL,
    SIZES,
    TAKEN,
    Lists,
    Simple,
)
from heliograph.kernels.sizes import room

_LEAST = 16  # rows of a new array; a power of two
_FIRST_NEED = 4  # places for two blocks of two
_KINDS = (np.int32, np.uint8, np.int32, np.int32, np.int32, np.float64)  # of a log
_ARRAY = TypeVar("_ARRAY", bound="npt.NDArray[Any]")


class GrowingGraph:
    """The simple graph of a log's edges, with lists of neighbours of the kinds that are kept."""

    def __init__(self, *, undirected: bool = True, directed: bool = False) -> None:
        self.arrays = Simple(
            np.zeros(room(_LEAST), np.int64),
            np.empty(room(_LEAST), np.int32),
            np.empty((room(_LEAST), PLACES + 2 * undirected + 4 * directed), np.int32),
            np.zeros(room(_LEAST), np.int32),
            _lists(PLACES if undirected else 0),
            _lists(PLACES + 2 * undirected if directed else 0),
            _lists(PLACES + 2 * undirected + 2 if directed else 0),
            np.zeros(GRAPH_COUNTERS, np.int64),
        )

    @property
    def vertices(self) -> int:
        """How many ids of vertices are covered."""
        return len(self.arrays.touching)

    @property
    def nbytes(self) -> int:
        graph = self.arrays
        flat = (graph.keys, graph.numbers, graph.pairs, graph.touching, graph.counters)
        return sum(array.nbytes for array in (*flat, *graph.undirected, *graph.out, *graph.into))

    def take_over(self, log: Log) -> None:
        """Applies a whole log, however much room it needs."""
        from heliograph.kernels.simple_graph import take_over

        log, row = fixed_log(log), 0
        self.cover_log(log)
        while (row := take_over(self.arrays, log, row)) < len(log.step):
            self.grow()

    def cover_log(self, log: Log) -> None:
        """Makes the vertices of a log valid ends of edges."""
        if len(log.step):
            self.cover(1 + int(max(log.subject.max(), log.object.max())))

    def cover(self, vertices: int) -> None:
        """Makes ids below `vertices` valid ends of edges."""
        if vertices > self.vertices:
            rows, graph = max(vertices, more(self.vertices)), self.arrays
            undirected, out, into = (_covering(lists, rows) for lists in (graph.undirected, graph.out, graph.into))
            touching = enlarged(graph.touching, rows)
            self.arrays = graph._replace(touching=touching, undirected=undirected, out=out, into=into)

    def grow(self) -> None:
        """Makes room wherever there is none for another change."""
        graph, counters = self.arrays, self.arrays.counters
        if counters[FREE] == 0 and counters[NUMBERS] >= len(graph.pairs):
            graph = graph._replace(pairs=enlarged(graph.pairs, more(len(graph.pairs))))
        if PARTS * (counters[TAKEN] + 1) > FULL * len(graph.keys):
            graph = _rehashed(graph)
        undirected, out, into = (_grown(lists) for lists in (graph.undirected, graph.out, graph.into))
        self.arrays = graph._replace(undirected=undirected, out=out, into=into)


def _lists(column: int) -> Lists:
    """Lists without neighbours, with the first of their columns; none at all where there is no such column."""
    rows, counters = room(_LEAST) if column else 0, np.zeros(LIST_COUNTERS, np.int64)
    counters[NEED], counters[COLUMN] = _FIRST_NEED if column else 0, column
    heads, sizes = np.zeros((rows, 2), np.int32), np.zeros(rows, np.uint8)
    return Lists(heads, sizes, np.empty(rows, np.int32), np.empty(rows, np.int32), np.zeros(SIZES, np.int32), counters)


def _covering(lists: Lists, rows: int) -> Lists:
    if not lists.counters[COLUMN]:
        return lists
    return lists._replace(heads=enlarged(lists.heads, rows), room=enlarged(lists.room, rows))


def _grown(lists: Lists) -> Lists:
    needed = int(lists.counters[POOL] + lists.counters[NEED])
    if needed <= len(lists.pool):
        return lists
    places = max(needed, more(len(lists.pool)))
    return lists._replace(pool=enlarged(lists.pool, places), owners=enlarged(lists.owners, places))


def _rehashed(graph: Simple) -> Simple:
    from heliograph.kernels.simple_graph import rehash

    keys, numbers = np.zeros(2 * len(graph.keys), np.int64), np.empty(2 * len(graph.keys), np.int32)
    rehash(fixed(graph.keys, np.int64), fixed(graph.numbers, np.int32), keys, numbers)
    return graph._replace(keys=keys, numbers=numbers)


# --- arrays -----------------------------------------------------------------------------------------------------


def more(rows: int) -> int:
    """Half as many again: what is copied in growing is twice what there is in the end."""
    return room(rows + rows // 2 + _LEAST, rows + 1)


def enlarged(array: _ARRAY, rows: int) -> _ARRAY:
    """The same rows, with room for more; the new ones hold zeros."""
    larger = np.zeros((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger  # type: ignore[return-value]


def fixed(column: Any, kind: Any) -> Any:
    """As kernels take what they only read."""
    view = np.ascontiguousarray(column, kind).view()
    view.flags.writeable = False
    return view


def fixed_log(log: Log) -> Log:
    """A log as kernels take it."""
    return Log._make(fixed(column, kind) for column, kind in zip(log, _KINDS, strict=True))


def counted(graph: Simple, counter: int) -> int:
    """One of the counters of a graph."""
    counters: Int64s = graph.counters
    return int(counters[counter])
