"""Follows a log with core numbers, and tells of the vertices whose hg:dense passed a cut at the end of a step."""

from __future__ import annotations

from typing import Any

from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_dense_cores import join_pair, part_pair
from heliograph.kernels.metric_dense_layout import LEVELS, ROW, TELLING, VERTICES, Audience, Cores
from heliograph.kernels.metric_dense_order import put_last
from heliograph.kernels.metric_dense_types import AUDIENCE, CORES, SAYINGS
from heliograph.kernels.metric_dense_values import bound, end_step, sum_up, tell, value_of
from heliograph.kernels.metric_density_layout import Sayings
from heliograph.kernels.metric_layout import CAME, SILENT, WENT, Log
from heliograph.kernels.simple_graph import add_edge, drop_edge, has_room
from heliograph.kernels.simple_graph_layout import NEW_PAIR, Simple
from heliograph.kernels.simple_graph_types import LOG, SIMPLE


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
