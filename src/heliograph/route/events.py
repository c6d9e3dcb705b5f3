"""Events as they come in: JSON attributes read strictly, bad events refused one by one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

from heliograph.baselines.exchange import NO_LABELS, Event
from heliograph.errors import HeliographError, Place, PublicationError
from heliograph.model import Rejected
from heliograph.syntax.predicate_truth import Attributes
from heliograph.tables.items import as_table
from heliograph.tables.reads import Read


class Events(NamedTuple):
    source: str | None
    events: list[Event]
    rejected: list[Rejected]
    errors: list[HeliographError]


def read_events(items: Any, with_labels: bool) -> Events:
    """The events of a table or of Python items, in order; an id that comes twice is refused the second time."""
    read = as_table("events", items)
    result = Events(read.source, [], list(read.rejected), [])
    seen: set[str] = set()
    columns = (read.table.column(name).to_pylist() for name in ("event_id", "publisher", "attributes"))
    for row, cells in enumerate(zip(*columns, strict=True)):
        try:
            event = _event(cells, read.place(row), with_labels)
            if event.id in seen:
                raise _twice(event.id, read, row)
            seen.add(event.id)
            result.events.append(event)
        except PublicationError as error:
            result.errors.append(error)
            result.rejected.append(Rejected.of(error, read.source, cells[0]))
    return result


def _event(cells: tuple[str | None, str | None, str | None], place: Place, with_labels: bool) -> Event:
    id, publisher, text = cells
    if not id or not publisher:
        lacking = "event_id" if not id else "publisher"
        raise PublicationError("HG-640", f"an event without {lacking}", place=place, fix=f"write one in {lacking}")
    tree = read_attributes(text, place)
    labels = read_labels(tree.get("labels"), place) if with_labels else NO_LABELS
    return Event(id, publisher, Attributes(tree), labels)


def read_attributes(text: str | None, place: Place) -> Mapping[str, Any]:
    """The attributes of an event; null or blank text stands for none."""
    if text is None or not text.strip():
        return {}
    try:
        tree = _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        message = f"attributes that are not JSON: {_reason(error)}"
        fix = 'write an object such as {"topic": "Sports", "age": 35}'
        raise PublicationError("HG-642", message, place=place, fix=fix) from None
    if isinstance(tree, dict):
        return tree
    fix = 'write an object such as {"topic": "Sports", "age": 35}'
    raise PublicationError("HG-642", f"attributes that are no JSON object: {text[:60]}", place=place, fix=fix)


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


def _twice(id: str, read: Read, row: int) -> PublicationError:
    message = f"the event {id!r} comes twice in one call"
    return PublicationError("HG-641", message, place=read.place(row), fix="give each event its own event_id")
