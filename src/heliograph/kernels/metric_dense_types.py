"""Numba's types for core numbers and for who asks about them."""

from __future__ import annotations

from typing import Any

from numba import float64, int64

from heliograph.kernels.metric_dense_layout import Audience, Cores
from heliograph.kernels.metric_density_layout import Sayings
from heliograph.kernels.metric_layout import Cuts
from heliograph.kernels.simple_graph_types import ASKED, INT32_ROWS
from heliograph.kernels.types import FLOATS, INT32S, NEW_FLOATS, NEW_INT8S, NEW_INT32S, NEW_INT64S, named, rows

_INT64_ROWS: Any = rows(int64, writable=True)
_FLOAT_ROWS: Any = rows(float64, writable=True)

CORES: Any = named(
    Cores,
    NEW_INT32S,  # core
    NEW_INT32S,  # later
    NEW_INT32S,  # level
    NEW_INT64S,  # label
    INT32_ROWS,  # links
    NEW_INT32S,  # waiting
    NEW_INT8S,  # state
    NEW_INT32S,  # queue
    NEW_INT32S,  # rising
    NEW_INT32S,  # evicted
    NEW_INT32S,  # moved
    NEW_INT8S,  # is_moved
    NEW_FLOATS,  # values
    INT32_ROWS,  # ends
    _INT64_ROWS,  # sizes
    _FLOAT_ROWS,  # bounds
    NEW_FLOATS,  # best
    _INT64_ROWS,  # whole
    NEW_INT64S,  # above
    NEW_INT8S,  # is_open
    NEW_INT64S,  # counters
)
AUDIENCE: Any = named(Audience, ASKED, named(Cuts, FLOATS, INT32S), INT32S)
SAYINGS: Any = named(Sayings, INT32_ROWS, NEW_FLOATS)
