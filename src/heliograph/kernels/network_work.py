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
from heliograph.kernels.network_join import join_from_slot
from heliograph.kernels.network_layout import (
    COUNT,
    FREE_ITEM,
    LOWEST,
    M_KEY,
    M_KIND,
    M_LEVEL,
    M_NEXT,
    M_USERS,
    N_MESSAGES,
    P_SLOT,
    S_KIND,
    S_NEXT,
    S_REF,
    SITE_MESSAGE,
    U_KIND,
    U_NEXT,
    U_PART,
    U_REF,
    USED,
    USER_NODE,
)
from heliograph.kernels.network_values import heard, node_value, spoken, state_slot, tell
from heliograph.kernels.network_world import (
    find_run,
    items,
    levels,
    messages,
    neighbour,
    nodes,
    parts,
    payloads,
    run_length,
    sites,
    state_values,
    users,
    work_state,
)

_0 = np.uint64(0)
_MESSAGE, _VERTEX, _NEXT = range(3)  # of items
IDLE = 1 << 20  # the lowest level when there is no work


@kernel()
def push(world: Any, message: Any, vertex: Any, payload: Any) -> None:
    """Another item; there is room for it."""
    level = np.int64(messages(world)[message, M_LEVEL])
    item = work_state(world)[FREE_ITEM]
    if item >= 0:
        work_state(world)[FREE_ITEM] = items(world)[item, _NEXT]
    else:
        item = work_state(world)[USED]
        work_state(world)[USED] += 1
    items(world)[item, _MESSAGE], items(world)[item, _VERTEX] = message, vertex
    items(world)[item, _NEXT] = levels(world)[level]
    levels(world)[level] = item
    payloads(world)[item] = payload
    work_state(world)[LOWEST] = min(work_state(world)[LOWEST], level)


@kernel()
def has_work(world: Any) -> Any:
    """Whether there is an item; the lowest level is looked up on the way."""
    level = work_state(world)[LOWEST]
    while level < len(levels(world)) and levels(world)[level] < 0:
        level += 1
    work_state(world)[LOWEST] = level if level < len(levels(world)) else IDLE
    return level < len(levels(world))


@kernel()
def _pop(world: Any) -> Any:
    level = work_state(world)[LOWEST]
    item = np.int64(levels(world)[level])
    levels(world)[level] = items(world)[item, _NEXT]
    items(world)[item, _NEXT] = work_state(world)[FREE_ITEM]
    work_state(world)[FREE_ITEM] = item
    return item


@kernel()
def followers(world: Any) -> Any:
    """At most how many items the next one leads to."""
    item = levels(world)[work_state(world)[LOWEST]]
    message, vertex, total = np.int64(items(world)[item, _MESSAGE]), np.int64(items(world)[item, _VERTEX]), 0
    user = messages(world)[message, M_USERS]
    while user >= 0:
        if users(world)[user, U_KIND] == USER_NODE:
            above = nodes(world)[users(world)[user, U_REF], N_MESSAGES]
            while above >= 0:
                key = np.int64(messages(world)[above, M_KEY]) ^ 1
                total += run_length(world, find_run(world, vertex, key))
                above = messages(world)[above, M_NEXT]
        user = users(world)[user, U_NEXT]
    return total


# --- one edge ---------------------------------------------------------------------------------------------------


@kernel()
def seed(world: Any, site: Any, hearer: Any, speaker: Any, sign: Any) -> Any:
    """Work for all messages that a changed edge carries from one end to the other; returns how many it concerns."""
    concerned = 0
    while site >= 0:
        if sites(world)[site, S_KIND] == SITE_MESSAGE:
            message = np.int64(sites(world)[site, S_REF])
            value = spoken(world, message, hearer, speaker)
            if value != _0:
                concerned += 1
                if messages(world)[message, M_KIND] == COUNT:
                    push(world, message, hearer, value if sign > 0 else _0 - value)
                else:
                    known = heard(world, message, hearer)
                    value &= ~known if sign > 0 else known
                    if value != _0:
                        push(world, message, hearer, value)
        site = np.int64(sites(world)[site, S_NEXT])
    return concerned


# --- items ------------------------------------------------------------------------------------------------------


@kernel()
def _still_said(world: Any, message: Any, vertex: Any, wanted: Any) -> Any:
    """Which of these bits some neighbour still says."""
    run = find_run(world, vertex, np.int64(messages(world)[message, M_KEY]))
    said = _0
    for place in range(run_length(world, run)):
        said |= spoken(world, message, vertex, neighbour(world, run, place)) & wanted
        if said == wanted:
            break
    return said


@kernel()
def _apply(world: Any, message: Any, vertex: Any, payload: Any, sign: Any) -> Any:
    """Changes a message; returns the bits or the count by which it changed."""
    known = heard(world, message, vertex)
    if messages(world)[message, M_KIND] == COUNT:
        tell(world, message, vertex, known + payload)
        return payload
    if sign > 0:
        changed = payload & ~known
        if changed != _0:
            tell(world, message, vertex, known | changed)
        return changed
    payload &= known
    changed = _0 if payload == _0 else payload & ~_still_said(world, message, vertex, payload)
    if changed != _0:
        state_values(world)[state_slot(world, message, vertex)] = known & ~changed
    return changed


@kernel()
def _carry(world: Any, message: Any, vertex: Any, value: Any, sign: Any) -> None:
    """Work for those who may hear `message` from a vertex whose node says this anew, or no longer."""
    key = np.int64(messages(world)[message, M_KEY]) ^ 1
    run = find_run(world, vertex, key)
    counted = messages(world)[message, M_KIND] == COUNT
    for place in range(run_length(world, run)):
        hearer = neighbour(world, run, place)
        if counted:
            push(world, message, hearer, value)
        else:
            known = heard(world, message, hearer)
            bits = value & (~known if sign > 0 else known)
            if bits != _0:
                push(world, message, hearer, bits)


@kernel()
def _node_hears(world: Any, user: Any, vertex: Any, changed: Any, sign: Any) -> None:
    """A part of a node changed: whoever listens to the node may hear of it."""
    node, part = users(world)[user, U_REF], np.int64(users(world)[user, U_PART])
    message = np.int64(nodes(world)[node, N_MESSAGES])
    if message < 0:
        return
    value = node_value(world, message, vertex, part, changed)
    while message >= 0 and value != _0:
        _carry(world, message, vertex, value, sign)
        message = np.int64(messages(world)[message, M_NEXT])


@kernel()
def take(world: Any, sign: Any) -> None:
    """Takes one item and does it; there is room for a state and for all that follows."""
    item = _pop(world)
    message, vertex = np.int64(items(world)[item, _MESSAGE]), np.int64(items(world)[item, _VERTEX])
    payload = payloads(world)[item]
    changed = _apply(world, message, vertex, payload, sign)
    user = np.int64(messages(world)[message, M_USERS]) if changed != _0 else np.int64(-1)
    while user >= 0:
        if users(world)[user, U_KIND] == USER_NODE:
            _node_hears(world, user, vertex, changed, sign)
        else:
            part = np.int64(users(world)[user, U_PART])
            slot = np.int64(parts(world)[part, P_SLOT])
            join_from_slot(world, np.int64(users(world)[user, U_REF]), slot, vertex, part, changed, sign)
        user = np.int64(users(world)[user, U_NEXT])
