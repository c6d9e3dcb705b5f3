"""Trying members: which of those who share a structure accept what a search has bound.

Those that stand in constraint tables are found there by the value; the others are asked one by one. The law: a member
is a hit for a solution if and only if it is alive, not settled, and accepts everything it asks about.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.classes import gather_superclasses, gather_types
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
    ALONE,
    ENTRY_HIGH,
    ENTRY_LOW,
    FIRST_CONJUNCT,
    FIRST_ENTRY,
    FIRST_MEMBER,
    FIRST_TABLE,
    MEMBER,
    ROUNDED_CODE,
    SCANNED,
    TABLE_DOMAIN,
    TABLE_VARIABLE,
    TABLES,
    VARIABLE,
    Index,
    Int32s,
    Int64s,
    Words,
)
from heliograph.kernels.searching import STEP, level, value
from heliograph.kernels.tables import find, open_table


class Trial(NamedTuple):
    """What is kept while members are tried."""

    hits: Int32s  # members that accept the solution at the gate
    doubts: Int32s  # of each hit, SURE or PERHAPS
    reported: Int64s  # of each member, the candidate for which it was settled
    met: Int64s  # of each member, the solution for which it was tried; a batch may have more than 2^31
    stack: Int64s
    state: Int64s  # see below


HITS, SOLUTION, TAG, STAMP, SOLVED, SETTLED = range(6)


@kernel()
def attempt(index: Index, member: int, world: World, path: Int64s, trial: Trial) -> None:
    """Makes a member a hit if it is alive, not settled, not tried under this solution, and accepts it."""
    state = trial.state
    settled = trial.reported[member] == state[TAG] or trial.met[member] == state[SOLUTION]
    if settled or index.died[member] <= state[STAMP]:
        return
    trial.met[member] = state[SOLUTION]
    found = accepts(index, member, world, path)
    if found != NO:
        trial.hits[state[HITS]] = member
        trial.doubts[state[HITS]] = found
        state[HITS] += 1


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
            settled = reported[member] == state[TAG] or met[member] == state[SOLUTION]
            if not settled and died[member] > state[STAMP]:
                met[member] = state[SOLUTION]
                hits[state[HITS]], doubts[state[HITS]] = member, SURE
                state[HITS] += 1
        else:
            attempt(index, member, world, path, trial)
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
            attempt(index, int(index.entries[entry, MEMBER]), world, path, trial)
    elif domain % ROUNDED_CODE == wanted:
        _stab(index, table, coordinate_of(world.values, term), world, path, trial)


@kernel()
def gather(index: Index, structure: int, world: World, path: Int64s, trial: Trial) -> Any:
    """The members that accept what is bound; returns how many."""
    trial.state[HITS] = 0
    trial.state[SOLUTION] += 1
    begin = index.structures[structure, FIRST_MEMBER]
    for member in range(begin, begin + index.structures[structure, SCANNED]):
        attempt(index, int(member), world, path, trial)
    begin = index.structures[structure, FIRST_TABLE]
    for table in range(begin, begin + index.structures[structure, TABLES]):
        _ask_table(index, table, world, path, trial)
    return trial.state[HITS]


@kernel()
def suits(index: Index, structure: int, world: World, path: Int64s) -> Any:
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
