"""pyoxigraph as the oracle of a whole filter: which queries match a document, with which bindings and counts.

It asks for the distinct solutions over all variables of the pattern, those of blank nodes too, because counts are over
these; projection and grouping come on top, in SPARQL of its own. Taxonomy rows and `rdfs:member` are rewritten to
alternative properties, as the contract means them.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyoxigraph as ox

from heliograph.sparql.query import ClassPattern, Expression, Node, Pattern, Query, TriplePattern
from heliograph.terms import RDF, RDFS_MEMBER, Position, Term, Variable, parse_cell, shorten, spell
from tests.sparql import oxigraph

Cells = tuple[str, str, str]
Binding = frozenset[tuple[str, str]]  # variable and term, both spelled
_MEMBERS = "|".join([f"<{RDFS_MEMBER.value}>", *(f"<{RDF}_{number}>" for number in range(1, 10))])


def store(document: Iterable[Cells], taxonomy: Iterable[tuple[str, str]]) -> ox.Store:
    triples = [tuple(parse_cell(cell, at) for cell, at in zip(cells, Position)) for cells in document]
    rows = [(parse_cell(child, Position.SUBJECT), parse_cell(parent, Position.SUBJECT)) for child, parent in taxonomy]
    return oxigraph.store(triples, rows)  # type: ignore[arg-type]


def bindings(source: ox.Store, query: Query) -> set[Binding]:
    """The distinct rows that a match's evidence shows; of a query that counts, the groups that satisfy HAVING."""
    if query.counted:
        return {
            _spelled(row, query.group_by) | {(name.name, spell(row[Variable("total")])) for name in query.count_names}
            for row in _groups(source, query)
        }
    names = query.projection or query.named_variables
    return {_spelled(row, names) for row in oxigraph.answers(source, _solutions(query))}


def counts(source: ox.Store, query: Query) -> set[str]:
    """The counts of the groups that satisfy HAVING."""
    return {spell(row[Variable("total")]) for row in _groups(source, query)}


def _groups(source: ox.Store, query: Query) -> list[dict[Variable, Term]]:
    assert query.having is not None
    by = " ".join(map(str, query.group_by))
    grouped = f"GROUP BY {by}" if by else ""
    having = oxigraph.expression_text(query.having)
    text = f"SELECT {by} (COUNT(*) AS ?total) {{ {{ {_solutions(query)} }} }} {grouped} HAVING ({having})"
    return oxigraph.answers(source, text)


def _solutions(query: Query) -> str:
    return oxigraph.query_text(_unhidden(query), taxonomy=True).replace(f"<{RDFS_MEMBER.value}#any>", f"({_MEMBERS})")


def _spelled(row: dict[Variable, Term], names: Iterable[Variable]) -> Binding:
    return frozenset((name.name, shorten(spell(row[name]))) for name in names if name in row)


def _unhidden(query: Query) -> Query:
    """Blank nodes as variables with names, so that solutions differ by them; rdfs:member as a mark to be replaced."""
    patterns = tuple(_pattern(pattern) for pattern in query.patterns)
    filters: tuple[Expression, ...] = query.filters
    return Query(patterns=patterns, filters=filters, values=query.values)


def _pattern(pattern: Pattern) -> Pattern:
    if isinstance(pattern, ClassPattern):
        return ClassPattern(pattern.relation, _node(pattern.subject), _node(pattern.object))
    predicate = RDFS_MEMBER._replace(value=f"{RDFS_MEMBER.value}#any") if pattern.predicate == RDFS_MEMBER else None
    return TriplePattern(_node(pattern.subject), predicate or _node(pattern.predicate), _node(pattern.object))


def _node(node: Node) -> Node:
    hidden = isinstance(node, Variable) and node.hidden
    return Variable(f"hidden_{node.name[2:]}") if isinstance(node, Variable) and hidden else node
