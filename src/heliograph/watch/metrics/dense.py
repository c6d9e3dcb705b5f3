"""`hg:dense(x)`: how dense the densest subgraph is that holds a vertex, within a factor of 2, from core numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import float64, int64

from heliograph.compiled.compile import kernel
from heliograph.compiled.growing import first_room
from heliograph.compiled.types import FLOATS, INT32S, NEW_FLOATS, NEW_INT8S, NEW_INT32S, NEW_INT64S, named, rows
from heliograph.watch.layout import Floats, Int8s, Int32s, Int64s
from heliograph.watch.metrics.density import Sayings
from heliograph.watch.metrics.simple_graph import (
    CAME,
    EVERY,
    INSTANCE,
    LENGTH,
    NEW_PAIR,
    SAID_COLUMNS,
    SILENT,
    STEP,
    WENT,
    Asked,
    Cuts,
    GrowingGraph,
    Log,
    Said,
    Simple,
    enlarged,
    fixed,
    fixed_log,
    more,
)
from heliograph.watch.metrics.simple_graph_kernels import (
    ASKED,
    INT32_ROWS,
    LOG,
    SIMPLE,
    add_edge,
    drop_edge,
    has_room,
    is_asked,
    is_told,
    list_length,
    list_start,
    passes_cut,
)
from heliograph.watch.metrics.thresholds import Cutting, Points

# ----------------------------------------------------------------------------------------------------------------------
# The arrays that say how dense the densest subgraphs around vertices are. Does not import Numba.
#
# The k-core C(k) is the largest set of vertices that have k neighbours each within it; cores are nested, and a
# vertex's *core number* is the largest k whose core holds it. All vertices stand in one order, by core number and
# then as some peeling would take them away: at most `core` neighbours of a vertex come later than it. That is the law
# that an edge can break, and where it is mended.
# ----------------------------------------------------------------------------------------------------------------------

FOLLOWING, PRECEDING = range(2)  # of links: 1 + a vertex of the same core number
FIRST, LAST = range(2)  # of ends: 1 + a vertex
VERTICES, EDGES = range(2)  # of sizes
LOW, HIGH, NEW_LOW, NEW_HIGH = range(4)  # of bounds: at the end of the last step, and of the one that is being told
BOUND_COLUMNS = 4

# of state: a vertex that waits to be looked at; one that may rise, or sinks; one that may not, and is to be put back
ASIDE, WAITS, CANDIDATE, EVICTED = range(4)

# of counters: LEVELS: 1 + the largest core number; QUEUE: vertices in the queue; RISING: vertices that
# are or were candidates; MOVED: vertices whose core number changed in this step; ROW: the next row of the log; SAID:
# sayings so far; TELLING: 1 if the row before ended a step that is not told yet; ALWAYS: 1 if somebody asks for every
# change; SEEN: values that were worked out
LEVELS, QUEUE, RISING, MOVED, ROW, SAID, TELLING, ALWAYS, SEEN = range(9)
COUNTERS = 9

GAP = 1 << 24  # between neighbouring labels at first: 2^38 vertices can be put before the first or behind the last one


class Cores(NamedTuple):
    """Everything changes. By vertex, and from `ends` on by core number."""

    core: Int32s
    later: Int32s  # neighbours later in the order
    level: Int32s  # neighbours whose core number is not smaller
    label: Int64s  # ascending along the vertices of one core number
    links: Int32s  # rows
    waiting: Int32s  # neighbours that may rise and come earlier
    state: Int8s
    queue: Int32s  # a heap by order, or what is looked at one by one
    rising: Int32s
    evicted: Int32s
    moved: Int32s
    is_moved: Int8s
    values: Floats  # as last told or looked at: on the same side of all cuts as now
    ends: Int32s  # rows
    sizes: Int64s  # rows: vertices of a core number; edges whose smaller core number it is
    bounds: Floats  # rows: between what the values of a core number lay at the end of the last step
    best: Floats  # the density of the densest core up to this one
    whole: Int64s  # rows VERTICES, EDGES of whole cores
    above: Int64s  # zeros: how many neighbours a vertex has of each larger core number, while its value is worked out
    is_open: Int8s  # whether a value of this core number may have passed a cut
    counters: Int64s


class Audience(NamedTuple):
    """Who asks for what."""

    asked: Asked
    cuts: Cuts  # one list of all points that anybody asks for
    watched: Int32s  # vertices that somebody asks for by themselves


# ----------------------------------------------------------------------------------------------------------------------
# Numba's types for core numbers and for who asks about them.
# ----------------------------------------------------------------------------------------------------------------------

_INT64_ROWS: Any = rows(int64, writable=True)
_FLOAT_ROWS: Any = rows(float64, writable=True)

CORES: Any = named(
    Cores,
    NEW_INT32S,  # core
    NEW_INT32S,  # later
    NEW_INT32S,  # level
    NEW_INT64S,  # label
    INT32_ROWS,  # links
    NEW_INT32S,  # waiting
    NEW_INT8S,  # state
    NEW_INT32S,  # queue
    NEW_INT32S,  # rising
    NEW_INT32S,  # evicted
    NEW_INT32S,  # moved
    NEW_INT8S,  # is_moved
    NEW_FLOATS,  # values
    INT32_ROWS,  # ends
    _INT64_ROWS,  # sizes
    _FLOAT_ROWS,  # bounds
    NEW_FLOATS,  # best
    _INT64_ROWS,  # whole
    NEW_INT64S,  # above
    NEW_INT8S,  # is_open
    NEW_INT64S,  # counters
)
AUDIENCE: Any = named(Audience, ASKED, named(Cuts, FLOATS, INT32S), INT32S)
SAYINGS: Any = named(Sayings, INT32_ROWS, NEW_FLOATS)


# ----------------------------------------------------------------------------------------------------------------------
# The order of vertices: a list for each core number, with labels that tell which of two comes earlier.
#
# Where two labels leave no number between them, those that follow are spread, as few as will do: the first j of them
# such that the next label is more than j * j away (Dietz and Sleator, STOC 1987). That costs O(log n) a vertex,
# amortised.
# ----------------------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def precedes(cores: Cores, one: Any, other: Any) -> Any:
    if cores.core[one] != cores.core[other]:
        return cores.core[one] < cores.core[other]
    return cores.label[one] < cores.label[other]


@kernel()
def put_first(cores: Cores, vertex: Any) -> None:
    """Before all others of its core number."""
    following = cores.ends[cores.core[vertex], FIRST]
    cores.label[vertex] = cores.label[following - 1] - GAP if following else 0
    _join(cores, vertex, 0, following)


@kernel()
def put_last(cores: Cores, vertex: Any) -> None:
    """Behind all others of its core number."""
    preceding = cores.ends[cores.core[vertex], LAST]
    cores.label[vertex] = cores.label[preceding - 1] + GAP if preceding else 0
    _join(cores, vertex, preceding, 0)


@kernel()
def put_behind(cores: Cores, place: Any, vertex: Any) -> None:
    """Right behind another one of its core number."""
    following = np.int64(cores.links[place, FOLLOWING])
    if following == 0:
        put_last(cores, vertex)
        return
    if cores.label[following - 1] - cores.label[place] < 2:
        _spread(cores, place)
    cores.label[vertex] = (cores.label[place] + cores.label[following - 1]) >> 1
    _join(cores, vertex, place + 1, following)


@kernel()
def _spread(cores: Cores, place: Any) -> None:
    """Spreads the labels that follow a vertex."""
    behind, end = np.int64(1), np.int64(cores.links[place, FOLLOWING])
    while end and cores.label[end - 1] - cores.label[place] <= behind * behind:
        behind += 1
        end = np.int64(cores.links[end - 1, FOLLOWING])
    step = (cores.label[end - 1] - cores.label[place]) // behind if end else np.int64(GAP)
    label, vertex = cores.label[place], np.int64(cores.links[place, FOLLOWING])
    while vertex != end:
        label += step
        cores.label[vertex - 1] = label
        vertex = np.int64(cores.links[vertex - 1, FOLLOWING])


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
def take_out(cores: Cores, vertex: Any) -> None:
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
def push_in_order(cores: Cores, vertex: Any) -> None:
    place = cores.counters[QUEUE]
    cores.counters[QUEUE] = place + 1
    while place > 0 and cores.label[vertex] < cores.label[cores.queue[(place - 1) >> 1]]:
        cores.queue[place] = cores.queue[(place - 1) >> 1]
        place = (place - 1) >> 1
    cores.queue[place] = vertex


@kernel()
def pop_in_order(cores: Cores) -> Any:
    """The earliest of those that wait. Labels may be spread meanwhile: their order stays."""
    earliest, size = np.int64(cores.queue[0]), cores.counters[QUEUE] - 1
    cores.counters[QUEUE] = size
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


# ----------------------------------------------------------------------------------------------------------------------
# Core numbers, kept as pairs of vertices come and go.
#
# A pair that comes can raise core numbers by one, of vertices with the smaller core number of its ends, K. Only where
# more than K neighbours come later than a vertex is there something to mend: it is a *candidate*, and those behind it
# are looked at in their order. One that cannot have more than K neighbours, candidates and later ones together,
# stays; the candidates that counted on it are evicted if they now have too few. What remains in the end has risen. A
# pair that goes lowers core numbers by one, of whoever has too few neighbours of no smaller core number left; that
# spreads.
#
# After Zhang, Yu, Zhang and Qin, A Fast Order-Based Approach for Core Maintenance (ICDE 2017), as simplified by Guo
# and Sekerinski (2022). The work is that of the vertices looked at, not of the core: in a graph where most vertices
# have one core number, others look at all of it.
# ----------------------------------------------------------------------------------------------------------------------


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


# ----------------------------------------------------------------------------------------------------------------------
# Core numbers and an order from scratch, for a graph that is there as a whole.
#
# Vertices are sorted by degree; the first one goes, and those of its neighbours that have more move one bin down, all
# in linear time (Batagelj and Zaversnik, 2003). The order in which they go is one that can be kept from then on.
# ----------------------------------------------------------------------------------------------------------------------


@kernel((SIMPLE, CORES, NEW_INT64S))
def peel(graph: Simple, cores: Cores, bins: Any) -> Any:
    """Finds core numbers, with `queue` the order and `rising` the places in it; the largest core number.

    `bins` are zeros, two more than the largest degree.
    """
    order, places = cores.queue, cores.rising
    _sort_by_degree(graph, cores, bins)
    for number in range(len(order)):
        vertex = order[number]
        start, end = neighbours(graph, vertex)
        for place in range(start, end):
            other = graph.undirected.pool[place]
            if cores.core[other] > cores.core[vertex]:
                first = bins[cores.core[other]]
                _swap(order, places, places[other], first)
                bins[cores.core[other]] = first + 1
                cores.core[other] -= 1
    return np.int64(cores.core[order[len(order) - 1]]) if len(order) else np.int64(0)


@kernel()
def _sort_by_degree(graph: Simple, cores: Cores, bins: Any) -> None:
    """Core numbers begin as degrees; bins[d] becomes the place of the first vertex of degree d."""
    for vertex in range(len(cores.core)):
        cores.core[vertex] = list_length(graph.undirected, vertex)
        bins[cores.core[vertex] + 1] += 1
    for degree in range(1, len(bins)):
        bins[degree] += bins[degree - 1]
    for vertex in range(len(cores.core)):
        place = bins[cores.core[vertex]]
        cores.queue[place], cores.rising[vertex] = vertex, place
        bins[cores.core[vertex]] = place + 1
    for degree in range(len(bins) - 1, 0, -1):
        bins[degree] = bins[degree - 1]
    bins[0] = 0


@kernel(inline=True)
def _swap(order: Any, places: Any, one: Any, other: Any) -> None:
    order[one], order[other] = order[other], order[one]
    places[order[one]], places[order[other]] = one, other


@kernel((SIMPLE, CORES, int64))
def take_order(graph: Simple, cores: Cores, largest: Any) -> None:
    """Lists vertices in the order of a peeling, and counts what is kept of them; lists and sizes are empty."""
    for number in range(len(cores.queue)):
        vertex = np.int64(cores.queue[number])
        put_last(cores, vertex)
        _count(graph, cores, vertex)
    cores.counters[LEVELS] = largest + 1


@kernel()
def _count(graph: Simple, cores: Cores, vertex: Any) -> None:
    cores.later[vertex] = cores.level[vertex] = 0
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        other = graph.undirected.pool[place]
        cores.later[vertex] += 1 if cores.rising[other] > cores.rising[vertex] else 0
        cores.level[vertex] += 1 if cores.core[other] >= cores.core[vertex] else 0
    cores.sizes[cores.core[vertex], VERTICES] += 1
    cores.sizes[cores.core[vertex], EDGES] += cores.later[vertex]


# ----------------------------------------------------------------------------------------------------------------------
# Values of hg:dense, and whose of them passed a cut at the end of a step.
#
# The value of a vertex x is the density of the best of C(k) and x together. For k up to x's core number that is the
# best of the first cores, the same for all of one core number c; for larger k it is (e + d) / (n + 1), where e and n
# are the edges and vertices of C(k) and d, at most c, counts the neighbours of x there. So all values of one core
# number lie between two bounds that depend on the cores alone. The gate: where no cut lies between the bounds before
# and after a step, nobody of that core number passed one, except those that came to it in the step, who are looked at
# anyway.
# ----------------------------------------------------------------------------------------------------------------------


@kernel()
def sum_up(cores: Cores) -> None:
    """Sizes of whole cores, and the best of them up to each."""
    levels = cores.counters[LEVELS]
    while levels > 1 and cores.sizes[levels - 1, VERTICES] == 0:
        levels -= 1
    cores.counters[LEVELS] = levels
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
def value_of(graph: Simple, cores: Cores, vertex: Any) -> Any:
    """The value of a vertex, cores being summed up."""
    core = cores.core[vertex]
    if core == 0:
        return 0.0
    start, end = neighbours(graph, vertex)
    for place in range(start, end):
        cores.above[cores.core[graph.undirected.pool[place]]] += 1
    value, joined = cores.best[core], np.int64(0)
    for larger in range(cores.counters[LEVELS] - 1, core, -1):
        joined += cores.above[larger]
        value = max(value, _with_one_more(cores, larger, joined))
    for place in range(start, end):
        cores.above[cores.core[graph.undirected.pool[place]]] = 0
    return value


@kernel()
def bound(cores: Cores) -> None:
    """Between what the values of each core number lie now, cores being summed up."""
    for core in range(1, cores.counters[LEVELS]):
        low = high = cores.best[core]
        for larger in range(core + 1, cores.counters[LEVELS]):
            low = max(low, _with_one_more(cores, larger, 0))
            high = max(high, _with_one_more(cores, larger, core))
        cores.bounds[core, NEW_LOW], cores.bounds[core, NEW_HIGH] = low, high


@kernel()
def end_step(cores: Cores) -> None:
    """Bounds are those of the last step, and nobody has moved since."""
    for core in range(1, cores.counters[LEVELS]):
        cores.bounds[core, LOW], cores.bounds[core, HIGH] = cores.bounds[core, NEW_LOW], cores.bounds[core, NEW_HIGH]
    for number in range(cores.counters[MOVED]):
        cores.is_moved[cores.moved[number]] = 0
    cores.counters[MOVED] = 0


# --- telling ----------------------------------------------------------------------------------------------------


@kernel()
def tell(graph: Simple, cores: Cores, step: Any, audience: Audience, said: Sayings) -> Any:
    """Looks at whoever may have passed a cut; whether there was room to tell. If not, it is called again: of whom it
    told, the value is the last one by then."""
    sum_up(cores)
    bound(cores)
    for number in range(cores.counters[MOVED]):
        if not _look(graph, cores, cores.moved[number], step, audience, said):
            return False
    if not _look_at_open(graph, cores, step, audience, said):
        return False
    end_step(cores)
    return True


@kernel()
def _look(graph: Simple, cores: Cores, vertex: Any, step: Any, audience: Audience, said: Sayings) -> Any:
    """Tells of a vertex if its value passed a cut; whether there was room."""
    if not is_asked(audience.asked, vertex):
        return True
    value, number = value_of(graph, cores, vertex), cores.counters[SAID]
    cores.counters[SEEN] += 1
    if is_told(audience.asked, vertex, cores.values[vertex], value):
        if number == len(said.rows):
            return False
        said.rows[number, STEP], said.rows[number, INSTANCE], said.values[number] = step, vertex, value
        cores.counters[SAID] = number + 1
    cores.values[vertex] = value
    return True


@kernel()
def _look_at_open(graph: Simple, cores: Cores, step: Any, audience: Audience, said: Sayings) -> Any:
    """Looks at all of the core numbers that the gate is open for: along their lists, or among those watched."""
    opened = _open(cores, audience)
    if audience.asked.everyone != SILENT:
        for core in range(1, cores.counters[LEVELS]):
            vertex = np.int64(cores.ends[core, FIRST]) if cores.is_open[core] else np.int64(0)
            while vertex:
                if not _look(graph, cores, vertex - 1, step, audience, said):
                    return False
                vertex = np.int64(cores.links[vertex - 1, FOLLOWING])
    elif opened:
        for vertex in audience.watched:
            if cores.is_open[cores.core[vertex]] and not _look(graph, cores, vertex, step, audience, said):
                return False
    return True


@kernel()
def _open(cores: Cores, audience: Audience) -> Any:
    """The gate, for each core number that vertices have; whether it is open for any."""
    opened, cuts = False, audience.cuts
    for core in range(1, cores.counters[LEVELS]):
        low = min(cores.bounds[core, LOW], cores.bounds[core, NEW_LOW])
        high = max(cores.bounds[core, HIGH], cores.bounds[core, NEW_HIGH])
        passes = passes_cut(cuts.points, cuts.firsts, 0, low, high)
        is_open = cores.sizes[core, VERTICES] > 0 and (passes or (cores.counters[ALWAYS] and low != high))
        cores.is_open[core] = 1 if is_open else 0
        opened = opened or is_open
    return opened


# ----------------------------------------------------------------------------------------------------------------------
# Follows a log with core numbers, and tells of the vertices whose hg:dense passed a cut at the end of a step.
# ----------------------------------------------------------------------------------------------------------------------


@kernel((SIMPLE, CORES, LOG, AUDIENCE, SAYINGS))
def follow(graph: Simple, cores: Cores, log: Log, audience: Audience, said: Sayings) -> Any:
    """Goes on with the rows of a log; whether they are done. If not, room is lacking."""
    counters = cores.counters
    while counters[TELLING] or counters[ROW] < len(log.step):
        if not counters[TELLING]:
            if not has_room(graph) or counters[LEVELS] >= len(cores.ends):
                return False
            _change(graph, cores, log, counters[ROW])
            counters[ROW] += 1
        counters[TELLING] = counters[ROW] == len(log.step) or log.step[counters[ROW]] != log.step[counters[ROW] - 1]
        if counters[TELLING]:
            if not _is_heard(audience):
                end_step(cores)
            elif not tell(graph, cores, log.step[counters[ROW] - 1], audience, said):
                return False
            counters[TELLING] = 0
    return True


@kernel(inline=True)
def _is_heard(audience: Audience) -> Any:
    return audience.asked.everyone != SILENT or len(audience.watched) > 0


@kernel()
def _change(graph: Simple, cores: Cores, log: Log, row: Any) -> None:
    one, other = log.subject[row], log.object[row]
    if log.change[row] == CAME:
        if add_edge(graph, one, other) & NEW_PAIR:
            join_pair(graph, cores, one, other)
    elif log.change[row] == WENT and drop_edge(graph, one, other) & NEW_PAIR:
        part_pair(graph, cores, one, other)


@kernel((CORES, int64))
def begin_vertices(cores: Cores, first: Any) -> None:
    """Vertices from a number on are there, without neighbours."""
    for vertex in range(first, len(cores.core)):
        put_last(cores, int64(vertex))
    cores.sizes[0, VERTICES] += len(cores.core) - first


@kernel((SIMPLE, CORES, int64, int64))
def look_at(graph: Simple, cores: Cores, first: Any, last: Any) -> None:
    """The values of vertices from one on and before another become those of now, and so do all bounds."""
    sum_up(cores)
    bound(cores)
    end_step(cores)
    for vertex in range(first, last):
        cores.values[vertex] = value_of(graph, cores, vertex)


# ----------------------------------------------------------------------------------------------------------------------
# Core numbers as their owner sees them: who makes room, and calls the kernels.
#
# Kernels change graph and core numbers for as long as they have room; then they return, more is made wherever it is
# short, and they go on where they stopped. Does not import Numba before a kernel is needed.
# ----------------------------------------------------------------------------------------------------------------------

_LEAST = 16  # core numbers, or sayings, of new arrays
_ENDS = Cores._fields.index("ends")
_BY_VERTEX, _BY_CORE = Cores._fields[:_ENDS], Cores._fields[_ENDS:-1]


class Coring:
    """A growing graph and the core numbers of its vertices."""

    def __init__(self) -> None:
        self.graph = GrowingGraph()
        self.arrays = _empty()
        self._sayings = Sayings(np.empty((first_room(_LEAST), SAID_COLUMNS), np.int32), np.empty(first_room(_LEAST)))
        self.cover(self.graph.vertices)

    @property
    def vertices(self) -> int:
        return len(self.arrays.core)

    @property
    def nbytes(self) -> int:
        return self.graph.nbytes + sum(array.nbytes for array in self.arrays)

    @property
    def seen(self) -> int:
        """How many values were worked out so far to find who passed a cut."""
        return int(self.arrays.counters[SEEN])

    def cover(self, vertices: int) -> None:
        """Makes ids below `vertices` valid."""

        self.graph.cover(vertices)
        before, rows = self.vertices, self.graph.vertices
        if rows > before:
            self.arrays = _enlarged(self.arrays, _BY_VERTEX, rows)
            begin_vertices(self.arrays, before)

    def take_over(self, log: Log) -> None:
        """Takes edges over, and finds core numbers from scratch."""

        self.graph.take_over(log)
        self.cover(self.graph.vertices)
        degrees = self.graph.arrays.undirected.heads[:, LENGTH]
        largest = peel(self.graph.arrays, self.arrays, np.zeros(int(degrees.max(initial=0)) + 2, np.int64))
        self._cover_levels(largest + 2)
        for array in (self.arrays.ends, self.arrays.sizes):
            array[:] = 0
        take_order(self.graph.arrays, self.arrays, largest)

    def refresh(self, first: int, last: int) -> None:
        """What the vertices from one on and before another have now counts as told."""

        self.cover(last)
        look_at(self.graph.arrays, self.arrays, first, last)

    def value(self, vertex: int) -> float:
        self.refresh(vertex, vertex + 1)
        return float(self.arrays.values[vertex])

    def follow(self, log: Log, audience: Audience) -> Said:
        """Takes changes over; what passed a cut."""

        log = fixed_log(log)
        if len(log.step):
            self.cover(1 + int(max(log.subject.max(), log.object.max())))
        counters = self.arrays.counters
        counters[[ROW, SAID]] = 0
        counters[ALWAYS] = audience.asked.everyone == EVERY or EVERY in audience.asked.numbers
        while not follow(self.graph.arrays, self.arrays, log, audience, self._sayings):
            self._grow()
        return self._said()

    def _said(self) -> Said:
        said = int(self.arrays.counters[SAID])
        rows = self._sayings.rows[:said]
        return Said(rows[:, STEP].copy(), rows[:, INSTANCE].copy(), self._sayings.values[:said].copy())

    # --- room -------------------------------------------------------------------------------------------------------

    def _grow(self) -> None:
        """Makes room wherever it might be short."""
        self.graph.grow()
        counters, sayings = self.arrays.counters, self._sayings
        self._cover_levels(int(counters[LEVELS]) + 1)
        if counters[SAID] == len(sayings.rows):
            rows = more(len(sayings.rows))
            self._sayings = Sayings(enlarged(sayings.rows, rows), enlarged(sayings.values, rows))

    def _cover_levels(self, levels: int) -> None:
        if levels > len(self.arrays.ends):
            self.arrays = _enlarged(self.arrays, _BY_CORE, more(levels))


def _enlarged(arrays: Cores, names: Iterable[str], rows: int) -> Cores:
    return arrays._replace(**{name: enlarged(getattr(arrays, name), rows) for name in names})


def _empty() -> Cores:
    """No vertices, and one core number, 0."""
    counters, rows = np.zeros(COUNTERS, np.int64), first_room(_LEAST)
    counters[LEVELS] = 1
    return Cores(
        core=np.zeros(0, np.int32),
        later=np.zeros(0, np.int32),
        level=np.zeros(0, np.int32),
        label=np.zeros(0, np.int64),
        links=np.zeros((0, 2), np.int32),
        waiting=np.zeros(0, np.int32),
        state=np.zeros(0, np.uint8),
        queue=np.zeros(0, np.int32),
        rising=np.zeros(0, np.int32),
        evicted=np.zeros(0, np.int32),
        moved=np.zeros(0, np.int32),
        is_moved=np.zeros(0, np.uint8),
        values=np.zeros(0),
        ends=np.zeros((rows, 2), np.int32),
        sizes=np.zeros((rows, 2), np.int64),
        bounds=np.zeros((rows, BOUND_COLUMNS)),
        best=np.zeros(rows),
        whole=np.zeros((rows, 2), np.int64),
        above=np.zeros(rows, np.int64),
        is_open=np.zeros(rows, np.uint8),
        counters=counters,
    )


# ----------------------------------------------------------------------------------------------------------------------
# hg:dense(x): how dense the densest subgraph is that holds a vertex, within a factor of 2.
#
# A subgraph is a set S of vertices that an edge touches, and its density e(S) / |S|, undirected simple edges over
# vertices. The optimum for x is the largest density of any S that holds x. It need not be connected, so the optimum
# of an outsider is that of some dense subgraph with x added to it: it comes near to that of the members, and does not
# reach it.
#
# What is found is the best of C(k) and x together, for any k, where the k-core C(k) is the largest set of vertices
# that have k neighbours each within it. It depends on the graph alone. The law: value ≤ optimum ≤ 2 × value. For let
# S be an optimum of density r > 0 and m the smallest whole number that is not below r. Whoever is in S, but for x,
# has at least r neighbours there, hence m: without it S would be denser.
#
# - If x has as many too, S lies within C(m), which holds x; and as all of C(m) have m neighbours in it, its density
#   is at
#   least m / 2.
# - If not, S without x is denser than S. Let T be the densest subgraph of that, of density t > r. All of T have at
#   least
#   t neighbours in T, so T lies within C(m). The n vertices of C(m) have m neighbours each, so it has at least
#   e(T) + (n - |T|) m / 2 ≥ (n + |T|) r / 2 edges: C(m) and x have a density of at least r / 2 × (n + |T|) / (n + 1).
#
# Core numbers are kept as edges come and go: see kernels.metric_dense_cores. Values change with every edge, for
# nearly everybody, and most of that passes no cut: see the gate in kernels.metric_dense_values.
# ----------------------------------------------------------------------------------------------------------------------

FACTOR = 2.0


class Dense:
    """The density of the densest subgraph found that holds a vertex. An instance is the vertex."""

    def __init__(self) -> None:
        self._coring = Coring()
        self._cutting = Cutting()
        self._audience: Audience | None = None

    def watch(self, vertices: Sequence[int], points: Points) -> int:
        (vertex,) = vertices
        self._coring.refresh(vertex, vertex + 1)
        self._cutting.watch(vertex, points)
        self._audience = None
        return vertex

    def unwatch(self, instance: int, points: Points) -> None:
        self._cutting.unwatch(instance, points)
        self._audience = None

    def watch_all(self, points: Points) -> None:
        self._coring.refresh(0, self._coring.vertices)
        self._cutting.watch_all(points)
        self._audience = None

    def unwatch_all(self, points: Points) -> None:
        self._cutting.unwatch_all(points)
        self._audience = None

    def follow(self, log: Log) -> Said:
        return self._coring.follow(log, self._heard())

    def value(self, instance: int) -> float:
        return self._coring.value(instance)

    def evidence(self, instance: int, value: float) -> Mapping[str, Any]:
        """Between what the optimum lies."""
        return {"interval": [value, FACTOR * value]}

    def saved(self) -> Mapping[str, npt.NDArray[Any]]:
        return {}

    def restore(self, log: Log, saved: Mapping[str, npt.NDArray[Any]]) -> None:
        self._coring.take_over(log)
        self._coring.refresh(0, self._coring.vertices)

    def _heard(self) -> Audience:
        """Who asks for what, put together when somebody came or went."""
        if self._audience is None:
            asked = self._cutting.asked()
            points = np.unique(asked.points)
            cuts = Cuts(fixed(points, np.float64), fixed([0, len(points)], np.int32))
            self._audience = Audience(asked, cuts, fixed(list(self._cutting.instances()), np.int32))
        return self._audience
