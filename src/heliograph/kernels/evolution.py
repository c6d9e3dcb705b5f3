"""Changing an evolving graph, one edge at a time.

The laws: what `put` adds `drop` takes away, and the graph is as it was; an edge keeps its number for as long as it is
there or somebody waits for it. An entry that goes leaves no gap in the way of a search: those behind it that may stand
nearer to their homes move up (backward-shift deletion), so that no table ever fills up with traces of what was there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import NUMBER as _NUMBER
from heliograph.kernels.evolution_access import edge_tag, home, slot_of
from heliograph.kernels.evolution_layout import (
    AT,
    EDGE_COLUMNS,
    EDGES,
    FREE_EDGE,
    FULL,
    LINK,
    LIVE,
    NEED,
    NO_TIME,
    NUMBER,
    OBJECT,
    PARTS,
    POOL,
    PREDICATE,
    PRESENT,
    RUNS,
    SEQ,
    SUBJECT,
    TAKEN,
    Graph,
)
from heliograph.kernels.evolution_runs import join_runs, quit_runs
from heliograph.kernels.prefetching import prefetch


@kernel(inline=True)
def has_room(graph: Graph) -> Any:
    """Whether one more edge can be put or entered, whatever it is."""
    counters = graph.counters
    return (
        (counters[FREE_EDGE] != 0 or counters[EDGES] < len(graph.edges))
        and (counters[TAKEN] + 1) * PARTS <= len(graph.slots) * FULL
        and (len(graph.runs) == 0 or runs_have_room(graph))
    )


@kernel(inline=True)
def runs_have_room(graph: Graph) -> Any:
    """Whether one more edge can be listed with its ends."""
    runs = graph.counters[RUNS] + 2
    return (
        runs <= len(graph.runs)
        and runs * PARTS <= len(graph.heads) * FULL
        and graph.counters[POOL] + graph.counters[NEED] <= len(graph.pool)
    )


@kernel()
def put(graph: Graph, subject: Any, predicate: Any, object: Any) -> Any:
    """Adds an edge that is not present, without a weight or times; its number. Needs room."""
    edge = enter(graph, subject, predicate, object)
    graph.edges[edge, LINK] |= PRESENT
    graph.counters[LIVE] += 1
    if len(graph.weights):
        graph.weights[edge] = np.nan
    if len(graph.times):
        graph.times[edge, AT] = graph.times[edge, SEQ] = graph.times[edge, NUMBER] = NO_TIME
    if len(graph.runs):
        join_runs(graph, edge)
    return edge


@kernel()
def drop(graph: Graph, edge: Any) -> None:
    """Takes a present edge away; its number is free, unless somebody waits for it."""
    if len(graph.runs):
        quit_runs(graph, edge)
    graph.edges[edge, LINK] &= ~PRESENT
    graph.counters[LIVE] -= 1
    if graph.edges[edge, LINK] == 0:
        _forget(graph, edge)


@kernel()
def enter(graph: Graph, subject: Any, predicate: Any, object: Any) -> Any:
    """The number of an edge; one that is not there is entered as absent, for somebody to wait for. Needs room."""
    tag = edge_tag(subject, predicate, object)
    place = slot_of(graph, tag, subject, predicate, object)
    if graph.slots[place] == 0:
        edge = _number(graph)
        graph.slots[place] = (tag << 32) | (edge + 1)
        graph.counters[TAKEN] += 1
        graph.edges[edge, SUBJECT], graph.edges[edge, OBJECT] = subject, object
        graph.edges[edge, PREDICATE], graph.edges[edge, LINK] = predicate, 0
    return (graph.slots[place] & _NUMBER) - 1


@kernel()
def leave(graph: Graph, edge: Any) -> None:
    """Nobody waits for an edge any more: if it is absent, its entry goes."""
    graph.edges[edge, LINK] &= PRESENT
    if graph.edges[edge, LINK] == 0:
        _forget(graph, edge)


@kernel()
def _number(graph: Graph) -> Any:
    """A number that no edge has."""
    edge = graph.counters[FREE_EDGE] - 1
    if edge >= 0:
        following = np.int64(graph.edges[edge, SUBJECT])
        graph.counters[FREE_EDGE] = following
        if following:  # it lies anywhere: by the time it is needed it will have come
            prefetch(graph.edges, (following - 1) * EDGE_COLUMNS)
        return edge
    edge = graph.counters[EDGES]
    graph.counters[EDGES] = edge + 1
    return edge


@kernel()
def _forget(graph: Graph, edge: Any) -> None:
    """Takes an absent edge out of the slots and its number back."""
    slots = graph.slots
    place = home(
        edge_tag(graph.edges[edge, SUBJECT], graph.edges[edge, PREDICATE], graph.edges[edge, OBJECT]), len(slots)
    )
    while (slots[place] & _NUMBER) - 1 != edge:
        place = place + 1 if place + 1 < len(slots) else 0
    _vacate(slots, place)
    graph.counters[TAKEN] -= 1
    graph.edges[edge, SUBJECT] = graph.counters[FREE_EDGE]
    graph.counters[FREE_EDGE] = edge + 1


@kernel()
def _vacate(slots: Any, hole: Any) -> None:
    place = hole
    while True:
        place = place + 1 if place + 1 < len(slots) else 0
        if slots[place] == 0:
            break
        wanted = home(slots[place] >> 32, len(slots))
        if _distance(slots, wanted, place) >= _distance(slots, hole, place):  # the hole lies on its way from home
            slots[hole] = slots[place]
            hole = place
    slots[hole] = 0


@kernel(inline=True)
def _distance(slots: Any, start: Any, place: Any) -> Any:
    """Steps from one slot to another."""
    return place - start if place >= start else place - start + len(slots)
