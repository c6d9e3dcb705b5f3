"""Rows to publications: all rows with one id in one call, or runs of one id on a pipe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.cells import together
from heliograph.model import Rejections
from heliograph.tables.reads import Read

Numbers = npt.NDArray[np.int64]
Cells = Any  # an Arrow array of texts, plain or encoded


class Groups(NamedTuple):
    """The rows of group i are permutation[offsets[i] : offsets[i + 1]], in their order; a null id is a group too."""

    ids: tuple[str | None, ...]
    offsets: Numbers
    permutation: Numbers


def group_rows(table: pa.Table, column: str) -> Groups:
    """Group rows by a column; groups come in the order of their first row.

    Where no id comes again after another one, which is usual, the rows are groups already and only runs are looked at.
    """
    cells = together(table[column])
    starts = _starts(cells)
    runs = _encoded(cells.take(pa.array(starts)))
    lengths = np.diff(starts, append=len(cells))
    ids = tuple(runs.dictionary.to_pylist())
    if len(ids) == len(starts):
        return Groups(ids, np.append(starts, len(cells)), np.arange(len(cells)))
    codes = np.repeat(runs.indices.to_numpy(zero_copy_only=False), lengths)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(ids)))))
    return Groups(ids, offsets, np.argsort(codes, kind="stable"))


def complete_publications(reads: Iterable[Read], column: str = "publication_id") -> Iterator[Read]:
    """Cut what a pipe brings so that each piece holds only whole publications, and no id twice.

    A change of id ends a publication, the end of the pipe the last one; so the last run of rows waits for its end.
    What was rejected does not wait.
    """
    held: list[Read] = []
    for read in reads:
        if read.rejected:
            yield _slice(read, 0, 0)._replace(rejected=read.rejected)
        if read.table.num_rows:
            held.append(_slice(read, 0, read.table.num_rows))
        if len(held) > 1 and _goes_on(held[-2], held[-1], column):
            continue
        if held:
            joined = _joined(held)
            starts = run_starts(joined.table, column)
            yield from _pieces(joined, starts.tolist(), column)
            held = [_slice(joined, int(starts[-1]), joined.table.num_rows)]
    if held:
        yield _joined(held)


def _goes_on(before: Read, after: Read, column: str) -> bool:
    """Whether `after` is nothing but more of the publication that `before` ends with."""
    ids = pc.unique(after.table[column])
    return len(ids) == 1 and bool(ids[0].as_py() == before.table[column][-1].as_py())


def _pieces(read: Read, starts: list[int], column: str) -> Iterator[Read]:
    """All runs but the last, cut before each id that came before in the piece."""
    ids = read.table[column].take(pa.array(starts)).to_pylist()
    seen: set[str | None] = set()
    first = 0
    for start, publication_id in zip(starts[:-1], ids[:-1], strict=True):
        if publication_id in seen:
            yield _slice(read, first, start)
            first, seen = start, set()
        seen.add(publication_id)
    if seen:
        yield _slice(read, first, starts[-1])


def run_starts(table: pa.Table, column: str) -> Numbers:
    """The rows where the id differs from that of the row before; the first row counts."""
    return _starts(together(table[column]))


def _starts(cells: Cells) -> Numbers:
    """Encoded ids are compared by their numbers; a dictionary that lists an id twice may cut a run of it."""
    if cells.null_count:
        cells = _encoded(cells)
    numbers = cells.indices if pa.types.is_dictionary(cells.type) else cells
    changes = pc.not_equal(numbers[1:], numbers[:-1]).to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.concatenate((np.ones(min(len(cells), 1), np.bool_), changes)))


def _encoded(cells: Cells) -> Any:
    """The cells as numbers of the distinct ones, in the order of their first rows; null is one of them."""
    plain = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
    return plain.dictionary_encode(null_encoding="encode")


def _slice(read: Read, start: int, end: int) -> Read:
    rows = read.rows[start:end]
    first = int(rows[0]) if len(rows) else read.first_row
    return Read(read.source, read.table.slice(start, end - start), first, Rejections(), rows)


def _joined(reads: list[Read]) -> Read:
    if len(reads) == 1:
        return reads[0]
    rows = np.concatenate([read.rows for read in reads])
    return Read(reads[0].source, pa.concat_tables([read.table for read in reads]), int(rows[0]), Rejections(), rows)
