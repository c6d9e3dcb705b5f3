"""Arrow columns as codes into their distinct texts, so that each distinct cell is read once.

The law: `texts[codes[row]]` is the text of the row, and a code of -1 is a null. Only texts that occur are listed, so
that the rows of a slice do not pay for the dictionary of the whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import UsageError

Cells: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"
Text = str | bytes | None  # bytes where the text is not UTF-8, None where an entry of a dictionary is null
_SHORT = 64  # rows up to which a dict is faster than Arrow's kernels, which take 30 µs to begin
_Encoded: TypeAlias = "pa.DictionaryArray[Any, Any]"


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
    if used[:-1].all():
        return Distinct(codes, _texts(dictionary))
    places = np.cumsum(used) - 1
    places[-1] = -1
    return Distinct(places[codes], _texts(dictionary.filter(pa.array(used[:-1]))))


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
