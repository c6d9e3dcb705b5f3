"""Core numbers as their owner sees them: who makes room, and calls the kernels.

Kernels change graph and core numbers for as long as they have room; then they return, more is made wherever it is
short, and they go on where they stopped. Does not import Numba before a kernel is needed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from heliograph.kernels.metric_dense_layout import (
    ALWAYS,
    BOUND_COLUMNS,
    COUNTERS,
    LEVELS,
    ROW,
    SAID,
    SEEN,
    Audience,
    Cores,
)
from heliograph.kernels.metric_density_layout import Sayings
from heliograph.kernels.metric_layout import EVERY, INSTANCE, SAID_COLUMNS, STEP, Log, Said
from heliograph.kernels.simple_graph_layout import LENGTH
from heliograph.kernels.simple_graph_room import GrowingGraph, enlarged, fixed_log, more
from heliograph.kernels.sizes import room

_LEAST = 16  # core numbers, or sayings, of new arrays
_ENDS = Cores._fields.index("ends")
_BY_VERTEX, _BY_CORE = Cores._fields[:_ENDS], Cores._fields[_ENDS:-1]


class Coring:
    """A growing graph and the core numbers of its vertices."""

    def __init__(self) -> None:
        self.graph = GrowingGraph()
        self.arrays = _empty()
        self._sayings = Sayings(np.empty((room(_LEAST), SAID_COLUMNS), np.int32), np.empty(room(_LEAST)))
        self.cover(self.graph.vertices)

    @property
    def vertices(self) -> int:
        return len(self.arrays.core)

    @property
    def nbytes(self) -> int:
        return self.graph.nbytes + sum(array.nbytes for array in self.arrays)

    @property
    def seen(self) -> int:
        """How many values were worked out so far to find who passed a cut."""
        return int(self.arrays.counters[SEEN])

    def cover(self, vertices: int) -> None:
        """Makes ids below `vertices` valid."""
        from heliograph.kernels.metric_dense import begin_vertices

        self.graph.cover(vertices)
        before, rows = self.vertices, self.graph.vertices
        if rows > before:
            self.arrays = _enlarged(self.arrays, _BY_VERTEX, rows)
            begin_vertices(self.arrays, before)

    def take_over(self, log: Log) -> None:
        """Takes edges over, and finds core numbers from scratch."""
        from heliograph.kernels.metric_dense_peel import peel, take_order

        self.graph.take_over(log)
        self.cover(self.graph.vertices)
        degrees = self.graph.arrays.undirected.heads[:, LENGTH]
        largest = peel(self.graph.arrays, self.arrays, np.zeros(int(degrees.max(initial=0)) + 2, np.int64))
        self._cover_levels(largest + 2)
        for array in (self.arrays.ends, self.arrays.sizes):
            array[:] = 0
        take_order(self.graph.arrays, self.arrays, largest)

    def refresh(self, first: int, last: int) -> None:
        """What the vertices from one on and before another have now counts as told."""
        from heliograph.kernels.metric_dense import look_at

        self.cover(last)
        look_at(self.graph.arrays, self.arrays, first, last)

    def value(self, vertex: int) -> float:
        self.refresh(vertex, vertex + 1)
        return float(self.arrays.values[vertex])

    def follow(self, log: Log, audience: Audience) -> Said:
        """Takes changes over; what passed a cut."""
        from heliograph.kernels.metric_dense import follow

        log = fixed_log(log)
        if len(log.step):
            self.cover(1 + int(max(log.subject.max(), log.object.max())))
        counters = self.arrays.counters
        counters[[ROW, SAID]] = 0
        counters[ALWAYS] = audience.asked.everyone == EVERY or EVERY in audience.asked.numbers
        while not follow(self.graph.arrays, self.arrays, log, audience, self._sayings):
            self._grow()
        return self._said()

    def _said(self) -> Said:
        said = int(self.arrays.counters[SAID])
        rows = self._sayings.rows[:said]
        return Said(rows[:, STEP].copy(), rows[:, INSTANCE].copy(), self._sayings.values[:said].copy())

    # --- room -------------------------------------------------------------------------------------------------------

    def _grow(self) -> None:
        """Makes room wherever it might be short."""
        self.graph.grow()
        counters, sayings = self.arrays.counters, self._sayings
        self._cover_levels(int(counters[LEVELS]) + 1)
        if counters[SAID] == len(sayings.rows):
            rows = more(len(sayings.rows))
            self._sayings = Sayings(enlarged(sayings.rows, rows), enlarged(sayings.values, rows))

    def _cover_levels(self, levels: int) -> None:
        if levels > len(self.arrays.ends):
            self.arrays = _enlarged(self.arrays, _BY_CORE, more(levels))


def _enlarged(arrays: Cores, names: Iterable[str], rows: int) -> Cores:
    return arrays._replace(**{name: enlarged(getattr(arrays, name), rows) for name in names})


def _empty() -> Cores:
    """No vertices, and one core number, 0."""
    counters, rows = np.zeros(COUNTERS, np.int64), room(_LEAST)
    counters[LEVELS] = 1
    return Cores(
        core=np.zeros(0, np.int32),
        later=np.zeros(0, np.int32),
        level=np.zeros(0, np.int32),
        label=np.zeros(0, np.int64),
        links=np.zeros((0, 2), np.int32),
        waiting=np.zeros(0, np.int32),
        state=np.zeros(0, np.uint8),
        queue=np.zeros(0, np.int32),
        rising=np.zeros(0, np.int32),
        evicted=np.zeros(0, np.int32),
        moved=np.zeros(0, np.int32),
        is_moved=np.zeros(0, np.uint8),
        values=np.zeros(0),
        ends=np.zeros((rows, 2), np.int32),
        sizes=np.zeros((rows, 2), np.int64),
        bounds=np.zeros((rows, BOUND_COLUMNS)),
        best=np.zeros(rows),
        whole=np.zeros((rows, 2), np.int64),
        above=np.zeros(rows, np.int64),
        is_open=np.zeros(rows, np.uint8),
        counters=counters,
    )
