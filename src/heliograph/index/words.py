"""Pieces of text as numbers: what a substring test asks of a text, so that an index can rule the text out.

The law: if a text passes a test (it holds, begins with, ends with or is the needle), then the needle's key is among the
text's keys. The converse does not hold: the test itself decides. Keys are the same in every run and on every machine.

A needle is asked for by one key only. Anywhere in a text that is one of its trigrams, at the ends the longest piece of
a listed length, for the whole text a checksum of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from enum import IntEnum
from zlib import crc32

import numpy as np
import numpy.typing as npt

SHORTEST = 3  # characters of a needle that has a key
_LENGTHS = (3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # of the pieces at both ends of a text that have keys
_FEW = 256  # up to this many characters, keys that come twice cost less than looking for them
_START, _END, _WHOLE = 1 << 40, 2 << 40, 3 << 40  # keys of different kinds lie apart, all below 2**53
_MIXER, _DROPPED = np.uint64(0x9E3779B97F4A7C15), np.uint64(24)  # mixing a trigram leaves 40 bits of 64

# The rarer the letters, the fewer texts share a trigram; signs that addresses are full of count as the most common.
_COMMON = {letter: -rank for rank, letter in enumerate("zqjxkvbywgpfmucdlhrsnioate /:.#-_")}

_BRACKETS = re.compile(r"[|()\[\]{}\\]")  # alternatives, classes, counts and escapes: not read here
_SIGNS = re.compile(r".[*?]+|[.+^$]", re.DOTALL)  # what stands between the characters that a match must hold


class Piece(IntEnum):
    """Where in a text a needle must stand."""

    ANYWHERE = 0
    START = 1
    END = 2
    WHOLE = 3


def needle_key(needle: str, piece: Piece = Piece.ANYWHERE) -> int | None:
    """The key that every text has that passes the test; None if the needle is too short to have one."""
    if piece is Piece.WHOLE:
        return _WHOLE + crc32(_coded(needle))
    if len(needle) < SHORTEST:
        return None
    if piece is Piece.ANYWHERE:
        return int(_trigrams(_coded(_rarest(needle)))[0])
    length = max(length for length in _LENGTHS if length <= len(needle))
    if piece is Piece.START:
        return _START + crc32(_coded(needle[:length]))
    return _END + crc32(_coded(needle[-length:]))


def text_keys(text: str) -> list[int]:
    """All keys of a text; some may come twice."""
    coded = _coded(text)
    keys = [_WHOLE + crc32(coded)]
    if len(text) < SHORTEST:
        return keys
    for length in _LENGTHS[: bisect_right(_LENGTHS, len(text))]:
        keys += (_START + crc32(coded[: 4 * length]), _END + crc32(coded[-4 * length :]))
    inner = _trigrams(coded)
    keys += (inner if len(text) <= _FEW else np.unique(inner)).tolist()
    return keys


def regex_key(pattern: str) -> int | None:
    """A key of every text that a regular expression finds; None if none is seen at a glance."""
    if _BRACKETS.search(pattern):
        return None
    runs = _SIGNS.split(pattern)
    longest = max(runs, key=len)
    if pattern.strip("^$") == longest:  # RE2's $ is the end of the text, never a line's
        return needle_key(longest, Piece(Piece.START * pattern.startswith("^") + Piece.END * pattern.endswith("$")))
    return needle_key(longest)


def _rarest(needle: str) -> str:
    """The trigram of the rarest letters, the first of equals."""
    weights = [_COMMON.get(letter, 0) for letter in needle.lower()]
    if len(weights) != len(needle):  # a letter whose lower case is two
        weights = [0] * len(needle)
    start = max(range(len(needle) - 2), key=lambda at: sum(weights[at : at + 3]))
    return needle[start : start + 3]


def _coded(text: str) -> bytes:
    """Four bytes a character, so that pieces are slices."""
    return text.encode("utf-32-le", "surrogatepass")


def _trigrams(coded: bytes) -> npt.NDArray[np.uint64]:
    codes = np.frombuffer(coded, np.dtype("<u4")).astype(np.uint64)
    packed = codes[:-2] << np.uint64(42) | codes[1:-1] << np.uint64(21) | codes[2:]
    mixed: npt.NDArray[np.uint64] = packed * _MIXER >> _DROPPED
    return mixed
