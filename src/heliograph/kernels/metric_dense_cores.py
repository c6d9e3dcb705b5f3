"""Core numbers, kept as pairs of vertices come and go.

A pair that comes can raise core numbers by one, of vertices with the smaller core number of its ends, K. Only where
more than K neighbours come later than a vertex is there something to mend: it is a *candidate*, and those behind it are
looked at in their order. One that cannot have more than K neighbours, candidates and later ones together, stays; the
candidates that counted on it are evicted if they now have too few. What remains in the end has risen. A pair that goes
lowers core numbers by one, of whoever has too few neighbours of no smaller core number left; that spreads.

After Zhang, Yu, Zhang and Qin, A Fast Order-Based Approach for Core Maintenance (ICDE 2017), as simplified by Guo and
Sekerinski (2022). The work is that of the vertices looked at, not of the core: in a graph where most vertices have one
core number, others look at all of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_dense_layout import (
    ASIDE,
    CANDIDATE,
    EDGES,
    EVICTED,
    LEVELS,
    MOVED,
    QUEUE,
    RISING,
    VERTICES,
    WAITS,
    Cores,
)
from heliograph.kernels.metric_dense_order import (
    pop_in_order,
    precedes,
    push_in_order,
    put_behind,
    put_first,
    put_last,
    take_out,
)
from heliograph.kernels.simple_graph_layout import Simple
from heliograph.kernels.simple_graph_lists import list_length, list_start


@kernel(inline=True)
def neighbours(graph: Simple, vertex: Any) -> Any:
    """Where the list of a vertex's neighbours begins and ends."""
    start = list_start(graph.undirected, vertex)
    return start, start + list_length(graph.undirected, vertex)


# --- a pair comes -----------------------------------------------------------------------------------------------


@kernel()
def join_pair(graph: Simple, cores: Cores, one: Any, other: Any) -> None:
    """A pair has come; there is room for another core number."""
    if precedes(cores, other, one):
        one, other = other, one
    core = np.int64(cores.core[one])
    cores.sizes[core, EDGES] += 1
    cores.later[one] += 1
    cores.level[one] += 1
    if cores.core[other] == core:
        cores.level[other] += 1
    if cores.later[one] > core:
        _raise_from(graph, cores, one, core)


@kernel()
def _raise_from(graph: Simple, cores: Cores, vertex: Any, core: Any) -> None:
    cores.counters[RISING] = 0
    push_in_order(cores, vertex)
    while cores.counters[QUEUE]:
        vertex = pop_in_order(cores)
        cores.state[vertex] = ASIDE
        if cores.waiting[vertex] + cores.later[vertex] > core:
            _consider(graph, cores, vertex, core)
        elif cores.waiting[vertex] > 0:
            _keep_back(graph, cores, vertex, core)
    _rise(graph, cores, core)


@kernel()
def _consider(graph: Simple, cores: Cores, vertex: Any, core: Any) -> None:
    """A vertex may rise: those that come later are to be looked at."""
    cores.state[vertex] = CANDIDATE
    cores.rising[cores.counters[RISING]] = vertex
    cores.counters[RISING] += 1
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        other = graph.undirected.pool[place]
        if cores.core[other] == core and cores.label[vertex] < cores.label[other]:
            cores.waiting[other] += 1
            if cores.state[other] == ASIDE:
                cores.state[other] = WAITS
                push_in_order(cores, other)


@kernel()
def _keep_back(graph: Simple, cores: Cores, vertex: Any, core: Any) -> None:
    """A vertex stays: it comes before all candidates from now on, and those evicted by that come right behind it."""
    evicted = _disappoint(graph, cores, vertex, core, np.int64(0))
    cores.later[vertex] += cores.waiting[vertex]
    cores.waiting[vertex] = 0
    number = np.int64(0)
    while number < evicted:
        loser = np.int64(cores.evicted[number])
        evicted = _leave_candidates(graph, cores, loser, core, evicted)
        take_out(cores, loser)
        put_behind(cores, vertex, loser)
        cores.later[loser] += cores.waiting[loser]
        cores.waiting[loser] = 0
        vertex = loser
        number += 1


@kernel()
def _disappoint(graph: Simple, cores: Cores, vertex: Any, core: Any, evicted: Any) -> Any:
    """Candidates do not come before a vertex any more; how many are evicted with those that were before."""
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        other = graph.undirected.pool[place]
        if cores.state[other] >= CANDIDATE and precedes(cores, other, vertex):
            cores.later[other] -= 1
            evicted = _evict(cores, other, core, evicted)
    return evicted


@kernel(inline=True)
def _evict(cores: Cores, vertex: Any, core: Any, evicted: Any) -> Any:
    """Evicts a candidate if it has too few neighbours."""
    if cores.state[vertex] == CANDIDATE and cores.waiting[vertex] + cores.later[vertex] <= core:
        cores.state[vertex] = EVICTED
        cores.evicted[evicted] = vertex
        evicted += 1
    return evicted


@kernel()
def _leave_candidates(graph: Simple, cores: Cores, vertex: Any, core: Any, evicted: Any) -> Any:
    """One that is evicted: nobody counts on it any more."""
    cores.state[vertex] = ASIDE
    evicted = _disappoint(graph, cores, vertex, core, evicted)
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        other = graph.undirected.pool[place]
        if cores.waiting[other] > 0 and cores.core[other] == core and cores.label[vertex] < cores.label[other]:
            cores.waiting[other] -= 1
            evicted = _evict(cores, other, core, evicted)
    return evicted


@kernel()
def _rise(graph: Simple, cores: Cores, core: Any) -> None:
    """The candidates that are left have a core number more; they come before all others of it, in their order."""
    for number in range(cores.counters[RISING] - 1, -1, -1):
        vertex = np.int64(cores.rising[number])
        if cores.state[vertex] == CANDIDATE:
            take_out(cores, vertex)
            cores.core[vertex] = core + 1
            put_first(cores, vertex)
            cores.waiting[vertex] = 0
            _note_move(cores, vertex, core, core + 1)
    for number in range(cores.counters[RISING]):
        if cores.state[cores.rising[number]] == CANDIDATE:
            _level_up(graph, cores, np.int64(cores.rising[number]), core + 1)
    for number in range(cores.counters[RISING]):
        cores.state[cores.rising[number]] = ASIDE


@kernel()
def _level_up(graph: Simple, cores: Cores, vertex: Any, core: Any) -> None:
    """Counts the neighbours of one that rose, and its edges among higher cores; of two that rose, one counts both."""
    start, end = neighbours(graph, vertex)
    cores.level[vertex] = 0
    for place in range(start, end):
        other = graph.undirected.pool[place]
        if cores.core[other] < core:
            continue
        cores.level[vertex] += 1
        has_risen = cores.state[other] == CANDIDATE
        if cores.core[other] == core and not has_risen:
            cores.level[other] += 1
        if not has_risen or vertex < other:
            cores.sizes[core - 1, EDGES] -= 1
            cores.sizes[core, EDGES] += 1


@kernel()
def _note_move(cores: Cores, vertex: Any, before: Any, after: Any) -> None:
    cores.sizes[before, VERTICES] -= 1
    cores.sizes[after, VERTICES] += 1
    cores.counters[LEVELS] = max(cores.counters[LEVELS], after + 1)
    if not cores.is_moved[vertex]:
        cores.is_moved[vertex] = 1
        cores.moved[cores.counters[MOVED]] = vertex
        cores.counters[MOVED] += 1


# --- a pair goes ------------------------------------------------------------------------------------------------


@kernel()
def part_pair(graph: Simple, cores: Cores, one: Any, other: Any) -> None:
    """A pair has gone."""
    if precedes(cores, other, one):
        one, other = other, one
    core = np.int64(cores.core[one])
    cores.sizes[core, EDGES] -= 1
    cores.later[one] -= 1
    _lose(cores, one, core)
    if cores.core[other] == core:
        _lose(cores, other, core)
    if cores.counters[QUEUE]:
        _sink(graph, cores, core)


@kernel(inline=True)
def _lose(cores: Cores, vertex: Any, core: Any) -> None:
    """A vertex has one neighbour less of no smaller core number; with too few it waits to sink."""
    cores.level[vertex] -= 1
    if cores.level[vertex] < core and cores.state[vertex] == ASIDE:
        cores.state[vertex] = CANDIDATE
        cores.queue[cores.counters[QUEUE]] = vertex
        cores.counters[QUEUE] += 1


@kernel()
def _sink(graph: Simple, cores: Cores, core: Any) -> None:
    number = 0
    while number < cores.counters[QUEUE]:
        start, end = neighbours(graph, cores.queue[number])
        for place in range(start, end):
            if cores.core[graph.undirected.pool[place]] == core:
                _lose(cores, graph.undirected.pool[place], core)
        number += 1
    for number in range(cores.counters[QUEUE]):
        _put_below(graph, cores, np.int64(cores.queue[number]), core)
    for number in range(cores.counters[QUEUE]):
        _level_down(graph, cores, np.int64(cores.queue[number]), core - 1)
    for number in range(cores.counters[QUEUE]):
        cores.state[cores.queue[number]] = ASIDE
    cores.counters[QUEUE] = 0


@kernel()
def _put_below(graph: Simple, cores: Cores, vertex: Any, core: Any) -> None:
    """One that sinks comes behind all of the core number below, and so before all that kept theirs."""
    later = 0
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        other = graph.undirected.pool[place]
        if cores.core[other] >= core:
            later += 1
            if cores.core[other] == core and cores.label[other] < cores.label[vertex]:
                cores.later[other] -= 1
    take_out(cores, vertex)
    cores.core[vertex], cores.later[vertex] = core - 1, later
    put_last(cores, vertex)
    _note_move(cores, vertex, core, core - 1)


@kernel()
def _level_down(graph: Simple, cores: Cores, vertex: Any, core: Any) -> None:
    """Counts the neighbours of one that sank, and its edges that were among higher cores."""
    start, end = neighbours(graph, vertex)
    cores.level[vertex] = 0
    for place in range(start, end):
        other = graph.undirected.pool[place]
        if cores.core[other] < core:
            continue
        cores.level[vertex] += 1
        has_sunk = cores.state[other] == CANDIDATE
        if (cores.core[other] > core and not has_sunk) or (has_sunk and vertex < other):
            cores.sizes[core + 1, EDGES] -= 1
            cores.sizes[core, EDGES] += 1
