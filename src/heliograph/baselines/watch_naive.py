"""Continuous queries, plainly: after each update the queries it could concern are answered again from scratch.

[Z] calls it BF: no query index, every query tried on every update. One shortcut is taken because it is plain: the
solutions of a query depend on the graph only through the triples that one of its patterns matches, so a query is left
alone when no changed triple agrees with the constants of any of its patterns. `Concerns` finds the rest by looking a
triple up under its eight generalisations.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Protocol

from heliograph.baselines.graph import Readable, Triple
from heliograph.baselines.solve import Plan, Solution, world
from heliograph.semantics.expressions import Metrics
from heliograph.syntax.query import ClassPattern, Metric, Node, Pattern, Query
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, is_container_member

Key = tuple[Term | None, ...]  # a pattern with None for its variables

_CLASS_PROPERTIES = frozenset({RDF_TYPE, RDFS_SUBCLASS_OF})
_MASKS = tuple(product((True, False), repeat=3))
_ANY_CLASS: Key = ()  # stands for every is-a form; no triple generalises to it


class Concerns:
    """Which queries could be concerned by a changed triple."""

    def __init__(self) -> None:
        self._queries: dict[Key, dict[str, None]] = {}
        self._measured: dict[str, None] = {}  # queries that ask metrics: any change may concern them

    def add(self, id: str, query: Query) -> None:
        if query.metrics:
            self._measured[id] = None
        for pattern in query.patterns:
            self._queries.setdefault(_general(pattern), {})[id] = None

    def remove(self, id: str, query: Query) -> None:
        self._measured.pop(id, None)
        for key in {_general(pattern) for pattern in query.patterns}:
            del self._queries[key][id]
            if not self._queries[key]:
                del self._queries[key]

    def of(self, changed: Iterable[Triple]) -> set[str]:
        """The ids of all queries with a pattern that agrees with a changed triple."""
        keys = {key for triple in changed for key in _generalisations(triple)}
        concerned = {id for key in keys for id in self._queries.get(key, ())}
        return concerned.union(self._measured)


class Measuring(Protocol):
    """What answers `hg:` functions."""

    @property
    def vertices(self) -> Collection[Term]: ...

    def selected(self, query: Query) -> frozenset[Term]: ...

    def term(self, metric: Metric, bindings: Mapping[Variable, Term], selected: frozenset[Term]) -> Term | None: ...

    def shown(self, metric: Metric, bindings: Mapping[Variable, Term]) -> Mapping[str, Any]: ...


class Reevaluation:
    """Answers queries over the graph as it is now."""

    def __init__(self, graph: Readable, taxonomy: Taxonomy | None = None, measuring: Measuring | None = None) -> None:
        self.graph = graph
        self.taxonomy = taxonomy
        self._measuring = measuring

    def solutions(self, plan: Plan) -> Iterator[Solution]:
        measuring = self._measuring
        if measuring is None or not plan.query.metrics:
            return plan.solutions(world(self.graph, self.taxonomy))
        return plan.solutions(
            world(self.graph, self.taxonomy), metrics=self.metrics(plan.query), vertices=measuring.vertices
        )

    @property
    def vertices(self) -> Collection[Term]:
        """What variables of metrics range over, if somebody measures."""
        return () if self._measuring is None else self._measuring.vertices

    def metrics(self, query: Query) -> Metrics:
        """What `hg:` functions of a query say of bindings, as far as somebody measures them."""
        measuring = self._measuring
        if measuring is None:
            return lambda metric, bindings: None
        selected = measuring.selected(query)
        return lambda metric, bindings: measuring.term(metric, bindings, selected)

    def shown(self, metric: Metric, bindings: Mapping[Variable, Term]) -> Mapping[str, Any]:
        """What an `hg:` function shows beside its value: an interval, or the edges of a path or tree."""
        return {} if self._measuring is None else self._measuring.shown(metric, bindings)

    def answer(self, query: Query) -> Iterator[Solution]:
        """The solutions of a query that is asked but once."""
        return self.solutions(Plan.of(query))


def _general(pattern: Pattern) -> Key:
    if isinstance(pattern, ClassPattern):
        return _ANY_CLASS
    return (_constant(pattern.subject), _constant(pattern.predicate), _constant(pattern.object))


def _constant(node: Node) -> Term | None:
    return None if isinstance(node, Variable) else node


def _generalisations(triple: Triple) -> Iterator[Key]:
    subject, predicate, object = triple
    predicates = (predicate, RDFS_MEMBER) if is_container_member(predicate) else (predicate,)
    for shown in predicates:
        for mask in _MASKS:
            yield tuple(part if kept else None for part, kept in zip((subject, shown, object), mask, strict=True))
    if predicate in _CLASS_PROPERTIES:
        yield _ANY_CLASS
