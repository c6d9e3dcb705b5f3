"""A batch of updates, one after the other: the graph is changed, and what that changes for the queries is reported.

A run can stop wherever room may be lacking and be called again when there is more: `progress` tells where it stands.
It goes on from there as if it had never stopped, so a batch is nothing but its updates in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution import drop, has_room, put
from heliograph.kernels.evolution_access import edge_at, find_edge, find_run, is_present, prefetch_edge, prefetch_row, run_length
from heliograph.kernels.evolution_layout import (
    ACCEPTED,
    KEY,
    LINK,
    NEXT_RUN,
    OBJECT,
    PREDICATE,
    SUBJECT,
    VIRTUAL,
    VIRTUALS,
    Stamp,
)
from heliograph.kernels.evolution_types import WINDOW
from heliograph.kernels.evolution_window import next_due, renew, settle_new, tick, window_has_room
from heliograph.kernels.network_layout import (
    DONE,
    FREE_ITEM,
    NEED_ADJACENCY,
    NEED_CHANGES,
    NEED_DERIVED,
    NEED_GRAPH,
    NEED_REPORTS,
    NEED_STATES,
    NEED_WORK,
    NEEDED,
    P_CHANGE,
    P_CHANGES,
    P_EDGE,
    P_HEAD,
    P_OBJECT,
    P_PREDICATE,
    P_REACTION,
    P_SIGN,
    P_SITE,
    P_STAGE,
    P_SUBJECT,
    P_UPDATE,
    PHASE,
    TOUCHED,
    UPDATE,
    USED,
    Batch,
)
from heliograph.kernels.network_report import flush, tell_queries
from heliograph.kernels.network_sites import seed_messages, visit_sites
from heliograph.kernels.network_types import BATCH, INT32S, INT64S, WORLD, World
from heliograph.kernels.network_work import followers, has_work, take

_BEGIN, _EXPIRE, _EXPAND, _REMOVE, _ADD, _END = range(6)  # stages of an update
_FIRST, _SITES, _SEEDS, _WORK, _DERIVED = range(5)  # stages of a reaction to one changed edge
_ADDING, _REMOVING, _SETTING, _CLEARING = range(4)  # operations; see `watch.encoding`
_AHEAD = 12  # updates for which memory is asked for ahead


# --- one changed edge -------------------------------------------------------------------------------------------


@kernel()
def _work_room(world: World, wanted: Any) -> Any:
    """Whether there is room for so many items of work."""
    work = world.work
    if work.state[USED] + wanted <= len(work.items):
        return True
    spare, item = len(work.items) - work.state[USED], work.state[FREE_ITEM]
    while item >= 0 and spare < wanted:
        spare, item = spare + 1, np.int64(work.items[item, 2])
    if spare < wanted:
        world.reports.state[NEEDED] = wanted
    return spare >= wanted


@kernel()
def _drain(world: World, sign: Any) -> Any:
    states = world.states
    while has_work(world.work):
        if 2 * (states.counts[0] + 1) > len(states.keys):
            return NEED_STATES
        if not _work_room(world, followers(world)):
            return NEED_WORK
        take(world, sign)
    return DONE


@kernel()
def _begin(world: World, progress: Any, edge: Any, sign: Any) -> None:
    """Tells those who wait for just this edge."""
    row = world.graph.edges[edge]
    progress[P_SUBJECT], progress[P_PREDICATE], progress[P_OBJECT] = row[SUBJECT], row[PREDICATE], row[OBJECT]
    progress[P_SIGN] = sign
    link = row[LINK] >> 1
    if link:
        tell_queries(world.network, world.reports, link - 1, -sign)
    progress[P_REACTION], progress[P_HEAD], progress[P_SITE] = _SITES, 0, -2


@kernel()
def react(world: World, progress: Any, edge: Any, sign: Any) -> Any:
    """Everything that an edge brings that was just added, or takes that is about to be removed (and then is)."""
    if progress[P_REACTION] == _FIRST:
        _begin(world, progress, edge, sign)
    if len(world.network.site_slots) > 1:
        if progress[P_REACTION] == _SITES:
            if not visit_sites(world, progress, edge, sign):
                return NEED_REPORTS
            progress[P_REACTION] = _SEEDS
        if progress[P_REACTION] == _SEEDS:
            if not _work_room(world, len(world.network.messages)):
                return NEED_WORK
            seed_messages(world, edge, sign)
    if progress[P_REACTION] < _WORK:
        if sign < 0:
            drop(world.graph, edge)
        progress[P_REACTION] = _WORK
    return _drain(world, sign)


@kernel()
def _follow(world: World, progress: Any, edge: Any, sign: Any, deriving: Any) -> Any:
    """Reacts to a changed edge, and stops once if others are derived from it."""
    if progress[P_REACTION] != _DERIVED:
        reason = react(world, progress, edge, sign)
        if reason != DONE:
            return reason
        for predicate in deriving:
            if predicate == progress[P_PREDICATE]:
                progress[P_REACTION] = _DERIVED
                return NEED_DERIVED
    progress[P_REACTION] = _FIRST
    return DONE


# --- one update -------------------------------------------------------------------------------------------------


@kernel()
def _flush(world: World, phase: Any) -> Any:
    """Ends a phase of an update, if anything was touched in it."""
    state = world.reports.state
    if state[TOUCHED] and not flush(world.network, world.reports, state[UPDATE], phase):
        state[NEEDED] = state[TOUCHED]
        return False
    state[PHASE] = phase + 1
    return True


@kernel()
def _expire(world: World, window: Any, batch: Batch, progress: Any) -> Any:
    while True:
        if progress[P_REACTION] == _FIRST:
            progress[P_EDGE] = next_due(window, world.graph)
            if progress[P_EDGE] < 0:
                return DONE if _flush(world, 0) else NEED_REPORTS
        reason = _follow(world, progress, progress[P_EDGE], -1, batch.deriving)
        if reason != DONE:
            return reason


@kernel()
def _others(world: World, run: Any, object: Any, changes: Any) -> Any:
    """The edges of a run that lead elsewhere; returns how many, room or not."""
    graph, count = world.graph, 0
    for place in range(run_length(graph, run)):
        edge = edge_at(graph, run, place)
        if graph.edges[edge, OBJECT] != object:
            if count < len(changes):
                changes[count] = edge
            count += 1
    return count


@kernel()
def _touching(world: World, vertex: Any, changes: Any) -> Any:
    """The edges that touch a vertex, each once, but for virtual ones; returns how many, room or not."""
    graph, count, run = world.graph, 0, world.graph.first[vertex] - 1
    virtual = graph.counters[VIRTUAL]
    while run >= 0:
        key = graph.runs[run, KEY]
        if not virtual <= key >> 1 < virtual + VIRTUALS:
            for place in range(run_length(graph, run)):
                edge = edge_at(graph, run, place)
                if not key & 1 or graph.edges[edge, SUBJECT] != vertex:  # a loop stands in two runs
                    if count < len(changes):
                        changes[count] = edge
                    count += 1
        run = graph.runs[run, NEXT_RUN] - 1
    return count


@kernel()
def _expand(world: World, batch: Batch, row: Any, changes: Any) -> Any:
    """Finds the edges that an update removes; returns how many, room or not, or -1 if adjacency is needed for it."""
    graph, op = world.graph, batch.op[row]
    subject, predicate, object = batch.subject[row], batch.predicate[row], batch.object[row]
    if op == _ADDING:
        return 0
    if op == _REMOVING:
        edge = find_edge(graph, subject, predicate, object)
        changes[0] = edge
        return 1 if edge >= 0 and is_present(graph, edge) else 0
    if len(graph.runs) == 0:
        return -1
    if op == _SETTING:
        return _others(world, find_run(graph, subject, 2 * np.int64(predicate)), object, changes)
    return _touching(world, subject, changes)


@kernel()
def _remove(world: World, batch: Batch, progress: Any, changes: Any) -> Any:
    while progress[P_CHANGE] < progress[P_CHANGES]:
        reason = _follow(world, progress, np.int64(changes[progress[P_CHANGE]]), -1, batch.deriving)
        if reason != DONE:
            return reason
        progress[P_CHANGE] += 1
    return DONE


@kernel()
def _add(world: World, window: Any, batch: Batch, progress: Any) -> Any:
    """Adds the edge of an update, or renews it."""
    row, graph = progress[P_UPDATE], world.graph
    if batch.op[row] != _ADDING and batch.op[row] != _SETTING:
        return DONE
    if progress[P_REACTION] == _FIRST and progress[P_EDGE] < 0:
        subject, predicate, object = batch.subject[row], batch.predicate[row], batch.object[row]
        edge = find_edge(graph, subject, predicate, object)
        known = Stamp(batch.weight[row], batch.at[row], batch.seq[row], window.clocks[ACCEPTED])
        if edge >= 0 and is_present(graph, edge):
            renew(graph, window, edge, known)
            return DONE
        progress[P_EDGE] = put(graph, subject, predicate, object)
        settle_new(graph, window, progress[P_EDGE], known)
    reason = _follow(world, progress, progress[P_EDGE], 1, batch.deriving)
    if reason == DONE:
        progress[P_EDGE] = -1
    return reason


@kernel()
def _update(world: World, window: Any, batch: Batch, progress: Any, changes: Any) -> Any:
    """One update, from wherever it stands to its end; or the reason why it cannot go on."""
    row, state = progress[P_UPDATE], world.reports.state
    if progress[P_STAGE] == _BEGIN:
        if not has_room(world.graph) or not window_has_room(window):
            return NEED_GRAPH
        tick(window, batch.at[row])
        state[UPDATE], state[PHASE] = row, 0
        progress[P_STAGE] = _EXPIRE
    if progress[P_STAGE] == _EXPIRE:
        reason = _expire(world, window, batch, progress)
        if reason != DONE:
            return reason
        progress[P_STAGE] = _EXPAND
    if progress[P_STAGE] == _EXPAND:
        count = _expand(world, batch, row, changes)
        if count < 0:
            return NEED_ADJACENCY
        if count > len(changes):
            state[NEEDED] = count
            return NEED_CHANGES
        progress[P_CHANGES], progress[P_CHANGE], progress[P_STAGE] = count, 0, _REMOVE
    if progress[P_STAGE] == _REMOVE:
        reason = _remove(world, batch, progress, changes)
        if reason != DONE:
            return reason
        progress[P_STAGE], progress[P_EDGE] = _ADD, -1
    if progress[P_STAGE] == _ADD:
        reason = _add(world, window, batch, progress)
        if reason != DONE:
            return reason
        progress[P_STAGE] = _END
    if not _flush(world, 1):
        return NEED_REPORTS
    progress[P_STAGE] = _BEGIN
    return DONE


@kernel((WORLD, WINDOW, BATCH, INT64S, INT32S))
def run(world: World, window: Any, batch: Batch, progress: Any, changes: Any) -> int:
    """Applies updates from `progress` on; DONE after the last one, else what is lacking."""
    rows = len(batch.op)
    while progress[P_UPDATE] < rows:
        ahead = progress[P_UPDATE] + _AHEAD
        if ahead < rows:
            prefetch_edge(world.graph, batch.subject[ahead], batch.predicate[ahead], batch.object[ahead])
            ahead -= _AHEAD // 2
            prefetch_row(world.graph, batch.subject[ahead], batch.predicate[ahead], batch.object[ahead])
        reason = _update(world, window, batch, progress, changes)
        if reason != DONE:
            return reason
        progress[P_UPDATE] += 1
    return DONE


@kernel((WORLD, INT64S))
def alter(world: World, progress: Any) -> int:
    """Adds or removes one derived edge, that `progress` names, in the midst of an update."""
    graph, sign = world.graph, progress[P_SIGN]
    if progress[P_REACTION] == _FIRST:
        subject, predicate, object = (
            np.int32(progress[P_SUBJECT]),
            np.int32(progress[P_PREDICATE]),
            np.int32(progress[P_OBJECT]),
        )
        edge = find_edge(graph, subject, predicate, object)
        if (edge >= 0 and is_present(graph, edge)) == (sign > 0):
            return DONE
        if not has_room(graph):
            return NEED_GRAPH
        if sign > 0:
            edge = put(graph, subject, predicate, object)
        progress[P_EDGE] = edge
    reason = react(world, progress, progress[P_EDGE], sign)
    if reason == DONE:
        progress[P_REACTION] = _FIRST
    return reason
