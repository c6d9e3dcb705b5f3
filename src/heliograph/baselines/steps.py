"""The steps of a join: each knows how many ways it can be taken under some bindings, and takes them.

The law: `extend(bindings)` yields each distinct extension of `bindings` that satisfies this step once and no other, so
the solutions of a query are what any order of its steps yields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from heliograph.baselines.graph import Readable, Triple
from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Pattern, TriplePattern, Values
from heliograph.taxonomy import Classes
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable, is_container_member

Solution = dict[Variable, Term]
Pairs = Iterable[tuple[Term, Term]]


class Step(Protocol):
    def estimate(self, bindings: Solution) -> int: ...

    def extend(self, bindings: Solution) -> Iterator[Solution]: ...


@dataclass(frozen=True, slots=True)
class World:
    """What a publication can be asked: its triples, and its classes joined with the taxonomy."""

    graph: Readable
    classes: Classes


@dataclass(frozen=True, slots=True)
class EdgeStep:
    """A triple pattern, answered from the document (and the taxonomy where its property is the constant rdf:type)."""

    pattern: TriplePattern
    world: World

    def estimate(self, bindings: Solution) -> int:
        subject, predicate, object = self._parts(bindings)
        if self.pattern.predicate == RDF_TYPE:
            return _type_estimate(self.world, subject, object)
        if self.pattern.predicate == RDFS_MEMBER:
            predicate = None
        return self.world.graph.count(subject, predicate, object)

    def extend(self, bindings: Solution) -> Iterator[Solution]:
        parts = self.pattern.subject, self.pattern.predicate, self.pattern.object
        for triple in self._edges(*self._parts(bindings)):
            extended = _unify(bindings, parts, triple)
            if extended is not None:
                yield extended

    def _parts(self, bindings: Solution) -> tuple[Term | None, Term | None, Term | None]:
        pattern = self.pattern
        return _known(pattern.subject, bindings), _known(pattern.predicate, bindings), _known(pattern.object, bindings)

    def _edges(self, subject: Term | None, predicate: Term | None, object: Term | None) -> Iterable[Triple]:
        if self.pattern.predicate == RDF_TYPE:
            return ((s, RDF_TYPE, o) for s, o in _type_pairs(self.world.classes, subject, object))
        if self.pattern.predicate == RDFS_MEMBER:
            return _members(self.world.graph.match(subject, None, object))
        return self.world.graph.match(subject, predicate, object)


@dataclass(frozen=True, slots=True)
class ClassStep:
    """An is-a or sub-class pattern, answered from the closure of document and taxonomy."""

    pattern: ClassPattern
    world: World

    def estimate(self, bindings: Solution) -> int:
        subject, object = _known(self.pattern.subject, bindings), _known(self.pattern.object, bindings)
        classes = self.world.classes
        if subject is not None:
            return 1 if object is not None else len(classes.ancestors(subject)) + 1
        if object is not None:
            return len(classes.descendants(object)) + 1
        return len(self.world.graph) + classes.size

    def extend(self, bindings: Solution) -> Iterator[Solution]:
        pattern = self.pattern
        subject, object = _known(pattern.subject, bindings), _known(pattern.object, bindings)
        pairs = _is_a_pairs if pattern.relation is ClassRelation.IS_A else _subclass_pairs
        for pair in pairs(self.world.classes, subject, object):
            extended = _unify(bindings, (pattern.subject, pattern.object), pair)
            if extended is not None:
                yield extended


@dataclass(frozen=True, slots=True)
class ValuesStep:
    """A VALUES block; UNDEF agrees with anything and binds nothing."""

    block: Values

    def estimate(self, bindings: Solution) -> int:
        return len(self.block.rows)

    def extend(self, bindings: Solution) -> Iterator[Solution]:
        for row in self.block.rows:
            given = [(name, term) for name, term in zip(self.block.variables, row, strict=True) if term is not None]
            extended = _unify(bindings, [name for name, _ in given], [term for _, term in given])
            if extended is not None:
                yield extended


@dataclass(frozen=True, slots=True)
class RangeStep:
    """A variable that no triple binds and a metric uses: it ranges over all vertices."""

    variable: Variable
    vertices: Collection[Term]

    def estimate(self, bindings: Solution) -> int:
        return len(self.vertices)

    def extend(self, bindings: Solution) -> Iterator[Solution]:
        yield from ({**bindings, self.variable: vertex} for vertex in self.vertices)


def pattern_step(pattern: Pattern, world: World) -> Step:
    return EdgeStep(pattern, world) if isinstance(pattern, TriplePattern) else ClassStep(pattern, world)


def _known(node: Node, bindings: Solution) -> Term | None:
    return bindings.get(node) if isinstance(node, Variable) else node


def _unify(bindings: Solution, nodes: Iterable[Node], terms: Iterable[Term]) -> Solution | None:
    """`bindings` with each variable among `nodes` bound to its term, or None where one would have two."""
    extended = dict(bindings)
    for node, term in zip(nodes, terms, strict=True):
        if isinstance(node, Variable) and extended.setdefault(node, term) != term:
            return None
    return extended


def _members(triples: Iterable[Triple]) -> Iterator[Triple]:
    """Container membership as rdfs:member; one for each subject and object, whatever their rdf:_n."""
    pairs = dict.fromkeys((s, o) for s, p, o in triples if p == RDFS_MEMBER or is_container_member(p))
    return ((s, RDFS_MEMBER, o) for s, o in pairs)


def _type_estimate(world: World, subject: Term | None, object: Term | None) -> int:
    known = world.graph.count(subject, RDF_TYPE, object)
    if subject is not None:
        return known + len(world.classes.taxonomy.parents(subject))
    return known + (len(world.classes.taxonomy.children(object)) if object is not None else world.classes.size)


def _type_pairs(classes: Classes, subject: Term | None, object: Term | None) -> Pairs:
    return _pairs(subject, object, classes.typed, classes.types, classes.instances)


def _is_a_pairs(classes: Classes, subject: Term | None, object: Term | None) -> Pairs:
    return _pairs(subject, object, classes.typed, classes.all_types, classes.all_instances)


def _subclass_pairs(classes: Classes, subject: Term | None, object: Term | None) -> Pairs:
    return _pairs(subject, object, classes.nested, classes.ancestors, classes.descendants)


def _pairs(
    subject: Term | None,
    object: Term | None,
    starts: Callable[[], Iterable[Term]],
    up: Callable[[Term], Iterable[Term]],
    down: Callable[[Term], Iterable[Term]],
) -> Pairs:
    """The pairs of a relation that agree with the ends given, from its two directions; `up` and `down` are sets."""
    if subject is not None:
        above = up(subject)
        return ((subject, o) for o in above if object is None or o == object)
    if object is not None:
        return ((s, object) for s in down(object))
    return ((s, o) for s in starts() for o in up(s))
