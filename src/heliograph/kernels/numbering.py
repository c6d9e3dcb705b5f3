"""Strongly connected components, and numbers for nodes that follow their topological order.

What it computes: an order of the nodes in which every edge leads upwards, except inside a component, whose nodes are
consecutive. Tarjan's algorithm finishes components in reverse topological order, those that were met together next to
each other, so numbers given from the last one down also keep what is reached together close in memory. Within a
component nodes come in the order of a breadth-first walk from the one that was met first ([B] 3.2.2).

`exchange.numbering` holds the plain twin.
"""

from __future__ import annotations

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.targeting_layout import Int32s, Int64s
from heliograph.kernels.types import INT32S, INT64S, NEW_INT32S


@kernel((INT64S, INT32S, INT32S, NEW_INT32S, NEW_INT32S))
def number_nodes(offsets: Int64s, targets: Int32s, roots: Int32s, components: Int32s, order: Int32s) -> None:
    """`components` gets the number of each node's component, in topological order; `order` the nodes in their order.

    `roots` are all nodes in the order in which walks begin.
    """
    count = len(offsets) - 1
    finished = np.empty(count, np.int32)  # the nodes, component after component as they are finished
    total = _find(offsets, targets, roots, components, finished)
    for node in range(count):
        components[node] = total - 1 - components[node]
    _lay_out(offsets, targets, components, finished, order)


@kernel(allocates=True)
def _find(offsets: Int64s, targets: Int32s, roots: Int32s, components: Int32s, finished: Int32s) -> int:
    """Components in the order of finishing; each one's nodes lie in `finished`, the one met first as its last."""
    count = len(offsets) - 1
    index, low = np.full(count, -1, np.int32), np.empty(count, np.int32)
    cursor = np.empty(count, np.int64)
    path, open_nodes = np.empty(count, np.int32), np.empty(count, np.int32)
    components[:] = -1
    depth, opened, met, done, total = 0, 0, 0, 0, 0
    for root in roots:
        if index[root] >= 0:
            continue
        path[0], depth = root, 1
        while depth > 0:
            node = path[depth - 1]
            if index[node] < 0:
                index[node] = low[node] = met
                met += 1
                cursor[node] = offsets[node]
                open_nodes[opened] = node
                opened += 1
            advanced = False
            while cursor[node] < offsets[node + 1]:
                target = targets[cursor[node]]
                if index[target] < 0:
                    path[depth] = target
                    depth += 1
                    advanced = True
                    break
                cursor[node] += 1
                if components[target] < 0:
                    low[node] = min(low[node], low[target])
            if advanced:
                continue
            depth -= 1
            if low[node] == index[node]:
                member = np.int32(-1)
                while member != node:
                    opened -= 1
                    member = open_nodes[opened]
                    components[member] = total
                    finished[done] = member
                    done += 1
                total += 1
    return total


@kernel(allocates=True)
def _lay_out(offsets: Int64s, targets: Int32s, components: Int32s, finished: Int32s, order: Int32s) -> None:
    """From the last component finished to the first, each from its first node by breadth."""
    seen = np.zeros(len(finished), np.uint8)
    tail = 0
    for place in range(len(finished) - 1, -1, -1):
        start = finished[place]
        if seen[start]:
            continue
        seen[start] = 1
        head = tail
        order[tail] = start
        tail += 1
        while head < tail:
            node = order[head]
            head += 1
            for edge in range(offsets[node], offsets[node + 1]):
                target = targets[edge]
                if components[target] == components[node] and not seen[target]:
                    seen[target] = 1
                    order[tail] = target
                    tail += 1
