"""Which roots to compare a form with: those that share the labels and constants which containment needs.

As in [R]'s containmentChecking the labels of edges come first, here with the constants at their ends. If a root
contains a form, each of its edges is one of the form's with some constants given up: a root is entered under the one
of its edges that fewest others have, and a form asks for all that its edges could be with constants given up. If a
form contains a root, each of its edges is to be found, with more constants, among the root's: so each edge of a root
is posted under its label, alone and with each of its ends, and a form asks for the rarest of its own.

The law: no root that contains the form or is contained in it is left out, but for what follows from sub-classes that a
pattern itself asks for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from heliograph.partition.homomorphisms import is_given
from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Pattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, is_container_member

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
