"""The evolving graph in flat arrays: triples of term ids, each with an optional weight and times."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from heliograph.compiled.growing import first_room
from heliograph.errors import PublicationError
from heliograph.terms import Term
from heliograph.watch import graph_kernels
from heliograph.watch.layout import (
    ACCEPTED,
    AT,
    CLASSES,
    CLOCK,
    CLOCKS,
    COUNTERS,
    EDGE,
    EDGES,
    FREE_EDGE,
    FULL,
    HEAP,
    IDLE,
    IN,
    KEY,
    LAST,
    LENGTH,
    LINK,
    LIVE,
    MOST_ROWS,
    NEED,
    NEXT_RUN,
    NO_TIME,
    NUMBER,
    OBJECT,
    OUT,
    PARTS,
    POOL,
    PREDICATE,
    PRESENT,
    QUEUE,
    QUEUE_FIRST,
    RUN_BITS,
    RUNS,
    SEQ,
    SIZES,
    SPAN,
    START,
    SUBJECT,
    TAKEN,
    VACANT,
    VIRTUAL,
    VIRTUALS,
    EdgeColumns,
    GraphArrays,
    Int32s,
    Int64s,
    WindowArrays,
    fields_of,
    zeros,
)

# --- new arrays, and room in them --------------------------------------------------------------------------------

# Arrays for an evolving graph: empty ones, larger ones, and how much of them is in use.
#
# The law: numbers of edges and the order of rows outlive every growth. Arrays grow by a quarter, and the lists of
# runs by an eighth: what is copied again and again costs less than the memory, compared with what an edge costs
# anyway. What was never written to takes no memory but addresses.

LEAST = 8  # rows of a new array
_NEED = 6  # places for two blocks of two, one after a gap
_ADJACENCY = frozenset({"runs", "heads", "pool"})
_ARRAY = TypeVar("_ARRAY", bound="npt.NDArray[Any]")


def empty_graph(timed: bool) -> GraphArrays:
    """A graph without edges: without adjacency, without weights, and with times if they matter."""
    room = first_room(LEAST)
    graph = zeros(GraphArrays, slots=slots_for(room), edges=room, times=room * timed, free=SIZES, counters=COUNTERS)
    graph.counters[NEED], graph.counters[VIRTUAL] = _NEED, -VIRTUALS  # no ids are virtual
    return graph


def without_runs(graph: GraphArrays, vertices: int) -> GraphArrays:
    """The same edges, listed nowhere, with about as much room as lists of them will need."""
    edges, counters = int(graph.counters[LIVE]), graph.counters.copy()
    counters[[RUNS, POOL, CLASSES, IDLE, VACANT]] = 0
    counters[NEED] = _NEED
    rows = edges + first_room(LEAST)
    heads = slots_for(rows)
    counters[RUN_BITS] = heads.bit_length()
    runs = zeros(GraphArrays, places=len(graph.edges), heads=heads, runs=rows, first=vertices, pool=rows, free=SIZES)
    names = ("places", "heads", "runs", "first", "pool", "free")
    return graph._replace(counters=counters, **{name: getattr(runs, name) for name in names})


def empty_window(span: int | None, last: int | None) -> WindowArrays:
    window = zeros(WindowArrays, clocks=CLOCKS)
    window.clocks[SPAN], window.clocks[LAST], window.clocks[CLOCK] = span or 0, last or 0, NO_TIME
    return window


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


def enlarged(array: _ARRAY, rows: int) -> _ARRAY:
    """The same rows, with room for more; what is in the new ones is left open."""
    check(rows)
    larger = np.empty((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger  # type: ignore[return-value]


def lacking(graph: GraphArrays) -> set[str]:
    """The arrays that have no room for another edge; those of adjacency only where it is kept."""
    counters, found = graph.counters, set()
    if counters[FREE_EDGE] == 0 and counters[EDGES] >= len(graph.edges):
        found.add("edges")
    if slots_for(int(counters[TAKEN]) + 1) > len(graph.slots):
        found.add("slots")
    if len(graph.runs):
        needed = {"runs": counters[RUNS] + 2, "heads": slots_for(int(counters[RUNS]) + 2)}
        needed["pool"] = counters[POOL] + counters[NEED]
        found.update(name for name, rows in needed.items() if rows > len(getattr(graph, name)))
    return found


def is_wasteful(graph: GraphArrays) -> bool:
    """Whether most runs are empty, or most places in the pool are free: then the runs are better listed anew."""
    counters = graph.counters
    return bool(2 * counters[IDLE] > counters[RUNS] or 2 * counters[VACANT] > counters[POOL])


def promising(window: WindowArrays, promises: int) -> WindowArrays:
    """A window with room for so many more promises; a ring begins anew at the beginning of a larger array."""
    heap, queue, clocks = window
    if clocks[SPAN] and len(heap) < clocks[HEAP] + promises:
        heap = enlarged(heap, max(more(len(heap)), int(clocks[HEAP]) + promises))
    if clocks[LAST] and len(queue) < clocks[QUEUE] + promises:
        queue = _unrolled(queue, clocks, int(clocks[QUEUE]) + promises)
        clocks[QUEUE_FIRST] = 0
    return WindowArrays(heap, queue, clocks)


def _unrolled(queue: Int64s, clocks: Int64s, rows: int) -> Int64s:
    larger = np.empty((1 << (max(rows, first_room(LEAST)) - 1).bit_length(), 2), np.int64)
    larger[: len(queue)] = np.roll(queue, -int(clocks[QUEUE_FIRST]), axis=0)
    return larger


# --- edges that agree with a pattern -----------------------------------------------------------------------------

# Which edges of an evolving graph agree with a pattern? For Python; kernels have ways of their own.
#
# The law: the answer is the numbers of exactly those present edges that have the parts given, ascending, each once.
# It is read from the runs of a vertex that is given, if they are kept, and otherwise from the table of edges.

Parts = tuple[int | None, int | None, int | None]  # subject, predicate, object

_NOTHING = np.empty(0, np.int64)


def present(graph: GraphArrays, hidden: Collection[int] = ()) -> Int64s:
    """All present edges but those of hidden properties."""
    edges = np.flatnonzero(graph.edges[: graph.counters[EDGES], LINK] & PRESENT)
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
# graph for as long as they have room; then they return, `grow` makes more, and `arrays` and `window` are to be asked
# for again. Edges keep their numbers; runs, the lists of a vertex's edges, may get others.
#
# Lists of edges by vertex cost more than the edges, and are only kept where they are needed: see `keep_adjacency`.
# Edges of virtual properties are seen where they are asked for by name only: they are neither counted nor saved.

Column: TypeAlias = "npt.NDArray[Any] | Sequence[float]"


class FlatGraph:
    """A set of edges between term ids. `span` (in microseconds) and `last` (in updates) are its window, if any."""

    def __init__(self, span: int | None = None, last: int | None = None) -> None:
        self.arrays: GraphArrays = empty_graph(timed=span is not None or last is not None)
        self.window = empty_window(span, last)
        self._vertices = 0

    def __len__(self) -> int:
        return len(self.edge_numbers()) if self.virtual else int(self.arrays.counters[LIVE])

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in (*self.arrays, *self.window))

    @property
    def has_adjacency(self) -> bool:
        return len(self.arrays.runs) > 0

    @property
    def virtual(self) -> range:
        """The ids of virtual properties."""
        first = int(self.arrays.counters[VIRTUAL])
        return range(first, first + VIRTUALS) if first >= 0 else range(0)

    def is_virtual(self, predicates: Int32s) -> Any:
        """Which of some properties are virtual."""
        first = self.arrays.counters[VIRTUAL]
        return (predicates >= first) & (predicates < first + VIRTUALS)

    def set_virtual(self, first: int) -> None:
        """Makes neighbouring ids those of virtual properties."""
        self.arrays.counters[VIRTUAL] = first

    @property
    def clock(self) -> int | None:
        """The latest time so far."""
        clock = int(self.window.clocks[CLOCK])
        return None if clock == NO_TIME else clock

    @property
    def accepted(self) -> int:
        """How many updates there were."""
        return int(self.window.clocks[ACCEPTED])

    def set_clocks(self, clock: int | None, accepted: int) -> None:
        self.window.clocks[CLOCK] = NO_TIME if clock is None else clock
        self.window.clocks[ACCEPTED] = accepted

    # --- edges --------------------------------------------------------------------------------------------------

    def edge_numbers(self) -> Int64s:
        """The numbers of all edges that are there, ascending."""
        return present(self.arrays, self.virtual)

    def touching(self, vertex: int) -> Int64s:
        """The numbers of the edges with a vertex at either end, ascending."""
        return touching(self.arrays, vertex, self.virtual)

    def find(self, subject: int, predicate: int, object: int) -> int:
        """The number of an edge that is there, or -1."""
        return int(graph_kernels.find(self.arrays, subject, predicate, object))

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
        graph_kernels.drop_all(self.arrays, _fixed(edges, np.int64))

    def enter_edges(self, subject: Column, predicate: Column, object: Column) -> Int64s:
        """The numbers of edges to wait for, there or not.

        The query that waits says so in LINK before anything else is done. They keep their numbers until `leave_edges`.
        """
        s, p, o = (_fixed(column, np.int32) for column in (subject, predicate, object))
        self.reserve(edges=len(s))
        edges = np.empty(len(s), np.int64)
        row = 0
        while (row := graph_kernels.enter_all(self.arrays, s, p, o, row, edges)) < len(edges):
            self.grow()
        return edges

    def leave_edges(self, edges: Int64s) -> None:
        """No query waits for these any more."""
        graph_kernels.leave_all(self.arrays, _fixed(edges, np.int64))

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
            graph_kernels.expire(self.arrays, self.window)

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
        kinds = (field.dtype for field in fields_of(EdgeColumns))
        fixed = EdgeColumns._make(_fixed(column, kind) for column, kind in zip(rows, kinds, strict=True))
        if not np.isnan(fixed.weight).all():
            self.keep_weights()
        if len(fixed.subject):
            self.cover(1 + max(int(fixed.subject.max()), int(fixed.object.max())))
        row = 0
        while (row := graph_kernels.load(self.arrays, self.window, fixed, row)) < len(fixed.subject):
            self.grow()

    # --- room ---------------------------------------------------------------------------------------------------

    def keep_weights(self) -> None:
        """From now on edges have weights; those that are there have none so far."""
        if not len(self.arrays.weights):
            self.arrays = self.arrays._replace(weights=np.full(len(self.arrays.edges), np.nan))

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
        first = self.arrays.first
        if self.has_adjacency and len(first) < self._vertices:
            larger = np.zeros(max(self._vertices, len(first) + len(first) // 4), np.int32)
            larger[: len(first)] = first
            self.arrays = self.arrays._replace(first=larger)

    def reserve(self, edges: int = 0, vertices: int = 0) -> None:
        """Makes room for so many more edges, so that arrays need not grow again and again."""
        more = first_room(edges + 1, 0)  # kernels ask for room before they know the need
        numbers = int(self.arrays.counters[EDGES]) + more
        if numbers > len(self.arrays.edges):
            self._resize_edges(numbers)
        if slots_for(numbers) > len(self.arrays.slots):
            self._resize_slots(slots_for(numbers))
        self.cover(vertices)

    def grow(self) -> None:
        """Makes room wherever there is none for another edge."""
        short = lacking(self.arrays)
        if "edges" in short:
            self._resize_edges(more(len(self.arrays.edges)))
        if "slots" in short:
            self._resize_slots(more(len(self.arrays.slots)))
        if short & _ADJACENCY:
            if is_wasteful(self.arrays):
                self._list_runs()
            self._grow_runs()
        self.window = promising(self.window, 1)

    def _resize_edges(self, rows: int) -> None:
        columns = {name: getattr(self.arrays, name) for name in ("edges", "weights", "times", "places")}
        self.arrays = self.arrays._replace(
            **{name: enlarged(array, rows) for name, array in columns.items() if len(array)}
        )

    def _resize_slots(self, size: int) -> None:
        slots = np.zeros(size, np.int64)
        graph_kernels.rehash_slots(self.arrays.slots, slots)
        self.arrays = self.arrays._replace(slots=slots)

    def _list_runs(self) -> None:
        """Lists the edges of each vertex anew, without what earlier edges left behind."""
        self.arrays = without_runs(self.arrays, self._vertices)
        edge = 0
        while (edge := graph_kernels.list_runs(self.arrays, edge)) < self.arrays.counters[EDGES]:
            self._grow_runs()

    def _grow_runs(self) -> None:
        graph, short = self.arrays, lacking(self.arrays)
        if "runs" in short:
            graph = graph._replace(runs=enlarged(graph.runs, more(len(graph.runs), 8)))
        if "heads" in short:
            check(more(len(graph.heads)))
            graph = graph._replace(heads=np.zeros(more(len(graph.heads)), np.int32))
            graph.counters[RUN_BITS] = len(graph.heads).bit_length()
            graph_kernels.rehash_heads(graph, graph.heads)
        if "pool" in short:
            needed = int(graph.counters[POOL] + graph.counters[NEED])
            graph = graph._replace(pool=enlarged(graph.pool, max(more(len(graph.pool), 8), needed)))
        self.arrays = graph


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
