"""The order of vertices: a list for each core number, with labels that tell which of two comes earlier.

Where two labels leave no number between them, those that follow are spread, as few as will do: the first j of them such
that the next label is more than j * j away (Dietz and Sleator, STOC 1987). That costs O(log n) a vertex, amortised.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_dense_layout import FIRST, FOLLOWING, GAP, LAST, PRECEDING, QUEUE, Cores


@kernel(inline=True)
def precedes(cores: Cores, one: Any, other: Any) -> Any:
    if cores.core[one] != cores.core[other]:
        return cores.core[one] < cores.core[other]
    return cores.label[one] < cores.label[other]


@kernel()
def put_first(cores: Cores, vertex: Any) -> None:
    """Before all others of its core number."""
    following = cores.ends[cores.core[vertex], FIRST]
    cores.label[vertex] = cores.label[following - 1] - GAP if following else 0
    _join(cores, vertex, 0, following)


@kernel()
def put_last(cores: Cores, vertex: Any) -> None:
    """Behind all others of its core number."""
    preceding = cores.ends[cores.core[vertex], LAST]
    cores.label[vertex] = cores.label[preceding - 1] + GAP if preceding else 0
    _join(cores, vertex, preceding, 0)


@kernel()
def put_behind(cores: Cores, place: Any, vertex: Any) -> None:
    """Right behind another one of its core number."""
    following = np.int64(cores.links[place, FOLLOWING])
    if following == 0:
        put_last(cores, vertex)
        return
    if cores.label[following - 1] - cores.label[place] < 2:
        _spread(cores, place)
    cores.label[vertex] = (cores.label[place] + cores.label[following - 1]) >> 1
    _join(cores, vertex, place + 1, following)


@kernel()
def _spread(cores: Cores, place: Any) -> None:
    """Spreads the labels that follow a vertex."""
    behind, end = np.int64(1), np.int64(cores.links[place, FOLLOWING])
    while end and cores.label[end - 1] - cores.label[place] <= behind * behind:
        behind += 1
        end = np.int64(cores.links[end - 1, FOLLOWING])
    step = (cores.label[end - 1] - cores.label[place]) // behind if end else np.int64(GAP)
    label, vertex = cores.label[place], np.int64(cores.links[place, FOLLOWING])
    while vertex != end:
        label += step
        cores.label[vertex - 1] = label
        vertex = np.int64(cores.links[vertex - 1, FOLLOWING])


@kernel(inline=True)
def _join(cores: Cores, vertex: Any, preceding: Any, following: Any) -> None:
    """Stands between two, each 1 + a vertex, or 0 at an end."""
    core = cores.core[vertex]
    cores.links[vertex, PRECEDING], cores.links[vertex, FOLLOWING] = preceding, following
    if preceding:
        cores.links[preceding - 1, FOLLOWING] = vertex + 1
    else:
        cores.ends[core, FIRST] = vertex + 1
    if following:
        cores.links[following - 1, PRECEDING] = vertex + 1
    else:
        cores.ends[core, LAST] = vertex + 1


@kernel()
def take_out(cores: Cores, vertex: Any) -> None:
    core, preceding, following = cores.core[vertex], cores.links[vertex, PRECEDING], cores.links[vertex, FOLLOWING]
    if preceding:
        cores.links[preceding - 1, FOLLOWING] = following
    else:
        cores.ends[core, FIRST] = following
    if following:
        cores.links[following - 1, PRECEDING] = preceding
    else:
        cores.ends[core, LAST] = preceding


# --- a heap of vertices of one core number ----------------------------------------------------------------------


@kernel()
def push_in_order(cores: Cores, vertex: Any) -> None:
    place = cores.counters[QUEUE]
    cores.counters[QUEUE] = place + 1
    while place > 0 and cores.label[vertex] < cores.label[cores.queue[(place - 1) >> 1]]:
        cores.queue[place] = cores.queue[(place - 1) >> 1]
        place = (place - 1) >> 1
    cores.queue[place] = vertex


@kernel()
def pop_in_order(cores: Cores) -> Any:
    """The earliest of those that wait. Labels may be spread meanwhile: their order stays."""
    earliest, size = np.int64(cores.queue[0]), cores.counters[QUEUE] - 1
    cores.counters[QUEUE] = size
    vertex, place, child = cores.queue[size], np.int64(0), np.int64(1)
    while child < size:
        if child + 1 < size and cores.label[cores.queue[child + 1]] < cores.label[cores.queue[child]]:
            child += 1
        if cores.label[vertex] <= cores.label[cores.queue[child]]:
            break
        cores.queue[place] = cores.queue[child]
        place, child = child, 2 * child + 1
    cores.queue[place] = vertex
    return earliest
