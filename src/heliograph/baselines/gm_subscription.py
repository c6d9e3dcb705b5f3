"""A subscription as the seeds see it: G_S, edges between constants and stars, and the stars' constraints.

[G] section 3.2 writes it as 5-tuples (subject, property, object, constraintSet(subject), constraintSet(object)). The
variables are named by the "special sequence of labels *i" of section 4.1, numbered from 1 in order of appearance.

The laws: a publication that matches the query holds an edge for each edge of G_S, under one binding of the stars whose
every value satisfies the star's constraints; and if `plan` is None the converse holds too. Otherwise the query says
something that the seeds have no notion of (counts, VALUES, arithmetic, text, a variable as property, two variables in
one FILTER, a class that is a variable, a class asked of a constant), and the plan decides.

Two variables may take one value (SEED_NOTES, filter 1): both seeds say "isomorphic" and both implement homomorphism.
A variable on several edges has one constraint set (SEED_NOTES, filter 5); printed, each 5-tuple has its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from heliograph.baselines.gm_constraints import (
    Constraint,
    class_constraint,
    conjuncts,
    value_constraints,
)
from heliograph.baselines.solve import Plan
from heliograph.syntax.query import Node, Pattern, Query, TriplePattern
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable

Star = int
Vertex = Term | Star

_DERIVED = (RDF_TYPE, RDFS_MEMBER)  # properties that also match what no triple of the document says


class Edge(NamedTuple):
    """A labelled edge of a subscription graph."""

    source: Vertex
    label: Term
    target: Vertex


@dataclass(frozen=True, slots=True)
class SubscriptionGraph:
    """G_S. `constraints[i - 1]` are those of the star *i; `plan` decides where edges and constraints do not suffice."""

    edges: tuple[Edge, ...]
    stars: tuple[Variable, ...]
    constraints: tuple[tuple[Constraint, ...], ...]
    plan: Plan | None

    @classmethod
    def of(cls, query: Query) -> SubscriptionGraph:
        if _counts_nothing(query):
            return cls((), (), (), Plan.of(query))
        plain = [pattern for pattern in query.patterns if _is_plain(pattern)]
        stars = {name: number for number, name in enumerate(dict.fromkeys(_ends(plain)), start=1)}
        edges = dict.fromkeys(_edge(pattern, stars) for pattern in plain)
        constraints, rest = _constraints(query, stars)
        beyond = rest or query.counted or query.values
        return cls(tuple(edges), tuple(stars), constraints, Plan.of(query) if beyond else None)

    def constraints_of(self, vertex: Vertex) -> tuple[Constraint, ...]:
        """What is asked of a vertex; nothing of a constant."""
        return self.constraints[vertex - 1] if isinstance(vertex, Star) else ()


def _counts_nothing(query: Query) -> bool:
    """Whether the query may hold of a publication without a single solution, as COUNT(*) = 0 does."""
    return query.counted and query.having is not None and not query.group_by


def _is_plain(pattern: Pattern) -> bool:
    if not isinstance(pattern, TriplePattern):
        return False
    return isinstance(pattern.predicate, Term) and pattern.predicate not in _DERIVED


def _ends(plain: list[Pattern]) -> Iterator[Variable]:
    return (end for pattern in plain for end in (pattern.subject, pattern.object) if isinstance(end, Variable))


def _edge(pattern: Pattern, stars: dict[Variable, Star]) -> Edge:
    assert isinstance(pattern, TriplePattern)
    assert isinstance(pattern.predicate, Term)
    return Edge(_vertex(pattern.subject, stars), pattern.predicate, _vertex(pattern.object, stars))


def _vertex(node: Node, stars: dict[Variable, Star]) -> Vertex:
    return stars[node] if isinstance(node, Variable) else node


def _constraints(query: Query, stars: dict[Variable, Star]) -> tuple[tuple[tuple[Constraint, ...], ...], bool]:
    """Each star's constraints, and whether the query says more than they and the plain edges do."""
    found: dict[Variable, list[Constraint]] = {name: [] for name in stars}
    rest = False
    for asked in _asked(query):
        if asked is None or asked[0] not in found:
            rest = True
        else:
            found[asked[0]] += asked[1]
    return tuple(tuple(each) for each in found.values()), rest


def _asked(query: Query) -> Iterator[tuple[Variable, tuple[Constraint, ...]] | None]:
    """What each pattern that is no plain edge and each part of each FILTER asks of which variable."""
    for pattern in query.patterns:
        if not _is_plain(pattern):
            asked = class_constraint(pattern)
            yield None if asked is None else (asked[0], (asked[1],))
    for expression in query.filters:
        yield from map(value_constraints, conjuncts(expression))
