"""Arrow columns as codes into their distinct texts, so that each distinct cell is read once and then remembered.

The law: `texts[codes[row]]` is the text of the row, and a code of -1 is a null. Only texts that occur are listed:
an unused entry of a dictionary is `None` and never read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import TermError, UsageError
from heliograph.terms import Position, Term, parse_cell

Cells: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"
Text = str | bytes | None  # bytes where the text is not UTF-8, None where an entry of a dictionary is not used
_Encoded: TypeAlias = "pa.DictionaryArray[Any, Any]"

_REMEMBERED = 1 << 18  # texts per column; forgotten all at once when full
_SHORT = 256  # longer texts seldom come again, so they are not remembered


class Distinct(NamedTuple):
    """A column's distinct texts and where they stand."""

    codes: npt.NDArray[np.signedinteger[Any]]
    texts: list[Text]


def distinct(cells: Cells) -> Distinct:
    """Dictionary-encodes strings of any Arrow layout; an already encoded column is taken as it is."""
    encoded = _encode(cells)
    codes = _codes(encoded.indices)
    dictionary = encoded.dictionary
    if not pa.types.is_dictionary(cells.type):
        return Distinct(codes, _texts(dictionary))
    used = np.zeros(len(dictionary) + 1, np.bool_)
    used[codes] = True  # -1 marks the spare last entry
    return Distinct(codes, [text if wanted else None for text, wanted in zip(_texts(dictionary), used.tolist())])


def _encode(cells: Cells) -> _Encoded:
    if pa.types.is_null(cells.type):
        cells = cells.cast(pa.string())
    is_encoded = pa.types.is_dictionary(cells.type)
    kind = cells.type.value_type if is_encoded else cells.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
        raise UsageError("HG-061", f"a column of {cells.type} as terms", fix="cast the column to string")
    encoded = cells if is_encoded else cells.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    return cast(_Encoded, encoded)


def _codes(indices: pa.Array[Any]) -> npt.NDArray[np.signedinteger[Any]]:
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    return indices.to_numpy(zero_copy_only=False)


def _texts(dictionary: pa.Array[Any]) -> list[Text]:
    try:
        return cast("list[Text]", dictionary.to_pylist())
    except UnicodeDecodeError:
        return [_decoded(cell) for cell in dictionary.cast(pa.large_binary()).to_pylist()]


def _decoded(cell: bytes | None) -> Text:
    try:
        return cell if cell is None else cell.decode()
    except UnicodeDecodeError:
        return cell


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
            return error


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
