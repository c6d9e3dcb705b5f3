"""Where in the network a changed edge is asked for: chains of sites under (vertex or -1, key).

The heads of chains stand in a table by open addressing whose slots hold 1 + the number of a head. The hash of
(vertex, key) is that of the pair (vertex + 1, key + 4), for both may be negative.
A chain runs from the highest level to the lowest; joins stand before all messages. Under a vertex there are joins only.
"""

from __future__ import annotations

import numpy as np

from heliograph.kernels.network_layout import (
    H_FIRST,
    H_KEY,
    H_LAST,
    H_VERTEX,
    HEAD_COLUMNS,
    MOST_LEVELS,
    NONE,
    S_HEAD,
    S_LEVEL,
    S_NEXT,
    S_PREVIOUS,
    SITE_COLUMNS,
)
from heliograph.kernels.sizes import room
from heliograph.network.tables import Array, Rows, pair_key, pair_slot

ANYWHERE = -1  # in place of a vertex
ANY_KEY, OUT_KEY, IN_KEY = -1, -2, -3  # of edges whose predicate is a variable: no end known, the subject, the object
JOIN_LEVEL = MOST_LEVELS  # of joins from an edge
_PLACED = (S_PREVIOUS, S_NEXT, S_LEVEL, S_HEAD)


class Sites:
    """All sites, and the heads of their chains."""

    def __init__(self) -> None:
        self.rows = Rows(SITE_COLUMNS)
        self.heads = Rows(HEAD_COLUMNS)
        self.slots: Array = np.zeros(room(16, 2), np.int32)  # a single one stands for no sites: see Machine.world
        self.exchanged = False
        self.dead = 0
        self._firsts: dict[int, dict[int, int]] = {}  # by head of no vertex and by level: the first site

    def add(self, what: tuple[int, int, int], level: int, vertex: int, key: int) -> int:
        """Another site (kind, ref, place) in its place of the chain under (vertex, key)."""
        head = self._head(vertex, key)
        firsts = self._firsts.setdefault(head, {}) if vertex == ANYWHERE else {}
        after = self._behind(head, level, firsts)
        before = int(self.rows.array[after, S_PREVIOUS] if after >= 0 else self.heads.array[head, H_LAST])
        site = firsts[level] = self.rows.append((*what, after, before, level, head))
        self._join(head, before, site)
        self._join(head, site, after)
        return site

    def remove(self, site: int) -> None:
        """Takes a site out of its chain."""
        before, after, level, head = (int(self.rows.array[site, each]) for each in _PLACED)
        self._join(head, before, after)
        self.dead += 1
        firsts = self._firsts.get(head, {})
        if firsts.get(level) == site:
            del firsts[level]
            if after >= 0 and self.rows.array[after, S_LEVEL] == level:
                firsts[level] = after

    def _behind(self, head: int, level: int, firsts: dict[int, int]) -> int:
        """The site that one of this level comes before: the first that is no higher."""
        if not firsts:  # at a vertex there are joins, which come first, and messages of one level, which come last
            return int(self.heads.array[head, H_FIRST]) if level == JOIN_LEVEL else NONE
        lower = [each for each in firsts if each <= level]
        return firsts[max(lower)] if lower else NONE

    def find(self, vertex: int, key: int) -> int:
        """The head of (vertex, key), or -1."""
        return int(self.slots[self._slot(vertex, key)]) - 1

    def _join(self, head: int, before: int, after: int) -> None:
        """Lets one site follow another; -1 is the end on either side."""
        if before >= 0:
            self.rows.array[before, S_NEXT] = after
        else:
            self.heads.array[head, H_FIRST] = after
        if after >= 0:
            self.rows.array[after, S_PREVIOUS] = before
        else:
            self.heads.array[head, H_LAST] = before

    def _head(self, vertex: int, key: int) -> int:
        slot = self._slot(vertex, key)
        if self.slots[slot]:
            return int(self.slots[slot]) - 1
        head = self.heads.append((vertex, key, NONE, NONE))
        self.slots[slot] = head + 1
        if 2 * self.heads.used > len(self.slots):
            self._grow()
        return head

    def _slot(self, vertex: int, key: int) -> int:
        mask = len(self.slots) - 1
        slot = pair_slot(pair_key(vertex + 1, key + 4)) & mask
        while head := self.slots[slot]:
            row = self.heads.array[head - 1]
            if row[H_VERTEX] == vertex and row[H_KEY] == key:
                break
            slot = (slot + 1) & mask
        return slot

    def _grow(self) -> None:
        self.slots, self.exchanged = np.zeros(2 * len(self.slots), np.int32), True
        for head, (vertex, key, *_) in enumerate(self.heads.array[: self.heads.used].tolist()):
            self.slots[self._slot(vertex, key)] = head + 1
