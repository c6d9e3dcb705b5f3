"""Columns of cells as term ids: each distinct text is read once, by kernels where there are many; typed values stand
beside the ids.
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

from heliograph import values as values_
from heliograph.compiled.compile import announce, is_warm
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
from heliograph.values import Instant, Kind, Value

# ----------------------------------------------------------------------------------------------------------------------
# The shapes of arrays that kernels and their callers share. Does not import Numba.
# ----------------------------------------------------------------------------------------------------------------------


class Texts(NamedTuple):
    """Texts end to end: number i has the bytes from offsets[i] to offsets[i + 1], and a head that belongs to it."""

    heads: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]


class Table(NamedTuple):
    """A hash table over texts by linear probing; a power of two of slots, at most half of them taken."""

    slots: npt.NDArray[np.int32]  # the number of a text, or -1
    marks: npt.NDArray[np.uint32]  # the upper bits of its hash, so that a miss seldom touches the text
    key: int


# ----------------------------------------------------------------------------------------------------------------------
# The shapes of the arrays that hold a lexicon, shared by its kernels and their callers. Does not import Numba.
#
# A lexicon lists spelled terms by number and finds the number of a spelling. A term has one spelling as an object
# (see `terms.spell`), so two terms are the same if and only if these bytes are.
# ----------------------------------------------------------------------------------------------------------------------

Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Int32s: TypeAlias = "npt.NDArray[np.int32]"
Int64s: TypeAlias = "npt.NDArray[np.int64]"
Hashes: TypeAlias = "npt.NDArray[np.uint32]"

BLANK, IRI, LITERAL, TEXT = range(
    4
)  # of kinds; TEXT is a literal that is its text: a plain string or one in a language

MOST_TERMS = (1 << 31) - 1  # of one vocabulary, those below it counted: ids are 32 bits wide, with a sign
REFUSED, OTHER, UNSEEN = -1, -2, -3  # in place of an id: it spells no term; Python reads the cell; not yet looked up
HEAD = 1  # goes into every hash first, so that no text hashes to what does not depend on the key
FULL, PARTS = 7, 10  # of 10 slots at most 7 are taken: 6 probes on average for what is absent, 2 for what is there


class Strings(NamedTuple):
    """Texts end to end: number i has the bytes from offsets[i] to offsets[i + 1]."""

    offsets: Int64s
    data: Bytes


class Lexicon(NamedTuple):
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


# ----------------------------------------------------------------------------------------------------------------------
# Arrow columns as codes into their distinct texts, so that each distinct cell is read once.
#
# The law: `texts[codes[row]]` is the text of the row, and a code of -1 is a null. Only texts that occur are listed,
# so that the rows of a slice do not pay for the dictionary of the whole.
# ----------------------------------------------------------------------------------------------------------------------

Cells: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"
Text = str | bytes | None  # bytes where the text is not UTF-8, None where an entry of a dictionary is null
_SAMPLE, _VARIED = 1024, 8  # varied: one text in 8 cells or more; a cell costs a kernel as much as a text costs Python
_WIDE = 32  # bits that number the texts of any column that fits in memory
_Encoded: TypeAlias = "pa.DictionaryArray[Any, Any]"


class Distinct(NamedTuple):
    """A column's distinct texts and where they stand."""

    codes: npt.NDArray[np.signedinteger[Any]]
    texts: list[Text]


class Encoded(NamedTuple):
    """As `Distinct`, the texts as an Arrow array."""

    codes: npt.NDArray[np.signedinteger[Any]]
    dictionary: pa.Array[Any]


def distinct(cells: Cells) -> Distinct:
    """Dictionary-encodes strings of any Arrow layout; an already encoded column is taken as it is."""
    codes, dictionary = encode(cells)
    return Distinct(codes, texts_of(dictionary))


def encode(cells: Cells) -> Encoded:
    """As `distinct`, the texts still in Arrow."""
    encoded = _encode(cells)
    codes = _codes(encoded.indices)
    dictionary = encoded.dictionary
    if not pa.types.is_dictionary(cells.type):
        return Encoded(codes, dictionary)
    used = np.zeros(len(dictionary) + 1, np.bool_)
    used[codes] = True  # -1 marks the spare last entry
    if used[:-1].all():
        return Encoded(codes, dictionary)
    places = np.cumsum(used) - 1
    places[-1] = -1
    return Encoded(places[codes], dictionary.filter(pa.array(used[:-1])))


def is_varied(cells: Cells) -> bool:
    """Whether strings differ so much that encoding them would be in vain, judged by the first of them.

    A sixteenth, so that looking costs little; of a column with few texts that repeat late it sees the repetitions.
    """
    if not _is_text(cells.type):
        return False
    sample = cells.slice(0, max(_SAMPLE, len(cells) // 16))
    return _VARIED * len(_encode(sample).dictionary) >= len(sample)


def pieces(cells: Cells) -> Iterator[pa.Array[Any]]:
    """The chunks of a column of strings, views as strings."""
    for chunk in cells.chunks if isinstance(cells, pa.ChunkedArray) else (cells,):
        yield chunk.cast(pa.large_string()) if pa.types.is_string_view(chunk.type) else chunk


def _encode(cells: Cells) -> _Encoded:
    if pa.types.is_null(cells.type):
        cells = cells.cast(pa.string())
    is_encoded = pa.types.is_dictionary(cells.type)
    if not _is_text(cells.type.value_type if is_encoded else cells.type):
        raise UsageError("HG-061", f"a column of {cells.type} as terms", fix="cast the column to string")
    encoded = cells if is_encoded else cells.dictionary_encode()
    return cast(_Encoded, together(encoded))


def together(column: Cells) -> Any:
    """A column in one piece. The numbers of an encoded one are widened first: together the chunks may have more texts
    than those of a chunk can count, such as 127 with 8 bits."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    kind = column.type
    if isinstance(kind, pa.DictionaryType) and column.num_chunks > 1 and kind.index_type.bit_width < _WIDE:
        wide = pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
        column = column.cast(wide)
    return column.unify_dictionaries().combine_chunks()


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _codes(indices: pa.Array[Any]) -> npt.NDArray[np.signedinteger[Any]]:
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    return indices.to_numpy(zero_copy_only=False)


def texts_of(dictionary: pa.Array[Any]) -> list[Text]:
    """The texts of an Arrow array of strings."""
    try:
        return cast("list[Text]", dictionary.to_pylist())
    except UnicodeDecodeError:
        return [_decoded(cell) for cell in dictionary.cast(pa.large_binary()).to_pylist()]


def _decoded(cell: bytes | None) -> Text:
    try:
        return cell if cell is None else cell.decode()
    except UnicodeDecodeError:
        return cell


# ----------------------------------------------------------------------------------------------------------------------
# Whole columns from spellings to values and back, by Arrow: IRIs without an object for each.
#
# The law is that of `terms.spell`: of an IRI either gives what is the other's argument, or null where its spelling is
# not just its value in angle brackets or its name, so that the term has to be looked at by itself.
# ----------------------------------------------------------------------------------------------------------------------

_QUICK = r"(?s)^(?:[A-Za-z0-9_.~-]+|<.*>)$"
# A letter other than e, or an underscore, is in no number; `true` and `false` are to be looked at.
_NAME = r"^[0-9eE.~-]*[A-DF-Za-df-z_][A-Za-z0-9_.~-]*$"
_TRUTHS = pa.array([PLAIN + "true", PLAIN + "false"], pa.large_string())


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


def _large(text: str | None) -> Any:
    return pa.scalar(text, pa.large_string())


_NOTHING = _large(None)


# ----------------------------------------------------------------------------------------------------------------------
# Typed values beside term ids, as flat columns that grow.
#
# The law that lets a kernel compare without the exact values: both `number` (the nearest float64) and `instant`
# (whole microseconds, rounded down) are monotone in the value, so if they differ they order the values, and if they
# are equal and both `exact`, so are the values. Only equal and inexact ones need `terms.value_of`.
# ----------------------------------------------------------------------------------------------------------------------

NO_ZONE = -32768
NO_KIND = 0
MICRO = values_.ATTO // 10**6  # attoseconds in a microsecond
TEXTS = frozenset({values_.XSD_STRING, RDF_LANG_STRING})  # datatypes whose literals are their text
_FIRST, _LAST = -(2**63), 2**63 - 1

Flags = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.int32]  # of terms


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


class Row(NamedTuple):
    """One term's entry in every column of `Typed`."""

    category: int
    kind: int
    number: float
    instant: int
    zone: int
    exact: bool


DTYPES = (np.uint8, np.uint8, np.float64, np.int64, np.int16, np.bool_)
_UNTYPED = {kind: Row(kind, NO_KIND, np.nan, 0, NO_ZONE, True) for kind in TermKind}


def row_of(term: Term) -> Row:
    typed = value_of(term)
    if typed is None:
        return _UNTYPED[term.kind]
    if isinstance(typed.value, Instant):
        return instant_row(typed.kind, typed.value)
    number, exact = _nearest(typed)
    return Row(TermKind.LITERAL, typed.kind, number, 0, NO_ZONE, exact)


def instant_row(kind: Kind, instant: Instant) -> Row:
    micros, rest = divmod(instant.atto, MICRO)
    clamped = min(max(micros, _FIRST), _LAST)
    zone = NO_ZONE if instant.zone is None else instant.zone
    return Row(TermKind.LITERAL, kind, np.nan, clamped, zone, rest == 0 and clamped == micros)


def _nearest(typed: Value) -> tuple[float, bool]:
    assert not isinstance(typed.value, Instant)
    try:
        number = float(typed.value)
    except OverflowError:
        number = np.inf if typed.value > 0 else -np.inf
    return number, number == typed.value or typed.kind in (Kind.FLOAT, Kind.DOUBLE)


def typed_of(terms: Sequence[Term]) -> Typed:
    """The columns of these terms, in order."""
    columns = zip(*map(row_of, terms), strict=True) if terms else ((),) * len(DTYPES)
    return Typed(*(np.array(column, dtype) for column, dtype in zip(columns, DTYPES, strict=True)))


def untyped(categories: npt.NDArray[np.uint8]) -> Typed:
    """The columns of terms without typed values, of these categories."""
    _, *rest = _UNTYPED[TermKind.IRI]
    columns: Any = (np.full(len(categories), value, dtype) for value, dtype in zip(rest, DTYPES[1:], strict=True))
    return Typed(categories, *columns)


def joined(first: Typed, second: Typed) -> Typed:
    return Typed(*(np.concatenate(pair) for pair in zip(first.columns, second.columns, strict=True)))


def interleaved(first: npt.NDArray[np.bool_], of_first: Typed, of_second: Typed) -> Typed:
    """Rows taken in order from one where `first` is true, and from the other where it is false."""
    rows = Typed(*(np.empty(len(first), column.dtype) for column in of_first.columns))
    for column, left, right in zip(rows.columns, of_first.columns, of_second.columns, strict=True):
        column[first] = left
        column[~first] = right
    return rows


class TypedColumns:
    """Columns that follow a growing number of terms, in amortised constant time a term.

    A reader keeps the arrays it was given: growing copies into larger ones, and rows once written never change.
    """

    def __init__(self) -> None:
        self._size = 0
        self._columns = typed_of(())

    def upto(self, size: int, rows: Callable[[int, int], Typed]) -> Typed:
        """The rows of the first `size` terms; `rows` computes those from one to another not seen before."""
        if size > self._size:
            self._append(rows(self._size, size), size)
        return self._columns.take(slice(size))

    def _append(self, rows: Typed, size: int) -> None:
        if size > len(self._columns.kind):
            spare = max(size, 2 * len(self._columns.kind), 64)
            self._columns = Typed(*(_grown(column, spare) for column in self._columns.columns))
        for column, new in zip(self._columns.columns, rows.columns, strict=True):
            column[self._size : size] = new
        self._size = size


def _grown(column: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    larger = np.zeros(capacity, column.dtype)
    larger[: len(column)] = column
    return larger


# ----------------------------------------------------------------------------------------------------------------------
# What cells meant before: the ids of texts already read, so that a batch pays only for texts it brings anew.
#
# The law: remembering changes no answer, because a text in a column always means the same term and ids never change.
# ----------------------------------------------------------------------------------------------------------------------

_REMEMBERED = 1 << 18  # texts per column; forgotten all at once when full
_SHORT = 256  # longer texts seldom come again, so they are not remembered


class Column(NamedTuple):
    """What a cell's meaning depends on besides its text."""

    position: Position
    prefixes: Mapping[str, str]

    @property
    def key(self) -> tuple[Position, frozenset[tuple[str, str]]]:
        return self.position, frozenset(self.prefixes.items())

    def read(self, text: Text) -> Term | TermError:
        """The term that a text spells, or why it spells none."""
        try:
            if isinstance(text, bytes):
                raise TermError("HG-108", f"text that is not UTF-8: {text[:60]!r}", fix="write the file as UTF-8")
            return parse_cell(text, self.position, self.prefixes)
        except TermError as error:
            return error.with_traceback(None)  # it would hold the frames of its callers, and they hold it: a cycle

    def refuse_null(self) -> TermError:
        """Why a null spells no term."""
        refused = self.read(None)
        assert isinstance(refused, TermError)
        return refused


class Memo:
    """The ids of cells read before, by column and text.

    Over another memo, ids below `start` are the other's and are remembered there, for those who come after.
    """

    def __init__(self, below: Memo | None = None, start: int = 0) -> None:
        self._below = below
        self._start = start
        self._known: dict[object, dict[Text, int]] = {}

    def recall(self, texts: Sequence[Text], column: Column) -> list[int]:
        """The id of each text, or -1."""
        get = self._known.get(column.key, {}).get
        found = [get(text, -1) for text in texts]
        if self._below is None or -1 not in found:
            return found
        missing = [number for number, id in enumerate(found) if id < 0]
        for number, id in zip(missing, self._below.recall([texts[number] for number in missing], column)):
            found[number] = id if id < self._start else -1
        return found

    def remember(self, ids: Mapping[Text, int], column: Column) -> None:
        short: dict[Text, int] = {text: id for text, id in ids.items() if text is not None and len(text) <= _SHORT}
        if self._below is not None:
            self._below.remember({text: id for text, id in short.items() if id < self._start}, column)
            short = {text: id for text, id in short.items() if id >= self._start}
        known = self._known.get(column.key)
        if known is None or len(known) + len(short) > _REMEMBERED:
            known = self._known[column.key] = {}
        known.update(short)


# ----------------------------------------------------------------------------------------------------------------------
# A hash table over flat texts: filled and searched in plain Python when small, by kernels when large.
#
# The law: both ways give the same table and the same answers, so a save does not depend on which one made it.
# ----------------------------------------------------------------------------------------------------------------------

PRIME = (1 << 61) - 1
_MARK = 0xFFFFFFFF
_COLD, _WARM = 100_000, 5_000


def pays(count: int) -> bool:
    """Whether this many texts are worth the kernels: a text costs 8 µs in Python, importing Numba nearly a second."""
    return count >= (_WARM if "numba" in sys.modules else _COLD)


def hash_text(head: int, text: bytes, key: int) -> int:
    """A polynomial in `key` over the text's 7-byte words, modulo the prime; see `kernels.hashing`."""
    hashed = head
    for start in range(0, len(text), 7):
        hashed = (hashed * key + int.from_bytes(text[start : start + 7], "little")) % PRIME
    return (hashed * key + len(text)) % PRIME


def text_at(texts: Texts, number: int) -> bytes:
    return texts.data[texts.offsets[number] : texts.offsets[number + 1]].tobytes()


def make_table(texts: Texts, key: int | None = None) -> Table:
    """The table of these texts, all different; the key is random unless given."""
    count = len(texts.heads)
    size = 1 << max(3, (2 * count - 1).bit_length())
    chosen = 1 + secrets.randbelow(PRIME - 1) if key is None else key
    table = Table(np.full(size, -1, np.int32), np.zeros(size, np.uint32), chosen)
    if pays(count):
        from heliograph.vocabulary import kernels as hashing

        hashing.fill(_frozen(texts), _keyed(table))
    else:
        _fill(texts, table)
    return table


def _fill(texts: Texts, table: Table) -> None:
    mask = len(table.slots) - 1
    for number, head in enumerate(texts.heads.tolist()):
        hashed = hash_text(head, text_at(texts, number), table.key)
        slot = hashed & mask
        while table.slots[slot] >= 0:
            slot = (slot + 1) & mask
        table.slots[slot] = number
        table.marks[slot] = hashed >> 29 & _MARK


def find_text(head: int, text: bytes, stored: Texts, table: Table) -> int:
    """The number under which a text is stored, or -1."""
    hashed = hash_text(head, text, table.key)
    mask, mark = len(table.slots) - 1, hashed >> 29 & _MARK
    slot = hashed & mask
    while (number := int(table.slots[slot])) >= 0:
        if table.marks[slot] == mark and stored.heads[number] == head and text_at(stored, number) == text:
            return number
        slot = (slot + 1) & mask
    return -1


def find_texts(wanted: Texts, stored: Texts, table: Table) -> Ids:
    """`find_text` for many, by the kernel."""
    from heliograph.vocabulary import kernels as hashing

    out = np.empty(len(wanted.heads), np.int32)
    frozen = Table(_readonly(table.slots), _readonly(table.marks), table.key)
    hashing.find(_frozen(wanted), _frozen(stored), _keyed(frozen), out)
    return out


def _keyed(table: Table) -> Table:
    key: Any = np.uint64(table.key)
    return table._replace(key=key)


def _frozen(texts: Texts) -> Texts:
    return Texts(_readonly(texts.heads), _readonly(texts.offsets), _readonly(texts.data))


def _readonly(array: np.ndarray[Any, Any]) -> Any:
    """Mapped arrays are read-only; showing kernels no other kind spares compiling them twice."""
    view = array.view()
    view.flags.writeable = False
    return view


# ----------------------------------------------------------------------------------------------------------------------
# The lexicon of a vocabulary: its terms as spelled texts in flat arrays, for columns of many different cells.
#
# The laws: row i is the spelling of the term with the id `first + i`, and rows never change; a state once published
# stays valid for its readers while the one writer appends, because arrays grow by being replaced and a search ignores
# the rows beyond its own count. A term costs its text and 20 to 30 bytes.
#
# Whoever holds a lexicon has loaded Numba; the searches of small vocabularies never come here.
# ----------------------------------------------------------------------------------------------------------------------

_SPARE = 8  # bytes behind the texts, which kernels read and write a word at a time
_SMALL = 1024  # rows of the first arrays
_LEXICON_SOME = 30  # texts from which the kernel is faster: calling it costs as much as finding so many in Python


class State(NamedTuple):
    """What readers see of a lexicon: some rows, and how many of them only the lexicon holds."""

    rows: Lexicon
    alone: int


class Entries(NamedTuple):
    """Spelled terms that are to be entered, as a kernel takes them."""

    spelled: Strings
    kinds: npt.NDArray[np.uint8]


def kind_of(term: Term) -> int:
    if term.kind is TermKind.LITERAL and term.datatype in TEXTS:
        return TEXT
    return int(term.kind)


def entries(terms: Sequence[Term]) -> Entries:
    return Entries(strings([spell(term) for term in terms]), np.array([kind_of(term) for term in terms], np.uint8))


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


def fixed(array: Any) -> Any:
    """A view that cannot be written to: kernels are compiled for one kind of array each."""
    view = array.view()
    view.flags.writeable = False
    return view


def empty(key: int) -> Lexicon:
    """A lexicon without rows."""
    keyed: Any = np.uint64(key)
    slots, offsets = np.zeros(_slots(_SMALL), np.uint64), np.zeros(_SMALL + 1, np.int64)
    return Lexicon(keyed, 0, np.zeros(_SMALL, np.uint8), offsets, np.zeros(_SPARE, np.uint8), slots)


def _slots(rows: int) -> int:
    return rows * PARTS // FULL + 1


class LexiconLexicon:
    """Spelled terms that grow in number. One thread writes; a published state may be read by any."""

    def __init__(self, under: Lexicon | None = None) -> None:
        key = 1 + secrets.randbelow(PRIME - 1) if under is None else under.key
        self._under = empty(key) if under is None else under
        self._state = State(empty(key), 0)
        self._taken = 0

    @property
    def state(self) -> State:
        return self._state

    @property
    def first(self) -> int:
        """The id of the first row; those below are in the lexicon under this one."""
        return self._under.size

    @property
    def end(self) -> int:
        """The id after that of the last row."""
        return self.first + self._state.rows.size

    # --- writing ------------------------------------------------------------------------------------------------

    def add(self, terms: Entries) -> None:
        """Appends terms that are new here and that others hold too."""
        size = len(terms.kinds)
        codes = np.arange(size, dtype=np.int32)
        others = Others(fixed(codes), np.full(size, UNSEEN, np.int32), fixed(terms.kinds), terms.spelled)
        blank = Strings(fixed(np.zeros(size + 1, np.int64)), fixed(np.zeros(0, np.uint8)))
        ids, hashes = np.full(size, OTHER, np.int32), np.zeros(size, np.uint32)
        rows = self.enter(blank, hashes, others, ids)
        self._publish(rows, 0)

    def enter(self, cells: Strings, hashes: Any, others: Others, ids: Ids) -> Lexicon:
        """Fills in the ids of a column that was read; `publish` then shows its new rows to readers."""
        from heliograph.vocabulary import kernels

        spelled = others.spelled
        length = int(cells.offsets[-1] - cells.offsets[0]) + int(spelled.offsets[-1] - spelled.offsets[0])
        rows = self._with_room(len(ids), length)
        taken, self._taken = self._taken, self._taken + len(ids)  # in case an interrupt comes before they are counted
        count = int(kernels.enter(rows, self._under, cells, hashes, others, ids))
        self._taken = taken + count - rows.size
        return rows._replace(size=count)

    def publish(self, rows: Lexicon) -> None:
        """Shows rows that only this lexicon holds."""
        self._publish(rows, rows.size - self._state.rows.size)

    def _publish(self, rows: Lexicon, alone: int) -> None:
        self._state = State(rows, self._state.alone + alone)

    def _with_room(self, rows: int, length: int) -> Lexicon:
        """The rows in arrays that have room for so many more, and for texts of this length together."""
        now = self._state.rows
        check_room(self.first + now.size + rows)
        count, end = now.size + rows, int(now.offsets[now.size]) + length + _SPARE
        grown = now._replace(
            kinds=_lexicon_grown(now.kinds, now.size, count),
            offsets=_lexicon_grown(now.offsets, now.size + 1, count + 1),
            data=_lexicon_grown(now.data, int(now.offsets[now.size]), end),
        )
        return self._with_slots(grown, _slots(self._taken + rows))

    def _with_slots(self, rows: Lexicon, size: int) -> Lexicon:
        from heliograph.vocabulary import kernels

        if size <= len(rows.slots):
            return rows
        larger = rows._replace(slots=np.zeros(max(size, len(rows.slots) * 3 // 2), np.uint64))
        self._taken = int(kernels.refill(rows, larger))
        return larger

    # --- reading ------------------------------------------------------------------------------------------------

    def find(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, or -1; terms of the lexicon under this one are not looked for."""
        rows, texts = self._state.rows, [spell(term) for term in terms]
        found = (
            lexicon_find_texts(rows, texts)
            if len(texts) >= _LEXICON_SOME
            else [lexicon_find_text(rows, text) for text in texts]
        )
        return [number if number < 0 else number + self.first for number in found]

    def term(self, id: int) -> Term:
        """The term of an id, read from its spelling."""
        rows, number = self._state.rows, id - self.first
        text = _text_at(rows, number).decode()
        if rows.kinds.item(number) != IRI:
            return parse_cell(text)
        return iri(text[1:-1]) if text[0] == "<" and text[-1] == ">" else plain_name(text)

    def spell(self, ids: Ids) -> Any:
        """The spellings of ids that it has, null where one is negative, as an Arrow array."""
        return self.spelled().take(pa.array(ids - self.first, mask=ids < 0)).cast(pa.string())

    def kinds(self, first: int, last: int) -> npt.NDArray[np.uint8]:
        """The kinds of the ids from `first` to `last`, as many of them as there are."""
        rows = self._state.rows
        return rows.kinds[max(first - self.first, 0) : min(max(last - self.first, 0), rows.size)]

    def spelled(self) -> Any:
        """The spellings of all rows, from the first id on, as an Arrow array; nothing is copied."""
        rows = self._state.rows
        return arrow_strings(rows.size, rows.offsets, rows.data)


def lexicon_find_texts(rows: Lexicon, texts: Sequence[str]) -> list[int]:
    """The number of each text, or -1."""
    from heliograph.vocabulary import kernels

    out = np.empty(len(texts), np.int32)
    kernels.lexicon_find(rows, strings(texts), out)
    numbers: list[int] = out.tolist()
    return numbers


def lexicon_find_text(rows: Lexicon, text: str) -> int:
    """`find_texts` for one, in plain Python: the two must agree in every bit."""
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


def _text_at(rows: Lexicon, number: int) -> bytes:
    return rows.data[rows.offsets.item(number) : rows.offsets.item(number + 1)].tobytes()


def check_room(terms: int) -> None:
    """Refuses more terms than there are ids of 32 bits."""
    if terms > MOST_TERMS:
        raise PublicationError(
            "HG-647",
            f"more than {MOST_TERMS} different terms",
            fix="divide the subscriptions or the publications among several engines",
        )


def _lexicon_grown(array: Any, used: int, wanted: int) -> Any:
    if wanted <= len(array):
        return array
    larger = np.zeros(max(wanted, len(array) * 3 // 2), array.dtype)
    larger[:used] = array[:used]
    return larger


# ----------------------------------------------------------------------------------------------------------------------
# A block of cells made ready for a lexicon: simple ones hashed by a kernel, all others read in Python.
#
# The law: a block is read without looking at the vocabulary, apart from what it remembers of cells, so that the lock
# is held only while ids are given.
# ----------------------------------------------------------------------------------------------------------------------

BLOCK = 1 << 16  # rows entered at a time: their hashes stay in the cache, and readers wait no longer than for these
_MANY, _SOME = 200_000, 2_000
_KERNEL, _MODULE = "vocabulary.kernels.enter", "heliograph.vocabulary.kernels"


def is_worth(rows: int, held: int) -> bool:
    """Whether the kernels pay for a column, in a vocabulary that holds so many terms.

    A cell that is new costs Python 5 µs and the kernels 0.1 µs, importing Numba nearly a second.
    """
    if rows < _SOME:
        return False
    return rows + held >= _MANY or ("numba" in sys.modules and (_MODULE in sys.modules or _was_compiled()))


@cache
def _was_compiled() -> bool:
    return is_warm(_KERNEL)


class Block(NamedTuple):
    """Cells that were read: which are others is marked in `ids`, and for these there are the texts and errors."""

    cells: Strings
    hashes: npt.NDArray[np.uint32]
    ids: Ids
    others: Others
    texts: list[Text]
    errors: dict[int, TermError]
    new: list[int]

    def refused(self, first: int) -> list[tuple[int, TermError]]:
        """The rows that were refused, counted from `first`, and why; known only when the ids are."""
        rows = np.flatnonzero(self.ids < 0)
        if not len(rows):
            return []
        codes = self.others.codes[self.others.known[self.others.codes] < 0]
        return [(first + row, self.errors[code]) for row, code in zip(rows.tolist(), codes.tolist(), strict=True)]

    def remember(self, memo: Memo, column: Column) -> None:
        if self.new:
            memo.remember({self.texts[number]: int(self.others.known[number]) for number in self.new}, column)


def read(cells: pa.Array[Any], column: Column, memo: Memo, key: Any) -> Block:
    """The cells of one Arrow array of strings, as `Lexicon.enter` takes them."""
    announce(_KERNEL)
    from heliograph.vocabulary import kernels

    held, ids, hashes = strings_of(cells), np.empty(len(cells), np.int32), np.empty(len(cells), np.uint32)
    valid = np.asarray(cells.is_valid()).view(np.uint8) if cells.null_count else np.zeros(0, np.uint8)
    if not kernels.read(held, fixed(valid), int(column.position is Position.PROPERTY), key, hashes, ids):
        return Block(held, hashes, ids, _NO_OTHERS, [], {}, [])
    codes, texts = distinct(cells.take(np.flatnonzero(ids == OTHER)))
    known, errors, terms = _read_others(texts, column, memo)
    spelled = strings([spell(terms[number]) if number in terms else None for number in range(len(known))])
    kinds = np.zeros(len(known), np.uint8)
    kinds[list(terms)] = [kind_of(term) for term in terms.values()]
    entry = np.where(codes < 0, len(texts), codes).astype(np.int32)
    return Block(held, hashes, ids, Others(fixed(entry), known, fixed(kinds), spelled), texts, errors, list(terms))


def _read_others(texts: list[Text], column: Column, memo: Memo) -> tuple[Ids, dict[int, TermError], dict[int, Term]]:
    """By number of a text, and last for a null: its id if that is remembered, or the error, or the term."""
    known = np.array([*memo.recall(texts, column), -1], np.int32)
    outcomes = {number: column.read(text) for number, text in enumerate([*texts, None]) if known[number] < 0}
    terms = {number: outcome for number, outcome in outcomes.items() if isinstance(outcome, Term)}
    known[list(terms)] = UNSEEN
    return known, {number: error for number, error in outcomes.items() if isinstance(error, TermError)}, terms


_NO_OTHERS = Others(fixed(np.zeros(0, np.int32)), np.zeros(0, np.int32), fixed(np.zeros(0, np.uint8)), strings(()))
