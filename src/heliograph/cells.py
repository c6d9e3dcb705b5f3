"""Arrow columns as codes into their distinct texts, so that each distinct cell is read once.

The law: `texts[codes[row]]` is the text of the row, and a code of -1 is a null. Only texts that occur are listed:
an unused entry of a dictionary is `None` and never read.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import TermError, UsageError
from heliograph.terms import Position, Term, parse_cell

Cells: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"


class Distinct(NamedTuple):
    """A column's distinct texts and where they stand. A text that is no UTF-8 is kept as its bytes."""

    codes: npt.NDArray[np.int64]
    texts: list[str | bytes | None]


def distinct(cells: Cells) -> Distinct:
    """Dictionary-encodes strings of any Arrow layout; an already encoded column is taken as it is."""
    encoded = _encode(cells)
    codes = _codes(encoded.indices)
    dictionary: pa.Array[Any] = encoded.dictionary
    used = np.zeros(len(dictionary) + 1, np.bool_)
    used[codes] = True  # -1 marks the spare last entry
    return Distinct(codes, _texts(dictionary, used[:-1]))


def _encode(cells: Cells) -> pa.DictionaryArray[Any, Any]:
    kind = cells.type
    if pa.types.is_null(kind):
        cells = cells.cast(pa.string())
    elif pa.types.is_dictionary(kind):
        kind = kind.value_type
    if not (pa.types.is_null(kind) or _is_text(kind)):
        raise UsageError("HG-061", f"a column of {cells.type} as terms", fix="cast the column to string")
    if isinstance(cells, pa.ChunkedArray):
        encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
        return cast("pa.DictionaryArray[Any, Any]", encoded.unify_dictionaries().combine_chunks())
    return cast(
        "pa.DictionaryArray[Any, Any]", cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
    )


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _codes(indices: pa.Array[Any]) -> npt.NDArray[np.int64]:
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    return indices.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)


def _texts(dictionary: pa.Array[Any], used: npt.NDArray[np.bool_]) -> list[str | bytes | None]:
    try:
        texts = dictionary.to_pylist()
    except UnicodeDecodeError:
        texts = [_decoded(cell) for cell in dictionary.cast(pa.large_binary()).to_pylist()]
    if not used.all():
        texts = [text if is_used else None for text, is_used in zip(texts, used.tolist(), strict=True)]
    return texts


def _decoded(cell: bytes | None) -> str | bytes | None:
    try:
        return cell if cell is None else cell.decode()
    except UnicodeDecodeError:
        return cell


def read_cell(text: str | bytes | None, position: Position, prefixes: Any) -> Term | TermError:
    """The term that a distinct text spells, or why it spells none."""
    try:
        if isinstance(text, bytes):
            raise TermError("HG-108", f"text that is not UTF-8: {text[:60]!r}", fix="write the file as UTF-8")
        return parse_cell(text, position, prefixes)
    except TermError as error:
        return error
