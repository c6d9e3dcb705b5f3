"""Open addressing over flat texts: hashes of UTF-8 bytes, filling a table, finding in it.

The hash is a polynomial over the text's 7-byte words modulo the prime 2^61 - 1, evaluated at a random key that is kept
with the table. Two different texts of n words collide for at most n of the 2^61 keys, so nobody who does not know the
key can make a table slow. `vocabulary.hashtable` holds the twins in plain Python; the two must agree in every bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import int32, int64, types, uint8, uint32, uint64

from heliograph.kernels.cache import kernel
from heliograph.kernels.layout import Table, Texts
from heliograph.kernels.words import upper_product

_PRIME = np.uint64((1 << 61) - 1)
_3, _8, _29, _61 = (np.uint64(number) for number in (3, 8, 29, 61))


def _array(dtype: Any, *, readonly: bool) -> Any:
    return types.Array(dtype, 1, "C", readonly=readonly)


def _table(*, readonly: bool) -> Any:
    return _NAMED((_array(int32, readonly=readonly), _array(uint32, readonly=readonly), uint64), Table)


_NAMED: Any = types.NamedTuple
_TEXTS = _NAMED((_array(int32, readonly=True), _array(int64, readonly=True), _array(uint8, readonly=True)), Texts)


@kernel((uint64, uint64))
def _times(left: Any, right: Any) -> Any:
    """left × right modulo the prime, both below it: 2^61 counts as 1, so 2^64 counts as 8."""
    low = left * right
    total = (low & _PRIME) + ((upper_product(left, right) << _3) | (low >> _61))
    return total - _PRIME if total >= _PRIME else total


@kernel((uint64, uint64, uint64))
def step(hashed: Any, key: Any, word: Any) -> Any:
    """One more word of a text: the polynomial's value so far times the key, plus the word."""
    total = _times(hashed, key) + word
    return total - _PRIME if total >= _PRIME else total


@kernel((_TEXTS, int64, uint64))
def _hash(texts: Texts, number: int, key: Any) -> Any:
    first, last = texts.offsets[number], texts.offsets[number + 1]
    hashed = np.uint64(texts.heads[number])
    for start in range(first, last, 7):
        word = np.uint64(0)
        for place in range(min(start + 7, last) - 1, start - 1, -1):
            word = (word << _8) | np.uint64(texts.data[place])
        hashed = step(hashed, key, word)
    return step(hashed, key, np.uint64(last - first))


@kernel((_TEXTS, uint64, _array(uint64, readonly=False)))
def hashes(texts: Texts, key: Any, out: npt.NDArray[np.uint64]) -> None:
    """The hash of every text."""
    for number in range(len(texts.heads)):
        out[number] = _hash(texts, number, key)


@kernel((_TEXTS, _table(readonly=False)))
def fill(texts: Texts, table: Table) -> None:
    """Enters every text, all different, into an empty table."""
    mask = np.uint64(len(table.slots) - 1)
    for number in range(len(texts.heads)):
        hashed = _hash(texts, number, table.key)
        slot = hashed & mask
        while table.slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table.slots[slot] = number
        table.marks[slot] = np.uint32(hashed >> _29)


@kernel((_TEXTS, int64, _TEXTS, int32))
def _same(left: Texts, i: int, right: Texts, j: int) -> Any:
    start, other = left.offsets[i], right.offsets[j]
    length = left.offsets[i + 1] - start
    if left.heads[i] != right.heads[j] or right.offsets[j + 1] - other != length:
        return False
    place = 0
    while place < length and left.data[start + place] == right.data[other + place]:
        place += 1
    return place == length


@kernel((_TEXTS, _TEXTS, _table(readonly=True), _array(int32, readonly=False)))
def find(wanted: Texts, stored: Texts, table: Table, out: npt.NDArray[np.int32]) -> None:
    """The number under which each wanted text is stored, or -1."""
    mask = np.uint64(len(table.slots) - 1)
    for number in range(len(wanted.heads)):
        hashed = _hash(wanted, number, table.key)
        mark = np.uint32(hashed >> _29)
        slot = hashed & mask
        out[number] = -1
        while table.slots[slot] >= 0:
            if table.marks[slot] == mark and _same(wanted, number, stored, table.slots[slot]):
                out[number] = table.slots[slot]
                break
            slot = (slot + np.uint64(1)) & mask
