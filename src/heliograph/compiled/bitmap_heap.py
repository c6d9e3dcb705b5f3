"""Sets of numbers as bitmaps of two levels: a bit for each number, and one for each word of 64 that is not empty.

The smallest member from some number on is found in a few steps, however large and empty the set is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba.cpython.unsafe import numbers as _numbers

from heliograph.compiled.compile import kernel

Masks = npt.NDArray[np.uint64]

trailing_zeros: Any = _numbers.trailing_zeros
_ONE, _NONE, _ALL = np.uint64(1), np.uint64(0), ~np.uint64(0)
_6, _63 = np.uint64(6), np.uint64(63)
_PAIRS, _NIBBLES, _BYTES = (
    np.uint64(number) for number in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F)
)
_SUM, _1, _2, _4, _56 = (np.uint64(number) for number in (0x0101010101010101, 1, 2, 4, 56))


@kernel(inline=True)
def count_bits(mask: Any) -> Any:
    """How many lanes a mask has."""
    mask = mask - ((mask >> _1) & _PAIRS)
    mask = (mask & _NIBBLES) + ((mask >> _2) & _NIBBLES)
    return np.int64((((mask + (mask >> _4)) & _BYTES) * _SUM) >> _56)


@kernel(inline=True)
def first_bit(mask: Any) -> Any:
    """The number of the lowest bit of a mask that is not empty."""
    return np.int64(trailing_zeros(mask))


@kernel(inline=True)
def put(members: Masks, summary: Masks, number: Any) -> None:
    word = np.uint64(number) >> _6
    members[word] |= _ONE << (np.uint64(number) & _63)
    summary[word >> _6] |= _ONE << (word & _63)


@kernel(inline=True)
def drop(members: Masks, summary: Masks, number: Any) -> None:
    word = np.uint64(number) >> _6
    members[word] &= ~(_ONE << (np.uint64(number) & _63))
    if members[word] == _NONE:
        summary[word >> _6] &= ~(_ONE << (word & _63))


@kernel(inline=True)
def following(members: Masks, summary: Masks, number: Any) -> Any:
    """The smallest member that is not below `number`, or -1."""
    word = np.uint64(number) >> _6
    if word < np.uint64(len(members)):
        rest = members[word] & (_ALL << (np.uint64(number) & _63))
        if rest != _NONE:
            return np.int64(word << _6) + first_bit(rest)
    word += _ONE
    block = word >> _6
    keep = _ALL << (word & _63)
    while block < np.uint64(len(summary)):
        rest = summary[block] & keep
        if rest != _NONE:
            word = (block << _6) + np.uint64(first_bit(rest))
            return np.int64(word << _6) + first_bit(members[word])
        block += _ONE
        keep = _ALL
    return np.int64(-1)
