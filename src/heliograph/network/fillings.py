"""What fills the holes of listed patterns: found by all terms of a pattern together, by one hole and one term, and
beside what fills other holes.

A pattern's terms are looked up one by one in the table of constants (`network_layout.Network.constant_slots`): the
group and the first term lead to a number, that and the second to another, and the last one to the row that stands for
them all. Numbers on the way are counted by those who pass, as are the fillings of a hole.

Where a join binds one hole after others, it asks what fills it beside them. That is a hole of its own, found by the
terms of the others: thousands of patterns with two constants each are then followed pair by pair, not in all
combinations.

The law: a term is a filling of a hole for as long as some row of its group has it there, and beside others for as long
as some row has it there and them.
"""

from __future__ import annotations

from collections.abc import Sequence

from heliograph.kernels.network_layout import (
    F_NEXT,
    F_PREVIOUS,
    FILLED,
    FILLING_COLUMNS,
    HOLE_COLUMNS,
    NONE,
    O_COUNT,
    O_FIRST,
    PREFIX,
)
from heliograph.network.tables import Pairs, Rows


class Fillings:
    """All holes, their fillings, and the way to the rows that they name."""

    def __init__(self, slots: Pairs) -> None:
        self.holes = Rows(HOLE_COLUMNS)
        self.rows = Rows(FILLING_COLUMNS)
        self.dead = 0
        self._slots = slots
        self._users: dict[tuple[int, int], int] = {}  # by pair that is not the last: how many rows lie behind it
        self._prefixes = 0

    def add_holes(self, count: int) -> int:
        """So many more holes; the number of the first."""
        return self.holes.extend([(NONE, 0)] * count)

    def find(self, group: int, terms: Sequence[int]) -> int:
        """The row that terms name in a group, or -1."""
        found = group
        for term in terms:
            found = self._slots.find(found, term)
            if found < 0:
                break
        return found

    def put(self, group: int, terms: Sequence[int], row: int) -> None:
        """Lets terms name a row."""
        found = group
        for term in terms[:-1]:
            pair = found, term
            found = self._slots.find(*pair)
            if found < 0:
                found = PREFIX + self._prefixes
                self._prefixes += 1
                self._slots.put(*pair, found)
            self._users[pair] = self._users.get(pair, 0) + 1
        self._slots.put(found, terms[-1], row)

    def remove(self, group: int, terms: Sequence[int]) -> None:
        """They name it no longer."""
        pairs, found = [], group
        for term in terms:
            pairs.append((found, term))
            found = self._slots.find(found, term)
        self._slots.remove(*pairs.pop())
        for pair in pairs:
            self._users[pair] -= 1
            if not self._users[pair]:
                del self._users[pair]
                self._slots.remove(*pair)

    # --- beside others ------------------------------------------------------------------------------------------

    def begin_chains(self) -> int:
        """The number under which the terms of some holes lead to what fills another one beside them."""
        self._prefixes += 1
        return PREFIX + self._prefixes - 1

    def use_beside(self, chains: int, given: Sequence[int], term: int) -> None:
        """One more row has a term beside others."""
        hole = self.find(chains, given)
        if hole < 0:
            hole = self.add_holes(1)
            self.put(chains, given, hole)
        self.use(hole, term)

    def disuse_beside(self, chains: int, given: Sequence[int], term: int) -> None:
        """One row less."""
        hole = self.find(chains, given)
        self.disuse(hole, term)
        if not self.holes.array[hole, O_COUNT]:
            self.remove(chains, given)
            self.dead += 1

    # --- by hole ------------------------------------------------------------------------------------------------

    def use(self, hole: int, term: int) -> bool:
        """One more row has a term in a hole; whether it is the first."""
        pair = FILLED + hole, term
        self._users[pair] = self._users.get(pair, 0) + 1
        if self._users[pair] > 1:
            return False
        following = int(self.holes.array[hole, O_FIRST])
        row = self.rows.append((term, following, NONE))
        if following >= 0:
            self.rows.array[following, F_PREVIOUS] = row
        self.holes.array[hole] = row, int(self.holes.array[hole, O_COUNT]) + 1
        self._slots.put(*pair, row)
        return True

    def disuse(self, hole: int, term: int) -> bool:
        """One row less; whether it was the last."""
        pair = FILLED + hole, term
        self._users[pair] -= 1
        if self._users[pair]:
            return False
        del self._users[pair]
        row = self._slots.find(*pair)
        self._slots.remove(*pair)
        following, before = (int(self.rows.array[row, each]) for each in (F_NEXT, F_PREVIOUS))
        if before >= 0:
            self.rows.array[before, F_NEXT] = following
        else:
            self.holes.array[hole, O_FIRST] = following
        if following >= 0:
            self.rows.array[following, F_PREVIOUS] = before
        self.holes.array[hole, O_COUNT] -= 1
        self.dead += 1
        return True
