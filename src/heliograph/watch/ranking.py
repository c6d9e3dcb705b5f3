"""Top-k sets, kept in order: who enters and leaves the k largest counts as counts change.

The law: after each phase of an update the members of a set stand as `modes.rerank` would place them. A member that
moves shifts those between its old and its new place by one, so only those next to a k can have crossed it: they and
whoever moved are placed again, not everybody.

As on a `Board`, a set that gained or lost a member is ranked as a whole when the next update is done.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from heliograph.watch.modes import Match, Turn, after
from heliograph.watch.options import Top

Place = tuple[int, str]  # the count below zero, and the id: more matches first, ties by id


class RankChange(NamedTuple):
    """How many matches a member has after a phase (0: expiry, 1: the update itself) of an update."""

    update: int
    phase: int
    id: str
    matches: int


class _Set:
    """The members of one set."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.standing: set[str] = set()
        self._sizes: dict[str, int] = {}  # the k of each member
        self._distinct: Counter[int] = Counter()  # how many members have each k
        self._order: list[Place] = []

    def add(self, id: str, k: int) -> None:
        self.counts[id], self._sizes[id] = 0, k
        self._distinct[k] += 1
        insort(self._order, (0, id))

    def remove(self, id: str) -> None:
        self._distinct[self._sizes[id]] -= 1
        self._distinct = +self._distinct
        del self._order[self.place_of(id)], self._sizes[id], self.counts[id]
        self.standing.discard(id)

    def move(self, id: str, count: int) -> set[str]:
        """Changes a count; returns whose place may lie on the other side of their k now."""
        del self._order[self.place_of(id)]
        self.counts[id] = count
        insort(self._order, (-count, id))
        near = {place for k in self._distinct for place in (k - 1, k) if place < len(self._order)}
        return {id, *(self._order[place][1] for place in near)}

    def place(self, ids: Iterable[str]) -> dict[str, Turn]:
        """Places members; the turns of those for whom that changes something."""
        turns = {}
        for id in ids:
            match = Match(None, self.counts[id])
            holds = self.counts[id] > 0 and self.place_of(id) < self._sizes[id]
            if holds and id not in self.standing:
                self.standing.add(id)
                turns[id] = Turn((), (match,))
            elif not holds and id in self.standing:
                self.standing.remove(id)
                turns[id] = Turn((match,), ())
        return turns

    def place_of(self, id: str) -> int:
        return bisect_left(self._order, (-self.counts[id], id))


class Ranking:
    """All top-k sets of an engine, by name."""

    def __init__(self) -> None:
        self._sets: dict[str, _Set] = {}
        self._names: dict[str, str] = {}  # of each member's set
        self.stirred: set[str] = set()
        self.unplaced: set[str] = set()

    def __contains__(self, id: str) -> bool:
        return id in self._names

    def add(self, id: str, top: Top) -> None:
        self._names[id] = top.name
        self._sets.setdefault(top.name, _Set()).add(id, top.k)
        self.stirred.add(top.name)
        self.unplaced.add(id)

    def remove(self, id: str) -> None:
        name = self._names.pop(id)
        self._sets[name].remove(id)
        self.stirred.add(name)
        self.unplaced.discard(id)

    def settle(self, counts: Mapping[str, int]) -> None:
        """Takes counts silently, and places who has no place yet."""
        for id, count in counts.items():
            self._sets[self._names[id]].move(id, count)
        for id in self.unplaced:
            self._sets[self._names[id]].place((id,))
        self.unplaced.clear()

    def unsettle(self) -> None:
        """The graph was changed silently: everybody is to be placed again."""
        self.unplaced.update(self._names)

    def restore(self, stood: Mapping[str, bool], stirred: Iterable[str], unplaced: Iterable[str]) -> None:
        """Tells of members who were there before whether they stood, and who of them is still to be placed."""
        for id in (id for id, held in stood.items() if held):
            self._sets[self._names[id]].standing.add(id)
        self.unplaced = (self.unplaced - stood.keys()) | set(unplaced)
        new = {name for id, name in self._names.items() if id not in stood}
        self.stirred = new | (self._sets.keys() & set(stirred))

    def count(self, id: str) -> int:
        return self._sets[self._names[id]].counts[id]

    def sets_of(self, ids: Iterable[str]) -> set[str]:
        """The sets that some of these are members of."""
        return {self._names[id] for id in ids if id in self._names}

    def place(self, id: str) -> int:
        """The place of a member in its set by the counts as they are, from 0."""
        return self._sets[self._names[id]].place_of(id)

    def stands(self, id: str) -> bool:
        return id in self._sets[self._names[id]].standing

    # --- updates ------------------------------------------------------------------------------------------------

    def tell(self, changes: Iterable[RankChange], updates: int) -> dict[tuple[int, str], Turn]:
        """The turns of a batch of so many updates, by update and member; changes come in order of update and phase."""
        told: dict[tuple[int, str], Turn] = {}
        begun, moved = (0, 0), list[RankChange]()
        for change in changes:
            if change[:2] != begun:
                self._end_phase(begun, moved, told)
                self._end_updates(begun[0], change.update, told)
                begun, moved = (change.update, change.phase), []
            moved.append(change)
        self._end_phase(begun, moved, told)
        self._end_updates(begun[0], updates, told)
        return told

    def _end_phase(self, begun: tuple[int, int], moved: list[RankChange], told: dict[tuple[int, str], Turn]) -> None:
        near: dict[str, set[str]] = {}
        for change in moved:
            name = self._names[change.id]
            near.setdefault(name, set()).update(self._sets[name].move(change.id, change.matches))
        for name in near.keys() - self.stirred:
            _join(told, begun[0], self._sets[name].place(near[name]))

    def _end_updates(self, update: int, following: int, told: dict[tuple[int, str], Turn]) -> None:
        """Updates up to another are done: of these the first carries the news of sets that were stirred."""
        if update < following:
            for name in self.stirred:
                _join(told, update, self._sets[name].place(list(self._sets[name].counts)))
            self.stirred.clear()


def _join(told: dict[tuple[int, str], Turn], update: int, turns: Mapping[str, Turn]) -> None:
    for id, turn in turns.items():
        before = told.get((update, id))
        told[update, id] = turn if before is None else after(before, turn, ())
