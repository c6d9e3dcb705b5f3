"""Texts by number, and numbers by text: the ids and the targeting of an exchange as Arrow arrays, not as objects.

The law: nothing that was added is ever changed, except that an id may come to mean a later number. So readers need no
lock. What comes in bulk lies in Arrow arrays and a flat hash table; what comes later, one by one, in dictionaries.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from typing import Any, Self

import numpy as np
import pyarrow as pa

from heliograph.kernels.layout import Table
from heliograph.kernels.layout import Texts as FlatTexts
from heliograph.kernels.targeting_layout import Int32s, Int64s
from heliograph.tables.columns import Array
from heliograph.vocabulary.hashtable import find_text, find_texts, make_table

_SEGMENT = 64  # values that come together are kept as an array of their own from so many on
_COLD, _WARM = 20_000, 2_000


def pays(count: int) -> bool:
    """Whether so many nodes are worth the kernels: one costs some microseconds in Python, importing Numba a second."""
    return count >= (_WARM if "numba" in sys.modules else _COLD)


class Column:
    """Values of one Arrow type by number; what was never added is null."""

    def __init__(self, type: pa.DataType) -> None:
        self._type = type
        self._starts: list[int] = []
        self._arrays: list[Array] = []
        self._later: dict[int, Any] = {}
        self._whole: Array | None = None

    def extend(self, first: int, values: Array | None) -> None:
        """Adds values for consecutive numbers above all earlier ones; None stands for nulls only."""
        if values is None or not len(values):
            return
        if len(values) >= _SEGMENT:
            self._arrays.append(values)
            self._starts.append(first)  # last, because readers look here first
        else:
            self._later.update((n, value) for n, value in enumerate(values.to_pylist(), first) if value is not None)

    def get(self, number: int) -> Any:
        """The value of a number as a Python object, or None."""
        segment = bisect_right(self._starts, number) - 1
        if segment >= 0 and number - self._starts[segment] < len(self._arrays[segment]):
            return self._arrays[segment][number - self._starts[segment]].as_py()
        return self._later.get(number)

    def take(self, numbers: Int32s) -> Array:
        """The values of many numbers."""
        parts: list[Array] = []
        places: list[Int64s] = []
        rest = np.ones(len(numbers), np.bool_)
        segments = np.searchsorted(np.array(self._starts, np.int64), numbers, "right") - 1
        for segment in np.unique(segments).tolist():
            here = np.flatnonzero(segments == segment)
            end = self._starts[segment] + len(self._arrays[segment]) if segment >= 0 else 0
            inside = here[numbers[here] < end]
            if len(inside):
                parts.append(self._arrays[segment].take(numbers[inside] - self._starts[segment]))
                places.append(inside)
                rest[inside] = False
        others = np.flatnonzero(rest)
        if len(others) or not parts:
            parts.append(pa.array([self._later.get(number) for number in numbers[others].tolist()], self._type))
            places.append(others)
        if len(parts) == 1:
            return parts[0]
        return pa.concat_arrays(parts).take(np.argsort(np.concatenate(places), kind="stable"))

    def whole(self, count: int) -> Array:
        """The values of the numbers from 0 to before `count`; the last such array is kept."""
        held = self._arrays[0] if self._starts[:1] == [0] and len(self._arrays[0]) >= count else self._whole
        if held is None or len(held) < count:
            held = self._whole = self.take(np.arange(count, dtype=np.int32))
        return held if len(held) == count else held.slice(0, count)

    def is_empty(self) -> bool:
        return not self._arrays and not self._later

    @property
    def nbytes(self) -> int:
        """The memory beside the texts themselves, and without the values that came one by one."""
        return sum(buffer.size for array in self._arrays for buffer in array.buffers()[:2] if buffer is not None)


class Ids:
    """The number that each id means. An id may be added again with another number, which is then meant."""

    def __init__(self) -> None:
        self._later: dict[str, int] = {}
        self._stored: FlatTexts | None = None
        self._table: Table | None = None
        self._numbers: Int32s = np.zeros(0, np.int32)

    def extend(self, ids: Array, numbers: Int32s) -> None:
        """Adds ids, all different."""
        if self._table is None and not self._later and pays(len(ids)):
            self._stored, self._numbers = _flat(ids), numbers
            self._table = make_table(self._stored)
        else:
            self._later.update(zip(strings(ids), numbers.tolist(), strict=True))

    @classmethod
    def of(cls, ids: Array, numbers: Int32s, table: Table) -> Self:
        """Ids whose hash table was made before, and may be mapped."""
        made = cls()
        made._stored, made._numbers, made._table = _flat(ids), numbers, table
        return made

    @property
    def table(self) -> Table | None:
        """The hash table of those that came first and in bulk."""
        return self._table

    def find(self, id: str) -> int:
        """The number of an id, or -1."""
        number = self._later.get(id, -1)
        if number >= 0 or self._stored is None or self._table is None:
            return number
        place = find_text(0, _utf8(id), self._stored, self._table)
        return int(self._numbers[place]) if place >= 0 else -1

    def find_many(self, ids: Array) -> Int32s:
        """The number of each id, or -1."""
        if self._stored is None or self._table is None:
            get = self._later.get
            return np.array([get(id, -1) for id in strings(ids)], np.int32)
        if len(ids) < 8:
            return np.array([self.find(id) for id in strings(ids)], np.int32)
        places = find_texts(_flat(ids), self._stored, self._table)
        found: Int32s = np.where(places >= 0, self._numbers[places], np.int32(-1))
        if self._later:
            self._override(ids, found)
        return found

    def _override(self, ids: Array, found: Int32s) -> None:
        get = self._later.get
        for row, id in enumerate(strings(ids)):
            if (number := get(id)) is not None:
                found[row] = number

    @property
    def nbytes(self) -> int:
        """The hash table and what it refers to, without the texts."""
        if self._stored is None or self._table is None:
            return 0
        parts = self._stored.heads, self._stored.offsets, self._table.slots, self._table.marks, self._numbers
        return sum(part.nbytes for part in parts)


def strings(ids: Array) -> list[str]:
    """Ids as Python strings; none of them is null."""
    several: Any = ids.to_pylist()
    return several  # type: ignore[no-any-return]


def _utf8(id: str) -> bytes:
    return id.encode("utf-8", "surrogatepass")


def _flat(ids: Array) -> FlatTexts:
    """The ids end to end. Arrow's own bytes are used where they lie."""
    large = ids.cast(pa.large_string())
    buffers: Any = large.buffers()
    _, offsets, data = buffers
    ends = np.frombuffer(memoryview(offsets), np.int64)[large.offset : large.offset + len(large) + 1]
    text = np.frombuffer(memoryview(data), np.uint8) if data is not None else np.zeros(0, np.uint8)
    return FlatTexts(np.zeros(len(large), np.int32), ends, text)
