"""In which order the edges of a core are joined, from each slot, from each edge and from nothing.

Edges all of whose parts are known come first: they only refuse. Then edges that lead from what is known to one new
slot, rather to one that hears or is tested, so that few ways are followed; then those that begin anew, from constants
if they have any. An edge that could have bound the same slot is told as the `other` of the one that does: the one with
fewer neighbours is then walked through.

An order depends on which nodes of an edge are slots, never on the terms and properties, so orders are shared.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from heliograph.kernels.network_layout import NONE
from heliograph.network.questions import Edge

_ALL = 7  # subject 1, predicate 2, object 4
_WALKED = (3, 6)  # what is known where a run is walked through


class Step(NamedTuple):
    """A core edge, which of its parts are known when it is reached, and a later step that could bind the same slot."""

    edge: int
    known: int
    other: int = NONE


class _Choice(NamedTuple):
    """How good an edge is to go on with; the least is best."""

    open: bool  # something of it is unknown
    apart: bool  # no slot of it is known
    loose: bool  # more is unknown than one end
    plain: bool  # the slot that it binds neither hears nor is tested
    unknown: int
    edge: int


def orders_of(edges: Sequence[Edge], slots: int, choosy: Collection[int]) -> tuple[tuple[Step, ...], ...]:
    """Orders from each of the slots, from each edge and from nothing; `choosy` slots hear or are tested."""
    return _orders(tuple(_abstract(edge) for edge in edges), slots, frozenset(choosy))


def _abstract(edge: Edge) -> Edge:
    return (min(edge[0], 0), min(edge[1], 0), min(edge[2], 0))


@lru_cache(maxsize=4096)
def _orders(edges: tuple[Edge, ...], slots: int, choosy: frozenset[int]) -> tuple[tuple[Step, ...], ...]:
    every = range(len(edges))
    from_slots = [_order(edges, every, {slot}, choosy) for slot in range(slots)]
    from_edges = [
        _order(edges, [each for each in every if each != edge], set(_slots_of(edges[edge])), choosy) for edge in every
    ]
    return (*from_slots, *from_edges, _order(edges, every, set(), choosy))


def _order(edges: Sequence[Edge], todo: Collection[int], known: set[int], choosy: Collection[int]) -> tuple[Step, ...]:
    left, steps, bound = list(todo), [], set(known)
    while left:
        edge = min(_choice(edges, each, bound, choosy) for each in left).edge
        left.remove(edge)
        steps.append((edge, frozenset(bound)))
        bound.update(_slots_of(edges[edge]))
    return tuple(
        Step(edge, _known(edges[edge], before), _other(edges, steps, place))
        for place, (edge, before) in enumerate(steps)
    )


def _choice(edges: Sequence[Edge], edge: int, bound: Collection[int], choosy: Collection[int]) -> _Choice:
    known = _known(edges[edge], bound)
    fresh = [slot for slot in _slots_of(edges[edge]) if slot not in bound]
    apart = len(fresh) == len(_slots_of(edges[edge])) and known != _ALL
    plain = not any(slot in choosy for slot in fresh)
    return _Choice(known != _ALL, apart, known not in (*_WALKED, _ALL), plain, 3 - known.bit_count(), edge)


def _other(edges: Sequence[Edge], steps: Sequence[tuple[int, frozenset[int]]], place: int) -> int:
    """A later step that knows all but the slot which this one binds."""
    edge, bound = steps[place]
    if _known(edges[edge], bound) not in _WALKED:
        return NONE
    for later in range(place + 1, len(steps)):
        another = edges[steps[later][0]]
        fresh = [slot for slot in _slots_of(another) if slot not in bound]
        if _known(another, bound) in _WALKED and set(fresh) <= set(_slots_of(edges[edge])):
            return later
    return NONE


def _known(edge: Edge, bound: Collection[int]) -> int:
    return sum(1 << place for place, node in enumerate(edge) if node >= 0 or ~node in bound)


def _slots_of(edge: Edge) -> list[int]:
    return list(dict.fromkeys(~node for node in edge if node < 0))
