"""A batch of interned publications: what documents, feeds and tables become before a filter engine sees them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.terms import Term

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary

Ids = npt.NDArray[np.int32]


class Triples(NamedTuple):
    """Interned triples as three parallel columns."""

    subject: Ids
    predicate: Ids
    object: Ids


class Publications(NamedTuple):
    """Publications in order of arrival; number i holds the triples from offsets[i] to offsets[i + 1].

    The triples of one publication may hold duplicates; they mean a set.
    """

    vocabulary: Vocabulary
    ids: tuple[str, ...]
    offsets: npt.NDArray[np.int64]
    triples: Triples

    @classmethod
    def none(cls, vocabulary: Vocabulary) -> Publications:
        empty = np.empty(0, np.int32)
        return cls(vocabulary, (), np.zeros(1, np.int64), Triples(empty, empty, empty))

    def graphs(self) -> Iterator[tuple[str, frozenset[tuple[Term, Term, Term]]]]:
        """Each publication's id and its set of triples as terms."""
        term = self.vocabulary.term
        rows = zip(*(column.tolist() for column in self.triples), strict=True)
        decoded = [(term(s), term(p), term(o)) for s, p, o in rows]
        for number, publication_id in enumerate(self.ids):
            yield publication_id, frozenset(decoded[self.offsets[number] : self.offsets[number + 1]])
