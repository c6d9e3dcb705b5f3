"""New queries over a graph that is there already: what they hear and where they hold, found out silently.

The law: afterwards the network stands as if every query had been there before the first edge.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import numpy as np

from heliograph.kernels.evolution_layout import LIVE, Int32s
from heliograph.kernels.network_layout import (
    C_GROUP,
    DONE,
    G_DRIVER_KEY,
    G_EDGES,
    G_FIRST_PART,
    G_KIND,
    G_PARTS,
    G_SLOTS,
    M_KEY,
    P_KIND,
    P_REF,
    PART_HEARS,
    ROWS,
)
from heliograph.watch.machine import Machine


def populate(machine: Machine) -> None:
    """Populates what is fresh in a machine's network."""
    network = machine.network
    fresh = network.fresh
    if not fresh:
        return
    machine.graph.keep_adjacency()
    if machine.graph.arrays.counters[LIVE]:
        machine.prepare()
        levels = groupby(fresh.messages, key=lambda each: network.messages.level(each[0]))
        for _, messages in levels:
            _fill(machine, dict(messages))
        _count(machine, fresh.components)
        machine.forget()
    network.settled()


# --- messages ---------------------------------------------------------------------------------------------------


def _fill(machine: Machine, bits: dict[int, int]) -> None:
    """Fills messages of one level."""
    from heliograph.kernels.network_populate import populate as fill

    keys = machine.network.messages.rows.array[:, M_KEY]
    fresh = np.array(sorted(bits, key=lambda message: keys[message]), np.int32)
    masks = np.array([bits[message] for message in fresh.tolist()], np.uint64)
    slots = np.zeros(1 << max(4, (4 * len(fresh) - 1).bit_length()), np.int32)
    progress = np.zeros(1, np.int64)
    while (reason := fill(machine.world(), fresh, masks, slots, progress)) != DONE:
        machine.make_room(reason)


# --- components -------------------------------------------------------------------------------------------------


def _count(machine: Machine, components: Iterable[int]) -> None:
    """Counts the places where fresh components hold."""
    groups = machine.network.groups
    constants = {groups.constant_of(component): None for component in components}
    rows = groups.constants.array[list(constants), C_GROUP]
    driven = [row for row, group in zip(constants, rows.tolist(), strict=True) if _is_driven(machine, group)]
    others = [group for group in dict.fromkeys(rows.tolist()) if not _is_driven(machine, group)]
    machine.only_fresh(True)
    _drive(machine, driven)
    _survey(machine, [group for group in others if _first_message(machine, group) >= 0])
    for group in others:
        if _first_message(machine, group) < 0 and groups.rows.array[group, G_KIND] != ROWS:
            machine.list_all(group)
    machine.only_fresh(False)


def _is_driven(machine: Machine, group: int) -> bool:
    return bool(machine.network.groups.rows.array[group, G_DRIVER_KEY] >= 0)


def _first_message(machine: Machine, group: int) -> int:
    """The first message that a group of one slot hears, or -1."""
    row, parts = machine.network.groups.rows.array[group], machine.network.arrays.parts
    if row[G_SLOTS] != 1 or row[G_EDGES]:
        return -1
    for part in range(row[G_FIRST_PART], row[G_FIRST_PART] + row[G_PARTS]):
        if parts[part, P_KIND] == PART_HEARS:
            return int(parts[part, P_REF])
    return -1


def _drive(machine: Machine, constants: list[int]) -> None:
    from heliograph.kernels.network_populate import drive

    if constants:
        drive(machine.world(), np.array(constants, np.int32))


def _survey(machine: Machine, groups: list[int]) -> None:
    from heliograph.kernels.network_populate import survey

    if not groups:
        return
    firsts, ordered = _by_message(machine, groups)
    survey(machine.world(), firsts, ordered)


def _by_message(machine: Machine, groups: list[int]) -> tuple[Int32s, Int32s]:
    """Where the groups of each message begin, and the groups in order of their first messages."""
    messages = np.array([_first_message(machine, group) for group in groups])
    order = np.argsort(messages, kind="stable")
    count = machine.network.messages.rows.used
    firsts = np.searchsorted(messages[order], np.arange(count + 1)).astype(np.int32)
    return firsts, np.array(groups, np.int32)[order]
