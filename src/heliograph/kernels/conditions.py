"""Whether a value satisfies what a member asks of a variable: no, surely, or perhaps.

Perhaps: the value ties with the end of an interval and one of the two is rounded, or the value is an xsd:float, which
is promoted differently against each kind of number. Then the query's own conditions decide, outside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.cache import kernel
from heliograph.kernels.classes import Walk, is_a, is_below, is_direct
from heliograph.kernels.filter_layout import (
    ATOM_FLAGS,
    COORDINATE,
    DOMAIN,
    DOMAIN_CODE,
    FIRST_ATOM,
    FIRST_CONJUNCT,
    HIGH,
    LOW,
    ROUNDED_CODE,
    VARIABLE,
    Closure,
    Floats,
    Index,
    Int32s,
    Int64s,
    Values,
    Words,
)
from heliograph.kernels.searching import value

NO, SURE, PERHAPS = 0, 1, 2
FLOAT, IS_A, DIRECT, SUBCLASS_OF, SUPERCLASS_OF, WORD = 11, 16, 17, 18, 19, 20  # index.domains.Domain
LOW_OPEN, HIGH_OPEN, ROUNDED = 1, 2, 4  # index.interests


class World(NamedTuple):
    """What conditions are asked of: one publication, the values of its terms and the taxonomy."""

    graph: Int32s
    values: Values
    words: Words
    closure: Closure
    walk: Walk


@kernel(inline=True)
def domain_of(values: Values, term: Any) -> Any:
    """The domain of a term, and ROUNDED_CODE if its coordinate is rounded."""
    if term < values.start:
        return np.int64(values.base[term, DOMAIN_CODE])
    return np.int64(values.own[term - values.start, DOMAIN_CODE])


@kernel(inline=True)
def coordinate_of(values: Values, term: Any) -> Any:
    if term < values.start:
        return values.base[term, COORDINATE]
    return values.own[term - values.start, COORDINATE]


@kernel(inline=True)
def _within(atoms: Floats, atom: int, values: Values, term: Any) -> Any:
    code = domain_of(values, term)
    if code % ROUNDED_CODE == FLOAT:
        return PERHAPS
    if code % ROUNDED_CODE != atoms[atom, DOMAIN]:
        return NO
    at, low, high = coordinate_of(values, term), atoms[atom, LOW], atoms[atom, HIGH]
    if at < low or at > high:
        return NO
    if at > low and at < high:
        return SURE
    flags = np.int64(atoms[atom, ATOM_FLAGS])
    if flags & ROUNDED or code >= ROUNDED_CODE:
        return PERHAPS
    excluded = (at == low and flags & LOW_OPEN) or (at == high and flags & HIGH_OPEN)
    return NO if excluded else SURE


@kernel(inline=True)
def _asked(atoms: Floats, atom: int, world: World, term: Any) -> Any:
    """An atom about classes or text; what text holds is left to the query's own conditions."""
    domain, kind = np.int64(atoms[atom, DOMAIN]), np.int64(atoms[atom, LOW])
    if domain == IS_A:
        return SURE if is_a(world.closure, world.graph, world.walk, term, kind) else NO
    if domain == DIRECT:
        return SURE if is_direct(world.closure, world.graph, term, kind) else NO
    if domain == SUBCLASS_OF:
        return SURE if is_below(world.closure, world.graph, world.walk, term, kind) else NO
    if domain == SUPERCLASS_OF:
        return SURE if is_below(world.closure, world.graph, world.walk, kind, term) else NO
    return SURE


@kernel(inline=True)
def satisfies(index: Index, conjunct: int, world: World, term: Any) -> Any:
    """Whether a value lies in one of a conjunct's atoms."""
    answer = NO
    for atom in range(index.conjuncts[conjunct, FIRST_ATOM], index.conjuncts[conjunct + 1, FIRST_ATOM]):
        if index.atoms[atom, DOMAIN] < IS_A:
            found = _within(index.atoms, atom, world.values, term)
        else:
            found = _asked(index.atoms, atom, world, term)
        if found == SURE:
            return SURE
        answer = max(answer, found)
    return answer


@kernel()
def accepts(index: Index, member: int, world: World, path: Int64s) -> Any:
    """Whether a solution satisfies everything that a member asks."""
    answer = SURE
    for conjunct in range(index.members[member, FIRST_CONJUNCT], index.members[member + 1, FIRST_CONJUNCT]):
        found = satisfies(index, conjunct, world, value(path, index.conjuncts[conjunct, VARIABLE]))
        if found == NO:
            return NO
        answer = max(answer, found)
    return answer
