"""Numba's types for the arrays of an evolving graph, and rows of edges for its kernels."""

from __future__ import annotations

from typing import Any

from numba import float64, int32, int64

from heliograph.kernels.evolution_layout import Graph, Rows, Window
from heliograph.kernels.types import FLOATS, INT32S, INT64S, array, named, rows

NEW_INT32S, NEW_INT64S, NEW_FLOATS = (array(dtype, writable=True) for dtype in (int32, int64, float64))
INT32_ROWS, INT64_ROWS = rows(int32, writable=True), rows(int64, writable=True)

GRAPH: Any = named(
    Graph,
    NEW_INT64S,  # slots
    INT32_ROWS,  # edges
    INT32_ROWS,  # places
    NEW_INT32S,  # heads
    INT32_ROWS,  # runs
    NEW_INT32S,  # first
    INT32_ROWS,  # pool
    NEW_INT64S,  # free
    NEW_FLOATS,  # weights
    INT64_ROWS,  # times
    NEW_INT64S,  # counters
)
WINDOW: Any = named(Window, INT64_ROWS, INT64_ROWS, NEW_INT64S)
ROWS: Any = named(Rows, INT32S, INT32S, INT32S, FLOATS, INT64S, INT64S, INT64S)
