"""Ways into the kernels of the evolving graph that only tests need: compiled when a test first calls them."""

from __future__ import annotations

from typing import Any

from numba import njit

from heliograph.watch.graph_kernels import (
    drop,
    edge_at,
    find_edge,
    find_run,
    first_run,
    has_room,
    is_present,
    neighbour,
    next_due,
    next_run,
    prefetch_edge,
    prefetch_ends,
    prefetch_row,
    prefetch_runs,
    put,
    renew,
    run_length,
    stamp_new,
    tick,
    window_has_room,
)
from heliograph.watch.layout import GraphArrays, Stamp, WindowArrays


@njit
def accept(graph: GraphArrays, window: WindowArrays, at: Any) -> None:
    """An update comes: what it makes too old goes."""
    tick(window, at)
    edge = next_due(window, graph)
    while edge >= 0:
        drop(graph, edge)
        edge = next_due(window, graph)


@njit
def add(graph: GraphArrays, window: WindowArrays, edge: Any, stamp: Stamp) -> Any:
    """Adds an edge or renews it; False if there is no room."""
    if not has_room(graph) or not window_has_room(window):
        return False
    subject, predicate, object = edge
    prefetch_edge(graph, subject, predicate, object)
    prefetch_row(graph, subject, predicate, object)
    found = find_edge(graph, subject, predicate, object)
    if found >= 0 and is_present(graph, found):
        renew(graph, window, found, stamp)
    else:
        stamp_new(graph, window, put(graph, subject, predicate, object), stamp)
    return True


@njit
def read_run(graph: GraphArrays, vertex: Any, key: Any, found: Any) -> Any:
    """Writes (neighbour, edge) of a run; how many, -1 if an edge in it is not present."""
    if len(graph.runs):
        prefetch_ends(graph, vertex, key >> 1, vertex)
        prefetch_runs(graph, vertex, key >> 1, vertex)
    run = find_run(graph, vertex, key)
    for place in range(run_length(graph, run)):
        found[place, 0], found[place, 1] = neighbour(graph, run, place), edge_at(graph, run, place)
        if not is_present(graph, found[place, 1]):
            return -1
    return run_length(graph, run)


@njit
def count_runs(graph: GraphArrays, vertex: Any) -> Any:
    """How many runs a vertex has, and how many edges stand in them."""
    runs, edges, run = 0, 0, first_run(graph, vertex)
    while run >= 0:
        runs, edges = runs + 1, edges + run_length(graph, run)
        run = next_run(graph, run)
    return runs, edges
