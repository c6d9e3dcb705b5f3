"""Texts by number and numbers by text: in bulk, one by one, and both mixed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.route import numbering as columns
from heliograph.route.numbering import Ids, NumberedValues

parts = st.lists(st.lists(st.none() | st.text(max_size=3), max_size=90), max_size=4)


@given(parts, st.randoms(use_true_random=False))
def test_a_column_is_a_list(pieces: list[list[str | None]], chance: Any) -> None:
    column, expected = NumberedValues(pa.string()), list[str | None]()
    for piece in pieces:
        column.extend(len(expected), pa.array(piece, pa.string()))
        expected += piece
    assert [column.get(number) for number in range(len(expected) + 1)] == [*expected, None]
    wanted = [chance.randrange(len(expected) + 3) for _ in range(20)]
    assert column.take(np.array(wanted, np.int32)).to_pylist() == [[*expected, None, None, None][n] for n in wanted]
    for count in (len(expected) // 2, len(expected), 0):
        assert column.whole(count).to_pylist() == expected[:count]


@pytest.mark.parametrize("in_table", [False, True])
def test_ids_mean_what_they_were_last_added_with(in_table: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "pays", lambda count: in_table)
    ids = Ids()
    first = pa.array([f"é{number}" for number in range(50)])
    ids.extend(first.slice(1), np.arange(1, 50, dtype=np.int32))
    ids.extend(pa.array(["é7", "new"]), np.array([70, 71], np.int32))
    expected = {f"é{number}": number for number in range(1, 50)} | {"é7": 70, "new": 71}
    wanted = ["é0", *expected, "nobody", ""]
    assert [ids.find(id) for id in wanted] == [expected.get(id, -1) for id in wanted]
    assert ids.find_many(pa.array(wanted)).tolist() == [expected.get(id, -1) for id in wanted]
    assert ids.find_many(pa.array(wanted).slice(3, 4)).tolist() == [3, 4, 5, 6]
    assert (ids.nbytes > 0) == in_table
