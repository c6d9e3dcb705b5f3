"""Dates of feeds: the forms that occur, and the law that what is returned is canonical."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime, parsedate_to_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.io.feeds import as_datetime
from heliograph.terms import literal, value_of
from heliograph.values import XSD_DATETIME

CASES = {
    "Sun, 15 Nov 2026 10:00:00 +0100": "2026-11-15T10:00:00+01:00",
    "Mon, 15 Nov 2026 10:00:00 GMT": "2026-11-15T10:00:00Z",  # a wrong weekday
    "15 Nov 2026 10:00 EST": "2026-11-15T10:00:00-05:00",
    "15 Nov 26 10:00:00 PDT": "2026-11-15T10:00:00-07:00",
    "15 Nov 99 10:00:00 Z": "1999-11-15T10:00:00Z",
    "Thursday, 05-Feb-2026 23:59:59 UT": "2026-02-05T23:59:59Z",
    "Thu,  5 February 2026 3:04:05 CEST": "2026-02-05T03:04:05+02:00",
    "5 Sept 2026 03:04:05 -0330": "2026-09-05T03:04:05-03:30",
    "Sun, 15 Nov 2026 10:00:00 GMT+0200": "2026-11-15T10:00:00+02:00",
    "Sun, 15 Nov 2026 10:00:00 +01:00": "2026-11-15T10:00:00+01:00",
    "Sun, 15 Nov 2026 10:00:00 (CET)": "2026-11-15T10:00:00Z",
    "Sun, 15 Nov 2026 10:00:00": "2026-11-15T10:00:00Z",
    "15 Nov 2026": "2026-11-15T00:00:00Z",
    "Sun, 31 Dec 2026 23:59:60 GMT": "2027-01-01T00:00:00Z",  # a leap second
    "2026-11-15T10:00:00Z": "2026-11-15T10:00:00Z",
    "2026-11-15t10:00:00.120z": "2026-11-15T10:00:00.12Z",
    "2026-11-15T10:00:00,5+01:00": "2026-11-15T10:00:00.5+01:00",
    "2026-11-15T10:00-0330": "2026-11-15T10:00:00-03:30",
    "2026-11-15T10:00+02": "2026-11-15T10:00:00+02:00",
    "2026-11-15 10:00:00 UTC": "2026-11-15T10:00:00Z",
    "2026-11-15T10:00:00": "2026-11-15T10:00:00Z",
    "  2026-11-15 \n": "2026-11-15T00:00:00Z",
    "2026-11": "2026-11-01T00:00:00Z",
    "2026": "2026-01-01T00:00:00Z",
}

NO_DATES = [
    "",
    "tomorrow",
    "Sun, 31 Feb 2026 10:00:00 GMT",
    "15 Foo 2026 10:00:00 GMT",
    "Sun, 15 Nov 2026 24:00:00 GMT",
    "Sun, 15 Nov 2026 10:60:00 GMT",
    "Sun, 15 Nov 2026 10:00:61 GMT",
    "Sun, 15 Nov 2026 10:00:00 IST",  # India, Israel or Ireland
    "Sun, 15 Nov 2026 10:00:00 +1500",
    "Sun, 15 Nov 2026 10:00:00 +0160",
    "2026-13-01",
    "2026-11-15T10:00:00+15:00",
    "9999-12-31T23:59:60Z",
    "0000-01-01",
    "٢٠٢٦-11-15",
    "2026-11-15T10:00:00Z" + " " * 10 + "and more than anyone would call a date, at length",
]


@pytest.mark.parametrize(("text", "expected"), CASES.items())
def test_forms_that_occur(text: str, expected: str) -> None:
    assert as_datetime(text) == expected


@pytest.mark.parametrize("text", NO_DATES)
def test_what_is_no_date_is_left_to_the_caller(text: str) -> None:
    assert as_datetime(text) is None


@given(
    st.datetimes(datetime(1950, 1, 1), datetime(2049, 12, 31)).map(lambda at: at.replace(microsecond=0)),
    st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)
def test_the_mail_library_reads_the_same_instant(at: datetime, zone: timezone) -> None:
    written = as_datetime(format_datetime(at.replace(tzinfo=zone)))
    assert written is not None
    assert datetime.fromisoformat(written) == parsedate_to_datetime(format_datetime(at.replace(tzinfo=zone)))


@given(
    st.datetimes(datetime(1000, 1, 1), timezones=st.just(UTC)),  # strftime does not fill years up with zeros
    st.sampled_from(["%Y-%m-%dT%H:%M:%S.%fZ", "%d %b %Y %H:%M GMT", "%Y-%m-%d"]),
)
def test_what_is_returned_is_canonical(at: datetime, form: str) -> None:
    written = as_datetime(at.strftime(form))
    assert written is not None
    term = literal(written, XSD_DATETIME)
    assert term.value == written
    assert value_of(term) is not None


@given(st.text(max_size=40) | st.from_regex(r"[0-9 :,+\-TZa-z]{0,40}"))
def test_garbage_is_no_date_or_a_canonical_one(text: str) -> None:
    written = as_datetime(text)
    assert written is None or literal(written, XSD_DATETIME).value == written
