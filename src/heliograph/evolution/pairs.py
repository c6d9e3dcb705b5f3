"""Pairs of ids that can be asked by either end: a set in two sorted columns, with late changes beside them.

A pair is one number, its start above its end, so a column sorted by start and one sorted by end answer everything by
bisection, at 16 bytes a pair. Single changes wait in an overlay, in which only starts are looked up, until it is an
eighth of the columns or until ends are asked for; then one pass takes it in. The law: the pairs are those of the
columns without `gone`, and `extra`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import Int32s, Int64s

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


class Pairs:
    """A set of (start, end). `change` says what it changed."""

    def __init__(self, keys: Keys = NO_KEYS) -> None:
        self._forward = keys
        self._backward = np.sort(swapped(keys))
        self._extra: dict[int, set[int]] = {}  # ends by start
        self._gone: set[int] = set()
        self._late = 0

    def __contains__(self, key: int) -> bool:
        if key >> BITS in self._extra and key & END in self._extra[key >> BITS]:
            return True
        return key not in self._gone and self._stands(key)

    def keys(self) -> Keys:
        self._settle()
        return self._forward

    def ends(self, start: int) -> set[int]:
        """Whatever a start is paired with."""
        low = self._forward.searchsorted(start << BITS)
        high = self._forward.searchsorted((start + 1) << BITS)
        standing = self._forward[low:high].tolist()
        return {key & END for key in standing if key not in self._gone} | self._extra.get(start, set())

    def of_starts(self, starts: Ids) -> Keys:
        """The pairs of many starts, which are sorted and distinct."""
        self._settle()
        return _ranges(self._forward, starts)

    def of_ends(self, ends: Ids) -> Keys:
        """The pairs of many ends, which are sorted and distinct."""
        self._settle()
        return np.sort(swapped(_ranges(self._backward, ends)))

    def change(self, added: Keys, removed: Keys) -> Difference:
        """Adds and removes pairs; what is in both stays, or comes. Those that really came and went."""
        if len(added) + len(removed) <= FEW:
            return self._change_few(added.tolist(), removed.tolist())
        self._settle()
        gained = without(added, self._forward)
        lost = within(without(removed, added), self._forward)
        self._take(gained, lost)
        return Difference(gained, lost)

    def _change_few(self, added: list[int], removed: list[int]) -> Difference:
        gained = [key for key in added if key not in self]
        lost = [key for key in removed if key not in added and key in self]
        for key in gained:
            self._add(key)
        for key in lost:
            self._remove(key)
        self._late += len(gained) + len(lost)
        if self._late > max(_LEAST, len(self._forward) >> 3):
            self._settle()
        return Difference(np.array(gained, np.int64), np.array(lost, np.int64))

    def _stands(self, key: int) -> bool:
        place = self._forward.searchsorted(key)
        return bool(place < len(self._forward) and self._forward[place] == key)

    def _add(self, key: int) -> None:
        if key in self._gone:
            self._gone.remove(key)
        else:
            self._extra.setdefault(key >> BITS, set()).add(key & END)

    def _remove(self, key: int) -> None:
        ends = self._extra.get(key >> BITS)
        if ends is None or key & END not in ends:
            self._gone.add(key)
            return
        ends.remove(key & END)
        if not ends:
            del self._extra[key >> BITS]

    def _settle(self) -> None:
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
