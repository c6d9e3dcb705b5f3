"""The arrays in which cliques are counted. Does not import Numba."""

from __future__ import annotations

from typing import NamedTuple

from heliograph.kernels.evolution_layout import Int8s, Int32s, Int64s
from heliograph.kernels.simple_graph_layout import Simple

# of counters: how many vertices a clique has; cliques; the next change of the log; its steps that are over; the room
# in `found` that the next change might need
SIZE, CLIQUES, ROW, ENDED, WANTED = range(5)
COUNTERS = 5

S_STEP, S_CLIQUES, S_VERTICES = range(3)  # of series
SERIES_COLUMNS = 3


class Cliques(NamedTuple):
    """Cliques of a growing simple graph: everything changes. Those of 1 and 2 need no lists, marks or room."""

    graph: Simple
    marks: Int8s  # by vertex, while cliques are counted: in which of two sets it is, the second within the first
    found: Int32s  # those sets, one behind the other
    counters: Int64s
    series: Int64s  # rows: cliques and vertices at the end of each step of the log
