"""The strategy behind a filter: which subscriptions could a publication match, and which of those do.

The law that every strategy keeps: verifying a version's candidates finds exactly the subscriptions that match, whatever
the strategy; only the number of candidates differs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from heliograph.baselines.solve import World
from heliograph.subscriptions import Subscription


@dataclass(frozen=True, slots=True)
class Publication:
    """A document graph that was published, ready to be asked."""

    id: str
    world: World


class Version(Protocol):
    """The subscriptions as they were at one moment; later changes do not touch it."""

    def __len__(self) -> int: ...

    def candidates(self, publication: Publication) -> Iterator[Subscription]:
        """The subscriptions that could match, in order of subscribing."""
        ...

    def verify(self, subscription: Subscription, publication: Publication) -> bool:
        """Whether a candidate does match."""
        ...


class Matcher(Protocol):
    """Keeps subscriptions so that candidates are found fast. One writer at a time; any number of versions."""

    def insert(self, subscriptions: Sequence[Subscription]) -> None: ...

    def remove(self, subscriptions: Iterable[Subscription]) -> None: ...

    def version(self) -> Version: ...
