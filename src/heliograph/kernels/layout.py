"""The shapes of arrays that kernels and their callers share. Does not import Numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Texts(NamedTuple):
    """Texts end to end: number i has the bytes from offsets[i] to offsets[i + 1], and a head that belongs to it."""

    heads: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]


class Table(NamedTuple):
    """A hash table over texts by linear probing; a power of two of slots, at most half of them taken."""

    slots: npt.NDArray[np.int32]  # the number of a text, or -1
    marks: npt.NDArray[np.uint32]  # the upper bits of its hash, so that a miss seldom touches the text
    key: int
