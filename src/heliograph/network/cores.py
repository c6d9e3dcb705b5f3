"""An order of the slots of a core that does not depend on how a query names or lists them.

Slots are told apart by what they hear, then by what their neighbours are, round by round; where some still look alike,
one of them is taken first and the rest told apart from it. If those are truly interchangeable, any choice gives the
same core. Where they only look it, equal cores may be entered twice: that costs work, never an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from heliograph.network.questions import Edge

_FORWARD, _BACKWARD = range(2)
_MOST = 200  # slots: an order that tells more of them apart takes longer than it saves


def slot_order(codes: Mapping[int, Any], edges: Sequence[Edge]) -> list[int]:
    """Slots in order; `edges` are (slot, label, slot)."""
    if len(codes) > _MOST:
        return list(codes)
    touching: dict[int, list[tuple[int, int, int]]] = {slot: [] for slot in codes}
    for s, label, o in edges:
        touching[s].append((_FORWARD, label, o))
        touching[o].append((_BACKWARD, label, s))
    ranks = _refined(_ranked(codes), touching)
    while len(set(ranks.values())) < len(ranks):
        chosen = _first_alike(ranks)
        ranks = _refined(_ranked({slot: (rank, slot != chosen) for slot, rank in ranks.items()}), touching)
    return sorted(ranks, key=ranks.__getitem__)


def _refined(ranks: dict[int, int], touching: Mapping[int, list[tuple[int, int, int]]]) -> dict[int, int]:
    """Ranks that tell slots apart by their neighbours too."""
    while True:
        known = len(set(ranks.values()))
        if known == len(ranks):
            return ranks
        seen = {slot: sorted((way, label, ranks[other]) for way, label, other in touching[slot]) for slot in ranks}
        ranks = _ranked({slot: (rank, seen[slot]) for slot, rank in ranks.items()})
        if len(set(ranks.values())) == known:
            return ranks


def _ranked(codes: Mapping[int, Any]) -> dict[int, int]:
    """The rank of each code among all, equal ones alike."""
    ordered = sorted(codes, key=codes.__getitem__)
    ranks: dict[int, int] = {}
    for place, slot in enumerate(ordered):
        alike = place and codes[slot] == codes[ordered[place - 1]]
        ranks[slot] = ranks[ordered[place - 1]] if alike else place
    return ranks


def _first_alike(ranks: Mapping[int, int]) -> int:
    """A slot of the first rank that several share."""
    ordered = sorted(ranks, key=ranks.__getitem__)
    return next(slot for slot, following in pairwise(ordered) if ranks[slot] == ranks[following])
