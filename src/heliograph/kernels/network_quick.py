"""Updates where nobody asks for more than whole edges: no adjacency, no window, no weights, no variables.

The same as `network_run`, without everything that is not needed then: an update costs one look-up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution import drop
from heliograph.kernels.evolution_access import NUMBER, edge_tag, prefetch_edge, prefetch_row, slot_of
from heliograph.kernels.evolution_layout import (
    ACCEPTED,
    CLOCK,
    EDGES,
    FREE_EDGE,
    FULL,
    LINK,
    LIVE,
    OBJECT,
    PARTS,
    PREDICATE,
    PRESENT,
    SUBJECT,
    TAKEN,
)
from heliograph.kernels.metric_layout import CAME, WENT
from heliograph.kernels.network_journal import has_journal_room, keeps_journal, write_down
from heliograph.kernels.network_layout import (
    DONE,
    NEED_ADJACENCY,
    NEED_GRAPH,
    NEED_JOURNAL,
    NEED_REPORTS,
    NEEDED,
    P_STAGE,
    P_UPDATE,
    TOUCHED,
)
from heliograph.kernels.network_report import flush, tell_queries
from heliograph.kernels.network_world import (
    WORLD,
    batch_at,
    batch_object,
    batch_op,
    batch_predicate,
    batch_subject,
    clocks,
    graph_of,
    report_state,
    run_progress,
)

_ADDING, _REMOVING = 0, 1  # operations
_AHEAD = 16  # updates for which memory is asked for ahead


@kernel(inline=True)
def _lacks_room(graph: Any) -> Any:
    counters = graph.counters
    return (counters[FREE_EDGE] == 0 and counters[EDGES] >= len(graph.edges)) or (counters[TAKEN] + 1) * PARTS > len(
        graph.slots
    ) * FULL


@kernel()
def _flush(world: Any, row: Any) -> Any:
    """Tells what an update changed; False if there is no room for it."""
    state = report_state(world)
    if flush(world, row, np.int64(1)):
        return True
    state[NEEDED] = state[TOUCHED]
    return False


@kernel(inline=True)
def _add(world: Any, graph: Any, row: Any, subject: Any, predicate: Any, object: Any) -> None:
    tag = edge_tag(subject, predicate, object)
    place = slot_of(graph, tag, subject, predicate, object)
    edge = (graph.slots[place] & NUMBER) - 1
    if edge < 0:
        edge = graph.counters[FREE_EDGE] - 1
        if edge >= 0:
            graph.counters[FREE_EDGE] = graph.edges[edge, SUBJECT]
        else:
            edge = graph.counters[EDGES]
            graph.counters[EDGES] = edge + 1
        graph.slots[place] = (tag << 32) | (edge + 1)
        graph.counters[TAKEN] += 1
        graph.edges[edge, SUBJECT], graph.edges[edge, PREDICATE] = subject, predicate
        graph.edges[edge, OBJECT], graph.edges[edge, LINK] = object, PRESENT
        graph.counters[LIVE] += 1
    elif not graph.edges[edge, LINK] & PRESENT:
        graph.edges[edge, LINK] |= PRESENT
        graph.counters[LIVE] += 1
        tell_queries(world, np.int64(graph.edges[edge, LINK] >> 1) - 1, np.int64(-1))
    else:
        return
    if keeps_journal(world):
        write_down(world, row, 1, CAME, edge)


@kernel(inline=True)
def _remove(world: Any, graph: Any, row: Any, subject: Any, predicate: Any, object: Any) -> None:
    place = slot_of(graph, edge_tag(subject, predicate, object), subject, predicate, object)
    edge = (graph.slots[place] & NUMBER) - 1
    if edge >= 0 and graph.edges[edge, LINK] & PRESENT:
        tell_queries(world, np.int64(graph.edges[edge, LINK] >> 1) - 1, np.int64(1))
        if keeps_journal(world):
            write_down(world, row, 1, WENT, edge)
        drop(graph, edge)


@kernel((WORLD,))
def run_quick(world: Any) -> Any:
    """Applies updates from where the run stands; NEED_ADJACENCY at one that asks for more than an edge."""
    graph, progress, state = graph_of(world), run_progress(world), report_state(world)
    ops, subjects, predicates = batch_op(world), batch_subject(world), batch_predicate(world)
    objects, times, clock = batch_object(world), batch_at(world), clocks(world)
    for row in range(progress[P_UPDATE], len(ops)):
        progress[P_UPDATE] = row
        ahead = row + _AHEAD
        if ahead < len(ops):
            prefetch_edge(graph, subjects[ahead], predicates[ahead], objects[ahead])
            ahead -= _AHEAD // 2
            prefetch_row(graph, subjects[ahead], predicates[ahead], objects[ahead])
        if progress[P_STAGE] == 0:
            if _lacks_room(graph):
                return NEED_GRAPH
            if ops[row] > _REMOVING:
                return NEED_ADJACENCY
            if not has_journal_room(world):
                return NEED_JOURNAL
            clock[ACCEPTED] += 1
            clock[CLOCK] = max(clock[CLOCK], times[row])
            if ops[row] == _ADDING:
                _add(world, graph, row, subjects[row], predicates[row], objects[row])
            else:
                _remove(world, graph, row, subjects[row], predicates[row], objects[row])
        if state[TOUCHED]:
            progress[P_STAGE] = 1
            if not _flush(world, row):
                return NEED_REPORTS
            progress[P_STAGE] = 0
    progress[P_UPDATE] = len(ops)
    return DONE
