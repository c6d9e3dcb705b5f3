"""Merging ([R] 4.3): patterns that are matched together stand behind one merger at the front."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf
from typing import Any, NamedTuple
from zlib import crc32

from heliograph.errors import UsageError
from heliograph.io.publications import Publications
from heliograph.io.sources import collector_paused
from heliograph.partition.forms import (
    Flat,
    Form,
    Head,
    form_of,
    laid,
    numbered,
    query_of,
    raised,
    region_of,
    spelled,
    substituted,
    variables_of,
)
from heliograph.partition.plan import FRONT, MERGERS, Change, Placement, Scheme
from heliograph.partition.regions import EVERYTHING, Line, Number, Region, Some, comparison, convex, holds, join, just
from heliograph.partition.statistics import Graph, Sample, Summaries, Summary, Triple, graphs_of
from heliograph.sparql.query import (
    And,
    ClassPattern,
    ClassRelation,
    Expression,
    Node,
    Or,
    Pattern,
    Query,
    TriplePattern,
)
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable, sort_key

# ----------------------------------------------------------------------------------------------------------------------
# Anti-unification: what several patterns have in common, as a pattern that each of them is an instance of.
#
# A *column* holds one node of each pattern. The edges of the product lead from column to column, where every pattern
# has such an edge between the nodes that stand there. So reading off one place of every column maps the product into
# that pattern, edges to edges: a homomorphism, by construction and whatever choices are made on the way. That is the
# law; the choices (which edge of one pattern goes with which of another) only decide how much is kept.
#
# The product begins with edges that are laid side by side, and grows along edges with the same label. Where labels
# differ, the label becomes a variable, unless it means more than one edge of the document.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# The merger of patterns: their product, with the hull of what each of them asks.
#
# The law: whatever matches a member matches the merger. The product maps into each member (`antiunification`), so a
# match of the member gives each column a value; of that value the member asks its own region, which lies in the hull.
# Classes become a class above all of them, conditions that regions cannot say are kept where all members have them,
# and become alternatives where each has some. Anything else is left out, which only lets more pass.
#
# A merger is one connected pattern with at least one edge, or there is none.
# ----------------------------------------------------------------------------------------------------------------------

_TERMS = 256  # given terms up to which a hull lists them
_INTERVALS = 64  # intervals up to which it keeps the gaps between them
_ALTERNATIVES = 64  # conditions up to which they are listed

IS_A, SUBCLASS_OF, TYPE, MEMBER = -2, -3, -4, -5  # labels that mean more than one edge of the document
_RELATIONS = {IS_A: ClassRelation.IS_A, SUBCLASS_OF: ClassRelation.SUBCLASS_OF}
_PROBE = Variable("x")


class Member(NamedTuple):
    """A pattern that is merged: its form, and its nodes by place."""

    form: Form
    nodes: tuple[Node, ...]


def merged(members: Sequence[Member], product: Product, taxonomy: Taxonomy) -> Form | None:
    """The merger of members around their product; None if there is none."""
    nodes = [_node(members, column, number) for number, column in enumerate(product.columns)]
    edges = {edge: _pattern(members, product, edge, nodes, taxonomy) for edge in product.edges}
    kept = _connected([(edge, pattern) for edge, pattern in edges.items() if pattern is not None])
    if not any(isinstance(pattern, TriplePattern) for pattern in kept):
        return None
    bound = dict.fromkeys(node for pattern in kept for node in pattern if isinstance(node, Variable))
    columns = {
        node: column
        for node, column in zip(nodes, product.columns, strict=True)
        if isinstance(node, Variable) and node in bound
    }
    regions = [(variable, _hull(members, column)) for variable, column in columns.items()]
    limits = tuple((variable, region) for variable, region in regions if region != EVERYTHING)
    return Form(kept, limits, _residue(members, columns))


def _node(members: Sequence[Member], column: Column, number: int) -> Node:
    """The term that all members have there, or a variable."""
    first, *others = (member.nodes[place] for member, place in zip(members, column, strict=True))
    same = isinstance(first, Term) and all(node == first for node in others)
    return first if same else numbered(number)


# --- edges ------------------------------------------------------------------------------------------------------


def _pattern(
    members: Sequence[Member], product: Product, edge: Edge, nodes: Sequence[Node], taxonomy: Taxonomy
) -> Pattern | None:
    """An edge of the product between its nodes; None where classes differ that have none above them."""
    subject, object = nodes[edge.subject], nodes[edge.object]
    kinds = _terms(members, product.columns[edge.object])
    if edge.label == TYPE and taxonomy.rows and isinstance(object, Variable) and kinds:
        above = _bound(kinds, taxonomy.ancestors)
        return None if above is None else ClassPattern(ClassRelation.IS_A, subject, above)
    if edge.label not in _RELATIONS:
        return TriplePattern(subject, nodes[edge.predicate], object)
    relation = _RELATIONS[edge.label]
    if isinstance(object, Variable) and kinds:
        above = _bound(kinds, taxonomy.ancestors)
        return None if above is None else ClassPattern(relation, subject, above)
    kinds = _terms(members, product.columns[edge.subject])
    if relation is ClassRelation.SUBCLASS_OF and isinstance(subject, Variable) and kinds:
        below = _bound(kinds, taxonomy.descendants)
        return None if below is None else ClassPattern(relation, below, object)
    return ClassPattern(relation, subject, object)


def _terms(members: Sequence[Member], column: Column) -> list[Term]:
    """The terms of a column, if they are all terms."""
    nodes = [member.nodes[place] for member, place in zip(members, column, strict=True)]
    terms = [node for node in nodes if isinstance(node, Term)]
    return terms if len(terms) == len(nodes) else []


def _bound(kinds: Sequence[Term], closure: Callable[[Term], Iterable[Term]]) -> Term | None:
    """The nearest class that bounds all of them: one of them, or one in the closure of each."""
    common = set.intersection(*({kind, *closure(kind)} for kind in kinds))
    return max(sorted(common, key=sort_key), key=lambda kind: len(common.intersection(closure(kind))), default=None)


def _connected(found: Sequence[tuple[Edge, Pattern]]) -> tuple[Pattern, ...]:
    """The edges of the largest part that hangs together; of equal ones the first."""
    parts: list[tuple[set[Node], list[Pattern]]] = []
    for _, pattern in found:
        ends = {pattern.subject, pattern.object}
        touching = [part for part in parts if part[0] & ends]
        parts = [part for part in parts if not part[0] & ends]
        nodes = ends.union(*(nodes for nodes, _ in touching))
        parts.append((nodes, [*(each for _, patterns in touching for each in patterns), pattern]))
    largest = max((patterns for _, patterns in parts), key=len, default=[])
    return tuple(dict.fromkeys(largest))


# --- regions ----------------------------------------------------------------------------------------------------


def _hull(members: Sequence[Member], column: Column) -> Region:
    """What holds the regions of a column; never less, and more only where a query could not say it, or not shortly."""
    regions = {_region(member, place): None for member, place in zip(members, column, strict=True)}
    if EVERYTHING in regions:
        return EVERYTHING
    return hull_of(list(regions))


def _region(member: Member, place: int) -> Region:
    node = member.nodes[place]
    return just({node}) if isinstance(node, Term) else member.form.region(node)


def hull_of(regions: Sequence[Region]) -> Region:
    """The union of regions, as far as that can be said."""
    if all(region.among is not None for region in regions):
        terms = frozenset[Term]().union(*(region.among or () for region in regions))
        return just(terms) if len(terms) <= _TERMS else EVERYTHING
    joined = reduce(join, map(_by_value, regions))
    if any(map(_is_long, joined.parts)):
        joined = convex(joined)
    return EVERYTHING if any(map(_is_long, joined.parts)) else region_of(spelled(_PROBE, joined))


def _by_value(region: Region) -> Region:
    """The same with the equals of its terms, so that points and intervals run side by side on the lines of numbers."""
    equals = [truth.true for term in region.among or () if (truth := comparison("=", term)) and holds(truth.true, term)]
    return reduce(join, equals, region)


def _is_long(part: Some | Line) -> bool:
    return len(part.terms) > _TERMS if isinstance(part, Some) else len(part) > 2 * _INTERVALS


# --- what regions cannot say ------------------------------------------------------------------------------------


def _residue(members: Sequence[Member], columns: Mapping[Variable, Column]) -> tuple[Flat, ...]:
    """Conditions that all members have; and, if each has others as well, one of these."""
    if not all(member.form.residue for member in members):
        return ()
    asked = [_translated(member, number, columns) for number, member in enumerate(members)]
    common = [flat for flat in asked[0] if all(flat in each for each in asked)]
    others = [[flat for flat in each if flat not in common] for each in asked]
    return (*common, *_alternatives(others))


def _translated(member: Member, number: int, columns: Mapping[Variable, Column]) -> list[Flat]:
    """The conditions of a member that speak of columns alone, in their variables."""
    images: dict[Node, Node] = {}
    for variable, column in columns.items():
        node = member.nodes[column[number]]
        if isinstance(node, Variable):
            images.setdefault(node, variable)
    return [substituted(flat, images) for flat in member.form.residue if variables_of(flat) <= images.keys()]


def _alternatives(others: Sequence[Sequence[Flat]]) -> tuple[Flat, ...]:
    if not all(others) or any(_is_block(flat) for each in others for flat in each):
        return ()
    choices = dict.fromkeys(choice for each in others for choice in _choices(each))
    return (laid(Or(tuple(choices))),) if len(choices) <= _ALTERNATIVES else ()


def _choices(flats: Sequence[Flat]) -> tuple[Expression, ...]:
    """Conditions that are ANDed, as alternatives: one, unless they are alternatives already."""
    found = tuple(map(raised, flats))
    if len(found) > 1:
        return (And(found),)
    return found[0].operands if isinstance(found[0], Or) else found


def _is_block(flat: Flat) -> bool:
    """Whether a condition is a VALUES block, which is no expression."""
    return isinstance(flat[0], Head) and flat[0].kind == "Values"


# ----------------------------------------------------------------------------------------------------------------------
# Patterns made ready to be merged, and the keys under which those that could be merged meet.
#
# Two patterns with one key have part of their structure in common: the key comes with the edges of that part in one
# order, which is where their anti-unification begins. So candidates are found by hashing, never by comparing pairs.
# From the most that patterns can share to the least: all edges with the same nodes known; all edges; an edge at one
# constant and another one that goes on from it, of any property; the same where the first edge may be of any
# property, too; an edge of one property with another one; and one edge alone. The engine looks up patterns by an
# edge, best by one with a constant: so those that keep one come first.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# Foreseeing false positives: how often a publication matches a merger and none of its members.
#
# Three ways to know. A merger that differs from its members in one place only, where it asks for any of what they
# ask, is their union and has none. A sample of the stream shows what is met often. What is met rarely is estimated:
# the chance that an edge has a property, or an end a certain name, is taken to be the share of them that
# subscriptions ask for. Estimates choose what is merged; what happens is observed, and no match depends on either.
# ----------------------------------------------------------------------------------------------------------------------

_EDGES = 100  # of a publication, as long as none is known
_BRANCHES = 3  # edges of a publication that go on from where one ends
_CHANCE = 0.3  # that a value satisfies what is asked of it, be it an interval, a class or a text


class Frequencies:
    """How often patterns ask for a label, and for a name at an end of an edge."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._labels: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._edges = self._constants = 0

    def count(self, shape: Shape) -> None:
        """Counts a pattern that somebody asks."""
        for label, subject, _, object in shape.edges:
            self._edges += 1
            self._labels[label] = self._labels.get(label, 0) + 1
            for name in (shape.names[subject], shape.names[object]):
                if name != VARIABLE:
                    self._constants += 1
                    self._ends[name] = self._ends.get(name, 0) + 1

    def label_share(self, label: int) -> float:
        return self._labels.get(label, 1) / max(1, self._edges)

    def property_share(self, terms: Iterable[Term]) -> float:
        """Of edges with one of these properties."""
        return sum(self.label_share(self._names.number(term)) for term in terms)

    def end_share(self, terms: Iterable[Term]) -> float:
        """Of constants that are one of these."""
        return sum(self._ends.get(self._names.number(term), 1) for term in terms) / max(1, self._constants)


class Merged(NamedTuple):
    """A merger with what it was made of."""

    merger: Candidate
    members: Sequence[Candidate]
    product: Product


class Level(NamedTuple):
    """How often a publication may meet a merger in vain, and whether a constant to look it up by must be kept."""

    limit: float
    anchored: bool


class Judge:
    """Tells whether a merger is bearable."""

    def __init__(self, frequencies: Frequencies, sample: Sample, max_false_positives: float) -> None:
        self._frequencies = frequencies
        self._sample = sample
        self._share = max_false_positives

    def bears(self, merged: Merged, level: Level) -> bool:
        """Whether a merger keeps what its members are looked up by, and is not expected to be met in vain too often."""
        merger, members, _ = merged
        kept = (_asks, _is_anchored if level.anchored else _is_found)
        if any(not has(merger) and all(map(has, members)) for has in kept):
            return False
        return _is_union(merged) or (self.expected(merger) <= level.limit and self._is_rare(merger, members))

    def expected(self, candidate: Candidate) -> float:
        """How often a publication is expected to match a pattern."""
        chance, met = _EDGES / _BRANCHES, list[Edge]()
        bound: set[int] = set()
        for edge in candidate.shape.edges:
            own = _BRANCHES * self._label_chance(candidate, edge)
            for place in {edge.subject, edge.object} - bound:
                own *= self._end_chance(candidate, place)
            chance *= min(_BRANCHES, own + sum(_overlap(candidate, edge, other) for other in met))
            bound |= {edge.subject, edge.object}
            met.append(edge)
        return chance

    def _label_chance(self, candidate: Candidate, edge: Edge) -> float:
        if edge.label != VARIABLE:
            return self._frequencies.label_share(edge.label)
        given = _given(candidate.form, candidate.member.nodes[edge.predicate])
        return 1.0 if given is None else min(1.0, self._frequencies.property_share(given))

    def _end_chance(self, candidate: Candidate, place: int) -> float:
        given = _given(candidate.form, candidate.member.nodes[place])
        if given is None:
            return _CHANCE if candidate.shape.marks[place] == ASKED else 1.0
        return min(1.0, self._frequencies.end_share(given))

    # --- the sample ---------------------------------------------------------------------------------------------

    def _is_rare(self, merger: Candidate, members: Iterable[Candidate]) -> bool:
        """Whether few of the sample's publications that could match the merger could not match a member."""
        met = vain = self._met(merger.form)
        for member in members if met else ():
            vain &= ~self._met(member.form)
        return vain.bit_count() <= self._share * met.bit_count()

    def _met(self, form: Form) -> int:
        """The publications of the sample that hold each edge of a pattern somewhere."""
        met = self._sample.everything
        for edge in form.edges if met else ():
            if isinstance(edge, TriplePattern) and edge.predicate not in (RDF_TYPE, RDFS_MEMBER):
                met &= self._holding(form, edge)
        return met

    def _holding(self, form: Form, edge: TriplePattern) -> int:
        ends = _given(form, edge.subject), _given(form, edge.object)
        predicates = _given(form, edge.predicate)
        if predicates is None:
            return self._sample.everything
        found = 0
        for predicate in predicates:
            found |= self._sample.holding(ends[0], predicate, ends[1])
        return found


def _given(form: Form, node: Node) -> Iterable[Term] | None:
    """The few terms that a node may be."""
    return (node,) if isinstance(node, Term) else form.region(node).among


def _overlap(candidate: Candidate, edge: Edge, other: Edge) -> float:
    """The chance that what meets one edge meets another as well: two edges that begin or end together."""
    if edge.subject == other.subject:
        ends = edge.object, other.object
    elif edge.object == other.object:
        ends = edge.subject, other.subject
    else:
        return 0.0
    return _shared(candidate, edge.predicate, other.predicate) * _shared(candidate, *ends)


def _shared(candidate: Candidate, place: int, other: int) -> float:
    """Of the terms that a node may be, those that another one may be, too."""
    if VARIABLE in (place, other):
        return 0.0
    nodes = candidate.member.nodes
    mine, theirs = _given(candidate.form, nodes[place]), _given(candidate.form, nodes[other])
    if mine is None or theirs is None:
        return 1.0
    terms = set(theirs)
    return len(terms.intersection(mine)) / max(1, len(terms))


def _asks(candidate: Candidate) -> bool:
    """Whether anything is asked of an end of an edge."""
    marks = candidate.shape.marks
    return any(marks[edge.subject] != FREE or marks[edge.object] != FREE for edge in candidate.shape.edges)


def _is_found(candidate: Candidate) -> bool:
    """Whether an edge has a property or a constant end; else a publication would have to be searched for any edge."""
    return _is_anchored(candidate) or any(edge.label != VARIABLE for edge in candidate.shape.edges)


def _is_anchored(candidate: Candidate) -> bool:
    """Whether an edge has a constant end."""
    names = candidate.shape.names
    return any(names[edge.subject] != VARIABLE or names[edge.object] != VARIABLE for edge in candidate.shape.edges)


def _is_union(merged: Merged) -> bool:
    """Whether the members have all edges of the merger and no others, and are the same but for one node.

    Residues count as such a node. That a hull may be wider than what it holds is neglected.
    """
    merger, members, product = merged
    edges = len(merger.shape.edges)
    if any(len(member.shape.edges) != edges for member in members):
        return False
    differing = sum(len({_asked(member, at) for member, at in zip(members, column)}) > 1 for column in product.columns)
    return differing + any(member.form.residue for member in members) <= 1


def _asked(member: Candidate, place: int) -> object:
    name = member.shape.names[place]
    node = member.member.nodes[place]
    return name if name != VARIABLE or isinstance(node, Term) else member.form.region(node)


# ----------------------------------------------------------------------------------------------------------------------
# Nodes in trees, and what became different of them: the bookkeeping of merging trees.
#
# The law: between two calls of `settle`, whatever was grown, joined and cut, `settle` tells exactly the difference:
# of each node that stands now, its root if that is another than before, and of each that stood before, whether it is
# gone. Every change costs the nodes below the place where it happens, nothing else.
# ----------------------------------------------------------------------------------------------------------------------

_NEW = -1  # the root before, of a node that was not there


class Trees:
    """A forest whose nodes are numbers that are never used again."""

    def __init__(self) -> None:
        self._next = 0
        self._parent: dict[int, int] = {}
        self._children: dict[int, dict[int, None]] = {}  # of nodes with children only
        self._roots: dict[int, None] = {}
        self._before: dict[int, int] = {}  # of the nodes touched since the last settlement, their roots then

    # --- asking -------------------------------------------------------------------------------------------------

    def __contains__(self, node: int) -> bool:
        return node in self._parent or node in self._roots

    def roots(self) -> Iterator[int]:
        return iter(tuple(self._roots))

    @property
    def width(self) -> int:
        """How many roots there are."""
        return len(self._roots)

    def is_root(self, node: int) -> bool:
        return node in self._roots

    def root_of(self, node: int) -> int:
        parent = self._parent.get(node)
        while parent is not None:
            node, parent = parent, self._parent.get(parent)
        return node

    def parent_of(self, node: int) -> int | None:
        return self._parent.get(node)

    def children_of(self, node: int) -> tuple[int, ...]:
        return tuple(self._children.get(node, ()))

    def below(self, node: int) -> Iterator[int]:
        """The node and everything below it, parents first."""
        todo = [node]
        while todo:
            each = todo.pop()
            yield each
            todo.extend(self._children.get(each, ()))

    # --- changing -----------------------------------------------------------------------------------------------

    def grow(self) -> int:
        """A new root."""
        node = self._next
        self._next += 1
        self._before[node] = _NEW
        self._roots[node] = None
        return node

    def join(self, roots: Sequence[int]) -> int:
        """A new root above some roots."""
        for root in roots:
            self._touch(root, root)
        parent = self.grow()
        for root in roots:
            self._put(root, parent)
        return parent

    def cut(self, node: int) -> None:
        """Takes a node away; its children go to its parent, or become roots."""
        self._touch(node, self.root_of(node))
        parent = self._parent.get(node)
        for child in self._children.pop(node, ()):
            self._detach(child)
            self._put(child, parent)
        if parent is None:
            del self._roots[node]
        else:
            self._detach(node)
            siblings = self._children[parent]
            del siblings[node]
            if not siblings:
                del self._children[parent]

    def _put(self, node: int, parent: int | None) -> None:
        if parent is None:
            self._roots[node] = None
            return
        self._roots.pop(node, None)
        self._parent[node] = parent
        self._children.setdefault(parent, {})[node] = None

    def _detach(self, node: int) -> None:
        del self._parent[node]

    # --- what became different ----------------------------------------------------------------------------------

    def _touch(self, top: int, root: int) -> None:
        for node in self.below(top):
            self._before.setdefault(node, root)

    def settle(self) -> Change:
        """The difference since the last time."""
        touched, self._before = sorted(self._before.items()), {}
        now = [(node, before, self.root_of(node)) for node, before in touched if node in self]
        return Change(
            entered=tuple(node for node, before, root in now if root == node != before),
            left=tuple(node for node, before, root in now if before == node != root),
            placed=tuple((node, root) for node, before, root in now if root not in (node, before)),
            gone=tuple(node for node, before in touched if before != _NEW and node not in self),
        )


# ----------------------------------------------------------------------------------------------------------------------
# Which patterns are merged: groups by what they share, until the front is small enough.
#
# [R] lets the summary with the highest access frequency pick what is merged. Those that it picks are put together
# first, and then, as long as there are still too many, all others: by the most that they share first (`meeting`).
# Neighbours in a group are such whose constants and intervals are the same or close, because a hull that grows in one
# place only lets nothing pass that no member wants.
#
# The laws: each proposal merges patterns that stand alone at that moment; so proposals made one after another turn
# the front that was given into one that is smaller by the members of each, less one.
# ----------------------------------------------------------------------------------------------------------------------

_MOST = 32  # members that are merged at a time
_FAILURES = 3  # groups of a bucket that cannot be merged, after which the others are not tried
_RELAXED = 30  # how many times more false positives are borne of a merger when the front shrinks no more
_STALLED = 0.8  # the share of it that another round must leave at most


class Proposal(NamedTuple):
    """Patterns to be merged, by number, and their merger with the number that it has in later proposals."""

    number: int
    members: tuple[int, ...]
    form: Form


class Knowledge(NamedTuple):
    """What mergers are made with: the classes, numbers of terms, what is known of the stream, and what is bearable."""

    taxonomy: Taxonomy
    names: Names
    frequencies: Frequencies
    summaries: Sequence[Summary]
    sample: Sample
    max_false_positives: float


def propose(pool: Mapping[int, Candidate], goal: int, knowledge: Knowledge) -> list[Proposal]:
    """What to merge so that no more than `goal` of these patterns and their mergers are left, if that is possible."""
    planner = _Planner(pool, max(1, goal), knowledge)
    if knowledge.summaries and planner.excess > 0:
        access = Access(pool, knowledge.names)
        for summary in knowledge.summaries:
            planner.merge_picked(access.picked(summary.edges))
    for level in _levels(knowledge.max_false_positives, max(1, goal)):
        planner.merge_all(level)
    return planner.proposals


def _levels(share: float, goal: int) -> Iterator[Level]:
    """What is borne, more and more. At first all mergers together keep to the share; then each to some times its part
    of it, so that they do as long as few mergers need that; and no limit where the share is all."""
    limits = share / goal, min(share, _RELAXED * share / goal)
    for anchored in (True, False):
        yield from (Level(limit, anchored) for limit in limits)
    if share >= 1:
        yield Level(inf, anchored=False)


class _Planner:
    """A front while it shrinks."""

    def __init__(self, pool: Mapping[int, Candidate], goal: int, knowledge: Knowledge) -> None:
        self.alone = dict(pool)
        self.proposals: list[Proposal] = []
        self._goal = goal
        self._know = knowledge
        self._judge = Judge(knowledge.frequencies, knowledge.sample, knowledge.max_false_positives)
        self._numbers = count(max(pool, default=0) + 1)

    @property
    def excess(self) -> int:
        return len(self.alone) - self._goal

    def merge_picked(self, numbers: Sequence[int]) -> None:
        """Merges what a summary picked, however few they are: they are matched together."""
        share = self._know.max_false_positives
        for anchored in (True, False):
            self._merge(numbers, Level(_RELAXED * share / self._goal, anchored), 2)

    def merge_all(self, level: Level) -> None:
        """Merges whatever there is: as many at a time as are needed on average and, when that helps no more, fewer."""
        needed = max(2, len(self.alone) // self._goal)
        while self.excess > 0:
            before = len(self.alone)
            self._merge(tuple(self.alone), level, needed)
            stalled = len(self.alone) > _STALLED * before
            if stalled and needed == 2:
                return
            needed = max(2, min(needed // 2 if stalled else needed, len(self.alone) // self._goal))

    def _merge(self, numbers: Sequence[int], level: Level, needed: int) -> None:
        for way in self._ways(level):
            if self.excess > 0:
                self._merge_by(way, [number for number in numbers if number in self.alone], level, needed)

    def _ways(self, level: Level) -> tuple[Keys, ...]:
        """The keys to meet under: those at constants where one must be kept, else those without."""
        names = self._know.names
        if level.anchored:
            return alike, names.anchored_paths, names.rooted_paths, same_edges, names.anchors
        return alike, names.rooted_paths, same_edges, names.paths, names.properties

    def _merge_by(self, way: Keys, numbers: Sequence[int], level: Level, needed: int) -> None:
        """The largest buckets first, and none with fewer than a merger needs to have on average."""
        for rows in _shrinking(_buckets(way, numbers, self.alone), self.alone):
            if self.excess <= 0 or len(rows) < needed:
                return
            failures = 0
            for group in self._groups(rows):
                failures = 0 if self._try(group, rows, level) else failures + 1
                if failures == _FAILURES:
                    break

    def _groups(self, rows: Bucket) -> Iterator[list[int]]:
        """Neighbours, so many at a time, and no more than are too many."""
        begins = {number: self._begins(number, edges) for number, edges in rows.items()}
        first = distinct_first(list(begins.values()))
        ordered = sorted(begins, key=lambda number: [begins[number][at] for at in first])
        parts = -(-len(ordered) // _MOST)
        for part in range(parts):
            group = ordered[part * len(ordered) // parts : (part + 1) * len(ordered) // parts]
            if len(group) > 1 and self.excess > 0:
                yield group[: self.excess + 1]

    def _begins(self, number: int, edges: Sequence[Edge]) -> list[tuple[int, float]]:
        """What neighbours are to have in common: labels, and where the values of nodes begin."""
        candidate, names = self.alone[number], self._know.names
        places = {place: names.begin(candidate, place) for edge in edges for place in (edge.subject, edge.object)}
        ends = [places[place] for edge in edges for place in (edge.subject, edge.object)]
        return [*((edge.label, 0.0) for edge in edges), *ends]

    def _try(self, group: Sequence[int], rows: Bucket, level: Level) -> bool:
        """Merges a group; or, if it has no merger or a poor one, parts of it. Whether any were merged."""
        candidates = [self.alone[number] for number in group]
        product = antiunify([each.shape for each in candidates], [rows[number] for number in group])
        form = merged([each.member for each in candidates], product, self._know.taxonomy)
        merger = None if form is None else self._know.names.candidate(form)
        if merger is not None and self._judge.bears(Merged(merger, candidates, product), level):
            self._put(merger, group)
            return True
        half = len(group) // 2
        return half > 1 and sum(self._try(part, rows, level) for part in (group[:half], group[half:])) > 0

    def _put(self, merger: Candidate, group: Sequence[int]) -> None:
        number = next(self._numbers)
        self.proposals.append(Proposal(number, tuple(group), merger.form))
        for member in group:
            del self.alone[member]
        self.alone[number] = merger


Bucket = dict[int, tuple[Edge, ...]]  # patterns with the edges by which they are laid side by side


def _buckets(way: Keys, numbers: Sequence[int], alone: Mapping[int, Candidate]) -> dict[tuple[int, ...], Bucket]:
    buckets: dict[tuple[int, ...], Bucket] = {}
    for number in numbers:
        for key, edges in way(alone[number].shape):
            buckets.setdefault(key, {}).setdefault(number, edges)
    return {key: bucket for key, bucket in buckets.items() if len(bucket) > 1}


def _shrinking(buckets: Mapping[tuple[int, ...], Bucket], alone: Mapping[int, Candidate]) -> Iterator[Bucket]:
    """Buckets by what is left in them, the largest first."""
    waiting = [(-len(bucket), number, bucket) for number, bucket in enumerate(buckets.values())]
    heapify(waiting)
    while waiting:
        size, number, bucket = heappop(waiting)
        left = {member: edges for member, edges in bucket.items() if member in alone}
        if len(left) == -size:
            yield left
        elif len(left) > 1:
            heappush(waiting, (-len(left), number, left))


# --- what a summary picks ---------------------------------------------------------------------------------------


_Way = tuple[int, int, int]  # subject, label, object; -1 for any


class Access:
    """Patterns under one edge of each, the one with most constants: [R]'s subscription matrix, asked by summaries."""

    def __init__(self, pool: Mapping[int, Candidate], names: Names) -> None:
        self._names = names
        self._ways: dict[int, list[_Way]] = {}
        self._under: dict[_Way, list[int]] = {}
        for number, candidate in pool.items():
            ways = _ways_of(candidate)
            if ways:
                self._ways[number] = ways
                self._under.setdefault(max(ways, key=_constants), []).append(number)

    def picked(self, graph: Graph) -> list[int]:
        """The patterns each of whose edges stands in the graph, by itself."""
        held = {way for triple in graph for way in self._held(*triple)}
        found = (number for way in held for number in self._under.get(way, ()))
        return sorted(number for number in found if held.issuperset(self._ways[number]))

    def _held(self, subject: Term, predicate: Term, object: Term) -> Iterator[_Way]:
        label = self._names.find(predicate)
        if label is not None:
            start, end = self._names.find(subject), self._names.find(object)
            yield -1, label, -1
            if start is not None:
                yield start, label, -1
            if end is not None:
                yield -1, label, end
            if start is not None and end is not None:
                yield start, label, end


def _ways_of(candidate: Candidate) -> list[_Way]:
    """The plain edges with a constant property."""
    names = candidate.shape.names
    return [(names[edge.subject], edge.label, names[edge.object]) for edge in candidate.shape.edges if edge.label >= 0]


def _constants(way: _Way) -> int:
    return (way[0] >= 0) + (way[2] >= 0)


# ----------------------------------------------------------------------------------------------------------------------
# Merging ([R] 4.3, imprecise indexing): patterns that are matched together stand behind one merger at the front.
#
# A merger is a pattern that nobody subscribed to and that whatever matches one of its members matches. So the front
# may say yes where no member matches, a false positive, but never no where one does. Mergers of mergers make merging
# trees.
#
# Merging begins when the front has `upper` patterns, and ends at `lower`, or as soon as the share `percentage` of the
# patterns is off the front. Where that share ends it, the distance between the two thresholds is kept as a ratio: the
# front must have grown by it before merging begins again. A merger is decomposed, its members back where it stood,
# when half of them have gone, because it was made wide for those, and when too many of its answers were false.
# ----------------------------------------------------------------------------------------------------------------------

_EVIDENCE = 4  # false answers of a merger before it is judged by them
_BATCH = 1024  # publications of a call that are learned from


@dataclass(frozen=True, slots=True)
class MergingOptions:
    """When merging begins and ends, how alike publications of one summary are, and which share of answers may be false.

    `sample` is how many publications, and how many summaries, are kept.
    """

    upper: int = 128
    lower: int = 96
    percentage: float = 0.9
    similarity: float = 0.5
    max_false_positives: float = 0.05
    sample: int = 256

    def __post_init__(self) -> None:
        for fine, name, fix in (
            (1 <= self.lower <= self.upper, "lower", "give a threshold from 1 to the upper one"),
            (0 <= self.percentage <= 1, "percentage", "give a share from 0 to 1"),
            (0 <= self.similarity <= 1, "similarity", "give a share from 0 to 1"),
            (0 <= self.max_false_positives <= 1, "max_false_positives", "give a share from 0 to 1"),
            (self.sample >= 1, "sample", "give how many publications to keep, 1 or more"),
        ):
            if not fine:
                raise UsageError("HG-031", f"{name} is {getattr(self, name)!r}", fix=fix)

    @classmethod
    def of(cls, given: dict[str, Any]) -> MergingOptions:
        names = [entry.name for entry in fields(cls)]
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise UsageError("HG-031", f"no option {unknown[0]!r} of merging", fix=f"use {', '.join(names)}")
        return cls(**given)


class Observed(NamedTuple):
    """How often the front said yes to a merger, and how often no member matched."""

    answers: int = 0
    false: int = 0

    @property
    def share(self) -> float:
        return self.false / self.answers if self.answers else 0.0

    def more(self, other: Observed) -> Observed:
        return Observed(self.answers + other.answers, self.false + other.false)


class Merger(NamedTuple):
    """What would be merged: nodes, or mergers of earlier ones in the same list, and the pattern of the merger."""

    number: int
    members: tuple[int, ...]
    query: Query


class Merging:
    """Patterns behind mergers. One writer at a time; `observe` may be called by anybody at any time."""

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        """The options are the fields of `MergingOptions`."""
        self.options = MergingOptions.of(options)
        self._taxonomy = taxonomy
        self._names = Names(taxonomy)
        self._frequencies = Frequencies(self._names)
        self._summaries = Summaries(self.options.similarity, self.options.sample)
        self._sample = Sample(self.options.sample)
        self._trees = Trees()
        self._forms: dict[int, Form] = {}
        self._nodes: dict[Form, int] = {}  # of the patterns that somebody asks
        self._subscribers: dict[int, dict[int, None]] = {}
        self._of: dict[int, int] = {}  # the nodes of subscriptions
        self._made: dict[int, int] = {}  # how many members a merger was made of
        self._apart: set[int] = set()  # what was decomposed for its false positives, and stays so
        self._candidates: dict[int, Candidate | None] = {}  # of roots
        self._rest = 0  # the size of the front when it was last merged
        self._lock = threading.Lock()
        self._observed: dict[int, Observed] = {}
        self._past = Observed()

    # --- asking -------------------------------------------------------------------------------------------------

    def node_of(self, number: int) -> int:
        return self._of[number]

    def root_of(self, node: int) -> int:
        return self._trees.root_of(node)

    def query_of(self, node: int) -> Query:
        return query_of(self._forms[node])

    def subscribers_of(self, node: int) -> Sequence[int]:
        return tuple(self._subscribers.get(node, ()))

    def is_synthetic(self, node: int) -> bool:
        return node in self._made

    def roots(self) -> Iterable[int]:
        return self._trees.roots()

    def members_of(self, node: int) -> tuple[int, ...]:
        """What a merger was made of, as far as it still stands: patterns and mergers."""
        return self._trees.children_of(node)

    def observed(self, node: int | None = None) -> Observed:
        """The answers of one merger, or of all that ever were."""
        with self._lock:
            if node is not None:
                return self._observed.get(node, Observed())
            return reduce(Observed.more, self._observed.values(), self._past)

    # --- subscriptions ------------------------------------------------------------------------------------------

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> Change:
        for number, query in subscriptions:
            form = form_of(query)
            node = self._nodes.get(form)
            if node is None:
                node = self._nodes[form] = self._trees.grow()
                self._forms[node] = form
            self._subscribers.setdefault(node, {})[number] = None
            self._of[number] = node
        self._review()
        if self._trees.width >= self._trigger():
            self._merge()
        return self._settle()

    def remove(self, numbers: Iterable[int]) -> Change:
        for number in numbers:
            node = self._of.pop(number)
            subscribers = self._subscribers[node]
            del subscribers[number]
            if not subscribers:
                del self._subscribers[node], self._nodes[self._forms[node]]
                self._take_away(node)
        self._review()
        self._rest = min(self._rest, self._trees.width)
        return self._settle()

    def _take_away(self, node: int) -> None:
        """A node goes, and with it each merger above that has lost half of its members."""
        above = self._trees.parent_of(node)
        self._cut(node)
        while above is not None and 2 * len(self._trees.children_of(above)) <= self._made[above]:
            node, above = above, self._trees.parent_of(above)
            self._cut(node)

    def _cut(self, node: int) -> None:
        """Takes a node away; what it was made of stands where it stood."""
        self._trees.cut(node)
        del self._forms[node]
        self._apart.discard(node)
        self._candidates.pop(node, None)
        with self._lock:
            self._made.pop(node, None)
            self._past = self._past.more(self._observed.pop(node, Observed()))

    def _settle(self) -> Change:
        change = self._trees.settle()
        for node, _ in change.placed:  # new ones that were merged at once, too
            self._candidates.pop(node, None)
        return change

    # --- merging ------------------------------------------------------------------------------------------------

    def merge(self) -> Change:
        """Merges now, however small the front is."""
        self._merge()
        return self._settle()

    def would_merge(self) -> list[Merger]:
        """What `merge` would do, without doing it."""
        return [Merger(number, members, query_of(form)) for number, members, form in self._proposals()]

    def _goal(self) -> int:
        left = round(len(self._nodes) * (1 - self.options.percentage))
        return max(self.options.lower, left)

    def _trigger(self) -> int:
        ratio = self.options.upper / self.options.lower
        return max(self.options.upper, round(self._rest * ratio))

    def _proposals(self) -> list[Proposal]:
        pool = {root: candidate for root, candidate in self._pool().items() if root not in self._apart}
        fixed = self._trees.width - len(pool)
        return propose(pool, self._goal() - fixed, self._knowledge())

    def _knowledge(self) -> Knowledge:
        return Knowledge(
            self._taxonomy,
            self._names,
            self._frequencies,
            self._summaries.ranked(),
            self._sample,
            self.options.max_false_positives,
        )

    def _pool(self) -> dict[int, Candidate]:
        """The roots of which anything is known."""
        found = {root: self._candidate(root) for root in self._trees.roots()}
        return {root: candidate for root, candidate in found.items() if candidate is not None}

    def _candidate(self, root: int) -> Candidate | None:
        if root not in self._candidates:
            self._candidates[root] = candidate = self._names.candidate(self._forms[root])
            if candidate is not None and root not in self._made:
                self._frequencies.count(candidate.shape)
        return self._candidates[root]

    def _merge(self) -> None:
        nodes: dict[int, int] = {}
        with collector_paused():
            for number, members, form in self._proposals():
                nodes[number] = self._join([nodes.get(member, member) for member in members], form)
        self._rest = self._trees.width

    def _join(self, members: Sequence[int], form: Form) -> int:
        """A merger of nodes. A single merger among them is widened: its members become members of the new one."""
        node = self._trees.join(members)
        self._forms[node] = form
        self._made[node] = len(members)
        mergers = [member for member in members if member in self._made]
        if len(mergers) == 1:
            self._cut(mergers[0])
        self._made[node] = len(self._trees.children_of(node))
        return node

    # --- the stream ---------------------------------------------------------------------------------------------

    def learn(
        self, publications: Publications | Sequence[Iterable[Triple]], matched: Sequence[int] | None = None
    ) -> None:
        """Learns from publications and from how many subscriptions each matched; else, from how many roots it might."""
        graphs = list(graphs_of(publications, _BATCH))
        if matched is None:
            access = Access(self._pool(), self._names)
            matches = [len(access.picked(graph)) for _, graph in graphs]
        else:
            matches = [matched[place] for place, _ in graphs]
        for (_, graph), number in zip(graphs, matches, strict=True):
            self._sample.add(graph)
            self._summaries.collect(graph, number)

    def observe(self, node: int, hit: bool, times: int = 1) -> None:
        """The front said yes to a merger so many times; `hit` is whether a member matched."""
        seen = Observed(times, 0 if hit else times)
        with self._lock:
            if node in self._made:
                self._observed[node] = self._observed.get(node, Observed()).more(seen)

    def review(self) -> Change:
        """Decomposes the mergers too many of whose answers were false. `insert` and `remove` do it as well."""
        self._review()
        return self._settle()

    def _review(self) -> None:
        with self._lock:
            seen = list(self._observed.items())
        for node, observed in seen:
            if observed.false >= _EVIDENCE and observed.share > self.options.max_false_positives:
                self._apart.update(self._trees.children_of(node))
                self._cut(node)


# ----------------------------------------------------------------------------------------------------------------------
# Planning in pieces: groups of subscriptions that are arranged by themselves, and then their roots together.
#
# The laws: whatever matches below a root of a group matches that root, so the roots of all groups make a front,
# however subscriptions fall into groups; and if one pattern contains another, it is known to all who arrange both.
# Groups only decide how small the front becomes: patterns are put where those stand that they have a property in
# common with. The roots of all groups, arranged again by containment, are those that one arrangement of everybody
# has.
# ----------------------------------------------------------------------------------------------------------------------


def group_of(query: Query, groups: int) -> int:
    """The group of a pattern: its constant property with the smallest hash says it, so a pattern that has all
    properties of another and few more is likely to come to the same."""
    named = (
        crc32(edge.predicate.value.encode())
        for edge in query.patterns
        if isinstance(edge, TriplePattern) and isinstance(edge.predicate, Term)
    )
    return min(named, default=0) % groups


def share_of(scheme: Scheme, groups: int) -> Scheme:
    """What one of so many groups is told, so that the front of all of them keeps to what the scheme says.

    Thresholds count patterns at the front, and false positives of all mergers are summed up: each gets its part.
    """
    if scheme.partition != "merging":
        return scheme
    whole = MergingOptions.of(dict(scheme.merging))
    upper, lower = (max(1, count // groups) for count in (whole.upper, whole.lower))
    false = whole.max_false_positives if whole.max_false_positives >= 1 else whole.max_false_positives / groups
    own = {"upper": upper, "lower": lower, "max_false_positives": false}
    return Scheme(scheme.partition, scheme.shards, {**scheme.merging, **own})


class Root(NamedTuple):
    """Who stands at the front with the shards below, as bits; a merger is a query that nobody asked."""

    head: Subscription | Query
    shards: int


class Arranged(NamedTuple):
    """The roots of some subscriptions, and by shard those that stand there."""

    roots: list[Root]
    shards: dict[int, list[Subscription]]


def arrange(people: Sequence[Subscription], scheme: Scheme, taxonomy: Taxonomy) -> Arranged:
    """Subscriptions at the front and in shards, as a plan of them alone has it."""
    placement = Placement(scheme.arrangement(taxonomy), scheme.shards)
    came = placement.insert(people, 1).came
    by_number = {each.number: each for each in people}
    routes = placement.routes.table
    roots = [
        Root(by_number[n] if n < MERGERS else placement.arrangement.query_of(n - MERGERS), routes[n].shards(1))
        for n in came.pop(FRONT, [])
    ]
    return Arranged(roots, {shard: [by_number[n] for n in numbers] for shard, numbers in came.items()})


def arrange_roots(roots: Mapping[Subscription, int], scheme: Scheme, taxonomy: Taxonomy) -> Arranged:
    """The roots of several groups, each with its shards, by containment: those below another go to shards, and what was
    below them is below that other."""
    placement = Placement(scheme.arrangement(taxonomy), scheme.shards)
    by_number = {each.number: each for each in roots}
    came = placement.insert([by_number[n] for n in sorted(by_number)], 1).came
    below = dict.fromkeys(came.get(FRONT, []), 0)
    for each, shards in roots.items():
        below[placement.head(placement.root_of(each.number))] |= shards
    routes = placement.routes.table
    heads = [Root(by_number[n], shards | routes[n].shards(1)) for n, shards in below.items()]
    return Arranged(heads, {shard: [by_number[n] for n in came[shard]] for shard in came if shard != FRONT})
