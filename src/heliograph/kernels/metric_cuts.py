"""Whether a value passed a cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_layout import EVERY, SILENT


@kernel(inline=True)
def _below(points: Any, first: Any, last: Any, value: Any) -> Any:
    """How many points lie below a value or at it."""
    low, high = np.int64(first), np.int64(last)
    while low < high:
        middle = (low + high) >> 1
        if points[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(inline=True)
def passes_cut(points: Any, firsts: Any, number: Any, before: Any, after: Any) -> Any:
    """Whether a list of cuts has one between two values; `number` is that of the list, SILENT or EVERY."""
    if number == SILENT or before == after:
        return False
    if number == EVERY:
        return True
    first, last = firsts[number], firsts[number + 1]
    return _below(points, first, last, before) != _below(points, first, last, after)
