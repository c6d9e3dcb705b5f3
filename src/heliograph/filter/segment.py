"""An immutable segment: interests built into flat arrays in one pass, ready to be searched, checked, saved and mapped.

Only tombstones change: at which version a member was removed, and at which the last one of a structure was. They are
written in place by the one writer, in the order of versions; readers compare them with the version they hold.

Members of one structure have the same edges up to the names of variables. The law: they differ in their conditions
alone, so one search over a publication answers for all. Where many members share a structure, one condition of each,
the most selective, becomes entries of a constraint table of its variable and domain ([R] figure 4); a value then finds
the members it suits without asking the others. The law: a member that stands in tables is found for every value that
satisfies its chosen condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.compiled.growing import fixed, power_of_two, ragged, rows_of
from heliograph.errors import SubscriptionError
from heliograph.filter import layout
from heliograph.filter.interests import COMPLEX, Interests, offsets_of
from heliograph.filter.layout import (
    ASKED,
    FIRST_ATOM,
    FIRST_CONJUNCT,
    FIRST_MEMBER,
    FLAGS,
    MEMBERS,
    MODE,
    MOST_ROWS,
    STEPS,
    VARIABLE,
    VARIABLES,
    AccessKeys,
    Atoms,
    Conjuncts,
    DocumentEdges,
    Flags,
    Floats,
    Int8s,
    Int16s,
    Int32s,
    Int64s,
    SegmentArrays,
)
from heliograph.io.publications import Triples
from heliograph.sparql.regions import Domain

FEW = 8  # members that are tried one by one rather than looked up

_POINT, _BOUNDED, _HALF, _OPEN, _NEVER = range(5)  # from the most selective to what no table can answer
ALIVE = 1 << 62  # a tombstone that no version reaches
_LISTS = {1: 3, 2: 5, 3: 1, 4: 4, 5: 3, 6: 2}  # kernels.adjacency: the list that serves each mode
_GAPS = 8  # numbers for each member, up to which a table of their places is kept

Sketch = npt.NDArray[np.uint32]


class Needs(NamedTuple):
    """What a search of the segment must make ready."""

    lists: int  # a bit for each list of a publication's edges
    classes: bool
    words: bool
    steps: int  # the most of any structure
    variables: int


class VariableNames(NamedTuple):
    """The variables of each member, as numbers of its structure's variables."""

    offsets: Int64s
    numbers: Int16s


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Some subscriptions, indexed."""

    keys: AccessKeys
    index: SegmentArrays
    names: VariableNames
    alive: Int32s  # of each structure, how many members
    emptied: Int64s  # of each structure, the version at which none was left
    left: Int64s  # one number: how many members
    needs: Needs
    by_number: Int64s  # members in order of subscribing
    by_gap: Int32s  # the place of each number from the first to the last, unless these are many more than members
    owners: Sequence[Any]  # what is subscribed, in that order; known to whoever filled the index

    def __len__(self) -> int:
        return len(self.index.numbers)

    @classmethod
    def build(
        cls, interests: Interests, owners: Sequence[Any], sketch: Sketch, names: VariableNames | None = None
    ) -> Self:
        """The segment of these interests and their owners, both in order of subscribing; `names` are of interests that
        come from an older segment, written in that one's numbers for variables."""
        grouped = group(interests)
        structure = np.repeat(np.arange(len(grouped.variables)), np.diff(grouped.offsets))
        chosen = choose(grouped.conjuncts, interests.conjunct_offsets)[grouped.order]
        chosen[np.diff(grouped.offsets)[structure] <= FEW] = -1
        arranged = np.lexsort((interests.numbers[grouped.order], chosen >= 0, structure))
        order = grouped.order[arranged]
        steps, modes = order_steps(grouped.edges, grouped.variables)
        alone = (np.diff(interests.conjunct_offsets) == 1) & (interests.flags == 0)
        choice = ChosenConjuncts(chosen[arranged], structure[arranged], alone[order])
        own = grouped.names
        if names is not None:
            owner = np.repeat(np.arange(len(names.offsets) - 1), np.diff(names.offsets))
            own = VariableNames(names.offsets, own.numbers[own.offsets[owner] + names.numbers])
        rows, offsets = ragged(own.offsets, order)
        index = _index(interests, grouped, steps, modes, order, choice)
        return cls._of(access_keys(steps, sketch), index, VariableNames(offsets, own.numbers[rows]), owners)

    @classmethod
    def _of(cls, keys: AccessKeys, index: SegmentArrays, names: VariableNames, owners: Sequence[Any]) -> Self:
        by_number = np.argsort(index.numbers, kind="stable")
        return cls(
            fixed(keys),
            index,
            fixed(names),
            index.structures[:, MEMBERS].copy(),
            np.full(len(index.structures), ALIVE, np.int64),
            np.array([len(index.numbers)]),
            _needs(index),
            fixed(by_number),
            fixed(_places(index.numbers[by_number])),
            owners,
        )

    # --- removal ------------------------------------------------------------------------------------------------

    def find(self, number: int) -> int:
        """The member with this number, or -1."""
        place = int(np.searchsorted(self.index.numbers, number, sorter=self.by_number))
        if place == len(self) or self.index.numbers[self.by_number[place]] != number:
            return -1
        return int(self.by_number[place])

    def tombstone(self, member: int, stamp: int) -> None:
        """Removes a member from the version `stamp` on."""
        self.index.died[member] = stamp
        structure = int(np.searchsorted(self.index.structures[:, FIRST_MEMBER], member, side="right")) - 1
        self.alive[structure] -= 1
        self.left[0] -= 1
        if not self.alive[structure]:
            self.emptied[structure] = stamp

    @property
    def living(self) -> int:
        """How many members are left."""
        return int(self.left[0])

    def places(self, numbers: Int64s) -> Int64s:
        """The places of members, by number, in the order of subscribing."""
        first, last = self.index.numbers[self.by_number[0]], self.index.numbers[self.by_number[-1]]
        if last - first + 1 == len(self):  # without gaps: the number says it
            places: Int64s = numbers - first
            return places
        if len(self.by_gap):  # a fifth of the time of a search, or less
            places = self.by_gap[numbers - first].astype(np.int64)
            return places
        return np.searchsorted(self.index.numbers, numbers, sorter=self.by_number)

    def owner(self, number: int) -> Any:
        """What is subscribed under a number that it has."""
        return self.owners[int(self.places(np.array([number]))[0])]

    # --- merging ------------------------------------------------------------------------------------------------

    def interests(self, stamp: int) -> tuple[Interests, VariableNames]:
        """What is alive in a version, as interests again, in the structures' own numbers for variables."""
        index, kept = self.index, self.by_number[self.index.died[self.by_number] > stamp]
        structure = np.searchsorted(index.structures[:, FIRST_MEMBER], kept, side="right") - 1
        edges, edge_offsets = ragged(offsets_of(index.structures[:, STEPS]), structure)
        conjuncts, conjunct_offsets = ragged(index.members[:, FIRST_CONJUNCT].astype(np.int64), kept)
        names, name_offsets = ragged(self.names.offsets, kept)
        interests = Interests(
            index.numbers[kept],
            index.members[kept, FLAGS].astype(np.uint8),
            Triples(*(np.ascontiguousarray(index.steps[edges, part]) for part in range(3))),
            edge_offsets,
            _conjuncts(index, conjuncts),
            conjunct_offsets,
        )
        return interests, VariableNames(name_offsets, self.names.numbers[names])

    # --- saving -------------------------------------------------------------------------------------------------

    def pack(self) -> dict[str, np.ndarray[Any, Any]]:
        """Every array by name. Tombstones are not among them: save what is alive; numbers count from 0."""
        numbers = np.empty(len(self), np.int64)
        numbers[self.by_number] = np.arange(len(self))
        return {
            **{f"keys.{name}": array for name, array in self.keys._asdict().items()},
            **{f"index.{name}": array for name, array in self.index._asdict().items() if name != "died"},
            **{f"names.{name}": array for name, array in self.names._asdict().items()},
            "index.numbers": numbers,
        }

    @classmethod
    def unpack(cls, arrays: Mapping[str, np.ndarray[Any, Any]], owners: Sequence[Any]) -> Self:
        """The inverse of `pack`; the arrays are used as they are, mapped or not."""
        died = np.full(len(arrays["index.numbers"]), ALIVE, np.int64)
        index: list[Any] = [
            died if name == "died" else fixed(arrays[f"index.{name}"]) for name in SegmentArrays._fields
        ]
        keys = AccessKeys(*(arrays[f"keys.{name}"] for name in AccessKeys._fields))
        return cls._of(
            keys,
            SegmentArrays(*index),
            VariableNames(*(arrays[f"names.{name}"] for name in VariableNames._fields)),
            owners,
        )


# --- building ---------------------------------------------------------------------------------------------------------


def _index(
    interests: Interests,
    grouped: Structures,
    steps: DocumentEdges,
    modes: Int8s,
    order: Int64s,
    choice: ChosenConjuncts,
) -> SegmentArrays:
    conjuncts, offsets = grouped.conjuncts, interests.conjunct_offsets
    count = len(grouped.variables)
    tables = constraint_tables(conjuncts, choice, count)
    rows, members = ragged(offsets, order)
    atoms, first_atom = ragged(conjuncts.offsets, rows)
    flags, variable = interests.flags[order], conjuncts.variable[rows]
    sizes = np.diff(grouped.offsets)
    scanned = sizes - np.bincount(choice.structure[choice.chosen >= 0], minlength=count)
    most = max(count, len(steps.subject), len(order), len(rows), len(atoms), len(tables.entries))
    if most > MOST_ROWS:  # rows are found by numbers of 32 bits
        raise SubscriptionError(
            "HG-542",
            f"subscriptions with {most} parts in one index, which holds {MOST_ROWS}",
            fix="divide them among several engines, or among more shards",
        )
    gates, asked = _gates(steps, grouped, flags, members, variable)
    first = grouped.offsets[:-1]
    single = (sizes == 1) & (flags[first] == 0)
    structures = rows_of(
        steps.offsets[:-1],
        np.diff(steps.offsets),
        grouped.variables,
        gates,
        grouped.offsets[:-1],
        sizes,
        scanned,
        tables.offsets[:-1],
        np.diff(tables.offsets),
        single,
        dtype=np.int32,
    )
    return SegmentArrays(
        fixed(structures),
        fixed(rows_of(*steps[1:], modes + ASKED * asked, dtype=np.int32)),
        fixed(rows_of(members, np.append(flags, 0), dtype=np.int32)),
        fixed(interests.numbers[order]),
        np.full(len(order), ALIVE, np.int64),
        fixed(rows_of(np.append(variable, 0), first_atom, dtype=np.int32)),
        fixed(rows_of(*(column[atoms] for column in conjuncts.atoms), dtype=np.float64)),
        fixed(tables.tables),
        fixed(tables.entries),
    )


def _gates(
    steps: DocumentEdges, grouped: Structures, flags: Int8s, members: Int64s, variable: Int16s
) -> tuple[Int32s, Int8s]:
    """Of each structure the gate; and the steps that bind a variable about which a member asks."""
    from heliograph.filter.kernels import find_gates

    gates, asked = np.zeros(len(grouped.variables), np.int32), np.zeros(len(steps.subject), np.uint8)
    variables, offsets = fixed(grouped.variables), fixed(grouped.offsets)
    find_gates(fixed(steps), variables, offsets, fixed(flags), fixed(members), fixed(variable), gates, asked)
    return gates, asked


def _needs(index: SegmentArrays) -> Needs:
    domains = set(np.unique(index.atoms[:, 0]).astype(int).tolist())
    classes = bool(domains & {Domain.IS_A, Domain.DIRECT, Domain.SUBCLASS_OF, Domain.SUPERCLASS_OF})
    modes = np.unique(index.steps[:, MODE] % ASKED).tolist()
    lists = {0, *(_LISTS[mode] for mode in modes if mode in _LISTS), *({1} if classes else ())}
    most = [max(1, int(index.structures[:, column].max(initial=1))) for column in (STEPS, VARIABLES)]
    return Needs(sum(1 << each for each in lists), classes, Domain.WORD in domains, *most)


def _places(numbers: Int64s) -> Int32s:
    """The place of each number from the first of these to the last; nothing where there are no gaps, or large ones."""
    span = int(numbers[-1] - numbers[0]) + 1 if len(numbers) else 0
    if span == len(numbers) or span > _GAPS * len(numbers):
        return np.zeros(0, np.int32)
    places = np.zeros(span, np.int32)
    places[numbers - numbers[0]] = np.arange(len(numbers))
    return places


def _conjuncts(index: SegmentArrays, rows: Int64s) -> Conjuncts:
    atoms, offsets = ragged(index.conjuncts[:, FIRST_ATOM].astype(np.int64), rows)
    kinds = (np.uint8, np.float64, np.float64, np.uint8)
    columns = (index.atoms[atoms, number].astype(kind) for number, kind in enumerate(kinds))
    return Conjuncts(index.conjuncts[rows, VARIABLE].astype(np.int16), offsets, Atoms(*columns))


# --- structures -------------------------------------------------------------------------------------------------------


class Structures(NamedTuple):
    """Interests by structure: member i is interest order[i], its conjuncts speak of the structure's variables."""

    edges: DocumentEdges  # of structures, sorted
    variables: Int16s  # of structures, how many
    offsets: Int64s  # of members
    order: Int64s
    conjuncts: Conjuncts  # of the interests as given
    names: VariableNames  # of each interest's variables, their numbers in the structure


def group(interests: Interests) -> Structures:
    """Brings interests of the same form together."""
    from heliograph.filter.kernels import canonicalise, count_variables, number_structures

    edges = fixed(DocumentEdges(interests.edge_offsets, *interests.edges))
    count = len(interests.numbers)
    sizes = np.zeros(count, np.int64)
    count_variables(edges, sizes)
    name_offsets, names, hashes = offsets_of(sizes), np.zeros(int(sizes.sum()), np.int16), np.zeros(count, np.uint64)
    form = DocumentEdges(np.zeros(count, np.int64), *(np.empty_like(column) for column in interests.edges))
    complex_ones = fixed((interests.flags & COMPLEX).astype(np.uint8))
    canonicalise(edges, complex_ones, fixed(name_offsets), form, names, hashes)
    order, numbers = np.argsort(hashes, kind="stable"), np.zeros(count, np.int32)
    ends = fixed(form.offsets)
    total = number_structures(
        fixed(DocumentEdges(interests.edge_offsets, *form[1:])), ends, complex_ones, fixed(order), numbers
    )
    first = np.searchsorted(numbers[order], np.arange(total)) if count else np.zeros(0, np.int64)
    chosen = order[first]
    return Structures(
        _gathered(form, interests.edge_offsets[:-1][chosen], ends[chosen]),
        sizes[chosen].astype(np.int16),
        np.append(first, count).astype(np.int64),
        order,
        _renamed(interests, names, name_offsets),
        VariableNames(name_offsets, names),
    )


def _gathered(edges: DocumentEdges, begins: Int64s, ends: Int64s) -> DocumentEdges:
    offsets = offsets_of(ends - begins)
    rows = np.repeat(begins - offsets[:-1], ends - begins) + np.arange(offsets[-1])
    return DocumentEdges(offsets, *(column[rows] for column in edges[1:]))


def _renamed(interests: Interests, names: Int16s, name_offsets: Int64s) -> Conjuncts:
    """The conjuncts with the structure's numbers for variables."""
    owner = np.repeat(np.arange(len(interests.numbers)), np.diff(interests.conjunct_offsets))
    return interests.conjuncts._replace(variable=names[name_offsets[owner] + interests.conjuncts.variable])


def order_steps(edges: DocumentEdges, variables: Int16s) -> tuple[DocumentEdges, Int8s]:
    """The edges of structures as steps, in the order of verification, and what is known at each."""
    from heliograph.filter import kernels

    steps = DocumentEdges(edges.offsets.copy(), *(column.copy() for column in edges[1:]))
    modes = np.zeros(len(steps.subject), np.uint8)
    kernels.order_steps(steps, fixed(variables), modes)
    return steps, modes


def access_keys(edges: DocumentEdges, sketch: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> AccessKeys:
    """The keys under which structures are looked up, chosen from what publications held."""
    from heliograph.filter import kernels

    steps = fixed(edges)
    counts = np.zeros(power_of_two(2 * len(edges.subject)), np.uint32)
    kernels.count_edges(steps, counts)
    chosen = np.empty(len(edges.offsets) - 1, np.int64)
    kernels.choose_access(steps, sketch, counts, chosen)
    indexed = np.flatnonzero(chosen >= 0)
    known = chosen[indexed]
    subject, predicate, object = (fixed(np.maximum(column[known], -1)) for column in edges[1:])
    return _keys((subject, predicate, object), indexed, np.flatnonzero(chosen < 0))


def _keys(parts: tuple[Int32s, Int32s, Int32s], indexed: Int64s, always: Int64s) -> AccessKeys:
    from heliograph.filter import kernels

    slots, key_of = np.zeros(power_of_two(2 * len(indexed)), np.int64), np.zeros(len(indexed), np.int32)
    total = kernels.number_keys(*parts, slots, key_of)
    order = np.argsort(key_of, kind="stable")
    offsets = offsets_of(np.bincount(key_of, minlength=total)) if total else np.zeros(1, np.int64)
    subject, predicate, object = (part[order[offsets[:-1]]] for part in parts)
    masks = np.unique((parts[0] >= 0) + 2 * (parts[1] >= 0) + 4 * (parts[2] >= 0)).astype(np.uint8)
    postings = indexed[order].astype(np.int32)
    return AccessKeys(slots, subject, predicate, object, offsets, postings, masks, always.astype(np.int32))


# --- constraint tables ------------------------------------------------------------------------------------------------


class ConstraintTables(NamedTuple):
    """Rows of the index: tables, entries, and the offsets of each structure's tables."""

    tables: Int32s
    entries: Floats
    offsets: Int64s


def selectivity(conjuncts: Conjuncts) -> Int64s:
    """How wide each conjunct is: that of its widest atom."""
    atoms = conjuncts.atoms
    low, high = np.isinf(atoms.low), np.isinf(atoms.high)
    width = np.where(atoms.low == atoms.high, _POINT, _BOUNDED + low + high)
    width[atoms.domain == Domain.SUPERCLASS_OF] = _NEVER
    widest = np.zeros(len(conjuncts.variable), np.int64)
    np.maximum.at(widest, np.repeat(np.arange(len(widest)), np.diff(conjuncts.offsets)), width)
    return widest


def choose(conjuncts: Conjuncts, offsets: Int64s) -> Int64s:
    """The conjunct of each member that may stand in a table, or -1; `offsets` are of members' conjuncts."""
    width = selectivity(conjuncts)
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    usable = np.flatnonzero(width < _NEVER)
    best = usable[np.lexsort((width[usable], owner[usable]))]
    chosen = np.full(len(offsets) - 1, -1, np.int64)
    chosen[owner[best][::-1]] = best[::-1]  # the first of each owner is written last
    return chosen


class ChosenConjuncts(NamedTuple):
    """By member: the conjunct that stands in a table, or -1; the structure; whether it asks nothing else."""

    chosen: Int64s
    structure: Int64s
    alone: Flags


def constraint_tables(conjuncts: Conjuncts, choice: ChosenConjuncts, structures: int) -> ConstraintTables:
    """ConstraintTables of the chosen conjuncts."""
    from heliograph.filter.kernels import reach_of

    chosen, structure = choice.chosen, choice.structure
    members = np.flatnonzero(chosen >= 0)
    atom, ends = ragged(conjuncts.offsets, chosen[members])
    member = np.repeat(members, np.diff(ends))
    variable, domain = conjuncts.variable[chosen[member]], conjuncts.atoms.domain[atom]
    order = np.lexsort((conjuncts.atoms.low[atom], domain, variable, structure[member]))
    atom, member, domain, variable = atom[order], member[order], domain[order], variable[order]
    of = structure[member]
    key = np.stack([of, variable, domain]) if len(atom) else np.zeros((3, 0), np.int64)
    first = np.flatnonzero(np.any(np.diff(key, axis=1, prepend=-1), axis=0))
    low, high, reach = conjuncts.atoms.low[atom], conjuncts.atoms.high[atom], np.zeros(len(atom))
    reach_of(fixed(high), fixed(np.append(first, len(atom)).astype(np.int64)), reach)
    tables = rows_of(
        np.append(variable[first], 0), np.append(domain[first], 0), np.append(first, len(atom)), dtype=np.int32
    )
    offsets = np.searchsorted(of[first], np.arange(structures + 1)).astype(np.int64)
    return ConstraintTables(tables, rows_of(low, high, reach, member, choice.alone[member], dtype=np.float64), offsets)


# --- whether the arrays of a saved segment fit together ---------------------------------------------------------------
# Nothing that kernels follow may lead out of an array. The law: over arrays that pass, a search ends and reads and
# writes inside them, whatever else is wrong. Kernels do not look themselves; a save that was damaged is refused here,
# at the cost of a few passes over its columns.

Arrays: TypeAlias = Mapping[str, "np.ndarray[Any, Any]"]

# Type, and columns of one row (0: an array of one dimension), of every array by name.
_FORMS: dict[str, tuple[type[np.generic], int]] = {
    "keys.slots": (np.int64, 0),
    "keys.subject": (np.int32, 0),
    "keys.predicate": (np.int32, 0),
    "keys.object": (np.int32, 0),
    "keys.offsets": (np.int64, 0),
    "keys.postings": (np.int32, 0),
    "keys.masks": (np.uint8, 0),
    "keys.always": (np.int32, 0),
    "index.structures": (np.int32, layout.SINGLE + 1),
    "index.steps": (np.int32, 4),
    "index.members": (np.int32, 2),
    "index.numbers": (np.int64, 0),
    "index.conjuncts": (np.int32, 2),
    "index.atoms": (np.float64, 4),
    "index.tables": (np.int32, 3),
    "index.entries": (np.float64, layout.ALONE + 1),
    "names.offsets": (np.int64, 0),
    "names.numbers": (np.int16, 0),
}
_CLASSES = (Domain.IS_A, Domain.DIRECT, Domain.SUBCLASS_OF, Domain.SUPERCLASS_OF)
_LOWER_HALF = 0xFFFFFFFF


def check_arrays(arrays: Arrays, members: int, terms: int) -> None:
    """Raises ValueError if these are not the arrays of a segment of so many members over so many terms."""
    for name, (dtype, columns) in _FORMS.items():
        _check_form(arrays, name, dtype, columns)
    keys = AccessKeys(*(arrays[f"keys.{name}"] for name in AccessKeys._fields))
    index = SegmentArrays(
        *(arrays[f"index.{name}" if name != "died" else "index.numbers"] for name in SegmentArrays._fields)
    )
    _check_numbers(index, members)
    _check_structures(index)
    _check_steps(index, terms)
    _check_conjuncts(index)
    _check_atoms(index, terms)
    _check_tables(index)
    _check_names(arrays["names.offsets"], arrays["names.numbers"], index)
    _check_keys(keys, len(index.structures), terms)


def _require(holds: Any, what: str) -> None:
    if not np.all(holds):
        raise ValueError(f"{what} do not fit")


def _check_form(arrays: Arrays, name: str, dtype: type[np.generic], columns: int) -> None:
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"{name} is missing")
    shape = array.shape[1:]
    if array.dtype != dtype or array.ndim == 0 or shape != ((columns,) if columns else ()):
        raise ValueError(f"{name} is no array of {np.dtype(dtype)} in {columns or 1} columns")


def _within(values: Any, low: Any, high: Any) -> npt.NDArray[np.bool_]:
    """Which values lie between the two, `high` excluded."""
    inside: npt.NDArray[np.bool_] = (values >= low) & (values < high)
    return inside


def _are_offsets(offsets: npt.NDArray[Any], parts: int, total: int) -> bool:
    wide = offsets.astype(np.int64)
    ends = len(wide) == parts + 1 and wide[0] == 0 and wide[-1] == total
    return bool(ends and (wide[1:] >= wide[:-1]).all())


def _lie_end_to_end(first: npt.NDArray[Any], sizes: npt.NDArray[Any], total: int) -> bool:
    ends = np.cumsum(sizes.astype(np.int64))
    return bool((sizes >= 0).all() and (first == ends - sizes).all() and (ends[-1] if len(ends) else 0) == total)


def _owners(sizes: npt.NDArray[Any]) -> Int64s:
    """Of things that lie end to end, whose each is."""
    return np.repeat(np.arange(len(sizes)), sizes)


def _sizes(offsets: npt.NDArray[Any]) -> Int64s:
    wide = offsets.astype(np.int64)
    sizes: Int64s = wide[1:] - wide[:-1]
    return sizes


# --- members and structures -------------------------------------------------------------------------------------


def _check_numbers(index: SegmentArrays, members: int) -> None:
    """Numbers count the members from 0, each once."""
    numbers = index.numbers
    _require(len(numbers) == members and _within(numbers, 0, members).all(), "the numbers")
    _require(np.bincount(numbers, minlength=members) == 1, "the numbers")
    _require(_are_offsets(index.members[:, layout.FIRST_CONJUNCT], members, len(index.conjuncts) - 1), "the members")
    _require(_within(index.members[:, layout.FLAGS], 0, 4), "the members")


def _check_structures(index: SegmentArrays) -> None:
    rows = index.structures
    for first, size, total in (
        (layout.FIRST_STEP, layout.STEPS, len(index.steps)),
        (layout.FIRST_MEMBER, layout.MEMBERS, len(index.numbers)),
        (layout.FIRST_TABLE, layout.TABLES, len(index.tables) - 1),
    ):
        _require(_lie_end_to_end(rows[:, first], rows[:, size], total), "the structures")
    members = rows[:, layout.MEMBERS]
    _require(members > 0, "the structures")
    _require(members[rows[:, layout.SINGLE] != 0] == 1, "the structures")
    _require(_within(rows[:, layout.VARIABLES], 0, 1 << 15), "the structures")
    _require(_within(rows[:, layout.GATE], 0, rows[:, layout.STEPS].astype(np.int64) + 1), "the structures")
    _require(_within(rows[:, layout.SCANNED], 0, members.astype(np.int64) + 1), "the structures")


def _variables(index: SegmentArrays, sizes: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Of things that lie end to end in structures, how many variables their structure has."""
    return np.repeat(index.structures[:, layout.VARIABLES], sizes)


def _check_steps(index: SegmentArrays, terms: int) -> None:
    """Nodes are terms or variables of the structure; a part that is not known yet is a variable."""
    variables, modes = _variables(index, index.structures[:, layout.STEPS]), index.steps[:, layout.MODE]
    _require(_within(modes, 0, 2 * layout.ASKED), "the steps")
    for part, bit in ((layout.SUBJECT, 1), (layout.PREDICATE, 2), (layout.OBJECT, 4)):
        nodes = index.steps[:, part]
        _require(_within(nodes, -variables, terms), "the steps")
        _require((nodes < 0) | (modes & bit != 0), "the steps")


# --- conditions -------------------------------------------------------------------------------------------------


def _check_conjuncts(index: SegmentArrays) -> None:
    owners = _owners(_sizes(index.members[:, layout.FIRST_CONJUNCT]))
    variables = _variables(index, index.structures[:, layout.MEMBERS])[owners]
    _require(_within(index.conjuncts[:-1, layout.VARIABLE], 0, variables), "the conjuncts")
    first = index.conjuncts[:, layout.FIRST_ATOM]
    _require(_are_offsets(first, len(index.conjuncts) - 1, len(index.atoms)), "the conjuncts")


def _check_atoms(index: SegmentArrays, terms: int) -> None:
    """Domains are those there are; the coordinate of a class is a term."""
    domains, flags = index.atoms[:, layout.DOMAIN], index.atoms[:, layout.ATOM_FLAGS]
    _require(np.isin(domains, list(Domain)), "the atoms")
    _require(np.isin(flags, range(8)), "the atoms")
    classes = index.atoms[np.isin(domains, _CLASSES), layout.LOW]
    _require(_within(classes, 0, terms) & (classes == np.floor(classes)), "the atoms")


def _check_tables(index: SegmentArrays) -> None:
    """Entries are members of the table's structure; a search makes ready what atoms ask for, so tables ask for that."""
    structures, tables = index.structures, index.tables
    sizes = structures[:, layout.TABLES]
    _require(_within(tables[:-1, layout.TABLE_VARIABLE], 0, _variables(index, sizes)), "the tables")
    _require(np.isin(tables[:-1, layout.TABLE_DOMAIN], index.atoms[:, layout.DOMAIN]), "the tables")
    first = tables[:, layout.FIRST_ENTRY]
    _require(_are_offsets(first, len(tables) - 1, len(index.entries)), "the tables")
    owner = _owners(sizes)[_owners(_sizes(first))]
    begin = structures[owner, layout.FIRST_MEMBER].astype(np.int64)
    members = index.entries[:, layout.MEMBER]
    _require(_within(members, begin, begin + structures[owner, layout.MEMBERS]), "the entries")
    _require(members == np.floor(members), "the entries")


def _check_names(offsets: Int64s, numbers: npt.NDArray[np.int16], index: SegmentArrays) -> None:
    """Each member names the variables of its structure."""
    variables = _variables(index, index.structures[:, layout.MEMBERS])
    _require(_are_offsets(offsets, len(index.numbers), len(numbers)), "the names")
    _require(_sizes(offsets) == variables, "the names")
    _require(_within(numbers, 0, np.repeat(variables, variables)), "the names")


# --- keys -------------------------------------------------------------------------------------------------------


def _check_keys(keys: AccessKeys, structures: int, terms: int) -> None:
    """Every structure is found in one way; a search for a key ends at a free slot."""
    count, taken = len(keys.subject), keys.slots[keys.slots != 0]
    _require(len(keys.slots).bit_count() == 1 and len(taken) < len(keys.slots), "the slots")
    _require((taken > 0) & _within(taken & _LOWER_HALF, 1, count + 1), "the slots")
    for part in (keys.subject, keys.predicate, keys.object):
        _require(len(part) == count and _within(part, -1, terms).all(), "the keys")
    _require(_are_offsets(keys.offsets, count, len(keys.postings)), "the keys")
    _require(keys.masks < 8, "the keys")
    found = np.concatenate([keys.postings, keys.always])
    _require(_within(found, 0, structures), "the postings")
    _require(np.bincount(found, minlength=structures) == 1, "the postings")
