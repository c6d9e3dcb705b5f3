"""Anti-unification: what several patterns have in common, as a pattern that each of them is an instance of.

A *column* holds one node of each pattern. The edges of the product lead from column to column, where every pattern has
such an edge between the nodes that stand there. So reading off one place of every column maps the product into that
pattern, edges to edges: a homomorphism, by construction and whatever choices are made on the way. That is the law;
the choices (which edge of one pattern goes with which of another) only decide how much is kept.

The product begins with edges that are laid side by side, and grows along edges with the same label. Where labels
differ, the label becomes a variable, unless it means more than one edge of the document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

VARIABLE = -1  # in place of the number of a term; numbers below it are labels that may not become a variable

FREE, ASKED, GIVEN = 0, 1, 2  # any value; one that satisfies something; one of a few terms

Column = tuple[int, ...]  # one node of each pattern, by place


class Edge(NamedTuple):
    """An edge between nodes by place. The label is a property or a class relation; VARIABLE where it is no constant."""

    label: int
    subject: int
    predicate: int  # the place of the property among the nodes; VARIABLE for a class relation
    object: int


Port = tuple[int, bool]  # a label, and whether the edge leads outwards
Ports = dict[Port, list[Edge]]


class Shape(NamedTuple):
    """A pattern as it is merged: nodes by place, the numbers of those that are terms, and edges between them."""

    names: tuple[int, ...]
    marks: tuple[int, ...]  # how much is known of each node: FREE, ASKED or GIVEN
    edges: tuple[Edge, ...]


class Product(NamedTuple):
    """Columns, and edges between them by place."""

    columns: tuple[Column, ...]
    edges: tuple[Edge, ...]


def antiunify(shapes: Sequence[Shape], rows: Sequence[Sequence[Edge]]) -> Product:
    """The common part of patterns around some edges of each, a row a pattern, laid side by side."""
    growth = _Growth(shapes)
    for edges in zip(*rows, strict=True):
        growth.add(edges)
    if len(rows[0]) < min(len(shape.edges) for shape in shapes):
        growth.along_labels()
    return growth.product()


class _Growth:
    """A product while it grows."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self._shapes = shapes
        self._ports: list[dict[int, Ports]] = []
        self._most = max(len(shape.edges) for shape in shapes)
        self._places: dict[Column, int] = {}
        self._edges: dict[Edge, None] = {}
        self._used: set[Edge] = set()  # edges of the first pattern

    def product(self) -> Product:
        return Product(tuple(self._places), tuple(self._edges))

    def _place(self, column: Column) -> int:
        return self._places.setdefault(column, len(self._places))

    def add(self, edges: Sequence[Edge]) -> None:
        """One edge of each pattern becomes an edge of the product."""
        labels = {edge.label for edge in edges}
        label = labels.pop() if len(labels) == 1 else VARIABLE
        subject, object = (self._place(tuple([edge[at] for edge in edges])) for at in (1, 3))
        predicates = tuple([edge.predicate for edge in edges])
        predicate = VARIABLE if VARIABLE in predicates else self._place(predicates)
        self._edges[Edge(label, subject, predicate, object)] = None
        self._used.add(edges[0])

    def along_labels(self) -> None:
        """Adds the edges that all patterns have at a column, and the columns that they lead to."""
        self._ports = [_ports_of(shape) for shape in self._shapes]
        grown = 0
        while grown < len(self._places) and len(self._edges) < self._most:
            column = list(self._places)[grown]
            grown += 1
            for port in self._common(column):
                if not self._used.issuperset(self._ports[0][column[0]][port]):
                    self._follow(column, port)

    def _common(self, column: Column) -> list[Port]:
        """The ports that the nodes of a column share."""
        first, *others = (ports.get(node, {}) for ports, node in zip(self._ports, column, strict=True))
        return [port for port in first if port[0] != VARIABLE and all(port in each for each in others)]

    def _follow(self, column: Column, port: Port) -> None:
        """To columns that are there already; else to a node that all have, else to one of each."""
        far = [
            {_far(edge, port): edge for edge in ports[node][port]}
            for ports, node in zip(self._ports, column, strict=True)
        ]
        closing = [ends for ends in self._places if all(node in each for each, node in zip(far, ends, strict=True))]
        for ends in closing or self._new_ends(far):
            self.add([each[node] for each, node in zip(far, ends, strict=True)])

    def _new_ends(self, far: Sequence[dict[int, Edge]]) -> list[Column]:
        named = [
            {shape.names[node]: node for node in ends if shape.names[node] != VARIABLE}
            for shape, ends in zip(self._shapes, far, strict=True)
        ]
        shared = [name for name in named[0] if all(name in each for each in named)]
        return [tuple([each[name] for each in named]) for name in shared] or [self._best_ends(far)]

    def _best_ends(self, far: Sequence[dict[int, Edge]]) -> Column:
        """A node of each, preferably one of which most is known."""
        return tuple([max(ends, key=shape.marks.__getitem__) for shape, ends in zip(self._shapes, far, strict=True)])


def _ports_of(shape: Shape) -> dict[int, Ports]:
    ports: dict[int, Ports] = {}
    for edge in shape.edges:
        ports.setdefault(edge.subject, {}).setdefault((edge.label, True), []).append(edge)
        ports.setdefault(edge.object, {}).setdefault((edge.label, False), []).append(edge)
    return ports


def _far(edge: Edge, port: Port) -> int:
    return edge.object if port[1] else edge.subject
