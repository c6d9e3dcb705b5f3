"""The evolving graph in flat arrays: triples of term ids, each with an optional weight and times, at 32 bytes an edge.

`FlatGraph` owns the arrays that kernels work on, makes room in them, and answers Python. Kernels may change the graph
for as long as they have room; then they return, `grow` makes more, and `arrays` and `window` are to be asked for again.
Edges keep their numbers; runs, the lists of a vertex's edges, may get others.

Lists of edges by vertex cost more than the edges, and are only kept for those who need them: see `keep_adjacency`.
Edges of virtual properties are seen by those who ask for them by name only: they are neither counted nor saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from heliograph.evolution import room
from heliograph.evolution.lookup import present, touching
from heliograph.kernels.evolution_layout import (
    ACCEPTED,
    AT,
    CLOCK,
    EDGES,
    LIVE,
    NEED,
    NO_TIME,
    NUMBER,
    OBJECT,
    POOL,
    PREDICATE,
    RUN_BITS,
    SEQ,
    SUBJECT,
    VIRTUAL,
    VIRTUALS,
    Graph,
    Int32s,
    Int64s,
    Rows,
)
from heliograph.kernels.sizes import room as size

Column: TypeAlias = "npt.NDArray[Any] | Sequence[float]"


class FlatGraph:
    """A set of edges between term ids. `span` (in microseconds) and `last` (in updates) are its window, if any."""

    def __init__(self, span: int | None = None, last: int | None = None) -> None:
        self.arrays: Graph = room.empty_graph(timed=span is not None or last is not None)
        self.window = room.empty_window(span, last)
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
        from heliograph.kernels.evolution_bulk import find

        return int(find(self.arrays, subject, predicate, object))

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
        from heliograph.kernels.evolution_bulk import drop_all

        drop_all(self.arrays, _fixed(edges, np.int64))

    def enter_edges(self, subject: Column, predicate: Column, object: Column) -> Int64s:
        """The numbers of edges to wait for, there or not. Whoever waits says so in LINK before anything else is done.

        They keep their numbers until `leave_edges`.
        """
        from heliograph.kernels.evolution_bulk import enter_all

        s, p, o = (_fixed(column, np.int32) for column in (subject, predicate, object))
        self.reserve(edges=len(s))
        edges = np.empty(len(s), np.int64)
        row = 0
        while (row := enter_all(self.arrays, s, p, o, row, edges)) < len(edges):
            self.grow()
        return edges

    def leave_edges(self, edges: Int64s) -> None:
        """Nobody waits for these any more."""
        from heliograph.kernels.evolution_bulk import leave_all

        leave_all(self.arrays, _fixed(edges, np.int64))

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

        What is there already takes a weight that is given, and a later time if it has one.
        """
        from heliograph.kernels import evolution_bulk

        none = np.full(len(subject), NO_TIME)
        at = none if at is None else at
        known = none if seq is None else np.where(np.asarray(at) == NO_TIME, NO_TIME, seq)
        weight = np.full(len(subject), np.nan) if weight is None else weight
        self._add(Rows._make((subject, predicate, object, weight, at, known, none)))
        evolution_bulk.expire(self.arrays, self.window)

    def saved(self) -> Rows:
        """The edges in the order of their numbers; NaN and NO_TIME where something is not known."""
        edges, graph = self.edge_numbers(), self.arrays
        parts = (graph.edges[edges, part] for part in (SUBJECT, PREDICATE, OBJECT))
        weights = graph.weights[edges] if len(graph.weights) else np.full(len(edges), np.nan)
        times = graph.times[edges] if len(graph.times) else np.full((len(edges), 3), NO_TIME)
        return Rows._make((*parts, weights, *(times[:, part].copy() for part in (AT, SEQ, NUMBER))))

    def restore(self, rows: Rows) -> None:
        """Puts saved edges back exactly as they were, into a graph without edges; see `set_clocks` for the rest.

        An edge may have come too late for its window: it stays until the next update lets it go.
        """
        order = np.argsort(rows.number, kind="stable")  # promises by number are made in the order of numbers
        self.reserve(edges=len(order))
        self._add(Rows._make(column[order] for column in rows))

    def _add(self, rows: Rows) -> None:
        from heliograph.kernels import evolution_bulk

        fixed = Rows._make(_fixed(column, kind) for column, kind in zip(rows, _KINDS, strict=True))
        if not np.isnan(fixed.weight).all():
            self.keep_weights()
        if len(fixed.subject):
            self.cover(1 + max(int(fixed.subject.max()), int(fixed.object.max())))
        row = 0
        while (row := evolution_bulk.load(self.arrays, self.window, fixed, row)) < len(fixed.subject):
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
            while room.lacks_adjacency(self.arrays):
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
        more = size(edges + 1, 0)  # kernels ask for room before they know the need
        numbers = int(self.arrays.counters[EDGES]) + more
        if numbers > len(self.arrays.edges):
            self._resize_edges(numbers)
        if room.slots_for(numbers) > len(self.arrays.slots):
            self._resize_slots(room.slots_for(numbers))
        self.cover(vertices)

    def grow(self) -> None:
        """Makes room wherever there is none for another edge."""
        if room.lacks_edges(self.arrays):
            self._resize_edges(room.more(len(self.arrays.edges)))
        if room.lacks_slots(self.arrays):
            self._resize_slots(room.more(len(self.arrays.slots)))
        if self.has_adjacency and room.lacks_adjacency(self.arrays):
            if room.is_wasteful(self.arrays):
                self._list_runs()
            self._grow_runs()
        self.window = room.promising(self.window, 1)

    def _resize_edges(self, rows: int) -> None:
        columns = {name: getattr(self.arrays, name) for name in ("edges", "weights", "times", "places")}
        self.arrays = self.arrays._replace(
            **{name: room.enlarged(array, rows) for name, array in columns.items() if len(array)}
        )

    def _resize_slots(self, size: int) -> None:
        from heliograph.kernels.evolution_bulk import rehash_slots

        slots = np.zeros(size, np.int64)
        rehash_slots(self.arrays.slots, slots)
        self.arrays = self.arrays._replace(slots=slots)

    def _list_runs(self) -> None:
        """Lists the edges of each vertex anew, without what earlier edges left behind."""
        from heliograph.kernels.evolution_bulk import list_runs

        self.arrays = room.without_runs(self.arrays, self._vertices)
        edge = 0
        while (edge := list_runs(self.arrays, edge)) < self.arrays.counters[EDGES]:
            self._grow_runs()

    def _grow_runs(self) -> None:
        from heliograph.kernels.evolution_bulk import rehash_heads

        graph = self.arrays
        if room.lacks_runs(graph):
            graph = graph._replace(runs=room.enlarged(graph.runs, room.more(len(graph.runs), 8)))
        if room.lacks_heads(graph):
            room.check(room.more(len(graph.heads)))
            graph = graph._replace(heads=np.zeros(room.more(len(graph.heads)), np.int32))
            graph.counters[RUN_BITS] = len(graph.heads).bit_length()
            rehash_heads(graph, graph.heads)
        if room.lacks_places(graph):
            needed = int(graph.counters[POOL] + graph.counters[NEED])
            graph = graph._replace(pool=room.enlarged(graph.pool, max(room.more(len(graph.pool), 8), needed)))
        self.arrays = graph


_KINDS = (*[np.int32] * 3, np.float64, *[np.int64] * 3)


def _fixed(column: Any, kind: Any) -> Any:
    """As kernels take what they only read."""
    view = np.ascontiguousarray(column, kind).view()
    view.flags.writeable = False
    return view
