"""The dates that feeds write, as the lexical form of an `xsd:dateTime` with a zone.

Read: RFC 822 and its successors (`Sun, 15 Nov 2026 10:00:00 +0100`, two-digit years, no seconds, zone names, any
weekday) and ISO 8601 as in W3CDTF (`2026-11-15T10:00+01:00`, `2026-11-15`, `2026-11`, `2026`). What a date leaves out
counts as the earliest it may mean, in UTC where it names no zone. Anything else is no date: the caller keeps the text.

The law: the form that is returned is canonical, `literal(as_datetime(text), XSD_DATETIME).value == as_datetime(text)`.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache

_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}

_HOURS = {  # zone names in hours east of UTC; those that mean two places (IST, AST) are not guessed
    "ut": 0, "gmt": 0, "utc": 0, "z": 0, "wet": 0,
    "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
    "akst": -9, "akdt": -8, "hst": -10,
    "bst": 1, "west": 1, "cet": 1, "mez": 1, "cest": 2, "mesz": 2, "eet": 2, "eest": 3, "msk": 3,
    "hkt": 8, "sgt": 8, "awst": 8, "jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13,
}  # fmt: skip

_LONGEST = 64  # no date is longer; what is need not be looked at
_FARTHEST = 840  # minutes: XSD knows no zone beyond 14 hours

_USUAL = re.compile(  # nine dates in ten: the day and the zone are looked up, the clock is copied
    r"(?:[A-Za-z]{3}, )?([0-9]{2} [A-Za-z]{3} [0-9]{4}) ((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]) (\S{1,5})",
    re.ASCII,
)
_RFC = re.compile(
    r"(?:[A-Za-z]{2,9}\.?,?\s*)?"
    r"([0-9]{1,2})[\s-]+([A-Za-z]{3})[A-Za-z]{0,6}\.?,?[\s-]+([0-9]{4}|[0-9]{2})"
    r"(?:,?\s+([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.[0-9]+)?)?)?"
    r"\s*([A-Za-z]{1,4}|(?:GMT|UTC?)?[+-][0-9]{2}:?[0-9]{2})?\s*(?:\([^()]*\))?",
    re.ASCII,
)
_ISO = re.compile(
    r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,18})[0-9]*)?)?"
    r"\s*([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?|UTC|GMT)?)?)?)?",
    re.ASCII,
)


def as_datetime(text: str) -> str | None:
    """The canonical lexical form of the dateTime that `text` writes, or None if it writes none."""
    usual = _USUAL.fullmatch(text)
    if usual and (day := _usual_day(usual[1])) and (zone := _usual_zone(usual[3])):
        return f"{day}T{usual[2]}{zone}"
    return _any_datetime(text)


def _any_datetime(text: str) -> str | None:
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if match := _RFC.fullmatch(text):
        day, month, year, hour, minute, second, zone = match.groups()
        number = _MONTHS.get(month.lower())
        clock = (hour, minute, second)
        return None if number is None else _written((_full_year(year), number, int(day)), clock, "", zone)
    if match := _ISO.fullmatch(text):
        year, month, day, hour, minute, second, fraction, zone = match.groups()
        return _written((int(year), int(month or 1), int(day or 1)), (hour, minute, second), fraction or "", zone)
    return None


@lru_cache(maxsize=4096)
def _usual_day(text: str) -> str | None:
    at = _any_datetime(f"{text} 00:00")
    return None if at is None else at.partition("T")[0]


@lru_cache(maxsize=1024)
def _usual_zone(text: str) -> str | None:
    offset = _minutes(text) if re.fullmatch(r"[A-Za-z]+|[+-][0-9]{4}", text, re.ASCII) else None
    return None if offset is None else _zone(offset)


def _full_year(year: str) -> int:
    """RFC 2822: two digits below 50 are in this century."""
    number = int(year)
    return number if len(year) == 4 else number + (2000 if number < 50 else 1900)


Clock = tuple[str | None, str | None, str | None]


def _written(day: tuple[int, int, int], clock: Clock, fraction: str, zone: str | None) -> str | None:
    offset = _minutes(zone)
    hour, minute, second = (int(part or 0) for part in clock)
    if offset is None or second > 60:
        return None
    try:
        at = datetime(*day, hour, minute)
        at += timedelta(seconds=second)  # a leap second is the first of the next minute
    except (ValueError, OverflowError):
        return None
    tail = fraction.rstrip("0")
    return f"{at.isoformat()}{'.' if tail else ''}{tail}{_zone(offset)}"


def _minutes(zone: str | None) -> int | None:
    """Minutes east of UTC; None for a zone that nobody can tell."""
    if zone is None:
        return 0
    if zone[-1].isdigit():
        sign = max(zone.find("+"), zone.find("-"))
        digits = zone[sign + 1 :].replace(":", "").ljust(4, "0")
        hours, minutes = int(digits[:2]), int(digits[2:])
        total = hours * 60 + minutes
        return None if minutes > 59 or total > _FARTHEST else (-total if zone[sign] == "-" else total)
    hours_east = _HOURS.get(zone.lower())
    return None if hours_east is None else hours_east * 60


def _zone(offset: int) -> str:
    if not offset:
        return "Z"
    return f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"
