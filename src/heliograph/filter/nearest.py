"""What a publication holds that comes nearest to an edge it lacks: the same edge but for one of its three parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from heliograph.baselines.solve import Solution, World
from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Pattern, TriplePattern
from heliograph.syntax.spelling import spell_pattern
from heliograph.terms import RDF_TYPE, Term, Variable

_SHOWN = 2


def nearest(pattern: Pattern, solution: Solution, world: World) -> list[str]:
    """A few edges that agree with the pattern under a solution in all known parts but one."""
    near = _classes(pattern, solution, world) if isinstance(pattern, ClassPattern) else _edges(pattern, solution, world)
    return [spell_pattern(edge) for edge in islice(dict.fromkeys(near), _SHOWN)]


def _edges(pattern: TriplePattern, solution: Solution, world: World) -> Iterator[Pattern]:
    """Another object, then another subject, then another property; not if that would leave nothing in common."""
    known = [_value(node, solution) for node in pattern]
    if pattern.predicate == RDF_TYPE and known[0] is not None:
        yield from (TriplePattern(known[0], RDF_TYPE, kind) for kind in world.classes.types(known[0]))
    for dropped in (2, 0, 1):
        asked = [None if place == dropped else term for place, term in enumerate(known)]
        if known[dropped] is not None and any(term is not None for term in asked):
            yield from (TriplePattern(*triple) for triple in world.graph.match(*asked))


def _classes(pattern: ClassPattern, solution: Solution, world: World) -> Iterator[Pattern]:
    """The classes that the subject does belong to, else what does belong to the class."""
    subject, object = _value(pattern.subject, solution), _value(pattern.object, solution)
    if subject is not None:
        up = world.classes.all_types if pattern.relation is ClassRelation.IS_A else world.classes.ancestors
        yield from _pairs(pattern.relation, ((subject, above) for above in up(subject)))
    if object is not None:
        down = world.classes.all_instances if pattern.relation is ClassRelation.IS_A else world.classes.descendants
        yield from _pairs(pattern.relation, ((below, object) for below in down(object)))


def _pairs(relation: ClassRelation, pairs: Iterable[tuple[Term, Term]]) -> Iterator[Pattern]:
    return (ClassPattern(relation, *pair) for pair in pairs)


def _value(node: Node, solution: Solution) -> Term | None:
    return solution.get(node) if isinstance(node, Variable) else node
