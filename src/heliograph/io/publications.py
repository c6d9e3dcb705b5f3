"""A batch of interned publications: what documents, feeds and tables become before a filter engine sees them.

The law of `rebase`: it changes no graph, and afterwards each term that the vocabulary knows has the vocabulary's id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.terms import Term
from heliograph.vocabulary.columns import Ids

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary


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


def rebase(publications: Publications, vocabulary: Vocabulary) -> Publications:
    """The same publications over a new overlay of `vocabulary`; or as they are, where that changes nothing.

    Ids that both sides share stay. The others may mean something else there, as the ids of an overlay's own terms do
    once its base has grown; so each of them is looked up anew.
    """
    own = publications.vocabulary
    if own is vocabulary or (own.base is vocabulary and own.start == len(vocabulary)):
        return publications
    overlay = vocabulary.overlay()
    common = _shared(own, overlay)
    foreign = [np.flatnonzero(column >= common) for column in publications.triples]
    known = np.zeros(len(own) - common, np.int32)  # a table of places: sorting takes five times as long
    for column, rows in zip(publications.triples, foreign, strict=True):
        known[column[rows] - common] = 1
    met = np.flatnonzero(known)
    known[met] = overlay.intern_many([own.term(id) for id in (met + common).tolist()])
    columns = [column.copy() for column in publications.triples]
    for column, rows in zip(columns, foreign, strict=True):
        column[rows] = known[column[rows] - common]
    return publications._replace(vocabulary=overlay, triples=Triples(*columns))


def _shared(left: Vocabulary, right: Vocabulary) -> int:
    """How many ids mean the same in both: those that both see of a vocabulary under both."""
    sizes = dict(_lineage(right))
    return next((min(size, sizes[under]) for under, size in _lineage(left) if under in sizes), 0)


def _lineage(vocabulary: Vocabulary) -> Iterator[tuple[Vocabulary, int]]:
    """A vocabulary and those under it, with how many ids it sees of each."""
    size = len(vocabulary)
    while True:
        yield vocabulary, size
        if vocabulary.base is None:
            return
        vocabulary, size = vocabulary.base, vocabulary.start
