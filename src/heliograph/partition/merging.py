"""Merging ([R] 4.3, imprecise indexing): patterns that are matched together stand behind one merger at the front.

A merger is a pattern that nobody subscribed to and that whatever matches one of its members matches. So the front may
say yes where no member matches, a false positive, but never no where one does. Mergers of mergers make merging trees.

Merging begins when the front has `upper` patterns, and ends at `lower`, or as soon as the share `percentage` of the
patterns is off the front. Where that share ends it, the distance between the two thresholds is kept as a ratio: the
front must have grown by it before merging begins again. A merger is decomposed, its members back where it stood, when
half of them have gone, because it was made wide for those, and when too many of its answers were false.

The file goes from patterns to plans: patterns by number (candidates); what several have in common (anti-unification)
and the merger around it; the merge keys under which patterns meet; the estimate of false positives; the choice of what
to merge; the arrangement; and arranging in groups, for Spark.
"""

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
from heliograph.partition.plan import FRONT, MERGERS, Arrangement, Placement, PlanChange, Scheme
from heliograph.partition.statistics import Graph, Sample, Summaries, Summary, Triple, graphs_of
from heliograph.sparql.normalize import (
    Flat,
    Head,
    NormalForm,
    form_of,
    laid,
    numbered,
    raised,
    region_of,
    spelled,
    substituted,
    variables_of,
)
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
from heliograph.sparql.regions import EVERYTHING, Line, Region, Some, comparison, convex, just, union
from heliograph.subscriptions import Subscription
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, Term, Variable, sort_key
from heliograph.values import to_double

# --- candidates -------------------------------------------------------------------------------------------------

VARIABLE = -1  # in place of the number of a term; numbers below it are labels that may not become a variable
IS_A, SUBCLASS_OF, TYPE, MEMBER = -2, -3, -4, -5  # labels that mean more than one edge of the document
FREE, ASKED, GIVEN = 0, 1, 2  # any value; one that satisfies something; one of a few terms

_RELATIONS = {IS_A: ClassRelation.IS_A, SUBCLASS_OF: ClassRelation.SUBCLASS_OF}
_LABELS: dict[object, int] = {
    ClassRelation.IS_A: IS_A,
    ClassRelation.SUBCLASS_OF: SUBCLASS_OF,
    RDF_TYPE: TYPE,
    RDFS_MEMBER: MEMBER,
}


class PlacedEdge(NamedTuple):
    """An edge between nodes by place. The label is a property or a class relation; VARIABLE where it is no constant."""

    label: int
    subject: int
    predicate: int  # the place of the property among the nodes; VARIABLE for a class relation
    object: int


class Candidate(NamedTuple):
    """A pattern that may be merged: its form, its nodes by place, and edges between them."""

    form: NormalForm
    nodes: tuple[Node, ...]
    names: tuple[int, ...]  # the numbers of the nodes that are terms
    marks: tuple[int, ...]  # how much is known of each node: FREE, ASKED or GIVEN
    edges: tuple[PlacedEdge, ...]

    def region(self, place: int) -> Region:
        """What a node may stand for."""
        node = self.nodes[place]
        return just((node,)) if isinstance(node, Term) else self.form.region(node)

    def given(self, place: int) -> Iterable[Term] | None:
        """The few terms that a node may be."""
        return _given(self.form, self.nodes[place])


def _given(form: NormalForm, node: Node) -> Iterable[Term] | None:
    return (node,) if isinstance(node, Term) else form.region(node).among


class TermNumbers:
    """Numbers for terms, so that candidates are compared by number."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._numbers: dict[object, int] = dict(_LABELS)
        self.anchorless = {IS_A, SUBCLASS_OF, MEMBER, *((TYPE,) if len(taxonomy) else ())}

    def find(self, term: Term) -> int | None:
        """The number of a term, if a pattern has it."""
        return self._numbers.get(term)

    def number(self, node: Node) -> int:
        """The number of a term, from now on."""
        return VARIABLE if isinstance(node, Variable) else self._numbers.setdefault(node, len(self._numbers))

    def candidate(self, form: NormalForm) -> Candidate | None:
        """The pattern as it is merged; None if nothing is known of it."""
        if form.opaque or not form.edges:
            return None
        places: dict[Node, int] = {}
        edges = tuple([self._edge(edge, places) for edge in form.edges])
        asked = {name for flat in form.residue for name in variables_of(flat)}
        regions = dict(form.regions)
        marks = []
        for node in places:
            region = None if isinstance(node, Term) else regions.get(node, EVERYTHING)
            if region is None or region.among is not None:
                marks.append(GIVEN)
            else:
                marks.append(FREE if region is EVERYTHING and node not in asked else ASKED)
        return Candidate(form, tuple(places), tuple(map(self.number, places)), tuple(marks), edges)

    def _edge(self, edge: Pattern, places: dict[Node, int]) -> PlacedEdge:
        subject, object = (places.setdefault(node, len(places)) for node in (edge.subject, edge.object))
        if isinstance(edge, ClassPattern):
            return PlacedEdge(_LABELS[edge.relation], subject, VARIABLE, object)
        predicate = places.setdefault(edge.predicate, len(places))
        return PlacedEdge(self.number(edge.predicate), subject, predicate, object)

    def begin(self, candidate: Candidate, place: int) -> tuple[int, float]:
        """Where the values of a node begin: neighbours in this order have values in common, or close to one another."""
        node = candidate.nodes[place]
        if isinstance(node, Term):
            return VARIABLE, candidate.names[place]
        region = candidate.form.region(node)
        if region.among is not None:
            return VARIABLE, min(map(self.number, region.among), default=VARIABLE)
        lines = [(sort, part[0][0]) for sort, part in enumerate(region.parts) if part and not isinstance(part, Some)]
        return next(((sort, to_double(low)) for sort, low in lines), (VARIABLE, VARIABLE))


# --- anti-unification -------------------------------------------------------------------------------------------
# A *column* holds one node of each pattern. The edges of the product lead from column to column, where every pattern
# has such an edge between the nodes that stand there. So reading off one place of every column maps the product into
# that pattern, edges to edges: a homomorphism, by construction and whatever choices are made on the way. That is the
# law; the choices (which edge of one pattern goes with which of another) only decide how much is kept.
#
# The product begins with edges that are laid side by side, and grows along edges with the same label. Where labels
# differ, the label becomes a variable, unless it means more than one edge of the document.

Column = tuple[int, ...]  # one node of each pattern, by place
Port = tuple[int, bool]  # a label, and whether the edge leads outwards
Ports = dict[Port, list[PlacedEdge]]


class Product(NamedTuple):
    """Columns, and edges between them by place."""

    columns: tuple[Column, ...]
    edges: tuple[PlacedEdge, ...]


def antiunify(candidates: Sequence[Candidate], rows: Sequence[Sequence[PlacedEdge]]) -> Product:
    """The common part of patterns around some edges of each, a row a pattern, laid side by side."""
    growth = _Growth(candidates)
    for edges in zip(*rows, strict=True):
        growth.add(edges)
    if len(rows[0]) < min(len(each.edges) for each in candidates):
        growth.along_labels()
    return Product(tuple(growth.places), tuple(growth.edges))


class _Growth:
    """A product while it grows."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.places: dict[Column, int] = {}
        self.edges: dict[PlacedEdge, None] = {}
        self._candidates = candidates
        self._ports: list[dict[int, Ports]] = []
        self._used: set[PlacedEdge] = set()  # edges of the first pattern

    def _place(self, column: Column) -> int:
        return self.places.setdefault(column, len(self.places))

    def add(self, edges: Sequence[PlacedEdge]) -> None:
        """One edge of each pattern becomes an edge of the product."""
        labels = {edge.label for edge in edges}
        label = labels.pop() if len(labels) == 1 else VARIABLE
        subject, object = (self._place(tuple([edge[at] for edge in edges])) for at in (1, 3))
        predicates = tuple([edge.predicate for edge in edges])
        predicate = VARIABLE if VARIABLE in predicates else self._place(predicates)
        self.edges[PlacedEdge(label, subject, predicate, object)] = None
        self._used.add(edges[0])

    def along_labels(self) -> None:
        """Adds the edges that all patterns have at a column, and the columns that they lead to."""
        self._ports = [_ports_of(each) for each in self._candidates]
        most = max(len(each.edges) for each in self._candidates)
        grown = 0
        while grown < len(self.places) and len(self.edges) < most:
            column = list(self.places)[grown]
            grown += 1
            first, *others = (ports.get(node, {}) for ports, node in zip(self._ports, column, strict=True))
            for port in first:
                shared = port[0] != VARIABLE and all(port in each for each in others)
                if shared and not self._used.issuperset(first[port]):
                    self._follow(column, port)

    def _follow(self, column: Column, port: Port) -> None:
        """To columns that are there already; else to a node that all have, else to one of each."""
        end = 3 if port[1] else 1
        far = [{edge[end]: edge for edge in ports[node][port]} for ports, node in zip(self._ports, column, strict=True)]
        closing = [ends for ends in self.places if all(node in each for each, node in zip(far, ends, strict=True))]
        for ends in closing or self._new_ends(far):
            self.add([each[node] for each, node in zip(far, ends, strict=True)])

    def _new_ends(self, far: Sequence[dict[int, PlacedEdge]]) -> list[Column]:
        """A node that all have; else one of each, preferably one of which most is known."""
        both = list(zip(self._candidates, far, strict=True))
        named = [{each.names[node]: node for node in ends if each.names[node] != VARIABLE} for each, ends in both]
        shared = [name for name in named[0] if all(name in each for each in named)]
        if shared:
            return [tuple([each[name] for each in named]) for name in shared]
        return [tuple([max(ends, key=each.marks.__getitem__) for each, ends in both])]


def _ports_of(candidate: Candidate) -> dict[int, Ports]:
    ports: dict[int, Ports] = {}
    for edge in candidate.edges:
        ports.setdefault(edge.subject, {}).setdefault((edge.label, True), []).append(edge)
        ports.setdefault(edge.object, {}).setdefault((edge.label, False), []).append(edge)
    return ports


# --- the merger -------------------------------------------------------------------------------------------------
# The law: whatever matches a member matches the merger. The product maps into each member, so a match of the member
# gives each column a value; of that value the member asks its own region, which lies in the union. Classes become a
# class above all of them, conditions that regions cannot say are kept where all members have them, and become
# alternatives where each has some. Anything else is left out, which only lets more pass. A merger is one connected
# pattern with at least one edge, or there is none.

_TERMS = 256  # given terms up to which they are listed
_INTERVALS = 64  # intervals up to which the gaps between them are kept
_ALTERNATIVES = 64  # conditions up to which they are listed
_PROBE = Variable("x")


def merger_of(members: Sequence[Candidate], product: Product, taxonomy: Taxonomy) -> NormalForm | None:
    """The merger of members around their product; None if there is none."""
    nodes: list[Node] = []  # the term that all members have there, or a variable
    for number, column in enumerate(product.columns):
        (first, *others) = (member.nodes[place] for member, place in zip(members, column, strict=True))
        same = isinstance(first, Term) and all(node == first for node in others)
        nodes.append(first if same else numbered(number))
    found = [_pattern(members, product, edge, nodes, taxonomy) for edge in product.edges]
    kept = _connected([pattern for pattern in found if pattern is not None])
    if not any(isinstance(pattern, TriplePattern) for pattern in kept):
        return None
    bound = {node for pattern in kept for node in pattern if isinstance(node, Variable)}
    columns = {
        node: column
        for node, column in zip(nodes, product.columns, strict=True)
        if isinstance(node, Variable) and node in bound
    }
    regions = []
    for variable, column in columns.items():
        asked = {member.region(place): None for member, place in zip(members, column, strict=True)}
        region = EVERYTHING if EVERYTHING in asked else merged_region(list(asked))
        if region != EVERYTHING:
            regions.append((variable, region))
    return NormalForm(kept, tuple(regions), _residue(members, columns))


def _pattern(
    members: Sequence[Candidate], product: Product, edge: PlacedEdge, nodes: Sequence[Node], taxonomy: Taxonomy
) -> Pattern | None:
    """An edge of the product between its nodes; None where classes differ that have none above them."""
    subject, object = nodes[edge.subject], nodes[edge.object]
    kinds = _terms(members, product.columns[edge.object])
    differ = isinstance(object, Variable) and bool(kinds)
    if edge.label == TYPE and len(taxonomy) and differ:
        above = _nearest_bound(kinds, taxonomy.ancestors)
        return None if above is None else ClassPattern(ClassRelation.IS_A, subject, above)
    if edge.label not in _RELATIONS:
        return TriplePattern(subject, nodes[edge.predicate], object)
    relation = _RELATIONS[edge.label]
    if differ:
        above = _nearest_bound(kinds, taxonomy.ancestors)
        return None if above is None else ClassPattern(relation, subject, above)
    kinds = _terms(members, product.columns[edge.subject])
    if relation is ClassRelation.SUBCLASS_OF and isinstance(subject, Variable) and kinds:
        below = _nearest_bound(kinds, taxonomy.descendants)
        return None if below is None else ClassPattern(relation, below, object)
    return ClassPattern(relation, subject, object)


def _terms(members: Sequence[Candidate], column: Column) -> list[Term]:
    """The terms of a column, if they are all terms."""
    nodes = [member.nodes[place] for member, place in zip(members, column, strict=True)]
    terms = [node for node in nodes if isinstance(node, Term)]
    return terms if len(terms) == len(nodes) else []


def _nearest_bound(kinds: Sequence[Term], closure: Callable[[Term], Iterable[Term]]) -> Term | None:
    """The nearest class that bounds all of them: one of them, or one in the closure of each."""
    common = set.intersection(*({kind, *closure(kind)} for kind in kinds))
    return max(sorted(common, key=sort_key), key=lambda kind: len(common.intersection(closure(kind))), default=None)


def _connected(found: Sequence[Pattern]) -> tuple[Pattern, ...]:
    """The edges of the largest part that hangs together; of equal ones the first."""
    parts: list[tuple[set[Node], list[Pattern]]] = []
    for pattern in found:
        ends = {pattern.subject, pattern.object}
        touching = [part for part in parts if part[0] & ends]
        parts = [part for part in parts if not part[0] & ends]
        nodes = ends.union(*(nodes for nodes, _ in touching))
        parts.append((nodes, [*(each for _, patterns in touching for each in patterns), pattern]))
    largest = max((patterns for _, patterns in parts), key=len, default=[])
    return tuple(dict.fromkeys(largest))


def merged_region(regions: Sequence[Region]) -> Region:
    """What holds all regions; never less than their union, and more only where a query could not say that, or not
    shortly."""
    if all(region.among is not None for region in regions):
        joined = union(regions)
        return joined if len(joined.among or ()) <= _TERMS else EVERYTHING
    # With the equals of their terms, so that points and intervals run side by side on the lines of numbers.
    equals = [comparison("=", term) for region in regions for term in region.among or ()]
    joined = union([*regions, *(same for same in equals if same is not None)])
    if any(map(_is_long, joined.parts)):
        joined = convex(joined)
    return EVERYTHING if any(map(_is_long, joined.parts)) else region_of(spelled(_PROBE, joined))


def _is_long(part: Some | Line) -> bool:
    return len(part.terms) > _TERMS if isinstance(part, Some) else len(part) > 2 * _INTERVALS


def _residue(members: Sequence[Candidate], columns: Mapping[Variable, Column]) -> tuple[Flat, ...]:
    """Conditions that all members have; and, if each has others as well, one of these."""
    if not all(member.form.residue for member in members):
        return ()
    asked = [_translated(member, number, columns) for number, member in enumerate(members)]
    common = [flat for flat in asked[0] if all(flat in each for each in asked)]
    others = [[flat for flat in each if flat not in common] for each in asked]
    blocks = any(isinstance(flat[0], Head) and flat[0].kind == "Values" for each in others for flat in each)
    if blocks or not all(others):  # a VALUES block is no expression
        return tuple(common)
    choices = dict.fromkeys(choice for each in others for choice in _choices(each))
    return (*common, laid(Or(tuple(choices)))) if len(choices) <= _ALTERNATIVES else tuple(common)


def _translated(member: Candidate, number: int, columns: Mapping[Variable, Column]) -> list[Flat]:
    """The conditions of a member that name columns alone, in their variables."""
    images: dict[Node, Node] = {}
    for variable, column in columns.items():
        node = member.nodes[column[number]]
        if isinstance(node, Variable):
            images.setdefault(node, variable)
    return [substituted(flat, images) for flat in member.form.residue if variables_of(flat) <= images.keys()]


def _choices(flats: Sequence[Flat]) -> tuple[Expression, ...]:
    """Conditions that are ANDed, as alternatives: one, unless they are alternatives already."""
    found = tuple(map(raised, flats))
    if len(found) > 1:
        return (And(found),)
    return found[0].operands if isinstance(found[0], Or) else found


# --- merge keys -------------------------------------------------------------------------------------------------
# Two patterns with one key have part of their structure in common: the key comes with the edges of that part in one
# order, which is where their anti-unification begins. So candidates are found by hashing, never by comparing pairs.
# From the most that patterns can share to the least: all edges with the same nodes known; all edges; an edge at one
# constant and another one that goes on from it, of any property; the same where the first edge may be of any property,
# too; an edge of one property with another one; and one edge alone. The engine looks up patterns by an edge, best by
# one with a constant: so those that keep one come first.

Keyed = tuple[tuple[int, ...], tuple[PlacedEdge, ...]]  # a key, and the edges by which patterns are laid side by side
Keys = Callable[[Candidate], Iterator[Keyed]]


def alike(candidate: Candidate) -> Iterator[Keyed]:
    """All edges, and how much is known of each node."""
    ((key, edges),) = same_edges(candidate)
    nodes = dict.fromkeys([place for edge in edges for place in (edge.subject, edge.object)])
    yield (*key, *(candidate.marks[place] for place in nodes)), edges


def same_edges(candidate: Candidate) -> Iterator[Keyed]:
    """All edges. Nodes differ by their edges, so most patterns of the same edges get them in the same order."""
    seen: list[list[int]] = [[] for _ in candidate.names]
    for label, subject, _, object in candidate.edges:
        seen[subject].append(2 * label)
        seen[object].append(2 * label + 1)
    colours = [hash(tuple(sorted(each))) for each in seen]
    ordered = sorted(candidate.edges, key=lambda edge: (edge.label, colours[edge.subject], colours[edge.object]))
    places: dict[int, int] = {}
    key: list[int] = []
    for label, subject, predicate, object in ordered:
        key += (label, places.setdefault(subject, len(places)), places.setdefault(object, len(places)))
        if label == VARIABLE:
            key.append(places.setdefault(predicate, len(places)))
    yield tuple(key), tuple(ordered)


class EdgePath(NamedTuple):
    """An edge that is followed outwards or inwards, an edge that goes on from there, and what is known of the ends."""

    edge: PlacedEdge
    outwards: bool
    way: bool  # the same of the second edge
    other: PlacedEdge
    known: int


class MergeKeys:
    """Keys by a part of the edges; edges that no publication is looked up by have none."""

    def __init__(self, anchorless: set[int]) -> None:
        self._anchorless = anchorless

    def anchored_paths(self, candidate: Candidate) -> Iterator[Keyed]:
        """Edges at a constant, with an edge that goes on."""
        for path, near in self._rooted(candidate):
            if path.edge.label != VARIABLE:
                yield (near, path.edge.label, path.outwards, path.way), (path.edge, path.other)

    def rooted_paths(self, candidate: Candidate) -> Iterator[Keyed]:
        """Constants with an edge of any property and another one that goes on from it."""
        for path, near in self._rooted(candidate):
            if path.edge.label >= VARIABLE:
                yield (near, path.outwards, path.way), (path.edge, path.other)

    def anchors(self, candidate: Candidate) -> Iterator[Keyed]:
        """Each edge at a constant, by that constant."""
        for edge in self._edges(candidate):
            for near, outwards in ((edge.subject, True), (edge.object, False)):
                if candidate.names[near] != VARIABLE:
                    yield (candidate.names[near], edge.label, outwards), (edge,)

    def paths(self, candidate: Candidate) -> Iterator[Keyed]:
        """Edges by their property, with an edge that goes on."""
        for edge, outwards, way, other, known in _best(self._paths(candidate)):
            if edge.label != VARIABLE:
                yield (edge.label, known, outwards, way), (edge, other)

    def properties(self, candidate: Candidate) -> Iterator[Keyed]:
        """Each edge by its property, where something is known of its ends."""
        for edge in self._edges(candidate):
            known = candidate.marks[edge.subject], candidate.marks[edge.object]
            if any(known):
                yield (edge.label, *known), (edge,)

    def _edges(self, candidate: Candidate) -> Iterator[PlacedEdge]:
        """Edges that a publication is looked up by."""
        return (edge for edge in candidate.edges if edge.label != VARIABLE and edge.label not in self._anchorless)

    def _paths(self, candidate: Candidate) -> Iterator[EdgePath]:
        for edge in candidate.edges:
            if edge.label not in self._anchorless:
                yield from _onwards(candidate, edge, True)
                yield from _onwards(candidate, edge, False)

    def _rooted(self, candidate: Candidate) -> Iterator[tuple[EdgePath, int]]:
        """The best paths that begin at a constant, each with the constant."""
        names = candidate.names
        begun = ((path, names[_end(path.edge, not path.outwards)]) for path in self._paths(candidate))
        found = {path: near for path, near in begun if near != VARIABLE}
        return ((path, found[path]) for path in _best(found))


def _best(paths: Iterable[EdgePath]) -> list[EdgePath]:
    """Those of whose nodes most is known."""
    found = list(paths)
    most = max((path.known for path in found), default=FREE)
    return [path for path in found if path.known == most]


def _onwards(candidate: Candidate, edge: PlacedEdge, outwards: bool) -> Iterator[EdgePath]:
    """The best edge that goes on from the far end to a node of which something is known.

    One in the same direction is better: two edges in opposite directions may be met by one edge of a publication.
    """
    near, far, marks = _end(edge, not outwards), _end(edge, outwards), candidate.marks
    best, found = (FREE, False), edge
    for each in candidate.edges:
        if far in (each.subject, each.object) and near not in (each.subject, each.object) and each.label >= VARIABLE:
            way = each.subject == far
            rank = marks[_end(each, way)], way == outwards
            if rank > best:
                best, found = rank, each
    if best[0] != FREE:
        yield EdgePath(edge, outwards, found.subject == far, found, marks[near] + marks[far] + best[0])


def _end(edge: PlacedEdge, outwards: bool) -> int:
    return edge.object if outwards else edge.subject


# --- the estimate of false positives ----------------------------------------------------------------------------
# How often a publication matches a merger and none of its members. Three ways to know. A merger that differs from its
# members in one place only, where it asks for any of what they ask, is their union and has none. A sample of the stream
# shows what is met often. What is met rarely is estimated: the chance that an edge has a property, or an end a certain
# name, is taken to be the share of them that subscriptions ask for. Estimates choose what is merged; what happens is
# observed, and no match depends on either.

_EDGES = 100  # of a publication, as long as none is known
_BRANCHES = 3  # edges of a publication that go on from where one ends
_CHANCE = 0.3  # that a value satisfies what is asked of it, be it an interval, a class or a text


class Frequencies:
    """How often patterns ask for a label, and for a name at an end of an edge; and the chances that follow."""

    def __init__(self, numbers: TermNumbers) -> None:
        self._numbers = numbers
        self._labels: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._edges = self._constants = 0

    def count(self, candidate: Candidate) -> None:
        """Counts a pattern of a subscription."""
        for label, subject, _, object in candidate.edges:
            self._edges += 1
            self._labels[label] = self._labels.get(label, 0) + 1
            for name in (candidate.names[subject], candidate.names[object]):
                if name != VARIABLE:
                    self._constants += 1
                    self._ends[name] = self._ends.get(name, 0) + 1

    def label_chance(self, candidate: Candidate, edge: PlacedEdge) -> float:
        """That an edge has the property, or one of those, that an edge of a pattern asks for."""
        labels: Iterable[int] = (edge.label,)
        if edge.label == VARIABLE:
            given = candidate.given(edge.predicate)
            if given is None:
                return 1.0
            labels = map(self._numbers.number, given)
        return min(1.0, sum(self._labels.get(label, 1) for label in labels) / max(1, self._edges))

    def end_chance(self, candidate: Candidate, place: int) -> float:
        """That an end of an edge is what a node of a pattern asks for."""
        given = candidate.given(place)
        if given is None:
            return _CHANCE if candidate.marks[place] == ASKED else 1.0
        asked = sum(self._ends.get(self._numbers.number(term), 1) for term in given)
        return min(1.0, asked / max(1, self._constants))


class Tolerance(NamedTuple):
    """How often a publication may meet a merger in vain, and whether a constant to look it up by must be kept."""

    limit: float
    anchored: bool


class Estimator:
    """Decides whether a merger is good enough."""

    def __init__(self, frequencies: Frequencies, sample: Sample, max_false_positives: float) -> None:
        self._frequencies = frequencies
        self._sample = sample
        self._share = max_false_positives

    def accepts(self, merger: Candidate, members: Sequence[Candidate], product: Product, tolerance: Tolerance) -> bool:
        """Whether a merger keeps what its members are looked up by, and is not expected to be met in vain too often."""
        kept = (_asks, _is_anchored if tolerance.anchored else _is_found)
        if any(not has(merger) and all(map(has, members)) for has in kept):
            return False
        if _is_union(merger, members, product):
            return True
        return self.expected(merger) <= tolerance.limit and self._is_rare(merger, members)

    def expected(self, candidate: Candidate) -> float:
        """How often a publication is expected to match a pattern."""
        chance, met = _EDGES / _BRANCHES, list[PlacedEdge]()
        bound: set[int] = set()
        for edge in candidate.edges:
            own = _BRANCHES * self._frequencies.label_chance(candidate, edge)
            for place in {edge.subject, edge.object} - bound:
                own *= self._frequencies.end_chance(candidate, place)
            chance *= min(_BRANCHES, own + sum(_overlap(candidate, edge, other) for other in met))
            bound |= {edge.subject, edge.object}
            met.append(edge)
        return chance

    def _is_rare(self, merger: Candidate, members: Iterable[Candidate]) -> bool:
        """Whether few of the sample's publications that could match the merger could not match a member."""
        met = vain = self._met(merger.form)
        for member in members if met else ():
            vain &= ~self._met(member.form)
        return vain.bit_count() <= self._share * met.bit_count()

    def _met(self, form: NormalForm) -> int:
        """The publications of the sample that hold each edge of a pattern somewhere."""
        met = self._sample.everything
        for edge in form.edges if met else ():
            predicates = None if isinstance(edge, ClassPattern) else _given(form, edge.predicate)
            if predicates is not None and edge[1] not in (RDF_TYPE, RDFS_MEMBER):
                subjects, objects = _given(form, edge.subject), _given(form, edge.object)
                holding = [self._sample.holding(subjects, predicate, objects) for predicate in predicates]
                met &= reduce(int.__or__, holding, 0)
        return met


def _overlap(candidate: Candidate, edge: PlacedEdge, other: PlacedEdge) -> float:
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
    mine, theirs = candidate.given(place), candidate.given(other)
    if mine is None or theirs is None:
        return 1.0
    terms = set(theirs)
    return len(terms.intersection(mine)) / max(1, len(terms))


def _asks(candidate: Candidate) -> bool:
    """Whether anything is asked of an end of an edge."""
    return any(
        candidate.marks[edge.subject] != FREE or candidate.marks[edge.object] != FREE for edge in candidate.edges
    )


def _is_found(candidate: Candidate) -> bool:
    """Whether an edge has a property or a constant end; else a publication would have to be searched for any edge."""
    return _is_anchored(candidate) or any(edge.label != VARIABLE for edge in candidate.edges)


def _is_anchored(candidate: Candidate) -> bool:
    """Whether an edge has a constant end."""
    names = candidate.names
    return any(names[edge.subject] != VARIABLE or names[edge.object] != VARIABLE for edge in candidate.edges)


def _is_union(merger: Candidate, members: Sequence[Candidate], product: Product) -> bool:
    """Whether the members have all edges of the merger and no others, and are the same but for one node.

    Residues count as such a node. That a region may be wider than the union is neglected.
    """
    if any(len(member.edges) != len(merger.edges) for member in members):
        return False
    columns = [[_asked(member, at) for member, at in zip(members, column)] for column in product.columns]
    differing = sum(len(set(column)) > 1 for column in columns)
    return differing + any(member.form.residue for member in members) <= 1


def _asked(member: Candidate, place: int) -> object:
    name, node = member.names[place], member.nodes[place]
    return name if name != VARIABLE or isinstance(node, Term) else member.form.region(node)


# --- what is merged ---------------------------------------------------------------------------------------------
# [R] lets the summary with the highest access frequency pick what is merged. Those that it picks are put together
# first, and then, as long as there are still too many, all others: by the most that they share first. Neighbours in a
# group are such whose constants and intervals are the same or close, because a region that grows in one place only lets
# nothing pass that no member wants.
#
# The law: each proposal merges patterns that stand alone at that moment; so proposals made one after another turn the
# front that was given into one that is smaller by the members of each, less one.

_MOST = 32  # members that are merged at a time
_FAILURES = 3  # groups of a bucket that cannot be merged, after which the others are not tried
_RELAXED = 30  # how many times more false positives are tolerated of a merger when the front shrinks no more
_STALLED = 0.8  # the share of it that another round must leave at most

Bucket = dict[int, tuple[PlacedEdge, ...]]  # patterns with the edges by which they are laid side by side


class Proposal(NamedTuple):
    """Patterns to be merged, by number, and their merger with the number that it has in later proposals."""

    number: int
    members: tuple[int, ...]
    form: NormalForm


class Knowledge(NamedTuple):
    """What mergers are made with: the classes, numbers of terms, what is known of the stream, and what is tolerated."""

    taxonomy: Taxonomy
    numbers: TermNumbers
    frequencies: Frequencies
    summaries: Sequence[Summary]
    sample: Sample
    max_false_positives: float


def propose(pool: Mapping[int, Candidate], goal: int, knowledge: Knowledge) -> list[Proposal]:
    """What to merge so that no more than `goal` of these patterns and their mergers are left, if that is possible."""
    planner = _Planner(pool, max(1, goal), knowledge)
    if knowledge.summaries and planner.excess > 0:
        matrix = AccessMatrix(pool, knowledge.numbers)
        for summary in knowledge.summaries:
            planner.merge_picked(matrix.picked(summary.edges))
    for tolerance in _tolerances(knowledge.max_false_positives, max(1, goal)):
        planner.merge_all(tolerance)
    return planner.proposals


def _tolerances(share: float, goal: int) -> Iterator[Tolerance]:
    """What is tolerated, more and more. At first all mergers together keep to the share; then each to some times its
    part of it, so that they do as long as few mergers need that; and no limit where the share is all."""
    limits = share / goal, min(share, _RELAXED * share / goal)
    for anchored in (True, False):
        yield from (Tolerance(limit, anchored) for limit in limits)
    if share >= 1:
        yield Tolerance(inf, anchored=False)


class _Planner:
    """A front while it shrinks."""

    def __init__(self, pool: Mapping[int, Candidate], goal: int, knowledge: Knowledge) -> None:
        self.alone = dict(pool)
        self.proposals: list[Proposal] = []
        self._goal = goal
        self._know = knowledge
        self._keys = MergeKeys(knowledge.numbers.anchorless)
        self._estimator = Estimator(knowledge.frequencies, knowledge.sample, knowledge.max_false_positives)
        self._numbers = count(max(pool, default=0) + 1)

    @property
    def excess(self) -> int:
        return len(self.alone) - self._goal

    def merge_picked(self, numbers: Sequence[int]) -> None:
        """Merges what a summary picked, however few they are: they are matched together."""
        share = self._know.max_false_positives
        for anchored in (True, False):
            self._merge(numbers, Tolerance(_RELAXED * share / self._goal, anchored), 2)

    def merge_all(self, tolerance: Tolerance) -> None:
        """Merges whatever there is: as many at a time as are needed on average and, when that helps no more, fewer."""
        needed = max(2, len(self.alone) // self._goal)
        while self.excess > 0:
            before = len(self.alone)
            self._merge(tuple(self.alone), tolerance, needed)
            stalled = len(self.alone) > _STALLED * before
            if stalled and needed == 2:
                return
            needed = max(2, min(needed // 2 if stalled else needed, len(self.alone) // self._goal))

    def _merge(self, numbers: Sequence[int], tolerance: Tolerance, needed: int) -> None:
        """By all keys to meet under: those at constants where one must be kept, else those without."""
        keys = self._keys
        ways: tuple[Keys, ...] = (alike, keys.rooted_paths, same_edges, keys.paths, keys.properties)
        if tolerance.anchored:
            ways = alike, keys.anchored_paths, keys.rooted_paths, same_edges, keys.anchors
        for way in ways:
            if self.excess > 0:
                self._merge_by(way, [number for number in numbers if number in self.alone], tolerance, needed)

    def _merge_by(self, way: Keys, numbers: Sequence[int], tolerance: Tolerance, needed: int) -> None:
        """The largest buckets first, and none with fewer than a merger needs to have on average."""
        buckets: dict[tuple[int, ...], Bucket] = {}
        for number in numbers:
            for key, edges in way(self.alone[number]):
                buckets.setdefault(key, {}).setdefault(number, edges)
        for rows in self._shrinking([bucket for bucket in buckets.values() if len(bucket) > 1]):
            if self.excess <= 0 or len(rows) < needed:
                return
            failures = 0
            for group in self._groups(rows):
                failures = 0 if self._try(group, rows, tolerance) else failures + 1
                if failures == _FAILURES:
                    break

    def _shrinking(self, buckets: Sequence[Bucket]) -> Iterator[Bucket]:
        """Buckets by what is left in them, the largest first."""
        waiting = [(-len(bucket), number, bucket) for number, bucket in enumerate(buckets)]
        heapify(waiting)
        while waiting:
            size, number, bucket = heappop(waiting)
            left = {member: edges for member, edges in bucket.items() if member in self.alone}
            if len(left) == -size:
                yield left
            elif len(left) > 1:
                heappush(waiting, (-len(left), number, left))

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

    def _begins(self, number: int, edges: Sequence[PlacedEdge]) -> list[tuple[int, float]]:
        """What neighbours are to have in common: labels, and where the values of nodes begin."""
        candidate, numbers = self.alone[number], self._know.numbers
        places = [place for edge in edges for place in (edge.subject, edge.object)]
        begin = {place: numbers.begin(candidate, place) for place in dict.fromkeys(places)}
        return [*((edge.label, 0.0) for edge in edges), *(begin[place] for place in places)]

    def _try(self, group: Sequence[int], rows: Bucket, tolerance: Tolerance) -> bool:
        """Merges a group; or, if it has no merger or a poor one, parts of it. Whether any were merged."""
        members = [self.alone[number] for number in group]
        product = antiunify(members, [rows[number] for number in group])
        form = merger_of(members, product, self._know.taxonomy)
        merger = None if form is None else self._know.numbers.candidate(form)
        if merger is not None and self._estimator.accepts(merger, members, product, tolerance):
            number = next(self._numbers)
            self.proposals.append(Proposal(number, tuple(group), merger.form))
            for member in group:
                del self.alone[member]
            self.alone[number] = merger
            return True
        half = len(group) // 2
        return half > 1 and sum(self._try(part, rows, tolerance) for part in (group[:half], group[half:])) > 0


def distinct_first(rows: Sequence[Sequence[tuple[int, float]]]) -> list[int]:
    """Columns in the order in which they are to be sorted by: the one with the fewest different values first."""
    columns = list(zip(*rows, strict=True))
    return sorted(range(len(columns)), key=lambda place: len(set(columns[place])))


_Way = tuple[int, int, int]  # subject, label, object; -1 for any


class AccessMatrix:
    """Patterns under one edge of each, the one with most constants: [R]'s subscription matrix, asked by summaries."""

    def __init__(self, pool: Mapping[int, Candidate], numbers: TermNumbers) -> None:
        self._numbers = numbers
        self._ways: dict[int, list[_Way]] = {}  # the plain edges with a constant property
        self._under: dict[_Way, list[int]] = {}
        for number, (_, _, names, _, edges) in pool.items():
            ways = [(names[edge.subject], edge.label, names[edge.object]) for edge in edges if edge.label >= 0]
            if ways:
                self._ways[number] = ways
                most = max(ways, key=lambda way: (way[0] >= 0) + (way[2] >= 0))
                self._under.setdefault(most, []).append(number)

    def picked(self, graph: Graph) -> list[int]:
        """The patterns each of whose edges stands in the graph, by itself."""
        held: set[_Way] = set()
        for subject, predicate, object in graph:
            label = self._numbers.find(predicate)
            if label is not None:
                ends = [[-1] if each is None else [-1, each] for each in map(self._numbers.find, (subject, object))]
                held.update((start, label, end) for start in ends[0] for end in ends[1])
        found = (number for way in held for number in self._under.get(way, ()))
        return sorted(number for number in found if held.issuperset(self._ways[number]))


# --- the arrangement --------------------------------------------------------------------------------------------

_EVIDENCE = 4  # false answers of a merger before it may be decomposed for them
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


class Merging(Arrangement):
    """Patterns behind mergers. One writer at a time; `observe` may be called by any thread at any time."""

    def __init__(self, taxonomy: Taxonomy, **options: Any) -> None:
        """The options are the fields of `MergingOptions`."""
        super().__init__()
        self.options = MergingOptions.of(options)
        self._taxonomy = taxonomy
        self._numbers = TermNumbers(taxonomy)
        self._frequencies = Frequencies(self._numbers)
        self._summaries = Summaries(self.options.similarity, self.options.sample)
        self._sample = Sample(self.options.sample)
        self._made: dict[int, int] = {}  # how many members a merger was made of
        self._apart: set[int] = set()  # what was decomposed for its false positives, and stays so
        self._candidates: dict[int, Candidate | None] = {}  # of roots
        self._rest = 0  # the size of the front when it was last merged
        self._lock = threading.Lock()
        self._observed: dict[int, Observed] = {}
        self._past = Observed()

    def is_synthetic(self, node: int) -> bool:
        return node in self._made

    def observed(self, node: int | None = None) -> Observed:
        """The answers of one merger, or of all that ever were."""
        with self._lock:
            if node is not None:
                return self._observed.get(node, Observed())
            return reduce(Observed.more, self._observed.values(), self._past)

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> PlanChange:
        for number, query in subscriptions:
            form = form_of(query)
            node = self._known.get(form)
            if node is None:
                node = self._known[form] = self._trees.grow()
                self._forms[node] = form
            self._subscribe(number, node)
        self._review()
        ratio = self.options.upper / self.options.lower
        if len(self._trees.roots) >= max(self.options.upper, round(self._rest * ratio)):
            self._merge()
        return self._difference()

    def remove(self, numbers: Iterable[int]) -> PlanChange:
        for number in numbers:
            node = self._unsubscribe(number)
            if node is not None:
                self._take_away(node)
        self._review()
        self._rest = min(self._rest, len(self._trees.roots))
        return self._difference()

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

    def _difference(self) -> PlanChange:
        change = self._trees.difference()
        for node, _ in change.placed:  # new ones that were merged at once, too
            self._candidates.pop(node, None)
        return change

    def merge(self) -> PlanChange:
        """Merges now, however small the front is."""
        self._merge()
        return self._difference()

    def _proposals(self) -> list[Proposal]:
        pool = {root: candidate for root, candidate in self._pool().items() if root not in self._apart}
        goal = max(self.options.lower, round(len(self._known) * (1 - self.options.percentage)))
        knowledge = Knowledge(
            self._taxonomy,
            self._numbers,
            self._frequencies,
            self._summaries.ranked(),
            self._sample,
            self.options.max_false_positives,
        )
        return propose(pool, goal - (len(self._trees.roots) - len(pool)), knowledge)

    def _pool(self) -> dict[int, Candidate]:
        """The roots of which anything is known."""
        found = {root: self._candidate(root) for root in self._trees.roots}
        return {root: candidate for root, candidate in found.items() if candidate is not None}

    def _candidate(self, root: int) -> Candidate | None:
        if root not in self._candidates:
            self._candidates[root] = candidate = self._numbers.candidate(self._forms[root])
            if candidate is not None and root not in self._made:
                self._frequencies.count(candidate)
        return self._candidates[root]

    def _merge(self) -> None:
        nodes: dict[int, int] = {}
        with collector_paused():
            for number, members, form in self._proposals():
                nodes[number] = self._join([nodes.get(member, member) for member in members], form)
        self._rest = len(self._trees.roots)

    def _join(self, members: Sequence[int], form: NormalForm) -> int:
        """A merger of nodes. A single merger among them is widened: its members become members of the new one."""
        node = self._trees.grow()
        for member in members:
            self._trees.hang(member, node)
        self._forms[node] = form
        self._made[node] = len(members)
        mergers = [member for member in members if member in self._made]
        if len(mergers) == 1:
            self._cut(mergers[0])
        self._made[node] = len(self._trees.children_of(node))
        return node

    def learn(
        self, publications: Publications | Sequence[Iterable[Triple]], matched: Sequence[int] | None = None
    ) -> None:
        """Learns from publications and from how many subscriptions each matched; else, from how many roots it might."""
        graphs = list(graphs_of(publications, _BATCH))
        if matched is None:
            matrix = AccessMatrix(self._pool(), self._numbers)
            matches = [len(matrix.picked(graph)) for _, graph in graphs]
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

    def review(self) -> PlanChange:
        """Decomposes the mergers too many of whose answers were false. `insert` and `remove` do it as well."""
        self._review()
        return self._difference()

    def _review(self) -> None:
        with self._lock:
            seen = list(self._observed.items())
        for node, observed in seen:
            if observed.false >= _EVIDENCE and observed.share > self.options.max_false_positives:
                self._apart.update(self._trees.children_of(node))
                self._cut(node)


# --- arranging in groups ----------------------------------------------------------------------------------------
# Groups of subscriptions are arranged by themselves, and then their roots together. The laws: whatever matches below a
# root of a group matches that root, so the roots of all groups make a front, however subscriptions fall into groups;
# and if one pattern contains another, an arrangement of both knows it. Groups only decide how small the front becomes:
# patterns are put where those stand that they have a property in common with. The roots of all groups, arranged again
# by containment, are those that one arrangement of all subscriptions has.


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
    """The scheme of one of so many groups, so that the front of all of them keeps to what the scheme says.

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
    """What stands at the front with the shards below, as bits; a merger is a query that nobody asked."""

    head: Subscription | Query
    shards: int


class Arranged(NamedTuple):
    """The roots of some subscriptions, and by shard those that stand there."""

    roots: list[Root]
    shards: dict[int, list[Subscription]]


def arrange(subscriptions: Sequence[Subscription], scheme: Scheme, taxonomy: Taxonomy) -> Arranged:
    """Subscriptions at the front and in shards, as a plan of them alone has it."""
    placement = Placement(scheme.arrangement(taxonomy), scheme.shards)
    came = placement.insert(subscriptions, 1).came
    by_number = {each.number: each for each in subscriptions}
    routes = placement.routes
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
    routes = placement.routes
    heads = [Root(by_number[n], shards | routes[n].shards(1)) for n, shards in below.items()]
    return Arranged(heads, {shard: [by_number[n] for n in came[shard]] for shard in came if shard != FRONT})
