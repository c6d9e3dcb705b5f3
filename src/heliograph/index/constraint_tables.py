"""Which condition of each member stands in a constraint table, and those tables ([R] figure 4).

Where many members share a structure, one condition of each, the most selective, becomes entries of a table of its
variable and domain; a value then finds the members it suits without asking the others. The law: a member that stands
in tables is found for every value that satisfies its chosen condition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heliograph.index.arrays import fixed, rows_of
from heliograph.index.domains import Domain
from heliograph.index.interests import Conjuncts
from heliograph.kernels.filter_layout import Flags, Floats, Int32s, Int64s

FEW = 8  # members that are tried one by one rather than looked up

_POINT, _BOUNDED, _HALF, _OPEN, _NEVER = range(5)  # from the most selective to what no table can answer


class Tables(NamedTuple):
    """Rows of the index: tables, entries, and the offsets of each structure's tables."""

    tables: Int32s
    entries: Floats
    offsets: Int64s


def selectivity(conjuncts: Conjuncts) -> Int64s:
    """How wide each conjunct is: that of its widest atom."""
    atoms = conjuncts.atoms
    low, high = np.isinf(atoms.low), np.isinf(atoms.high)
    width = np.where(atoms.low == atoms.high, _POINT, _BOUNDED + low + high)
    width[atoms.domain == Domain.SUPERCLASS_OF] = _NEVER
    widest = np.zeros(len(conjuncts.variable), np.int64)
    np.maximum.at(widest, np.repeat(np.arange(len(widest)), np.diff(conjuncts.offsets)), width)
    return widest


def choose(conjuncts: Conjuncts, offsets: Int64s) -> Int64s:
    """The conjunct of each member that may stand in a table, or -1; `offsets` are of members' conjuncts."""
    width = selectivity(conjuncts)
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    usable = np.flatnonzero(width < _NEVER)
    best = usable[np.lexsort((width[usable], owner[usable]))]
    chosen = np.full(len(offsets) - 1, -1, np.int64)
    chosen[owner[best][::-1]] = best[::-1]  # the first of each owner is written last
    return chosen


class Choice(NamedTuple):
    """By member: the conjunct that stands in a table, or -1; the structure; whether it asks nothing else."""

    chosen: Int64s
    structure: Int64s
    alone: Flags


def build(conjuncts: Conjuncts, choice: Choice, structures: int) -> Tables:
    """Tables of the chosen conjuncts."""
    chosen, structure = choice.chosen, choice.structure
    members = np.flatnonzero(chosen >= 0)
    begins, ends = conjuncts.offsets[chosen[members]], conjuncts.offsets[chosen[members] + 1]
    member = np.repeat(members, ends - begins)
    starts = np.cumsum(ends - begins) - (ends - begins)
    atom = np.arange(len(member)) + np.repeat(begins - starts, ends - begins)
    variable, domain = conjuncts.variable[chosen[member]], conjuncts.atoms.domain[atom]
    order = np.lexsort((conjuncts.atoms.low[atom], domain, variable, structure[member]))
    return _tables(conjuncts, atom[order], member[order], choice, structures)


def _tables(conjuncts: Conjuncts, atom: Int64s, member: Int64s, choice: Choice, structures: int) -> Tables:
    from heliograph.kernels.tables import reach_of

    domain, of, variable = (
        conjuncts.atoms.domain[atom],
        choice.structure[member],
        conjuncts.variable[choice.chosen[member]],
    )
    key = np.stack([of, variable, domain]) if len(atom) else np.zeros((3, 0), np.int64)
    first = np.flatnonzero(np.any(np.diff(key, axis=1, prepend=-1), axis=0))
    low, high, reach = conjuncts.atoms.low[atom], conjuncts.atoms.high[atom], np.zeros(len(atom))
    reach_of(fixed(high), fixed(np.append(first, len(atom)).astype(np.int64)), reach)
    tables = rows_of(
        np.append(variable[first], 0), np.append(domain[first], 0), np.append(first, len(atom)), dtype=np.int32
    )
    offsets = np.searchsorted(of[first], np.arange(structures + 1)).astype(np.int64)
    return Tables(tables, rows_of(low, high, reach, member, choice.alone[member], dtype=np.float64), offsets)
