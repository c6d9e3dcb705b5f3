"""Columns of cells as term ids, and columns of typed values beside the ids.

Each distinct text of a column is read once. Few texts are read in Python; what they meant is remembered for the next
column (`Memo`). A column of many different cells goes through kernels into an `InternerTable`: its terms as spelled
texts in flat arrays. A term has one spelling as an object (see `terms.spell`), so two terms are the same if and only if
these bytes are. This module declares the shapes that kernels share, and does not import Numba.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph import values as literal_values
from heliograph.compiled.compile import is_warm
from heliograph.compiled.growing import fixed
from heliograph.errors import PublicationError, TermError, UsageError
from heliograph.terms import (
    PLAIN,
    RDF_LANG_STRING,
    Position,
    Term,
    TermKind,
    iri,
    parse_cell,
    plain_name,
    spell,
    value_of,
)
from heliograph.values import Instant, Kind

Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Int32s: TypeAlias = "npt.NDArray[np.int32]"
Int64s: TypeAlias = "npt.NDArray[np.int64]"
Hashes: TypeAlias = "npt.NDArray[np.uint32]"
Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int32]  # of terms

# --- distinct texts -----------------------------------------------------------------------------------------------
# The law: `texts[codes[row]]` is the text of the row, and a code of -1 is a null. Only texts that occur are listed, so
# that the rows of a slice do not pay for the dictionary of the whole.

Cells: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"
Text = str | bytes | None  # bytes where the text is not UTF-8, None where an entry of a dictionary is null
_SAMPLE, _VARIED = 1024, 8  # varied: one text in 8 cells or more; a cell costs a kernel as much as a text costs Python
_WIDE = 32  # bits that number the texts of any column that fits in memory


class Distinct(NamedTuple):
    """A column's distinct texts and where they stand."""

    codes: npt.NDArray[np.signedinteger[Any]]
    texts: list[Text]


def distinct(cells: Cells) -> Distinct:
    """Dictionary-encodes strings of any Arrow layout; an already encoded column is taken as it is."""
    codes, dictionary = encode(cells)
    return Distinct(codes, texts_of(dictionary))


def encode(cells: Cells) -> tuple[npt.NDArray[np.signedinteger[Any]], pa.Array[Any]]:
    """As `distinct`, the texts still in Arrow."""
    encoded = _encoded(cells)
    indices, dictionary = encoded.indices, encoded.dictionary
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    codes = indices.to_numpy(zero_copy_only=False)
    if not pa.types.is_dictionary(cells.type):
        return codes, dictionary
    used = np.zeros(len(dictionary) + 1, np.bool_)
    used[codes] = True  # -1 marks the spare last entry
    if used[:-1].all():
        return codes, dictionary
    places = np.cumsum(used) - 1
    places[-1] = -1
    return places[codes], dictionary.filter(pa.array(used[:-1]))


def is_varied(cells: Cells) -> bool:
    """Whether strings differ so much that encoding them would be in vain, judged by the first of them.

    A sixteenth, so that looking costs little; of a column with few texts that repeat late it sees the repetitions.
    """
    if not _is_text(cells.type):
        return False
    sample = cells.slice(0, max(_SAMPLE, len(cells) // 16))
    return _VARIED * len(_encoded(sample).dictionary) >= len(sample)


def pieces(cells: Cells) -> Iterator[pa.Array[Any]]:
    """The chunks of a column of strings, views as strings."""
    for chunk in cells.chunks if isinstance(cells, pa.ChunkedArray) else (cells,):
        yield chunk.cast(pa.large_string()) if pa.types.is_string_view(chunk.type) else chunk


def check_text(cells: Cells) -> Cells:
    """A column of strings, plain or encoded; anything else is a wrong call."""
    if pa.types.is_null(cells.type):
        return cells.cast(pa.string())
    if not _is_text(cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type):
        raise UsageError("HG-061", f"a column of {cells.type} as terms", fix="cast the column to string")
    return cells


def _encoded(cells: Cells) -> pa.DictionaryArray[Any, Any]:
    cells = check_text(cells)
    return cast(
        "pa.DictionaryArray[Any, Any]",
        together(cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()),
    )


def together(column: Cells) -> Any:
    """A column in one piece. The numbers of an encoded one are widened first: together the chunks may have more texts
    than those of a chunk can count, such as 127 with 8 bits."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    kind = column.type
    if isinstance(kind, pa.DictionaryType) and column.num_chunks > 1 and kind.index_type.bit_width < _WIDE:
        column = column.cast(pa.dictionary(pa.int32(), kind.value_type, kind.ordered))
    return column.unify_dictionaries().combine_chunks()


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def texts_of(cells: Cells) -> list[Text]:
    """The texts of a column of strings."""
    try:
        return cast("list[Text]", cells.to_pylist())
    except UnicodeDecodeError:
        kind = cells.type
        plain: Any = cells.cast(kind.value_type) if isinstance(kind, pa.DictionaryType) else cells
        return [_decoded(cell) for cell in plain.cast(pa.large_binary()).to_pylist()]


def _decoded(cell: bytes | None) -> Text:
    try:
        return cell if cell is None else cell.decode()
    except UnicodeDecodeError:
        return cell


# --- spellings of IRIs by Arrow -----------------------------------------------------------------------------------
# The law is that of `terms.spell`: of an IRI either function gives what is the other's argument, or null where its
# spelling is not just its value in angle brackets or its name, so that the term has to be looked at by itself.

_QUICK = r"(?s)^(?:[A-Za-z0-9_.~-]+|<.*>)$"
# A letter other than e, or an underscore, is in no number; `true` and `false` are to be looked at.
_NAME = r"^[0-9eE.~-]*[A-DF-Za-df-z_][A-Za-z0-9_.~-]*$"
_TRUTHS = pa.array([PLAIN + "true", PLAIN + "false"], pa.large_string())


def _large(text: str | None) -> Any:
    return pa.scalar(text, pa.large_string())


_NOTHING = _large(None)


def values(spelled: Any) -> Any:
    """The IRIs of spellings, which are of IRIs."""
    quick = pc.match_substring_regex(spelled, _QUICK)
    bracketed = pc.starts_with(spelled, "<")
    inner = pc.utf8_slice_codeunits(spelled, 1, -1)
    full = pc.binary_join_element_wise(_large(PLAIN), spelled, _large(""))
    return pc.if_else(quick, pc.if_else(bracketed, inner, full), _NOTHING)


def spellings(iris: Any) -> Any:
    """The spellings of IRIs as objects."""
    plain = pc.starts_with(iris, PLAIN)
    name = pc.utf8_slice_codeunits(iris, len(PLAIN))
    quick = pc.and_not(pc.match_substring_regex(name, _NAME), pc.is_in(iris, value_set=_TRUTHS))
    bracketed = pc.binary_join_element_wise(_large("<"), iris, _large(">"), _large(""))
    return pc.if_else(plain, pc.if_else(quick, name, _NOTHING), bracketed)


# --- typed values -------------------------------------------------------------------------------------------------
# The law that lets a kernel compare without the exact values: both `number` (the nearest float64) and `instant` (whole
# microseconds, rounded down) are monotone in the value, so if they differ they order the values, and if they are equal
# and both `exact`, so are the values. Only equal and inexact ones need `terms.value_of`.

NO_ZONE = -32768
NO_KIND = 0
MICRO = literal_values.ATTO // 10**6  # attoseconds in a microsecond
TEXTS = frozenset({literal_values.XSD_STRING, RDF_LANG_STRING})  # datatypes whose literals are their text
_FIRST, _LAST = -(2**63), 2**63 - 1


class Typed(NamedTuple):
    """One row per term id."""

    category: npt.NDArray[np.uint8]  # terms.TermKind
    kind: npt.NDArray[np.uint8]  # values.Kind, or NO_KIND where there is no typed value
    number: npt.NDArray[np.float64]  # of numbers and booleans, else NaN
    instant: npt.NDArray[np.int64]  # of dates and dateTimes: microseconds since 1970, UTC if there is a zone
    zone: npt.NDArray[np.int16]  # minutes east of UTC, or NO_ZONE
    exact: npt.NDArray[np.bool_]  # number and instant are the whole value

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        return cast("tuple[npt.NDArray[Any], ...]", tuple(self))

    def take(self, rows: Any) -> Typed:
        return Typed(*(column[rows] for column in self.columns))


class TypedRow(NamedTuple):
    """One term's entry in every column of `Typed`."""

    category: int
    kind: int
    number: float
    instant: int
    zone: int
    exact: bool


DTYPES = (np.uint8, np.uint8, np.float64, np.int64, np.int16, np.bool_)
_UNTYPED = {kind: TypedRow(kind, NO_KIND, np.nan, 0, NO_ZONE, True) for kind in TermKind}


def row_of(term: Term) -> TypedRow:
    typed = value_of(term)
    if typed is None:
        return _UNTYPED[term.kind]
    if isinstance(typed.value, Instant):
        return instant_row(typed.kind, typed.value)
    try:
        number = float(typed.value)
    except OverflowError:
        number = np.inf if typed.value > 0 else -np.inf
    exact = number == typed.value or typed.kind in (Kind.FLOAT, Kind.DOUBLE)
    return TypedRow(TermKind.LITERAL, typed.kind, number, 0, NO_ZONE, exact)


def instant_row(kind: Kind, instant: Instant) -> TypedRow:
    micros, rest = divmod(instant.atto, MICRO)
    clamped = min(max(micros, _FIRST), _LAST)
    zone = NO_ZONE if instant.zone is None else instant.zone
    return TypedRow(TermKind.LITERAL, kind, np.nan, clamped, zone, rest == 0 and clamped == micros)


def typed_rows(categories: npt.NDArray[np.uint8], literals: Sequence[int], term: Callable[[int], Term]) -> Typed:
    """The columns of terms of these categories; the literals that are more than their text stand in these rows."""
    untyped: Any = zip(_UNTYPED[TermKind.IRI][1:], DTYPES[1:], strict=True)
    rows = Typed(categories, *(np.full(len(categories), value, dtype) for value, dtype in untyped))
    if literals:
        for column, its in zip(rows.columns, zip(*(row_of(term(row)) for row in literals), strict=True), strict=True):
            column[literals] = its
    return rows


def typed_of(terms: Sequence[Term]) -> Typed:
    """The columns of these terms, in order."""
    literals = [row for row, term in enumerate(terms) if term[2] and term[2] not in TEXTS]
    return typed_rows(np.array([term[0] for term in terms], np.uint8), literals, terms.__getitem__)


def joined(first: Typed, second: Typed) -> Typed:
    return Typed(*(np.concatenate(pair) for pair in zip(first.columns, second.columns, strict=True)))


_NO_TERMS = typed_of(())


class TypedColumns:
    """Columns that follow a growing number of terms, in amortised constant time a term.

    A reader keeps the arrays it was given: growing copies into larger ones, and rows once written never change.
    """

    def __init__(self) -> None:
        self._size = 0
        self._columns = _NO_TERMS

    def upto(self, size: int, rows: Callable[[int, int], Typed]) -> Typed:
        """The rows of the first `size` terms; `rows` computes those from one to another not seen before."""
        if size > self._size:
            new, room = rows(self._size, size), len(self._columns.kind)
            if size > room:
                room = max(size, 2 * room, 64)
                self._columns = Typed(*(_grown(column, self._size, room) for column in self._columns.columns))
            for column, values in zip(self._columns.columns, new.columns, strict=True):
                column[self._size : size] = values
            self._size = size
        return self._columns.take(slice(size))


def _grown(array: Any, used: int, room: int) -> Any:
    larger = np.zeros(room, array.dtype)
    larger[:used] = array[:used]
    return larger


# --- what cells meant before --------------------------------------------------------------------------------------
# A batch pays only for texts that it brings anew. The law: remembering changes no answer, because a text in a column
# always means the same term and ids never change.

_REMEMBERED = 1 << 18  # texts per column; forgotten all at once when full
_SHORT = 256  # longer texts seldom come again, so they are not remembered
_NOTHING_KNOWN: Mapping[Text, int] = {}


class CellColumn(NamedTuple):
    """What a cell's meaning depends on besides its text."""

    position: Position
    prefixes: Mapping[str, str]

    def read(self, texts: Sequence[Text]) -> tuple[dict[Text, Term], dict[Text, TermError]]:
        """The terms that texts spell, and why others spell none. The tracebacks of errors go: they would hold the
        frames of their callers, and those hold them: a cycle."""
        position, prefixes = self
        terms: dict[Text, Term] = {}
        refused: dict[Text, TermError] = {}
        for text in texts:
            try:
                if text.__class__ is bytes:
                    raise TermError("HG-108", f"text that is not UTF-8: {text[:60]!r}", fix="write the file as UTF-8")
                terms[text] = parse_cell(text, position, prefixes)  # type: ignore[arg-type]  # the others are no bytes
            except TermError as error:
                refused[text] = error.with_traceback(None)
        return terms, refused


class Memo:
    """The ids of cells read before, by column and text.

    Over another memo, ids below `start` are the other's and are remembered there, for later overlays.
    """

    def __init__(self, below: Memo | None = None, start: int = 0) -> None:
        self._below = below
        self._start = start
        self._known: dict[object, dict[Text, int]] = {}

    def recall(self, texts: Sequence[Text], column: CellColumn) -> list[int]:
        """The id of each text, or -1."""
        key, start = (column.position, frozenset(column.prefixes.items())), self._start
        known = self._known.get(key, _NOTHING_KNOWN)
        found = [-1 if id is None else id for id in map(known.get, texts)]
        if self._below is not None and -1 in found:
            missing = [row for row, id in enumerate(found) if id < 0]
            for row, id in zip(missing, self._below.recall([texts[row] for row in missing], column), strict=True):
                if id < start:
                    found[row] = id
        return found

    def remember(self, ids: Mapping[Text, int], column: CellColumn) -> None:
        short: dict[Text, int] = {text: id for text, id in ids.items() if text is not None and not text[_SHORT:]}
        if self._below is not None:
            below: dict[Text, int] = {text: id for text, id in short.items() if id < self._start}
            if below:
                self._below.remember(below, column)
                short = {text: id for text, id in short.items() if id >= self._start}
        key = (column.position, frozenset(column.prefixes.items()))
        known = self._known.get(key)
        if known is None or len(known) + len(short) > _REMEMBERED:
            known = self._known[key] = {}
        known.update(short)


# --- the interner table -------------------------------------------------------------------------------------------
# The laws: row i is the spelling of the term with the id `first + i`, and rows never change; a state once published
# stays valid for its readers while the one writer appends, because arrays grow by being replaced and a search ignores
# the rows beyond its own count. A term costs its text and 20 to 30 bytes. An engine with such a table has loaded
# Numba; the searches of small vocabularies never come here.

BLANK, IRI, LITERAL, TEXT = range(4)  # of kinds; TEXT is a literal that is its text: a string, or one in a language
MOST_TERMS = (1 << 31) - 1  # of one vocabulary, those below it counted: ids are 32 bits wide, with a sign
REFUSED, OTHER, UNSEEN = -1, -2, -3  # in place of an id: it spells no term; Python reads the cell; not yet looked up
HEAD = 1  # goes into every hash first, so that no text hashes to what does not depend on the key
FULL, PARTS = 7, 10  # of 10 slots at most 7 are taken: 6 probes on average for what is absent, 2 for what is there
PRIME = (1 << 61) - 1
_SPARE = 8  # bytes behind the texts, which kernels read and write a word at a time
_SMALL = 1024  # rows of the first arrays
_SOME_TEXTS = 30  # from which the kernel is faster: calling it costs as much as finding so many in Python


class Strings(NamedTuple):
    """Texts end to end: number i has the bytes from offsets[i] to offsets[i + 1]."""

    offsets: Int64s
    data: Bytes


class InternerArrays(NamedTuple):
    """The first `size` rows of growing arrays, and a table by linear probing that may hold later rows too.

    A slot is 0 or has the upper half of the hash above the number plus one. The place of a hash grows with it, so that
    a larger table is filled by going through the smaller one from end to end.
    """

    key: int
    size: int
    kinds: Bytes
    offsets: Int64s
    data: Bytes
    slots: npt.NDArray[np.uint64]


class Others(NamedTuple):
    """The cells of a column that a kernel cannot read, as Python read them: row k has entry codes[k]."""

    codes: Int32s
    known: Int32s  # by entry: its id, REFUSED or UNSEEN; filled in where it was unseen
    kinds: Bytes
    spelled: Strings


class Word(NamedTuple):
    """One text somewhere, and the upper half of its hash."""

    data: Bytes
    begin: int
    end: int
    hashed: Any


class SpelledTerms(NamedTuple):
    """Spelled terms that are to be entered, as a kernel takes them."""

    spelled: Strings
    kinds: Bytes


def hash_text(head: int, text: bytes, key: int) -> int:
    """A polynomial in `key` over the text's 7-byte words, modulo the prime; see `vocabulary.kernels`."""
    hashed = head
    for start in range(0, len(text), 7):
        hashed = (hashed * key + int.from_bytes(text[start : start + 7], "little")) % PRIME
    return (hashed * key + len(text)) % PRIME


def kind_of(term: Term) -> int:
    return TEXT if term.datatype in TEXTS else int(term.kind)


def entries(terms: Sequence[Term]) -> SpelledTerms:
    return SpelledTerms(strings([spell(term) for term in terms]), np.array([kind_of(term) for term in terms], np.uint8))


def strings(texts: Sequence[str | None]) -> Strings:
    """Texts end to end, nothing in place of None."""
    return strings_of(pa.array(texts, pa.large_string()))


def strings_of(texts: Any) -> Strings:
    """The buffers of an Arrow column of strings, not copied unless its offsets are short."""
    _, offsets, data = texts.buffers()
    wide = pa.types.is_large_string(texts.type)
    if offsets is None or not len(texts):
        return Strings(fixed(np.zeros(len(texts) + 1, np.int64)), fixed(np.zeros(0, np.uint8)))
    ends = np.frombuffer(offsets, np.int64 if wide else np.int32)[texts.offset : texts.offset + len(texts) + 1]
    held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return Strings(fixed(ends.astype(np.int64, copy=False)), fixed(held))


def arrow_strings(count: int, offsets: Any, data: Any) -> Any:
    """Texts end to end as an Arrow array of so many large strings."""
    large: Any = pa.LargeStringArray
    return large.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(data))


def no_rows(key: int) -> InternerArrays:
    """The arrays of an empty table."""
    keyed: Any = np.uint64(key)
    slots, offsets = np.zeros(_slots(_SMALL), np.uint64), np.zeros(_SMALL + 1, np.int64)
    return InternerArrays(keyed, 0, np.zeros(_SMALL, np.uint8), offsets, np.zeros(_SPARE, np.uint8), slots)


def _slots(rows: int) -> int:
    return rows * PARTS // FULL + 1


class InternerTable:
    """Spelled terms that grow in number. One thread writes; a published state may be read by any.

    `state` is what readers see: the rows, and how many of them only this table holds.
    """

    def __init__(self, under: InternerArrays | None = None) -> None:
        key = 1 + secrets.randbelow(PRIME - 1) if under is None else under.key
        self._under = no_rows(key) if under is None else under
        self.state: tuple[InternerArrays, int] = no_rows(key), 0
        self._taken = 0
        self.first = self._under.size  # the id of the first row; those below are in the table under this one

    @property
    def end(self) -> int:
        """The id after that of the last row."""
        return self.first + self.state[0].size

    # --- writing ------------------------------------------------------------------------------------------------

    def add(self, terms: SpelledTerms) -> None:
        """Appends terms that are new here and that others hold too."""
        size = len(terms.kinds)
        codes = np.arange(size, dtype=np.int32)
        others = Others(fixed(codes), np.full(size, UNSEEN, np.int32), fixed(terms.kinds), terms.spelled)
        nothing = Strings(fixed(np.zeros(size + 1, np.int64)), fixed(np.zeros(0, np.uint8)))
        rows = self.enter(nothing, np.zeros(size, np.uint32), others, np.full(size, OTHER, np.int32))
        self.state = rows, self.state[1]

    def enter(self, cells: Strings, hashes: Any, others: Others, ids: Ids) -> InternerArrays:
        """Fills in the ids of a column that was read; `publish` then shows its new rows to readers."""
        from heliograph.vocabulary import kernels

        spelled = others.spelled
        length = int(cells.offsets[-1] - cells.offsets[0]) + int(spelled.offsets[-1] - spelled.offsets[0])
        rows = self._with_room(len(ids), length)
        taken, self._taken = self._taken, self._taken + len(ids)  # in case an interrupt comes before they are counted
        count = int(kernels.enter(rows, self._under, cells, hashes, others, ids))
        self._taken = taken + count - rows.size
        return rows._replace(size=count)

    def publish(self, rows: InternerArrays) -> None:
        """Shows rows that only this table holds."""
        self.state = rows, self.state[1] + rows.size - self.state[0].size

    def _with_room(self, rows: int, length: int) -> InternerArrays:
        """The rows in arrays that have room for so many more, and for texts of this length together."""
        from heliograph.vocabulary import kernels

        now = self.state[0]
        check_room(self.first + now.size + rows)
        count, used = now.size + rows, int(now.offsets[now.size])
        parts = {
            "kinds": (now.size, count),
            "offsets": (now.size + 1, count + 1),
            "data": (used, used + length + _SPARE),
        }
        grown: dict[str, Any] = {}
        for name, (held, wanted) in parts.items():
            room = len(getattr(now, name))
            if wanted > room:
                grown[name] = _grown(getattr(now, name), held, max(wanted, room * 3 // 2))
        now, size = now._replace(**grown), _slots(self._taken + rows)
        if size > len(now.slots):
            larger = now._replace(slots=np.zeros(max(size, len(now.slots) * 3 // 2), np.uint64))
            self._taken = int(kernels.refill(now, larger))
            now = larger
        return now

    # --- reading ------------------------------------------------------------------------------------------------

    def find(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, or -1; terms of the table under this one are not looked for."""
        rows, texts = self.state[0], [spell(term) for term in terms]
        many = len(texts) >= _SOME_TEXTS
        found = find_spelled(rows, texts) if many else [find_spelling(rows, text) for text in texts]
        return [number if number < 0 else number + self.first for number in found]

    def term(self, id: int) -> Term:
        """The term of an id, read from its spelling."""
        rows, number = self.state[0], id - self.first
        text = _text_at(rows, number).decode()
        if rows.kinds.item(number) != IRI:
            return parse_cell(text)
        return iri(text[1:-1]) if text[0] == "<" and text[-1] == ">" else plain_name(text)

    def spell(self, ids: Ids) -> Any:
        """The spellings of ids that it has, null where one is negative, as an Arrow array."""
        return self.spelled().take(pa.array(ids - self.first, mask=ids < 0)).cast(pa.string())

    def kinds(self, first: int, last: int) -> Bytes:
        """The kinds of the ids from `first` to `last`, as many of them as there are."""
        rows = self.state[0]
        return rows.kinds[max(first - self.first, 0) : min(max(last - self.first, 0), rows.size)]

    def spelled(self) -> Any:
        """The spellings of all rows, from the first id on, as an Arrow array; nothing is copied."""
        rows = self.state[0]
        return arrow_strings(rows.size, rows.offsets, rows.data)


def find_spelled(rows: InternerArrays, texts: Sequence[str]) -> list[int]:
    """The number of each text, or -1."""
    from heliograph.vocabulary import kernels

    out = np.empty(len(texts), np.int32)
    kernels.find_spelled(rows, strings(texts), out)
    numbers: list[int] = out.tolist()
    return numbers


def find_spelling(rows: InternerArrays, text: str) -> int:
    """`find_spelled` for one, in plain Python: the two must agree in every bit."""
    wanted = text.encode()
    hashed = hash_text(HEAD, wanted, int(rows.key)) >> 29
    size = len(rows.slots)
    place = hashed * size >> 32
    while slot := rows.slots.item(place):
        number = (slot & 0xFFFFFFFF) - 1
        if slot >> 32 == hashed and number < rows.size and _text_at(rows, number) == wanted:
            return number
        place = (place + 1) % size
    return -1


def _text_at(rows: InternerArrays, number: int) -> bytes:
    return rows.data[rows.offsets.item(number) : rows.offsets.item(number + 1)].tobytes()


def check_room(terms: int) -> None:
    """Refuses more terms than there are ids of 32 bits."""
    if terms > MOST_TERMS:
        raise PublicationError(
            "HG-647",
            f"more than {MOST_TERMS} different terms",
            fix="divide the subscriptions or the publications among several engines",
        )


# --- a block of cells ---------------------------------------------------------------------------------------------
# Simple cells are hashed by a kernel, all others are read in Python. The law: a block is read without looking at the
# vocabulary, apart from what it remembers of cells, so that the lock is held only while ids are given.

BLOCK = 1 << 16  # rows entered at a time: their hashes stay in the cache, and readers wait no longer than for these
FEW, _MANY = 2_000, 200_000  # cells: fewer are read in Python; so many are worth importing Numba
_KERNEL, _MODULE = "vocabulary.kernels.enter", "heliograph.vocabulary.kernels"


def is_worth(rows: int, held: int) -> bool:
    """Whether the kernels pay for a column, in a vocabulary that holds so many terms.

    A cell that is new costs Python 5 µs and the kernels 0.1 µs, importing Numba nearly a second.
    """
    if rows < FEW:
        return False
    return rows + held >= _MANY or ("numba" in sys.modules and (_MODULE in sys.modules or _was_compiled()))


@cache
def _was_compiled() -> bool:
    return is_warm(_KERNEL)


class CellBlock(NamedTuple):
    """Cells that were read: which are others is marked in `ids`, and for these there are the texts and errors."""

    cells: Strings
    hashes: Hashes
    ids: Ids
    others: Others
    texts: list[Text]
    errors: Mapping[Text, TermError]

    def refused(self, first: int) -> list[tuple[int, TermError]]:
        """The rows that were refused, counted from `first`, and why; known only when the ids are."""
        rows = np.flatnonzero(self.ids < 0)
        if not len(rows):
            return []
        codes = self.others.codes[self.others.known[self.others.codes] < 0]
        pairs = zip(rows.tolist(), codes.tolist(), strict=True)
        return [(first + row, self.errors[self.texts[code]]) for row, code in pairs]


def read(cells: pa.Array[Any], column: CellColumn, memo: Memo, key: Any) -> CellBlock:
    """The cells of one Arrow array of strings, as `InternerTable.enter` takes them."""
    from heliograph.vocabulary import kernels

    held, ids, hashes = strings_of(cells), np.empty(len(cells), np.int32), np.empty(len(cells), np.uint32)
    valid = np.asarray(cells.is_valid()).view(np.uint8) if cells.null_count else np.zeros(0, np.uint8)
    is_property = int(column.position is Position.PROPERTY)
    if not kernels.read(held, fixed(valid), is_property, key, hashes, ids):
        return CellBlock(held, hashes, ids, _NO_OTHERS, [], {})
    codes, texts = distinct(cells.take(np.flatnonzero(ids == OTHER)))
    texts.append(None)  # the last entry is a null
    known = np.array(memo.recall(texts, column), np.int32)
    terms, errors = column.read([text for text, id in zip(texts, known.tolist(), strict=True) if id < 0])
    spelled = strings([spell(terms[text]) if text in terms else None for text in texts])
    kinds = np.array([kind_of(terms[text]) if text in terms else 0 for text in texts], np.uint8)
    known[[text in terms for text in texts]] = UNSEEN
    entry = np.where(codes < 0, len(texts) - 1, codes).astype(np.int32)
    return CellBlock(held, hashes, ids, Others(fixed(entry), known, fixed(kinds), spelled), texts, errors)


_NO_OTHERS = Others(fixed(np.zeros(0, np.int32)), np.zeros(0, np.int32), fixed(np.zeros(0, np.uint8)), strings(()))
