"""Containment ([R] 4.2): whether whatever matches one pattern matches another, and the forest of patterns by it.

S1 contains S2 if a homomorphism from the edges of S1 to those of S2 exists under which S2's conditions imply S1's. The
law: `contains` is never true falsely, whatever a publication holds and however little is known of it. It may be false
where it need not be: when a search takes too long, when only several maps together would show it, or when nothing but a
query as a whole says what it means (a count).

The file goes from two patterns to very many: maps between edges; what conditions imply; an index of roots by the keys
of their edges; the roots with the same edges, found by how far their regions reach; and the forest.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.io.sources import collector_paused
from heliograph.partition.plan import Arrangement, PlanChange
from heliograph.sparql import evaluate as expressions
from heliograph.sparql.normalize import (
    Flat,
    Head,
    NormalForm,
    form_of,
    is_ground,
    raised,
    substituted,
    variables_of,
)
from heliograph.sparql.query import ClassPattern, ClassRelation, Node, Pattern, Query, TriplePattern
from heliograph.sparql.regions import (
    EVERYTHING,
    NONE,
    Number,
    Part,
    Region,
    Some,
    holds,
    intersection,
    just,
    region_where,
    sort_of,
    within,
)
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, is_container_member
from heliograph.values import to_double

# --- maps between edges -----------------------------------------------------------------------------------------
# The second pattern's variables are taken for constants, as if they were the very terms of a publication that matches.
# An edge of the first must then be one of its edges, or follow from them and from the taxonomy: direct instances also
# from the taxonomy's rows, instances through sub-classes that the pattern itself asks for or the taxonomy has,
# rdfs:member from any rdf:_n. A variable predicate stands for any predicate that the publication's own triples alone
# can answer: not rdf:type where a row of the taxonomy might, nor rdfs:member, which need not be there itself.
#
# The law: a map that is found is one. A search that takes too many steps gives up, so not every map is found.

STEPS = 1_000  # pairs of edges that a search may try

Images = dict[Node, Node]
Ends = tuple[Node, ...]
Admits = Callable[[Node, Node], bool]  # whether a variable may stand for a node


class Target:
    """The edges of a pattern that others are mapped into, and what follows from them."""

    __slots__ = ("_above", "_below", "_instances", "_open", "_plain", "taxonomy")

    def __init__(self, edges: Iterable[Pattern], taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self._plain: dict[Node, list[Ends]] = {}
        self._instances: list[Ends] = []  # what is an instance of what, by the pattern's own edges
        self._below: list[Ends] = []  # what is a sub-class of what
        self._open: list[Ends] | None = None  # edges that a variable predicate may stand for
        self._above: dict[Node, set[Node]] = {}
        for edge in edges:
            ends = (edge.subject, edge.object)
            if isinstance(edge, ClassPattern):
                (self._instances if edge.relation is ClassRelation.IS_A else self._below).append(ends)
                continue
            self._plain.setdefault(edge.predicate, []).append(ends)
            if edge.predicate == RDF_TYPE:
                self._instances.append(ends)
            elif edge.predicate == RDFS_SUBCLASS_OF:
                self._below.append(ends)

    def ways(self, edge: Pattern, known: tuple[Node | None, ...]) -> Iterable[Ends]:
        """The nodes that an edge's own may stand for: subject, object and a variable predicate, where it has one.

        `known` are those that are known already. Ways that disagree with these may be among the answers.
        """
        if isinstance(edge, ClassPattern):
            return self._instance_ways(*known) if edge.relation is ClassRelation.IS_A else self._below_ways(*known)
        predicate = edge.predicate
        if isinstance(predicate, Variable):
            return self._open_ways()
        if predicate == RDF_TYPE:
            subject, object = known
            if isinstance(subject, Term) and isinstance(object, Term) and object in self.taxonomy.types_of(subject):
                return ((subject, object),)
        elif predicate == RDFS_MEMBER:
            return [
                ends
                for label, pairs in self._plain.items()
                if label == RDFS_MEMBER or (isinstance(label, Term) and is_container_member(label))
                for ends in pairs
            ]
        return self._plain.get(predicate, ())

    def _open_ways(self) -> list[Ends]:
        if self._open is None:
            self._open = [
                (subject, object, predicate)
                for predicate, pairs in self._plain.items()
                if predicate != RDFS_MEMBER
                for subject, object in pairs
                if predicate != RDF_TYPE or not self._may_be_given(subject, object)
            ]
        return self._open

    def _may_be_given(self, subject: Node, object: Node) -> bool:
        """Whether a row of the taxonomy might answer a type edge in the document's place."""
        rows = self.taxonomy
        if isinstance(subject, Term) and not rows.types_of(subject):
            return False
        return bool(rows.types) and not (isinstance(object, Term) and not rows.instances_of(object))

    def _instance_ways(self, subject: Node | None, kind: Node | None) -> Iterator[Ends]:
        """Instances of the very class, of one below it, or where none is asked for yet, of those that are named."""
        for instance, own in self._instances:
            yield instance, kind if kind is not None and self._reaches(own, kind) else own
        if isinstance(subject, Term) and kind is not None:
            yield from ((subject, kind) for own in self.taxonomy.types_of(subject) if self._reaches(own, kind))

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
            reached: set[Node] = set()
            todo = [low]
            while todo:
                node = todo.pop()
                above = [high for below, high in self._below if below == node]
                above += self.taxonomy.parents(node) if isinstance(node, Term) else ()
                todo += [each for each in above if each not in reached]
                reached.update(above)
            self._above[low] = reached
        return self._above[low]


def is_given(edge: Pattern, taxonomy: Taxonomy) -> bool:
    """Whether the taxonomy alone answers an edge, whatever the publication."""
    subject, object = edge.subject, edge.object
    if not (isinstance(subject, Term) and isinstance(object, Term)):
        return False
    if isinstance(edge, ClassPattern):
        is_a = edge.relation is ClassRelation.IS_A
        return object in (taxonomy.all_types_of(subject) if is_a else taxonomy.ancestors(subject))
    return edge.predicate == RDF_TYPE and object in taxonomy.types_of(subject)


def is_absent(edge: Pattern, edges: AbstractSet[Pattern]) -> bool:
    """Whether an edge between constants, which follows from itself alone, is not among these: then there is no map."""
    if isinstance(edge, ClassPattern) or edge.predicate in (RDF_TYPE, RDFS_MEMBER):
        return False
    return not any(isinstance(node, Variable) for node in edge) and edge not in edges


def admit_all(node: Node, image: Node) -> bool:
    return True


def homomorphisms(edges: Sequence[Pattern], target: Target, admits: Admits, steps: int = STEPS) -> Iterator[Images]:
    """Maps of the variables of edges, which stand in search order, to nodes of the target, depth first.

    The images are one object that changes when the search goes on.
    """
    images: Images = {}
    if not edges:
        yield images
        return

    def level(edge: Pattern) -> tuple[Ends, Iterator[Ends], list[Node]]:
        """One depth: the nodes of its edge, the ways still to be tried, and the variables that it has bound."""
        nodes = _nodes(edge)
        known = tuple([images.get(node) if isinstance(node, Variable) else node for node in nodes])
        return nodes, iter(target.ways(edge, known)), []

    levels = [level(edges[0])]
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
            levels.append(level(edges[len(levels)]))


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


# --- what conditions imply --------------------------------------------------------------------------------------
# The law: if `image_suits` of every variable and `residue_follows`, then every solution of the special form, read
# through the images, satisfies all conditions of the general one. A variable that stands for a constant needs the
# constant to satisfy what is asked; text tests and conditions on several variables follow only from themselves.


def image_suits(asked: Region, image: Node, special: NormalForm) -> bool:
    """Whether whatever an image stands for lies in the region that is asked for."""
    if asked is EVERYTHING:
        return True
    return within(special.region(image), asked) if isinstance(image, Variable) else holds(asked, image)


def residue_follows(general: NormalForm, images: Mapping[Node, Node], special: NormalForm) -> bool:
    """Whether all that regions cannot say of the general form follows from the special one."""
    return all(_follows(substituted(flat, images), special) for flat in general.residue)


def _follows(asked: Flat, special: NormalForm) -> bool:
    if asked in special.residue:
        return True
    head = asked[0]
    if isinstance(head, Head) and head.kind == "Values":
        return False
    if is_ground(asked):
        return expressions.holds(raised(asked), {})
    found = variables_of(asked)
    needed = region_where(raised(asked)) if len(found) == 1 else None
    return needed is not None and within(special.region(found.pop()), needed)


def follows_by(general: NormalForm, images: Images, special: NormalForm) -> bool:
    """Whether one form contains another by this map of its edges."""
    suits = all(image_suits(region, images[node], special) for node, region in general.regions)
    return suits and residue_follows(general, images, special)


def contains(general: NormalForm, special: NormalForm, taxonomy: Taxonomy, steps: int = STEPS) -> bool:
    """Whether every publication that matches the special form is known to match the general one."""
    return witness(general, special, taxonomy, steps) is not None


def witness(general: NormalForm, special: NormalForm, taxonomy: Taxonomy, steps: int = STEPS) -> Images | None:
    """What the variables of the general form stand for in the special one; None if it is not known to contain it."""
    return witness_in(Target(special.edges, taxonomy), general, special, search_order(general.edges), steps)


def witness_in(
    target: Target, general: NormalForm, special: NormalForm, order: tuple[Pattern, ...], steps: int = STEPS
) -> Images | None:
    """The same, with the special form's edges as a target and the general form's in search order."""
    if general.opaque or special.opaque:
        return {node: node for node in general.variables} if general == special else None
    asked: dict[Node, Region] = dict(general.regions)

    def admits(node: Node, image: Node) -> bool:
        return image_suits(asked.get(node, EVERYTHING), image, special)

    for images in homomorphisms(order, target, admits, steps):
        if residue_follows(general, images, special):
            return dict(images)
    return None


# --- roots by the keys of their edges ---------------------------------------------------------------------------
# As in [R]'s containmentChecking the labels of edges come first, here with the constants at their ends. If a root
# contains a form, each of its edges is one of the form's with some constants given up: a root is entered under the one
# of its edges that fewest others have, and a form asks for all that its edges could be with constants given up. If a
# form contains a root, each of its edges is to be found, with more constants, among the root's: so each edge of a root
# is posted under its label, alone and with each of its ends, and a form asks for the rarest of its own.
#
# The law: no root that contains the form or is contained in it is left out, but for what follows from sub-classes that
# a pattern itself asks for.

EVERY = 0  # the key of roots that no edge can find: they contain everything
_ANY = 1  # the label of a variable predicate
_IS_A, _BELOW = 2, 3  # the labels of class edges
_FIRST = 4
_WIDE = 32  # bits of a number
_UNTIDY = 1_000  # groups that went, beyond as many as are there, before their postings are cleared away
_ENOUGH = 32  # candidates that are not worth a look by many keys
_NOBODY: list[int] = []
_WORTH = 200  # postings that may be read to rule out one candidate: as long as comparing it takes


def _key(label: int, subject: int = 0, object: int = 0) -> int:
    return (label << _WIDE | subject) << _WIDE | object


def _label(key: int) -> int:
    return key >> 2 * _WIDE


class EdgeKey(NamedTuple):
    """An edge by numbers: the labels of all that it says, its own first; a variable at an end is 0.

    One that the taxonomy answers already is `given`: others may be mapped to it, but it asks for nothing.
    """

    edge: Pattern
    labels: tuple[int, ...]
    subject: int
    object: int
    given: bool

    def posts(self) -> Iterator[int]:
        """Each label alone, and with either end."""
        for label in self.labels:
            yield _key(label)
            if self.subject:
                yield _key(label, self.subject)
            if self.object:
                yield _key(label, 0, self.object)


class RootIndex:
    """Groups of roots by number, under keys of their edges."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        self._ids: dict[Term, int] = {}
        self._entered: dict[int, dict[int, None]] = {}  # groups under one key each
        self._open = 0  # how many of them are under a variable predicate
        self._posted: dict[int, list[int]] = {}  # groups under all their keys; those that went stay until it is tidied
        self._labels: dict[int, None] = {}
        self._edges: dict[int, tuple[Pattern, ...]] = {}
        self._gone = 0

    def keys(self, edges: Iterable[Pattern]) -> list[EdgeKey]:
        """Edges by numbers."""
        given = self._taxonomy
        return [
            EdgeKey(edge, self._labels_of(edge), self._id(edge.subject), self._id(edge.object), is_given(edge, given))
            for edge in edges
        ]

    def _id(self, node: Node) -> int:
        return 0 if isinstance(node, Variable) else self._ids.setdefault(node, len(self._ids) + _FIRST)

    def _labels_of(self, edge: Pattern) -> tuple[int, ...]:
        """The label of an edge, and of what follows: a type edge is an instance, too, and an rdf:_n a member."""
        if isinstance(edge, ClassPattern):
            return (_IS_A if edge.relation is ClassRelation.IS_A else _BELOW,)
        predicate = edge.predicate
        if isinstance(predicate, Variable):
            return (_ANY,)
        label = self._id(predicate)
        if predicate == RDF_TYPE:
            return label, _IS_A
        if predicate == RDFS_SUBCLASS_OF:
            return label, _BELOW
        return (label, self._id(RDFS_MEMBER)) if is_container_member(predicate) else (label,)

    def add(self, group: int, edges: tuple[Pattern, ...], keys: list[EdgeKey]) -> int:
        """Enters a group and returns the key under which `remove` finds it again."""
        self._edges[group] = edges
        self._post(group, keys)
        own = [_key(labels[0], subject, object) for _, labels, subject, object, given in keys if not given]
        key = min(own, key=self._cost, default=EVERY)
        self._entered.setdefault(key, {})[group] = None
        self._open += _label(key) == _ANY
        return key

    def remove(self, group: int, key: int) -> None:
        bucket = self._entered[key]
        del bucket[group]
        if not bucket:
            del self._entered[key]
        self._open -= _label(key) == _ANY
        del self._edges[group]
        self._gone += 1
        if self._gone > _UNTIDY + len(self._edges):  # at most as much work as was done since the last time
            self._posted, self._labels, self._gone = {}, {}, 0
            for each, edges in self._edges.items():
                self._post(each, self.keys(edges))

    def _post(self, group: int, keys: list[EdgeKey]) -> None:
        posted = self._posted
        for key in {post for each in keys for post in each.posts()}:
            if key in posted:
                posted[key].append(group)
            else:
                posted[key] = [group]
                self._labels.setdefault(_label(key))

    def _cost(self, key: int) -> int:
        """How many roots a form meets under a key, by and by: an end that is left open is met by many more."""
        subject, object = key >> _WIDE & (1 << _WIDE) - 1, key & (1 << _WIDE) - 1
        free = (not subject) + (not object) + 2 * (_label(key) == _ANY)
        return (len(self._entered.get(key, ())) + 1) << (4 * free)

    def containing(self, keys: list[EdgeKey]) -> dict[int, None]:
        """Groups that may contain a form with these edges."""
        entered = self._entered
        found: dict[int, None] = dict(entered.get(EVERY, {}))
        for key in {weaker for each in keys for weaker in self._weaker(each)}:
            if key in entered:
                found.update(entered[key])
        return found

    def _weaker(self, key: EdgeKey) -> Iterator[int]:
        """The keys of all edges that follow from one: with a label of it, a class above, and ends given up."""
        edge, labels, subject, own, _ = key
        for label in (*labels, _ANY) if self._open else labels:
            for object in self._upward(edge.object) if label in (_IS_A, _BELOW) else (own,):
                yield _key(label)
                if subject:
                    yield _key(label, subject)
                if object:
                    yield _key(label, 0, object)
                    if subject:
                        yield _key(label, subject, object)

    def _upward(self, kind: Node) -> Iterator[int]:
        """A class and those above it that are asked for."""
        yield self._id(kind)
        if isinstance(kind, Term):
            yield from (self._ids[above] for above in self._taxonomy.ancestors(kind) if above in self._ids)

    def contained(self, keys: list[EdgeKey]) -> Iterable[int]:
        """Groups that a form with these edges may contain: with the rarest of them, and others if need be."""
        asked = [key for key in keys if not key.given]
        found: set[int] | None = None
        for posted in sorted([self._rarer(key.labels[0], key) for key in asked if key.labels[0] >= _FIRST], key=len):
            found = _narrowed(found, posted)
        for key in asked:
            if key.labels[0] < _FIRST and (found is None or len(found) > _ENOUGH):
                found = _narrowed(found, self._stronger(key))
        return [group for group in sorted(self._edges if found is None else found) if group in self._edges]

    def _stronger(self, key: EdgeKey) -> list[int]:
        """The groups with an edge from which a class edge, or one with a variable predicate, may follow."""
        label, kind = key.labels[0], key.edge.object
        if label == _BELOW:
            return self._posted.get(_key(_BELOW), _NOBODY)
        if label == _ANY:
            return [group for each in self._labels for group in self._rarer(each, key)]
        kinds = [0]
        if isinstance(kind, Term):
            kinds = [self._ids[each] for each in (kind, *self._taxonomy.descendants(kind)) if each in self._ids]
        return [group for each in kinds for group in self._posted.get(_key(_IS_A, 0, each), _NOBODY)]

    def _rarer(self, label: int, key: EdgeKey) -> list[int]:
        """The groups with an edge of this label, by the rarer of its ends."""
        posted, subject, object = self._posted, key.subject, key.object
        if not subject:
            return posted.get(_key(label, 0, object), _NOBODY)
        out = posted.get(_key(label, subject), _NOBODY)
        into = posted.get(_key(label, 0, object), _NOBODY) if object else out
        return out if len(out) < len(into) else into


def _narrowed(found: set[int] | None, posted: list[int]) -> set[int]:
    """What is posted, too, unless that is so long that it is cheaper to compare the forms."""
    if found is None:
        return set(posted)
    if len(posted) <= _WORTH * len(found):
        found.intersection_update(posted)
    return found


# --- forms made ready to be compared ----------------------------------------------------------------------------

MAPS = 8  # maps between the edges of two forms that are tried


class PreparedEdges:
    """Edges in search order and as a target, and their maps into themselves: what forms with these edges share."""

    def __init__(self, edges: tuple[Pattern, ...], taxonomy: Taxonomy) -> None:
        self.edges = edges
        self.taxonomy = taxonomy
        self.keys: list[EdgeKey] | None = None  # as roots are looked for

    @cached_property
    def present(self) -> frozenset[Pattern]:
        return frozenset(self.edges)

    @cached_property
    def order(self) -> tuple[Pattern, ...]:
        return search_order(self.edges)

    @cached_property
    def target(self) -> Target:
        return Target(self.edges, self.taxonomy)

    @cached_property
    def own_maps(self) -> list[Images]:
        return [dict(images) for images in islice(homomorphisms(self.order, self.target, admit_all), MAPS)]


class Probe:
    """A form, with its edges prepared and the places that its regions reach."""

    def __init__(self, form: NormalForm, edges: PreparedEdges, extents: Extents) -> None:
        self.form = form
        self.edges = edges
        self.asked: dict[Node, Region] = dict(form.regions)
        self.extent = extents.of

    def region(self, node: Node) -> Region:
        """What a node of the form may stand for."""
        return just((node,)) if isinstance(node, Term) else self.asked.get(node, EVERYTHING)

    def admits(self, node: Node, image: Node) -> bool:
        """Constants must satisfy; of variables nothing is known yet."""
        return not isinstance(image, Term) or node not in self.asked or holds(self.asked[node], image)


# --- extents ----------------------------------------------------------------------------------------------------
# How far a region reaches, as two numbers in one order of all terms. The law: if one region is within another, its
# extent is within the other's. Sorts follow each other; on a line a place keeps the 48 leading binary digits of its
# float64, which is monotone. Terms known by identity alone lie where they were first met.

_BITS = 59  # of a place within its sort, so that all sorts fit into 63
_ROUNDED = 64 - _BITS
_SIGN = 1 << 63


class Extent(NamedTuple):
    """The first and the last place of a region; the last lies before the first where there is nothing in it."""

    low: int
    high: int


class Extents:
    """Extents of regions, with the places of the terms that these name."""

    def __init__(self) -> None:
        self._places: dict[Term, int] = {}

    def of(self, region: Region) -> Extent:
        if region.among is not None:
            places = [self._of_term(term) for term in region.among]
            return Extent(min(places), max(places)) if places else Extent(1, 0)
        spans = [self._span(sort, part) for sort, part in enumerate(region.parts) if part and part != NONE]
        return Extent(spans[0][0], spans[-1][1]) if spans else Extent(1, 0)

    def _of_term(self, term: Term) -> int:
        sort, value = sort_of(term)
        return (sort << _BITS) | (self._named(term) if value is None else _squeezed(value))

    def _named(self, term: Term) -> int:
        return self._places.setdefault(term, len(self._places))

    def _span(self, sort: int, part: Part) -> tuple[int, int]:
        base = sort << _BITS
        if not isinstance(part, Some):
            return base | _squeezed(part[0][0]), base | _squeezed(part[-1][0])
        if part.but:
            return base, base | ((1 << _BITS) - 1)
        places = [self._named(term) for term in part.terms]
        return base | min(places), base | max(places)


def _squeezed(value: Number) -> int:
    """The leading digits of a number, as an integer in the same order."""
    bits: int = struct.unpack("Q", struct.pack("d", to_double(value) + 0.0))[0]
    return (bits ^ (2 * _SIGN - 1) if bits & _SIGN else bits | _SIGN) >> _ROUNDED


_FEW = 16  # rows that are not worth a look at their extents


class ExtentTable:
    """Roots by the extents of so many variables, in two flat arrays, so that a look takes a few comparisons of whole
    columns, 40 µs each of 100,000 roots; what passes is asked exactly by the caller. The law: `around` answers every
    root whose regions hold the asked ones, `inside` every root whose regions they hold; both may answer others."""

    __slots__ = ("_high", "_low", "_place", "nodes")

    def __init__(self, variables: int) -> None:
        self.nodes: list[int] = []
        self._place: dict[int, int] = {}
        self._low = np.empty((variables, 4), np.int64)
        self._high = np.empty((variables, 4), np.int64)

    def add(self, node: int, extents: Sequence[Extent]) -> None:
        place = self._place[node] = len(self.nodes)
        self.nodes.append(node)
        if place == self._low.shape[1]:
            self._low, self._high = (np.concatenate((each, np.empty_like(each)), 1) for each in (self._low, self._high))
        for variable, (low, high) in enumerate(extents):
            self._low[variable, place], self._high[variable, place] = low, high

    def remove(self, node: int) -> None:
        """The last row takes the place of the one that goes."""
        place, last = self._place.pop(node), self.nodes.pop()
        if last != node:
            self.nodes[place] = last
            self._place[last] = place
            for columns in (self._low, self._high):
                columns[:, place] = columns[:, len(self.nodes)]

    def around(self, extents: Sequence[Extent | None]) -> Iterable[int]:
        """Roots that may hold what reaches so far; None is a variable of which nothing is known."""
        return self._found(extents, lambda lows, highs, low, high: (lows <= low) & (highs >= high))

    def inside(self, extents: Sequence[Extent | None]) -> Iterable[int]:
        """Roots that what reaches so far may hold; None is a variable that may be anything."""
        return self._found(extents, lambda lows, highs, low, high: (lows >= low) & (highs <= high))

    def _found(
        self,
        extents: Sequence[Extent | None],
        passes: Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64], int, int], npt.NDArray[np.bool_]],
    ) -> Iterable[int]:
        count = len(self.nodes)
        asked = [(variable, each) for variable, each in enumerate(extents) if each is not None]
        if count <= _FEW or not asked:
            return tuple(self.nodes)
        fits = [passes(self._low[at, :count], self._high[at, :count], low, high) for at, (low, high) in asked]
        return [self.nodes[place] for place in np.flatnonzero(np.logical_and.reduce(fits)).tolist()]


# --- roots with the same edges ----------------------------------------------------------------------------------
# A map between the edges of two forms is found once for all roots with the same edges. What is left is a search among
# their regions: which hold those that the map makes of a form's conditions, and which do these hold. Roots are kept
# apart by the variables that they constrain and by their residue. The law: answers are true; some may be missed where a
# group has very many different residues or maps.

Residue = tuple[Flat, ...]

_MANY = 64  # residues of one group that are looked through; others must be met by name
_TRIED = 256  # roots that are asked exactly before a search gives up
_SUBSETS = 5  # conditions of a residue of which all subsets are looked for
_NO_TABLES: dict[tuple[Variable, ...], dict[Residue, ExtentTable]] = {}  # shared by all that have none


class RootGroup:
    """The roots whose edges these are. The first one is kept plain: most groups have no other."""

    __slots__ = ("_only", "_order", "_tables", "edges", "key", "number", "prepared")

    def __init__(self, number: int, edges: tuple[Pattern, ...], key: int) -> None:
        self.number = number
        self.edges = edges
        self.key = key
        self.prepared: PreparedEdges | None = None  # of a group that had several roots
        self._only: int | None = None
        self._tables = _NO_TABLES
        self._order: tuple[Pattern, ...] | None = None

    @property
    def order(self) -> tuple[Pattern, ...]:
        if self._order is None:
            self._order = search_order(self.edges)
        return self._order

    @property
    def empty(self) -> bool:
        return self._only is None and not self._tables

    def add(self, node: int, forms: Mapping[int, NormalForm], probe: Probe) -> None:
        if self.empty:
            self._only = node
            return
        if self.prepared is None:
            self.prepared, self._tables = PreparedEdges(self.edges, probe.edges.taxonomy), {}
        for each in (node,) if self._only is None else (self._only, node):
            form = forms[each]
            names = tuple([name for name, _ in form.regions])
            table = self._tables.setdefault(names, {}).setdefault(form.residue, ExtentTable(len(names)))
            table.add(each, [probe.extent(region) for _, region in form.regions])
        self._only = None

    def remove(self, node: int, form: NormalForm) -> None:
        if self._only == node:
            self._only = None
            return
        names = tuple([name for name, _ in form.regions])
        by_residue = self._tables[names]
        table = by_residue[form.residue]
        table.remove(node)
        if not table.nodes:
            del by_residue[form.residue]
        if not by_residue:
            del self._tables[names]

    def containing(self, probe: Probe, forms: Mapping[int, NormalForm]) -> int | None:
        """A root that contains a form."""
        edges = probe.edges
        if any(is_absent(edge, edges.present) for edge in self.edges):
            return None
        if self._only is not None:
            found = witness_in(edges.target, forms[self._only], probe.form, self.order)
            return None if found is None else self._only
        own = edges is self.prepared
        for images in edges.own_maps if own else islice(homomorphisms(self.order, edges.target, admit_all), MAPS):
            for node in islice(self._around(probe, images), _TRIED):
                if follows_by(forms[node], images, probe.form):
                    return node
        return None

    def _around(self, probe: Probe, images: Images) -> Iterator[int]:
        """Roots whose regions may hold those of a form."""
        for names, by_residue in self._tables.items():
            regions = [probe.region(images[name]) for name in names]
            if EVERYTHING in regions:
                continue  # a root that asks something of a variable does not hold those that ask nothing of it
            extents = [probe.extent(region) for region in regions]
            for residue in _residues(by_residue, probe.form.residue, images):
                yield from by_residue[residue].around(extents)

    def contained(self, probe: Probe, forms: Mapping[int, NormalForm]) -> list[int]:
        """The roots that a form contains."""
        edges = probe.edges
        if self._only is not None:
            target = Target(self.edges, edges.taxonomy)
            return [] if witness_in(target, probe.form, forms[self._only], edges.order) is None else [self._only]
        assert self.prepared is not None
        own = edges is self.prepared
        found: dict[int, None] = {}
        maps = edges.own_maps if own else islice(homomorphisms(edges.order, self.prepared.target, probe.admits), MAPS)
        for images in maps:
            for node in self._inside(probe, images):
                if node not in found and follows_by(probe.form, images, forms[node]):
                    found[node] = None
        return list(found)

    def _inside(self, probe: Probe, images: Images) -> Iterator[int]:
        """Roots whose regions those of a form may hold."""
        wanted: dict[Node, Region] = {}
        for node, region in probe.asked.items():
            image = images[node]
            if isinstance(image, Variable):
                wanted[image] = intersection((wanted.get(image, EVERYTHING), region))
        extents = {node: probe.extent(region) for node, region in wanted.items()}
        needed = {substituted(flat, images) for flat in probe.form.residue}
        for names, by_residue in self._tables.items():
            if wanted.keys() <= set(names):
                for residue in _fuller(by_residue, needed):
                    yield from by_residue[residue].inside([extents.get(name) for name in names])


def _residues(known: Mapping[Residue, ExtentTable], given: Residue, images: Images) -> Iterable[Residue]:
    """The residues of roots that may follow from what is given: a few are all tried, of many the likely ones."""
    if len(known) <= _MANY:
        return list(known)
    back: Images = {image: node for node, image in images.items() if isinstance(image, Variable)}
    named = [substituted(flat, back) for flat in given if variables_of(flat) <= back.keys()][:_SUBSETS]
    likely = [
        tuple(sorted(some, key=repr))
        for size in range(len(named) + 1)
        for some in combinations(sorted(named, key=repr), size)
    ]
    return dict.fromkeys([*(each for each in likely if each in known), *islice(known, _MANY)])


def _fuller(known: Mapping[Residue, ExtentTable], needed: set[Flat]) -> Iterable[Residue]:
    """The residues of roots from which what is needed may follow: of many, the very same and some."""
    if not needed or len(known) <= _MANY:
        return list(known)
    same = tuple(sorted(needed, key=repr))
    return dict.fromkeys([*([same] if same in known else []), *islice(known, _MANY)])


# --- the forest -------------------------------------------------------------------------------------------------


class Forest(Arrangement):
    """An arrangement by containment: every pattern below one that contains it, the most general ones at the front
    ([R] 4.2, 4.4).

    Only roots are indexed. A pattern that comes is compared with the roots that may contain it and goes below the first
    that does; otherwise it is a root, and takes over the roots that it contains, with all that is below them. When a
    root goes, its children return to the front, below another root where one contains them; when an inner node goes,
    its children go to its parent. Patterns of one form are one node with many subscribers, and so is a pattern with the
    root that contains it if it contains that root, too.

    The laws: a node is contained in its parent, so whatever matches it matches its root; no root is known to contain
    another. Trees are as deep as their history made them, and nothing here recurses.
    """

    def __init__(self, taxonomy: Taxonomy | None = None) -> None:
        super().__init__()
        self._front = _Front(taxonomy or Taxonomy(), self._forms)

    def __len__(self) -> int:
        return len(self._forms)

    def form_of(self, node: int) -> NormalForm:
        return self._forms[node]

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> PlanChange:
        with collector_paused():
            for number, query in subscriptions:
                self._subscribe(number, self._take(form_of(query)))
            return self._trees.difference()

    def _take(self, form: NormalForm) -> int:
        """The node of a form: the one it has, one that it equals, or a new one."""
        node = self._known.get(form)
        if node is not None:
            return node
        probe = self._front.probe(form)
        above = self._front.containing(probe)
        if above is not None and self._front.is_contained(above, probe):
            return above
        form = self._front.shared(form, above)
        node = self._trees.grow()
        self._known[form] = node
        self._forms[node] = form
        self._put(node, probe, above)
        return node

    def _put(self, node: int, probe: Probe, above: int | None) -> None:
        """Puts a node below the root that contains it, or at the front."""
        if above is not None:
            self._trees.hang(node, above)
            return
        for root in self._front.contained(probe):
            self._front.remove(root)
            self._trees.hang(root, node)
        self._front.add(node, probe)

    def remove(self, numbers: Iterable[int]) -> PlanChange:
        orphans: dict[int, None] = {}  # they stand alone until all have gone
        for number in numbers:
            node = self._unsubscribe(number)
            if node is not None:
                self._drop(node, orphans)
        for node in sorted(orphans):
            probe = self._front.probe(self._forms[node])
            self._put(node, probe, self._front.containing(probe))
        return self._trees.difference()

    def _drop(self, node: int, orphans: dict[int, None]) -> None:
        if node in orphans:
            del orphans[node]
        elif node in self._trees.roots:
            self._front.remove(node)
        orphans.update(dict.fromkeys(self._trees.cut(node)))
        del self._forms[node]


class _Front:
    """The roots, to be searched in both directions. Opaque forms equal only themselves, and are not in it."""

    def __init__(self, taxonomy: Taxonomy, forms: dict[int, NormalForm]) -> None:
        self.forms = forms
        self._taxonomy = taxonomy
        self._extents = Extents()
        self._index = RootIndex(taxonomy)
        self._groups: dict[tuple[Pattern, ...], RootGroup] = {}
        self._by_number: dict[int, RootGroup] = {}
        self._next = 0

    def probe(self, form: NormalForm) -> Probe:
        group = self._groups.get(form.edges)
        known = None if group is None else group.prepared
        return Probe(form, known or PreparedEdges(form.edges, self._taxonomy), self._extents)

    def shared(self, form: NormalForm, above: int | None) -> NormalForm:
        """The same form with the edges of another that has the same, if one is at hand: they take most of its room."""
        other = self._groups.get(form.edges)
        edges = other.edges if other is not None else () if above is None else self.forms[above].edges
        return form._replace(edges=edges) if edges == form.edges else form

    def add(self, node: int, probe: Probe) -> None:
        form = self.forms[node]
        if form.opaque:
            return
        group = self._groups.get(form.edges)
        if group is None:
            number = self._next
            self._next += 1
            group = RootGroup(number, form.edges, self._index.add(number, form.edges, self._keys(probe)))
            self._groups[form.edges] = self._by_number[number] = group
        group.add(node, self.forms, probe)

    def remove(self, node: int) -> None:
        form = self.forms[node]
        if form.opaque:
            return
        group = self._groups[form.edges]
        group.remove(node, form)
        if group.empty:
            self._index.remove(group.number, group.key)
            del self._groups[form.edges], self._by_number[group.number]

    def containing(self, probe: Probe) -> int | None:
        """A root that contains a form; the group of its own edges is looked at first."""
        if probe.form.opaque:
            return None
        own = self._groups.get(probe.form.edges)
        found = None if own is None else own.containing(probe, self.forms)
        if found is not None:
            return found
        for number in self._index.containing(self._keys(probe)):
            group = self._by_number[number]
            found = None if group is own else group.containing(probe, self.forms)
            if found is not None:
                return found
        return None

    def contained(self, probe: Probe) -> list[int]:
        """The roots that a form contains."""
        if probe.form.opaque:
            return []
        numbers = self._index.contained(self._keys(probe))
        return [node for number in numbers for node in self._by_number[number].contained(probe, self.forms)]

    def is_contained(self, root: int, probe: Probe) -> bool:
        """Whether a root is contained in a form."""
        form, edges = self.forms[root], probe.edges
        if form.edges is edges.edges:
            return any(follows_by(probe.form, images, form) for images in edges.own_maps)
        return witness_in(Target(form.edges, self._taxonomy), probe.form, form, edges.order) is not None

    def _keys(self, probe: Probe) -> list[EdgeKey]:
        edges = probe.edges
        if edges.keys is None:
            edges.keys = self._index.keys(edges.edges)
        return edges.keys
