"""Dependencies of one source on the vertices between it and some targets.

The law (Brandes): what a source s depends on a vertex p for reaching targets is the sum, over the vertices w that come
after p on shortest paths from s, of paths(p) / paths(w) * (1 if w is a target + the dependency on w). So a sweep goes
from the farthest targets towards the source and looks only at vertices that lie on the way to a target.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_betweenness_layout import ANCESTOR, TARGET, UNREACHED, Row, Work
from heliograph.kernels.simple_graph_layout import Simple
from heliograph.kernels.simple_graph_lists import list_length, list_start

NOWHERE = (-1, -1)  # in place of an arc


@kernel()
def wait(work: Work, level: Any, slot: Any) -> None:
    """A slot waits at a level."""
    work.following[slot] = work.level[level]
    work.level[level] = slot + 1


@kernel()
def _enter_targets(row: Row, work: Work, count: Any) -> Any:
    """The targets that are reached wait at their distances; the largest of these."""
    farthest = np.int64(0)
    for k in range(count):
        target = np.int64(work.targets[k])
        level = np.int64(row.distance[target])
        if level < UNREACHED:
            work.mark[target], work.dependency[target] = TARGET, 0.0
            wait(work, level, target)
            farthest = max(farthest, level)
    return farthest


@kernel(inline=True)
def _credit(row: Row, work: Work, slot: Any, level: Any, share: Any) -> None:
    """Adds to the dependency on a slot, if shortest paths lead through it."""
    if row.distance[slot] != level:
        return
    if work.mark[slot] == 0:
        work.mark[slot], work.dependency[slot] = ANCESTOR, 0.0
        wait(work, level, slot)
    work.dependency[slot] += row.paths[slot] * share


@kernel()
def _spread(graph: Simple, row: Row, work: Work, slot: Any, arc: Any) -> None:
    """Credits those before a slot; the arc, which is not in the graph, counts if it ends there."""
    level = np.int64(row.distance[slot]) - 1
    own = 1.0 if work.mark[slot] == TARGET else 0.0
    share = (own + work.dependency[slot]) / row.paths[slot]
    start = list_start(graph.into, slot)
    for place in range(start, start + list_length(graph.into, slot)):
        _credit(row, work, np.int64(graph.into.pool[place]), level, share)
    if arc[1] == slot:
        _credit(row, work, arc[0], level, share)


@kernel()
def sweep(graph: Simple, row: Row, work: Work, count: Any, arc: Any, change: Any) -> None:
    """Adds the dependencies for reaching work.targets[:count] to sums; `change` is the sums and the sign."""
    sums, sign = change
    for level in range(_enter_targets(row, work, count), 0, -1):
        slot = np.int64(work.level[level]) - 1
        work.level[level] = 0
        while slot >= 0:
            _spread(graph, row, work, slot, arc)
            sums[slot] += sign * work.dependency[slot]
            work.mark[slot] = 0
            slot = np.int64(work.following[slot]) - 1
    if work.level[0] != 0:  # the source itself
        work.mark[work.level[0] - 1] = 0
        work.level[0] = 0
