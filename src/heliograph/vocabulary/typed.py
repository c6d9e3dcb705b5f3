"""Typed values beside term ids, as flat columns that grow.

The law that lets a kernel compare without the exact values: both `number` (the nearest float64) and `instant` (whole
microseconds, rounded down) are monotone in the value, so if they differ they order the values, and if they are equal
and both `exact`, so are the values. Only equal and inexact ones need `terms.value_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from heliograph import values
from heliograph.terms import RDF_LANG_STRING, Term, TermKind, value_of
from heliograph.values import Instant, Kind, Value

NO_ZONE = -32768
NO_KIND = 0
MICRO = values.ATTO // 10**6  # attoseconds in a microsecond
TEXTS = frozenset({values.XSD_STRING, RDF_LANG_STRING})  # datatypes whose literals are their text
_FIRST, _LAST = -(2**63), 2**63 - 1

Flags = npt.NDArray[np.bool_]


class Typed(NamedTuple):
    """One row per term id."""

    category: npt.NDArray[np.uint8]  # terms.TermKind
    kind: npt.NDArray[np.uint8]  # values.Kind, or NO_KIND where there is no typed value
    number: npt.NDArray[np.float64]  # of numbers and booleans, else NaN
    instant: npt.NDArray[np.int64]  # of dates and dateTimes: microseconds since 1970, UTC if there is a zone
    zone: npt.NDArray[np.int16]  # minutes east of UTC, or NO_ZONE
    exact: npt.NDArray[np.bool_]  # number and instant are the whole value

    @property
    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        return cast("tuple[npt.NDArray[Any], ...]", tuple(self))

    def take(self, rows: Any) -> Typed:
        return Typed(*(column[rows] for column in self.columns))


class Row(NamedTuple):
    """One term's entry in every column of `Typed`."""

    category: int
    kind: int
    number: float
    instant: int
    zone: int
    exact: bool


DTYPES = (np.uint8, np.uint8, np.float64, np.int64, np.int16, np.bool_)
_UNTYPED = {kind: Row(kind, NO_KIND, np.nan, 0, NO_ZONE, True) for kind in TermKind}


def row_of(term: Term) -> Row:
    typed = value_of(term)
    if typed is None:
        return _UNTYPED[term.kind]
    if isinstance(typed.value, Instant):
        return instant_row(typed.kind, typed.value)
    number, exact = _nearest(typed)
    return Row(TermKind.LITERAL, typed.kind, number, 0, NO_ZONE, exact)


def instant_row(kind: Kind, instant: Instant) -> Row:
    micros, rest = divmod(instant.atto, MICRO)
    clamped = min(max(micros, _FIRST), _LAST)
    zone = NO_ZONE if instant.zone is None else instant.zone
    return Row(TermKind.LITERAL, kind, np.nan, clamped, zone, rest == 0 and clamped == micros)


def _nearest(typed: Value) -> tuple[float, bool]:
    assert not isinstance(typed.value, Instant)
    try:
        number = float(typed.value)
    except OverflowError:
        number = np.inf if typed.value > 0 else -np.inf
    return number, number == typed.value or typed.kind in (Kind.FLOAT, Kind.DOUBLE)


def typed_of(terms: Sequence[Term]) -> Typed:
    """The columns of these terms, in order."""
    columns = zip(*map(row_of, terms), strict=True) if terms else ((),) * len(DTYPES)
    return Typed(*(np.array(column, dtype) for column, dtype in zip(columns, DTYPES, strict=True)))


def untyped(categories: npt.NDArray[np.uint8]) -> Typed:
    """The columns of terms without typed values, of these categories."""
    _, *rest = _UNTYPED[TermKind.IRI]
    columns: Any = (np.full(len(categories), value, dtype) for value, dtype in zip(rest, DTYPES[1:], strict=True))
    return Typed(categories, *columns)


def joined(first: Typed, second: Typed) -> Typed:
    return Typed(*(np.concatenate(pair) for pair in zip(first.columns, second.columns, strict=True)))


def interleaved(first: npt.NDArray[np.bool_], of_first: Typed, of_second: Typed) -> Typed:
    """Rows taken in order from one where `first` is true, and from the other where it is false."""
    rows = Typed(*(np.empty(len(first), column.dtype) for column in of_first.columns))
    for column, left, right in zip(rows.columns, of_first.columns, of_second.columns, strict=True):
        column[first] = left
        column[~first] = right
    return rows


class TypedColumns:
    """Columns that follow a growing number of terms, in amortised constant time a term.

    A reader keeps the arrays it was given: growing copies into larger ones, and rows once written never change.
    """

    def __init__(self) -> None:
        self._size = 0
        self._columns = typed_of(())

    def upto(self, size: int, rows: Callable[[int, int], Typed]) -> Typed:
        """The rows of the first `size` terms; `rows` computes those from one to another not seen before."""
        if size > self._size:
            self._append(rows(self._size, size), size)
        return self._columns.take(slice(size))

    def _append(self, rows: Typed, size: int) -> None:
        if size > len(self._columns.kind):
            spare = max(size, 2 * len(self._columns.kind), 64)
            self._columns = Typed(*(_grown(column, spare) for column in self._columns.columns))
        for column, new in zip(self._columns.columns, rows.columns, strict=True):
            column[self._size : size] = new
        self._size = size


def _grown(column: npt.NDArray[Any], capacity: int) -> npt.NDArray[Any]:
    larger = np.zeros(capacity, column.dtype)
    larger[: len(column)] = column
    return larger
