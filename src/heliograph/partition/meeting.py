"""Patterns made ready to be merged, and the keys under which those that could be merged meet.

Two patterns with one key have part of their structure in common: the key comes with the edges of that part in one
order, which is where their anti-unification begins. So candidates are found by hashing, never by comparing pairs. From
the most that patterns can share to the least: all edges with the same nodes known; all edges; an edge at one constant
and another one that goes on from it, of any property; the same where the first edge may be of any property, too; an
edge of one property with another one; and one edge alone. The engine looks up patterns by an edge, best by one with a
constant: so those that keep one come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from heliograph.partition.antiunification import ASKED, FREE, GIVEN, VARIABLE, Edge, Shape
from heliograph.partition.cuts import Number
from heliograph.partition.flat import variables_of
from heliograph.partition.forms import Form, Region
from heliograph.partition.hulls import IS_A, MEMBER, SUBCLASS_OF, TYPE, Member
from heliograph.partition.regions import Some
from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Pattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable

_LABELS: dict[object, int] = {
    ClassRelation.IS_A: IS_A,
    ClassRelation.SUBCLASS_OF: SUBCLASS_OF,
    RDF_TYPE: TYPE,
    RDFS_MEMBER: MEMBER,
}


class Candidate(NamedTuple):
    """A pattern that may be merged: its form and nodes, and its shape."""

    member: Member
    shape: Shape

    @property
    def form(self) -> Form:
        return self.member.form


class Keyed(NamedTuple):
    """A key, and the edges by which patterns of that key are laid side by side."""

    key: tuple[int, ...]
    edges: tuple[Edge, ...]


Keys = Callable[[Shape], Iterator[Keyed]]


class Names:
    """Numbers for terms, so that shapes are compared by number."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._numbers: dict[object, int] = dict(_LABELS)
        self._anchorless = {IS_A, SUBCLASS_OF, MEMBER, *((TYPE,) if taxonomy.rows else ())}

    def find(self, term: Term) -> int | None:
        """The number of a term, if a pattern has it."""
        return self._numbers.get(term)

    def number(self, node: Node) -> int:
        """The number of a term, from now on."""
        if isinstance(node, Variable):
            return VARIABLE
        numbers = self._numbers
        found = numbers.get(node)
        if found is None:
            found = numbers[node] = len(numbers)
        return found

    def candidate(self, form: Form) -> Candidate | None:
        """The pattern as it is merged; None if nothing is known of it."""
        if form.opaque or not form.edges:
            return None
        places: dict[Node, int] = {}
        edges = tuple([self._edge(edge, places) for edge in form.edges])
        nodes = tuple(places)
        asked = {name for flat in form.residue for name in variables_of(flat)}
        regions = dict(form.regions)
        marks = tuple([_mark(node, regions, asked) for node in nodes])
        return Candidate(Member(form, nodes), Shape(tuple(map(self.number, nodes)), marks, edges))

    def _edge(self, edge: Pattern, places: dict[Node, int]) -> Edge:
        subject, object = (places.setdefault(node, len(places)) for node in (edge.subject, edge.object))
        if isinstance(edge, ClassPattern):
            return Edge(_LABELS[edge.relation], subject, VARIABLE, object)
        return Edge(self.number(edge.predicate), subject, places.setdefault(edge.predicate, len(places)), object)

    def begin(self, candidate: Candidate, place: int) -> tuple[int, float]:
        """Where the values of a node begin: neighbours in this order have values in common, or close to one another."""
        node = candidate.member.nodes[place]
        if isinstance(node, Term):
            return VARIABLE, candidate.shape.names[place]
        region = candidate.form.region(node)
        if region.among is not None:
            return VARIABLE, min(map(self.number, region.among), default=VARIABLE)
        lines = [(sort, part[0][0]) for sort, part in enumerate(region.parts) if part and not isinstance(part, Some)]
        return next(((sort, _place(low)) for sort, low in lines), (VARIABLE, VARIABLE))

    # --- keys ---------------------------------------------------------------------------------------------------

    def anchored_paths(self, shape: Shape) -> Iterator[Keyed]:
        """Edges at a constant, with an edge that goes on."""
        for path, near in self._rooted(shape):
            if path.edge.label != VARIABLE:
                yield Keyed((near, path.edge.label, path.outwards, path.way), (path.edge, path.other))

    def rooted_paths(self, shape: Shape) -> Iterator[Keyed]:
        """Constants with an edge of any property and another one that goes on from it."""
        for path, near in self._rooted(shape):
            if path.edge.label >= VARIABLE:
                yield Keyed((near, path.outwards, path.way), (path.edge, path.other))

    def anchors(self, shape: Shape) -> Iterator[Keyed]:
        """Each edge at a constant, by that constant."""
        for edge, near, outwards in self._anchors(shape):
            if edge.label != VARIABLE:
                yield Keyed((shape.names[near], edge.label, outwards), (edge,))

    def paths(self, shape: Shape) -> Iterator[Keyed]:
        """Edges by their property, with an edge that goes on."""
        for edge, outwards, way, other, known in _best(self._paths(shape)):
            if edge.label != VARIABLE:
                yield Keyed((edge.label, known, outwards, way), (edge, other))

    def properties(self, shape: Shape) -> Iterator[Keyed]:
        """Each edge by its property, where something is known of its ends."""
        for edge in self._edges(shape):
            if any(_known(shape, edge)):
                yield Keyed((edge.label, *_known(shape, edge)), (edge,))

    def _edges(self, shape: Shape) -> Iterator[Edge]:
        """Edges that a publication is looked up by."""
        return (edge for edge in shape.edges if edge.label != VARIABLE and edge.label not in self._anchorless)

    def _anchors(self, shape: Shape) -> Iterator[tuple[Edge, int, bool]]:
        """Edges with an end that is a constant, and whether they lead outwards from there."""
        for edge in self._edges(shape):
            for near, outwards in ((edge.subject, True), (edge.object, False)):
                if shape.names[near] != VARIABLE:
                    yield edge, near, outwards

    def _paths(self, shape: Shape) -> Iterator[Path]:
        for edge in shape.edges:
            if edge.label not in self._anchorless:
                yield from _onwards(shape, edge, True)
                yield from _onwards(shape, edge, False)

    def _rooted(self, shape: Shape) -> Iterator[tuple[Path, int]]:
        """The best paths that begin at a constant, each with the constant."""
        names = shape.names
        begun = ((path, names[_end(path.edge, not path.outwards)]) for path in self._paths(shape))
        found = {path: near for path, near in begun if near != VARIABLE}
        return ((path, found[path]) for path in _best(found))


class Path(NamedTuple):
    """An edge that is followed outwards or inwards, an edge that goes on from there, and what is known of the ends."""

    edge: Edge
    outwards: bool
    way: bool  # the same of the second edge
    other: Edge
    known: int


def _best(paths: Iterable[Path]) -> list[Path]:
    """Those of whose nodes most is known."""
    found = list(paths)
    most = max((path.known for path in found), default=FREE)
    return [path for path in found if path.known == most]


def _onwards(shape: Shape, edge: Edge, outwards: bool) -> Iterator[Path]:
    """The best edge that goes on from the far end to a node of which something is known.

    One in the same direction is better: two edges in opposite directions may be met by one edge of a publication.
    """
    near, far = _end(edge, not outwards), _end(edge, outwards)
    best, found = (FREE, False), edge
    for each in shape.edges:
        if far in (each.subject, each.object) and near not in (each.subject, each.object) and each.label >= VARIABLE:
            way = each.subject == far
            rank = shape.marks[_end(each, way)], way == outwards
            if rank > best:
                best, found = rank, each
    if best[0] != FREE:
        known = shape.marks[near] + shape.marks[far] + best[0]
        yield Path(edge, outwards, found.subject == far, found, known)


def _end(edge: Edge, outwards: bool) -> int:
    return edge.object if outwards else edge.subject


def _known(shape: Shape, edge: Edge) -> tuple[int, int]:
    return shape.marks[edge.subject], shape.marks[edge.object]


def alike(shape: Shape) -> Iterator[Keyed]:
    """All edges, and how much is known of each node."""
    (keyed,) = same_edges(shape)
    nodes = dict.fromkeys([place for edge in keyed.edges for place in (edge.subject, edge.object)])
    yield Keyed((*keyed.key, *(shape.marks[place] for place in nodes)), keyed.edges)


def same_edges(shape: Shape) -> Iterator[Keyed]:
    """All edges. Nodes are told apart by their edges, so most patterns of the same edges get them in the same order."""
    colours = _colours(shape)
    ordered = sorted(shape.edges, key=lambda edge: (edge.label, colours[edge.subject], colours[edge.object]))
    places: dict[int, int] = {}
    key: list[int] = []
    for label, subject, predicate, object in ordered:
        key += (label, places.setdefault(subject, len(places)), places.setdefault(object, len(places)))
        if label == VARIABLE:
            key.append(places.setdefault(predicate, len(places)))
    yield Keyed(tuple(key), tuple(ordered))


def _colours(shape: Shape) -> list[int]:
    """A number for each node that says which edges it has."""
    seen: list[list[int]] = [[] for _ in shape.names]
    for label, subject, _, object in shape.edges:
        seen[subject].append(2 * label)
        seen[object].append(2 * label + 1)
    return [hash(tuple(sorted(each))) for each in seen]


# --- nodes ------------------------------------------------------------------------------------------------------


def _mark(node: Node, regions: dict[Variable, Region], asked: set[Variable]) -> int:
    if isinstance(node, Term):
        return GIVEN
    region = regions.get(node)
    if region is None:
        return ASKED if node in asked else FREE
    return ASKED if region.among is None else GIVEN


def _place(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def distinct_first(rows: Sequence[Sequence[tuple[int, float]]]) -> list[int]:
    """Columns in the order in which they are to be sorted by: the one with the fewest different values first."""
    columns = list(zip(*rows, strict=True))
    return sorted(range(len(columns)), key=lambda place: len(set(columns[place])))
