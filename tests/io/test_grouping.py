"""Rows to publications: grouped within a call, cut by change of id on a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.io.publications import complete_publications, group_rows
from heliograph.io.tables import TableRows, numbered
from heliograph.model import Rejected, Rejections

IDS = st.lists(st.sampled_from(["a", "b", "c", None]), max_size=12)


def read_of(ids: list[str | None], first: int, rejected: int = 0) -> TableRows:
    refused = Rejections([Rejected("-", str(first), "HG-205", "x")] * rejected)
    return TableRows("-", pa.table({"publication_id": pa.array(ids, pa.string())}), refused, numbered(first, len(ids)))


@given(IDS, st.integers(0, 12))
def test_groups_hold_every_row_once_in_order(ids: list[str | None], cut: int) -> None:
    table = pa.concat_tables([read_of(ids[:cut], 1).table, read_of(ids[cut:], 1).table])
    groups = group_rows(table, "publication_id")
    assert list(groups.ids) == list(dict.fromkeys(ids))
    rows = [groups.permutation[groups.offsets[i] : groups.offsets[i + 1]].tolist() for i in range(len(groups.ids))]
    assert rows == [[row for row, other in enumerate(ids) if other == one] for one in groups.ids]


@settings(max_examples=100)
@given(st.lists(st.tuples(IDS, st.integers(0, 1)), max_size=6))
def test_pieces_hold_whole_publications_and_no_id_twice(batches: list[tuple[list[str | None], int]]) -> None:
    reads: list[TableRows] = []
    for ids, rejected in batches:
        reads.append(read_of(ids, 1 + sum(len(read.rows) for read in reads), rejected))
    pieces = list(complete_publications(reads))
    arrived = [one for ids, _ in batches for one in ids]
    runs = [[list(run) for _, run in groupby(piece.table["publication_id"].to_pylist())] for piece in pieces]
    assert [run for piece in runs for run in piece] == [list(run) for _, run in groupby(arrived)]
    assert all(len({run[0] for run in piece}) == len(piece) for piece in runs)
    assert np.concatenate([np.empty(0, np.int64), *(piece.rows for piece in pieces)]).tolist() == list(
        range(1, len(arrived) + 1)
    )
    assert sum(len(piece.rejected) for piece in pieces) == sum(rejected for _, rejected in batches)
    assert all(piece.rows.tolist() == sorted(piece.rows.tolist()) for piece in pieces if len(piece.rows))


def test_a_publication_comes_as_soon_as_the_next_begins() -> None:
    seen: list[int] = []

    def arriving() -> Iterator[TableRows]:
        for read in (read_of(["a", "a"], 1), read_of(["a"], 3), read_of(["b"], 4), read_of(["c"], 5)):
            seen.append(int(read.rows[0]))
            yield read

    first = next(complete_publications(arriving()))
    assert (first.table.num_rows, seen) == (3, [1, 3, 4])
