"""The arrays in which triangles are kept. Does not import Numba.

The clustering coefficient of a vertex is 2 t / d (d − 1), with t triangles through it and d neighbours; 0 where d < 2.
Their sum over all vertices is kept in two words, HIGH + LOW / 2^60: every coefficient is cut off after 60 binary places
and adding whole numbers forgets nothing, so the sum is a function of the graph, whatever came and went before.
"""

from __future__ import annotations

from typing import NamedTuple

from heliograph.kernels.evolution_layout import Floats, Int32s, Int64s
from heliograph.kernels.simple_graph_layout import Simple

TRIANGLES, MARK = range(2)  # of vertices: triangles through it; 1 + its place among those that the step touched

# of counters: all triangles; the sum of d (d − 1); the sum of coefficients; SUMMING: whether that is kept; TOUCHED:
# vertices that the step touched; OPEN: whether changes of a step wait for its end; WANTED: room in `touched` that the
# next change might need; ENDED: steps of the log that are over
ALL, TRIPLES, HIGH, LOW, SUMMING, TOUCHED, OPEN, WANTED, ENDED = range(9)
COUNTERS = 9

S_STEP, S_ALL, S_TRIPLES, S_HIGH, S_LOW, S_VERTICES = range(6)  # of series
SERIES_COLUMNS = 6

PLACES = 60  # binary places of a coefficient in the sum


class Triangles(NamedTuple):
    """Triangles of a growing simple graph: everything changes."""

    graph: Simple
    vertices: Int64s  # rows by vertex
    touched: Int32s  # the vertices that the step touched and that somebody asks for
    before: Floats  # beside them, their coefficients before it
    counters: Int64s
    series: Int64s  # rows: the counters at the end of each step of the log; without rows nobody wants them
