"""The plain filter: every subscription is a candidate for every publication, and is verified by backtracking.

[G] figure 9(h) calls it naive: all subscriptions are checked one by one. It is the oracle of the fast strategies and a
switch for debugging them.

Versions are stamps: each entry knows when it died, a version knows how many entries and which stamp it saw, so taking
a version copies nothing and a change never disturbs one that is in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from heliograph.baselines.solve import Plan, World
from heliograph.subscriptions import Subscription

_ALIVE = 1 << 62  # a stamp that no version reaches
_WORTH_FOLDING = 64  # dead entries below which the list is left as it is


class Published(Protocol):
    """A publication, as far as it is looked at here."""

    @property
    def world(self) -> World: ...


class _Entry:
    """A subscription with its plan, and the stamp at which it was removed."""

    __slots__ = ("died", "plan", "subscription")

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.plan = Plan.of(subscription.query)
        self.died = _ALIVE


@dataclass(frozen=True, slots=True)
class NaiveVersion:
    """The first `length` entries, without those that had died when the version was taken."""

    entries: list[_Entry]
    by_number: dict[int, _Entry]
    length: int
    stamp: int
    alive: int

    def __len__(self) -> int:
        return self.alive

    def candidates(self, publication: Published) -> Iterator[Subscription]:
        for position in range(self.length):
            entry = self.entries[position]
            if entry.died > self.stamp:
                yield entry.subscription

    def verify(self, subscription: Subscription, publication: Published) -> bool:
        entry = self.by_number.get(subscription.number)
        plan = entry.plan if entry is not None else Plan.of(subscription.query)  # removed since this version
        return plan.matches(publication.world)


class NaiveMatcher:
    """All subscriptions in one list, in order of subscribing."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._by_number: dict[int, _Entry] = {}
        self._stamp = 0
        self._version = NaiveVersion(self._entries, self._by_number, 0, 0, 0)

    def insert(self, subscriptions: Sequence[Subscription]) -> None:
        entries = [_Entry(subscription) for subscription in subscriptions]  # all or none: a plan may fail to be made
        self._by_number.update((entry.subscription.number, entry) for entry in entries)
        self._entries.extend(entries)
        self._publish()

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self._by_number.pop(subscription.number).died = self._stamp + 1
        if len(self._entries) - len(self._by_number) > max(_WORTH_FOLDING, len(self._by_number)):
            self._entries = list(self._by_number.values())  # versions in use keep the older list
        self._publish()

    def version(self) -> NaiveVersion:
        return self._version

    def _publish(self) -> None:
        """One assignment makes a change visible, all of it at once."""
        self._stamp += 1
        alive, length = len(self._by_number), len(self._entries)
        self._version = NaiveVersion(self._entries, self._by_number, length, self._stamp, alive)
