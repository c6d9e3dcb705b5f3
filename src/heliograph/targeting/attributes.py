"""The attributes of an event as decoded JSON: what is accepted, and what is refused with which words.

JSON as RFC 8259 has it: numbers are finite, and a text without anything in it stands for an event without attributes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from heliograph.errors import Place, PublicationError

Tree = Mapping[str, Any]
_FIX = 'write an object such as {"topic": "Sports", "age": 35}'


def read_attributes(text: str | None, place: Place) -> Tree:
    """The attributes of an event; null or blank text stands for none."""
    if text is None or not text.strip():
        return {}
    try:
        tree = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        message = f"attributes that are not JSON: {_reason(error)}"
        raise PublicationError("HG-642", message, place=place, fix=_FIX) from None
    if isinstance(tree, dict):
        return tree
    raise PublicationError("HG-642", f"attributes that are no JSON object: {text[:60]}", place=place, fix=_FIX)


def read_bytes(data: bytes, place: Place) -> Tree:
    """As `read_attributes`, from bytes that should be UTF-8."""
    try:
        return read_attributes(data.decode(), place)
    except UnicodeDecodeError as error:
        message = f"attributes that are not UTF-8: {error.reason} at byte {error.start}"
        raise PublicationError("HG-642", message, place=place, fix=_FIX) from None


def read_labels(value: Any, place: Place) -> frozenset[str]:
    """The event's labels: a list of strings, one string, or nothing."""
    several = [value] if isinstance(value, str) else ([] if value is None else value)
    if isinstance(several, list) and all(isinstance(label, str) for label in several):
        return frozenset(several)
    message = f"the attribute labels is {json.dumps(value)[:60]}"
    raise PublicationError("HG-644", message, place=place, fix='write a list of strings, such as ["Sports"]')


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


_DECODER = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)
