"""Values to the types of a table's columns: one cell at a time, or whole columns in Arrow.

The laws of a cell: text stays as it is; a number or a truth value in an id or term column becomes its text; JSON
numbers keep their spelling as terms, a Python float is an xsd:double; an id that is a whole float (pandas makes those
of integers beside nulls) is the integer; a time without a zone is UTC.

The law of a column: `coerce_array` and `coerce_values` give what `CELLS` gives value by value. Arrow's casts are used
only where a gate (a type, or a pattern that every cell matches) makes sure that they agree with it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heliograph import values
from heliograph.io.schemas import ARROW_TYPES, CellKind
from heliograph.terms import Position, Term, Variable, literal, spell

if TYPE_CHECKING:
    Array = pa.Array[Any]
else:
    Array = pa.Array


class BadCell(ValueError):
    """A value that cannot stand in its column; the text says what is expected."""


class JsonFloat(float):
    """A number read from JSON, with the spelling it had there."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> JsonFloat:
        number = super().__new__(cls, text)
        number.text = text
        return number


DECODER = json.JSONDecoder(parse_float=JsonFloat)


def plain(value: Any) -> Any:
    """NumPy scalars and arrays as Python values."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else value


def _in_order(value: Iterable[Any]) -> list[Any]:
    return sorted(value, key=str) if isinstance(value, (set, frozenset)) else list(value)


# --- texts and terms ---


def text_cell(value: Any) -> str | None:
    """An id, a query, an operator: any scalar becomes its text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return values.canonical(values.Value(values.Kind.INTEGER, int(value)))
    if isinstance(value, float):
        if math.isnan(value):  # how pandas spells a missing value
            return None
        whole = math.isfinite(value) and value == int(value) and abs(value) < 2**63
        return str(int(value)) if whole else float.__repr__(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (Term, Variable, UUID)):
        return str(value)
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadCell("write text in UTF-8") from error
    raise BadCell("write text")


def term_cell(value: Any, position: Position = Position.OBJECT) -> str | None:
    """A cell that spells a term."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Term):
        return spell(value, position)
    if isinstance(value, JsonFloat):
        return value.text
    if isinstance(value, float):
        return spell(literal(values.canonical(values.Value(values.Kind.DOUBLE, float(value))), values.XSD_DOUBLE))
    if isinstance(value, Decimal) and value.is_finite():
        return spell(literal(format(value, "f"), values.XSD_DECIMAL))
    if isinstance(value, datetime):
        text = value.isoformat()
        return spell(literal(text[:-6] + "Z" if text.endswith("+00:00") else text, values.XSD_DATETIME))
    if isinstance(value, date):
        return spell(literal(value.isoformat(), values.XSD_DATE))
    if isinstance(value, (bool, int, Variable, bytes)):
        return text_cell(value)
    raise BadCell('write a term: a name, <iri>, "text", a number, true or false')


def float_term_cell(value: Any) -> str | None:
    """A single-precision number as the xsd:float it is."""
    if value is None:
        return None
    return spell(literal(values.canonical(values.Value(values.Kind.FLOAT, value)), values.XSD_FLOAT))


def property_cell(value: Any) -> str | None:
    return term_cell(value, Position.PROPERTY)


def value_cell(value: Any) -> str | None:
    """A constraint's value: a term, or a list of terms as a JSON array of their spellings."""
    if isinstance(value, (list, tuple, set, frozenset)) and not isinstance(value, (Term, Variable)):
        return json_text([term_cell(plain(element)) for element in _in_order(value)])
    return term_cell(value)


# --- numbers and times ---

_INTEGER = re.compile(r"[+-]?[0-9]{1,30}\Z")
_NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|nan|inf|infinity)\Z", re.IGNORECASE)


def integer_cell(value: Any) -> int | None:
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return None
        value = int(value) if _INTEGER.match(value) else value
    if isinstance(value, (float, Decimal)) and math.isfinite(value) and value == int(value):
        value = int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63):
        return value
    raise BadCell("write a whole number of at most 64 bits")


def number_cell(value: Any) -> float | None:
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return None
        value = float(value) if _NUMBER.match(value) else value
    if value is None:
        return None
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        with suppress(OverflowError):
            return float(value)
    raise BadCell("write a number, such as 2.5")


# The shape, not the calendar: what has it but is no day or hour is refused afterwards.
_TIME = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<clock>[0-9]{2}(?::[0-9]{2}(?::[0-9]{2})?)?)(?P<fraction>\.[0-9]+)?"
    r"(?P<zone>[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?\Z"
)
_TIME_FIX = "write ISO 8601, such as 2026-11-15T08:30:00Z"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def time_cell(value: Any) -> datetime | None:
    """A point in time in UTC; digits beyond the microsecond are cut off."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        if isinstance(value, str):
            value = _read_time(value.strip())
        if isinstance(value, datetime):
            return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise BadCell(_TIME_FIX) from error
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    raise BadCell(_TIME_FIX)


def _read_time(text: str) -> datetime:
    match = _TIME.match(text)
    if match is None or (match["fraction"] and len(match["clock"]) < 8):
        raise ValueError(text)
    clock = [int(part) for part in (match["clock"] or "0").split(":")] + [0, 0]
    micro = int((match["fraction"] or ".0")[1:7].ljust(6, "0"))
    zone = UTC
    if match["zone"] and match["zone"] not in "Zz":
        digits = match["zone"][1:].replace(":", "").ljust(4, "0")
        if int(digits[:2]) > 23 or int(digits[2:]) > 59:
            raise ValueError(text)
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
        zone = timezone(offset if match["zone"][0] == "+" else -offset)
    day = datetime.fromisoformat(match["day"])
    return day.replace(hour=clock[0], minute=clock[1], second=clock[2], microsecond=micro, tzinfo=zone)


# --- JSON, labels, truth ---


def json_cell(value: Any) -> str | None:
    """JSON text; text is taken as the JSON it should be, anything else is written as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return text_cell(value)
    try:
        return json_text(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadCell("write an object of plain JSON values") from error


def json_text(value: Any) -> str:
    """Compact JSON; lone surrogates, which UTF-8 cannot hold, keep the text in ASCII."""
    text = _ENCODER.encode(value)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            return json.dumps(json.loads(text), separators=(",", ":"))
    return text


def _jsonable(value: Any) -> Any:
    simpler = plain(value)
    if simpler is not value:
        return simpler
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return _in_order(value)
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return text_cell(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_jsonable)
_LABELS_FIX = 'write a list of labels, such as ["Sports","Finance"]'


def labels_cell(value: Any) -> list[str] | None:
    """A list of strings; as text, a JSON array or nothing."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        found = DECODER.decode(value) if isinstance(value, str) else value
    except (ValueError, RecursionError) as error:
        raise BadCell(_LABELS_FIX) from error
    if found is None:
        return None
    if not isinstance(found, (list, tuple, set, frozenset)):
        raise BadCell(_LABELS_FIX)
    labels = [None if isinstance(each, (list, tuple)) else text_cell(plain(each)) for each in _in_order(found)]
    if None in labels:
        raise BadCell(_LABELS_FIX)
    return labels  # type: ignore[return-value]


def truth_cell(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false", ""):
        return None if not value.strip() else value.strip().lower() == "true"
    raise BadCell("write true or false")


CELLS: Mapping[CellKind, Callable[[Any], Any]] = {
    CellKind.TEXT: text_cell,
    CellKind.TERM: term_cell,
    CellKind.PROPERTY: property_cell,
    CellKind.VALUE: value_cell,
    CellKind.INTEGER: integer_cell,
    CellKind.NUMBER: number_cell,
    CellKind.TIME: time_cell,
    CellKind.JSON: json_cell,
    CellKind.LABELS: labels_cell,
    CellKind.TRUTH: truth_cell,
}


# --- columns of Python values ---

TEXTUAL = frozenset(kind for kind in CellKind if kind not in ARROW_TYPES)
TERMS = frozenset({CellKind.TERM, CellKind.PROPERTY, CellKind.VALUE})
AS_THEY_ARE: Mapping[CellKind, frozenset[type]] = {
    **{kind: frozenset({str, type(None)}) for kind in TEXTUAL},
    CellKind.INTEGER: frozenset({int, type(None)}),
    CellKind.NUMBER: frozenset({float, int, type(None)}),
    CellKind.TRUTH: frozenset({bool, type(None)}),
    CellKind.TIME: frozenset({type(None)}),
    CellKind.LABELS: frozenset({type(None)}),
}
"""The types whose values Arrow takes for a kind of cell without conversion; it may still find one too large."""


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
FAILED = (pa.ArrowException, UnicodeError, OverflowError, ValueError, TypeError, _Mismatch)
"""How Arrow refuses values that it cannot hold in a type."""


def target_type(kind: CellKind) -> pa.DataType:
    return ARROW_TYPES.get(kind, pa.string())


def nulls(count: int, type: Any) -> Array:
    array: Array = pa.nulls(count, type)
    return array


def coerce_values(kind: CellKind, values: Sequence[Any]) -> Coerced:
    """A column of Python values."""
    types = set(map(type, values))
    with suppress(*FAILED):
        if types <= AS_THEY_ARE[kind]:
            return Coerced(pa.array(values, target_type(kind)))
        if types <= {str, type(None)}:
            return coerce_array(kind, pa.array(values, pa.string()))
        if types <= {int, type(None)}:
            return coerce_array(kind, pa.array(values, pa.int64()))
    if any(issubclass(found, (np.generic, np.ndarray)) for found in types):
        values = [plain(value) for value in values]
    return _one_by_one(kind, values, CELLS[kind])


def _one_by_one(kind: CellKind, values: Sequence[Any], convert: Callable[[Any], Any], check: bool = False) -> Coerced:
    """The cells of values, null where one is bad; texts in a column of texts need no conversion.

    Whether UTF-8 can hold each is checked once it is known that it cannot hold all.
    """
    cells: list[Any] = []
    bad: list[Bad] = []
    as_it_is = str if kind in TEXTUAL else None
    for row, value in enumerate(values):
        try:
            cell = value if type(value) is as_it_is else convert(value)
            cells.append(_encodable(cell) if check else cell)
        except BadCell as error:
            cells.append(None)
            bad.append(Bad(row, value, str(error)))
    try:
        return Coerced(pa.array(cells, target_type(kind)), bad)
    except UnicodeEncodeError:
        return _one_by_one(kind, values, convert, check=True)


def _encodable(cell: Any) -> Any:
    """A cell that UTF-8 can hold: JSON can spell half of a surrogate pair, which is no character."""
    for text in cell if isinstance(cell, list) else (cell,):
        if isinstance(text, str) and not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise BadCell("write whole characters, not half of a surrogate pair") from error
    return cell


# --- columns that Arrow holds ---


def coerce_array(kind: CellKind, array: Array) -> Coerced:
    """A column that Arrow holds, of whatever type."""
    try:
        array = _simple(array)
        return Coerced(_FAST[kind](array))
    except FAILED:
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


def _cast(array: Array, target: pa.DataType, *checks: Callable[[pa.DataType], bool], safe: bool = True) -> Array:
    """The array in another type, if it is of one of the types that `checks` accept; nothing is also accepted."""
    if not any(check(array.type) for check in (pa.types.is_null, *checks)):
        raise _Mismatch
    return array.cast(target, safe=safe)


def _gate(array: Array, pattern: str) -> bool:
    """Whether every cell that is there has this shape."""
    return pc.all(pc.match_substring_regex(array, f"^(?:{pattern})$")).as_py() is not False


def _text(array: Array) -> Array:
    """Texts, and types whose text in Arrow is that of `text_cell`."""
    if pa.types.is_string(array.type):
        array.validate(full=True)  # Parquet promises UTF-8 and does not check it
        return array
    return _cast(array, pa.string(), pa.types.is_integer, pa.types.is_boolean, pa.types.is_binary)


def _integers(array: Array) -> Array:
    if pa.types.is_string(array.type) and _gate(array, "-?[0-9]{1,18}"):
        return array.cast(pa.int64())
    return _cast(array, pa.int64(), pa.types.is_integer)


def _numbers(array: Array) -> Array:
    if pa.types.is_string(array.type) and _gate(array, r"-?[0-9]{1,300}(?:\.[0-9]{1,300})?(?:[eE]-?[0-9]{1,2})?"):
        return array.cast(pa.float64())
    return _cast(array, pa.float64(), pa.types.is_integer, pa.types.is_floating, safe=False)


_CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
_UTC = pa.timestamp("us", tz="UTC")
_FIRST, _LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
_RANGE = tuple((bound - EPOCH).days * 86_400_000_000 + (bound - EPOCH).seconds * 1_000_000 for bound in (_FIRST, _LAST))


def _times(array: Array) -> Array:
    kind = array.type
    if pa.types.is_timestamp(kind):
        finer = kind.unit == "ns"  # digits beyond the microsecond are cut off; coarser units must not overflow
        times = array.cast(pa.timestamp("us", tz=kind.tz and "UTC"), safe=not finer).cast(_UTC)
    elif not pa.types.is_string(kind):
        times = _cast(array, pa.timestamp("us"), pa.types.is_date).cast(_UTC)
    elif _gate(array, _CLOCK + r"(?:Z|[+-][0-9]{2}:?[0-9]{2})"):
        times = array.cast(_UTC)
    elif _gate(array, "[0-9]{4}-[0-9]{2}-[0-9]{2}") or _gate(array, _CLOCK):
        times = array.cast(pa.timestamp("us")).cast(_UTC)
    else:
        raise _Mismatch
    low, high = (pc.min_max(times.cast(pa.int64()))[side].as_py() for side in ("min", "max"))
    if low is not None and not (_RANGE[0] <= low and high <= _RANGE[1] + 999_999):
        raise _Mismatch  # years that Python's datetime does not have
    return times


def _labels(array: Array) -> Array:
    kind = array.type
    if pa.types.is_null(kind):
        return array.cast(target_type(CellKind.LABELS))
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise _Mismatch
    if not (pa.types.is_string(kind.value_type) or pa.types.is_integer(kind.value_type)):
        raise _Mismatch
    lists = array.cast(target_type(CellKind.LABELS))
    lists.validate(full=True)
    if pc.call_function("list_flatten", [lists]).null_count:
        raise _Mismatch
    return lists


_FAST: dict[CellKind, Callable[[Array], Array]] = {
    **dict.fromkeys(TEXTUAL, _text),
    CellKind.INTEGER: _integers,
    CellKind.NUMBER: _numbers,
    CellKind.TIME: _times,
    CellKind.LABELS: _labels,
    CellKind.TRUTH: lambda array: _cast(array, pa.bool_(), pa.types.is_boolean),
}


def _fallback(kind: CellKind, array: Array) -> Coerced:
    """Each distinct value once, in Python."""
    if pa.types.is_string(array.type):
        try:
            array.validate(full=True)
        except pa.ArrowInvalid:
            array = array.view(pa.binary())
    single = pa.types.is_float32(array.type) or pa.types.is_float16(array.type)
    to_cell = float_term_cell if single and kind in TERMS else CELLS[kind]

    def convert(value: Any) -> Any:
        if value is _UNREADABLE:
            raise BadCell("write a value within the range of Python's own types")
        return to_cell(value)

    try:
        encoded = array.dictionary_encode()
        distinct = _one_by_one(kind, _python_values(encoded.dictionary), convert)
        refused = {entry.row: entry for entry in distinct.bad}
        numbered = enumerate(encoded.indices.to_pylist()) if refused else ()
        bad = [refused[number]._replace(row=row) for row, number in numbered if number in refused]
        return Coerced(distinct.array.take(encoded.indices), bad)
    except FAILED:
        return _one_by_one(kind, _python_values(array), convert)


_NOT_IN_PYTHON = (ValueError, OverflowError, pa.ArrowException, KeyError)


def _python_values(array: Array) -> list[Any]:
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        array = array.cast(pa.timestamp("us", tz=array.type.tz), safe=False)
    try:
        return array.to_pylist(maps_as_pydicts="lossy")
    except _NOT_IN_PYTHON:
        if len(array) == 1:
            return [_UNREADABLE]
        return [value for index in range(len(array)) for value in _python_values(array[index : index + 1])]
