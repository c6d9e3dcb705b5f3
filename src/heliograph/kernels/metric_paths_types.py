"""Numba's types for the arrays of shortest paths between terminals."""

from __future__ import annotations

from typing import Any

from numba import float64

from heliograph.kernels.evolution_types import INT32_ROWS, NEW_FLOATS, NEW_INT32S, NEW_INT64S
from heliograph.kernels.metric_paths_layout import Reach, Scratch, Telling
from heliograph.kernels.simple_graph_types import ASKED
from heliograph.kernels.types import named, rows

FLOAT_ROWS: Any = rows(float64, writable=True)
REACH: Any = named(
    Reach,
    NEW_INT32S,  # slots
    INT32_ROWS,  # entries
    FLOAT_ROWS,  # sums
    NEW_INT32S,  # heap
    NEW_INT32S,  # stack
    NEW_INT32S,  # first
    NEW_INT32S,  # touching
    NEW_INT32S,  # centred
    INT32_ROWS,  # balls
    NEW_FLOATS,  # radii
    INT32_ROWS,  # pairs
    FLOAT_ROWS,  # meets
    INT32_ROWS,  # groups
    NEW_FLOATS,  # bounds
    NEW_FLOATS,  # told
    NEW_INT32S,  # queue
    NEW_FLOATS,  # limits
    NEW_INT64S,  # counters
)
SCRATCH: Any = named(
    Scratch, INT32_ROWS, FLOAT_ROWS, INT32_ROWS, INT32_ROWS, INT32_ROWS, NEW_INT64S, INT32_ROWS, FLOAT_ROWS
)
TELLING: Any = named(Telling, ASKED, INT32_ROWS, NEW_FLOATS)
