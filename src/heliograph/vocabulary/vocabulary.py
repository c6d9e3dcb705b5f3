"""The vocabulary: every term that was met, interned once to a dense int32 id.

The laws: ids are never taken back, `term(intern(t)) == t`, equal terms have equal ids, and ids count from 0 in the
order of first interning. An overlay is a vocabulary over a snapshot of another one: it resolves the ids below its start
to the same terms, and its own begin there; dropping it leaves the base as it was. A loaded vocabulary lies over its
save in the same way.

A term is held in one of two ways. Interned by itself it is an object in a dictionary. The cells of large columns go
into an interner table (see `columns`), where a term is no more than its spelling; objects are made of those when asked
for. The table follows the dictionary before every column, so that whatever is known is found either way.

Threads: writers take turns on a lock. Readers need none: a term is stored before its id can be found, and the size is
the number of ids that can, so that a snapshot of some size finds every term below it. An interrupt between the two
leaves a term without an id, which the next writer overwrites.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.compiled.background import ready
from heliograph.errors import TermError
from heliograph.storage import read_folder, write_folder
from heliograph.terms import PREFIXES, Position, Term, TermKind, check_unicode
from heliograph.terms import spell as spell_term
from heliograph.vocabulary import columns
from heliograph.vocabulary.columns import (
    TEXTS,
    Bytes,
    CellColumn,
    Cells,
    Flags,
    Ids,
    InternerArrays,
    InternerTable,
    Memo,
    Text,
    Typed,
    TypedColumns,
)
from heliograph.vocabulary.mapped import Packed, Qualifiers, SavedTerms, Texts, appended, buffers, flatten, head_of
from heliograph.vocabulary.mapped import pack as pack_terms
from heliograph.vocabulary.mapped import unpack as unpack_terms

KIND, VERSION = "vocabulary", 1
_VALUE, _QUALIFIER = itemgetter(1), itemgetter(2, 3)
_HUGE = 2_000_000  # cells that take Python as long as compiling the kernels does


class CellIds(NamedTuple):
    """The ids of a column's cells, -1 where a cell was refused, and the refusals as (row, error) in row order."""

    ids: Ids
    errors: list[tuple[int, TermError]]


class Below(Protocol):
    """What lies under a vocabulary's own terms: a fixed number of them, with the ids from 0 on, the same for ever."""

    def __len__(self) -> int: ...

    def find_many(self, terms: Sequence[Term]) -> list[int]: ...

    def term(self, id: int) -> Term: ...

    def typed(self, ids: Ids | None = None) -> Typed: ...

    def textual(self, first: int, last: int) -> Flags: ...

    def texts(self, qualifiers: Qualifiers) -> Texts: ...


class VocabularySnapshot:
    """A vocabulary as it was when it held `size` terms."""

    def __init__(self, base: Vocabulary, size: int) -> None:
        self.base = base
        self._size = size
        self.term, self.textual = base.term, base.textual

    def __len__(self) -> int:
        return self._size

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        size = self._size
        return [id if id < size else -1 for id in self.base.find_many(terms)]

    def typed(self, ids: Ids | None = None) -> Typed:
        return self.base.typed(np.arange(self._size, dtype=np.int32) if ids is None else ids)

    def texts(self, qualifiers: Qualifiers) -> Texts:
        return self.base.texts(qualifiers, self._size)

    def arrays(self) -> InternerArrays:
        return self.base.arrays_upto(self._size)


class Vocabulary:
    """Interned terms with their typed values. Appends only."""

    def __init__(self, *, below: Below | None = None, memo: Memo | None = None) -> None:
        self._below = below
        self._start = 0 if below is None else len(below)
        self._terms: list[Term | None] = []  # None: only the interner table has it
        self._ids: dict[Term, int] = {}
        self._table: InternerTable | None = None
        self._columns = TypedColumns()
        self._memo = memo or Memo()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._start + len(self._ids) + (0 if self._table is None else self._table.state[1])

    def __contains__(self, term: Term) -> bool:
        return self.find(term) >= 0

    @property
    def start(self) -> int:
        """The first id of its own; those below are the base's, or a save's."""
        return self._start

    @property
    def base(self) -> Vocabulary | None:
        """The vocabulary that this one lies over, of which it sees the ids below `start`."""
        return self._below.base if isinstance(self._below, VocabularySnapshot) else None

    # --- terms --------------------------------------------------------------------------------------------------

    def intern(self, term: Term) -> int:
        """The id of a term, a new one if it was not known. `intern_many` is several times faster for new ones."""
        found = self.find(term)
        return self.intern_many((term,))[0] if found < 0 else found

    def find(self, term: Term) -> int:
        """The id of a term, or -1."""
        found = self._ids.get(term)
        return self._find_elsewhere((term,))[0] if found is None else found

    def term(self, id: int) -> Term:
        """The term of an id."""
        if id >= self._start:
            term = self._terms[id - self._start]
            if term is None:
                assert self._table is not None
                term = self._table.term(id)
            return term
        if id < 0 or self._below is None:
            raise IndexError(f"no term has the id {id}")
        return self._below.term(id)

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, -1 where it is unknown."""
        found = [-1 if id is None else id for id in map(self._ids.get, terms)]
        if -1 in found and not (self._below is None and self._table is None):
            missing = [row for row, id in enumerate(found) if id < 0]
            for row, id in zip(missing, self._find_elsewhere([terms[row] for row in missing]), strict=True):
                found[row] = id
        return found

    def _find_elsewhere(self, terms: Sequence[Term]) -> list[int]:
        """The ids of terms that are not in the dictionary. A table that begins at 0 holds a save's terms too."""
        table, below = self._table, self._below
        if table is not None and table.first == 0:
            return table.find(terms)
        found = [-1] * len(terms) if below is None else below.find_many(terms)
        if table is None or -1 not in found:
            return found
        return [own if id < 0 else id for id, own in zip(found, table.find(terms), strict=True)]

    def intern_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, new ones where it was not known."""
        seen = None if self._table is None else self._table.state
        found = self.find_many(terms)
        if -1 in found:
            _check_texts([term for term, id in zip(terms, found, strict=True) if id < 0])
            with self._lock:
                if (None if self._table is None else self._table.state) is not seen:  # another writer was first
                    found = self.find_many(terms)
                self._append(terms, found)
        return found

    def _append(self, terms: Sequence[Term], found: list[int]) -> None:
        """Gives ids to the terms that have none. A hash of a term costs as much as the rest, so there is only one.

        Another writer, or an earlier term of the same call, may have come first.
        """
        own, ids, fresh = self._terms, self._ids, len(self)
        columns.check_room(fresh + len(found))
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

    # --- columns of cells ---------------------------------------------------------------------------------------

    def intern_cells(self, cells: Cells, position: Position, prefixes: Mapping[str, str] = PREFIXES) -> CellIds:
        """Interns a column of cells: each distinct text is read once, and remembered for the next column."""
        column = CellColumn(position, prefixes)
        if len(cells) < columns.FEW:
            return self.intern_texts(columns.texts_of(columns.check_text(cells)), position, prefixes)
        if self._takes_many(len(cells)) and columns.is_varied(cells):
            return self._intern_pieces(columns.pieces(cells), column)
        codes, dictionary = columns.encode(cells)
        if self._takes_many(len(dictionary)):
            ids, errors = self._intern_pieces(columns.pieces(dictionary), column)
        else:
            ids, errors = self.intern_texts(columns.texts_of(dictionary), position, prefixes)
        spread = np.append(ids, np.int32(-1))[codes]  # code -1 is a null
        rows, refused = np.flatnonzero(spread < 0), dict(errors)
        if len(rows):
            refused[-1] = column.read([None])[1][None]
        return CellIds(spread, [(row, refused[code]) for row, code in zip(rows.tolist(), codes[rows].tolist())])

    def intern_texts(
        self, texts: Sequence[Text], position: Position, prefixes: Mapping[str, str] = PREFIXES
    ) -> CellIds:
        """Interns a few cells given as Python texts, None for a null: those read before cost a look-up."""
        column = CellColumn(position, prefixes)
        found = self._memo.recall(texts, column)
        if -1 not in found:
            return CellIds(np.array(found, np.int32), [])
        new = dict.fromkeys([text for text, id in zip(texts, found, strict=True) if id < 0])
        terms, refused = column.read(list(new))
        ids: dict[Text, int] = dict(zip(terms, self.intern_many(list(terms.values())), strict=True))
        self._memo.remember(ids, column)
        ids.update(dict.fromkeys(refused, -1))
        found = [ids[text] if id < 0 else id for text, id in zip(texts, found, strict=True)]
        errors = [(row, refused[texts[row]]) for row, id in enumerate(found) if id < 0]
        return CellIds(np.array(found, np.int32), errors)

    def _takes_many(self, count: int) -> bool:
        """Whether so many texts are worth an interner table. An overlay over an overlay has none."""
        if not columns.is_worth(count, len(self)) or not (self.base is None or self.base.base is None):
            return False
        return count >= _HUGE or ready("vocabulary", overdue=True)

    def _intern_pieces(self, arrays: Iterable[pa.Array[Any]], column: CellColumn) -> CellIds:
        """The ids of Arrow arrays of strings, block by block, through the interner table."""
        with self._lock:
            key = self._followed().state[0].key
        ids: list[Ids] = [np.empty(0, np.int32)]
        errors: list[tuple[int, TermError]] = []
        row = 0
        for array in arrays:
            for start in range(0, len(array), columns.BLOCK):
                block = columns.read(array.slice(start, columns.BLOCK), column, self._memo, key)
                with self._lock:
                    table = self._followed()
                    rows = table.enter(block.cells, block.hashes, block.others, block.ids)
                    self._terms.extend([None] * (rows.size - table.state[0].size))
                    table.publish(rows)  # the rows are counted last: see the law of threads
                if block.texts:
                    known = zip(block.texts, block.others.known.tolist(), strict=True)
                    self._memo.remember({text: id for text, id in known if id >= 0}, column)
                errors += block.refused(row)
                ids.append(block.ids)
                row += len(block.ids)
        return CellIds(np.concatenate(ids), errors)

    def _followed(self) -> InternerTable:
        """The interner table, made if there is none, with all terms of the dictionary in it."""
        del self._terms[len(self) - self._start :]
        table, below = self._table, self._below
        if table is None:
            table = InternerTable(below.arrays() if isinstance(below, VocabularySnapshot) else None)
            if isinstance(below, SavedTerms):
                table.add(below.spelled())
        new = self._terms[table.end - self._start :]
        if new:
            table.add(columns.entries([term for term in new if term is not None]))
        self._table = table
        return table

    def arrays_upto(self, size: int) -> InternerArrays:
        """The first `size` terms, not those of an overlay, as an overlay's kernels search them."""
        with self._lock:
            return self._followed().state[0]._replace(size=size)

    def spell(self, ids: Sequence[int] | Ids, position: Position = Position.OBJECT) -> pa.StringArray:
        """The cell texts of these ids; null where an id is negative."""
        wanted = np.asarray(ids, np.int32)
        if self._table is not None and position is not Position.PROPERTY:
            with self._lock:
                table = self._followed()
            if ((wanted < 0) | ((wanted >= table.first) & (wanted < table.end))).all():
                return cast("pa.StringArray", table.spell(wanted))
        unique, inverse = np.unique(wanted, return_inverse=True)
        texts = [spell_term(self.term(id), position) if id >= 0 else None for id in unique.tolist()]
        return pa.array(texts, pa.string()).take(inverse.ravel())

    # --- typed values -------------------------------------------------------------------------------------------

    def typed(self, ids: Ids | None = None) -> Typed:
        """The typed values of these ids, or of all of them: see `columns.Typed`."""
        with self._lock:
            own = self._columns.upto(len(self) - self._start, self._typed_rows)
        if self._below is None:
            return own if ids is None else own.take(ids)
        if ids is None:
            return columns.joined(self._below.typed(), own)
        low = ids < self._start
        if not low.any():
            return own.take(ids - self._start)
        below, above = self._below.typed(ids[low]), own.take(ids[~low] - self._start)
        rows = Typed(*(np.empty(len(ids), column.dtype) for column in own.columns))
        for column, left, right in zip(rows.columns, below.columns, above.columns, strict=True):
            column[low], column[~low] = left, right
        return rows

    def _typed_rows(self, first: int, last: int) -> Typed:
        """The typed values of its own terms from the first to the last, counted from `start`."""
        kinds = self._kinds(first, last)
        rest = columns.typed_of([term for term in self._terms[first + len(kinds) : last] if term is not None])
        if not len(kinds):
            return rest
        literals, start = np.flatnonzero(kinds == columns.LITERAL).tolist(), self._start + first
        spelled = columns.typed_rows(np.minimum(kinds, columns.LITERAL), literals, lambda row: self.term(start + row))
        return columns.joined(spelled, rest)

    def _kinds(self, first: int, last: int) -> Bytes:
        """The kinds of its own terms from the first on, as far as the interner table goes."""
        if self._table is None:
            return np.zeros(0, np.uint8)
        return self._table.kinds(self._start + first, self._start + last)

    def textual(self, first: int, last: int) -> Flags:
        """Which of the ids from `first` to `last` are texts: plain strings or tagged with a language."""
        begin, end = max(first - self._start, 0), max(last - self._start, 0)
        kinds = self._kinds(begin, end)
        rest = [term is not None and term[2] in TEXTS for term in self._terms[begin + len(kinds) : end]]
        own = np.concatenate((kinds == columns.TEXT, np.array(rest, np.bool_)))
        if self._below is None or first >= self._start:
            return own
        return np.concatenate((self._below.textual(first, min(last, self._start)), own))

    # --- overlays and saves -------------------------------------------------------------------------------------

    def overlay(self) -> Vocabulary:
        """A vocabulary over this one as it is now, for terms that need not be kept."""
        size = len(self)
        return Vocabulary(below=VocabularySnapshot(self, size), memo=Memo(self._memo, size))

    def only(self, ids: Ids) -> Vocabulary:
        """A new vocabulary of these terms alone: ids[i] has the id i there. The ids are distinct."""
        kept = Vocabulary()
        if columns.is_worth(len(ids), 0) and ready("vocabulary", overdue=True):
            found = kept.intern_cells(self.spell(ids), Position.OBJECT)
            if not found.errors and np.array_equal(found.ids, np.arange(len(ids))):
                return kept
            kept = Vocabulary()
        kept.intern_many([self.term(id) for id in ids.tolist()])
        return kept

    def pack(self) -> Packed:
        """The vocabulary as arrays and metadata, for a save of its own or as part of an engine's."""
        size, qualifiers = len(self), Qualifiers()
        return pack_terms(self.texts(qualifiers, size), qualifiers, self.typed(np.arange(size, dtype=np.int32)))

    def texts(self, qualifiers: Qualifiers, size: int) -> Texts:
        """The first `size` terms as flat arrays; `qualifiers` is extended as needed."""
        under = None if self._below is None else self._below.texts(qualifiers)
        table, own = self._table, size - self._start
        covered = 0 if table is None else min(table.end - self._start, own)
        texts = flatten([term for term in self._terms[covered:own] if term is not None], qualifiers)
        if table is not None and covered:
            texts = appended(self._spelled_texts(table, covered, qualifiers), texts)
        return texts if under is None else appended(under, texts)

    def _spelled_texts(self, table: InternerTable, count: int, qualifiers: Qualifiers) -> Texts:
        """The first of its own terms, as many as that, out of the interner table."""
        first = self._start
        spelled = table.spelled()[first - table.first : first + count - table.first]
        is_iri = table.kinds(first, first + count) == columns.IRI
        values = pc.if_else(pa.array(is_iri), columns.values(spelled), pa.scalar(None, pa.large_string()))
        heads = np.full(count, 4 * qualifiers.setdefault(("", ""), len(qualifiers)) + TermKind.IRI, np.int32)
        rows = np.flatnonzero(np.asarray(values.is_null()))
        terms = [table.term(first + row) for row in rows.tolist()]
        heads[rows] = [head_of(term, qualifiers) for term in terms]
        others = pa.array([term.value for term in terms], pa.large_string())
        return Texts(heads, *buffers(pc.replace_with_mask(values, values.is_null(), others)))

    @classmethod
    def unpack(cls, packed: Packed, source: str | None = None) -> Self:
        """The inverse of `pack`; the arrays are used as they are, mapped or not. `source` is named in errors."""
        return cls(below=unpack_terms(packed, source))

    def save(self, path: str | Path) -> None:
        packed = self.pack()
        write_folder(path, KIND, VERSION, arrays=packed.arrays, meta=packed.meta)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        saved = read_folder(path, KIND, {VERSION})
        return cls.unpack(Packed(saved.arrays, saved.meta), str(path))


def _check_texts(terms: Collection[Term]) -> None:
    """Refuses terms whose text is not Unicode."""
    if not "".join(map(_VALUE, terms)).isascii():
        for text in map(_VALUE, terms):
            check_unicode(text)
    for datatype, language in set(map(_QUALIFIER, terms)):
        if datatype:
            check_unicode(datatype + language)
