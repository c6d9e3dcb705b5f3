"""Where each subscription stands: at the front as a root, or in a shard below one. Maintained from `Change`s.

The laws: the first subscriber of a root stands at the front, and so does a synthetic merger; everybody else is dealt to
the shards, further subscribers of the root's own pattern too. So whatever matches is either at the front or behind a
root that matches as well. Each change returns exactly who moved, so that indexes are maintained, not rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from heliograph.kernels.filter_layout import MOST_NUMBERS
from heliograph.partition.arrangement import Arrangement, Change
from heliograph.partition.dealing import Dealer
from heliograph.partition.hashing import EVERYTHING, Hashing, preferred
from heliograph.partition.routes import Route, Routes
from heliograph.subscriptions import Subscription
from heliograph.syntax.query import Query

FRONT: Final = -1  # the place of whoever is looked up first; any other place is the number of a shard
NOWHERE: Final = -2
MERGERS: Final = MOST_NUMBERS  # numbers at the front from here on are those of synthetic mergers
_CHUNK = 4096  # subscriptions whose queries are made at a time
_NOBODY: Mapping[int, int] = MappingProxyType({})


class Moves(NamedTuple):
    """By place, the numbers that left it and those that came, ascending."""

    left: dict[int, list[int]]
    came: dict[int, list[int]]


class Placement:
    """Who stands where, for one arrangement and so many shards."""

    def __init__(self, arrangement: Arrangement, shards: int, known: Mapping[int, int] = _NOBODY) -> None:
        """`known` are the places of those that stand somewhere already, and will be inserted anew."""
        self.arrangement = arrangement
        self.dealer = Dealer(shards)
        self.routes = Routes()
        self.front: dict[int, int] = {}  # numbers at the front, each with its node
        self._heads: dict[int, int] = {}  # the number of each such node
        self._ways: dict[int, Route] = {}  # and its route
        self._known = known
        self._before = dict(known)  # of those that the present change touches, where they stood
        self._rerouted: dict[int, None] = {}  # roots below which the present change moved somebody

    def place_of(self, number: int) -> int:
        if number in self.front:
            return FRONT
        return self.dealer.find(number).shard if number in self.dealer else NOWHERE

    def root_of(self, number: int) -> int:
        """The root that a subscription is, or is below; `EVERYTHING` if there is none."""
        node = self.front.get(number)
        return self.dealer.find(number).root if node is None else node

    def roots_of(self, numbers: Iterable[int]) -> set[int]:
        """The roots above any of these that are there; anybody may ask, while somebody writes too."""
        front, dealt = self.front, self.dealer.root
        found = (front.get(number, dealt(number)) for number in numbers)
        return {root for root in found if root is not None}

    def head(self, root: int) -> int:
        """The number under which a root stands at the front."""
        return self._heads[root]

    # --- changes ------------------------------------------------------------------------------------------------

    def insert(self, subscriptions: Sequence[Subscription], version: int) -> Moves:
        """Places subscriptions; the plan will then be in this version."""
        for first in range(0, len(subscriptions), _CHUNK):
            chunk = subscriptions[first : first + _CHUNK]
            self._follow(self._inserted(chunk), version)
            for each in chunk:
                if self.place_of(each.number) == NOWHERE:  # a pattern that somebody asks already
                    self._below(each.number, self.arrangement.root_of(self.arrangement.node_of(each.number)))
        return self._moves(version)

    def _inserted(self, chunk: Sequence[Subscription]) -> Change:
        if isinstance(self.arrangement, Hashing):
            return self.arrangement.take(each.number for each in chunk)
        return self.arrangement.insert([(each.number, _query(each)) for each in chunk])

    def remove(self, numbers: Sequence[int], version: int) -> Moves:
        """Takes subscriptions out."""
        roots = [self.front[number] for number in numbers if number in self.front]
        change = self.arrangement.remove(numbers)
        for number in numbers:
            self._take_out(number)
        self._follow(change, version)
        for node in set(roots).difference(change.gone, change.left, self._heads):
            self._to_front(self.arrangement.subscribers_of(node)[0], node, version)  # the first went, others are left
        return self._moves(version)

    def follow(self, change: Change, version: int) -> Moves:
        """Does what an arrangement did of its own accord."""
        self._follow(change, version)
        return self._moves(version)

    def _follow(self, change: Change, version: int) -> None:
        for node in (*change.gone, *change.left):
            self._behead(node)
        for node in change.entered:
            self._settle(node, version)
        for node, root in change.placed:
            for number in self.arrangement.subscribers_of(node):
                self._below(number, root)

    def _moves(self, version: int) -> Moves:
        """Who stands elsewhere than before the change, once the shards are level again."""
        for number, dealt in self.dealer.level():
            self._before.setdefault(number, dealt.shard)
            self._rerouted[dealt.root] = None
        moves = Moves({}, {})
        for number in sorted(self._before):
            before, now = self._before[number], self.place_of(number)
            if before != now and before != NOWHERE:
                moves.left.setdefault(before, []).append(number)
            if before != now and now != NOWHERE:
                moves.came.setdefault(now, []).append(number)
        self._reroute(version)
        self._before, self._known = {}, _NOBODY
        return moves

    def _reroute(self, version: int) -> None:
        for root in self._rerouted:
            if root in self._ways:
                counts = self.dealer.counts(root)
                self._ways[root].become(sum(1 << shard for shard, count in enumerate(counts) if count), version)
        self._rerouted = {}

    # --- one node, one subscription -----------------------------------------------------------------------------

    def _settle(self, root: int, version: int) -> None:
        """Puts a root at the front, and below it whoever asks the same."""
        if self.arrangement.is_synthetic(root):
            self._to_front(MERGERS + root, root, version)
            return
        first, *others = self.arrangement.subscribers_of(root)
        self._to_front(first, root, version)
        for number in others:
            self._below(number, root)

    def _to_front(self, number: int, node: int, version: int) -> None:
        self._take_out(number)
        self.front[number], self._heads[node] = node, number
        self._ways[node] = self.routes.enter(number, version)
        self._rerouted[node] = None

    def _below(self, number: int, root: int) -> None:
        self._touch(number)
        if number in self.front:
            self._behead(self.front[number])
        if number not in self.dealer:
            self._deal(number, root)
        elif self.dealer.find(number).root != root:
            self._rerouted[self.dealer.find(number).root] = None
            self.dealer.give(number, root)
        self._rerouted[root] = None

    def _deal(self, number: int, root: int) -> None:
        """To where it stood, if it did; else apart from the others."""
        known = self._known.get(number, FRONT)
        if known != FRONT:
            self.dealer.put(number, root, known)
        else:
            wished = preferred(number, len(self.dealer.sizes)) if root == EVERYTHING else None
            self.dealer.deal(number, root, wished)

    def _take_out(self, number: int) -> None:
        self._touch(number)
        if number in self.front:
            self._behead(self.front[number])
        elif number in self.dealer:
            self._rerouted[self.dealer.take(number).root] = None

    def _behead(self, node: int) -> None:
        """Takes a node from the front, if it stands there."""
        number = self._heads.pop(node, None)
        if number is not None:
            self._touch(number)
            del self.front[number], self._ways[node]
            self.routes.leave(number)

    def _touch(self, number: int) -> None:
        if number not in self._before:
            self._before[number] = self.place_of(number)


def _query(subscription: Subscription) -> Query:
    """The query of a subscription; one of a pattern table is made for this only, and not kept."""
    origin = subscription.origin
    return subscription.query if origin is None else origin.query(subscription.row)
