"""Anti-unification: what several patterns have in common, as a pattern that each of them is an instance of.

A *column* holds one node of each pattern. The edges of the product lead from column to column, where every pattern has
such an edge between the nodes that stand there. So reading off one place of every column maps the product into that
pattern, edges to edges: a homomorphism, by construction and whatever choices are made on the way. That is the law;
the choices (which edge of one pattern goes with which of another) only decide how much is kept.

The product is grown from columns that the patterns are known to share, along edges with the same label, and then along
one edge whose labels differ and become a variable. It is connected, because it grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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


class Shape(NamedTuple):
    """A pattern as it is merged: nodes by place, the numbers of those that are terms, and edges between them."""

    names: tuple[int, ...]
    marks: tuple[int, ...]  # how much is known of each node: FREE, ASKED or GIVEN
    edges: tuple[Edge, ...]


class Port(NamedTuple):
    """How an edge leaves a node."""

    label: int
    outwards: bool


class Product(NamedTuple):
    """Columns, and edges between them by place."""

    columns: tuple[Column, ...]
    edges: tuple[Edge, ...]


def antiunify(shapes: Sequence[Shape], seeds: Sequence[Column]) -> Product:
    """The common part of patterns around columns that they share; without an edge where there is none."""
    growth = _Growth(shapes, seeds)
    growth.along_labels()
    if growth.is_thin() and growth.along_any():
        growth.along_labels()
    return growth.product()


class _Growth:
    """A product while it grows."""

    def __init__(self, shapes: Sequence[Shape], seeds: Sequence[Column]) -> None:
        self._shapes = shapes
        self._ports = [_ports_of(shape) for shape in shapes]
        self._most = max(len(shape.edges) for shape in shapes)
        self._places: dict[Column, int] = {}
        self._edges: dict[Edge, None] = {}
        self._used: list[set[Edge]] = [set() for _ in shapes]
        self._grown = 0  # columns whose labelled edges were looked at
        for seed in seeds:
            self._place(seed)

    def product(self) -> Product:
        return Product(tuple(self._places), tuple(self._edges))

    def is_thin(self) -> bool:
        return len(self._edges) < 2

    def _place(self, column: Column) -> int:
        return self._places.setdefault(column, len(self._places))

    def _add(self, edges: Sequence[Edge]) -> None:
        """One edge of each pattern becomes an edge of the product."""
        labels = {edge.label for edge in edges}
        label = labels.pop() if len(labels) == 1 else VARIABLE
        subject, object = (self._place(tuple([edge[at] for edge in edges])) for at in (1, 3))
        predicates = tuple([edge.predicate for edge in edges])
        predicate = VARIABLE if VARIABLE in predicates else self._place(predicates)
        self._edges[Edge(label, subject, predicate, object)] = None
        for used, edge in zip(self._used, edges, strict=True):
            used.add(edge)

    # --- edges with one label -----------------------------------------------------------------------------------

    def along_labels(self) -> None:
        """Adds the edges that all patterns have at a column, and the columns that they lead to."""
        while self._grown < len(self._places) and len(self._edges) < self._most:
            column = list(self._places)[self._grown]
            self._grown += 1
            for port in self._common(column):
                self._follow(column, port)

    def _common(self, column: Column) -> list[Port]:
        """The ports that the nodes of a column share."""
        first, *others = (ports.get(node, {}) for ports, node in zip(self._ports, column, strict=True))
        return [port for port in first if port.label != VARIABLE and all(port in each for each in others)]

    def _follow(self, column: Column, port: Port) -> None:
        """To columns that are there already; else to a node that all have, else to one of each."""
        far = [
            {_far(edge, port): edge for edge in ports[node][port]}
            for ports, node in zip(self._ports, column, strict=True)
        ]
        closing = [ends for ends in self._places if all(node in each for each, node in zip(far, ends, strict=True))]
        for ends in closing or self._new_ends(far):
            self._add([each[node] for each, node in zip(far, ends, strict=True)])

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

    # --- edges with any label -----------------------------------------------------------------------------------

    def along_any(self) -> bool:
        """Adds one edge whose labels differ, if every pattern has one left to a node of which something is known."""
        for column in tuple(self._places):
            for outwards in (True, False):
                edges = self._left(column, outwards)
                if edges is not None:
                    self._add(edges)
                    return True
        return False

    def _left(self, column: Column, outwards: bool) -> list[Edge] | None:
        """An edge of each pattern that is not yet used."""
        edges: list[Edge] = []
        for shape, ports, used, node in zip(self._shapes, self._ports, self._used, column, strict=True):
            found = next(_leading(shape, ports.get(node, {}), outwards, used.__contains__), None)
            if found is None:
                return None
            edges.append(found)
        return edges


Ports = dict[Port, list[Edge]]


def _leading(shape: Shape, ports: Ports, outwards: bool, is_used: Callable[[Edge], bool]) -> Iterator[Edge]:
    """Edges to nodes of which something is known, whose label may become a variable."""
    for port, edges in ports.items():
        if port.outwards == outwards and port.label >= VARIABLE:
            yield from (edge for edge in edges if shape.marks[_far(edge, port)] and not is_used(edge))


def _ports_of(shape: Shape) -> dict[int, Ports]:
    ports: dict[int, Ports] = {}
    for edge in shape.edges:
        for node, outwards in ((edge.subject, True), (edge.object, False)):
            ports.setdefault(node, {}).setdefault(Port(edge.label, outwards), []).append(edge)
    return ports


def _far(edge: Edge, port: Port) -> int:
    return edge.object if port.outwards else edge.subject
