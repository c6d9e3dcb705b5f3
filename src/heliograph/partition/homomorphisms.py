"""Maps from the edges of one pattern into those of another, so that whatever matches the second matches the first.

The second pattern's variables are taken for constants, as if they were the very terms of a publication that matches. An
edge of the first must then be one of its edges, or follow from them and from the taxonomy: direct instances also from
the taxonomy's rows, instances through sub-classes that the pattern itself asks for or the taxonomy has, rdfs:member
from any rdf:_n. A variable predicate stands for any predicate that the publication's own triples alone can answer: not
rdf:type where a row of the taxonomy might, nor rdfs:member, which need not be there itself.

The law: a map that is found is one. A search that takes too many steps gives up, so not every map is found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Pattern, TriplePattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, is_container_member

STEPS = 1_000  # pairs of edges that a search may try

Images = dict[Node, Node]
Ends = tuple[Node, ...]
Known = tuple[Node | None, ...]
Admits = Callable[[Node, Node], bool]  # whether a variable may stand for a node


class Target:
    """The edges of a pattern that others are mapped into, and what follows from them."""

    __slots__ = ("_above", "_below", "_instances", "_open", "_plain", "taxonomy")

    def __init__(self, edges: Iterable[Pattern], taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self._plain: dict[Node, list[Ends]] = {}
        self._instances: list[Ends] = []  # whatever is an instance of what, by the pattern's own edges
        self._below: list[Ends] = []  # whatever is a sub-class of what
        self._open: list[Ends] | None = None  # edges that a variable predicate may stand for
        self._above: dict[Node, set[Node]] = {}
        for edge in edges:
            if isinstance(edge, TriplePattern):
                self._add(*edge)
            else:
                found = self._instances if edge.relation is ClassRelation.IS_A else self._below
                found.append((edge.subject, edge.object))

    def _add(self, subject: Node, predicate: Node, object: Node) -> None:
        ends = (subject, object)
        self._plain.setdefault(predicate, []).append(ends)
        if predicate == RDF_TYPE:
            self._instances.append(ends)
        elif predicate == RDFS_SUBCLASS_OF:
            self._below.append(ends)

    # --- what there is ------------------------------------------------------------------------------------------

    def ways(self, edge: Pattern, known: Known) -> Iterable[Ends]:
        """The nodes that an edge's own may stand for: subject, object and a variable predicate, where it has one.

        `known` are those that are known already. Ways that disagree with these may be among the answers.
        """
        if isinstance(edge, ClassPattern):
            return self._instance_ways(*known) if edge.relation is ClassRelation.IS_A else self._below_ways(*known)
        if isinstance(edge.predicate, Variable):
            return self._open_edges()
        if edge.predicate == RDF_TYPE:
            return self._type_ways(*known)
        return self._members() if edge.predicate == RDFS_MEMBER else self._plain.get(edge.predicate, ())

    def _open_edges(self) -> list[Ends]:
        if self._open is None:
            self._open = [
                (subject, object, predicate)
                for predicate, pairs in self._plain.items()
                if predicate != RDFS_MEMBER
                for subject, object in pairs
                if predicate != RDF_TYPE or not self._is_given(subject, object)
            ]
        return self._open

    def _is_given(self, subject: Node, object: Node) -> bool:
        """Whether a row of the taxonomy might answer a type edge in the document's place."""
        rows = self.taxonomy
        if isinstance(subject, Term) and not rows.parents(subject):
            return False
        return bool(rows.rows) and not (isinstance(object, Term) and not rows.children(object))

    def _members(self) -> list[Ends]:
        return [
            ends
            for predicate, pairs in self._plain.items()
            if predicate == RDFS_MEMBER or (isinstance(predicate, Term) and is_container_member(predicate))
            for ends in pairs
        ]

    def _type_ways(self, subject: Node | None, object: Node | None) -> Sequence[Ends]:
        if isinstance(subject, Term) and isinstance(object, Term) and object in self.taxonomy.parents(subject):
            return ((subject, object),)
        return self._plain.get(RDF_TYPE, ())

    def _instance_ways(self, subject: Node | None, kind: Node | None) -> Iterator[Ends]:
        """Instances of the very class, of one below it, or where none is asked for yet, of those that are named."""
        for instance, own in self._instances:
            yield instance, kind if kind is not None and self._reaches(own, kind) else own
        if isinstance(subject, Term) and kind is not None:
            yield from ((subject, kind) for own in self.taxonomy.parents(subject) if self._reaches(own, kind))

    def _reaches(self, low: Node, high: Node) -> bool:
        return low == high or high in self._ancestors(low)

    def _below_ways(self, low: Node | None, high: Node | None) -> Iterator[Ends]:
        yield from self._below
        if high is not None:
            lows = dict.fromkeys([each for each, _ in self._below]) if low is None else (low,)
            yield from ((each, high) for each in lows if high in self._ancestors(each))

    def _ancestors(self, low: Node) -> Iterable[Node]:
        """What one or more steps up reach, those of the taxonomy and those of the pattern."""
        if not self._below:
            return self.taxonomy.ancestors(low) if isinstance(low, Term) else ()
        if low not in self._above:
            self._above[low] = self._climbed(low)
        return self._above[low]

    def _climbed(self, low: Node) -> set[Node]:
        reached: set[Node] = set()
        todo = [low]
        while todo:
            node = todo.pop()
            above = [high for below, high in self._below if below == node]
            above += self.taxonomy.parents(node) if isinstance(node, Term) else ()
            todo += [each for each in above if each not in reached]
            reached.update(above)
        return reached


def is_given(edge: Pattern, taxonomy: Taxonomy) -> bool:
    """Whether the taxonomy alone answers an edge, whatever the publication."""
    subject, object = edge.subject, edge.object
    if not (isinstance(subject, Term) and isinstance(object, Term)):
        return False
    if isinstance(edge, ClassPattern):
        return object in taxonomy.ancestors(subject)  # each row is both an instance and a sub-class
    return edge.predicate == RDF_TYPE and object in taxonomy.parents(subject)


def is_absent(edge: Pattern, edges: AbstractSet[Pattern]) -> bool:
    """Whether an edge between constants, which follows from itself alone, is not among these: then there is no map."""
    if isinstance(edge, ClassPattern) or edge.predicate in (RDF_TYPE, RDFS_MEMBER):
        return False
    return not any(isinstance(node, Variable) for node in edge) and edge not in edges


# --- searching --------------------------------------------------------------------------------------------------


class _Level(NamedTuple):
    """One depth of a search: the nodes of its edge, the ways still to be tried, and the variables that it has bound."""

    nodes: Ends
    ways: Iterator[Ends]
    bound: list[Node]


def homomorphisms(edges: Sequence[Pattern], target: Target, admits: Admits, steps: int = STEPS) -> Iterator[Images]:
    """Maps of the variables of edges, which stand in search order, to nodes of the target, depth first.

    The images are one object that changes when the search goes on.
    """
    images: Images = {}
    if not edges:
        yield images
        return
    levels = [_level(edges[0], target, images)]
    while levels:
        nodes, ways, bound = levels[-1]
        _forget(bound, images)
        for way in ways:
            steps -= 1
            if steps < 0:
                return
            if _bind(nodes, way, images, bound, admits):
                break
        else:
            levels.pop()
            continue
        if len(levels) == len(edges):
            yield images
        else:
            levels.append(_level(edges[len(levels)], target, images))


def _level(edge: Pattern, target: Target, images: Images) -> _Level:
    nodes = _nodes(edge)
    known = tuple([images.get(node) if isinstance(node, Variable) else node for node in nodes])
    return _Level(nodes, iter(target.ways(edge, known)), [])


def _nodes(edge: Pattern) -> Ends:
    """Subject, object, and the predicate if it is a variable."""
    if isinstance(edge, TriplePattern) and isinstance(edge.predicate, Variable):
        return edge.subject, edge.object, edge.predicate
    return edge.subject, edge.object


def _bind(nodes: Ends, way: Ends, images: Images, bound: list[Node], admits: Admits) -> bool:
    """Binds the variables of an edge, or none of them where it cannot go this way."""
    for node, image in zip(nodes, way, strict=True):
        if not isinstance(node, Variable):
            fine = node == image
        elif node in images:
            fine = images[node] == image
        elif fine := admits(node, image):
            images[node] = image
            bound.append(node)
        if not fine:
            _forget(bound, images)
            return False
    return True


def _forget(bound: list[Node], images: Images) -> None:
    for node in bound:
        del images[node]
    bound.clear()


def search_order(edges: Iterable[Pattern]) -> tuple[Pattern, ...]:
    """Edges such that constants come first, each next one meets variables that are bound, where possible, and none
    whose variables are all bound has to wait."""
    pending = sorted(edges, key=_freedom)
    meeting: dict[Node, list[int]] = {}
    unbound = [0] * len(pending)
    for number, edge in enumerate(pending):
        for node in {node for node in _nodes(edge) if isinstance(node, Variable)}:
            meeting.setdefault(node, []).append(number)
            unbound[number] += 1
    ordered: dict[int, None] = {}
    for first in range(len(pending)):
        reached = [first]
        while reached:
            number = reached.pop()
            ordered.setdefault(number)
            near = [other for node in _nodes(pending[number]) for other in meeting.pop(node, ())]
            for other in near:
                unbound[other] -= 1
            ordered.update(dict.fromkeys(other for other in near if not unbound[other]))
            reached += [other for other in reversed(near) if unbound[other]]
    return tuple([pending[number] for number in ordered])


def _freedom(edge: Pattern) -> int:
    """How many of its nodes are variables; class edges come after others, since more follows from less."""
    return 2 * sum(isinstance(node, Variable) for node in _nodes(edge)) + isinstance(edge, ClassPattern)
