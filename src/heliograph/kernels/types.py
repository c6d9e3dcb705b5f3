"""Numba's types for the arrays that kernels share, made from their NamedTuples."""

from __future__ import annotations

from typing import Any

from numba import float64, int16, int32, int64, types, uint8, uint32, uint64

from heliograph.kernels import filter_layout as layout

_NAMED: Any = types.NamedTuple
_UNIFORM: Any = types.NamedUniTuple


def array(dtype: Any, *, writable: bool = False) -> Any:
    return types.Array(dtype, 1, "C", readonly=not writable)


def rows(dtype: Any, *, writable: bool = False) -> Any:
    return types.Array(dtype, 2, "C", readonly=not writable)


def named(kind: type, *parts: Any) -> Any:
    """As Numba types it: a NamedTuple whose parts are all of one type is a kind of its own."""
    if len(set(parts)) == 1:
        return _UNIFORM(parts[0], len(parts), kind)
    return _NAMED(parts, kind)


INT8S, INT16S, INT32S, INT64S = (array(dtype) for dtype in (uint8, int16, int32, int64))
FLOATS = array(float64)
NEW_INT8S, NEW_INT16S, NEW_INT32S, NEW_INT64S, NEW_FLOATS, NEW_HASHES, NEW_COUNTS = (
    array(dtype, writable=True) for dtype in (uint8, int16, int32, int64, float64, uint64, uint32)
)

EDGES = named(layout.Edges, INT64S, INT32S, INT32S, INT32S)
NEW_EDGES = named(layout.Edges, NEW_INT64S, NEW_INT32S, NEW_INT32S, NEW_INT32S)
KEYS = named(layout.Keys, INT64S, INT32S, INT32S, INT32S, INT64S, INT32S, INT8S, INT32S)
LEFT = named(layout.Left, NEW_INT64S, int64)
ROWS, FLOAT_ROWS = rows(int32), rows(float64)
INDEX = named(layout.Index, ROWS, ROWS, ROWS, INT64S, NEW_INT64S, ROWS, FLOAT_ROWS, ROWS, FLOAT_ROWS)
VALUES = named(layout.Values, int64, FLOAT_ROWS, FLOAT_ROWS)
WORDS = named(layout.Words, INT32S, INT64S, FLOATS)
CLOSURE = named(layout.Closure, INT64S, INT32S, INT64S, INT32S, INT64S, int64, int64, int64)
FOUND = named(layout.Found, NEW_INT32S, NEW_INT64S, NEW_INT32S, NEW_INT32S)
