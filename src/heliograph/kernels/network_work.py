"""What one changed edge makes vertices hear, carried on from message to message.

An item of work says that a vertex may hear something new: bits to gain, bits in danger, or a count to add. Items are
taken lowest level first. Bits in danger are then asked for again among the neighbours that are left: what is below is
settled by that time, so what none of them says is lost. Each change is applied when its item is taken, and whoever
hears it looks at everything else as it stands: so gains and losses add up, however many parts of a node change at once.

The graph is changed before any of this; what the changed edge itself added to, or takes from, a message was worked out
with the messages as they stood.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_access import find_run, neighbour, run_length
from heliograph.kernels.network_join import join_from_slot
from heliograph.kernels.network_layout import (
    COUNT,
    FREE_ITEM,
    LOWEST,
    M_KEY,
    M_KIND,
    M_LEVEL,
    M_NEXT,
    M_NODE,
    M_USERS,
    N_MESSAGES,
    P_SLOT,
    SITE_MESSAGE,
    S_KIND,
    S_NEXT,
    S_REF,
    U_KIND,
    U_NEXT,
    U_PART,
    U_REF,
    USED,
    USER_NODE,
    Work,
)
from heliograph.kernels.network_types import World
from heliograph.kernels.network_values import heard, node_value, spoken, state_slot, tell

_0 = np.uint64(0)
_MESSAGE, _VERTEX, _NEXT = range(3)  # of items
IDLE = 1 << 20  # the lowest level when there is no work


@kernel()
def push(world: World, message: Any, vertex: Any, payload: Any) -> None:
    """Another item; there is room for it."""
    work, level = world.work, world.network.messages[message, M_LEVEL]
    item = work.state[FREE_ITEM]
    if item >= 0:
        work.state[FREE_ITEM] = work.items[item, _NEXT]
    else:
        item = work.state[USED]
        work.state[USED] += 1
    work.items[item, _MESSAGE], work.items[item, _VERTEX] = message, vertex
    work.items[item, _NEXT] = work.levels[level]
    work.levels[level] = item
    work.payloads[item] = payload
    work.state[LOWEST] = min(work.state[LOWEST], level)


@kernel()
def has_work(work: Work) -> Any:
    """Whether there is an item; the lowest level is looked up on the way."""
    level = work.state[LOWEST]
    while level < len(work.levels) and work.levels[level] < 0:
        level += 1
    work.state[LOWEST] = level if level < len(work.levels) else IDLE
    return level < len(work.levels)


@kernel()
def _pop(work: Work) -> Any:
    level = work.state[LOWEST]
    item = np.int64(work.levels[level])
    work.levels[level] = work.items[item, _NEXT]
    work.items[item, _NEXT] = work.state[FREE_ITEM]
    work.state[FREE_ITEM] = item
    return item


@kernel()
def followers(world: World) -> Any:
    """At most how many items the next one leads to."""
    work, network = world.work, world.network
    item = work.levels[work.state[LOWEST]]
    message, vertex, total = work.items[item, _MESSAGE], work.items[item, _VERTEX], 0
    user = network.messages[message, M_USERS]
    while user >= 0:
        if network.users[user, U_KIND] == USER_NODE:
            above = network.nodes[network.users[user, U_REF], N_MESSAGES]
            while above >= 0:
                total += run_length(world.graph, find_run(world.graph, vertex, network.messages[above, M_KEY] ^ 1))
                above = network.messages[above, M_NEXT]
        user = network.users[user, U_NEXT]
    return total


# --- one edge ---------------------------------------------------------------------------------------------------


@kernel()
def seed(world: World, site: Any, hearer: Any, speaker: Any, sign: Any) -> Any:
    """Work for all messages that a changed edge carries from one end to the other; returns how many it concerns."""
    network, states, concerned = world.network, world.states, 0
    while site >= 0:
        if network.sites[site, S_KIND] == SITE_MESSAGE:
            message = network.sites[site, S_REF]
            value = spoken(network, states, message, hearer, speaker)
            if value != _0:
                concerned += 1
                if network.messages[message, M_KIND] == COUNT:
                    push(world, message, hearer, value if sign > 0 else _0 - value)
                else:
                    known = heard(states, message, hearer)
                    value &= ~known if sign > 0 else known
                    if value != _0:
                        push(world, message, hearer, value)
        site = network.sites[site, S_NEXT]
    return concerned


# --- items ------------------------------------------------------------------------------------------------------


@kernel()
def _still_said(world: World, message: Any, vertex: Any, wanted: Any) -> Any:
    """Which of these bits some neighbour still says."""
    network, states = world.network, world.states
    run = find_run(world.graph, vertex, network.messages[message, M_KEY])
    said = _0
    for place in range(run_length(world.graph, run)):
        said |= spoken(network, states, message, vertex, neighbour(world.graph, run, place)) & wanted
        if said == wanted:
            break
    return said


@kernel()
def _apply(world: World, message: Any, vertex: Any, payload: Any, sign: Any) -> Any:
    """Changes a message; returns the bits or the count by which it changed."""
    states = world.states
    known = heard(states, message, vertex)
    if world.network.messages[message, M_KIND] == COUNT:
        tell(states, message, vertex, known + payload)
        return payload
    if sign > 0:
        changed = payload & ~known
        if changed != _0:
            tell(states, message, vertex, known | changed)
        return changed
    payload &= known
    changed = _0 if payload == _0 else payload & ~_still_said(world, message, vertex, payload)
    if changed != _0:
        states.values[state_slot(states, message, vertex)] = known & ~changed
    return changed


@kernel()
def _carry(world: World, message: Any, vertex: Any, value: Any, sign: Any) -> None:
    """Work for those who may hear `message` from a vertex whose node says this anew, or no longer."""
    graph, states = world.graph, world.states
    run = find_run(graph, vertex, world.network.messages[message, M_KEY] ^ 1)
    counted = world.network.messages[message, M_KIND] == COUNT
    for place in range(run_length(graph, run)):
        hearer = neighbour(graph, run, place)
        if counted:
            push(world, message, hearer, value)
        else:
            known = heard(states, message, hearer)
            bits = value & (~known if sign > 0 else known)
            if bits != _0:
                push(world, message, hearer, bits)


@kernel()
def _node_hears(world: World, user: Any, vertex: Any, changed: Any, sign: Any) -> None:
    """A part of a node changed: whoever listens to the node may hear of it."""
    network = world.network
    node, part = network.users[user, U_REF], network.users[user, U_PART]
    message = network.nodes[node, N_MESSAGES]
    if message < 0:
        return
    value = node_value(network, world.states, message, vertex, part, changed)
    while message >= 0 and value != _0:
        _carry(world, message, vertex, value, sign)
        message = network.messages[message, M_NEXT]


@kernel()
def take(world: World, sign: Any) -> None:
    """Takes one item and does it; there is room for a state and for all that follows."""
    work, network = world.work, world.network
    item = _pop(work)
    message, vertex, payload = work.items[item, _MESSAGE], work.items[item, _VERTEX], work.payloads[item]
    changed = _apply(world, message, vertex, payload, sign)
    user = network.messages[message, M_USERS] if changed != _0 else -1
    while user >= 0:
        if network.users[user, U_KIND] == USER_NODE:
            _node_hears(world, user, vertex, changed, sign)
        else:
            part = network.users[user, U_PART]
            slot = network.parts[part, P_SLOT]
            join_from_slot(world, network.users[user, U_REF], slot, vertex, part, changed, sign)
        user = network.users[user, U_NEXT]
