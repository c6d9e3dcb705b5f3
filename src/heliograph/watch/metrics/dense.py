"""`hg:dense(x)`: how dense the densest subgraph is that holds a vertex, within a factor of 2, from core numbers.

A subgraph is a set S of vertices that an edge touches, and its density e(S) / |S|, undirected simple edges over
vertices. The optimum for x is the largest density of any S that holds x. It need not be connected, so the optimum of an
outsider is that of some dense subgraph with x added to it: it comes near to that of the members, and does not reach it.

What is found is the best of C(k) and x together, for any k, where the k-core C(k) is the largest set of vertices that
have k neighbours each within it. It depends on the graph alone. The law: value ≤ optimum ≤ 2 × value. For let S be an
optimum of density r > 0 and m the smallest whole number that is not below r. Each vertex in S, but for x, has at least
r neighbours there, hence m: without it S would be denser.

- If x has as many too, S lies within C(m), which holds x; and as all of C(m) have m neighbours in it, its density is at
  least m / 2.
- If not, S without x is denser than S. Let T be the densest subgraph of that, of density t > r. All of T have at least
  t neighbours in T, so T lies within C(m). The n vertices of C(m) have m neighbours each, so it has at least
  e(T) + (n - |T|) m / 2 ≥ (n + |T|) r / 2 edges: C(m) and x have a density of at least r / 2 × (n + |T|) / (n + 1).

Cores are nested, and a vertex's *core number* is the largest k whose core holds it. All vertices stand in one order, by
core number and then as some peeling would take them away: at most `core` neighbours of a vertex come later than it.
That is the law that an edge can break, and where it is mended. Values change with every edge, for nearly every vertex,
and most of that passes no threshold: a gate lets through only those that may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba import float64, int32, int64, uint8

from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.records import ADDRESS, Struct, array, number, part, run, view, wanted
from heliograph.watch.layout import Floats, Int8s, Int32s, Int64s
from heliograph.watch.metrics.simple_graph import (
    ASKED,
    LENGTH,
    LOG,
    NEW_PAIR,
    MetricReport,
    SimpleGraph,
    add_edge,
    below,
    can_report,
    drop_edge,
    has_room,
    is_asked,
    is_reported,
    list_length,
    list_start,
    report_at,
    write_report,
)
from heliograph.watch.metrics.thresholds import (
    CAME,
    EVERY,
    NO_THRESHOLDS,
    SILENT,
    WENT,
    Log,
    Measure,
    Points,
    Reported,
    Saved,
    ThresholdLists,
    fixed_log,
)

FOLLOWING, PRECEDING = range(2)  # of links: 1 + a vertex of the same core number
FIRST, LAST = range(2)  # of ends: 1 + a vertex
VERTICES, EDGES = range(2)  # of sizes
LOW, HIGH, NEW_LOW, NEW_HIGH = range(4)  # of bounds: at the end of the last step, and of the one that is being reported
ASIDE, WAITS, CANDIDATE, EVICTED = range(4)  # of state: WAITS to be looked at; CANDIDATE may rise, or sinks; EVICTED
# may not, and is to be put back
FOLLOW, BEGIN_ANEW, BEGIN_VERTICES, LOOK = range(4)  # operations
GAP = 1 << 24  # between neighbouring labels at first: 2^38 vertices can be put before the first or behind the last one
_LEAST = 16  # core numbers of new arrays


class Cores(Struct):
    """A growing graph and the core numbers of its vertices."""

    graph: SimpleGraph = part(SimpleGraph)
    core: Int32s = array(int32, "vertex")
    later: Int32s = array(int32, "vertex")  # neighbours later in the order
    level: Int32s = array(int32, "vertex")  # neighbours whose core number is not smaller
    label: Int64s = array(int64, "vertex")  # ascending along the vertices of one core number
    links: Int32s = array(int32, "vertex", 2)
    waiting: Int32s = array(int32, "vertex")  # neighbours that may rise and come earlier
    state: Int8s = array(uint8, "vertex")
    queue: Int32s = array(int32, "vertex")  # a heap by order, or what is looked at one by one
    queued: int = number()
    rising: Int32s = array(int32, "vertex")  # vertices that are or were candidates
    risen: int = number()
    evicted: Int32s = array(int32, "vertex")
    moved: Int32s = array(int32, "vertex")  # vertices whose core number changed in this step
    moves: int = number()
    is_moved: Int8s = array(uint8, "vertex")
    values: Floats = array(float64, "vertex")  # as last seen: on the same side of all thresholds as now
    levels: int = number(1)  # 1 + the largest core number
    levels_wanted: int = wanted("level")
    ends: Int32s = array(int32, "level", 2)
    sizes: Int64s = array(int64, "level", 2)  # vertices of a core number; edges whose smaller core number it is
    bounds: Floats = array(float64, "level", 4)  # between what the values of a core number lie
    best: Floats = array(float64, "level")  # the density of the densest core up to this one
    whole: Int64s = array(int64, "level", 2)  # VERTICES, EDGES of whole cores
    above: Int64s = array(int64, "level")  # zeros: neighbours of each larger core number, while a value is worked out
    is_open: Int8s = array(uint8, "level")  # whether a value of this core number may have passed a threshold
    is_reporting: int = number()  # 1 if the row before ended a step that is not reported yet
    seen: int = number()  # values that were worked out to find which passed a threshold
    points: Floats = array(float64, "point")  # all thresholds that anybody asks for, ascending
    watched: Int32s = array(int32, "watched")  # vertices that somebody asks for by themselves
    always: int = number()  # 1 if somebody asks for every change
    bins: Int64s = array(int64, "bin")  # by degree, while core numbers are found from scratch

    def __init__(self) -> None:
        super().__init__({"graph": SimpleGraph()}, level=first_room(_LEAST))
        self._report = MetricReport()
        self.cover()

    def _run(self, op: int, first: int = 0, last: int = 0) -> None:
        run(keep_cores, op, self, _NO_LOG, NO_THRESHOLDS, self._report, first, last)

    def cover(self) -> None:
        """Makes room for all vertices of the graph."""
        before, rows = len(self.core), self.graph.vertices
        if rows > before:
            self.resize("vertex", rows)
            self._run(BEGIN_VERTICES, before)

    def take_over(self, log: Log) -> None:
        """Takes edges over, and finds core numbers from scratch."""
        self.graph.take_over(log)
        self.cover()
        self.bins = np.zeros(int(self.graph.undirected.heads[:, LENGTH].max(initial=0)) + 2, np.int64)
        self._run(BEGIN_ANEW)

    def look(self, first: int, last: int) -> None:
        """What the vertices from one on and before another have now counts as reported."""
        self.graph.cover(last)
        self.cover()
        self._run(LOOK, first, last)

    def follow(self, log: Log, asked: ThresholdLists) -> Reported:
        """Takes changes over; what passed a threshold."""
        log = fixed_log(log)
        self.graph.cover_log(log)
        self.cover()
        run(keep_cores, FOLLOW, self, log, asked, self._report.begin(), 0, 0)
        return self._report.reported()


cores_at = view(Cores)
_NO_LOG = Log.empty()


# --- the order of vertices -------------------------------------------------------------------------------------------
#
# A list for each core number, with labels that say which of two vertices comes earlier. Where two labels leave no
# number between them, those that follow are spread, as few as will do: the first j of them such that the next label is
# more than j * j away (Dietz and Sleator, STOC 1987). That costs O(log n) a vertex, amortised.


@kernel(inline=True)
def _precedes(cores: Cores, one: Any, other: Any) -> Any:
    if cores.core[one] != cores.core[other]:
        return cores.core[one] < cores.core[other]
    return cores.label[one] < cores.label[other]


@kernel()
def _put_last(cores: Cores, vertex: Any) -> None:
    """Behind all others of its core number."""
    preceding, nobody = np.int64(cores.ends[cores.core[vertex], LAST]), np.int64(0)
    cores.label[vertex] = cores.label[preceding - 1] + GAP if preceding else 0
    _join(cores, vertex, preceding, nobody)


@kernel()
def _put_behind(cores: Cores, place: Any, vertex: Any) -> None:
    """Right behind another one of its core number."""
    following = np.int64(cores.links[place, FOLLOWING])
    if following == 0:
        _put_last(cores, vertex)
        return
    if cores.label[following - 1] - cores.label[place] < 2:  # the labels that follow are spread
        behind, end = np.int64(1), following
        while end and cores.label[end - 1] - cores.label[place] <= behind * behind:
            behind += 1
            end = np.int64(cores.links[end - 1, FOLLOWING])
        step = (cores.label[end - 1] - cores.label[place]) // behind if end else np.int64(GAP)
        label, other = cores.label[place], following
        while other != end:
            label += step
            cores.label[other - 1] = label
            other = np.int64(cores.links[other - 1, FOLLOWING])
    cores.label[vertex] = (cores.label[place] + cores.label[following - 1]) >> 1
    _join(cores, vertex, place + 1, following)


@kernel(inline=True)
def _join(cores: Cores, vertex: Any, preceding: Any, following: Any) -> None:
    """Stands between two, each 1 + a vertex, or 0 at an end."""
    core = cores.core[vertex]
    cores.links[vertex, PRECEDING], cores.links[vertex, FOLLOWING] = preceding, following
    if preceding:
        cores.links[preceding - 1, FOLLOWING] = vertex + 1
    else:
        cores.ends[core, FIRST] = vertex + 1
    if following:
        cores.links[following - 1, PRECEDING] = vertex + 1
    else:
        cores.ends[core, LAST] = vertex + 1


@kernel()
def _take_out(cores: Cores, vertex: Any) -> None:
    core, preceding, following = cores.core[vertex], cores.links[vertex, PRECEDING], cores.links[vertex, FOLLOWING]
    if preceding:
        cores.links[preceding - 1, FOLLOWING] = following
    else:
        cores.ends[core, FIRST] = following
    if following:
        cores.links[following - 1, PRECEDING] = preceding
    else:
        cores.ends[core, LAST] = preceding


# --- a heap of vertices of one core number ----------------------------------------------------------------------


@kernel()
def _push_in_order(cores: Cores, vertex: Any) -> None:
    place = cores.queued
    cores.queued = place + 1
    while place > 0 and cores.label[vertex] < cores.label[cores.queue[(place - 1) >> 1]]:
        cores.queue[place] = cores.queue[(place - 1) >> 1]
        place = (place - 1) >> 1
    cores.queue[place] = vertex


@kernel()
def _pop_in_order(cores: Cores) -> Any:
    """The earliest of those that wait. Labels may be spread meanwhile: their order stays."""
    earliest, size = np.int64(cores.queue[0]), cores.queued - 1
    cores.queued = size
    vertex, place, child = cores.queue[size], np.int64(0), np.int64(1)
    while child < size:
        if child + 1 < size and cores.label[cores.queue[child + 1]] < cores.label[cores.queue[child]]:
            child += 1
        if cores.label[vertex] <= cores.label[cores.queue[child]]:
            break
        cores.queue[place] = cores.queue[child]
        place, child = child, 2 * child + 1
    cores.queue[place] = vertex
    return earliest


# --- core numbers ----------------------------------------------------------------------------------------------------
#
# A pair that comes can raise core numbers by one, of vertices with the smaller core number of its ends, K. Only where
# more than K neighbours come later than a vertex is there something to mend: it is a *candidate*, and those behind it
# are looked at in their order. One that cannot have more than K neighbours, candidates and later ones together,
# stays; the candidates that counted on it are evicted if they now have too few. What remains in the end has risen. A
# pair that goes lowers core numbers by one, of vertices with too few neighbours of no smaller core number left; that
# spreads.
#
# After Zhang, Yu, Zhang and Qin, A Fast Order-Based Approach for Core Maintenance (ICDE 2017), as simplified by Guo
# and Sekerinski (2022). The work is that of the vertices looked at, not of the core: in a graph where most vertices
# have one core number, others look at all of it.


@kernel(inline=True)
def neighbours(graph: SimpleGraph, vertex: Any) -> Any:
    """Where the list of a vertex's neighbours begins and ends."""
    start = list_start(graph.undirected, vertex)
    return start, start + list_length(graph.undirected, vertex)


# --- a pair comes -----------------------------------------------------------------------------------------------


@kernel()
def _join_pair(graph: SimpleGraph, cores: Cores, one: Any, other: Any) -> None:
    """A pair has come; there is room for another core number."""
    if _precedes(cores, other, one):
        one, other = other, one
    core = np.int64(cores.core[one])
    cores.sizes[core, EDGES] += 1
    cores.later[one] += 1
    cores.level[one] += 1
    if cores.core[other] == core:
        cores.level[other] += 1
    if cores.later[one] <= core:
        return
    cores.risen = 0
    _push_in_order(cores, one)
    while cores.queued:
        vertex = _pop_in_order(cores)
        cores.state[vertex] = ASIDE
        if cores.waiting[vertex] + cores.later[vertex] > core:
            _consider(graph, cores, vertex, core)
        elif cores.waiting[vertex] > 0:
            _keep_back(graph, cores, vertex, core)
    _rise(graph, cores, core)


@kernel()
def _consider(graph: SimpleGraph, cores: Cores, vertex: Any, core: Any) -> None:
    """A vertex may rise: those that come later are to be looked at."""
    cores.state[vertex] = CANDIDATE
    cores.rising[cores.risen] = vertex
    cores.risen += 1
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        other = graph.undirected.pool[place]
        if cores.core[other] == core and cores.label[vertex] < cores.label[other]:
            cores.waiting[other] += 1
            if cores.state[other] == ASIDE:
                cores.state[other] = WAITS
                _push_in_order(cores, other)


@kernel()
def _keep_back(graph: SimpleGraph, cores: Cores, vertex: Any, core: Any) -> None:
    """A vertex stays: it comes before all candidates from now on, and those evicted by that come right behind it."""
    evicted = _disappoint(graph, cores, vertex, core, np.int64(0))
    cores.later[vertex] += cores.waiting[vertex]
    cores.waiting[vertex] = 0
    at = np.int64(0)
    while at < evicted:
        loser = np.int64(cores.evicted[at])
        cores.state[loser] = ASIDE
        evicted = _disappoint(graph, cores, loser, core, evicted)
        start, end = neighbours(graph, loser)
        for place in range(start, end):  # nothing counts on it any more
            other = graph.undirected.pool[place]
            if cores.waiting[other] > 0 and cores.core[other] == core and cores.label[loser] < cores.label[other]:
                cores.waiting[other] -= 1
                evicted = _evict(cores, other, core, evicted)
        _take_out(cores, loser)
        _put_behind(cores, vertex, loser)
        cores.later[loser] += cores.waiting[loser]
        cores.waiting[loser] = 0
        vertex = loser
        at += 1


@kernel()
def _disappoint(graph: SimpleGraph, cores: Cores, vertex: Any, core: Any, evicted: Any) -> Any:
    """Candidates do not come before a vertex any more; how many are evicted with those that were before."""
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        other = graph.undirected.pool[place]
        if cores.state[other] >= CANDIDATE and _precedes(cores, other, vertex):
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
def _rise(graph: SimpleGraph, cores: Cores, core: Any) -> None:
    """The candidates that are left have a core number more; they come before all others of it, in their order."""
    for at in range(cores.risen - 1, -1, -1):
        vertex = np.int64(cores.rising[at])
        if cores.state[vertex] == CANDIDATE:
            _take_out(cores, vertex)
            cores.core[vertex] = core + 1
            preceding, following = np.int64(0), np.int64(cores.ends[core + 1, FIRST])
            cores.label[vertex] = cores.label[following - 1] - GAP if following else 0
            _join(cores, vertex, preceding, following)
            cores.waiting[vertex] = 0
            _note_move(cores, vertex, core, core + 1)
    for at in range(cores.risen):
        if cores.state[cores.rising[at]] == CANDIDATE:
            _level_up(graph, cores, np.int64(cores.rising[at]), core + 1)
    for at in range(cores.risen):
        cores.state[cores.rising[at]] = ASIDE


@kernel()
def _level_up(graph: SimpleGraph, cores: Cores, vertex: Any, core: Any) -> None:
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
    cores.levels = max(cores.levels, after + 1)
    if not cores.is_moved[vertex]:
        cores.is_moved[vertex] = 1
        cores.moved[cores.moves] = vertex
        cores.moves += 1


# --- a pair goes ------------------------------------------------------------------------------------------------


@kernel()
def _part_pair(graph: SimpleGraph, cores: Cores, one: Any, other: Any) -> None:
    """A pair has gone."""
    if _precedes(cores, other, one):
        one, other = other, one
    core = np.int64(cores.core[one])
    cores.sizes[core, EDGES] -= 1
    cores.later[one] -= 1
    _lose(cores, one, core)
    if cores.core[other] == core:
        _lose(cores, other, core)
    at = 0
    while at < cores.queued:
        start, end = neighbours(graph, cores.queue[at])
        for place in range(start, end):
            if cores.core[graph.undirected.pool[place]] == core:
                _lose(cores, graph.undirected.pool[place], core)
        at += 1
    for at in range(cores.queued):
        _put_below(graph, cores, np.int64(cores.queue[at]), core)
    for at in range(cores.queued):
        _level_down(graph, cores, np.int64(cores.queue[at]), core - 1)
    for at in range(cores.queued):
        cores.state[cores.queue[at]] = ASIDE
    cores.queued = 0


@kernel(inline=True)
def _lose(cores: Cores, vertex: Any, core: Any) -> None:
    """A vertex has one neighbour less of no smaller core number; with too few it waits to sink."""
    cores.level[vertex] -= 1
    if cores.level[vertex] < core and cores.state[vertex] == ASIDE:
        cores.state[vertex] = CANDIDATE
        cores.queue[cores.queued] = vertex
        cores.queued += 1


@kernel()
def _put_below(graph: SimpleGraph, cores: Cores, vertex: Any, core: Any) -> None:
    """One that sinks comes behind all of the core number below, and so before all that kept theirs."""
    later = 0
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        other = graph.undirected.pool[place]
        if cores.core[other] >= core:
            later += 1
            if cores.core[other] == core and cores.label[other] < cores.label[vertex]:
                cores.later[other] -= 1
    _take_out(cores, vertex)
    cores.core[vertex], cores.later[vertex] = core - 1, later
    _put_last(cores, vertex)
    _note_move(cores, vertex, core, core - 1)


@kernel()
def _level_down(graph: SimpleGraph, cores: Cores, vertex: Any, core: Any) -> None:
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


# --- from scratch ----------------------------------------------------------------------------------------------------
#
# Vertices are sorted by degree; the first one goes, and those of its neighbours that have more move one bin down, all
# in linear time (Batagelj and Zaversnik, 2003). The order in which they go is one that can be kept from then on.


@kernel()
def _peel(graph: SimpleGraph, cores: Cores) -> Any:
    """Finds core numbers, with `queue` the order and `rising` the places in it; the largest core number.

    Core numbers begin as degrees, and bins[d] is the place of the first vertex of degree d.
    """
    order, places, bins, core = cores.queue, cores.rising, cores.bins, cores.core
    bins[:] = 0
    for vertex in range(len(core)):
        core[vertex] = list_length(graph.undirected, vertex)
        bins[core[vertex] + 1] += 1
    for degree in range(1, len(bins)):
        bins[degree] += bins[degree - 1]
    for vertex in range(len(core)):
        place = bins[core[vertex]]
        order[place], places[vertex] = vertex, place
        bins[core[vertex]] = place + 1
    for degree in range(len(bins) - 1, 0, -1):
        bins[degree] = bins[degree - 1]
    bins[0] = 0
    for at in range(len(order)):
        vertex = order[at]
        start, end = neighbours(graph, vertex)
        for place in range(start, end):
            other = graph.undirected.pool[place]
            if core[other] > core[vertex]:
                first, old = bins[core[other]], places[other]
                order[old], order[first] = order[first], order[old]
                places[order[old]], places[order[first]] = old, first
                bins[core[other]] = first + 1
                core[other] -= 1
    return np.int64(core[order[len(order) - 1]]) if len(order) else np.int64(0)


@kernel()
def _begin_anew(graph: SimpleGraph, cores: Cores) -> Any:
    """Finds core numbers and lists vertices in the order of a peeling; whether there was room."""
    largest = _peel(graph, cores)
    cores.levels_wanted = largest + 2
    if cores.levels_wanted > len(cores.ends):
        return False
    cores.ends[:], cores.sizes[:] = 0, 0
    for at in range(len(cores.queue)):
        vertex = np.int64(cores.queue[at])
        _put_last(cores, vertex)
        cores.later[vertex] = cores.level[vertex] = 0
        start, end = neighbours(graph, vertex)
        for place in range(start, end):
            other = graph.undirected.pool[place]
            cores.later[vertex] += 1 if cores.rising[other] > cores.rising[vertex] else 0
            cores.level[vertex] += 1 if cores.core[other] >= cores.core[vertex] else 0
        cores.sizes[cores.core[vertex], VERTICES] += 1
        cores.sizes[cores.core[vertex], EDGES] += cores.later[vertex]
    cores.levels = largest + 1
    return True


# --- values and the gate ---------------------------------------------------------------------------------------------
#
# The value of a vertex x is the density of the best of C(k) and x together. For k up to x's core number that is the
# best of the first cores, the same for all of one core number c; for larger k it is (e + d) / (n + 1), where e and n
# are the edges and vertices of C(k) and d, at most c, counts the neighbours of x there. So all values of one core
# number lie between two bounds that depend on the cores alone. The gate: where no threshold lies between the bounds
# before and after a step, no vertex of that core number passed one, except those that came to it in the step, which
# are looked at anyway.


@kernel()
def _sum_up(cores: Cores) -> None:
    """Sizes of whole cores, and the best of them up to each."""
    levels = cores.levels
    while levels > 1 and cores.sizes[levels - 1, VERTICES] == 0:
        levels -= 1
    cores.levels = levels
    vertices = edges = np.int64(0)
    for core in range(levels - 1, 0, -1):
        vertices += cores.sizes[core, VERTICES]
        edges += cores.sizes[core, EDGES]
        cores.whole[core, VERTICES], cores.whole[core, EDGES] = vertices, edges
    cores.best[0] = 0.0
    for core in range(1, levels):
        density = cores.whole[core, EDGES] / cores.whole[core, VERTICES]
        cores.best[core] = max(cores.best[core - 1], density)


@kernel(inline=True)
def _with_one_more(cores: Cores, core: Any, edges: Any) -> Any:
    """The density of a core and a vertex outside that so many edges join to it."""
    return (cores.whole[core, EDGES] + edges) / (cores.whole[core, VERTICES] + 1)


@kernel()
def _value_of(graph: SimpleGraph, cores: Cores, vertex: Any) -> Any:
    """The value of a vertex, cores being summed up."""
    core = cores.core[vertex]
    if core == 0:
        return 0.0
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        cores.above[cores.core[graph.undirected.pool[place]]] += 1
    value, joined = cores.best[core], np.int64(0)
    for larger in range(cores.levels - 1, core, -1):
        joined += cores.above[larger]
        value = max(value, _with_one_more(cores, larger, joined))
    for place in range(start, end):
        cores.above[cores.core[graph.undirected.pool[place]]] = 0
    return value


@kernel()
def _bound(cores: Cores) -> None:
    """Between what the values of each core number lie now, cores being summed up."""
    for core in range(1, cores.levels):
        low = high = cores.best[core]
        for larger in range(core + 1, cores.levels):
            low = max(low, _with_one_more(cores, larger, 0))
            high = max(high, _with_one_more(cores, larger, core))
        cores.bounds[core, NEW_LOW], cores.bounds[core, NEW_HIGH] = low, high


@kernel()
def _end_step(cores: Cores) -> None:
    """Bounds are those of the last step, and nobody has moved since."""
    for core in range(1, cores.levels):
        cores.bounds[core, LOW], cores.bounds[core, HIGH] = cores.bounds[core, NEW_LOW], cores.bounds[core, NEW_HIGH]
    for at in range(cores.moves):
        cores.is_moved[cores.moved[at]] = 0
    cores.moves = 0


# --- reporting --------------------------------------------------------------------------------------------------


@kernel()
def _report_step(graph: SimpleGraph, cores: Cores, step: Any, asked: ThresholdLists, report: MetricReport) -> Any:
    """Looks at each vertex that may have passed a threshold; whether there was room to report. If not, it is called
    again: of a vertex that was reported, the value is the last one by then."""
    _sum_up(cores)
    _bound(cores)
    for at in range(cores.moves):
        if not _look(graph, cores, np.int64(cores.moved[at]), step, asked, report):
            return False
    opened = _open_gates(cores)
    if asked.everyone != SILENT:
        for core in range(1, cores.levels):
            vertex = np.int64(cores.ends[core, FIRST]) if cores.is_open[core] else np.int64(0)
            while vertex:
                if not _look(graph, cores, vertex - 1, step, asked, report):
                    return False
                vertex = np.int64(cores.links[vertex - 1, FOLLOWING])
    elif opened:
        for at in range(len(cores.watched)):
            vertex = np.int64(cores.watched[at])
            if cores.is_open[cores.core[vertex]] and not _look(graph, cores, vertex, step, asked, report):
                return False
    _end_step(cores)
    return True


@kernel()
def _look(graph: SimpleGraph, cores: Cores, vertex: Any, step: Any, asked: ThresholdLists, report: MetricReport) -> Any:
    """Reports a vertex if its value passed a threshold; whether there was room."""
    if not is_asked(asked, vertex):
        return True
    value = _value_of(graph, cores, vertex)
    cores.seen += 1
    if is_reported(asked, vertex, cores.values[vertex], value):
        if not can_report(report, 1):
            return False
        write_report(report, step, vertex, value)
    cores.values[vertex] = value
    return True


@kernel()
def _open_gates(cores: Cores) -> Any:
    """The gate, for each core number that vertices have; whether it is open for any."""
    opened, points, last = False, cores.points, len(cores.points)
    for core in range(1, cores.levels):
        low = min(cores.bounds[core, LOW], cores.bounds[core, NEW_LOW])
        high = max(cores.bounds[core, HIGH], cores.bounds[core, NEW_HIGH])
        passed = low != high and (cores.always != 0 or below(points, 0, last, low) != below(points, 0, last, high))
        is_open = cores.sizes[core, VERTICES] > 0 and passed
        cores.is_open[core] = 1 if is_open else 0
        opened = opened or is_open
    return opened


# --- what Python calls ------------------------------------------------------------------------------------------


@kernel((int64, ADDRESS, LOG, ASKED, ADDRESS, int64, int64))
def keep_cores(
    op: Any, address: Any, log: Log, asked: ThresholdLists, report_address: Any, first: Any, last: Any
) -> Any:
    """One of the operations; whether it is done. If not, room is lacking."""
    cores, report = cores_at(address), report_at(report_address)
    graph = cores.graph
    if op == FOLLOW:
        return _follow(graph, cores, log, asked, report)
    if op == BEGIN_ANEW:
        return _begin_anew(graph, cores)
    if op == BEGIN_VERTICES:  # those from a number on are there, without neighbours
        for vertex in range(first, len(cores.core)):
            _put_last(cores, np.int64(vertex))
        cores.sizes[0, VERTICES] += len(cores.core) - first
    if op == LOOK:  # the values of vertices from one on and before another become those of now, and so do all bounds
        _sum_up(cores)
        _bound(cores)
        _end_step(cores)
        for vertex in range(first, last):
            cores.values[vertex] = _value_of(graph, cores, vertex)
    return True


@kernel()
def _follow(graph: SimpleGraph, cores: Cores, log: Log, asked: ThresholdLists, report: MetricReport) -> Any:
    """Goes on with the rows of a log; whether they are done."""
    while cores.is_reporting or report.row < len(log.step):
        if not cores.is_reporting:
            cores.levels_wanted = cores.levels + 1
            if not has_room(graph) or cores.levels_wanted > len(cores.ends):
                return False
            row = report.row
            one, other = np.int64(log.subject[row]), np.int64(log.object[row])
            if log.change[row] == CAME:
                if add_edge(graph, one, other) & NEW_PAIR:
                    _join_pair(graph, cores, one, other)
            elif log.change[row] == WENT and drop_edge(graph, one, other) & NEW_PAIR:
                _part_pair(graph, cores, one, other)
            report.row = row + 1
        row = report.row
        cores.is_reporting = row == len(log.step) or log.step[row] != log.step[row - 1]
        if cores.is_reporting:
            if asked.everyone == SILENT and len(cores.watched) == 0:
                _end_step(cores)
            elif not _report_step(graph, cores, log.step[row - 1], asked, report):
                return False
            cores.is_reporting = 0
    return True


# --- the measure ------------------------------------------------------------------------------------------------

FACTOR = 2.0


class Dense(Measure):
    """The density of the densest subgraph found that holds a vertex. An instance is the vertex."""

    def __init__(self) -> None:
        super().__init__()
        self._cores = Cores()
        self._known: ThresholdLists | None = None  # the thresholds that the cores were given

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        (vertex,) = vertices
        self._cores.look(vertex, vertex + 1)
        return super().watch(vertices, points)

    def watch_all(self, points: Points) -> None:
        self._cores.look(0, len(self._cores.core))
        super().watch_all(points)

    def follow(self, log: Log) -> Reported:
        asked = self.thresholds.asked()
        if asked is not self._known:
            self._known, cores = asked, self._cores
            cores.points = np.unique(asked.points)
            cores.watched = np.array(list(self.thresholds.instances()), np.int32)
            cores.always = asked.everyone == EVERY or EVERY in asked.numbers
        return self._cores.follow(log, asked)

    def value(self, instance: int) -> float:
        self._cores.look(instance, instance + 1)
        return float(self._cores.values[instance])

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """Between what the optimum lies."""
        return {"interval": [value, FACTOR * value]}

    def restore(self, log: Log, saved: Saved) -> None:
        self._cores.take_over(log)
        self._cores.look(0, len(self._cores.core))
