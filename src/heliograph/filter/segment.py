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

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.compiled.growing import fixed, power_of_two, ragged, rows_of
from heliograph.errors import SubscriptionError
from heliograph.filter import layout
from heliograph.filter.interests import COMPLEX, Interests, chained, in_order, offsets_of
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
    from heliograph.filter.kernels import find_gates

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
    gates, asked = np.zeros(count, np.int32), np.zeros(len(steps.subject), np.uint8)
    asking = (fixed(flags), fixed(members), fixed(variable))
    find_gates(fixed(steps), fixed(modes), fixed(grouped.variables), fixed(grouped.offsets), *asking, gates, asked)
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
    begins, lengths = interests.edge_offsets[:-1][chosen], ends[chosen] - interests.edge_offsets[:-1][chosen]
    offsets = offsets_of(lengths)
    rows = np.repeat(begins - offsets[:-1], lengths) + np.arange(offsets[-1])
    structures = DocumentEdges(offsets, *(column[rows] for column in form[1:]))
    owner = np.repeat(np.arange(count), np.diff(interests.conjunct_offsets))
    return Structures(
        structures,
        sizes[chosen].astype(np.int16),
        np.append(first, count).astype(np.int64),
        order,
        interests.conjuncts._replace(variable=names[name_offsets[owner] + interests.conjuncts.variable]),
        VariableNames(name_offsets, names),
    )


def order_steps(edges: DocumentEdges, variables: Int16s) -> tuple[DocumentEdges, Int8s]:
    """The edges of structures as steps, in the order of verification, and what is known at each."""
    from heliograph.filter import kernels

    steps = DocumentEdges(edges.offsets.copy(), *(column.copy() for column in edges[1:]))
    modes = np.zeros(len(steps.subject), np.uint8)
    kernels.order_steps(steps, fixed(variables), modes)
    return steps, modes


def access_keys(edges: DocumentEdges, sketch: Sketch) -> AccessKeys:
    """The keys under which structures are looked up, chosen from what publications held."""
    from heliograph.filter import kernels

    steps = fixed(edges)
    counts = np.zeros(power_of_two(2 * len(edges.subject)), np.uint32)
    kernels.count_edges(steps, counts)
    chosen = np.empty(len(edges.offsets) - 1, np.int64)
    kernels.choose_access(steps, sketch, counts, chosen)
    indexed = np.flatnonzero(chosen >= 0)
    known = chosen[indexed]
    parts: Any = [fixed(np.maximum(column[known], -1)) for column in edges[1:]]
    slots, key_of = np.zeros(power_of_two(2 * len(indexed)), np.int64), np.zeros(len(indexed), np.int32)
    total = kernels.number_keys(parts[0], parts[1], parts[2], slots, key_of)
    order = np.argsort(key_of, kind="stable")
    offsets = offsets_of(np.bincount(key_of, minlength=total)) if total else np.zeros(1, np.int64)
    subject, predicate, object = (part[order[offsets[:-1]]] for part in parts)
    masks = np.unique((parts[0] >= 0) + 2 * (parts[1] >= 0) + 4 * (parts[2] >= 0)).astype(np.uint8)
    postings = indexed[order].astype(np.int32)
    always = np.flatnonzero(chosen < 0).astype(np.int32)
    return AccessKeys(slots, subject, predicate, object, offsets, postings, masks, always)


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


# --- segments of growing size -----------------------------------------------------------------------------------------
# A small tail that is rebuilt at once, larger segments that are merged in the background.
#
# The laws: a version never changes; what was added is found in every later version until it is removed; a segment is
# merged with smaller ones when they have grown to a share of it, so each subscription is rebuilt about log n times and
# there are about log n segments. A large merge runs in a thread of its own on what was alive when it began; whatever
# was removed meanwhile is removed from its result before that takes the place of its sources.

TAIL = 32  # subscriptions that are always rebuilt with the next one
RATIO = 4  # a segment is merged once the smaller ones together are a fourth of it
LARGE = 4096  # subscriptions whose merge goes on in the background
WAITING = 128  # single subscriptions that wait for somebody to look

_CELLS = 1 << 19  # of the sketch
_EVERY = 8  # so many publications, one is counted
_WASTE = 4  # structures verified in vain for each that held, beyond which better ways in are looked for
_ENOUGH = 16  # publications counted before they are trusted


class SegmentsVersion(NamedTuple):
    """The segments at one moment."""

    segments: tuple[Segment, ...] = ()
    stamp: int = 0
    size: int = 0


_Part = tuple[Interests, VariableNames | None, list[Any]]  # interests, their names if from a segment, their owners


class Segments:
    """The index of one engine. One writer at a time; readers take a version and need no lock."""

    def __init__(self) -> None:
        self._version = SegmentsVersion()
        self._waiting: dict[int, _Part] = {}  # a few new ones by number, to be built when somebody looks
        self._sketch: Sketch = np.zeros(_CELLS, np.uint32)
        self._counted = 0  # publications in the sketch
        self._trusted: dict[int, int] = {}  # by segment, how many were when its ways in were chosen
        self._lock = threading.RLock()
        self._merging: tuple[Segment, ...] = ()
        self._thread: threading.Thread | None = None

    @property
    def version(self) -> SegmentsVersion:
        """The index as it is now; what is waiting is built in first.

        Nobody waits in a version that is still the same after a look at who does: building them makes another.
        """
        held = self._version
        if not self._waiting and held is self._version:
            return held
        with self._lock:
            self._build_waiting()
            return self._version

    # --- writing ------------------------------------------------------------------------------------------------

    def add(self, interests: Interests, owners: Sequence[Any]) -> None:
        """Adds interests, whose numbers are above all earlier ones, in their order."""
        with self._lock:
            if len(interests.numbers) == 1:
                self._waiting[int(interests.numbers[0])] = interests, None, list(owners)
                if len(self._waiting) >= WAITING:
                    self._build_waiting()
            elif len(interests.numbers):
                self._build_waiting()
                self._add((interests, None, list(owners)))

    def _build_waiting(self) -> None:
        waiting = list(self._waiting.values())
        if waiting:
            self._add(_joined(waiting))
            self._waiting = {}

    def _add(self, part: _Part) -> None:
        """The next version holds these too: at once in a segment of their own, or merged with smaller ones."""
        size = len(part[0].numbers)
        sources = self._sources(size)
        if sources and size + sum(source.living for source in sources) <= LARGE:
            alive = [_alive(source, self._version.stamp) for source in sources]
            self._replace(sources, self._build([*alive, part]), size)
            return
        added = self._build([part])
        self._replace((), added, size)
        if sources:
            self._start((*sources, added))

    def remove(self, numbers: Iterable[int]) -> None:
        """Removes subscriptions by number, from the next version on."""
        with self._lock:
            gone, version = set(numbers), self._version
            removed = sum(self._tombstone(number, version.stamp + 1) for number in gone if number not in self._waiting)
            if removed:
                self._version = SegmentsVersion(version.segments, version.stamp + 1, version.size - removed)
            # Last, because a reader that finds nobody waiting takes the version as it is.
            self._waiting = {number: part for number, part in self._waiting.items() if number not in gone}
            if removed:
                self._clean()

    def _tombstone(self, number: int, stamp: int) -> bool:
        for segment in self._version.segments:
            member = segment.find(number)
            if member >= 0 and segment.index.died[member] == ALIVE:
                segment.tombstone(member, stamp)
                return True
        return False

    def _sources(self, size: int) -> tuple[Segment, ...]:
        """The segments that are to be merged with so many new subscriptions."""
        sources: list[Segment] = []
        for segment in reversed(self._version.segments):
            if segment in self._merging or segment.living > max(TAIL, RATIO * size):
                break
            sources.append(segment)
            size += segment.living
            if size > LARGE and self._merging:
                return tuple(reversed(sources[:-1]))
        return tuple(reversed(sources))

    def _clean(self) -> None:
        """Rebuilds the segments of which more than half is dead."""
        for segment in self._version.segments:
            living = segment.living
            if segment in self._merging or 2 * living > len(segment):
                continue
            if len(segment) <= LARGE:
                rebuilt = self._merge((segment,), self._version.stamp) if living else None
                self._replace((segment,), rebuilt, 0)
            elif not self._merging:
                self._start((segment,))

    def _replace(self, sources: Sequence[Segment], segment: Segment | None, added: int) -> None:
        """The next version; the place of a merged segment is that of the last of its sources."""
        version = self._version
        kept = [each for each in version.segments if each not in sources]
        if segment is not None:
            kept.append(segment)
        kept.sort(key=len, reverse=True)
        for source in sources:
            self._trusted.pop(id(source), None)
        self._version = SegmentsVersion(tuple(kept), version.stamp + 1, version.size + added)

    # --- merging ------------------------------------------------------------------------------------------------

    def _build(self, parts: Sequence[_Part]) -> Segment:
        interests, names, owners = _joined(parts)
        segment = Segment.build(interests, owners, self._sketch, names)
        self._trusted[id(segment)] = self._counted
        return segment

    def _merge(self, sources: Sequence[Segment], stamp: int) -> Segment:
        return self._build([_alive(source, stamp) for source in sources])

    def _start(self, sources: tuple[Segment, ...]) -> None:
        """Begins a merge in the background, unless one is running."""
        if self._merging:
            return
        self._merging = sources
        self._thread = threading.Thread(target=self._run, args=(sources, self._version.stamp), name="heliograph-merge")
        self._thread.start()

    def _run(self, sources: tuple[Segment, ...], stamp: int) -> None:
        try:
            merged = self._merge(sources, stamp) if any(source.living for source in sources) else None
            with self._lock:
                if merged is not None:
                    _remove_again(sources, merged, stamp)
                self._replace(sources, merged, 0)
        finally:
            with self._lock:
                self._merging = ()
                self._clean()

    def wait(self) -> None:
        """Waits until no merge is running."""
        while (thread := self._thread) is not None and thread.is_alive():
            thread.join()

    # --- saving -------------------------------------------------------------------------------------------------

    def whole(self) -> Segment | None:
        """Everything that is alive as one segment without tombstones; to be asked while nobody writes."""
        self.wait()
        version = self.version
        if not version.size:
            return None
        if len(version.segments) == 1 and len(version.segments[0]) == version.size:
            return version.segments[0]
        parts = [_alive(segment, version.stamp) for segment in version.segments if segment.living]
        interests, names, owners = _joined(parts)
        return Segment.build(interests, owners, self._sketch, names)

    def adopt(self, segment: Segment) -> None:
        """Takes over a segment as everything there is."""
        with self._lock:
            self._trusted = {id(segment): 0}
            self._version = SegmentsVersion((segment,), self._version.stamp + 1, len(segment))

    # --- what publications teach --------------------------------------------------------------------------------

    def observe(self, edges: DocumentEdges) -> None:
        """Counts what some publications hold, so that rare edges can be chosen as ways in."""
        from heliograph.filter.kernels import sketch_edges

        publications = len(edges.offsets) - 1
        every = 1 if self._counted < _ENOUGH else _EVERY
        begin = 0 if every == 1 else self._counted % every
        sketch_edges(edges, min(begin, max(0, publications - 1)), every, self._sketch)
        self._counted += max(1, publications // every)

    def reconsider(self, segment: Segment, searched: Int32s, held: int, publications: int) -> None:
        """Chooses other ways in for a segment if too much was verified in vain under the present ones."""
        vain = len(searched) - held
        known = self._trusted.get(id(segment))
        if vain <= _WASTE * (held + publications) or known is None or self._counted < max(_ENOUGH, 2 * known):
            return
        if self._lock.acquire(blocking=False):
            try:
                self._choose_again(segment)
            finally:
                self._lock.release()

    def _choose_again(self, segment: Segment) -> None:
        if segment not in self._version.segments or self._merging:
            return
        if segment.living > LARGE:
            self._start((segment,))
        elif segment.living:
            self._replace((segment,), self._merge((segment,), self._version.stamp), 0)


def _alive(segment: Segment, stamp: int) -> _Part:
    interests, names = segment.interests(stamp)
    places = segment.places(interests.numbers).tolist()
    owners = segment.owners
    return interests, names, [owners[place] for place in places]


def _remove_again(sources: Iterable[Segment], merged: Segment, stamp: int) -> None:
    """Removes from the result of a merge what was removed while it ran."""
    for source in sources:
        died = source.index.died
        for member in np.flatnonzero((died > stamp) & (died < ALIVE)).tolist():
            merged.tombstone(merged.find(int(source.index.numbers[member])), int(died[member]))


def _joined(parts: Sequence[_Part]) -> _Part:
    """Several as one, in order of subscribing."""
    if len(parts) == 1:
        return parts[0]
    interests, order = in_order([part[0] for part in parts])
    owners = [owner for part in parts for owner in part[2]]
    names = None
    if not all(part[1] is None for part in parts):
        every = [_own_names(given) if names is None else names for given, names, _ in parts]
        rows, offsets = ragged(chained([each.offsets for each in every]), order)
        names = VariableNames(offsets, np.concatenate([each.numbers for each in every])[rows])
    return interests, names, [owners[place] for place in order.tolist()]


def _own_names(interests: Interests) -> VariableNames:
    """Names for interests that are in their own numbers still."""
    from heliograph.filter.kernels import count_variables

    sizes = np.zeros(len(interests.numbers), np.int64)
    count_variables(fixed(DocumentEdges(interests.edge_offsets, *interests.edges)), sizes)
    offsets = offsets_of(sizes)
    return VariableNames(offsets, (np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)).astype(np.int16))


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


def check_arrays(arrays: Arrays, members: int, terms: int) -> None:
    """Raises ValueError if these are not the arrays of a segment of so many members over so many terms."""
    for name, (dtype, columns) in _FORMS.items():
        array = arrays.get(name)
        if array is None:
            raise ValueError(f"{name} is missing")
        if array.dtype != dtype or array.ndim == 0 or array.shape[1:] != ((columns,) if columns else ()):
            raise ValueError(f"{name} is no array of {np.dtype(dtype)} in {columns or 1} columns")
    held = {**arrays, "index.died": arrays["index.numbers"]}
    made: Any = (
        kind(*(held[f"{prefix}.{name}"] for name in kind._fields))
        for prefix, kind in (("keys", AccessKeys), ("index", SegmentArrays), ("names", VariableNames))
    )
    keys, index, names = made
    checks = chain(_index_checks(index, names, members, terms), _key_checks(keys, len(index.structures), terms))
    for what, holds in checks:
        if not np.all(holds):
            raise ValueError(f"{what} do not fit")


_Checks = Iterator[tuple[str, Any]]  # what is looked at, and whether it fits; each relies on those before it


def _index_checks(index: SegmentArrays, names: VariableNames, members: int, terms: int) -> _Checks:
    numbers, rows, steps, tables = index.numbers, index.structures, index.steps, index.tables
    conjuncts, atoms, entries = index.conjuncts, index.atoms, index.entries
    yield "the numbers", len(numbers) == members and _within(numbers, 0, members).all()
    yield "the numbers", np.bincount(numbers, minlength=members) == 1  # they count the members from 0, each once
    yield "the members", _are_offsets(index.members[:, FIRST_CONJUNCT], members, len(conjuncts) - 1)
    yield "the members", _within(index.members[:, FLAGS], 0, 4)
    for first, size, total in (
        (layout.FIRST_STEP, STEPS, len(steps)),
        (FIRST_MEMBER, MEMBERS, members),
        (layout.FIRST_TABLE, layout.TABLES, len(tables) - 1),
    ):
        sizes = rows[:, size].astype(np.int64)
        yield "the structures", sizes >= 0
        yield "the structures", _are_offsets(np.append(rows[:, first], total), len(rows), total)
        yield "the structures", np.diff(np.append(rows[:, first].astype(np.int64), total)) == sizes
    yield "the structures", rows[:, MEMBERS] > 0
    yield "the structures", rows[rows[:, layout.SINGLE] != 0, MEMBERS] == 1
    yield "the structures", _within(rows[:, VARIABLES], 0, 1 << 15)
    yield "the structures", _within(rows[:, layout.GATE], 0, rows[:, STEPS].astype(np.int64) + 1)
    yield "the structures", _within(rows[:, layout.SCANNED], 0, rows[:, MEMBERS].astype(np.int64) + 1)
    # Nodes are terms or variables of the structure; a part that is not known yet is a variable.
    yield "the steps", _within(steps[:, MODE], 0, 2 * ASKED)
    for part, bit in ((layout.SUBJECT, 1), (layout.PREDICATE, 2), (layout.OBJECT, 4)):
        yield "the steps", _within(steps[:, part], -np.repeat(rows[:, VARIABLES], rows[:, STEPS]), terms)
        yield "the steps", (steps[:, part] < 0) | (steps[:, MODE] & bit != 0)
    variables = np.repeat(rows[:, VARIABLES], rows[:, MEMBERS])  # of each member's structure
    yield "the conjuncts", _within(conjuncts[:-1, VARIABLE], 0, np.repeat(variables, _sizes(index.members[:, 0])))
    yield "the conjuncts", _are_offsets(conjuncts[:, FIRST_ATOM], len(conjuncts) - 1, len(atoms))
    # Domains are those there are; the coordinate of a class is a term.
    yield "the atoms", np.isin(atoms[:, layout.DOMAIN], list(Domain))
    yield "the atoms", np.isin(atoms[:, layout.ATOM_FLAGS], range(8))
    classes = atoms[np.isin(atoms[:, layout.DOMAIN], _CLASSES), layout.LOW]
    yield "the atoms", _within(classes, 0, terms) & (classes == np.floor(classes))
    # Entries are members of the table's structure; a search makes ready what atoms ask for, so tables ask for that.
    owner = np.repeat(np.arange(len(rows)), rows[:, layout.TABLES])
    yield "the tables", _within(tables[:-1, layout.TABLE_VARIABLE], 0, rows[owner, VARIABLES])
    yield "the tables", np.isin(tables[:-1, layout.TABLE_DOMAIN], atoms[:, layout.DOMAIN])
    yield "the tables", _are_offsets(tables[:, layout.FIRST_ENTRY], len(tables) - 1, len(entries))
    owner = np.repeat(owner, _sizes(tables[:, layout.FIRST_ENTRY]))
    begin, member = rows[owner, FIRST_MEMBER].astype(np.int64), entries[:, layout.MEMBER]
    yield "the entries", _within(member, begin, begin + rows[owner, MEMBERS]) & (member == np.floor(member))
    # Each member names the variables of its structure.
    yield "the names", _are_offsets(names.offsets, members, len(names.numbers))
    yield "the names", _sizes(names.offsets) == variables
    yield "the names", _within(names.numbers, 0, np.repeat(variables, variables))


def _key_checks(keys: AccessKeys, structures: int, terms: int) -> _Checks:
    """Every structure is found in one way; a search for a key ends at a free slot."""
    count, taken = len(keys.subject), keys.slots[keys.slots != 0]
    yield "the slots", len(keys.slots).bit_count() == 1 and len(taken) < len(keys.slots)
    yield "the slots", (taken > 0) & _within(taken & 0xFFFFFFFF, 1, count + 1)
    for part in (keys.subject, keys.predicate, keys.object):
        yield "the keys", len(part) == count and _within(part, -1, terms).all()
    yield "the keys", _are_offsets(keys.offsets, count, len(keys.postings))
    yield "the keys", keys.masks < 8
    found = np.concatenate([keys.postings, keys.always])
    yield "the postings", _within(found, 0, structures)
    yield "the postings", np.bincount(found, minlength=structures) == 1


def _within(values: Any, low: Any, high: Any) -> Flags:
    """Which values lie between the two, `high` excluded."""
    inside: Flags = (values >= low) & (values < high)
    return inside


def _sizes(offsets: npt.NDArray[Any]) -> Int64s:
    wide = offsets.astype(np.int64)
    sizes: Int64s = wide[1:] - wide[:-1]
    return sizes


def _are_offsets(offsets: npt.NDArray[Any], parts: int, total: int) -> bool:
    ends = len(offsets) == parts + 1 and offsets[0] == 0 and offsets[-1] == total
    return bool(ends and (_sizes(offsets) >= 0).all())
