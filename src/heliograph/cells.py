"""Arrow columns as codes into their distinct texts, so that each distinct cell is read once.

The law: `texts[codes[row]]` is the text of the row, and a code of -1 is a null. Only texts that occur are listed, so
that the rows of a slice do not pay for the dictionary of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import UsageError

Cells: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"
Text = str | bytes | None  # bytes where the text is not UTF-8, None where an entry of a dictionary is null
_SAMPLE, _VARIED = 1024, 8  # varied: one text in 8 cells or more; a cell costs a kernel as much as a text costs Python
_WIDE = 32  # bits that number the texts of any column that fits in memory
_Encoded: TypeAlias = "pa.DictionaryArray[Any, Any]"


class Distinct(NamedTuple):
    """A column's distinct texts and where they stand."""

    codes: npt.NDArray[np.signedinteger[Any]]
    texts: list[Text]


class Encoded(NamedTuple):
    """As `Distinct`, the texts as an Arrow array."""

    codes: npt.NDArray[np.signedinteger[Any]]
    dictionary: pa.Array[Any]


def distinct(cells: Cells) -> Distinct:
    """Dictionary-encodes strings of any Arrow layout; an already encoded column is taken as it is."""
    codes, dictionary = encode(cells)
    return Distinct(codes, texts_of(dictionary))


def encode(cells: Cells) -> Encoded:
    """As `distinct`, the texts still in Arrow."""
    encoded = _encode(cells)
    codes = _codes(encoded.indices)
    dictionary = encoded.dictionary
    if not pa.types.is_dictionary(cells.type):
        return Encoded(codes, dictionary)
    used = np.zeros(len(dictionary) + 1, np.bool_)
    used[codes] = True  # -1 marks the spare last entry
    if used[:-1].all():
        return Encoded(codes, dictionary)
    places = np.cumsum(used) - 1
    places[-1] = -1
    return Encoded(places[codes], dictionary.filter(pa.array(used[:-1])))


def is_varied(cells: Cells) -> bool:
    """Whether strings differ so much that encoding them would be in vain, judged by the first of them.

    A sixteenth, so that looking costs little; of a column with few texts that repeat late it sees the repetitions.
    """
    if not _is_text(cells.type):
        return False
    sample = cells.slice(0, max(_SAMPLE, len(cells) // 16))
    return _VARIED * len(_encode(sample).dictionary) >= len(sample)


def pieces(cells: Cells) -> Iterator[pa.Array[Any]]:
    """The chunks of a column of strings, views as strings."""
    for chunk in cells.chunks if isinstance(cells, pa.ChunkedArray) else (cells,):
        yield chunk.cast(pa.large_string()) if pa.types.is_string_view(chunk.type) else chunk


def _encode(cells: Cells) -> _Encoded:
    if pa.types.is_null(cells.type):
        cells = cells.cast(pa.string())
    is_encoded = pa.types.is_dictionary(cells.type)
    if not _is_text(cells.type.value_type if is_encoded else cells.type):
        raise UsageError("HG-061", f"a column of {cells.type} as terms", fix="cast the column to string")
    encoded = cells if is_encoded else cells.dictionary_encode()
    return cast(_Encoded, together(encoded))


def together(column: Cells) -> Any:
    """A column in one piece. The numbers of an encoded one are widened first: together the chunks may have more texts
    than those of a chunk can count, such as 127 with 8 bits."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    kind = column.type
    if isinstance(kind, pa.DictionaryType) and column.num_chunks > 1 and kind.index_type.bit_width < _WIDE:
        wide = pa.dictionary(pa.int32(), kind.value_type, kind.ordered)
        column = column.cast(wide)
    return column.unify_dictionaries().combine_chunks()


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _codes(indices: pa.Array[Any]) -> npt.NDArray[np.signedinteger[Any]]:
    if indices.null_count:
        indices = indices.cast(pa.int64()).fill_null(-1)
    return indices.to_numpy(zero_copy_only=False)


def texts_of(dictionary: pa.Array[Any]) -> list[Text]:
    """The texts of an Arrow array of strings."""
    try:
        return cast("list[Text]", dictionary.to_pylist())
    except UnicodeDecodeError:
        return [_decoded(cell) for cell in dictionary.cast(pa.large_binary()).to_pylist()]


def _decoded(cell: bytes | None) -> Text:
    try:
        return cell if cell is None else cell.decode()
    except UnicodeDecodeError:
        return cell
