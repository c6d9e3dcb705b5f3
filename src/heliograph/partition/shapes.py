"""Patterns made ready to be merged, and the keys under which those that could be merged meet.

Two patterns with one key have part of their structure in common: the key comes with the nodes of that part in one
order, which is where their anti-unification begins. So candidates are found by hashing, never by comparing pairs. From
the most that patterns can share to the least: all edges with the same nodes known, all edges, an edge at one constant,
an edge of one property.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import NamedTuple

from heliograph.partition.antiunification import ASKED, FREE, GIVEN, VARIABLE, Edge, Shape
from heliograph.partition.cuts import Number
from heliograph.partition.flat import variables_of
from heliograph.partition.forms import EVERYTHING, Form, Region
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
    """A pattern that may be merged: its form and nodes, its shape, and where the values of its nodes begin."""

    member: Member
    shape: Shape
    order: tuple[tuple[int, float], ...]

    @property
    def form(self) -> Form:
        return self.member.form


class Keyed(NamedTuple):
    """A key, and the nodes by which patterns of that key are laid side by side."""

    key: tuple[object, ...]
    places: tuple[int, ...]


Keys = Callable[[Shape], Iterator[Keyed]]


class Names:
    """Numbers for terms, so that shapes are compared by number."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._numbers: dict[object, int] = dict(_LABELS)
        self._anchorless = {IS_A, SUBCLASS_OF, MEMBER, *((TYPE,) if taxonomy.rows else ())}

    def find(self, term: Term) -> int | None:
        return self._numbers.get(term)

    def candidate(self, form: Form) -> Candidate | None:
        """The pattern as it is merged; None if nothing is known of it."""
        if form.opaque or not form.edges:
            return None
        places: dict[Node, int] = {}
        edges = tuple([self._edge(edge, places) for edge in form.edges])
        nodes = tuple(places)
        asked = {name for flat in form.residue for name in variables_of(flat)}
        regions = dict(form.regions)
        names = tuple([self._number(node) for node in nodes])
        marks = tuple([_mark(node, regions, asked) for node in nodes])
        order = tuple([self._begin(node, regions) for node in nodes])
        return Candidate(Member(form, nodes), Shape(names, marks, edges), order)

    def _edge(self, edge: Pattern, places: dict[Node, int]) -> Edge:
        subject, object = (places.setdefault(node, len(places)) for node in (edge.subject, edge.object))
        if isinstance(edge, ClassPattern):
            return Edge(_LABELS[edge.relation], subject, VARIABLE, object)
        return Edge(self._number(edge.predicate), subject, places.setdefault(edge.predicate, len(places)), object)

    def _number(self, node: Node) -> int:
        if isinstance(node, Variable):
            return VARIABLE
        numbers = self._numbers
        found = numbers.get(node)
        if found is None:
            found = numbers[node] = len(numbers)
        return found

    def _begin(self, node: Node, regions: dict[Variable, Region]) -> tuple[int, float]:
        """Where the values of a node begin: neighbours in this order have values in common, or close to one another."""
        if isinstance(node, Term):
            return VARIABLE, self._number(node)
        region = regions.get(node, EVERYTHING)
        if region.among is not None:
            return VARIABLE, min(map(self._number, region.among), default=VARIABLE)
        lines = [(sort, part[0][0]) for sort, part in enumerate(region.parts) if part and not isinstance(part, Some)]
        return next(((sort, _place(low)) for sort, low in lines), (VARIABLE, VARIABLE))

    # --- keys ---------------------------------------------------------------------------------------------------

    def anchors(self, shape: Shape) -> Iterator[Keyed]:
        """Each edge at a constant, by that constant."""
        for label, subject, _, object in shape.edges:
            if label != VARIABLE and label not in self._anchorless:
                for near, far, outwards in ((subject, object, True), (object, subject, False)):
                    name = shape.names[near]
                    if name != VARIABLE:
                        yield Keyed((name, label, outwards), (near, far))

    def properties(self, shape: Shape) -> Iterator[Keyed]:
        """Each edge by its property, where something is known of its ends."""
        for label, subject, _, object in shape.edges:
            marks = shape.marks[subject], shape.marks[object]
            if label != VARIABLE and label not in self._anchorless and any(marks):
                yield Keyed((label, *marks), (subject, object))


def alike(shape: Shape) -> Iterator[Keyed]:
    """All edges, and how much is known of each node."""
    (keyed,) = same_edges(shape)
    yield Keyed((*keyed.key, *(shape.marks[place] for place in keyed.places)), keyed.places)


def same_edges(shape: Shape) -> Iterator[Keyed]:
    """All edges. Nodes are put in order by their edges, so most patterns of the same edges get the same order."""
    colours = _colours(shape)
    ordered = sorted(shape.edges, key=lambda edge: (edge.label, colours[edge.subject], colours[edge.object]))
    places: dict[int, int] = {}
    key: list[int] = []
    for label, *ends in ordered:
        key.append(label)
        key += [places.setdefault(end, len(places)) for end in ends if end != VARIABLE]
    yield Keyed(tuple(key), tuple(places))


def _colours(shape: Shape) -> list[int]:
    """A number for each node that says which edges it has."""
    seen: list[list[tuple[int, int]]] = [[] for _ in shape.names]
    for label, subject, predicate, object in shape.edges:
        seen[subject].append((label, 0))
        seen[object].append((label, 1))
        if predicate != VARIABLE and label == VARIABLE:
            seen[predicate].append((label, 2))
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
