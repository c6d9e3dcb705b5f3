"""A batch of updates, one after the other: the graph is changed, and what that changes for the queries is reported.

A run can stop wherever room may be lacking and be called again when there is more: `progress` tells where it stands.
It goes on from there as if it had never stopped, so a batch is nothing but its updates in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_layout import (
    ACCEPTED,
    KEY,
    LINK,
    OBJECT,
    PREDICATE,
    SUBJECT,
    VIRTUAL,
    VIRTUALS,
    Stamp,
)
from heliograph.kernels.metric_layout import CAME, WENT
from heliograph.kernels.network_journal import has_journal_room, keeps_journal, write_down, write_down_weight
from heliograph.kernels.network_layout import (
    DONE,
    EVENTS,
    MOST_EVENTS,
    NEED_ADJACENCY,
    NEED_CHANGES,
    NEED_DERIVED,
    NEED_GRAPH,
    NEED_JOURNAL,
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
    PAUSED,
    PHASE,
    TOUCHED,
    UPDATE,
)
from heliograph.kernels.network_report import flush, tell_queries
from heliograph.kernels.network_sites import seed_messages, visit_sites
from heliograph.kernels.network_work import has_items, has_work, take
from heliograph.kernels.network_world import (
    WORLD,
    batch_at,
    batch_object,
    batch_op,
    batch_predicate,
    batch_seq,
    batch_subject,
    batch_weight,
    clocks,
    counters,
    deriving,
    drop,
    edge_at,
    edges,
    entries,
    find_edge,
    find_run,
    first_run,
    has_room,
    is_present,
    messages,
    next_due,
    next_run,
    prefetch_first,
    prefetch_second,
    put,
    renew,
    report_state,
    run_changes,
    run_length,
    run_progress,
    runs,
    settle_new,
    site_slots,
    state_counts,
    tick,
)

_BEGIN, _EXPIRE, _EXPAND, _REMOVE, _ADD, _END = range(6)  # stages of an update
_FIRST, _SITES, _SEEDS, _WORK, _DERIVED = range(5)  # stages of a reaction to one changed edge
_ADDING, _REMOVING, _SETTING, _CLEARING = range(4)  # operations; see `watch.encoding`
_AHEAD = 12  # updates for which memory is asked for ahead


# --- one changed edge -------------------------------------------------------------------------------------------


@kernel()
def _drain(world: Any, sign: Any) -> Any:
    while has_work(world):
        if 2 * (state_counts(world)[0] + 1) > len(entries(world)):
            return NEED_STATES
        if not take(world, sign):
            return NEED_WORK
    return DONE


@kernel()
def _begin(world: Any, progress: Any, edge: Any, sign: Any) -> None:
    """Writes the change down, and tells those who wait for just this edge."""
    row = edges(world)[edge]
    progress[P_SUBJECT], progress[P_PREDICATE], progress[P_OBJECT] = row[SUBJECT], row[PREDICATE], row[OBJECT]
    progress[P_SIGN] = sign
    state = report_state(world)
    if keeps_journal(world):
        write_down(world, state[UPDATE], state[PHASE], CAME if sign > 0 else WENT, edge)
    link = np.int64(row[LINK] >> 1)
    if link:
        tell_queries(world, link - 1, -sign)
    progress[P_REACTION], progress[P_HEAD], progress[P_SITE] = _SITES, 0, -2


@kernel()
def react(world: Any, progress: Any, edge: Any, sign: Any) -> Any:
    """Everything that an edge brings that was just added, or takes that is about to be removed (and then is)."""
    if progress[P_REACTION] == _FIRST:
        if not has_journal_room(world):
            return NEED_JOURNAL
        _begin(world, progress, edge, sign)
    if len(site_slots(world)) > 1:
        if progress[P_REACTION] == _SITES:
            if not visit_sites(world, progress, edge, sign):
                return NEED_REPORTS
            progress[P_REACTION] = _SEEDS
        if progress[P_REACTION] == _SEEDS:
            if not has_items(world, len(messages(world))):
                return NEED_WORK
            seed_messages(world, edge, sign)
    if progress[P_REACTION] < _WORK:
        if sign < 0:
            drop(world, edge)
        progress[P_REACTION] = _WORK
    return _drain(world, sign)


@kernel()
def _follow(world: Any, progress: Any, edge: Any, sign: Any) -> Any:
    """Reacts to a changed edge, and stops once if others are derived from it."""
    if progress[P_REACTION] != _DERIVED:
        reason = react(world, progress, edge, sign)
        if reason != DONE:
            return reason
        for predicate in deriving(world):
            if predicate == progress[P_PREDICATE]:
                progress[P_REACTION] = _DERIVED
                return NEED_DERIVED
    progress[P_REACTION] = _FIRST
    return DONE


# --- one update -------------------------------------------------------------------------------------------------


@kernel()
def _flush(world: Any, phase: Any) -> Any:
    """Ends a phase of an update, if anything was touched in it."""
    state = report_state(world)
    if state[TOUCHED] and not flush(world, state[UPDATE], phase):
        state[NEEDED] = state[TOUCHED]
        return False
    state[PHASE] = phase + 1
    return True


@kernel()
def _expire(world: Any, progress: Any) -> Any:
    while True:
        if progress[P_EDGE] < 0:  # else it was taken out of the window before the run stopped
            progress[P_EDGE] = next_due(world)
            if progress[P_EDGE] < 0:
                return DONE if _flush(world, 0) else NEED_REPORTS
        reason = _follow(world, progress, progress[P_EDGE], -1)
        if reason != DONE:
            return reason
        progress[P_EDGE] = -1


@kernel()
def _others(world: Any, run: Any, object: Any, changes: Any) -> Any:
    """The edges of a run that lead elsewhere; returns how many, room or not."""
    count = 0
    for place in range(run_length(world, run)):
        edge = edge_at(world, run, place)
        if edges(world)[edge, OBJECT] != object:
            if count < len(changes):
                changes[count] = edge
            count += 1
    return count


@kernel()
def _touching(world: Any, vertex: Any, changes: Any) -> Any:
    """The edges that touch a vertex, each once, but for virtual ones; returns how many, room or not."""
    count, run = 0, first_run(world, vertex)
    virtual = counters(world)[VIRTUAL]
    while run >= 0:
        key = runs(world)[run, KEY]
        if not virtual <= key >> 1 < virtual + VIRTUALS:
            for place in range(run_length(world, run)):
                edge = edge_at(world, run, place)
                if not key & 1 or edges(world)[edge, SUBJECT] != vertex:  # a loop stands in two runs
                    if count < len(changes):
                        changes[count] = edge
                    count += 1
        run = next_run(world, run)
    return count


@kernel()
def _expand(world: Any, row: Any, changes: Any) -> Any:
    """Finds the edges that an update removes; returns how many, room or not, or -1 if adjacency is needed for it."""
    op = batch_op(world)[row]
    subject, predicate, object = batch_subject(world)[row], batch_predicate(world)[row], batch_object(world)[row]
    if op == _ADDING:
        return 0
    if op == _REMOVING:
        edge = find_edge(world, subject, predicate, object)
        changes[0] = edge
        return 1 if edge >= 0 and is_present(world, edge) else 0
    if len(runs(world)) == 0:
        return -1
    if op == _SETTING:
        return _others(world, find_run(world, np.int64(subject), 2 * np.int64(predicate)), object, changes)
    return _touching(world, subject, changes)


@kernel()
def _remove(world: Any, progress: Any, changes: Any) -> Any:
    while progress[P_CHANGE] < progress[P_CHANGES]:
        reason = _follow(world, progress, np.int64(changes[progress[P_CHANGE]]), -1)
        if reason != DONE:
            return reason
        progress[P_CHANGE] += 1
    return DONE


@kernel()
def _add(world: Any, progress: Any) -> Any:
    """Adds the edge of an update, or renews it."""
    row = progress[P_UPDATE]
    if batch_op(world)[row] != _ADDING and batch_op(world)[row] != _SETTING:
        return DONE
    if progress[P_EDGE] < 0:
        subject, predicate, object = batch_subject(world)[row], batch_predicate(world)[row], batch_object(world)[row]
        edge = find_edge(world, subject, predicate, object)
        known = Stamp(batch_weight(world)[row], batch_at(world)[row], batch_seq(world)[row], clocks(world)[ACCEPTED])
        if edge >= 0 and is_present(world, edge):
            if not has_journal_room(world):
                return NEED_JOURNAL
            if keeps_journal(world):
                write_down_weight(world, row, report_state(world)[PHASE], edge, known.weight)
            renew(world, edge, known)
            return DONE
        progress[P_EDGE] = put(world, subject, predicate, object)
        settle_new(world, progress[P_EDGE], known)
    reason = _follow(world, progress, progress[P_EDGE], 1)
    if reason == DONE:
        progress[P_EDGE] = -1
    return reason


@kernel()
def _update(world: Any, progress: Any, changes: Any) -> Any:
    """One update, from wherever it stands to its end; or the reason why it cannot go on."""
    row, state = progress[P_UPDATE], report_state(world)
    if progress[P_STAGE] == _BEGIN:
        if not has_room(world):
            return NEED_GRAPH
        tick(world, batch_at(world)[row])
        state[UPDATE], state[PHASE] = row, 0
        progress[P_STAGE] = _EXPIRE
    if progress[P_STAGE] == _EXPIRE:
        reason = _expire(world, progress)
        if reason != DONE:
            return reason
        progress[P_STAGE] = _EXPAND
    if progress[P_STAGE] == _EXPAND:
        count = _expand(world, row, changes)
        if count < 0:
            return NEED_ADJACENCY
        if count > len(changes):
            state[NEEDED] = count
            return NEED_CHANGES
        progress[P_CHANGES], progress[P_CHANGE], progress[P_STAGE] = count, 0, _REMOVE
    if progress[P_STAGE] == _REMOVE:
        reason = _remove(world, progress, changes)
        if reason != DONE:
            return reason
        progress[P_STAGE] = _ADD
    if progress[P_STAGE] == _ADD:
        reason = _add(world, progress)
        if reason != DONE:
            return reason
        progress[P_STAGE] = _END
    if not _flush(world, 1):
        return NEED_REPORTS
    progress[P_STAGE] = _BEGIN
    return DONE


@kernel()
def _alter(world: Any, progress: Any) -> Any:
    """Adds or removes one derived edge, the one that the run names, in the midst of an update."""
    sign = progress[P_SIGN]
    if progress[P_EDGE] < 0:
        subject, predicate, object = (
            np.int32(progress[P_SUBJECT]),
            np.int32(progress[P_PREDICATE]),
            np.int32(progress[P_OBJECT]),
        )
        edge = find_edge(world, subject, predicate, object)
        if (edge >= 0 and is_present(world, edge)) == (sign > 0):
            return DONE
        if not has_room(world):
            return NEED_GRAPH
        if sign > 0:
            edge = put(world, subject, predicate, object)
        progress[P_EDGE] = edge
    reason = react(world, progress, progress[P_EDGE], sign)
    if reason == DONE:
        progress[P_REACTION] = _FIRST
    return reason


@kernel((WORLD,))
def run(world: Any) -> Any:
    """Applies updates from where the run stands; DONE after the last one, else what is lacking.

    After an update that leaves much to tell it pauses.

    A run that stands before the first update only changes the derived edge that it names.
    """
    rows, progress, changes = len(batch_op(world)), run_progress(world), run_changes(world)
    if progress[P_UPDATE] < 0:
        return _alter(world, progress)
    while progress[P_UPDATE] < rows:
        ahead = progress[P_UPDATE] + _AHEAD
        if ahead < rows:
            prefetch_first(world, ahead)
            prefetch_second(world, ahead - _AHEAD // 2)
        reason = _update(world, progress, changes)
        if reason != DONE:
            return reason
        progress[P_UPDATE] += 1
        if report_state(world)[EVENTS] >= report_state(world)[MOST_EVENTS]:
            return PAUSED
    return DONE
