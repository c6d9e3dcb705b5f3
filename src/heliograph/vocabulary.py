"""The vocabulary: every term that was met, interned once to a dense int32 id.

The laws: ids are never taken back, `term(intern(t)) == t`, equal terms have equal ids, and ids count from 0 in the
order of first interning. An overlay is a vocabulary over a snapshot of another one: it resolves the ids below its start
to the same terms, and its own begin there; dropping it leaves the base as it was.

Threads: writers take turns on a lock; readers need none, because a term is stored before its id can be found.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, Self

import numpy as np
import pyarrow as pa

from heliograph import terms as spelling
from heliograph.cells import Cells, distinct, read_cell
from heliograph.errors import TermError
from heliograph.publications import Ids
from heliograph.storage import read_folder, write_folder
from heliograph.terms import PREFIXES, Position, Term
from heliograph.typed import Typed, TypedColumns, joined

_MEMO_LIMIT = 1 << 18  # remembered cell texts per column and prefix set; forgotten all at once when full

Memo = dict[str | bytes | None, int]


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

    def memo(self, position: Position, prefixes: Mapping[str, str]) -> Memo: ...


class Vocabulary:
    """Interned terms with their typed values. Appends only."""

    def __init__(self, *, below: Below | None = None) -> None:
        self._below = below
        self._start = len(below) if below is not None else 0
        self._terms: list[Term] = []
        self._ids: dict[Term, int] = {}
        self._columns = TypedColumns()
        self._memos: dict[object, Memo] = {}
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return self._start + len(self._terms)

    # --- one term -----------------------------------------------------------------------------------------------

    def intern(self, term: Term) -> int:
        """The id of a term, new if it was not known."""
        found = self._ids.get(term)
        return self.intern_many((term,))[0] if found is None else found

    def find(self, term: Term) -> int:
        """The id of a term, or -1."""
        found = self._ids.get(term)
        if found is not None:
            return found
        return -1 if self._below is None else self._below.find_many((term,))[0]

    def term(self, id: int) -> Term:
        """The term of an id."""
        if id >= self._start:
            return self._terms[id - self._start]
        if id < 0 or self._below is None:
            raise IndexError(f"term id {id} is negative")
        return self._below.term(id)

    def __contains__(self, term: Term) -> bool:
        return self.find(term) >= 0

    # --- many terms ---------------------------------------------------------------------------------------------

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, -1 where it is unknown."""
        get = self._ids.get
        found = [get(term, -1) for term in terms]
        if self._below is None or not found or min(found) >= 0:
            return found
        missing = [row for row, id in enumerate(found) if id < 0]
        for row, id in zip(missing, self._below.find_many([terms[row] for row in missing]), strict=True):
            found[row] = id
        return found

    def intern_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, new where it was not known."""
        found = self.find_many(terms)
        if found and min(found) < 0:
            with self._lock:
                for row, id in enumerate(found):
                    if id < 0:
                        found[row] = self._append(terms[row])
        return found

    def _append(self, term: Term) -> int:
        known = self._ids.get(term)  # another writer, or an earlier row, may have come first
        if known is not None:
            return known
        self._terms.append(term)
        self._ids[term] = id = len(self) - 1
        return id

    # --- columns ------------------------------------------------------------------------------------------------

    def intern_cells(self, cells: Cells, position: Position, prefixes: Mapping[str, str] = PREFIXES) -> CellIds:
        """Interns a column of cells: each distinct text is read once, and remembered for the next column."""
        column = distinct(cells)
        wanted = [text for text in column.texts if text is not None]
        known, refused = self._intern_texts(wanted, position, prefixes)
        null = read_cell(None, position, prefixes)
        table = np.array([*(known.get(text, -1) for text in column.texts), -1], np.int32)
        ids = table[column.codes]
        texts = [*column.texts, None]
        bad = np.flatnonzero(ids < 0)
        codes = column.codes[bad].tolist()
        errors = [(row, refused.get(texts[code], null)) for row, code in zip(bad.tolist(), codes, strict=True)]
        return CellIds(ids, errors)  # type: ignore[arg-type]

    def _intern_texts(
        self, texts: Sequence[str | bytes], position: Position, prefixes: Mapping[str, str]
    ) -> tuple[Memo, dict[str | bytes | None, TermError]]:
        memo = self.memo(position, prefixes)
        refused: dict[str | bytes | None, TermError] = {}
        new: dict[str | bytes, Term] = {}
        for text in texts:
            if text not in memo:
                outcome = read_cell(text, position, prefixes)
                if isinstance(outcome, TermError):
                    refused[text] = outcome
                else:
                    new[text] = outcome
        memo.update(zip(new, self.intern_many(list(new.values())), strict=True))
        return memo, refused

    def memo(self, position: Position, prefixes: Mapping[str, str]) -> Memo:
        """The remembered cell texts of a column kind: what each spelled, by id."""
        key = (position, frozenset(prefixes.items()))
        memo = self._memos.get(key)
        if memo is None or len(memo) > _MEMO_LIMIT:
            memo = self._memos[key] = {}
        return memo

    def spell(self, ids: Iterable[int] | Ids, position: Position = Position.OBJECT) -> pa.StringArray:
        """The cell texts of these ids; null where an id is negative."""
        unique, inverse = np.unique(np.asarray(ids, np.int32), return_inverse=True)
        texts = [spelling.spell(self.term(id), position) if id >= 0 else None for id in unique.tolist()]
        return pa.array(texts, pa.string()).take(inverse.ravel())

    # --- typed values -------------------------------------------------------------------------------------------

    def typed(self, ids: Ids | None = None) -> Typed:
        """The typed values of these ids, or of all: see `typed.Typed`."""
        with self._lock:
            own = self._columns.upto(self._terms, len(self._terms))
        if self._below is None:
            return own if ids is None else own.take(ids)
        if ids is None:
            return joined(self._below.typed(), own)
        return self._gather(ids, own, self._below)

    def _gather(self, ids: Ids, own: Typed, below: Below) -> Typed:
        low = ids < self._start
        under, over = below.typed(ids[low]), own.take(ids[~low] - self._start)
        gathered = tuple(np.empty(len(ids), column.dtype) for column in own)
        for column, left, right in zip(gathered, under, over, strict=True):
            column[low] = left
            column[~low] = right
        return Typed(*gathered)

    # --- overlays and saves -------------------------------------------------------------------------------------

    def overlay(self) -> Vocabulary:
        """A vocabulary over this one as it is now, for terms that need not be kept."""
        return Vocabulary(below=Snapshot(self, len(self)))

    def save(self, path: str | Path) -> None:
        write_folder(path, "vocabulary", 1, tables={"terms": _as_table([self.term(id) for id in range(len(self))])})

    @classmethod
    def load(cls, path: str | Path) -> Self:
        saved = read_folder(path, "vocabulary", {1})
        vocabulary = cls()
        rows = saved.tables["terms"].to_pylist()
        vocabulary.intern_many([Term(spelling.TermKind(row.pop("kind")), **row) for row in rows])
        return vocabulary


class Snapshot:
    """A vocabulary as it was when it held `size` terms."""

    def __init__(self, base: Vocabulary, size: int) -> None:
        self._base = base
        self._size = size

    def __len__(self) -> int:
        return self._size

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        size = self._size
        return [id if id < size else -1 for id in self._base.find_many(terms)]

    def term(self, id: int) -> Term:
        return self._base.term(id)

    def typed(self, ids: Ids | None = None) -> Typed:
        return self._base.typed(np.arange(self._size, dtype=np.int32) if ids is None else ids)

    def memo(self, position: Position, prefixes: Mapping[str, str]) -> Memo:
        return self._base.memo(position, prefixes)


def _as_table(terms: Sequence[Term]) -> pa.Table:
    return pa.table(
        {
            "kind": pa.array([term.kind for term in terms], pa.int8()),
            "value": pa.array([term.value for term in terms], pa.large_string()),
            "datatype": pa.array([term.datatype for term in terms], pa.string()),
            "language": pa.array([term.language for term in terms], pa.string()),
        }
    )
