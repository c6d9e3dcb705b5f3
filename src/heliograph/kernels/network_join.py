"""The core of a group, joined from a changed edge or from a vertex that hears something new.

The law: every solution of the core that holds a changed edge is met exactly once, at the first of the core edges that
the changed edge stands for: earlier ones must be another edge. A solution is followed only as long as every part of a
slot hears something at its vertex, so where trees hang from the core only such vertices are met as complete them.

Steps are core edges in a fixed order. Where a later step could bind the same slot, the one with fewer neighbours is
walked through and the other one is looked up. Where a hole is bound, what fills it beside the holes that are filled
already may be fewer still.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.evolution_layout import (
    EDGES,
    IN,
    KEY,
    OBJECT,
    OUT,
    PREDICATE,
    SUBJECT,
    VIRTUAL,
    VIRTUALS,
)
from heliograph.kernels.network_layout import (
    B_COUNT,
    B_STEPS,
    C_GROUP,
    CURSOR_OTHER,
    CURSOR_PLACE,
    CURSOR_RUN,
    DEPTH,
    E_OBJECT,
    E_PREDICATE,
    E_SUBJECT,
    F_NEXT,
    F_TERM,
    FILLINGS,
    G_DRIVER_SLOT,
    G_EDGES,
    G_FIRST_EDGE,
    G_FIRST_PART,
    G_HOLES,
    G_PARTS,
    G_SLOTS,
    G_STARTS,
    NONE,
    O_COUNT,
    O_FIRST,
    P_SLOT,
    T_CHAINS,
    T_EDGE,
    T_GIVEN,
    T_HOLE,
    T_KNOWN,
    T_OTHER,
)
from heliograph.kernels.network_solutions import Start, settle
from heliograph.kernels.network_values import find_pair, pair_key, part_mask
from heliograph.kernels.network_world import (
    constant_slots,
    constants,
    core_edges,
    counters,
    cursors,
    edge_at,
    edges,
    fillings,
    find_edge,
    find_run,
    first_run,
    groups,
    holes,
    is_present,
    masks,
    neighbour,
    next_run,
    parts,
    path,
    report_state,
    run_length,
    runs,
    starts,
    steps,
)

_0 = np.uint64(0)
NOTHING = -2  # in place of a hole: no row has what fills the others


@kernel(inline=True)
def _term(terms: Any, node: Any) -> Any:
    """The term that a core edge's node stands for, once it is known."""
    return node if node >= 0 else terms[~node]


# --- slots ------------------------------------------------------------------------------------------------------


@kernel()
def _hears(world: Any, start: Start, slot: Any) -> Any:
    """Whether every part of a slot hears something at its vertex; what they hear is kept."""
    group = start.group
    first, vertex = np.int64(groups(world)[group, G_FIRST_PART]), np.int64(path(world)[slot])
    for part in range(first, first + groups(world)[group, G_PARTS]):
        if parts(world)[part, P_SLOT] != slot:
            continue
        mask = start.value if part == start.part else part_mask(world, part, vertex)
        if mask == _0:
            return False
        masks(world)[part - first] = mask
    return True


@kernel()
def _bind(world: Any, start: Start, node: Any, known: Any, term: Any) -> Any:
    """Gives a node of an edge its term, unless it is known: then it must be that."""
    if known:
        return _term(path(world), node) == term
    path(world)[~node] = term
    return _hears(world, start, np.int64(~node))


@kernel()
def _unify(world: Any, start: Start, edge: Any, known: Any, triple: Any) -> Any:
    """Binds what is unknown of a core edge to a triple; a variable that stands in it twice must agree."""
    nodes = core_edges(world)[edge]
    if not _bind(world, start, nodes[E_SUBJECT], known & 1 != 0, triple[0]):
        return False
    again = not known & 1 and nodes[E_PREDICATE] == nodes[E_SUBJECT]
    if not _bind(world, start, nodes[E_PREDICATE], known & 2 != 0 or again, triple[1]):
        return False
    again = not known & 1 and nodes[E_OBJECT] == nodes[E_SUBJECT]
    again = again or (not known & 2 and nodes[E_OBJECT] == nodes[E_PREDICATE])
    if again:
        return path(world)[~nodes[E_OBJECT]] == triple[2]
    return _bind(world, start, nodes[E_OBJECT], known & 4 != 0, triple[2])


# --- steps ------------------------------------------------------------------------------------------------------


@kernel(inline=True)
def _is_hidden(world: Any, start: Start, edge: Any, number: Any) -> Any:
    """Whether a core edge must not be this edge of the graph: it is the changed one, and met at an earlier place."""
    return number == start.edge and edge - groups(world)[start.group, G_FIRST_EDGE] < start.place


@kernel()
def _run_of(world: Any, edge: Any, known: Any) -> Any:
    """The run that a step walks through, where one end and the predicate are known; else -1."""
    nodes, terms = core_edges(world)[edge], path(world)
    key = 2 * np.int64(_term(terms, nodes[E_PREDICATE]))
    if known & 1:
        return find_run(world, np.int64(_term(terms, nodes[E_SUBJECT])), key + OUT)
    return find_run(world, np.int64(_term(terms, nodes[E_OBJECT])), key + IN)


@kernel()
def _found(world: Any, start: Start, edge: Any) -> Any:
    """Whether a core edge, all of it known, is there."""
    nodes, terms = core_edges(world)[edge], path(world)
    s, p, o = (_term(terms, nodes[E_SUBJECT]), _term(terms, nodes[E_PREDICATE]), _term(terms, nodes[E_OBJECT]))
    number = find_edge(world, s, p, o)
    return number >= 0 and is_present(world, number) and not _is_hidden(world, start, edge, number)


@kernel()
def _hole_of(world: Any, group: Any, step: Any) -> Any:
    """The hole that a step binds, or -1; where others are filled already, what stands beside those in some row."""
    given, found = steps(world)[step, T_GIVEN], np.int64(steps(world)[step, T_CHAINS])
    if found < 0:
        return np.int64(steps(world)[step, T_HOLE])
    first, hole = groups(world)[group, G_SLOTS] - groups(world)[group, G_HOLES], 0
    while given >> hole:
        if given >> hole & 1:
            found = find_pair(constant_slots(world), pair_key(found, np.int64(path(world)[first + hole])))
            if found < 0:
                return np.int64(NOTHING)
        hole += 1
    return found


@kernel()
def _open_run(world: Any, group: Any, step: Any, cursor: Any) -> None:
    """Begins a step that walks through neighbours: its own, those of another step, or all that fill a hole."""
    edge, known = np.int64(steps(world)[step, T_EDGE]), np.int64(steps(world)[step, T_KNOWN])
    other, hole = steps(world)[step, T_OTHER], _hole_of(world, group, step)
    run = _run_of(world, edge, known)
    if other >= 0 and run >= 0:
        another = np.int64(steps(world)[other, T_EDGE])
        # What the other step knows is all but the slot that this one binds.
        slot = core_edges(world)[edge, E_OBJECT] if known == 3 else core_edges(world)[edge, E_SUBJECT]
        its = np.int64(6 if core_edges(world)[another, E_SUBJECT] == slot else 3)
        candidate = _run_of(world, another, its)
        if run_length(world, candidate) < run_length(world, run):
            run = candidate
            cursor[CURSOR_OTHER] = another
    cursor[CURSOR_RUN] = run
    if hole == NOTHING:
        cursor[CURSOR_RUN], cursor[CURSOR_PLACE] = FILLINGS, NONE
    elif hole >= 0 and run_length(world, run) > holes(world)[hole, O_COUNT]:
        cursor[CURSOR_RUN], cursor[CURSOR_PLACE] = FILLINGS, holes(world)[hole, O_FIRST]


@kernel()
def _open(world: Any, group: Any, step: Any, depth: Any) -> None:
    """Begins a step."""
    cursor = cursors(world)[depth]
    edge, known = np.int64(steps(world)[step, T_EDGE]), np.int64(steps(world)[step, T_KNOWN])
    cursor[CURSOR_PLACE], cursor[CURSOR_OTHER], cursor[CURSOR_RUN] = 0, -1, -1
    if known == 3 or known == 6:
        _open_run(world, group, step, cursor)
    elif known == 1 or known == 5:
        cursor[CURSOR_RUN] = first_run(world, _term(path(world), core_edges(world)[edge, E_SUBJECT]))
    elif known == 4:
        cursor[CURSOR_RUN] = first_run(world, _term(path(world), core_edges(world)[edge, E_OBJECT]))


@kernel()
def _next_filling(world: Any, start: Start, edge: Any, node: Any, cursor: Any) -> Any:
    """The next term that fills a step's hole and that its edge leads to."""
    while cursor[CURSOR_PLACE] >= 0:
        filling = fillings(world)[cursor[CURSOR_PLACE]]
        cursor[CURSOR_PLACE] = filling[F_NEXT]
        path(world)[~node] = filling[F_TERM]
        if _found(world, start, edge):
            return True
    return False


@kernel()
def _next_in_run(world: Any, start: Start, step: Any, depth: Any) -> Any:
    """The next neighbour of a step's run that fits."""
    cursor = cursors(world)[depth]
    edge, known = np.int64(steps(world)[step, T_EDGE]), steps(world)[step, T_KNOWN]
    run, walked = cursor[CURSOR_RUN], edge if cursor[CURSOR_OTHER] < 0 else cursor[CURSOR_OTHER]
    node = core_edges(world)[edge, E_OBJECT] if known == 3 else core_edges(world)[edge, E_SUBJECT]
    if run == FILLINGS:
        return _next_filling(world, start, edge, node, cursor)
    while cursor[CURSOR_PLACE] < run_length(world, run):
        place = cursor[CURSOR_PLACE]
        cursor[CURSOR_PLACE] += 1
        if start.edge >= 0 and _is_hidden(world, start, walked, edge_at(world, run, place)):
            continue
        path(world)[~node] = neighbour(world, run, place)
        if walked != edge and not _found(world, start, edge):
            continue
        if _hears(world, start, np.int64(~node)):
            return True
    return False


@kernel()
def _fits(world: Any, start: Start, step: Any, number: Any) -> Any:
    """Whether an edge of the graph fits a step; its unknown parts are bound on the way."""
    edge = np.int64(steps(world)[step, T_EDGE])
    if _is_hidden(world, start, edge, number):
        return False
    row = edges(world)[number]
    known = np.int64(steps(world)[step, T_KNOWN])
    return _unify(world, start, edge, known, (row[SUBJECT], row[PREDICATE], row[OBJECT]))


@kernel(inline=True)
def _is_virtual(world: Any, predicate: Any) -> Any:
    first = counters(world)[VIRTUAL]
    return first <= predicate < first + VIRTUALS


@kernel()
def _next_of_vertex(world: Any, start: Start, step: Any, depth: Any) -> Any:
    """The next edge of a vertex, whatever its property, that fits; virtual properties are nobody's variable."""
    cursor = cursors(world)[depth]
    direction = OUT if steps(world)[step, T_KNOWN] & 1 else IN
    while cursor[CURSOR_RUN] >= 0:
        run = cursor[CURSOR_RUN]
        key = runs(world)[run, KEY]
        wanted = key & 1 == direction and not _is_virtual(world, key >> 1)
        while wanted and cursor[CURSOR_PLACE] < run_length(world, run):
            place = cursor[CURSOR_PLACE]
            cursor[CURSOR_PLACE] += 1
            if _fits(world, start, step, edge_at(world, run, place)):
                return True
        cursor[CURSOR_RUN], cursor[CURSOR_PLACE] = next_run(world, run), 0
    return False


@kernel()
def _next_of_all(world: Any, start: Start, step: Any, depth: Any) -> Any:
    """The next edge of the whole graph that fits."""
    cursor, known = cursors(world)[depth], steps(world)[step, T_KNOWN]
    while cursor[CURSOR_PLACE] < counters(world)[EDGES]:
        number = cursor[CURSOR_PLACE]
        cursor[CURSOR_PLACE] += 1
        visible = is_present(world, number) and (known & 2 or not _is_virtual(world, edges(world)[number, PREDICATE]))
        if visible and _fits(world, start, step, number):
            return True
    return False


@kernel()
def _next(world: Any, start: Start, step: Any, depth: Any) -> Any:
    """Takes the next way through a step, if there is another."""
    known, cursor = steps(world)[step, T_KNOWN], cursors(world)[depth]
    if known == 7:
        cursor[CURSOR_PLACE] += 1
        return cursor[CURSOR_PLACE] == 1 and _found(world, start, np.int64(steps(world)[step, T_EDGE]))
    if known == 3 or known == 6:
        return _next_in_run(world, start, step, depth)
    if known & 5:
        return _next_of_vertex(world, start, step, depth)
    return _next_of_all(world, start, step, depth)


# --- the whole --------------------------------------------------------------------------------------------------


@kernel()
def _join(world: Any, start: Start, which: Any) -> Any:
    """Meets all solutions of the core by the steps of a start; False if there was no room to list one of them: called
    again, it goes on with that."""
    row, state = groups(world)[start.group, G_STARTS] + which, report_state(world)
    first, count = np.int64(starts(world)[row, B_STEPS]), starts(world)[row, B_COUNT]
    if count == 0:
        return settle(world, start)
    depth = state[DEPTH]
    state[DEPTH] = -1
    again = depth >= 0
    if not again:
        depth = np.int64(0)
        _open(world, start.group, first, depth)
    while depth >= 0:
        if not again and not _next(world, start, first + depth, depth):
            depth -= 1
        elif depth + 1 == count:
            again = False
            if not settle(world, start):
                state[DEPTH] = depth
                return False
        else:
            depth += 1
            _open(world, start.group, first + depth, depth)
    return True


@kernel()
def join_from_slot(world: Any, group: Any, slot: Any, vertex: Any, part: Any, value: Any, sign: Any) -> None:
    """A part of a slot hears `value` anew, or no longer, at a vertex."""
    start = Start(np.int64(group), np.int64(part), value, np.int64(-1), np.int64(-1), np.int64(-1), np.int64(sign))
    path(world)[slot] = vertex
    if _hears(world, start, slot):
        _join(world, start, slot)


@kernel()
def join_from_driver(world: Any, constant: Any, vertex: Any, edge: Any, sign: Any) -> None:
    """The edge from a slot's vertex to a driving constant came or went; -1 if it was there all the time.

    The driver counts as the last place of the core: where the edge stands for a core edge too, that comes first.
    """
    group = np.int64(constants(world)[constant, C_GROUP])
    slot, last = np.int64(groups(world)[group, G_DRIVER_SLOT]), np.int64(groups(world)[group, G_EDGES])
    start = Start(group, np.int64(-1), _0, edge, last, constant, sign)
    path(world)[slot] = vertex
    if _hears(world, start, slot):
        _join(world, start, slot)


@kernel()
def join_from_vertex(world: Any, group: Any, slot: Any, vertex: Any) -> None:
    """All that a slot's vertex takes part in."""
    start = Start(np.int64(group), np.int64(-1), _0, np.int64(-1), np.int64(-1), np.int64(-1), np.int64(1))
    path(world)[slot] = vertex
    if _hears(world, start, slot):
        _join(world, start, slot)


@kernel()
def join_from_edge(world: Any, group: Any, place: Any, number: Any, sign: Any) -> Any:
    """A changed edge of the graph stands for a core edge; False if there was no room to list what it completes."""
    start = Start(np.int64(group), np.int64(-1), _0, np.int64(number), np.int64(place), np.int64(-1), np.int64(sign))
    edge = np.int64(groups(world)[group, G_FIRST_EDGE]) + place
    row, nodes = edges(world)[number], core_edges(world)[edge]
    known = np.int64(1 if nodes[E_SUBJECT] >= 0 else 0) | np.int64(2 if nodes[E_PREDICATE] >= 0 else 0)
    known |= np.int64(4 if nodes[E_OBJECT] >= 0 else 0)
    triple = (row[SUBJECT], row[PREDICATE], row[OBJECT])
    if not known & 2 and _is_virtual(world, row[PREDICATE]):
        return True
    if not _unify(world, start, edge, known, triple):
        return True
    return _join(world, start, np.int64(groups(world)[group, G_SLOTS]) + place)


@kernel()
def join_from_nothing(world: Any, group: Any, edges: Any, sign: Any) -> Any:
    """All solutions of a group's core; `edges` is the number of its core edges. Its holes are filled already."""
    start = Start(np.int64(group), np.int64(-1), _0, np.int64(-1), np.int64(-1), np.int64(-1), np.int64(sign))
    return _join(world, start, np.int64(groups(world)[group, G_SLOTS]) + edges)
