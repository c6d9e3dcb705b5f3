"""What new parts of the network hear in the graph as it is, without a word to anybody.

The law: afterwards every message and component stands as if it had been there from the beginning. New messages are
filled level by level, so what they are made of is there; of a message that was there before only new tags are filled.
Then the places where new components hold are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int32, int64, uint64

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_layout import EDGES, OBJECT, PREDICATE, SUBJECT
from heliograph.kernels.network_join import join_from_driver, join_from_nothing, join_from_vertex
from heliograph.kernels.network_layout import (
    C_CONSTANT,
    C_GROUP,
    COUNT,
    DONE,
    G_DRIVER_KEY,
    G_EDGES,
    M_KEY,
    M_KIND,
    NEED_REPORTS,
    NEED_STATES,
)
from heliograph.kernels.network_values import heard, pair_slot, spoken, tell
from heliograph.kernels.network_world import (
    WORLD,
    constants,
    counters,
    edges,
    entries,
    find_run,
    groups,
    is_present,
    messages,
    neighbour,
    run_length,
    state_counts,
)
from heliograph.kernels.types import array, rows

INT32S, INT64S, MASKS = (array(dtype, writable=True) for dtype in (int32, int64, uint64))
MASK_ROWS = rows(uint64, writable=True)
_0, _1 = np.uint64(0), np.uint64(1)


@kernel()
def _begin(world: Any, fresh: Any, slots: Any, key: Any) -> Any:
    """Where the fresh messages of a key begin, or the end of them all."""
    mask = np.uint64(len(slots) - 1)
    slot = pair_slot(key + 1) & mask
    while slots[slot] != 0:
        if messages(world)[fresh[slots[slot] - 1], M_KEY] == key:
            return np.int64(slots[slot] - 1)
        slot = (slot + _1) & mask
    return np.int64(len(fresh))


@kernel()
def _index(world: Any, fresh: Any, slots: Any) -> None:
    """Enters the first message of each key; `fresh` is in order of keys.

    This is done again as long as there is no room for the first edge.
    """
    slots[:] = 0
    mask = np.uint64(len(slots) - 1)
    for place in range(len(fresh)):
        key = np.int64(messages(world)[fresh[place], M_KEY])
        if place == 0 or messages(world)[fresh[place - 1], M_KEY] != key:
            slot = pair_slot(key + 1) & mask
            while slots[slot] != 0:
                slot = (slot + _1) & mask
            slots[slot] = place + 1


@kernel()
def _hear(world: Any, fresh: Any, bits: Any, begin: Any, hearer: Any, speaker: Any) -> None:
    """Every fresh message of one key takes in what an edge carries."""
    place = begin
    while place < len(fresh) and messages(world)[fresh[place], M_KEY] == messages(world)[fresh[begin], M_KEY]:
        message = np.int64(fresh[place])
        value = spoken(world, message, hearer, speaker)
        if messages(world)[message, M_KIND] == COUNT:
            if value != _0:
                tell(world, message, hearer, heard(world, message, hearer) + value)
        elif value & bits[place]:
            tell(world, message, hearer, heard(world, message, hearer) | (value & bits[place]))
        place += 1


@kernel((WORLD, INT32S, MASKS, INT32S, INT64S))
def populate(world: Any, fresh: Any, bits: Any, slots: Any, progress: Any) -> Any:
    """Fills messages of one level, in order of their keys, each with its bits; `slots` is an empty table for them.

    progress[0] is the first edge that is not done.
    """
    if progress[0] == 0:
        _index(world, fresh, slots)
    while progress[0] < counters(world)[EDGES]:
        edge = progress[0]
        if 2 * (state_counts(world)[0] + 2 * len(fresh)) > len(entries(world)):
            return NEED_STATES
        progress[0] += 1
        if is_present(world, edge):
            row = edges(world)[edge]
            key = 2 * np.int64(row[PREDICATE])
            _hear(world, fresh, bits, _begin(world, fresh, slots, key), np.int64(row[SUBJECT]), np.int64(row[OBJECT]))
            _hear(
                world, fresh, bits, _begin(world, fresh, slots, key + 1), np.int64(row[OBJECT]), np.int64(row[SUBJECT])
            )
    return DONE


# --- components -------------------------------------------------------------------------------------------------


@kernel((WORLD, INT32S, INT32S))
def survey(world: Any, firsts: Any, groups: Any) -> None:
    """Counts the places of fresh components of groups of one slot: wherever their first message is heard.

    `groups[firsts[m]:firsts[m + 1]]` are those whose first message is m.
    """
    table = entries(world)
    for slot in range(len(table)):
        if table[slot, 1] != _0:
            key = np.int64(table[slot, 0]) - 1
            message, vertex = key >> 32, key & 0xFFFFFFFF
            for place in range(firsts[message], firsts[message + 1]):
                join_from_vertex(world, np.int64(groups[place]), np.int64(0), vertex)


@kernel((WORLD, INT32S))
def drive(world: Any, driving: Any) -> None:
    """Counts the places of fresh components of driving constants."""
    for constant in driving:
        group = np.int64(constants(world)[constant, C_GROUP])
        key = np.int64(groups(world)[group, G_DRIVER_KEY]) ^ 1
        run = find_run(world, np.int64(constants(world)[constant, C_CONSTANT]), key)
        for place in range(run_length(world, run)):
            vertex = neighbour(world, run, place)
            join_from_driver(world, np.int64(constant), vertex, np.int64(-1), np.int64(1))


@kernel((WORLD, int64))
def list_all(world: Any, group: int) -> Any:
    """Meets all solutions of a group: they are listed, or counted for its fresh components. Its holes are filled."""
    met = join_from_nothing(world, group, np.int64(groups(world)[group, G_EDGES]), np.int64(1))
    return DONE if met else NEED_REPORTS


@kernel((MASK_ROWS, WORLD))
def rehash(old: Any, world: Any) -> None:
    """Moves what is heard into a larger, empty table, the world's."""
    for slot in range(len(old)):
        if old[slot, 1] != _0:
            key = np.int64(old[slot, 0]) - 1
            tell(world, key >> 32, key & 0xFFFFFFFF, old[slot, 1])
