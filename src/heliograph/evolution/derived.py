"""Derived edges: the is-a forms and rdfs:member as plain edges under properties of their own.

Whoever joins edges then needs to know nothing else. A *virtual property* is a term that no cell and no query can
spell, so its edges are seen only by those who ask for it by its id:

- TYPE: `?x a C`, the graph's rdf:type and the taxonomy's rows (without a taxonomy rdf:type itself will do);
- SUBCLASS_OF: `rdfs:subClassOf+` over the graph's rdfs:subClassOf and the taxonomy's rows;
- IS_A: `a/rdfs:subClassOf*`, that is TYPE, then zero or more rows up;
- MEMBER: `rdfs:member`, and with it every rdf:_n.

The law: after any history, the derived edges are those that the definitions give from scratch. Only what somebody
`want`s is derived and only what that needs is kept. A class relation may be wanted for one class at its upper end,
because a closure has many times the edges of its base.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, StrEnum, auto
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.evolution.hierarchy import Hierarchy, moved
from heliograph.evolution.instances import Instances, Kinds
from heliograph.evolution.members import Members
from heliograph.evolution.pairs import (
    BITS,
    FEW,
    NO_KEYS,
    Difference,
    Keys,
    Pairs,
    as_keys,
    distinct,
    either,
    ending,
    key_of,
    keys_of,
    rows_of,
    without,
)
from heliograph.kernels.evolution_layout import Int32s, Int64s
from heliograph.syntax.query import ClassPattern, Pattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import RDF_TYPE, RDFS_MEMBER, RDFS_SUBCLASS_OF, Term, iri, is_container_member

Rows: TypeAlias = "Int32s"  # edges: subject, property, object
Split: TypeAlias = "dict[Base, Int64s]"

NO_ROWS: Rows = np.empty((0, 3), np.int32)


class Relation(StrEnum):
    IS_A = "is-a"
    SUBCLASS_OF = "subclass-of"
    TYPE = "type"
    MEMBER = "member"


VIRTUAL_TERMS = tuple(iri(f"|{relation}|") for relation in Relation)  # no IRI holds a bar


class Base(Enum):
    """What relations are derived from."""

    TYPES = auto()
    CLASSES = auto()
    MEMBERS = auto()


_BASES: dict[Relation, tuple[Base, ...]] = {
    Relation.IS_A: (Base.TYPES, Base.CLASSES),
    Relation.SUBCLASS_OF: (Base.CLASSES,),
    Relation.TYPE: (Base.TYPES,),
    Relation.MEMBER: (Base.MEMBERS,),
}


class Changes(NamedTuple):
    """Derived edges that came and that went, each under its virtual property."""

    added: Rows = NO_ROWS
    removed: Rows = NO_ROWS


class Names(Protocol):
    """Terms by id and back, as a `Vocabulary` has them."""

    def intern_many(self, terms: Sequence[Term]) -> list[int]: ...

    def term(self, id: int) -> Term: ...


class Derived:
    """The derived edges of one graph.

    `base` gives the edges of the graph as it is, all or those that matter; it is asked when something is wanted whose
    base was not kept so far.
    """

    def __init__(self, taxonomy: Taxonomy, names: Names, base: Callable[[], Rows]) -> None:
        self._names = names
        self._base = base
        self._rows = _rows_of(taxonomy, names)
        kinds, classes = names.intern_many([RDF_TYPE, RDFS_SUBCLASS_OF])
        self._properties: dict[int, Base | None] = {kinds: Base.TYPES, classes: Base.CLASSES}
        self._virtual = dict(zip(Relation, names.intern_many(VIRTUAL_TERMS), strict=True))
        self._wanted: dict[Relation, Kinds] = {}  # the classes that it is wanted for
        self._kept: set[Base] = set()
        self._types = Pairs()
        self._classes = Hierarchy()
        self._members = Members()

    def virtual(self, relation: Relation) -> int:
        """The id of a relation's virtual property. All of them are neighbours, in the order of `Relation`."""
        return self._virtual[relation]

    def relation(self, pattern: Pattern) -> Relation | None:
        """The relation by which a pattern's edges are derived; None where they are plain."""
        if isinstance(pattern, ClassPattern):
            return Relation(pattern.relation)
        if pattern.predicate == RDF_TYPE and len(self._rows):
            return Relation.TYPE
        return Relation.MEMBER if pattern.predicate == RDFS_MEMBER else None

    @property
    def wanted(self) -> tuple[int, ...]:
        """The virtual properties under which there may be edges."""
        return tuple(self.virtual(relation) for relation in self._wanted)

    def concerns(self, predicate: int) -> bool:
        """Whether an edge with this property can change a derived one that somebody wants."""
        return self._base_of(predicate) in self._kept

    def concerned(self, predicates: Int32s) -> npt.NDArray[np.bool_]:
        """`concerns` for a column of properties."""
        different, which = np.unique(predicates, return_inverse=True)
        return np.array([self.concerns(predicate) for predicate in different.tolist()], np.bool_)[which]

    # --- wanting ------------------------------------------------------------------------------------------------

    def wants(self, relation: Relation, kind: int | None = None) -> bool:
        """Whether the edges of a relation that end in `kind` are derived already; None: whatever they end in."""
        if relation not in self._wanted:
            return False
        kinds = self._wanted[relation]
        return kinds is None or kind in kinds

    def want(self, relation: Relation, kind: int | None = None) -> Rows:
        """From now on the edges of a relation are derived, or those that end in `kind`: the ones of the graph as it is
        that were not derived so far. Members are derived all or not at all."""
        if self.wants(relation, kind):
            return NO_ROWS
        self._keep(_BASES[relation])
        kinds = self._wanted.setdefault(relation, set())
        assert kinds is not None
        if kind is None or relation is Relation.MEMBER:
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
            self._types = Pairs(either(self._rows, pairs[Base.TYPES]))
        if Base.CLASSES in missing:
            self._classes = Hierarchy(either(self._rows, pairs[Base.CLASSES]).tolist())
        if Base.MEMBERS in missing:
            self._members = Members(pairs[Base.MEMBERS].tolist())

    def _all(self, relation: Relation) -> Keys:
        if relation is Relation.MEMBER:
            return self._members.keys()
        if relation is Relation.SUBCLASS_OF:
            return as_keys(self._classes.pairs())
        return self._types.keys() if relation is Relation.TYPE else self._instances.all()

    def _of(self, relation: Relation, kind: int) -> Keys:
        if relation is Relation.SUBCLASS_OF:
            return as_keys(key_of(child, kind) for child in self._classes.below([kind]))
        return self._types.of_ends(np.array([kind])) if relation is Relation.TYPE else self._instances.of(kind)

    @property
    def _instances(self) -> Instances:
        return Instances(self._types, self._classes)

    # --- changing -----------------------------------------------------------------------------------------------

    def change(self, added: Rows, removed: Rows = NO_ROWS) -> Changes:
        """Follows edges that came to the graph and that left it, few or many; other properties are passed over.

        An edge that was there is not added, nor one removed that was not; one that is in both stays.
        """
        coming, going = self._split(added), self._split(removed)
        if len(removed):
            for base in (Base.TYPES, Base.CLASSES):
                going[base] = without(going[base], self._rows)  # the taxonomy still says so
        gained, lost = [NO_ROWS], [NO_ROWS]
        for relation, difference in self._differences(coming, going):
            told = difference.only(self._wanted[relation])
            gained.append(rows_of(told.gained, self.virtual(relation)))
            lost.append(rows_of(told.lost, self.virtual(relation)))
        return Changes(np.concatenate(gained), np.concatenate(lost))

    def _differences(self, coming: Split, going: Split) -> Iterator[tuple[Relation, Difference]]:
        """First the hierarchy shifts under the types as they are, then the types change under the new hierarchy."""
        among = iter if Relation.SUBCLASS_OF in self._wanted else self._instances.inhabited
        shifts = self._classes.change(coming[Base.CLASSES].tolist(), going[Base.CLASSES].tolist(), among)
        shifted = self._instances.shifted(shifts, self._wanted.get(Relation.IS_A, set()))
        types = self._types.change(coming[Base.TYPES], going[Base.TYPES])
        if Relation.IS_A in self._wanted:
            retyped = self._instances.retyped(types)
            yield Relation.IS_A, shifted.then(retyped) if shifts else retyped
        if Relation.TYPE in self._wanted:
            yield Relation.TYPE, types
        if Relation.SUBCLASS_OF in self._wanted:
            yield Relation.SUBCLASS_OF, moved(shifts)
        if Relation.MEMBER in self._wanted:
            yield Relation.MEMBER, self._members.change(coming[Base.MEMBERS].tolist(), going[Base.MEMBERS].tolist())

    def _split(self, rows: Rows) -> Split:
        """The pairs of each base that is kept. Only those of members stand there as often as edges hold them."""
        split = dict.fromkeys(Base, NO_KEYS)
        for base in self._kept if len(rows) else ():
            keys = keys_of(rows[self._within(rows[:, 1], base)])
            split[base] = keys if base is Base.MEMBERS else distinct(keys)
        return split

    def _within(self, predicates: Int32s, base: Base) -> npt.NDArray[np.bool_]:
        """Which properties belong to a base."""
        if len(predicates) <= FEW:
            return np.array([self._base_of(predicate) is base for predicate in predicates.tolist()])
        different, which = np.unique(predicates, return_inverse=True)
        return np.array([self._base_of(predicate) is base for predicate in different.tolist()])[which]

    def _base_of(self, predicate: int) -> Base | None:
        """What an edge with this property belongs to."""
        if predicate not in self._properties:
            term = self._names.term(predicate)
            member = term == RDFS_MEMBER or is_container_member(term)
            self._properties[predicate] = Base.MEMBERS if member else None
        return self._properties[predicate]


def _rows_of(taxonomy: Taxonomy, names: Names) -> Keys:
    ids = np.array(names.intern_many([term for row in taxonomy.rows for term in row]), np.int64)
    return distinct(ids[::2] << BITS | ids[1::2])
