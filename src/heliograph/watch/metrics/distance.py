"""Metrics of terminals: `hg:distance(a, b)`, `hg:steiner(a, b, …)` and `hg:steinerPoint(x, a, b, …)`.

How far it is from one vertex to another, in hops or by weight, along edges or either way; what it costs to join
terminals; and whether x helps to join them. What is kept of shortest paths, and which path is shown, `paths` says.

The value of several terminals is the weight of a minimum spanning tree over their shortest-path distances, at most
twice that of the best tree. A value is looked at again when two balls meet otherwise than before; the tree, on which
steinerPoint rests, when the shortest paths of one of its pairs may have changed. Nothing else can matter.

The tree that is shown is a function of the graph alone, whatever happened before. The shortest paths of the spanning
tree may cross, so together they may hold cycles. Of their edges a minimum spanning tree is taken, edges ordered by
weight and then by their ends, smaller one first, of which paths join no two by more than one edge; then leaves that are
no terminals go, until there are none. It weighs no more than the value. Source: Kou, Markowsky and Berman (1981), steps
3 to 5.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from heliograph.watch.metrics.paths import Edge, FreeNumbers, TerminalGroups
from heliograph.watch.metrics.thresholds import NO_THRESHOLDS, Log, Measure, Order, Points, Reported, Saved

_Terminals = tuple[int, ...]


class TerminalMeasure(Measure):
    """A metric of terminals: an instance is a group, found by its terminals."""

    all_refused = "Steiner trees are watched by their terminals"  # what `watch_all` says

    def __init__(self, *, undirected: bool, weighted: bool, order: Order) -> None:
        super().__init__()
        self.groups = TerminalGroups(undirected=undirected, weighted=weighted, order=order)
        self._numbers: dict[tuple[int, ...], int] = {}
        self._terminals: dict[int, tuple[int, ...]] = {}

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        terminals = tuple(vertices)
        if terminals not in self._numbers:
            self._numbers[terminals] = self.groups.enter(terminals)
            self._terminals[self._numbers[terminals]] = terminals
        instance = self._numbers[terminals]
        self.thresholds.watch(instance, points)
        self._renew(instance)
        return instance

    def unwatch(self, instance: int, points: Points) -> None:
        self.thresholds.unwatch(instance, points)
        if self.thresholds.watches(instance):
            self._renew(instance)
        else:
            self.groups.leave(instance)
            del self._numbers[self._terminals.pop(instance)]

    def _renew(self, instance: int) -> None:
        self.groups.set_bound(instance, self.thresholds.points(instance))
        self.groups.value(instance)

    def watch_all(self, points: Points) -> None:
        raise NotImplementedError(self.all_refused)

    unwatch_all = watch_all

    def follow(self, log: Log) -> Reported:
        return self.groups.follow(log, self.thresholds.asked())

    def value(self, instance: int) -> float:
        return self.groups.value(instance)

    def restore(self, log: Log, saved: Saved) -> None:
        """Takes over edges; changes are reported from their values on."""
        self.groups.restore(log)
        for instance in self._terminals:
            self.groups.value(instance)


class Distance(TerminalMeasure):
    """Instances are pairs of vertices."""

    all_refused = "distances are watched pair by pair"

    def __init__(self, *, undirected: bool = False, weighted: bool = False, order: Order = int) -> None:
        super().__init__(undirected=undirected, weighted=weighted, order=order)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """A shortest path as it is now, from its start."""
        path = self.groups.path(*self._terminals[instance])
        return {} if path is None else {"edges": path}


# --- trees that are shown ---------------------------------------------------------------------------------------


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


def _terminals_of(vertices: Sequence[int], order: Order) -> _Terminals:
    """Terminals as a group takes them: each once, in order; a single one is a pair with itself."""
    different = tuple(sorted(set(vertices), key=order))
    return different if len(different) > 1 else different * 2


def _tree(groups: TerminalGroups, group: int, terminals: _Terminals) -> list[Edge] | None:
    paths = groups.tree(group)
    return None if paths is None else shown_tree(paths, terminals, groups.weight, groups.order)


# --- Steiner trees ----------------------------------------------------------------------------------------------


class Steiner(TerminalMeasure):
    """Instances are sets of terminals."""

    def __init__(self, order: Order = int) -> None:
        super().__init__(undirected=True, weighted=True, order=order)

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        return super().watch(_terminals_of(vertices, self.groups.order), points)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """The tree as it is now."""
        tree = _tree(self.groups, instance, self._terminals[instance])
        self.groups.settle()
        return {} if tree is None else {"edges": tree}


class _Grove:
    """A set of terminals, its tree now, and the instances that ask whether a vertex is an inner one of it."""

    def __init__(self, terminals: _Terminals) -> None:
        self.terminals = terminals
        self.points: dict[int, int] = {}  # instance by vertex
        self.tree: list[Edge] = []
        self.inner: frozenset[int] = frozenset()


class SteinerPoint(Measure):
    """Instances are a vertex and a set of terminals; the value is 1 if it is an inner vertex of their tree."""

    def __init__(self, order: Order = int) -> None:
        super().__init__()
        self.groups = TerminalGroups(undirected=True, weighted=True, order=order)
        self._groves: dict[int, _Grove] = {}
        self._group_of: dict[_Terminals, int] = {}
        self._instances: dict[int, tuple[int, int]] = {}  # group and vertex
        self._numbers = FreeNumbers()
        self._found: list[tuple[int, int, float]] = []  # (step, instance, value) to be reported

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        vertex, terminals = vertices[0], _terminals_of(vertices[1:], self.groups.order)
        if terminals not in self._group_of:
            group = self._group_of[terminals] = self.groups.enter(terminals, alert=True)
            self._groves[group] = _Grove(terminals)
            self.groups.set_bound(group, None)
            self._replant(group)
            self.groups.settle()
        group = self._group_of[terminals]
        instances = self._groves[group].points
        if vertex not in instances:
            instances[vertex] = self._numbers.take(1)
            self._instances[instances[vertex]] = group, vertex
        self.thresholds.watch(instances[vertex], points)
        return instances[vertex]

    def _replant(self, group: int) -> frozenset[int]:
        """Takes the tree as it is now; the vertices that are inner ones of just one of the two."""
        grove = self._groves[group]
        before, grove.tree = grove.inner, _tree(self.groups, group, grove.terminals) or []
        grove.inner = inner_vertices(grove.tree, grove.terminals)
        return before ^ grove.inner

    def unwatch(self, instance: int, points: Points) -> None:
        self.thresholds.unwatch(instance, points)
        group, vertex = self._instances[instance]
        if not self.thresholds.watches(instance):
            del self._groves[group].points[vertex], self._instances[instance]
            self._numbers.give(instance, 1)
        if not self._groves[group].points:
            del self._group_of[self._groves.pop(group).terminals]
            self.groups.leave(group)

    def watch_all(self, points: Points) -> None:
        raise NotImplementedError("Steiner points are watched by their terminals")

    unwatch_all = watch_all

    def follow(self, log: Log) -> Reported:
        self._found = []
        self.groups.follow(log, NO_THRESHOLDS, self._take_alert)
        columns: Any = zip(*sorted(self._found), strict=True) if self._found else ((), (), ())
        kinds = (np.int32, np.int32, np.float64)
        return Reported._make(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True))

    def _take_alert(self, step: int, group: int) -> None:
        """The tree of a group may have changed in a step: reports instances that became 1 or 0, if that is asked."""
        instances = self._groves[group].points
        for vertex in self._replant(group):
            if vertex in instances:
                points = self.thresholds.points(instances[vertex])
                if points is None or bisect_right(points, 0.0) != bisect_right(points, 1.0):
                    self._found.append((step, instances[vertex], self.value(instances[vertex])))

    def value(self, instance: int) -> float:
        group, vertex = self._instances[instance]
        return float(vertex in self._groves[group].inner)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """The tree as it is now."""
        tree = self._groves[self._instances[instance][0]].tree
        return {"edges": tree} if tree else {}

    def restore(self, log: Log, saved: Saved) -> None:
        self.groups.restore(log)
        for group in self._groves:
            self._replant(group)
        self.groups.settle()
