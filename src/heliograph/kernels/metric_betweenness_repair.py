"""Distances and numbers of paths from a source when an arc on some of its shortest paths went.

The laws: a target keeps its distance while one of those right before it does. Whoever loses it is at least one farther,
and is then reached either from somebody who kept it or from another one that was reached anew; in order of the new
distance each is settled once. Numbers of paths are sums over those right before, never differences: a difference of
large counts would leave nothing but rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_betweenness_layout import UNREACHED, Row, Work
from heliograph.kernels.metric_betweenness_sweep import wait
from heliograph.kernels.simple_graph_layout import Simple
from heliograph.kernels.simple_graph_lists import list_length, list_start


@kernel()
def _nearest(graph: Simple, distance: Any, lost: Any, slot: Any) -> Any:
    """The distance of a slot by way of those before it that are not lost."""
    nearest = np.int64(UNREACHED - 1)
    start = list_start(graph.into, slot)
    for place in range(start, start + list_length(graph.into, slot)):
        before = graph.into.pool[place]
        if lost[before] == 0:
            nearest = min(nearest, np.int64(distance[before]))
    return nearest + 1


@kernel()
def _find_lost(graph: Simple, row: Row, work: Work, count: Any) -> Any:
    """Marks the targets that nobody right before them holds any more, and lists them in work.queue; how many."""
    lost = 0
    for k in range(count):  # in order of distance
        target = np.int64(work.targets[k])
        if _nearest(graph, row.distance, work.lost, target) != row.distance[target]:
            work.lost[target], work.queue[lost] = 1, target
            lost += 1
    return lost


@kernel()
def _enter_lost(graph: Simple, row: Row, work: Work, lost: Any) -> Any:
    """Lost targets wait where those that were not lost would lead to them; the lowest and the highest such level."""
    low, high = np.int64(UNREACHED), np.int64(0)
    for k in range(lost):
        target = np.int64(work.queue[k])
        level = _nearest(graph, row.distance, work.lost, target)
        row.distance[target] = level
        if level < UNREACHED:
            wait(work, level, target)
            low, high = min(low, level), max(high, level)
    return low, high


@kernel()
def _settle(graph: Simple, row: Row, work: Work, slot: Any, end: Any) -> Any:
    """A lost slot has its distance; those after it that it brings nearer are put at the end of the queue."""
    work.lost[slot] = 0
    level = np.int64(row.distance[slot]) + 1
    start = list_start(graph.out, slot)
    for place in range(start, start + list_length(graph.out, slot)):
        after = graph.out.pool[place]
        if work.lost[after] != 0 and row.distance[after] > level:
            row.distance[after], work.queue[end] = level, after
            end += 1
    return end


@kernel()
def _resettle(graph: Simple, row: Row, work: Work, lost: Any) -> None:
    """Gives lost targets their distances. Each waits at one level and is brought nearer at most once."""
    level, high = _enter_lost(graph, row, work, lost)
    first = end = 0  # the queue is free again: it holds those brought nearer, by level
    while level <= high or first < end:
        last, slot = end, np.int64(work.level[level]) - 1
        work.level[level] = 0
        while slot >= 0:
            if work.lost[slot] != 0 and row.distance[slot] == level:
                end = _settle(graph, row, work, slot, end)
            slot = np.int64(work.following[slot]) - 1
        for k in range(first, last):
            if work.lost[work.queue[k]] != 0:
                end = _settle(graph, row, work, np.int64(work.queue[k]), end)
        first, level = last, level + 1


@kernel()
def _recount(graph: Simple, row: Row, slot: Any) -> None:
    """The number of shortest paths to a slot, from those to the ones right before it."""
    total, level = 0.0, row.distance[slot] - 1
    start = list_start(graph.into, slot)
    for place in range(start, start + list_length(graph.into, slot)):
        before = graph.into.pool[place]
        if row.distance[before] == level:
            total += row.paths[before]
    row.paths[slot] = total


@kernel()
def _recount_sorted(graph: Simple, row: Row, work: Work, count: Any) -> None:
    """Recounts the targets in order of their new distances."""
    low, high = np.int64(UNREACHED), np.int64(0)
    for k in range(count):
        target = np.int64(work.targets[k])
        level = np.int64(row.distance[target])
        if level < UNREACHED:
            wait(work, level, target)
            low, high = min(low, level), max(high, level)
        else:
            row.paths[target] = 0.0
    for depth in range(low, high + 1):
        slot = np.int64(work.level[depth]) - 1
        work.level[depth] = 0
        while slot >= 0:
            _recount(graph, row, slot)
            slot = np.int64(work.following[slot]) - 1


@kernel()
def repair(graph: Simple, row: Row, work: Work, count: Any) -> None:
    """Makes a source's row right for work.targets[:count], which are in order of their old distances."""
    lost = _find_lost(graph, row, work, count)
    if lost == 0:
        for k in range(count):
            _recount(graph, row, np.int64(work.targets[k]))
        return
    _resettle(graph, row, work, lost)
    for k in range(count):
        work.lost[work.targets[k]] = 0
    _recount_sorted(graph, row, work, count)
