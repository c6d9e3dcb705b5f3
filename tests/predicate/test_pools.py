"""Pools of contents: each once, for ever at its place, while arrays that were taken stay as they are."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heliograph.compiled import growing as pools
from heliograph.compiled.growing import Pool

contents = st.lists(st.lists(st.integers(-2, 2), max_size=3).map(lambda part: struct.pack(f"<{len(part)}i", *part)))


@given(contents, st.data())
def test_equal_contents_have_one_number(several: list[bytes], data: st.DataObject) -> None:
    pool = Pool(np.int32)
    numbers: dict[bytes, int] = {}
    for content in several:
        assert pool.number(content) == numbers.setdefault(content, len(numbers))
        if data.draw(st.booleans()):
            assert len(pool.offsets()) == len(numbers) + 1
    assert len(pool) == len(numbers)
    assert [pool.content(number) for number in numbers.values()] == list(numbers)
    ends = np.cumsum([0, *(len(content) // 4 for content in numbers)]).tolist()
    assert [pool.place(content) for content in numbers] == ends[:-1]
    assert pool.offsets().tolist() == ends
    assert pool.data().tobytes() == b"".join(numbers)


def test_many_contents_are_found_again() -> None:
    pool = Pool(np.float64)
    count = 3 * pools._BATCH + 5
    places = [pool.place(struct.pack("<d", number / 8)) for number in range(count)]
    early = pool.data()
    assert places == list(range(count))
    assert [pool.place(struct.pack("<d", number / 8)) for number in range(count)] == places
    assert pool.number(struct.pack("<2d", 0, 0)) == count
    assert early.tolist() == [number / 8 for number in range(count)]
    assert 24 * count <= pool.nbytes <= 48 * count


@given(contents, contents)
def test_a_pool_goes_on_from_its_arrays(before: list[bytes], after: list[bytes]) -> None:
    pool, known = Pool(np.int32), list(dict.fromkeys(before))
    for content in known:
        pool.number(content)
    offsets, data = pool.offsets(), pool.data()
    again = Pool.of(offsets, data)
    assert len(again) == len(known)
    for content in after:
        assert again.number(content) == pool.number(content)
        assert again.place(content) == pool.place(content)
    assert again.data().tobytes() == pool.data().tobytes()
    assert data.tobytes() == b"".join(known)
