"""Who is an instance of what, directly and through sub-classes, and how that shifts.

x is an instance of c where x has a type from which zero or more rows lead up to c. The laws: when types change under a
fixed hierarchy, only the subjects of the changed types gain or lose; when the hierarchy shifts under fixed types, only
instances of shifted classes do, and only classes by which some closure differs. An instance with several types keeps a
class for as long as one of them leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from heliograph.evolution.hierarchy import Classes, Hierarchy, Shift
from heliograph.evolution.pairs import (
    BITS,
    END,
    FEW,
    Difference,
    Keys,
    Pairs,
    as_keys,
    distinct,
    either,
    ends_of,
    expanded,
    key_of,
    starts_of,
    without,
)

Kinds: TypeAlias = "set[int] | None"  # some classes; None is all of them


class Instances:
    """Direct types under a hierarchy."""

    def __init__(self, types: Pairs, hierarchy: Hierarchy) -> None:
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
        moved = frozenset[int]().union(*(shift.before ^ shift.after for shift in shifts.values()))
        moved = moved if kinds is None else moved & kinds
        if not moved:
            return Difference()
        shifting = self._types.of_ends(as_keys(shifts))
        types = self._types.of_starts(distinct(starts_of(shifting)))

        def before(kind: int) -> Classes:
            above = shifts[kind].before if kind in shifts else self._hierarchy.above(kind)
            return (above | {kind}) & moved

        return _difference(types, types, before, lambda kind: self._hierarchy.upwards(kind) & moved)

    def retyped(self, types: Difference) -> Difference:
        """What a change of types changed; they are known as they are after it."""
        if len(types.gained) + len(types.lost) > FEW:
            return self._retyped_many(*types)
        came, went = _by_start(types.gained), _by_start(types.lost)
        subjects = {subject: self._types.ends(subject) for subject in (*came, *went)}
        pairs: tuple[list[int], list[int]] = [], []
        for subject, after in subjects.items():
            new, old = came.get(subject, set()), went.get(subject, set())
            before = (after - new) | old
            pairs[0].extend(key_of(subject, kind) for kind in self._upwards(new) - self._upwards(before))
            pairs[1].extend(key_of(subject, kind) for kind in self._upwards(old) - self._upwards(after))
        return Difference(as_keys(pairs[0]), as_keys(pairs[1]))

    def _retyped_many(self, gained: Keys, lost: Keys) -> Difference:
        after = self._types.of_starts(distinct(starts_of(np.concatenate((gained, lost)))))
        before = either(without(after, gained), lost)
        return _difference(before, after, self._hierarchy.upwards, self._hierarchy.upwards)

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
