"""Numba's types for the arrays that kernels share, made from their NamedTuples."""

from __future__ import annotations

from typing import Any

from numba import boolean, float64, int16, int32, int64, types, uint8, uint32, uint64

from heliograph.kernels import filter_layout as layout

_NAMED: Any = types.NamedTuple


def array(dtype: Any, *, writable: bool = False) -> Any:
    return types.Array(dtype, 1, "C", readonly=not writable)


def named(kind: type, *parts: Any) -> Any:
    return _NAMED(parts, kind)


INT8S, INT16S, INT32S, INT64S = (array(dtype) for dtype in (uint8, int16, int32, int64))
FLOATS, FLAGS = array(float64), array(boolean)
NEW_INT8S, NEW_INT16S, NEW_INT32S, NEW_INT64S, NEW_FLOATS, NEW_HASHES, NEW_COUNTS = (
    array(dtype, writable=True) for dtype in (uint8, int16, int32, int64, float64, uint64, uint32)
)

EDGES = named(layout.Edges, INT64S, INT32S, INT32S, INT32S)
NEW_EDGES = named(layout.Edges, NEW_INT64S, NEW_INT32S, NEW_INT32S, NEW_INT32S)
ATOMS = named(layout.Atoms, INT8S, FLOATS, FLOATS, INT8S)
CONJUNCTS = named(layout.Conjuncts, INT16S, INT64S, ATOMS)
KEYS = named(layout.Keys, INT64S, INT32S, INT32S, INT32S, INT64S, INT32S, INT8S, INT32S)
STRUCTURES = named(layout.Structures, EDGES, INT8S, INT16S, INT32S, INT64S, INT32S, INT64S, NEW_INT32S)
MEMBERS = named(layout.Members, INT64S, NEW_INT64S, INT8S, INT64S)
ENTRIES = named(layout.Entries, FLOATS, FLOATS, FLOATS, INT32S)
TABLES = named(layout.Tables, INT16S, INT8S, INT64S, ENTRIES)
INDEX = named(layout.Index, KEYS, STRUCTURES, MEMBERS, CONJUNCTS, TABLES)
PLACES = named(layout.Places, INT8S, FLOATS, FLAGS)
VALUES = named(layout.Values, int64, PLACES, PLACES)
WORDS = named(layout.Words, INT32S, INT64S, FLOATS)
CLOSURE = named(layout.Closure, INT64S, INT32S, INT64S, INT32S, INT64S, int64, int64)
FOUND = named(layout.Found, NEW_INT32S, NEW_INT64S, NEW_INT32S, NEW_INT32S)
