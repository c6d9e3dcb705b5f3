"""Reporting hits: sure matches by number, doubtful ones with the solution that is to be judged.

Where there are many solutions, or the edges do not say everything, the whole query decides: then none is written. A
report that does not fit is taken back by its caller, who makes more room.
"""

from __future__ import annotations

from typing import Any

from heliograph.kernels.cache import kernel
from heliograph.kernels.conditions import SURE
from heliograph.kernels.filter_layout import FLAGS, VARIABLES, Found, Index, Int64s
from heliograph.kernels.searching import value
from heliograph.kernels.trials import HITS, SETTLED, SOLVED, TAG, Trial

_COMPLEX = 2  # index.interests
_JUDGED = 64  # solutions of a structure in one publication that are written out; beyond, the whole query decides


@kernel()
def sure(found: Found, counts: Int64s, publication: int, number: int) -> Any:
    if counts[0] >= len(found.number):
        return False
    found.publication[counts[0]], found.number[counts[0]] = publication, number
    counts[0] += 1
    return True


@kernel()
def doubt(found: Found, counts: Int64s, publication: int, member: int, solution: int) -> Any:
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
def report(index: Index, structure: int, publication: int, path: Int64s, trial: Trial, out: Any) -> Any:
    """Reports the hits of one solution; whether there was room for them."""
    found, counts = out
    written = -1
    for hit in range(trial.state[HITS]):
        member, tag = trial.hits[hit], trial.state[TAG]
        flags = index.members[member, FLAGS]
        certain = not flags and trial.doubts[hit] == SURE
        if certain or flags & _COMPLEX or trial.state[SOLVED] > _JUDGED:
            trial.reported[member] = tag
            trial.state[SETTLED] += 1
        if certain:
            fits = sure(found, counts, publication, index.numbers[member])
        elif trial.reported[member] == tag:
            fits = doubt(found, counts, publication, member, -1)
        else:
            if written < 0:
                written = _write_solution(found, counts, path, index.structures[structure, VARIABLES])
            fits = written >= 0 and doubt(found, counts, publication, member, written)
        if not fits:
            return False
    return True
