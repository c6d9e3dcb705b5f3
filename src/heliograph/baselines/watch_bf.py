"""BF, the first algorithm of [Z] section 3.1: no query index, every query tried on every update.

The query database is a list. A query of concrete edges is true while they are all in the graph; one with variables is
solved from scratch. Mended (the paper has neither): variables, and the deletions that follow from asking again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from heliograph.baselines.graph import Graph
from heliograph.baselines.solve import Plan, world
from heliograph.baselines.watch_algorithm import ADD, Changes, Edge, Match, Values, concrete_edges, nothing
from heliograph.syntax.query import Query

_ALWAYS: frozenset[Values] = frozenset({()})
_NEVER: frozenset[Values] = frozenset()


@dataclass(slots=True)
class _Asked:
    """A query, with what it matched when it was last tried."""

    id: str
    plan: Plan
    edges: frozenset[Edge] | None  # all of it, if it has no variables
    standing: frozenset[Values] = field(default=_NEVER)


class BruteForce:
    """Answers every query again at each update. `tried` counts how often."""

    def __init__(self) -> None:
        self.tried = 0
        self._graph = Graph()
        self._present: set[Edge] = set()
        self._queries: list[_Asked] = []

    def subscribe(self, id: str, query: Query) -> None:
        asked = _Asked(id, Plan.of(query), None if query.variables else frozenset(concrete_edges(query)))
        asked.standing = self._answer(asked)
        self._queries.append(asked)

    def unsubscribe(self, id: str) -> None:
        self._queries = [asked for asked in self._queries if asked.id != id]

    def update(self, op: str, triple: Edge) -> Changes:
        """Applies an update, whether or not it changes anything, and scans the query database."""
        if op == ADD:
            self._graph.add(triple)
            self._present.add(triple)
        else:
            self._graph.remove(triple)
            self._present.discard(triple)
        return self._scan()

    def matches(self, id: str) -> set[Values]:
        return set().union(*(asked.standing for asked in self._queries if asked.id == id))

    def _scan(self) -> Changes:
        changes = nothing()
        for asked in self._queries:
            after = self._answer(asked)
            if after != asked.standing:
                _note(changes, asked, after)
                asked.standing = after
        self.tried += len(self._queries)
        return changes

    def _answer(self, asked: _Asked) -> frozenset[Values]:
        if asked.edges is not None:
            return _ALWAYS if asked.edges <= self._present else _NEVER
        order = asked.plan.query.variables
        found = asked.plan.solutions(world(self._graph))
        return frozenset(tuple(solution[name] for name in order) for solution in found)


def _note(changes: Changes, asked: _Asked, after: frozenset[Values]) -> None:
    changes.gained.extend(Match(asked.id, values) for values in after - asked.standing)
    changes.lost.extend(Match(asked.id, values) for values in asked.standing - after)
    if not asked.standing:
        changes.rose.append(asked.id)
    elif not after:
        changes.fell.append(asked.id)
