"""Interning whole columns of text: hashes of UTF-8 bytes, finding in an open table, entering new terms.

The hash of a text is a polynomial over its 7-byte words modulo the prime 2^61 - 1, evaluated at a random key that is
kept with the table. Two different texts of n words collide for at most n of the 2^61 keys, so nobody who does not know
the key can make a table slow. `columns` and `mapped` hold the twins in plain Python; the two must agree in every bit.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import int64, uint32, uint64

from heliograph.compiled.arrays import (
    INT8S,
    INT32S,
    INT64S,
    NEW_COUNTS,
    NEW_HASHES,
    NEW_INT8S,
    NEW_INT32S,
    NEW_INT64S,
    array,
    named,
    prefetch,
    put_word,
    upper_product,
    word_at,
)
from heliograph.compiled.compile import kernel
from heliograph.compiled.hashmap import FREE, SAME, search, search_from
from heliograph.compiled.hashmap import OTHER as ANOTHER
from heliograph.vocabulary.columns import (
    HEAD,
    IRI,
    OTHER,
    UNSEEN,
    Bytes,
    Hashes,
    Int32s,
    InternerArrays,
    Others,
    Strings,
    Word,
)
from heliograph.vocabulary.mapped import Table, Texts

# --- saved terms: a table over flat texts -------------------------------------------------------------------------

_PRIME = np.uint64((1 << 61) - 1)
_ONE, _3, _8, _29, _32, _61 = (np.uint64(number) for number in (1, 3, 8, 29, 32, 61))
_BYTE, _LOW = np.uint64(255), np.uint64((1 << 32) - 1)

TEXTS: Any = named(Texts, INT32S, INT64S, INT8S)
TABLE: Any = named(Table, INT32S, array(uint32), uint64)
NEW_TABLE: Any = named(Table, NEW_INT32S, NEW_COUNTS, uint64)


@kernel()
def _times(left: Any, right: Any) -> Any:
    """left × right modulo the prime, both below it: 2^61 counts as 1, so 2^64 counts as 8."""
    low = left * right
    total = (low & _PRIME) + ((upper_product(left, right) << _3) | (low >> _61))
    return total - _PRIME if total >= _PRIME else total


@kernel()
def step(hashed: Any, key: Any, word: Any) -> Any:
    """One more word of a text: the polynomial's value so far times the key, plus the word."""
    total = _times(hashed, key) + word
    return total - _PRIME if total >= _PRIME else total


@kernel()
def _seven(data: Bytes, start: int, end: int) -> Any:
    """The next seven bytes of a text as a word, zeros where it has ended."""
    size = min(end - start, 7)
    if start + 8 <= len(data):
        return word_at(data, start) & ((_ONE << np.uint64(8 * size)) - _ONE)
    word = np.uint64(0)
    for place in range(start + size - 1, start - 1, -1):
        word = (word << _8) | np.uint64(data[place])
    return word


@kernel()
def _hash(data: Bytes, begin: int, end: int, head: Any, key: Any) -> Any:
    """The hash of a text that has a head."""
    hashed = np.uint64(head)
    for start in range(begin, end, 7):
        hashed = step(hashed, key, _seven(data, start, end))
    return step(hashed, key, np.uint64(end - begin))


@kernel()
def _same(left: Bytes, start: int, right: Bytes, begin: int, size: int) -> Any:
    """Whether so many bytes are the same; of eight or more the last word laps over the one before it."""
    if size < 8:
        return _seven(left, start, start + size) == _seven(right, begin, begin + size)
    for place in range(0, size - 8, 8):
        if word_at(left, start + place) != word_at(right, begin + place):
            return False
    return word_at(left, start + size - 8) == word_at(right, begin + size - 8)


@kernel()
def _head_hash(texts: Texts, number: int, key: Any) -> Any:
    return _hash(texts.data, texts.offsets[number], texts.offsets[number + 1], texts.heads[number], key)


@kernel((TEXTS, uint64, NEW_HASHES))
def hashes(texts: Texts, key: Any, out: npt.NDArray[np.uint64]) -> None:
    """The hash of every text."""
    for number in range(len(texts.heads)):
        out[number] = _head_hash(texts, number, key)


@kernel(inline=True)
def _compare_free(slots: Any, place: Any, free: Any) -> Any:
    return FREE if slots[place] == free else ANOTHER


_find_free, _find_free_from = search(_compare_free), search_from(_compare_free)


@kernel((TEXTS, NEW_TABLE))
def fill(texts: Texts, table: Table) -> None:
    """Enters every text, all different, into an empty table."""
    for number in range(len(texts.heads)):
        hashed = _head_hash(texts, number, table.key)
        slot = _find_free(table.slots, len(table.slots), hashed, -1)
        table.slots[slot] = number
        table.marks[slot] = np.uint32(hashed >> _29)


@kernel(inline=True)
def _compare_texts(tables: Any, place: Any, key: Any) -> Any:
    (table, stored), (wanted, number, mark) = tables, key
    other = table.slots[place]
    if other < 0:
        return FREE
    if table.marks[place] != mark or stored.heads[other] != wanted.heads[number]:
        return ANOTHER
    start, begin = stored.offsets[other], wanted.offsets[number]
    size = wanted.offsets[number + 1] - begin
    same = stored.offsets[other + 1] - start == size and _same(stored.data, start, wanted.data, begin, size)
    return SAME if same else ANOTHER


_find_text = search(_compare_texts)


@kernel((TEXTS, TEXTS, TABLE, NEW_INT32S))
def find(wanted: Texts, stored: Texts, table: Table, out: npt.NDArray[np.int32]) -> None:
    """The number under which each wanted text is stored, or -1."""
    for number in range(len(wanted.heads)):
        hashed = _head_hash(wanted, number, table.key)
        key = (wanted, number, np.uint32(hashed >> _29))
        out[number] = table.slots[_find_text((table, stored), len(table.slots), hashed, key)]


# --- whole columns ------------------------------------------------------------------------------------------------
# A cell is *simple* if it is the one spelling of an IRI and ASCII: a plain name of unreserved characters that reads as
# nothing else, or an IRI in angle brackets outside the namespace of plain names. `read` hashes the simple cells and
# marks the others, which Python reads; `enter` then goes through the column once more, so that numbers are given in
# order of first appearance either way.
#
# The law: a row below `size` never changes, and a search looks at rows below a given limit only. So readers of an
# earlier state need no lock, and an overlay searches the table of its base as it was.

INTERNER: Any = named(InternerArrays, uint64, int64, NEW_INT8S, NEW_INT64S, NEW_INT8S, NEW_HASHES)
STRINGS: Any = named(Strings, INT64S, INT8S)
OTHERS: Any = named(Others, INT32S, NEW_INT32S, INT8S, STRINGS)

_NAME, _NUMBER, _IN_IRI, _SCHEME, _LETTER = 1, 2, 4, 8, 16
_LESS, _GREATER, _COLON, _A = ord("<"), ord(">"), ord(":"), ord("a")
_PLAIN = np.frombuffer(b"<urn:heliograph:", np.uint8)
_TRUE, _FALSE = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
_SLOT_AHEAD, _ROW_AHEAD, _TEXT_AHEAD = 24, 16, 8  # rows; of a million texts 100 ns a cell, 400 unasked


def _classes() -> Bytes:
    """What each byte may be part of."""
    classes = np.zeros(256, np.uint8)
    for flag, characters in (
        (_NAME, string.ascii_letters + string.digits + "_.~-"),
        (_NUMBER, string.digits + ".eE-"),
        (_SCHEME, string.ascii_letters + string.digits + "+.-"),
        (_LETTER, string.ascii_letters),
    ):
        classes[list(characters.encode())] |= flag
    classes[0x21:0x80] |= _IN_IRI
    classes[list(b'<>"{}|^`\\')] = 0
    return classes


_CLASSES = _classes()


@kernel()
def _begins_with(data: Bytes, begin: int, end: int, prefix: Bytes) -> Any:
    if end - begin < len(prefix):
        return False
    place = 0
    while place < len(prefix) and data[begin + place] == prefix[place]:
        place += 1
    return place == len(prefix)


@kernel()
def _is_truth(data: Bytes, begin: int, end: int) -> Any:
    size = end - begin
    return (size == len(_TRUE) and _begins_with(data, begin, end, _TRUE)) or (
        size == len(_FALSE) and _begins_with(data, begin, end, _FALSE)
    )


@kernel()
def _common(data: Bytes, begin: int, end: int) -> Any:
    """What every byte of a text may be part of."""
    common = np.uint8(255)
    for start in range(begin, end, 7):
        word = _seven(data, start, end)
        for _ in range(min(end - start, 7)):
            common &= _CLASSES[word & _BYTE]
            word >>= _8
    return common


@kernel()
def _is_name(data: Bytes, begin: int, end: int) -> Any:
    """A plain name that needs no escape and has a character that no number has."""
    return _common(data, begin, end) & (_NAME | _NUMBER) == _NAME and not _is_truth(data, begin, end)


@kernel()
def _is_iri(data: Bytes, begin: int, end: int) -> Any:
    """An absolute IRI in angle brackets, none of a plain name: the law of `terms.spell` writes that without them."""
    if end - begin < 4 or data[end - 1] != _GREATER or not _CLASSES[data[begin + 1]] & _LETTER:
        return False
    colon = begin + 2
    while colon < end - 1 and _CLASSES[data[colon]] & _SCHEME:
        colon += 1
    if data[colon] != _COLON:
        return False
    return _common(data, colon, end - 1) & _IN_IRI and not _begins_with(data, begin, end, _PLAIN)


@kernel()
def _is_simple(data: Bytes, begin: int, end: int, is_property: Any) -> Any:
    if begin == end:
        return False
    if data[begin] == _LESS:
        return _is_iri(data, begin, end)
    if is_property and end - begin == 1 and data[begin] == _A:
        return False
    return _is_name(data, begin, end)


@kernel()
def _spelling_hash(data: Bytes, begin: int, end: int, key: Any) -> Any:
    """The upper 32 bits of the hash of a spelling."""
    return _hash(data, begin, end, HEAD, key) >> _29


@kernel((STRINGS, INT8S, int64, uint64, NEW_COUNTS, NEW_INT32S))
def read(cells: Strings, valid: Bytes, is_property: int, key: Any, hashes: Hashes, ids: Int32s) -> Any:
    """Hashes the simple cells and marks all others in `ids`; gives how many those are.

    `valid` is empty where no cell is null.
    """
    return _read(cells, valid, is_property, key, hashes, ids)


@kernel()  # in a part, as in `_enter` and `_find`, taking an array out of a tuple counts no references
def _read(cells: Strings, valid: Bytes, is_property: int, key: Any, hashes: Hashes, ids: Int32s) -> Any:
    others = 0
    for row in range(len(ids)):
        begin, end = cells.offsets[row], cells.offsets[row + 1]
        if (len(valid) == 0 or valid[row]) and _is_simple(cells.data, begin, end, is_property):
            ids[row] = UNSEEN
            hashes[row] = np.uint32(_spelling_hash(cells.data, begin, end, key))
        else:
            ids[row] = OTHER
            others += 1
    return others


@kernel()
def _place(table: InternerArrays, hashed: Any) -> Any:
    return np.int64((np.uint64(hashed) * np.uint64(len(table.slots))) >> _32)


@kernel(inline=True)
def _compare_words(table: InternerArrays, place: Any, key: Any) -> Any:
    word, limit = key
    slot = table.slots[place]
    if slot == 0:
        return FREE
    number = np.int64(slot & _LOW) - 1
    if number >= limit or slot >> _32 != np.uint64(word.hashed):
        return ANOTHER
    start, size = table.offsets[number], word.end - word.begin
    same = table.offsets[number + 1] - start == size and _same(table.data, start, word.data, word.begin, size)
    return SAME if same else ANOTHER


_find_word = search_from(_compare_words)


@kernel()
def _search(table: InternerArrays, limit: int, word: Word) -> Any:
    """The number of a text among the rows below a limit, or -1 less the empty slot where the search ended."""
    place = _find_word(table, len(table.slots), _place(table, word.hashed), (word, limit))
    slot = table.slots[place]
    return np.int64(slot & _LOW) - 1 if slot != 0 else -1 - place


@kernel()
def _append(table: InternerArrays, number: int, slot: int, word: Word, kind: Any) -> None:
    """Enters a text as the next row; the slot last, so that it never leads to half a row."""
    start, size = table.offsets[number], word.end - word.begin
    if size >= 8:
        for place in range(0, size - 8, 8):
            put_word(table.data, start + place, word_at(word.data, word.begin + place))
        put_word(table.data, start + size - 8, word_at(word.data, word.end - 8))
    else:
        put_word(table.data, start, _seven(word.data, word.begin, word.end))
    table.offsets[number + 1] = start + size
    table.kinds[number] = kind
    table.slots[slot] = (np.uint64(word.hashed) << _32) | np.uint64(number + 1)


@kernel()
def _intern(table: InternerArrays, count: int, under: InternerArrays, word: Word, kind: Any) -> Any:
    """The id of a text: that in the table below, or its number in this one, or the next one."""
    if under.size > 0:
        known = _search(under, under.size, word)
        if known >= 0:
            return known
    number = _search(table, count, word)
    if number < 0:
        _append(table, count, -1 - number, word, kind)
        number = count
    return under.size + number


@kernel()
def _ask_ahead(table: InternerArrays, hashes: Hashes, row: int) -> None:
    """Asks for what a few rows on will need: the slot, then the row it leads to, then its text."""
    if row + _SLOT_AHEAD < len(hashes):
        prefetch(table.slots, _place(table, hashes[row + _SLOT_AHEAD]))
    if row + _ROW_AHEAD < len(hashes):
        slot = table.slots[_place(table, hashes[row + _ROW_AHEAD])]
        prefetch(table.offsets, np.int64(slot & _LOW))
    if row + _TEXT_AHEAD < len(hashes):
        slot = table.slots[_place(table, hashes[row + _TEXT_AHEAD])]
        if slot != 0:
            prefetch(table.data, table.offsets[np.int64(slot & _LOW) - 1])


@kernel()
def _enter_other(table: InternerArrays, count: int, under: InternerArrays, others: Others, entry: Any) -> Any:
    """The id of a cell that Python read, or REFUSED."""
    if others.known[entry] == UNSEEN:
        begin, end = others.spelled.offsets[entry], others.spelled.offsets[entry + 1]
        hashed = np.uint32(_spelling_hash(others.spelled.data, begin, end, table.key))
        word = Word(others.spelled.data, begin, end, hashed)
        others.known[entry] = _intern(table, count, under, word, others.kinds[entry])
    return others.known[entry]


@kernel((INTERNER, INTERNER, STRINGS, NEW_COUNTS, OTHERS, NEW_INT32S))
def enter(
    table: InternerArrays, under: InternerArrays, cells: Strings, hashes: Hashes, others: Others, ids: Int32s
) -> Any:
    """The ids of a column that was read, with room for all of it; gives the number of rows that there are then.

    The ids below `under.size` are those of the rows of `under`.
    """
    return _enter(table, under, cells, hashes, others, ids)


@kernel()
def _enter(
    table: InternerArrays, under: InternerArrays, cells: Strings, hashes: Hashes, others: Others, ids: Int32s
) -> Any:
    count, seen = table.size, 0
    for row in range(len(ids)):
        _ask_ahead(table, hashes, row)
        if ids[row] == OTHER:
            ids[row] = _enter_other(table, count, under, others, others.codes[seen])
            seen += 1
        else:
            word = Word(cells.data, cells.offsets[row], cells.offsets[row + 1], hashes[row])
            ids[row] = _intern(table, count, under, word, IRI)
        if ids[row] == under.size + count:
            count += 1
    return count


@kernel((INTERNER, STRINGS, NEW_INT32S))
def find_spelled(table: InternerArrays, wanted: Strings, out: Int32s) -> None:
    """The number of each text, or -1."""
    _find(table, wanted, out)


@kernel()
def _find(table: InternerArrays, wanted: Strings, out: Int32s) -> None:
    for row in range(len(out)):
        begin, end = wanted.offsets[row], wanted.offsets[row + 1]
        word = Word(wanted.data, begin, end, np.uint32(_spelling_hash(wanted.data, begin, end, table.key)))
        out[row] = max(_search(table, table.size, word), -1)


@kernel((INTERNER, INTERNER))
def refill(old: InternerArrays, new: InternerArrays) -> Any:
    """Enters the slots of a table into an empty, larger one; gives how many those are.

    A slot beyond `size` was left by a call that was interrupted before its rows were counted.
    """
    taken = 0
    for slot in old.slots:
        if slot != 0 and np.int64(slot & _LOW) <= old.size:
            place = _find_free_from(new.slots, len(new.slots), _place(new, slot >> _32), 0)
            new.slots[place] = slot
            taken += 1
    return taken
