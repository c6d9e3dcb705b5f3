"""Cells made one event at a time in plain Python: the twin of `kernels.json_scanning`, without its exceptions.

The law: a decoded tree has, for each known attribute that it has a value for, the cells that `lookup` and the kinds of
`kernels.targeting_layout` say; names come in the order of the tree.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.targeting_layout import FALSE, LIST, LISTED, NUMBER, ODD, OTHER, STRING, TRUE, Cells
from heliograph.syntax.predicate_truth import lookup
from heliograph.targeting.cell_arrays import columns_of
from heliograph.targeting.growing import fixed
from heliograph.targeting.names import LABELS, NameTable, utf8


class CellRow(NamedTuple):
    """One cell; `text` are the bytes of a string, or the digits of an odd integer."""

    attribute: int
    kind: int
    number: float = 0.0
    word: int = -1
    text: bytes = b""


def encode_python(names: NameTable, tree: Mapping[str, Any]) -> list[CellRow]:
    """The cells of one event's attributes."""
    rows: list[CellRow] = []
    for name, value in tree.items():
        for attribute in names.beginning(name):
            path = names.paths[attribute]
            rows += value_cells(names, attribute, value if len(path) == 1 else lookup(tree, path))
    return rows


def label_cells(names: NameTable, labels: Iterable[str]) -> list[CellRow]:
    """The cells of an event's label set, if any expression asks for it: a list, also where it is empty."""
    attribute = names.find_attribute(LABELS)
    return value_cells(names, attribute, sorted(labels)) if attribute >= 0 else []


def value_cells(names: NameTable, attribute: int, value: Any) -> list[CellRow]:
    """The cells of one attribute's value; null, and an element that is null, has none."""
    if type(value) is not list:
        return [] if value is None else [_cell(names, attribute, value, 0)]
    elements = [_cell(names, attribute, element, LISTED) for element in value if element is not None]
    return [CellRow(attribute, LIST), *elements]


def _cell(names: NameTable, attribute: int, value: Any, listed: int) -> CellRow:
    kind = type(value)
    if kind is str:
        return CellRow(attribute, STRING | listed, 0.0, names.find_word(attribute, value), utf8(value))
    if kind is bool:
        return CellRow(attribute, (TRUE if value else FALSE) | listed)
    if kind is float:
        return CellRow(attribute, NUMBER | listed, value + 0.0)  # -0.0 becomes 0.0, which it equals
    if kind is int:
        number = float_below(value)
        if number == value:
            return CellRow(attribute, NUMBER | listed, number)
        return CellRow(attribute, ODD | listed, number, -1, str(value).encode())
    return CellRow(attribute, OTHER | listed)


def float_below(value: int) -> float:
    """The largest float that is not above an integer."""
    try:
        number = float(value)
    except OverflowError:
        return sys.float_info.max if value > 0 else -math.inf
    return number if number <= value else math.nextafter(number, -math.inf)


def cells_of(events: Iterable[list[CellRow]]) -> Cells:
    """The cells of several events as arrays."""
    lists = list(events)
    rows = [row for event in lists for row in event]
    columns = tuple(zip(*rows, strict=True)) if rows else ((),) * len(CellRow._fields)
    attribute, kind, number, word, texts = columns
    sizes = np.fromiter(map(len, texts), np.int32, len(rows))
    ends = np.cumsum(sizes, dtype=np.int64)
    return fixed(
        Cells(
            np.cumsum([0, *map(len, lists)], dtype=np.int64),
            np.array(attribute, np.int32),
            np.array(kind, np.uint8),
            np.array(number, np.float64),
            np.array(word, np.int32),
            np.where(sizes > 0, ends - sizes, 0),
            sizes,
            np.frombuffer(b"".join(texts), np.uint8),
        )
    )


def cell_rows(cells: Cells, event: int) -> list[CellRow]:
    """The cells of one event out of the arrays."""
    return [_row(cells, cell) for cell in range(cells.offsets[event], cells.offsets[event + 1])]


def _row(cells: Cells, cell: int) -> CellRow:
    attribute, kind, number, word, begin, size = (part[cell].item() for part in columns_of(cells))
    return CellRow(attribute, kind, number, word, cells.text[begin : begin + size].tobytes())
