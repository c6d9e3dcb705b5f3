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

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from heliograph.baselines.watch_algorithm import ADD, Changes, Edge, Match, Values, Vertex, edges_of, nothing
from heliograph.baselines.watch_paths import Path, covering_paths
from heliograph.baselines.watch_views import Forest, Node, Walks
from heliograph.syntax.query import Query
from heliograph.terms import Variable

Solution = dict[Variable, Vertex]


class _Part(NamedTuple):
    """A path of a query, and the node its walks are at."""

    path: Path
    node: Node

    def walks(self, known: Solution) -> Collection[Values]:
        """The walks that agree with what is known."""
        shared = [(place, known[name]) for name, place in self.path.places.items() if name in known]
        return self.node.view.at(tuple(place for place, _ in shared), tuple(value for _, value in shared))

    def extended(self, known: Solution, walks: Iterable[Values]) -> Iterator[Solution]:
        """What is known, with the variables of each of these walks, unless one would have two values."""
        for walk in walks:
            if self.path.agrees(walk):
                yield {**known, **{name: walk[place] for name, place in self.path.places.items()}}


@dataclass(slots=True)
class _Asked:
    id: str
    variables: tuple[Variable, ...]
    parts: tuple[_Part, ...]
    count: int = 0

    def solutions(self, start: int, walks: Iterable[Values]) -> set[Values]:
        """The solutions in which one path has one of some walks."""
        if not all(part.node.view.walks for part in self.parts):
            return set()
        others = self.parts[:start] + self.parts[start + 1 :]
        return {values for known in self.parts[start].extended({}, walks) for values in self._joined(known, others)}

    def all_solutions(self) -> set[Values]:
        return set(self._joined({}, self.parts))

    def _joined(self, known: Solution, left: tuple[_Part, ...]) -> Iterator[Values]:
        """Next comes the path with the fewest walks that agree: a star's edges are not multiplied out in vain."""
        if not left:
            yield tuple(known[name] for name in self.variables)
            return
        ways = [part.walks(known) for part in left]
        best = min(range(len(left)), key=lambda place: len(ways[place]))
        for extended in left[best].extended(known, ways[best]):
            yield from self._joined(extended, left[:best] + left[best + 1 :])


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
