"""Counts of cliques, kept as edges come and go.

The law: a pair that comes or goes changes the count by the cliques that it is part of. A change is begun only if there
is room for all that it may do, so whoever returns for want of room goes on from the very place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_cliques_layout import (
    CLIQUES,
    ENDED,
    ROW,
    S_CLIQUES,
    S_STEP,
    S_VERTICES,
    SIZE,
    WANTED,
    Cliques,
)
from heliograph.kernels.metric_cliques_pairs import cliques_with
from heliograph.kernels.metric_layout import CAME, CHANGED, Log
from heliograph.kernels.simple_graph import add_edge, drop_edge, has_room
from heliograph.kernels.simple_graph_layout import JOINED, NEW_PAIR, VERTICES
from heliograph.kernels.simple_graph_lists import list_length
from heliograph.kernels.simple_graph_types import INT64_ROWS, LOG, SIMPLE
from heliograph.kernels.types import NEW_INT8S, NEW_INT32S, NEW_INT64S, named

STATE: Any = named(Cliques, SIMPLE, NEW_INT8S, NEW_INT32S, NEW_INT64S, INT64_ROWS)


@kernel((STATE, LOG))
def follow_cliques(state: Cliques, log: Log) -> Any:
    """Takes a log over, change by change; whether all of it is, or room is lacking."""
    row = state.counters[ROW]
    while row < len(log.step):
        if not _has_room(state, log.subject[row], log.object[row]):
            return False
        state.counters[CLIQUES] += _change(
            state, np.int64(log.subject[row]), np.int64(log.object[row]), log.change[row]
        )
        row += 1
        state.counters[ROW] = row
        if row == len(log.step) or log.step[row] != log.step[row - 1]:
            _note(state, log.step[row - 1])
    return True


@kernel(inline=True)
def _has_room(state: Cliques, one: Any, other: Any) -> Any:
    """Whether a pair can come or go, and three sets of its common neighbours be found."""
    if state.counters[SIZE] > 2:
        lists = state.graph.undirected
        state.counters[WANTED] = 3 * (1 + min(list_length(lists, one), list_length(lists, other)))
    return state.counters[WANTED] <= len(state.found) and has_room(state.graph)


@kernel(inline=True)
def _change(state: Cliques, subject: Any, object: Any, change: Any) -> Any:
    """By how much a change of an edge changes the count."""
    if change == CHANGED:
        return np.int64(0)
    by = np.int64(1) if change == CAME else np.int64(-1)
    changed = add_edge(state.graph, subject, object) if change == CAME else drop_edge(state.graph, subject, object)
    if not changed & NEW_PAIR or state.counters[SIZE] < 3:
        return np.int64(0)
    return by * cliques_with(state, subject, object)


@kernel(inline=True)
def _note(state: Cliques, step: Any) -> None:
    """Writes down what holds at the end of a step."""
    ended, size = state.counters[ENDED], state.counters[SIZE]
    vertices, pairs = state.graph.counters[VERTICES], state.graph.counters[JOINED]
    state.counters[ENDED] = ended + 1
    state.series[ended, S_STEP], state.series[ended, S_VERTICES] = step, vertices
    state.series[ended, S_CLIQUES] = pairs if size == 2 else state.counters[CLIQUES]
