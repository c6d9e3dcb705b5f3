"""CSV records: where they end, and how a broken one is left without losing the next.

The grammar is RFC 4180 as Excel writes it: a field is quoted as a whole or not at all, a quote inside is doubled, a
quoted field may hold line ends; a quote within an unquoted field stands for itself. A record that is never closed, or
has text behind a closing quote, is refused by its first line, and reading goes on with the line after that.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

_QUOTED = rb'"([^"]*+(?:""[^"]*+)*+)'
_END = rb"(,|\r\n|\n|\r|\Z)"
_FIELD = re.compile(_QUOTED + rb'"' + _END + rb"|([^\",\r\n][^,\r\n]*+)?" + _END)
_OPEN = re.compile(_QUOTED + rb"\Z")
_LOOK_AHEAD = 1 << 26  # bytes that may be given back, beyond eight times what was read


class Record(NamedTuple):
    """The fields of one record, or None with what is wrong; `line` is the number of its first line."""

    line: int
    fields: list[bytes] | None
    problem: str = ""


class _Lines:
    """Numbered lines that can be taken back, as long as that stays linear in what has been read."""

    def __init__(self, blocks: Iterable[bytes], line: int) -> None:
        self._lines = (text for block in blocks for text in block.splitlines(keepends=True))
        self._ahead: deque[bytes] = deque()
        self._budget = _LOOK_AHEAD
        self.line = line - 1

    def take(self) -> bytes | None:
        if not self._ahead:
            if (text := next(self._lines, None)) is None:
                return None
            self._budget += 8 * len(text)
            self._ahead.append(text)
        self.line += 1
        return self._ahead.popleft()

    def give_back(self, texts: list[bytes]) -> None:
        self.line -= len(texts)
        self._budget -= sum(map(len, texts))
        self._ahead.extendleft(reversed(texts))

    def up_to_closing(self) -> list[bytes]:
        """The lines up to the next that can close a quoted field, one with an odd number of quotes; else none."""
        taken: list[bytes] = []
        while self._budget > 0 and (text := self.take()) is not None:
            taken.append(text)
            if text.count(b'"') % 2:
                return taken
        self.give_back(taken)
        return []


def read_records(blocks: Iterable[bytes], line: int = 1) -> Iterator[Record]:
    """Every record of blocks of whole lines, the first of which has the number `line`. Blank lines are no records."""
    lines = _Lines(blocks, line)
    while (text := lines.take()) is not None:
        if text.rstrip(b"\r\n"):
            yield _record(text, lines)


def _record(text: bytes, lines: _Lines) -> Record:
    first = lines.line
    if b'"' not in text:
        return Record(first, text.rstrip(b"\r\n").split(b","))
    fields: list[bytes] = []
    more: list[bytes] = []
    while (opened := _split(text, fields)) > 0 and (rest := lines.up_to_closing()):
        more += rest
        text = b"".join((text[opened - 1 :], *rest))
    if not opened:
        return Record(first, fields)
    lines.give_back(more)
    return Record(first, None, "a quote that is not closed" if opened > 0 else "text behind a closing quote")


def _split(text: bytes, fields: list[bytes]) -> int:
    """Add the fields of `text`. 0: that was all; n > 0: the field at n - 1 is still open; -1: malformed."""
    at = 0
    while match := _FIELD.match(text, at):
        quoted, end, bare, bare_end = match.groups()
        fields.append(quoted.replace(b'""', b'"') if quoted is not None else bare or b"")
        at = match.end()
        if (end or bare_end) != b",":
            return 0
    return at + 1 if _OPEN.match(text, at) else -1


_COMMA, _LF, _CR, _QUOTE = b',\n\r"'
_EDGE = np.zeros(256, dtype=bool)
_EDGE[[_COMMA, _LF, _CR, _QUOTE]] = True


def whole_records(data: bytes) -> int | None:
    """How many bytes of `data` are whole records; None where its quotes do not stand at the edges of fields.

    With every odd quote at the start of a field (or doubling the one before it) and every even quote at the end of one
    (or doubled by the next), a line end ends a record exactly when the number of quotes before it is even.
    """
    quotes = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _QUOTE)
    if not len(quotes):
        return data.rfind(b"\n") + 1
    padded = np.frombuffer(b"\n" + data + b"\n", dtype=np.uint8)
    if not (_EDGE[padded[quotes[0::2]]].all() and _EDGE[padded[quotes[1::2] + 2]].all()):
        return None
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _LF)
    outside = ends[np.searchsorted(quotes, ends) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else 0
