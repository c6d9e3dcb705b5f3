"""Follows a log, and selections beside it, and tells of the groups whose density passed a cut at the end of a step.

A row is gone on with where room was lacking: READY, nothing of it is done; SETTLING, the graph has changed and groups
are catching up; TELLING, what is left is to look at the groups that the step touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_density import disband, leave, meet, orphan, settle
from heliograph.kernels.metric_density_entries import find_entry, free_entry, has_entries, make_entry
from heliograph.kernels.metric_density_layout import (
    ARCS,
    CHANGED,
    COUNT,
    GIVEN,
    GROUP,
    INNER,
    INSTANCE,
    PHASE,
    PICK,
    READY,
    ROW,
    SAID,
    SETTLING,
    SIZE,
    TAIL,
    TELLING,
    TOUCHED,
    Groups,
    Sayings,
    Selections,
)
from heliograph.kernels.metric_layout import CAME, STEP, WENT, Log
from heliograph.kernels.metric_layout import INSTANCE as SAID_INSTANCE
from heliograph.kernels.simple_graph import add_edge, drop_edge, has_room
from heliograph.kernels.simple_graph_asked import is_told
from heliograph.kernels.simple_graph_layout import NEW_ARC, NEW_PAIR, Asked, Simple
from heliograph.kernels.simple_graph_types import ASKED, INT32_ROWS, LOG, SIMPLE
from heliograph.kernels.types import INT32S, NEW_FLOATS, NEW_INT32S, NEW_INT64S, named, rows

INT64_ROWS = rows(int64, writable=True)
GROUPS = named(
    Groups,
    NEW_INT64S,  # keys
    NEW_INT32S,  # numbers
    INT32_ROWS,  # entries
    INT32_ROWS,  # heads
    INT32_ROWS,  # lengths
    INT64_ROWS,  # groups
    NEW_FLOATS,  # values
    NEW_INT32S,  # queue
    INT32_ROWS,  # orphans
    NEW_INT32S,  # changed
    NEW_INT64S,  # counters
)
SELECTIONS = named(Selections, INT32S, INT32S, INT32S, INT32S)
SAYINGS = named(Sayings, INT32_ROWS, NEW_FLOATS)


@kernel(inline=True)
def _density(groups: Groups, group: Any) -> Any:
    size = np.float64(groups.groups[group, SIZE])
    return groups.groups[group, ARCS] / (size * (size - 1.0)) if size >= 2.0 else 0.0


@kernel((SIMPLE, GROUPS, LOG, SELECTIONS, ASKED, SAYINGS))
def follow(graph: Simple, groups: Groups, log: Log, selections: Selections, asked: Asked, said: Sayings) -> Any:
    """Goes on with the rows of both; whether they are done. If not, room is lacking."""
    counters = groups.counters
    while counters[PHASE] != READY or counters[ROW] < len(log.step) or counters[PICK] < len(selections.step):
        if counters[PHASE] == READY and not _begin(graph, groups, log, selections):
            return False
        if counters[PHASE] == SETTLING:
            if not settle(graph, groups):
                return False
            counters[PHASE] = TELLING if _ends_step(groups, log, selections) else READY
        if counters[PHASE] == TELLING:
            if counters[SAID] + counters[CHANGED] > len(said.rows):
                return False
            _tell(groups, _step_before(groups, log, selections), asked, said)
            counters[PHASE] = READY
    return True


@kernel(inline=True)
def _is_edge_next(groups: Groups, log: Log, selections: Selections) -> Any:
    """Whether an edge changes next; in a step, edges are before selections."""
    row, pick = groups.counters[ROW], groups.counters[PICK]
    return row < len(log.step) and (pick == len(selections.step) or log.step[row] <= selections.step[pick])


@kernel()
def _begin(graph: Simple, groups: Groups, log: Log, selections: Selections) -> Any:
    """Does a row, but for what follows in groups; whether there was room."""
    counters = groups.counters
    if _is_edge_next(groups, log, selections):
        row = counters[ROW]
        if not _has_room(graph, groups, log.subject[row], log.object[row]):
            return False
        _change_edge(graph, groups, log, row)
        counters[ROW] = row + 1
    else:
        if not has_entries(groups, 1):
            return False
        _select(graph, groups, selections, counters[PICK])
        counters[PICK] += 1
    counters[PHASE] = SETTLING
    return True


@kernel(inline=True)
def _has_room(graph: Simple, groups: Groups, subject: Any, object: Any) -> Any:
    """The other end of an edge may join each group that has one end INNER."""
    return has_room(graph) and has_entries(groups, groups.lengths[subject, INNER] + groups.lengths[object, INNER])


@kernel()
def _change_edge(graph: Simple, groups: Groups, log: Log, row: Any) -> None:
    ends = (log.subject[row], log.object[row])
    if log.change[row] == CAME:
        changed = add_edge(graph, ends[0], ends[1])
        if changed:
            meet(groups, ends, 1 if changed & NEW_ARC else 0, 1 if changed & NEW_PAIR else 0)
    elif log.change[row] == WENT:
        changed = drop_edge(graph, ends[0], ends[1])
        if changed:
            meet(groups, ends, -1 if changed & NEW_ARC else 0, -1 if changed & NEW_PAIR else 0)
            if groups.counters[TAIL]:
                orphan(graph, groups)


@kernel()
def _select(graph: Simple, groups: Groups, selections: Selections, pick: Any) -> None:
    """A vertex is selected more often or less; there is room for it to join."""
    group, vertex = selections.instance[pick], selections.vertex[pick]
    entry = find_entry(groups, group, vertex)
    if entry < 0:
        entry = make_entry(groups, group, vertex, 0)
        groups.queue[0], groups.counters[TAIL] = entry, 1
        settle(graph, groups)  # a selection reaches no further: depth 0 is the last hop, and that needs no room
    groups.entries[entry, COUNT] += selections.times[pick]
    if groups.entries[entry, COUNT] == 0:
        leave(graph, groups, entry)


# --- the end of a step ------------------------------------------------------------------------------------------


@kernel(inline=True)
def _step_before(groups: Groups, log: Log, selections: Selections) -> Any:
    """The step of the last row that was done."""
    row, pick = groups.counters[ROW], groups.counters[PICK]
    step = np.int64(log.step[row - 1]) if row else np.int64(-1)
    return max(step, np.int64(selections.step[pick - 1])) if pick else step


@kernel(inline=True)
def _ends_step(groups: Groups, log: Log, selections: Selections) -> Any:
    step, row, pick = _step_before(groups, log, selections), groups.counters[ROW], groups.counters[PICK]
    return (row == len(log.step) or log.step[row] != step) and (
        pick == len(selections.step) or selections.step[pick] != step
    )


@kernel()
def _tell(groups: Groups, step: Any, asked: Asked, said: Sayings) -> None:
    """Looks at every group that was touched; there is room to tell of all."""
    for number in range(groups.counters[CHANGED]):
        group = groups.changed[number]
        groups.groups[group, TOUCHED] = 0
        value = _density(groups, group)
        if is_told(asked, groups.groups[group, INSTANCE], groups.values[group], value):
            said.rows[groups.counters[SAID], STEP] = step
            said.rows[groups.counters[SAID], SAID_INSTANCE] = groups.groups[group, INSTANCE]
            said.values[groups.counters[SAID]] = value
            groups.counters[SAID] += 1
        groups.values[group] = value
    groups.counters[CHANGED] = 0


# --- groups that come and go ------------------------------------------------------------------------------------


@kernel((SIMPLE, GROUPS, int64, int64))
def gather(graph: Simple, groups: Groups, group: Any, centre: Any) -> Any:
    """Gathers the group around a centre, from when it was begun; whether there was room for all of it."""
    if find_entry(groups, group, centre) < 0:
        if not has_entries(groups, 1):
            return False
        groups.queue[0] = make_entry(groups, group, centre, 0)
        groups.counters[TAIL] = 1
    return settle(graph, groups)


@kernel((GROUPS,))
def take_as_told(groups: Groups) -> None:
    """What changed since the last step counts as told."""
    for number in range(groups.counters[CHANGED]):
        group = groups.changed[number]
        groups.groups[group, TOUCHED] = 0
        groups.values[group] = _density(groups, group)
    groups.counters[CHANGED] = 0


@kernel((SIMPLE, GROUPS, int64, int64))
def dissolve(graph: Simple, groups: Groups, group: Any, centre: Any) -> None:
    """The group around a centre goes."""
    disband(graph, groups, find_entry(groups, group, centre))
    groups.values[group] = 0.0


@kernel((GROUPS, int64))
def clear(groups: Groups, group: Any) -> None:
    """A group without a centre goes: its entries are looked for among all."""
    for entry in range(groups.counters[GIVEN]):
        if groups.entries[entry, GROUP] == group:
            free_entry(groups, np.int64(entry))
    groups.groups[group, SIZE] = groups.groups[group, ARCS] = 0
    groups.values[group] = 0.0
