"""The tokens of JSON (RFC 8259) and whole values that nobody asks for: where each ends.

Positions are those of bytes in a text. -1 in place of one stands for giving up: the text is no JSON, or has something
that is left to Python, such as numbers that `decimals` is not sure of and more than 64 levels. What is beyond ASCII
counts as part of a string and as nothing else; that it is UTF-8 is made sure of before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.decimals import read_number
from heliograph.kernels.targeting_layout import FALSE, TRUE, Bytes

QUOTE, COMMA = 34, 44
OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT = 91, 93, 123, 125
_BACKSLASH, _COLON, _MINUS = 92, 58, 45
_LEVELS = 64
_ONE = np.uint64(1)


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
            at = _skip_plain(text, at, end)
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


@kernel()
def _skip_plain(text: Bytes, at: int, end: int) -> Any:
    if text[at] == QUOTE:
        close, _ = string_end(text, at + 1, end)
        return -1 if close < 0 else close + 1
    at, _, _ = bare(text, at, end)
    return at
