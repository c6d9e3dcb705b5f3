"""Verification: does a publication hold a structure, and which of its members accept a solution?

A structure's edges are taken in their order, each along the shortest list of the publication's edges that its known
parts name. The laws:
- when an edge cannot be taken, only a step that bound one of its variables can change that, so the search goes back
  there at once (conflict-directed backjumping); what lies between is not tried again;
- members ask about the variables that are bound at the gate, so after a solution the search goes on from the gate;
- a solution is sure if no condition is in doubt; otherwise it is written out to be judged by the query's conditions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.adjacency import (
    BY_O,
    BY_P,
    BY_PO,
    BY_S,
    BY_SP,
    WHOLE,
    Graph,
    fill,
    first,
    following,
    holds,
    make_graph,
)
from heliograph.kernels.cache import kernel
from heliograph.kernels.classes import Walk, gather_superclasses, gather_types
from heliograph.kernels.conditions import (
    DIRECT,
    FLOAT,
    IS_A,
    NO,
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
    FIRST_CONJUNCT,
    FIRST_ENTRY,
    FIRST_MEMBER,
    FIRST_STEP,
    FIRST_TABLE,
    FLAGS,
    GATE,
    MEMBER,
    MEMBERS,
    MODE,
    OBJECT,
    PREDICATE,
    ROUNDED_CODE,
    SCANNED,
    STEPS,
    SUBJECT,
    TABLE_DOMAIN,
    TABLE_VARIABLE,
    TABLES,
    VARIABLE,
    VARIABLES,
    Closure,
    Edges,
    Found,
    Hashes,
    Index,
    Int32s,
    Int64s,
    Values,
    Words,
)
from heliograph.kernels.tables import DEPTH, advance, start
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

_INEXACT, _COMPLEX = 1, 2  # index.interests
_JUDGED = 64  # solutions of a structure in one publication that are written out; beyond, the whole query decides
_LEVELS = 62  # steps for which the search jumps; longer patterns go back one step at a time
_NONE = np.uint64(0)
_ONE = np.uint64(1)

# Which list to run through when these parts of an edge are known; -1: the whole publication.
_LISTS = np.array([-1, BY_S, BY_P, BY_SP, BY_O, BY_S, BY_PO, WHOLE], np.int64)


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


class Scratch(NamedTuple):
    """What a search keeps while it runs."""

    cursor: Int32s  # of each step, the edge taken
    binding: Int32s  # of each variable
    level: Int32s  # of each variable, the step that binds it
    conflicts: Hashes  # of each step, the earlier steps to which failures beyond it are due
    hits: Int32s  # members that accept the solution at the gate
    doubts: Int32s  # of each hit, SURE or PERHAPS
    reported: Int32s  # of each member, the candidate for which it was settled
    met: Int32s  # of each member, the solution for which it was tried
    stack: Int64s
    state: Int64s  # 0 hits, 1 solutions tried, 2 tag of the candidate, 3 stamp of the version, 4 edges looked at


# --- members ----------------------------------------------------------------------------------------------------


@kernel()
def _try(index: Index, member: int, world: World, scratch: Scratch) -> None:
    """Makes a member a hit if it is alive, not settled, not tried under this solution, and accepts it."""
    state = scratch.state
    if index.died[member] <= state[3] or scratch.reported[member] == state[2] or scratch.met[member] == state[1]:
        return
    scratch.met[member] = state[1]
    found = accepts(index, member, world, scratch.binding)
    if found != NO:
        scratch.hits[state[0]] = member
        scratch.doubts[state[0]] = found
        state[0] += 1


@kernel()
def _stab(index: Index, table: int, at: float, world: World, scratch: Scratch) -> None:
    top = start(scratch.stack, index.tables[table, FIRST_ENTRY], index.tables[table + 1, FIRST_ENTRY])
    entry, top = advance(index.entries, at, scratch.stack, top)
    while entry >= 0:
        _try(index, np.int64(index.entries[entry, MEMBER]), world, scratch)
        entry, top = advance(index.entries, at, scratch.stack, top)


@kernel()
def _stab_classes(index: Index, table: int, term: Any, world: World, scratch: Scratch) -> None:
    domain, walk = index.tables[table, TABLE_DOMAIN], world.walk
    if domain == SUBCLASS_OF:
        gather_superclasses(world.closure, world.graph, walk, term)
    else:
        gather_types(world.closure, world.graph, walk, term, 1 if domain == DIRECT else 0)
    count = walk.state[0]
    classes = np.empty(count, np.int32)  # trying a member may walk again
    for place in range(count):
        classes[place] = walk.reached[place]
    for place in range(count):
        _stab(index, table, np.float64(classes[place]), world, scratch)


@kernel()
def _stab_words(index: Index, table: int, term: Any, world: World, scratch: Scratch) -> None:
    words = world.words
    row, end = 0, len(words.ids)
    while row < end:
        middle = (row + end) // 2
        row, end = (middle + 1, end) if words.ids[middle] < term else (row, middle)
    if row < len(words.ids) and words.ids[row] == term:
        for place in range(words.offsets[row], words.offsets[row + 1]):
            _stab(index, table, words.keys[place], world, scratch)


@kernel()
def _ask_table(index: Index, table: int, world: World, scratch: Scratch) -> None:
    term = scratch.binding[index.tables[table, TABLE_VARIABLE]]
    wanted, domain = index.tables[table, TABLE_DOMAIN], domain_of(world.values, term)
    if wanted == WORD:
        _stab_words(index, table, term, world, scratch)
    elif wanted >= IS_A:
        _stab_classes(index, table, term, world, scratch)
    elif domain % ROUNDED_CODE == FLOAT:
        for entry in range(index.tables[table, FIRST_ENTRY], index.tables[table + 1, FIRST_ENTRY]):
            _try(index, np.int64(index.entries[entry, MEMBER]), world, scratch)
    elif domain % ROUNDED_CODE == wanted:
        _stab(index, table, coordinate_of(world.values, term), world, scratch)


@kernel()
def _gather(index: Index, structure: int, world: World, scratch: Scratch) -> Any:
    """The members that accept what is bound; returns how many."""
    scratch.state[0] = 0
    scratch.state[1] += 1
    begin = index.structures[structure, FIRST_MEMBER]
    for member in range(begin, begin + index.structures[structure, SCANNED]):
        _try(index, member, world, scratch)
    begin = index.structures[structure, FIRST_TABLE]
    for table in range(begin, begin + index.structures[structure, TABLES]):
        _ask_table(index, table, world, scratch)
    return scratch.state[0]


# --- reports ----------------------------------------------------------------------------------------------------


@kernel()
def _doubt(found: Found, counts: Int64s, publication: int, member: int, solution: int) -> Any:
    if 3 * counts[1] + 3 > len(found.doubtful):
        return False
    place = 3 * counts[1]
    found.doubtful[place], found.doubtful[place + 1], found.doubtful[place + 2] = publication, member, solution
    counts[1] += 1
    return True


@kernel()
def _write_solution(found: Found, counts: Int64s, binding: Int32s, variables: int) -> Any:
    """Writes a solution out; returns where it begins, or -1 if there is no room."""
    begin = counts[2]
    if begin + variables > len(found.solutions):
        return -1
    for variable in range(variables):
        found.solutions[begin + variable] = binding[variable]
    counts[2] += variables
    return begin


@kernel()
def _report(
    index: Index, structure: int, publication: int, solutions: int, scratch: Scratch, found: Found, counts: Int64s
) -> Any:
    """Reports the hits of one solution; whether there was room for them."""
    written = -1
    for hit in range(scratch.state[0]):
        member, tag = scratch.hits[hit], scratch.state[2]
        flags = index.members[member, FLAGS]
        if not flags and scratch.doubts[hit] == SURE:
            if counts[0] >= len(found.number):
                return False
            found.publication[counts[0]], found.number[counts[0]] = publication, index.numbers[member]
            counts[0] += 1
            scratch.reported[member] = tag
        elif flags & _COMPLEX or solutions > _JUDGED:
            scratch.reported[member] = tag
            if not _doubt(found, counts, publication, member, -1):
                return False
        else:
            if written < 0:
                written = _write_solution(found, counts, scratch.binding, index.structures[structure, VARIABLES])
            if written < 0 or not _doubt(found, counts, publication, member, written):
                return False
    return True


# --- the search -------------------------------------------------------------------------------------------------


@kernel()
def _value(node: Any, binding: Int32s) -> Any:
    return node if node >= 0 else binding[~node]


@kernel()
def _begin(index: Index, row: int, graph: Graph, binding: Int32s) -> Any:
    """The first edge that may be taken for a step, or -1."""
    steps, mode = index.steps, index.steps[row, MODE]
    if mode == 0:
        return np.int32(0 if graph.size[0] else -1)
    if mode == 5:
        mode = np.int32(1)
    return first(
        graph,
        _LISTS[mode],
        _value(steps[row, SUBJECT], binding) if mode & 1 else np.int32(-1),
        _value(steps[row, PREDICATE], binding) if mode & 2 else np.int32(-1),
        _value(steps[row, OBJECT], binding) if mode & 4 else np.int32(-1),
    )


@kernel()
def _next(mode: Any, graph: Graph, edge: int) -> Any:
    if mode == 0:
        return np.int32(edge + 1 if edge + 1 < graph.size[0] else -1)
    return following(graph, _LISTS[mode], edge)


@kernel()
def _take(index: Index, row: int, step: int, graph: Graph, edge: int, scratch: Scratch) -> Any:
    """Whether an edge agrees with a step; binds the step's new variables."""
    steps, mode, binding = index.steps, index.steps[row, MODE], scratch.binding
    subject, predicate, object = steps[row, SUBJECT], steps[row, PREDICATE], steps[row, OBJECT]
    if mode & 1:
        if graph.subject[edge] != _value(subject, binding):
            return False
    else:
        binding[~subject], scratch.level[~subject] = graph.subject[edge], step
    if mode & 2 or predicate == subject:
        if graph.predicate[edge] != _value(predicate, binding):
            return False
    else:
        binding[~predicate], scratch.level[~predicate] = graph.predicate[edge], step
    if mode & 4 or object in (subject, predicate):
        return graph.object[edge] == _value(object, binding)
    binding[~object], scratch.level[~object] = graph.object[edge], step
    return True


@kernel()
def _suits(index: Index, structure: int, step: int, world: World, scratch: Scratch) -> Any:
    """For a structure with one member: whether what a step has just bound can be accepted at all."""
    if index.structures[structure, MEMBERS] != 1:
        return True
    member = index.structures[structure, FIRST_MEMBER]
    for conjunct in range(index.members[member, FIRST_CONJUNCT], index.members[member + 1, FIRST_CONJUNCT]):
        variable = index.conjuncts[conjunct, VARIABLE]
        bound = scratch.level[variable] == step
        if bound and satisfies(index, conjunct, world, scratch.binding[variable]) == NO:
            return False
    return True


@kernel()
def _step(index: Index, structure: int, step: int, entering: Any, world: World, scratch: Scratch) -> Any:
    """Takes the first, or the next, edge that agrees with a step; whether there is one."""
    row = index.structures[structure, FIRST_STEP] + step
    mode, graph, binding = index.steps[row, MODE], world.graph, scratch.binding
    if mode == 7:
        scratch.state[4] += 1
        steps = index.steps
        return entering and holds(
            graph,
            _value(steps[row, SUBJECT], binding),
            _value(steps[row, PREDICATE], binding),
            _value(steps[row, OBJECT], binding),
        )
    edge = _begin(index, row, graph, binding) if entering else _next(mode, graph, scratch.cursor[step])
    while edge >= 0:
        scratch.state[4] += 1
        if _take(index, row, step, graph, edge, scratch) and _suits(index, structure, step, world, scratch):
            scratch.cursor[step] = edge
            return True
        edge = _next(mode, graph, edge)
    return False


@kernel()
def _blame(node: Any, known: Any, level: Int32s) -> Any:
    return _ONE << np.uint64(level[~node]) if known and node < 0 else _NONE


@kernel()
def _back(index: Index, structure: int, step: int, scratch: Scratch) -> Any:
    """The step to go back to after one that cannot be taken (any more), or -1."""
    if index.structures[structure, STEPS] > _LEVELS:
        return step - 1
    steps, row = index.steps, index.structures[structure, FIRST_STEP] + step
    mode = steps[row, MODE]
    blamed = (
        scratch.conflicts[step]
        | _blame(steps[row, SUBJECT], mode & 1, scratch.level)
        | _blame(steps[row, PREDICATE], mode & 2, scratch.level)
        | _blame(steps[row, OBJECT], mode & 4, scratch.level)
    )
    return _jump(blamed, step, scratch)


@kernel()
def _jump(blamed: Any, step: int, scratch: Scratch) -> Any:
    """The latest of the blamed steps, which takes over the blame of the others."""
    target = step - 1
    while target >= 0 and not (blamed >> np.uint64(target)) & _ONE:
        target -= 1
    if target >= 0:
        scratch.conflicts[target] |= blamed & ((_ONE << np.uint64(target)) - _ONE)
    return target


@kernel()
def _retreat(index: Index, structure: int, gate: int, scratch: Scratch) -> Any:
    """The step before the gate; everything up to it may still lead to other solutions."""
    if index.structures[structure, STEPS] <= _LEVELS:
        for step in range(gate):
            scratch.conflicts[step] |= (_ONE << np.uint64(step)) - _ONE
    return gate - 1


@kernel()
def _search(
    index: Index, structure: int, publication: int, world: World, scratch: Scratch, found: Found, counts: Int64s
) -> Any:
    """Reports the members of a structure that the publication matches; whether there was room for them."""
    length, gate = index.structures[structure, STEPS], index.structures[structure, GATE]
    solutions, step, entering = 0, 0, True
    while step >= 0:
        if entering and step == gate and gate and not _gather(index, structure, world, scratch):
            step, entering = _retreat(index, structure, gate, scratch), False
            continue
        if step == length:
            solutions += 1
            if not gate:
                _gather(index, structure, world, scratch)
            if not _report(index, structure, publication, solutions, scratch, found, counts):
                return False
            step, entering = _retreat(index, structure, gate, scratch), False
            continue
        if entering:
            scratch.conflicts[step] = _NONE
        if _step(index, structure, step, entering, world, scratch):
            step, entering = step + 1, True
        else:
            step, entering = _back(index, structure, step, scratch), False
    return True


@kernel()
def _scratch(index: Index, settings: Int64s) -> Scratch:
    steps, variables, members = settings[4], settings[5], len(index.numbers)
    return Scratch(
        np.empty(steps, np.int32),
        np.empty(variables, np.int32),
        np.zeros(variables, np.int32),
        np.zeros(steps, np.uint64),
        np.empty(members, np.int32),
        np.empty(members, np.int32),
        np.zeros(members, np.int32),
        np.zeros(members, np.int32),
        np.empty(2 * DEPTH, np.int64),
        np.array([0, 0, 0, settings[0], 0], np.int64),
    )


@kernel()
def _is_walked(graph: Graph, closure: Closure) -> Any:
    """Whether classes must be walked to: the publication has sub-classes of its own, or there is no closure."""
    walked = 1 - closure.complete
    for edge in range(graph.size[0]):
        if graph.predicate[edge] == closure.subclass_of:
            walked = 1
    return walked


@kernel()
def _copy(source: Int64s, target: Int64s) -> None:
    for place in range(3):
        target[place] = source[place]


@kernel()
def _most_edges(edges: Edges) -> Any:
    most = 1
    for publication in range(len(edges.offsets) - 1):
        most = max(most, edges.offsets[publication + 1] - edges.offsets[publication])
    return most


@kernel((INDEX, BATCH, CANDIDATES, NEW_INT64S, FOUND, NEW_INT64S))
def verify(index: Index, batch: Batch, candidates: Candidates, settings: Int64s, found: Found, state: Int64s) -> None:
    """Verifies candidates from state[0] on, as far as there is room in `found`.

    settings: the version's stamp, which lists of edges are wanted, how many terms there are, whether any member asks
    for classes, the most steps and variables of a structure. state[0] becomes the
    first candidate that is not done; state[1:4] count the sure matches, the doubtful ones and the numbers of solutions.
    """
    scratch = _scratch(index, settings)
    graph = make_graph(_most_edges(batch.edges))
    walked = settings[2] if settings[3] else 1
    walk = Walk(np.empty(walked, np.int32), np.zeros(walked, np.int32), np.zeros(3, np.int64))
    world = World(graph, batch.values, batch.words, batch.closure, walk)
    counts, before = np.zeros(3, np.int64), np.zeros(3, np.int64)
    _copy(state[1:], counts)
    current = np.int32(-1)
    for candidate in range(state[0], len(candidates.publication)):
        if candidates.publication[candidate] != current:
            current = candidates.publication[candidate]
            fill(graph, batch.edges, current, settings[1])
            walk.state[2] = _is_walked(graph, batch.closure) if settings[3] else 0
        _copy(counts, before)
        scratch.state[2], scratch.state[4] = candidate + 1, 0
        if not _search(index, candidates.structure[candidate], current, world, scratch, found, counts):
            _copy(before, counts)
            break
        candidates.cost[candidate] = scratch.state[4]
        state[0] = candidate + 1
    _copy(counts, state[1:])
