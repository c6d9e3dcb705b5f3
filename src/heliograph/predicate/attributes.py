"""The attributes of events as cells: JSON read by a kernel where it is plain, in Python where it is rare or wrong.

What the names and strings of events are called inside is a `NameTable`: attributes and words, by number. `encode` turns
a column of JSON texts into cells, `CellRoom` the one event of a call.
"""

from __future__ import annotations

import json
import math
import secrets
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.compiled.background import ready
from heliograph.compiled.growing import Growing, fixed
from heliograph.errors import Place, PublicationError
from heliograph.predicate.evaluate import lookup
from heliograph.predicate.form import Path
from heliograph.predicate.layout import (
    FALSE,
    LIST,
    LISTED,
    NUMBER,
    ODD,
    OTHER,
    STRING,
    TRUE,
    Bytes,
    Cells,
    Int64s,
    Names,
)
from heliograph.vocabulary import mapped
from heliograph.vocabulary.columns import PRIME, hash_text
from heliograph.vocabulary.mapped import text_at

# --- what the names and strings of events are called inside: attributes and words, by number --------------------------
#
# An attribute is a path of names, such as `a.b`; a word is a string constant that some expression compares one
# attribute with. Numbers are given once and never taken back.
#
# The laws: equal paths have one number, equal texts of one attribute one word; a snapshot goes on giving the answers
# of its time while the one writer adds more, because a search stops at numbers that came later. Its hash tables are
# keyed at random (see `vocabulary.columns`), so that no choice of names makes them slow, and are filled only when a
# snapshot is wanted: small jobs use the dictionaries beside them.

LABELS: Path = ("", "labels")  # the label set of an event, which is compared whole; no expression can name it
NO_NAME = ""
NAME_HEAD = 1  # goes into the hash of a name; into that of a word goes one more than its attribute, never 0


class NameTable:
    """Attributes and words, growing. One thread writes; snapshots may be taken and used by any."""

    def __init__(self, key: int | None = None) -> None:
        self.paths: list[Path] = []
        self._attributes: dict[Path, int] = {}
        self.beginnings: dict[str, tuple[int, ...]] = {}
        """The attributes whose paths begin with a name, that of the name alone first."""
        self.words_of: list[dict[str, int]] = []
        """The words of each attribute: string constants that some expression compares it with."""
        self.word_count = 0
        self._lock = threading.Lock()
        self._flat = _Flat(1 + secrets.randbelow(PRIME - 1) if key is None else key)
        self._snapshot: Names | None = None

    def attribute(self, path: Path) -> int:
        """The number of an attribute, which becomes known by this."""
        known = self._attributes.get(path)
        if known is not None:
            return known
        with self._lock:
            number = len(self.paths)
            self.paths.append(path)
            self.words_of.append({})
            if path[0] != NO_NAME:
                self._flat.new_attributes.append((number, path))
                others = self.beginnings.get(path[0], ())
                self.beginnings[path[0]] = (number, *others) if len(path) == 1 else (*others, number)
            self._attributes[path] = number
            self._snapshot = None
        return number

    def word(self, attribute: int, text: str) -> int:
        """The number of a text as a string constant of one attribute, which becomes known by this."""
        known = self.words_of[attribute].get(text)
        if known is not None:
            return known
        with self._lock:
            number = self.word_count
            self._flat.new_words.append((attribute, text))
            self.word_count = number + 1
            self.words_of[attribute][text] = number
            self._snapshot = None
        return number

    def words(self) -> tuple[list[int], list[str]]:
        """The attribute and the text of each word, by number."""
        found = sorted((n, at, text) for at, several in enumerate(self.words_of) for text, n in several.items())
        return [at for _, at, _ in found], [text for _, _, text in found]

    def find_attribute(self, path: Path) -> int:
        """The number of an attribute, or -1."""
        return self._attributes.get(path, -1)

    def snapshot(self) -> Names:
        """Everything known so far, as arrays that stay as they are."""
        with self._lock:
            if self._snapshot is None:
                self._snapshot = self._flat.names()
            return self._snapshot


class _Flat:
    """The arrays of a snapshot; what is new since the last one waits in lists."""

    def __init__(self, key: int) -> None:
        self.new_attributes: list[tuple[int, Path]] = []
        self.new_words: list[tuple[int, str]] = []
        self._names: dict[str, int] = {}
        self._name_attributes, self._nested = Growing(np.int32), Growing(np.uint8)
        self._word_attributes = Growing(np.int32)
        self._name_table, self._word_table = _Texts(key), _Texts(key)
        self._key: Any = np.uint64(key)

    def names(self) -> Names:
        self._take_words()
        self._take_attributes()
        names, words = self._name_table, self._word_table
        parts = names.slots, names.offsets.view(), names.data.view(), self._name_attributes.view(), self._nested.view()
        others = words.slots, self._word_attributes.view(), words.offsets.view(), words.data.view()
        return Names(self._key, *parts, *others)

    def _take_words(self) -> None:
        if self.new_words:
            attributes, texts = zip(*self.new_words, strict=True)
            self.new_words.clear()
            self._word_attributes.extend(attributes)
            self._word_table.extend([attribute + 1 for attribute in attributes], [utf8(text) for text in texts])

    def _take_attributes(self) -> None:
        alone: dict[int, int] = {}
        nested: dict[int, int] = {}
        fresh: list[bytes] = []
        for number, path in self.new_attributes:
            name = self._names.setdefault(path[0], len(self._names))
            if name == len(self._name_attributes) + len(fresh):
                fresh.append(utf8(path[0]))
            if len(path) == 1:
                alone[name] = number
            else:
                nested[name] = 1
        self.new_attributes.clear()
        self._name_attributes.extend([-1] * len(fresh))
        self._nested.extend([0] * len(fresh))
        self._name_attributes.replace(alone)
        self._nested.replace(nested)
        self._name_table.extend([NAME_HEAD] * len(fresh), fresh)


class _Texts:
    """Texts end to end and the hash table that finds them by head and bytes; at most half of its slots are taken."""

    def __init__(self, key: int) -> None:
        self._key = key
        self._hashes = Growing(np.uint64)
        self._slots = np.full(16, -1, np.int32)
        self.offsets, self.data = Growing(np.int64, (0,)), Growing(np.uint8)

    @property
    def slots(self) -> npt.NDArray[np.int32]:
        view = self._slots.view()
        view.flags.writeable = False
        return view

    def extend(self, heads: Sequence[int], texts: Sequence[bytes]) -> None:
        """Appends texts, all of them new. A slot that is filled in place was empty for every older snapshot."""
        first, base = len(self._hashes), len(self.data)
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        data = np.frombuffer(b"".join(texts), np.uint8)
        self._hashes.extend(hash_texts(mapped.Texts(np.array(heads, np.int32), ends, data), self._key))
        self.data.extend(data)
        self.offsets.extend(ends[1:] + base)
        self._fill(first)

    def _fill(self, first: int) -> None:
        count = len(self._hashes)
        if 2 * count > len(self._slots):
            self._slots, first = np.full(1 << (4 * count - 1).bit_length(), -1, np.int32), 0
        slots, mask = self._slots, len(self._slots) - 1
        for number, slot in enumerate((self._hashes.view()[first:] & np.uint64(mask)).tolist(), first):
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = number


def hash_texts(texts: mapped.Texts, key: int) -> npt.NDArray[np.uint64]:
    """The hash of each text with its head: in plain Python where they are few."""
    if not (mapped.pays(len(texts.heads)) and ready("vocabulary", overdue=True)):
        heads = texts.heads.tolist()
        return np.array([hash_text(head, text_at(texts, row), key) for row, head in enumerate(heads)], np.uint64)
    from heliograph.vocabulary import kernels as hashing

    out = np.empty(len(texts.heads), np.uint64)
    hashing.hashes(fixed(texts), np.uint64(key), out)
    return out


def utf8(text: str) -> bytes:
    """The bytes of a text; JSON can spell half of a surrogate pair, which keeps its place in the order."""
    return text.encode("utf-8", "surrogatepass")


# --- the attributes of an event as decoded JSON: what is accepted, and what is refused with which words ---------------
#
# JSON as RFC 8259 has it: numbers are finite, and a text without anything in it stands for an event without
# attributes.

Tree = Mapping[str, Any]
_FIX = 'write an object such as {"topic": "Sports", "age": 35}'


def read_attributes(text: str | None, place: Place) -> Tree:
    """The attributes of an event; null or blank text stands for none."""
    if text is None or not text.strip():
        return {}
    try:
        tree = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        message = f"attributes that are not JSON: {_reason(error)}"
        raise PublicationError("HG-642", message, place=place, fix=_FIX) from None
    if isinstance(tree, dict):
        return tree
    raise PublicationError("HG-642", f"attributes that are no JSON object: {text[:60]}", place=place, fix=_FIX)


def plain_tree(text: str) -> Tree | None:
    """The attributes of an event whose text is one object and nothing else; None where it takes a closer look."""
    try:
        tree, end = _SCAN(text, 0)
    except (ValueError, StopIteration, RecursionError):
        return None
    return tree if end == len(text) and type(tree) is dict else None


def read_bytes(data: bytes, place: Place) -> Tree:
    """As `read_attributes`, from bytes that should be UTF-8."""
    try:
        return read_attributes(data.decode(), place)
    except UnicodeDecodeError as error:
        message = f"attributes that are not UTF-8: {error.reason} at byte {error.start}"
        raise PublicationError("HG-642", message, place=place, fix=_FIX) from None


def read_labels(value: Any, place: Place) -> frozenset[str]:
    """The event's labels: a list of strings, one string, or nothing."""
    several = [value] if isinstance(value, str) else ([] if value is None else value)
    if isinstance(several, list) and all(isinstance(label, str) for label in several):
        return frozenset(several)
    message = f"the attribute labels is {json.dumps(value)[:60]}"
    raise PublicationError("HG-644", message, place=place, fix='write a list of strings, such as ["Sports"]')


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)
_SCAN: Callable[[str, int], tuple[Any, int]] = vars(_DECODER)["scan_once"]  # what `decode` calls between blanks


# --- the arrays of cells: making room, putting together, choosing some events -----------------------------------------
#
# The law: the cells of an event lie together, events in the order of their rows; strings are bytes of one text.

_KINDS = (np.int32, np.uint8, np.float64, np.int32, np.int64, np.int32)


def room_for(events: int, size: int, text: Bytes) -> Cells:
    """Arrays for so many cells that can be written to."""
    return _made(np.zeros(events + 1, np.int64), (np.empty(size, kind) for kind in _KINDS), text)


def enlarged(cells: Cells, size: int) -> Cells:
    """The same with room for more cells."""
    made = room_for(len(cells.offsets) - 1, size, cells.text)
    made.offsets[:] = cells.offsets
    olds, news = columns_of(cells), columns_of(made)
    for old, new in zip(olds, news, strict=True):
        new[: len(old)] = old
    return made


def cut_off(cells: Cells, count: int, text: Bytes) -> Cells:
    """The first cells alone, of this text, read-only."""
    return fixed(_made(cells.offsets, (part[:count] for part in columns_of(cells)), text))


def merge_cells(cells: Cells, rows: Int64s, others: Cells) -> Cells:
    """The cells of all events, where those of some rows, which have none yet, are given apart."""
    counts, added = np.diff(cells.offsets), np.diff(others.offsets)
    owners = np.concatenate((np.repeat(np.arange(len(counts)), counts), np.repeat(rows, added)))
    order = np.argsort(owners, kind="stable")
    moved = others._replace(begin=np.where(others.size > 0, others.begin + len(cells.text), 0))
    pairs = zip(columns_of(cells), columns_of(moved), strict=True)
    counts[rows] = added
    parts = (np.concatenate(pair)[order] for pair in pairs)
    return fixed(_made(_offsets(counts), parts, np.concatenate((cells.text, others.text))))


def take_cells(cells: Cells, rows: Int64s) -> Cells:
    """The cells of some of the events, in this order."""
    counts = np.diff(cells.offsets)[rows]
    offsets = _offsets(counts)
    places = np.repeat(cells.offsets[:-1][rows] - offsets[:-1], counts) + np.arange(offsets[-1])
    return fixed(_made(offsets, (part[places] for part in columns_of(cells)), cells.text))


def columns_of(cells: Cells) -> tuple[Any, ...]:
    """What there is of every cell."""
    return tuple(cells[1:-1])


def _offsets(counts: Int64s) -> Int64s:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))


def _made(offsets: Int64s, parts: Any, text: Bytes) -> Cells:
    return Cells._make((offsets, *parts, text))


# --- cells made one event at a time in plain Python: the twin of `kernels.scan`, without its exceptions ---------------
#
# The law: a decoded tree has, for each known attribute that it has a value for, the cells that `lookup` and the kinds
# of `layout` say; names come in the order of the tree.

CellRow = tuple[int, int, float, int, bytes]
"""One cell: attribute, kind, number, word, and the bytes of a string, or the digits of an odd integer."""


def event_cells(names: NameTable, tree: Tree, labels: Iterable[str] | None = None) -> list[CellRow]:
    """The cells of one event: of its attributes, and of its label set if that is compared and some expression asks."""
    cells: list[CellRow] = []
    for name in tree:
        for attribute in names.beginnings.get(name, ()):
            path = names.paths[attribute]
            _add_cells(cells, names, attribute, lookup(tree, path) if path[1:] else tree[name])
    if labels is not None and (attribute := names.find_attribute(LABELS)) >= 0:
        _add_cells(cells, names, attribute, sorted(labels))
    return cells


def _add_cells(cells: list[CellRow], names: NameTable, attribute: int, value: Any) -> None:
    """The cells of one attribute's value; null, and an element that is null, has none."""
    elements: Iterable[Any] = (value,)
    listed = 0
    if type(value) is list:
        cells.append((attribute, LIST, 0.0, -1, b""))
        elements, listed = value, LISTED
    for element in elements:
        kind = type(element)
        if kind is str:
            word = names.words_of[attribute].get(element, -1)
            cells.append((attribute, STRING | listed, 0.0, word, element.encode("utf-8", "surrogatepass")))
        elif kind is bool:
            cells.append((attribute, (TRUE if element else FALSE) | listed, 0.0, -1, b""))
        elif kind is float:
            cells.append((attribute, NUMBER | listed, element + 0.0, -1, b""))  # -0.0 becomes 0.0, which it equals
        elif kind is int:
            number = float(element) if -_DENSE < element < _DENSE else float_below(element)
            if number == element:
                cells.append((attribute, NUMBER | listed, number, -1, b""))
            else:
                cells.append((attribute, ODD | listed, number, -1, str(element).encode()))
        elif element is not None:
            cells.append((attribute, OTHER | listed, 0.0, -1, b""))


_DENSE = 1 << 53  # below it every integer is a float


def float_below(value: int) -> float:
    """The largest float that is not above an integer."""
    try:
        number = float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -math.inf
    return number if number <= value else math.nextafter(number, -math.inf)


def cells_of(events: Iterable[list[CellRow]]) -> Cells:
    """The cells of several events as arrays."""
    lists = list(events)
    rows = [row for event in lists for row in event]
    attribute, kind, number, word, texts = zip(*rows, strict=True) if rows else ((),) * 5
    sizes = np.fromiter(map(len, texts), np.int32, len(rows))
    begins = np.where(sizes > 0, np.cumsum(sizes, dtype=np.int64) - sizes, 0)
    parts = (attribute, kind, number, word, begins, sizes)
    columns = (np.array(part, dtype) for part, dtype in zip(parts, _KINDS, strict=True))
    return fixed(
        _made(_offsets(np.array([*map(len, lists)], np.int64)), columns, np.frombuffer(b"".join(texts), np.uint8))
    )


class CellRoom:
    """Room for the cells of one event, used again from event to event; `cells` shows it, and cannot be written to."""

    def __init__(self, size: int, characters: int) -> None:
        self.size, self._characters = size, characters
        self._bytes = bytearray(characters)
        self._parts = room_for(1, size, np.frombuffer(self._bytes, np.uint8))
        self.cells: Cells = fixed(self._parts)

    def fill(self, rows: list[CellRow], attributes: int) -> bool:
        """Writes the cells of an event, those of attributes below so many; False where there is no room for them."""
        offsets, attribute, kind, number, word, begin, size, _ = self._parts
        text, count, end = self._bytes, 0, 0
        if len(rows) > self.size:
            return False
        for row in rows:
            if row[0] < attributes:
                attribute[count], kind[count], number[count], word[count], characters = row
                begin[count], size[count] = end, 0
                if characters:
                    first, end = end, end + len(characters)
                    if end > self._characters:
                        return False
                    text[first:end] = characters
                    size[count] = end - first
                count += 1
        offsets[1] = count
        return True


# --- A column of event attributes to cells: by a kernel what is plain, in Python what is rare, wrong or little --------
#
# The laws: both ways give the same cells and the same errors; a row in error has no cells; the names may grow while
# rows are encoded, and a row may or may not see what came meanwhile. So whoever needs all attributes of some
# expressions takes those first and encodes then.

_COLD, _WARM, _HOT = 50_000, 2_000, 4
_KERNEL = "heliograph.predicate.kernels"
_BACKSLASH = 92
_REMEMBERED = 64  # names by their place in the last event

PlaceOf = Callable[[int], Place]
if TYPE_CHECKING:
    Texts = pa.Array[Any] | pa.ChunkedArray[Any]
else:
    Texts = Any


def pays(count: int) -> bool:
    """Whether so many events are worth the kernel.

    An event costs 11 µs in Python and 0.35 µs in the kernel; importing Numba costs most of a second, loading the kernel
    some 30 ms and calling it 40 µs.
    """
    if _KERNEL in sys.modules:
        return count >= _HOT
    return count >= (_WARM if "numba" in sys.modules else _COLD) and ready("route", overdue=True)


class JsonColumn(NamedTuple):
    """Texts end to end: row i has the bytes from offsets[i] to offsets[i + 1]; null is a text without anything."""

    offsets: Int64s
    data: Bytes
    valid: bool  # whether all of it is UTF-8

    @property
    def rows(self) -> int:
        return len(self.offsets) - 1

    def tree(self, row: int) -> Tree:
        """The decoded attributes of one row; raises what is wrong with them."""
        return read_bytes(self.data[self.offsets[row] : self.offsets[row + 1]].tobytes(), Place())


class Encoded(NamedTuple):
    """`trees` are the rows that were all decoded, if they were; the attributes of cells are below `attributes`."""

    cells: Cells
    errors: dict[int, PublicationError]
    trees: dict[int, Tree]
    column: JsonColumn
    attributes: int

    def tree(self, row: int) -> Tree:
        """The decoded attributes of a row without error."""
        known = self.trees.get(row)
        return self.column.tree(row) if known is None else known


def encode(
    names: NameTable,
    texts: Texts,
    *,
    labels: bool = False,
    place: PlaceOf | None = None,
    compiled: bool | None = None,
) -> Encoded:
    """The cells of events whose attributes are JSON texts, with those of their label sets if `labels` are compared.

    `place` says where a row stood, for its error; `compiled` says whether to use the kernel, by default if it pays.
    """
    column = json_column(texts)
    fast = pays(column.rows) if compiled is None else compiled
    encoded = _compiled(names, column) if fast and column.valid and not labels else _plain(names, column, labels)
    for row, error in encoded.errors.items():
        error.place = place(row) if place else error.place
    return encoded


def json_column(texts: Texts) -> JsonColumn:
    """An Arrow column of strings, in chunks, sliced or with nulls, as one array of bytes."""
    array = _one_array(texts)
    if not len(array):
        return fixed(JsonColumn(np.zeros(1, np.int64), np.zeros(0, np.uint8), True))
    buffers: list[Any] = [buffer or b"" for buffer in array.buffers()]
    ends = np.frombuffer(buffers[1], np.int32 if pa.types.is_string(array.type) else np.int64)
    offsets = ends[array.offset : array.offset + len(array) + 1].astype(np.int64, copy=False)
    first, last = int(offsets[0]), int(offsets[-1])
    whole = np.frombuffer(buffers[2], np.uint8)
    return fixed(JsonColumn(offsets - first if first else offsets, whole[first:last], _is_utf8(array)))


def _one_array(texts: Any) -> Any:
    """One array of strings or large strings without nulls; texts of more than 2 GiB together have to be large."""
    if isinstance(texts, pa.ChunkedArray):
        if texts.num_chunks != 1:
            texts = texts.cast(pa.large_string())
        texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.array([], pa.string())
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        texts = texts.cast(pa.large_string())
    return pc.fill_null(texts, "") if texts.null_count else texts


def _is_utf8(array: Any) -> bool:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


# --- in plain Python --------------------------------------------------------------------------------------------


def _plain(names: NameTable, column: JsonColumn, labels: bool) -> Encoded:
    trees: dict[int, Tree] = {}
    errors: dict[int, PublicationError] = {}
    rows = [_decoded(names, column, row, labels, (trees, errors)) for row in range(column.rows)]
    return Encoded(cells_of(rows), errors, trees, column, len(names.paths))


def _decoded(
    names: NameTable,
    column: JsonColumn,
    row: int,
    labels: bool,
    found: tuple[dict[int, Tree], dict[int, PublicationError]],
) -> list[CellRow]:
    """One row's cells; its tree or its error is entered."""
    trees, errors = found
    try:
        tree = column.tree(row)
        marked = read_labels(tree.get("labels"), Place()) if labels else None
    except PublicationError as error:
        errors[row] = error
        return []
    trees[row] = tree
    return event_cells(names, tree, marked)


# --- by the kernel ----------------------------------------------------------------------------------------------


def _compiled(names: NameTable, column: JsonColumn) -> Encoded:
    cells, hard = scan_column(names.snapshot(), column)
    errors: dict[int, PublicationError] = {}
    if len(hard):
        rows = [_decoded(names, column, row, False, ({}, errors)) for row in hard.tolist()]
        cells = merge_cells(cells, hard, cells_of(rows))
    return Encoded(cells, errors, {}, column, len(names.paths))


def scan_column(names: Names, column: JsonColumn) -> tuple[Cells, Int64s]:
    """The cells that the kernel gives, and the rows that it leaves to Python."""
    from heliograph.predicate import kernels as kernel

    spare = np.empty(len(column.data) if (column.data == _BACKSLASH).any() else 0, np.uint8)
    stamps, places = np.zeros(len(names.name_attributes), np.int64), np.full(_REMEMBERED, -1, np.int32)
    memory = kernel.ScanMemory(stamps, places, spare, np.zeros(4, np.int64))
    hard, state = np.zeros(column.rows, np.uint8), memory.state
    cells = room_for(column.rows, 8 * column.rows, column.data)
    kernel.scan(kernel.Scan(names, cells, memory), column.offsets, hard)
    while state[kernel.ROW] < column.rows:
        cells = enlarged(cells, max(2 * len(cells.kind), int(state[kernel.NEEDED])))
        kernel.scan(kernel.Scan(names, cells, memory), column.offsets, hard)
    spared = spare[: state[kernel.SPARED]]
    text = np.concatenate((column.data, spared)) if len(spared) else column.data
    return cut_off(cells, int(state[kernel.COUNT]), text), np.flatnonzero(hard)
