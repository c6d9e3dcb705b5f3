"""`hg:steiner(a, b, …)`: what it costs to join terminals; `hg:steinerPoint(x, a, b, …)`: whether x helps to join
them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.watch.metrics.distance import Groups, Instances, Numbers
from heliograph.watch.metrics.simple_graph import Log, Said
from heliograph.watch.metrics.thresholds import Cutting, Order, Points

# ----------------------------------------------------------------------------------------------------------------------
# The tree that is shown for a Steiner value: a function of the graph alone, whatever happened before.
#
# The shortest paths of the spanning tree may cross, so together they may hold cycles. Of their edges a minimum
# spanning tree is taken, edges ordered by weight and then by their ends, smaller one first, of which paths join no
# two by more than one edge; then leaves that are no terminals go, until there are none. It weighs no more than the
# value. Source: Kou, Markowsky and Berman (1981), steps 3 to 5.
# ----------------------------------------------------------------------------------------------------------------------

Edge = tuple[int, int, int]


def shown_tree(
    edges: Iterable[Edge],
    terminals: Collection[int],
    weight: Callable[[Edge], float],
    order: Callable[[int], Any] = int,
) -> list[Edge]:
    """The tree over the edges of some paths that join the terminals, in order of their ends."""
    known = sorted(set(edges), key=lambda edge: sorted((order(edge[0]), order(edge[2]))))
    left = _pruned(_spanning(sorted(known, key=weight)), terminals)
    return [edge for edge in known if edge in left]


def inner_vertices(tree: Iterable[Edge], terminals: Collection[int]) -> frozenset[int]:
    """The vertices of a tree that are no terminals."""
    return frozenset(end for s, _, o in tree for end in (s, o)) - frozenset(terminals)


def _spanning(edges: Iterable[Edge]) -> list[Edge]:
    """Those of the edges, in their order, that join what was not joined before."""
    above: dict[int, int] = {}

    def top(vertex: int) -> int:
        while (higher := above.get(vertex, vertex)) != vertex:
            above[vertex] = above.get(higher, higher)
            vertex = higher
        return vertex

    chosen = []
    for edge in edges:
        one, other = top(edge[0]), top(edge[2])
        if one != other:
            above[one] = other
            chosen.append(edge)
    return chosen


def _pruned(tree: list[Edge], terminals: Collection[int]) -> set[Edge]:
    """The tree without branches that lead to no terminal."""
    at: dict[int, set[Edge]] = {}
    for edge in tree:
        for end in (edge[0], edge[2]):
            at.setdefault(end, set()).add(edge)
    leaves = [vertex for vertex, edges in at.items() if len(edges) == 1 and vertex not in terminals]
    while leaves:
        (edge,) = at.pop(leaves.pop())
        other = edge[0] if edge[0] in at else edge[2]
        at[other].discard(edge)
        if len(at[other]) == 1 and other not in terminals:
            leaves.append(other)
    return {edge for edges in at.values() for edge in edges}


# ----------------------------------------------------------------------------------------------------------------------
# `hg:steiner(a, b, …)`: what it costs to join terminals; `hg:steinerPoint(x, a, b, …)`: whether x helps to join them.
#
# The value is the weight of a minimum spanning tree over the terminals' shortest-path distances, at most twice that
# of the best tree. Both measures keep balls around terminals as `hg:distance` does (see kernels.metric_steiner). A
# value is looked at again when two balls meet otherwise than before; the tree, on which steinerPoint rests, when the
# shortest paths of one of its pairs may have changed (see kernels.metric_paths_pairs). Nothing else can matter.
# ----------------------------------------------------------------------------------------------------------------------

_Terminals = tuple[int, ...]


def terminals_of(vertices: Sequence[int], order: Order = int) -> _Terminals:
    """Terminals as a group takes them: each once, in order; a single one is a pair with itself."""
    different = tuple(sorted(set(vertices), key=order))
    return different if len(different) > 1 else different * 2


def _tree(groups: Groups, group: int, terminals: _Terminals) -> list[Edge] | None:
    paths = groups.tree(group)
    return None if paths is None else shown_tree(paths, terminals, groups.weight, groups.order)


class Steiner:
    """The measure: instances are sets of terminals."""

    def __init__(self, order: Order = int) -> None:
        self.groups = Groups(undirected=True, weighted=True, order=order)
        self._instances = Instances(self.groups)

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        return self._instances.watch(terminals_of(vertices, self.groups.order), points)

    def unwatch(self, instance: int, points: Points) -> None:
        self._instances.unwatch(instance, points)

    def watch_all(self, points: Points) -> None:
        raise NotImplementedError("Steiner trees are watched by their terminals")

    def unwatch_all(self, points: Points) -> None:
        raise NotImplementedError("Steiner trees are watched by their terminals")

    def follow(self, log: Log) -> Said:
        return self._instances.follow(log)

    def value(self, instance: int) -> float:
        return self.groups.value(instance)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """The tree as it is now."""
        tree = _tree(self.groups, instance, self._instances.terminals(instance))
        self.groups.settle()
        return {} if tree is None else {"edges": tree}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._instances.restore(log)


class _Grove:
    """A set of terminals, its tree now, and the instances that ask whether a vertex is an inner one of it."""

    def __init__(self, terminals: _Terminals) -> None:
        self.terminals = terminals
        self.points: dict[int, int] = {}  # instance by vertex
        self.tree: list[Edge] = []
        self.inner: frozenset[int] = frozenset()

    def plant(self, tree: list[Edge] | None) -> frozenset[int]:
        """Takes a new tree; the vertices that are inner ones of just one of the two."""
        before = self.inner
        self.tree = tree or []
        self.inner = inner_vertices(self.tree, self.terminals)
        return before ^ self.inner


class SteinerPoint:
    """The measure: instances are a vertex and a set of terminals; 1 if it is an inner vertex of their tree."""

    def __init__(self, order: Order = int) -> None:
        self.groups = Groups(undirected=True, weighted=True, order=order)
        self._cutting = Cutting()
        self._groves: dict[int, _Grove] = {}
        self._group_of: dict[_Terminals, int] = {}
        self._instances: dict[int, tuple[int, int]] = {}  # group and vertex
        self._numbers = Numbers()
        self._said: list[tuple[int, int, float]] = []

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        vertex, terminals = vertices[0], terminals_of(vertices[1:], self.groups.order)
        if terminals not in self._group_of:
            self._enter(terminals)
        group = self._group_of[terminals]
        instances = self._groves[group].points
        if vertex not in instances:
            instances[vertex] = self._numbers.take(1)
            self._instances[instances[vertex]] = group, vertex
        self._cutting.watch(instances[vertex], points)
        return instances[vertex]

    def _enter(self, terminals: _Terminals) -> None:
        group = self._group_of[terminals] = self.groups.enter(terminals, alert=True)
        self._groves[group] = _Grove(terminals)
        self.groups.set_bound(group, None)
        self._replant(group)
        self.groups.settle()

    def _replant(self, group: int) -> frozenset[int]:
        grove = self._groves[group]
        return grove.plant(_tree(self.groups, group, grove.terminals))

    def unwatch(self, instance: int, points: Points) -> None:
        self._cutting.unwatch(instance, points)
        group, vertex = self._instances[instance]
        if not self._cutting.watches(instance):
            del self._groves[group].points[vertex], self._instances[instance]
            self._numbers.give(instance, 1)
        if not self._groves[group].points:
            del self._group_of[self._groves.pop(group).terminals]
            self.groups.leave(group)

    def watch_all(self, points: Points) -> None:
        raise NotImplementedError("Steiner points are watched by their terminals")

    def unwatch_all(self, points: Points) -> None:
        raise NotImplementedError("Steiner points are watched by their terminals")

    def follow(self, log: Log) -> Said:
        self._said = []
        self.groups.follow(log, Cutting().asked(), self._hear)
        columns: Any = zip(*sorted(self._said), strict=True) if self._said else ((), (), ())
        kinds = (np.int32, np.int32, np.float64)
        return Said._make(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True))

    def _hear(self, step: int, group: int) -> None:
        """The tree of a group may have changed in a step."""
        instances = self._groves[group].points
        for vertex in self._replant(group):
            if vertex in instances and self._passes(instances[vertex]):
                self._said.append((step, instances[vertex], self.value(instances[vertex])))

    def _passes(self, instance: int) -> bool:
        """Whether somebody is to be told that a value became 1 or 0."""
        points = self._cutting.points(instance)
        return points is None or bisect_right(points, 0.0) != bisect_right(points, 1.0)

    def value(self, instance: int) -> float:
        group, vertex = self._instances[instance]
        return float(vertex in self._groves[group].inner)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """The tree as it is now."""
        tree = self._groves[self._instances[instance][0]].tree
        return {"edges": tree} if tree else {}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self.groups.restore(log)
        for group in self._groves:
            self._replant(group)
        self.groups.settle()
