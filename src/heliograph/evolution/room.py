"""Arrays for an evolving graph: empty ones, larger ones, and how much of them is in use.

The law: numbers of edges and the order of rows outlive every growth. Arrays grow by a quarter, and the lists of runs
by an eighth: what is copied again and again costs less than the memory, compared with what an edge costs anyway. What
was never written to takes no memory but addresses.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from heliograph.errors import PublicationError
from heliograph.kernels.evolution_layout import (
    CLASSES,
    CLOCK,
    CLOCKS,
    COUNTERS,
    EDGE_COLUMNS,
    EDGES,
    FREE_EDGE,
    FULL,
    HEAP,
    IDLE,
    LAST,
    LIVE,
    MOST_ROWS,
    NEED,
    NO_TIME,
    PARTS,
    POOL,
    QUEUE,
    QUEUE_FIRST,
    RUN_BITS,
    RUN_COLUMNS,
    RUNS,
    SIZES,
    SPAN,
    TAKEN,
    VACANT,
    VIRTUAL,
    VIRTUALS,
    Graph,
    Int64s,
    Window,
)
from heliograph.kernels.sizes import room

LEAST = 8  # rows of a new array
_NEED = 6  # places for two blocks of two, one after a gap
_TIMES = 3
_ARRAY = TypeVar("_ARRAY", bound="npt.NDArray[Any]")


def empty_graph(timed: bool) -> Graph:
    """A graph without edges: without adjacency, without weights, and with times if they matter."""
    counters = np.zeros(COUNTERS, np.int64)
    counters[NEED], counters[VIRTUAL] = _NEED, -VIRTUALS  # no ids are virtual
    return Graph(
        slots=np.zeros(slots_for(room(LEAST)), np.int64),
        edges=np.empty((room(LEAST), EDGE_COLUMNS), np.int32),
        places=np.empty((0, 2), np.int32),
        heads=np.empty(0, np.int32),
        runs=np.empty((0, RUN_COLUMNS), np.int32),
        first=np.empty(0, np.int32),
        pool=np.empty((0, 2), np.int32),
        free=np.zeros(SIZES, np.int64),
        weights=np.empty(0),
        times=np.empty((room(LEAST) if timed else 0, _TIMES), np.int64),
        counters=counters,
    )


def without_runs(graph: Graph, vertices: int) -> Graph:
    """The same edges, listed nowhere, with about as much room as lists of them will need."""
    edges, counters = int(graph.counters[LIVE]), graph.counters.copy()
    counters[[RUNS, POOL, CLASSES, IDLE, VACANT]] = 0
    counters[NEED] = _NEED
    rows = edges + room(LEAST)
    heads = slots_for(rows)
    counters[RUN_BITS] = heads.bit_length()
    return graph._replace(
        places=np.empty((len(graph.edges), 2), np.int32),
        heads=np.zeros(heads, np.int32),
        runs=np.empty((rows, RUN_COLUMNS), np.int32),
        first=np.zeros(vertices, np.int32),
        pool=np.empty((rows, 2), np.int32),
        free=np.zeros(SIZES, np.int64),
        counters=counters,
    )


def empty_window(span: int | None, last: int | None) -> Window:
    clocks = np.zeros(CLOCKS, np.int64)
    clocks[SPAN], clocks[LAST], clocks[CLOCK] = span or 0, last or 0, NO_TIME
    return Window(np.empty((0, 3), np.int64), np.empty((0, 2), np.int64), clocks)


def more(rows: int, share: int = 4) -> int:
    return room(rows + rows // share + LEAST, rows + 1)


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


# --- what is short ----------------------------------------------------------------------------------------------


def lacks_edges(graph: Graph) -> bool:
    return bool(graph.counters[FREE_EDGE] == 0 and graph.counters[EDGES] >= len(graph.edges))


def lacks_slots(graph: Graph) -> bool:
    return bool(slots_for(int(graph.counters[TAKEN]) + 1) > len(graph.slots))


def lacks_runs(graph: Graph) -> bool:
    return bool(graph.counters[RUNS] + 2 > len(graph.runs))


def lacks_heads(graph: Graph) -> bool:
    return bool(slots_for(int(graph.counters[RUNS]) + 2) > len(graph.heads))


def lacks_places(graph: Graph) -> bool:
    return bool(graph.counters[POOL] + graph.counters[NEED] > len(graph.pool))


def lacks_adjacency(graph: Graph) -> bool:
    return lacks_runs(graph) or lacks_heads(graph) or lacks_places(graph)


def is_wasteful(graph: Graph) -> bool:
    """Whether most runs are empty, or most places in the pool are free: then the runs are better listed anew."""
    counters = graph.counters
    return bool(2 * counters[IDLE] > counters[RUNS] or 2 * counters[VACANT] > counters[POOL])


# --- the window -------------------------------------------------------------------------------------------------


def promising(window: Window, promises: int) -> Window:
    """A window with room for so many more promises; a ring begins anew at the beginning of a larger array."""
    heap, queue, clocks = window
    if clocks[SPAN] and len(heap) < clocks[HEAP] + promises:
        heap = enlarged(heap, max(more(len(heap)), int(clocks[HEAP]) + promises))
    if clocks[LAST] and len(queue) < clocks[QUEUE] + promises:
        queue = _unrolled(queue, clocks, int(clocks[QUEUE]) + promises)
        clocks[QUEUE_FIRST] = 0
    return Window(heap, queue, clocks)


def _unrolled(queue: Int64s, clocks: Int64s, rows: int) -> Int64s:
    larger = np.empty((1 << (max(rows, room(LEAST)) - 1).bit_length(), 2), np.int64)
    larger[: len(queue)] = np.roll(queue, -int(clocks[QUEUE_FIRST]), axis=0)
    return larger
