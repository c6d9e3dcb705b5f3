"""In which order the edges of a core are joined: from each slot, from each edge, and from nothing but filled holes.

Edges all of whose parts are known come first: they only refuse. Then edges that lead from what is known to one new
slot, rather to one that hears or is tested, so that few ways are followed; then those that begin anew, from constants
if they have any. An edge that could have bound the same slot is told as the `other` of the one that does: the one with
fewer neighbours is then walked through.

An order depends on which nodes of an edge are slots, never on the terms and properties, so orders are shared.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from heapq import heappop, heappush
from typing import NamedTuple

from heliograph.kernels.network_layout import NONE
from heliograph.network.questions import Edge

_ALL = 7  # subject 1, predicate 2, object 4
_WALKED = (3, 6)  # what is known where a run is walked through


class Step(NamedTuple):
    """A core edge, which of its parts are known when it is reached, a later step that could bind the same slot, the
    hole that it binds, if it walks through neighbours, and the holes that are filled then, as bits."""

    edge: int
    known: int
    other: int = NONE
    hole: int = NONE
    given: int = 0


class Slots(NamedTuple):
    """The slots of a core: how many, how many of them are holes, the last ones, and which others hear or are tested."""

    number: int
    holes: int
    choosy: frozenset[int]

    @property
    def first_hole(self) -> int:
        return self.number - self.holes


class _Choice(NamedTuple):
    """How good an edge is to go on with; the least is best."""

    open: bool  # something of it is unknown
    apart: bool  # no slot of it is known
    loose: bool  # more is unknown than one end
    plain: bool  # the slot that it binds neither hears nor is tested
    unknown: int
    edge: int


def orders_of(edges: Sequence[Edge], slots: Slots, listed: bool) -> tuple[tuple[Step, ...], ...]:
    """Orders from each of the slots, from each edge and from nothing but holes.

    No join of a listed pattern starts from a slot, for nothing is heard there: those orders are empty.
    """
    return _orders(tuple(_abstract(edge) for edge in edges), slots, listed)


def _abstract(edge: Edge) -> Edge:
    return (min(edge[0], 0), min(edge[1], 0), min(edge[2], 0))


@lru_cache(maxsize=4096)
def _orders(edges: tuple[Edge, ...], slots: Slots, listed: bool) -> tuple[tuple[Step, ...], ...]:
    holes = range(slots.first_hole, slots.number)
    join = _Join(edges, slots.choosy.union(holes), slots.first_hole)
    from_slots = [() if listed else join.order({slot}) for slot in range(slots.number)]
    from_edges = [join.order(set(_slots_of(edge)), place) for place, edge in enumerate(edges)]
    return (*from_slots, *from_edges, join.order(set(holes)))


class _Join:
    """The edges of a core, and by slot those that touch it."""

    def __init__(self, edges: Sequence[Edge], choosy: Collection[int], first_hole: int) -> None:
        self._edges, self._choosy, self._first_hole = edges, choosy, first_hole
        self._touching: dict[int, list[int]] = {}
        for place, edge in enumerate(edges):
            for slot in _slots_of(edge):
                self._touching.setdefault(slot, []).append(place)

    def order(self, bound: set[int], done: int = NONE) -> tuple[Step, ...]:
        """All edges but the one that is done, from slots that are bound. What a choice is worth changes only when a
        slot of its edge is bound: it is entered again then."""
        left = set(range(len(self._edges))) - {done}
        heap = sorted(self._choice(edge, bound) for edge in left)
        steps: list[tuple[Step, list[int]]] = []
        while left:
            edge = heappop(heap).edge
            if edge not in left:
                continue
            left.remove(edge)
            fresh = [slot for slot in _slots_of(self._edges[edge]) if slot not in bound]
            known = _known(self._edges[edge], bound)
            hole = fresh[0] - self._first_hole if known in _WALKED else NONE
            others = self._others(edge, fresh, bound) if left else []
            steps.append((Step(edge, known, hole=max(hole, NONE), given=self._filled(bound)), others))
            bound.update(fresh)
            for other in {other for slot in fresh for other in self._touching[slot]} & left:
                heappush(heap, self._choice(other, bound))
        places = {step.edge: place for place, (step, _) in enumerate(steps)}
        return tuple(
            step._replace(other=min((places[each] for each in others if places.get(each, NONE) > place), default=NONE))
            for place, (step, others) in enumerate(steps)
        )

    def _choice(self, edge: int, bound: Collection[int]) -> _Choice:
        nodes = self._edges[edge]
        known, slots = _known(nodes, bound), _slots_of(nodes)
        fresh = [slot for slot in slots if slot not in bound]
        apart = len(fresh) == len(slots) and known != _ALL
        plain = not any(slot in self._choosy for slot in fresh)
        return _Choice(known != _ALL, apart, known not in (*_WALKED, _ALL), plain, 3 - known.bit_count(), edge)

    def _filled(self, bound: Collection[int]) -> int:
        return sum(1 << slot - self._first_hole for slot in bound if slot >= self._first_hole)

    def _others(self, edge: int, fresh: list[int], bound: Collection[int]) -> list[int]:
        """Edges that could bind the same slot, where a run is walked through."""
        if _known(self._edges[edge], bound) not in _WALKED:
            return []
        return [other for other in self._touching[fresh[0]] if _known(self._edges[other], bound) in _WALKED]


def _known(edge: Edge, bound: Collection[int]) -> int:
    return sum(1 << place for place, node in enumerate(edge) if node >= 0 or ~node in bound)


def _slots_of(edge: Edge) -> list[int]:
    return list(dict.fromkeys(~node for node in edge if node < 0))
