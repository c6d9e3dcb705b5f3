"""The strongly connected components of an exchange, and the order in which its nodes are numbered.

The law: every edge leads to a higher number, except inside a component, whose nodes are consecutive. The kernel does it
for large exchanges, the plain twin here for small ones; both give the same order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.exchange.columns import pays
from heliograph.exchange.version import visible
from heliograph.kernels.exchange_layout import TARGET, Graph
from heliograph.kernels.targeting_layout import Int32s, Int64s


class Numbering(NamedTuple):
    components: Int32s  # of each node, in topological order
    order: Int32s  # the nodes in theirs


def number_nodes(count: int, sources: Int32s, targets: Int32s) -> Numbering:
    """The components and the order of so many nodes with these edges."""
    offsets, ends = rows_by(sources, targets, count)
    roots = np.argsort(np.bincount(targets, minlength=count) > 0, kind="stable").astype(np.int32)
    if not pays(count):
        return _number(offsets.tolist(), ends.tolist(), roots.tolist())
    from heliograph.kernels import numbering

    found = Numbering(np.empty(count, np.int32), np.empty(count, np.int32))
    for array in (offsets, ends, roots):
        array.flags.writeable = False
    numbering.number_nodes(offsets, ends, roots, found.components, found.order)
    return found


def components(graph: Graph) -> Int32s:
    """The component of each node of a version, numbered in topological order."""
    edges = visible(graph)
    return number_nodes(graph.node_count, graph.sources[edges], graph.edges[edges, TARGET]).components


def rows_by(keys: Int32s, values: Int32s, count: int) -> tuple[Int64s, Int32s]:
    """The values of each key end to end, in their order, and where those of each key begin."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=offsets[1:])
    return offsets, values[np.argsort(keys, kind="stable")]


def _number(offsets: list[int], targets: list[int], roots: list[int]) -> Numbering:
    search = _Search(offsets, targets)
    for root in roots:
        if search.index[root] < 0:
            search.walk(root)
    components = [search.total - 1 - number for number in search.components]
    return Numbering(np.array(components, np.int32), np.array(_lay_out(search, components), np.int32))


class _Search:
    """Tarjan's algorithm with a stack of its own; `finished` has the first node met of a component as its last."""

    def __init__(self, offsets: list[int], targets: list[int]) -> None:
        count = len(offsets) - 1
        self.offsets, self.targets = offsets, targets
        self.index, self.low, self.components = [-1] * count, [0] * count, [-1] * count
        self.finished: list[int] = []
        self.total = 0
        self._met = 0
        self._open: list[int] = []

    def walk(self, root: int) -> None:
        """Finishes all that can be reached from a node."""
        path = [(root, self._meet(root))]
        while path:
            node, cursor = path.pop()
            while cursor < self.offsets[node + 1]:
                target = self.targets[cursor]
                cursor += 1
                if self.index[target] < 0:
                    path.append((node, cursor - 1))  # the edge is looked at again, when its target is finished
                    path.append((target, self._meet(target)))
                    break
                if self.components[target] < 0:
                    self.low[node] = min(self.low[node], self.low[target])
            else:
                self._close(node)

    def _meet(self, node: int) -> int:
        self.index[node] = self.low[node] = self._met
        self._met += 1
        self._open.append(node)
        return self.offsets[node]

    def _close(self, node: int) -> None:
        if self.low[node] < self.index[node]:
            return
        member = -1
        while member != node:
            member = self._open.pop()
            self.components[member] = self.total
            self.finished.append(member)
        self.total += 1


def _lay_out(search: _Search, components: list[int]) -> list[int]:
    """From the last component finished to the first, each from its first node by breadth."""
    seen = [False] * len(components)
    order: list[int] = []
    for start in reversed(search.finished):
        if seen[start]:
            continue
        seen[start] = True
        head = len(order)
        order.append(start)
        while head < len(order):
            node = order[head]
            head += 1
            for target in search.targets[search.offsets[node] : search.offsets[node + 1]]:
                if components[target] == components[node] and not seen[target]:
                    seen[target] = True
                    order.append(target)
    return order
