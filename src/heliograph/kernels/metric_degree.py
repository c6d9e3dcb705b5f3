"""Degrees of vertices, kept as edges come and go.

The law: only what a step adds up to counts. What it adds is collected beside the degree; at its end the ends of its
edges are gone through once more, and whoever was met has nothing left to collect.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_layout import CAME, CHANGED, Log
from heliograph.kernels.prefetching import prefetch
from heliograph.kernels.simple_graph_asked import is_told
from heliograph.kernels.simple_graph_layout import Asked
from heliograph.kernels.simple_graph_telling import can_tell, step_end, tell
from heliograph.kernels.simple_graph_telling_layout import NEEDED, ROW, Telling
from heliograph.kernels.simple_graph_types import ASKED, INT32_ROWS, LOG, TELLING

NOW, PENDING = range(2)  # of the rows of vertices
OUT, IN = 1, 2  # which ends count: bits
_AHEAD = 16  # changes; the ends of edges lie anywhere, so their rows are asked for before they are needed


@kernel((INT32_ROWS, int64, LOG, ASKED, TELLING))
def follow_degrees(degrees: Any, ends: Any, log: Log, asked: Asked, telling: Telling) -> Any:
    """Takes a log over, step by step; whether all of it is, or room for sayings is lacking."""
    while telling.counters[ROW] < len(log.step):
        row = telling.counters[ROW]
        end = step_end(log, row)
        telling.counters[NEEDED] = 2 * (end - row)
        if not can_tell(telling, 2 * (end - row)):
            return False
        _collect(degrees, ends, log, row, end)
        _settle_ends(degrees, ends, log, asked, telling)
        telling.counters[ROW] = end
    return True


@kernel()
def _collect(degrees: Any, ends: Any, log: Log, row: Any, end: Any) -> None:
    for i in range(row, end):
        _look_ahead(degrees, log, i + _AHEAD)
        if log.change[i] != CHANGED:
            by = 1 if log.change[i] == CAME else -1
            if ends & OUT:
                degrees[log.subject[i], PENDING] += by
            if ends & IN:
                degrees[log.object[i], PENDING] += by


@kernel(inline=True)
def _look_ahead(degrees: Any, log: Log, row: Any) -> None:
    if row < len(log.step):
        prefetch(degrees, 2 * np.int64(log.subject[row]))
        prefetch(degrees, 2 * np.int64(log.object[row]))


@kernel(inline=True)
def _settle_ends(degrees: Any, ends: Any, log: Log, asked: Asked, telling: Telling) -> None:
    """The step that begins at the telling's row is over."""
    row = telling.counters[ROW]
    step = log.step[row]
    while row < len(log.step) and log.step[row] == step:
        if ends & OUT:
            _settle(degrees, log.subject[row], step, asked, telling)
        if ends & IN:
            _settle(degrees, log.object[row], step, asked, telling)
        row += 1


@kernel(inline=True)
def _settle(degrees: Any, vertex: Any, step: Any, asked: Asked, telling: Telling) -> None:
    """What a vertex collected is added to its degree, and told if it passes a cut."""
    by, before = degrees[vertex, PENDING], degrees[vertex, NOW]
    if by == 0:
        return
    degrees[vertex, NOW], degrees[vertex, PENDING] = before + by, 0
    if is_told(asked, vertex, np.float64(before), np.float64(before + by)):
        tell(telling, step, vertex, np.float64(before + by))
