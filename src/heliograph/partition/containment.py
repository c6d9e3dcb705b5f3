"""Containment ([R] 4.2): whether whatever matches one pattern matches another, and the forest of patterns by it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import combinations, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.io.sources import collector_paused
from heliograph.partition.forms import Flat, Form, Head, form_of, is_ground, query_of, raised, substituted, variables_of
from heliograph.partition.plan import Change
from heliograph.partition.regions import EVERYTHING, Extent, Extents, Region, holds, just, meet, truth_of, within
from heliograph.sparql import evaluate as expressions
from heliograph.sparql.query import ClassPattern, ClassRelation, Node, Pattern, Query, TriplePattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, is_container_member

# ----------------------------------------------------------------------------------------------------------------------
# Maps from the edges of one pattern into those of another, so that whatever matches the second matches the first.
#
# The second pattern's variables are taken for constants, as if they were the very terms of a publication that
# matches. An edge of the first must then be one of its edges, or follow from them and from the taxonomy: direct
# instances also from the taxonomy's rows, instances through sub-classes that the pattern itself asks for or the
# taxonomy has, rdfs:member from any rdf:_n. A variable predicate stands for any predicate that the publication's own
# triples alone can answer: not rdf:type where a row of the taxonomy might, nor rdfs:member, which need not be there
# itself.
#
# The law: a map that is found is one. A search that takes too many steps gives up, so not every map is found.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# What one form's conditions say of another's: whether an image of a variable, and of what is left over, must satisfy.
#
# The law: if `image_suits` of every variable and `residue_follows`, then every solution of the special form, read
# through the images, satisfies all conditions of the general one. A variable that stands for a constant needs the
# constant to satisfy what is asked; text tests and conditions on several variables follow only from themselves.
# ----------------------------------------------------------------------------------------------------------------------

ImplicationImages = Mapping[Node, Node]


def image_suits(asked: Region, image: Node, special: Form) -> bool:
    """Whether whatever an image stands for lies in the region that is asked for."""
    if asked is EVERYTHING:
        return True
    if isinstance(image, Variable):
        return within(special.region(image), asked)
    return holds(asked, image)


def residue_follows(general: Form, images: ImplicationImages, special: Form) -> bool:
    """Whether all that regions cannot say of the general form follows from the special one."""
    return all(_follows(substituted(flat, images), special) for flat in general.residue)


def _follows(asked: Flat, special: Form) -> bool:
    if asked in special.residue:
        return True
    head = asked[0]
    if isinstance(head, Head) and head.kind == "Values":
        return False
    if is_ground(asked):
        return expressions.holds(raised(asked), {})
    found = variables_of(asked)
    truth = truth_of(raised(asked)) if len(found) == 1 else None
    return truth is not None and within(special.region(found.pop()), truth.true)


# ----------------------------------------------------------------------------------------------------------------------
# Containment: whether everything that matches one pattern matches another.
#
# S1 contains S2 if a homomorphism from the edges of S1 to those of S2 exists under which S2's conditions imply S1's
# (`homomorphisms`, `implication`). The law: `contains` is never true falsely, whatever a publication holds and
# however little is known of it. It may be false where it need not be: when a search takes too long, when only several
# maps together would show it, or when nothing but a query as a whole tells what it means (a count).
# ----------------------------------------------------------------------------------------------------------------------


def contains(general: Form, special: Form, taxonomy: Taxonomy, steps: int = STEPS) -> bool:
    """Whether every publication that matches the special form is known to match the general one."""
    return witness(general, special, taxonomy, steps) is not None


def witness(general: Form, special: Form, taxonomy: Taxonomy, steps: int = STEPS) -> Images | None:
    """What the variables of the general form stand for in the special one; None if it is not known to contain it."""
    return witness_in(Target(special.edges, taxonomy), general, special, search_order(general.edges), steps)


def witness_in(
    target: Target, general: Form, special: Form, order: tuple[Pattern, ...], steps: int = STEPS
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


# ----------------------------------------------------------------------------------------------------------------------
# Which roots to compare a form with: those that share the labels and constants which containment needs.
#
# As in [R]'s containmentChecking the labels of edges come first, here with the constants at their ends. If a root
# contains a form, each of its edges is one of the form's with some constants given up: a root is entered under the
# one of its edges that fewest others have, and a form asks for all that its edges could be with constants given up.
# If a form contains a root, each of its edges is to be found, with more constants, among the root's: so each edge of
# a root is posted under its label, alone and with each of its ends, and a form asks for the rarest of its own.
#
# The law: no root that contains the form or is contained in it is left out, but for what follows from sub-classes
# that a pattern itself asks for.
# ----------------------------------------------------------------------------------------------------------------------

EVERY = 0  # the key of roots that no edge can tell: they contain everything
_ANY = 1  # the label of a variable predicate
_IS_A, _BELOW = 2, 3  # the labels of class edges
_FIRST = 4
_WIDE = 32  # bits of a number
_OF_INSTANCES, _OF_CLASSES, _OF_ANYTHING = (_IS_A,), (_BELOW,), (_ANY,)
_UNTIDY = 1_000  # shapes that went, beyond as many as are there, before their postings are cleared away
_ENOUGH = 32  # candidates that are not worth a look by many keys
_NOBODY: list[int] = []
_WORTH = 200  # postings that may be read to rule out one candidate: as long as comparing it takes


def _key(label: int, subject: int = 0, object: int = 0) -> int:
    return (label << _WIDE | subject) << _WIDE | object


class Mark(NamedTuple):
    """An edge by numbers: the labels of all that it says, its own first; a variable at an end is 0.

    One that the taxonomy answers already is `given`: others may be mapped to it, but it asks for nothing.
    """

    edge: Pattern
    labels: tuple[int, ...]
    subject: int
    object: int
    given: bool


Marks = list[Mark]


class Candidates:
    """Shapes by number, under keys of their edges."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        self._ids: dict[Term, int] = {}
        self._entered: dict[int, dict[int, None]] = {}  # shapes under one key each
        self._open = 0  # how many of them are under a variable predicate
        self._posted: dict[int, list[int]] = {}  # shapes under all their keys; those that went stay until it is tidied
        self._labels: dict[int, None] = {}
        self._edges: dict[int, tuple[Pattern, ...]] = {}
        self._gone = 0

    # --- edges by numbers ---------------------------------------------------------------------------------------

    def marks(self, edges: Iterable[Pattern]) -> Marks:
        return [
            Mark(
                edge,
                self._labels_of(edge),
                self._id(edge.subject),
                self._id(edge.object),
                is_given(edge, self._taxonomy),
            )
            for edge in edges
        ]

    def _id(self, node: Node) -> int:
        if isinstance(node, Variable):
            return 0
        found = self._ids.get(node)
        if found is None:
            found = self._ids[node] = len(self._ids) + _FIRST
        return found

    def _labels_of(self, edge: Pattern) -> tuple[int, ...]:
        """The label of an edge, and of what follows: a type edge is an instance, too, and an rdf:_n a member."""
        if isinstance(edge, ClassPattern):
            return _OF_INSTANCES if edge.relation is ClassRelation.IS_A else _OF_CLASSES
        predicate = edge.predicate
        if isinstance(predicate, Variable):
            return _OF_ANYTHING
        label = self._id(predicate)
        if predicate == RDF_TYPE:
            return label, _IS_A
        if predicate == RDFS_SUBCLASS_OF:
            return label, _BELOW
        return (label, self._id(RDFS_MEMBER)) if is_container_member(predicate) else (label,)

    # --- entering -----------------------------------------------------------------------------------------------

    def add(self, shape: int, edges: tuple[Pattern, ...], marks: Marks) -> int:
        """Enters a shape and returns the key under which `remove` finds it again."""
        self._edges[shape] = edges
        self._post(shape, marks)
        keys = [_key(labels[0], subject, object) for _, labels, subject, object, given in marks if not given]
        key = min(keys, key=self._cost, default=EVERY)
        self._entered.setdefault(key, {})[shape] = None
        self._open += _label(key) == _ANY
        return key

    def remove(self, shape: int, key: int) -> None:
        bucket = self._entered[key]
        del bucket[shape]
        if not bucket:
            del self._entered[key]
        self._open -= _label(key) == _ANY
        del self._edges[shape]
        self._gone += 1
        if self._gone > _UNTIDY + len(self._edges):
            self._tidy()

    def _tidy(self) -> None:
        """Posts again what is still there: at most as much work as was done since the last time."""
        self._posted, self._labels, self._gone = {}, {}, 0
        for shape, edges in self._edges.items():
            self._post(shape, self.marks(edges))

    def _post(self, shape: int, marks: Marks) -> None:
        posted = self._posted
        for key in {key for mark in marks for key in _posts(mark)}:
            if key in posted:
                posted[key].append(shape)
            else:
                posted[key] = [shape]
                self._labels.setdefault(_label(key))

    def _cost(self, key: int) -> int:
        """How many roots a form meets under a key, by and by: an end that is left open is met by many more."""
        free = (not _subject(key)) + (not _object(key)) + 2 * (_label(key) == _ANY)
        return (len(self._entered.get(key, ())) + 1) << (4 * free)

    # --- those that may contain a form --------------------------------------------------------------------------

    def containing(self, marks: Marks) -> dict[int, None]:
        """Shapes that may contain one with these edges."""
        entered = self._entered
        found: dict[int, None] = dict(entered.get(EVERY, {}))
        for key in {key for mark in marks for key in self._weaker(mark)}:
            if key in entered:
                found.update(entered[key])
        return found

    def _weaker(self, mark: Mark) -> list[int]:
        """The keys of all edges that follow from one."""
        edge, labels, subject, object, _ = mark
        keys: list[int] = []
        for label in (*labels, _ANY) if self._open else labels:
            if label in (_IS_A, _BELOW):
                for above in self._upward(edge.object):
                    keys += _given_up(label, subject, above)
            else:
                keys += _given_up(label, subject, object)
        return keys

    def _upward(self, kind: Node) -> Iterator[int]:
        """A class and those above it that anybody asks for."""
        yield self._id(kind)
        if isinstance(kind, Term):
            yield from (self._ids[above] for above in self._taxonomy.ancestors(kind) if above in self._ids)

    # --- those that a form may contain --------------------------------------------------------------------------

    def contained(self, marks: Marks) -> Iterable[int]:
        """Shapes that one with these edges may contain: those with the rarest of them, and with others if need be."""
        found: set[int] | None = None
        many: list[Mark] = []
        posted: list[list[int]] = []
        for mark in marks:
            if mark.labels[0] < _FIRST:
                many += [] if mark.given else [mark]
            elif not mark.given:
                posted.append(self._rarer(mark.labels[0], mark))
        for each in sorted(posted, key=len):
            found = _narrowed(found, each)
        for mark in many:
            if found is None or len(found) > _ENOUGH:
                found = _narrowed(found, self._stronger(mark))
        return [shape for shape in sorted(self._edges if found is None else found) if shape in self._edges]

    def _stronger(self, mark: Mark) -> list[int]:
        """The shapes with an edge from which a class edge, or one with a variable predicate, may follow."""
        label = mark.labels[0]
        if label == _BELOW:
            return self._posted.get(_key(_BELOW), _NOBODY)
        if label == _ANY:
            return [shape for each in self._labels for shape in self._rarer(each, mark)]
        kinds = self._downward(mark.edge.object)
        return [shape for kind in kinds for shape in self._posted.get(_key(_IS_A, 0, kind), _NOBODY)]

    def _rarer(self, label: int, mark: Mark) -> list[int]:
        """The shapes with an edge of this label, by the rarer of its ends."""
        posted, subject, object = self._posted, mark.subject, mark.object
        if not subject:
            return posted.get(_key(label, 0, object), _NOBODY)
        out = posted.get(_key(label, subject), _NOBODY)
        into = posted.get(_key(label, 0, object), _NOBODY) if object else out
        return out if len(out) < len(into) else into

    def _downward(self, kind: Node) -> Iterable[int]:
        """A class and those below it that anybody asks for; 0 for any."""
        if isinstance(kind, Variable):
            return (0,)
        return [self._ids[each] for each in (kind, *self._taxonomy.descendants(kind)) if each in self._ids]


def _posts(mark: Mark) -> list[int]:
    """The keys of an edge: each label alone, and with either end."""
    _, labels, subject, object, _ = mark
    keys: list[int] = []
    for label in labels:
        keys.append(_key(label))
        if subject:
            keys.append(_key(label, subject))
        if object:
            keys.append(_key(label, 0, object))
    return keys


def _narrowed(found: set[int] | None, posted: list[int]) -> set[int]:
    """What is posted, too, unless that is so long that it is cheaper to compare the forms."""
    if found is None:
        return set(posted)
    if len(posted) <= _WORTH * len(found):
        found.intersection_update(posted)
    return found


def _given_up(label: int, subject: int, object: int) -> list[int]:
    """An edge, and the edge with either end open, or both."""
    keys = [_key(label)]
    if subject:
        keys.append(_key(label, subject))
    if object:
        keys.append(_key(label, 0, object))
        if subject:
            keys.append(_key(label, subject, object))
    return keys


def _label(key: int) -> int:
    return key >> 2 * _WIDE


def _subject(key: int) -> int:
    return key >> _WIDE & (1 << _WIDE) - 1


def _object(key: int) -> int:
    return key & (1 << _WIDE) - 1


# ----------------------------------------------------------------------------------------------------------------------
# A form made ready to be compared with many others, in both directions.
# ----------------------------------------------------------------------------------------------------------------------

MAPS = 8  # maps between the edges of two forms that are tried


class Outline:
    """Edges in search order and as a target, and their maps into themselves: what forms with these edges share."""

    def __init__(self, edges: tuple[Pattern, ...], taxonomy: Taxonomy) -> None:
        self.edges = edges
        self.taxonomy = taxonomy
        self.marks: Marks | None = None  # its edges as candidates are looked for

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
        return [
            dict(images)
            for images, _ in zip(homomorphisms(self.order, self.target, admit_all), range(MAPS), strict=False)
        ]


def admit_all(node: Node, image: Node) -> bool:
    return True


class Probe:
    """A form, with the outline of its edges and the places that its regions reach."""

    def __init__(self, form: Form, outline: Outline, extents: Extents) -> None:
        self.form = form
        self.outline = outline
        self.asked: dict[Node, Region] = dict(form.regions)
        self._extents = extents

    def region(self, node: Node) -> Region:
        """What a node of the form may stand for."""
        return just({node}) if isinstance(node, Term) else self.asked.get(node, EVERYTHING)

    def extent(self, region: Region) -> Extent:
        return self._extents.of(region)


def holds_by(general: Form, images: Images, special: Form) -> bool:
    """Whether one form contains another by this map of its edges."""
    suits = all(image_suits(region, images[node], special) for node, region in general.regions)
    return suits and residue_follows(general, images, special)


# ----------------------------------------------------------------------------------------------------------------------
# Roots of one shape that constrain the same variables: found by how far the regions of these reach.
#
# A root is a box: one region a variable. All extents lie in two flat arrays, so that a look takes a few comparisons
# of whole columns, 40 µs each of 100,000 boxes; what passes is asked exactly by the caller. The law: `around` answers
# every box that holds the asked one, `inside` every box that it holds; both may answer others.
# ----------------------------------------------------------------------------------------------------------------------

_FEW = 16  # boxes that are not worth a look at their extents


class Boxes:
    """Boxes of so many sides, by the numbers of their nodes."""

    __slots__ = ("_high", "_low", "_place", "nodes")

    def __init__(self, sides: int) -> None:
        self.nodes: list[int] = []
        self._place: dict[int, int] = {}
        self._low = np.empty((sides, 4), np.int64)
        self._high = np.empty((sides, 4), np.int64)

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, node: int, extents: Sequence[Extent]) -> None:
        place = self._place[node] = len(self.nodes)
        self.nodes.append(node)
        if place == self._low.shape[1]:
            self._low, self._high = (_doubled(column) for column in (self._low, self._high))
        for side, (low, high) in enumerate(extents):
            self._low[side, place], self._high[side, place] = low, high

    def remove(self, node: int) -> None:
        """The last box takes the place of the one that goes."""
        place, last = self._place.pop(node), self.nodes.pop()
        if last != node:
            self.nodes[place] = last
            self._place[last] = place
            for columns in (self._low, self._high):
                columns[:, place] = columns[:, len(self.nodes)]

    def around(self, extents: Sequence[Extent | None]) -> Iterable[int]:
        """Boxes that may hold a box; None is a side of it of which nothing is known, so none of them may."""
        return self._found([(side, each) for side, each in enumerate(extents) if each is not None], around=True)

    def inside(self, extents: Sequence[Extent | None]) -> Iterable[int]:
        """Boxes that a box may hold; None is a side of it that holds everything."""
        return self._found([(side, each) for side, each in enumerate(extents) if each is not None], around=False)

    def _found(self, sides: Sequence[tuple[int, Extent]], around: bool) -> Iterable[int]:
        count = len(self.nodes)
        if count <= _FEW or not sides:
            return tuple(self.nodes)
        fits: npt.NDArray[np.bool_] | None = None
        for side, (low, high) in sides:
            lows, highs = self._low[side, :count], self._high[side, :count]
            passing = (lows <= low) & (highs >= high) if around else (lows >= low) & (highs <= high)
            fits = passing if fits is None else fits & passing
        assert fits is not None
        return [self.nodes[place] for place in np.flatnonzero(fits).tolist()]


def _doubled(columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate((columns, np.empty_like(columns)), axis=1)


# ----------------------------------------------------------------------------------------------------------------------
# The roots of one shape: forms with the same edges, which differ in what they ask of their variables.
#
# A map between the edges of two forms is found once for all roots of a shape. What is left is a search among boxes:
# which of these hold the box that the map makes of a form's conditions, and which does it hold. Roots are kept apart
# by the variables that they constrain and by their residue. The law: answers are true; some may be missed where a
# shape has very many different residues or maps.
# ----------------------------------------------------------------------------------------------------------------------

Residue = tuple[Flat, ...]
Names = tuple[Variable, ...]

_MANY = 64  # residues of one shape that are looked through; others must be met by name
_TRIED = 256  # boxes that are asked exactly before a search gives up
_SUBSETS = 5  # conditions of a residue of which all subsets are looked for
_NO_GROUPS: dict[tuple[Variable, ...], dict[tuple[Flat, ...], Boxes]] = {}  # shared by all that have none


class Shape:
    """The roots whose edges these are. The first one is kept plain: most shapes have no other."""

    __slots__ = ("_groups", "_only", "_order", "edges", "key", "number", "outline")

    def __init__(self, number: int, edges: tuple[Pattern, ...], key: int) -> None:
        self.number = number
        self.edges = edges
        self.key = key
        self.outline: Outline | None = None  # of a shape that had several roots
        self._only: int | None = None
        self._groups: dict[Names, dict[Residue, Boxes]] = _NO_GROUPS
        self._order: tuple[Pattern, ...] | None = None

    @property
    def order(self) -> tuple[Pattern, ...]:
        if self._order is None:
            self._order = search_order(self.edges)
        return self._order

    @property
    def empty(self) -> bool:
        return self._only is None and not self._groups

    def add(self, node: int, forms: Mapping[int, Form], probe: Probe) -> None:
        if self.empty:
            self._only = node
            return
        if self.outline is None:
            self.outline, self._groups = Outline(self.edges, probe.outline.taxonomy), {}
        if self._only is not None:
            self._enter(self._only, forms[self._only], probe)
            self._only = None
        self._enter(node, forms[node], probe)

    def _enter(self, node: int, form: Form, probe: Probe) -> None:
        names, residue = _group_of(form)
        boxes = self._groups.setdefault(names, {}).setdefault(residue, Boxes(len(names)))
        boxes.add(node, [probe.extent(region) for _, region in form.regions])

    def remove(self, node: int, form: Form) -> None:
        if self._only == node:
            self._only = None
            return
        names, residue = _group_of(form)
        boxes = self._groups[names][residue]
        boxes.remove(node)
        if not len(boxes):
            del self._groups[names][residue]
        if not self._groups[names]:
            del self._groups[names]

    # --- roots that contain a form ------------------------------------------------------------------------------

    def containing(self, probe: Probe, forms: Mapping[int, Form]) -> int | None:
        """A root that contains a form."""
        if any(is_absent(edge, probe.outline.present) for edge in self.edges):
            return None
        if self._only is not None:
            found = witness_in(probe.outline.target, forms[self._only], probe.form, self.order)
            return None if found is None else self._only
        for images in self._maps_into(probe):
            for node in islice(self._around(probe, images), _TRIED):
                if holds_by(forms[node], images, probe.form):
                    return node
        return None

    def _maps_into(self, probe: Probe) -> Iterable[Images]:
        if probe.outline is self.outline:
            return self.outline.own_maps
        return islice(homomorphisms(self.order, probe.outline.target, admit_all), MAPS)

    def _around(self, probe: Probe, images: Images) -> Iterator[int]:
        """Roots whose boxes may hold the box of a form."""
        for names, by_residue in self._groups.items():
            regions = [probe.region(images[name]) for name in names]
            if EVERYTHING in regions:
                continue  # whoever asks something of a variable does not hold those that ask nothing of it
            extents = [probe.extent(region) for region in regions]
            for residue in _residues(by_residue, probe.form.residue, images):
                yield from by_residue[residue].around(extents)

    # --- roots that a form contains -----------------------------------------------------------------------------

    def contained(self, probe: Probe, forms: Mapping[int, Form]) -> list[int]:
        """The roots that a form contains."""
        if self._only is not None:
            special, target = forms[self._only], Target(self.edges, probe.outline.taxonomy)
            return [] if witness_in(target, probe.form, special, probe.outline.order) is None else [self._only]
        found: dict[int, None] = {}
        for images in self._maps_of(probe):
            for node in self._inside(probe, images):
                if node not in found and holds_by(probe.form, images, forms[node]):
                    found[node] = None
        return list(found)

    def _maps_of(self, probe: Probe) -> Iterable[Images]:
        assert self.outline is not None
        if probe.outline is self.outline:
            return self.outline.own_maps
        return islice(homomorphisms(probe.outline.order, self.outline.target, _admits(probe)), MAPS)

    def _inside(self, probe: Probe, images: Images) -> Iterator[int]:
        """Roots whose boxes the box of a form may hold."""
        wanted: dict[Node, Region] = {}
        for node, region in probe.asked.items():
            image = images[node]
            if isinstance(image, Variable):
                wanted[image] = meet(wanted.get(image, EVERYTHING), region)
        extents = {node: probe.extent(region) for node, region in wanted.items()}
        needed = {substituted(flat, images) for flat in probe.form.residue}
        for names, by_residue in self._groups.items():
            if wanted.keys() <= set(names):
                for residue in _fuller(by_residue, needed):
                    yield from by_residue[residue].inside([extents.get(name) for name in names])


def _group_of(form: Form) -> tuple[Names, Residue]:
    return tuple([name for name, _ in form.regions]), form.residue


def _admits(probe: Probe) -> Admits:
    """Constants must satisfy; of variables nothing is known yet."""
    asked = probe.asked

    def admits(node: Node, image: Node) -> bool:
        return not isinstance(image, Term) or node not in asked or holds(asked[node], image)

    return admits


def _residues(known: Mapping[Residue, Boxes], given: Residue, images: Images) -> Iterable[Residue]:
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


def _fuller(known: Mapping[Residue, Boxes], needed: set[Flat]) -> Iterable[Residue]:
    """The residues of roots from which what is needed may follow: of many, the very same and some."""
    if not needed or len(known) <= _MANY:
        return list(known)
    same = tuple(sorted(needed, key=repr))
    return dict.fromkeys([*([same] if same in known else []), *islice(known, _MANY)])


# ----------------------------------------------------------------------------------------------------------------------
# Who stands below whom, and what became different: the trees of a forest, by the numbers of their nodes.
#
# The laws: `root_of` is what it was when last settled; `settle` tells exactly the difference since the last time,
# however often a node moved in between. It costs the nodes that moved and those below them, each once, and no
# recursion.
# ----------------------------------------------------------------------------------------------------------------------


class Lineage:
    """Parents and children of nodes."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}
        self._children: dict[int, dict[int, None]] = {}  # of nodes that have any
        self._settled: dict[int, int] = {}  # the root of every node, when it was last settled
        self._moved: dict[int, None] = {}  # nodes that were put or cut loose since then
        self._fallen: dict[int, None] = {}

    def root_of(self, node: int) -> int:
        return self._settled[node]

    def parent_of(self, node: int) -> int | None:
        return self._parent.get(node)

    def children_of(self, node: int) -> tuple[int, ...]:
        return tuple(self._children.get(node, ()))

    # --- changing -----------------------------------------------------------------------------------------------

    def plant(self, node: int) -> None:
        """Makes a node a root, if it is not below another."""
        self._moved[node] = None

    def hang(self, node: int, parent: int) -> None:
        """Puts a root below another node."""
        self._parent[node] = parent
        self._children.setdefault(parent, {})[node] = None
        self._moved[node] = None

    def fell(self, node: int) -> tuple[int, ...]:
        """Takes a node away. Its children go to its parent; where it has none they stand alone, and are returned."""
        children = tuple(self._children.pop(node, ()))
        parent = self._parent.pop(node, None)
        if parent is not None:
            self._leave(node, parent)
        for child in children:
            if parent is None:
                del self._parent[child]
                self._moved[child] = None
            else:
                self.hang(child, parent)
        self._moved.pop(node, None)
        self._fallen[node] = None
        return children if parent is None else ()

    def _leave(self, node: int, parent: int) -> None:
        siblings = self._children[parent]
        del siblings[node]
        if not siblings:
            del self._children[parent]

    # --- what became different ----------------------------------------------------------------------------------

    def settle(self) -> Change:
        """The difference since the last time."""
        gone = tuple(sorted(node for node in self._fallen if self._settled.pop(node, None) is not None))
        entered: list[int] = []
        left: list[int] = []
        placed: list[tuple[int, int]] = []
        for node, root in sorted(self._roots_of_moved().items()):
            before = self._settled.get(node)
            if root == before:
                continue
            self._settled[node] = root
            if root == node:
                entered.append(node)
            else:
                placed.append((node, root))
                if before == node:
                    left.append(node)
        self._moved, self._fallen = {}, {}
        return Change(tuple(entered), tuple(left), tuple(placed), gone)

    def _roots_of_moved(self) -> dict[int, int]:
        """The present root of every node that moved, or that stands below one."""
        known: dict[int, int] = {}
        walked: dict[int, int] = {}
        for top in self._moved:
            root = self._climb(top, known)
            todo = [top]
            while todo:
                node = todo.pop()
                if node not in walked:
                    walked[node] = root
                    todo.extend(self._children.get(node, ()))
        return walked

    def _climb(self, node: int, known: dict[int, int]) -> int:
        """The root above a node; it is noted for all on the way."""
        path: list[int] = []
        while node not in known and node in self._parent:
            path.append(node)
            node = self._parent[node]
        root = known.setdefault(node, node)
        known.update(dict.fromkeys(path, root))
        return root


# ----------------------------------------------------------------------------------------------------------------------
# The containment forest: every pattern below one that contains it, the most general ones at the front ([R] 4.2, 4.4).
#
# Only roots are indexed. A pattern that comes is compared with the roots that may contain it and goes below the first
# that does; otherwise it is a root, and takes over the roots that it contains, with all that is below them. When a
# root goes, its children return to the front, below another root where one contains them; when an inner node goes,
# its children go to its parent. Patterns of one form are one node with many subscribers, and so is a pattern with the
# root that contains it if it contains that root, too.
#
# The laws: a node is contained in its parent, so whatever matches it matches its root; no root is known to contain
# another. Trees are as deep as their history made them, and nothing here recurses.
# ----------------------------------------------------------------------------------------------------------------------


class Forest:
    """An arrangement by containment."""

    def __init__(self, taxonomy: Taxonomy | None = None) -> None:
        self._front = _Front(taxonomy or Taxonomy())
        self._lineage = Lineage()
        self._forms: dict[int, Form] = self._front.forms
        self._known: dict[Form, int] = {}
        self._subscribers: dict[int, list[int]] = {}  # of each node, ascending
        self._nodes: dict[int, int] = {}  # by subscription
        self._roots: dict[int, None] = {}
        self._next = 0

    # --- asking -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._forms)

    def node_of(self, number: int) -> int:
        return self._nodes[number]

    def root_of(self, node: int) -> int:
        return self._lineage.root_of(node)

    def parent_of(self, node: int) -> int | None:
        return self._lineage.parent_of(node)

    def children_of(self, node: int) -> tuple[int, ...]:
        return self._lineage.children_of(node)

    def form_of(self, node: int) -> Form:
        return self._forms[node]

    def query_of(self, node: int) -> Query:
        return query_of(self._forms[node])

    def subscribers_of(self, node: int) -> Sequence[int]:
        return tuple(self._subscribers[node])

    def is_synthetic(self, node: int) -> bool:
        return False

    def roots(self) -> Iterator[int]:
        return iter(tuple(self._roots))

    # --- subscribing --------------------------------------------------------------------------------------------

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> Change:
        with collector_paused():
            for number, query in subscriptions:
                node = self._take(form_of(query))
                self._nodes[number] = node
                self._subscribers.setdefault(node, []).append(number)
            return self._lineage.settle()

    def _take(self, form: Form) -> int:
        """The node of a form: the one it has, one that it equals, or a new one."""
        node = self._known.get(form)
        if node is not None:
            return node
        probe = self._front.probe(form)
        above = self._front.containing(probe)
        if above is not None and self._front.is_contained(above, probe):
            return above
        form = self._front.shared(form, above)
        node = self._next
        self._next += 1
        self._known[form] = node
        self._forms[node] = form
        self._put(node, probe, above)
        return node

    def _put(self, node: int, probe: Probe, above: int | None) -> None:
        """Puts a node below the root that contains it, or at the front."""
        if above is not None:
            self._lineage.hang(node, above)
            return
        for root in self._front.contained(probe):
            self._front.remove(root)
            del self._roots[root]
            self._lineage.hang(root, node)
        self._roots[node] = None
        self._front.add(node, probe)
        self._lineage.plant(node)

    # --- unsubscribing ------------------------------------------------------------------------------------------

    def remove(self, numbers: Iterable[int]) -> Change:
        orphans: dict[int, None] = {}
        for number in numbers:
            node = self._nodes.pop(number)
            left = self._subscribers[node]
            del left[bisect_left(left, number)]
            if not left:
                self._drop(node, orphans)
        for node in sorted(orphans):
            probe = self._front.probe(self._forms[node])
            self._put(node, probe, self._front.containing(probe))
        return self._lineage.settle()

    def _drop(self, node: int, orphans: dict[int, None]) -> None:
        """Takes a node away; `orphans` are those that stand alone until all have gone."""
        if node in self._roots:
            self._front.remove(node)
            del self._roots[node]
        orphans.pop(node, None)
        orphans.update(dict.fromkeys(self._lineage.fell(node)))
        del self._known[self._forms.pop(node)]
        del self._subscribers[node]


class _Front:
    """The roots, to be searched in both directions. Opaque forms equal only themselves, and are not in it."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.forms: dict[int, Form] = {}
        self._taxonomy = taxonomy
        self._extents = Extents()
        self._candidates = Candidates(taxonomy)
        self._shapes: dict[tuple[Pattern, ...], Shape] = {}
        self._by_number: dict[int, Shape] = {}
        self._next = 0

    def probe(self, form: Form) -> Probe:
        shape = self._shapes.get(form.edges)
        known = None if shape is None else shape.outline
        return Probe(form, known or Outline(form.edges, self._taxonomy), self._extents)

    def shared(self, form: Form, above: int | None) -> Form:
        """The same form with the edges of another that has the same, if one is at hand: they take most of its room."""
        other = self._shapes.get(form.edges)
        edges = other.edges if other is not None else () if above is None else self.forms[above].edges
        return form._replace(edges=edges) if edges == form.edges else form

    def add(self, node: int, probe: Probe) -> None:
        form = self.forms[node]
        if form.opaque:
            return
        shape = self._shapes.get(form.edges)
        if shape is None:
            marks = self._marks(probe)
            shape = Shape(self._next, form.edges, self._candidates.add(self._next, form.edges, marks))
            self._shapes[form.edges] = self._by_number[self._next] = shape
            self._next += 1
        shape.add(node, self.forms, probe)

    def remove(self, node: int) -> None:
        form = self.forms[node]
        if form.opaque:
            return
        shape = self._shapes[form.edges]
        shape.remove(node, form)
        if shape.empty:
            self._candidates.remove(shape.number, shape.key)
            del self._shapes[form.edges], self._by_number[shape.number]

    def containing(self, probe: Probe) -> int | None:
        """A root that contains a form; its own shape is looked at first."""
        if probe.form.opaque:
            return None
        own = self._shapes.get(probe.form.edges)
        found = None if own is None else own.containing(probe, self.forms)
        if found is not None:
            return found
        for number in self._candidates.containing(self._marks(probe)):
            shape = self._by_number[number]
            found = None if shape is own else shape.containing(probe, self.forms)
            if found is not None:
                return found
        return None

    def _marks(self, probe: Probe) -> Marks:
        outline = probe.outline
        if outline.marks is None:
            outline.marks = self._candidates.marks(outline.edges)
        return outline.marks

    def contained(self, probe: Probe) -> list[int]:
        """The roots that a form contains."""
        if probe.form.opaque:
            return []
        numbers = self._candidates.contained(self._marks(probe))
        return [node for number in numbers for node in self._by_number[number].contained(probe, self.forms)]

    def is_contained(self, root: int, probe: Probe) -> bool:
        """Whether a root is contained in a form."""
        form, outline = self.forms[root], probe.outline
        if form.edges is outline.edges:
            return any(holds_by(probe.form, images, form) for images in outline.own_maps)
        return witness_in(Target(form.edges, self._taxonomy), probe.form, form, outline.order) is not None
