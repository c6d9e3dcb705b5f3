"""Many edges of an evolving graph at once, and what Python asks of single ones.

Whatever may need room works row by row and returns the row at which there was none: the caller makes room and goes on.
"""

from __future__ import annotations

from typing import Any

from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution import drop, enter, has_room, leave, put, runs_have_room
from heliograph.kernels.evolution_access import (
    find_edge,
    head_entry,
    home,
    is_present,
    prefetch_edge,
    prefetch_ends,
    prefetch_row,
    prefetch_runs,
    run_tag,
)
from heliograph.kernels.evolution_layout import (
    EDGE_COLUMNS,
    EDGES,
    KEY,
    OBJECT,
    PREDICATE,
    RUN_BITS,
    RUNS,
    SUBJECT,
    VERTEX,
    Graph,
    Int32s,
    Int64s,
    Rows,
    Stamp,
    Window,
)
from heliograph.kernels.evolution_runs import join_runs
from heliograph.kernels.evolution_types import GRAPH, NEW_INT32S, NEW_INT64S, ROWS, WINDOW
from heliograph.kernels.evolution_window import move, next_due, renew, settle_new, window_has_room
from heliograph.kernels.prefetching import prefetch
from heliograph.kernels.types import INT32S, INT64S

_AHEAD = 12  # rows; the memory of their slots is asked for that much earlier


@kernel((GRAPH, int64, int64, int64))
def find(graph: Graph, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of a present edge, or -1."""
    edge = find_edge(graph, subject, predicate, object)
    return edge if edge >= 0 and is_present(graph, edge) else -1


@kernel((GRAPH, WINDOW, ROWS, int64))
def load(graph: Graph, window: Window, rows: Rows, first: Any) -> Any:
    """Adds edges as rows say, or renews them; the row at which there was no room."""
    for row in range(first, len(rows.subject)):
        if not has_room(graph) or not window_has_room(window):
            return row
        _look_ahead(graph, rows, row)
        stamp = Stamp(rows.weight[row], rows.at[row], rows.seq[row], rows.number[row])
        move(window, stamp.at)
        edge = find_edge(graph, rows.subject[row], rows.predicate[row], rows.object[row])
        if edge >= 0 and is_present(graph, edge):
            renew(graph, window, edge, stamp)
        else:
            edge = put(graph, rows.subject[row], rows.predicate[row], rows.object[row])
            settle_new(graph, window, edge, stamp)
    return len(rows.subject)


@kernel(inline=True)
def _look_ahead(graph: Graph, rows: Rows, row: Any) -> None:
    """Asks for memory that later rows will need."""
    far, near, last = row + _AHEAD, row + _AHEAD // 2, len(rows.subject)
    if far < last:
        prefetch_edge(graph, rows.subject[far], rows.predicate[far], rows.object[far])
    if len(graph.runs) and far < last:
        prefetch_ends(graph, rows.subject[far], rows.predicate[far], rows.object[far])
    if near < last:
        prefetch_row(graph, rows.subject[near], rows.predicate[near], rows.object[near])
    if len(graph.runs) and near < last:
        prefetch_runs(graph, rows.subject[near], rows.predicate[near], rows.object[near])


@kernel((GRAPH, WINDOW))
def expire(graph: Graph, window: Window) -> None:
    """Takes away what is too old."""
    edge = next_due(window, graph)
    while edge >= 0:
        drop(graph, edge)
        edge = next_due(window, graph)


@kernel((GRAPH, INT32S, INT32S, INT32S, int64, NEW_INT64S))
def enter_all(graph: Graph, subject: Int32s, predicate: Int32s, object: Int32s, first: Any, edges: Int64s) -> Any:
    """The numbers of edges, entered as absent where they are not there; the row at which there was no room."""
    for row in range(first, len(subject)):
        if not has_room(graph):
            return row
        edges[row] = enter(graph, subject[row], predicate[row], object[row])
    return len(subject)


@kernel((GRAPH, INT64S))
def leave_all(graph: Graph, edges: Int64s) -> None:
    """Nobody waits for these edges any more."""
    for edge in edges:
        leave(graph, edge)


@kernel((GRAPH, INT64S))
def drop_all(graph: Graph, edges: Int64s) -> None:
    """Takes present edges away."""
    for row in range(len(edges)):
        _look_ahead_of(graph, edges, row)
        drop(graph, edges[row])


@kernel(inline=True)
def _look_ahead_of(graph: Graph, edges: Int64s, row: Any) -> None:
    """Asks for memory that edges which go later will need: their rows, then what those lead to."""
    far, near = row + 2 * _AHEAD, row + _AHEAD
    if far < len(edges):
        prefetch(graph.edges, edges[far] * EDGE_COLUMNS)
    if near < len(edges):
        ends = graph.edges[edges[near]]
        prefetch_edge(graph, ends[SUBJECT], ends[PREDICATE], ends[OBJECT])
        if len(graph.runs):
            prefetch(graph.places, edges[near] * 2)
            prefetch_ends(graph, ends[SUBJECT], ends[PREDICATE], ends[OBJECT])
            ends = graph.edges[edges[row + _AHEAD // 2]]
            prefetch_runs(graph, ends[SUBJECT], ends[PREDICATE], ends[OBJECT])


# --- arrays made anew -------------------------------------------------------------------------------------------


@kernel((GRAPH, int64))
def list_runs(graph: Graph, first: Any) -> Any:
    """Lists the present edges in the runs of their ends; the edge at which there was no room."""
    for edge in range(first, graph.counters[EDGES]):
        if not runs_have_room(graph):
            return edge
        far, near = min(edge + _AHEAD, len(graph.edges) - 1), min(edge + _AHEAD // 2, len(graph.edges) - 1)
        prefetch_ends(graph, graph.edges[far, SUBJECT], graph.edges[far, PREDICATE], graph.edges[far, OBJECT])
        prefetch_runs(graph, graph.edges[near, SUBJECT], graph.edges[near, PREDICATE], graph.edges[near, OBJECT])
        if is_present(graph, edge):
            join_runs(graph, edge)
    return graph.counters[EDGES]


@kernel((NEW_INT64S, NEW_INT64S))
def rehash_slots(old: Int64s, slots: Int64s) -> None:
    """Moves all entries over to a table of another size, in the order of both."""
    for entry in old:
        if entry:
            place = home(entry >> 32, len(slots))
            while slots[place]:
                place = place + 1 if place + 1 < len(slots) else 0
            slots[place] = entry


@kernel((GRAPH, NEW_INT32S))
def rehash_heads(graph: Graph, heads: Int32s) -> None:
    """Enters all runs into a table of another size."""
    for run in range(graph.counters[RUNS]):
        later = min(run + _AHEAD, graph.counters[RUNS] - 1)
        prefetch(heads, home(run_tag(graph.runs[later, VERTEX], graph.runs[later, KEY]), len(heads)))
        tag = run_tag(graph.runs[run, VERTEX], graph.runs[run, KEY])
        place = home(tag, len(heads))
        while heads[place]:
            place = place + 1 if place + 1 < len(heads) else 0
        heads[place] = head_entry(tag, run + 1, graph.counters[RUN_BITS])
