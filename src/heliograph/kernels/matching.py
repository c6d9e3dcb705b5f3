"""Verification: does a publication hold a structure, and which of its members accept a solution?

The laws: members ask about the variables that are bound at the gate, so after a solution the search goes on from the
gate; a match is sure if no condition is in doubt, otherwise the solution is written out to be judged by the query's
own conditions, or, if there are many, the whole query decides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.adjacency import SIZE, fill, make_graph, part
from heliograph.kernels.cache import kernel
from heliograph.kernels.classes import Walk
from heliograph.kernels.conditions import (
    NO,
    PERHAPS,
    SURE,
    World,
    accepts,
)
from heliograph.kernels.filter_layout import (
    FIRST_CONJUNCT,
    FIRST_MEMBER,
    FIRST_STEP,
    GATE,
    MEMBERS,
    MOST_ROWS,
    SINGLE,
    VARIABLES,
    Closure,
    Edges,
    Found,
    Index,
    Int32s,
    Int64s,
    Values,
    Words,
)
from heliograph.kernels.prefetching import prefetch
from heliograph.kernels.reporting import doubt, report, sure
from heliograph.kernels.searching import (
    AT_GATE,
    BOUND,
    COMPLETE,
    COST,
    EXHAUSTED,
    TIRED,
    advance,
    forget,
    give_up,
    make_path,
    pass_gate,
    refuse,
    retreat,
    start,
)
from heliograph.kernels.tables import DEPTH
from heliograph.kernels.trials import SETTLED, SOLVED, STAMP, TAG, Trial, gather, suits
from heliograph.kernels.types import (
    CLOSURE,
    EDGES,
    FOUND,
    INDEX,
    INT32S,
    NEW_INT32S,
    NEW_INT64S,
    VALUES,
    WORDS,
    named,
)

_AHEAD = 3  # candidates
_HASTE = 1_000  # edges looked at for a solution that nobody has been asked about
_PATIENCE = 100_000  # edges looked at for a structure with one member before the plain solver decides


class Batch(NamedTuple):
    """What a batch of publications brings."""

    edges: Edges
    values: Values
    words: Words
    closure: Closure


class Candidates(NamedTuple):
    """Structures to verify, those of one publication together; `cost` counts the edges looked at for each, as far as it
    can (MOST_ROWS)."""

    publication: Int32s
    structure: Int32s
    cost: Int32s


BATCH = named(Batch, EDGES, VALUES, WORDS, CLOSURE)
CANDIDATES = named(Candidates, INT32S, INT32S, NEW_INT32S)


@kernel()
def _holds(index: Index, structure: int, world: World, path: Int64s) -> Any:
    """Whether the one member of a structure has a solution; PERHAPS as soon as a condition is in doubt."""
    forget(path, index.structures[structure, VARIABLES])
    event = advance(index.structures, structure, index.steps, world.graph, path, True)
    while event in (AT_GATE, BOUND):
        if event == AT_GATE:
            pass_gate(path)
        else:
            found = suits(index, structure, world, path)
            if found == PERHAPS:
                return PERHAPS
            if found == NO:
                refuse(path)
        event = advance(index.structures, structure, index.steps, world.graph, path, True)
    if event == TIRED:
        return PERHAPS
    return SURE if event == COMPLETE else NO


# --- one candidate ----------------------------------------------------------------------------------------------


@kernel()
def _decide(
    event: int, index: Index, structure: int, publication: int, world: World, path: Int64s, trial: Trial, out: Any
) -> Any:
    """What the search is told at a stop; whether there was room to report."""
    if event == BOUND:
        if suits(index, structure, world, path) == NO:
            refuse(path)
        return True
    if event == AT_GATE:
        if gather(index, structure, world, path, trial):
            pass_gate(path)
        else:
            retreat(index.structures, structure, index.steps, path)
    else:
        trial.state[SOLVED] += 1
        if not index.structures[structure, GATE]:
            gather(index, structure, world, path, trial)
        if not report(index, structure, publication, path, trial, out):
            return False
        retreat(index.structures, structure, index.steps, path)
        if trial.state[SETTLED] == index.structures[structure, MEMBERS]:  # no further solution tells anything
            give_up(path)
    return True


@kernel()
def _pass_on(index: Index, structure: int, publication: int, trial: Trial, out: Any) -> Any:
    """Leaves it to the queries of those that are not settled; whether there was room to say so."""
    found, counts = out
    begin = index.structures[structure, FIRST_MEMBER]
    for member in range(begin, begin + index.structures[structure, MEMBERS]):
        left = trial.reported[member] != trial.state[TAG] and index.died[member] > trial.state[STAMP]
        if left and not doubt(found, counts, publication, member, -1):
            return False
    return True


@kernel()
def _budget(index: Index, structure: int, edges: int) -> Any:
    """How many edges a search may look at: more than any but a pathological one needs. Beyond it the plain solver,
    which orders its steps anew for every publication, decides for each member."""
    return (_PATIENCE + 64 * edges) * min(int(index.structures[structure, MEMBERS]), 1000)


@kernel()
def _search(index: Index, structure: int, publication: int, world: World, path: Int64s, trial: Trial, out: Any) -> Any:
    """Reports the members of a structure that the publication matches; whether there was room for them."""
    trial.state[SOLVED], trial.state[SETTLED] = 0, 0
    forget(path, index.structures[structure, VARIABLES])
    event = advance(index.structures, structure, index.steps, world.graph, path, True)
    while event != EXHAUSTED:
        if event == TIRED:
            return _pass_on(index, structure, publication, trial, out)
        if not _decide(event, index, structure, publication, world, path, trial, out):
            return False
        event = advance(index.structures, structure, index.steps, world.graph, path, True)
    return True


# --- a batch ----------------------------------------------------------------------------------------------------


@kernel()
def _is_walked(graph: Int32s, closure: Closure) -> Any:
    """Whether classes must be walked to: the publication has sub-classes of its own, or there is no closure."""
    walked = 1 - closure.complete
    for edge in range(graph[SIZE]):
        if part(graph, edge, 1) == closure.subclass_of:
            walked = 1
    return walked


@kernel(inline=True)
def _ask_ahead(index: Index, wanted: Int32s, candidate: int) -> None:
    """Asks for the structure of a candidate further on, for the steps of a nearer one, for conditions of the next."""
    structures, last = index.structures, len(wanted) - 1
    prefetch(structures, np.int64(wanted[min(candidate + 3 * _AHEAD, last)]) * structures.shape[1])
    near = wanted[min(candidate + 2 * _AHEAD, last)]
    begin, member = np.int64(structures[near, FIRST_STEP]), np.int64(structures[near, FIRST_MEMBER])
    for line in range(3):
        prefetch(index.steps, begin * index.steps.shape[1] + 16 * line)
    prefetch(index.members, 2 * member)
    prefetch(index.died, member)
    prefetch(index.numbers, member)
    member = np.int64(structures[wanted[min(candidate + _AHEAD, last)], FIRST_MEMBER])
    prefetch(index.conjuncts, 2 * np.int64(index.members[member, FIRST_CONJUNCT]))


@kernel()
def _most_edges(edges: Edges) -> Any:
    most = 1
    for publication in range(len(edges.offsets) - 1):
        most = max(most, edges.offsets[publication + 1] - edges.offsets[publication])
    return most


@kernel()
def _copy(source: Int64s, target: Int64s) -> None:
    for place in range(3):
        target[place] = source[place]


@kernel(allocates=True)
def _trial(members: int, stamp: int) -> Any:
    return Trial(
        np.empty(members, np.int32),
        np.empty(members, np.int32),
        np.zeros(members, np.int64),
        np.zeros(members, np.int64),
        np.empty(2 * DEPTH, np.int64),
        np.array([0, 0, 0, stamp, 0, 0], np.int64),
    )


@kernel((INDEX, BATCH, CANDIDATES, NEW_INT64S, FOUND, NEW_INT64S))
def verify(index: Index, batch: Batch, candidates: Candidates, settings: Int64s, found: Found, state: Int64s) -> None:
    """Verifies candidates from state[0] on, as far as there is room in `found`.

    settings: the version's stamp, which lists of edges are wanted, how many terms there are, whether any member asks
    for classes, the most steps and variables of a structure. state[0] becomes the first candidate that is not done;
    state[1:4] count the sure matches, the doubtful ones and the numbers of solutions.
    """
    structures, steps, numbers, died, stamp = index.structures, index.steps, index.numbers, index.died, settings[0]
    trial, path = _trial(len(numbers), stamp), make_path(settings[4], settings[5])
    graph, current = make_graph(_most_edges(batch.edges)), np.int32(-1)
    walked = settings[2] if settings[3] else 1
    walk = Walk(np.empty(walked, np.int32), np.zeros(walked, np.int64), np.zeros(3, np.int64))
    world = World(graph, batch.values, batch.words, batch.closure, walk)
    counts, before = np.zeros(3, np.int64), np.zeros(3, np.int64)
    for candidate in range(state[0], len(candidates.publication)):
        if candidates.publication[candidate] != current:
            current = candidates.publication[candidate]
            fill(graph, batch.edges, current, settings[1])
            walk.state[2] = _is_walked(graph, batch.closure) if settings[3] else 0
        _ask_ahead(index, candidates.structure, candidate)
        structure, fits, answer = candidates.structure[candidate], True, PERHAPS
        edges, asks = int(graph[SIZE]), structures[structure, GATE]
        start(path, _HASTE + 4 * edges if asks else _budget(index, structure, edges))
        if structures[structure, SINGLE]:  # nearly all of a varied load; most ask nothing, and touch no tuple
            member = structures[structure, FIRST_MEMBER]
            event = advance(structures, structure, steps, graph, path, False)
            answer = SURE if event == COMPLETE else (PERHAPS if event == TIRED else NO)
            if asks and event != EXHAUSTED:  # mostly the first solution is accepted; if not, another may be
                answer = accepts(index, member, world, path) if event == COMPLETE else NO
                if answer == NO:
                    start(path, _budget(index, structure, edges))
                    answer = _holds(index, structure, world, path)
            if answer == SURE and died[member] > stamp:
                fits = sure(found, counts, int(current), numbers[member])
        if answer == PERHAPS:
            start(path, _budget(index, structure, edges))
            _copy(counts, before)
            trial.state[TAG] = candidate + 1
            fits = _search(index, structure, int(current), world, path, trial, (found, counts))
            if not fits:
                _copy(before, counts)
        if not fits:
            break
        candidates.cost[candidate] = min(path[COST], MOST_ROWS)
        state[0] = candidate + 1
    _copy(counts, state[1:])
