"""Predicates and events in kernels: JSON to cells, up to 64 events on a board, and the truth of compiled code for
all of them at once.

The path of a batch: `scan` reads JSON texts into cells, `lay_out` lays up to 64 events out on a board, and `accepted`
says which of them satisfy an expression: by facts code where there is some and no event has a list or an odd integer,
else by `holds`, which walks over the code of `Programs`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, get_type_hints

import numpy as np
from numba import float64, from_dtype, int32, int64, uint8, uint64

from heliograph.compiled.arrays import array, named, rows, upper_product
from heliograph.compiled.compile import kernel
from heliograph.compiled.hashmap import FREE, SAME, mixed, search
from heliograph.compiled.hashmap import OTHER as ANOTHER
from heliograph.predicate import layout as at
from heliograph.predicate.layout import (
    FALSE,
    LIST,
    LISTED,
    NUMBER,
    ODD,
    OTHER,
    STRING,
    TRUE,
    Board,
    Bytes,
    Cells,
    Evaluation,
    Facts,
    FactsCode,
    FactsOrder,
    Floats,
    Int32s,
    Int64s,
    Job,
    Names,
    Programs,
    Translation,
)
from heliograph.vocabulary.kernels import step

# --- Numba's types of what `layout` declares --------------------------------------------------------------------------

INT32S, INT64S, FLOATS, BYTES, MASKS = (array(dtype) for dtype in (int32, int64, float64, uint8, uint64))
NEW_INT32S, NEW_INT64S, NEW_FLOATS, NEW_BYTES = (
    array(dtype, writable=True) for dtype in (int32, int64, float64, uint8)
)


def numba_type(kind: Any, writable: bool = False, **others: Any) -> Any:
    """Numba's type of a structure of arrays, from its annotations; `others` are the parts that differ from them."""
    hints = get_type_hints(kind)
    return named(kind, *(others.get(name) or _part_type(hint, writable) for name, hint in hints.items()))


def _part_type(hint: Any, writable: bool) -> Any:
    if hint in (int, np.uint64):
        return int64 if hint is int else uint64
    if isinstance(hint, type) and issubclass(hint, tuple):
        return numba_type(hint, writable)
    kind = rows if getattr(hint.__args__[0], "__args__", None) == (int, int) else array
    return kind(from_dtype(np.dtype(at.item_type(hint))), writable=writable)


PROGRAMS, CELLS, EVALUATION = numba_type(Programs), numba_type(Cells), numba_type(Evaluation)
BOARD, FACTS = numba_type(Board, True), numba_type(Facts, True)
JOB = numba_type(Job, board=BOARD, facts=FACTS)
_TRANSLATION = numba_type(Translation, True)
_ONE, _NONE = np.uint64(1), np.uint64(0)  # a lane, and no lane
_OP, _KIND = np.int32(0x7F), np.uint8(0x7F)  # of an instruction, and of a cell without LISTED
_NEGATIVE, _SHIFT = np.int32(at.NEGATIVE), np.int32(at.ATTRIBUTE_SHIFT)


# --- texts in UTF-8 by the order of their bytes, which is that of their code points, and against LIKE patterns --------


@kernel()
def compare_texts(left: Bytes, i: Any, left_end: Any, right: Bytes, j: Any, right_end: Any) -> Any:
    """-1, 0 or 1."""
    while i < left_end and j < right_end:
        if left[i] != right[j]:
            return -1 if left[i] < right[j] else 1
        i += 1
        j += 1
    if i < left_end:
        return 1
    return -1 if j < right_end else 0


@kernel()
def is_like(text: Bytes, i: Any, end: Any, pattern: Bytes, j: Any, stop: Any) -> Any:
    """Whether the text matches; after a failure the last % takes one more byte, an earlier one never needs to."""
    again, resume = np.int64(-1), i
    while True:
        if j < stop and pattern[j] == at.ANY_TEXT:
            j += 1
            again, resume = np.int64(j), i
            continue
        if i == end and j == stop:
            return True
        if i < end and j < stop and (pattern[j] == at.ANY_CHARACTER or pattern[j] == text[i]):
            i = _following(text, i, end) if pattern[j] == at.ANY_CHARACTER else i + 1
            j += 1
            continue
        if again < 0 or resume == end:
            return False
        resume = _following(text, resume, end)
        i, j = resume, again


@kernel()
def _following(text: Bytes, i: Any, end: Any) -> Any:
    """The place after the character that begins at `i`; the bytes that continue one are 10xxxxxx."""
    i += 1
    while i < end and text[i] & np.uint8(0xC0) == np.uint8(0x80):
        i += 1
    return i


# --- numbers of JSON: the grammar of RFC 8259, and decimal digits to the nearest float --------------------------------
#
# The law: a number that is given is the one that Python's `int` and `float` give, in every bit; where these few lines
# cannot be sure of that they say so, and Python decides. Up to 19 digits fit into 64 bits. If they and the power of
# ten are floats themselves, one multiplication or division rounds correctly (Clinger, 1990). Otherwise the digits are
# multiplied by the leading 64 or 128 bits of a power of five (Lemire, 2021: Number parsing at a gigabyte per second),
# which decides the rounding unless the product ends in ones only.

_LOWEST, _HIGHEST = -300, 288  # powers of ten; beyond them 19 digits may be subnormal or infinite
_DIGITS = 19
_BITS = 53
_EXACT = np.uint64(1 << _BITS)
_TEN = np.uint64(10)
_CLOSE = np.uint64(0x1FF)  # the bits of the upper half that are rounded away
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
_TENS = np.array([10.0**power for power in range(23)])


def _leading_bits(power: int) -> int:
    """The first 128 bits of 5^power, cut off; of the reciprocals of powers within 64 bits rounded up."""
    whole: int = 5 ** abs(power)
    size = whole.bit_length()
    if power < 0:
        return (1 << (size + 127)) // whole + (power >= -27)
    return whole << (128 - size) if size <= 128 else whole >> (size - 128)


_FIVES = [_leading_bits(power) for power in range(_LOWEST, _HIGHEST + 1)]
_UPPER = np.array([bits >> 64 for bits in _FIVES], np.uint64)
_LOWER = np.array([bits & (1 << 64) - 1 for bits in _FIVES], np.uint64)


@kernel()
def _leading_zeros(digits: Any) -> Any:
    count = 0
    while not digits >> np.uint64(63):
        digits <<= _ONE
        count += 1
    return count


@kernel()
def nearest(digits: Any, power: int) -> Any:
    """digits × 10^power as the nearest float, or -1.0 where that is not certain."""
    if digits == _NONE:
        return 0.0
    if digits <= _EXACT and -22 <= power <= 22:
        number = np.float64(digits)
        return number * _TENS[power] if power >= 0 else number / _TENS[-power]
    if power < _LOWEST or power > _HIGHEST:
        return -1.0
    shift = _leading_zeros(digits)
    digits <<= np.uint64(shift)
    high, low = upper_product(digits, _UPPER[power - _LOWEST]), digits * _UPPER[power - _LOWEST]
    if high & _CLOSE == _CLOSE:
        more = upper_product(digits, _LOWER[power - _LOWEST])
        low += more
        if low < more:
            high += _ONE
    if low == _FULL or (low <= _ONE and -30 < power < 60):
        return -1.0  # the product may be cut off just below a half, or be a half
    upper = high >> np.uint64(63)
    kept = high >> (upper + np.uint64(9))
    kept = (kept + (kept & _ONE)) >> _ONE
    binary = ((217706 * power) >> 16) + np.int64(upper) - shift + 11  # 217706 / 2^16 is the binary logarithm of 10
    return math.ldexp(np.float64(kept), binary)


@kernel()
def _digits(text: Bytes, at: int, end: int, digits: Any, count: int) -> Any:
    """Appends the digits from `at` on: where they end, their value, and how many there are after leading zeros."""
    while at < end and 48 <= text[at] <= 57:
        digits = digits * _TEN + np.uint64(text[at] - 48)
        if count or digits != _NONE:  # a wrapped value may be 0 again
            count += 1
        at += 1
    return at, digits, count


@kernel()
def _exponent(text: Bytes, at: int, end: int) -> Any:
    """The exponent after an E, and where it ends, -1 if it is none; beyond all floats it stays just beyond them."""
    negative = at < end and text[at] == 45
    if negative or (at < end and text[at] == 43):
        at += 1
    first, power = at, 0
    while at < end and 48 <= text[at] <= 57:
        power = power * 10 + int(text[at] - 48) if power < _HIGHEST * 100 else power
        at += 1
    return at if at > first else -1, -power if negative else power


@kernel()
def read_number(text: Bytes, at: int, end: int) -> Any:
    """The number at `at`: where it ends, -1 if Python has to look at it, its kind, and the float.

    An integer of at most 18 digits that no float equals is ODD, with the float below it.
    """
    negative = text[at] == 45
    if negative:
        at += 1
    first = at
    at, digits, count = _digits(text, at, end, _NONE, 0)
    if at == first or (text[first] == 48 and at > first + 1):
        return -1, 0, 0.0
    is_whole, power = True, 0
    if at < end and text[at] == 46:
        is_whole, first = False, at + 1
        at, digits, count = _digits(text, first, end, digits, count)
        power = first - at
        if at == first:
            return -1, 0, 0.0
    if at < end and (text[at] == 69 or text[at] == 101):
        is_whole = False
        at, shown = _exponent(text, at + 1, end)
        power += shown
    if at < 0 or count > (18 if is_whole else _DIGITS):
        return -1, 0, 0.0
    if is_whole:
        exact = -np.int64(digits) if negative else np.int64(digits)
        number = np.float64(exact)
        if np.int64(number) == exact:
            return at, NUMBER, number
        return at, ODD, number if np.int64(number) < exact else np.nextafter(number, -np.inf)
    number = nearest(digits, power)
    if number < 0.0:
        return -1, 0, 0.0
    return at, NUMBER, -number if negative and number > 0.0 else number


# --- the tokens of JSON (RFC 8259) and whole values that nobody asks for: where each ends -----------------------------
#
# Positions are those of bytes in a text. -1 in place of one stands for giving up: the text is no JSON, or has
# something that is left to Python, such as numbers that `nearest` is not sure of and more than 64 levels. What is
# beyond ASCII counts as part of a string and as nothing else; that it is UTF-8 is made sure of before.

QUOTE, COMMA = 34, 44
OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT = 91, 93, 123, 125
_BACKSLASH, _COLON, _MINUS = 92, 58, 45
_LEVELS = 64


@kernel(inline=True)
def skip_space(text: Bytes, at: int, end: int) -> Any:
    while at < end and (text[at] == 32 or text[at] == 10 or text[at] == 13 or text[at] == 9):
        at += 1
    return at


@kernel()
def skip_colon(text: Bytes, at: int, end: int) -> Any:
    if at < 0:
        return -1
    at = skip_space(text, at, end)
    if at == end or text[at] != _COLON:
        return -1
    return skip_space(text, at + 1, end)


@kernel()
def string_end(text: Bytes, at: int, end: int) -> Any:
    """The position of the quote that ends a string, and whether there is no escape before it."""
    plain = True
    while at < end:
        byte = text[at]
        if byte == QUOTE:
            return at, plain
        if byte < 32:
            return -1, plain
        if byte == _BACKSLASH:
            plain = False
            at = _escape_end(text, at + 1, end)
            if at < 0:
                return -1, plain
        else:
            at += 1
    return -1, plain


@kernel()
def _escape_end(text: Bytes, at: int, end: int) -> Any:
    """The position after an escape whose letter is at `at`."""
    if at == end:
        return -1
    letter = text[at]
    if letter == 117:  # u and four hexadecimal digits
        for digit in range(at + 1, at + 5):
            if digit >= end or not (48 <= text[digit] <= 57 or 97 <= text[digit] | 32 <= 102):
                return -1
        return at + 5
    return at + 1 if letter in (QUOTE, _BACKSLASH, 47, 98, 102, 110, 114, 116) else -1  # and / b f n r t


@kernel()
def bare(text: Bytes, at: int, end: int) -> Any:
    """A number, true, false or null: the position after it, the kind (0 for null) and the number."""
    first = text[at]
    if first == _MINUS or 48 <= first <= 57:
        return read_number(text, at, end)
    if first == 116 and _spells(text, at, end, 0x65757274):
        return at + 4, TRUE, 0.0
    if first == 102 and _spells(text, at + 1, end, 0x65736C61):
        return at + 5, FALSE, 0.0
    if first == 110 and _spells(text, at, end, 0x6C6C756E):
        return at + 4, 0, 0.0
    return -1, 0, 0.0


@kernel()
def _spells(text: Bytes, at: int, end: int, word: int) -> Any:
    """Whether four bytes are these, the first one lowest."""
    if at + 4 > end:
        return False
    found = np.int64(text[at]) | np.int64(text[at + 1]) << 8
    return found | np.int64(text[at + 2]) << 16 | np.int64(text[at + 3]) << 24 == word


@kernel()
def skip_value(text: Bytes, at: int, end: int) -> Any:
    """The position after a value that nobody asks for. The levels that are open are bits, 1 for an object."""
    levels, depth = np.uint64(0), 0
    while at < end:
        opening = text[at]
        if opening in (OPEN_OBJECT, OPEN_LIST):
            if depth == _LEVELS:
                return -1
            depth += 1
            levels = (levels << _ONE) | (_ONE if opening == OPEN_OBJECT else np.uint64(0))
            at = skip_space(text, at + 1, end)
            if at == end or text[at] != opening + 2:  # the closing bracket of either is two further
                at = _skip_key(text, levels, at, end)
                if at < 0:
                    return -1
                continue
        else:
            if opening == QUOTE:
                close, _ = string_end(text, at + 1, end)
                at = -1 if close < 0 else close + 1
            else:
                at, _, _ = bare(text, at, end)
            if at < 0:
                return -1
            if depth:
                at = skip_space(text, at, end)
        while depth and at < end and text[at] == (CLOSE_OBJECT if levels & _ONE else CLOSE_LIST):
            depth -= 1
            levels >>= _ONE
            at += 1
            if depth:
                at = skip_space(text, at, end)
        if depth == 0:
            return at
        if at == end or text[at] != COMMA:
            return -1
        at = _skip_key(text, levels, skip_space(text, at + 1, end), end)
        if at < 0:
            return -1
    return -1


@kernel()
def _skip_key(text: Bytes, levels: Any, at: int, end: int) -> Any:
    """The position of the next value: within an object after a name and a colon."""
    if not levels & _ONE:
        return at
    if at == end or text[at] != QUOTE:
        return -1
    close, _ = string_end(text, at + 1, end)
    return -1 if close < 0 else skip_colon(text, close + 1, end)


# --- strings of JSON with escapes to the UTF-8 that they spell --------------------------------------------------------
#
# The law: the bytes are those of the decoded text; half of a surrogate pair, which JSON can spell and UTF-8 cannot,
# has the three bytes that its number would have. They are never more than the bytes of the string as it is spelled.

_U = 117


@kernel()
def unescape(text: Bytes, at: int, end: int, spare: Bytes, used: int) -> Any:
    """Writes the bytes of a string whose escapes are known to be good; returns where they end."""
    while at < end:
        if text[at] != _BACKSLASH:
            spare[used] = text[at]
            used += 1
            at += 1
        elif text[at + 1] != _U:
            spare[used] = _letter(text[at + 1])
            used += 1
            at += 2
        else:
            code = _unit(text, at + 2)
            at += 6
            if 0xD800 <= code < 0xDC00 and at + 6 <= end and text[at] == _BACKSLASH and text[at + 1] == _U:
                low = _unit(text, at + 2)
                if 0xDC00 <= low < 0xE000:
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                    at += 6
            used = _write(code, spare, used)
    return used


@kernel()
def _letter(letter: Any) -> Any:
    """The byte that a letter after a backslash stands for."""
    if letter == 98:
        return np.uint8(8)
    if letter == 102:
        return np.uint8(12)
    if letter == 110:
        return np.uint8(10)
    if letter == 114:
        return np.uint8(13)
    return np.uint8(9) if letter == 116 else np.uint8(letter)


@kernel()
def _unit(text: Bytes, at: int) -> Any:
    """The number that four hexadecimal digits spell."""
    number = 0
    for place in range(at, at + 4):
        digit = int(text[place])
        number = number * 16 + (digit - 48 if digit < 58 else (digit | 32) - 87)
    return number


@kernel()
def _write(code: int, spare: Bytes, used: int) -> Any:
    """Appends one character; returns where it ends."""
    if code < 0x80:
        spare[used] = code
        return used + 1
    if code < 0x800:
        spare[used] = 0xC0 | code >> 6
        spare[used + 1] = 0x80 | code & 0x3F
        return used + 2
    if code < 0x10000:
        spare[used] = 0xE0 | code >> 12
        spare[used + 1] = 0x80 | code >> 6 & 0x3F
        spare[used + 2] = 0x80 | code & 0x3F
        return used + 3
    spare[used] = 0xF0 | code >> 18
    spare[used + 1] = 0x80 | code >> 12 & 0x3F
    spare[used + 2] = 0x80 | code >> 6 & 0x3F
    spare[used + 3] = 0x80 | code & 0x3F
    return used + 4


# --- finding the names and words of events in a snapshot of what is known ---------------------------------------------
#
# The law: a search gives what it gave when the snapshot was taken. A number beyond the snapshot's arrays was entered
# later, into a slot that was empty then, and so ends the search just as the empty slot would have.
# `vocabulary.columns` holds the twin of the hash in plain Python; the two must agree in every bit. Heads are never
# 0: texts of NUL bytes alone would hash to their lengths then, whatever the key is.

NAME_HEAD = 1  # that of a word is one more than its attribute
_8 = np.uint64(8)


@kernel()
def _hash(head: Any, text: Bytes, begin: int, end: int, key: Any) -> Any:
    hashed = np.uint64(head)
    for start in range(begin, end, 7):
        word = np.uint64(0)
        for place in range(min(start + 7, end) - 1, start - 1, -1):
            word = (word << _8) | np.uint64(text[place])
        hashed = step(hashed, key, word)
    return step(hashed, key, np.uint64(end - begin))


@kernel()
def same_bytes(text: Bytes, begin: int, other: Bytes, start: int, size: int) -> Any:
    """Whether `size` bytes of two texts, which both have so many, are the same."""
    place = 0
    while place < size and text[begin + place] == other[start + place]:
        place += 1
    return place == size


@kernel()
def _is(offsets: Int64s, stored: Bytes, number: Any, text: Bytes, begin: int, end: int) -> Any:
    start = offsets[number]
    return offsets[number + 1] - start == end - begin and same_bytes(text, begin, stored, start, end - begin)


@kernel(inline=True)
def _name_at(names: Names, slot: Any, wanted: Any) -> Any:
    number = names.name_slots[slot]
    if number < 0 or number >= len(names.name_attributes):
        return FREE
    text, begin, end = wanted
    return SAME if _is(names.name_offsets, names.name_bytes, number, text, begin, end) else ANOTHER


@kernel(inline=True)
def _word_at(names: Names, slot: Any, wanted: Any) -> Any:
    number = names.word_slots[slot]
    if number < 0 or number >= len(names.word_attributes):
        return FREE
    attribute, text, begin, end = wanted
    same = names.word_attributes[number] == attribute and _is(
        names.word_offsets, names.word_bytes, number, text, begin, end
    )
    return SAME if same else ANOTHER


_search_names, _search_words = search(_name_at), search(_word_at)


@kernel()
def find_name(names: Names, text: Bytes, begin: int, end: int) -> Any:
    """The number of a first name, or -1."""
    hashed = _hash(NAME_HEAD, text, begin, end, names.key)
    number = names.name_slots[_search_names(names, len(names.name_slots), hashed, (text, begin, end))]
    return np.int64(number) if number < len(names.name_attributes) else np.int64(-1)


@kernel()
def find_word(names: Names, attribute: Any, text: Bytes, begin: int, end: int) -> Any:
    """The number of a string constant of one attribute, or -1."""
    hashed = _hash(attribute + 1, text, begin, end, names.key)
    number = names.word_slots[_search_words(names, len(names.word_slots), hashed, (attribute, text, begin, end))]
    return number if number < len(names.word_attributes) else np.int32(-1)


# --- JSON objects to the cells of the attributes that are known, a whole column of them at a time ---------------------
#
# The law: an event is either given the cells that its decoded tree has (`predicate.attributes` holds the twin in plain
# Python), or none and the mark that Python has to decode it: because its text is no JSON, or in one of the rare
# shapes that are not worth the lines here (a known name twice, one with longer paths that begins a list or an object,
# numbers that `nearest` leaves to Python, more than 64 levels).
#
# Positions are those of bytes in the column's data. -1 in place of one stands for giving up. Strings with escapes are
# spelled out in spare bytes, which lie behind the column's data as far as the cells are concerned. All parts are
# copied into the one kernel: an event of six attributes then takes 0.35 µs, and 1.1 µs when the arrays are handed
# from part to part.

ROW, COUNT, NEEDED, SPARED = 0, 1, 2, 3  # of the state


class ScanMemory(NamedTuple):
    """What is kept from event to event: the last one that had each name, and the name at each place of the last one.

    Events of one source have their names in one order, so that comparing with the last name at a place finds most.
    `state` counts rows, cells and spare bytes.
    """

    stamps: Int64s
    places: Int32s
    spare: Bytes
    state: Int64s


class Scan(NamedTuple):
    """Everything that the parts below read and write."""

    names: Names
    cells: Cells
    memory: ScanMemory


_SCAN = numba_type(Scan, True, names=numba_type(Names), cells=numba_type(Cells, True, text=BYTES))


@kernel((_SCAN, INT64S, NEW_BYTES))
def scan(job: Scan, offsets: Int64s, hard: Bytes) -> None:
    """The cells of the events from state[ROW] on, as far as there is room; marks those that Python has to decode.

    An event has at most half as many cells as bytes, and one: each takes a byte, and a comma or brackets. The spare
    bytes are as many as those of all the texts, or none if there is no escape.
    """
    cells, state = job.cells, job.memory.state
    row, count = state[ROW], state[COUNT]
    while row < len(offsets) - 1:
        begin, end = offsets[row], offsets[row + 1]
        state[NEEDED] = count + (end - begin) // 2 + 2
        if state[NEEDED] > len(cells.kind):
            break
        after = _event(job, row + 1, count, begin, end)
        hard[row] = after < 0
        count = max(count, after)
        row += 1
        cells.offsets[row] = count
    state[ROW], state[COUNT] = row, count


@kernel(inline=True)
def _event(job: Scan, stamp: int, count: int, at: int, end: int) -> Any:
    """Writes one event's cells, from `count` on; returns where they end."""
    text, stamps = job.cells.text, job.memory.stamps
    at = skip_space(text, at, end)
    if at == end:
        return count  # blank: no attributes
    if text[at] != OPEN_OBJECT:
        return -1
    at = skip_space(text, at + 1, end)
    if at < end and text[at] == CLOSE_OBJECT:
        return count if skip_space(text, at + 1, end) == end else -1
    place = 0
    while True:
        name, at = _name(job, place, at, end)
        at = skip_colon(text, at, end)
        if at < 0:
            return -1
        if name < 0:
            at = skip_value(text, at, end)
        elif stamps[name] == stamp:
            return -1
        else:
            stamps[name] = stamp
            at, count = _value(job, name, count, at, end)
        if at < 0:
            return -1
        at = skip_space(text, at, end)
        if at == end:
            return -1
        if text[at] == CLOSE_OBJECT:
            return count if skip_space(text, at + 1, end) == end else -1
        if text[at] != COMMA:
            return -1
        at = skip_space(text, at + 1, end)
        place += 1


@kernel(inline=True)
def _name(job: Scan, place: int, at: int, end: int) -> Any:
    """The number of the name that begins at `at`, or -1, and the position after its quote.

    A name that was found before as it is spelled has no byte that would end it or escape anything, so equal bytes are
    the name.
    """
    names, text, places = job.names, job.cells.text, job.memory.places
    if at == end or text[at] != QUOTE:
        return -1, -1
    at += 1
    last = places[place] if place < len(places) else -1
    if last >= 0:
        start = names.name_offsets[last]
        size = names.name_offsets[last + 1] - start
        if at + size < end and text[at + size] == QUOTE and same_bytes(text, at, names.name_bytes, start, size):
            return np.int64(last), at + size + 1
    close, plain = string_end(text, at, end)
    if close < 0:
        return -1, -1
    if not plain:
        spare, used = job.memory.spare, job.memory.state[SPARED]
        return find_name(names, spare, used, unescape(text, at, close, spare, used)), close + 1
    name = find_name(names, text, at, close)
    if place < len(places):
        places[place] = name
    return name, close + 1


@kernel(inline=True)
def _value(job: Scan, name: int, count: int, at: int, end: int) -> Any:
    """Writes the cells of a known name's value; returns the position after it and where the cells end."""
    names, cells = job.names, job.cells
    attribute = names.name_attributes[name]
    if at == end:
        return -1, count
    opening = cells.text[at]
    if opening in (OPEN_OBJECT, OPEN_LIST):
        if names.name_nested[name]:
            return -1, count
        if opening == OPEN_LIST:
            return _list(job, attribute, count, at + 1, end)
    at = _single(job, count, at, end)
    if at >= 0 and attribute >= 0 and cells.kind[count]:
        _label(job, attribute, count)
        count += 1
    return at, count


@kernel(inline=True)
def _list(job: Scan, attribute: Any, count: int, at: int, end: int) -> Any:
    """Writes the marker of a list and the cells of its elements; `at` is after its bracket."""
    cells, text = job.cells, job.cells.text
    _write_cell(cells, count, LIST, 0.0)
    cells.attribute[count] = attribute
    count += 1
    at = skip_space(text, at, end)
    if at < end and text[at] == CLOSE_LIST:
        return at + 1, count
    while at < end:
        at = _single(job, count, at, end)
        if at < 0:
            return -1, count
        if cells.kind[count]:
            _label(job, attribute, count)
            cells.kind[count] |= np.uint8(LISTED)
            count += 1
        at = skip_space(text, at, end)
        if at == end:
            break
        if text[at] == CLOSE_LIST:
            return at + 1, count
        if text[at] != COMMA:
            break
        at = skip_space(text, at + 1, end)
    return -1, count


@kernel(inline=True)
def _write_cell(cells: Cells, count: int, kind: int, number: float) -> None:
    """A cell without a text."""
    cells.kind[count] = kind
    cells.number[count] = number
    cells.word[count] = -1
    cells.begin[count] = 0
    cells.size[count] = 0


@kernel(inline=True)
def _label(job: Scan, attribute: Any, count: int) -> None:
    """Gives a cell its attribute and, if it is a string, its word."""
    cells = job.cells
    cells.attribute[count] = attribute
    if cells.kind[count] == STRING:
        begin, size, spared = cells.begin[count], cells.size[count], len(cells.text)
        if begin < spared:
            cells.word[count] = find_word(job.names, attribute, cells.text, begin, begin + size)
        else:
            begin -= spared
            cells.word[count] = find_word(job.names, attribute, job.memory.spare, begin, begin + size)


@kernel(inline=True)
def _single(job: Scan, count: int, at: int, end: int) -> Any:
    """Writes the cell of a value that is no list of its own, kind 0 for null; returns the position after it."""
    cells, text = job.cells, job.cells.text
    if text[at] == QUOTE:
        close, plain = string_end(text, at + 1, end)
        if close < 0:
            return -1
        _write_cell(cells, count, STRING, 0.0)
        if plain:
            cells.begin[count], cells.size[count] = at + 1, close - at - 1
        else:
            used = job.memory.state[SPARED]
            finish = unescape(text, at + 1, close, job.memory.spare, used)
            cells.begin[count], cells.size[count] = len(text) + used, finish - used
            job.memory.state[SPARED] = finish
        return close + 1
    if text[at] == OPEN_OBJECT or text[at] == OPEN_LIST:
        _write_cell(cells, count, OTHER, 0.0)
        return skip_value(text, at, end)
    finish, kind, number = bare(text, at, end)
    _write_cell(cells, count, kind, number)
    if kind == ODD:
        cells.begin[count], cells.size[count] = at, finish - at
    return finish


# --- a board: the cells of up to 64 events by attribute, numbers sorted, words with the lanes that hold them ----------
#
# The law: a board depends on the chosen events alone; whatever an earlier filling left is overwritten or out of date.


@kernel((CELLS, INT64S, BOARD))
def gather(cells: Cells, chosen: Int64s, board: Board) -> None:
    """Lays the chosen events out, each in the lane of its place in `chosen`."""
    lay_out(cells, chosen, board)


@kernel()
def lay_out(cells: Cells, chosen: Int64s, board: Board) -> None:
    """`gather`, as a part of other kernels."""
    head, rows = board.head, board.rows
    head[at.STAMP] += 1
    head[at.SIZE], head[at.ALL_PLAIN] = len(chosen), 1
    for old in range(head[at.ROWS]):
        board.slots[rows[old, at.ATTRIBUTE]] = -1
    head[at.ROWS] = 0
    for event in chosen:  # a row for each attribute, and how many numbers and cells it will have
        for cell in range(cells.offsets[event], cells.offsets[event + 1]):
            attribute = cells.attribute[cell]
            row: Any = np.int64(board.slots[attribute])
            if row < 0:
                row = head[at.ROWS]
                head[at.ROWS] = row + 1
                board.slots[attribute], rows[row, at.ATTRIBUTE] = row, attribute
                rows[row, at.NUMBERS_END], rows[row, at.CELLS_END], rows[row, at.PLAIN] = 0, 0, 1
                for kind in range(7):
                    board.kinds[row, kind] = _NONE
            rows[row, at.CELLS_END] += 1
            if cells.kind[cell] == NUMBER:
                rows[row, at.NUMBERS_END] += 1
    numbers = placed = 0
    for row in range(head[at.ROWS]):  # counts to beginnings; the ends move up again as cells are placed
        count, size = rows[row, at.NUMBERS_END], rows[row, at.CELLS_END]
        rows[row, at.NUMBERS] = rows[row, at.NUMBERS_END] = numbers
        rows[row, at.CELLS] = rows[row, at.CELLS_END] = placed
        numbers += count
        placed += size
    for lane in range(len(chosen)):
        event = chosen[lane]
        board.events[lane] = event
        for cell in range(cells.offsets[event], cells.offsets[event + 1]):
            _place(cells, cell, lane, board)
    for row in range(head[at.ROWS]):  # each number's own lane to the lanes of all smaller ones
        below = _NONE
        for place in range(rows[row, at.NUMBERS] + row, rows[row, at.NUMBERS_END] + row):
            own = board.marks[place]
            board.marks[place] = below
            below |= own
        board.marks[rows[row, at.NUMBERS_END] + row] = below


@kernel()
def _place(cells: Cells, cell: Any, lane: Any, board: Board) -> None:
    """A cell into its row; numbers sorted, `marks` with each number's own lane for now."""
    row = np.int64(board.slots[cells.attribute[cell]])
    rows, kinds, bit = board.rows, board.kinds, _ONE << np.uint64(lane)
    end = rows[row, at.CELLS_END]
    board.cells[end], board.lanes[end] = cell, lane
    rows[row, at.CELLS_END] = end + 1
    kinds[row, at.ANY] |= bit
    kind = cells.kind[cell]
    if kind == NUMBER:
        kinds[row, at.ONE_NUMBER] |= bit
        number, first, place = cells.number[cell], rows[row, at.NUMBERS], rows[row, at.NUMBERS_END]
        rows[row, at.NUMBERS_END] = place + 1
        while place > first and board.keys[place - 1] > number:
            board.keys[place] = board.keys[place - 1]
            board.marks[place + row] = board.marks[place + row - 1]
            place -= 1
        board.keys[place], board.marks[place + row] = number, bit
    elif kind & _KIND == STRING:
        if kind == STRING:
            kinds[row, at.ONE_STRING] |= bit
        word = cells.word[cell]
        if 0 <= word < len(board.words):
            if board.stamps[word] != board.head[at.STAMP]:
                board.stamps[word], board.words[word] = board.head[at.STAMP], _NONE
            board.words[word] |= bit
    elif kind in (LIST, ODD):
        kinds[row, at.LISTS if kind == LIST else at.ONE_NUMBER] |= bit
        rows[row, at.PLAIN] = board.head[at.ALL_PLAIN] = 0
    elif kind & _KIND == TRUE or kind & _KIND == FALSE:
        if kind & np.uint8(LISTED) == 0:
            kinds[row, at.ONE_BOOLEAN] |= bit
        kinds[row, at.TRUES if kind & _KIND == TRUE else at.FALSES] |= bit


# --- list tests: tests that look at cells one by one, on lists, odd integers, texts in order, pairs of attributes -----
#
# On a list a test is two-valued: it is true if one element passes, else false. A test of one value is unknown where
# the value is of another kind.


@kernel()
def _list_test(events: Evaluation, board: Board, word: Any, operand: Any, asked: Any) -> Any:
    """The lanes of `asked` for which one test holds."""
    op, negative = word & _OP, word & _NEGATIVE != 0
    true = _NONE
    if op == at.SLOW:  # what Python decided: 1 true, 0 false
        for lane in range(board.head[at.SIZE]):
            if events.slow[operand, board.events[lane]] == (0 if negative else 1):
                true |= _ONE << np.uint64(lane)
        return true & asked
    attribute = word >> _SHIFT
    row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
    if op >= at.PAIR_EQ:
        other = board.slots[operand] if operand < len(board.slots) else np.int32(-1)
        for lane in range(board.head[at.SIZE]):
            bit = _ONE << np.uint64(lane)
            if asked & bit != _NONE and _pair(events, board, row, other, op, bit) == (0 if negative else 1):
                true |= bit
        return true
    if row < 0:
        return _NONE
    known = board.kinds[row, at.ONE_NUMBER if op <= at.NUMBER_IN else at.ONE_STRING] | board.kinds[row, at.LISTS]
    for place in range(board.rows[row, at.CELLS], board.rows[row, at.CELLS_END]):
        if _passes(events, board.cells[place], op, operand):
            true |= _ONE << np.uint64(board.lanes[place])
    if op == at.WORDS_WITHIN:
        true = known & ~true
    return asked & known & ~true if negative else asked & true


@kernel()
def _passes(events: Evaluation, cell: Any, op: Any, operand: Any) -> Any:
    """Whether a cell passes a test; WORDS_WITHIN: whether it is a string outside the set."""
    kind = events.cells.kind[cell] & _KIND
    if op <= at.NUMBER_IN:
        if kind == NUMBER:
            return _number(events.programs.numbers, op, operand, events.cells.number[cell])
        return kind == ODD and _odd(events.programs.numbers, op, operand, events.cells.number[cell])
    if kind != STRING:
        return False
    if op == at.WORD_NE:
        return events.cells.word[cell] != operand
    if op == at.WORDS_WITHIN:
        return not _contains(events.programs.sets, operand, events.cells.word[cell])
    return _text(events, cell, op, operand)


@kernel()
def _number(numbers: Floats, op: Any, operand: Any, value: Any) -> Any:
    if op == at.NUMBER_IN:
        found = False
        for place in range(operand + 1, operand + 1 + np.int64(numbers[operand])):
            found |= numbers[place] == value
        return found
    if op == at.NUMBER_EQ:
        return value == numbers[operand]
    if op == at.NUMBER_NE:
        return value != numbers[operand]
    if op == at.NUMBER_LE:
        return value <= numbers[operand]
    return value >= numbers[operand] and (op == at.NUMBER_GE or value <= numbers[operand + 1])


@kernel()
def _odd(numbers: Floats, op: Any, operand: Any, below: Any) -> Any:
    """An integer strictly between `below` and the next float, against floats."""
    if op == at.NUMBER_NE:
        return True
    if op == at.NUMBER_LE:
        return below < numbers[operand]
    if op == at.NUMBER_GE:
        return below >= numbers[operand]
    return op == at.NUMBER_BETWEEN and below >= numbers[operand] and below < numbers[operand + 1]


@kernel()
def _contains(sets: Int32s, operand: Any, word: Any) -> Any:
    found = False
    for place in range(operand + 1, operand + 1 + sets[operand]):
        found |= sets[place] == word
    return found


@kernel()
def _text(events: Evaluation, cell: Any, op: Any, operand: Any) -> Any:
    programs = events.programs
    first = events.cells.begin[cell]
    last = first + events.cells.size[cell]
    begin, end = programs.text_offsets[operand], programs.text_offsets[operand + 1]
    if op == at.TEXT_LIKE:
        return is_like(events.cells.text, first, last, programs.texts, begin, end)
    order = compare_texts(events.cells.text, first, last, programs.texts, begin, end)
    if op == at.TEXT_GE:
        return order >= 0
    if op == at.TEXT_GT:
        return order > 0
    return order <= 0 if op == at.TEXT_LE else order < 0


@kernel()
def _pair(events: Evaluation, board: Board, row: Any, other: Any, op: Any, bit: Any) -> Any:
    """Attribute against attribute in one lane: 1 true, 0 false, -1 unknown; of lists one pair of elements passes."""
    lists = (row >= 0 and board.kinds[row, at.LISTS] & bit != _NONE) or (
        other >= 0 and board.kinds[other, at.LISTS] & bit != _NONE
    )
    truth = 0 if lists else -1
    if row < 0 or other < 0:
        return truth
    for left in range(board.rows[row, at.CELLS], board.rows[row, at.CELLS_END]):
        if _ONE << np.uint64(board.lanes[left]) != bit:
            continue
        for right in range(board.rows[other, at.CELLS], board.rows[other, at.CELLS_END]):
            if _ONE << np.uint64(board.lanes[right]) != bit:
                continue
            order = _order(events, board.cells[left], board.cells[right])
            if order != _UNKNOWN:
                if _fits(op, order):
                    return 1
                truth = 0
    return truth


_UNKNOWN = 2


@kernel()
def _order(events: Evaluation, left: Any, right: Any) -> Any:
    """-1, 0 or 1; 2 where two cells cannot be compared."""
    cells = events.cells
    one, two = cells.kind[left] & _KIND, cells.kind[right] & _KIND
    if (one in (NUMBER, ODD)) and (two in (NUMBER, ODD)):
        a, b = cells.number[left], cells.number[right]
        if a != b or (one == NUMBER and two == NUMBER):
            return -1 if a < b else np.int64(a > b)
        if one != two:
            return 1 if one == ODD else -1
        order = _order_texts(cells, left, right)  # two odd integers above the same float, by their digits
        if cells.size[left] != cells.size[right]:
            order = -1 if cells.size[left] < cells.size[right] else 1
        return order if a > 0 else -order
    if one == STRING and two == STRING:
        return _order_texts(cells, left, right)
    truths = one in (TRUE, FALSE)
    if truths and (two in (TRUE, FALSE)):
        return np.int64(two) - np.int64(one)  # TRUE is the smaller kind and the larger value
    return _UNKNOWN


@kernel()
def _order_texts(cells: Cells, left: Any, right: Any) -> Any:
    first, other = cells.begin[left], cells.begin[right]
    return compare_texts(cells.text, first, first + cells.size[left], cells.text, other, other + cells.size[right])


@kernel()
def _fits(op: Any, order: Any) -> Any:
    if op == at.PAIR_EQ:
        return order == 0
    if op == at.PAIR_NE:
        return order != 0
    if op == at.PAIR_LT:
        return order < 0
    if op == at.PAIR_LE:
        return order <= 0
    return order > 0 if op == at.PAIR_GT else order >= 0


# --- whether an expression is true of the events on a board: one walk over its code for all lanes at once -------------
#
# The laws: the answer is a subset of the lanes that were asked about; a group is left as soon as no lane is open;
# lanes do not influence each other. On a plain row a test of numbers is two binary searches among the lanes' sorted
# values.


@kernel(inline=True)
def holds(events: Evaluation, board: Board, expression: Any, asked: Any) -> Any:
    """The lanes of `asked` for which the expression is true."""
    programs = events.programs
    place, finish = programs.starts[expression], programs.starts[expression + 1]
    kind: Any = at.AND
    depth, open_lanes, found = 0, asked, _NONE
    while True:
        while place == finish or open_lanes == _NONE:
            result = open_lanes if kind == at.AND else found
            if depth == 0:
                return result
            depth -= 1
            place, finish = finish, board.frames[2 * depth]
            kind = board.frames[2 * depth + 1]
            open_lanes, found = board.frame_masks[2 * depth], board.frame_masks[2 * depth + 1]
            if kind == at.AND:
                open_lanes = result
            else:
                found |= result
                open_lanes &= ~result
        word, operand = programs.code[place], programs.code[place + 1]
        place += 2
        if word & _OP <= at.OR:
            board.frames[2 * depth], board.frames[2 * depth + 1] = finish, kind
            board.frame_masks[2 * depth], board.frame_masks[2 * depth + 1] = open_lanes, found
            depth += 1
            kind, found, finish = np.int64(word & _OP), _NONE, place + operand
            continue
        result = _literal(events, board, word, operand, open_lanes)
        if kind == at.AND:
            open_lanes = result
        else:
            found |= result
            open_lanes &= ~result


@kernel(inline=True)
def _literal(events: Evaluation, board: Board, word: Any, operand: Any, asked: Any) -> Any:
    """The lanes of `asked` for which one test holds."""
    op, negative = word & _OP, word & _NEGATIVE != 0
    attribute = word >> _SHIFT
    row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
    if op > at.IS_NULL or (op >= at.WORD_NE and op < at.TRUTH and op != at.WORD_IN):
        return _list_test(events, board, word, operand, asked)
    if row < 0:
        return asked if op == at.IS_NULL and not negative else _NONE
    if op <= at.NUMBER_IN:
        if board.rows[row, at.PLAIN] == 0:
            return _list_test(events, board, word, operand, asked)
        true = _numbers(board, events.programs.numbers, row, op, operand)
        known = board.kinds[row, at.ONE_NUMBER]
    elif op == at.TRUTH:
        true = board.kinds[row, at.TRUES if operand == 1 else at.FALSES]
        known = board.kinds[row, at.ONE_BOOLEAN] | board.kinds[row, at.LISTS]
    elif op == at.IS_NULL:
        true = ~board.kinds[row, at.ANY]
        known = ~_NONE
    else:
        true = _words(board, events.programs.sets, op, operand)
        known = board.kinds[row, at.ONE_STRING] | board.kinds[row, at.LISTS]
    return asked & known & ~true if negative else asked & true


@kernel(inline=True)
def _numbers(board: Board, numbers: Floats, row: Any, op: Any, operand: Any) -> Any:
    """The lanes whose single number passes; no lane has a list."""
    first, last = np.int64(board.rows[row, at.NUMBERS]), np.int64(board.rows[row, at.NUMBERS_END])
    all_lanes = board.kinds[row, at.ONE_NUMBER]
    if op == at.NUMBER_GE:
        return all_lanes ^ board.marks[_below(board.keys, first, last, numbers[operand]) + row]
    if op == at.NUMBER_LE:
        return board.marks[_upto(board.keys, first, last, numbers[operand]) + row]
    if op == at.NUMBER_BETWEEN:
        low = _below(board.keys, first, last, numbers[operand])
        high = _upto(board.keys, low, last, numbers[operand + 1])
        return board.marks[high + row] ^ board.marks[low + row]
    if op == at.NUMBER_IN:
        found = _NONE
        for place in range(operand + 1, operand + 1 + np.int64(numbers[operand])):
            found |= _equal(board, first, last, row, numbers[place])
        return found
    equal = _equal(board, first, last, row, numbers[operand])
    return equal if op == at.NUMBER_EQ else all_lanes ^ equal


@kernel(inline=True)
def _equal(board: Board, first: Any, last: Any, row: Any, number: Any) -> Any:
    low = _below(board.keys, first, last, number)
    high = low
    while high < last and board.keys[high] == number:
        high += 1
    return board.marks[high + row] ^ board.marks[low + row]


@kernel(inline=True)
def _below(keys: Floats, first: Any, last: Any, number: Any) -> Any:
    """The first place from `first` whose key is not below the number."""
    size = last - first
    while size > 0:
        half = size >> 1
        if keys[first + half] < number:
            first += half + 1
            size -= half + 1
        else:
            size = half
    return first


@kernel(inline=True)
def _upto(keys: Floats, first: Any, last: Any, number: Any) -> Any:
    """The first place from `first` whose key is above the number."""
    size = last - first
    while size > 0:
        half = size >> 1
        if keys[first + half] <= number:
            first += half + 1
            size -= half + 1
        else:
            size = half
    return first


@kernel(inline=True)
def _words(board: Board, sets: Any, op: Any, operand: Any) -> Any:
    """The lanes that are or hold one of these words."""
    if op == at.WORD_EQ:
        return _word(board, operand)
    found = _NONE
    for place in range(operand + 1, operand + 1 + sets[operand]):
        found |= _word(board, sets[place])
    return found


@kernel(inline=True)
def _word(board: Board, word: Any) -> Any:
    if word < len(board.words) and board.stamps[word] == board.head[at.STAMP]:
        return board.words[word]
    return _NONE


@kernel((EVALUATION, BOARD, int64, uint64))
def ask(events: Evaluation, board: Board, expression: Any, asked: Any) -> Any:
    """`holds`, for Python."""
    return holds(events, board, expression, asked)


# --- the facts of a board, all at once: see `layout` ------------------------------------------------------------------


@kernel()
def learn(events: Evaluation, coded: FactsCode, order: FactsOrder, facts: Facts, board: Board) -> None:
    """Finds out every fact that facts code may ask about the board."""
    for number in range(facts.head[at.TOUCHED]):
        facts.known[facts.touched[number]] = _NONE
    facts.head[at.TOUCHED] = 0
    for row in range(board.head[at.ROWS]):
        attribute = board.rows[row, at.ATTRIBUTE]
        if attribute < len(coded.attribute_facts) and coded.attribute_facts[attribute] >= 0:
            for kind in range(7):
                _put(facts, coded.attribute_facts[attribute] + kind, board.kinds[row, kind])
        for place in range(board.rows[row, at.CELLS], board.rows[row, at.CELLS_END]):
            cell = board.cells[place]
            if events.cells.kind[cell] & _KIND == STRING:
                _learn_word(events.cells.word[cell], coded, order, facts, board)
    _learn_bounds(coded, order, facts, board)
    _learn_sets(events, coded, order, facts, board)


@kernel(inline=True)
def _put(facts: Facts, fact: Any, lanes: Any) -> None:
    """More lanes for a fact."""
    if lanes != _NONE:
        if facts.known[fact] == _NONE:
            facts.touched[facts.head[at.TOUCHED]] = fact
            facts.head[at.TOUCHED] += 1
        facts.known[fact] |= lanes


@kernel()
def _learn_word(word: Any, coded: FactsCode, order: FactsOrder, facts: Facts, board: Board) -> None:
    """A word's own fact and those of the sets that hold it, once for all lanes that have it."""
    if word < 0 or word >= len(board.words) or word >= len(coded.word_facts) or coded.word_facts[word] < 0:
        return
    lanes = board.words[word]
    if facts.known[coded.word_facts[word]] != _NONE:
        return
    _put(facts, coded.word_facts[word], lanes)
    if word < len(order.set_ranges) - 1:
        for place in range(order.set_ranges[word], order.set_ranges[word + 1]):
            _put(facts, order.set_facts[place], lanes)


@kernel()
def _learn_bounds(coded: FactsCode, order: FactsOrder, facts: Facts, board: Board) -> None:
    """A bound's lanes from one pass over the row's sorted numbers; bounds that came later by themselves."""
    for attribute in range(len(order.ranges) - 1):
        row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
        if row >= 0 and board.rows[row, at.NUMBERS] < board.rows[row, at.NUMBERS_END]:
            _pass(coded, order, facts, board, attribute, row)
            facts.dirty[attribute] = 1
        elif facts.dirty[attribute] != 0:
            facts.dirty[attribute] = 0
            for number in range(order.ranges[attribute], order.ranges[attribute + 1]):
                _know(coded, facts, order.order[number], _NONE, _NONE)
    for bound in range(len(order.order), len(coded.bounds)):
        attribute = coded.bound_attributes[bound]
        row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
        if row >= 0:
            place, last = np.int64(board.rows[row, at.NUMBERS]), np.int64(board.rows[row, at.NUMBERS_END])
            low = _below(board.keys, place, last, coded.bounds[bound])
            high = _upto(board.keys, low, last, coded.bounds[bound])
            _know(coded, facts, bound, board.marks[low + row], board.marks[high + row])
            facts.dirty[attribute] = 1  # it may be among the sorted ones by the time of the next board
        else:
            _know(coded, facts, bound, _NONE, _NONE)


@kernel()
def _pass(coded: FactsCode, order: FactsOrder, facts: Facts, board: Board, attribute: Any, row: Any) -> None:
    place, last = np.int64(board.rows[row, at.NUMBERS]), np.int64(board.rows[row, at.NUMBERS_END])
    for number in range(order.ranges[attribute], order.ranges[attribute + 1]):
        bound = order.order[number]
        value = coded.bounds[bound]
        while place < last and board.keys[place] < value:
            place += 1
        below = board.marks[place + row]
        after = place
        while after < last and board.keys[after] == value:
            after += 1
        _know(coded, facts, bound, below, board.marks[after + row])


@kernel(inline=True)
def _know(coded: FactsCode, facts: Facts, bound: Any, below: Any, upto: Any) -> None:
    first = coded.bound_facts[bound]
    facts.known[first + at.BELOW], facts.known[first + at.UPTO] = below, upto
    if coded.equal_facts[bound] >= 0:
        facts.known[coded.equal_facts[bound]] = upto ^ below


@kernel()
def _learn_sets(events: Evaluation, coded: FactsCode, order: FactsOrder, facts: Facts, board: Board) -> None:
    """Sets of words that came later, and all sets of bounds."""
    for number in range(order.set_count, len(coded.word_sets)):
        start = coded.word_sets[number, 0]
        for place in range(start + 1, start + 1 + events.programs.sets[start]):
            word = events.programs.sets[place]
            if word < len(board.words) and board.stamps[word] == board.head[at.STAMP]:
                _put(facts, coded.word_sets[number, 1], board.words[word])
    place = 0
    while place < len(coded.bound_sets):
        last = place + 2 + coded.bound_sets[place + 1]
        for member in range(place + 2, last):
            first = coded.bound_facts[coded.bound_sets[member]]
            _put(facts, coded.bound_sets[place], facts.known[first + at.BELOW] ^ facts.known[first + at.UPTO])
        place = last


# --- facts code asked about a board. `layout` says what it is ---------------------------------------------------------


# To learn a bound takes 3 ns, and to decide an expression without facts some 200 ns longer than with them.
_BOUNDS_A_TEST = 64


@kernel(inline=True)
def accepted(job: Job, expression: Any, asked: Any) -> Any:
    """The lanes of `asked` for which the expression is true."""
    events, coded, facts, board = job.events, job.coded, job.facts, job.board
    start = coded.starts[expression]
    if start < 0 or board.head[at.ALL_PLAIN] == 0 or not _has_learnt(job):
        return _slowly(events, board, expression, asked)
    groups = np.int64(coded.code[start + 1])
    place = start + 2 + groups
    found = _NONE
    if coded.code[start] == at.OR_OF_ANDS:
        for group in range(groups):
            lanes = asked
            end = place + coded.code[start + 2 + group]
            while place < end:
                lanes &= facts.known[coded.code[place]] & ~facts.known[coded.code[place + 1]]
                place += 2
            found |= lanes
            place = end
        return found
    for group in range(groups):
        found = _NONE
        end = place + coded.code[start + 2 + group]
        while place < end:
            found |= facts.known[coded.code[place]] & ~facts.known[coded.code[place + 1]]
            place += 2
        asked &= found
    return asked


@kernel(inline=True)
def _has_learnt(job: Job) -> Any:
    """Whether the facts of the board are known; they are learnt when as much was asked as that is worth."""
    facts, stamp = job.facts, job.board.head[at.STAMP]
    if facts.head[at.LEARNT] == stamp:
        return True
    if facts.head[at.ASKED_ABOUT] != stamp:
        facts.head[at.ASKED_ABOUT], facts.head[at.ASKED] = stamp, 0
    facts.head[at.ASKED] += 1
    if facts.head[at.ASKED] * _BOUNDS_A_TEST < len(job.coded.bounds):
        return False
    learn(job.events, job.coded, job.order, facts, job.board)
    facts.head[at.LEARNT] = stamp
    return True


@kernel()
def _slowly(events: Evaluation, board: Board, expression: Any, asked: Any) -> Any:
    return holds(events, board, expression, asked)


@kernel((JOB, int64, uint64))
def ask_facts(job: Job, expression: Any, asked: Any) -> Any:
    """`accepted`, for Python."""
    return accepted(job, expression, asked)


# --- the code of `Programs` to facts code, expression by expression, as far as it fits the form -----------------------

_WHOLE = 2.0**53  # makes an integer of any float's fraction


@kernel((PROGRAMS, _TRANSLATION))
def translate(programs: Programs, into: Translation) -> None:
    """Adds the facts code of the expressions that have none yet; there has to be room for it."""
    for expression in range(into.sizes[at.EXPRESSIONS], len(programs.starts) - 1):
        before = into.sizes[at.WORDS]
        begin, end = programs.starts[expression], programs.starts[expression + 1]
        into.coded.starts[expression] = before
        if not _translate_one(programs, begin, end, into):
            into.coded.starts[expression] = -1
            into.sizes[at.WORDS] = before
    into.sizes[at.EXPRESSIONS] = len(programs.starts) - 1


@kernel()
def _emit(into: Translation, word: Any) -> None:
    into.coded.code[into.sizes[at.WORDS]] = word
    into.sizes[at.WORDS] += 1


@kernel()
def _translate_one(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    """Whether it fits; its code is then written."""
    if begin == end:
        return False
    top = programs.code[begin] & _OP
    grouped = top == at.AND or top == at.OR
    if grouped and begin + 2 + programs.code[begin + 1] != end:
        return False
    start = into.sizes[at.WORDS]
    if not grouped or _is_flat(programs, begin + 2, end):
        first = begin + 2 if grouped else begin
        _emit(into, at.AND_OF_ORS if top == at.OR else at.OR_OF_ANDS)
        _emit(into, 1)
        _emit(into, end - first)
        return first < end and _test_facts(programs, first, end, into)
    _emit(into, at.OR_OF_ANDS if top == at.OR else at.AND_OF_ORS)
    _emit(into, 0)
    return _sizes(programs, begin + 2, end, into, start) and _members(programs, begin + 2, end, into)


@kernel()
def _sizes(programs: Programs, begin: Any, end: Any, into: Translation, start: Any) -> Any:
    """Writes how many facts each group has; an empty group and one with groups in it do not fit."""
    place = begin
    while place < end:
        inner = programs.code[place] & _OP <= at.OR
        size = np.int64(programs.code[place + 1]) if inner else np.int64(2)
        if size == 0 or (inner and not _is_flat(programs, place + 2, place + 2 + size)):
            return False
        _emit(into, size)
        into.coded.code[start + 1] += 1
        place += size + 2 if inner else 2
    return True


@kernel()
def _members(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    fits = True
    place = begin
    while place < end and fits:
        inner = programs.code[place] & _OP <= at.OR
        size = np.int64(programs.code[place + 1]) if inner else np.int64(0)
        first = place + 2 if inner else place
        place += size + 2
        fits = _test_facts(programs, first, place, into)
    return fits


@kernel()
def _is_flat(programs: Programs, begin: Any, end: Any) -> Any:
    flat = True
    for place in range(begin, end, 2):
        flat &= programs.code[place] & _OP > at.OR
    return flat


@kernel()
def _test_facts(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    """Writes the facts of the tests between two places, if all of them have such."""
    fits = True
    for place in range(begin, end, 2):
        fits = fits and _facts_of_test(programs, programs.code[place], programs.code[place + 1], into)
    return fits


@kernel()
def _facts_of_test(programs: Programs, word: Any, operand: Any, into: Translation) -> Any:
    """Writes the two facts of a test, if it has such."""
    op, negative = word & _OP, word & _NEGATIVE != 0
    attribute = np.int64(word >> _SHIFT)
    if op <= at.NUMBER_IN:
        return _number_facts(programs, op, negative, attribute, operand, into)
    if op == at.WORD_EQ or op == at.WORD_IN:
        holding = _word_fact(operand, into) if op == at.WORD_EQ else _word_set_fact(programs, operand, into)
        return _two_facts(into, negative, holding, _kind_fact(attribute, at.ONE_STRING, into))
    if op == at.WORD_NE and not negative:
        return _two_facts(into, True, _word_fact(operand, into), _kind_fact(attribute, at.ONE_STRING, into))
    if op == at.TRUTH:
        holding = _kind_fact(attribute, at.TRUES if operand == 1 else at.FALSES, into)
        return _two_facts(into, negative, holding, _kind_fact(attribute, at.ONE_BOOLEAN, into))
    return op == at.IS_NULL and _two_facts(
        into, not negative, _kind_fact(attribute, at.ANY, into), np.int64(at.ALL_LANES)
    )


@kernel()
def _number_facts(programs: Programs, op: Any, negative: Any, attribute: Any, operand: Any, into: Translation) -> Any:
    """A test of numbers; NOT BETWEEN has no such form."""
    single = _kind_fact(attribute, at.ONE_NUMBER, into)
    if op == at.NUMBER_IN:
        return _two_facts(into, negative, _bound_set_fact(programs, attribute, operand, into), single)
    facts = _bound(programs.numbers[operand], attribute, into)
    if op == at.NUMBER_GE:
        return _two_facts(into, not negative, facts + at.BELOW, single)
    if op == at.NUMBER_LE:
        return _two_facts(into, negative, facts + at.UPTO, single)
    if op == at.NUMBER_BETWEEN:
        if negative:
            return False
        _emit(into, _bound(programs.numbers[operand + 1], attribute, into) + at.UPTO)
        _emit(into, facts + at.BELOW)
        return True
    return _two_facts(
        into, negative == (op == at.NUMBER_EQ), _equal_fact(programs.numbers[operand], attribute, into), single
    )


@kernel()
def _two_facts(into: Translation, negative: Any, holding: Any, known: Any) -> Any:
    """The lanes of `holding`; negated, the other lanes of `known`."""
    _emit(into, known if negative else holding)
    _emit(into, holding if negative else np.int64(at.NO_LANES))
    return True


@kernel()
def _new_facts(into: Translation, count: Any) -> Any:
    first = into.sizes[at.FACTS]
    into.sizes[at.FACTS] = first + count
    return first


@kernel()
def _kind_fact(attribute: Any, kind: Any, into: Translation) -> Any:
    if into.coded.attribute_facts[attribute] < 0:
        into.coded.attribute_facts[attribute] = _new_facts(into, at.KIND_FACTS)
    return np.int64(into.coded.attribute_facts[attribute]) + kind


@kernel()
def _word_fact(word: Any, into: Translation) -> Any:
    if into.coded.word_facts[word] < 0:
        into.coded.word_facts[word] = _new_facts(into, 1)
    return np.int64(into.coded.word_facts[word])


@kernel()
def _word_set_fact(programs: Programs, operand: Any, into: Translation) -> Any:
    """The fact of a set. Its words have facts too, by which is seen what was learnt about them already."""
    if into.set_facts[operand] < 0:
        for place in range(operand + 1, operand + 1 + programs.sets[operand]):
            _word_fact(programs.sets[place], into)
        into.set_facts[operand] = _new_facts(into, 1)
        number = into.sizes[at.WORD_SETS]
        into.coded.word_sets[number, 0], into.coded.word_sets[number, 1] = operand, into.set_facts[operand]
        into.sizes[at.WORD_SETS] = number + 1
    return np.int64(into.set_facts[operand])


@kernel()
def _bound_set_fact(programs: Programs, attribute: Any, operand: Any, into: Translation) -> Any:
    place = into.sizes[at.BOUND_SETS]
    count = np.int64(programs.numbers[operand])
    fact = _new_facts(into, 1)
    into.coded.bound_sets[place], into.coded.bound_sets[place + 1] = fact, count
    for number in range(count):
        _bound(programs.numbers[operand + 1 + number], attribute, into)
        slot = _slot(programs.numbers[operand + 1 + number], attribute, into)
        into.coded.bound_sets[place + 2 + number] = into.bound_slots[slot]
    into.sizes[at.BOUND_SETS] = place + 2 + count
    return fact


@kernel()
def _bound(number: Any, attribute: Any, into: Translation) -> Any:
    """The facts of this attribute's bound, found or made."""
    slot = _slot(number, attribute, into)
    if into.bound_slots[slot] < 0:
        bound = into.sizes[at.BOUNDS]
        into.bound_slots[slot] = bound
        into.coded.bounds[bound], into.coded.bound_attributes[bound] = number, attribute
        into.coded.bound_facts[bound], into.coded.equal_facts[bound] = _new_facts(into, 2), -1
        into.sizes[at.BOUNDS] = bound + 1
    return np.int64(into.coded.bound_facts[into.bound_slots[slot]])


@kernel()
def _equal_fact(number: Any, attribute: Any, into: Translation) -> Any:
    """The fact that lanes equal a bound, which is there already."""
    bound = into.bound_slots[_slot(number, attribute, into)]
    if into.coded.equal_facts[bound] < 0:
        into.coded.equal_facts[bound] = _new_facts(into, 1)
    return np.int64(into.coded.equal_facts[bound])


@kernel(inline=True)
def _bound_at(into: Translation, slot: Any, wanted: Any) -> Any:
    known = into.bound_slots[slot]
    if known < 0:
        return FREE
    number, attribute = wanted
    same = into.coded.bounds[known] == number and into.coded.bound_attributes[known] == attribute
    return SAME if same else ANOTHER


_search_bounds = search(_bound_at)


@kernel()
def _slot(number: Any, attribute: Any, into: Translation) -> Any:
    """Where a bound is, or would be."""
    fraction, exponent = math.frexp(number)
    key = mixed(np.uint64(np.int64(fraction * _WHOLE) + exponent), np.uint64(attribute + 1))
    return _search_bounds(into, len(into.bound_slots), key, (number, attribute))


@kernel((_TRANSLATION,))
def enter(into: Translation) -> None:
    """Enters the bounds into a table that is empty."""
    for bound in range(into.sizes[at.BOUNDS]):
        into.bound_slots[_slot(into.coded.bounds[bound], into.coded.bound_attributes[bound], into)] = bound
