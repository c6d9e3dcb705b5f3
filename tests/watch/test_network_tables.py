"""Arrays that grow and tables of pairs, against lists and dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heliograph.compiled.growing import Pairs, Rows
from tests.watch.network_evaluator import find_pair


def test_rows_keep_their_numbers_while_the_array_is_exchanged() -> None:
    placed: list[Any] = []
    rows = Rows(np.empty((0, 2), np.int32), placed.append)
    numbers = [rows.append((place, -place)) for place in range(100)]
    assert numbers == list(range(100))
    assert placed[-1] is rows.array
    assert rows.array[:100].tolist() == [[place, -place] for place in range(100)]


def test_several_rows_lie_one_behind_the_other() -> None:
    rows = Rows(np.empty(0, np.uint8))
    rows.append(7)
    assert rows.extend([1, 2, 3]) == 1
    assert rows.extend([]) == 4
    assert rows.extend(np.arange(60)) == 4
    assert rows.array[: rows.used].tolist() == [7, 1, 2, 3, *range(60)]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 2**31 - 1) | st.integers(0, 9))))
def test_pairs_are_a_dictionary(operations: list[tuple[bool, int, int]]) -> None:
    pairs, model = Pairs(), {}
    for number, (adds, first, second) in enumerate(operations):
        if adds:
            pairs.put(first, second, number)
            model[first, second] = number
        elif (first, second) in model:
            pairs.remove(first, second)
            del model[first, second]
    assert {(first, second): value for first, second, value in pairs.items()} == model
    for _, first, second in operations:
        assert pairs.find(first, second) == find_pair(pairs.array, first, second) == model.get((first, second), -1)
    assert pairs.used == len(model)
    assert 2 * pairs.used <= len(pairs.array)
