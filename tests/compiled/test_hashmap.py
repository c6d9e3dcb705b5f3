"""Hash tables in arrays are dictionaries: whatever is entered and taken out, in tables as full as they may be."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from heliograph.compiled import hashmap
from heliograph.compiled.hashmap import FREE, OTHER, SAME, find_key, find_row, find_value, pair_key, search, spread

SIZE = 16
keys = st.integers(1, 12) | st.integers(1, 2**62)  # few keys meet often, large ones use every bit


@njit
def _enter(table: Any, values: Any, key: int, value: int) -> None:
    place = find_key(table, key)
    table[place], values[place] = key, value


@njit
def _take_out(table: Any, values: Any, key: int) -> None:
    place = find_key(table, key)
    if table[place] != 0:
        hashmap.vacate(table, values, place)


@njit
def _look_up(table: Any, values: Any, key: int) -> int:
    place = find_key(table, key)
    return values[place] if table[place] != 0 else -1


@njit
def _rehash(table: Any, values: Any, larger: Any, larger_values: Any) -> None:
    hashmap.rehash(table, values, larger, larger_values)


@given(st.lists(st.tuples(st.booleans(), keys, st.integers(0, 99)), max_size=60), st.lists(keys, max_size=9))
def test_a_table_is_a_dictionary(steps: list[tuple[bool, int, int]], others: list[int]) -> None:
    table, values, twin = np.zeros(SIZE, np.int64), np.zeros(SIZE, np.int64), dict[int, int]()
    for enters, key, value in steps:
        if not enters:
            _take_out(table, values, key)
            twin.pop(key, None)
        elif key in twin or len(twin) < SIZE - 1:
            _enter(table, values, key, value)
            twin[key] = value
        assert {int(each) for each in table if each} == set(twin)
    asked = [*twin, *others]
    assert [_look_up(table, values, key) for key in asked] == [twin.get(key, -1) for key in asked]
    larger, larger_values = np.zeros(4 * SIZE, np.int64), np.zeros(4 * SIZE, np.int64)
    _rehash(table, values, larger, larger_values)
    assert [_look_up(larger, larger_values, key) for key in asked] == [twin.get(key, -1) for key in asked]


@njit
def _enter_row(table: Any, first: int, second: int, value: int) -> None:
    key = pair_key(first, second)
    place = find_row(table, key)
    table[place, 0], table[place, 1] = key, value


@njit
def _row_value(table: Any, first: int, second: int) -> int:
    value: int = find_value(table, pair_key(first, second))
    return value


pairs = st.tuples(st.integers(0, 3), st.integers(0, 3)) | st.tuples(*[st.integers(0, 2**31 - 1)] * 2)


@given(st.dictionaries(pairs, st.integers(0, 99), max_size=SIZE - 1), st.lists(pairs, max_size=9))
def test_rows_of_pairs(twin: dict[tuple[int, int], int], others: list[tuple[int, int]]) -> None:
    table = np.zeros((SIZE, 2), np.int64)
    for (first, second), value in twin.items():
        _enter_row(table, first, second, value)
    for pair in [*twin, *others]:
        assert _row_value(table, *pair) == twin.get(pair, -1)


@njit
def _compare_texts(table: Any, place: Any, text: Any) -> Any:
    slots, texts = table
    if slots[place] < 0:
        return FREE
    return SAME if texts[slots[place]] == text else OTHER


_find_text = search(_compare_texts)


@njit
def _place(slots: Any, texts: Any, text: Any) -> Any:
    return _find_text((slots, texts), len(slots), spread(len(text)), text)


@njit
def _number(slots: Any, texts: Any, text: Any) -> Any:
    return slots[_place(slots, texts, text)]


def test_any_kind_of_entry_is_searched_the_same_way() -> None:
    """Texts of one length have one home here, so every search passes the others."""
    texts, slots = ("one", "two", "six", "ten2"), np.full(8, -1)
    for number, text in enumerate(texts):
        slots[_place(slots, texts, text)] = number
    assert [_number(slots, texts, text) for text in (*texts, "ten", "five")] == [0, 1, 2, 3, -1, -1]
