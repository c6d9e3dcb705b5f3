"""What an exchange holds, one version of it as readers see it, and the order in which its nodes are numbered."""

from __future__ import annotations

import sys
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from heliograph.errors import SubscriptionError
from heliograph.io.coerce import Array
from heliograph.predicate.form import Predicate
from heliograph.predicate.layout import ALWAYS, NEVER, Floats, Int32s, Int64s, Programs
from heliograph.predicate.parser import parse_predicate
from heliograph.route.layout import (
    BEGIN,
    BORN,
    DIED,
    EDGE_COLUMNS,
    EDGE_DIED,
    EDGE_EXPRESSION,
    END,
    EXPRESSION,
    FLAGS,
    IN_BEGIN,
    IN_END,
    IN_MORE,
    LISTED_NODE,
    MORE,
    NEVER_DIED,
    NEWER,
    NODE_COLUMNS,
    OUT_BEGIN,
    OUT_END,
    OUT_MORE,
    PLACE,
    PRESENT,
    RECORD,
    RECORD_COLUMNS,
    TARGET,
    Graph,
)
from heliograph.route.read import LABELS_TYPE, NO_LABELS, Edge, Node, refused_node
from heliograph.vocabulary.mapped import Table, Texts, find_text, find_texts, make_table

if TYPE_CHECKING:
    from heliograph.predicate.compile import Targeting
    from heliograph.route.exchange import Exchange


# ----------------------------------------------------------------------------------------------------------------------
# Texts by number, and numbers by text: the ids and the targeting of an exchange as Arrow arrays, not as objects.
#
# The law: nothing that was added is ever changed, except that an id may come to mean a later number. So readers need
# no lock. What comes in bulk lies in Arrow arrays and a flat hash table; what comes later, one by one, in
# dictionaries.
# ----------------------------------------------------------------------------------------------------------------------

_SEGMENT = 64  # values that come together are kept as an array of their own from so many on
_COLD, _WARM = 20_000, 2_000


def pays(count: int) -> bool:
    """Whether so many nodes are worth the kernels: one costs some microseconds in Python, importing Numba a second."""
    return count >= (_WARM if "numba" in sys.modules else _COLD)


class Column:
    """Values of one Arrow type by number; what was never added is null."""

    def __init__(self, type: pa.DataType) -> None:
        self._type = type
        self._starts: list[int] = []
        self._arrays: list[Array] = []
        self._later: dict[int, Any] = {}
        self._whole: Array | None = None

    def extend(self, first: int, values: Array | None) -> None:
        """Adds values for consecutive numbers above all earlier ones; None stands for nulls only."""
        if values is None or not len(values):
            return
        if len(values) >= _SEGMENT:
            self._arrays.append(values)
            self._starts.append(first)  # last, because readers look here first
        else:
            self._later.update((n, value) for n, value in enumerate(values.to_pylist(), first) if value is not None)

    def get(self, number: int) -> Any:
        """The value of a number as a Python object, or None."""
        segment = bisect_right(self._starts, number) - 1
        if segment >= 0 and number - self._starts[segment] < len(self._arrays[segment]):
            return self._arrays[segment][number - self._starts[segment]].as_py()
        return self._later.get(number)

    def take(self, numbers: Int32s) -> Array:
        """The values of many numbers."""
        parts: list[Array] = []
        places: list[Int64s] = []
        rest = np.ones(len(numbers), np.bool_)
        segments = np.searchsorted(np.array(self._starts, np.int64), numbers, "right") - 1
        for segment in np.unique(segments).tolist():
            here = np.flatnonzero(segments == segment)
            end = self._starts[segment] + len(self._arrays[segment]) if segment >= 0 else 0
            inside = here[numbers[here] < end]
            if len(inside):
                parts.append(self._arrays[segment].take(numbers[inside] - self._starts[segment]))
                places.append(inside)
                rest[inside] = False
        others = np.flatnonzero(rest)
        if len(others) or not parts:
            parts.append(pa.array([self._later.get(number) for number in numbers[others].tolist()], self._type))
            places.append(others)
        if len(parts) == 1:
            return parts[0]
        return pa.concat_arrays(parts).take(np.argsort(np.concatenate(places), kind="stable"))

    def whole(self, count: int) -> Array:
        """The values of the numbers from 0 to before `count`; the last such array is kept."""
        held = self._arrays[0] if self._starts[:1] == [0] and len(self._arrays[0]) >= count else self._whole
        if held is None or len(held) < count:
            held = self._whole = self.take(np.arange(count, dtype=np.int32))
        return held if len(held) == count else held.slice(0, count)

    def is_empty(self) -> bool:
        return not self._arrays and not self._later

    @property
    def nbytes(self) -> int:
        """The memory beside the texts themselves, and without the values that came one by one."""
        return sum(buffer.size for array in self._arrays for buffer in array.buffers()[:2] if buffer is not None)


class Ids:
    """The number that each id means. An id may be added again with another number, which is then meant."""

    def __init__(self) -> None:
        self._later: dict[str, int] = {}
        self._stored: Texts | None = None
        self._table: Table | None = None
        self._numbers: Int32s = np.zeros(0, np.int32)

    def extend(self, ids: Array, numbers: Int32s) -> None:
        """Adds ids, all different."""
        if self._table is None and not self._later and pays(len(ids)):
            self._stored, self._numbers = _flat(ids), numbers
            self._table = make_table(self._stored)
        else:
            self._later.update(zip(strings(ids), numbers.tolist(), strict=True))

    @classmethod
    def of(cls, ids: Array, numbers: Int32s, table: Table) -> Self:
        """Ids whose hash table was made before, and may be mapped."""
        made = cls()
        made._stored, made._numbers, made._table = _flat(ids), numbers, table
        return made

    @property
    def table(self) -> Table | None:
        """The hash table of those that came first and in bulk."""
        return self._table

    def find(self, id: str) -> int:
        """The number of an id, or -1."""
        number = self._later.get(id, -1)
        if number >= 0 or self._stored is None or self._table is None:
            return number
        place = find_text(0, _utf8(id), self._stored, self._table)
        return int(self._numbers[place]) if place >= 0 else -1

    def find_many(self, ids: Array) -> Int32s:
        """The number of each id, or -1."""
        if self._stored is None or self._table is None:
            get = self._later.get
            return np.array([get(id, -1) for id in strings(ids)], np.int32)
        if len(ids) < 8:
            return np.array([self.find(id) for id in strings(ids)], np.int32)
        places = find_texts(_flat(ids), self._stored, self._table)
        found: Int32s = np.where(places >= 0, self._numbers[places], np.int32(-1))
        if self._later:
            self._override(ids, found)
        return found

    def _override(self, ids: Array, found: Int32s) -> None:
        get = self._later.get
        for row, id in enumerate(strings(ids)):
            if (number := get(id)) is not None:
                found[row] = number

    @property
    def nbytes(self) -> int:
        """The hash table and what it refers to, without the texts."""
        if self._stored is None or self._table is None:
            return 0
        parts = self._stored.heads, self._stored.offsets, self._table.slots, self._table.marks, self._numbers
        return sum(part.nbytes for part in parts)


def strings(ids: Array) -> list[str]:
    """Ids as Python strings; none of them is null."""
    several: Any = ids.to_pylist()
    return several  # type: ignore[no-any-return]


def _utf8(id: str) -> bytes:
    return id.encode("utf-8", "surrogatepass")


def _flat(ids: Array) -> Texts:
    """The ids end to end. Arrow's own bytes are used where they lie."""
    large = ids.cast(pa.large_string())
    buffers: Any = large.buffers()
    _, offsets, data = buffers
    ends = np.frombuffer(memoryview(offsets), np.int64)[large.offset : large.offset + len(large) + 1]
    text = np.frombuffer(memoryview(data), np.uint8) if data is not None else np.zeros(0, np.uint8)
    return Texts(np.zeros(len(large), np.int32), ends, text)


# ----------------------------------------------------------------------------------------------------------------------
# The arrays of an exchange with room to grow.
#
# The law: what one array says about another is valid in every version that holds both. Rows that readers see are
# extended in place, and may lead a reader of an old version to places that came later, which it finds there and
# passes over, because they were born later. So the arrays of a version have their whole capacity in view, and where
# one of them is exchanged for a larger one, all are: those that readers hold are left as they are.
# ----------------------------------------------------------------------------------------------------------------------

ROOM = 3  # the column of `blocks`, known to the writer only, where the places of a block end
BLOCK_COLUMNS = 4
DEGREE = 7  # the column of `nodes`, known to the writer only, that counts the edges that touch a node

MOST_ROWS = np.iinfo(np.int32).max  # of each kind: about 80 GB of nodes, 60 GB of edges
_SLACK = 4  # of a full array one part in so many is added as room: growth costs each element a few copies
_LEAST = 16


@dataclass(slots=True)
class Room:
    """Rows of every kind of array: those in use, or those that there is memory for."""

    nodes: int = 0
    records: int = 0
    edges: int = 0
    entries: int = 0
    blocks: int = 0
    listed: int = 0
    loose: int = 0


_KINDS = tuple(field.name for field in fields(Room))


class Arrays:
    """The arrays and how many rows of each are in use."""

    nodes: Int32s
    records: Int32s
    record_costs: Floats
    edges: Int32s
    sources: Int32s
    edge_costs: Floats
    serials: Int32s  # the order in which edges were added
    entries: Int32s
    blocks: Int32s
    listed: Int32s
    loose: Int32s

    def __init__(self, room: Room | None = None) -> None:
        self.used = Room()
        self.capacity = room or Room()
        for kind in _KINDS:
            setattr(self.capacity, kind, max(_LEAST, getattr(self.capacity, kind)))
        self._graph: Graph | None = None
        self._shared = False
        for name, array in _allocated(self.capacity).items():
            setattr(self, name, array)

    @classmethod
    def of(cls, rows: Mapping[str, Any], used: Room) -> Self:
        """Arrays that are full, and may be mapped: to be made one's `own` before anything is changed."""
        made = cls.__new__(cls)
        made.used, made.capacity, made._graph, made._shared = used, replace(used), None, True
        for name in NAMES:
            setattr(made, name, rows[name])
        return made

    def own(self) -> None:
        """Sees to it that the arrays can be written to."""
        if self._shared:
            self._shared = False
            for kind in _KINDS:
                used = getattr(self.used, kind)
                setattr(self.capacity, kind, used + used // _SLACK + _LEAST)
            self._renew()

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def take(self, kind: str, count: int) -> int:
        """Takes rows of one kind into use and tells where they begin. Numbers of rows are int32."""
        first: int = getattr(self.used, kind)
        if first + count > MOST_ROWS:
            message = f"more than {MOST_ROWS:,} {kind} in one exchange, with those that were removed lately"
            raise SubscriptionError("HG-662", message, fix="divide it among several exchanges")
        if first + count > getattr(self.capacity, kind):
            self._grow(kind, first + count)
        setattr(self.used, kind, first + count)
        return first

    def _grow(self, kind: str, needed: int) -> None:
        setattr(self.capacity, kind, needed + needed // _SLACK + _LEAST)
        self._renew()

    def _renew(self) -> None:
        """Readers may look at single arrays meanwhile, so each is filled before it is shown."""
        for name, array in _allocated(self.capacity).items():
            old = getattr(self, name)
            array[: len(old)] = old
            setattr(self, name, array)
        self._graph = None

    def graph(self, version: int) -> Graph:
        """The arrays for readers of a version."""
        if self._graph is None:
            self._graph = Graph(0, 0, 0, *(_fixed(getattr(self, name)) for name in Graph._fields[3:]))
        return self._graph._replace(version=version, node_count=self.used.nodes, listed_count=self.used.listed)


def _allocated(rows: Room) -> dict[str, Any]:
    """Arrays in which nothing is visible yet."""
    return {
        "nodes": np.zeros((rows.nodes, NODE_COLUMNS), np.int32),
        "records": np.zeros((rows.records, RECORD_COLUMNS), np.int32),
        "record_costs": np.zeros(rows.records),
        "edges": np.full((rows.edges, EDGE_COLUMNS), NEVER_DIED, np.int32),
        "sources": np.zeros(rows.edges, np.int32),
        "edge_costs": np.zeros(rows.edges),
        "serials": np.zeros(rows.edges, np.int32),
        "entries": np.full(rows.entries, -1, np.int32),
        "blocks": np.zeros((rows.blocks, BLOCK_COLUMNS), np.int32),
        "listed": np.zeros(rows.listed, np.int32),
        "loose": np.zeros(rows.loose, np.int32),
    }


def _fixed(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


NAMES = tuple(_allocated(Room()))
"""Of the arrays."""


# ----------------------------------------------------------------------------------------------------------------------
# All that an exchange holds: its arrays, and beside them the ids, texts and labels that kernels do not need.
#
# The law: everything is added and nothing changed, so that every version can be read from the same ledger. A node's
# number, once given, stays with its id; when the node goes, its next record says that it is not there.
# ----------------------------------------------------------------------------------------------------------------------

_REMEMBERED = 1 << 16  # nodes and edges made into objects; forgotten all at once when full


class Ledger:
    """The holdings of one exchange. The one writer adds; readers read."""

    def __init__(
        self, targeting: Targeting, match: str | None, writing: threading.RLock, room: Room | None = None
    ) -> None:
        self.targeting = targeting
        self.writing = writing  # held by whoever adds to the ledger or to its targeting
        self.match = match  # how nodes' labels are compared in place of their targeting
        # The expression of a node without targeting and labels.
        self.plain = ALWAYS if match is None else targeting.add_labels(NO_LABELS, match)
        self.arrays = Arrays(room)
        self.size = 0  # nodes that are there
        self.edge_count = 0  # edges that are there
        self.next_serial = 0
        self.settled = 0  # nodes and edges that came with the ledger
        self.wear = 0  # what is dead, lies apart or leads down because of changes: see `settling`
        self.history: deque[tuple[int, Int32s, Int32s]] = deque()  # versions, nodes, and their records from then on
        self.ids, self.names = Ids(), Column(pa.string())  # of nodes
        self.texts, self.labels = Column(pa.string()), Column(LABELS_TYPE)  # by record
        self.refused: dict[int, str] = {}  # by record
        self.edge_ids = Ids()
        self.edge_names, self.edge_texts = Column(pa.string()), Column(pa.string())  # by serial
        self._nodes: dict[int, Node] = {}
        self._edges: dict[int, Edge] = {}

    def node(self, number: int, record: int) -> Node:
        """A node as one of its records has it."""
        known = self._nodes.get(record)
        return self._remember(self._nodes, record, self._node(number, record)) if known is None else known

    def edge(self, number: int) -> Edge:
        known = self._edges.get(number)
        return self._remember(self._edges, number, self._edge(number)) if known is None else known

    def _remember(self, memo: dict[int, Any], key: int, made: Any) -> Any:
        """The object that is known by this key, so that all who ask at the same time get the same one."""
        if len(memo) >= _REMEMBERED:
            memo.clear()
        return memo.setdefault(key, made)

    def _node(self, number: int, record: int) -> Node:
        id = self.names.get(number)
        if record in self.refused:
            return replace(refused_node(id, self.refused[record]), number=number)
        text, labels = self.texts.get(record), self.labels.get(record)
        listed = bool(self.arrays.records[record, FLAGS] & LISTED_NODE)
        cost = float(self.arrays.record_costs[record])
        return Node(id, form_of(text), text, cost, frozenset(labels) if labels else NO_LABELS, None, listed, number)

    def _edge(self, number: int) -> Edge:
        arrays = self.arrays
        source, target = (self.names.get(int(end)) for end in (arrays.sources[number], arrays.edges[number, TARGET]))
        serial = int(arrays.serials[number])
        text, cost = self.edge_texts.get(serial), float(arrays.edge_costs[number])
        return Edge(source, target, self.edge_names.get(serial), form_of(text), text, cost, number)

    def close(self, expressions: list[int]) -> None:
        """Whatever has one of these expressions accepts nothing from now on, in every version."""
        records, edges = self.arrays.records, self.arrays.edges
        records[np.isin(records[:, EXPRESSION], expressions), EXPRESSION] = NEVER
        edges[np.isin(edges[:, EDGE_EXPRESSION], expressions), EDGE_EXPRESSION] = NEVER

    def relink(self, oldest: int) -> None:
        """Lets nodes begin with the record that the oldest version in use sees: earlier ones are out of use."""
        while self.history and self.history[0][0] <= oldest:
            _, numbers, records = self.history.popleft()
            self.arrays.nodes[numbers, RECORD] = records

    @property
    def nbytes(self) -> int:
        """The memory of everything but the texts and what came one by one."""
        columns = (self.names, self.texts, self.labels, self.edge_names, self.edge_texts)
        return self.arrays.nbytes + self.ids.nbytes + self.edge_ids.nbytes + sum(column.nbytes for column in columns)


@lru_cache(_REMEMBERED)
def form_of(text: str | None) -> Predicate:
    """The form of a targeting that was read before."""
    return parse_predicate(text)


def newest(arrays: Arrays, numbers: Int32s) -> Int32s:
    """The last record of each node."""
    records: Int32s = arrays.nodes[numbers, RECORD]
    while True:
        old = np.flatnonzero(arrays.records[records, DIED] != NEVER_DIED)
        if not len(old):
            return records
        records[old] = arrays.records[records[old], NEWER]


# ----------------------------------------------------------------------------------------------------------------------
# One version of an exchange, as its readers see it: arrays for kernels, nodes and edges as objects for the rest.
#
# The laws: a version never changes, whatever the writer does meanwhile, as long as it is read within
# `Exchange.reading`; the edges of a node come in the order of adding; nodes are reported in the order of
# `node_numbers`.
# ----------------------------------------------------------------------------------------------------------------------


class Version:
    """What there was at one moment. `graph` and `programs` are for kernels; ids are shared between versions."""

    def __init__(self, ledger: Ledger, graph: Graph, programs: Programs, size: int) -> None:
        self.ledger = ledger
        self.graph = graph
        self.programs = programs
        self.size = size
        self.loose_count = ledger.arrays.used.loose

    @property
    def targeting(self) -> Targeting:
        return self.ledger.targeting

    @property
    def match(self) -> str | None:
        return self.ledger.match

    @property
    def place_count(self) -> int:
        """The places of listed nodes and of the others in the order of reporting."""
        return self.graph.listed_count + self.loose_count

    def __len__(self) -> int:
        """How many nodes there are."""
        return self.size

    # --- nodes --------------------------------------------------------------------------------------------------

    def number(self, id: str) -> int:
        """The number of a node, or -1."""
        number = self.ledger.ids.find(id)
        return number if number < self.graph.node_count and number >= 0 and self._flags(number) & PRESENT else -1

    def numbers(self, ids: Array) -> Int32s:
        """The number of the node with each id, or -1."""
        numbers = self.ledger.ids.find_many(ids)
        known = np.flatnonzero((numbers >= 0) & (numbers < self.graph.node_count))
        flags = self.graph.records[self.records_of(numbers[known]), FLAGS]
        found = np.full(len(numbers), -1, np.int32)
        found[known[flags & PRESENT != 0]] = numbers[known[flags & PRESENT != 0]]
        return found

    def name(self, number: int) -> str:
        """The id of a node by its number."""
        id: str = self.ledger.names.get(number)
        return id

    def names(self, numbers: Int32s) -> Array:
        """The ids of nodes by their numbers."""
        return self.ledger.names.take(numbers)

    @property
    def ids(self) -> Array:
        """The ids of all nodes by number, of those too that are not there any more."""
        return self.ledger.names.whole(self.graph.node_count)

    def node(self, number: int) -> Node:
        return self.ledger.node(number, self._record(number))

    def node_numbers(self) -> Int32s:
        """The nodes in the order of reporting: the listed ones in order of subscribing, then the others."""
        graph = self.graph
        listed = self._at_places(graph.listed[: graph.listed_count], LISTED_NODE)
        return np.concatenate((listed, self._at_places(graph.loose[: self.loose_count], 0)))

    def listed_size(self) -> int:
        """How many of the nodes are listed."""
        return len(self._at_places(self.graph.listed[: self.graph.listed_count], LISTED_NODE))

    def rank(self, number: int) -> tuple[bool, int]:
        """Sorts nodes into the order of reporting."""
        record = self.graph.records[self._record(number)]
        return not record[FLAGS] & LISTED_NODE, int(record[PLACE])

    def records_of(self, numbers: Int32s) -> Int32s:
        """The record of each node in this version."""
        records, version = self.graph.records, self.graph.version
        found: Int32s = self.graph.nodes[numbers, RECORD]
        while True:
            old = np.flatnonzero(records[found, DIED] <= version)
            if not len(old):
                return found
            found[old] = records[found[old], NEWER]

    def _record(self, number: int) -> int:
        records, version = self.graph.records, self.graph.version
        record = int(self.graph.nodes[number, RECORD])
        while records[record, DIED] <= version:
            record = int(records[record, NEWER])
        return record

    def _flags(self, number: int) -> int:
        return int(self.graph.records[self._record(number), FLAGS])

    def _at_places(self, nodes: Int32s, listed: int) -> Int32s:
        """Of the nodes that stood at places, those that still do."""
        records = self.graph.records[self.records_of(nodes)]
        here = (records[:, FLAGS] & (PRESENT | LISTED_NODE)) == PRESENT | listed
        found: Int32s = nodes[here & (records[:, PLACE] == np.arange(len(nodes)))]
        return found

    # --- edges --------------------------------------------------------------------------------------------------

    def out(self, number: int) -> list[Edge]:
        """The edges that leave a node."""
        return [self.ledger.edge(edge) for edge in self.out_numbers(number)]

    def into(self, number: int) -> list[Edge]:
        """The edges that lead to a node."""
        return [self.ledger.edge(edge) for edge in self.into_numbers(number)]

    def between(self, source: int, target: int) -> list[Edge]:
        """The parallel edges from one node to another."""
        return [self.ledger.edge(edge) for edge in self.between_numbers(source, target)]

    def between_numbers(self, source: int, target: int) -> list[int]:
        edges = self.graph.edges
        return [edge for edge in self.out_numbers(source) if edges[edge, TARGET] == target] if target >= 0 else []

    def edge(self, number: int) -> Edge:
        return self.ledger.edge(number)

    def edges(self) -> Iterator[Edge]:
        """Every edge, in the order of adding."""
        return (self.ledger.edge(int(number)) for number in self.edge_numbers())

    def edge_numbers(self) -> Int32s:
        """The numbers of the edges that there are, in the order of adding."""
        seen = visible(self.graph)
        found: Int32s = seen[np.argsort(self.ledger.arrays.serials[seen], kind="stable")]
        return found

    def out_numbers(self, number: int) -> list[int]:
        if number < 0:
            return []
        graph, version = self.graph, self.graph.version
        found: list[int] = []
        for first, last in _ranges(graph, number, (OUT_BEGIN, OUT_END, OUT_MORE)):
            rows = graph.edges[first:last].tolist()
            found += [edge for edge, row in enumerate(rows, first) if row[BORN] <= version < row[EDGE_DIED]]
        return found

    def into_numbers(self, number: int) -> list[int]:
        if number < 0:
            return []
        graph = self.graph
        spans = _ranges(graph, number, (IN_BEGIN, IN_END, IN_MORE))
        entries = [edge for first, last in spans for edge in graph.entries[first:last].tolist() if edge >= 0]
        return [edge for edge in entries if self._is_visible(edge)]

    def _is_visible(self, edge: int) -> bool:
        row = self.graph.edges[edge]
        return bool(row[BORN] <= self.graph.version < row[EDGE_DIED])

    # --- copies -------------------------------------------------------------------------------------------------

    def copy(self) -> Exchange:
        """An independent exchange that begins as this version."""
        from heliograph.route.exchange import Exchange

        return Exchange.of_version(self)


def visible(graph: Graph) -> Int32s:
    """The numbers of the edges that a version sees, ascending."""
    edges = graph.edges
    seen: Any = np.flatnonzero((edges[:, BORN] <= graph.version) & (graph.version < edges[:, EDGE_DIED]))
    return seen.astype(np.int32)  # type: ignore[no-any-return]


def _ranges(graph: Graph, number: int, columns: tuple[int, int, int]) -> Iterator[tuple[int, int]]:
    """Where the edges, or the entries, of a node lie."""
    first, last, more = (int(graph.nodes[number, column]) for column in columns)
    yield first, last
    while more >= 0:
        first, last, more = (int(graph.blocks[more, column]) for column in (BEGIN, END, MORE))
        yield first, last


# ----------------------------------------------------------------------------------------------------------------------
# The strongly connected components of an exchange, and the order in which its nodes are numbered.
#
# The law: every edge leads to a higher number, except inside a component, whose nodes are consecutive. The kernel
# does it for large exchanges, the plain twin here for small ones; both give the same order.
# ----------------------------------------------------------------------------------------------------------------------


class Numbering(NamedTuple):
    components: Int32s  # of each node, in topological order
    order: Int32s  # the nodes in theirs


def number_nodes(count: int, sources: Int32s, targets: Int32s) -> Numbering:
    """The components and the order of so many nodes with these edges."""
    offsets, ends = rows_by(sources, targets, count)
    roots = np.argsort(np.bincount(targets, minlength=count) > 0, kind="stable").astype(np.int32)
    if not pays(count):
        return _number(offsets.tolist(), ends.tolist(), roots.tolist())
    from heliograph.route import kernels as numbering

    found = Numbering(np.empty(count, np.int32), np.empty(count, np.int32))
    for array in (offsets, ends, roots):
        array.flags.writeable = False
    numbering.number_nodes(offsets, ends, roots, found.components, found.order)
    return found


def strong_components(graph: Graph) -> Int32s:
    """The component of each node of a version, numbered in topological order."""
    edges = visible(graph)
    return number_nodes(graph.node_count, graph.sources[edges], graph.edges[edges, TARGET]).components


def rows_by(keys: Int32s, values: Int32s, count: int) -> tuple[Int64s, Int32s]:
    """The values of each key end to end, in their order, and where those of each key begin."""
    offsets = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=count), out=offsets[1:])
    return offsets, values[np.argsort(keys, kind="stable")]


def _number(offsets: list[int], targets: list[int], roots: list[int]) -> Numbering:
    search = _Search(offsets, targets)
    for root in roots:
        if search.index[root] < 0:
            search.walk(root)
    components = [search.total - 1 - number for number in search.components]
    return Numbering(np.array(components, np.int32), np.array(_lay_out(search, components), np.int32))


class _Search:
    """Tarjan's algorithm with a stack of its own; `finished` has the first node met of a component as its last."""

    def __init__(self, offsets: list[int], targets: list[int]) -> None:
        count = len(offsets) - 1
        self.offsets, self.targets = offsets, targets
        self.index, self.low, self.components = [-1] * count, [0] * count, [-1] * count
        self.finished: list[int] = []
        self.total = 0
        self._met = 0
        self._open: list[int] = []

    def walk(self, root: int) -> None:
        """Finishes all that can be reached from a node."""
        path = [(root, self._meet(root))]
        while path:
            node, cursor = path.pop()
            while cursor < self.offsets[node + 1]:
                target = self.targets[cursor]
                cursor += 1
                if self.index[target] < 0:
                    path.append((node, cursor - 1))  # the edge is looked at again, when its target is finished
                    path.append((target, self._meet(target)))
                    break
                if self.components[target] < 0:
                    self.low[node] = min(self.low[node], self.low[target])
            else:
                self._close(node)

    def _meet(self, node: int) -> int:
        self.index[node] = self.low[node] = self._met
        self._met += 1
        self._open.append(node)
        return self.offsets[node]

    def _close(self, node: int) -> None:
        if self.low[node] < self.index[node]:
            return
        member = -1
        while member != node:
            member = self._open.pop()
            self.components[member] = self.total
            self.finished.append(member)
        self.total += 1


def _lay_out(search: _Search, components: list[int]) -> list[int]:
    """From the last component finished to the first, each from its first node by breadth."""
    seen = [False] * len(components)
    order: list[int] = []
    for start in reversed(search.finished):
        if seen[start]:
            continue
        seen[start] = True
        head = len(order)
        order.append(start)
        while head < len(order):
            node = order[head]
            head += 1
            for target in search.targets[search.offsets[node] : search.offsets[node + 1]]:
                if components[target] == components[node] and not seen[target]:
                    seen[target] = True
                    order.append(target)
    return order
