"""Pieces of arrays kept end to end, each content once.

The law: equal contents have one number for ever. The pieces lie in arrays that only grow, so whoever took a view keeps
it. They are found by a flat hash table of numbers, about 20 bytes a piece where a dictionary of bytes takes 150; the
hash is Python's keyed one, so that no choice of contents makes it slow, and contents are compared before they count as
equal.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from heliograph.kernels.targeting_layout import Int64s
from heliograph.targeting.growing import Growing

_FREE = -1
_FEWEST = 16  # slots


class Pool:
    """Pieces of one type, growing."""

    def __init__(self, dtype: Any) -> None:
        self._data = Growing(dtype)
        self._offsets = Growing(np.int64, (0,))
        self._hashes = array("q")
        self._slots = array("i", [_FREE]) * _FEWEST

    def __len__(self) -> int:
        return len(self._hashes)

    def number(self, content: bytes) -> int:
        """The number of the piece with this content, which is there from now on."""
        hashed, mask = hash(content), len(self._slots) - 1
        slot = hashed & mask
        while (found := self._slots[slot]) != _FREE:
            if self._hashes[found] == hashed and self.content(found) == content:
                return found
            slot = (slot + 1) & mask
        self._slots[slot] = len(self._hashes)
        return self._append(content, hashed)

    def place(self, content: bytes) -> int:
        """Where the piece with this content begins."""
        return int(self._offsets.view()[self.number(content)])

    def content(self, number: int) -> bytes:
        """The bytes of a piece."""
        first, last = self._offsets.view()[number : number + 2]
        return bytes(self._data.view()[first:last].tobytes())

    def data(self) -> Any:
        """All pieces end to end, read-only."""
        return self._data.view()

    def offsets(self) -> Int64s:
        """Where each piece begins, and where the last one ends; read-only."""
        view: Int64s = self._offsets.view()
        return view

    @property
    def nbytes(self) -> int:
        """The memory that is in use."""
        own = self._hashes.itemsize * len(self._hashes) + self._slots.itemsize * len(self._slots)
        return own + int(self.data().nbytes) + self.offsets().nbytes

    def _append(self, content: bytes, hashed: int) -> int:
        number = len(self._hashes)
        self._data.extend(np.frombuffer(content, self._data.view().dtype))
        self._offsets.extend((len(self._data),))
        self._hashes.append(hashed)
        if 2 * len(self._hashes) > len(self._slots):
            self._spread()
        return number

    def _spread(self) -> None:
        """Twice the slots."""
        slots = array("i", [_FREE]) * (2 * len(self._slots))
        mask = len(slots) - 1
        for number, hashed in enumerate(self._hashes):
            slot = hashed & mask
            while slots[slot] != _FREE:
                slot = (slot + 1) & mask
            slots[slot] = number
        self._slots = slots
