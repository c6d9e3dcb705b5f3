"""An arrangement that is easily seen to be right, to try plans with: patterns by the property of one of their edges.

A pattern that asks for nothing but an edge with some property stands above all patterns that have such an edge. Where
there is none, two or more such patterns may get a synthetic merger. All is arranged from scratch after each change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heliograph.partition.plan import Arrangement, PlanChange
from heliograph.sparql.query import Query, TriplePattern
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable


class ByProperty(Arrangement):
    """Patterns by property, with mergers or without."""

    def __init__(self, mergers: bool) -> None:
        super().__init__()
        self.mergers = mergers
        self._next = 0
        self._by_query: dict[Query, int] = {}
        self._queries: dict[int, Query] = {}
        self._synthetic: dict[Term, int] = {}  # by property
        self._root: dict[int, int] = {}

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> PlanChange:
        for number, query in subscriptions:
            if query not in self._by_query:
                self._by_query[query] = self._new(query)
            self._subscribe(number, self._by_query[query])
        return self._arranged()

    def remove(self, numbers: Iterable[int]) -> PlanChange:
        for number in numbers:
            node = self._nodes.pop(number)
            del self._subscribers[node][number]
            if not self._subscribers[node]:
                del self._by_query[self._queries[node]]
        return self._arranged()

    def _new(self, query: Query) -> int:
        node, self._next = self._next, self._next + 1
        self._queries[node] = query
        return node

    def _arranged(self) -> PlanChange:
        before, self._root = self._root, self._roots()
        now = self._root
        return PlanChange(
            tuple(node for node, root in now.items() if root == node != before.get(node)),
            tuple(node for node, root in now.items() if before.get(node) == node != root),
            tuple((node, root) for node, root in now.items() if root not in (node, before.get(node))),
            tuple(node for node in before if node not in now),
        )

    def _roots(self) -> dict[int, int]:
        groups: dict[Term, list[int]] = {}
        roots: dict[int, int] = {}
        for query, node in self._by_query.items():
            name = _property(query)
            roots[node] = node
            if name is not None:
                groups.setdefault(name, []).append(node)
        for name, nodes in groups.items():
            above = self._above(name, nodes)
            if above is not None:
                roots |= dict.fromkeys([above, *nodes], above)
        return roots

    def _above(self, name: Term, nodes: Sequence[int]) -> int | None:
        general = [node for node in nodes if _is_general(self._queries[node])]
        if general or len(nodes) < 2 or not self.mergers:
            self._synthetic.pop(name, None)
            return general[0] if general else None
        if name not in self._synthetic:
            edge = TriplePattern(Variable("s"), name, Variable("o"))
            self._synthetic[name] = self._new(Query(patterns=(edge,)))
        return self._synthetic[name]

    def root_of(self, node: int) -> int:
        return self._root[node]

    def query_of(self, node: int) -> Query:
        return self._queries[node]

    def is_synthetic(self, node: int) -> bool:
        return node in self._synthetic.values()

    def roots(self) -> Iterable[int]:
        return [node for node, root in self._root.items() if node == root]


def _property(query: Query) -> Term | None:
    """The property of a pattern that every publication must hold, if there is one."""
    if query.counted:
        return None
    names = (each.predicate for each in query.patterns if isinstance(each, TriplePattern))
    return next((name for name in names if isinstance(name, Term) and name not in (RDF_TYPE, RDFS_MEMBER)), None)


def _is_general(query: Query) -> bool:
    """Whether a pattern asks for an edge and nothing about its ends."""
    (edge, *others) = query.patterns
    ends = isinstance(edge, TriplePattern) and edge.subject != edge.object
    free = ends and all(isinstance(end, Variable) for end in (edge.subject, edge.object))
    return free and not others and not query.filters and not query.values
