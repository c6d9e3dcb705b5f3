"""One event given as a dictionary of plain values, taken as it is: without a table around it.

The law: what is taken here is what reading a table of this one event would give; whatever could be wrong with it, or is
not plain JSON already, is left to that.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from heliograph.errors import Place, PublicationError
from heliograph.targeting.attributes import Tree, read_attributes

_COLUMNS = {"event_id", "publisher", "attributes"}
_DEEPEST = 20
_LARGEST = 1 << 64


class PlainEvent(NamedTuple):
    id: str
    publisher: str
    tree: Tree


def plain_event(items: Any) -> PlainEvent | None:
    """The one event that is meant, or None where it takes a closer look."""
    if type(items) is list and len(items) == 1:
        items = items[0]
    if type(items) is not dict or items.keys() != _COLUMNS:
        return None
    id, publisher, attributes = items["event_id"], items["publisher"], items["attributes"]
    if not (_is_text(id) and id and _is_text(publisher) and publisher):
        return None
    if type(attributes) is dict:
        return PlainEvent(id, publisher, attributes) if _is_plain(attributes, 0) else None
    if not _is_text(attributes):
        return None
    try:
        return PlainEvent(id, publisher, read_attributes(attributes, Place()))
    except PublicationError:
        return None


def _is_text(value: Any) -> bool:
    """Whether it is a text that UTF-8 can hold."""
    if type(value) is not str:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)


def _is_plain(value: Any, depth: int) -> bool:
    """Whether a value is what JSON would make of it."""
    kind = type(value)
    if kind is str:
        return _is_text(value)
    if kind is int:
        return bool(-_LARGEST < value < _LARGEST)
    if kind is float:
        return math.isfinite(value)
    if kind is dict and depth < _DEEPEST:
        return all(_is_text(name) and _is_plain(part, depth + 1) for name, part in value.items())
    if kind is list and depth < _DEEPEST:
        return all(_is_plain(part, depth + 1) for part in value)
    return value is None or kind is bool
