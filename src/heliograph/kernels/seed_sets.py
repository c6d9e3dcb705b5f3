"""The sets of the seed's figures as bitmaps of two levels (`kernels.bitmaps`): add, contains, minMoreThan, nodes().

The law: a bit of the summary is set if and only if its word is not empty, so that emptying a set and listing it cost
its summary and the words in use.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.bitmaps import first_bit, following, put
from heliograph.kernels.cache import kernel
from heliograph.kernels.seed_layout import Set

_ONE, _NONE, _63 = np.uint64(1), np.uint64(0), np.uint64(63)


@kernel(inline=True)
def add(members: Set, id: Any) -> None:
    put(members.words, members.summary, id)


@kernel(inline=True)
def has(members: Set, id: Any) -> Any:
    return members.words[id >> 6] & (_ONE << (np.uint64(id) & _63)) != _NONE


@kernel(inline=True)
def least_from(members: Set, id: Any) -> Any:
    """The least member that is not below an id, or -1: min, and minMoreThan of the id before."""
    return following(members.words, members.summary, id)


@kernel()
def empty(members: Set) -> None:
    for upper in range(len(members.summary)):
        used = members.summary[upper]
        members.summary[upper] = _NONE
        while used != _NONE:
            members.words[upper << 6 | first_bit(used)] = _NONE
            used &= used - _ONE


@kernel()
def list_members(members: Set, out: Any) -> Any:
    """Writes the members in ascending order, as far as there is room; returns how many there are."""
    count = 0
    for upper in range(len(members.summary)):
        used = members.summary[upper]
        while used != _NONE:
            place = upper << 6 | first_bit(used)
            used &= used - _ONE
            count = _list_word(place << 6, members.words[place], out, count)
    return count


@kernel(inline=True)
def _list_word(base: Any, word: Any, out: Any, count: Any) -> Any:
    while word != _NONE:
        if count < len(out):
            out[count] = base | first_bit(word)
        count += 1
        word &= word - _ONE
    return count
