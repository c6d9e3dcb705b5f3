"""Which group holds which vertex: entries by their group and vertex, and lists of them by vertex.

The table is one like that of a simple graph's pairs, and shares its kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.metric_density_layout import (
    BEFORE,
    CHANGED,
    COUNT,
    DEPTH,
    FREE,
    GIVEN,
    GROUP,
    HOPS,
    INNER,
    LIVE,
    NEEDED,
    NEXT,
    NOBODY,
    OUTER,
    PENDING,
    TOUCHED,
    VERTEX,
    Groups,
)
from heliograph.kernels.simple_graph_pairs import pair_slot, vacate


@kernel(inline=True)
def entry_key(group: Any, vertex: Any) -> Any:
    return ((np.int64(group) << 32) | np.int64(vertex)) + 1


@kernel(inline=True)
def find_entry(groups: Any, group: Any, vertex: Any) -> Any:
    """The entry that says that a group holds a vertex, or -1."""
    slot = pair_slot(groups, entry_key(group, vertex))
    return np.int64(groups.numbers[slot]) if groups.keys[slot] != 0 else np.int64(-1)


@kernel(inline=True)
def has_entries(groups: Groups, needed: Any) -> Any:
    """Whether so many entries are free; if not, it is noted for whoever makes room."""
    if len(groups.entries) - groups.counters[LIVE] >= needed:
        return True
    groups.counters[NEEDED] = needed
    return False


@kernel(inline=True)
def touch_group(groups: Groups, group: Any) -> None:
    """A group is looked at at the end of the step."""
    if groups.groups[group, TOUCHED] == 0:
        groups.groups[group, TOUCHED] = 1
        groups.changed[groups.counters[CHANGED]] = group
        groups.counters[CHANGED] += 1


@kernel()
def make_entry(groups: Any, group: Any, vertex: Any, depth: Any) -> Any:
    """A vertex joins a group, PENDING; there is room. The number of its entry."""
    entry = groups.counters[FREE] - 1
    if entry < 0:
        entry = groups.counters[GIVEN]
        groups.counters[GIVEN] = entry + 1
    else:
        groups.counters[FREE] = groups.entries[entry, NEXT]
    groups.counters[LIVE] += 1
    groups.entries[entry, GROUP], groups.entries[entry, VERTEX] = group, vertex
    groups.entries[entry, DEPTH], groups.entries[entry, COUNT] = depth, PENDING
    key = entry_key(group, vertex)
    slot = pair_slot(groups, key)
    groups.keys[slot], groups.numbers[slot] = key, entry
    _link(groups, entry)
    return entry


@kernel()
def free_entry(groups: Any, entry: Any) -> None:
    """A vertex leaves a group."""
    vacate(groups, pair_slot(groups, entry_key(groups.entries[entry, GROUP], groups.entries[entry, VERTEX])))
    _unlink(groups, entry)
    groups.entries[entry, GROUP] = NOBODY
    groups.entries[entry, NEXT] = groups.counters[FREE]
    groups.counters[FREE] = entry + 1
    groups.counters[LIVE] -= 1


@kernel()
def set_depth(groups: Groups, entry: Any, depth: Any) -> None:
    _unlink(groups, entry)
    groups.entries[entry, DEPTH] = depth
    _link(groups, entry)


@kernel(inline=True)
def _list_of(groups: Groups, entry: Any) -> Any:
    return INNER if groups.entries[entry, DEPTH] < groups.counters[HOPS] else OUTER


@kernel(inline=True)
def _link(groups: Groups, entry: Any) -> None:
    vertex, which = groups.entries[entry, VERTEX], _list_of(groups, entry)
    following = groups.heads[vertex, which]
    groups.entries[entry, NEXT], groups.entries[entry, BEFORE] = following, 0
    if following:
        groups.entries[following - 1, BEFORE] = entry + 1
    groups.heads[vertex, which] = entry + 1
    groups.lengths[vertex, which] += 1


@kernel(inline=True)
def _unlink(groups: Groups, entry: Any) -> None:
    vertex, which = groups.entries[entry, VERTEX], _list_of(groups, entry)
    following, before = groups.entries[entry, NEXT], groups.entries[entry, BEFORE]
    if before:
        groups.entries[before - 1, NEXT] = following
    else:
        groups.heads[vertex, which] = following
    if following:
        groups.entries[following - 1, BEFORE] = before
    groups.lengths[vertex, which] -= 1
