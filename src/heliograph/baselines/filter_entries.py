"""Subscriptions with the stamps between which they lived, so that one index serves many versions.

The law: a version sees an entry exactly if it was born by the version's stamp and had not died by then. An index only
grows: an entry is put into it before the version that sees it is published, and a removed one stays until so many are
dead that a new index is built of the living; versions in use keep the older one. So taking a version copies nothing,
and no change disturbs a reader.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from heliograph.baselines.gm_subscription import SubscriptionGraph
from heliograph.baselines.steps import World
from heliograph.subscriptions import Subscription

_ALIVE = 1 << 62  # a stamp that no version reaches
_WORTH_FOLDING = 64  # dead entries below which the index is left as it is


class Published(Protocol):
    """A publication, as far as it is looked at here."""

    @property
    def world(self) -> World: ...


class Entry:
    """A subscription as a graph, and when it came and went."""

    __slots__ = ("born", "died", "graph", "subscription")

    def __init__(self, subscription: Subscription, born: int) -> None:
        self.subscription = subscription
        self.graph = SubscriptionGraph.of(subscription.query)
        self.born = born
        self.died = _ALIVE

    def lives(self, stamp: int) -> bool:
        return self.born <= stamp < self.died


class Search(Protocol):
    """One publication's way through an index: what was touched, and whether that matches."""

    @property
    def world(self) -> World: ...

    @property
    def candidates(self) -> Mapping[int, Entry]:
        """The entries for which anything was done, by number, in order of subscribing."""
        ...

    def matches(self, entry: Entry) -> bool:
        """Whether a candidate matches."""
        ...


class Index(Protocol):
    """Where entries are found. `insert` has one caller at a time and may run while others search."""

    def insert(self, entry: Entry) -> None: ...

    def search(self, world: World, stamp: int) -> Search: ...


class IndexVersion:
    """The entries of an index that lived at one stamp."""

    def __init__(self, index: Index, stamp: int = 0, alive: int = 0) -> None:
        self._index = index
        self._stamp = stamp
        self._alive = alive
        self._last = threading.local()  # each reader's search of the publication it is at

    def __len__(self) -> int:
        return self._alive

    def candidates(self, publication: Published) -> Iterator[Subscription]:
        for entry in self.search(publication).candidates.values():
            yield entry.subscription

    def verify(self, subscription: Subscription, publication: Published) -> bool:
        search = self.search(publication)
        entry = search.candidates.get(subscription.number)
        return entry is not None and search.matches(entry)

    def search(self, publication: Published) -> Search:
        """The publication's search: made when it is first asked about, kept until the next one is."""
        last: Search | None = getattr(self._last, "search", None)
        if last is None or last.world is not publication.world:
            last = self._last.search = self._index.search(publication.world, self._stamp)
        return last


class Entries:
    """The living entries of an index that is told of every change. One writer at a time."""

    def __init__(self, make: Callable[[], Index]) -> None:
        self._make = make
        self._index = make()
        self._by_number: dict[int, Entry] = {}
        self._dead = 0
        self._stamp = 0
        self.version = IndexVersion(self._index)

    def insert(self, subscriptions: Sequence[Subscription]) -> None:
        """Takes all of them, or none: what was entered before one fails never lives."""
        entries = [Entry(subscription, self._stamp + 1) for subscription in subscriptions]
        try:
            for entry in entries:
                self._index.insert(entry)
        except BaseException:
            for entry in entries:
                entry.died = entry.born
            self._dead += len(entries)
            raise
        self._by_number.update((entry.subscription.number, entry) for entry in entries)
        self._publish()

    def remove(self, subscriptions: Iterable[Subscription]) -> None:
        for subscription in subscriptions:
            self._by_number.pop(subscription.number).died = self._stamp + 1
            self._dead += 1
        if self._dead > max(_WORTH_FOLDING, len(self._by_number)):
            self._fold()
        self._publish()

    def _fold(self) -> None:
        self._index = self._make()
        self._dead = 0
        for entry in self._by_number.values():
            self._index.insert(entry)

    def _publish(self) -> None:
        """One assignment makes a change visible, all of it at once."""
        self._stamp += 1
        self.version = IndexVersion(self._index, self._stamp, len(self._by_number))


def in_order(entries: Iterable[Entry]) -> dict[int, Entry]:
    """Entries by number, in order of subscribing."""
    ordered = sorted(entries, key=lambda entry: entry.subscription.number)
    return {entry.subscription.number: entry for entry in ordered}
