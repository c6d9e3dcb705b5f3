"""Dealing subscriptions to shards: those below one root apart, so that whatever matches them is matched in parallel.

The laws: below one root no shard holds many more than another, and of all subscriptions the fullest shard holds at most
a tenth of the mean more than the emptiest (or one more, of a few). The second law is the stronger one: where roots
empty unevenly, subscriptions are moved until it holds again, about one for every two that left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

_TENTH, _TWENTIETH = 10, 20  # of the mean: beyond the first it is balanced again, until the second
_LOOKED_AT = 32  # subscriptions among which one is chosen to be moved


class Dealt(NamedTuple):
    """Where a subscription stands: its shard, and the root that it is below."""

    shard: int
    root: int


class Dealer:
    """Who stands in which shard, and how many below each root."""

    def __init__(self, shards: int) -> None:
        self.sizes = [0] * shards
        self._members: list[dict[int, int]] = [{} for _ in range(shards)]  # by shard: numbers, each with its root
        self._shard: dict[int, int] = {}  # by number
        self._below: dict[int, list[int]] = {}  # by root: how many in each shard

    def __contains__(self, number: int) -> bool:
        return number in self._shard

    def find(self, number: int) -> Dealt:
        shard = self._shard[number]
        return Dealt(shard, self._members[shard][number])

    def root(self, number: int) -> int | None:
        """The root that a subscription is below, if it is there."""
        return self._members[self._shard.get(number, 0)].get(number)

    def counts(self, root: int) -> tuple[int, ...]:
        """How many stand below a root, by shard."""
        return tuple(self._below.get(root, [0] * len(self.sizes)))

    # --- one subscription ---------------------------------------------------------------------------------------

    def deal(self, number: int, root: int, wished: int | None = None) -> int:
        """Gives a subscription to the shard with the fewest below its root; or to the one it wishes for, if that is
        not too full."""
        allowed = min(self.sizes) + max(1, sum(self.sizes) // (_TWENTIETH * len(self.sizes)))
        shard = wished if wished is not None and self.sizes[wished] < allowed else self._fewest(root, allowed)
        self.put(number, root, shard)
        return shard

    def _fewest(self, root: int, allowed: int) -> int:
        counts, sizes = self._below.get(root), self.sizes
        free = (shard for shard in range(len(sizes)) if sizes[shard] < allowed)
        if counts is None:
            return min(free, key=sizes.__getitem__)
        return min(free, key=lambda shard: (counts[shard], sizes[shard]))

    def put(self, number: int, root: int, shard: int) -> None:
        """Puts a subscription into a shard, whatever stands there."""
        self._shard[number] = shard
        self._members[shard][number] = root
        self.sizes[shard] += 1
        self._below.setdefault(root, [0] * len(self.sizes))[shard] += 1

    def take(self, number: int) -> Dealt:
        """Takes a subscription out; returns where it stood."""
        shard = self._shard.pop(number)
        root = self._members[shard].pop(number)
        self.sizes[shard] -= 1
        counts = self._below[root]
        counts[shard] -= 1
        if not any(counts):
            del self._below[root]
        return Dealt(shard, root)

    def give(self, number: int, root: int) -> int:
        """Puts a subscription below another root; it stays in its shard unless that holds more below the root."""
        shard = self.take(number).shard
        counts = self._below.get(root)
        if counts is None or counts[shard] <= min(counts) + sum(counts) // (_TENTH * len(counts)):
            self.put(number, root, shard)
            return shard
        return self.deal(number, root)

    # --- all of them --------------------------------------------------------------------------------------------

    def level(self) -> Iterator[tuple[int, Dealt]]:
        """Moves subscriptions from the fullest shard to the emptiest until they are balanced; yields each, and where it
        stood."""
        mean = sum(self.sizes) // len(self.sizes)
        if max(self.sizes) - min(self.sizes) <= max(1, mean // _TENTH):
            return
        while max(self.sizes) - min(self.sizes) > max(1, mean // _TWENTIETH):
            full, empty = self.sizes.index(max(self.sizes)), self.sizes.index(min(self.sizes))
            number = self._movable(full, empty)
            dealt = self.take(number)
            self.put(number, dealt.root, empty)
            yield number, dealt

    def _movable(self, full: int, empty: int) -> int:
        """One of the last that came to a shard: if possible, one whose root has fewer in the other."""
        some = list(islice(reversed(self._members[full]), _LOOKED_AT))
        members, below = self._members[full], self._below
        apart = (number for number in some if below[members[number]][full] > below[members[number]][empty])
        return next(apart, some[0])
