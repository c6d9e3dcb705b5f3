"""Who reaches an arc, whom it reaches, and for which targets of a source it matters.

The laws, for an arc (u, v) that comes or goes, with distances in the graph without it (d(s, u) and d(v, t) are the same
with it): a source s is affected only if d(s, u) + 1 <= d(s, v), and then its targets are the t with
d(s, u) + 1 + d(v, t) <= d(s, t), where d(s, .) is before the change. If t is one of them, so is every vertex on a
shortest path from v to t: targets are found by going down a tree of such paths and turning back where the test fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_betweenness_layout import Work
from heliograph.kernels.simple_graph_layout import Simple
from heliograph.kernels.simple_graph_lists import list_length, list_start


@kernel()
def find_sources(graph: Simple, work: Work, tail: Any) -> Any:
    """Lists who reaches a slot, with distances; how many."""
    work.sources[0], work.near[0], work.mark[tail] = tail, 0, 1
    count, k = 1, 0
    while k < count:
        start = list_start(graph.into, work.sources[k])
        for place in range(start, start + list_length(graph.into, work.sources[k])):
            slot = graph.into.pool[place]
            if work.mark[slot] == 0:
                work.mark[slot], work.sources[count], work.near[count] = 1, slot, work.near[k] + 1
                count += 1
        k += 1
    for k in range(count):
        work.mark[work.sources[k]] = 0
    return count


@kernel()
def grow_tree(graph: Simple, work: Work, root: Any) -> Any:
    """Lists whom a slot reaches as a tree of shortest paths; how many."""
    work.tree[0], work.mark[root] = root, 1
    count, k = 1, 0
    while k < count:
        work.children[k] = count
        start = list_start(graph.out, work.tree[k])
        for place in range(start, start + list_length(graph.out, work.tree[k])):
            slot = graph.out.pool[place]
            if work.mark[slot] == 0:
                work.mark[slot], work.tree[count] = 1, slot
                count += 1
        k += 1
    work.children[count] = count
    for k in range(count):
        work.mark[work.tree[k]] = 0
    return count


@kernel()
def find_targets(work: Work, distance: Any, beyond: Any, first: Any) -> Any:
    """Lists the targets of a source for which an arc matters, in order of their distance by way of it; how many.

    `distance` is the source's, `beyond` that of the arc's head, which is `first` away from the source by the arc.
    """
    work.queue[0], work.targets[0] = 0, work.tree[0]
    count, k = 1, 0
    while k < count:
        place = np.int64(work.queue[k])
        for child in range(work.children[place], work.children[place + 1]):
            slot = work.tree[child]
            if first + np.int64(beyond[slot]) <= distance[slot]:
                work.queue[count], work.targets[count] = child, slot
                count += 1
        k += 1
    return count
