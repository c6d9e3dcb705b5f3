"""Derived edges: the is-a forms and rdfs:member as plain edges, kept as classes and instances come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, StrEnum, auto
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.sparql.query import ClassPattern, Pattern
from heliograph.taxonomy import Row, Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, iri, is_container_member
from heliograph.vocabulary import Vocabulary
from heliograph.watch.layout import Int32s, Int64s

# --- pairs of ids ------------------------------------------------------------------------------------------------

# Sets of pairs of ids that can be asked by either end: a set in two sorted columns, with late changes beside them.
#
# A pair is one number, its start above its end, so a column sorted by start and one sorted by end answer everything
# by bisection, at 16 bytes a pair. Single changes wait in an overlay, in which only starts are looked up, until it is
# an eighth of the columns or until ends are asked for; then one pass takes it in. The law: the pairs are those of the
# columns without `gone`, and `extra`.

Ids: TypeAlias = "Int64s"
Keys: TypeAlias = "Int64s"  # pairs as numbers, sorted and distinct

BITS = 32
END = (1 << BITS) - 1
NO_KEYS: Keys = np.empty(0, np.int64)

FEW = 256  # pairs up to which sets are faster than columns
_LEAST = 4096  # pairs that the overlay may hold whatever the size of the columns


class Difference(NamedTuple):
    """Pairs that came and pairs that went."""

    gained: Keys = NO_KEYS
    lost: Keys = NO_KEYS

    def then(self, later: Difference) -> Difference:
        """Both, one after the other: what came and went again, or went and came again, did neither."""
        gained = either(without(self.gained, later.lost), without(later.gained, self.lost))
        lost = either(without(self.lost, later.gained), without(later.lost, self.gained))
        return Difference(gained, lost)

    def only(self, ends: set[int] | None) -> Difference:
        """The part of it with some ends; None is all of it."""
        return self if ends is None else Difference(ending(self.gained, ends), ending(self.lost, ends))


class PairSet:
    """A set of (start, end). `change` says what it changed."""

    def __init__(self, keys: Keys = NO_KEYS) -> None:
        self._forward = keys
        self._backward = np.sort(swapped(keys))
        self._extra: dict[int, set[int]] = {}  # ends by start
        self._gone: set[int] = set()
        self._late = 0

    def __contains__(self, key: int) -> bool:
        if key & END in self._extra.get(key >> BITS, ()):
            return True
        place = self._forward.searchsorted(key)
        return bool(key not in self._gone and place < len(self._forward) and self._forward[place] == key)

    def keys(self) -> Keys:
        self._compact()
        return self._forward

    def ends(self, start: int) -> set[int]:
        """Whatever a start is paired with."""
        low = self._forward.searchsorted(start << BITS)
        high = self._forward.searchsorted((start + 1) << BITS)
        standing = self._forward[low:high].tolist()
        return {key & END for key in standing if key not in self._gone} | self._extra.get(start, set())

    def of_starts(self, starts: Ids) -> Keys:
        """The pairs of many starts, which are sorted and distinct."""
        self._compact()
        return _ranges(self._forward, starts)

    def of_ends(self, ends: Ids) -> Keys:
        """The pairs of many ends, which are sorted and distinct."""
        self._compact()
        return np.sort(swapped(_ranges(self._backward, ends)))

    def change(self, added: Keys, removed: Keys) -> Difference:
        """Adds and removes pairs; what is in both stays, or comes. Those that really came and went."""
        if len(added) + len(removed) <= FEW:
            return self._change_few(added.tolist(), removed.tolist())
        self._compact()
        gained = without(added, self._forward)
        lost = within(without(removed, added), self._forward)
        self._take(gained, lost)
        return Difference(gained, lost)

    def _change_few(self, added: list[int], removed: list[int]) -> Difference:
        gained = [key for key in added if key not in self]
        lost = [key for key in removed if key not in added and key in self]
        for key in gained:
            if key in self._gone:
                self._gone.remove(key)
            else:
                self._extra.setdefault(key >> BITS, set()).add(key & END)
        for key in lost:
            ends = self._extra.get(key >> BITS, set())
            if key & END not in ends:
                self._gone.add(key)
                continue
            ends.remove(key & END)
            if not ends:
                del self._extra[key >> BITS]
        self._late += len(gained) + len(lost)
        if self._late > max(_LEAST, len(self._forward) >> 3):
            self._compact()
        return Difference(np.array(gained, np.int64), np.array(lost, np.int64))

    def _compact(self) -> None:
        """Takes the overlay into the columns."""
        if self._late:
            extra = as_keys(start << BITS | end for start, ends in self._extra.items() for end in ends)
            gone = as_keys(self._gone)
            self._extra, self._gone, self._late = {}, set(), 0
            self._take(extra, gone)

    def _take(self, added: Keys, removed: Keys) -> None:
        self._forward = _merged(self._forward, added, removed)
        self._backward = _merged(self._backward, np.sort(swapped(added)), np.sort(swapped(removed)))


# --- keys -------------------------------------------------------------------------------------------------------


def key_of(start: int, end: int) -> int:
    return start << BITS | end


def as_keys(keys: Iterable[int]) -> Keys:
    return distinct(np.fromiter(keys, np.int64))


def distinct(numbers: Int64s) -> Keys:
    """Sorted, each once. NumPy's own `unique` hashes: 11.6 s for 7 M numbers that differ, where sorting takes 0.5 s."""
    ordered = np.sort(numbers)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def either(keys: Keys, others: Keys) -> Keys:
    """The keys of both."""
    return distinct(np.concatenate((keys, others)))


def starts_of(keys: Keys) -> Ids:
    return keys >> BITS


def ends_of(keys: Keys) -> Ids:
    return keys & END


def swapped(keys: Keys) -> Int64s:
    return (keys & END) << BITS | keys >> BITS


def keys_of(rows: Int32s) -> Int64s:
    """The pairs of edges, whatever their property, in their order."""
    return rows[:, 0].astype(np.int64) << BITS | rows[:, 2]


def rows_of(keys: Keys, predicate: int) -> Int32s:
    """Keys as edges with one property."""
    rows = np.empty((len(keys), 3), np.int32)
    rows[:, 0], rows[:, 1], rows[:, 2] = starts_of(keys), predicate, ends_of(keys)
    return rows


def within(keys: Keys, others: Keys) -> Keys:
    """The keys that are among the others; both are sorted."""
    return keys[_found(keys, others)]


def without(keys: Keys, others: Keys) -> Keys:
    """The keys that are not among the others; both are sorted."""
    return keys[~_found(keys, others)]


def ending(keys: Keys, ends: set[int]) -> Keys:
    """The keys with some ends."""
    if len(keys) > FEW:
        return keys[np.isin(ends_of(keys), np.fromiter(ends, np.int64))]
    return keys[np.array([end in ends for end in ends_of(keys).tolist()], np.bool_)]


def expanded(keys: Keys, reached: Callable[[int], Iterable[int]]) -> Keys:
    """Each pair (x, k) becomes the pairs of x with all that k reaches, which is asked for once."""
    kinds, which = np.unique(ends_of(keys), return_inverse=True)
    lists = [np.fromiter(reached(kind), np.int64) for kind in kinds.tolist()]
    lengths = np.fromiter(map(len, lists), np.int64, len(lists))
    firsts = np.cumsum(lengths) - lengths
    targets = np.concatenate([NO_KEYS, *lists])
    counts = lengths[which]
    return distinct(np.repeat(starts_of(keys), counts) << BITS | targets[_spread(firsts[which], counts)])


def _found(keys: Keys, others: Keys) -> npt.NDArray[np.bool_]:
    if not len(others):
        return np.zeros(len(keys), np.bool_)
    places = np.minimum(others.searchsorted(keys), len(others) - 1)
    return np.asarray(others[places] == keys)


def _ranges(column: Keys, firsts: Ids) -> Keys:
    """The keys of a column whose upper half is one of `firsts`."""
    low, high = column.searchsorted(firsts << BITS), column.searchsorted((firsts + 1) << BITS)
    return column[_spread(low, high - low)]


def _spread(firsts: Int64s, counts: Int64s) -> Int64s:
    """`firsts[i]`, `firsts[i] + 1`, … as often as `counts[i]` says, one after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(firsts - before, counts) + np.arange(counts.sum())


def _merged(column: Keys, added: Keys, removed: Keys) -> Keys:
    if len(removed):
        column = np.delete(column, column.searchsorted(removed))
    return np.insert(column, column.searchsorted(added), added) if len(added) else column


# --- container membership ----------------------------------------------------------------------------------------

# What a container holds, by any rdf:_n or by rdfs:member itself.
#
# Several edges may say the same of a pair, so each pair is counted; it comes with the first and goes with the last.


class Members:
    """How many edges hold each pair (container, member)."""

    def __init__(self, keys: Iterable[int] = ()) -> None:
        self._counts = Counter(keys)

    def keys(self) -> Keys:
        return as_keys(self._counts)

    def change(self, added: Iterable[int], removed: Iterable[int]) -> Difference:
        """Takes one edge for each key; an edge that was there is not added, nor one removed that was not."""
        deltas = Counter(added)
        deltas.subtract(removed)
        gained = [key for key, delta in deltas.items() if delta > 0 and key not in self._counts]
        lost = [key for key, delta in deltas.items() if delta < 0 and self._counts[key] == -delta]
        for key, delta in deltas.items():
            self._counts[key] += delta
        for key in lost:
            del self._counts[key]
        return Difference(as_keys(gained), as_keys(lost))


# --- the sub-class relation --------------------------------------------------------------------------------------

# The sub-class relation of graph and taxonomy together, and how its closure shifts when rows come and go.
#
# `above(x)` is exactly what `rdfs:subClassOf+` reaches from x, so x is above itself only on a cycle; it is kept once
# it was asked for. The law of `change`: a closure can differ only for classes from which, before the change, the
# lower end of a changed row is reached (or which are one): a new path leads to its first new row by old ones.

Classes = frozenset[int]
Chosen = Callable[[Iterable[int]], Iterable[int]]

_NOTHING: Classes = frozenset()
Shift = tuple[Classes, Classes]  # what stood above a class before a change, and what does after it


class Hierarchy:
    """Rows (child, parent) with their closure."""

    def __init__(self, rows: Iterable[int] = ()) -> None:
        self._parents: dict[int, set[int]] = {}
        self._children: dict[int, set[int]] = {}
        self._above: dict[int, Classes] = {}
        for row in rows:
            self._add(row)

    def pairs(self) -> Iterator[int]:
        """Every class with each that is above it."""
        return (key_of(child, parent) for child in self._parents for parent in self.above(child))

    def above(self, child: int) -> Classes:
        """Everything one or more rows above a class."""
        if child not in self._parents:
            return _NOTHING
        known = self._above.get(child)
        if known is None:
            known = self._above[child] = self._closure(child)
        return known

    def upwards(self, child: int) -> Classes:
        """A class and everything above it."""
        return self.above(child) | {child}

    def below(self, parents: Iterable[int]) -> Iterable[int]:
        """Everything one or more rows below any of some classes, from above down: closures then build on closures."""
        reached: dict[int, None] = {}
        todo = [child for parent in parents for child in self._children.get(parent, ())]
        while todo:
            child = todo.pop()
            if child not in reached:
                reached[child] = None
                todo.extend(self._children.get(child, ()))
        return reached

    def change(self, added: Iterable[int], removed: Iterable[int], among: Chosen = iter) -> dict[int, Shift]:
        """Adds and removes rows; those `among` the classes concerned whose closure that changed."""
        coming = set(added)
        gained = [row for row in coming if not self._holds(row)]
        lost = [row for row in set(removed) - coming if self._holds(row)]
        ends = {row >> BITS for row in (*gained, *lost)}
        if not ends:
            return {}
        concerned = list(dict.fromkeys((*ends, *self.below(ends))))
        before = {child: self.above(child) for child in among(concerned)}
        for row in gained:
            self._add(row)
        for row in lost:
            self._remove(row)
        for child in concerned:
            self._above.pop(child, None)
        return {child: (old, new) for child, old in before.items() if (new := self.above(child)) != old}

    def _holds(self, row: int) -> bool:
        return row & END in self._parents.get(row >> BITS, ())

    def _add(self, row: int) -> None:
        self._parents.setdefault(row >> BITS, set()).add(row & END)
        self._children.setdefault(row & END, set()).add(row >> BITS)

    def _remove(self, row: int) -> None:
        for links, start, end in ((self._parents, row >> BITS, row & END), (self._children, row & END, row >> BITS)):
            links[start].remove(end)
            if not links[start]:
                del links[start]

    def _closure(self, child: int) -> Classes:
        reached: set[int] = set()
        todo = list(self._parents[child])
        while todo:
            parent = todo.pop()
            if parent in reached:
                continue
            reached.add(parent)
            known = self._above.get(parent)
            if known is None:
                todo.extend(self._parents.get(parent, ()))
            else:
                reached |= known
        return frozenset(reached)


def moved(shifts: Mapping[int, Shift]) -> Difference:
    """The pairs of the closure that shifts brought and took."""
    gained = (key_of(child, parent) for child, (before, after) in shifts.items() for parent in after - before)
    lost = (key_of(child, parent) for child, (before, after) in shifts.items() for parent in before - after)
    return Difference(as_keys(gained), as_keys(lost))


# --- instances ---------------------------------------------------------------------------------------------------

# What is an instance of which class, directly and through sub-classes, and how that shifts.
#
# x is an instance of c where x has a type from which zero or more rows lead up to c. The laws: when types change
# under a fixed hierarchy, only the subjects of the changed types gain or lose; when the hierarchy shifts under fixed
# types, only instances of shifted classes do, and only classes by which some closure differs. An instance with
# several types keeps a class for as long as one of them leads to it.

Kinds: TypeAlias = "set[int] | None"  # some classes; None is all of them


class ClassInstances:
    """Direct types under a hierarchy."""

    def __init__(self, types: PairSet, hierarchy: Hierarchy) -> None:
        self._types = types
        self._hierarchy = hierarchy

    def all(self) -> Keys:
        """Every instance with every class it belongs to."""
        return expanded(self._types.keys(), self._hierarchy.upwards)

    def of(self, kind: int) -> Keys:
        """Every instance of one class."""
        kinds = as_keys((kind, *self._hierarchy.below([kind])))
        return distinct(starts_of(self._types.of_ends(kinds)) << BITS | kind)

    def inhabited(self, kinds: Iterable[int]) -> list[int]:
        """Those among some classes that have direct instances, in their order."""
        found = set(ends_of(self._types.of_ends(as_keys(kinds))).tolist())
        return [kind for kind in kinds if kind in found]

    def shifted(self, shifts: Mapping[int, Shift], kinds: Kinds = None) -> Difference:
        """What the hierarchy's shifts changed among some classes, types being as they are."""
        moved = frozenset[int]().union(*(before ^ after for before, after in shifts.values()))
        moved = moved if kinds is None else moved & kinds
        if not moved:
            return Difference()
        shifting = self._types.of_ends(as_keys(shifts))
        types = self._types.of_starts(distinct(starts_of(shifting)))

        def before(kind: int) -> Classes:
            above = shifts[kind][0] if kind in shifts else self._hierarchy.above(kind)
            return (above | {kind}) & moved

        return _difference(types, types, before, lambda kind: self._hierarchy.upwards(kind) & moved)

    def retyped(self, types: Difference) -> Difference:
        """What a change of types changed; they are known as they are after it."""
        if len(types.gained) + len(types.lost) > FEW:
            after = self._types.of_starts(distinct(starts_of(np.concatenate(types))))
            before = either(without(after, types.gained), types.lost)
            return _difference(before, after, self._hierarchy.upwards, self._hierarchy.upwards)
        came, went = _by_start(types.gained), _by_start(types.lost)
        subjects = {subject: self._types.ends(subject) for subject in (*came, *went)}
        pairs: tuple[list[int], list[int]] = [], []
        for subject, now in subjects.items():
            new, old = came.get(subject, set()), went.get(subject, set())
            pairs[0].extend(key_of(subject, kind) for kind in self._upwards(new) - self._upwards((now - new) | old))
            pairs[1].extend(key_of(subject, kind) for kind in self._upwards(old) - self._upwards(now))
        return Difference(as_keys(pairs[0]), as_keys(pairs[1]))

    def _upwards(self, kinds: set[int]) -> set[int]:
        return set[int]().union(kinds, *map(self._hierarchy.above, kinds))


def _difference(
    before: Keys, after: Keys, reached: Callable[[int], Classes], reaches: Callable[[int], Classes]
) -> Difference:
    """Between the classes that types `reached` before and those that they reach after."""
    old, new = expanded(before, reached), expanded(after, reaches)
    return Difference(without(new, old), without(old, new))


def _by_start(keys: Keys) -> dict[int, set[int]]:
    grouped: dict[int, set[int]] = {}
    for key in keys.tolist():
        grouped.setdefault(key >> BITS, set()).add(key & END)
    return grouped


# --- derived edges -----------------------------------------------------------------------------------------------

# Derived edges: the is-a forms and rdfs:member as plain edges under properties of their own.
#
# Whoever joins edges then needs to know nothing else. A *virtual property* is a term that no cell and no query can
# spell, so its edges are seen only where it is asked for by its id:
#
# - TYPE: `?x a C`, the graph's rdf:type and the taxonomy's (where it has no types, rdf:type itself will do);
# - SUBCLASS_OF: `rdfs:subClassOf+` over the graph's rdfs:subClassOf and the taxonomy's;
# - IS_A: `a/rdfs:subClassOf*`, that is TYPE, then zero or more rows up;
# - MEMBER: `rdfs:member`, and with it every rdf:_n.
#
# The law: after any history, the derived edges are those that the definitions give from scratch. Only what is
# wanted (`want`) is derived, and only what that needs is kept. A class relation may be wanted for one class at its
# upper end, because a closure has many times the edges of its base.

Rows: TypeAlias = "Int32s"  # edges: subject, property, object
Split: TypeAlias = "dict[Base, Int64s]"

NO_ROWS: Rows = np.empty((0, 3), np.int32)


class DerivedRelation(StrEnum):
    IS_A = "is-a"
    SUBCLASS_OF = "subclass-of"
    TYPE = "type"
    MEMBER = "member"


VIRTUAL_TERMS = tuple(iri(f"|{relation}|") for relation in DerivedRelation)  # no IRI holds a bar


class Base(Enum):
    """What relations are derived from."""

    TYPES = auto()
    CLASSES = auto()
    MEMBERS = auto()


_BASES: dict[DerivedRelation, tuple[Base, ...]] = {
    DerivedRelation.IS_A: (Base.TYPES, Base.CLASSES),
    DerivedRelation.SUBCLASS_OF: (Base.CLASSES,),
    DerivedRelation.TYPE: (Base.TYPES,),
    DerivedRelation.MEMBER: (Base.MEMBERS,),
}


class DerivedChange(NamedTuple):
    """Derived edges that came and that went, each under its virtual property."""

    added: Rows = NO_ROWS
    removed: Rows = NO_ROWS


def _pairs(rows: Iterable[Row], names: Vocabulary) -> Keys:
    ids = np.array(names.intern_many([term for row in rows for term in row]), np.int64)
    return distinct(ids[::2] << BITS | ids[1::2])


class Derived:
    """The derived edges of one graph.

    `base` gives the edges of the graph as it is, all or those that matter; it is asked when something is wanted whose
    base was not kept so far.
    """

    def __init__(self, taxonomy: Taxonomy, names: Vocabulary, base: Callable[[], Rows]) -> None:
        self._names = names
        self._base = base
        rows = {Base.TYPES: taxonomy.types, Base.CLASSES: taxonomy.subclasses}
        self._rows = {base: _pairs(some, names) for base, some in rows.items()}
        kinds, classes = names.intern_many([RDF_TYPE, RDFS_SUBCLASS_OF])
        self._properties: dict[int, Base | None] = {kinds: Base.TYPES, classes: Base.CLASSES}
        self._virtual = dict(zip(DerivedRelation, names.intern_many(VIRTUAL_TERMS), strict=True))
        self._wanted: dict[DerivedRelation, Kinds] = {}  # the classes that it is wanted for
        self._kept: set[Base] = set()
        self._types = PairSet()
        self._classes = Hierarchy()
        self._members = Members()

    def virtual(self, relation: DerivedRelation) -> int:
        """The id of a relation's virtual property. All of them are neighbours, in the order of `DerivedRelation`."""
        return self._virtual[relation]

    def relation(self, pattern: Pattern) -> DerivedRelation | None:
        """The relation by which a pattern's edges are derived; None where they are plain."""
        if isinstance(pattern, ClassPattern):
            return DerivedRelation(pattern.relation)
        if pattern.predicate == RDF_TYPE and len(self._rows[Base.TYPES]):
            return DerivedRelation.TYPE
        return DerivedRelation.MEMBER if pattern.predicate == RDFS_MEMBER else None

    @property
    def wanted(self) -> tuple[int, ...]:
        """The virtual properties under which there may be edges."""
        return tuple(map(self._virtual.__getitem__, self._wanted)) if self._wanted else ()

    def concerned(self, predicates: Int32s) -> npt.NDArray[np.bool_]:
        """Of which of these properties an edge can change a derived one that is wanted."""
        return self._based(predicates, self._kept)

    # --- wanting ------------------------------------------------------------------------------------------------

    def wants(self, relation: DerivedRelation, kind: int | None = None) -> bool:
        """Whether the edges of a relation that end in `kind` are derived already; None: whatever they end in."""
        if relation not in self._wanted:
            return False
        kinds = self._wanted[relation]
        return kinds is None or kind in kinds

    def want(self, relation: DerivedRelation, kind: int | None = None) -> Rows:
        """From now on the edges of a relation are derived, or those that end in `kind`: the ones of the graph as it is
        that were not derived so far. Members are derived all or not at all."""
        if self.wants(relation, kind):
            return NO_ROWS
        self._keep(_BASES[relation])
        kinds = self._wanted.setdefault(relation, set())
        assert kinds is not None
        if kind is None or relation is DerivedRelation.MEMBER:
            found, self._wanted[relation] = self._all(relation), None
            found = without(found, ending(found, kinds))
        else:
            found = self._of(relation, kind)
            kinds.add(kind)
        return rows_of(found, self.virtual(relation))

    def _keep(self, bases: Iterable[Base]) -> None:
        """Keeps from now on what a relation is derived from."""
        missing = [base for base in bases if base not in self._kept]
        self._kept.update(missing)
        pairs = self._split(self._base()) if missing else {}
        if Base.TYPES in missing:
            self._types = PairSet(either(self._rows[Base.TYPES], pairs[Base.TYPES]))
        if Base.CLASSES in missing:
            self._classes = Hierarchy(either(self._rows[Base.CLASSES], pairs[Base.CLASSES]).tolist())
        if Base.MEMBERS in missing:
            self._members = Members(pairs[Base.MEMBERS].tolist())

    def _all(self, relation: DerivedRelation) -> Keys:
        if relation is DerivedRelation.MEMBER:
            return self._members.keys()
        if relation is DerivedRelation.SUBCLASS_OF:
            return as_keys(self._classes.pairs())
        return self._types.keys() if relation is DerivedRelation.TYPE else self._instances.all()

    def _of(self, relation: DerivedRelation, kind: int) -> Keys:
        if relation is DerivedRelation.SUBCLASS_OF:
            return as_keys(key_of(child, kind) for child in self._classes.below([kind]))
        return self._types.of_ends(np.array([kind])) if relation is DerivedRelation.TYPE else self._instances.of(kind)

    @property
    def _instances(self) -> ClassInstances:
        return ClassInstances(self._types, self._classes)

    # --- changing -----------------------------------------------------------------------------------------------

    def change(self, added: Rows, removed: Rows = NO_ROWS) -> DerivedChange:
        """Follows edges that came to the graph and that left it, few or many; other properties are passed over.

        An edge that was there is not added, nor one removed that was not; one that is in both stays.
        """
        coming, going = self._split(added), self._split(removed)
        if len(removed):
            for base in (Base.TYPES, Base.CLASSES):
                going[base] = without(going[base], self._rows[base])  # the taxonomy still says so
        gained, lost = [NO_ROWS], [NO_ROWS]
        for relation, difference in self._differences(coming, going):
            wanted = difference.only(self._wanted[relation])
            gained.append(rows_of(wanted.gained, self.virtual(relation)))
            lost.append(rows_of(wanted.lost, self.virtual(relation)))
        return DerivedChange(np.concatenate(gained), np.concatenate(lost))

    def _differences(self, coming: Split, going: Split) -> Iterator[tuple[DerivedRelation, Difference]]:
        """First the hierarchy shifts under the types as they are, then the types change under the new hierarchy."""
        among = iter if DerivedRelation.SUBCLASS_OF in self._wanted else self._instances.inhabited
        shifts = self._classes.change(coming[Base.CLASSES].tolist(), going[Base.CLASSES].tolist(), among)
        shifted = self._instances.shifted(shifts, self._wanted.get(DerivedRelation.IS_A, set()))
        types = self._types.change(coming[Base.TYPES], going[Base.TYPES])
        if DerivedRelation.IS_A in self._wanted:
            retyped = self._instances.retyped(types)
            yield DerivedRelation.IS_A, shifted.then(retyped) if shifts else retyped
        if DerivedRelation.TYPE in self._wanted:
            yield DerivedRelation.TYPE, types
        if DerivedRelation.SUBCLASS_OF in self._wanted:
            yield DerivedRelation.SUBCLASS_OF, moved(shifts)
        if DerivedRelation.MEMBER in self._wanted:
            yield (
                DerivedRelation.MEMBER,
                self._members.change(coming[Base.MEMBERS].tolist(), going[Base.MEMBERS].tolist()),
            )

    def _split(self, rows: Rows) -> Split:
        """The pairs of each base that is kept. Only those of members stand there as often as edges hold them."""
        split = dict.fromkeys(Base, NO_KEYS)
        for base in self._kept if len(rows) else ():
            keys = keys_of(rows[self._based(rows[:, 1], {base})])
            split[base] = keys if base is Base.MEMBERS else distinct(keys)
        return split

    def _based(self, predicates: Int32s, bases: set[Base]) -> npt.NDArray[np.bool_]:
        """Which properties of a column belong to these bases; of many, each is looked up once."""
        if len(predicates) <= FEW:
            return np.array([self._base_of(predicate) in bases for predicate in predicates.tolist()], np.bool_)
        different, which = np.unique(predicates, return_inverse=True)
        return np.array([self._base_of(predicate) in bases for predicate in different.tolist()], np.bool_)[which]

    def _base_of(self, predicate: int) -> Base | None:
        """What an edge with this property belongs to."""
        if predicate not in self._properties:
            term = self._names.term(predicate)
            member = term == RDFS_MEMBER or is_container_member(term)
            self._properties[predicate] = Base.MEMBERS if member else None
        return self._properties[predicate]
