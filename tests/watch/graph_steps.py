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
    graph_at,
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
)
from heliograph.watch.layout import Stamp


@njit
def accept(address: int, at: Any) -> None:
    """An update comes: what it makes too old goes."""
    graph = graph_at(address)
    tick(graph, at)
    edge = next_due(graph)
    while edge >= 0:
        drop(graph, edge)
        edge = next_due(graph)


@njit
def add(address: int, edge: Any, stamp: Stamp) -> Any:
    """Adds an edge or renews it; False if there is no room."""
    graph = graph_at(address)
    if not has_room(graph):
        return False
    subject, predicate, object = edge
    prefetch_edge(graph, subject, predicate, object)
    prefetch_row(graph, subject, predicate, object)
    found = find_edge(graph, subject, predicate, object)
    if found >= 0 and is_present(graph, found):
        renew(graph, found, stamp)
    else:
        stamp_new(graph, put(graph, subject, predicate, object), stamp)
    return True


@njit
def read_run(address: int, vertex: Any, key: Any, found: Any) -> Any:
    """Writes (neighbour, edge) of a run; how many, -1 if an edge in it is not present."""
    graph = graph_at(address)
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
def count_runs(address: int, vertex: Any) -> Any:
    """How many runs a vertex has, and how many edges stand in them."""
    graph = graph_at(address)
    runs, edges, run = 0, 0, first_run(graph, vertex)
    while run >= 0:
        runs, edges = runs + 1, edges + run_length(graph, run)
        run = next_run(graph, run)
    return runs, edges
