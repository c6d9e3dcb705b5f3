"""The vocabulary: every term that was met, interned once to a dense int32 id; saved as flat arrays and used from
there.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph import terms as spelling
from heliograph.errors import Place, StorageError, TermError
from heliograph.storage import read_folder, write_folder
from heliograph.terms import PREFIXES, Position, Term, TermKind, spell
from heliograph.values import Kind
from heliograph.vocabulary import columns as lexicon_layout
from heliograph.vocabulary.columns import (
    DTYPES,
    TEXTS,
    Cells,
    Column,
    Entries,
    Flags,
    Ids,
    Lexicon,
    LexiconLexicon,
    Memo,
    State,
    Table,
    Text,
    Texts,
    Typed,
    TypedColumns,
    arrow_strings,
    check_room,
    encode,
    entries,
    find_text,
    find_texts,
    interleaved,
    is_varied,
    joined,
    make_table,
    pays,
    pieces,
    row_of,
    strings_of,
    text_at,
    texts_of,
    typed_of,
    untyped,
)

# ----------------------------------------------------------------------------------------------------------------------
# Terms in flat arrays: how a vocabulary is saved, and how a saved one is used without loading it.
#
# The laws: term i of a save is term i of the vocabulary that was saved; a look-up costs a probe or two in a hash
# table over the mapped arrays, however many there are.
#
# A term is its text (UTF-8) and a head: its kind, and the number of its datatype and language in a short list.
# ----------------------------------------------------------------------------------------------------------------------

_REMEMBERED = 1 << 16  # decoded terms; forgotten all at once when full
_KINDS = tuple(TermKind)

Qualifiers = dict[tuple[str, str], int]  # the number of each (datatype, language)


class Packed(NamedTuple):
    """Terms as `storage.write_folder` takes them."""

    arrays: dict[str, np.ndarray[Any, Any]]
    meta: dict[str, Any]


def flatten(terms: Sequence[Term], qualifiers: Qualifiers) -> Texts:
    """The arrays of these terms; `qualifiers` is extended as needed."""
    heads = np.array([_head(term, qualifiers) for term in terms], np.int32)
    return Texts(heads, *_utf8([term.value for term in terms]))


def flatten_lexicon(lexicon: LexiconLexicon, first: int, last: int, qualifiers: Qualifiers) -> Texts:
    """The arrays of the terms with the ids from `first` to `last` of a lexicon."""
    spelled = lexicon.spelled()[first - lexicon.first : last - lexicon.first]
    is_iri = lexicon.kinds(first, last) == lexicon_layout.IRI
    values = pc.if_else(pa.array(is_iri), lexicon_layout.values(spelled), pa.scalar(None, pa.large_string()))
    heads = np.full(len(spelled), 4 * qualifiers.setdefault(("", ""), len(qualifiers)) + TermKind.IRI, np.int32)
    rows = np.flatnonzero(np.asarray(values.is_null()))
    terms = [lexicon.term(first + row) for row in rows.tolist()]
    heads[rows] = [_head(term, qualifiers) for term in terms]
    whole = pc.replace_with_mask(values, values.is_null(), pa.array([term.value for term in terms], pa.large_string()))
    return Texts(heads, *_buffers(whole))


def _head(term: Term, qualifiers: Qualifiers) -> int:
    return 4 * qualifiers.setdefault((term.datatype, term.language), len(qualifiers)) + term.kind


def _utf8(texts: Sequence[str]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return _buffers(pa.array(texts, pa.large_string()))


def _buffers(texts: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    _, offsets, data = texts.buffers()
    if not len(texts) or offsets is None or data is None:
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    ends = np.frombuffer(memoryview(offsets), np.int64)[: len(texts) + 1]
    return ends, np.frombuffer(memoryview(data), np.uint8)[: ends[-1]]


def appended(first: Texts, second: Texts) -> Texts:
    return Texts(
        np.concatenate((first.heads, second.heads)),
        np.concatenate((first.offsets, second.offsets[1:] + first.offsets[-1])),
        np.concatenate((first.data, second.data)),
    )


class Parts(NamedTuple):
    """What a save of terms consists of; heads refer to the (datatype, language) pairs in `qualifiers`."""

    texts: Texts
    qualifiers: tuple[tuple[str, str], ...]
    table: Table
    typed: Typed


class Stored:
    """Saved terms: found and decoded one at a time from mapped arrays."""

    def __init__(self, parts: Parts, source: str | None = None) -> None:
        self._texts, self._qualifiers, self._table, self._typed = parts
        self._numbers: Qualifiers = {pair: number for number, pair in enumerate(parts.qualifiers)}
        self._source = source
        self._decoded: dict[int, Term] = {}

    def __len__(self) -> int:
        return len(self._texts.heads)

    def find_many(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, or -1."""
        if not pays(len(terms)):
            return [self._find(term) for term in terms]
        # A pair that no stored term has gets a number that no stored head has.
        wanted = flatten(terms, dict(self._numbers))
        ids: list[int] = find_texts(wanted, self._texts, self._table).tolist()
        return ids

    def _find(self, term: Term) -> int:
        number = self._numbers.get((term.datatype, term.language))
        if number is None:
            return -1
        return find_text(4 * number + term.kind, term.value.encode(), self._texts, self._table)

    def term(self, id: int) -> Term:
        known = self._decoded.get(id)
        return self._decode(id) if known is None else known

    def _decode(self, id: int) -> Term:
        number, kind = divmod(int(self._texts.heads[id]), 4)
        try:
            value = text_at(self._texts, id).decode()
        except UnicodeDecodeError as error:
            raise _damaged(f"term {id} is not UTF-8", self._source) from error
        if len(self._decoded) >= _REMEMBERED:
            self._decoded = {}
        self._decoded[id] = term = Term(_KINDS[kind], value, *self._qualifiers[number])
        return term

    def typed(self, ids: Ids | None = None) -> Typed:
        return self._typed if ids is None else self._typed.take(ids)

    def textual(self, first: int, last: int) -> Flags:
        plain = np.array([datatype in TEXTS for datatype, _ in self._qualifiers], np.bool_)
        return cast("Flags", plain[self._texts.heads[first:last] // 4])

    def texts(self, qualifiers: Qualifiers) -> Texts:
        qualifiers.update(self._numbers)
        return self._texts

    def spelled(self) -> Entries:
        """All terms as a lexicon takes them."""
        kinds = self._texts.heads % 4
        values = self._strings()
        is_iri = pa.array(kinds == TermKind.IRI)
        spelled = pc.if_else(is_iri, lexicon_layout.spellings(values), pa.scalar(None, pa.large_string()))
        rows = np.flatnonzero(np.asarray(spelled.is_null()))
        others = pa.array([spell(self.term(row)) for row in rows.tolist()], pa.large_string())
        texts = self.textual(0, len(self))
        return Entries(
            strings_of(pc.replace_with_mask(spelled, spelled.is_null(), others)),
            np.where(texts, lexicon_layout.TEXT, kinds).astype(np.uint8),
        )

    def _strings(self) -> Any:
        strings = arrow_strings(len(self), self._texts.offsets, self._texts.data)
        try:
            strings.validate(full=True)
        except pa.ArrowInvalid as error:
            raise _damaged("its terms are not UTF-8", self._source) from error
        return strings


# --- packing ----------------------------------------------------------------------------------------------------


def pack(texts: Texts, qualifiers: Qualifiers, typed: Typed) -> Packed:
    table = make_table(texts)
    arrays = {**texts._asdict(), **typed._asdict(), "slots": table.slots, "marks": table.marks}
    return Packed(arrays, {"qualifiers": [list(pair) for pair in qualifiers], "key": table.key})


def unpack(packed: Packed, source: str | None = None) -> Stored:
    """The terms of a save; arrays that do not fit together are refused here, so that no look-up runs astray."""
    try:
        parts = _parts(packed)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"{type(error).__name__}, {error}", source) from error
    if not (_texts_fit(parts) and _table_fits(parts.table, parts.texts) and _typed_fits(parts.typed, parts.texts)):
        raise _damaged("its arrays do not fit together", source)
    return Stored(parts, source)


_TEXT_COLUMNS = (("heads", np.int32), ("offsets", np.int64), ("data", np.uint8))


def _parts(packed: Packed) -> Parts:
    arrays, meta = packed
    return Parts(
        Texts(*(_column(arrays, name, dtype) for name, dtype in _TEXT_COLUMNS)),
        tuple((str(datatype), str(language)) for datatype, language in meta["qualifiers"]),
        Table(_column(arrays, "slots", np.int32), _column(arrays, "marks", np.uint32), int(meta["key"])),
        Typed(*(_column(arrays, name, dtype) for name, dtype in zip(Typed._fields, DTYPES, strict=True))),
    )


def _column(arrays: Mapping[str, np.ndarray[Any, Any]], name: str, dtype: Any) -> np.ndarray[Any, Any]:
    column = arrays[name]
    if column.dtype != dtype or column.ndim != 1:
        raise ValueError(f"{name} is no column of {np.dtype(dtype)}")
    return column


def _texts_fit(parts: Parts) -> bool:
    heads, offsets, data = parts.texts
    return (
        len(offsets) == len(heads) + 1
        and offsets[0] == 0
        and offsets[-1] == len(data)
        and bool((np.diff(offsets) >= 0).all())
        and bool(((heads >= 0) & (heads % 4 < len(_KINDS)) & (heads // 4 < len(parts.qualifiers))).all())
    )


def _table_fits(table: Table, texts: Texts) -> bool:
    """A power of two of slots, some of them free: otherwise a search would not end."""
    size, count = len(table.slots), len(texts.heads)
    return (
        size == len(table.marks)
        and size.bit_count() == 1
        and size > count
        and np.count_nonzero(table.slots >= 0) == count
        and (count == 0 or int(table.slots.max()) < count)
    )


def _typed_fits(typed: Typed, texts: Texts) -> bool:
    known = int(typed.kind.max(initial=0)) <= max(Kind) and int(typed.category.max(initial=0)) <= max(TermKind)
    return known and all(len(column) == len(texts.heads) for column in typed)


def _damaged(why: str, source: str | None) -> StorageError:
    return StorageError("HG-805", f"a damaged vocabulary: {why}", place=Place(source), fix="save it again")


# ----------------------------------------------------------------------------------------------------------------------
# What lies under a vocabulary's own terms: a save, or another vocabulary as it was.
#
# The law: it has the ids from 0 to its size, and says of them the same for ever.
# ----------------------------------------------------------------------------------------------------------------------


class Below(Protocol):
    """The terms under a vocabulary's own: a fixed number of them."""

    def __len__(self) -> int: ...

    def find_many(self, terms: Sequence[Term]) -> list[int]: ...

    def term(self, id: int) -> Term: ...

    def typed(self, ids: Ids | None = None) -> Typed: ...

    def textual(self, first: int, last: int) -> Flags: ...

    def texts(self, qualifiers: Qualifiers) -> Texts: ...


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

    def texts(self, qualifiers: Qualifiers) -> Texts:
        return self.base.texts(qualifiers, self._size)

    def lexicon(self) -> Lexicon:
        return self.base.lexicon_upto(self._size)


# ----------------------------------------------------------------------------------------------------------------------
# The vocabulary: every term that was met, interned once to a dense int32 id.
#
# The laws: ids are never taken back, `term(intern(t)) == t`, equal terms have equal ids, and ids count from 0 in the
# order of first interning. An overlay is a vocabulary over a snapshot of another one: it resolves the ids below its
# start to the same terms, and its own begin there; dropping it leaves the base as it was.
#
# A term is held in one of two ways. Interned by itself it is an object in a dictionary. The cells of large columns go
# into a lexicon (see `lexicon`), where a term is no more than its spelling; objects are made of those when asked for.
# A lexicon follows the dictionary before every column, so that whatever is known is found either way.
#
# Threads: writers take turns on a lock. Readers need none: a term is stored before its id can be found, and the size
# is the number of ids that can, so that a snapshot of some size finds every term below it. An interrupt between the
# two leaves a term without an id, which the next writer overwrites.
# ----------------------------------------------------------------------------------------------------------------------

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
        self._lexicon: LexiconLexicon | None = None
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
        return lexicon_layout.is_worth(count, len(self)) and (self.base is None or self.base.base is None)

    def _intern_pieces(self, arrays: Iterable[pa.Array[Any]], column: Column) -> CellIds:
        """The ids of Arrow arrays of strings, block by block, through the lexicon."""
        with self._lock:
            key = self._followed().state.rows.key
        ids: list[Ids] = [np.empty(0, np.int32)]
        errors: list[tuple[int, TermError]] = []
        row = 0
        for array in arrays:
            for start in range(0, len(array), lexicon_layout.BLOCK):
                block = lexicon_layout.read(array.slice(start, lexicon_layout.BLOCK), column, self._memo, key)
                self._enter(block)
                block.remember(self._memo, column)
                errors += block.refused(row)
                ids.append(block.ids)
                row += len(block.ids)
        return CellIds(np.concatenate(ids), errors)

    def _enter(self, block: lexicon_layout.Block) -> None:
        """Gives ids to the cells of a block. The rows are counted last: see the law of threads."""
        with self._lock:
            lexicon = self._followed()
            rows = lexicon.enter(block.cells, block.hashes, block.others, block.ids)
            self._terms.extend([None] * (rows.size - lexicon.state.rows.size))
            lexicon.publish(rows)

    def _followed(self) -> LexiconLexicon:
        """The lexicon, made if there is none, with all terms of the dictionary in it."""
        del self._terms[len(self) - self._start :]
        lexicon = self._made_lexicon() if self._lexicon is None else self._lexicon
        new = self._terms[lexicon.end - self._start :]
        if new:
            lexicon.add(entries([term for term in new if term is not None]))
        self._lexicon = lexicon
        return lexicon

    def _made_lexicon(self) -> LexiconLexicon:
        if isinstance(self._below, Snapshot):
            return LexiconLexicon(self._below.lexicon())
        lexicon = LexiconLexicon()
        if isinstance(self._below, Stored):
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
        if lexicon_layout.is_worth(len(ids), 0):
            found = kept.intern_cells(self.spell(ids), Position.OBJECT)
            if not found.errors and np.array_equal(found.ids, np.arange(len(ids))):
                return kept
            kept = Vocabulary()
        kept.intern_many([self.term(id) for id in ids.tolist()])
        return kept

    def pack(self) -> Packed:
        """The vocabulary as arrays and metadata, for a save of its own or as part of an engine's."""
        size = len(self)
        qualifiers: Qualifiers = {}
        texts = self.texts(qualifiers, size)
        return pack(texts, qualifiers, self.typed(np.arange(size, dtype=np.int32)))

    def texts(self, qualifiers: Qualifiers, size: int) -> Texts:
        """The first `size` terms as flat arrays; `qualifiers` is extended as needed."""
        if self._below is None:
            return self._own_texts(qualifiers, size)
        under = self._below.texts(qualifiers)
        return appended(under, self._own_texts(qualifiers, size - self._start))

    def _own_texts(self, qualifiers: Qualifiers, size: int) -> Texts:
        lexicon = self._lexicon
        covered = 0 if lexicon is None else min(lexicon.end - self._start, size)
        rest = flatten([term for term in self._terms[covered:size] if term is not None], qualifiers)
        if lexicon is None or not covered:
            return rest
        return appended(flatten_lexicon(lexicon, self._start, self._start + covered, qualifiers), rest)

    @classmethod
    def unpack(cls, packed: Packed, source: str | None = None) -> Self:
        """The inverse of `pack`; the arrays are used as they are, mapped or not. `source` is named in errors."""
        return cls(below=unpack(packed, source))

    def save(self, path: str | Path) -> None:
        packed = self.pack()
        write_folder(path, KIND, VERSION, arrays=packed.arrays, meta=packed.meta)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        saved = read_folder(path, KIND, {VERSION})
        return cls.unpack(Packed(saved.arrays, saved.meta), str(path))


def _spread(codes: npt.NDArray[np.signedinteger[Any]], ids: Ids, refused: Mapping[int, TermError]) -> CellIds:
    """The ids of cells from those of their texts; code -1 is a null."""
    spread = np.append(ids, np.int32(-1))[codes]
    rows = np.flatnonzero(spread < 0)
    errors = [refused[code] for code in codes[rows].tolist()]
    return CellIds(spread, list(zip(rows.tolist(), errors, strict=True)))


def _all_within(ids: Ids, lexicon: LexiconLexicon) -> bool:
    return bool(((ids < 0) | ((ids >= lexicon.first) & (ids < lexicon.end))).all())


def _check_texts(terms: Collection[Term]) -> None:
    for text in map(_VALUE, terms):
        if not text.isascii():
            spelling.check_unicode(text)
    for datatype, language in set(map(_QUALIFIER, terms)):
        spelling.check_unicode(datatype + language)
