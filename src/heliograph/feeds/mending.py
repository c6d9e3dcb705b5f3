"""Small mends that make a feed's text well-formed without changing what it says.

HTML's named characters (`&nbsp;`) and bare ampersands (`Tom & Jerry`) are what feeds most often get wrong. Both become
what their author meant; sections and comments are left alone. Nothing else is guessed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from html.entities import html5
from typing import NamedTuple

_AMPERSAND = re.compile(  # what is never closed goes on to the end: looking for its end again and again takes long
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|&(?:(#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{0,40});)?",
    re.DOTALL,
)
_OF_XML = frozenset((b"amp", b"lt", b"gt", b"quot", b"apos"))


class Edit(NamedTuple):
    """A replacement: where it lies in the mended text, and where in the text as it came."""

    start: int
    end: int
    original_start: int
    original_end: int


class Mended(NamedTuple):
    """A mended text, and what was replaced in it."""

    text: bytes
    edits: list[Edit]

    def original(self, position: int) -> int:
        """Where the byte at `position` of the mended text stood; for one in a replacement, where that begins."""
        number = bisect_right(self.edits, position, key=lambda edit: edit.start)
        if number == 0:
            return position
        edit = self.edits[number - 1]
        return edit.original_start if position < edit.end else position - edit.end + edit.original_end


def mend(text: bytes) -> Mended:
    """The text with bare ampersands escaped and HTML's named characters as numbers."""
    edits: list[Edit] = []

    def replace(match: re.Match[bytes]) -> bytes:
        new = _replacement(match)
        if new != match[0]:
            start = match.start() + (edits[-1].end - edits[-1].original_end if edits else 0)
            edits.append(Edit(start, start + len(new), match.start(), match.end()))
        return new

    return Mended(_AMPERSAND.sub(replace, text) if b"&" in text else text, edits)


def _replacement(match: re.Match[bytes]) -> bytes:
    name = match[1]
    if match[0] == b"&":
        return b"&amp;"
    if name is None or name in _OF_XML or name.startswith(b"#"):
        return match[0]
    characters = html5.get(name.decode("ascii") + ";")
    return match[0] if characters is None else b"".join(b"&#%d;" % ord(character) for character in characters)
