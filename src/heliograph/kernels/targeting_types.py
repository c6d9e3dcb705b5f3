"""Numba's types for compiled targeting, encoded events, boards and exchanges."""

from __future__ import annotations

from typing import Any

from numba import float64, int8, int32, int64, uint8, uint64

from heliograph.kernels import board_layout, exchange_layout, targeting_layout
from heliograph.kernels.types import array, named, rows

INT32S, INT64S, FLOATS, BYTES, MASKS = (array(dtype) for dtype in (int32, int64, float64, uint8, uint64))
NEW_INT32S, NEW_INT64S, NEW_FLOATS, NEW_BYTES, NEW_MASKS = (
    array(dtype, writable=True) for dtype in (int32, int64, float64, uint8, uint64)
)
INT32_ROWS, NEW_INT32_ROWS, NEW_MASK_ROWS = rows(int32), rows(int32, writable=True), rows(uint64, writable=True)

PROGRAMS: Any = named(targeting_layout.Programs, INT64S, INT32S, FLOATS, INT32S, INT64S, BYTES)
CELLS: Any = named(targeting_layout.Cells, INT64S, INT32S, BYTES, FLOATS, INT32S, INT64S, INT32S, BYTES)
EVENTS: Any = named(board_layout.Events, PROGRAMS, CELLS, rows(int8))
BOARD: Any = named(
    board_layout.Board,
    NEW_INT64S,
    NEW_INT32S,
    NEW_INT32_ROWS,
    NEW_MASK_ROWS,
    NEW_FLOATS,
    NEW_MASKS,
    NEW_INT64S,
    NEW_BYTES,
    NEW_MASKS,
    NEW_INT64S,
    NEW_INT64S,
    NEW_INT64S,
    NEW_MASKS,
)
GRAPH: Any = named(
    exchange_layout.Graph,
    int64,
    int64,
    int64,
    INT32_ROWS,
    INT32_ROWS,
    FLOATS,
    INT32_ROWS,
    INT32S,
    FLOATS,
    INT32S,
    INT32_ROWS,
    INT32S,
    INT32S,
)
