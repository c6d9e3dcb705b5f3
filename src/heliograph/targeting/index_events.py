"""The events that a predicate index is asked about, as one column of JSON texts.

Attributes come as mappings, as JSON texts, or as an Arrow column; one mapping or one text is one event.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from heliograph.errors import Place, TableError, UsageError
from heliograph.model import Rejected
from heliograph.tables.columns import coerce_array, coerce_values
from heliograph.tables.schemas import Kind

_COLUMN = "attributes"
_FIX = "give a mapping of attributes, JSON texts, several of these, or an Arrow column"


class Texts(NamedTuple):
    """A text for each event, null where it was refused."""

    column: pa.Array[Any]
    rejected: dict[int, Rejected]


def read_texts(events: Any) -> Texts:
    """The events in order; one that cannot be written as JSON is refused by its position."""
    if isinstance(events, pa.Table | pa.RecordBatch):
        if _COLUMN not in events.schema.names:
            raise TableError("HG-202", f"events without {_COLUMN!r}", fix=f"add the column {_COLUMN!r}")
        events = events.column(_COLUMN)
    if isinstance(events, pa.ChunkedArray):
        events = events.combine_chunks()
    if isinstance(events, pa.Array):
        return _coerced(coerce_array(Kind.JSON, events)) if not _is_text(events) else Texts(events, {})
    if isinstance(events, Mapping | str):
        events = [events]
    if not isinstance(events, Iterable) or isinstance(events, bytes | os.PathLike):
        raise UsageError("HG-024", f"{type(events).__name__} given as events", fix=_FIX)
    return _coerced(coerce_values(Kind.JSON, list(events)))


def _is_text(column: pa.Array[Any]) -> bool:
    return pa.types.is_string(column.type) or pa.types.is_large_string(column.type)


def _coerced(coerced: Any) -> Texts:
    return Texts(coerced.array, {bad.row: _refused(bad) for bad in coerced.bad})


def _refused(bad: Any) -> Rejected:
    position = str(bad.row + 1)
    error = TableError("HG-204", f"{str(bad.value)[:60]} as event", place=Place(item=position), fix=bad.expected)
    return Rejected.of(error, item=position)
