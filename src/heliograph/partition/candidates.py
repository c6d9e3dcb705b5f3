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

from heliograph.partition.homomorphisms import is_given
from heliograph.syntax.query import ClassPattern, ClassRelation, Node, Pattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, Variable, is_container_member

EVERY = 0  # the key of roots that no edge can tell: they contain everything
_ANY = 1  # the label of a variable predicate
_IS_A, _BELOW = 2, 3  # the labels of class edges
_FIRST = 4
_WIDE = 32  # bits of a number
_ENOUGH = 32  # candidates that are not worth another look


def _key(label: int, subject: int = 0, object: int = 0) -> int:
    return (label << _WIDE | subject) << _WIDE | object


class Candidates:
    """Shapes by number, under keys of their edges."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self._taxonomy = taxonomy
        self._ids: dict[Term, int] = {}
        self._entered: dict[int, dict[int, None]] = {}  # shapes under one key each
        self._open = 0  # how many of them are under a variable predicate
        self._posted: dict[int, list[int]] = {}  # shapes under all their keys; those that went stay until it is tidied
        self._labels: dict[int, None] = {}  # labels of plain edges
        self._edges: dict[int, tuple[Pattern, ...]] = {}
        self._gone = 0

    # --- entering -----------------------------------------------------------------------------------------------

    def add(self, shape: int, edges: tuple[Pattern, ...]) -> int:
        """Enters a shape and returns the key under which `remove` finds it again."""
        self._edges[shape] = edges
        self._post(shape, edges)
        key = min(self._own_keys(edges), key=self._cost, default=EVERY)
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
        if self._gone > 1000 + len(self._edges):
            self._tidy()

    def _tidy(self) -> None:
        """Posts again what is still there: at most as much work as was done since the last time."""
        self._posted, self._labels, self._gone = {}, {}, 0
        for shape, edges in self._edges.items():
            self._post(shape, edges)

    def _post(self, shape: int, edges: Iterable[Pattern]) -> None:
        posted = self._posted
        for key in {key for edge in edges for key in self._posts(edge)}:
            posted.setdefault(key, []).append(shape)

    def _cost(self, key: int) -> int:
        """How many roots a form meets under a key, by and by: an end that is left open is met by many more."""
        free = (not _subject(key)) + (not _object(key)) + 2 * (_label(key) == _ANY)
        return (len(self._entered.get(key, ())) + 1) << (4 * free)

    # --- keys of edges ------------------------------------------------------------------------------------------

    def _id(self, node: Node) -> int:
        """The number of a constant; 0 for a variable."""
        if isinstance(node, Variable):
            return 0
        return self._ids.setdefault(node, len(self._ids) + _FIRST)

    def _own_keys(self, edges: Iterable[Pattern]) -> Iterator[int]:
        """One key for each edge that the taxonomy does not answer already."""
        for edge in edges:
            if not is_given(edge, self._taxonomy):
                yield _key(self._label_of(edge), self._id(edge.subject), self._id(edge.object))

    def _label_of(self, edge: Pattern) -> int:
        if isinstance(edge, ClassPattern):
            return _IS_A if edge.relation is ClassRelation.IS_A else _BELOW
        return self._id(edge.predicate) or _ANY

    def _posts(self, edge: Pattern) -> Iterator[int]:
        subject, object = self._id(edge.subject), self._id(edge.object)
        for label in self._labels_of(edge):
            self._labels.setdefault(label)
            yield _key(label)
            if subject:
                yield _key(label, subject)
            if object:
                yield _key(label, 0, object)

    def _labels_of(self, edge: Pattern) -> tuple[int, ...]:
        """The labels of all that an edge says: a type edge is an instance, too, and an rdf:_n a member."""
        label = self._label_of(edge)
        if isinstance(edge, ClassPattern) or isinstance(edge.predicate, Variable):
            return (label,)
        if edge.predicate == RDF_TYPE:
            return label, _IS_A
        if edge.predicate == RDFS_SUBCLASS_OF:
            return label, _BELOW
        return (label, self._id(RDFS_MEMBER)) if is_container_member(edge.predicate) else (label,)

    # --- those that may contain a form --------------------------------------------------------------------------

    def containing(self, edges: Iterable[Pattern]) -> dict[int, None]:
        """Shapes that may contain one with these edges."""
        entered = self._entered
        found: dict[int, None] = dict(entered.get(EVERY, {}))
        for key in dict.fromkeys([key for edge in edges for key in self._weaker(edge)]):
            if key in entered:
                found.update(entered[key])
        return found

    def _weaker(self, edge: Pattern) -> Iterator[int]:
        """The keys of all edges that follow from one."""
        subject = self._id(edge.subject)
        labels = self._labels_of(edge)
        for label in (*labels, _ANY) if self._open else labels:
            for object in self._upward(edge.object) if label in (_IS_A, _BELOW) else (self._id(edge.object),):
                yield from _given_up(label, subject, object)

    def _upward(self, kind: Node) -> Iterator[int]:
        """A class and those above it that anybody asks for."""
        yield self._id(kind)
        if isinstance(kind, Term):
            yield from (self._ids[above] for above in self._taxonomy.ancestors(kind) if above in self._ids)

    # --- those that a form may contain --------------------------------------------------------------------------

    def contained(self, edges: Iterable[Pattern]) -> Iterable[int]:
        """Shapes that one with these edges may contain."""
        asked = [self._stronger(edge) for edge in edges if not is_given(edge, self._taxonomy)]
        ways = sorted([(sum(len(posted) for posted in lists), lists) for lists in asked], key=lambda way: way[0])
        if not ways:
            return list(self._edges)
        found = {shape for posted in ways[0][1] for shape in posted}
        for _, lists in ways[1:]:
            if len(found) <= _ENOUGH:
                break
            found.intersection_update(shape for posted in lists for shape in posted)
        return [shape for shape in sorted(found) if shape in self._edges]

    def _stronger(self, edge: Pattern) -> list[list[int]]:
        """The shapes with an edge from which one may follow: those of the rarer of its ends."""
        label, subject = self._label_of(edge), self._id(edge.subject)
        if label == _IS_A:
            return self._lists(_key(_IS_A, 0, kind) for kind in self._downward(edge.object))
        if label == _BELOW:
            return self._lists([_key(_BELOW)])
        labels = [label] if label != _ANY else list(self._labels)
        ends = [(subject, 0)] * bool(subject) + [(0, self._id(edge.object))] * (not isinstance(edge.object, Variable))
        ways = [self._lists(_key(each, *end) for each in labels) for end in ends or [(0, 0)]]
        return min(ways, key=lambda lists: sum(map(len, lists)))

    def _downward(self, kind: Node) -> Iterable[int]:
        """A class and those below it that anybody asks for; 0 for any."""
        if isinstance(kind, Variable):
            return (0,)
        return [self._ids[each] for each in (kind, *self._taxonomy.descendants(kind)) if each in self._ids]

    def _lists(self, keys: Iterable[int]) -> list[list[int]]:
        return [self._posted[key] for key in keys if key in self._posted]


def _given_up(label: int, subject: int, object: int) -> Iterator[int]:
    """An edge, and the edge with either end open, or both."""
    yield _key(label)
    if subject:
        yield _key(label, subject)
    if object:
        yield _key(label, 0, object)
        if subject:
            yield _key(label, subject, object)


def _label(key: int) -> int:
    return key >> 2 * _WIDE


def _subject(key: int) -> int:
    return key >> _WIDE & (1 << _WIDE) - 1


def _object(key: int) -> int:
    return key & (1 << _WIDE) - 1
