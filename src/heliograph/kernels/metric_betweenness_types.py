"""Numba's types for the arrays of betweenness."""

from __future__ import annotations

from typing import Any

from numba import float64, int16, int32

from heliograph.kernels.metric_betweenness_layout import Board, Exact, Samples, Search, Work
from heliograph.kernels.types import (
    NEW_FLOATS,
    NEW_HASHES,
    NEW_INT8S,
    NEW_INT32S,
    NEW_INT64S,
    named,
    rows,
)

INT32_ROWS: Any = rows(int32, writable=True)
WORK: Any = named(Work, NEW_FLOATS, NEW_INT8S, NEW_INT8S, *[NEW_INT32S] * 8)
EXACT: Any = named(Exact, rows(int16, writable=True), rows(float64, writable=True), NEW_FLOATS, WORK)
SAMPLES: Any = named(
    Samples,
    *[NEW_INT32S] * 2,
    *[NEW_HASHES] * 2,
    *[NEW_INT32S] * 2,
    *[NEW_INT8S] * 2,
    INT32_ROWS,
)
SEARCH: Any = named(Search, NEW_INT32S, NEW_INT32S, NEW_FLOATS, NEW_INT32S, NEW_INT32S, NEW_HASHES)
BOARD: Any = named(Board, NEW_FLOATS, NEW_FLOATS, NEW_INT8S, NEW_INT32S, NEW_INT64S)
