"""The exchange: nodes and directed edges with their targeting, changed by one writer while many read, and compacted.

The laws: adding replaces, a node by its id, an edge by its edge_id or, without one, by its two ends (edges of one call
that share both ends and have no id are alternatives and all stay); an end of an edge that is no listed node is a node
without targeting, and vanishes with its last edge; a node whose row was refused accepts nothing until a good row comes,
because taking it for a node without targeting would deliver what its owner may have forbidden.

`ExchangeArrays` holds everything, `Version` is what a reader sees of it, `Exchange` lets one writer make versions. A
change costs what it touches, not what the exchange holds. Readers hold a version and no lock: see `layout`. What
changes leave behind is cleared away by `Compaction`, in the background.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from heliograph.errors import SubscriptionError
from heliograph.io.coerce import Array
from heliograph.predicate.compile import Targeting
from heliograph.predicate.form import Predicate
from heliograph.predicate.layout import ALWAYS, NEVER, Floats, Int32s, Int64s, Programs
from heliograph.predicate.parser import parse_predicate
from heliograph.route.layout import (
    BEGIN,
    BORN,
    COMPONENT_END,
    DEGREE,
    DIED,
    EDGE_DIED,
    EDGE_EXPRESSION,
    END,
    EXCHANGE,
    EXPRESSION,
    FLAGS,
    IN_BEGIN,
    IN_END,
    IN_MORE,
    LISTED_NODE,
    MORE,
    NEVER_DIED,
    NEWER,
    OUT_BEGIN,
    OUT_END,
    OUT_MORE,
    PLACE,
    PRESENT,
    RECORD,
    REFUSED,
    ROOM,
    TARGET,
    ExchangeGraph,
)
from heliograph.route.numbering import Ids, NumberedValues, inverse, number_nodes, strings
from heliograph.route.read import (
    LABELS_TYPE,
    NO_LABELS,
    Edge,
    EdgeRows,
    Expressions,
    Node,
    NodeRows,
    edge_expressions,
    label_expressions,
    node_expressions,
    refused_node,
    some,
    text_expressions,
)

# --- the arrays -------------------------------------------------------------------------------------------------------
#
# The laws: everything is added and nothing changed, so that every version can be read from the same arrays. A node's
# number, once given, stays with its id; when the node goes, its next record says that it is not there. What one array
# says about another is valid in every version that holds both. Rows that readers see are extended in place, and may
# lead a reader of an old version to places that came later, which it finds there and passes over, because they were
# born later. So the arrays of a version have their whole capacity in view, and where one of them is exchanged for a
# larger one, all are: those that readers hold are left as they are.

KINDS = tuple(dict.fromkeys(stored.rows for stored in EXCHANGE.values()))  # of rows
MOST_ROWS = np.iinfo(np.int32).max  # of each kind: about 80 GB of nodes, 60 GB of edges
_SLACK = 4  # of a full array one part in so many is added as room: growth costs each element a few copies
_LEAST = 16
_REMEMBERED = 1 << 16  # nodes and edges made into objects; forgotten all at once when full


class ExchangeArrays:
    """All that an exchange holds: arrays, and beside them the ids, texts and labels that kernels do not need."""

    nodes: Int32s
    records: Int32s
    record_costs: Floats
    edges: Int32s
    sources: Int32s
    edge_costs: Floats
    serials: Int32s
    entries: Int32s
    blocks: Int32s
    listed: Int32s
    loose: Int32s

    def __init__(
        self, targeting: Targeting, match: str | None, writing: threading.RLock, room: Mapping[str, int] | None = None
    ) -> None:
        self.targeting = targeting
        self.writing = writing  # held by whoever adds to the arrays or to their targeting
        self.match = match  # how nodes' labels are compared in place of their targeting
        # The expression of a node without targeting and labels.
        self.plain = ALWAYS if match is None else targeting.add_labels(NO_LABELS, match)
        self.size = 0  # nodes that are there
        self.edge_count = 0  # edges that are there
        self.next_serial = 0
        self.compacted = 0  # nodes and edges that were there at the beginning
        self.wear = 0  # what is dead, lies apart or leads down because of changes: see `Compaction`
        self.history: deque[tuple[int, Int32s, Int32s]] = deque()  # versions, nodes, and their records from then on
        self.ids, self.names = Ids(), NumberedValues(pa.string())  # of nodes
        self.texts, self.labels = NumberedValues(pa.string()), NumberedValues(LABELS_TYPE)  # by record
        self.refused: dict[int, str] = {}  # by record
        self.edge_ids = Ids()
        self.edge_names, self.edge_texts = NumberedValues(pa.string()), NumberedValues(pa.string())  # by serial
        self.used = dict.fromkeys(KINDS, 0)  # rows of each kind
        self.capacity = {kind: max(_LEAST, (room or {}).get(kind, 0)) for kind in KINDS}
        self._mapped = False
        self._graph: ExchangeGraph | None = None
        self._known_nodes: dict[int, Node] = {}
        self._known_edges: dict[int, Edge] = {}
        self._allocate()

    def map(self, arrays: Mapping[str, Any]) -> None:
        """Takes arrays that are full, and may be mapped: they are copied before anything is changed."""
        for name, stored in EXCHANGE.items():
            setattr(self, name, arrays[name])
            self.used[stored.rows] = self.capacity[stored.rows] = len(arrays[name])
        self._mapped, self._graph = True, None

    def own(self) -> None:
        """Sees to it that the arrays can be written to."""
        if self._mapped:
            self._mapped = False
            self.capacity = {kind: used + used // _SLACK + _LEAST for kind, used in self.used.items()}
            self._allocate()

    def take(self, kind: str, count: int) -> int:
        """Takes rows of one kind into use and returns where they begin. Numbers of rows are int32."""
        first, end = self.used[kind], self.used[kind] + count
        if end > MOST_ROWS:
            message = f"more than {MOST_ROWS:,} {kind} in one exchange, with those that were removed lately"
            raise SubscriptionError("HG-662", message, fix="divide it among several exchanges")
        if end > self.capacity[kind]:
            self.capacity[kind] = end + end // _SLACK + _LEAST
            self._allocate()
        self.used[kind] = end
        return first

    def _allocate(self) -> None:
        """Arrays of the capacity. Readers may look at single ones meanwhile, so each is filled before it is shown."""
        for name, (kind, columns, dtype, free) in EXCHANGE.items():
            shape = (self.capacity[kind], columns) if columns else self.capacity[kind]
            array: Any = np.full(shape, free, dtype) if free else np.zeros(shape, dtype)
            if (old := getattr(self, name, None)) is not None:
                array[: len(old)] = old
            setattr(self, name, array)
        self._graph = None

    def graph(self, version: int) -> ExchangeGraph:
        """The arrays for readers of a version."""
        if self._graph is None:
            views = [getattr(self, name).view() for name in ExchangeGraph._fields[3:]]
            for view in views:
                view.flags.writeable = False
            self._graph = ExchangeGraph(0, 0, 0, *views)
        return self._graph._replace(version=version, node_count=self.used["nodes"], listed_count=self.used["listed"])

    def node(self, number: int, record: int) -> Node:
        """A node as one of its records has it. Whoever asks at the same time gets the same object."""
        if (known := self._known_nodes.get(record)) is not None:
            return known
        id = self.names.get(number)
        if record in self.refused:
            made = replace(refused_node(id, self.refused[record]), number=number)
        else:
            text, labels = self.texts.get(record), self.labels.get(record)
            listed, cost = bool(self.records[record, FLAGS] & LISTED_NODE), float(self.record_costs[record])
            made = Node(id, form_of(text), text, cost, frozenset(labels or ()), None, listed, number)
        if len(self._known_nodes) >= _REMEMBERED:
            self._known_nodes.clear()
        return self._known_nodes.setdefault(record, made)

    def edge(self, number: int) -> Edge:
        """An edge by its number; likewise."""
        if (known := self._known_edges.get(number)) is not None:
            return known
        source, target = (self.names.get(int(end)) for end in (self.sources[number], self.edges[number, TARGET]))
        serial = int(self.serials[number])
        text, cost = self.edge_texts.get(serial), float(self.edge_costs[number])
        if len(self._known_edges) >= _REMEMBERED:
            self._known_edges.clear()
        made = Edge(source, target, self.edge_names.get(serial), form_of(text), text, cost, number)
        return self._known_edges.setdefault(number, made)

    def close(self, expressions: list[int]) -> None:
        """Whatever has one of these expressions accepts nothing from now on, in every version."""
        self.records[np.isin(self.records[:, EXPRESSION], expressions), EXPRESSION] = NEVER
        self.edges[np.isin(self.edges[:, EDGE_EXPRESSION], expressions), EDGE_EXPRESSION] = NEVER

    def relink(self, oldest: int) -> None:
        """Lets nodes begin with the record that the oldest version in use sees: earlier ones are out of use."""
        while self.history and self.history[0][0] <= oldest:
            _, numbers, records = self.history.popleft()
            self.nodes[numbers, RECORD] = records

    @property
    def nbytes(self) -> int:
        """The memory of everything but the texts and what came one by one."""
        others = (self.ids, self.edge_ids, self.names, self.texts, self.labels, self.edge_names, self.edge_texts)
        arrays: list[int] = [getattr(self, name).nbytes for name in EXCHANGE]
        return sum(arrays) + sum(part.nbytes for part in others)


@lru_cache(_REMEMBERED)
def form_of(text: str | None) -> Predicate:
    """The form of a targeting that was read before."""
    return parse_predicate(text)


# --- one version ------------------------------------------------------------------------------------------------------


class Version:
    """What there was at one moment, as its readers see it: arrays for kernels, objects for the rest.

    The laws: a version never changes, whatever the writer does meanwhile, as long as it is read within
    `Exchange.reading`; the edges of a node come in the order of adding; nodes are reported in the order of
    `node_numbers`.
    """

    def __init__(self, arrays: ExchangeArrays, graph: ExchangeGraph, programs: Programs) -> None:
        self.arrays = arrays
        self.graph = graph
        self.programs = programs
        self.targeting = arrays.targeting
        self.match = arrays.match
        self.size = arrays.size
        self.loose_count = arrays.used["loose"]
        self.place_count = graph.listed_count + self.loose_count  # in the order of reporting

    def __len__(self) -> int:
        """How many nodes there are."""
        return self.size

    # --- nodes --------------------------------------------------------------------------------------------------

    def number(self, id: str) -> int:
        """The number of a node, or -1."""
        number, graph = self.arrays.ids.find(id), self.graph
        if not 0 <= number < graph.node_count:
            return -1
        record = graph.nodes[number, RECORD]
        while graph.records[record, DIED] <= graph.version:
            record = graph.records[record, NEWER]
        return number if graph.records[record, FLAGS] & PRESENT else -1

    def numbers(self, ids: Array) -> Int32s:
        """The number of the node with each id, or -1."""
        numbers = self.arrays.ids.find_many(ids)
        known = np.flatnonzero((numbers >= 0) & (numbers < self.graph.node_count))
        known = known[self.graph.records[self.records_of(numbers[known]), FLAGS] & PRESENT != 0]
        found = np.full(len(numbers), -1, np.int32)
        found[known] = numbers[known]
        return found

    def name(self, number: int) -> str:
        """The id of a node by its number."""
        id: str = self.arrays.names.get(number)
        return id

    def names(self, numbers: Int32s) -> Array:
        """The ids of nodes by their numbers."""
        return self.arrays.names.take(numbers)

    @property
    def ids(self) -> Array:
        """The ids of all nodes by number, of those too that are not there any more."""
        return self.arrays.names.whole(self.graph.node_count)

    def node(self, number: int) -> Node:
        return self.arrays.node(number, self._record(number))

    def node_numbers(self) -> Int32s:
        """The nodes in the order of reporting: the listed ones in order of subscribing, then the others."""
        return np.concatenate((self.listed_numbers(), self._at_places(self.graph.loose[: self.loose_count], 0)))

    def listed_numbers(self) -> Int32s:
        """The listed nodes in order of subscribing."""
        return self._at_places(self.graph.listed[: self.graph.listed_count], LISTED_NODE)

    def _at_places(self, nodes: Int32s, listed: int) -> Int32s:
        """Of the nodes that stood at places, those that still do."""
        records = self.graph.records[self.records_of(nodes)]
        here = (records[:, FLAGS] & (PRESENT | LISTED_NODE)) == PRESENT | listed
        found: Int32s = nodes[here & (records[:, PLACE] == np.arange(len(nodes)))]
        return found

    def places_of(self, numbers: Int32s) -> Int64s:
        """Where nodes stand in the order of reporting."""
        records = self.graph.records[self.records_of(numbers)]
        loose = records[:, FLAGS] & LISTED_NODE == 0
        places: Int64s = records[:, PLACE] + loose * np.int64(self.graph.listed_count)
        return places

    def expression_of(self, number: int) -> int:
        """The expression of one node in this version."""
        return int(self.graph.records[self._record(number), EXPRESSION])

    def records_of(self, numbers: Int32s) -> Int32s:
        """The record of each node in this version."""
        records, version = self.graph.records, self.graph.version
        found: Int32s = self.graph.nodes[numbers, RECORD]
        while len(old := np.flatnonzero(records[found, DIED] <= version)):
            found[old] = records[found[old], NEWER]
        return found

    def _record(self, number: int) -> int:
        records, version = self.graph.records, self.graph.version
        record: int = self.graph.nodes[number, RECORD]
        while records[record, DIED] <= version:
            record = records[record, NEWER]
        return int(record)

    # --- edges --------------------------------------------------------------------------------------------------

    def edge(self, number: int) -> Edge:
        return self.arrays.edge(number)

    def edges(self) -> Iterator[Edge]:
        """Every edge, in the order of adding."""
        return map(self.arrays.edge, self.edge_numbers().tolist())

    def edge_numbers(self) -> Int32s:
        """The numbers of the edges that there are, in the order of adding."""
        seen = visible(self.graph)
        found: Int32s = seen[np.argsort(self.arrays.serials[seen], kind="stable")]
        return found

    def out_numbers(self, number: int) -> list[int]:
        """The edges that leave a node; none of -1."""
        graph, version = self.graph, self.graph.version
        found: list[int] = []
        for first, last in _spans(graph.nodes, graph.blocks, number, OUT_BEGIN):
            rows = graph.edges[first:last].tolist()
            found += [edge for edge, row in enumerate(rows, first) if row[BORN] <= version < row[EDGE_DIED]]
        return found

    def between_numbers(self, source: int, target: int) -> list[int]:
        """The parallel edges from one node to another."""
        edges = self.graph.edges
        return [edge for edge in self.out_numbers(source) if edges[edge, TARGET] == target] if target >= 0 else []


def visible(graph: ExchangeGraph) -> Int32s:
    """The numbers of the edges that a version sees, ascending."""
    edges = graph.edges
    seen: Any = np.flatnonzero((edges[:, BORN] <= graph.version) & (graph.version < edges[:, EDGE_DIED]))
    return seen.astype(np.int32)  # type: ignore[no-any-return]


def strong_components(graph: ExchangeGraph) -> Int32s:
    """The component of each node of a version, numbered in topological order."""
    edges = visible(graph)
    return number_nodes(graph.node_count, graph.sources[edges], graph.edges[edges, TARGET]).components


def _spans(nodes: Any, blocks: Any, number: int, begin: int) -> Iterator[tuple[int, int]]:
    """Where the edges of a node lie, or its entries: `begin` is the first of three columns that lead to them."""
    if number >= 0:
        first, last, more = nodes[number, begin : begin + 3].tolist()
        yield first, last
        while more >= 0:
            first, last, more = blocks[more, BEGIN : MORE + 1].tolist()
            yield first, last


# --- blocks: where the edges that a node gets later lie, and the entries that say which edges lead to it --------------
#
# The laws: a node's edges lie in the order of adding, first those from its beginning to its end, then those of its
# blocks; a block is at least twice as large as the one before, so a node of degree d has about log d of them. New
# places are reserved first, filled in, and only then attached: nobody comes upon them before.

_BULK = 1024  # places that are reserved together without room to grow: they are compacted soon


def _reserve(arrays: ExchangeArrays, nodes: Int32s, begin: int) -> tuple[Int64s, Callable[[], None]]:
    """A place for each row behind what its node has, in the order of rows; and what shows the places once filled in.

    `begin` says whether they are for edges (OUT_BEGIN) or for entries (IN_BEGIN).
    """
    if len(nodes) == 1:
        several, rows, counts, ranks = nodes, np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros(1, np.int64)
    else:
        several, rows, counts = np.unique(nodes, return_inverse=True, return_counts=True)
        order = np.argsort(rows, kind="stable")
        ranks = np.empty(len(rows), np.int64)
        ranks[order] = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    tails: Int32s = arrays.nodes[several, begin + 2]  # the last block of each node, or -1
    while ((following := np.where(tails >= 0, arrays.blocks[tails, MORE], np.int32(-1))) >= 0).any():
        tails = np.where(following >= 0, following, tails)
    last = arrays.blocks[tails]  # where there is none, another one that is not looked at
    spare = np.where(tails >= 0, last[:, ROOM] - last[:, END], 0)
    doubled = 0 if len(nodes) >= _BULK else np.where(tails >= 0, 2 * (last[:, ROOM] - last[:, BEGIN]), counts + 1)
    sizes = np.where(spare >= counts, 0, np.maximum(counts, doubled))
    fresh = arrays.take("edges" if begin == OUT_BEGIN else "entries", int(sizes.sum())) + np.cumsum(sizes) - sizes
    begins = np.where(spare >= counts, last[:, END], fresh)

    def attach() -> None:
        new, old = np.flatnonzero(spare < counts), np.flatnonzero(spare >= counts)
        first = arrays.take("blocks", len(new))
        blocks = np.arange(first, first + len(new), dtype=np.int32)
        ends, before = begins[new] + counts[new], tails[new]
        columns = (begins[new], ends, np.full(len(new), -1), begins[new] + sizes[new])  # BEGIN, END, MORE, ROOM
        arrays.blocks[blocks] = np.stack(columns, axis=1)
        arrays.blocks[before[before >= 0], MORE] = blocks[before >= 0]
        arrays.nodes[several[new][before < 0], begin + 2] = blocks[before < 0]
        arrays.blocks[tails[old], END] = begins[old] + counts[old]

    return begins[rows] + ranks, attach


# --- changes of nodes -------------------------------------------------------------------------------------------------
#
# Each gives nodes new records, which hold from version `now` on. The laws: adding replaces a node by its id and keeps
# its place in the order, unless a listed row takes over from the end of an edge or the other way round; a refused row
# never replaces a good one; a node that goes leaves a record that says so. Readers of earlier versions go on finding
# the record of their time.


def _put_nodes(arrays: ExchangeArrays, rows: NodeRows, expressions: Int32s, now: int) -> None:
    """Adds nodes, all with different ids, or replaces those of the same id."""
    numbers = _with_numbers(arrays, rows.ids, arrays.ids.find_many(rows.ids))
    flags = np.full(len(rows), PRESENT | LISTED_NODE if rows.listed else PRESENT, np.int32)
    flags[list(rows.refused)] = PRESENT | REFUSED
    kind = PRESENT | LISTED_NODE
    before = _last_records(arrays, numbers)
    kept = np.flatnonzero(~((before[:, FLAGS] & kind == kind) & (flags & REFUSED != 0)))
    numbers, flags, before = numbers[kept], flags[kept], before[kept]
    table = np.zeros_like(before)
    table[:, EXPRESSION], table[:, FLAGS], table[:, PLACE] = expressions[kept], flags, before[:, PLACE]
    moved = before[:, FLAGS] & kind != flags & kind
    for listed in (True, False):
        chosen = np.flatnonzero(moved & ((flags & LISTED_NODE != 0) == listed))
        if len(chosen):
            table[chosen, PLACE] = _new_places(arrays, numbers[chosen], listed)
    first = _link(arrays, numbers, table, now)
    every = len(kept) == len(rows)
    for column, values in ((arrays.texts, rows.texts), (arrays.labels, rows.labels)):
        column.extend(first, values if every or values is None else values.take(kept))
    arrays.record_costs[first : first + len(kept)] = rows.costs[kept]
    if rows.refused:
        codes = ((record, rows.refused.get(row)) for record, row in enumerate(kept.tolist(), first))
        arrays.refused.update((record, code) for record, code in codes if code)
    arrays.size += int(np.count_nonzero(before[:, FLAGS] & PRESENT == 0))


def _put_ends(arrays: ExchangeArrays, ids: Array, numbers: Int32s, now: int) -> Int32s:
    """The numbers of the ends of edges; those that are not there come as nodes without targeting."""
    numbers = _with_numbers(arrays, ids, numbers)
    lacking = numbers[_last_records(arrays, numbers)[:, FLAGS] & PRESENT == 0]
    if len(lacking):
        table = np.zeros((len(lacking), arrays.records.shape[1]), np.int32)
        table[:, EXPRESSION], table[:, FLAGS] = arrays.plain, PRESENT
        table[:, PLACE] = _new_places(arrays, lacking, listed=False)
        _link(arrays, lacking, table, now)
        arrays.size += len(lacking)
    return numbers


def _forget_nodes(arrays: ExchangeArrays, numbers: Int32s, now: int) -> None:
    """Removes nodes that no edge touches any more."""
    there = numbers[_last_records(arrays, numbers)[:, FLAGS] & PRESENT != 0]
    table = np.zeros((len(there), arrays.records.shape[1]), np.int32)
    table[:, EXPRESSION] = NEVER
    _link(arrays, there, table, now)
    arrays.size -= len(there)
    arrays.wear += len(there)


def _with_numbers(arrays: ExchangeArrays, ids: Array, numbers: Int32s) -> Int32s:
    """The numbers of ids, with new ones for those that had none."""
    fresh = np.flatnonzero(numbers < 0)
    if not len(fresh):
        return numbers
    new = ids if len(fresh) == len(ids) else ids.take(fresh)
    first = arrays.take("nodes", len(new))
    given = np.arange(first, first + len(new), dtype=np.int32)
    arrays.nodes[first : first + len(new)] = 0
    arrays.nodes[first : first + len(new), [RECORD, OUT_MORE, IN_MORE]] = -1
    arrays.names.extend(first, new)
    arrays.ids.extend(new, given)
    arrays.wear += len(new) if first else 0
    numbers = numbers.copy()
    numbers[fresh] = given
    return numbers


def _last_records(arrays: ExchangeArrays, numbers: Int32s) -> Int32s:
    """A copy of each node's last record; all zero where it has none."""
    found: Int32s = np.zeros((len(numbers), arrays.records.shape[1]), np.int32)
    known = np.flatnonzero(arrays.nodes[numbers, RECORD] >= 0)
    found[known] = arrays.records[_newest(arrays, numbers[known])]
    return found


def _newest(arrays: ExchangeArrays, numbers: Int32s) -> Int32s:
    """The number of the last record of each node."""
    records: Int32s = arrays.nodes[numbers, RECORD]
    while len(old := np.flatnonzero(arrays.records[records, DIED] != NEVER_DIED)):
        records[old] = arrays.records[records[old], NEWER]
    return records


def _new_places(arrays: ExchangeArrays, numbers: Int32s, listed: bool) -> Int32s:
    """Places in the order of reporting, behind all others of their kind."""
    first = arrays.take("listed" if listed else "loose", len(numbers))
    (arrays.listed if listed else arrays.loose)[first : first + len(numbers)] = numbers
    return np.arange(first, first + len(numbers), dtype=np.int32)


def _link(arrays: ExchangeArrays, numbers: Int32s, table: Int32s, now: int) -> int:
    """Gives nodes new records, which hold from version `now`; returns the first of them."""
    first = arrays.take("records", len(numbers))
    records = np.arange(first, first + len(numbers), dtype=np.int32)
    table[:, DIED], table[:, NEWER] = NEVER_DIED, -1
    arrays.records[first : first + len(numbers)] = table
    arrays.record_costs[first : first + len(numbers)] = 0.0
    known = arrays.nodes[numbers, RECORD] >= 0
    old = _newest(arrays, numbers[known])
    arrays.records[old, NEWER] = records[known]  # first, because it is followed as soon as the old record is dead
    arrays.records[old, DIED] = now
    arrays.nodes[numbers[~known], RECORD] = records[~known]
    if len(old):
        arrays.history.append((now, numbers[known], records[known]))
        arrays.wear += len(old)
    return first


# --- changes of edges: new ones are laid into blocks of their nodes, old ones die -------------------------------------

_FEW_ENDS = 64  # edges whose ends are looked at one by one
_MANY_TWINS = 256  # edges whose twins are looked for among all edges at once


def _put_edges(arrays: ExchangeArrays, rows: EdgeRows, expressions: Int32s, now: int) -> Int32s:
    """Adds edges; those that they replace go first. Returns the numbers of the new ones."""
    ids, source_rows, target_rows = _ends(rows)
    numbers = arrays.ids.find_many(ids)
    _drop_edges(arrays, _replaced(arrays, rows, numbers[source_rows], numbers[target_rows]), now)
    numbers = _put_ends(arrays, ids, numbers, now)
    sources, targets = numbers[source_rows], numbers[target_rows]
    places, attach = _reserve(arrays, sources, OUT_BEGIN)
    entries, attach_entries = _reserve(arrays, targets, IN_BEGIN)
    edges, first = places.astype(np.int32), arrays.next_serial
    arrays.next_serial += len(rows)
    arrays.sources[edges], arrays.edge_costs[edges] = sources, rows.costs
    arrays.serials[edges] = np.arange(first, arrays.next_serial, dtype=np.int32)
    lives = np.full(len(rows), now), np.full(len(rows), NEVER_DIED)
    arrays.edges[edges] = np.stack((targets, expressions, *lives), axis=1)  # TARGET, EDGE_EXPRESSION, BORN, EDGE_DIED
    arrays.entries[entries] = edges
    arrays.edge_names.extend(first, rows.ids)
    arrays.edge_texts.extend(first, rows.texts)
    if rows.ids is not None:
        arrays.edge_ids.extend(rows.ids.drop_null(), edges[_is_valid(rows.ids)])
    attach()
    attach_entries()
    np.add.at(arrays.nodes[:, DEGREE], np.concatenate((sources, targets)), 1)
    arrays.edge_count += len(rows)
    arrays.wear += len(rows) + int(np.count_nonzero(targets <= sources))
    return edges


def _drop_edges(arrays: ExchangeArrays, edges: Int32s, now: int) -> None:
    """Removes edges, all different, and the ends that nothing else makes known."""
    if not len(edges):
        return
    arrays.edges[edges, EDGE_DIED] = now
    ends = np.concatenate((arrays.sources[edges], arrays.edges[edges, TARGET]))
    np.subtract.at(arrays.nodes[:, DEGREE], ends, 1)
    arrays.edge_count -= len(edges)
    arrays.wear += len(edges)
    ends = np.unique(ends)
    bare = ends[arrays.nodes[ends, DEGREE] == 0]
    if len(bare):
        flags = _last_records(arrays, bare)[:, FLAGS]
        _forget_nodes(arrays, bare[flags & (PRESENT | LISTED_NODE | REFUSED) == PRESENT], now)


def _drop_nodes(arrays: ExchangeArrays, numbers: Int32s, now: int) -> None:
    """Removes nodes with all their edges."""
    found = [_edges_of(arrays, number, begin) for number in numbers.tolist() for begin in (OUT_BEGIN, IN_BEGIN)]
    _drop_edges(arrays, np.unique(np.concatenate(found)) if found else np.zeros(0, np.int32), now)
    _forget_nodes(arrays, numbers, now)


def _ends(rows: EdgeRows) -> tuple[Array, Int64s, Int64s]:
    """The distinct ends in the order source, target, source, target …, and which of them each edge has."""
    count = len(rows)
    if count < _FEW_ENDS:
        codes: dict[str, int] = {}
        pairs = zip(strings(rows.sources), strings(rows.targets), strict=True)
        places = np.array([codes.setdefault(end, len(codes)) for pair in pairs for end in pair], np.int64)
        return pa.array(codes, pa.string()), places[0::2], places[1::2]
    order = np.arange(2 * count).reshape(2, count).T.ravel()
    both = pa.concat_arrays([rows.sources, rows.targets]).take(order).dictionary_encode()
    places = both.indices.to_numpy().astype(np.int64)
    return both.dictionary, places[0::2], places[1::2]


def _replaced(arrays: ExchangeArrays, rows: EdgeRows, sources: Int32s, targets: Int32s) -> Int32s:
    """The edges that go: those of the same edge_id, and those without one that have the same ends as one without."""
    if not arrays.edge_count:
        return np.zeros(0, np.int32)
    found, named = [np.zeros(0, np.int32)], np.zeros(len(rows), bool)
    if rows.ids is not None:
        named = _is_valid(rows.ids)
        numbers = arrays.edge_ids.find_many(rows.ids.drop_null())
        numbers = numbers[numbers >= 0]
        found.append(numbers[arrays.edges[numbers, EDGE_DIED] == NEVER_DIED])
    plain = np.flatnonzero(~named & (sources >= 0) & (targets >= 0))
    twins = _twins(arrays, sources[plain], targets[plain])
    if len(twins) and not arrays.edge_names.is_empty():
        twins = twins[~_is_valid(arrays.edge_names.take(arrays.serials[twins]))]
    return np.unique(np.concatenate([*found, twins]))


def _twins(arrays: ExchangeArrays, sources: Int32s, targets: Int32s) -> Int32s:
    """The edges that have the same ends as one of these: of few looked for at the end with fewer edges, of many in one
    pass over all edges.
    """
    if len(sources) > _MANY_TWINS:
        living = np.flatnonzero(arrays.edges[:, EDGE_DIED] == NEVER_DIED)
        living = living[arrays.edges[living, BORN] != NEVER_DIED]
        keys = arrays.sources[living].astype(np.int64) << 32 | arrays.edges[living, TARGET]
        twins: Int32s = living[np.isin(keys, sources.astype(np.int64) << 32 | targets)].astype(np.int32)
        return twins
    found = [np.zeros(0, np.int32)]
    for source, target in zip(sources.tolist(), targets.tolist(), strict=True):
        if arrays.nodes[source, DEGREE] <= arrays.nodes[target, DEGREE]:
            near = _edges_of(arrays, source, OUT_BEGIN)
            found.append(near[arrays.edges[near, TARGET] == target])
        else:
            near = _edges_of(arrays, target, IN_BEGIN)
            found.append(near[arrays.sources[near] == source])
    return np.concatenate(found)


def _edges_of(arrays: ExchangeArrays, number: int, begin: int) -> Int32s:
    """The living edges that leave a node (OUT_BEGIN), or lead to it (IN_BEGIN)."""
    spans = [np.arange(first, last) for first, last in _spans(arrays.nodes, arrays.blocks, number, begin)]
    places = np.concatenate(spans)
    edges = places if begin == OUT_BEGIN else arrays.entries[places]
    living: Int32s = edges[arrays.edges[edges, EDGE_DIED] == NEVER_DIED].astype(np.int32)
    return living


def _is_valid(values: Array) -> Any:
    return values.is_valid().to_numpy(zero_copy_only=False)


# --- compaction: arrays made anew from one version, numbered in topological order, without what is dead ---------------
#
# The laws: the new arrays show what the version shows; only numbers differ. Edges of a node lie in the order of
# adding, and serials are counted from 0 again. Readers of older versions keep their arrays; events never wait. New
# arrays are made while changes go on; these are noted, made again in the new arrays, the last few of them under the
# lock, and then they take the place of the old ones. It costs what the exchange holds, and comes when changes have
# touched a share of that: so much per change.

_COMPACT_SLACK = 8  # room for live changes: one part in so many
_SPARE = 1024  # dead expressions that are never worth compiling the others again
LEAST = 1024  # changes that are never worth a compaction
OLD = 1 << 30  # versions of the same arrays, after which they are made anew: BORN and DIED hold less than 2**31 - 1
_SHARE = 4  # a compaction comes when changes are more than this part of what there was at the last one
_SMALL = 4096  # nodes and edges that are compacted at once
_FEW = 64  # changes that are made again under the lock


class Compacted(NamedTuple):
    """`edges` are the numbers of the version's edges in the new arrays, or -1."""

    arrays: ExchangeArrays
    edges: Int32s


def compact(version: Version) -> Compacted:
    """Arrays of its own for a version; expressions are compiled again if most of them are dead."""
    graph, old = version.graph, version.arrays
    reported, listed = version.node_numbers(), len(version.listed_numbers())
    edges, serials = version.edge_numbers(), old.serials[version.edge_numbers()]
    position = np.full(graph.node_count, -1, np.int32)
    position[reported] = np.arange(len(reported), dtype=np.int32)
    sources, targets = position[graph.sources[edges]], position[graph.edges[edges, TARGET]]
    components, places = number_nodes(len(reported), sources, targets)
    number = inverse(places)
    sources, targets, nodes = number[sources], number[targets], reported[places]
    records = version.records_of(nodes)
    targeting, node_codes, edge_codes = _living_expressions(version, records, edges)

    count, links = len(nodes), len(edges)
    used = dict(zip(KINDS, (count, count, links, links, 0, listed, count - listed), strict=True))
    room = {kind: rows + rows // _COMPACT_SLACK for kind, rows in used.items()}
    arrays = ExchangeArrays(targeting, version.match, old.writing, room)
    arrays.used, arrays.size, arrays.edge_count = used, count, links
    arrays.next_serial, arrays.compacted = links, count + links

    table = arrays.records[:count]
    table[:] = graph.records[records]
    table[:, EXPRESSION], table[:, DIED], table[:, NEWER] = node_codes, NEVER_DIED, -1
    table[:, PLACE] = np.where(places < listed, places, places - listed)
    arrays.record_costs[:count] = graph.record_costs[records]
    arrays.listed[:listed], arrays.loose[: count - listed] = number[:listed], number[listed:]
    arrays.nodes[:count, RECORD] = np.arange(count)
    arrays.nodes[:count, [OUT_MORE, IN_MORE]] = -1
    arrays.nodes[:count, COMPONENT_END] = np.searchsorted(components[places], components[places], side="right") - 1

    order = np.argsort(sources, kind="stable")
    moved = inverse(order)
    lives = np.zeros(links, np.int32), np.full(links, NEVER_DIED)
    arrays.edges[:links] = np.stack((targets[order], edge_codes[order], *lives), axis=1)
    arrays.sources[:links], arrays.serials[:links] = sources[order], order
    arrays.edge_costs[:links] = graph.edge_costs[edges[order]]
    arrays.entries[:links] = moved[np.argsort(targets, kind="stable")]
    for ends, begin, end in ((sources, OUT_BEGIN, OUT_END), (targets, IN_BEGIN, IN_END)):
        sizes = np.bincount(ends, minlength=count)
        arrays.nodes[:count, end] = np.cumsum(sizes)
        arrays.nodes[:count, begin] = arrays.nodes[:count, end] - sizes
        arrays.nodes[:count, DEGREE] += sizes.astype(np.int32)

    names = version.names(nodes)
    arrays.names.extend(0, names)
    arrays.ids.extend(names, np.arange(count, dtype=np.int32))
    for name, numbers in (("texts", records), ("labels", records), ("edge_names", serials), ("edge_texts", serials)):
        known: NumberedValues = getattr(old, name)
        getattr(arrays, name).extend(0, None if known.is_empty() else some(known.take(numbers)))
    if not arrays.edge_names.is_empty():
        names = arrays.edge_names.whole(links)
        arrays.edge_ids.extend(names.drop_null(), moved[_is_valid(names)])
    refused = np.flatnonzero(table[:, FLAGS] & REFUSED).tolist()
    arrays.refused.update((row, old.refused[int(records[row])]) for row in refused)
    renumbered = np.full(len(graph.edges), -1, np.int32)
    renumbered[edges] = moved
    return Compacted(arrays, renumbered)


def _living_expressions(version: Version, records: Int32s, edges: Int32s) -> tuple[Targeting, Int32s, Int32s]:
    """The expressions of nodes and edges, in the version's store or, without the dead ones, in a new one."""
    graph, arrays, targeting = version.graph, version.arrays, version.targeting
    nodes, links = graph.records[records, EXPRESSION], graph.edges[edges, EDGE_EXPRESSION]
    if len(targeting) <= 2 * len(np.unique(np.concatenate((nodes, links)))) + _SPARE:
        return targeting, nodes, links
    targeting = Targeting()
    links = text_expressions(arrays.edge_texts.take(arrays.serials[edges]), len(edges), targeting)
    if version.match is None:
        nodes = text_expressions(arrays.texts.take(records), len(records), targeting)
    else:
        nodes = label_expressions(arrays.labels.take(records).to_pylist(), targeting, version.match)
    nodes[graph.records[records, FLAGS] & REFUSED != 0] = NEVER
    return targeting, nodes, links


class Compaction:
    """The compactions of one exchange, one at a time."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._running = threading.Lock()
        self._log: list[tuple[str, tuple[Any, ...]]] | None = None  # changes since one began
        self._thread: threading.Thread | None = None
        self._wear = 0  # of the arrays after the change before

    def note(self, arrays: ExchangeArrays, kind: str, *what: Any) -> None:
        """Notes a change of the exchange; the caller holds `writing`."""
        added, self._wear = arrays.wear - self._wear, arrays.wear
        if self._log is not None:
            self._log.append((kind, what))
            return
        least = max(LEAST, arrays.compacted // _SHARE)
        if arrays.wear <= least and self._exchange.age < OLD:
            return
        if arrays.size + arrays.edge_count <= _SMALL or 2 * added > least:  # bulk is as much work as the compaction
            if self._running.acquire(blocking=False):  # else another thread does, and may wait for the lock we hold
                try:
                    self._run()
                finally:
                    self._running.release()
        elif self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self.run, name="heliograph-compact")
            self._thread.start()

    def run(self) -> None:
        """Compacts now."""
        with self._running:
            self._run()

    def wait(self) -> None:
        """Waits until none is running in the background."""
        while (thread := self._thread) is not None and thread.is_alive():
            thread.join()

    def _run(self) -> None:
        exchange = self._exchange
        with exchange.writing:
            version = exchange.hold()
            log = self._log = []
        try:
            replay = Replay(compact(version), version.targeting)
            done = 0
            while len(log) - done > _FEW:
                done += replay.repeat(log[done:])
            with exchange.writing:
                replay.repeat(log[done:])
                exchange.swap(replay.arrays)
                self._wear, self._log = replay.arrays.wear, None
        finally:
            self._log = None
            exchange.release(version)


class Replay:
    """Changes made again in new arrays, which nobody reads yet: all in version 0."""

    def __init__(self, compacted: Compacted, compiled_for: Targeting) -> None:
        self.arrays, self._moved = compacted
        self._compiled_for = compiled_for
        self._added: dict[int, int] = {}  # the new numbers of edges that came later

    def repeat(self, changes: list[tuple[str, tuple[Any, ...]]]) -> int:
        """Makes the changes; returns how many they were."""
        for kind, what in changes:
            getattr(self, kind)(*what)
        self.arrays.relink(0)
        return len(changes)

    def put_nodes(self, rows: NodeRows, expressions: Int32s) -> None:
        rows = replace(rows, compiled=Expressions(self._compiled_for, expressions))
        expressions = node_expressions(rows, self.arrays.targeting, self.arrays.match)
        _put_nodes(self.arrays, rows, expressions, 0)

    def put_edges(self, rows: EdgeRows, expressions: Int32s, numbers: Int32s) -> None:
        rows = replace(rows, compiled=Expressions(self._compiled_for, expressions))
        new = _put_edges(self.arrays, rows, edge_expressions(rows, self.arrays.targeting), 0)
        self._added.update(zip(numbers.tolist(), new.tolist(), strict=True))

    def close(self, expressions: list[int]) -> None:
        if self.arrays.targeting is self._compiled_for:  # where it was compiled anew, it fails once more
            self.arrays.close(expressions)

    def drop_nodes(self, ids: Collection[str]) -> None:
        numbers = [self.arrays.ids.find(id) for id in ids]
        _drop_nodes(self.arrays, np.unique([number for number in numbers if number >= 0]), 0)

    def drop_edges(self, numbers: Int32s) -> None:
        new = [self._added[edge] if edge in self._added else int(self._moved[edge]) for edge in numbers.tolist()]
        _drop_edges(self.arrays, np.array(new, np.int32), 0)


# --- the exchange -----------------------------------------------------------------------------------------------------


class Exchange:
    """One exchange. Whoever changes it, or compiles for it, holds `writing`; whoever reads it uses `reading`.

    Numbers of nodes and edges are those of one version: after a change they may be others.
    """

    def __init__(self, match: str | None = None, arrays: ExchangeArrays | None = None) -> None:
        self._arrays = arrays or ExchangeArrays(Targeting(), match, threading.RLock())
        self.writing = self._arrays.writing
        self._registry = threading.Lock()
        self._readers: dict[int, int] = {}  # how many read each version
        self._version = 0
        self._programs: tuple[int, Programs] = -1, self._arrays.targeting.snapshot()
        self._compaction = Compaction(self)
        self.swap(self._arrays)

    @classmethod
    def of_version(cls, version: Version) -> Self:
        """An exchange of its own that begins as a version. Both compile for one store, so they share `writing`."""
        return cls(arrays=compact(version).arrays)

    @property
    def match(self) -> str | None:
        return self._arrays.match

    @property
    def targeting(self) -> Targeting:
        return self._arrays.targeting

    @property
    def age(self) -> int:
        """How many versions there were since the arrays were made."""
        return self._version

    # --- reading ------------------------------------------------------------------------------------------------

    @property
    def current(self) -> Version:
        """The latest version; without `reading` it is valid only while `writing` is held."""
        return self._current

    @contextmanager
    def reading(self) -> Iterator[Version]:
        """The latest version, which stays as it is until it is released."""
        version = self.hold()
        try:
            yield version
        finally:
            self.release(version)

    def hold(self) -> Version:
        """Registers a reader of the latest version."""
        with self._registry:
            version = self._current
            number = version.graph.version
            self._readers[number] = self._readers.get(number, 0) + 1
        return version

    def release(self, version: Version) -> None:
        number = version.graph.version
        with self._registry:
            self._readers[number] -= 1
            if not self._readers[number]:
                del self._readers[number]
        if self._arrays.history and self.writing.acquire(blocking=False):  # else the writer sees to it
            try:
                self._relink()
            finally:
                self.writing.release()

    def _relink(self) -> None:
        """Drops the history that nobody reads."""
        with self._registry:
            oldest = min(self._readers, default=self._version)
        self._arrays.relink(oldest)

    # --- changes ------------------------------------------------------------------------------------------------

    def put_nodes(self, nodes: NodeRows) -> None:
        """Adds nodes or replaces those of the same id; a refused one never replaces a good one."""
        with self.writing:
            for rows in _runs(nodes):
                expressions = node_expressions(rows, self.targeting, self.match)
                self._change(_put_nodes, rows, expressions)
                self._compaction.note(self._arrays, "put_nodes", rows, expressions)

    def put_edges(self, rows: EdgeRows) -> None:
        """Adds edges; those that they replace go first."""
        if not len(rows):
            return
        with self.writing:
            expressions = edge_expressions(rows, self.targeting)
            numbers = self._change(_put_edges, rows, expressions)
            self._compaction.note(self._arrays, "put_edges", rows, expressions, numbers)

    def drop_nodes(self, ids: Collection[str]) -> None:
        """Removes nodes with all their edges; ids of no node are passed over."""
        with self.writing:
            numbers = np.unique(self._current.numbers(pa.array(list(ids), pa.string())))
            numbers = numbers[numbers >= 0]
            if len(numbers):
                self._change(_drop_nodes, numbers)
                self._compaction.note(self._arrays, "drop_nodes", ids)

    def drop_edges(self, edges: Sequence[int]) -> None:
        """Removes edges of the latest version, and the ends that nothing else makes known."""
        if not edges:
            return
        with self.writing:
            numbers = np.unique(np.array(edges, np.int32))
            self._change(_drop_edges, numbers)
            self._compaction.note(self._arrays, "drop_edges", numbers)

    def put_aside(
        self, version: Version, expressions: Collection[int]
    ) -> tuple[list[tuple[Node, int]], list[tuple[Edge, int]]]:
        """Nodes and edges whose targeting is one of these of a version accept nothing from now on, until they are
        replaced. Returns them, each with the expression it had.
        """
        with self.writing:
            if self.targeting is not version.targeting:  # compiled anew meanwhile
                return [], []
            now, wanted = self._current, list(expressions)
            nodes, edges = now.node_numbers(), now.edge_numbers()
            asked, linked = (
                now.graph.records[now.records_of(nodes), EXPRESSION],
                now.graph.edges[edges, EDGE_EXPRESSION],
            )
            chosen, crossed = np.isin(asked, wanted), np.isin(linked, wanted)
            found = zip(map(now.node, nodes[chosen].tolist()), asked[chosen].tolist(), strict=True)
            others = zip(map(now.edge, edges[crossed].tolist()), linked[crossed].tolist(), strict=True)
            failed = list(found), list(others)
            if any(failed):
                self._change(lambda arrays, wanted, _: arrays.close(wanted), wanted)
                self._compaction.note(self._arrays, "close", wanted)
            return failed

    def edge_number(self, id: str) -> int:
        """The number of the edge that has an edge_id in the latest version, or -1."""
        number = self._arrays.edge_ids.find(id)
        return number if number >= 0 and self._arrays.edges[number, EDGE_DIED] == NEVER_DIED else -1

    def find_edges(self, source: str | None, target: str | None, id: str | None) -> list[int]:
        """The edges of the latest version with this id, or these ends, or both where both are given."""
        version = self._current
        if id is None:
            return version.between_numbers(version.number(source or ""), version.number(target or ""))
        number = self.edge_number(id)
        if number < 0:
            return []
        edge = version.edge(number)
        return [number] if source in (None, edge.source) and target in (None, edge.target) else []

    def _change(self, change: Callable[..., Any], *what: Any) -> Any:
        """Makes the next version."""
        self._arrays.own()
        result = change(self._arrays, *what, self._version + 1)
        self._version += 1
        self._publish()
        return result

    def _publish(self) -> None:
        arrays = self._arrays
        if self._programs[0] != len(arrays.targeting):
            self._programs = len(arrays.targeting), arrays.targeting.snapshot()
        version = Version(arrays, arrays.graph(self._version), self._programs[1])
        with self._registry:
            self._current = version
        self._relink()

    # --- compaction ---------------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Clears away what changes left behind, now. Not to be called while holding `writing`."""
        self._compaction.run()

    def wait(self) -> None:
        """Waits until nothing is being cleared away in the background."""
        self._compaction.wait()

    def swap(self, arrays: ExchangeArrays) -> None:
        """Goes on with other arrays that show the same. For `Compaction`, which holds `writing`."""
        self._arrays = arrays
        self._programs = len(arrays.targeting), arrays.targeting.snapshot()
        self._version = 0  # readers of the other arrays have versions of their own, and at most delay `relink`
        self._publish()


def _runs(rows: NodeRows) -> Iterator[NodeRows]:
    """The rows in parts in which no id comes twice."""
    if not len(rows):
        return
    if len(rows) == 1 or len(rows) == len(rows.ids.unique()):
        yield rows
        return
    first = 0
    seen: set[str] = set()
    for row, id in enumerate(strings(rows.ids)):
        if id in seen:
            yield rows.slice(first, row)
            first, seen = row, set()
        seen.add(id)
    yield rows.slice(first, len(rows))
