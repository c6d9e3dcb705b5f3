"""A structure that is declared once is the same in Python and in kernels, whatever its arrays grow to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from numba import float64, int32, int64, njit, uint64

from heliograph.compiled import growing
from heliograph.compiled.arrays import NEW_INT32S, named, rows
from heliograph.compiled.records import ANY, Struct, array, number, part, record_like, run, view, wanted


class Pool(Struct):
    items: npt.NDArray[np.int32] = array(int32, "item")
    used: int = number()
    items_wanted: int = wanted("item")


class State(Struct):
    pool: Pool = part(Pool)
    count: int = number(3)
    share: float = number(0.5, float64)
    seed: int = number(2**64 - 1, uint64)
    links: npt.NDArray[np.int64] = array(int64, "vertex", 2, fill=7)
    table: npt.NDArray[np.float64] = array(float64, "row", ANY)


class Pair(NamedTuple):
    one: npt.NDArray[np.int32]
    two: npt.NDArray[np.int32]


state_at = view(State)
LikePair = record_like(Pair, named(Pair, NEW_INT32S, rows(int32, writable=True)))
pair_at = view(LikePair)


@njit
def fill(address: Any, last: Any) -> Any:
    """Puts numbers into the pool, for as long as there is room."""
    state = state_at(address)
    pool = state.pool
    while state.count < last:
        if pool.used == len(pool.items):
            pool.items_wanted = pool.used + 1
            return False
        pool.items[pool.used] = state.count
        pool.used += 1
        state.count += 1
        state.share += 1.5
        state.links[0, 1] += 1
    return True


@njit
def read(address: Any) -> Any:
    state = state_at(address)
    return state.seed, state.table.shape, state.table[1, 2], state.links[-1, 0]


@njit
def add(address: Any) -> Any:
    pair = pair_at(address)
    pair.one[0] += pair.two[1, 1]
    return len(pair.two)


@pytest.mark.parametrize("least", [False, True])
def test_a_kernel_goes_on_where_room_was_lacking(monkeypatch: pytest.MonkeyPatch, least: bool) -> None:
    monkeypatch.setattr(growing, "LEAST", least)
    state = State({"pool": Pool()}, vertex=2)
    assert run(fill, state, 100) is True
    assert (state.count, state.share, state.pool.used) == (100, 0.5 + 97 * 1.5, 97)
    assert state.pool.items[:97].tolist() == list(range(3, 100))
    assert state.links.tolist() == [[7, 7 + 97], [7, 7]]
    assert len(state.pool.items) == 97 or not least


def test_kernels_see_arrays_that_were_exchanged() -> None:
    state = State({"pool": Pool()}, vertex=1)
    state.table = np.arange(12.0).reshape(3, 4)
    assert read(state.address) == (2**64 - 1, (3, 4), 6.0, 7)
    state.table = np.arange(10.0).reshape(2, 5)
    state.links[0, 0] = 1
    state.resize("vertex", 3)
    assert state.rows("vertex") == 3
    assert state.links.tolist() == [[1, 7], [7, 7], [7, 7]]
    assert read(state.address) == (2**64 - 1, (2, 5), 7.0, 7)
    state.seed = 5
    assert read(state.address)[0] == 5
    assert state.nbytes >= state.table.nbytes + state.links.nbytes


def test_an_array_of_another_kind_is_refused() -> None:
    state = State({"pool": Pool()})
    with pytest.raises(AssertionError):
        state.links = np.zeros((3, 2), np.int32)
    with pytest.raises(AssertionError):
        state.table = np.zeros((3, 4)).T


def test_a_structure_like_a_named_tuple() -> None:
    pair = LikePair()
    pair.one, pair.two = np.array([1], np.int32), np.array([[1, 2], [3, 4]], np.int32)  # type: ignore[attr-defined]
    assert add(pair.address) == 2
    assert pair.one.tolist() == [5]  # type: ignore[attr-defined]
