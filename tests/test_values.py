"""What lexical forms mean, and their one canonical spelling: held to datetime, decimal, numpy and pyoxigraph."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal, localcontext

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph import values
from heliograph.terms import literal
from heliograph.values import ATTO, XSD, Instant, Kind, Value, canonical, parse

NAMES = "integer decimal double float boolean date dateTime".split()
INTEGER, DECIMAL, DOUBLE, FLOAT, BOOLEAN, DATE, DATETIME = (XSD + name for name in NAMES)

CANONICAL = {
    (INTEGER, "+007"): "7",
    (INTEGER, "-0"): "0",
    (XSD + "unsignedByte", "010"): "10",
    (DECIMAL, "5"): "5.0",
    (DECIMAL, "-.50"): "-0.5",
    (DECIMAL, "5."): "5.0",
    (DECIMAL, "-0.00"): "0.0",
    (DECIMAL, "100000000000000000000000000000.10"): "100000000000000000000000000000.1",
    (DOUBLE, "100000"): "1.0E5",
    (DOUBLE, "-0"): "0.0E0",
    (DOUBLE, "-1e-400"): "0.0E0",
    (DOUBLE, "0.1"): "1.0E-1",
    (DOUBLE, "1e400"): "INF",
    (DOUBLE, "+INF"): "INF",
    (DOUBLE, "-INF"): "-INF",
    (DOUBLE, "NaN"): "NaN",
    (FLOAT, "0.1"): "1.0E-1",
    (FLOAT, "16777217"): "1.6777216E7",
    (FLOAT, "1e39"): "INF",
    (FLOAT, "-1e-60"): "0.0E0",
    (BOOLEAN, "1"): "true",
    (BOOLEAN, "0"): "false",
    (DATE, "2020-01-01+00:00"): "2020-01-01Z",
    (DATE, "-0000-01-01"): "0000-01-01",
    (DATE, "12020-02-29-05:30"): "12020-02-29-05:30",
    (DATETIME, "2020-12-31T24:00:00"): "2021-01-01T00:00:00",
    (DATETIME, "2020-01-01T00:00:00.100-00:00"): "2020-01-01T00:00:00.1Z",
    (DATETIME, "2020-01-01T00:00:00.1234567890123456780000"): "2020-01-01T00:00:00.123456789012345678",
    (XSD + "dateTimeStamp", "2020-01-01T01:02:03+14:00"): "2020-01-01T01:02:03+14:00",
}

ILL_TYPED = {
    INTEGER: ["", " 5", "5 ", "5\n", "5.0", "1e3", "x", "٣", "--5", "5" * 10_001],
    DECIMAL: ["", ".", "+", "1e3", "INF", "1.2.3", "1_0"],
    DOUBLE: ["", ".", "e5", "1e", "inf", "nan", "Infinity", "0x1p3", "1_0", "- 1"],
    FLOAT: ["", "INFINITY", "1e5.0"],
    BOOLEAN: ["", "TRUE", "yes", "01"],
    DATE: ["2020-1-1", "2020-02-30", "2021-02-29", "1900-02-29", "2020-13-01", "2020-00-10", "2020-01-00", "20-01-01"],
    DATETIME: [
        *("2020-01-01", "2020-01-01T25:00:00", "2020-01-01T24:00:01", "2020-01-01T00:60:00", "2020-01-01T00:00:60"),
        *("2020-01-01T00:00:00+14:01", "2020-01-01T00:00:00+01:60", "2020-01-01T00:00:00.", "2020-01-01T00:00"),
        *(
            "2020-01-01T00:00:00.1234567890123456789",
            "02020-01-01T00:00:00",
            "2020-02-30T00:00:00",
            "2020-01-01T00:00:00z",
        ),
        "1" * 5000 + "-01-01T00:00:00",
    ],
    XSD + "string": ["x"],
    "urn:unknown": ["5"],
}


@pytest.mark.parametrize(("datatype", "lexical"), CANONICAL)
def test_one_spelling(datatype: str, lexical: str) -> None:
    value = parse(datatype, lexical)
    assert value is not None
    assert canonical(value) == CANONICAL[datatype, lexical]


@pytest.mark.parametrize("datatype", ILL_TYPED)
def test_ill_typed_text_has_no_value(datatype: str) -> None:
    assert [parse(datatype, lexical) for lexical in ILL_TYPED[datatype]] == [None] * len(ILL_TYPED[datatype])


# --- numbers ---


@settings(max_examples=100, deadline=None)
@given(st.integers())
@example(10**4299)
@example(-(10**4301))
@example(2**13_000)
def test_integers_of_any_size(number: int) -> None:
    text = canonical(Value(Kind.INTEGER, number))
    assert parse(INTEGER, "0" + text if number >= 0 else text) == Value(Kind.INTEGER, number)


@settings(max_examples=100, deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_are_exact(number: Decimal) -> None:
    value = parse(DECIMAL, f"{number:f}")
    assert value == Value(Kind.DECIMAL, number)
    assert value is not None
    assert parse(DECIMAL, canonical(value)) == value
    assert canonical(value).count(".") == 1


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False))
def test_doubles_keep_their_value(number: float) -> None:
    value = parse(DOUBLE, repr(number).replace("inf", "INF"))
    assert value == Value(Kind.DOUBLE, number)
    assert value is not None
    assert parse(DOUBLE, canonical(value)) == value


@settings(max_examples=200, deadline=None)
@given(st.floats(width=32, allow_nan=False))
def test_floats_keep_their_value_and_are_short(number: float) -> None:
    text = canonical(Value(Kind.FLOAT, number + 0.0))
    assert parse(FLOAT, text) == Value(Kind.FLOAT, number)
    assert len(text.partition("E")[0].strip("-")) <= 11


@settings(max_examples=200, deadline=None)
@given(st.floats(width=32, min_value=-(2.0**120), max_value=2.0**120), st.sampled_from([-1, 0, 1]))
@example(1.0, 1)
@example(1.401298464324817e-45, -1)
def test_floats_are_rounded_once(number: float, side: int) -> None:
    """Just beside the middle of two neighbours, where a double in between would already have rounded to the middle."""
    above = float(np.nextafter(np.float32(number), np.float32(np.inf)))
    with localcontext(prec=2000):
        middle = (Decimal(number) + Decimal(above)) / 2
        value = parse(FLOAT, f"{middle + side * Decimal('1e-400'):f}")
    assert value is not None
    even = number if (int(np.float32(number).view(np.int32)) & 1) == 0 else above
    assert value.value == (number, even, above)[side + 1]


@settings(max_examples=100, deadline=None)
@given(st.floats())
def test_single_precision_is_numpys(number: float) -> None:
    with np.errstate(over="ignore"):
        expected = float(np.float32(number))
    assert values.to_float32(number) == expected or math.isnan(number)


# --- the calendar ---

EPOCH = date(1970, 1, 1)
_ZONES = st.one_of(st.none(), st.integers(-840, 840))


@settings(max_examples=200, deadline=None)
@given(st.dates(), _ZONES)
@example(date(1, 1, 1), 840)
@example(date(9999, 12, 31), -840)
def test_dates_agree_with_datetime(day: date, zone: int | None) -> None:
    text = day.isoformat() + _zone(zone)
    expected = ((day - EPOCH).days * 1440 - (zone or 0)) * 60 * ATTO
    assert parse(DATE, text) == Value(Kind.DATE, Instant(expected, zone))
    assert canonical(Value(Kind.DATE, Instant(expected, zone))) == text


@settings(max_examples=200, deadline=None)
@given(st.datetimes(), _ZONES)
def test_datetimes_agree_with_datetime(at: datetime, zone: int | None) -> None:
    offset = timezone(timedelta(minutes=zone or 0))
    micros = (at.replace(tzinfo=offset) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    value = parse(DATETIME, at.isoformat() + _zone(zone))
    assert value == Value(Kind.DATETIME, Instant(micros * 10**12, zone))
    assert value is not None
    assert parse(DATETIME, canonical(value)) == value


def _zone(minutes: int | None) -> str:
    if not minutes:
        return "" if minutes is None else "Z"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


@settings(max_examples=200, deadline=None)
@given(st.integers(-999_999_999, 999_999_999), st.integers(1, 12), st.integers(1, 31))
def test_the_calendar_repeats_every_400_years(year: int, month: int, day: int) -> None:
    text = f"{'-' if year < 0 else ''}{abs(year):04d}-{month:02d}-{day:02d}"
    like = parse(DATE, f"{2000 + year % 400:04d}-{month:02d}-{day:02d}")
    found = parse(DATE, text)
    assert (found is None) == (like is None)
    if found is not None and like is not None:
        assert isinstance(found.value, Instant)
        assert isinstance(like.value, Instant)
        cycles = (2000 + year % 400 - year) // 400
        assert like.value.atto - found.value.atto == cycles * 146_097 * 86_400 * ATTO
        assert canonical(found) == text


# --- any text ---

_DIGITS = st.text("0123456789+-.:eETZINFaN \n", max_size=30)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from([INTEGER, DECIMAL, DOUBLE, FLOAT, BOOLEAN, DATE, DATETIME]), st.one_of(_DIGITS, st.text()))
def test_any_text_has_a_value_that_spells_back_or_none(datatype: str, text: str) -> None:
    value = parse(datatype, text)
    if value is not None:
        again = parse(datatype, canonical(value))
        assert again is not None
        assert canonical(again) == canonical(value)
        assert again == value or value.value != value.value


# --- constants match as pyoxigraph matches them ---

_SMALL = st.integers(-(2**63), 2**63 - 1).map(str)
_FEW = st.integers(-20, 20).map(str)
_PLACES = st.builds(lambda whole, part: f"{whole}.{part}", st.integers(-99, 99), st.integers(0, 9999))
_SCIENCE = st.builds(lambda mantissa, power: f"{mantissa}e{power}", _PLACES, st.integers(-50, 50))
_CLOCK = st.sampled_from(["00:00:00", "24:00:00", "23:59:59.50", "23:59:59.5", "12:00:00.000", "12:00:00"])
_ZONED = st.sampled_from(["", "Z", "+00:00", "-00:00", "+01:00", "-14:00", "+14:00"])
_DAYS = st.sampled_from(
    ["2020-02-28", "2020-02-29", "2021-02-29", "-0001-01-01", "0000-01-01", "12020-12-31", "2020-03-01"]
)
_BY_TYPE = {
    INTEGER: st.one_of(_SMALL, _FEW, _FEW.map(lambda text: text.zfill(5))),
    XSD + "int": _FEW,
    DECIMAL: st.one_of(_FEW, _PLACES, _PLACES.map(lambda text: text + "00")),
    DOUBLE: st.one_of(_FEW, _PLACES, _SCIENCE, st.sampled_from(["INF", "-INF", "1e400"])),
    FLOAT: st.one_of(_FEW, _PLACES, _SCIENCE, st.sampled_from(["INF", "-INF", "1e39", "0.1", "0.10000000149"])),
    BOOLEAN: st.sampled_from(["true", "false", "0", "1", "TRUE"]),
    DATE: st.builds(str.__add__, _DAYS, _ZONED),
    DATETIME: st.builds("{}T{}{}".format, _DAYS, _CLOCK, _ZONED),
    XSD + "string": st.sampled_from(["5", "a"]),
}
_TYPED = st.sampled_from(sorted(_BY_TYPE)).flatmap(lambda name: st.tuples(st.just(name), _BY_TYPE[name]))
_SAME_TYPE = st.sampled_from(sorted(_BY_TYPE)).flatmap(
    lambda name: st.tuples(st.tuples(st.just(name), _BY_TYPE[name]), st.tuples(st.just(name), _BY_TYPE[name]))
)

EXCEPTIONS = {
    "minus zero is zero": ((DOUBLE, "-0"), (DOUBLE, "0")),
    "single minus zero is zero": ((FLOAT, "-0"), (FLOAT, "0")),
    "integers beyond 64 bits": ((INTEGER, "9223372036854775808"), (INTEGER, "+9223372036854775808")),
    "decimals beyond 18 places": ((DECIMAL, "0.1234567890123456789"), (DECIMAL, "0.12345678901234567890")),
    "decimals beyond 128 bits": ((DECIMAL, "9" * 40), (DECIMAL, "0" + "9" * 40)),
}
KEPT_APART = {
    "inf is no xsd:double": ((DOUBLE, "inf"), (DOUBLE, "INF")),
    "nan is no xsd:double": ((DOUBLE, "nan"), (DOUBLE, "NaN")),
    "times are not numbers": ((XSD + "time", "00:00:00Z"), (XSD + "time", "00:00:00+00:00")),
    "durations are not numbers": ((XSD + "duration", "PT60S"), (XSD + "duration", "PT1M")),
    "years are not numbers": ((XSD + "gYear", "2020Z"), (XSD + "gYear", "2020+00:00")),
}


def _oracle_matches(left: tuple[str, str], right: tuple[str, str]) -> bool:
    store = ox.Store()
    subject, predicate = ox.NamedNode("urn:s"), ox.NamedNode("urn:p")
    store.add(ox.Quad(subject, predicate, ox.Literal(left[1], datatype=ox.NamedNode(left[0]))))
    return bool(store.query(f'ASK {{ ?s ?p "{right[1]}"^^<{right[0]}> }}'))


def _we_match(left: tuple[str, str], right: tuple[str, str]) -> bool:
    return literal(left[1], left[0]) == literal(right[1], right[0])


def _is_minus_zero(datatype: str, lexical: str) -> bool:
    return datatype in (DOUBLE, FLOAT) and lexical.startswith("-") and literal(lexical, datatype).value == "0.0E0"


@settings(max_examples=300, deadline=None)
@given(st.one_of(_SAME_TYPE, st.tuples(_TYPED, _TYPED)))
def test_constants_match_as_in_pyoxigraph(pair: tuple[tuple[str, str], tuple[str, str]]) -> None:
    left, right = pair
    if _is_minus_zero(*left) or _is_minus_zero(*right):
        return
    assert _we_match(left, right) == _oracle_matches(left, right)


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_here_our_rule_stands_and_pyoxigraph_keeps_them_apart(name: str) -> None:
    assert _we_match(*EXCEPTIONS[name])
    assert not _oracle_matches(*EXCEPTIONS[name])


@pytest.mark.parametrize("name", KEPT_APART)
def test_here_our_rule_keeps_them_apart_and_pyoxigraph_does_not(name: str) -> None:
    assert not _we_match(*KEPT_APART[name])
    assert _oracle_matches(*KEPT_APART[name])
