"""The vocabulary: every term that was met, interned once to a dense int32 id.

The laws: ids are never taken back, `term(intern(t)) == t`, equal terms have equal ids, and ids count from 0 in the
order of first interning. An overlay is a vocabulary over a snapshot of another one: it resolves the ids below its
start to the same terms, and its own begin there; dropping it leaves the base as it was.

A term is held in one of two ways. Interned by itself it is an object in a dictionary. The cells of large columns go
into a lexicon (see `lexicon`), where a term is no more than its spelling; objects are made of those when asked for. A
lexicon follows the dictionary before every column, so that whatever is known is found either way.

Threads: writers take turns on a lock. Readers need none: a term is stored before its id can be found, and the size is
the number of ids that can, so that a snapshot of some size finds every term below it. An interrupt between the two
leaves a term without an id, which the next writer overwrites.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph import terms as spelling
from heliograph.cells import Cells, Text, encode, is_varied, pieces, texts_of
from heliograph.errors import TermError
from heliograph.kernels import lexicon_layout
from heliograph.kernels.layout import Texts
from heliograph.publications import Ids
from heliograph.storage import read_folder, write_folder
from heliograph.terms import PREFIXES, Position, Term
from heliograph.vocabulary import bulk, flat
from heliograph.vocabulary.below import Below, Snapshot
from heliograph.vocabulary.lexicon import Lexicon, State, check_room, entries
from heliograph.vocabulary.memo import Column, Memo
from heliograph.vocabulary.typed import (
    TEXTS,
    Flags,
    Typed,
    TypedColumns,
    interleaved,
    joined,
    row_of,
    typed_of,
    untyped,
)

KIND = "vocabulary"
VERSION = 1
_VALUE, _QUALIFIER = itemgetter(1), itemgetter(2, 3)


class CellIds(NamedTuple):
    """The ids of a column's cells, -1 where a cell was refused, and the refusals as (row, error) in row order."""

    ids: Ids
    errors: list[tuple[int, TermError]]


class Vocabulary:
    """Interned terms with their typed values. Appends only."""

    def __init__(self, *, below: Below | None = None, memo: Memo | None = None) -> None:
        self._below = below
        self._start = 0 if below is None else len(below)
        self._terms: list[Term | None] = []  # None: only the lexicon has it
        self._ids: dict[Term, int] = {}
        self._lexicon: Lexicon | None = None
        self._columns = TypedColumns()
        self._memo = memo or Memo()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._start + len(self._ids) + (0 if self._lexicon is None else self._lexicon.state.alone)

    def __contains__(self, term: Term) -> bool:
        return self.find(term) >= 0

    # --- one term -----------------------------------------------------------------------------------------------

    def intern(self, term: Term) -> int:
        """The id of a term, a new one if it was not known. `intern_many` is several times faster for new ones."""
        found = self.find(term)
        if found < 0:
            found = self.intern_many((term,))[0]
        return found

    def find(self, term: Term) -> int:
        """The id of a term, or -1."""
        found = self._ids.get(term)
        return self._find_elsewhere((term,))[0] if found is None else found

    def term(self, id: int) -> Term:
        """The term of an id."""
        if id >= self._start:
            term = self._terms[id - self._start]
            return self._decode(id) if term is None else term
        if id < 0 or self._below is None:
            raise IndexError(f"no term has the id {id}")
        return self._below.term(id)

    def _decode(self, id: int) -> Term:
        assert self._lexicon is not None
        return self._lexicon.term(id)

    # --- many terms ---------------------------------------------------------------------------------------------

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, -1 where it is unknown."""
        get = self._ids.get
        found = [get(term, -1) for term in terms]
        if -1 in found and not (self._below is None and self._lexicon is None):
            missing = [row for row, id in enumerate(found) if id < 0]
            for row, id in zip(missing, self._find_elsewhere([terms[row] for row in missing]), strict=True):
                found[row] = id
        return found

    def _find_elsewhere(self, terms: Sequence[Term]) -> list[int]:
        """The ids of terms that are not in the dictionary. A lexicon that begins at 0 holds a save's terms too."""
        lexicon, below = self._lexicon, self._below
        if lexicon is None or lexicon.first > 0:
            found = [-1] * len(terms) if below is None else below.find_many(terms)
            if lexicon is None or -1 not in found:
                return found
            return [own if id < 0 else id for id, own in zip(found, lexicon.find(terms), strict=True)]
        return lexicon.find(terms)

    def intern_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, new ones where it was not known."""
        seen = self._entered()
        found = self.find_many(terms)
        if -1 in found:
            _check_texts([term for term, id in zip(terms, found, strict=True) if id < 0])
            with self._lock:
                if self._entered() is not seen:  # another writer was first
                    found = self.find_many(terms)
                self._append(terms, found)
        return found

    def _entered(self) -> State | None:
        return None if self._lexicon is None else self._lexicon.state

    def _append(self, terms: Sequence[Term], found: list[int]) -> None:
        """Gives ids to the terms that have none. A hash of a term costs as much as the rest, so there is only one.

        Another writer, or an earlier term of the same call, may have come first.
        """
        own, ids, fresh = self._terms, self._ids, len(self)
        check_room(fresh + len(found))
        del own[fresh - self._start :]  # what an interrupted call left without an id
        for row, id in enumerate(found):
            if id < 0:
                term = terms[row]
                own.append(term)  # a term is stored before its id can be found
                found[row] = known = ids.setdefault(term, fresh)
                if known == fresh:
                    fresh += 1
                else:
                    own.pop()

    # --- columns ------------------------------------------------------------------------------------------------

    def intern_cells(self, cells: Cells, position: Position, prefixes: Mapping[str, str] = PREFIXES) -> CellIds:
        """Interns a column of cells: each distinct text is read once, and remembered for the next column."""
        column = Column(position, prefixes)
        if self._takes_many(len(cells)) and is_varied(cells):
            return self._intern_pieces(pieces(cells), column)
        codes, dictionary = encode(cells)
        if self._takes_many(len(dictionary)):
            ids, errors = self._intern_pieces(pieces(dictionary), column)
            refused = {**dict(errors), -1: column.refuse_null()}
        else:
            ids, refused = self._intern_texts(texts_of(dictionary), column)
        return _spread(codes, ids, refused)

    def _takes_many(self, count: int) -> bool:
        """Whether so many texts are worth a lexicon. An overlay over an overlay has none."""
        return bulk.is_worth(count, len(self)) and (self.base is None or self.base.base is None)

    def _intern_pieces(self, arrays: Iterable[pa.Array[Any]], column: Column) -> CellIds:
        """The ids of Arrow arrays of strings, block by block, through the lexicon."""
        with self._lock:
            key = self._followed().state.rows.key
        ids: list[Ids] = [np.empty(0, np.int32)]
        errors: list[tuple[int, TermError]] = []
        row = 0
        for array in arrays:
            for start in range(0, len(array), bulk.BLOCK):
                block = bulk.read(array.slice(start, bulk.BLOCK), column, self._memo, key)
                self._enter(block)
                block.remember(self._memo, column)
                errors += block.refused(row)
                ids.append(block.ids)
                row += len(block.ids)
        return CellIds(np.concatenate(ids), errors)

    def _enter(self, block: bulk.Block) -> None:
        """Gives ids to the cells of a block. The rows are counted last: see the law of threads."""
        with self._lock:
            lexicon = self._followed()
            rows = lexicon.enter(block.cells, block.hashes, block.others, block.ids)
            self._terms.extend([None] * (rows.size - lexicon.state.rows.size))
            lexicon.publish(rows)

    def _followed(self) -> Lexicon:
        """The lexicon, made if there is none, with all terms of the dictionary in it."""
        del self._terms[len(self) - self._start :]
        lexicon = self._made_lexicon() if self._lexicon is None else self._lexicon
        new = self._terms[lexicon.end - self._start :]
        if new:
            lexicon.add(entries([term for term in new if term is not None]))
        self._lexicon = lexicon
        return lexicon

    def _made_lexicon(self) -> Lexicon:
        if isinstance(self._below, Snapshot):
            return Lexicon(self._below.lexicon())
        lexicon = Lexicon()
        if isinstance(self._below, flat.Stored):
            lexicon.add(self._below.spelled())
        return lexicon

    def lexicon_upto(self, size: int) -> lexicon_layout.Lexicon:
        """The first `size` terms, not those of an overlay, as an overlay's kernels search them."""
        with self._lock:
            return self._followed().state.rows._replace(size=size)

    def _intern_texts(self, texts: Sequence[Text], column: Column) -> tuple[Ids, dict[int, TermError]]:
        """The id of each text, -1 where it is refused, and the errors by its number; -1 holds that of a null."""
        found = self._memo.recall(texts, column)
        missing = [-1, *(number for number, id in enumerate(found) if id < 0)]
        outcomes = {number: column.read(texts[number] if number >= 0 else None) for number in missing}
        new = {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, Term)}
        for number, id in zip(new, self.intern_many(list(new.values())), strict=True):
            found[number] = id
        self._memo.remember({texts[number]: found[number] for number in new}, column)
        refused = {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, TermError)}
        return np.array(found, np.int32), refused

    def spell(self, ids: Sequence[int] | Ids, position: Position = Position.OBJECT) -> pa.StringArray:
        """The cell texts of these ids; null where an id is negative."""
        wanted = np.asarray(ids, np.int32)
        if self._lexicon is not None and position is not Position.PROPERTY:
            with self._lock:
                lexicon = self._followed()
            if _all_within(wanted, lexicon):
                return cast("pa.StringArray", lexicon.spell(wanted))
        unique, inverse = np.unique(wanted, return_inverse=True)
        texts = [spelling.spell(self.term(id), position) if id >= 0 else None for id in unique.tolist()]
        return pa.array(texts, pa.string()).take(inverse.ravel())

    # --- typed values -------------------------------------------------------------------------------------------

    def typed(self, ids: Ids | None = None) -> Typed:
        """The typed values of these ids, or of all of them: see `typed.Typed`."""
        with self._lock:
            own = self._columns.upto(len(self) - self._start, self._typed_rows)
        if self._below is None:
            return own if ids is None else own.take(ids)
        return joined(self._below.typed(), own) if ids is None else self._gather(ids, own, self._below)

    def _gather(self, ids: Ids, own: Typed, below: Below) -> Typed:
        low = ids < self._start
        return interleaved(low, below.typed(ids[low]), own.take(ids[~low] - self._start))

    def _typed_rows(self, first: int, last: int) -> Typed:
        """The typed values of its own terms from the first to the last, counted from `start`."""
        kinds = self._kinds(first, last)
        rows = untyped(np.minimum(kinds, lexicon_layout.LITERAL).astype(np.uint8))
        for row in np.flatnonzero(kinds == lexicon_layout.LITERAL).tolist():
            for column, value in zip(rows.columns, row_of(self.term(self._start + first + row)), strict=True):
                column[row] = value
        rest = typed_of([term for term in self._terms[first + len(kinds) : last] if term is not None])
        return joined(rows, rest) if len(kinds) else rest

    def _kinds(self, first: int, last: int) -> lexicon_layout.Bytes:
        """The kinds of its own terms from the first on, as far as the lexicon goes."""
        if self._lexicon is None:
            return np.zeros(0, np.uint8)
        return self._lexicon.kinds(self._start + first, self._start + last)

    def textual(self, first: int, last: int) -> Flags:
        """Which of the ids from `first` to `last` are texts: plain strings or tagged with a language."""
        begin, end = max(first - self._start, 0), max(last - self._start, 0)
        kinds = self._kinds(begin, end)
        rest = [term is not None and term[2] in TEXTS for term in self._terms[begin + len(kinds) : end]]
        own = np.concatenate((kinds == lexicon_layout.TEXT, np.array(rest, np.bool_)))
        if self._below is None or first >= self._start:
            return own
        return np.concatenate((self._below.textual(first, min(last, self._start)), own))

    @property
    def start(self) -> int:
        """The first id of its own; those below are the base's, or a save's."""
        return self._start

    @property
    def base(self) -> Vocabulary | None:
        """The vocabulary that this one lies over, of which it sees the ids below `start`."""
        return self._below.base if isinstance(self._below, Snapshot) else None

    # --- overlays and saves -------------------------------------------------------------------------------------

    def overlay(self) -> Vocabulary:
        """A vocabulary over this one as it is now, for terms that need not be kept."""
        size = len(self)
        return Vocabulary(below=Snapshot(self, size), memo=Memo(self._memo, size))

    def only(self, ids: Ids) -> Vocabulary:
        """A new vocabulary of these terms alone: ids[i] has the id i there. The ids are distinct."""
        kept = Vocabulary()
        if bulk.is_worth(len(ids), 0):
            found = kept.intern_cells(self.spell(ids), Position.OBJECT)
            if not found.errors and np.array_equal(found.ids, np.arange(len(ids))):
                return kept
            kept = Vocabulary()
        kept.intern_many([self.term(id) for id in ids.tolist()])
        return kept

    def pack(self) -> flat.Packed:
        """The vocabulary as arrays and metadata, for a save of its own or as part of an engine's."""
        size = len(self)
        qualifiers: flat.Qualifiers = {}
        texts = self.texts(qualifiers, size)
        return flat.pack(texts, qualifiers, self.typed(np.arange(size, dtype=np.int32)))

    def texts(self, qualifiers: flat.Qualifiers, size: int) -> Texts:
        """The first `size` terms as flat arrays; `qualifiers` is extended as needed."""
        if self._below is None:
            return self._own_texts(qualifiers, size)
        under = self._below.texts(qualifiers)
        return flat.appended(under, self._own_texts(qualifiers, size - self._start))

    def _own_texts(self, qualifiers: flat.Qualifiers, size: int) -> Texts:
        lexicon = self._lexicon
        covered = 0 if lexicon is None else min(lexicon.end - self._start, size)
        rest = flat.flatten([term for term in self._terms[covered:size] if term is not None], qualifiers)
        if lexicon is None or not covered:
            return rest
        return flat.appended(flat.flatten_lexicon(lexicon, self._start, self._start + covered, qualifiers), rest)

    @classmethod
    def unpack(cls, packed: flat.Packed, source: str | None = None) -> Self:
        """The inverse of `pack`; the arrays are used as they are, mapped or not. `source` is named in errors."""
        return cls(below=flat.unpack(packed, source))

    def save(self, path: str | Path) -> None:
        packed = self.pack()
        write_folder(path, KIND, VERSION, arrays=packed.arrays, meta=packed.meta)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        saved = read_folder(path, KIND, {VERSION})
        return cls.unpack(flat.Packed(saved.arrays, saved.meta), str(path))


def _spread(codes: npt.NDArray[np.signedinteger[Any]], ids: Ids, refused: Mapping[int, TermError]) -> CellIds:
    """The ids of cells from those of their texts; code -1 is a null."""
    spread = np.append(ids, np.int32(-1))[codes]
    rows = np.flatnonzero(spread < 0)
    errors = [refused[code] for code in codes[rows].tolist()]
    return CellIds(spread, list(zip(rows.tolist(), errors, strict=True)))


def _all_within(ids: Ids, lexicon: Lexicon) -> bool:
    return bool(((ids < 0) | ((ids >= lexicon.first) & (ids < lexicon.end))).all())


def _check_texts(terms: Collection[Term]) -> None:
    for text in map(_VALUE, terms):
        if not text.isascii():
            spelling.check_unicode(text)
    for datatype, language in set(map(_QUALIFIER, terms)):
        spelling.check_unicode(datatype + language)
