"""A column of event attributes to cells: by a kernel what is plain, in Python what is rare, wrong or little.

The laws: both ways give the same cells and the same errors; a row in error has no cells; the names may grow while rows
are encoded, and a row may or may not see what came meanwhile. So whoever needs all attributes of some expressions takes
those first and encodes then.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import Place, PublicationError
from heliograph.kernels.targeting_layout import Bytes, Cells, Int64s, Names
from heliograph.targeting.attributes import Tree, read_bytes, read_labels
from heliograph.targeting.cell_arrays import cut_off, enlarged, merge_cells, room_for
from heliograph.targeting.cell_rows import CellRow, cells_of, encode_python, label_cells
from heliograph.targeting.growing import fixed
from heliograph.targeting.names import NameTable

_COLD, _WARM, _HOT = 50_000, 2_000, 4
_KERNEL = "heliograph.kernels.json_scanning"
_BACKSLASH = 92
_REMEMBERED = 64  # names by their place in the last event

PlaceOf = Callable[[int], Place]
if TYPE_CHECKING:
    Texts = pa.Array[Any] | pa.ChunkedArray[Any]
else:
    Texts = Any


def pays(count: int) -> bool:
    """Whether so many events are worth the kernel.

    An event costs 11 µs in Python and 0.35 µs in the kernel; importing Numba costs most of a second, loading the kernel
    some 30 ms and calling it 40 µs.
    """
    if _KERNEL in sys.modules:
        return count >= _HOT
    return count >= (_WARM if "numba" in sys.modules else _COLD)


class JsonColumn(NamedTuple):
    """Texts end to end: row i has the bytes from offsets[i] to offsets[i + 1]; null is a text without anything."""

    offsets: Int64s
    data: Bytes
    valid: bool  # whether all of it is UTF-8

    @property
    def rows(self) -> int:
        return len(self.offsets) - 1

    def tree(self, row: int) -> Tree:
        """The decoded attributes of one row; raises what is wrong with them."""
        return read_bytes(self.data[self.offsets[row] : self.offsets[row + 1]].tobytes(), Place())


class Encoded(NamedTuple):
    """`trees` are the rows that were all decoded, if they were; the attributes of cells are below `attributes`."""

    cells: Cells
    errors: dict[int, PublicationError]
    trees: dict[int, Tree]
    column: JsonColumn
    attributes: int

    def tree(self, row: int) -> Tree:
        """The decoded attributes of a row without error."""
        known = self.trees.get(row)
        return self.column.tree(row) if known is None else known


def encode(
    names: NameTable,
    texts: Texts,
    *,
    labels: bool = False,
    place: PlaceOf | None = None,
    compiled: bool | None = None,
) -> Encoded:
    """The cells of events whose attributes are JSON texts, with those of their label sets if `labels` are compared.

    `place` says where a row stood, for its error; `compiled` tells whether to use the kernel, by default if it pays.
    """
    column = json_column(texts)
    fast = pays(column.rows) if compiled is None else compiled
    encoded = _compiled(names, column) if fast and column.valid and not labels else _plain(names, column, labels)
    for row, error in encoded.errors.items():
        error.place = place(row) if place else error.place
    return encoded


def json_column(texts: Texts) -> JsonColumn:
    """An Arrow column of strings, in chunks, sliced or with nulls, as one array of bytes."""
    array = _one_array(texts)
    if not len(array):
        return fixed(JsonColumn(np.zeros(1, np.int64), np.zeros(0, np.uint8), True))
    buffers: list[Any] = [buffer or b"" for buffer in array.buffers()]
    ends = np.frombuffer(buffers[1], np.int32 if pa.types.is_string(array.type) else np.int64)
    offsets = ends[array.offset : array.offset + len(array) + 1].astype(np.int64, copy=False)
    first, last = int(offsets[0]), int(offsets[-1])
    whole = np.frombuffer(buffers[2], np.uint8)
    return fixed(JsonColumn(offsets - first if first else offsets, whole[first:last], _is_utf8(array)))


def _one_array(texts: Any) -> Any:
    """One array of strings or large strings without nulls; texts of more than 2 GiB together have to be large."""
    if isinstance(texts, pa.ChunkedArray):
        if texts.num_chunks != 1:
            texts = texts.cast(pa.large_string())
        texts = pa.concat_arrays(texts.chunks) if texts.num_chunks else pa.array([], pa.string())
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        texts = texts.cast(pa.large_string())
    return pc.fill_null(texts, "") if texts.null_count else texts


def _is_utf8(array: Any) -> bool:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


# --- in plain Python --------------------------------------------------------------------------------------------


def _plain(names: NameTable, column: JsonColumn, labels: bool) -> Encoded:
    trees: dict[int, Tree] = {}
    errors: dict[int, PublicationError] = {}
    rows = [_decoded(names, column, row, labels, (trees, errors)) for row in range(column.rows)]
    return Encoded(cells_of(rows), errors, trees, column, len(names.paths))


def _decoded(
    names: NameTable,
    column: JsonColumn,
    row: int,
    labels: bool,
    found: tuple[dict[int, Tree], dict[int, PublicationError]],
) -> list[CellRow]:
    """One row's cells; its tree or its error is entered."""
    trees, errors = found
    try:
        tree = column.tree(row)
        marked = label_cells(names, read_labels(tree.get("labels"), Place())) if labels else []
    except PublicationError as error:
        errors[row] = error
        return []
    trees[row] = tree
    return encode_python(names, tree) + marked


# --- by the kernel ----------------------------------------------------------------------------------------------


def _compiled(names: NameTable, column: JsonColumn) -> Encoded:
    cells, hard = scan_column(names.snapshot(), column)
    errors: dict[int, PublicationError] = {}
    if len(hard):
        rows = [_decoded(names, column, row, False, ({}, errors)) for row in hard.tolist()]
        cells = merge_cells(cells, hard, cells_of(rows))
    return Encoded(cells, errors, {}, column, len(names.paths))


def scan_column(names: Names, column: JsonColumn) -> tuple[Cells, Int64s]:
    """The cells that the kernel gives, and the rows that it leaves to Python."""
    from heliograph.kernels import json_scanning as kernel

    spare = np.empty(len(column.data) if (column.data == _BACKSLASH).any() else 0, np.uint8)
    stamps, places = np.zeros(len(names.name_attributes), np.int64), np.full(_REMEMBERED, -1, np.int32)
    memory = kernel.Memory(stamps, places, spare, np.zeros(4, np.int64))
    hard, state = np.zeros(column.rows, np.uint8), memory.state
    cells = room_for(column.rows, 8 * column.rows, column.data)
    kernel.scan(kernel.Job(names, cells, memory), column.offsets, hard)
    while state[kernel.ROW] < column.rows:
        cells = enlarged(cells, max(2 * len(cells.kind), int(state[kernel.NEEDED])))
        kernel.scan(kernel.Job(names, cells, memory), column.offsets, hard)
    spared = spare[: state[kernel.SPARED]]
    text = np.concatenate((column.data, spared)) if len(spared) else column.data
    return cut_off(cells, int(state[kernel.COUNT]), text), np.flatnonzero(hard)
