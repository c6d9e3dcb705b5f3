"""Quick code as it grows with the expressions: see `kernels.quick_layout` for what it is.

The law: a snapshot covers every expression that the programs had when it was made, and stays as it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels import quick_layout as of
from heliograph.kernels import targeting_layout as code
from heliograph.kernels.quick_layout import Quick, Translation
from heliograph.kernels.targeting_layout import Programs
from heliograph.targeting.growing import fixed

_SLOTS = 1024


class QuickCode:
    """The quick code of all expressions of one store. One writer."""

    def __init__(self) -> None:
        self._sizes = np.zeros(4, np.int64)
        self._arrays = Quick(*(np.zeros(16, dtype) for dtype in (np.int64, np.int32, np.float64, np.int32, np.int32)))
        self._slots = np.full(_SLOTS, -1, np.int32)

    def snapshot(self, programs: Programs) -> Quick:
        """Quick code for these programs, which hold at least all earlier ones."""
        if len(programs.starts) - 1 > self._sizes[of.EXPRESSIONS]:
            from heliograph.kernels.translating import translate

            self._make_room(programs)
            translate(programs, Translation(self._sizes, self._arrays, self._slots))
        expressions, words, bounds, sets = self._sizes.tolist()
        sizes = (expressions, words, bounds, bounds, sets)
        return fixed(Quick(*(array[:size] for array, size in zip(self._arrays, sizes, strict=True))))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self._arrays) + self._slots.nbytes

    def _make_room(self, programs: Programs) -> None:
        """For all that the new expressions can need: their tests, their groups, and the members of their sets."""
        first = int(self._sizes[of.EXPRESSIONS])
        new = programs.code[programs.starts[first] :].reshape(-1, 2)
        ops = new[:, 0] & 0x7F
        members = int(programs.numbers[new[ops == code.NUMBER_IN, 1]].sum()) + int((ops == code.NUMBER_IN).sum())
        expressions = len(programs.starts) - 1 - first
        bounds = 2 * int((ops <= code.NUMBER_IN).sum()) + members
        wanted = self._sizes + (expressions, 3 * len(new) + 4 * expressions, bounds, members)
        room = (wanted[0], wanted[1], wanted[2], wanted[2], wanted[3])
        self._arrays = Quick(*(_grown(array, int(size)) for array, size in zip(self._arrays, room, strict=True)))
        if 2 * wanted[2] > len(self._slots):
            self._spread(int(wanted[2]))

    def _spread(self, bounds: int) -> None:
        """More slots: all bounds are entered again, by translating nothing but them."""
        from heliograph.kernels.translating import enter

        self._slots = np.full(1 << (2 * bounds).bit_length(), -1, np.int32)
        enter(Translation(self._sizes, self._arrays, self._slots))


def _grown(array: Any, size: int) -> Any:
    if size <= len(array):
        return array
    room = np.zeros(max(size, len(array) + len(array) // 2), array.dtype)
    room[: len(array)] = array
    return room
