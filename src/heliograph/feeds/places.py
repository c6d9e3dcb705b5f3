"""Positions in a file as line and column, both from 1; columns count characters."""

from __future__ import annotations

from heliograph.errors import Place
from heliograph.feeds.opening import Bytes

_STEP = 1 << 20


class Places:
    """Finds the places of errors, fastest when they come in order."""

    def __init__(self, name: str, data: Bytes) -> None:
        self._name = name
        self._data = data
        self._position = 0
        self._line = 1

    def at(self, position: int, item: str | None = None) -> Place:
        """The place of a byte."""
        position = min(position, len(self._data))
        if position < self._position:
            self._position, self._line = 0, 1
        for start in range(self._position, position, _STEP):
            self._line += self._data[start : min(start + _STEP, position)].count(b"\n")
        self._position = position
        start = self._data.rfind(b"\n", 0, position) + 1
        before = self._data[max(start, position - _STEP) : position]
        return Place(self._name, item, self._line, len(before.decode("utf-8", "replace")) + 1)
