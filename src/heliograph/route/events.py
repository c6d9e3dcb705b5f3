"""Events as they come in, column by column or one by one: bad ones refused, attributes encoded."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from heliograph.errors import HeliographError, Place, PublicationError
from heliograph.io.tables import TableRows, as_table
from heliograph.model import MessageLimit, Rejected
from heliograph.predicate.attributes import (
    Encoded,
    NameTable,
    Tree,
    cells_of,
    encode,
    encode_python,
    read_attributes,
    read_labels,
    take_cells,
)
from heliograph.predicate.evaluate import Attributes
from heliograph.predicate.layout import Cells, Int64s
from heliograph.route.read import NO_LABELS, Event

# ----------------------------------------------------------------------------------------------------------------------
# One event given as a dictionary of plain values, taken as it is: without a table around it.
#
# The law: what is taken here is what reading a table of this one event would give; whatever could be wrong with it,
# or is not plain JSON already, is left to that.
# ----------------------------------------------------------------------------------------------------------------------

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


# ----------------------------------------------------------------------------------------------------------------------
# Events as they come in, column by column: bad ones refused one by one, attributes encoded for the evaluator.
#
# The laws: an event is accepted or rejected whatever stands beside it, except that of two events with one id, both
# good, the second is refused; accepted events keep their order. A text is scanned once, when its events are encoded;
# whoever asks for anything else before that has them encoded for no attributes at all.
# ----------------------------------------------------------------------------------------------------------------------

Flags = npt.NDArray[np.bool_]
if TYPE_CHECKING:
    Column = pa.Array[Any]
else:
    Column = Any


_NOTHING = as_table("events", [])
_NO_CELLS = encode(NameTable(), pa.array([], pa.string()), compiled=False)


class Settled(NamedTuple):
    """Which rows are events: their numbers in the table, ids and publishers, and the errors of the others in order."""

    rows: Int64s
    ids: Column
    publishers: Column
    errors: list[HeliographError]
    rejected: list[Rejected]
    encoded: Encoded


class Events:
    """The good events of one call. Rows count the accepted events from 0."""

    def __init__(self, read: TableRows, with_labels: bool) -> None:
        self.source = read.source
        self._read = read
        self._with_labels = with_labels
        self._known: Settled | None = None
        self._one: PlainEvent | None = None

    @classmethod
    def of_one(cls, event: PlainEvent) -> Events:
        """The one event, which is good."""
        events = cls(_NOTHING, False)
        events._one = event
        ids, publishers = pa.array([event.id]), pa.array([event.publisher])
        events._known = Settled(np.zeros(1, np.int64), ids, publishers, [], [], _NO_CELLS)
        return events

    @property
    def given(self) -> int:
        """How many rows there were, good or not."""
        return len(self._read.rows)

    @property
    def ids(self) -> Column:
        return self._settled.ids

    @property
    def publishers(self) -> Column:
        return self._settled.publishers

    @property
    def texts(self) -> Column:
        """The attributes as they were written."""
        texts = self._read.table.column("attributes").combine_chunks()
        return texts if len(self) == len(texts) else texts.take(self._settled.rows)

    @property
    def errors(self) -> list[HeliographError]:
        """What was wrong with the refused rows; not of those that reading the table refused."""
        return self._settled.errors

    @property
    def rejected(self) -> list[Rejected]:
        return self._settled.rejected

    def __len__(self) -> int:
        return len(self._settled.rows)

    def __iter__(self) -> Iterator[Event]:
        return map(self.event, range(len(self)))

    def event(self, row: int) -> Event:
        """One event as an object, with its attributes decoded."""
        settled, tree = self._settled, self.tree(row)
        labels = read_labels(tree.get("labels"), Place()) if self._with_labels else NO_LABELS
        return Event(settled.ids[row].as_py(), settled.publishers[row].as_py(), Attributes(tree), labels)

    def tree(self, row: int) -> Tree:
        """The decoded attributes of one event."""
        if self._one is not None:
            return self._one.tree
        return self._settled.encoded.tree(int(self._settled.rows[row]))

    def encode(self, names: NameTable, compiled: bool | None = None) -> Cells:
        """The cells of the events, of the attributes that `names` knows by now."""
        if self._one is not None:
            return cells_of([encode_python(names, self._one.tree)])
        encoded = self._encode(names, compiled)
        if self._known is None:
            self._known = _settle(self._read, encoded)
        rows = self._known.rows
        _check_same(rows, encoded)
        return encoded.cells if len(rows) == len(self._read.rows) else take_cells(encoded.cells, rows)

    @property
    def _settled(self) -> Settled:
        if self._known is None:
            self._known = _settle(self._read, self._encode(NameTable(), None))
        return self._known

    def _encode(self, names: NameTable, compiled: bool | None) -> Encoded:
        texts = self._read.table.column("attributes")
        return encode(names, texts, labels=self._with_labels, place=self._read.place, compiled=compiled)


def read_events(items: Any, with_labels: bool) -> Events:
    """The events of a table or of Python items, in order; an id that comes twice is refused the second time."""
    one = None if with_labels else plain_event(items)
    if one is not None:
        return Events.of_one(one)
    return Events(as_table("events", items), with_labels)


def _settle(read: TableRows, encoded: Encoded) -> Settled:
    ids, publishers = (read.table.column(name).combine_chunks() for name in ("event_id", "publisher"))
    errors: dict[int, PublicationError] = dict(encoded.errors)
    for row in np.flatnonzero(_blank(ids) | _blank(publishers)).tolist():
        errors[row] = _lacking(read, row, "publisher" if ids[row].as_py() else "event_id")
    rows = np.setdiff1d(np.arange(len(ids)), list(errors)) if errors else np.arange(len(ids))
    for row in rows[_repeated(ids.take(rows) if errors else ids)].tolist():
        errors[row] = _twice(read, row, ids[row].as_py())
    in_order = sorted(errors.items())
    limit = MessageLimit()
    rejected = [
        Rejected.of(error, read.source, ids[row].as_py())
        if limit.allows(error.code)
        else Rejected(read.source or error.place.source, ids[row].as_py() or error.place.item, error.code, "")
        for row, error in in_order
    ]
    if errors:
        rows = np.setdiff1d(rows, list(errors))
        ids, publishers = ids.take(rows), publishers.take(rows)
    return Settled(rows, ids, publishers, [error for _, error in in_order], [*read.rejected, *rejected], encoded)


def _check_same(rows: Int64s, encoded: Encoded) -> None:
    """Encoded again, an accepted event may fail where it is nested as deep as the stack then allows: better loudly."""
    for row in np.intersect1d(rows, list(encoded.errors)).tolist() if encoded.errors else ():
        raise encoded.errors[row]


def _blank(column: Any) -> Flags:
    """The rows without a text, or with an empty one."""
    sizes: Any = pc.fill_null(pc.binary_length(column), 0)
    flags: Flags = sizes.to_numpy(zero_copy_only=False) == 0
    return flags


def _repeated(ids: Column) -> Flags:
    """The ids that came before. A dictionary numbers texts as they appear, so a new one is above all before it."""
    codes = ids.dictionary_encode().indices.to_numpy()
    repeated = np.zeros(len(codes), np.bool_)
    repeated[1:] = codes[1:] <= np.maximum.accumulate(codes)[:-1]
    return repeated


def _lacking(read: TableRows, row: int, column: str) -> PublicationError:
    fix = f"write one in {column}"
    return PublicationError("HG-640", f"an event without {column}", place=read.place(row), fix=fix)


def _twice(read: TableRows, row: int, id: str) -> PublicationError:
    message = f"the event {id!r} comes twice in one call"
    return PublicationError("HG-641", message, place=read.place(row), fix="give each event its own event_id")
