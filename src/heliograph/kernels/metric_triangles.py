"""Triangles and clustering coefficients, kept as edges come and go.

The law: only a pair's first and last edge count, and only what holds at the end of a step is told. A change is begun
only if there is room for all that it may do, and a step is closed only if there is room for all that it may say; so
whoever returns for want of room goes on from the very place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_layout import CAME, CHANGED, Log
from heliograph.kernels.metric_triangles_layout import (
    ALL,
    ENDED,
    HIGH,
    LOW,
    MARK,
    OPEN,
    PLACES,
    S_ALL,
    S_HIGH,
    S_LOW,
    S_STEP,
    S_TRIPLES,
    S_VERTICES,
    SUMMING,
    TOUCHED,
    TRIANGLES,
    TRIPLES,
    WANTED,
    Triangles,
)
from heliograph.kernels.metric_triangles_pairs import coefficient, turn_pair
from heliograph.kernels.simple_graph import add_edge, drop_edge, has_room
from heliograph.kernels.simple_graph_ahead import ask_for_lists, ask_for_rows
from heliograph.kernels.simple_graph_asked import is_told
from heliograph.kernels.simple_graph_layout import NEW_PAIR, VERTICES, Asked
from heliograph.kernels.simple_graph_lists import list_length
from heliograph.kernels.simple_graph_telling import can_tell, tell
from heliograph.kernels.simple_graph_telling_layout import NEEDED, ROW, Telling
from heliograph.kernels.simple_graph_types import ASKED, INT64_ROWS, LOG, SIMPLE, TELLING
from heliograph.kernels.types import NEW_FLOATS, NEW_INT32S, NEW_INT64S, named

STATE: Any = named(Triangles, SIMPLE, INT64_ROWS, NEW_INT32S, NEW_FLOATS, NEW_INT64S, INT64_ROWS)
_UNIT = 2.0**PLACES
_FRACTION = np.int64((1 << PLACES) - 1)


@kernel((STATE, LOG, ASKED, TELLING))
def follow_triangles(state: Triangles, log: Log, asked: Asked, telling: Telling) -> Any:
    """Takes a log over, change by change; whether all of it is, or room is lacking."""
    while True:
        row = telling.counters[ROW]
        ends = state.counters[OPEN] != 0 and (row == len(log.step) or log.step[row] != log.step[row - 1])
        if ends and not _close(state, log.step[row - 1], asked, telling):
            return False
        if row == len(log.step):
            return True
        if not _has_room(state, log.subject[row], log.object[row]):
            return False
        ask_for_rows(state.graph, state.vertices, log, row)
        ask_for_lists(state.graph, log, row)
        _change(state, log, asked, row)
        telling.counters[ROW], state.counters[OPEN] = row + 1, 1


@kernel(inline=True)
def _has_room(state: Triangles, one: Any, other: Any) -> Any:
    """Whether a pair can come or go, and all its common neighbours be touched."""
    lists, touched = state.graph.undirected, state.counters[TOUCHED]
    wanted = touched + 3 + min(list_length(lists, one), list_length(lists, other))
    state.counters[WANTED] = wanted
    return wanted <= len(state.touched) and has_room(state.graph)


@kernel(inline=True)
def _change(state: Triangles, log: Log, asked: Asked, row: Any) -> None:
    subject, object, change = np.int64(log.subject[row]), np.int64(log.object[row]), log.change[row]
    if change == CHANGED:
        return
    if change == CAME:
        if add_edge(state.graph, subject, object) & NEW_PAIR:
            turn_pair(state, asked, subject, object, np.int64(1))
    elif drop_edge(state.graph, subject, object) & NEW_PAIR:
        turn_pair(state, asked, subject, object, np.int64(-1))


@kernel()
def _close(state: Triangles, step: Any, asked: Asked, telling: Telling) -> Any:
    """A step is over: what passed a cut is told; whether there was room for it."""
    counters = state.counters
    telling.counters[NEEDED] = counters[TOUCHED]
    if not can_tell(telling, counters[TOUCHED]):
        return False
    for i in range(counters[TOUCHED]):
        vertex = np.int64(state.touched[i])
        before = state.before[i]
        after = coefficient(state.vertices[vertex, TRIANGLES], list_length(state.graph.undirected, vertex))
        state.vertices[vertex, MARK] = 0
        if counters[SUMMING]:
            _sum_up(counters, before, after)
        if is_told(asked, vertex, before, after):
            tell(telling, step, vertex, after)
    counters[TOUCHED] = counters[OPEN] = 0
    _note(state, step)
    return True


@kernel(inline=True)
def _sum_up(counters: Any, before: Any, after: Any) -> None:
    low = counters[LOW] + np.int64(after * _UNIT) - np.int64(before * _UNIT)
    counters[HIGH] += low >> PLACES
    counters[LOW] = low & _FRACTION


@kernel(inline=True)
def _note(state: Triangles, step: Any) -> None:
    """Writes down what holds of the whole graph, if anybody wants to know."""
    ended = state.counters[ENDED]
    state.counters[ENDED] = ended + 1
    if ended < len(state.series):
        row, counters = state.series[ended], state.counters
        row[S_STEP], row[S_ALL], row[S_TRIPLES] = step, counters[ALL], counters[TRIPLES]
        row[S_HIGH], row[S_LOW] = counters[HIGH], counters[LOW]
        row[S_VERTICES] = state.graph.counters[VERTICES]
