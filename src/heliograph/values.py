"""Typed values of RDF literals: what a lexical form means, and its one canonical spelling.

The laws, for every datatype known here:
  parse(datatype, lexical) is None exactly when the lexical form is ill-typed, or beyond the limits that XSD leaves to
  us: integers of 10,000 digits, years of nine, 18 digits of a second;
  canonical(value) parses to the same value, and two lexical forms of one value have one canonical form
  (dateTimes keep their zone: equal instants in different zones are different constants).

Integer subtypes count as xsd:integer and xsd:dateTimeStamp as xsd:dateTime; minus zero counts as zero.
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from enum import IntEnum
from typing import Any, NamedTuple

XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING = XSD + "string"
XSD_BOOLEAN = XSD + "boolean"
XSD_INTEGER = XSD + "integer"
XSD_DECIMAL = XSD + "decimal"
XSD_DOUBLE = XSD + "double"
XSD_FLOAT = XSD + "float"
XSD_DATE = XSD + "date"
XSD_DATETIME = XSD + "dateTime"

_INTEGER_SUBTYPES = (
    "byte short int long unsignedByte unsignedShort unsignedInt unsignedLong "
    "positiveInteger negativeInteger nonPositiveInteger nonNegativeInteger"
).split()

# Datatypes that count as another one; canonicalising a literal replaces the first by the second.
COUNTS_AS = {XSD + name: XSD_INTEGER for name in _INTEGER_SUBTYPES} | {XSD + "dateTimeStamp": XSD_DATETIME}

ATTO = 10**18  # instants are kept in attoseconds: eighteen decimal digits of a second, exactly


class Kind(IntEnum):
    """What sort of value a literal has; the numeric kinds are ordered by SPARQL's promotion."""

    INTEGER = 1
    DECIMAL = 2
    FLOAT = 3
    DOUBLE = 4
    BOOLEAN = 5
    DATETIME = 6
    DATE = 7


NUMERIC = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE})


class Instant(NamedTuple):
    """A point on the time line in attoseconds since 1970 (UTC where `zone` is known, else local), with its zone."""

    atto: int
    zone: int | None  # minutes east of UTC


class Value(NamedTuple):
    """A typed value: int, Decimal or float for numbers, bool, or an Instant for dates and dateTimes."""

    kind: Kind
    value: int | Decimal | float | bool | Instant


_INTEGER_FORM = re.compile(r"[+-]?[0-9]{1,10000}\Z")  # reading one takes time quadratic in its length
_DECIMAL_FORM = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)\Z")
_DOUBLE_FORM = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_SPECIAL = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}
_ZONE = r"(Z|[+-][0-9]{2}:[0-9]{2})?\Z"
_DAY = r"(-?(?:[1-9][0-9]{4,8}|[0-9]{4}))-([0-9]{2})-([0-9]{2})"
_DATE_FORM = re.compile(_DAY + _ZONE)
_DATETIME_FORM = re.compile(_DAY + r"T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,18}+)0*+)?" + _ZONE)
_STR_BITS = 13_000  # below Python's limit of 4,300 digits for str() of an integer
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


# Members of an enumeration are slow to look up.
_INTEGER, _DECIMAL, _FLOAT, _DOUBLE, _BOOLEAN, _DATETIME, _DATE = Kind
_KINDS = {
    XSD_INTEGER: _INTEGER,
    XSD_DECIMAL: _DECIMAL,
    XSD_DOUBLE: _DOUBLE,
    XSD_FLOAT: _FLOAT,
    XSD_BOOLEAN: _BOOLEAN,
    XSD_DATE: _DATE,
    XSD_DATETIME: _DATETIME,
}
DATATYPE_OF = {kind: datatype for datatype, kind in _KINDS.items()}
DATATYPES = frozenset({*_KINDS, *COUNTS_AS})


# --- reading ---


def parse(datatype: str, lexical: str) -> Value | None:
    """The value that `lexical` has in `datatype`; None if it is ill-typed or the datatype is not known here."""
    kind = _KINDS.get(COUNTS_AS.get(datatype, datatype))
    found: int | Decimal | float | Instant | None = None
    if kind is None:
        return None
    if kind is _INTEGER:
        if _INTEGER_FORM.match(lexical):  # Decimal has no limit on digits
            found = int(lexical) if len(lexical) < 4000 else int(Decimal(lexical))
    elif kind is _DECIMAL:
        found = Decimal(lexical) if _DECIMAL_FORM.match(lexical) else None
    elif kind is _BOOLEAN:
        found = _TRUTHS.get(lexical)
    elif kind is _DATE or kind is _DATETIME:
        found = _read_instant(kind, lexical)
    else:
        # Adding zero turns minus zero into zero.
        found = float(lexical) + 0.0 if _DOUBLE_FORM.match(lexical) else _SPECIAL.get(lexical)
        if kind is _FLOAT and found is not None:
            found = _single(found, lexical) + 0.0
    return None if found is None else Value(kind, found)


def to_float32(number: float) -> float:
    """`number` rounded to IEEE single precision, infinite where it overflows."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def to_double(number: Any) -> float:
    """The nearest float64, infinite where it overflows."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _single(number: float, lexical: str) -> float:
    """The float32 nearest to `lexical`, whose nearest double is `number`: rounding twice errs where that is a tie."""
    single = to_float32(number)
    other = number + (number - single)  # across a tie lies the other float32
    if single == other or not math.isfinite(single) or to_float32(other) != other:
        return single
    exact, tie = Decimal(lexical), Decimal(number)
    return single if exact == tie else max(single, other) if exact > tie else min(single, other)


def _read_instant(kind: Kind, lexical: str) -> Instant | None:
    match = (_DATE_FORM if kind is _DATE else _DATETIME_FORM).match(lexical)
    if match is None:
        return None
    year, month, day, *clock, zone = match.groups()
    days, offset = _days(int(year), int(month), int(day)), _zone(zone)
    if days is None or offset is _BAD_ZONE:
        return None
    since_midnight = 0
    if clock:
        hour, minute, second = map(int, clock[:3])
        fraction = int((clock[3] or "0").ljust(18, "0"))
        is_end_of_day = hour == 24 and minute == second == fraction == 0  # the next midnight
        if not is_end_of_day and (hour > 23 or minute > 59 or second > 59):
            return None
        since_midnight = ((hour * 60 + minute) * 60 + second) * ATTO + fraction
    return Instant((days * 1440 - (offset or 0)) * 60 * ATTO + since_midnight, offset)


_BAD_ZONE = 10_000


def _zone(text: str | None) -> int | None:
    if text is None or text == "Z":
        return None if text is None else 0
    minutes = int(text[1:3]) * 60 + int(text[4:6])
    if minutes > 840 or int(text[4:6]) > 59:
        return _BAD_ZONE
    return minutes if text[0] == "+" else -minutes


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, any year; None if there is no such day."""
    if not 1 <= month <= 12:
        return None
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= (29 if month == 2 and is_leap else _MONTH_DAYS[month - 1]):
        return None
    shifted = year - (month <= 2)  # years that begin in March put the leap day last
    era, of_era = divmod(shifted, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


# --- writing ---


def canonical(value: Value) -> str:
    """The one spelling of a value within its datatype."""
    kind: Kind
    found: Any
    kind, found = value
    if kind is _INTEGER:
        return str(found) if found.bit_length() < _STR_BITS else format(Decimal(found), "f")
    if kind is _DECIMAL:
        if found == 0:
            return "0.0"
        whole, _, fraction = format(found, "f").partition(".")
        return f"{whole}.{fraction.rstrip('0') or '0'}"
    if kind is _BOOLEAN:
        return "true" if found else "false"
    if kind is _DATE:
        return _spell_day((found.atto // (60 * ATTO) + (found.zone or 0)) // 1440) + _spell_zone(found.zone)
    if kind is _DATETIME:
        seconds, fraction = divmod(found.atto + (found.zone or 0) * 60 * ATTO, ATTO)
        days, clock = divmod(seconds, 86400)
        text = f"{_spell_day(days)}T{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
        return text + (f".{fraction:018d}".rstrip("0") if fraction else "") + _spell_zone(found.zone)
    if not math.isfinite(found):
        return "NaN" if math.isnan(found) else ("INF" if found > 0 else "-INF")
    if kind is _DOUBLE:
        return _scientific(repr(found))
    shortest = (text for digits in range(6, 18) if to_float32(float(text := f"{found:.{digits}g}")) == found)
    return _scientific(next(shortest))


def _scientific(text: str) -> str:
    """XSD's canonical mantissa and exponent (1.0E5) of any decimal or scientific spelling."""
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    figures = "".join(map(str, digits)).rstrip("0")
    if not figures:
        return "0.0E0"
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{exponent + len(digits) - 1}"


def _spell_day(days: int) -> str:
    """The inverse of `_days`."""
    era, of_era = divmod(days + 719468, 146097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * of_year + 2) // 153
    month = shifted_month + (3 if shifted_month < 10 else -9)
    year, day = year_of_era + era * 400 + (month <= 2), of_year - (153 * shifted_month + 2) // 5 + 1
    return f"{'-' if year < 0 else ''}{abs(year):04d}-{month:02d}-{day:02d}"


def _spell_zone(zone: int | None) -> str:
    if not zone:
        return "" if zone is None else "Z"
    return f"{'-' if zone < 0 else '+'}{abs(zone) // 60:02d}:{abs(zone) % 60:02d}"
