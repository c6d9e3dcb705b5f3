"""An immutable segment: interests built into flat arrays in one pass, ready to be searched, saved and mapped.

Only tombstones change: at which version a member was removed, and at which the last one of a structure was. They are
written in place by the one writer, in the order of versions; readers compare them with the version they hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from heliograph.errors import SubscriptionError
from heliograph.index import constraint_tables
from heliograph.index.arrays import fixed, ragged, rows_of
from heliograph.index.constraint_tables import Choice
from heliograph.index.domains import Domain
from heliograph.index.interests import Atoms, Conjuncts, Interests, offsets_of
from heliograph.index.structures import Grouped, Ordered, access_keys, group, order_steps
from heliograph.kernels.filter_layout import (
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
    Edges,
    Flags,
    Index,
    Int8s,
    Int16s,
    Int32s,
    Int64s,
    Keys,
)
from heliograph.publications import Triples

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


class Names(NamedTuple):
    """The variables of each member, as numbers of its structure's variables."""

    offsets: Int64s
    numbers: Int16s


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Some subscriptions, indexed."""

    keys: Keys
    index: Index
    names: Names
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
    def build(cls, interests: Interests, owners: Sequence[Any], sketch: Sketch, names: Names | None = None) -> Self:
        """The segment of these interests and their owners, both in order of subscribing; `names` are of interests that
        come from an older segment."""
        grouped = group(interests)
        structure = np.repeat(np.arange(len(grouped.variables)), np.diff(grouped.offsets))
        chosen = constraint_tables.choose(grouped.conjuncts, interests.conjunct_offsets)[grouped.order]
        chosen[np.diff(grouped.offsets)[structure] <= constraint_tables.FEW] = -1
        arranged = np.lexsort((interests.numbers[grouped.order], chosen >= 0, structure))
        order = grouped.order[arranged]
        ordered = order_steps(grouped.edges, grouped.variables)
        alone = (np.diff(interests.conjunct_offsets) == 1) & (interests.flags == 0)
        index = _index(interests, grouped, ordered, order, Choice(chosen[arranged], structure[arranged], alone[order]))
        own = Names(grouped.name_offsets, grouped.names)
        return cls._of(
            access_keys(ordered.steps, sketch),
            index,
            _names(own if names is None else _composed(names, own), order),
            owners,
        )

    @classmethod
    def _of(cls, keys: Keys, index: Index, names: Names, owners: Sequence[Any]) -> Self:
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

    def bury(self, member: int, stamp: int) -> None:
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

    # --- merging ------------------------------------------------------------------------------------------------

    def interests(self, stamp: int) -> tuple[Interests, Names]:
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
        return interests, Names(name_offsets, self.names.numbers[names])

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
        index: list[Any] = [died if name == "died" else fixed(arrays[f"index.{name}"]) for name in Index._fields]
        keys = Keys(*(arrays[f"keys.{name}"] for name in Keys._fields))
        return cls._of(keys, Index(*index), Names(*(arrays[f"names.{name}"] for name in Names._fields)), owners)


def _index(interests: Interests, grouped: Grouped, ordered: Ordered, order: Int64s, choice: Choice) -> Index:
    conjuncts, offsets = grouped.conjuncts, interests.conjunct_offsets
    count = len(grouped.variables)
    tables = constraint_tables.build(conjuncts, choice, count)
    rows, members = ragged(offsets, order)
    atoms, first_atom = ragged(conjuncts.offsets, rows)
    flags, variable = interests.flags[order], conjuncts.variable[rows]
    sizes = np.diff(grouped.offsets)
    scanned = sizes - np.bincount(choice.structure[choice.chosen >= 0], minlength=count)
    _check_sizes(count, len(ordered.steps.subject), len(order), len(rows), len(atoms), len(tables.entries))
    gates = _gates(ordered.steps, grouped, flags, members, variable)
    first = grouped.offsets[:-1]
    single = (sizes == 1) & (flags[first] == 0)
    asked = _asked(ordered.steps, grouped, flags, members, variable)
    structures = rows_of(
        ordered.steps.offsets[:-1],
        np.diff(ordered.steps.offsets),
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
    return Index(
        fixed(structures),
        fixed(rows_of(*ordered.steps[1:], ordered.modes + ASKED * asked, dtype=np.int32)),
        fixed(rows_of(members, np.append(flags, 0), dtype=np.int32)),
        fixed(interests.numbers[order]),
        np.full(len(order), ALIVE, np.int64),
        fixed(rows_of(np.append(variable, 0), first_atom, dtype=np.int32)),
        fixed(rows_of(*(column[atoms] for column in conjuncts.atoms), dtype=np.float64)),
        fixed(tables.tables),
        fixed(tables.entries),
    )


def _check_sizes(*sizes: int) -> None:
    """Rows are found by numbers of 32 bits: structures, steps, members, conjuncts, atoms and entries of tables."""
    if max(sizes) > MOST_ROWS:
        raise SubscriptionError(
            "HG-542",
            f"subscriptions with {max(sizes)} parts in one index, which holds {MOST_ROWS}",
            fix="divide them among several engines, or among more shards",
        )


def _gates(steps: Edges, grouped: Grouped, flags: Int8s, members: Int64s, variable: Int16s) -> Int32s:
    from heliograph.kernels.structures import find_gates

    gates = np.zeros(len(grouped.variables), np.int32)
    find_gates(
        fixed(steps),
        fixed(grouped.variables),
        fixed(grouped.offsets),
        fixed(flags),
        fixed(members),
        fixed(variable),
        gates,
    )
    return gates


def _asked(steps: Edges, grouped: Grouped, flags: Int8s, members: Int64s, variable: Int16s) -> Flags:
    """The steps that bind a variable about which a member asks."""
    from heliograph.kernels.structures import find_asked

    asked = np.zeros(len(steps.subject), np.uint8)
    find_asked(
        fixed(steps),
        fixed(grouped.variables),
        fixed(grouped.offsets),
        fixed(flags),
        fixed(members),
        fixed(variable),
        asked,
    )
    return asked.astype(np.bool_)


def _needs(index: Index) -> Needs:
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


def _names(names: Names, order: Int64s) -> Names:
    rows, offsets = ragged(names.offsets, order)
    return Names(offsets, names.numbers[rows])


def _composed(older: Names, newer: Names) -> Names:
    """The variables of members whose interests were written in another structure's numbers."""
    owner = np.repeat(np.arange(len(older.offsets) - 1), np.diff(older.offsets))
    return Names(older.offsets, newer.numbers[newer.offsets[owner] + older.numbers])


def _conjuncts(index: Index, rows: Int64s) -> Conjuncts:
    atoms, offsets = ragged(index.conjuncts[:, FIRST_ATOM].astype(np.int64), rows)
    kinds = (np.uint8, np.float64, np.float64, np.uint8)
    columns = (index.atoms[atoms, number].astype(kind) for number, kind in enumerate(kinds))
    return Conjuncts(index.conjuncts[rows, VARIABLE].astype(np.int16), offsets, Atoms(*columns))
