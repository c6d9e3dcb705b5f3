"""Publications: rows of triples grouped by id, and the batch of interned publications that a filter engine takes.

The laws: within one call all rows with one id are one publication, wherever they lie, and publications come in the
order of their first rows. On a pipe a change of id ends a publication. `rebase` changes no graph, and afterwards each
term that the vocabulary knows has the vocabulary's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.io.tables import TableRows
from heliograph.model import Rejections
from heliograph.terms import Term
from heliograph.vocabulary.columns import Ids, together

if TYPE_CHECKING:
    from heliograph.vocabulary import Vocabulary

Numbers = npt.NDArray[np.int64]
Cells = Any  # an Arrow array of texts, plain or encoded


# --- rows by id ---


class RowGroups(NamedTuple):
    """The rows of group i are permutation[offsets[i] : offsets[i + 1]], in their order; a null id is a group too."""

    ids: tuple[str | None, ...]
    offsets: Numbers
    permutation: Numbers


def group_rows(table: pa.Table, column: str) -> RowGroups:
    """Group rows by a column; groups come in the order of their first row.

    Where no id comes again after another one, which is usual, the rows are groups already and only runs are looked at.
    """
    cells = together(table[column])
    starts = run_starts(cells)
    runs = _encoded(cells.take(pa.array(starts)))
    lengths = np.diff(starts, append=len(cells))
    ids = tuple(runs.dictionary.to_pylist())
    if len(ids) == len(starts):
        return RowGroups(ids, np.append(starts, len(cells)), np.arange(len(cells)))
    codes = np.repeat(runs.indices.to_numpy(zero_copy_only=False), lengths)
    offsets = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=len(ids)))))
    return RowGroups(ids, offsets, np.argsort(codes, kind="stable"))


def run_starts(cells: Cells) -> Numbers:
    """The rows where the id differs from that of the row before; the first row counts.

    Encoded ids are compared by their numbers; a dictionary that lists an id twice may cut a run of it.
    """
    cells = together(cells)
    if cells.null_count:
        cells = _encoded(cells)
    numbers = cells.indices if pa.types.is_dictionary(cells.type) else cells
    changes = pc.not_equal(numbers[1:], numbers[:-1]).to_numpy(zero_copy_only=False)
    return np.flatnonzero(np.concatenate((np.ones(min(len(cells), 1), np.bool_), changes)))


def _encoded(cells: Cells) -> Any:
    """The cells as numbers of the distinct ones, in the order of their first rows; null is one of them."""
    plain = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
    return plain.dictionary_encode(null_encoding="encode")


def complete_publications(pieces: Iterable[TableRows], column: str = "publication_id") -> Iterator[TableRows]:
    """Cut what a pipe brings so that each piece holds only whole publications, and no id twice.

    A change of id ends a publication, the end of the pipe the last one; so the last run of rows waits for its end.
    What was rejected does not wait.
    """
    held: list[TableRows] = []
    for piece in pieces:
        if piece.rejected:
            yield _slice(piece, 0, 0)._replace(rejected=piece.rejected)
        if piece.table.num_rows:
            held.append(_slice(piece, 0, piece.table.num_rows))
        if len(held) > 1 and _goes_on(held[-2], held[-1], column):
            continue
        if held:
            whole = _joined(held)
            starts = run_starts(whole.table[column])
            yield from _without_repeats(whole, starts.tolist(), column)
            held = [_slice(whole, int(starts[-1]), whole.table.num_rows)]
    if held:
        yield _joined(held)


def _goes_on(before: TableRows, after: TableRows, column: str) -> bool:
    """Whether `after` is nothing but more of the publication that `before` ends with."""
    ids = pc.unique(after.table[column])
    return len(ids) == 1 and bool(ids[0].as_py() == before.table[column][-1].as_py())


def _without_repeats(rows: TableRows, starts: list[int], column: str) -> Iterator[TableRows]:
    """All runs but the last, cut before each id that came before in the piece."""
    ids = rows.table[column].take(pa.array(starts)).to_pylist()
    seen: set[str | None] = set()
    first = 0
    for start, publication_id in zip(starts[:-1], ids[:-1], strict=True):
        if publication_id in seen:
            yield _slice(rows, first, start)
            first, seen = start, set()
        seen.add(publication_id)
    if seen:
        yield _slice(rows, first, starts[-1])


def _slice(rows: TableRows, start: int, end: int) -> TableRows:
    return TableRows(rows.source, rows.table.slice(start, end - start), Rejections(), rows.rows[start:end])


def _joined(pieces: list[TableRows]) -> TableRows:
    if len(pieces) == 1:
        return pieces[0]
    table = pa.concat_tables([piece.table for piece in pieces])
    return TableRows(pieces[0].source, table, Rejections(), np.concatenate([piece.rows for piece in pieces]))


# --- interned publications ---


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
    offsets: Numbers
    triples: Triples

    @classmethod
    def none(cls, vocabulary: Vocabulary) -> Publications:
        empty = np.empty(0, np.int32)
        return cls(vocabulary, (), np.zeros(1, np.int64), Triples(empty, empty, empty))

    def some(self, first: int, last: int) -> Publications:
        """The publications from number `first` up to `last`."""
        offsets = self.offsets[first : last + 1]
        triples = Triples(*(column[offsets[0] : offsets[-1]] for column in self.triples))
        return Publications(self.vocabulary, self.ids[first:last], offsets - offsets[0], triples)

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
