"""The arrays that say how dense the densest subgraphs around vertices are. Does not import Numba.

The k-core C(k) is the largest set of vertices that have k neighbours each within it; cores are nested, and a vertex's
*core number* is the largest k whose core holds it. All vertices stand in one order, by core number and then as some
peeling would take them away: at most `core` neighbours of a vertex come later than it. That is the law that an edge can
break, and where it is mended.
"""

from __future__ import annotations

from typing import NamedTuple

from heliograph.kernels.evolution_layout import Floats, Int8s, Int32s, Int64s
from heliograph.kernels.metric_layout import Cuts
from heliograph.kernels.simple_graph_layout import Asked

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
