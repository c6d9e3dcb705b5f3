"""Constants and pieces of code in arrays that only grow, each content once.

The law: equal contents have one number for ever, and whoever took a view of the arrays keeps it. Contents are found by
a flat hash table of numbers, about 20 bytes a content where a dictionary of bytes takes 150. The hash is Python's keyed
one of bytes, so that no choice of contents makes it slow, and contents are compared before they count as equal.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np

from heliograph.kernels.targeting_layout import Floats, Int64s
from heliograph.targeting.growing import Growing

_FREE = -1
_FEWEST = 16  # slots


class Slots:
    """Which number has a content, by open addressing; at most half of the slots are taken."""

    def __init__(self) -> None:
        self._hashes = array("q")  # by number
        self._slots = array("i", [_FREE]) * _FEWEST

    def __len__(self) -> int:
        return len(self._hashes)

    def find(self, hashed: int, same: Callable[[int], bool]) -> int:
        """The number with this hash of which `same` is true; where there is none, the next number, which is taken."""
        mask = len(self._slots) - 1
        slot = hashed & mask
        while (found := self._slots[slot]) != _FREE:
            if self._hashes[found] == hashed and same(found):
                return found
            slot = (slot + 1) & mask
        self._slots[slot] = number = len(self._hashes)
        self._hashes.append(hashed)
        if 2 * len(self._hashes) > len(self._slots):
            self._spread()
        return number

    @property
    def nbytes(self) -> int:
        return self._hashes.itemsize * len(self._hashes) + self._slots.itemsize * len(self._slots)

    def _spread(self) -> None:
        slots = array("i", [_FREE]) * (2 * len(self._slots))
        mask = len(slots) - 1
        for number, hashed in enumerate(self._hashes):
            slot = hashed & mask
            while slots[slot] != _FREE:
                slot = (slot + 1) & mask
            slots[slot] = number
        self._slots = slots


class Pool:
    """Pieces of one type of array, end to end."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = np.dtype(dtype)
        self._data = Growing(dtype)
        self._offsets = Growing(np.int64, (0,))
        self._slots = Slots()

    def __len__(self) -> int:
        return len(self._slots)

    def number(self, content: bytes) -> int:
        """The number of the piece with this content, which is there from now on."""
        count = len(self._slots)
        number = self._slots.find(hash(content), lambda found: self.content(found) == content)
        if number == count:
            self._data.extend(np.frombuffer(content, self._dtype))
            self._offsets.extend((len(self._data),))
        return number

    def place(self, content: bytes) -> int:
        """Where the piece with this content begins."""
        return int(self.offsets()[self.number(content)])

    def content(self, number: int) -> bytes:
        """The bytes of a piece."""
        first, last = self.offsets()[number : number + 2].tolist()
        return bytes(self.data()[first:last].tobytes())

    def data(self) -> Any:
        """All pieces end to end, read-only."""
        return self._data.view()

    def offsets(self) -> Int64s:
        """Where each piece begins, and where the last one ends; read-only."""
        offsets: Int64s = self._offsets.view()
        return offsets

    @property
    def nbytes(self) -> int:
        """The memory in use."""
        return self._slots.nbytes + int(self.data().nbytes) + self.offsets().nbytes


class Bounds:
    """Numbers that attributes are compared with, each attribute's for itself."""

    def __init__(self) -> None:
        self._numbers = Growing(np.float64)
        self._attributes = Growing(np.int32)
        self._slots = Slots()

    def number(self, attribute: int, value: float) -> int:
        """The bound of an attribute that has this value, and is there from now on."""
        count = len(self._slots)
        hashed = hash(struct.pack("<qd", attribute, value))
        bound = self._slots.find(hashed, lambda found: self._is(found, attribute, value))
        if bound == count:
            self._attributes.extend((attribute,))
            self._numbers.extend((value,))
        return bound

    def data(self) -> Floats:
        """The value of each bound, read-only."""
        numbers: Floats = self._numbers.view()
        return numbers

    @property
    def nbytes(self) -> int:
        """The memory in use."""
        return self._slots.nbytes + self.data().nbytes + int(self._attributes.view().nbytes)

    def _is(self, bound: int, attribute: int, value: float) -> bool:
        return bool(self._attributes.view()[bound] == attribute and self._numbers.view()[bound] == value)
