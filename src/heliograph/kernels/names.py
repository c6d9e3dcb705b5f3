"""Finding the names and words of events in a snapshot of what is known.

The law: a search gives what it gave when the snapshot was taken. A number beyond the snapshot's arrays was entered
later, into a slot that was empty then, and so ends the search just as the empty slot would have. `vocabulary.hashtable`
holds the twin of the hash in plain Python; the two must agree in every bit. Heads are never 0: texts of NUL bytes alone
would hash to their lengths then, whatever the key is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import uint64

from heliograph.kernels.cache import kernel
from heliograph.kernels.hashing import step
from heliograph.kernels.targeting_layout import Bytes, Int64s, Names
from heliograph.kernels.targeting_types import BYTES, INT32S, INT64S
from heliograph.kernels.types import named

NAMES: Any = named(Names, uint64, INT32S, INT64S, BYTES, INT32S, BYTES, INT32S, INT32S, INT64S, BYTES)
NAME_HEAD = 1  # that of a word is one more than its attribute
_ONE, _8 = np.uint64(1), np.uint64(8)


@kernel()
def _hash(head: Any, text: Bytes, begin: int, end: int, key: Any) -> Any:
    hashed = np.uint64(head)
    for start in range(begin, end, 7):
        word = np.uint64(0)
        for place in range(min(start + 7, end) - 1, start - 1, -1):
            word = (word << _8) | np.uint64(text[place])
        hashed = step(hashed, key, word)
    return step(hashed, key, np.uint64(end - begin))


@kernel()
def same_bytes(text: Bytes, begin: int, other: Bytes, start: int, size: int) -> Any:
    """Whether `size` bytes of two texts, which both have so many, are the same."""
    place = 0
    while place < size and text[begin + place] == other[start + place]:
        place += 1
    return place == size


@kernel()
def _is(offsets: Int64s, stored: Bytes, number: Any, text: Bytes, begin: int, end: int) -> Any:
    start = offsets[number]
    return offsets[number + 1] - start == end - begin and same_bytes(text, begin, stored, start, end - begin)


@kernel()
def find_name(names: Names, text: Bytes, begin: int, end: int) -> Any:
    """The number of a first name, or -1."""
    slots, count = names.name_slots, len(names.name_attributes)
    mask = np.uint64(len(slots) - 1)
    slot = _hash(NAME_HEAD, text, begin, end, names.key) & mask
    while 0 <= slots[slot] < count:
        if _is(names.name_offsets, names.name_bytes, slots[slot], text, begin, end):
            return np.int64(slots[slot])
        slot = (slot + _ONE) & mask
    return np.int64(-1)


@kernel()
def find_word(names: Names, attribute: Any, text: Bytes, begin: int, end: int) -> Any:
    """The number of a string constant of one attribute, or -1."""
    slots, count = names.word_slots, len(names.word_attributes)
    mask = np.uint64(len(slots) - 1)
    slot = _hash(attribute + 1, text, begin, end, names.key) & mask
    while 0 <= slots[slot] < count:
        number = slots[slot]
        if names.word_attributes[number] == attribute and _is(
            names.word_offsets, names.word_bytes, number, text, begin, end
        ):
            return number
        slot = (slot + _ONE) & mask
    return np.int32(-1)
