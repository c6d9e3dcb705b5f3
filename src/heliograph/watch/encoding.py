"""Accepted updates as columns of numbers: what every strategy of the watch engine is given.

The law: `Encoded.updates` gives back row by row what was accepted, in order and with the same seqs, so an engine may
work on columns or on rows and tell the same story.

Who makes them: `reading.as_encoded(items, intake)` of anything that `publish` takes, where the intake names vocabulary,
prefixes, sequence and whether a window needs times; `background.background(items, vocabulary, prefixes)` of what
`load_graph` takes. Both give an `Encoding(encoded, rejected)`. What was read and not yet published is an
`interned.Updates`, the same columns with seqs still to be given out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.kernels.evolution_layout import NO_TIME, Floats, Int8s, Int32s, Int64s
from heliograph.model import Rejected
from heliograph.terms import Term
from heliograph.vocabulary import Vocabulary
from heliograph.watch.updates import ADD as PLUS
from heliograph.watch.updates import REMOVE as MINUS
from heliograph.watch.updates import SET as EQUALS
from heliograph.watch.updates import Update

Rows: TypeAlias = "slice | npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_]"

ADD, REMOVE, SET, REMOVE_VERTEX = range(4)
SIGNS = (PLUS, MINUS, EQUALS, MINUS)  # how each is written in the column op
NO_TERM = -1


@dataclass(frozen=True, slots=True)
class Encoded:
    """Updates as parallel columns; `len` is the number of updates. Nobody writes into them.

    `predicate` and `object` are NO_TERM in the removal of a vertex; `weight` is NaN and `at` (microseconds since 1970,
    UTC) is NO_TIME where there is none.
    """

    seq: Int64s
    op: Int8s
    subject: Int32s
    predicate: Int32s
    object: Int32s
    weight: Floats
    at: Int64s

    def __len__(self) -> int:
        return len(self.seq)

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        return (self.seq, self.op, self.subject, self.predicate, self.object, self.weight, self.at)

    def take(self, rows: Rows) -> Encoded:
        """Some of the updates: a slice is a view, an index or a mask makes copies."""
        return Encoded(*(column[rows] for column in self.columns))

    @classmethod
    def joined(cls, parts: Iterable[Encoded]) -> Encoded:
        """The updates of all parts, one after the other."""
        columns = [part.columns for part in parts]
        return cls(*map(np.concatenate, zip(*columns, strict=True))) if columns else cls.none()

    @classmethod
    def none(cls) -> Encoded:
        ids, numbers = np.empty(0, np.int32), np.empty(0, np.int64)
        return cls(numbers, np.empty(0, np.uint8), ids, ids, ids, np.empty(0, np.float64), numbers)

    def updates(self, vocabulary: Vocabulary) -> Iterator[Update]:
        """The updates one by one, in terms of the vocabulary whose ids these are."""
        terms: dict[int, Term | None] = {NO_TERM: None}
        for column in (self.subject, self.predicate, self.object):
            terms |= {id: vocabulary.term(id) for id in set(column.tolist()) - terms.keys()}
        for seq, op, s, p, o, weight, at in zip(*(column.tolist() for column in self.columns), strict=True):
            subject = terms[s]
            assert subject is not None
            yield Update(
                seq,
                SIGNS[op],
                subject,
                terms[p],
                terms[o],
                None if weight != weight else weight,
                None if at == NO_TIME else at,
            )


class Encoding(NamedTuple):
    """The updates that were accepted, and what was refused, in the order of their rows."""

    encoded: Encoded
    rejected: list[Rejected]
