"""One shortest path of each sampled pair, all of them equally likely.

A search goes from both ends at once, the side with fewer arcs ahead first, until they meet. Counts of paths from the
source are then carried on to the target, along shortest paths only; going back from there, each vertex before is taken
with the share of the paths that lead through it.

The law: which path is taken is a function of the seed, of the sample, and of the graph of shortest paths between its
ends. A draw with weights is a race: of exponential times, each divided by its weight, the shortest wins; the times are
hashes of the vertices. So a path that no change can have affected need not be drawn again, and to draw it again in vain
changes nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_betweenness_layout import (
    BACKWARD_CLOSED,
    FORWARD_CLOSED,
    NAMES,
    TOO_LARGE,
    UNREACHABLE,
    Board,
    Samples,
    Search,
)
from heliograph.kernels.metric_betweenness_picks import CHOICES, sample_key, vertex_hash
from heliograph.kernels.metric_betweenness_types import BOARD, SAMPLES, SEARCH
from heliograph.kernels.simple_graph_layout import Simple
from heliograph.kernels.simple_graph_lists import list_length, list_start
from heliograph.kernels.simple_graph_types import SIMPLE

_11 = np.uint64(11)
_LARGE, _SMALLER = 2.0**500, 2.0**-500


@kernel()
def forget(search: Search, end: Any, end_behind: Any) -> None:
    """Takes the depths of a search back."""
    for k in range(end):
        search.forward[search.ahead[k]] = -1
    for k in range(end_behind):
        search.backward[search.behind[k]] = -1


@kernel()
def _go_on(graph: Simple, search: Search, first: Any, end: Any) -> Any:
    """The next depth from the source, with counts of paths. The new end, arcs ahead of it, and whether ends met."""
    depth, last, volume, met = search.forward[search.ahead[first]] + 1, end, np.int64(0), False
    for k in range(first, last):
        before = search.ahead[k]
        start = list_start(graph.out, before)
        for place in range(start, start + list_length(graph.out, before)):
            after = graph.out.pool[place]
            if search.forward[after] < 0:
                search.forward[after], search.weight[after], search.ahead[end] = depth, 0.0, after
                volume += list_length(graph.out, after)
                met |= search.backward[after] >= 0
                end += 1
            if search.forward[after] == depth:
                search.weight[after] += search.weight[before]
    _scale(search, last, end)
    return end, volume, met


@kernel()
def _scale(search: Search, first: Any, end: Any) -> None:
    """Keeps counts finite: only shares within one depth matter."""
    most = 0.0
    for k in range(first, end):
        most = max(most, search.weight[search.ahead[k]])
    if most > _LARGE:
        for k in range(first, end):
            search.weight[search.ahead[k]] *= _SMALLER


@kernel()
def _go_back(graph: Simple, search: Search, first: Any, end: Any) -> Any:
    """The next depth from the target. The new end, arcs before it, and whether the ends met."""
    depth, last, volume, met = search.backward[search.behind[first]] + 1, end, np.int64(0), False
    for k in range(first, last):
        start = list_start(graph.into, search.behind[k])
        for place in range(start, start + list_length(graph.into, search.behind[k])):
            before = graph.into.pool[place]
            if search.backward[before] < 0:
                search.backward[before], search.behind[end] = depth, before
                volume += list_length(graph.into, before)
                met |= search.forward[before] >= 0
                end += 1
    return end, volume, met


@kernel()
def _meet(graph: Simple, search: Search, source: Any, target: Any) -> Any:
    """Searches from both ends: where the last depth from the source begins and ends, and how many stand behind.

    Where they do not meet, the first number is -1 if all that the source reaches was seen, -2 if all that reaches the
    target was.
    """
    search.forward[source], search.weight[source], search.ahead[0] = 0, 1.0, source
    search.backward[target], search.behind[0] = 0, target
    first, end, first_behind, end_behind = 0, 1, 0, 1
    volume, volume_behind = list_length(graph.out, source), list_length(graph.into, target)
    met = source == target
    while not met:
        if volume <= volume_behind:
            last, (end, volume, met) = end, _go_on(graph, search, first, end)
            first = last
            if first == end:
                return -1, end, end_behind
        else:
            last, (end_behind, volume_behind, met) = end_behind, _go_back(graph, search, first_behind, end_behind)
            first_behind = last
            if first_behind == end_behind:
                return -2, end, end_behind
    return first, end, end_behind


@kernel()
def _carry_on(graph: Simple, search: Search, first: Any, end: Any, target: Any) -> Any:
    """Carries depths and counts on from where the ends met to the target, along shortest paths. The new end."""
    while search.forward[target] < 0:
        last, depth = end, search.forward[search.ahead[first]] + 1
        for k in range(first, last):
            before = search.ahead[k]
            left = search.backward[before] - 1
            if left < 0:
                continue
            start = list_start(graph.out, before)
            for place in range(start, start + list_length(graph.out, before)):
                after = graph.out.pool[place]
                if search.backward[after] != left:
                    continue
                if search.forward[after] < 0:
                    search.forward[after], search.weight[after], search.ahead[end] = depth, 0.0, after
                    end += 1
                search.weight[after] += search.weight[before]
        _scale(search, last, end)
        first = last
    return end


@kernel()
def _before(graph: Simple, search: Search, vertex: Any, key: Any) -> Any:
    """Who comes right before a vertex on the path that is taken."""
    winner, shortest, depth = np.int64(-1), np.inf, search.forward[vertex] - 1
    start = list_start(graph.into, vertex)
    for place in range(start, start + list_length(graph.into, vertex)):
        before = graph.into.pool[place]
        if search.forward[before] == depth:
            share = (np.float64(vertex_hash(key, search.marks[before]) >> _11) + 1.0) * 2.0**-53
            time = -np.log(share) / search.weight[before]
            if time < shortest or winner < 0:
                winner, shortest = np.int64(before), time
    return winner


@kernel()
def _take_path(graph: Simple, search: Search, samples: Samples, sample: Any, key: Any) -> None:
    """Writes the inner vertices of the path that is taken, which there is room for."""
    vertex = np.int64(samples.target[sample])
    for place in range(samples.stored[sample] - 1, -1, -1):
        vertex = _before(graph, search, vertex, key)
        samples.rows[sample, place] = vertex


@kernel()
def _take_closed(samples: Samples, sample: Any, queue: Any, end: Any) -> None:
    """Writes the vertices that a search could not leave, if there is room for them."""
    samples.length[sample], samples.stored[sample] = UNREACHABLE, TOO_LARGE
    if end <= samples.rows.shape[1]:
        samples.stored[sample] = end
        for place in range(end):
            samples.rows[sample, place] = queue[place]


@kernel()
def _draw(graph: Simple, search: Search, samples: Samples, sample: Any, seed: Any) -> Any:
    """Draws the path of a sample; whether there was room for it."""
    source, target = np.int64(samples.source[sample]), np.int64(samples.target[sample])
    first, end, end_behind = _meet(graph, search, source, target)
    fits = True
    if first >= 0:
        end = _carry_on(graph, search, first, end, target)
        samples.length[sample] = search.forward[target]
        samples.stored[sample] = max(samples.length[sample] - 1, 0)
        fits = samples.stored[sample] <= samples.rows.shape[1]
        if fits:
            _take_path(graph, search, samples, sample, sample_key(seed, sample, CHOICES))
    elif first == -1:
        samples.side[sample] = FORWARD_CLOSED
        _take_closed(samples, sample, search.ahead, end)
    else:
        samples.side[sample] = BACKWARD_CLOSED
        _take_closed(samples, sample, search.behind, end_behind)
    forget(search, end, end_behind)
    return fits


@kernel()
def _count(board: Board, samples: Samples, sample: Any, change: Any) -> None:
    """Counts the path of a sample, or no longer."""
    if samples.length[sample] <= 0:
        return
    for place in range(samples.stored[sample]):
        vertex = samples.rows[sample, place]
        board.raw[vertex] += change
        if board.listed[vertex] == 0:
            board.listed[vertex], board.names[board.counters[NAMES]] = 1, vertex
            board.counters[NAMES] += 1


@kernel((SIMPLE, SEARCH, SAMPLES, BOARD, uint64))
def refresh(graph: Simple, search: Search, samples: Samples, board: Board, seed: Any) -> Any:
    """Draws dirty samples again. How many inner vertices a path has that there was no room for, or 0."""
    for sample in range(len(samples.source)):
        if samples.dirty[sample] != 0:
            _count(board, samples, sample, -1.0)
            if not _draw(graph, search, samples, sample, seed):
                needed = np.int64(samples.stored[sample])
                samples.length[sample] = UNREACHABLE
                return needed
            _count(board, samples, sample, 1.0)
            samples.dirty[sample] = 0
    return np.int64(0)
