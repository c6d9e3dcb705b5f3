"""Shared tries with materialised views, in the manner of TriC (Zervakis et al., EDBT 2020): the stronger opponent.

Every query is covered by paths; equal beginnings of the paths of all queries are one way down a trie, whose nodes hold
the walks through the graph that fit them. An update changes the views of the nodes its edge fits, and of those below;
where a changed view is one of a query's paths, the change is joined with the views of its other paths.

The law: a solution is one walk for each path, and determined by them. So it is gained by an addition (lost by a
deletion) exactly if one of its walks takes part in the edge, and all of them exist in the graph with that edge:
therefore an addition changes the views before it joins, and a deletion joins before it changes the views.

Not in TriC: deletions of this exactness, variable properties, variables that stand twice on a path, unsubscribing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from heliograph.baselines.watch_algorithm import ADD, Changes, Edge, Match, Values, edges_of, nothing
from heliograph.baselines.watch_paths import Path, covering_paths
from heliograph.baselines.watch_views import Forest, Node, Places, Walks
from heliograph.syntax.query import Query
from heliograph.terms import Variable

_FROM_NOTHING = -1


class _Part(NamedTuple):
    """A path of a query, and the node its walks are at."""

    path: Path
    node: Node


class _Step(NamedTuple):
    """A join with one more path."""

    part: _Part
    shared: Places  # in its walks, the variables that are known
    known: Places  # the same variables in a row
    new: Places  # in its walks, the variables that the row gets


class _Plan(NamedTuple):
    steps: tuple[_Step, ...]
    order: Places  # in a full row, the query's variables


@dataclass(slots=True)
class _Asked:
    """A query. Rows are the values of variables in the order in which a join came across them."""

    id: str
    variables: tuple[Variable, ...]
    parts: tuple[_Part, ...]
    count: int = 0
    plans: dict[int, _Plan] = field(default_factory=dict)  # by the path it starts from

    def solutions(self, start: int, walks: Iterable[Values]) -> set[Values]:
        """The solutions in which one path has one of some walks."""
        path = self.parts[start].path
        first = tuple(path.places.values())
        rows = [tuple(walk[place] for place in first) for walk in walks if path.agrees(walk)]
        return self._joined(start, rows)

    def all_solutions(self) -> set[Values]:
        return self._joined(_FROM_NOTHING, [()])

    def _joined(self, start: int, rows: list[Values]) -> set[Values]:
        if not all(part.node.view.walks for part in self.parts):
            return set()
        plan = self.plans.get(start)
        if plan is None:
            plan = self.plans[start] = self._plan(start)
        for step in plan.steps:
            rows = [row + more for row in rows for more in _ways(step, row)]
        return {tuple(row[slot] for slot in plan.order) for row in rows}

    def _plan(self, start: int) -> _Plan:
        """Next comes the path that shares most with what is known."""
        known = list(self.parts[start].path.places) if start != _FROM_NOTHING else []
        left = [part for number, part in enumerate(self.parts) if number != start]
        steps = []
        while left:
            part = max(left, key=lambda each: len(each.path.places.keys() & set(known)))
            left.remove(part)
            steps.append(_step(part, known))
            known += [name for name in part.path.places if name not in known]
        return _Plan(tuple(steps), tuple(map(known.index, self.variables)))


def _step(part: _Part, known: list[Variable]) -> _Step:
    places = part.path.places
    shared = [name for name in places if name in known]
    return _Step(
        part,
        tuple(places[name] for name in shared),
        tuple(known.index(name) for name in shared),
        tuple(place for name, place in places.items() if name not in known),
    )


def _ways(step: _Step, row: Values) -> list[Values]:
    """What a row gets from each walk that agrees with it."""
    walks = step.part.node.view.at(step.shared, tuple(row[slot] for slot in step.known))
    agrees = step.part.path.agrees
    return [tuple(walk[place] for place in step.new) for walk in walks if agrees(walk)]


class Trie:
    """Distinct solutions gained and lost, and truth, for any number of queries of edges. `joined` counts the (query,
    update) pairs for which a join was begun."""

    def __init__(self) -> None:
        self.joined = 0
        self._forest = Forest()
        self._queries: dict[str, _Asked] = {}

    @property
    def nodes(self) -> int:
        """How many nodes the tries have."""
        return len(self._forest)

    def subscribe(self, id: str, query: Query) -> None:
        paths = covering_paths(edges_of(query))
        parts = [_Part(path, self._forest.use(path.forms, (id, number))) for number, path in enumerate(paths)]
        asked = self._queries[id] = _Asked(id, query.variables, tuple(parts))
        asked.count = len(asked.all_solutions())

    def unsubscribe(self, id: str) -> None:
        asked = self._queries.pop(id)
        for number, part in enumerate(asked.parts):
            self._forest.leave(part.node, (id, number))

    def update(self, op: str, triple: Edge) -> Changes:
        graph = self._forest.graph
        if (triple in graph) == (op == ADD):
            return nothing()
        return self._add(triple) if op == ADD else self._remove(triple)

    def matches(self, id: str) -> set[Values]:
        asked = self._queries.get(id)
        return asked.all_solutions() if asked is not None else set()

    def _add(self, triple: Edge) -> Changes:
        self._forest.graph.add(triple)
        touched = self._forest.touched(triple)
        for node, walks in touched.items():
            node.view.add(walks)
        changes = nothing()
        for asked, found in self._concerned(touched):
            if not asked.count:
                changes.rose.append(asked.id)
            asked.count += len(found)
            changes.gained.extend(Match(asked.id, values) for values in found)
        return changes

    def _remove(self, triple: Edge) -> Changes:
        touched = self._forest.touched(triple)
        changes = nothing()
        for asked, found in self._concerned(touched):
            asked.count -= len(found)
            if not asked.count:
                changes.fell.append(asked.id)
            changes.lost.extend(Match(asked.id, values) for values in found)
        for node, walks in touched.items():
            node.view.discard(walks)
        self._forest.graph.remove(triple)
        return changes

    def _concerned(self, touched: dict[Node, Walks]) -> list[tuple[_Asked, set[Values]]]:
        """The queries with solutions that have one of the walks, and these solutions."""
        found: dict[str, set[Values]] = {}
        for node, walks in touched.items():
            for id, number in node.users:
                found.setdefault(id, set()).update(self._queries[id].solutions(number, walks))
        self.joined += len(found)
        return [(self._queries[id], solutions) for id, solutions in found.items() if solutions]
