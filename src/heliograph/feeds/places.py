"""Positions in a file as line and column, both from 1; columns count characters."""

from __future__ import annotations

from heliograph.errors import Place
from heliograph.feeds.opening import Bytes

_STEP = 1 << 20
_CONTINUATIONS = bytes(range(0x80, 0xC0))  # in UTF-8 every other byte begins a character


def shortened(text: str, limit: int = 200) -> str:
    """A text that may be of any length, for a message."""
    return text if len(text) <= limit else text[:limit] + "…"


class Places:
    """Finds the places of errors; when they come in order, all of them take one pass over the file."""

    def __init__(self, name: str, data: Bytes) -> None:
        self._name = name
        self._data = data
        self._position = 0
        self._line = 1
        self._column = 1

    def at(self, position: int, item: str | None = None) -> Place:
        """The place of a byte."""
        position = min(position, len(self._data))
        if position < self._position:
            self._position, self._line, self._column = 0, 1, 1
        for start in range(self._position, position, _STEP):
            self._pass(self._data[start : min(start + _STEP, position)])
        self._position = position
        return Place(self._name, item and shortened(item), self._line, self._column)

    def _pass(self, text: bytes) -> None:
        lines = text.count(b"\n")
        if lines:
            self._line += lines
            self._column = 1
        self._column += len(text[text.rfind(b"\n") + 1 :].translate(None, _CONTINUATIONS))
