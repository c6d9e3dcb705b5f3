"""Rows of the nodes and edges tables as columns for an exchange, each bad row refused by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from heliograph.errors import HeliographError, PredicateError, PublicationError
from heliograph.io.coerce import Array
from heliograph.io.tables import TableRows, as_table
from heliograph.model import Rejected
from heliograph.predicate.compile import Targeting
from heliograph.predicate.evaluate import Attributes
from heliograph.predicate.form import ACCEPT, Constant, Predicate, to_sql
from heliograph.predicate.layout import ALWAYS, NEVER, Floats, Int32s, Int64s
from heliograph.predicate.parser import compile_predicates

# ----------------------------------------------------------------------------------------------------------------------
# What an exchange is made of, one by one: nodes, edges, events; and many at once, as columns.
#
# The law: a row's text alone says what it accepts. `Node.targeting` and `Edge.targeting` are that text parsed, and
# the expressions of columns are that text compiled, so rows can be compiled again for another store.
# ----------------------------------------------------------------------------------------------------------------------

NODE_COST = 0.0
EDGE_COST = 1.0
NO_LABELS: frozenset[str] = frozenset()

Texts = Array | None  # strings; None where all are null
LABELS_TYPE = pa.list_(pa.string())


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

    @classmethod
    def of(cls, nodes: Sequence[Node]) -> NodeRows:
        """The columns of nodes that are all listed, or all not."""
        ids = pa.array([node.id for node in nodes], pa.string())
        texts = texts_of(_text(node) for node in nodes)
        costs = np.array([node.cost for node in nodes], np.float64)
        refused = {row: node.refused for row, node in enumerate(nodes) if node.refused}
        return cls(ids, texts, costs, labels_of(node.labels for node in nodes), refused, all(n.listed for n in nodes))

    def slice(self, first: int, last: int) -> NodeRows:
        """The rows from one to before another."""
        size = last - first
        texts = None if self.texts is None else self.texts.slice(first, size)
        labels = None if self.labels is None else self.labels.slice(first, size)
        refused = {row - first: code for row, code in self.refused.items() if first <= row < last}
        compiled = self.compiled and self.compiled._replace(numbers=self.compiled.numbers[first:last])
        ids, costs = self.ids.slice(first, size), self.costs[first:last]
        return NodeRows(ids, texts, costs, labels, refused, self.listed, compiled)


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

    @classmethod
    def of(cls, edges: Sequence[Edge]) -> EdgeRows:
        sources = pa.array([edge.source for edge in edges], pa.string())
        targets = pa.array([edge.target for edge in edges], pa.string())
        costs = np.array([edge.cost for edge in edges], np.float64)
        return cls(sources, targets, texts_of(edge.id for edge in edges), texts_of(map(_text, edges)), costs)


def _text(row: Node | Edge) -> str | None:
    if row.text is not None or row.targeting == ACCEPT:
        return row.text
    return None if isinstance(row, Node) and row.refused else to_sql(row.targeting)


def texts_of(texts: Iterable[str | None]) -> Texts:
    """The texts as a column; None where there is none at all."""
    several = list(texts)
    return pa.array(several, pa.string()) if any(text is not None for text in several) else None


def labels_of(labels: Iterable[frozenset[str]]) -> Array | None:
    """The label sets as a column; None where all are empty."""
    several = [sorted(some) for some in labels]
    return pa.array(several, LABELS_TYPE) if any(several) else None


# ----------------------------------------------------------------------------------------------------------------------
# The expressions of rows in a store of targeting.
#
# The law: a row compiled once is not compiled again, unless it is for another store. Where label sets are compared, a
# node's expression is that of its labels; a refused node's holds never.
# ----------------------------------------------------------------------------------------------------------------------


def node_expressions(rows: NodeRows, targeting: Targeting, match: str | None) -> Int32s:
    """The number of each node's expression."""
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
    """The number of each edge's expression."""
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
    for row, some in enumerate(labels):
        chosen = frozenset(some) if some else NO_LABELS
        if chosen not in known:
            known[chosen] = targeting.add_labels(chosen, match)
        numbers[row] = known[chosen]
    return numbers


# ----------------------------------------------------------------------------------------------------------------------
# Rows of the nodes and edges tables as columns for an exchange, each bad row refused by itself.
#
# Columns are checked as a whole; only the rows that are wrong are looked at one by one, in their order. Whoever reads
# for an exchange that others use holds its `writing`, because targeting is compiled into its store.
# ----------------------------------------------------------------------------------------------------------------------

_FEW = 8  # rows that are looked at one by one
MAX_COST = 1e300  # a path of any length that fits in memory still has a finite cost

Flags = npt.NDArray[np.bool_]
pc: Any = pyarrow.compute  # whose types know no arrays of any kind


class Refusal(NamedTuple):
    error: HeliographError
    rejected: Rejected


class Nodes(NamedTuple):
    """`rows` are good, `broken` are nodes whose rows were refused."""

    rows: NodeRows
    broken: NodeRows
    refusals: list[Refusal]
    unread: list[Rejected]


class Edges(NamedTuple):
    rows: EdgeRows
    refusals: list[Refusal]
    unread: list[Rejected]


class _Compiled(NamedTuple):
    """The number of each text, and the errors of some rows."""

    numbers: Int32s
    errors: dict[int, PredicateError]


def read_nodes(items: Any, targeting: Targeting, match: str | None = None) -> Nodes:
    """The nodes of a table or of Python items; an id that comes twice in one call is refused the second time."""
    read = as_table("nodes", items)
    ids, texts, labels = (_column(read, name) for name in ("node_id", "targeting", "labels"))
    costs = _costs(read, NODE_COST)
    empty, later = _is_empty(ids), _comes_again(ids)
    compiled = _compile_nodes(texts, labels, targeting, match)
    bad = _rows(empty | later | _is_bad(costs), compiled)
    errors = {row: _node_error(read, row, empty, later, costs, compiled) for row in bad.tolist()}
    refusals = [
        Refusal(error, Rejected.of(error, read.source, ids[row].as_py() or None)) for row, error in errors.items()
    ]
    refused = [(ids[row].as_py(), error.code) for row, error in errors.items() if not empty[row] and not later[row]]
    rows = NodeRows(ids, _some(texts), costs, _some(labels), compiled=Expressions(targeting, compiled.numbers))
    broken = broken_rows([*_unreadable(read.rejected), *refused])
    return Nodes(_without_nodes(rows, bad), broken, refusals, list(read.rejected))


def read_edges(items: Any, targeting: Targeting) -> Edges:
    """The edges of a table or of Python items; an edge_id that comes twice in one call is refused the second time."""
    read = as_table("edges", items)
    sources, targets, ids, texts = (_column(read, name) for name in ("source", "target", "edge_id", "targeting"))
    ids = _nulls_for_empty(ids)
    costs = _costs(read, EDGE_COST)
    loose = _is_empty(sources) | _is_empty(targets)
    compiled = _compile(texts, targeting)
    faulty = _is_bad(costs)
    faulty[list(compiled.errors)] = True
    later = _comes_after_a_good_one(ids, loose, faulty)
    bad = np.flatnonzero(loose | later | faulty)
    refusals = []
    for row in bad.tolist():
        error = _edge_error(read, row, loose, later, costs, compiled)
        refusals.append(Refusal(error, Rejected.of(error, read.source, _edge_name(sources, targets, ids, row))))
    numbers = Expressions(targeting, compiled.numbers)
    rows = EdgeRows(sources, targets, _some(ids), _some(texts), costs, numbers)
    return Edges(_without_edges(rows, bad), refusals, list(read.rejected))


def broken_rows(refused: Sequence[tuple[str, str]]) -> NodeRows:
    """The nodes with these ids, whose rows were refused with these codes."""
    if not refused:
        return _NONE_BROKEN
    ids = pa.array([id for id, _ in refused], pa.string())
    codes = {row: code for row, (_, code) in enumerate(refused)}
    return NodeRows(ids, None, np.full(len(refused), NODE_COST), None, codes, listed=False)


_NONE_BROKEN = NodeRows(pa.array([], pa.string()), None, np.zeros(0), listed=False)


def _unreadable(rejected: Iterable[Rejected]) -> list[tuple[str, str]]:
    """The nodes of rows in which a cell could not be read (HG-204); the item of such a row is its id."""
    return [(entry.item, entry.code) for entry in rejected if entry.code == "HG-204" and entry.item]


# --- what is wrong with a row -----------------------------------------------------------------------------------------


def _node_error(
    read: TableRows, row: int, empty: Flags, later: Flags, costs: Floats, compiled: _Compiled
) -> HeliographError:
    place = read.place(row)
    if empty[row]:
        return PublicationError("HG-650", "a node without an id", place=place, fix="write one in node_id")
    if later[row]:
        id = read.table.column("node_id")[row].as_py()
        fix = "keep one row of a node; a later call of add_nodes replaces it"
        return PublicationError("HG-651", f"the node {id!r} comes twice in one call", place=place, fix=fix)
    return _common_error(read, row, costs, compiled)


def _edge_error(
    read: TableRows, row: int, loose: Flags, later: Flags, costs: Floats, compiled: _Compiled
) -> HeliographError:
    place = read.place(row)
    if loose[row]:
        lacking = "source" if not read.table.column("source")[row].as_py() else "target"
        return PublicationError("HG-655", f"an edge without {lacking}", place=place, fix=f"write a node in {lacking}")
    if later[row]:
        id = read.table.column("edge_id")[row].as_py()
        fix = "give parallel edges different ids, or none"
        return PublicationError("HG-656", f"the edge {id!r} comes twice in one call", place=place, fix=fix)
    return _common_error(read, row, costs, compiled)


def _common_error(read: TableRows, row: int, costs: Floats, compiled: _Compiled) -> HeliographError:
    if 0 <= costs[row] <= MAX_COST:
        return compiled.errors[row]
    place, fix = read.place(row), "write a number from 0 to 1e300"
    return PublicationError("HG-652", f"a cost of {costs[row]:g}", place=place, fix=fix)


def _edge_name(sources: Array, targets: Array, ids: Array, row: int) -> str:
    return ids[row].as_py() or f"{sources[row].as_py()} → {targets[row].as_py()}"


# --- columns ----------------------------------------------------------------------------------------------------------


def _column(read: TableRows, name: str) -> Array:
    column: Any = read.table.column(name)
    found: Array = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return found


def _some(values: Array) -> Texts:
    return None if values.null_count == len(values) else values


def _numpy(flags: Any) -> Flags:
    return np.asarray(flags.to_numpy(zero_copy_only=False), bool)


def _is_empty(texts: Array) -> Flags:
    """Whether each text is null or has no characters."""
    if len(texts) < _FEW:
        return np.array([not text for text in texts.to_pylist()], bool)
    return _numpy(pc.fill_null(pc.equal(texts, ""), True))


def _nulls_for_empty(texts: Array) -> Array:
    if texts.null_count == len(texts):
        return texts
    found: Array = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    return found


def _codes(texts: Array) -> Int64s:
    """A number for each different text, from 0; null has none of its own but -1."""
    return np.asarray(pc.fill_null(texts.dictionary_encode().indices, -1).to_numpy(zero_copy_only=False), np.int64)


def _comes_again(ids: Array) -> Flags:
    """Whether an earlier row has the same id."""
    if len(ids) < 2:
        return np.zeros(len(ids), bool)
    codes = _codes(ids)
    again = np.ones(len(ids), bool)
    again[np.unique(codes, return_index=True)[1]] = False
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
    column = pc.fill_null(column, default)
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64) + 0.0


def _is_bad(costs: Floats) -> Flags:
    return ~((costs >= 0) & (costs <= MAX_COST))


def _compile_nodes(texts: Array, labels: Array, targeting: Targeting, match: str | None) -> _Compiled:
    """Expressions of nodes; where labels are compared, targeting is read for its errors only."""
    if match is None:
        return _compile(texts, targeting)
    found = compile_predicates([] if texts.null_count == len(texts) else texts.to_pylist())
    errors = {row: form for row, form in enumerate(found) if isinstance(form, PredicateError)}
    return _Compiled(label_expressions(labels.to_pylist(), targeting, match), errors)


def _compile(texts: Array, targeting: Targeting) -> _Compiled:
    if texts.null_count == len(texts):
        return _Compiled(np.full(len(texts), ALWAYS, np.int32), {})
    found = _add(texts.to_pylist(), targeting)
    errors = {row: number for row, number in enumerate(found) if isinstance(number, PredicateError)}
    numbers: Any = [ALWAYS if row in errors else number for row, number in enumerate(found)] if errors else found
    return _Compiled(np.array(numbers, np.int32), errors)


def _add(texts: Sequence[str | None], targeting: Targeting) -> Sequence[int | PredicateError]:
    """The number of each text; looking for what many have in common takes as long as compiling a few."""
    if len(texts) >= _FEW:
        return targeting.add_many(texts)
    forms = compile_predicates(texts)
    return [form if isinstance(form, PredicateError) else _number(form, targeting) for form in forms]


def _number(form: Predicate, targeting: Targeting) -> int | PredicateError:
    try:
        return targeting.add(form)
    except PredicateError as error:  # the store is full
        return error


def _rows(flags: Flags, compiled: _Compiled) -> Int64s:
    """The rows that are wrong in some way."""
    flags[list(compiled.errors)] = True
    return np.flatnonzero(flags)


def _without_nodes(rows: NodeRows, bad: Int64s) -> NodeRows:
    if not len(bad):
        return rows
    kept = np.delete(np.arange(len(rows)), bad)
    texts, labels = (None if part is None else part.take(kept) for part in (rows.texts, rows.labels))
    return NodeRows(rows.ids.take(kept), texts, rows.costs[kept], labels, compiled=_chosen(rows.compiled, kept))


def _without_edges(rows: EdgeRows, bad: Int64s) -> EdgeRows:
    if not len(bad):
        return rows
    kept = np.delete(np.arange(len(rows)), bad)
    ids, texts = (None if part is None else part.take(kept) for part in (rows.ids, rows.texts))
    ends = rows.sources.take(kept), rows.targets.take(kept)
    return EdgeRows(*ends, ids, texts, rows.costs[kept], _chosen(rows.compiled, kept))


def _chosen(compiled: Expressions | None, kept: Int64s) -> Expressions | None:
    return compiled and compiled._replace(numbers=compiled.numbers[kept])
