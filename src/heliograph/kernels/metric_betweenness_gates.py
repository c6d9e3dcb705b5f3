"""Which samples a change of an arc can affect.

The laws, for one step from a graph G to H, and the union of both: a sample whose shortest paths are others in H than in
G has an arc (u, v) that came or went with d(s, u) + 1 + d(v, t) <= its length in G, distances taken in the union. For
if a shortest path in G lost an arc, that arc lies on it; and if none did, a path in H that is as short has an arc that
came. A sample without a path gets one only if an arc that came leads out of what its source reaches, and into what
reaches its target.

Distances are searched around both ends, the side with fewer vertices first, until the two depths together exceed every
length: whoever lies beyond counts as one farther than the depth. That lets more through than need be, which costs time
and changes nothing (see metric_betweenness_paths).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_betweenness_layout import FORWARD_CLOSED, TOO_LARGE, UNREACHABLE, Samples, Search
from heliograph.kernels.metric_betweenness_paths import forget
from heliograph.kernels.metric_betweenness_types import INT32_ROWS, SAMPLES, SEARCH
from heliograph.kernels.simple_graph_layout import Lists, Simple
from heliograph.kernels.simple_graph_lists import list_length, list_start
from heliograph.kernels.simple_graph_types import SIMPLE

_FAR = np.int64(1 << 40)


@kernel()
def _widen(lists: Lists, depths: Any, queue: Any, first: Any, end: Any) -> Any:
    """The next depth around an end of an arc. The new end of the queue."""
    depth, last = depths[queue[first]] + 1, end
    for k in range(first, last):
        start = list_start(lists, queue[k])
        for place in range(start, start + list_length(lists, queue[k])):
            vertex = lists.pool[place]
            if depths[vertex] < 0:
                depths[vertex], queue[end] = depth, vertex
                end += 1
    return end


@kernel()
def _surround(graph: Simple, search: Search, tail: Any, head: Any, longest: Any) -> Any:
    """Depths of who reaches the tail (in `backward`), and of whom the head reaches (in `forward`), far enough.

    The ends of both queues, and for either side the least depth of whoever it did not find.
    """
    search.backward[tail], search.behind[0] = 0, tail
    search.forward[head], search.ahead[0] = 0, head
    first, end, first_behind, end_behind = 0, 1, 0, 1
    beyond, beyond_behind = np.int64(1), np.int64(1)
    while beyond + beyond_behind + 1 <= longest:
        if beyond_behind == _FAR or (beyond != _FAR and end - first <= end_behind - first_behind):
            last, end = end, _widen(graph.out, search.forward, search.ahead, first, end)
            first, beyond = last, beyond + 1 if end > last else _FAR
        else:
            last, end_behind = end_behind, _widen(graph.into, search.backward, search.behind, first_behind, end_behind)
            first_behind, beyond_behind = last, beyond_behind + 1 if end_behind > last else _FAR
    return end, end_behind, beyond, beyond_behind


@kernel()
def _leads_out(samples: Samples, sample: Any, tail: Any, head: Any) -> Any:
    """Whether an arc leads out of what a search could not leave (or, searching backward, into it)."""
    tail_stored = head_stored = False
    for place in range(samples.stored[sample]):
        tail_stored |= samples.rows[sample, place] == tail
        head_stored |= samples.rows[sample, place] == head
    return tail_stored != head_stored and tail_stored == (samples.side[sample] == FORWARD_CLOSED)


@kernel()
def _matters(search: Search, samples: Samples, sample: Any, arc: Any, beyond: Any) -> Any:
    """Whether an arc, searched around, can affect a sample. `beyond`: depths of who was not found."""
    length = np.int64(samples.length[sample])
    if length == UNREACHABLE and samples.stored[sample] != TOO_LARGE:
        return _leads_out(samples, sample, arc[0], arc[1])
    to_tail = np.int64(search.backward[samples.source[sample]])
    from_head = np.int64(search.forward[samples.target[sample]])
    to_tail = to_tail if to_tail >= 0 else beyond[1]
    from_head = from_head if from_head >= 0 else beyond[0]
    return to_tail + 1 + from_head <= (length if length >= 0 else _FAR - 1)


@kernel()
def _longest(samples: Samples) -> Any:
    """The largest length of a sample that is not dirty; larger than any if one has no path and stores no reason."""
    longest = np.int64(0)
    for sample in range(len(samples.length)):
        if samples.dirty[sample] == 0:
            longest = max(longest, np.int64(samples.length[sample]))
            if samples.length[sample] == UNREACHABLE and samples.stored[sample] == TOO_LARGE:
                return 2 * _FAR  # both sides are searched to their ends
    return longest


@kernel()
def _gate(graph: Simple, search: Search, samples: Samples, arc: Any) -> Any:
    """Marks the samples that an arc can affect; how many."""
    end, end_behind, ahead, behind = _surround(graph, search, arc[0], arc[1], _longest(samples))
    marked = 0
    for sample in range(len(samples.length)):
        if samples.dirty[sample] == 0 and _matters(search, samples, sample, arc, (ahead, behind)):
            samples.dirty[sample] = 1
            marked += 1
    forget(search, end, end_behind)
    return marked


@kernel((SIMPLE, SEARCH, SAMPLES, INT32_ROWS, int64))
def gate_arcs(graph: Simple, search: Search, samples: Samples, arcs: Any, count: Any) -> Any:
    """Marks the samples that arcs, in the union of the graphs before and after, can affect; how many there are now.

    When half of them are marked, so are the others: to search on would cost more than to draw again.
    """
    marked = 0
    for k in range(count):
        marked += _gate(graph, search, samples, (np.int64(arcs[k, 0]), np.int64(arcs[k, 1])))
        if 2 * marked > len(samples.dirty):
            samples.dirty[:] = 1
            break
    return marked
