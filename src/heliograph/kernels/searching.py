"""The search for the solutions of one structure in one publication, as a machine that stops when somebody must decide.

A structure's edges are taken in their order, each along the shortest list of the publication's edges that its known
parts name. The law: when an edge cannot be taken, only a step that bound one of its variables can change that, so the
search goes back there at once (conflict-directed backjumping); what lies between is not tried again.

Everything the machine knows lies in one array, its *path*: a few numbers, then for each step the edge taken and the
steps to blame for failures beyond it, then for each variable its value and the step that bound it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.adjacency import (
    BY_O,
    BY_P,
    BY_PO,
    BY_S,
    BY_SP,
    SIZE,
    WHOLE,
    first,
    following,
    holds,
    part,
)
from heliograph.kernels.cache import kernel
from heliograph.kernels.filter_layout import (
    ASKED,
    FIRST_STEP,
    GATE,
    MEMBERS,
    MODE,
    OBJECT,
    PREDICATE,
    STEPS,
    SUBJECT,
    Int32s,
    Int64s,
)

EXHAUSTED, AT_GATE, COMPLETE, BOUND, TIRED = range(5)  # why the machine stopped; TIRED: it has done what it may

STEP, ENTERING, COST, _BUDGET, _MOST_STEPS, _MOST_VARIABLES = range(6)  # of a path
_CURSORS = 6
_BACK, _FORWARD, _THROUGH = range(3)  # ENTERING: try the next edge; try the first one; the gate has been passed

_LEVELS = 62  # steps with a bit of their own; all later ones share the next, and are gone back to one by one
_ANY = np.int32(-1)

# Which list to run through when these parts of an edge are known; -1: the whole publication.
_LISTS = np.array([-1, BY_S, BY_P, BY_SP, BY_O, BY_S, BY_PO, WHOLE], np.int64)


@kernel(allocates=True)
def make_path(steps: int, variables: int) -> Any:
    path = np.zeros(_CURSORS + 2 * steps + 2 * variables, np.int64)
    path[_MOST_STEPS], path[_MOST_VARIABLES] = steps, variables
    return path


@kernel()
def value(path: Int64s, variable: int) -> Any:
    """What a variable is bound to."""
    return np.int32(path[_CURSORS + 2 * path[_MOST_STEPS] + variable])


@kernel()
def level(path: Int64s, variable: int) -> Any:
    """The step that bound a variable."""
    return path[_CURSORS + 2 * path[_MOST_STEPS] + path[_MOST_VARIABLES] + variable]


@kernel()
def _bind(path: Int64s, node: Any, term: Any, step: int) -> None:
    place = _CURSORS + 2 * path[_MOST_STEPS] + ~node
    path[place], path[place + path[_MOST_VARIABLES]] = term, step


@kernel()
def _term(path: Int64s, node: Any) -> Any:
    return node if node >= 0 else value(path, ~node)


@kernel()
def _blame_at(path: Int64s, step: int) -> Any:
    return _CURSORS + path[_MOST_STEPS] + step


# --- one step ---------------------------------------------------------------------------------------------------


@kernel()
def _begin(steps: Int32s, row: int, graph: Int32s, path: Int64s) -> Any:
    """The first edge that may be taken for a step, or -1."""
    mode = steps[row, MODE] & 7
    if mode == 0:
        return np.int32(0 if graph[SIZE] else -1)
    if mode == 5:
        mode = np.int32(1)
    return first(
        graph,
        _LISTS[mode],
        _term(path, steps[row, SUBJECT]) if mode & 1 else _ANY,
        _term(path, steps[row, PREDICATE]) if mode & 2 else _ANY,
        _term(path, steps[row, OBJECT]) if mode & 4 else _ANY,
    )


@kernel()
def _next(mode: Any, graph: Int32s, edge: int) -> Any:
    if mode == 0:
        return np.int32(edge + 1 if edge + 1 < graph[SIZE] else -1)
    return following(graph, _LISTS[mode], edge)


@kernel()
def _take(steps: Int32s, row: int, step: int, graph: Int32s, edge: int, path: Int64s) -> Any:
    """Whether an edge agrees with a step; binds the step's new variables."""
    mode, subject, predicate = steps[row, MODE], steps[row, SUBJECT], steps[row, PREDICATE]
    object = steps[row, OBJECT]
    if mode & 1:
        if part(graph, edge, 0) != _term(path, subject):
            return False
    else:
        _bind(path, subject, part(graph, edge, 0), step)
    if mode & 2 or predicate == subject:
        if part(graph, edge, 1) != _term(path, predicate):
            return False
    else:
        _bind(path, predicate, part(graph, edge, 1), step)
    if mode & 4 or object in (subject, predicate):
        return part(graph, edge, 2) == _term(path, object)
    _bind(path, object, part(graph, edge, 2), step)
    return True


@kernel()
def _step(steps: Int32s, row: int, step: int, entering: int, graph: Int32s, path: Int64s) -> Any:
    """Takes the first, or the next, edge that agrees with a step; whether there is one."""
    mode = steps[row, MODE]
    path[COST] += 1
    mode &= 7
    if mode == 7:
        return entering != _BACK and holds(
            graph,
            _term(path, steps[row, SUBJECT]),
            _term(path, steps[row, PREDICATE]),
            _term(path, steps[row, OBJECT]),
        )
    edge = _next(mode, graph, path[_CURSORS + step]) if entering == _BACK else _begin(steps, row, graph, path)
    while edge >= 0:
        path[COST] += 1
        if _take(steps, row, step, graph, edge, path):
            path[_CURSORS + step] = edge
            return True
        edge = _next(mode, graph, edge)
    return False


# --- going back -------------------------------------------------------------------------------------------------


@kernel()
def _bit(step: int) -> Any:
    return np.int64(1) << min(step, _LEVELS)


@kernel()
def _blame(path: Int64s, node: Any, known: Any) -> Any:
    return _bit(level(path, ~node)) if known and node < 0 else np.int64(0)


@kernel()
def _back(steps: Int32s, row: int, step: int, path: Int64s) -> Any:
    """The step to go back to after one that cannot be taken (any more), or -1; it takes over the others' blame."""
    mode = steps[row, MODE]
    blamed = (
        path[_blame_at(path, step)]
        | _blame(path, steps[row, SUBJECT], mode & 1)
        | _blame(path, steps[row, PREDICATE], mode & 2)
        | _blame(path, steps[row, OBJECT], mode & 4)
    )
    target = step - 1
    while target >= 0 and not blamed & _bit(target):
        target -= 1
    if target >= 0:
        earlier = _bit(target) - 1 if target <= _LEVELS else np.int64(-1)
        path[_blame_at(path, target)] |= blamed & earlier
    return target


@kernel()
def retreat(structures: Int32s, structure: int, steps: Int32s, path: Int64s) -> None:
    """Goes back to before the gate. Members answer alike until something changes that they ask about: only the steps
    that bound such a thing can lead to other answers."""
    gate, begin = structures[structure, GATE], structures[structure, FIRST_STEP]
    for step in range(gate - 1):
        if steps[begin + step, MODE] & ASKED:
            path[_blame_at(path, gate - 1)] |= _bit(step)
    path[STEP], path[ENTERING] = gate - 1, _BACK


@kernel()
def start(path: Int64s, budget: int) -> None:
    """Begins a search that may look at so many edges."""
    path[STEP], path[ENTERING], path[COST], path[_BUDGET] = 0, _FORWARD, 0, budget


@kernel()
def forget(path: Int64s, variables: int) -> None:
    """No step has bound these variables yet: only where somebody asks what a step has bound must that be said."""
    begin = _CURSORS + 2 * path[_MOST_STEPS] + path[_MOST_VARIABLES]
    for variable in range(variables):
        path[begin + variable] = -1


@kernel()
def refuse(path: Int64s) -> None:
    """What the last step bound will not do."""
    path[STEP], path[ENTERING] = path[STEP] - 1, _BACK


@kernel()
def give_up(path: Int64s) -> None:
    """There is nothing left to look for."""
    path[STEP] = -1


@kernel()
def pass_gate(path: Int64s) -> None:
    path[ENTERING] = _THROUGH


@kernel()
def advance(structures: Int32s, structure: int, steps: Int32s, graph: Int32s, path: Int64s, stops: Any) -> Any:
    """Runs until a solution is complete or, if it `stops` on the way, until there is something to decide: the gate is
    reached or, in a structure with one member, something is bound that it asks about."""
    begin, length = structures[structure, FIRST_STEP], structures[structure, STEPS]
    gate = structures[structure, GATE] if stops else np.int32(0)
    single = stops and structures[structure, MEMBERS] == 1
    step, entering = path[STEP], path[ENTERING]
    event = EXHAUSTED
    while step >= 0:
        if entering == _FORWARD and step == gate and gate:
            event = AT_GATE
            break
        if step == length:
            event = COMPLETE
            break
        if path[COST] > path[_BUDGET]:
            event = TIRED
            break
        if entering != _BACK:
            path[_blame_at(path, step)] = 0
        if _step(steps, begin + step, step, entering, graph, path):
            step, entering = step + 1, np.int64(_FORWARD)
            if single and steps[begin + step - 1, MODE] & ASKED:
                event = BOUND
                break
        else:
            step, entering = _back(steps, begin + step, step, path), np.int64(_BACK)
    path[STEP], path[ENTERING] = step, entering
    return event
