"""Events as they come in, column by column or one by one: bad ones refused, attributes encoded.

The laws: an event is accepted or rejected whatever stands beside it, except that of two events with one id, both good,
the second is refused; accepted events keep their order. A text is scanned once, when its events are encoded; whoever
asks for anything else before that has them encoded for no attributes at all.

One event given as a dictionary of plain values is taken as it is, without a table around it. What is taken so is what
reading a table of this one event would give; whatever could be wrong with it, or is not plain JSON already, is left to
that.
"""

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
    event_cells,
    plain_tree,
    read_labels,
    take_cells,
)
from heliograph.predicate.evaluate import Attributes
from heliograph.predicate.layout import Cells, Int32s, Int64s
from heliograph.route.read import NO_LABELS, Event

if TYPE_CHECKING:
    from heliograph.route.exchange import Version

    Strings = pa.Array[Any]
else:
    Strings = Any

_SEVERAL = 4  # events that are worth a call of the kernel that encodes them

# --- one event --------------------------------------------------------------------------------------------------------

_COLUMNS = {"event_id", "publisher", "attributes"}
_DEEPEST = 20
_LARGEST = 1 << 64


PlainEvent = tuple[str, str, Tree]
"""One event that is good as it came: its id, its publisher and its attributes."""


def plain_event(items: Any) -> PlainEvent | None:
    """The one event that is meant, or None where it takes a closer look."""
    if type(items) is list and len(items) == 1:
        items = items[0]
    if type(items) is not dict or items.keys() != _COLUMNS:
        return None
    id, publisher, attributes = items["event_id"], items["publisher"], items["attributes"]
    for text in (id, publisher):
        if type(text) is not str or not text or not (text.isascii() or _is_plain(text, 0)):
            return None
    if type(attributes) is dict:
        return (id, publisher, attributes) if _is_plain(attributes, 0) else None
    if type(attributes) is not str or not (attributes.isascii() or _is_plain(attributes, 0)):
        return None
    tree = plain_tree(attributes)
    return None if tree is None else (id, publisher, tree)


def _is_plain(value: Any, depth: int) -> bool:
    """Whether a value is what JSON would make of it, and its texts are such that UTF-8 can hold."""
    kind = type(value)
    if kind is str:
        return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
    if kind is int:
        return bool(-_LARGEST < value < _LARGEST)
    if kind is float:
        return math.isfinite(value)
    if kind is list or kind is dict:
        if depth >= _DEEPEST:
            return False
        for part in value:
            if kind is dict:
                if type(part) is not str or not (part.isascii() or _is_plain(part, depth)):
                    return False
                part = value[part]
            leaf = type(part)
            if (leaf is not str or not part.isascii()) and leaf is not bool and not _is_plain(part, depth + 1):
                return False
        return True
    return value is None or kind is bool


# --- many -------------------------------------------------------------------------------------------------------------


class Accepted(NamedTuple):
    """Which rows are events: their numbers in the table, ids and publishers, and the errors of the others in order."""

    rows: Int64s
    ids: Strings
    publishers: Strings
    errors: list[HeliographError]
    rejected: list[Rejected]
    encoded: Encoded


class Events:
    """The good events of one call. Rows count the accepted events from 0; `one` is the only event, if it came plain."""

    def __init__(self, read: TableRows | None, with_labels: bool = False, one: PlainEvent | None = None) -> None:
        self.one = one
        self.source = None if read is None else read.source
        self._read = read
        self._with_labels = with_labels
        self._known: Accepted | None = None
        self._cells: tuple[Version, Cells] | None = None
        self._starts: tuple[Version, Int32s] | None = None

    def __len__(self) -> int:
        return 1 if self.one is not None else len(self._accepted.rows)

    def __iter__(self) -> Iterator[Event]:
        return map(self.event, range(len(self)))

    @property
    def ids(self) -> Strings:
        return self._accepted.ids if self.one is None else pa.array(self.one[:1])

    @property
    def publishers(self) -> Strings:
        return self._accepted.publishers if self.one is None else pa.array(self.one[1:2])

    @property
    def texts(self) -> Strings:
        """The attributes as they were written, of events that came in a table."""
        texts: Strings = self._table.column("attributes").combine_chunks()
        return texts if len(self) == len(texts) else texts.take(self._accepted.rows)

    @property
    def errors(self) -> list[HeliographError]:
        """What was wrong with the refused rows; not of those that reading the table refused."""
        return self._accepted.errors if self.one is None else []

    @property
    def rejected(self) -> list[Rejected]:
        return self._accepted.rejected if self.one is None else []

    def event(self, row: int) -> Event:
        """One event as an object, with its attributes decoded."""
        if self.one is not None:
            id, publisher, tree = self.one
            return Event(id, publisher, Attributes(tree))
        attributes, labels = Attributes(self.tree(row)), self.labels(row)
        return Event(self.ids[row].as_py(), self.publishers[row].as_py(), attributes, labels or NO_LABELS)

    def tree(self, row: int) -> Tree:
        """The decoded attributes of one event."""
        if self.one is not None:
            return self.one[2]
        return self._accepted.encoded.tree(int(self._accepted.rows[row]))

    def labels(self, row: int) -> frozenset[str] | None:
        """The label set of one event, where label sets are compared."""
        return read_labels(self.tree(row).get("labels"), Place()) if self._with_labels else None

    def starts(self, version: Version) -> Int32s:
        """The node of a version that each event starts from, or -1; read-only."""
        if self._starts is None or self._starts[0] is not version:
            if self.one is not None:
                starts = np.array([version.number(self.one[1])], np.int32)
            else:
                starts = version.numbers(self.publishers)
            starts.flags.writeable = False
            self._starts = version, starts
        return self._starts[1]

    def cells(self, version: Version) -> Cells:
        """The cells of the events, of the attributes that the version knows, and perhaps of later ones."""
        if self._cells is None or self._cells[0] is not version:
            self._cells = version, self.encode(version.targeting.names, len(self._table) >= _SEVERAL)
        return self._cells[1]

    def encode(self, names: NameTable, compiled: bool | None = None) -> Cells:
        """The cells of the events, of the attributes that `names` knows by now."""
        if self.one is not None:
            return cells_of([event_cells(names, self.one[2])])
        encoded = self._encode(names, compiled)
        if self._known is None:
            self._known = _accept(self._table_read, encoded)
        rows = self._known.rows
        # Encoded again, an accepted event may fail where it is nested as deep as the stack then allows: better loudly.
        for row in np.intersect1d(rows, list(encoded.errors)).tolist() if encoded.errors else ():
            raise encoded.errors[row]
        return encoded.cells if len(rows) == len(self._table) else take_cells(encoded.cells, rows)

    @property
    def _accepted(self) -> Accepted:
        if self._known is None:
            self._known = _accept(self._table_read, self._encode(NameTable(), None))
        return self._known

    @property
    def _table_read(self) -> TableRows:
        return _NOTHING if self._read is None else self._read

    @property
    def _table(self) -> Any:
        return self._table_read.table

    def _encode(self, names: NameTable, compiled: bool | None) -> Encoded:
        texts = self._table.column("attributes")
        return encode(names, texts, labels=self._with_labels, place=self._table_read.place, compiled=compiled)


_NOTHING = as_table("events", [])


def read_events(items: Any, with_labels: bool) -> Events:
    """The events of a table or of Python items, in order; an id that comes twice is refused the second time."""
    one = None if with_labels else plain_event(items)
    return Events(None if one is not None else as_table("events", items), with_labels, one)


def _accept(read: TableRows, encoded: Encoded) -> Accepted:
    ids, publishers = (read.table.column(name).combine_chunks() for name in ("event_id", "publisher"))
    errors: dict[int, PublicationError] = dict(encoded.errors)
    for row in np.flatnonzero(_blank(ids) | _blank(publishers)).tolist():
        column = "publisher" if ids[row].as_py() else "event_id"
        message, fix = f"an event without {column}", f"write one in {column}"
        errors[row] = PublicationError("HG-640", message, place=read.place(row), fix=fix)
    rows = np.setdiff1d(np.arange(len(ids)), list(errors)) if errors else np.arange(len(ids))
    for row in rows[_repeated(ids.take(rows) if errors else ids)].tolist():
        message, fix = f"the event {ids[row].as_py()!r} comes twice in one call", "give each event its own event_id"
        errors[row] = PublicationError("HG-641", message, place=read.place(row), fix=fix)
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
    return Accepted(rows, ids, publishers, [error for _, error in in_order], [*read.rejected, *rejected], encoded)


def _blank(column: Any) -> npt.NDArray[np.bool_]:
    """The rows without a text, or with an empty one."""
    sizes: Any = pc.fill_null(pc.binary_length(column), 0)
    flags: npt.NDArray[np.bool_] = sizes.to_numpy(zero_copy_only=False) == 0
    return flags


def _repeated(ids: Strings) -> npt.NDArray[np.bool_]:
    """The ids that came before. A dictionary numbers texts as they appear, so a new one is above all before it."""
    codes = ids.dictionary_encode().indices.to_numpy()
    repeated = np.zeros(len(codes), np.bool_)
    repeated[1:] = codes[1:] <= np.maximum.accumulate(codes)[:-1]
    return repeated
