"""Classes of a term, from the taxonomy's closure and the publication's own types.

The law: x is a C if some row or `rdf:type` edge leads from x to C, or to a T from which rows or `rdfs:subClassOf` edges
lead to C. The taxonomy's part is a look-up in the closure; only a publication with sub-classes of its own is walked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from heliograph.kernels.adjacency import BY_SP, first, following, holds, part
from heliograph.kernels.cache import kernel
from heliograph.kernels.edges import mixed
from heliograph.kernels.filter_layout import Closure, Int32s, Int64s
from heliograph.kernels.types import NEW_INT32S, NEW_INT64S, named

_SEED = np.uint64(0x2545F4914F6CDD1D)


class Walk(NamedTuple):
    """Scratch for walking up: the terms reached, and for each term the walk that reached it last."""

    reached: Int32s
    stamps: Int64s  # a batch may take more than 2^31 walks
    state: Int64s  # terms reached, number of the walk, whether the publication has sub-classes of its own


WALK = named(Walk, NEW_INT32S, NEW_INT64S, NEW_INT64S)


@kernel((NEW_INT64S, NEW_INT64S))
def fill_pairs(pairs: Int64s, slots: Int64s) -> None:
    """Enters pairs, 1 + (below << 32 | above), into an empty table."""
    mask = np.uint64(len(slots) - 1)
    for pair in pairs:
        slot = mixed(_SEED, np.uint64(pair)) & mask
        while slots[slot]:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = pair


@kernel(inline=True)
def _above(closure: Closure, low: Any, high: Any) -> Any:
    """Whether the taxonomy has `high` above `low`."""
    pair = np.int64(1) + ((np.int64(low) << 32) | np.int64(high))
    mask = np.uint64(len(closure.pairs) - 1)
    slot = mixed(_SEED, np.uint64(pair)) & mask
    while closure.pairs[slot]:
        if closure.pairs[slot] == pair:
            return True
        slot = (slot + np.uint64(1)) & mask
    return False


@kernel()
def _visit(walk: Walk, term: Any) -> None:
    if walk.stamps[term] != walk.state[1]:
        walk.stamps[term] = walk.state[1]
        walk.reached[walk.state[0]] = term
        walk.state[0] += 1


@kernel()
def _visit_edges(walk: Walk, graph: Int32s, term: Any, predicate: Any) -> None:
    edge = first(graph, BY_SP, term, predicate, np.int32(-1))
    while edge >= 0:
        if part(graph, edge, 0) == term and part(graph, edge, 1) == predicate:
            _visit(walk, part(graph, edge, 2))
        edge = following(graph, BY_SP, edge)


@kernel()
def _visit_parents(walk: Walk, closure: Closure, term: Any) -> None:
    if term < len(closure.parent_offsets) - 1:
        for place in range(closure.parent_offsets[term], closure.parent_offsets[term + 1]):
            _visit(walk, closure.parents[place])


@kernel()
def _climb(walk: Walk, closure: Closure, graph: Int32s, begin: int) -> None:
    """Everything above the terms reached from number `begin` on, along rows and the publication's own edges."""
    place = begin
    while place < walk.state[0]:
        term = walk.reached[place]
        _visit_parents(walk, closure, term)
        _visit_edges(walk, graph, term, np.int32(closure.subclass_of))
        place += 1


@kernel()
def gather_types(closure: Closure, graph: Int32s, walk: Walk, term: int, direct: int) -> None:
    """Writes into walk.reached the classes a term is an instance of: directly, or all of them."""
    walk.state[0] = 0
    walk.state[1] += 1
    _visit_parents(walk, closure, np.int32(term))
    _visit_edges(walk, graph, np.int32(term), np.int32(closure.rdf_type))
    if not direct:
        _climb_all(walk, closure, graph, term)


@kernel()
def gather_superclasses(closure: Closure, graph: Int32s, walk: Walk, term: int) -> None:
    """Writes into walk.reached everything above a term."""
    walk.state[0] = 0
    walk.state[1] += 1
    if walk.state[2]:
        _visit_parents(walk, closure, np.int32(term))
        _visit_edges(walk, graph, np.int32(term), np.int32(closure.subclass_of))
        _climb(walk, closure, graph, 0)
    else:
        _visit_ancestors(walk, closure, term)


@kernel()
def _visit_ancestors(walk: Walk, closure: Closure, term: Any) -> None:
    if term < len(closure.offsets) - 1:
        for place in range(closure.offsets[term], closure.offsets[term + 1]):
            _visit(walk, closure.ancestors[place])


@kernel()
def _climb_all(walk: Walk, closure: Closure, graph: Int32s, term: int) -> None:
    if walk.state[2]:
        _climb(walk, closure, graph, 0)
        return
    for place in range(walk.state[0]):
        _visit_ancestors(walk, closure, walk.reached[place])


@kernel()
def _reached(walk: Walk, term: Any) -> Any:
    return walk.stamps[term] == walk.state[1]


@kernel(inline=True)
def is_a(closure: Closure, graph: Int32s, walk: Walk, term: Any, kind: Any) -> Any:
    """Whether a term is an instance of a class or of one below it."""
    if walk.state[2]:
        gather_types(closure, graph, walk, term, 0)
        return _reached(walk, kind)
    if _above(closure, term, kind):
        return True
    edge = first(graph, BY_SP, np.int32(term), np.int32(closure.rdf_type), np.int32(-1))
    while edge >= 0:
        own = part(graph, edge, 0) == term and part(graph, edge, 1) == closure.rdf_type
        if own and (part(graph, edge, 2) == kind or _above(closure, part(graph, edge, 2), kind)):
            return True
        edge = following(graph, BY_SP, edge)
    return False


@kernel()
def is_direct(closure: Closure, graph: Int32s, term: Any, kind: Any) -> Any:
    """Whether a row or an `rdf:type` edge leads from a term to a class."""
    if term < len(closure.parent_offsets) - 1:
        for place in range(closure.parent_offsets[term], closure.parent_offsets[term + 1]):
            if closure.parents[place] == kind:
                return True
    return holds(graph, np.int32(term), np.int32(closure.rdf_type), np.int32(kind))


@kernel()
def is_below(closure: Closure, graph: Int32s, walk: Walk, term: Any, kind: Any) -> Any:
    """Whether a term is a sub-class of a class, at any distance."""
    if walk.state[2]:
        gather_superclasses(closure, graph, walk, term)
        return _reached(walk, kind)
    return _above(closure, term, kind)
