"""One Python value to one cell of a table: the slow, obvious twin of `columns`, and its fallback for odd types.

The laws: text stays as it is; a number or a truth value in an id or term column becomes its text; JSON numbers keep
their spelling as terms, a Python float is an xsd:double; an id that is a whole float (pandas makes those of integers
beside nulls) is the integer; a time without a zone is UTC.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np

from heliograph import values
from heliograph.tables.schemas import Kind
from heliograph.terms import Position, Term, Variable, literal, spell


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


def text_cell(value: Any) -> str | None:
    """An id, a query, an operator: any scalar becomes its text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _integer_text(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, (Term, Variable, UUID)):
        return str(value)
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, bytes):
        return _decoded(value)
    raise BadCell("write text")


def _integer_text(value: int) -> str:
    return values.canonical(values.Value(values.Kind.INTEGER, int(value)))


def _float_text(value: float) -> str | None:
    """A whole float is an integer that lost its type; NaN is how pandas spells a missing value."""
    if math.isnan(value):
        return None
    whole = math.isfinite(value) and value == int(value) and abs(value) < 2**63
    return str(int(value)) if whole else float.__repr__(value)


def _decoded(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadCell("write text in UTF-8") from error


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
        return spell(literal(_iso(value), values.XSD_DATETIME))
    if isinstance(value, date):
        return spell(literal(value.isoformat(), values.XSD_DATE))
    if isinstance(value, (bool, int, Variable, bytes)):
        return text_cell(value)
    raise BadCell('write a term: a name, <iri>, "text", a number, true or false')


def float_term_cell(value: Any) -> str | None:
    """A single-precision number as the xsd:float it is."""
    return (
        None
        if value is None
        else spell(literal(values.canonical(values.Value(values.Kind.FLOAT, value)), values.XSD_FLOAT))
    )


def property_cell(value: Any) -> str | None:
    return term_cell(value, Position.PROPERTY)


def value_cell(value: Any) -> str | None:
    """A constraint's value: a term, or a list of terms as a JSON array of their spellings."""
    if isinstance(value, (list, tuple, set, frozenset)) and not isinstance(value, (Term, Variable)):
        return json_text([term_cell(plain(element)) for element in _in_order(value)])
    return term_cell(value)


def _in_order(value: Iterable[Any]) -> list[Any]:
    return sorted(value, key=str) if isinstance(value, (set, frozenset)) else list(value)


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
    if isinstance(value, str):
        return _read_time(value.strip()) if value.strip() else None
    if isinstance(value, datetime):
        return _in_utc(value)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if value is None:
        return None
    raise BadCell(_TIME_FIX)


def _in_utc(value: datetime) -> datetime:
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise BadCell(_TIME_FIX) from error


def _read_time(text: str) -> datetime:
    match = _TIME.match(text)
    if match is None or (match["fraction"] and len(match["clock"]) < 8):
        raise BadCell(_TIME_FIX)
    clock = [int(part) for part in (match["clock"] or "0").split(":")] + [0, 0]
    micro = int((match["fraction"] or ".0")[1:7].ljust(6, "0"))
    try:
        day = datetime.fromisoformat(match["day"]).replace(tzinfo=_zone(match["zone"]))
        return _in_utc(day.replace(hour=clock[0], minute=clock[1], second=clock[2], microsecond=micro))
    except ValueError as error:
        raise BadCell(_TIME_FIX) from error


def _zone(text: str | None) -> timezone:
    if text is None or text in "Zz":
        return UTC
    digits = text[1:].replace(":", "").ljust(4, "0")
    if int(digits[:2]) > 23 or int(digits[2:]) > 59:
        raise ValueError(text)
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(offset if text[0] == "+" else -offset)


def _iso(value: datetime) -> str:
    text = value.isoformat()
    return text[:-6] + "Z" if text.endswith("+00:00") else text


def json_cell(value: Any) -> str | None:
    """JSON text; text is taken as the JSON it should be, anything else is written as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return _decoded(value)
    try:
        return json_text(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadCell("write an object of plain JSON values") from error


def json_text(value: Any) -> str:
    """Compact JSON; lone surrogates, which UTF-8 cannot hold, keep the text in ASCII."""
    text = _ENCODER.encode(value)
    return text if text.isascii() or _encodes(text) else json.dumps(json.loads(text), separators=(",", ":"))


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


def _encodes(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


_LABELS_FIX = 'write a list of labels, such as ["Sports","Finance"]'


def labels_cell(value: Any) -> list[str] | None:
    """A list of strings; as text, a JSON array or nothing."""
    if isinstance(value, str):
        if not value.strip():
            return None
        value = _read_array(value)
    if value is None:
        return None
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise BadCell(_LABELS_FIX)
    return [_label(element) for element in _in_order(value)]


def _read_array(text: str) -> Any:
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise BadCell(_LABELS_FIX) from error


def _label(element: Any) -> str:
    text = None if isinstance(element, (list, tuple)) else text_cell(plain(element))
    if text is None:
        raise BadCell(_LABELS_FIX)
    return text


def truth_cell(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false", ""):
        return None if not value.strip() else value.strip().lower() == "true"
    raise BadCell("write true or false")


CELLS: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.TEXT: text_cell,
    Kind.TERM: term_cell,
    Kind.PROPERTY: property_cell,
    Kind.VALUE: value_cell,
    Kind.INTEGER: integer_cell,
    Kind.NUMBER: number_cell,
    Kind.TIME: time_cell,
    Kind.JSON: json_cell,
    Kind.LABELS: labels_cell,
    Kind.TRUTH: truth_cell,
}
