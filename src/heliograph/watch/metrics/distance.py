"""`hg:distance(a, b)`: how far it is from one vertex to another, in hops or by weight, along edges or either way.

What is kept is told in kernels.metric_paths_layout: a ball around each end, no larger than half of what somebody asks
for, that follows every change. An edge whose ends no ball holds costs one look-up; where nobody asks for values beyond
a bound, nothing beyond half of it is known.

Of the shortest paths those with the fewest edges count; of those, from the end backwards, the first vertex in the order
of terms comes before each; of parallel edges of equal weight the one with the first predicate, then subject, is shown.
So what is shown depends on nothing but the graph.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from heliograph.compiled.growing import first_room
from heliograph.watch.graph import FlatGraph
from heliograph.watch.layout import IN, OBJECT, OUT, PREDICATE, SUBJECT, Int64s
from heliograph.watch.metrics import paths as room
from heliograph.watch.metrics.paths import (
    ALERT,
    ALERTED,
    BALLS_BROKEN,
    BY,
    CENTRE,
    DONE,
    EVENTS,
    FIRST_PAIR,
    GROUP,
    LACKS_EDGES,
    LACKS_ENTRIES,
    LACKS_SAID,
    LEFT,
    LIVE,
    ROW,
    SAID,
    SETTLED,
    STALE,
    TERMINALS,
    WAY,
    Telling,
)
from heliograph.watch.metrics.simple_graph import SAID_COLUMNS, Asked, Log, Said, enlarged, fixed_log
from heliograph.watch.metrics.thresholds import Cutting, Order, Points

Edge = tuple[int, int, int]
_Arrays = tuple[Any, Int64s, Int64s]  # of the graph, its reach and scratch, as kernels take them
_TIED = 8  # edges by which shortest paths come to a vertex, to begin with
_SAID = 64  # rows of what is said, to begin with


def _ignore(step: int, group: int) -> None:
    """Nobody asked for alerts."""


class Groups:
    """Groups of terminals over one projection: the owner of the arrays, who makes room and calls kernels."""

    def __init__(self, *, undirected: bool, weighted: bool, order: Order) -> None:
        self.graph, self.order = FlatGraph(), order
        self.graph.keep_adjacency()
        self._weighted, self._undirected, self._largest = weighted, undirected, 2
        self.reach = room.empty_reach(undirected=undirected)
        self.scratch = room.empty_scratch(0, self._largest, weighted=False)
        self._balls: dict[tuple[int, int], int] = {}
        self._users: Counter[int] = Counter()
        self._free = Numbers(), Numbers(), Numbers()  # of balls, pairs and groups

    @property
    def _reach(self) -> Int64s:
        """The arrays as kernels take them."""
        return room.addresses(self.reach)

    @property
    def _scratch(self) -> Int64s:
        return room.addresses(self.scratch)

    @property
    def work(self) -> Mapping[str, int]:
        """Costs that changed in balls, groups that were settled, and members of balls now."""
        counters = self.reach.counters
        return {
            "events": int(counters[EVENTS]),
            "settled": int(counters[SETTLED]),
            "members": int(counters[LIVE]),
        }

    # --- groups -------------------------------------------------------------------------------------------------

    def enter(self, terminals: Sequence[int], alert: bool = False) -> int:
        """A new group of at least two terminals; one that `alert`s is told of whenever its tree may have changed."""
        from heliograph.watch.metrics.paths import begin_group

        self.cover(1 + max(terminals))
        group, pairs = self._free[2].take(1), len(terminals) * (len(terminals) - 1) // 2
        first = self._free[1].take(pairs)
        self.reach = room.with_groups(room.with_pairs(self.reach, first + pairs), group + 1)
        self._fit_tree(len(terminals))
        self.reach.groups[group, [TERMINALS, FIRST_PAIR, ALERT]] = len(terminals), first, alert
        self.reach.bounds[group] = -math.inf
        for pair, (one, other) in enumerate(_pairs(terminals), first):
            self._name_balls(pair, group, one, other)
        begin_group(self._reach, group)
        self._mend()
        self.settle()
        return group

    def leave(self, group: int) -> None:
        """Nobody asks for a group any more."""
        from heliograph.watch.metrics.paths import end_group

        end_group(self._reach, group)
        count, first = (int(self.reach.groups[group, column]) for column in (TERMINALS, FIRST_PAIR))
        pairs = count * (count - 1) // 2
        for ball in self.reach.pairs[first : first + pairs, LEFT : LEFT + 2].ravel().tolist():
            self._release(ball)
        self._free[1].give(first, pairs)
        self._free[2].give(group, 1)

    def set_bound(self, group: int, points: Points) -> None:
        """Values need only be told apart below the last point."""
        self.reach.bounds[group] = math.inf if points is None else max(points, default=-math.inf)

    def value(self, group: int) -> float:
        """What a group is worth; changes are told from this value on."""
        value = self._worth(group)
        self.settle()
        return value

    def _worth(self, group: int) -> float:
        from heliograph.watch.metrics.paths import worth

        while math.isnan(value := float(worth(self.graph.arrays, self._reach, self._scratch, group))):
            self._mend()
        return value

    def tree(self, group: int) -> list[Edge] | None:
        """The paths between terminals that a group's value is the weight of, as edges; None if there are none.

        Groups that this queues are left to whoever calls it.
        """
        if self._worth(group) == math.inf:
            return None
        count, first = (int(self.reach.groups[group, column]) for column in (TERMINALS, FIRST_PAIR))
        pairs = [first + place for place in self.scratch.tree[1:count, BY].tolist()]
        ends = self.reach.balls[self.reach.pairs[pairs, LEFT : LEFT + 2], CENTRE].tolist()
        return [edge for start, end in ends for edge in self.path(start, end) or ()]

    def settle(self) -> None:
        """Brings groups up to date that are queued, without telling anybody."""
        from heliograph.watch.metrics.paths import settle_silently

        while not settle_silently(self.graph.arrays, self._reach, self._scratch):
            self._mend()

    def _name_balls(self, pair: int, group: int, one: int, other: int) -> None:
        against = OUT if self._undirected and one != other else IN
        balls = [self._ball(centre, way) for centre, way in ((one, OUT), (other, against))]
        self.reach.pairs[pair, [LEFT, LEFT + 1, GROUP, STALE]] = *balls, group, 0

    def _ball(self, centre: int, way: int) -> int:
        from heliograph.watch.metrics.paths import begin_ball

        if (centre, way) not in self._balls:
            ball = self._balls[centre, way] = self._free[0].take(1)
            self.reach = room.with_balls(self.reach, ball + 1)
            self.reach.balls[ball] = 0
            self.reach.balls[ball, [CENTRE, WAY]] = centre, way
            self.reach.radii[ball] = 0.0
            begin_ball(self.graph.arrays, self._reach, ball, centre)
        self._users[self._balls[centre, way]] += 1
        return self._balls[centre, way]

    def _release(self, ball: int) -> None:
        from heliograph.watch.metrics.paths import end_ball

        self._users[ball] -= 1
        if not self._users[ball]:
            end_ball(self._reach, ball)
            del self._balls[int(self.reach.balls[ball, CENTRE]), int(self.reach.balls[ball, WAY])]
            self._free[0].give(ball, 1)

    # --- changes ------------------------------------------------------------------------------------------------

    def follow(self, log: Log, asked: Asked, alerted: Callable[[int, int], None] = _ignore) -> Said:
        """Takes changes over, and tells what passed a cut. Alerts (step, group) come while the graph is as it was at
        the end of that step."""
        from heliograph.watch.metrics.paths import follow

        log = fixed_log(log)
        self._expect(log)
        self.reach.counters[[ROW, SAID]] = 0
        telling = Telling(asked, np.empty((first_room(_SAID), SAID_COLUMNS), np.int32), np.empty(first_room(_SAID)))
        while (stop := follow(self.graph.arrays, self._reach, self._scratch, log, telling)) != DONE:
            if stop == ALERTED:
                last = int(self.reach.counters[SAID]) - 1
                self.reach.counters[SAID] = last
                alerted(int(telling.rows[last, 0]), int(telling.rows[last, 1]))
            telling = self._make_room(stop, telling)
        return _told(telling, int(self.reach.counters[SAID]))

    def _make_room(self, stop: int, telling: Telling) -> Telling:
        if stop == LACKS_EDGES:
            self.graph.grow()
        elif stop == LACKS_ENTRIES:
            self._mend()
        elif stop == LACKS_SAID:
            more = first_room(2 * len(telling.rows), len(telling.rows) + 1)
            return telling._replace(rows=enlarged(telling.rows, more), values=enlarged(telling.values, more))
        return telling

    def restore(self, log: Log) -> None:
        """Takes over edges, and makes all balls anew."""
        from heliograph.watch.metrics.paths import forget_balls

        log = fixed_log(log)
        self._expect(log)
        self.graph.load(log.subject, log.predicate, log.object, log.weight if len(self.reach.sums) else None)
        for ends in (log.subject, log.object):
            np.add.at(self.reach.touching, ends, 1)
        forget_balls(self._reach)
        self._mend()
        self.settle()

    # --- paths --------------------------------------------------------------------------------------------------

    def path(self, start: int, end: int) -> list[Edge] | None:
        """The shortest path that is shown, from its start; None if there is none."""
        from heliograph.watch.metrics.paths import begin_trace, end_trace

        self.cover(1 + max(start, end))
        arrays = self.graph.arrays, self._reach, self._scratch
        try:
            return self._backwards(arrays, start, end)[::-1] if begin_trace(*arrays, start, end) else None
        finally:
            end_trace(arrays[-1])

    def _backwards(self, arrays: _Arrays, start: int, end: int) -> list[Edge]:
        """The edges of the path that is shown, from its end."""
        path: list[Edge] = []
        while end != start:
            path.append(self._last_edge(arrays, end))
            end = _other_end(path[-1], end)
        return path

    def _last_edge(self, arrays: _Arrays, vertex: int) -> Edge:
        """The edge by which the path that is shown comes to a vertex on it."""
        from heliograph.watch.metrics.paths import step_back

        edges = np.empty(first_room(_TIED), np.int32)
        while (count := int(step_back(*arrays, vertex, edges))) > len(edges):
            edges = np.empty(count, np.int32)
        tied = [self._triple(edge) for edge in edges[:count].tolist()]
        return tied[0] if count == 1 else min(tied, key=lambda edge: self._choice(edge, vertex))

    def _choice(self, edge: Edge, vertex: int) -> tuple[Any, ...]:
        return self.order(_other_end(edge, vertex)), self.order(edge[1]), self.order(edge[0])

    def weight(self, edge: Edge) -> float:
        """The weight of an edge that is there."""
        weights = self.graph.arrays.weights
        weight = float(weights[self.graph.find(*edge)]) if len(weights) else math.nan
        return 1.0 if math.isnan(weight) else weight

    def _triple(self, edge: int) -> Edge:
        row = self.graph.arrays.edges[edge]
        return int(row[SUBJECT]), int(row[PREDICATE]), int(row[OBJECT])

    # --- room ---------------------------------------------------------------------------------------------------

    def cover(self, vertices: int) -> None:
        """Makes term ids below `vertices` valid ends of edges, and valid terminals."""
        self.graph.cover(vertices)
        if vertices > len(self.reach.first):
            self.reach = room.covering(self.reach, vertices)
            self.graph.cover(len(self.reach.first))
            self._renew_scratch()

    def _expect(self, log: Log) -> None:
        """Makes ready for the vertices of a log, and for its weights."""
        if len(log.step):
            self.cover(1 + int(max(log.subject.max(), log.object.max())))
        if self._weighted and not len(self.reach.sums) and (~np.isnan(log.weight) & (log.weight != 1)).any():
            self._weigh()

    def _weigh(self) -> None:
        """From now on weights matter. While all were 1, sums were hops, and balls half as large were enough."""
        from heliograph.watch.metrics.paths import queue_groups

        self.graph.keep_weights()
        self.reach = room.weighted(self.reach)
        self._renew_scratch()
        queue_groups(self._reach)
        self.settle()

    def _fit_tree(self, terminals: int) -> None:
        if terminals > self._largest:
            self._largest = terminals
            self._renew_scratch()

    def _renew_scratch(self) -> None:
        weighted = len(self.reach.sums) > 0
        self.scratch = room.empty_scratch(len(self.reach.first), self._largest, weighted=weighted)

    def _mend(self) -> None:
        """Makes room for members until no ball lacks any."""
        from heliograph.watch.metrics.paths import mend

        while self.reach.counters[BALLS_BROKEN]:
            self.reach = room.with_entries(self.reach)
            mend(self.graph.arrays, self._reach)


def _other_end(edge: Edge, vertex: int) -> int:
    return edge[0] if edge[2] == vertex else edge[2]


class Numbers:
    """Numbers in rows of neighbours: given back, a row of the same length is taken again."""

    def __init__(self) -> None:
        self._next, self._free = 0, dict[int, list[int]]()

    def take(self, count: int) -> int:
        if self._free.get(count):
            return self._free[count].pop()
        self._next += count
        return self._next - count

    def give(self, first: int, count: int) -> None:
        self._free.setdefault(count, []).append(first)


def _pairs(terminals: Sequence[int]) -> list[tuple[int, int]]:
    return [(one, other) for i, one in enumerate(terminals) for other in terminals[i + 1 :]]


def _told(telling: Telling, count: int) -> Said:
    """What was said, in order of step and instance."""
    step, instance = telling.rows[:count, 0], telling.rows[:count, 1]
    order = np.lexsort((instance, step))
    return Said(step[order], instance[order], telling.values[:count][order])


class Instances:
    """Who asks for which groups: instances by their terminals, with their cuts."""

    def __init__(self, groups: Groups) -> None:
        self.groups = groups
        self._cutting = Cutting()
        self._numbers: dict[tuple[int, ...], int] = {}
        self._terminals: dict[int, tuple[int, ...]] = {}

    def watch(self, terminals: tuple[int, ...], points: Points) -> int:
        if terminals not in self._numbers:
            self._numbers[terminals] = self.groups.enter(terminals)
            self._terminals[self._numbers[terminals]] = terminals
        instance = self._numbers[terminals]
        self._cutting.watch(instance, points)
        self._renew(instance)
        return instance

    def unwatch(self, instance: int, points: Points) -> None:
        self._cutting.unwatch(instance, points)
        if self._cutting.watches(instance):
            self._renew(instance)
        else:
            self.groups.leave(instance)
            del self._numbers[self._terminals.pop(instance)]

    def _renew(self, instance: int) -> None:
        self.groups.set_bound(instance, self._cutting.points(instance))
        self.groups.value(instance)

    def terminals(self, instance: int) -> tuple[int, ...]:
        return self._terminals[instance]

    def follow(self, log: Log) -> Said:
        return self.groups.follow(log, self._cutting.asked())

    def restore(self, log: Log) -> None:
        """Takes over edges; changes are told from their values on."""
        self.groups.restore(log)
        for instance in self._terminals:
            self.groups.value(instance)


class Distance:
    """The measure: instances are pairs of vertices."""

    def __init__(self, *, undirected: bool = False, weighted: bool = False, order: Order = int) -> None:
        self.groups = Groups(undirected=undirected, weighted=weighted, order=order)
        self._instances = Instances(self.groups)

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        return self._instances.watch(tuple(vertices), points)

    def unwatch(self, instance: int, points: Points) -> None:
        self._instances.unwatch(instance, points)

    def watch_all(self, points: Points) -> None:
        raise NotImplementedError("distances are watched pair by pair")

    def unwatch_all(self, points: Points) -> None:
        raise NotImplementedError("distances are watched pair by pair")

    def follow(self, log: Log) -> Said:
        return self._instances.follow(log)

    def value(self, instance: int) -> float:
        return self.groups.value(instance)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """A shortest path as it is now, from its start."""
        start, end = self._instances.terminals(instance)
        path = self.groups.path(start, end)
        return {} if path is None else {"edges": path}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._instances.restore(log)
