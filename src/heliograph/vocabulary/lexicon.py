"""The lexicon of a vocabulary: its terms as spelled texts in flat arrays, for columns of many different cells.

The laws: row i is the spelling of the term with the id `first + i`, and rows never change; a state once published stays
valid for its readers while the one writer appends, because arrays grow by being replaced and a search ignores the rows
beyond its own count. A term costs its text and 20 to 30 bytes.

Whoever holds a lexicon has loaded Numba; the searches of small vocabularies never come here.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import PublicationError
from heliograph.kernels import lexicon_layout as layout
from heliograph.kernels.lexicon_layout import Others, Strings
from heliograph.publications import Ids
from heliograph.terms import Term, TermKind, iri, parse_cell, plain_name, spell
from heliograph.vocabulary.hashtable import PRIME, hash_text
from heliograph.vocabulary.typed import TEXTS

_SPARE = 8  # bytes behind the texts, which kernels read and write a word at a time
_SMALL = 1024  # rows of the first arrays
_SOME = 30  # texts from which the kernel is faster: calling it costs as much as finding so many in Python


class State(NamedTuple):
    """What readers see of a lexicon: some rows, and how many of them only the lexicon holds."""

    rows: layout.Lexicon
    alone: int


class Entries(NamedTuple):
    """Spelled terms that are to be entered, as a kernel takes them."""

    spelled: Strings
    kinds: npt.NDArray[np.uint8]


def kind_of(term: Term) -> int:
    if term.kind is TermKind.LITERAL and term.datatype in TEXTS:
        return layout.TEXT
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


def empty(key: int) -> layout.Lexicon:
    """A lexicon without rows."""
    keyed: Any = np.uint64(key)
    slots, offsets = np.zeros(_slots(_SMALL), np.uint64), np.zeros(_SMALL + 1, np.int64)
    return layout.Lexicon(keyed, 0, np.zeros(_SMALL, np.uint8), offsets, np.zeros(_SPARE, np.uint8), slots)


def _slots(rows: int) -> int:
    return rows * layout.PARTS // layout.FULL + 1


class Lexicon:
    """Spelled terms that grow in number. One thread writes; a published state may be read by any."""

    def __init__(self, under: layout.Lexicon | None = None) -> None:
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
        others = Others(fixed(codes), np.full(size, layout.UNSEEN, np.int32), fixed(terms.kinds), terms.spelled)
        blank = Strings(fixed(np.zeros(size + 1, np.int64)), fixed(np.zeros(0, np.uint8)))
        ids, hashes = np.full(size, layout.OTHER, np.int32), np.zeros(size, np.uint32)
        rows = self.enter(blank, hashes, others, ids)
        self._publish(rows, 0)

    def enter(self, cells: Strings, hashes: Any, others: Others, ids: Ids) -> layout.Lexicon:
        """Fills in the ids of a column that was read; `publish` then shows its new rows to readers."""
        from heliograph.kernels import lexicon as kernels

        spelled = others.spelled
        length = int(cells.offsets[-1] - cells.offsets[0]) + int(spelled.offsets[-1] - spelled.offsets[0])
        rows = self._with_room(len(ids), length)
        taken, self._taken = self._taken, self._taken + len(ids)  # in case an interrupt comes before they are counted
        count = int(kernels.enter(rows, self._under, cells, hashes, others, ids))
        self._taken = taken + count - rows.size
        return rows._replace(size=count)

    def publish(self, rows: layout.Lexicon) -> None:
        """Shows rows that only this lexicon holds."""
        self._publish(rows, rows.size - self._state.rows.size)

    def _publish(self, rows: layout.Lexicon, alone: int) -> None:
        self._state = State(rows, self._state.alone + alone)

    def _with_room(self, rows: int, length: int) -> layout.Lexicon:
        """The rows in arrays that have room for so many more, and for texts of this length together."""
        now = self._state.rows
        check_room(self.first + now.size + rows)
        count, end = now.size + rows, int(now.offsets[now.size]) + length + _SPARE
        grown = now._replace(
            kinds=_grown(now.kinds, now.size, count),
            offsets=_grown(now.offsets, now.size + 1, count + 1),
            data=_grown(now.data, int(now.offsets[now.size]), end),
        )
        return self._with_slots(grown, _slots(self._taken + rows))

    def _with_slots(self, rows: layout.Lexicon, size: int) -> layout.Lexicon:
        from heliograph.kernels import lexicon as kernels

        if size <= len(rows.slots):
            return rows
        larger = rows._replace(slots=np.zeros(max(size, len(rows.slots) * 3 // 2), np.uint64))
        self._taken = int(kernels.refill(rows, larger))
        return larger

    # --- reading ------------------------------------------------------------------------------------------------

    def find(self, terms: Sequence[Term]) -> list[int]:
        """The id of each term, or -1; terms of the lexicon under this one are not looked for."""
        rows, texts = self._state.rows, [spell(term) for term in terms]
        found = find_texts(rows, texts) if len(texts) >= _SOME else [find_text(rows, text) for text in texts]
        return [number if number < 0 else number + self.first for number in found]

    def term(self, id: int) -> Term:
        """The term of an id, read from its spelling."""
        rows, number = self._state.rows, id - self.first
        text = _text_at(rows, number).decode()
        if rows.kinds.item(number) != layout.IRI:
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


def find_texts(rows: layout.Lexicon, texts: Sequence[str]) -> list[int]:
    """The number of each text, or -1."""
    from heliograph.kernels import lexicon as kernels

    out = np.empty(len(texts), np.int32)
    kernels.find(rows, strings(texts), out)
    numbers: list[int] = out.tolist()
    return numbers


def find_text(rows: layout.Lexicon, text: str) -> int:
    """`find_texts` for one, in plain Python: the two must agree in every bit."""
    wanted = text.encode()
    hashed = hash_text(layout.HEAD, wanted, int(rows.key)) >> 29
    size = len(rows.slots)
    place = hashed * size >> 32
    while slot := rows.slots.item(place):
        number = (slot & 0xFFFFFFFF) - 1
        if slot >> 32 == hashed and number < rows.size and _text_at(rows, number) == wanted:
            return number
        place = (place + 1) % size
    return -1


def _text_at(rows: layout.Lexicon, number: int) -> bytes:
    return rows.data[rows.offsets.item(number) : rows.offsets.item(number + 1)].tobytes()


def check_room(terms: int) -> None:
    """Refuses more terms than there are ids of 32 bits."""
    if terms > layout.MOST_TERMS:
        raise PublicationError(
            "HG-647",
            f"more than {layout.MOST_TERMS} different terms",
            fix="divide the subscriptions or the publications among several engines",
        )


def _grown(array: Any, used: int, wanted: int) -> Any:
    if wanted <= len(array):
        return array
    larger = np.zeros(max(wanted, len(array) * 3 // 2), array.dtype)
    larger[:used] = array[:used]
    return larger
