"""The arrays of cells: making room, putting together, choosing some events.

The law: the cells of an event lie together, events in the order of their rows; strings are bytes of one text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.targeting_layout import Bytes, Cells, Int64s
from heliograph.targeting.growing import fixed

_KINDS = (np.int32, np.uint8, np.float64, np.int32, np.int64, np.int32)


def room_for(events: int, size: int, text: Bytes) -> Cells:
    """Arrays for so many cells that can be written to."""
    return _made(np.zeros(events + 1, np.int64), (np.empty(size, kind) for kind in _KINDS), text)


def enlarged(cells: Cells, size: int) -> Cells:
    """The same with room for more cells."""
    made = room_for(len(cells.offsets) - 1, size, cells.text)
    made.offsets[:] = cells.offsets
    olds, news = columns_of(cells), columns_of(made)
    for old, new in zip(olds, news, strict=True):
        new[: len(old)] = old
    return made


def cut_off(cells: Cells, count: int, text: Bytes) -> Cells:
    """The first cells alone, of this text, read-only."""
    return fixed(_made(cells.offsets, (part[:count] for part in columns_of(cells)), text))


def merge_cells(cells: Cells, rows: Int64s, others: Cells) -> Cells:
    """The cells of all events, where those of some rows, which have none yet, are given apart."""
    counts, added = np.diff(cells.offsets), np.diff(others.offsets)
    owners = np.concatenate((np.repeat(np.arange(len(counts)), counts), np.repeat(rows, added)))
    order = np.argsort(owners, kind="stable")
    moved = others._replace(begin=np.where(others.size > 0, others.begin + len(cells.text), 0))
    pairs = zip(columns_of(cells), columns_of(moved), strict=True)
    counts[rows] = added
    parts = (np.concatenate(pair)[order] for pair in pairs)
    return fixed(_made(_offsets(counts), parts, np.concatenate((cells.text, others.text))))


def take_cells(cells: Cells, rows: Int64s) -> Cells:
    """The cells of some of the events, in this order."""
    counts = np.diff(cells.offsets)[rows]
    offsets = _offsets(counts)
    places = np.repeat(cells.offsets[:-1][rows] - offsets[:-1], counts) + np.arange(offsets[-1])
    return fixed(_made(offsets, (part[places] for part in columns_of(cells)), cells.text))


def columns_of(cells: Cells) -> tuple[Any, ...]:
    """What there is of every cell."""
    return tuple(cells[1:-1])


def _offsets(counts: Int64s) -> Int64s:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))


def _made(offsets: Int64s, parts: Any, text: Bytes) -> Cells:
    return Cells._make((offsets, *parts, text))
