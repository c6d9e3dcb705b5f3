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
    NEEDED,
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
from heliograph.kernels.network_values import heard, node_value, note_size, spoken, tell
from heliograph.kernels.network_world import (
    find_run,
    items,
    levels,
    messages,
    neighbour,
    nodes,
    parts,
    payloads,
    plans,
    report_state,
    run_length,
    sayings,
    sites,
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
def has_items(world: Any, wanted: Any) -> Any:
    """Whether there is room for so many items."""
    if work_state(world)[USED] + wanted <= len(items(world)):
        return True
    spare, item = len(items(world)) - work_state(world)[USED], work_state(world)[FREE_ITEM]
    while item >= 0 and spare < wanted:
        spare, item = spare + 1, np.int64(items(world)[item, _NEXT])
    if spare < wanted:
        report_state(world)[NEEDED] = wanted
    return spare >= wanted


@kernel()
def has_work(world: Any) -> Any:
    """Whether there is an item; the lowest level is looked up on the way."""
    level = work_state(world)[LOWEST]
    while level < len(levels(world)) and levels(world)[level] < 0:
        level += 1
    work_state(world)[LOWEST] = level if level < len(levels(world)) else IDLE
    return level < len(levels(world))


@kernel()
def _pop(world: Any) -> None:
    """Takes the next item out; its row is free."""
    level = work_state(world)[LOWEST]
    item = np.int64(levels(world)[level])
    levels(world)[level] = items(world)[item, _NEXT]
    items(world)[item, _NEXT] = work_state(world)[FREE_ITEM]
    work_state(world)[FREE_ITEM] = item


# --- one edge ---------------------------------------------------------------------------------------------------


@kernel()
def seed(world: Any, site: Any, hearer: Any, speaker: Any, sign: Any) -> None:
    """Work for all messages that a changed edge carries from one end to the other."""
    while site >= 0:
        if sites(world)[site, S_KIND] == SITE_MESSAGE:
            message = np.int64(sites(world)[site, S_REF])
            value = spoken(world, message, hearer, speaker)
            if value != _0:
                if messages(world)[message, M_KIND] == COUNT:
                    push(world, message, hearer, value if sign > 0 else _0 - value)
                else:
                    known = heard(world, message, hearer)
                    value &= ~known if sign > 0 else known
                    if value != _0:
                        push(world, message, hearer, value)
        site = np.int64(sites(world)[site, S_NEXT])


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
def _difference(world: Any, message: Any, vertex: Any, payload: Any, sign: Any) -> Any:
    """The bits or the count by which an item changes a message."""
    if messages(world)[message, M_KIND] == COUNT:
        return payload
    known = heard(world, message, vertex)
    if sign > 0:
        return payload & ~known
    payload &= known
    return _0 if payload == _0 else payload & ~_still_said(world, message, vertex, payload)


@kernel()
def _plan(world: Any, message: Any, vertex: Any, changed: Any) -> Any:
    """Finds out to whom a change is carried on: (how many plans, how many items they may lead to)."""
    count, total = 0, 0
    user = np.int64(messages(world)[message, M_USERS])
    while user >= 0:
        if users(world)[user, U_KIND] == USER_NODE:
            above = np.int64(nodes(world)[users(world)[user, U_REF], N_MESSAGES])
            part = np.int64(users(world)[user, U_PART])
            value = node_value(world, above, vertex, part, changed) if above >= 0 else _0
            while above >= 0 and value != _0:
                run = find_run(world, vertex, np.int64(messages(world)[above, M_KEY]) ^ 1)
                if run >= 0:
                    plans(world)[count, 0], plans(world)[count, 1] = above, run
                    sayings(world)[count] = value
                    count, total = count + 1, total + run_length(world, run)
                above = np.int64(messages(world)[above, M_NEXT])
        user = np.int64(users(world)[user, U_NEXT])
    return count, total


@kernel()
def _carry(world: Any, plan: Any, sign: Any) -> None:
    """Work for those who may hear something anew, or no longer."""
    message, run, value = plans(world)[plan, 0], plans(world)[plan, 1], sayings(world)[plan]
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
def _join(world: Any, message: Any, vertex: Any, changed: Any, sign: Any) -> None:
    """Tells the groups that hear a message."""
    user = np.int64(messages(world)[message, M_USERS])
    while user >= 0:
        if users(world)[user, U_KIND] != USER_NODE:
            part = np.int64(users(world)[user, U_PART])
            slot = np.int64(parts(world)[part, P_SLOT])
            join_from_slot(world, np.int64(users(world)[user, U_REF]), slot, vertex, part, changed, sign)
        user = np.int64(users(world)[user, U_NEXT])


@kernel()
def take(world: Any, sign: Any) -> Any:
    """Takes one item and does it; there is room for a state. False, with nothing done, if there is none for what
    follows."""
    item = np.int64(levels(world)[work_state(world)[LOWEST]])
    message, vertex = np.int64(items(world)[item, _MESSAGE]), np.int64(items(world)[item, _VERTEX])
    changed = _difference(world, message, vertex, payloads(world)[item], sign)
    if changed == _0:
        _pop(world)
        return True
    count, total = _plan(world, message, vertex, changed)
    if not has_items(world, total):
        return False
    _pop(world)
    known = heard(world, message, vertex)
    if messages(world)[message, M_KIND] == COUNT:
        note_size(world, np.float64(np.int64(known + changed)))
        tell(world, message, vertex, known + changed)
    else:
        tell(world, message, vertex, known | changed if sign > 0 else known & ~changed)
    for plan in range(count):
        _carry(world, plan, sign)
    _join(world, message, vertex, changed, sign)
    return True
