"""Publications out of what the documents of one call hold.

The law: all triples with one publication id in one call are one publication, in whatever documents they lie, and
publications come in the order in which they were first met. Documents share no blank nodes: where one publication has
parts in several documents, the blank nodes of the later ones are named anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.feeds.interning import Interner
from heliograph.model import Rejected, Rejections
from heliograph.publications import Publications, Triples
from heliograph.terms import TermKind

Rows = npt.NDArray[np.int32]  # subject, predicate, object
Numbers = npt.NDArray[np.int64]


class Reading(NamedTuple):
    """What one document holds: publication ids, triples with the number of their publication, and what was refused."""

    ids: list[str]
    numbers: Numbers
    rows: Rows
    rejected: list[Rejected]


def nothing(rejected: Sequence[Rejected]) -> Reading:
    """A document of which nothing could be read."""
    return Reading([], np.empty(0, np.int64), np.empty((0, 3), np.int32), list(rejected))


class Documents(NamedTuple):
    """A batch of publications, and what was rejected on the way to it."""

    publications: Publications
    rejected: Rejections


class _Merged(NamedTuple):
    ids: list[str]
    numbers: Numbers
    rows: Rows


def publish(readings: Sequence[Reading], interner: Interner, batch: int) -> Iterator[Documents]:
    """The publications of a call in batches; all rejections come with the first."""
    merged = _in_order(_merge(readings, interner))
    rejected = Rejections(refused for reading in readings for refused in reading.rejected)
    starts = np.searchsorted(merged.numbers, np.arange(len(merged.ids) + 1))
    for first in range(0, len(merged.ids), batch):
        ids = tuple(merged.ids[first : first + batch])
        bounds = starts[first : first + len(ids) + 1]
        columns = (np.ascontiguousarray(column) for column in merged.rows[bounds[0] : bounds[-1]].T)
        publications = Publications(interner.vocabulary, ids, bounds - bounds[0], Triples(*columns))
        yield Documents(publications, rejected)
        rejected = Rejections()
    if rejected:
        yield Documents(Publications.none(interner.vocabulary), rejected)


def _merge(readings: Sequence[Reading], interner: Interner) -> _Merged:
    known: dict[str, int] = {}
    numbers: list[Numbers] = [np.empty(0, np.int64)]
    rows: list[Rows] = [np.empty((0, 3), np.int32)]
    for reading in readings:
        again = [number for number, id in enumerate(reading.ids) if id in known]
        table = np.array([known.setdefault(id, len(known)) for id in reading.ids], np.int64)
        rows.append(_apart(reading, again, interner) if again else reading.rows)
        numbers.append(table[reading.numbers] if len(table) else reading.numbers)
    return _Merged(list(known), np.concatenate(numbers), np.concatenate(rows))


def _apart(reading: Reading, again: list[int], interner: Interner) -> Rows:
    """The rows with new blank nodes in the publications that an earlier document has begun."""
    rows = reading.rows.copy()
    renamed: dict[int, int] = {}
    for row in np.flatnonzero(np.isin(reading.numbers, again)).tolist():
        for column in (0, 2):
            id = int(rows[row, column])
            if interner.vocabulary.term(id).kind is TermKind.BLANK:
                if id not in renamed:
                    renamed[id] = interner.fresh_blank()
                rows[row, column] = renamed[id]
    return rows


def _in_order(merged: _Merged) -> _Merged:
    """Rows sorted by publication; those of one stay in their order."""
    if np.all(merged.numbers[1:] >= merged.numbers[:-1]):
        return merged
    order = np.argsort(merged.numbers, kind="stable")
    return _Merged(merged.ids, merged.numbers[order], merged.rows[order])
