"""Bitmaps of two levels are sets: what was put in and not dropped is found, smallest first."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from heliograph.compiled import arrays as bitmaps
from heliograph.route.layout import words_for


def for_python(part: Any) -> Any:
    """A part of kernels, which only kernels can call, compiled by itself."""
    return njit(part.py_func)


_put, _drop, _following = for_python(bitmaps.put), for_python(bitmaps.drop), for_python(bitmaps.following)
_count_bits, _first_bit = for_python(bitmaps.count_bits), for_python(bitmaps.first_bit)

MOST = 3 * 64 * 64  # several words of the upper level
numbers = st.one_of(st.integers(0, MOST - 1), st.sampled_from([0, 63, 64, 4095, 4096, 4097, MOST - 1]))
steps = st.lists(st.tuples(st.sampled_from(["put", "put", "drop", "ask"]), numbers), max_size=40)


def make(size: int) -> tuple[Any, Any]:
    words = words_for(size)
    return np.zeros(words, np.uint64), np.zeros(words_for(words), np.uint64)


@given(steps)
def test_the_smallest_member_from_a_number_on(drawn: list[tuple[str, int]]) -> None:
    members, summary = make(MOST)
    twin: set[int] = set()
    for step, number in drawn:
        if step == "put":
            _put(members, summary, number)
            twin.add(number)
        elif step == "drop":
            _drop(members, summary, number)
            twin.discard(number)
        expected = min((member for member in twin if member >= number), default=-1)
        assert _following(members, summary, number) == expected
    for member in sorted(twin):
        assert _following(members, summary, 0) == member
        _drop(members, summary, member)
    assert not members.any()
    assert not summary.any()


@given(st.integers(0, 300))
def test_a_set_of_any_size_has_room_for_its_last_number(size: int) -> None:
    members, summary = make(size)
    assert _following(members, summary, size) == -1
    _put(members, summary, size)
    assert _following(members, summary, 0) == size
    assert _following(members, summary, size + 1) == -1
    assert _following(members, summary, size + 5000) == -1


@given(st.integers(1, 2**64 - 1))
def test_bits(mask: int) -> None:
    assert _count_bits(np.uint64(mask)) == mask.bit_count()
    assert _first_bit(np.uint64(mask)) == (mask & -mask).bit_length() - 1
    assert _count_bits(np.uint64(0)) == 0
