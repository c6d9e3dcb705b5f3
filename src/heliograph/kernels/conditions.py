"""Whether a value satisfies what a member asks of a variable: no, surely, or perhaps.

Perhaps: the value ties with the end of an interval and one of the two is rounded, or the value is an xsd:float, which
is promoted differently against each kind of number. Then the query's own conditions decide, outside.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.adjacency import GRAPH, Graph
from heliograph.kernels.cache import kernel
from heliograph.kernels.classes import WALK, Walk, is_a, is_below, is_direct
from heliograph.kernels.filter_layout import Atoms, Closure, Conjuncts, Index, Int32s, Values, Words
from heliograph.kernels.types import CLOSURE, VALUES, WORDS, named

NO, SURE, PERHAPS = 0, 1, 2
FLOAT, IS_A, DIRECT, SUBCLASS_OF, SUPERCLASS_OF, WORD = 11, 16, 17, 18, 19, 20  # index.domains.Domain
LOW_OPEN, HIGH_OPEN, ROUNDED = 1, 2, 4  # index.interests


class World(NamedTuple):
    """What conditions are asked of: one publication, the values of its terms and the taxonomy."""

    graph: Graph
    values: Values
    words: Words
    closure: Closure
    walk: Walk


WORLD = named(World, GRAPH, VALUES, WORDS, CLOSURE, WALK)


@kernel()
def domain_of(values: Values, term: Any) -> Any:
    return values.base.domain[term] if term < values.start else values.own.domain[term - values.start]


@kernel()
def coordinate_of(values: Values, term: Any) -> Any:
    return values.base.coordinate[term] if term < values.start else values.own.coordinate[term - values.start]


@kernel()
def _is_rounded(values: Values, term: Any) -> Any:
    return values.base.rounded[term] if term < values.start else values.own.rounded[term - values.start]


@kernel()
def _within(atoms: Atoms, atom: int, values: Values, term: Any) -> Any:
    domain = domain_of(values, term)
    if domain == FLOAT:
        return PERHAPS
    if domain != atoms.domain[atom]:
        return NO
    at, low, high = coordinate_of(values, term), atoms.low[atom], atoms.high[atom]
    if at < low or at > high:
        return NO
    if at > low and at < high:
        return SURE
    flags = atoms.flags[atom]
    if flags & ROUNDED or _is_rounded(values, term):
        return PERHAPS
    excluded = (at == low and flags & LOW_OPEN) or (at == high and flags & HIGH_OPEN)
    return NO if excluded else SURE


@kernel()
def _asked(atoms: Atoms, atom: int, world: World, term: Any) -> Any:
    """An atom about classes or text; what text holds is left to the query's own conditions."""
    domain, kind = atoms.domain[atom], np.int64(atoms.low[atom])
    if domain == IS_A:
        return SURE if is_a(world.closure, world.graph, world.walk, term, kind) else NO
    if domain == DIRECT:
        return SURE if is_direct(world.closure, world.graph, term, kind) else NO
    if domain == SUBCLASS_OF:
        return SURE if is_below(world.closure, world.graph, world.walk, term, kind) else NO
    if domain == SUPERCLASS_OF:
        return SURE if is_below(world.closure, world.graph, world.walk, kind, term) else NO
    return SURE


@kernel()
def satisfies(conjuncts: Conjuncts, conjunct: int, world: World, term: Any) -> Any:
    """Whether a value lies in one of a conjunct's atoms."""
    answer = NO
    for atom in range(conjuncts.offsets[conjunct], conjuncts.offsets[conjunct + 1]):
        if conjuncts.atoms.domain[atom] < IS_A:
            found = _within(conjuncts.atoms, atom, world.values, term)
        else:
            found = _asked(conjuncts.atoms, atom, world, term)
        if found == SURE:
            return SURE
        answer = max(answer, found)
    return answer


@kernel()
def accepts(index: Index, member: int, world: World, binding: Int32s) -> Any:
    """Whether a solution satisfies everything that a member asks."""
    answer = SURE
    for conjunct in range(index.members.conjuncts[member], index.members.conjuncts[member + 1]):
        found = satisfies(index.conjuncts, conjunct, world, binding[index.conjuncts.variable[conjunct]])
        if found == NO:
            return NO
        answer = max(answer, found)
    return answer
