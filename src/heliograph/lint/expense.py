"""What a subscription will cost, foretold from its shape.

The filter's index looks a subscription up by the constants of one plain edge; edges are then joined through their
variables. So it is expensive to have no edge with a constant, parts that share no variable, and many variables that
range over the same values. A query that asks `hg:` functions is for a watch alone, which looks none up that way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from heliograph.lint.demands import conjuncts, names_in, shortened
from heliograph.syntax.query import ClassPattern, Expression, Node, Pattern, Query, TriplePattern
from heliograph.syntax.spelling import spell_expression, spell_node, spell_pattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Position, Term, Variable

_SHOWN = 3  # parts that a message quotes
_SIBLINGS = 3  # variables at the end of like edges, from which on their ways multiply beyond use


def expenses(query: Query, taxonomy: Taxonomy) -> Iterator[str]:
    """Why a query is expensive, and what to do about it."""
    if not query.metrics and not any(is_way_in(pattern, taxonomy) for pattern in query.patterns):
        yield (
            "expensive: no edge of it has a constant to look it up by, so it is tried on every publication; "
            "add an edge that names its property (is-a forms and rdfs:member are not looked up)"
        )
    free = [pattern for pattern in query.patterns if not _is_anchored(pattern)]
    loose = [part for part in parts_of(query) if not any(map(_is_anchored, part))] if len(free) > 1 else ()
    if len(loose) > 1:
        yield _apart(query, loose)
    yield from _siblings(query)


def is_way_in(pattern: Pattern, taxonomy: Taxonomy) -> bool:
    """Whether the index can look a subscription up by this pattern: an edge that documents alone decide."""
    if isinstance(pattern, ClassPattern) or pattern.predicate == RDFS_MEMBER:
        return False
    if pattern.predicate == RDF_TYPE and taxonomy.rows:
        if not isinstance(pattern.object, Term):
            return False
        below = taxonomy.children(pattern.object)
        return pattern.subject not in below if isinstance(pattern.subject, Term) else not below
    return any(isinstance(node, Term) for node in pattern)


# --- parts that share no variable -------------------------------------------------------------------------------


def parts_of(query: Query) -> list[list[Pattern]]:
    """The patterns with variables, by what hangs together through these."""
    linked: list[tuple[set[Variable], list[Pattern]]] = [(set(block.variables), []) for block in query.values]
    for pattern in query.patterns:
        names = {node for node in pattern if isinstance(node, Variable)}
        met = [group for group in linked if group[0] & names]
        linked = [group for group in linked if not group[0] & names] if met else linked
        joined = names.union(*(group[0] for group in met)), [*_flat(group[1] for group in met), pattern]
        linked += [joined] if names else []
    return [patterns for _, patterns in linked if patterns]


def _is_anchored(pattern: Pattern) -> bool:
    """Whether a pattern has a constant at one of its ends, which few edges have; of a class there may be many."""
    if isinstance(pattern, ClassPattern) or pattern.predicate == RDF_TYPE:
        return isinstance(pattern.subject, Term)
    return isinstance(pattern.subject, Term) or isinstance(pattern.object, Term)


def _flat(parts: Iterable[list[Pattern]]) -> Iterator[Pattern]:
    return (pattern for part in parts for pattern in part)


def _apart(query: Query, parts: Sequence[Sequence[Pattern]]) -> str:
    shown = " | ".join(spell_pattern(part[0]) for part in parts[:_SHOWN])
    more = " | …" if len(parts) > _SHOWN else ""
    joining = next((each for each in conjuncts(query.filters) if _spans(each, parts)), None)
    fix = (
        "tie them with a common variable"
        if joining is None
        else f"only FILTER({shortened(spell_expression(joining))}) ties them; a common variable would do it sooner"
    )
    return (
        f"expensive: it falls into {len(parts)} parts that share no variable ({shown}{more}), "
        f"and every way of one goes with every way of the others; {fix}"
    )


def _spans(condition: Expression, parts: Sequence[Sequence[Pattern]]) -> bool:
    names = names_in(condition)
    return sum(any(names & set(pattern) for pattern in part) for part in parts) > 1


# --- variables that range over the same values ------------------------------------------------------------------


def _siblings(query: Query) -> Iterator[str]:
    """Edges that differ in one variable alone, of which nothing else is asked."""
    alike: dict[tuple[Node | None, Node, Node | None], list[Variable]] = {}
    for subject, predicate, object in [each for each in set(query.patterns) if isinstance(each, TriplePattern)]:
        if isinstance(object, Variable):
            alike.setdefault((subject, predicate, None), []).append(object)
        if isinstance(subject, Variable):
            alike.setdefault((None, predicate, object), []).append(subject)
    for (_, predicate, _), ends in alike.items():
        if len(ends) >= _SIBLINGS:
            free = sorted(_unasked(query).intersection(ends))
            if len(free) >= _SIBLINGS:
                yield _multiplied(predicate, free)


def _unasked(query: Query) -> set[Variable]:
    """Variables of which one edge speaks, and nothing else."""
    uses = Counter(node for pattern in set(query.patterns) for node in pattern if isinstance(node, Variable))
    asked = set[Variable]().union(*map(names_in, query.filters), *(block.variables for block in query.values))
    return {variable for variable, count in uses.items() if count == 1} - asked


def _multiplied(predicate: Node, ends: Sequence[Variable]) -> str:
    names = ", ".join(map(str, ends[:_SHOWN])) + (", …" if len(ends) > _SHOWN else "")
    named = spell_node(predicate, position=Position.PROPERTY)
    return (
        f"expensive: {names} range over the same values of {named}, so n of them give n^{len(ends)} bindings, "
        "and one value alone satisfies all; keep one, or say how they differ"
    )
