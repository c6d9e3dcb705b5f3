"""Arrays with room to grow, and hash tables of pairs in the form that kernels read.

Rows are only ever appended: a row keeps its number for good. An array that is full is exchanged for one twice as large,
so appending costs a constant each; `exchanged` tells whoever handed the arrays on that they must be fetched again.

A table of pairs is open addressing with linear probing over rows (key, value), its size a power of two and at most half
of it taken; the key of (first, second) is 1 + (first << 32 | second), and 0 is free. Removal moves later rows of the
same run back, so that no search ends too early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.kernels.sizes import room as size

Array: TypeAlias = "npt.NDArray[Any]"

_ODD, _WORD = 0x9E3779B97F4A7C15, 2**64 - 1  # 2^64 divided by the golden ratio; all bits of a word
_FIRST_ROWS, _FIRST_SLOTS = 16, 16


def pair_key(first: int, second: int) -> int:
    """What stands for a pair of numbers in a table; as kernels.network_values.pair_key."""
    return (first << 32 | second) + 1


def pair_slot(key: int) -> int:
    """A hash of a pair's key; as kernels.network_values.pair_slot."""
    hashed = key * _ODD & _WORD
    return ((hashed ^ hashed >> 32) * _ODD & _WORD) >> 20


class Rows:
    """Rows of one kind; `columns` is 0 for an array of single numbers."""

    __slots__ = ("array", "exchanged", "used")

    def __init__(self, columns: int, dtype: type[np.generic] = np.int32, room: int = _FIRST_ROWS) -> None:
        self.array: Array = np.zeros((size(room), columns) if columns else size(room), dtype)
        self.used = 0
        self.exchanged = False

    def append(self, row: Sequence[int] | int | float) -> int:
        """Writes one more row; its number."""
        number = self.used
        if number == len(self.array):
            self._grow(number + 1)
        self.array[number] = row
        self.used = number + 1
        return number

    def extend(self, rows: Array | Sequence[Any]) -> int:
        """Writes several rows, one behind the other; the number of the first."""
        first, used = self.used, self.used + len(rows)
        if used > len(self.array):
            self._grow(used)
        if len(rows):
            self.array[first:used] = rows
        self.used = used
        return first

    def _grow(self, least: int) -> None:
        room = len(self.array)
        while room < least:
            room *= 2
        larger = np.zeros((size(room, least), *self.array.shape[1:]), self.array.dtype)
        larger[: self.used] = self.array[: self.used]
        self.array, self.exchanged = larger, True


class Pairs:
    """A table of pairs and a number for each."""

    __slots__ = ("array", "exchanged", "used")

    def __init__(self) -> None:
        self.array: Array = np.zeros((size(_FIRST_SLOTS), 2), np.int64)
        self.used = 0
        self.exchanged = False

    def find(self, first: int, second: int) -> int:
        """The number of a pair, or -1."""
        key, table = pair_key(first, second), self.array
        slot = self._slot(key)
        return int(table[slot, 1]) if table[slot, 0] else -1

    def put(self, first: int, second: int, value: int) -> None:
        """Enters a pair, or gives it another number."""
        if 2 * (self.used + 1) > len(self.array):
            self._grow()
        key = pair_key(first, second)
        slot = self._slot(key)
        self.used += not self.array[slot, 0]
        self.array[slot] = key, value

    def remove(self, first: int, second: int) -> None:
        """Takes out a pair that is there."""
        table, mask = self.array, len(self.array) - 1
        hole = self._slot(pair_key(first, second))
        slot = (hole + 1) & mask
        while key := int(table[slot, 0]):
            home = pair_slot(key) & mask
            if (slot - home) & mask >= (slot - hole) & mask:  # its search comes past the hole
                table[hole] = table[slot]
                hole = slot
            slot = (slot + 1) & mask
        table[hole] = 0
        self.used -= 1

    def items(self) -> Iterator[tuple[int, int, int]]:
        """All pairs and their numbers."""
        for key, value in self.array[self.array[:, 0] != 0].tolist():
            yield (key - 1) >> 32, (key - 1) & 0xFFFFFFFF, value

    def _slot(self, key: int) -> int:
        """Where a key stands, or the free place where it would."""
        table, mask = self.array, len(self.array) - 1
        slot = pair_slot(key) & mask
        while (found := table[slot, 0]) and found != key:
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        rows = self.array[self.array[:, 0] != 0]
        self.array, self.exchanged = np.zeros((2 * len(self.array), 2), np.int64), True
        for key, value in rows.tolist():
            self.array[self._slot(key)] = key, value
