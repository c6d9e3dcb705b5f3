"""Nodes, edges and events as they come in, one by one and as columns; what is wrong is refused row by row.

The laws of nodes and edges: a row's text alone says what it accepts. `Node.targeting` and `Edge.targeting` are that
text parsed, and the expressions of columns are that text compiled, so rows can be compiled again for another store;
what is compiled once is not compiled again for the same store. Where label sets are compared, a node's expression is
that of its labels; a refused node's holds never. Whoever reads for an exchange that others use holds its `writing`,
because targeting is compiled into its store.

The laws of events: an event is accepted or rejected whatever stands beside it, except that of two events with one id,
both good, the second is refused; accepted events keep their order. A text is scanned once, when its events are encoded;
whoever asks for anything else before that has them encoded for no attributes at all.

Columns are checked as a whole; only the rows that are wrong are looked at one by one, in their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from heliograph.errors import HeliographError, Place, PredicateError, PublicationError
from heliograph.io.coerce import Array
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
from heliograph.predicate.compile import Targeting
from heliograph.predicate.evaluate import Attributes
from heliograph.predicate.form import ACCEPT, Constant, Predicate
from heliograph.predicate.layout import ALWAYS, NEVER, Cells, Floats, Int32s, Int64s
from heliograph.predicate.parser import compile_predicates

if TYPE_CHECKING:
    from heliograph.route.exchange import Version

NODE_COST = 0.0
EDGE_COST = 1.0
MAX_COST = 1e300  # a path of any length that fits in memory still has a finite cost
NO_LABELS: frozenset[str] = frozenset()
UNKNOWN_PUBLISHER = "HG-643"

Texts = Array | None  # strings; None where all are null
LABELS_TYPE = pa.list_(pa.string())
Flags = npt.NDArray[np.bool_]
pc: Any = pyarrow.compute  # whose types know no arrays of any kind

# --- one by one -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """`listed` is False for a node known only as the end of an edge. `number` is its own in one version."""

    id: str
    targeting: Predicate = ACCEPT
    text: str | None = None
    cost: float = NODE_COST
    labels: frozenset[str] = NO_LABELS
    refused: str | None = None  # the code for which the node's row was rejected
    listed: bool = True
    number: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """Parallel edges may be alike in every field but `number`, so an edge is equal to itself only."""

    source: str
    target: str
    id: str | None = None
    targeting: Predicate = ACCEPT
    text: str | None = None
    cost: float = EDGE_COST
    number: int = -1

    def __str__(self) -> str:
        return f"{self.source} → {self.target}" + (f" ({self.id})" if self.id is not None else "")


def refused_node(id: str, code: str) -> Node:
    """A node whose row was rejected."""
    return Node(id, Constant(False), refused=code, listed=False)


class Event(NamedTuple):
    """A publisher's event. `labels` is its attribute of that name, where label sets are compared."""

    id: str
    publisher: str
    attributes: Attributes
    labels: frozenset[str] = NO_LABELS


# --- as columns -------------------------------------------------------------------------------------------------------


class Expressions(NamedTuple):
    """The number of each row's expression in one store of targeting."""

    store: object
    numbers: Int32s


@dataclass(frozen=True, slots=True)
class NodeRows:
    """Nodes as columns. `refused` has the code of each row that was refused; those are not listed."""

    ids: Array
    texts: Texts
    costs: Floats
    labels: Array | None = None
    refused: dict[int, str] = field(default_factory=dict)
    listed: bool = True
    compiled: Expressions | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def slice(self, first: int, last: int) -> NodeRows:
        """The rows from one to before another."""
        refused = {row - first: code for row, code in self.refused.items() if first <= row < last}
        return self.take(np.arange(first, last), refused)

    def take(self, rows: Int64s, refused: dict[int, str] | None = None) -> NodeRows:
        """Some of the rows, of which those are refused."""
        texts, labels = (_taken(part, rows) for part in (self.texts, self.labels))
        compiled = self.compiled and self.compiled._replace(numbers=self.compiled.numbers[rows])
        return NodeRows(self.ids.take(rows), texts, self.costs[rows], labels, refused or {}, self.listed, compiled)


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """Edges as columns; no two have the same id."""

    sources: Array
    targets: Array
    ids: Texts
    texts: Texts
    costs: Floats
    compiled: Expressions | None = None

    def __len__(self) -> int:
        return len(self.sources)

    def take(self, rows: Int64s) -> EdgeRows:
        """Some of the rows."""
        ends = self.sources.take(rows), self.targets.take(rows)
        compiled = self.compiled and self.compiled._replace(numbers=self.compiled.numbers[rows])
        return EdgeRows(*ends, _taken(self.ids, rows), _taken(self.texts, rows), self.costs[rows], compiled)


def some(values: Array) -> Array | None:
    """A column; None where all of it is null."""
    return None if values.null_count == len(values) else values


def _taken(values: Array | None, rows: Int64s) -> Array | None:
    return None if values is None else values.take(rows)


# --- expressions ------------------------------------------------------------------------------------------------------


def node_expressions(rows: NodeRows, targeting: Targeting, match: str | None) -> Int32s:
    """The number of each node's expression in a store."""
    if rows.compiled is not None and rows.compiled.store is targeting:
        return rows.compiled.numbers
    if match is None:
        numbers = text_expressions(rows.texts, len(rows), targeting)
    else:
        labels = [None] * len(rows) if rows.labels is None else rows.labels.to_pylist()
        numbers = label_expressions(labels, targeting, match)
    numbers[list(rows.refused)] = NEVER
    return numbers


def edge_expressions(rows: EdgeRows, targeting: Targeting) -> Int32s:
    """The number of each edge's expression in a store."""
    if rows.compiled is not None and rows.compiled.store is targeting:
        return rows.compiled.numbers
    return text_expressions(rows.texts, len(rows), targeting)


def text_expressions(texts: Texts, count: int, targeting: Targeting) -> Int32s:
    """The numbers of texts that were read before; raises the error of one that cannot be."""
    if texts is None:
        return np.full(count, ALWAYS, np.int32)
    numbers: Any = targeting.add_many(texts.to_pylist())
    for number in numbers:
        if isinstance(number, PredicateError):
            raise number
    return np.array(numbers, np.int32)


def label_expressions(labels: Sequence[Any], targeting: Targeting, match: str) -> Int32s:
    """The number of the comparison with each label set; null stands for an empty one."""
    known: dict[frozenset[str], int] = {}
    numbers = np.empty(len(labels), np.int32)
    for row, several in enumerate(labels):
        chosen = frozenset(several or ())
        if chosen not in known:
            known[chosen] = targeting.add_labels(chosen, match)
        numbers[row] = known[chosen]
    return numbers


# --- tables -----------------------------------------------------------------------------------------------------------

_FEW = 8  # rows that are looked at one by one


class RowRefusal(NamedTuple):
    error: HeliographError
    rejected: Rejected


class Nodes(NamedTuple):
    """`rows` are good, `broken` are nodes whose rows were refused."""

    rows: NodeRows
    broken: NodeRows
    refusals: list[RowRefusal]
    unread: list[Rejected]


class Edges(NamedTuple):
    rows: EdgeRows
    refusals: list[RowRefusal]
    unread: list[Rejected]


def read_nodes(items: Any, targeting: Targeting, match: str | None = None) -> Nodes:
    """The nodes of a table or of Python items; an id that comes twice in one call is refused the second time."""
    read = as_table("nodes", items)
    ids, texts, labels = (_column(read, name) for name in ("node_id", "targeting", "labels"))
    costs, empty, later = _costs(read, NODE_COST), _is_empty(ids), _comes_again(ids)
    if match is None:
        numbers, wrong = _compile(texts, targeting)
    else:  # targeting is read for its errors only
        forms = compile_predicates([] if texts.null_count == len(texts) else texts.to_pylist())
        wrong = {row: form for row, form in enumerate(forms) if isinstance(form, PredicateError)}
        numbers = label_expressions(labels.to_pylist(), targeting, match)

    def error_of(row: int) -> HeliographError:
        place, id = read.place(row), ids[row].as_py()
        if empty[row]:
            return PublicationError("HG-650", "a node without an id", place=place, fix="write one in node_id")
        if later[row]:
            fix = "keep one row of a node; a later call of add_nodes replaces it"
            return PublicationError("HG-651", f"the node {id!r} comes twice in one call", place=place, fix=fix)
        return wrong[row] if not _is_bad(costs[row]) else _bad_cost(read, row, costs)

    bad = empty | later | _is_bad(costs)
    bad[list(wrong)] = True
    rows = NodeRows(ids, some(texts), costs, some(labels), compiled=Expressions(targeting, numbers))
    good, refusals = _divided(rows, bad, error_of, read, lambda row: ids[row].as_py() or None)
    unreadable = [(entry.item, entry.code) for entry in read.rejected if entry.code == "HG-204" and entry.item]
    codes = zip(np.flatnonzero(bad).tolist(), refusals, strict=True)
    refused = [(ids[row].as_py(), each.error.code) for row, each in codes if not empty[row] and not later[row]]
    return Nodes(good, broken_rows([*unreadable, *refused]), refusals, list(read.rejected))


def read_edges(items: Any, targeting: Targeting) -> Edges:
    """The edges of a table or of Python items; an edge_id that comes twice in one call is refused the second time."""
    read = as_table("edges", items)
    sources, targets, ids, texts = (_column(read, name) for name in ("source", "target", "edge_id", "targeting"))
    if ids.null_count < len(ids):
        ids = pc.if_else(pc.equal(ids, ""), pa.scalar(None, pa.string()), ids)
    costs, loose = _costs(read, EDGE_COST), _is_empty(sources) | _is_empty(targets)
    numbers, wrong = _compile(texts, targeting)
    faulty = _is_bad(costs)
    faulty[list(wrong)] = True
    later = _comes_after_a_good_one(ids, loose, faulty)

    def error_of(row: int) -> HeliographError:
        place = read.place(row)
        if loose[row]:
            lack = "source" if not sources[row].as_py() else "target"
            return PublicationError("HG-655", f"an edge without {lack}", place=place, fix=f"write a node in {lack}")
        if later[row]:
            message = f"the edge {ids[row].as_py()!r} comes twice in one call"
            fix = "give parallel edges different ids, or none"
            return PublicationError("HG-656", message, place=place, fix=fix)
        return wrong[row] if not _is_bad(costs[row]) else _bad_cost(read, row, costs)

    def name_of(row: int) -> str:
        return ids[row].as_py() or f"{sources[row].as_py()} → {targets[row].as_py()}"

    rows = EdgeRows(sources, targets, some(ids), some(texts), costs, Expressions(targeting, numbers))
    return Edges(*_divided(rows, loose | later | faulty, error_of, read, name_of), list(read.rejected))


def broken_rows(refused: Sequence[tuple[str, str]]) -> NodeRows:
    """The nodes with these ids, whose rows were refused with these codes."""
    ids = pa.array([id for id, _ in refused], pa.string())
    codes = {row: code for row, (_, code) in enumerate(refused)}
    return NodeRows(ids, None, np.full(len(refused), NODE_COST), None, codes, listed=False)


def _divided(
    rows: Any,
    bad: Flags,
    error_of: Callable[[int], HeliographError],
    read: TableRows,
    name_of: Callable[[int], str | None],
) -> tuple[Any, list[RowRefusal]]:
    """The good rows, and what is wrong with the others."""
    if not bad.any():
        return rows, []
    refusals = []
    for row in np.flatnonzero(bad).tolist():
        error = error_of(row)
        refusals.append(RowRefusal(error, Rejected.of(error, read.source, name_of(row))))
    return rows.take(np.flatnonzero(~bad)), refusals


def _bad_cost(read: TableRows, row: int, costs: Floats) -> HeliographError:
    fix = "write a number from 0 to 1e300"
    return PublicationError("HG-652", f"a cost of {costs[row]:g}", place=read.place(row), fix=fix)


def _compile(texts: Array, targeting: Targeting) -> tuple[Int32s, dict[int, PredicateError]]:
    """The number of each text, and the errors of some rows."""
    if texts.null_count == len(texts):
        return np.full(len(texts), ALWAYS, np.int32), {}
    found: Any = _add(texts.to_pylist(), targeting)
    wrong = {row: number for row, number in enumerate(found) if isinstance(number, PredicateError)}
    numbers = [ALWAYS if row in wrong else number for row, number in enumerate(found)] if wrong else found
    return np.array(numbers, np.int32), wrong


def _add(texts: Sequence[str | None], targeting: Targeting) -> Sequence[int | PredicateError]:
    """The number of each text; looking for what many have in common takes as long as compiling a few."""
    if len(texts) >= _FEW:
        return targeting.add_many(texts)
    numbers: list[int | PredicateError] = []
    for form in compile_predicates(texts):
        try:
            numbers.append(form if isinstance(form, PredicateError) else targeting.add(form))
        except PredicateError as error:  # the store is full
            numbers.append(error)
    return numbers


# --- columns of tables ------------------------------------------------------------------------------------------------


def _column(read: TableRows, name: str) -> Array:
    column: Any = read.table.column(name)
    found: Array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return found


def _is_empty(texts: Array) -> Flags:
    """Whether each text is null or has no characters."""
    if len(texts) < _FEW:
        return np.array([not text for text in texts.to_pylist()], bool)
    return np.asarray(pc.fill_null(pc.equal(texts, ""), True).to_numpy(zero_copy_only=False), bool)


def _codes(texts: Array) -> Int64s:
    """A number for each different text, from 0; null has none of its own but -1."""
    return np.asarray(pc.fill_null(texts.dictionary_encode().indices, -1).to_numpy(zero_copy_only=False), np.int64)


def _comes_again(ids: Array) -> Flags:
    """Whether an earlier row has the same id."""
    if len(ids) < 2:
        return np.zeros(len(ids), bool)
    again = np.ones(len(ids), bool)
    again[np.unique(_codes(ids), return_index=True)[1]] = False
    return again


def _comes_after_a_good_one(ids: Array, loose: Flags, faulty: Flags) -> Flags:
    """Whether an earlier row with the same id, if it has any, is accepted."""
    if ids.null_count == len(ids):
        return np.zeros(len(ids), bool)
    codes = _codes(ids)
    first = np.full(int(codes.max()) + 1, len(ids))
    good = np.flatnonzero(~loose & ~faulty & (codes >= 0))
    np.minimum.at(first, codes[good], good)
    return ~loose & (codes >= 0) & (np.arange(len(ids)) > first[codes])


def _costs(read: TableRows, default: float) -> Floats:
    """The costs, the default where there is none; minus zero becomes zero."""
    column = _column(read, "cost")
    if column.null_count == len(column):
        return np.full(len(column), default)
    return np.asarray(pc.fill_null(column, default).to_numpy(zero_copy_only=False), np.float64) + 0.0


def _is_bad(costs: Any) -> Any:
    return ~((costs >= 0) & (costs <= MAX_COST))


_SEVERAL = 4  # events that are worth a call of the kernel that encodes them

# --- one event --------------------------------------------------------------------------------------------------------
#
# One event given as a dictionary of plain values is taken as it is, without a table around it. What is taken so is what
# reading a table of this one event would give; whatever could be wrong with it, or is not plain JSON already, is left
# to that.

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


# --- many events ------------------------------------------------------------------------------------------------------


class Accepted(NamedTuple):
    """Which rows are events: their numbers in the table, ids and publishers, and the errors of the others in order."""

    rows: Int64s
    ids: Array
    publishers: Array
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
    def ids(self) -> Array:
        return self._accepted.ids if self.one is None else pa.array(self.one[:1])

    @property
    def publishers(self) -> Array:
        return self._accepted.publishers if self.one is None else pa.array(self.one[1:2])

    @property
    def texts(self) -> Array:
        """The attributes as they were written, of events that came in a table."""
        texts: Array = self._table.column("attributes").combine_chunks()
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

    def unknown(self, row: int) -> Rejected:
        """The refusal of an event whose publisher is not there."""
        id, publisher = self.ids[row].as_py(), self.publishers[row].as_py()
        return Rejected.of(unknown_publisher(id, publisher), self.source, id)

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


def unknown_publisher(id: str, publisher: str, where: str = "neither a node nor an end of an edge") -> PublicationError:
    message, fix = f"the publisher {publisher!r} is {where}", "add it to the nodes, or check its name"
    return PublicationError(UNKNOWN_PUBLISHER, message, place=Place(item=id), fix=fix)


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


def _repeated(ids: Array) -> npt.NDArray[np.bool_]:
    """The ids that came before. A dictionary numbers texts as they appear, so a new one is above all before it."""
    codes = ids.dictionary_encode().indices.to_numpy()
    repeated = np.zeros(len(codes), np.bool_)
    repeated[1:] = codes[1:] <= np.maximum.accumulate(codes)[:-1]
    return repeated
