"""What becomes of a solution of a group's core: components gain or lose a place, counts change, or it is listed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.network_layout import (
    C_CONSTANT,
    C_FIRST,
    C_NEXT,
    COUNT,
    EVENTS,
    G_CONSTANTS,
    G_DRIVER_KEY,
    G_DRIVER_SLOT,
    G_FIRST_CONSTANT,
    G_HOLES,
    G_KIND,
    G_PARTS,
    G_SLOTS,
    K_BITS,
    K_FRESH,
    K_NEXT,
    K_POSTINGS,
    NEEDED,
    ONLY_FRESH,
    PHASE,
    ROWS,
    UPDATE,
    V_ROW,
    VALUES,
    W_KIND,
    W_PHASE,
    W_REF,
    W_SIGN,
    W_UPDATE,
    W_VALUE,
)
from heliograph.kernels.network_report import count_more, hold_more, tell_queries
from heliograph.kernels.network_values import find_pair, note_size, pair_key
from heliograph.kernels.network_world import (
    components,
    constant_slots,
    constants,
    events,
    find_edge,
    find_run,
    groups,
    is_present,
    masks,
    neighbour,
    path,
    report_state,
    run_length,
    solutions,
    tag_bits,
)

_1 = np.uint64(1)
_NO_BIT = 255


class Start(NamedTuple):
    """Where a join starts from: a part that hears `value` anew, a changed edge in a place of the core, or a driving
    constant; -1 where there is none."""

    group: Any
    part: Any
    value: Any
    edge: Any
    place: Any
    constant: Any
    sign: Any


@kernel()
def settle(world: Any, start: Start) -> Any:
    """Takes note of a solution; False if it was to be listed and there was no room."""
    kind = groups(world)[start.group, G_KIND]
    if kind == ROWS:
        return _list(world, start)
    _settle(world, start, _change(world, start) if kind == COUNT else start.sign)
    return True


# --- masks and counts -------------------------------------------------------------------------------------------


@kernel()
def _change(world: Any, start: Start) -> Any:
    """By how much a solution of the core changes a count: what its parts hear multiplied. Of the changed part that is
    what it changed by; of a changed edge the sign tells."""
    total, size = _1, 1.0
    for part in range(groups(world)[start.group, G_PARTS]):
        total, size = total * masks(world)[part], size * np.float64(np.int64(masks(world)[part]))
    note_size(world, size)
    return np.int64(total) if start.part >= 0 else start.sign * np.int64(total)


@kernel()
def _settle(world: Any, start: Start, change: Any) -> None:
    """Finds those whom a solution of the core concerns: all, or the driving constants that it leads to."""
    group = start.group
    key = np.int64(groups(world)[group, G_DRIVER_KEY])
    if start.constant >= 0:
        _settle_constant(world, start, start.constant, change)
    elif key < 0:
        _settle_constant(world, start, np.int64(groups(world)[group, G_FIRST_CONSTANT]), change)
    else:
        vertex = np.int64(path(world)[groups(world)[group, G_DRIVER_SLOT]])
        run = find_run(world, vertex, key)
        if run_length(world, run) <= groups(world)[group, G_CONSTANTS]:
            _settle_neighbours(world, start, run, change)
        else:
            _settle_constants(world, start, vertex, key, change)


@kernel()
def _settle_neighbours(world: Any, start: Start, run: Any, change: Any) -> None:
    """Components of the driving constants among the neighbours of the driver's vertex."""
    for place in range(run_length(world, run)):
        key = pair_key(start.group, neighbour(world, run, place))
        constant = find_pair(constant_slots(world), key)
        if constant >= 0:
            _settle_constant(world, start, constant, change)


@kernel()
def _settle_constants(world: Any, start: Start, vertex: Any, key: Any, change: Any) -> None:
    """The same, where there are fewer constants than neighbours."""
    constant = np.int64(groups(world)[start.group, G_FIRST_CONSTANT])
    while constant >= 0:
        other = np.int64(constants(world)[constant, C_CONSTANT])
        s, o = (other, vertex) if key & 1 else (vertex, other)
        edge = find_edge(world, s, key >> 1, o)
        if edge >= 0 and is_present(world, edge):
            _settle_constant(world, start, constant, change)
        constant = np.int64(constants(world)[constant, C_NEXT])


@kernel()
def _settle_constant(world: Any, start: Start, constant: Any, change: Any) -> None:
    """Every component of a constant all of whose tags are heard holds in one place more, or less; a count changes."""
    if constant < 0:
        return
    fresh, counted = report_state(world)[ONLY_FRESH], groups(world)[start.group, G_KIND] == COUNT
    component = np.int64(constants(world)[constant, C_FIRST])
    while component >= 0:
        if not fresh or components(world)[component, K_FRESH]:
            if counted:
                count_more(world, component, change)
            elif _is_heard(world, start.group, components(world)[component, K_BITS]):
                hold_more(world, component, change)
        component = np.int64(components(world)[component, K_NEXT])


@kernel()
def _is_heard(world: Any, group: Any, bits: Any) -> Any:
    for part in range(groups(world)[group, G_PARTS]):
        bit = tag_bits(world)[bits + part]
        if bit != _NO_BIT and not (masks(world)[part] >> np.uint64(bit)) & _1:
            return False
    return True


# --- rows -------------------------------------------------------------------------------------------------------


@kernel()
def _filled(world: Any, group: Any) -> Any:
    """The row that is named by what fills the holes of a group, or -1."""
    count = groups(world)[group, G_HOLES]
    if count == 0:
        return np.int64(groups(world)[group, G_FIRST_CONSTANT])
    first, found = groups(world)[group, G_SLOTS] - count, np.int64(group)
    for hole in range(count):
        found = find_pair(constant_slots(world), pair_key(found, np.int64(path(world)[first + hole])))
        if found < 0:
            break
    return found


@kernel()
def _askers(world: Any, group: Any, constant: Any) -> Any:
    """How many components of a row are asked for this solution."""
    count, component = 0, np.int64(constants(world)[constant, C_FIRST])
    while component >= 0:
        count += _is_heard(world, group, components(world)[component, K_BITS])
        component = np.int64(components(world)[component, K_NEXT])
    return count


@kernel()
def _list(world: Any, start: Start) -> Any:
    """Lists a solution for every component that its holes and tests name."""
    constant = _filled(world, start.group)
    count = _askers(world, start.group, constant) if constant >= 0 else 0
    if count == 0:
        return True
    shown = groups(world)[start.group, G_SLOTS] - groups(world)[start.group, G_HOLES]
    state = report_state(world)
    if state[EVENTS] + count > len(events(world)) or state[VALUES] + shown > len(solutions(world)):
        state[NEEDED] = max(count, shown)
        return False
    component = np.int64(constants(world)[constant, C_FIRST])
    while component >= 0:
        if _is_heard(world, start.group, components(world)[component, K_BITS]):
            _tell_row(world, component, start.sign)
        component = np.int64(components(world)[component, K_NEXT])
    for slot in range(shown):
        solutions(world)[state[VALUES] + slot] = path(world)[slot]
    state[VALUES] += shown
    return True


@kernel()
def _tell_row(world: Any, component: Any, sign: Any) -> None:
    """Tells a component of the solution that is about to be written."""
    state = report_state(world)
    event = events(world)[state[EVENTS]]
    event[W_UPDATE], event[W_PHASE], event[W_KIND] = state[UPDATE], state[PHASE], V_ROW
    event[W_REF], event[W_SIGN], event[W_VALUE] = component, sign, state[VALUES]
    state[EVENTS] += 1
    tell_queries(world, np.int64(components(world)[component, K_POSTINGS]), np.int64(0))
