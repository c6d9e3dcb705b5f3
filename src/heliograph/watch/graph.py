"""The evolving graph in flat arrays: triples of term ids, each with an optional weight and times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.compiled.growing import first_room
from heliograph.errors import PublicationError
from heliograph.terms import Term
from heliograph.watch import graph_kernels
from heliograph.watch.graph_kernels import GraphArrays
from heliograph.watch.layout import (
    AT,
    EDGE,
    FULL,
    IN,
    KEY,
    LENGTH,
    LINK,
    MOST_ROWS,
    NEXT_RUN,
    NO_TIME,
    NUMBER,
    OBJECT,
    OUT,
    PARTS,
    PREDICATE,
    PRESENT,
    RUN_COLUMNS,
    SEQ,
    SIZES,
    START,
    SUBJECT,
    VIRTUALS,
    EdgeColumns,
    Int32s,
    Int64s,
)

# --- room in arrays ----------------------------------------------------------------------------------------------

# The law: numbers of edges and the order of rows outlive every growth. Arrays grow by a quarter, and the lists of
# runs by an eighth: what is copied again and again costs less than the memory, compared with what an edge costs
# anyway. What was never written to takes no memory but addresses.

LEAST = 8  # rows of a new array
_NEED = 6  # places for two blocks of two, one after a gap
_ADJACENCY = frozenset({"runs", "heads", "pool"})


def more(rows: int, share: int = 4) -> int:
    return first_room(rows + rows // share + LEAST, rows + 1)


def check(rows: int) -> None:
    """Refuses more rows than 32 bits can number."""
    if rows > MOST_ROWS:
        raise PublicationError(
            "HG-659", f"a graph that needs {rows:,} rows of edges or lists, above {MOST_ROWS:,}", fix="split the graph"
        )


def slots_for(entries: int) -> int:
    """The size of an open addressing that has room for so many entries."""
    return entries * PARTS // FULL + 2


def enlarge(graph: GraphArrays, name: str, rows: int) -> None:
    """Gives an array more rows; what is in the new ones is left open."""
    check(rows)
    array = getattr(graph, name)
    larger = np.empty((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    setattr(graph, name, larger)


def lacking(graph: GraphArrays) -> set[str]:
    """The arrays that have no room for another edge; those of adjacency only where it is kept."""
    found = set()
    if graph.free_edge == 0 and graph.numbered >= len(graph.edges):
        found.add("edges")
    if slots_for(graph.taken + 1) > len(graph.slots):
        found.add("slots")
    if len(graph.runs):
        runs = graph.run_count + 2
        needed = {"runs": runs, "heads": slots_for(runs), "pool": graph.pool_end + graph.pool_need}
        found.update(name for name, rows in needed.items() if rows > len(getattr(graph, name)))
    return found


# --- edges that agree with a pattern -----------------------------------------------------------------------------

# Which edges of an evolving graph agree with a pattern? For Python; kernels have ways of their own.
#
# The law: the answer is the numbers of exactly those present edges that have the parts given, ascending, each once.
# It is read from the runs of a vertex that is given, if they are kept, and otherwise from the table of edges.

Parts = tuple[int | None, int | None, int | None]  # subject, predicate, object

_NOTHING = np.empty(0, np.int64)


def present(graph: GraphArrays, hidden: Collection[int] = ()) -> Int64s:
    """All present edges but those of hidden properties."""
    edges = np.flatnonzero(graph.edges[: graph.numbered, LINK] & PRESENT)
    if not hidden:
        return edges
    seen: Int64s = edges[~np.isin(graph.edges[edges, PREDICATE], list(hidden))]
    return seen


def touching(graph: GraphArrays, vertex: int, hidden: Collection[int] = ()) -> Int64s:
    """The edges with a vertex at either end."""
    if len(graph.runs):
        return _listed(graph, vertex, lambda key: key >> 1 not in hidden)
    edges = present(graph, hidden)
    found: Int64s = edges[(graph.edges[edges][:, [SUBJECT, OBJECT]] == vertex).any(axis=1)]
    return found


def matching(graph: GraphArrays, parts: Parts, hidden: Collection[int] = ()) -> Int64s:
    """The edges with these parts; None is anything, as a property anything but hidden ones."""
    edges = _candidates(graph, parts, hidden if parts[PREDICATE] is None else ())
    for column, part in enumerate(parts):
        if part is not None:
            edges = edges[graph.edges[edges, column] == part]
    return edges


def _candidates(graph: GraphArrays, parts: Parts, hidden: Collection[int]) -> Int64s:
    """Some edges, all that match among them: those of the given end that has fewer, or all."""
    subject, predicate, object = parts
    ends = [(vertex, side) for vertex, side in ((subject, OUT), (object, IN)) if vertex is not None]
    if not ends or not len(graph.runs):
        return present(graph, hidden)

    def wanted(side: int) -> Callable[[int], bool]:
        return lambda key: key & 1 == side and (key >> 1 not in hidden if predicate is None else key >> 1 == predicate)

    vertex, side = min(ends, key=lambda end: _degree(graph, end[0], wanted(end[1])))
    return _listed(graph, vertex, wanted(side))


def _listed(graph: GraphArrays, vertex: int, wanted: Callable[[int], bool]) -> Int64s:
    lists = [_edges_of(graph, run) for run in _runs_of(graph, vertex, wanted)]
    return np.unique(np.concatenate(lists)).astype(np.int64) if lists else _NOTHING


def _degree(graph: GraphArrays, vertex: int, wanted: Callable[[int], bool]) -> int:
    return sum(int(graph.runs[run, LENGTH]) for run in _runs_of(graph, vertex, wanted))


def _runs_of(graph: GraphArrays, vertex: int, wanted: Callable[[int], bool]) -> Iterator[int]:
    """The runs of a vertex whose keys are wanted."""
    run = int(graph.first[vertex]) - 1 if 0 <= vertex < len(graph.first) else -1
    while run >= 0:
        if wanted(int(graph.runs[run, KEY])):
            yield run
        run = int(graph.runs[run, NEXT_RUN]) - 1


def _edges_of(graph: GraphArrays, run: int) -> Int32s:
    start, length = int(graph.runs[run, START]), int(graph.runs[run, LENGTH])
    return graph.pool[start : start + length, EDGE] if length != 1 else graph.runs[run, START : START + 1]


# --- the graph ---------------------------------------------------------------------------------------------------

# The evolving graph in flat arrays: triples of term ids, each with an optional weight and times, at 32 bytes an edge.
#
# `FlatGraph` owns the arrays that kernels work on, makes room in them, and answers Python. Kernels may change the
# graph for as long as they have room; then they return, and `grow` makes more.
# for again. Edges keep their numbers; runs, the lists of a vertex's edges, may get others.
#
# Lists of edges by vertex cost more than the edges, and are only kept where they are needed: see `keep_adjacency`.
# Edges of virtual properties are seen where they are asked for by name only: they are neither counted nor saved.

Column: TypeAlias = "npt.NDArray[Any] | Sequence[float]"


class FlatGraph:
    """A set of edges between term ids. `span` (in microseconds) and `last` (in updates) are its window, if any."""

    def __init__(self, span: int | None = None, last: int | None = None) -> None:
        room, timed = first_room(LEAST), span is not None or last is not None
        self.arrays = GraphArrays(slot=slots_for(room), edge=room, time=room * timed, size=SIZES)
        self.arrays.span, self.arrays.last = span or 0, last or 0
        self._vertices = 0

    def __len__(self) -> int:
        return len(self.edge_numbers()) if self.virtual else self.arrays.live

    @property
    def nbytes(self) -> int:
        return self.arrays.nbytes

    @property
    def has_adjacency(self) -> bool:
        return len(self.arrays.runs) > 0

    @property
    def virtual(self) -> range:
        """The ids of virtual properties."""
        first = self.arrays.first_virtual
        return range(first, first + VIRTUALS) if first >= 0 else range(0)

    def is_virtual(self, predicates: Int32s) -> Any:
        """Which of some properties are virtual."""
        first = self.arrays.first_virtual
        return (predicates >= first) & (predicates < first + VIRTUALS)

    def set_virtual(self, first: int) -> None:
        """Makes neighbouring ids those of virtual properties."""
        self.arrays.first_virtual = first

    @property
    def clock(self) -> int | None:
        """The latest time so far."""
        return None if self.arrays.clock == NO_TIME else self.arrays.clock

    @property
    def accepted(self) -> int:
        """How many updates there were."""
        return self.arrays.accepted

    def set_clocks(self, clock: int | None, accepted: int) -> None:
        self.arrays.clock = NO_TIME if clock is None else clock
        self.arrays.accepted = accepted

    # --- edges --------------------------------------------------------------------------------------------------

    def edge_numbers(self) -> Int64s:
        """The numbers of all edges that are there, ascending."""
        return present(self.arrays, self.virtual)

    def touching(self, vertex: int) -> Int64s:
        """The numbers of the edges with a vertex at either end, ascending."""
        return touching(self.arrays, vertex, self.virtual)

    def find(self, subject: int, predicate: int, object: int) -> int:
        """The number of an edge that is there, or -1."""
        return int(graph_kernels.find(self.arrays.address, subject, predicate, object))

    def holds(self, subject: int, predicate: int, object: int) -> bool:
        return self.find(subject, predicate, object) >= 0

    def put(self, subject: int, predicate: int, object: int) -> int:
        """Adds an edge that never expires, if it is not there; its number."""
        parts = (np.array([part], np.int32) for part in (subject, predicate, object))
        self.load(*parts)
        return self.find(subject, predicate, object)

    def drop(self, subject: int, predicate: int, object: int) -> bool:
        """Takes an edge away; whether it was there."""
        edge = self.find(subject, predicate, object)
        if edge >= 0:
            self.drop_edges(np.array([edge], np.int64))
        return edge >= 0

    def drop_edges(self, edges: Int64s) -> None:
        """Takes edges away that are there."""
        graph_kernels.drop_all(self.arrays.address, _fixed(edges, np.int64))

    def enter_edges(self, subject: Column, predicate: Column, object: Column) -> Int64s:
        """The numbers of edges to wait for, there or not.

        The query that waits says so in LINK before anything else is done. They keep their numbers until `leave_edges`.
        """
        s, p, o = (_fixed(column, np.int32) for column in (subject, predicate, object))
        self.reserve(edges=len(s))
        edges = np.empty(len(s), np.int64)
        row = 0
        while (row := graph_kernels.enter_all(self.arrays.address, s, p, o, row, edges)) < len(edges):
            self.grow()
        return edges

    def leave_edges(self, edges: Int64s) -> None:
        """No query waits for these any more."""
        graph_kernels.leave_all(self.arrays.address, _fixed(edges, np.int64))

    # --- many edges ---------------------------------------------------------------------------------------------

    def load(
        self,
        subject: Column,
        predicate: Column,
        object: Column,
        weight: Column | None = None,
        at: Column | None = None,
        seq: Column | None = None,
    ) -> None:
        """Adds edges as background: they count as no update, and without a time they never expire.

        What is there already takes a weight that is given, and a later time if it has one. Edges without times let
        nothing expire, as they do not move the clock: one that came too late for its window waits for the next update,
        which reports that it goes.
        """
        timed = at is not None
        none = np.full(len(subject), NO_TIME)
        at = none if at is None else at
        known = none if seq is None else np.where(np.asarray(at) == NO_TIME, NO_TIME, seq)
        weight = np.full(len(subject), np.nan) if weight is None else weight
        self._add(EdgeColumns._make((subject, predicate, object, weight, at, known, none)))
        if timed:
            graph_kernels.expire(self.arrays.address)

    def saved(self) -> EdgeColumns:
        """The edges in the order of their numbers; NaN and NO_TIME where something is not known."""
        edges, graph = self.edge_numbers(), self.arrays
        parts = (graph.edges[edges, part] for part in (SUBJECT, PREDICATE, OBJECT))
        weights = graph.weights[edges] if len(graph.weights) else np.full(len(edges), np.nan)
        times = graph.times[edges] if len(graph.times) else np.full((len(edges), 3), NO_TIME)
        return EdgeColumns._make((*parts, weights, *(times[:, part].copy() for part in (AT, SEQ, NUMBER))))

    def restore(self, rows: EdgeColumns) -> None:
        """Puts saved edges back exactly as they were, into a graph without edges; see `set_clocks` for the rest.

        An edge may have come too late for its window: it stays until the next update lets it go.
        """
        order = np.argsort(rows.number, kind="stable")  # promises by number are made in the order of numbers
        self.reserve(edges=len(order))
        self._add(EdgeColumns._make(column[order] for column in rows))

    def _add(self, rows: EdgeColumns) -> None:
        kinds = (np.int32, np.int32, np.int32, np.float64, np.int64, np.int64, np.int64)
        fixed = EdgeColumns._make(_fixed(column, kind) for column, kind in zip(rows, kinds, strict=True))
        if not np.isnan(fixed.weight).all():
            self.keep_weights()
        if len(fixed.subject):
            self.cover(1 + max(int(fixed.subject.max()), int(fixed.object.max())))
        row = 0
        while (row := graph_kernels.load(self.arrays.address, fixed, row)) < len(fixed.subject):
            self.grow()

    # --- room ---------------------------------------------------------------------------------------------------

    def keep_weights(self) -> None:
        """From now on edges have weights; those that are there have none so far."""
        if not len(self.arrays.weights):
            self.arrays.weights = np.full(len(self.arrays.edges), np.nan)

    def keep_adjacency(self) -> None:
        """From now on the edges of each vertex are listed; those that are there are listed at once.

        There is room for another edge then: a kernel may ask for lists in the midst of an update that adds one.
        """
        if not self.has_adjacency:
            self._list_runs()
            while lacking(self.arrays) & _ADJACENCY:
                self._grow_runs()

    def cover(self, vertices: int) -> None:
        """Makes term ids below `vertices` valid ends of edges."""
        self._vertices = max(self._vertices, vertices)
        known = len(self.arrays.first)
        if self.has_adjacency and known < self._vertices:
            self.arrays.resize("vertex", max(self._vertices, known + known // 4))

    def reserve(self, edges: int = 0, vertices: int = 0) -> None:
        """Makes room for so many more edges, so that arrays need not grow again and again."""
        numbers = self.arrays.numbered + first_room(edges + 1, 0)  # kernels ask for room before they know the need
        if numbers > len(self.arrays.edges):
            self._resize_edges(numbers)
        if slots_for(numbers) > len(self.arrays.slots):
            self._resize_slots(slots_for(numbers))
        self.cover(vertices)

    def grow(self) -> None:
        """Makes room wherever there is none for another edge."""
        graph, short = self.arrays, lacking(self.arrays)
        if "edges" in short:
            self._resize_edges(more(len(graph.edges)))
        if "slots" in short:
            self._resize_slots(more(len(graph.slots)))
        if short & _ADJACENCY:
            if 2 * graph.idle_runs > graph.run_count or 2 * graph.vacant > graph.pool_end:
                self._list_runs()  # most runs are empty, or most places in the pool are free
            self._grow_runs()
        if graph.span and len(graph.heap) == graph.heap_size:
            enlarge(graph, "heap", more(len(graph.heap)))
        if graph.last and len(graph.queue) == graph.queue_size:  # a ring begins anew at the beginning of a larger array
            size = 1 << (max(graph.queue_size + 1, first_room(LEAST)) - 1).bit_length()
            larger = np.empty((size, 2), np.int64)
            larger[: len(graph.queue)] = np.roll(graph.queue, -graph.queue_first, axis=0)
            graph.queue, graph.queue_first = larger, 0

    def _resize_edges(self, rows: int) -> None:
        for name in ("edges", "weights", "times", "places"):
            if len(getattr(self.arrays, name)):
                enlarge(self.arrays, name, rows)

    def _resize_slots(self, size: int) -> None:
        slots = np.zeros(size, np.int64)
        graph_kernels.rehash_slots(self.arrays.slots, slots)
        self.arrays.slots = slots

    def _list_runs(self) -> None:
        """Lists the edges of each vertex anew, without what earlier edges left behind, and with about as much room as
        that will need."""
        graph, rows = self.arrays, self.arrays.live + first_room(LEAST)
        graph.run_count = graph.pool_end = graph.free_sizes = graph.idle_runs = graph.vacant = 0
        graph.pool_need = _NEED
        graph.places, graph.first = np.zeros((len(graph.edges), 2), np.int32), np.zeros(self._vertices, np.int32)
        graph.runs, graph.pool = np.zeros((rows, RUN_COLUMNS), np.int32), np.zeros((rows, 2), np.int32)
        graph.free = np.zeros(SIZES, np.int64)
        self._set_heads(slots_for(rows))
        edge = 0
        while (edge := graph_kernels.list_runs(graph.address, edge)) < graph.numbered:
            self._grow_runs()

    def _set_heads(self, size: int) -> None:
        check(size)
        self.arrays.heads, self.arrays.run_bits = np.zeros(size, np.int32), size.bit_length()
        graph_kernels.rehash_heads(self.arrays.address)

    def _grow_runs(self) -> None:
        graph, short = self.arrays, lacking(self.arrays)
        if "runs" in short:
            enlarge(graph, "runs", more(len(graph.runs), 8))
        if "heads" in short:
            self._set_heads(more(len(graph.heads)))
        if "pool" in short:
            enlarge(graph, "pool", max(more(len(graph.pool), 8), graph.pool_end + graph.pool_need))


def _fixed(column: Any, kind: Any) -> Any:
    """As kernels take what they only read."""
    view = np.ascontiguousarray(column, kind).view()
    view.flags.writeable = False
    return view


# --- the graph as terms ------------------------------------------------------------------------------------------

# An evolving graph as a set of term triples, for readers that think in terms.
#
# The law: it answers what a `sparql.solve.Graph` answers that holds the same triples, in another order: by the
# numbers of edges. Edges of virtual properties are not among the triples, unless their property is asked for.

Triple = tuple[Term, Term, Term]

_BLOCK = 1024  # rows that are spelled out at once


class Terms(Protocol):
    """A vocabulary, as far as it is needed here."""

    def find(self, term: Term) -> int: ...

    def term(self, id: int) -> Term: ...


class FoundTriples:
    """Triples that were found: counted at once, spelled out when they are read."""

    __slots__ = ("_rows", "_terms")

    def __init__(self, rows: Int32s, terms: Terms) -> None:
        self._rows = rows
        self._terms = terms

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Triple]:
        term = self._terms.term
        for first in range(0, len(self._rows), _BLOCK):  # a reader that stops early has not paid for a million rows
            for subject, predicate, object in self._rows[first : first + _BLOCK].tolist():
                yield term(subject), term(predicate), term(object)

    def __contains__(self, triple: object) -> bool:
        if not isinstance(triple, tuple) or len(triple) != 3:
            return False
        return bool((self._rows == [self._terms.find(term) for term in triple]).all(axis=1).any())


class GraphTriples:
    """The triples of an evolving graph as it is now."""

    def __init__(self, graph: FlatGraph, terms: Terms) -> None:
        self._graph = graph
        self._terms = terms

    def __len__(self) -> int:
        return len(self._graph)

    def __iter__(self) -> Iterator[Triple]:
        return iter(self.match())

    def __contains__(self, triple: Triple) -> bool:
        return self._graph.holds(*map(self._terms.find, triple))

    def match(
        self, subject: Term | None = None, predicate: Term | None = None, object: Term | None = None
    ) -> Collection[Triple]:
        """The triples with these parts; None is a wildcard."""
        if subject is not None and predicate is not None and object is not None:
            triple = (subject, predicate, object)
            return (triple,) if triple in self else ()
        parts = self._id(subject), self._id(predicate), self._id(object)
        arrays = self._graph.arrays
        return FoundTriples(arrays.edges[matching(arrays, parts, self._graph.virtual), :LINK], self._terms)

    def _id(self, term: Term | None) -> int | None:
        return None if term is None else self._terms.find(term)

    def count(self, subject: Term | None = None, predicate: Term | None = None, object: Term | None = None) -> int:
        return len(self.match(subject, predicate, object))
