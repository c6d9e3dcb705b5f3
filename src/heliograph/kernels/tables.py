"""Constraint tables ([R] figure 4, two-sided): which members' intervals hold a coordinate?

The entries of a table lie by their low ends. The middle entry of a part knows how far any interval of that part
reaches, and so do the middles of both halves: a search leaves out every part that begins too late or ends too early,
and takes about log n steps and a few more for each interval found, however many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.filter_layout import ENTRY_HIGH, ENTRY_LOW, REACH, Floats, Int64s
from heliograph.kernels.types import FLOATS, INT64S, NEW_FLOATS

DEPTH = 128  # twice the depth of a table of 2^63 entries


@kernel((FLOATS, INT64S, NEW_FLOATS))
def reach_of(high: Floats, offsets: Int64s, reach: Floats) -> None:
    """For every entry of every table, the furthest end of the part that it is the middle of."""
    for table in range(len(offsets) - 1):
        _furthest(high, offsets[table], offsets[table + 1], reach)


@kernel(allocates=True)
def _furthest(high: Floats, first: int, last: int, reach: Floats) -> None:
    """Parts from the smallest to the whole: a part is closed when both of its halves have been."""
    begins, ends, closing = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64), np.zeros(DEPTH, np.bool_)
    begins[0], ends[0], top = first, last, 1
    while top:
        begin, end = begins[top - 1], ends[top - 1]
        middle = (begin + end) // 2
        if begin >= end:
            top -= 1
        elif closing[top - 1]:
            furthest = high[middle]
            if begin < middle:
                furthest = max(furthest, reach[(begin + middle) // 2])
            if middle + 1 < end:
                furthest = max(furthest, reach[(middle + 1 + end) // 2])
            reach[middle] = furthest
            top -= 1
        else:
            closing[top - 1] = True
            begins[top], ends[top], closing[top] = begin, middle, False
            begins[top + 1], ends[top + 1], closing[top + 1] = middle + 1, end, False
            top += 2


@kernel()
def open_table(stack: Int64s, first: int, last: int) -> Any:
    """Begins a search of a table; returns the height of the stack."""
    stack[0], stack[1] = first, last
    return 2


@kernel()
def find(entries: Floats, at: float, stack: Int64s, top: int) -> Any:
    """Goes on until one entry is found that may hold the coordinate: the entry or -1, and the new height."""
    while top:
        begin, end = stack[top - 2], stack[top - 1]
        top -= 2
        middle = (begin + end) // 2
        if begin >= end or entries[middle, REACH] < at:
            continue
        stack[top], stack[top + 1] = begin, middle
        top += 2
        if entries[middle, ENTRY_LOW] <= at:
            stack[top], stack[top + 1] = middle + 1, end
            top += 2
            if entries[middle, ENTRY_HIGH] >= at:
                return middle, top
    return np.int64(-1), top
