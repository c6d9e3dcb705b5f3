"""Small mends that make a feed's text well-formed without changing what it says.

HTML's named characters (`&nbsp;`) and bare ampersands (`Tom & Jerry`) are what feeds most often get wrong. Both become
what their author meant; sections and comments are left alone. Nothing else is guessed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from html.entities import html5
from typing import NamedTuple

_AMPERSAND = re.compile(
    rb"<!\[CDATA\[.*?\]\]>|<!--.*?-->|&(?:(#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{0,40});)?", re.DOTALL
)
_OF_XML = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))


class Mended(NamedTuple):
    """A mended text, and where its places were in the text as it came."""

    text: bytes
    edits: list[int]  # the positions behind each replacement, in the mended text
    shifts: list[int]  # how much longer the text has become there

    def original(self, position: int) -> int:
        """Where the byte at `position` of the mended text stood; in a replacement, near it."""
        number = bisect_right(self.edits, position)
        return max(0, position - (self.shifts[number - 1] if number else 0))


def mend(text: bytes) -> Mended:
    """The text with bare ampersands escaped and HTML's named characters as numbers."""
    edits: list[int] = []
    shifts: list[int] = []
    shift = 0

    def replace(match: re.Match[bytes]) -> bytes:
        nonlocal shift
        new = _replacement(match)
        if len(new) != len(match[0]):
            shift += len(new) - len(match[0])
            edits.append(match.end() + shift)
            shifts.append(shift)
        return new

    return Mended(_AMPERSAND.sub(replace, text) if b"&" in text else text, edits, shifts)


def _replacement(match: re.Match[bytes]) -> bytes:
    name = match[1]
    if match[0] == b"&":
        return b"&amp;"
    if name is None or name in _OF_XML or name.startswith(b"#"):
        return match[0]
    characters = html5.get(name.decode("ascii") + ";")
    return match[0] if characters is None else b"".join(b"&#%d;" % ord(character) for character in characters)
