"""Values of hg:dense, and whose of them passed a cut at the end of a step.

The value of a vertex x is the density of the best of C(k) and x together. For k up to x's core number that is the best
of the first cores, the same for all of one core number c; for larger k it is (e + d) / (n + 1), where e and n are the
edges and vertices of C(k) and d, at most c, counts the neighbours of x there. So all values of one core number lie
between two bounds that depend on the cores alone. The gate: where no cut lies between the bounds before and after a
step, nobody of that core number passed one, except those that came to it in the step, who are looked at anyway.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_cuts import passes_cut
from heliograph.kernels.metric_dense_cores import neighbours
from heliograph.kernels.metric_dense_layout import (
    ALWAYS,
    EDGES,
    FIRST,
    FOLLOWING,
    HIGH,
    LEVELS,
    LOW,
    MOVED,
    NEW_HIGH,
    NEW_LOW,
    SAID,
    SEEN,
    VERTICES,
    Audience,
    Cores,
)
from heliograph.kernels.metric_density_layout import Sayings
from heliograph.kernels.metric_layout import INSTANCE, SILENT, STEP
from heliograph.kernels.simple_graph_asked import is_asked, is_told
from heliograph.kernels.simple_graph_layout import Simple


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
