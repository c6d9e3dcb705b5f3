"""Where kernels write what is said of instances, and how far they came. Does not import Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.kernels.evolution_layout import Floats, Int32s, Int64s
from heliograph.kernels.metric_layout import INSTANCE, SAID_COLUMNS, STEP, Said
from heliograph.kernels.simple_graph_room import enlarged
from heliograph.kernels.sizes import room

ROW, SAID, NEEDED = range(3)  # of counters: the next change, sayings so far, sayings that there was no room for
_COUNTERS = 3
_LEAST = 1024  # sayings that there is room for at first


class Telling(NamedTuple):
    """Sayings in the order of their steps, and the place in the log up to which they are complete."""

    rows: Int32s  # rows (STEP, INSTANCE)
    values: Floats
    counters: Int64s

    @classmethod
    def nothing(cls) -> Telling:
        rows = np.empty((room(_LEAST), SAID_COLUMNS), np.int32)
        return cls(rows, np.empty(len(rows)), np.zeros(_COUNTERS, np.int64))

    def with_room(self) -> Telling:
        """The same sayings, with room for as many again and for what was lacking."""
        least = int(self.counters[SAID] + self.counters[NEEDED])
        rows = room(least + int(self.counters[SAID]) + _LEAST, least)
        if rows <= len(self.values):
            return self
        return self._replace(rows=enlarged(self.rows, rows), values=enlarged(self.values, rows))

    def said(self) -> Said:
        """All that was said, in arrays of their own."""
        count = int(self.counters[SAID])
        steps, instances = (self.rows[:count, column].copy() for column in (STEP, INSTANCE))
        return Said(steps, instances, self.values[:count].copy())
