"""What new parts of the network hear in the graph as it is, without a word to anybody.

The law: afterwards every message and component stands as if it had been there from the beginning. New messages are
filled level by level, so what they are made of is there; of a message that was there before only new tags are filled.
Then the places where new components hold are counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import find_run, is_present, neighbour, run_length
from heliograph.kernels.evolution_layout import EDGES, OBJECT, PREDICATE, SUBJECT
from heliograph.kernels.network_join import join_from_driver, join_from_nothing, join_from_vertex
from heliograph.kernels.network_layout import (
    C_CONSTANT,
    C_GROUP,
    COUNT,
    DONE,
    EVENTS,
    G_DRIVER_KEY,
    G_DRIVER_SLOT,
    G_EDGES,
    M_KEY,
    M_KIND,
    NEED_REPORTS,
    NEED_STATES,
    VALUES,
    Network,
)
from heliograph.kernels.network_types import INT32S, INT64S, MASKS, WORLD, World
from heliograph.kernels.network_values import heard, pair_slot, spoken, tell
from numba import int64

_0, _1 = np.uint64(0), np.uint64(1)


@kernel()
def _begin(network: Network, fresh: Any, slots: Any, key: Any) -> Any:
    """Where the fresh messages of a key begin, or the end of them all."""
    mask = np.uint64(len(slots) - 1)
    slot = pair_slot(key + 1) & mask
    while slots[slot] != 0:
        if network.messages[fresh[slots[slot] - 1], M_KEY] == key:
            return np.int64(slots[slot] - 1)
        slot = (slot + _1) & mask
    return np.int64(len(fresh))


@kernel()
def _index(network: Network, fresh: Any, slots: Any) -> None:
    """Enters the first message of each key; `fresh` is in order of keys."""
    mask = np.uint64(len(slots) - 1)
    for place in range(len(fresh)):
        key = np.int64(network.messages[fresh[place], M_KEY])
        if place == 0 or network.messages[fresh[place - 1], M_KEY] != key:
            slot = pair_slot(key + 1) & mask
            while slots[slot] != 0:
                slot = (slot + _1) & mask
            slots[slot] = place + 1


@kernel()
def _hear(world: World, fresh: Any, bits: Any, begin: Any, hearer: Any, speaker: Any) -> None:
    """Every fresh message of one key takes in what an edge carries."""
    network, states, place = world.network, world.states, begin
    while place < len(fresh) and network.messages[fresh[place], M_KEY] == network.messages[fresh[begin], M_KEY]:
        message = fresh[place]
        value = spoken(network, states, message, hearer, speaker)
        if network.messages[message, M_KIND] == COUNT:
            if value != _0:
                tell(states, message, hearer, heard(states, message, hearer) + value)
        elif value & bits[place]:
            tell(states, message, hearer, heard(states, message, hearer) | (value & bits[place]))
        place += 1


@kernel((WORLD, INT32S, MASKS, INT32S, INT64S))
def populate(world: World, fresh: Any, bits: Any, slots: Any, progress: Any) -> int:
    """Fills messages of one level, in order of their keys, each with its bits; `slots` is an empty table for them.

    progress[0] is the first edge that is not done.
    """
    graph, network, states = world.graph, world.network, world.states
    if progress[0] == 0:
        _index(network, fresh, slots)
    while progress[0] < graph.counters[EDGES]:
        edge = progress[0]
        if 2 * (states.counts[0] + 2 * len(fresh)) > len(states.keys):
            return NEED_STATES
        progress[0] += 1
        if is_present(graph, edge):
            row = graph.edges[edge]
            key = 2 * np.int64(row[PREDICATE])
            _hear(world, fresh, bits, _begin(network, fresh, slots, key), row[SUBJECT], row[OBJECT])
            _hear(world, fresh, bits, _begin(network, fresh, slots, key + 1), row[OBJECT], row[SUBJECT])
    return DONE


# --- components -------------------------------------------------------------------------------------------------


@kernel((WORLD, INT32S, INT32S))
def survey(world: World, firsts: Any, groups: Any) -> None:
    """Counts the places of fresh components of groups of one slot: wherever their first message is heard.

    `groups[firsts[m]:firsts[m + 1]]` are those whose first message is m.
    """
    keys, values = world.states.keys, world.states.values
    for slot in range(len(keys)):
        if values[slot] != _0:
            message, vertex = (keys[slot] - 1) >> 32, (keys[slot] - 1) & 0xFFFFFFFF
            for place in range(firsts[message], firsts[message + 1]):
                join_from_vertex(world, groups[place], 0, vertex)


@kernel((WORLD, INT32S))
def drive(world: World, constants: Any) -> None:
    """Counts the places of fresh components of driving constants."""
    network, graph = world.network, world.graph
    for constant in constants:
        group = network.constants[constant, C_GROUP]
        key = network.groups[group, G_DRIVER_KEY] ^ 1
        run = find_run(graph, network.constants[constant, C_CONSTANT], key)
        for place in range(run_length(graph, run)):
            vertex = neighbour(graph, run, place)
            join_from_driver(world, constant, group, network.groups[group, G_DRIVER_SLOT], vertex, 1)


@kernel((WORLD, int64))
def list_all(world: World, group: int) -> int:
    """Meets all solutions of a group: they are listed, or counted for its fresh components."""
    state = world.reports.state
    events, values = state[EVENTS], state[VALUES]
    if join_from_nothing(world, group, world.network.groups[group, G_EDGES], 1):
        return DONE
    state[EVENTS], state[VALUES] = events, values
    return NEED_REPORTS
