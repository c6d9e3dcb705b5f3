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
_ENOUGH = 32  # candidates that are not worth another look


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
        marks = [mark for mark in marks if not mark.given]
        plain = [self._rarer(mark, [mark.labels[0]]) for mark in marks if mark.labels[0] >= _FIRST]
        ways = sorted(plain, key=_size)
        found = _gathered(ways[0]) if ways else None
        for lists in ways[1:]:
            found = _narrowed(found, lists)
        for mark in marks:  # these are asked for by many keys
            if (found is None or len(found) > _ENOUGH) and mark.labels[0] < _FIRST:
                found = _narrowed(found, self._stronger(mark))
        return [shape for shape in sorted(self._edges if found is None else found) if shape in self._edges]

    def _stronger(self, mark: Mark) -> list[list[int]]:
        """The shapes with an edge from which a class edge, or one with a variable predicate, may follow."""
        label = mark.labels[0]
        if label == _IS_A:
            return self._lists(_key(_IS_A, 0, kind) for kind in self._downward(mark.edge.object))
        return self._lists([_key(_BELOW)]) if label == _BELOW else self._rarer(mark, list(self._labels))

    def _rarer(self, mark: Mark, labels: list[int]) -> list[list[int]]:
        """The shapes with an edge of one of these labels, by the rarer of its ends."""
        subject, object = mark.subject, mark.object
        if not subject and not object:
            return self._lists([_key(label) for label in labels])
        out = self._lists([_key(label, subject) for label in labels]) if subject else None
        into = self._lists([_key(label, 0, object) for label in labels]) if object else None
        if out is None or into is None:
            return out or into or []
        return min(out, into, key=_size)

    def _downward(self, kind: Node) -> Iterable[int]:
        """A class and those below it that anybody asks for; 0 for any."""
        if isinstance(kind, Variable):
            return (0,)
        return [self._ids[each] for each in (kind, *self._taxonomy.descendants(kind)) if each in self._ids]

    def _lists(self, keys: Iterable[int]) -> list[list[int]]:
        return [self._posted[key] for key in keys if key in self._posted]


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


def _size(lists: list[list[int]]) -> int:
    return sum(map(len, lists))


def _gathered(lists: list[list[int]]) -> set[int]:
    return {shape for posted in lists for shape in posted}


def _narrowed(found: set[int] | None, lists: list[list[int]]) -> set[int]:
    """What is also in the lists, if there is so much that it is worth a look."""
    if found is None:
        return _gathered(lists)
    return found & _gathered(lists) if len(found) > _ENOUGH else found


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
