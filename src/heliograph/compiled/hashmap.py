"""Hash tables in arrays, as kernels read and write them: one way to search, enter, take out and make larger.

A table is open addressing with linear probing. Its size is a power of two, at least one place is free, and the law is:
an entry stands at its home, or behind it with no free place between. So a search ends at the first free place, and what
is taken out leaves a hole that later entries of the same run must fill (`vacate`).

`search` makes the one probe loop for any kind of entry: numbers that lead to rows, marks of hashes, texts. Tables whose
entries are keys themselves (whole numbers, 0 is free) have `find_key`, `vacate` and `rehash` ready. A table of another
size, whose homes the caller knows, is searched by `search_from`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from heliograph.compiled.compile import kernel

FREE, SAME, OTHER = 0, 1, 2  # what a search may meet at a place

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_MIX = np.uint64(0xD6E8FEB86659FD93)
_1, _20, _32 = np.uint64(1), np.uint64(20), np.uint64(32)


# --- hashes -----------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def pair_key(first: Any, second: Any) -> Any:
    """What stands for a pair of numbers below 2^31 in a table where 0 is free."""
    return ((np.int64(first) << 32) | np.int64(second)) + 1


@kernel(inline=True)
def spread(key: Any) -> Any:
    """A hash of a whole number: every bit of it counts in the lowest 44 bits of the result."""
    hashed = np.uint64(key) * _ODD
    return (hashed ^ (hashed >> _32)) * _ODD >> _20


@kernel()
def mixed(hashed: Any, word: Any) -> Any:
    """A hash and one more word, every bit of both spread over the result."""
    hashed = (hashed ^ word) * _MIX
    hashed ^= hashed >> _32
    hashed *= _ODD
    return hashed ^ (hashed >> _32)


@kernel()
def edge_hash(subject: Any, predicate: Any, object: Any) -> Any:
    """The hash of an edge; -1 stands for an unknown part."""
    ends = (np.uint64(np.uint32(subject)) << _32) | np.uint64(np.uint32(object))
    return mixed(mixed(_ODD, ends), np.uint64(np.uint32(predicate)))


@kernel()
def mask_of(subject: Any, predicate: Any, object: Any) -> Any:
    """Which parts of a pattern's edge are constants: bit 1 subject, 2 predicate, 4 object."""
    return (1 if subject >= 0 else 0) | (2 if predicate >= 0 else 0) | (4 if object >= 0 else 0)


# --- the probe loop ---------------------------------------------------------------------------------------------------


def search(compare: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any, Any], Any]:
    """A kernel `find(table, size, hashed, key)`: the place of a key, or the free place where it would stand.

    `compare(table, place, key)` is a kernel that says what stands at a place: FREE, SAME or OTHER. `table` and `key`
    are whatever it takes: one array, a tuple of arrays, a table of addresses. Both are inlined into the caller.
    """

    @kernel(inline=True)
    def find(table: Any, size: Any, hashed: Any, key: Any) -> Any:
        mask = np.uint64(size - 1)
        place = np.uint64(hashed) & mask
        while compare(table, place, key) == OTHER:
            place = (place + _1) & mask
        return np.int64(place)

    return find


def search_from(compare: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any, Any, Any], Any]:
    """The same for a table of any size, whose home of an entry the caller knows: `find(table, size, home, key)`."""

    @kernel(inline=True)
    def find(table: Any, size: Any, home: Any, key: Any) -> Any:
        place = np.int64(home)
        while compare(table, place, key) == OTHER:
            place = place + 1 if place + 1 < size else np.int64(0)
        return place

    return find


# --- tables whose entries are keys ------------------------------------------------------------------------------------


@kernel(inline=True)
def _compare_keys(keys: Any, place: Any, key: Any) -> Any:
    found = keys[place]
    if found == 0:
        return FREE
    return SAME if found == key else OTHER


@kernel(inline=True)
def _compare_rows(rows: Any, place: Any, key: Any) -> Any:
    found = rows[place, 0]
    if found == 0:
        return FREE
    return SAME if found == key else OTHER


_search_keys, _search_rows = search(_compare_keys), search(_compare_rows)


@kernel(inline=True)
def find_key(keys: Any, key: Any) -> Any:
    """Where a key stands in an array of keys, or the free place where it would."""
    return _search_keys(keys, len(keys), spread(key), key)


@kernel(inline=True)
def find_row(rows: Any, key: Any) -> Any:
    """Where a key stands in rows (key, …), or the free place where it would."""
    return _search_rows(rows, len(rows), spread(key), key)


@kernel(inline=True)
def find_value(rows: Any, key: Any) -> Any:
    """What rows (key, value) hold for a key, or -1."""
    place = find_row(rows, key)
    return rows[place, 1] if rows[place, 0] != 0 else -1


@kernel()
def vacate(keys: Any, values: Any, hole: Any) -> None:
    """Takes out the key at a place; keys that stand further on because of it move up, with their values."""
    mask = np.int64(len(keys) - 1)
    place = (hole + 1) & mask
    while keys[place] != 0:
        home = np.int64(spread(keys[place])) & mask
        if (place - home) & mask >= (place - hole) & mask:  # its search comes past the hole
            keys[hole], values[hole] = keys[place], values[place]
            hole = place
        place = (place + 1) & mask
    keys[hole] = 0


@kernel()
def rehash(keys: Any, values: Any, larger_keys: Any, larger_values: Any) -> None:
    """Takes all keys and their values over into another table, which is empty."""
    for place in range(len(keys)):
        if keys[place] != 0:
            other = find_key(larger_keys, keys[place])
            larger_keys[other], larger_values[other] = keys[place], values[place]
