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
from heliograph.kernels.classes import Walk, gather_superclasses, gather_types
from heliograph.kernels.conditions import (
    DIRECT,
    FLOAT,
    IS_A,
    NO,
    PERHAPS,
    SUBCLASS_OF,
    SURE,
    WORD,
    World,
    accepts,
    coordinate_of,
    domain_of,
    satisfies,
)
from heliograph.kernels.filter_layout import (
    ALONE,
    ENTRY_HIGH,
    ENTRY_LOW,
    FIRST_CONJUNCT,
    FIRST_ENTRY,
    FIRST_MEMBER,
    FIRST_STEP,
    FIRST_TABLE,
    FLAGS,
    GATE,
    MEMBER,
    MEMBERS,
    ROUNDED_CODE,
    SCANNED,
    SINGLE,
    TABLE_DOMAIN,
    TABLE_VARIABLE,
    TABLES,
    VARIABLE,
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
from heliograph.kernels.searching import (
    AT_GATE,
    BOUND,
    COMPLETE,
    COST,
    EXHAUSTED,
    STEP,
    TIRED,
    advance,
    forget,
    give_up,
    level,
    make_path,
    pass_gate,
    refuse,
    retreat,
    start,
    value,
)
from heliograph.kernels.tables import DEPTH, find, open_table
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

_COMPLEX = 2  # index.interests
_AHEAD = 3  # candidates
_HASTE = 1_000  # edges looked at for a solution that nobody has been asked about
_PATIENCE = 100_000  # edges looked at for a structure with one member before the plain solver decides
_JUDGED = 64  # solutions of a structure in one publication that are written out; beyond, the whole query decides


class Batch(NamedTuple):
    """What a batch of publications brings."""

    edges: Edges
    values: Values
    words: Words
    closure: Closure


class Candidates(NamedTuple):
    """Structures to verify, those of one publication together; `cost` counts the edges looked at for each."""

    publication: Int32s
    structure: Int32s
    cost: Int32s


BATCH = named(Batch, EDGES, VALUES, WORDS, CLOSURE)
CANDIDATES = named(Candidates, INT32S, INT32S, NEW_INT32S)


class Trial(NamedTuple):
    """What is kept while members are tried."""

    hits: Int32s  # members that accept the solution at the gate
    doubts: Int32s  # of each hit, SURE or PERHAPS
    reported: Int32s  # of each member, the candidate for which it was settled
    met: Int32s  # of each member, the solution for which it was tried
    stack: Int64s
    state: Int64s  # see below


_HITS, _SOLUTION, _TAG, _STAMP, _SOLVED, _SETTLED = range(6)


# --- members ----------------------------------------------------------------------------------------------------


@kernel()
def _try(index: Index, member: int, world: World, path: Int64s, trial: Trial) -> None:
    """Makes a member a hit if it is alive, not settled, not tried under this solution, and accepts it."""
    state = trial.state
    settled = trial.reported[member] == state[_TAG] or trial.met[member] == state[_SOLUTION]
    if settled or index.died[member] <= state[_STAMP]:
        return
    trial.met[member] = state[_SOLUTION]
    found = accepts(index, member, world, path)
    if found != NO:
        trial.hits[state[_HITS]] = member
        trial.doubts[state[_HITS]] = found
        state[_HITS] += 1


@kernel()
def _stab(index: Index, table: int, at: float, world: World, path: Int64s, trial: Trial) -> None:
    """Tries the members of which an interval holds a coordinate; one that asks nothing else is a hit if it does."""
    entries, died, stack = index.entries, index.died, trial.stack
    reported, met, hits, doubts, state = trial.reported, trial.met, trial.hits, trial.doubts, trial.state
    top = open_table(stack, index.tables[table, FIRST_ENTRY], index.tables[table + 1, FIRST_ENTRY])
    entry, top = find(entries, at, stack, top)
    while entry >= 0:
        member = int(entries[entry, MEMBER])
        if entries[entry, ALONE] and entries[entry, ENTRY_LOW] < at < entries[entry, ENTRY_HIGH]:
            settled = reported[member] == state[_TAG] or met[member] == state[_SOLUTION]
            if not settled and died[member] > state[_STAMP]:
                met[member] = state[_SOLUTION]
                hits[state[_HITS]], doubts[state[_HITS]] = member, SURE
                state[_HITS] += 1
        else:
            _try(index, member, world, path, trial)
        entry, top = find(entries, at, stack, top)


@kernel(allocates=True)
def _stab_classes(index: Index, table: int, term: Any, world: World, path: Int64s, trial: Trial) -> None:
    domain, walk = index.tables[table, TABLE_DOMAIN], world.walk
    if domain == SUBCLASS_OF:
        gather_superclasses(world.closure, world.graph, walk, term)
    else:
        gather_types(world.closure, world.graph, walk, term, 1 if domain == DIRECT else 0)
    classes = np.empty(walk.state[0], np.int32)  # trying a member may walk again
    for place in range(len(classes)):
        classes[place] = walk.reached[place]
    for place in range(len(classes)):
        _stab(index, table, np.float64(classes[place]), world, path, trial)


@kernel()
def _row_of(words: Words, term: Any) -> Any:
    """Where the keys of a term are, or where they would be."""
    row, end = 0, len(words.ids)
    while row < end:
        middle = (row + end) // 2
        row, end = (middle + 1, end) if words.ids[middle] < term else (row, middle)
    return row


@kernel()
def _stab_words(index: Index, table: int, term: Any, world: World, path: Int64s, trial: Trial) -> None:
    words = world.words
    row = _row_of(words, term)
    if row < len(words.ids) and words.ids[row] == term:
        for place in range(words.offsets[row], words.offsets[row + 1]):
            _stab(index, table, words.keys[place], world, path, trial)


@kernel()
def _ask_table(index: Index, table: int, world: World, path: Int64s, trial: Trial) -> None:
    term = value(path, index.tables[table, TABLE_VARIABLE])
    wanted, domain = index.tables[table, TABLE_DOMAIN], domain_of(world.values, term)
    if wanted == WORD:
        _stab_words(index, table, term, world, path, trial)
    elif wanted >= IS_A:
        _stab_classes(index, table, term, world, path, trial)
    elif domain % ROUNDED_CODE == FLOAT:
        for entry in range(index.tables[table, FIRST_ENTRY], index.tables[table + 1, FIRST_ENTRY]):
            _try(index, int(index.entries[entry, MEMBER]), world, path, trial)
    elif domain % ROUNDED_CODE == wanted:
        _stab(index, table, coordinate_of(world.values, term), world, path, trial)


@kernel()
def _gather(index: Index, structure: int, world: World, path: Int64s, trial: Trial) -> Any:
    """The members that accept what is bound; returns how many."""
    trial.state[_HITS] = 0
    trial.state[_SOLUTION] += 1
    begin = index.structures[structure, FIRST_MEMBER]
    for member in range(begin, begin + index.structures[structure, SCANNED]):
        _try(index, int(member), world, path, trial)
    begin = index.structures[structure, FIRST_TABLE]
    for table in range(begin, begin + index.structures[structure, TABLES]):
        _ask_table(index, table, world, path, trial)
    return trial.state[_HITS]


@kernel()
def _suits(index: Index, structure: int, world: World, path: Int64s) -> Any:
    """For a structure with one member: whether it can accept what the last step bound."""
    member, answer = index.structures[structure, FIRST_MEMBER], SURE
    for conjunct in range(index.members[member, FIRST_CONJUNCT], index.members[member + 1, FIRST_CONJUNCT]):
        variable = index.conjuncts[conjunct, VARIABLE]
        if level(path, variable) == path[STEP] - 1:
            found = satisfies(index, conjunct, world, value(path, variable))
            if found == NO:
                return NO
            answer = max(answer, found)
    return answer


@kernel()
def _holds(index: Index, structure: int, world: World, path: Int64s) -> Any:
    """Whether the one member of a structure has a solution; PERHAPS as soon as a condition is in doubt."""
    forget(path, index.structures[structure, VARIABLES])
    event = advance(index.structures, structure, index.steps, world.graph, path, True)
    while event in (AT_GATE, BOUND):
        if event == AT_GATE:
            pass_gate(path)
        else:
            found = _suits(index, structure, world, path)
            if found == PERHAPS:
                return PERHAPS
            if found == NO:
                refuse(path)
        event = advance(index.structures, structure, index.steps, world.graph, path, True)
    if event == TIRED:
        return PERHAPS
    return SURE if event == COMPLETE else NO


# --- reports ----------------------------------------------------------------------------------------------------


@kernel()
def _sure(found: Found, counts: Int64s, publication: int, number: int) -> Any:
    if counts[0] >= len(found.number):
        return False
    found.publication[counts[0]], found.number[counts[0]] = publication, number
    counts[0] += 1
    return True


@kernel()
def _doubt(found: Found, counts: Int64s, publication: int, member: int, solution: int) -> Any:
    place = 3 * counts[1]
    if place + 3 > len(found.doubtful):
        return False
    found.doubtful[place], found.doubtful[place + 1], found.doubtful[place + 2] = publication, member, solution
    counts[1] += 1
    return True


@kernel()
def _write_solution(found: Found, counts: Int64s, path: Int64s, variables: int) -> Any:
    """Writes a solution out; returns where it begins, or -1 if there is no room."""
    begin = counts[2]
    if begin + variables > len(found.solutions):
        return -1
    for variable in range(variables):
        found.solutions[begin + variable] = value(path, variable)
    counts[2] += variables
    return begin


@kernel()
def _report(index: Index, structure: int, publication: int, path: Int64s, trial: Trial, out: Any) -> Any:
    """Reports the hits of one solution; whether there was room for them."""
    found, counts = out
    written = -1
    for hit in range(trial.state[_HITS]):
        member, tag = trial.hits[hit], trial.state[_TAG]
        flags = index.members[member, FLAGS]
        sure = not flags and trial.doubts[hit] == SURE
        if sure or flags & _COMPLEX or trial.state[_SOLVED] > _JUDGED:
            trial.reported[member] = tag
            trial.state[_SETTLED] += 1
        if sure:
            fits = _sure(found, counts, publication, index.numbers[member])
        elif trial.reported[member] == tag:
            fits = _doubt(found, counts, publication, member, -1)
        else:
            if written < 0:
                written = _write_solution(found, counts, path, index.structures[structure, VARIABLES])
            fits = written >= 0 and _doubt(found, counts, publication, member, written)
        if not fits:
            return False
    return True


# --- one candidate ----------------------------------------------------------------------------------------------


@kernel()
def _decide(
    event: int, index: Index, structure: int, publication: int, world: World, path: Int64s, trial: Trial, out: Any
) -> Any:
    """What the search is told at a stop; whether there was room to report."""
    if event == BOUND:
        if _suits(index, structure, world, path) == NO:
            refuse(path)
        return True
    if event == AT_GATE:
        if _gather(index, structure, world, path, trial):
            pass_gate(path)
        else:
            retreat(index.structures, structure, index.steps, path)
    else:
        trial.state[_SOLVED] += 1
        if not index.structures[structure, GATE]:
            _gather(index, structure, world, path, trial)
        if not _report(index, structure, publication, path, trial, out):
            return False
        retreat(index.structures, structure, index.steps, path)
        if trial.state[_SETTLED] == index.structures[structure, MEMBERS]:  # no further solution tells anything
            give_up(path)
    return True


@kernel()
def _pass_on(index: Index, structure: int, publication: int, trial: Trial, out: Any) -> Any:
    """Leaves it to the queries of those that are not settled; whether there was room to say so."""
    found, counts = out
    begin = index.structures[structure, FIRST_MEMBER]
    for member in range(begin, begin + index.structures[structure, MEMBERS]):
        left = trial.reported[member] != trial.state[_TAG] and index.died[member] > trial.state[_STAMP]
        if left and not _doubt(found, counts, publication, member, -1):
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
    trial.state[_SOLVED], trial.state[_SETTLED] = 0, 0
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
        np.zeros(members, np.int32),
        np.zeros(members, np.int32),
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
    walk = Walk(np.empty(walked, np.int32), np.zeros(walked, np.int32), np.zeros(3, np.int64))
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
                fits = _sure(found, counts, int(current), numbers[member])
        if answer == PERHAPS:
            start(path, _budget(index, structure, edges))
            _copy(counts, before)
            trial.state[_TAG] = candidate + 1
            fits = _search(index, structure, int(current), world, path, trial, (found, counts))
            if not fits:
                _copy(before, counts)
        if not fits:
            break
        candidates.cost[candidate] = path[COST]
        state[0] = candidate + 1
    _copy(counts, state[1:])
