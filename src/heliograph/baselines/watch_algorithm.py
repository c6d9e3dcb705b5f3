"""What the algorithms of the evolving-graph paper have in common: what they are asked, and how they answer.

A vertex or property is a `Term` or anything else that can be hashed, except None; variables are `Variable`. A match is
a distinct solution over all variables of the pattern, in their order of first appearance; a query without variables
has one, the empty one, while all its edges are there. The law: what an update gains and loses is the difference
between the matches after it and before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from heliograph.errors import SubscriptionError
from heliograph.syntax.query import Query, TriplePattern
from heliograph.terms import RDFS_MEMBER, Variable

Vertex = Any
Edge = tuple[Vertex, Vertex, Vertex]  # subject, property, object; in a pattern each may be a variable
Values = tuple[Vertex, ...]

ADD, REMOVE = "+", "-"


class Match(NamedTuple):
    id: str
    values: Values  # of the query's variables


class Changes(NamedTuple):
    """What an update changed: matches, and the queries that became true or false by it."""

    gained: list[Match]
    lost: list[Match]
    rose: list[str]
    fell: list[str]


class Algorithm(Protocol):
    def subscribe(self, id: str, query: Query) -> None: ...

    def unsubscribe(self, id: str) -> None: ...

    def update(self, op: str, triple: Edge) -> Changes: ...

    def matches(self, id: str) -> set[Values]:
        """The matches of a query as the graph stands."""
        ...


def nothing() -> Changes:
    return Changes([], [], [], [])


def pattern(edges: Iterable[Edge]) -> Query:
    """A query for edges between whatever vertices."""
    return Query(patterns=tuple(TriplePattern(*edge) for edge in edges))


def edges_of(query: Query) -> tuple[Edge, ...]:
    """The distinct edges of a query that asks for edges and nothing else."""
    plain = [each for each in query.patterns if isinstance(each, TriplePattern) and each.predicate != RDFS_MEMBER]
    if len(plain) < len(query.patterns) or query.filters or query.values or query.counted:
        raise _refused("asks for more than edges", "leave out is-a forms, rdfs:member, FILTER, VALUES and counts")
    return tuple(dict.fromkeys((subject, predicate, object) for subject, predicate, object in plain))


def concrete_edges(query: Query) -> tuple[Edge, ...]:
    """The distinct edges of a query that has no variables either."""
    if query.variables:
        raise _refused(f"has the variable {query.variables[0]}", "ask for concrete edges, or take another algorithm")
    return edges_of(query)


def is_variable(node: Vertex) -> bool:
    return isinstance(node, Variable)


def _refused(message: str, fix: str) -> SubscriptionError:
    return SubscriptionError("HG-530", f"the query {message}, which this algorithm cannot answer", fix=fix)
