"""What cells meant before: the ids of texts already read, so that a batch pays only for texts it brings anew.

The law: remembering changes no answer, because a text in a column always means the same term and ids never change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from heliograph.cells import Text
from heliograph.errors import TermError
from heliograph.terms import Position, Term, parse_cell

_REMEMBERED = 1 << 18  # texts per column; forgotten all at once when full
_SHORT = 256  # longer texts seldom come again, so they are not remembered


class Column(NamedTuple):
    """What a cell's meaning depends on besides its text."""

    position: Position
    prefixes: Mapping[str, str]

    @property
    def key(self) -> tuple[Position, frozenset[tuple[str, str]]]:
        return self.position, frozenset(self.prefixes.items())

    def read(self, text: Text) -> Term | TermError:
        """The term that a text spells, or why it spells none."""
        try:
            if isinstance(text, bytes):
                raise TermError("HG-108", f"text that is not UTF-8: {text[:60]!r}", fix="write the file as UTF-8")
            return parse_cell(text, self.position, self.prefixes)
        except TermError as error:
            return error.with_traceback(None)  # it would hold the frames of its callers, and they hold it: a cycle

    def refuse_null(self) -> TermError:
        """Why a null spells no term."""
        refused = self.read(None)
        assert isinstance(refused, TermError)
        return refused


class Memo:
    """The ids of cells read before, by column and text.

    Over another memo, ids below `start` are the other's and are remembered there, for those who come after.
    """

    def __init__(self, below: Memo | None = None, start: int = 0) -> None:
        self._below = below
        self._start = start
        self._known: dict[object, dict[Text, int]] = {}

    def recall(self, texts: Sequence[Text], column: Column) -> list[int]:
        """The id of each text, or -1."""
        get = self._known.get(column.key, {}).get
        found = [get(text, -1) for text in texts]
        if self._below is None or -1 not in found:
            return found
        missing = [number for number, id in enumerate(found) if id < 0]
        for number, id in zip(missing, self._below.recall([texts[number] for number in missing], column)):
            found[number] = id if id < self._start else -1
        return found

    def remember(self, ids: Mapping[Text, int], column: Column) -> None:
        short: dict[Text, int] = {text: id for text, id in ids.items() if text is not None and len(text) <= _SHORT}
        if self._below is not None:
            self._below.remember({text: id for text, id in short.items() if id < self._start}, column)
            short = {text: id for text, id in short.items() if id >= self._start}
        known = self._known.get(column.key)
        if known is None or len(known) + len(short) > _REMEMBERED:
            known = self._known[column.key] = {}
        known.update(short)
