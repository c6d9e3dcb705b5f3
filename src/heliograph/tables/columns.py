"""Whole columns to the types of a schema, with the cells that could not be coerced.

The law: `coerce_array` and `coerce_values` give what `cells` gives value by value; Arrow's casts are used only where a
gate (a type, or a pattern that every cell matches) makes sure that they agree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.tables.cells import CELLS, EPOCH, BadCell, float_term_cell, plain
from heliograph.tables.schemas import ARROW_TYPES, Kind

if TYPE_CHECKING:
    Array = pa.Array[Any]
else:
    Array = pa.Array

TEXTUAL = frozenset(kind for kind in Kind if kind not in ARROW_TYPES)
TERMS = frozenset({Kind.TERM, Kind.PROPERTY, Kind.VALUE})


class Bad(NamedTuple):
    """A cell that was refused: its row in the column (from 0), the value, and what was expected."""

    row: int
    value: Any
    expected: str


class Coerced(NamedTuple):
    """A column in its schema's type, null where a cell was refused."""

    array: Array
    bad: Sequence[Bad] = ()


class _Mismatch(Exception):
    """A fast path that does not apply."""


class _Unreadable:
    """A value that Arrow holds and Python cannot."""

    def __repr__(self) -> str:
        return "a value out of range"


_UNREADABLE = _Unreadable()
_QUICK_TYPES: dict[Kind, set[type]] = {
    **{kind: {str} for kind in TEXTUAL},
    Kind.INTEGER: {int},
    Kind.NUMBER: {float, int},
    Kind.TRUTH: {bool},
}
_FAILED = (pa.ArrowException, UnicodeError, OverflowError, ValueError, TypeError, _Mismatch)


def target_type(kind: Kind) -> pa.DataType:
    return ARROW_TYPES.get(kind, pa.string())


def nulls(count: int, type: Any) -> Array:
    array: Array = pa.nulls(count, type)
    return array


def coerce_values(kind: Kind, values: Sequence[Any]) -> Coerced:
    """A column of Python values."""
    types = set(map(type, values)) - {type(None)}
    try:
        if types <= _QUICK_TYPES.get(kind, set()):
            return Coerced(pa.array(values, target_type(kind)))
        if types == {str}:
            return coerce_array(kind, pa.array(values, pa.string()))
        if types == {int}:
            return coerce_array(kind, pa.array(values, pa.int64()))
    except _FAILED:
        pass
    if any(issubclass(found, (np.generic, np.ndarray)) for found in types):
        values = [plain(value) for value in values]
    return _one_by_one(kind, values, CELLS[kind])


def _one_by_one(kind: Kind, values: Sequence[Any], convert: Callable[[Any], Any]) -> Coerced:
    cells, bad = _converted(values, convert, str if kind in TEXTUAL else None)
    try:
        return Coerced(pa.array(cells, target_type(kind)), bad)
    except UnicodeEncodeError:
        cells, worse = _converted(cells, _encodable)
        return Coerced(pa.array(cells, target_type(kind)), sorted([*bad, *worse], key=lambda entry: entry.row))


def _converted(
    values: Sequence[Any], convert: Callable[[Any], Any], as_it_is: type | None = None
) -> tuple[list[Any], list[Bad]]:
    """The cells of values, null where one is bad; values of the type `as_it_is` need no conversion."""
    cells: list[Any] = []
    bad: list[Bad] = []
    for row, value in enumerate(values):
        try:
            cells.append(value if type(value) is as_it_is else convert(value))
        except BadCell as error:
            cells.append(None)
            bad.append(Bad(row, value, str(error)))
    return cells, bad


def _encodable(cell: Any) -> Any:
    """A cell that UTF-8 can hold: JSON can spell half of a surrogate pair, which is no character."""
    for text in cell if isinstance(cell, list) else (cell,):
        if isinstance(text, str) and not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise BadCell("write whole characters, not half of a surrogate pair") from error
    return cell


def coerce_array(kind: Kind, array: Array) -> Coerced:
    """A column that Arrow holds, of whatever type."""
    try:
        array = _simple(array)
        return Coerced(_FAST[kind](array))
    except _FAILED:
        return _fallback(kind, array)


def _simple(array: Array) -> Array:
    """Dictionaries, views, large and extension types as the plain type that they stand for."""
    kind = array.type
    if isinstance(array, pa.DictionaryArray):
        return _simple(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return _simple(pc.call_function("run_end_decode", [array]))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.string())
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return array.cast(pa.binary())
    if isinstance(array, pa.ExtensionArray) and not isinstance(kind, pa.UuidType):
        return _simple(array.storage)
    return array


def _text(array: Array) -> Array:
    if pa.types.is_string(array.type):
        array.validate(full=True)  # Parquet promises UTF-8 and does not check it
        return array
    return _cast_if(_is_wordlike, array, pa.string())


def _is_wordlike(kind: pa.DataType) -> bool:
    """Types whose Arrow text is the text of `cells`: whole numbers, truth values, nothing, and bytes that are UTF-8."""
    known = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_null, pa.types.is_binary)
    return any(check(kind) for check in known)


def _cast_if(check: Callable[[pa.DataType], bool], array: Array, target: pa.DataType, *, safe: bool = True) -> Array:
    if not check(array.type):
        raise _Mismatch
    return array.cast(target, safe=safe)


def _gate(array: Array, pattern: str) -> bool:
    """Whether every cell that is there has this shape."""
    return pc.all(pc.match_substring_regex(array, f"^(?:{pattern})$")).as_py() is not False


def _integers(array: Array) -> Array:
    if pa.types.is_string(array.type) and _gate(array, "-?[0-9]{1,18}"):
        return array.cast(pa.int64())
    return _cast_if(lambda kind: pa.types.is_integer(kind) or pa.types.is_null(kind), array, pa.int64())


def _numbers(array: Array) -> Array:
    if pa.types.is_string(array.type) and _gate(array, r"-?[0-9]{1,300}(?:\.[0-9]{1,300})?(?:[eE]-?[0-9]{1,2})?"):
        return array.cast(pa.float64())
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_null)
    return _cast_if(lambda kind: any(check(kind) for check in checks), array, pa.float64(), safe=False)


_CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_UTC = pa.timestamp("us", tz="UTC")
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
_RANGE = tuple((bound - EPOCH).days * 86_400_000_000 + (bound - EPOCH).seconds * 1_000_000 for bound in (_FIRST, _LAST))


def _times(array: Array) -> Array:
    times = _text_times(array) if pa.types.is_string(array.type) else _typed_times(array)
    low, high = (pc.min_max(times.cast(pa.int64()))[side].as_py() for side in ("min", "max"))
    if low is not None and not (_RANGE[0] <= low and high <= _RANGE[1] + 999_999):
        raise _Mismatch  # years that Python's datetime does not have
    return times


def _text_times(array: Array) -> Array:
    if _gate(array, _CLOCK + r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"):
        return array.cast(_UTC)
    if _gate(array, "[0-9]{4}-[0-9]{2}-[0-9]{2}") or _gate(array, _CLOCK):
        return array.cast(pa.timestamp("us")).cast(_UTC)
    raise _Mismatch


def _typed_times(array: Array) -> Array:
    kind = array.type
    if pa.types.is_timestamp(kind):
        finer = kind.unit == "ns"  # digits beyond the microsecond are cut off; coarser units must not overflow
        zone = None if kind.tz is None else "UTC"
        return array.cast(pa.timestamp("us", tz=zone), safe=not finer).cast(_UTC)
    return _cast_if(lambda kind: pa.types.is_date(kind) or pa.types.is_null(kind), array, pa.timestamp("us")).cast(_UTC)


def _labels(array: Array) -> Array:
    kind = array.type
    if pa.types.is_null(kind):
        return array.cast(target_type(Kind.LABELS))
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise _Mismatch
    if not (pa.types.is_string(kind.value_type) or pa.types.is_integer(kind.value_type)):
        raise _Mismatch
    lists = array.cast(target_type(Kind.LABELS))
    lists.validate(full=True)
    if pc.call_function("list_flatten", [lists]).null_count:
        raise _Mismatch
    return lists


def _truths(array: Array) -> Array:
    return _cast_if(lambda kind: pa.types.is_boolean(kind) or pa.types.is_null(kind), array, pa.bool_())


_FAST: dict[Kind, Callable[[Array], Array]] = {
    **dict.fromkeys(TEXTUAL, _text),
    Kind.INTEGER: _integers,
    Kind.NUMBER: _numbers,
    Kind.TIME: _times,
    Kind.LABELS: _labels,
    Kind.TRUTH: _truths,
}


def _fallback(kind: Kind, array: Array) -> Coerced:
    """Each distinct value once, in Python."""
    if pa.types.is_string(array.type):
        array = array.view(pa.binary()) if not _is_valid(array) else array
    convert = _converter(kind, array.type)
    try:
        encoded = array.dictionary_encode()
        distinct = _one_by_one(kind, _python_values(encoded.dictionary), convert)
        return _spread(distinct, encoded.indices)
    except _FAILED:
        return _one_by_one(kind, _python_values(array), convert)


def _is_valid(array: Array) -> bool:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _converter(kind: Kind, source: pa.DataType) -> Callable[[Any], Any]:
    single = pa.types.is_float32(source) or pa.types.is_float16(source)
    convert = float_term_cell if single and kind in TERMS else CELLS[kind]
    return lambda value: _refuse() if value is _UNREADABLE else convert(value)


def _refuse() -> None:
    raise BadCell("write a value within the range of Python's own types")


def _spread(distinct: Coerced, indices: Array) -> Coerced:
    """The column whose cells are `distinct` at `indices`."""
    refused = {entry.row: entry for entry in distinct.bad}
    bad = [
        refused[number]._replace(row=row)
        for row, number in (enumerate(indices.to_pylist()) if refused else ())
        if number in refused
    ]
    return Coerced(distinct.array.take(indices), bad)


def _python_values(array: Array) -> list[Any]:
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        array = array.cast(pa.timestamp("us", tz=array.type.tz), safe=False)
    try:
        return array.to_pylist(maps_as_pydicts="lossy")
    except (ValueError, OverflowError, pa.ArrowException, KeyError):
        return list(_readable(array))


def _readable(array: Array) -> Iterator[Any]:
    for index in range(len(array)):
        try:
            yield array[index].as_py(maps_as_pydicts="lossy")
        except (ValueError, OverflowError, pa.ArrowException, KeyError):
            yield _UNREADABLE
