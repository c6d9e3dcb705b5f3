"""Arrays with room to grow, hash tables of pairs, texts kept end to end, and how much room they begin with. Does not
import Numba.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

# --- how much room there is in arrays that kernels fill ---------------------------------------------------------------
# A kernel that lacks room stops, its caller makes more, and it goes on from there. The law: where a kernel stops
# changes no answer. To test it, set the environment variable HELIOGRAPH_LEAST_ROOM to 1 (or LEAST here): then every
# array begins with room for one item and grows by no more than is lacking, so that every stop is taken again and
# again. It is slow, and of no other use.

LEAST = os.environ.get("HELIOGRAPH_LEAST_ROOM", "0") not in ("", "0")


def first_room(usual: int, least: int = 1) -> int:
    """How many items an array gets room for: the usual number, or the least that will do."""
    return least if LEAST else usual


# --- arrays with room to grow, and hash tables of pairs in the form that kernels read ---------------------------------
# Rows are only ever appended: a row keeps its number for good. An array that is full is exchanged for one twice as
# large, so appending costs a constant each; whoever handed the array on is told of the new one.
#
# A table of pairs is open addressing with linear probing over rows (key, value), its size a power of two and at most
# half of it taken; the key of (first, second) is 1 + (first << 32 | second), and 0 is free. Removal moves later rows
# of the same run back, so that no search ends too early.

Array: TypeAlias = "npt.NDArray[Any]"

_ODD, _WORD = 0x9E3779B97F4A7C15, 2**64 - 1  # 2^64 divided by the golden ratio; all bits of a word
_FIRST_ROWS, _FIRST_SLOTS = 16, 16


def pair_key(first: int, second: int) -> int:
    """What stands for a pair of numbers in a table; as `compiled.hashmap.pair_key`."""
    return (first << 32 | second) + 1


def pair_slot(key: int) -> int:
    """A hash of a pair's key; as `compiled.hashmap.spread`."""
    hashed = key * _ODD & _WORD
    return ((hashed ^ hashed >> 32) * _ODD & _WORD) >> 20


Placed: TypeAlias = "Callable[[Array], object]"  # is told of an array that takes the place of one that was full


class Rows:
    """Rows of one kind, as an array that has none of them yet declares it."""

    __slots__ = ("_placed", "array", "used")

    def __init__(self, none: Array, placed: Placed | None = None, room: int = _FIRST_ROWS) -> None:
        self.array: Array = np.zeros((first_room(room), *none.shape[1:]), none.dtype)
        self.used = 0
        self._placed: Placed = placed or (lambda array: None)
        self._placed(self.array)

    def get(self, row: int, column: str) -> int:
        """A number of a row."""
        return int(self.array[column][row])

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
        larger = np.zeros((first_room(room, least), *self.array.shape[1:]), self.array.dtype)
        larger[: self.used] = self.array[: self.used]
        self.array = larger
        self._placed(larger)


class Pairs:
    """A table of pairs and a number for each."""

    __slots__ = ("_placed", "array", "used")

    def __init__(self, placed: Placed | None = None) -> None:
        self.array: Array = np.zeros((first_room(_FIRST_SLOTS), 2), np.int64)
        self.used = 0
        self._placed: Placed = placed or (lambda array: None)
        self._placed(self.array)

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
        self.array = np.zeros((2 * len(self.array), 2), np.int64)
        for key, value in rows.tolist():
            self.array[self._slot(key)] = key, value
        self._placed(self.array)


# --- arrays that only grow --------------------------------------------------------------------------------------------
# What was handed out stays as it was while the one writer goes on.
#
# The law: a view shows the elements that there were when it was taken, for ever; appending costs a copy of everything
# only when the capacity, which doubles, is used up.

_LEAST = 16
_Arrays = TypeVar("_Arrays")


class Growing:
    """A one-dimensional array of one type with room behind its elements."""

    def __init__(self, dtype: Any, first: tuple[int, ...] = ()) -> None:
        self._data: npt.NDArray[Any] = np.zeros(_LEAST, dtype)
        self._size = 0
        self.extend(first)

    @classmethod
    def of(cls, values: npt.NDArray[Any]) -> Self:
        """Begins with an array, which may be mapped: it is copied as soon as something is added, and not before."""
        made = cls(values.dtype)
        made._data, made._size = values, len(values)
        return made

    def __len__(self) -> int:
        return self._size

    def extend(self, values: Any) -> None:
        """Appends values of the array's type, such as a list of numbers or another array."""
        added = np.asarray(values, self._data.dtype)
        size = self._size + len(added)
        if size > len(self._data):
            room = np.zeros(max(size, 2 * len(self._data)), self._data.dtype)
            room[: self._size] = self._data[: self._size]
            self._data = room
        if len(added):  # nothing fits behind an array that is full and cannot be written to
            self._data[self._size : size] = added
            self._size = size

    def replace(self, changes: dict[int, int]) -> None:
        """Other values for some elements, in a copy: views that were taken keep the old ones."""
        if changes:
            self._data = self._data.copy()
            self._data[list(changes)] = list(changes.values())

    def view(self) -> Any:
        """The elements so far, read-only."""
        shown = self._data[: self._size]
        shown.flags.writeable = False
        return shown


def fixed(arrays: _Arrays) -> _Arrays:
    """An array, or a NamedTuple of them, that cannot be written to: in memory or mapped, kernels see one type."""
    if isinstance(arrays, np.ndarray):
        view: Any = np.ascontiguousarray(arrays).view()
        view.flags.writeable = False
        return view  # type: ignore[no-any-return]
    if isinstance(arrays, tuple):
        kind: Any = type(arrays)
        return kind(*(fixed(part) for part in arrays))  # type: ignore[no-any-return]
    return arrays


# --- pieces of arrays kept end to end, each content once --------------------------------------------------------------
# The law: equal contents have one number for ever. The pieces lie in arrays that only grow, so whoever took a view
# keeps it. They are found by a flat hash table of numbers, about 20 bytes a piece where a dictionary of bytes takes
# 150; the hash is Python's keyed one, so that no choice of contents makes it slow, and contents are compared before
# they count as equal. A pool that was opened from arrays makes the table when it is first asked for a content.

Int64s = npt.NDArray[np.int64]

_FREE = -1
_FEWEST = 16  # slots
_BATCH = 1024  # pieces; one by one, appending to the arrays takes most of the time


class Pool:
    """Pieces of one type, growing; the newest wait in a list until the arrays are asked for."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._data = Growing(dtype)
        self._offsets = Growing(np.int64, (0,))
        self._new: list[bytes] = []
        self._ends: list[int] = []  # of the new pieces
        self._hashes = array("q")  # by number
        self._slots = array("i", [_FREE]) * _FEWEST
        self._entered = True  # whether the slots have all pieces

    @classmethod
    def of(cls, offsets: Int64s, data: Any) -> Self:
        """The pool of these pieces, all different."""
        made = cls(data.dtype)
        made._offsets, made._data = Growing.of(offsets), Growing.of(data)
        made._entered = False
        return made

    def __len__(self) -> int:
        return len(self._offsets) - 1 + len(self._new)

    def number(self, content: bytes) -> int:
        """The number of the piece with this content, which is there from now on."""
        hashed = hash(content)
        slot = self._slot(content, hashed)
        found = self._slots[slot]
        if found != _FREE:
            return found
        self._slots[slot] = len(self._hashes)
        return self._append(content, hashed)

    def find(self, content: bytes) -> int:
        """The number of the piece with this content, or -1."""
        return self._slots[self._slot(content, hash(content))]

    def _slot(self, content: bytes, hashed: int) -> int:
        """Where the number of a piece is, or would be."""
        if not self._entered:
            self._enter()
        mask = len(self._slots) - 1
        slot = hashed & mask
        while (found := self._slots[slot]) != _FREE:
            if self._hashes[found] == hashed and self.content(found) == content:
                break
            slot = (slot + 1) & mask
        return slot

    def place(self, content: bytes) -> int:
        """Where the piece with this content begins."""
        number = self.number(content)
        settled = len(self._offsets) - 1
        return self._ends[number - settled - 1] if number > settled else int(self._offsets.view()[number])

    def content(self, number: int) -> bytes:
        """The bytes of a piece."""
        settled = len(self._offsets) - 1
        if number >= settled:
            return self._new[number - settled]
        first, last = self._offsets.view()[number : number + 2].tolist()
        return bytes(self._data.view()[first:last].tobytes())

    def data(self) -> Any:
        """All pieces end to end, read-only."""
        self._settle()
        return self._data.view()

    def offsets(self) -> Int64s:
        """Where each piece begins, and where the last one ends; read-only."""
        self._settle()
        view: Int64s = self._offsets.view()
        return view

    @property
    def nbytes(self) -> int:
        """The memory that is in use."""
        own = self._hashes.itemsize * len(self._hashes) + self._slots.itemsize * len(self._slots)
        return own + int(self.data().nbytes) + self.offsets().nbytes

    def _enter(self) -> None:
        """Makes the table of what was there from the beginning."""
        self._hashes = array("q", [hash(self.content(number)) for number in range(len(self))])
        self._spread(1 << (2 * len(self)).bit_length())
        self._entered = True

    def _append(self, content: bytes, hashed: int) -> int:
        last = self._ends[-1] if self._ends else len(self._data)
        self._new.append(content)
        self._ends.append(last + len(content) // self._dtype.itemsize)
        self._hashes.append(hashed)
        if 2 * len(self._hashes) > len(self._slots):
            self._spread(2 * len(self._slots))
        if len(self._new) >= _BATCH:
            self._settle()
        return len(self._hashes) - 1

    def _settle(self) -> None:
        """The new pieces go into the arrays."""
        if self._new:
            self._data.extend(np.frombuffer(b"".join(self._new), self._dtype))
            self._offsets.extend(self._ends)
            self._new.clear()
            self._ends.clear()

    def _spread(self, size: int) -> None:
        """So many slots, a power of two."""
        slots = array("i", [_FREE]) * size
        mask = len(slots) - 1
        for number, hashed in enumerate(self._hashes):
            slot = hashed & mask
            while slots[slot] != _FREE:
                slot = (slot + 1) & mask
            slots[slot] = number
        self._slots = slots


# --- small helpers for the flat arrays of an index --------------------------------------------------------------------


def power_of_two(least: int) -> int:
    """The smallest power of two that is not below, and at least 2."""
    return 1 << max(1, int(least - 1).bit_length())


def ragged(offsets: Int64s, chosen: Int64s) -> tuple[Int64s, Int64s]:
    """The rows of these parts of something that lies end to end, one after the other, and their new offsets."""
    sizes = (offsets[1:] - offsets[:-1])[chosen]
    new = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return np.repeat(offsets[:-1][chosen] - new[:-1], sizes) + np.arange(new[-1]), new


def rows_of(*columns: Any, dtype: Any) -> Any:
    """Columns as the rows of one array."""
    table = np.empty((len(columns[0]), len(columns)), dtype)
    for number, column in enumerate(columns):
        table[:, number] = column
    return table
