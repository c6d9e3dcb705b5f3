"""The small helpers for flat arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.compiled.growing import fixed, power_of_two, ragged, rows_of
from heliograph.filter.interests import offsets_of
from heliograph.filter.layout import DocumentEdges, Left


def test_fixed_arrays_cannot_be_written_to() -> None:
    given = np.arange(3)
    with pytest.raises(ValueError, match="read-only"):
        fixed(given)[0] = 7
    given[0] = 7  # whoever made it still can
    assert fixed(given)[0] == 7


def test_fixed_keeps_tuples_and_whatever_is_no_array() -> None:
    column = np.zeros(2, np.int32)
    edges = fixed(DocumentEdges(np.zeros(1, np.int64), column, column, column))
    left = fixed(Left(np.zeros(1, np.int64), 5))
    assert isinstance(edges, DocumentEdges)
    assert not any(part.flags.writeable for part in edges)
    assert left.stamp == 5


@given(st.integers(0, 2**40))
def test_the_next_power_of_two(least: int) -> None:
    found = power_of_two(least)
    assert found >= max(2, least)
    assert found.bit_count() == 1
    assert found == 2 or found // 2 < least


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6), st.data())
def test_ragged_rows_are_those_of_the_chosen_parts(parts: list[list[int]], data: st.DataObject) -> None:
    numbers = st.integers(0, len(parts) - 1) if parts else st.nothing()
    chosen = data.draw(st.lists(numbers, max_size=8)) if parts else []
    flat = np.array([item for part in parts for item in part], np.int64)
    rows, offsets = ragged(offsets_of([len(part) for part in parts]), np.array(chosen, np.int64))
    assert flat[rows].tolist() == [item for number in chosen for item in parts[number]]
    assert offsets.tolist() == offsets_of([len(parts[number]) for number in chosen]).tolist()


def test_columns_become_rows() -> None:
    table = rows_of([1, 2], [3.5, 4.5], dtype=np.float64)
    assert table.tolist() == [[1.0, 3.5], [2.0, 4.5]]
    assert table.flags.c_contiguous
