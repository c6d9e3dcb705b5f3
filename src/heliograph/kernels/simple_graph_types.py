"""Numba's types for logs, for growing simple graphs, and for what is asked of instances."""

from __future__ import annotations

from typing import Any

from numba import int32, int64

from heliograph.kernels.metric_layout import Log
from heliograph.kernels.simple_graph_layout import Asked, Lists, Simple
from heliograph.kernels.types import FLOATS, INT8S, INT32S, NEW_INT8S, NEW_INT32S, NEW_INT64S, named, rows

INT32_ROWS: Any = rows(int32, writable=True)
LOG: Any = named(Log, INT32S, INT8S, INT32S, INT32S, INT32S, FLOATS)
LISTS: Any = named(Lists, INT32_ROWS, NEW_INT8S, NEW_INT32S, NEW_INT32S, NEW_INT32S, NEW_INT64S)
SIMPLE: Any = named(Simple, NEW_INT64S, NEW_INT32S, INT32_ROWS, NEW_INT32S, LISTS, LISTS, LISTS, NEW_INT64S)
ASKED: Any = named(Asked, FLOATS, INT32S, INT32S, int64)
