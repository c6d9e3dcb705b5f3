"""What becomes of a solution of a group's core: components gain or lose a place, counts change, or it is listed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import find_run, holds_edge, neighbour, run_length
from heliograph.kernels.network_layout import (
    C_CONSTANT,
    C_FIRST,
    C_NEXT,
    CANDIDATES,
    COUNT,
    EVENTS,
    G_CONSTANTS,
    G_DRIVER_KEY,
    G_DRIVER_SLOT,
    G_FIRST_CONSTANT,
    G_KIND,
    G_PARTS,
    G_SLOTS,
    K_BITS,
    K_FRESH,
    K_NEXT,
    MASK,
    NEEDED,
    ONLY_FRESH,
    PHASE,
    UPDATE,
    V_ROW,
    VALUES,
    W_KIND,
    W_PHASE,
    W_REF,
    W_SIGN,
    W_UPDATE,
    W_VALUE,
    Network,
)
from heliograph.kernels.network_report import count_more, hold_more
from heliograph.kernels.network_types import World
from heliograph.kernels.network_values import find_pair, pair_key

_1 = np.uint64(1)
_NO_BIT = 255


class Start(NamedTuple):
    """Where a join starts from: a part that hears `value` anew, a changed edge in a place of the core, or a driving
    constant; -1 where there is none."""

    group: int
    part: int
    value: Any
    edge: int
    place: int
    constant: int
    sign: int


@kernel()
def settle(world: World, start: Start) -> Any:
    """Takes note of a solution; False if it was to be listed and there was no room."""
    kind = world.network.groups[start.group, G_KIND]
    if kind == MASK:
        _settle_mask(world, start)
    elif kind == COUNT:
        _settle_count(world, start)
    else:
        return _list(world, start)
    return True


# --- masks ------------------------------------------------------------------------------------------------------


@kernel()
def _settle_mask(world: World, start: Start) -> None:
    network, group = world.network, start.group
    key = network.groups[group, G_DRIVER_KEY]
    if start.constant >= 0:
        _settle_constant(world, start, start.constant)
    elif key < 0:
        _settle_constant(world, start, network.groups[group, G_FIRST_CONSTANT])
    else:
        vertex = world.scratch.path[network.groups[group, G_DRIVER_SLOT]]
        run = find_run(world.graph, vertex, key)
        if run_length(world.graph, run) <= network.groups[group, G_CONSTANTS]:
            _settle_neighbours(world, start, run)
        else:
            _settle_constants(world, start, vertex, key)


@kernel()
def _settle_neighbours(world: World, start: Start, run: Any) -> None:
    """Components of the driving constants among the neighbours of the driver's vertex."""
    for place in range(run_length(world.graph, run)):
        key = pair_key(start.group, neighbour(world.graph, run, place))
        constant = find_pair(world.network.constant_slots, key)
        if constant >= 0:
            _settle_constant(world, start, constant)


@kernel()
def _settle_constants(world: World, start: Start, vertex: Any, key: Any) -> None:
    """The same, where there are fewer constants than neighbours."""
    network = world.network
    constant = network.groups[start.group, G_FIRST_CONSTANT]
    while constant >= 0:
        other = network.constants[constant, C_CONSTANT]
        s, o = (other, vertex) if key & 1 else (vertex, other)
        if holds_edge(world.graph, s, key >> 1, o):
            _settle_constant(world, start, constant)
        constant = network.constants[constant, C_NEXT]


@kernel()
def _settle_constant(world: World, start: Start, constant: Any) -> None:
    """Every component of a constant all of whose tags are heard holds in one place more, or less."""
    network, reports = world.network, world.reports
    if constant < 0:
        return
    fresh = reports.state[ONLY_FRESH]
    component = network.constants[constant, C_FIRST]
    while component >= 0:
        if not fresh or network.components[component, K_FRESH]:
            reports.state[CANDIDATES] += 1
            if _is_heard(world, start.group, network.components[component, K_BITS]):
                hold_more(network, reports, component, start.sign)
        component = network.components[component, K_NEXT]


@kernel()
def _is_heard(world: World, group: Any, bits: Any) -> Any:
    for part in range(world.network.groups[group, G_PARTS]):
        bit = world.network.bits[bits + part]
        if bit != _NO_BIT and not (world.scratch.masks[part] >> np.uint64(bit)) & _1:
            return False
    return True


# --- counts and rows --------------------------------------------------------------------------------------------


@kernel()
def _first_component(network: Network, group: Any) -> Any:
    return network.constants[network.groups[group, G_FIRST_CONSTANT], C_FIRST]


@kernel()
def _settle_count(world: World, start: Start) -> None:
    """The count of the changed part is what it changed by; of a changed edge the sign tells."""
    network = world.network
    total = _1
    for part in range(network.groups[start.group, G_PARTS]):
        total *= world.scratch.masks[part]
    change = np.int64(total) if start.part >= 0 else start.sign * np.int64(total)
    component = _first_component(network, start.group)
    if component >= 0:
        world.reports.state[CANDIDATES] += 1
        count_more(network, world.reports, component, change)


@kernel()
def _list(world: World, start: Start) -> Any:
    reports, slots = world.reports, world.network.groups[start.group, G_SLOTS]
    state = reports.state
    if state[EVENTS] >= len(reports.events) or state[VALUES] + slots > len(reports.rows):
        state[NEEDED] = slots
        return False
    event = reports.events[state[EVENTS]]
    event[W_UPDATE], event[W_PHASE], event[W_KIND] = state[UPDATE], state[PHASE], V_ROW
    event[W_REF], event[W_SIGN], event[W_VALUE] = start.group, start.sign, state[VALUES]
    for slot in range(slots):
        reports.rows[state[VALUES] + slot] = world.scratch.path[slot]
    state[EVENTS] += 1
    state[VALUES] += slots
    return True
