"""Strings of JSON with escapes to the UTF-8 that they spell.

The law: the bytes are those of the decoded text; half of a surrogate pair, which JSON can spell and UTF-8 cannot, has
the three bytes that its number would have. They are never more than the bytes of the string as it is spelled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.targeting_layout import Bytes

_BACKSLASH, _U = 92, 117


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
