"""Small helpers for the flat arrays of an index."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from heliograph.kernels.filter_layout import Int64s

_Arrays = TypeVar("_Arrays")


def fixed(arrays: _Arrays) -> _Arrays:
    """An array, or a NamedTuple of them, that cannot be written to: in memory or mapped, kernels see one type."""
    if isinstance(arrays, np.ndarray):
        view: Any = np.ascontiguousarray(arrays).view()
        view.flags.writeable = False
        return view  # type: ignore[no-any-return]
    if isinstance(arrays, tuple):
        kind: Any = type(arrays)
        return kind(*(fixed(part) for part in arrays))  # type: ignore[no-any-return]
    return arrays


def power_of_two(least: int) -> int:
    """The smallest power of two that is not below, and at least 2."""
    return 1 << max(1, int(least - 1).bit_length())


def ragged(offsets: Int64s, chosen: Int64s) -> tuple[Int64s, Int64s]:
    """The rows of these parts of something that lies end to end, one after the other, and their new offsets."""
    sizes = (offsets[1:] - offsets[:-1])[chosen]
    new = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return np.repeat(offsets[:-1][chosen] - new[:-1], sizes) + np.arange(new[-1]), new


def rows_of(*columns: Any, dtype: Any) -> Any:
    """Columns as the rows of one array."""
    table = np.empty((len(columns[0]), len(columns)), dtype)
    for number, column in enumerate(columns):
        table[:, number] = column
    return table
