"""The vertices of balls: one table for all, with the members of each ball and the entries of each vertex in lists.

An update looks up the entries of the vertex its edge leaves: whoever has none there is not concerned, and costs
nothing. The law of the open addressing: an entry stands at its home or after it with no free place between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_types import NEW_INT32S
from heliograph.kernels.metric_paths_layout import (
    BALL,
    BEFORE,
    BEFORE_MEMBER,
    ENTRIES,
    FIRST_MEMBER,
    FREE_ENTRY,
    LIVE,
    MEMBERS,
    NEXT,
    NEXT_MEMBER,
    PLACE,
    TIGHT,
    VERTEX,
)
from heliograph.kernels.metric_paths_world import REACH, balls_of, counters_of, entries_of, first_of, slots_of

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_32 = np.uint64(32)


@kernel(inline=True)
def _home(vertex: Any, ball: Any, size: Any) -> Any:
    mixed = ((np.uint64(vertex) << _32) | np.uint64(ball)) * _ODD
    return np.int64(((mixed ^ (mixed >> _32)) * _ODD) >> _32) & (size - 1)


@kernel()
def find_entry(reach: Any, vertex: Any, ball: Any) -> Any:
    """The entry of a vertex in a ball, or -1."""
    slots, entries = slots_of(reach), entries_of(reach)
    place = _home(vertex, ball, len(slots))
    while slots[place] != 0:
        entry = np.int64(slots[place]) - 1
        if entries[entry, VERTEX] == vertex and entries[entry, BALL] == ball:
            return entry
        place = (place + 1) & (len(slots) - 1)
    return np.int64(-1)


@kernel(inline=True)
def has_entry_room(reach: Any) -> Any:
    return counters_of(reach)[FREE_ENTRY] != 0 or counters_of(reach)[ENTRIES] < len(entries_of(reach))


@kernel()
def add_entry(reach: Any, vertex: Any, ball: Any) -> Any:
    """A new entry, without a cost. Needs room."""
    entry = _number(reach)
    entries_of(reach)[entry, VERTEX], entries_of(reach)[entry, BALL] = vertex, ball
    entries_of(reach)[entry, TIGHT] = entries_of(reach)[entry, PLACE] = 0
    _enter(slots_of(reach), vertex, ball, entry)
    _link(reach, entry, vertex, ball)
    counters_of(reach)[LIVE] += 1
    return entry


@kernel()
def _number(reach: Any) -> Any:
    entry = counters_of(reach)[FREE_ENTRY] - 1
    if entry >= 0:
        counters_of(reach)[FREE_ENTRY] = entries_of(reach)[entry, NEXT]
        return entry
    entry = counters_of(reach)[ENTRIES]
    counters_of(reach)[ENTRIES] = entry + 1
    return entry


@kernel()
def _enter(slots: Any, vertex: Any, ball: Any, entry: Any) -> None:
    place = _home(vertex, ball, len(slots))
    while slots[place] != 0:
        place = (place + 1) & (len(slots) - 1)
    slots[place] = entry + 1


@kernel()
def _link(reach: Any, entry: Any, vertex: Any, ball: Any) -> None:
    entries, balls = entries_of(reach), balls_of(reach)
    following = first_of(reach)[vertex]
    entries[entry, NEXT], entries[entry, BEFORE] = following, 0
    if following:
        entries[following - 1, BEFORE] = entry + 1
    first_of(reach)[vertex] = entry + 1
    following = balls[ball, FIRST_MEMBER]
    entries[entry, NEXT_MEMBER], entries[entry, BEFORE_MEMBER] = following, 0
    if following:
        entries[following - 1, BEFORE_MEMBER] = entry + 1
    balls[ball, FIRST_MEMBER] = entry + 1
    balls[ball, MEMBERS] += 1


@kernel()
def drop_entry(reach: Any, entry: Any) -> None:
    """Takes an entry out of the table and of both lists."""
    entries = entries_of(reach)
    _vacate(reach, entry)
    _unlink(reach, entry)
    entries[entry, VERTEX] = -1
    entries[entry, NEXT] = counters_of(reach)[FREE_ENTRY]
    counters_of(reach)[FREE_ENTRY] = entry + 1
    counters_of(reach)[LIVE] -= 1


@kernel()
def _unlink(reach: Any, entry: Any) -> None:
    entries, balls = entries_of(reach), balls_of(reach)
    following, before = entries[entry, NEXT], entries[entry, BEFORE]
    if following:
        entries[following - 1, BEFORE] = before
    if before:
        entries[before - 1, NEXT] = following
    else:
        first_of(reach)[entries[entry, VERTEX]] = following
    following, before = entries[entry, NEXT_MEMBER], entries[entry, BEFORE_MEMBER]
    ball = entries[entry, BALL]
    if following:
        entries[following - 1, BEFORE_MEMBER] = before
    if before:
        entries[before - 1, NEXT_MEMBER] = following
    else:
        balls[ball, FIRST_MEMBER] = following
    balls[ball, MEMBERS] -= 1


@kernel()
def _vacate(reach: Any, entry: Any) -> None:
    """Backward-shift deletion: what stands behind the hole moves up if its home allows."""
    slots, entries, mask = slots_of(reach), entries_of(reach), len(slots_of(reach)) - 1
    hole = _home(entries[entry, VERTEX], entries[entry, BALL], len(slots))
    while slots[hole] != entry + 1:
        hole = (hole + 1) & mask
    place = hole
    while True:
        place = (place + 1) & mask
        if slots[place] == 0:
            break
        other = np.int64(slots[place]) - 1
        wanted = _home(entries[other, VERTEX], entries[other, BALL], len(slots))
        if (place - wanted) & mask >= (place - hole) & mask:
            slots[hole] = slots[place]
            hole = place
    slots[hole] = 0


@kernel((REACH, NEW_INT32S))
def rehash_entries(reach: Any, slots: Any) -> None:
    """Enters all entries into an empty table of another size."""
    for entry in range(counters_of(reach)[ENTRIES]):
        if entries_of(reach)[entry, VERTEX] >= 0:
            _enter(slots, entries_of(reach)[entry, VERTEX], entries_of(reach)[entry, BALL], entry)
