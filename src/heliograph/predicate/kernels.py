"""Predicates and events in kernels: JSON to cells, up to 64 events on a board, and the truth of compiled code for
all of them at once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import float64, int8, int32, int64, uint8, uint64

from heliograph.compiled.compile import kernel
from heliograph.compiled.types import INT32S as TYPES_INT32S
from heliograph.compiled.types import ROWS, array, named, rows
from heliograph.predicate import layout as board_layout
from heliograph.predicate.layout import (
    ANY_CHARACTER,
    ANY_TEXT,
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
    Events,
    Facts,
    Floats,
    Int32s,
    Int64s,
    Names,
    Programs,
    Quick,
    Sorted,
    Translation,
)
from heliograph.predicate.layout import Job as LayoutJob
from heliograph.vocabulary.kernels import step

# ----------------------------------------------------------------------------------------------------------------------
# Numba's types for compiled targeting, encoded events, boards and exchanges.
# ----------------------------------------------------------------------------------------------------------------------

INT32S, INT64S, FLOATS, BYTES, MASKS = (array(dtype) for dtype in (int32, int64, float64, uint8, uint64))
NEW_INT32S, NEW_INT64S, NEW_FLOATS, NEW_BYTES, NEW_MASKS = (
    array(dtype, writable=True) for dtype in (int32, int64, float64, uint8, uint64)
)
INT32_ROWS, NEW_INT32_ROWS, NEW_MASK_ROWS = rows(int32), rows(int32, writable=True), rows(uint64, writable=True)

PROGRAMS: Any = named(board_layout.Programs, INT64S, INT32S, FLOATS, INT32S, INT64S, BYTES)
CELLS: Any = named(board_layout.Cells, INT64S, INT32S, BYTES, FLOATS, INT32S, INT64S, INT32S, BYTES)
EVENTS: Any = named(board_layout.Events, PROGRAMS, CELLS, rows(int8))
BOARD: Any = named(
    board_layout.Board,
    NEW_INT64S,
    NEW_INT32S,
    NEW_INT32_ROWS,
    NEW_MASK_ROWS,
    NEW_FLOATS,
    NEW_MASKS,
    NEW_INT64S,
    NEW_BYTES,
    NEW_MASKS,
    NEW_INT64S,
    NEW_INT64S,
    NEW_INT64S,
    NEW_MASKS,
)


# ----------------------------------------------------------------------------------------------------------------------
# Texts in UTF-8 by the order of their bytes, which is that of their code points, and against LIKE patterns.
# ----------------------------------------------------------------------------------------------------------------------


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
        if j < stop and pattern[j] == ANY_TEXT:
            j += 1
            again, resume = np.int64(j), i
            continue
        if i == end and j == stop:
            return True
        if i < end and j < stop and (pattern[j] == ANY_CHARACTER or pattern[j] == text[i]):
            i = _following(text, i, end) if pattern[j] == ANY_CHARACTER else i + 1
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


# ----------------------------------------------------------------------------------------------------------------------
# Numbers of JSON: the grammar of RFC 8259, and decimal digits to the nearest float.
#
# The law: a number that is given is the one that Python's `int` and `float` give, in every bit; where these few lines
# cannot be sure of that they say so, and Python decides. Up to 19 digits fit into 64 bits. If they and the power of
# ten are floats themselves, one multiplication or division rounds correctly (Clinger, 1990). Otherwise the digits are
# multiplied by the leading 64 or 128 bits of a power of five (Lemire, 2021: Number parsing at a gigabyte per second),
# which decides the rounding unless the product ends in ones only.
# ----------------------------------------------------------------------------------------------------------------------

_LOWEST, _HIGHEST = -300, 288  # powers of ten; beyond them 19 digits may be subnormal or infinite
_DIGITS = 19
_BITS = 53
_EXACT = np.uint64(1 << _BITS)
_ZERO, _TEN = np.uint64(0), np.uint64(10)
_ONE, _32, _LOW_32 = np.uint64(1), np.uint64(32), np.uint64(0xFFFFFFFF)
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
def _product(left: Any, right: Any) -> Any:
    """The upper and lower 64 bits of a product of two numbers of 64 bits."""
    left_high, left_low = left >> _32, left & _LOW_32
    right_high, right_low = right >> _32, right & _LOW_32
    low, middle, other = left_low * right_low, left_high * right_low, left_low * right_high
    carried = (low >> _32) + (middle & _LOW_32) + (other & _LOW_32)
    high = left_high * right_high + (middle >> _32) + (other >> _32) + (carried >> _32)
    return high, (carried << _32) | (low & _LOW_32)


@kernel()
def _leading_zeros(digits: Any) -> Any:
    count = 0
    while not digits >> np.uint64(63):
        digits <<= _ONE
        count += 1
    return count


@kernel()
def _rounded(digits: Any, power: int) -> Any:
    """digits × 10^power as the nearest float, or -1.0 where that is not certain. There are digits."""
    if power < _LOWEST or power > _HIGHEST:
        return -1.0
    shift = _leading_zeros(digits)
    digits <<= np.uint64(shift)
    high, low = _product(digits, _UPPER[power - _LOWEST])
    if high & _CLOSE == _CLOSE:
        more, _ = _product(digits, _LOWER[power - _LOWEST])
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
def nearest(digits: Any, power: int) -> Any:
    """digits × 10^power as the nearest float, or -1.0 where that is not certain."""
    if digits == _ZERO:
        return 0.0
    if digits <= _EXACT and -22 <= power <= 22:
        number = np.float64(digits)
        return number * _TENS[power] if power >= 0 else number / _TENS[-power]
    return _rounded(digits, power)


@kernel()
def _is_digit(text: Bytes, at: int, end: int) -> Any:
    return at < end and 48 <= text[at] <= 57


@kernel()
def _digits(text: Bytes, at: int, end: int, digits: Any, count: int) -> Any:
    """Appends the digits from `at` on: where they end, their value, and how many there are after leading zeros."""
    while at < end and 48 <= text[at] <= 57:
        digits = digits * _TEN + np.uint64(text[at] - 48)
        if count or digits != _ZERO:  # a wrapped value may be 0 again
            count += 1
        at += 1
    return at, digits, count


@kernel()
def _exponent(text: Bytes, at: int, end: int) -> Any:
    """The exponent after an E, and where it ends, -1 if it is none; beyond all floats it stays just beyond them."""
    negative = at < end and text[at] == 45
    if negative or (at < end and text[at] == 43):
        at += 1
    power = 0
    if not _is_digit(text, at, end):
        return -1, power
    while _is_digit(text, at, end):
        power = power * 10 + int(text[at] - 48) if power < _HIGHEST * 100 else power
        at += 1
    return at, -power if negative else power


@kernel()
def _whole(digits: Any, negative: Any) -> Any:
    """An integer of at most 18 digits: its kind and float; one that no float equals goes with the float below it."""
    exact = np.int64(digits)
    if negative:
        exact = -exact
    number = np.float64(exact)
    if np.int64(number) == exact:
        return NUMBER, number
    return ODD, number if np.int64(number) < exact else np.nextafter(number, -np.inf)


@kernel()
def read_number(text: Bytes, at: int, end: int) -> Any:
    """The number at `at`: where it ends, -1 if Python has to look at it, its kind, and the float."""
    negative = text[at] == 45
    if negative:
        at += 1
    if not _is_digit(text, at, end):
        return -1, 0, 0.0
    first = at
    at, digits, count = _digits(text, at, end, _ZERO, 0)
    if text[first] == 48 and at > first + 1:
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
        kind, number = _whole(digits, negative)
        return at, kind, number
    number = nearest(digits, power)
    if number < 0.0:
        return -1, 0, 0.0
    return at, NUMBER, -number if negative and number > 0.0 else number


# ----------------------------------------------------------------------------------------------------------------------
# The tokens of JSON (RFC 8259) and whole values that nobody asks for: where each ends.
#
# Positions are those of bytes in a text. -1 in place of one stands for giving up: the text is no JSON, or has
# something that is left to Python, such as numbers that `decimals` is not sure of and more than 64 levels. What is
# beyond ASCII counts as part of a string and as nothing else; that it is UTF-8 is made sure of before.
# ----------------------------------------------------------------------------------------------------------------------

QUOTE, COMMA = 34, 44
OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT = 91, 93, 123, 125
_BACKSLASH, _COLON, _MINUS = 92, 58, 45
_LEVELS = 64
_JSON_TOKENS_ONE = np.uint64(1)


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
            levels = (levels << _JSON_TOKENS_ONE) | (_JSON_TOKENS_ONE if opening == OPEN_OBJECT else np.uint64(0))
            at = skip_space(text, at + 1, end)
            if at == end or text[at] != opening + 2:  # the closing bracket of either is two further
                at = _skip_key(text, levels, at, end)
                if at < 0:
                    return -1
                continue
        else:
            at = _skip_plain(text, at, end)
            if at < 0:
                return -1
            if depth:
                at = skip_space(text, at, end)
        while depth and at < end and text[at] == (CLOSE_OBJECT if levels & _JSON_TOKENS_ONE else CLOSE_LIST):
            depth -= 1
            levels >>= _JSON_TOKENS_ONE
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
    if not levels & _JSON_TOKENS_ONE:
        return at
    if at == end or text[at] != QUOTE:
        return -1
    close, _ = string_end(text, at + 1, end)
    return -1 if close < 0 else skip_colon(text, close + 1, end)


@kernel()
def _skip_plain(text: Bytes, at: int, end: int) -> Any:
    if text[at] == QUOTE:
        close, _ = string_end(text, at + 1, end)
        return -1 if close < 0 else close + 1
    at, _, _ = bare(text, at, end)
    return at


# ----------------------------------------------------------------------------------------------------------------------
# Strings of JSON with escapes to the UTF-8 that they spell.
#
# The law: the bytes are those of the decoded text; half of a surrogate pair, which JSON can spell and UTF-8 cannot,
# has the three bytes that its number would have. They are never more than the bytes of the string as it is spelled.
# ----------------------------------------------------------------------------------------------------------------------

_JSON_ESCAPES_BACKSLASH, _U = 92, 117


@kernel()
def unescape(text: Bytes, at: int, end: int, spare: Bytes, used: int) -> Any:
    """Writes the bytes of a string whose escapes are known to be good; returns where they end."""
    while at < end:
        if text[at] != _JSON_ESCAPES_BACKSLASH:
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
            if 0xD800 <= code < 0xDC00 and at + 6 <= end and text[at] == _JSON_ESCAPES_BACKSLASH and text[at + 1] == _U:
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


# ----------------------------------------------------------------------------------------------------------------------
# Finding the names and words of events in a snapshot of what is known.
#
# The law: a search gives what it gave when the snapshot was taken. A number beyond the snapshot's arrays was entered
# later, into a slot that was empty then, and so ends the search just as the empty slot would have.
# `vocabulary.hashtable` holds the twin of the hash in plain Python; the two must agree in every bit. Heads are never
# 0: texts of NUL bytes alone would hash to their lengths then, whatever the key is.
# ----------------------------------------------------------------------------------------------------------------------

NAMES: Any = named(Names, uint64, INT32S, INT64S, BYTES, INT32S, BYTES, INT32S, INT32S, INT64S, BYTES)
NAME_HEAD = 1  # that of a word is one more than its attribute
_NAMES_ONE, _8 = np.uint64(1), np.uint64(8)


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


@kernel()
def find_name(names: Names, text: Bytes, begin: int, end: int) -> Any:
    """The number of a first name, or -1."""
    slots, count = names.name_slots, len(names.name_attributes)
    mask = np.uint64(len(slots) - 1)
    slot = _hash(NAME_HEAD, text, begin, end, names.key) & mask
    while 0 <= slots[slot] < count:
        if _is(names.name_offsets, names.name_bytes, slots[slot], text, begin, end):
            return np.int64(slots[slot])
        slot = (slot + _NAMES_ONE) & mask
    return np.int64(-1)


@kernel()
def find_word(names: Names, attribute: Any, text: Bytes, begin: int, end: int) -> Any:
    """The number of a string constant of one attribute, or -1."""
    slots, count = names.word_slots, len(names.word_attributes)
    mask = np.uint64(len(slots) - 1)
    slot = _hash(attribute + 1, text, begin, end, names.key) & mask
    while 0 <= slots[slot] < count:
        number = slots[slot]
        if names.word_attributes[number] == attribute and _is(
            names.word_offsets, names.word_bytes, number, text, begin, end
        ):
            return number
        slot = (slot + _NAMES_ONE) & mask
    return np.int32(-1)


# ----------------------------------------------------------------------------------------------------------------------
# JSON objects to the cells of the attributes that are known, a whole column of them at a time.
#
# The law: an event is either given the cells that its decoded tree has (`targeting.encoding` holds the twin in plain
# Python), or none and the mark that Python has to decode it: because its text is no JSON, or in one of the rare
# shapes that are not worth the lines here (a known name twice, one with longer paths that begins a list or an object,
# numbers that `decimals` leaves to Python, more than 64 levels).
#
# Positions are those of bytes in the column's data. -1 in place of one stands for giving up. Strings with escapes are
# spelled out in spare bytes, which lie behind the column's data as far as the cells are concerned. All parts are
# copied into the one kernel: an event of six attributes then takes 0.35 µs, and 1.1 µs when the arrays are handed
# from part to part.
# ----------------------------------------------------------------------------------------------------------------------

ROW, COUNT, NEEDED, SPARED = 0, 1, 2, 3  # of the state


class Memory(NamedTuple):
    """What is kept from event to event: the last one that had each name, and the name at each place of the last one.

    Events of one source have their names in one order, so that comparing with the last name at a place finds most.
    `state` counts rows, cells and spare bytes.
    """

    stamps: Int64s
    places: Int32s
    spare: Bytes
    state: Int64s


class Job(NamedTuple):
    """Everything that the parts below read and write."""

    names: Names
    cells: Cells
    memory: Memory


_CELLS: Any = named(Cells, NEW_INT64S, NEW_INT32S, NEW_BYTES, NEW_FLOATS, NEW_INT32S, NEW_INT64S, NEW_INT32S, BYTES)
_MEMORY: Any = named(Memory, NEW_INT64S, NEW_INT32S, NEW_BYTES, NEW_INT64S)


@kernel((named(Job, NAMES, _CELLS, _MEMORY), INT64S, NEW_BYTES))
def scan(job: Job, offsets: Int64s, hard: Bytes) -> None:
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
def _event(job: Job, stamp: int, count: int, at: int, end: int) -> Any:
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
def _name(job: Job, place: int, at: int, end: int) -> Any:
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
def _value(job: Job, name: int, count: int, at: int, end: int) -> Any:
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
def _list(job: Job, attribute: Any, count: int, at: int, end: int) -> Any:
    """Writes the marker of a list and the cells of its elements; `at` is after its bracket."""
    cells, text = job.cells, job.cells.text
    _json_scanning_write(cells, count, LIST, 0.0)
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
def _json_scanning_write(cells: Cells, count: int, kind: int, number: float) -> None:
    """A cell without a text."""
    cells.kind[count] = kind
    cells.number[count] = number
    cells.word[count] = -1
    cells.begin[count] = 0
    cells.size[count] = 0


@kernel(inline=True)
def _label(job: Job, attribute: Any, count: int) -> None:
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
def _single(job: Job, count: int, at: int, end: int) -> Any:
    """Writes the cell of a value that is no list of its own, kind 0 for null; returns the position after it."""
    cells, text = job.cells, job.cells.text
    if text[at] == QUOTE:
        close, plain = string_end(text, at + 1, end)
        if close < 0:
            return -1
        _json_scanning_write(cells, count, STRING, 0.0)
        if plain:
            cells.begin[count], cells.size[count] = at + 1, close - at - 1
        else:
            used = job.memory.state[SPARED]
            finish = unescape(text, at + 1, close, job.memory.spare, used)
            cells.begin[count], cells.size[count] = len(text) + used, finish - used
            job.memory.state[SPARED] = finish
        return close + 1
    if text[at] == OPEN_OBJECT or text[at] == OPEN_LIST:
        _json_scanning_write(cells, count, OTHER, 0.0)
        return skip_value(text, at, end)
    finish, kind, number = bare(text, at, end)
    _json_scanning_write(cells, count, kind, number)
    if kind == ODD:
        cells.begin[count], cells.size[count] = at, finish - at
    return finish


# ----------------------------------------------------------------------------------------------------------------------
# Up to 64 events onto a board: their cells by attribute, numbers sorted, words marked with the lanes that hold them.
#
# The law: a board depends on the chosen events alone; whatever an earlier filling left is overwritten or out of date.
# ----------------------------------------------------------------------------------------------------------------------

_LANES_ONE, _NONE = np.uint64(1), np.uint64(0)
_KIND = np.uint8(0x7F)


@kernel((CELLS, INT64S, BOARD))
def gather(cells: Cells, chosen: Int64s, board: Board) -> None:
    """Lays the chosen events out, each in the lane of its place in `chosen`."""
    lay_out(cells, chosen, board)


@kernel()
def lay_out(cells: Cells, chosen: Int64s, board: Board) -> None:
    """`gather`, as a part of other kernels."""
    board.head[board_layout.STAMP] += 1
    board.head[board_layout.SIZE] = len(chosen)
    board.head[board_layout.ALL_PLAIN] = 1
    for row in range(board.head[board_layout.ROWS]):
        board.slots[board.rows[row, board_layout.ATTRIBUTE]] = -1
    board.head[board_layout.ROWS] = 0
    for event in chosen:
        for cell in range(cells.offsets[event], cells.offsets[event + 1]):
            _count(cells, cell, board)
    _lay_rows(board)
    for lane in range(len(chosen)):
        event = chosen[lane]
        board.events[lane] = event
        for cell in range(cells.offsets[event], cells.offsets[event + 1]):
            _place(cells, cell, lane, board)
    for row in range(board.head[board_layout.ROWS]):
        _mark(board, row)


@kernel()
def _count(cells: Cells, cell: Any, board: Board) -> None:
    attribute = cells.attribute[cell]
    row = board.slots[attribute]
    if row < 0:
        row = board.head[board_layout.ROWS]
        board.head[board_layout.ROWS] = row + 1
        board.slots[attribute] = row
        board.rows[row, board_layout.ATTRIBUTE] = attribute
        board.rows[row, board_layout.NUMBERS_END] = board.rows[row, board_layout.CELLS_END] = 0
        board.rows[row, board_layout.PLAIN] = 1
        for kind in range(7):
            board.kinds[row, kind] = _NONE
    board.rows[row, board_layout.CELLS_END] += 1
    if cells.kind[cell] == NUMBER:
        board.rows[row, board_layout.NUMBERS_END] += 1


@kernel()
def _lay_rows(board: Board) -> None:
    """Counts to beginnings; the ends move up again as cells are placed."""
    numbers = placed = 0
    for row in range(board.head[board_layout.ROWS]):
        count, size = board.rows[row, board_layout.NUMBERS_END], board.rows[row, board_layout.CELLS_END]
        board.rows[row, board_layout.NUMBERS] = board.rows[row, board_layout.NUMBERS_END] = numbers
        board.rows[row, board_layout.CELLS] = board.rows[row, board_layout.CELLS_END] = placed
        numbers += count
        placed += size


@kernel()
def _place(cells: Cells, cell: Any, lane: Any, board: Board) -> None:
    row = board.slots[cells.attribute[cell]]
    bit = _LANES_ONE << np.uint64(lane)
    end = board.rows[row, board_layout.CELLS_END]
    board.cells[end], board.lanes[end] = cell, lane
    board.rows[row, board_layout.CELLS_END] = end + 1
    board.kinds[row, board_layout.ANY] |= bit
    kind = cells.kind[cell]
    if kind == NUMBER:
        board.kinds[row, board_layout.ONE_NUMBER] |= bit
        _insert(board, row, cells.number[cell], bit)
    elif kind & _KIND == STRING:
        if kind == STRING:
            board.kinds[row, board_layout.ONE_STRING] |= bit
        _hold(board, cells.word[cell], bit)
    elif kind == LIST:
        board.kinds[row, board_layout.LISTS] |= bit
        board.rows[row, board_layout.PLAIN] = board.head[board_layout.ALL_PLAIN] = 0
    elif kind == ODD:
        board.kinds[row, board_layout.ONE_NUMBER] |= bit
        board.rows[row, board_layout.PLAIN] = board.head[board_layout.ALL_PLAIN] = 0
    elif kind & _KIND == TRUE or kind & _KIND == FALSE:
        if kind & np.uint8(LISTED) == 0:
            board.kinds[row, board_layout.ONE_BOOLEAN] |= bit
        board.kinds[row, board_layout.TRUES if kind & _KIND == TRUE else board_layout.FALSES] |= bit


@kernel()
def _insert(board: Board, row: Any, number: Any, bit: Any) -> None:
    """Into the row's sorted numbers; `marks` holds each number's own lane for now."""
    first, place = board.rows[row, board_layout.NUMBERS], board.rows[row, board_layout.NUMBERS_END]
    board.rows[row, board_layout.NUMBERS_END] = place + 1
    while place > first and board.keys[place - 1] > number:
        board.keys[place] = board.keys[place - 1]
        board.marks[place + row] = board.marks[place + row - 1]
        place -= 1
    board.keys[place] = number
    board.marks[place + row] = bit


@kernel()
def _hold(board: Board, word: Any, bit: Any) -> None:
    if 0 <= word < len(board.words):
        if board.stamps[word] != board.head[board_layout.STAMP]:
            board.stamps[word] = board.head[board_layout.STAMP]
            board.words[word] = _NONE
        board.words[word] |= bit


@kernel()
def _mark(board: Board, row: Any) -> None:
    """Each number's own lane to the lanes of all smaller ones."""
    below = _NONE
    for place in range(board.rows[row, board_layout.NUMBERS] + row, board.rows[row, board_layout.NUMBERS_END] + row):
        own = board.marks[place]
        board.marks[place] = below
        below |= own
    board.marks[board.rows[row, board_layout.NUMBERS_END] + row] = below


# ----------------------------------------------------------------------------------------------------------------------
# Tests that look at cells one by one: on lists and odd integers, on order and patterns of texts, between attributes.
#
# On a list a test is two-valued: it is true if one element passes, else false. A test of one value is unknown where
# the value is of another kind.
# ----------------------------------------------------------------------------------------------------------------------

_RARE_TRUTH_ONE, _RARE_TRUTH_NONE = np.uint64(1), np.uint64(0)
_OP = np.int32(0x7F)


@kernel()
def rare(events: Events, board: Board, word: Any, operand: Any, asked: Any) -> Any:
    """The lanes of `asked` for which one test holds."""
    op, negative = word & _OP, word & np.int32(board_layout.NEGATIVE) != 0
    if op == board_layout.SLOW:
        return _slow(events, board, operand, asked, 0 if negative else 1)
    attribute = word >> np.int32(board_layout.ATTRIBUTE_SHIFT)
    row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
    if op >= board_layout.PAIR_EQ:
        other = board.slots[operand] if operand < len(board.slots) else np.int32(-1)
        return _pairs(events, board, row, other, op, asked, negative)
    if row < 0:
        return _RARE_TRUTH_NONE
    single = board_layout.ONE_NUMBER if op <= board_layout.NUMBER_IN else board_layout.ONE_STRING
    known = board.kinds[row, single] | board.kinds[row, board_layout.LISTS]
    true = _passing(events, board, row, op, operand)
    if op == board_layout.WORDS_WITHIN:
        true = known & ~true
    return asked & known & ~true if negative else asked & true


@kernel()
def _slow(events: Events, board: Board, operand: Any, asked: Any, wanted: Any) -> Any:
    """What Python decided: 1 true, 0 false."""
    found = _RARE_TRUTH_NONE
    for lane in range(board.head[board_layout.SIZE]):
        if events.slow[operand, board.events[lane]] == wanted:
            found |= _RARE_TRUTH_ONE << np.uint64(lane)
    return found & asked


@kernel()
def _passing(events: Events, board: Board, row: Any, op: Any, operand: Any) -> Any:
    """The lanes with a cell that passes; for WORDS_WITHIN those with a string outside the set."""
    found = _RARE_TRUTH_NONE
    for place in range(board.rows[row, board_layout.CELLS], board.rows[row, board_layout.CELLS_END]):
        if _passes(events, board.cells[place], op, operand):
            found |= _RARE_TRUTH_ONE << np.uint64(board.lanes[place])
    return found


@kernel()
def _passes(events: Events, cell: Any, op: Any, operand: Any) -> Any:
    kind = events.cells.kind[cell] & _KIND
    if op <= board_layout.NUMBER_IN:
        if kind == board_layout.NUMBER:
            return _number(events.programs.numbers, op, operand, events.cells.number[cell])
        return kind == board_layout.ODD and _odd(events.programs.numbers, op, operand, events.cells.number[cell])
    if kind != board_layout.STRING:
        return False
    if op == board_layout.WORD_NE:
        return events.cells.word[cell] != operand
    if op == board_layout.WORDS_WITHIN:
        return not _contains(events.programs.sets, operand, events.cells.word[cell])
    return _text(events, cell, op, operand)


@kernel()
def _number(numbers: Floats, op: Any, operand: Any, value: Any) -> Any:
    if op == board_layout.NUMBER_IN:
        found = False
        for place in range(operand + 1, operand + 1 + np.int64(numbers[operand])):
            found |= numbers[place] == value
        return found
    if op == board_layout.NUMBER_EQ:
        return value == numbers[operand]
    if op == board_layout.NUMBER_NE:
        return value != numbers[operand]
    if op == board_layout.NUMBER_LE:
        return value <= numbers[operand]
    return value >= numbers[operand] and (op == board_layout.NUMBER_GE or value <= numbers[operand + 1])


@kernel()
def _odd(numbers: Floats, op: Any, operand: Any, below: Any) -> Any:
    """An integer strictly between `below` and the next float, against floats."""
    if op == board_layout.NUMBER_NE:
        return True
    if op == board_layout.NUMBER_LE:
        return below < numbers[operand]
    if op == board_layout.NUMBER_GE:
        return below >= numbers[operand]
    return op == board_layout.NUMBER_BETWEEN and below >= numbers[operand] and below < numbers[operand + 1]


@kernel()
def _contains(sets: Int32s, operand: Any, word: Any) -> Any:
    found = False
    for place in range(operand + 1, operand + 1 + sets[operand]):
        found |= sets[place] == word
    return found


@kernel()
def _text(events: Events, cell: Any, op: Any, operand: Any) -> Any:
    programs = events.programs
    first = events.cells.begin[cell]
    last = first + events.cells.size[cell]
    begin, end = programs.text_offsets[operand], programs.text_offsets[operand + 1]
    if op == board_layout.TEXT_LIKE:
        return is_like(events.cells.text, first, last, programs.texts, begin, end)
    order = compare_texts(events.cells.text, first, last, programs.texts, begin, end)
    if op == board_layout.TEXT_GE:
        return order >= 0
    if op == board_layout.TEXT_GT:
        return order > 0
    return order <= 0 if op == board_layout.TEXT_LE else order < 0


@kernel()
def _pairs(events: Events, board: Board, row: Any, other: Any, op: Any, asked: Any, negative: Any) -> Any:
    """Attribute against attribute: of lists one pair of elements has to pass, of single values the two."""
    found = _RARE_TRUTH_NONE
    for lane in range(board.head[board_layout.SIZE]):
        bit = _RARE_TRUTH_ONE << np.uint64(lane)
        if asked & bit == _RARE_TRUTH_NONE:
            continue
        truth = _pair(events, board, row, other, op, bit)
        if truth == (0 if negative else 1):
            found |= bit
    return found


@kernel()
def _pair(events: Events, board: Board, row: Any, other: Any, op: Any, bit: Any) -> Any:
    """1 true, 0 false, -1 unknown, in one lane."""
    lists = (row >= 0 and board.kinds[row, board_layout.LISTS] & bit != _RARE_TRUTH_NONE) or (
        other >= 0 and board.kinds[other, board_layout.LISTS] & bit != _RARE_TRUTH_NONE
    )
    truth = 0 if lists else -1
    if row < 0 or other < 0:
        return truth
    for left in range(board.rows[row, board_layout.CELLS], board.rows[row, board_layout.CELLS_END]):
        if _RARE_TRUTH_ONE << np.uint64(board.lanes[left]) != bit:
            continue
        for right in range(board.rows[other, board_layout.CELLS], board.rows[other, board_layout.CELLS_END]):
            if _RARE_TRUTH_ONE << np.uint64(board.lanes[right]) != bit:
                continue
            order = _order(events, board.cells[left], board.cells[right])
            if order != _UNKNOWN:
                if _fits(op, order):
                    return 1
                truth = 0
    return truth


_UNKNOWN = 2


@kernel()
def _order(events: Events, left: Any, right: Any) -> Any:
    """-1, 0 or 1; 2 where two cells cannot be compared."""
    cells = events.cells
    one, two = cells.kind[left] & _KIND, cells.kind[right] & _KIND
    if (one == board_layout.NUMBER or one == board_layout.ODD) and (
        two == board_layout.NUMBER or two == board_layout.ODD
    ):
        a, b = cells.number[left], cells.number[right]
        if a != b or (one == board_layout.NUMBER and two == board_layout.NUMBER):
            return -1 if a < b else np.int64(a > b)
        if one != two:
            return 1 if one == board_layout.ODD else -1
        return _order_digits(events, left, right)
    if one == board_layout.STRING and two == board_layout.STRING:
        first, other = cells.begin[left], cells.begin[right]
        return compare_texts(cells.text, first, first + cells.size[left], cells.text, other, other + cells.size[right])
    truths = one == board_layout.TRUE or one == board_layout.FALSE
    if truths and (two == board_layout.TRUE or two == board_layout.FALSE):
        return np.int64(two) - np.int64(one)  # TRUE is the smaller kind and the larger value
    return _UNKNOWN


@kernel()
def _order_digits(events: Events, left: Any, right: Any) -> Any:
    """Two odd integers above the same float, by their digits."""
    cells = events.cells
    first, other = cells.begin[left], cells.begin[right]
    order = compare_texts(cells.text, first, first + cells.size[left], cells.text, other, other + cells.size[right])
    if cells.size[left] != cells.size[right]:
        order = -1 if cells.size[left] < cells.size[right] else 1
    return order if cells.number[left] > 0 else -order


@kernel()
def _fits(op: Any, order: Any) -> Any:
    if op == board_layout.PAIR_EQ:
        return order == 0
    if op == board_layout.PAIR_NE:
        return order != 0
    if op == board_layout.PAIR_LT:
        return order < 0
    if op == board_layout.PAIR_LE:
        return order <= 0
    return order > 0 if op == board_layout.PAIR_GT else order >= 0


# ----------------------------------------------------------------------------------------------------------------------
# Whether an expression is true of the events on a board: one walk over its code for all lanes at once.
#
# The laws: the answer is a subset of the lanes that were asked about; a group is left as soon as no lane is open;
# lanes do not influence each other. On a plain row a test of numbers is two binary searches among the lanes' sorted
# values.
# ----------------------------------------------------------------------------------------------------------------------

_TRUTH_NONE = np.uint64(0)


@kernel(inline=True)
def holds(events: Events, board: Board, expression: Any, asked: Any) -> Any:
    """The lanes of `asked` for which the expression is true."""
    programs = events.programs
    place, finish = programs.starts[expression], programs.starts[expression + 1]
    kind: Any = board_layout.AND
    depth, open_lanes, found = 0, asked, _TRUTH_NONE
    while True:
        while place == finish or open_lanes == _TRUTH_NONE:
            result = open_lanes if kind == board_layout.AND else found
            if depth == 0:
                return result
            depth -= 1
            place, finish = finish, board.frames[2 * depth]
            kind = board.frames[2 * depth + 1]
            open_lanes, found = board.frame_masks[2 * depth], board.frame_masks[2 * depth + 1]
            if kind == board_layout.AND:
                open_lanes = result
            else:
                found |= result
                open_lanes &= ~result
        word, operand = programs.code[place], programs.code[place + 1]
        place += 2
        if word & _OP <= board_layout.OR:
            board.frames[2 * depth], board.frames[2 * depth + 1] = finish, kind
            board.frame_masks[2 * depth], board.frame_masks[2 * depth + 1] = open_lanes, found
            depth += 1
            kind, found, finish = np.int64(word & _OP), _TRUTH_NONE, place + operand
            continue
        result = _literal(events, board, word, operand, open_lanes)
        if kind == board_layout.AND:
            open_lanes = result
        else:
            found |= result
            open_lanes &= ~result


@kernel(inline=True)
def _literal(events: Events, board: Board, word: Any, operand: Any, asked: Any) -> Any:
    """The lanes of `asked` for which one test holds."""
    op, negative = word & _OP, word & np.int32(board_layout.NEGATIVE) != 0
    attribute = word >> np.int32(board_layout.ATTRIBUTE_SHIFT)
    row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
    if op > board_layout.IS_NULL or (
        op >= board_layout.WORD_NE and op < board_layout.TRUTH and op != board_layout.WORD_IN
    ):
        return rare(events, board, word, operand, asked)
    if row < 0:
        return asked if op == board_layout.IS_NULL and not negative else _TRUTH_NONE
    if op <= board_layout.NUMBER_IN:
        if board.rows[row, board_layout.PLAIN] == 0:
            return rare(events, board, word, operand, asked)
        true = _numbers(board, events.programs.numbers, row, op, operand)
        known = board.kinds[row, board_layout.ONE_NUMBER]
    elif op == board_layout.TRUTH:
        true = board.kinds[row, board_layout.TRUES if operand == 1 else board_layout.FALSES]
        known = board.kinds[row, board_layout.ONE_BOOLEAN] | board.kinds[row, board_layout.LISTS]
    elif op == board_layout.IS_NULL:
        true = ~board.kinds[row, board_layout.ANY]
        known = ~_TRUTH_NONE
    else:
        true = _words(board, events.programs.sets, op, operand)
        known = board.kinds[row, board_layout.ONE_STRING] | board.kinds[row, board_layout.LISTS]
    return asked & known & ~true if negative else asked & true


@kernel(inline=True)
def _numbers(board: Board, numbers: Floats, row: Any, op: Any, operand: Any) -> Any:
    """The lanes whose single number passes; no lane has a list."""
    first, last = np.int64(board.rows[row, board_layout.NUMBERS]), np.int64(board.rows[row, board_layout.NUMBERS_END])
    all_lanes = board.kinds[row, board_layout.ONE_NUMBER]
    if op == board_layout.NUMBER_GE:
        return all_lanes ^ board.marks[_below(board.keys, first, last, numbers[operand]) + row]
    if op == board_layout.NUMBER_LE:
        return board.marks[_upto(board.keys, first, last, numbers[operand]) + row]
    if op == board_layout.NUMBER_BETWEEN:
        low = _below(board.keys, first, last, numbers[operand])
        high = _upto(board.keys, low, last, numbers[operand + 1])
        return board.marks[high + row] ^ board.marks[low + row]
    if op == board_layout.NUMBER_IN:
        found = _TRUTH_NONE
        for place in range(operand + 1, operand + 1 + np.int64(numbers[operand])):
            found |= _equal(board, first, last, row, numbers[place])
        return found
    equal = _equal(board, first, last, row, numbers[operand])
    return equal if op == board_layout.NUMBER_EQ else all_lanes ^ equal


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
    if op == board_layout.WORD_EQ:
        return _word(board, operand)
    found = _TRUTH_NONE
    for place in range(operand + 1, operand + 1 + sets[operand]):
        found |= _word(board, sets[place])
    return found


@kernel(inline=True)
def _word(board: Board, word: Any) -> Any:
    if word < len(board.words) and board.stamps[word] == board.head[board_layout.STAMP]:
        return board.words[word]
    return _TRUTH_NONE


@kernel((EVENTS, BOARD, int64, uint64))
def ask(events: Events, board: Board, expression: Any, asked: Any) -> Any:
    """`holds`, for Python."""
    return holds(events, board, expression, asked)


# ----------------------------------------------------------------------------------------------------------------------
# The facts of a board, all at once: see `quick_layout`.
# ----------------------------------------------------------------------------------------------------------------------

QUICK: Any = named(Quick, INT64S, INT32S, FLOATS, INT32S, INT32S, INT32S, INT32S, INT32S, ROWS, TYPES_INT32S)
SORTED: Any = named(Sorted, INT32S, INT64S, INT32S, INT64S, int64)
FACTS: Any = named(Facts, NEW_MASKS, NEW_INT32S, NEW_INT32S, NEW_INT64S)


@kernel()
def learn(events: Events, quick: Quick, order: Sorted, facts: Facts, board: Board) -> None:
    """Finds out every fact that quick code may ask about the board."""
    for number in range(facts.head[board_layout.TOUCHED]):
        facts.known[facts.touched[number]] = _TRUTH_NONE
    facts.head[board_layout.TOUCHED] = 0
    for row in range(board.head[board_layout.ROWS]):
        attribute = board.rows[row, board_layout.ATTRIBUTE]
        if attribute < len(quick.attribute_facts) and quick.attribute_facts[attribute] >= 0:
            for kind in range(7):
                _put(facts, quick.attribute_facts[attribute] + kind, board.kinds[row, kind])
        for place in range(board.rows[row, board_layout.CELLS], board.rows[row, board_layout.CELLS_END]):
            cell = board.cells[place]
            if events.cells.kind[cell] & _KIND == STRING:
                _learn_word(events.cells.word[cell], quick, order, facts, board)
    _learn_bounds(quick, order, facts, board)
    _learn_sets(events, quick, order, facts, board)


@kernel(inline=True)
def _put(facts: Facts, fact: Any, lanes: Any) -> None:
    """More lanes for a fact."""
    if lanes != _TRUTH_NONE:
        if facts.known[fact] == _TRUTH_NONE:
            facts.touched[facts.head[board_layout.TOUCHED]] = fact
            facts.head[board_layout.TOUCHED] += 1
        facts.known[fact] |= lanes


@kernel()
def _learn_word(word: Any, quick: Quick, order: Sorted, facts: Facts, board: Board) -> None:
    """A word's own fact and those of the sets that hold it, once for all lanes that have it."""
    if word < 0 or word >= len(board.words) or word >= len(quick.word_facts) or quick.word_facts[word] < 0:
        return
    lanes = board.words[word]
    if facts.known[quick.word_facts[word]] != _TRUTH_NONE:
        return
    _put(facts, quick.word_facts[word], lanes)
    if word < len(order.set_ranges) - 1:
        for place in range(order.set_ranges[word], order.set_ranges[word + 1]):
            _put(facts, order.set_facts[place], lanes)


@kernel()
def _learn_bounds(quick: Quick, order: Sorted, facts: Facts, board: Board) -> None:
    """A bound's lanes from one pass over the row's sorted numbers; bounds that came later by themselves."""
    for attribute in range(len(order.ranges) - 1):
        row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
        if row >= 0 and board.rows[row, board_layout.NUMBERS] < board.rows[row, board_layout.NUMBERS_END]:
            _pass(quick, order, facts, board, attribute, row)
            facts.dirty[attribute] = 1
        elif facts.dirty[attribute] != 0:
            facts.dirty[attribute] = 0
            for number in range(order.ranges[attribute], order.ranges[attribute + 1]):
                _know(quick, facts, order.order[number], _TRUTH_NONE, _TRUTH_NONE)
    for bound in range(len(order.order), len(quick.bounds)):
        attribute = quick.bound_attributes[bound]
        row = board.slots[attribute] if attribute < len(board.slots) else np.int32(-1)
        if row >= 0:
            _learn_bound(quick, facts, board, bound, row)
            facts.dirty[attribute] = 1  # it may be among the sorted ones by the time of the next board
        else:
            _know(quick, facts, bound, _TRUTH_NONE, _TRUTH_NONE)


@kernel()
def _pass(quick: Quick, order: Sorted, facts: Facts, board: Board, attribute: Any, row: Any) -> None:
    place, last = np.int64(board.rows[row, board_layout.NUMBERS]), np.int64(board.rows[row, board_layout.NUMBERS_END])
    for number in range(order.ranges[attribute], order.ranges[attribute + 1]):
        bound = order.order[number]
        value = quick.bounds[bound]
        while place < last and board.keys[place] < value:
            place += 1
        below = board.marks[place + row]
        after = place
        while after < last and board.keys[after] == value:
            after += 1
        _know(quick, facts, bound, below, board.marks[after + row])


@kernel()
def _learn_bound(quick: Quick, facts: Facts, board: Board, bound: Any, row: Any) -> None:
    place, last = np.int64(board.rows[row, board_layout.NUMBERS]), np.int64(board.rows[row, board_layout.NUMBERS_END])
    value = quick.bounds[bound]
    while place < last and board.keys[place] < value:
        place += 1
    below = board.marks[place + row]
    while place < last and board.keys[place] == value:
        place += 1
    _know(quick, facts, bound, below, board.marks[place + row])


@kernel(inline=True)
def _know(quick: Quick, facts: Facts, bound: Any, below: Any, upto: Any) -> None:
    first = quick.bound_facts[bound]
    facts.known[first + board_layout.BELOW], facts.known[first + board_layout.UPTO] = below, upto
    if quick.equal_facts[bound] >= 0:
        facts.known[quick.equal_facts[bound]] = upto ^ below


@kernel()
def _learn_sets(events: Events, quick: Quick, order: Sorted, facts: Facts, board: Board) -> None:
    """Sets of words that came later, and all sets of bounds."""
    for number in range(order.set_count, len(quick.word_sets)):
        start = quick.word_sets[number, 0]
        for place in range(start + 1, start + 1 + events.programs.sets[start]):
            word = events.programs.sets[place]
            if word < len(board.words) and board.stamps[word] == board.head[board_layout.STAMP]:
                _put(facts, quick.word_sets[number, 1], board.words[word])
    place = 0
    while place < len(quick.bound_sets):
        last = place + 2 + quick.bound_sets[place + 1]
        for member in range(place + 2, last):
            first = quick.bound_facts[quick.bound_sets[member]]
            _put(
                facts,
                quick.bound_sets[place],
                facts.known[first + board_layout.BELOW] ^ facts.known[first + board_layout.UPTO],
            )
        place = last


# ----------------------------------------------------------------------------------------------------------------------
# Quick code asked about a board. `quick_layout` says what it is.
# ----------------------------------------------------------------------------------------------------------------------

JOB: Any = named(LayoutJob, EVENTS, QUICK, SORTED, FACTS, BOARD)

# To learn a bound takes 3 ns, and to decide an expression without facts some 200 ns longer than with them.
_BOUNDS_A_TEST = 64


@kernel(inline=True)
def accepted(job: LayoutJob, expression: Any, asked: Any) -> Any:
    """The lanes of `asked` for which the expression is true."""
    events, quick, facts, board = job.events, job.quick, job.facts, job.board
    start = quick.starts[expression]
    if start < 0 or board.head[board_layout.ALL_PLAIN] == 0 or not _has_learnt(job):
        return _slowly(events, board, expression, asked)
    groups = np.int64(quick.code[start + 1])
    place = start + 2 + groups
    found = _TRUTH_NONE
    if quick.code[start] == board_layout.OR_OF_ANDS:
        for group in range(groups):
            lanes = asked
            end = place + quick.code[start + 2 + group]
            while place < end:
                lanes &= facts.known[quick.code[place]] & ~facts.known[quick.code[place + 1]]
                place += 2
            found |= lanes
            place = end
        return found
    for group in range(groups):
        found = _TRUTH_NONE
        end = place + quick.code[start + 2 + group]
        while place < end:
            found |= facts.known[quick.code[place]] & ~facts.known[quick.code[place + 1]]
            place += 2
        asked &= found
    return asked


@kernel(inline=True)
def _has_learnt(job: LayoutJob) -> Any:
    """Whether the facts of the board are known; they are learnt when as much was asked as that is worth."""
    facts, stamp = job.facts, job.board.head[board_layout.STAMP]
    if facts.head[board_layout.LEARNT] == stamp:
        return True
    if facts.head[board_layout.ASKED_ABOUT] != stamp:
        facts.head[board_layout.ASKED_ABOUT], facts.head[board_layout.ASKED] = stamp, 0
    facts.head[board_layout.ASKED] += 1
    if facts.head[board_layout.ASKED] * _BOUNDS_A_TEST < len(job.quick.bounds):
        return False
    learn(job.events, job.quick, job.order, facts, job.board)
    facts.head[board_layout.LEARNT] = stamp
    return True


@kernel()
def _slowly(events: Events, board: Board, expression: Any, asked: Any) -> Any:
    return holds(events, board, expression, asked)


@kernel((JOB, int64, uint64))
def quick_ask(job: LayoutJob, expression: Any, asked: Any) -> Any:
    """`accepted`, for Python."""
    return accepted(job, expression, asked)


# ----------------------------------------------------------------------------------------------------------------------
# The code of `Programs` to quick code, expression by expression, as far as it fits the form.
# ----------------------------------------------------------------------------------------------------------------------

_FIRST = np.uint64(0x9E3779B97F4A7C15)
_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
_translating_32 = np.uint64(32)
_WHOLE = 2.0**53  # makes an integer of any float's fraction
_NEW_ROWS: Any = rows(int32, writable=True)
_NEW_QUICK: Any = named(
    Quick,
    NEW_INT64S,
    NEW_INT32S,
    NEW_FLOATS,
    NEW_INT32S,
    NEW_INT32S,
    NEW_INT32S,
    NEW_INT32S,
    NEW_INT32S,
    _NEW_ROWS,
    NEW_INT32S,
)
TRANSLATION: Any = named(Translation, NEW_INT64S, _NEW_QUICK, NEW_INT32S, NEW_INT32S)


@kernel((PROGRAMS, TRANSLATION))
def translate(programs: Programs, into: Translation) -> None:
    """Adds the quick code of the expressions that have none yet; there has to be room for it."""
    for expression in range(into.sizes[board_layout.EXPRESSIONS], len(programs.starts) - 1):
        before = into.sizes[board_layout.WORDS]
        begin, end = programs.starts[expression], programs.starts[expression + 1]
        into.quick.starts[expression] = before
        if not _expression(programs, begin, end, into):
            into.quick.starts[expression] = -1
            into.sizes[board_layout.WORDS] = before
    into.sizes[board_layout.EXPRESSIONS] = len(programs.starts) - 1


@kernel()
def _emit(into: Translation, word: Any) -> None:
    into.quick.code[into.sizes[board_layout.WORDS]] = word
    into.sizes[board_layout.WORDS] += 1


@kernel()
def _expression(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    """Whether it fits; its code is then written."""
    if begin == end:
        return False
    top = programs.code[begin] & _OP
    grouped = top == board_layout.AND or top == board_layout.OR
    if grouped and begin + 2 + programs.code[begin + 1] != end:
        return False
    start = into.sizes[board_layout.WORDS]
    if not grouped or _is_flat(programs, begin + 2, end):
        first = begin + 2 if grouped else begin
        _emit(into, board_layout.AND_OF_ORS if top == board_layout.OR else board_layout.OR_OF_ANDS)
        _emit(into, 1)
        _emit(into, end - first)
        return first < end and _tests(programs, first, end, into)
    _emit(into, board_layout.OR_OF_ANDS if top == board_layout.OR else board_layout.AND_OF_ORS)
    _emit(into, 0)
    return _sizes(programs, begin + 2, end, into, start) and _members(programs, begin + 2, end, into)


@kernel()
def _sizes(programs: Programs, begin: Any, end: Any, into: Translation, start: Any) -> Any:
    """Writes how many facts each group has; an empty group and one with groups in it do not fit."""
    place = begin
    while place < end:
        inner = programs.code[place] & _OP <= board_layout.OR
        size = np.int64(programs.code[place + 1]) if inner else np.int64(2)
        if size == 0 or (inner and not _is_flat(programs, place + 2, place + 2 + size)):
            return False
        _emit(into, size)
        into.quick.code[start + 1] += 1
        place += size + 2 if inner else 2
    return True


@kernel()
def _members(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    fits = True
    place = begin
    while place < end and fits:
        inner = programs.code[place] & _OP <= board_layout.OR
        size = np.int64(programs.code[place + 1]) if inner else np.int64(0)
        first = place + 2 if inner else place
        place += size + 2
        fits = _tests(programs, first, place, into)
    return fits


@kernel()
def _is_flat(programs: Programs, begin: Any, end: Any) -> Any:
    flat = True
    for place in range(begin, end, 2):
        flat &= programs.code[place] & _OP > board_layout.OR
    return flat


@kernel()
def _tests(programs: Programs, begin: Any, end: Any, into: Translation) -> Any:
    """Writes the facts of the tests between two places, if all of them have such."""
    fits = True
    for place in range(begin, end, 2):
        fits = fits and _test(programs, programs.code[place], programs.code[place + 1], into)
    return fits


@kernel()
def _test(programs: Programs, word: Any, operand: Any, into: Translation) -> Any:
    """Writes the two facts of a test, if it has such."""
    op, negative = word & _OP, word & np.int32(board_layout.NEGATIVE) != 0
    attribute = np.int64(word >> np.int32(board_layout.ATTRIBUTE_SHIFT))
    if op <= board_layout.NUMBER_IN:
        return _translating_number(programs, op, negative, attribute, operand, into)
    if op == board_layout.WORD_EQ or op == board_layout.WORD_IN:
        holding = _translating_word(operand, into) if op == board_layout.WORD_EQ else _word_set(programs, operand, into)
        return _translating_pair(into, negative, holding, _of(attribute, board_layout.ONE_STRING, into))
    if op == board_layout.WORD_NE and not negative:
        return _translating_pair(
            into, True, _translating_word(operand, into), _of(attribute, board_layout.ONE_STRING, into)
        )
    if op == board_layout.TRUTH:
        holding = _of(attribute, board_layout.TRUES if operand == 1 else board_layout.FALSES, into)
        return _translating_pair(into, negative, holding, _of(attribute, board_layout.ONE_BOOLEAN, into))
    return op == board_layout.IS_NULL and _translating_pair(
        into, not negative, _of(attribute, board_layout.ANY, into), np.int64(board_layout.ALL_LANES)
    )


@kernel()
def _translating_number(
    programs: Programs, op: Any, negative: Any, attribute: Any, operand: Any, into: Translation
) -> Any:
    """A test of numbers; NOT BETWEEN has no such form."""
    single = _of(attribute, board_layout.ONE_NUMBER, into)
    if op == board_layout.NUMBER_IN:
        return _translating_pair(into, negative, _bound_set(programs, attribute, operand, into), single)
    facts = _bound(programs.numbers[operand], attribute, into)
    if op == board_layout.NUMBER_GE:
        return _translating_pair(into, not negative, facts + board_layout.BELOW, single)
    if op == board_layout.NUMBER_LE:
        return _translating_pair(into, negative, facts + board_layout.UPTO, single)
    if op == board_layout.NUMBER_BETWEEN:
        if negative:
            return False
        _emit(into, _bound(programs.numbers[operand + 1], attribute, into) + board_layout.UPTO)
        _emit(into, facts + board_layout.BELOW)
        return True
    return _translating_pair(
        into,
        negative == (op == board_layout.NUMBER_EQ),
        _translating_equal(programs.numbers[operand], attribute, into),
        single,
    )


@kernel()
def _translating_pair(into: Translation, negative: Any, holding: Any, known: Any) -> Any:
    """The lanes of `holding`; negated, the other lanes of `known`."""
    _emit(into, known if negative else holding)
    _emit(into, holding if negative else np.int64(board_layout.NO_LANES))
    return True


@kernel()
def _new_facts(into: Translation, count: Any) -> Any:
    first = into.sizes[board_layout.FACTS]
    into.sizes[board_layout.FACTS] = first + count
    return first


@kernel()
def _of(attribute: Any, kind: Any, into: Translation) -> Any:
    if into.quick.attribute_facts[attribute] < 0:
        into.quick.attribute_facts[attribute] = _new_facts(into, board_layout.KIND_FACTS)
    return np.int64(into.quick.attribute_facts[attribute]) + kind


@kernel()
def _translating_word(word: Any, into: Translation) -> Any:
    if into.quick.word_facts[word] < 0:
        into.quick.word_facts[word] = _new_facts(into, 1)
    return np.int64(into.quick.word_facts[word])


@kernel()
def _word_set(programs: Programs, operand: Any, into: Translation) -> Any:
    """The fact of a set. Its words have facts too, by which is seen what was learnt about them already."""
    if into.set_facts[operand] < 0:
        for place in range(operand + 1, operand + 1 + programs.sets[operand]):
            _translating_word(programs.sets[place], into)
        into.set_facts[operand] = _new_facts(into, 1)
        number = into.sizes[board_layout.WORD_SETS]
        into.quick.word_sets[number, 0], into.quick.word_sets[number, 1] = operand, into.set_facts[operand]
        into.sizes[board_layout.WORD_SETS] = number + 1
    return np.int64(into.set_facts[operand])


@kernel()
def _bound_set(programs: Programs, attribute: Any, operand: Any, into: Translation) -> Any:
    place = into.sizes[board_layout.BOUND_SETS]
    count = np.int64(programs.numbers[operand])
    fact = _new_facts(into, 1)
    into.quick.bound_sets[place], into.quick.bound_sets[place + 1] = fact, count
    for number in range(count):
        _bound(programs.numbers[operand + 1 + number], attribute, into)
        slot = _slot(programs.numbers[operand + 1 + number], attribute, into)
        into.quick.bound_sets[place + 2 + number] = into.bound_slots[slot]
    into.sizes[board_layout.BOUND_SETS] = place + 2 + count
    return fact


@kernel()
def _bound(number: Any, attribute: Any, into: Translation) -> Any:
    """The facts of this attribute's bound, found or made."""
    slot = _slot(number, attribute, into)
    if into.bound_slots[slot] < 0:
        bound = into.sizes[board_layout.BOUNDS]
        into.bound_slots[slot] = bound
        into.quick.bounds[bound], into.quick.bound_attributes[bound] = number, attribute
        into.quick.bound_facts[bound], into.quick.equal_facts[bound] = _new_facts(into, 2), -1
        into.sizes[board_layout.BOUNDS] = bound + 1
    return np.int64(into.quick.bound_facts[into.bound_slots[slot]])


@kernel()
def _translating_equal(number: Any, attribute: Any, into: Translation) -> Any:
    """The fact that lanes equal a bound, which is there already."""
    bound = into.bound_slots[_slot(number, attribute, into)]
    if into.quick.equal_facts[bound] < 0:
        into.quick.equal_facts[bound] = _new_facts(into, 1)
    return np.int64(into.quick.equal_facts[bound])


@kernel()
def _slot(number: Any, attribute: Any, into: Translation) -> Any:
    """Where a bound is, or would be."""
    mask = np.int64(len(into.bound_slots) - 1)
    fraction, exponent = math.frexp(number)
    mixed = np.uint64(np.int64(fraction * _WHOLE) + exponent) * _FIRST ^ np.uint64(attribute + 1) * _SECOND
    slot = np.int64(mixed >> _translating_32) & mask
    while True:
        known = into.bound_slots[slot]
        if known < 0 or (into.quick.bounds[known] == number and into.quick.bound_attributes[known] == attribute):
            return slot
        slot = (slot + 1) & mask


@kernel((TRANSLATION,))
def enter(into: Translation) -> None:
    """Enters the bounds into a table that is empty."""
    for bound in range(into.sizes[board_layout.BOUNDS]):
        into.bound_slots[_slot(into.quick.bounds[bound], into.quick.bound_attributes[bound], into)] = bound
