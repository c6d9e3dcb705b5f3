"""Pieces of arrays kept end to end, each content once.

The law: equal contents have one number for ever. The pieces lie in arrays that only grow, so whoever took a view keeps
it. They are found by a flat hash table of numbers, about 20 bytes a piece where a dictionary of bytes takes 150; the
hash is Python's keyed one, so that no choice of contents makes it slow, and contents are compared before they count as
equal. A pool that was opened from arrays makes the table when it is first asked for a content.
"""

from __future__ import annotations

from array import array
from typing import Any, Self

import numpy as np

from heliograph.kernels.targeting_layout import Int64s
from heliograph.targeting.growing import Growing

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
