"""Groups of vertices as their owner sees them: who makes room, numbers groups, and calls the kernels.

Kernels change graph and groups for as long as they have room; then they return, more is made wherever it is short, and
they go on where they stopped. Does not import Numba before a kernel is needed.
"""

from __future__ import annotations

import numpy as np

from heliograph.kernels.metric_density_layout import (
    CHANGED,
    COUNTERS,
    ENTRY_COLUMNS,
    GROUP_COLUMNS,
    HOPS,
    INSTANCE,
    LIVE,
    NEEDED,
    PICK,
    ROW,
    SAID,
    Groups,
    Sayings,
    Selections,
)
from heliograph.kernels.metric_layout import INSTANCE as SAID_INSTANCE
from heliograph.kernels.metric_layout import SAID_COLUMNS, STEP, Log, Said
from heliograph.kernels.simple_graph_layout import Asked
from heliograph.kernels.simple_graph_room import GrowingGraph, enlarged, fixed, fixed_log, more
from heliograph.kernels.sizes import room

_LEAST = 16  # entries of a new array; a power of two


class Grouping:
    """A growing graph and groups of its vertices; `hops` is how far a group reaches from its centre, if it has one."""

    def __init__(self, hops: int = 0) -> None:
        self.graph = GrowingGraph()
        self.arrays = _empty(hops, self.graph.vertices)
        self._sayings = Sayings(np.empty((room(_LEAST), SAID_COLUMNS), np.int32), np.empty(room(_LEAST)))
        self._free: list[int] = []
        self._given = 0

    @property
    def nbytes(self) -> int:
        return self.graph.nbytes + sum(array.nbytes for array in self.arrays)

    def cover(self, vertices: int) -> None:
        """Makes ids below `vertices` valid members of groups."""
        self.graph.cover(vertices)
        rows = self.graph.vertices
        if rows > len(self.arrays.heads):
            heads, lengths = (enlarged(array, rows) for array in (self.arrays.heads, self.arrays.lengths))
            self.arrays = self.arrays._replace(heads=heads, lengths=lengths)

    def new_group(self, instance: int | None = None) -> int:
        """A group without vertices; its instance is its own number unless it is told another."""
        if self._free:
            group = self._free.pop()
        else:
            group, self._given = self._given, self._given + 1
            self._cover_groups(self._given)
        self.arrays.groups[group] = 0
        self.arrays.groups[group, INSTANCE] = group if instance is None else instance
        self.arrays.values[group] = 0.0
        return group

    def give_back(self, group: int) -> None:
        """A group without vertices is no more."""
        self._free.append(group)

    def gather(self, group: int, centre: int) -> None:
        """Fills a group with what lies around a centre, silently."""
        from heliograph.kernels.metric_density_follow import gather, take_as_told

        self.cover(centre + 1)
        while not gather(self.graph.arrays, self.arrays, group, centre):
            self._grow_entries()
        take_as_told(self.arrays)

    def dissolve(self, group: int, centre: int) -> None:
        from heliograph.kernels.metric_density_follow import dissolve

        dissolve(self.graph.arrays, self.arrays, group, centre)
        self.give_back(group)

    def clear(self, group: int) -> None:
        """A group without a centre goes."""
        from heliograph.kernels.metric_density_follow import clear

        clear(self.arrays, group)
        self.give_back(group)

    def take_over(self, log: Log) -> None:
        """Takes edges over while there are no groups."""
        self.graph.take_over(log)
        self.cover(self.graph.vertices)

    def value(self, group: int) -> float:
        return float(self.arrays.values[group])

    def follow(self, log: Log, selections: Selections, asked: Asked) -> Said:
        """Takes both over; what passed a cut."""
        from heliograph.kernels.metric_density_follow import follow

        log, selections = fixed_log(log), Selections._make(fixed(column, np.int32) for column in selections)
        self.cover(1 + max((int(column.max()) for column in (log.subject, log.object) if len(column)), default=-1))
        self.cover(1 + int(selections.vertex.max(initial=-1)))
        self.arrays.counters[[ROW, PICK, SAID]] = 0
        while not follow(self.graph.arrays, self.arrays, log, selections, asked, self._sayings):
            self._grow()
        return self._said()

    def _said(self) -> Said:
        said = int(self.arrays.counters[SAID])
        rows = self._sayings.rows[:said]
        return Said(rows[:, STEP].copy(), rows[:, SAID_INSTANCE].copy(), self._sayings.values[:said].copy())

    # --- room -------------------------------------------------------------------------------------------------------

    def _grow(self) -> None:
        """Makes room wherever it might be short."""
        self.graph.grow()
        counters, sayings = self.arrays.counters, self._sayings
        if counters[SAID] + counters[CHANGED] > len(sayings.rows):
            rows = more(int(counters[SAID] + counters[CHANGED]))
            self._sayings = Sayings(enlarged(sayings.rows, rows), enlarged(sayings.values, rows))
        self._grow_entries()

    def _grow_entries(self) -> None:
        """Room for as many entries as a kernel said it needs, at least twice as many as there were if it is short."""
        arrays, needed = self.arrays, int(self.arrays.counters[LIVE] + self.arrays.counters[NEEDED])
        if needed > len(arrays.entries):
            least = 1 << (needed - 1).bit_length()
            size = room(max(2 * len(arrays.entries), least), least)
            entries, queue, orphans = (enlarged(each, size) for each in (arrays.entries, arrays.queue, arrays.orphans))
            self.arrays = _rehashed(arrays._replace(entries=entries, queue=queue, orphans=orphans), 2 * size)

    def _cover_groups(self, number: int) -> None:
        arrays = self.arrays
        if number > len(arrays.groups):
            rows = more(number)
            names = ("groups", "values", "changed")
            self.arrays = arrays._replace(**{name: enlarged(getattr(arrays, name), rows) for name in names})


def _empty(hops: int, vertices: int) -> Groups:
    counters, rows = np.zeros(COUNTERS, np.int64), room(_LEAST)
    counters[HOPS] = hops
    return Groups(
        keys=np.zeros(2 * rows, np.int64),
        numbers=np.empty(2 * rows, np.int32),
        entries=np.empty((rows, ENTRY_COLUMNS), np.int32),
        heads=np.zeros((vertices, 2), np.int32),
        lengths=np.zeros((vertices, 2), np.int32),
        groups=np.zeros((rows, GROUP_COLUMNS), np.int64),
        values=np.zeros(rows),
        queue=np.empty(rows, np.int32),
        orphans=np.empty((rows, 2), np.int32),
        changed=np.empty(rows, np.int32),
        counters=counters,
    )


def _rehashed(arrays: Groups, places: int) -> Groups:
    from heliograph.kernels.simple_graph import rehash

    keys, numbers = np.zeros(places, np.int64), np.empty(places, np.int32)
    rehash(fixed(arrays.keys, np.int64), fixed(arrays.numbers, np.int32), keys, numbers)
    return arrays._replace(keys=keys, numbers=numbers)
