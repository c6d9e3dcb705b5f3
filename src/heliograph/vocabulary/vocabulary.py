"""The vocabulary: every term that was met, interned once to a dense int32 id.

The laws: ids are never taken back, `term(intern(t)) == t`, equal terms have equal ids, and ids count from 0 in the
order of first interning. An overlay is a vocabulary over a snapshot of another one: it resolves the ids below its
start to the same terms, and its own begin there; dropping it leaves the base as it was.

Threads: writers take turns on a lock. Readers need none: a term is stored before its id can be found, and the size is
the number of ids that can, so that a snapshot of some size finds every term below it. An interrupt between the two
leaves a term without an id, which the next writer overwrites.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa

from heliograph import terms as spelling
from heliograph.cells import Cells, Text, distinct
from heliograph.errors import TermError
from heliograph.kernels.layout import Texts
from heliograph.publications import Ids
from heliograph.storage import read_folder, write_folder
from heliograph.terms import PREFIXES, Position, Term
from heliograph.vocabulary import flat
from heliograph.vocabulary.memo import Column, Memo
from heliograph.vocabulary.typed import TEXTS, Flags, Typed, TypedColumns, interleaved, joined

KIND = "vocabulary"
VERSION = 1
_VALUE, _QUALIFIER = itemgetter(1), itemgetter(2, 3)


class CellIds(NamedTuple):
    """The ids of a column's cells, -1 where a cell was refused, and the refusals as (row, error) in row order."""

    ids: Ids
    errors: list[tuple[int, TermError]]


class Below(Protocol):
    """The terms under a vocabulary's own: a fixed number of them."""

    def __len__(self) -> int: ...

    def find_many(self, terms: Sequence[Term]) -> list[int]: ...

    def term(self, id: int) -> Term: ...

    def typed(self, ids: Ids | None = None) -> Typed: ...

    def textual(self, first: int, last: int) -> Flags: ...

    def texts(self, qualifiers: flat.Qualifiers) -> Texts: ...


class Vocabulary:
    """Interned terms with their typed values. Appends only."""

    def __init__(self, *, below: Below | None = None, memo: Memo | None = None) -> None:
        self._below = below
        self._start = 0 if below is None else len(below)
        self._terms: list[Term] = []
        self._ids: dict[Term, int] = {}
        self._columns = TypedColumns()
        self._memo = memo or Memo()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._start + len(self._ids)

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
        if found is None:
            found = -1 if self._below is None else self._below.find_many((term,))[0]
        return found

    def term(self, id: int) -> Term:
        """The term of an id."""
        if id >= self._start:
            return self._terms[id - self._start]
        if id < 0 or self._below is None:
            raise IndexError(f"no term has the id {id}")
        return self._below.term(id)

    # --- many terms ---------------------------------------------------------------------------------------------

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, -1 where it is unknown."""
        get = self._ids.get
        found = [get(term, -1) for term in terms]
        if self._below is None or -1 not in found:
            return found
        missing = [row for row, id in enumerate(found) if id < 0]
        for row, id in zip(missing, self._below.find_many([terms[row] for row in missing]), strict=True):
            found[row] = id
        return found

    def intern_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, new ones where it was not known."""
        found = self.find_many(terms)
        if -1 in found:
            _check_texts([term for term, id in zip(terms, found, strict=True) if id < 0])
            with self._lock:
                self._append(terms, found)
        return found

    def _append(self, terms: Sequence[Term], found: list[int]) -> None:
        """Gives ids to the terms that have none. A hash of a term costs as much as the rest, so there is only one.

        Another writer, or an earlier term of the same call, may have come first.
        """
        own, ids, fresh = self._terms, self._ids, len(self)
        del own[len(ids) :]  # what an interrupted call left without an id
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
        codes, texts = distinct(cells)
        known, refused = self._intern_texts(texts, Column(position, prefixes))
        table = np.array([*known, -1], np.int32)  # code -1, a null, is the last entry
        ids = table[codes]
        rows = np.flatnonzero(ids < 0)
        errors = [refused[code] for code in codes[rows].tolist()]
        return CellIds(ids, list(zip(rows.tolist(), errors, strict=True)))

    def _intern_texts(self, texts: Sequence[Text], column: Column) -> tuple[list[int], dict[int, TermError]]:
        """The id of each text, -1 where it is refused, and the errors by its number; -1 holds that of a null."""
        found = self._memo.recall(texts, column)
        missing = [-1, *(number for number, id in enumerate(found) if id < 0)]
        outcomes = {number: column.read(texts[number] if number >= 0 else None) for number in missing}
        new = {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, Term)}
        for number, id in zip(new, self.intern_many(list(new.values())), strict=True):
            found[number] = id
        self._memo.remember({texts[number]: found[number] for number in new}, column)
        return found, {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, TermError)}

    def spell(self, ids: Sequence[int] | Ids, position: Position = Position.OBJECT) -> pa.StringArray:
        """The cell texts of these ids; null where an id is negative."""
        unique, inverse = np.unique(np.asarray(ids, np.int32), return_inverse=True)
        texts = [spelling.spell(self.term(id), position) if id >= 0 else None for id in unique.tolist()]
        return pa.array(texts, pa.string()).take(inverse.ravel())

    # --- typed values -------------------------------------------------------------------------------------------

    def typed(self, ids: Ids | None = None) -> Typed:
        """The typed values of these ids, or of all of them: see `typed.Typed`."""
        with self._lock:
            own = self._columns.upto(self._terms, len(self._ids))
        if self._below is None:
            return own if ids is None else own.take(ids)
        return joined(self._below.typed(), own) if ids is None else self._gather(ids, own, self._below)

    def _gather(self, ids: Ids, own: Typed, below: Below) -> Typed:
        low = ids < self._start
        return interleaved(low, below.typed(ids[low]), own.take(ids[~low] - self._start))

    def textual(self, first: int, last: int) -> Flags:
        """Which of the ids from `first` to `last` are texts: plain strings or tagged with a language."""
        own = [term[2] in TEXTS for term in self._terms[max(first - self._start, 0) : max(last - self._start, 0)]]
        if self._below is None or first >= self._start:
            return np.array(own, np.bool_)
        return np.concatenate((self._below.textual(first, min(last, self._start)), np.array(own, np.bool_)))

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

    def pack(self) -> flat.Packed:
        """The vocabulary as arrays and metadata, for a save of its own or as part of an engine's."""
        size = len(self)
        qualifiers: flat.Qualifiers = {}
        texts = self.texts(qualifiers, size)
        return flat.pack(texts, qualifiers, self.typed(np.arange(size, dtype=np.int32)))

    def texts(self, qualifiers: flat.Qualifiers, size: int) -> Texts:
        """The first `size` terms as flat arrays; `qualifiers` is extended as needed."""
        if self._below is None:
            return flat.flatten(self._terms[:size], qualifiers)
        under = self._below.texts(qualifiers)
        return flat.appended(under, flat.flatten(self._terms[: size - self._start], qualifiers))

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


class Snapshot:
    """A vocabulary as it was when it held `size` terms."""

    def __init__(self, base: Vocabulary, size: int) -> None:
        self.base = base
        self._size = size

    def __len__(self) -> int:
        return self._size

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        size = self._size
        return [id if id < size else -1 for id in self.base.find_many(terms)]

    def term(self, id: int) -> Term:
        return self.base.term(id)

    def typed(self, ids: Ids | None = None) -> Typed:
        return self.base.typed(np.arange(self._size, dtype=np.int32) if ids is None else ids)

    def textual(self, first: int, last: int) -> Flags:
        return self.base.textual(first, last)

    def texts(self, qualifiers: flat.Qualifiers) -> Texts:
        return self.base.texts(qualifiers, self._size)


def _check_texts(terms: Collection[Term]) -> None:
    for text in map(_VALUE, terms):
        if not text.isascii():
            spelling.check_unicode(text)
    for datatype, language in set(map(_QUALIFIER, terms)):
        spelling.check_unicode(datatype + language)
