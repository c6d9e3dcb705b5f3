"""What a notification shows: bindings, a value, and on request the edges that witness a match."""

from __future__ import annotations

from typing import Any

from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Pattern, Query
from heliograph.tables.cells import json_text
from heliograph.terms import RDF_TYPE, RDFS_SUBCLASS_OF, Position, Term, Variable, spell
from heliograph.watch.modes import Match, Solution

_RELATIONS = {ClassRelation.IS_A: RDF_TYPE, ClassRelation.SUBCLASS_OF: RDFS_SUBCLASS_OF}


def evidence(query: Query, match: Match, witness: bool) -> dict[str, Any] | None:
    """The evidence of a match, or None where there is nothing to show."""
    shown: dict[str, Any] = {}
    proven = match.witness if witness else None
    bindings = named(query, proven) if match.bindings is None and proven is not None else match.bindings
    if bindings is not None:
        shown["bindings"] = {variable.name: spell(term) for variable, term in bindings.items()}
    if match.value is not None:
        shown["value"] = match.value
    if proven is not None:
        shown["edges"] = [edge(pattern, proven) for pattern in query.patterns]
    return shown or None


def evidence_text(query: Query, match: Match, witness: bool) -> str | None:
    shown = evidence(query, match, witness)
    return None if shown is None else json_text(shown)


def named(query: Query, solution: Solution) -> Solution:
    """The part of a solution that may be shown: blank nodes of a query have no name outside it."""
    return {variable: solution[variable] for variable in query.named_variables if variable in solution}


def edge(pattern: Pattern, solution: Solution) -> list[str]:
    """A pattern with its variables replaced, as `[s, p, o]`; an is-a form is the derived triple it stands for."""
    subject, predicate, object = _ends(pattern)
    places = ((subject, Position.SUBJECT), (predicate, Position.PROPERTY), (object, Position.OBJECT))
    return [_spelled(node, position, solution) for node, position in places]


def _ends(pattern: Pattern) -> tuple[Node, Node, Node]:
    if isinstance(pattern, ClassPattern):
        return pattern.subject, _RELATIONS[pattern.relation], pattern.object
    return pattern


def _spelled(node: Node, position: Position, solution: Solution) -> str:
    term = solution.get(node, node) if isinstance(node, Variable) else node
    return spell(term, position) if isinstance(term, Term) else str(term)
