"""The strategy behind a filter: which subscriptions could a publication match, and which of those do.

The law that every strategy keeps: a version's matches are exactly the subscriptions that match, whatever the strategy;
only the number of candidates differs. A strategy either takes whole batches (`Version`) or looks at one subscription
and one publication at a time (`Pairwise`), which `filter.pairwise` turns into the former.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from heliograph.baselines.solve import World
from heliograph.filter.rosters import Roster
from heliograph.index.segment import Segment
from heliograph.model import Slow
from heliograph.partition.plan import Plan
from heliograph.publications import Publications
from heliograph.subscriptions import Subscription

if TYPE_CHECKING:
    from heliograph.filter.failures import Failures


@dataclass(frozen=True, slots=True)
class Publication:
    """A document graph that was published, ready to be asked."""

    id: str
    world: World


@dataclass(frozen=True, slots=True)
class Matches:
    """Matches by publication, then in order of subscribing."""

    publication: npt.NDArray[np.int64]  # its number in the batch
    place: npt.NDArray[np.int64]  # of the subscription in the roster
    roster: Roster
    subscriptions: int = 0  # that were subscribed
    counted: bool = False  # whether a count is among them, which is always shown
    candidates: int = 0
    lookup_ns: int = 0
    verify_ns: int = 0
    slow: Callable[[], Iterable[Slow]] = field(default=tuple)


class Version(Protocol):
    """The subscriptions as they were at one moment; later changes do not touch it."""

    def __len__(self) -> int: ...

    def match(self, publications: Publications, failures: Failures) -> Matches:
        """The matches; a subscription that fails is added to `failures`, one that is among them is not asked."""
        ...


class Pairwise(Protocol):
    """A version of a strategy that looks at pairs."""

    def __len__(self) -> int: ...

    def candidates(self, publication: Publication) -> Iterator[Subscription]:
        """The subscriptions that could match, in order of subscribing."""
        ...

    def verify(self, subscription: Subscription, publication: Publication) -> bool:
        """Whether a candidate does match."""
        ...


class Located(NamedTuple):
    """A subscription in an index: its segment, which member of that it is, and what is to be said about that."""

    segment: Segment
    member: int
    notes: tuple[str, ...] = ()


class Matcher(Protocol):
    """Keeps subscriptions so that candidates are found fast. One writer at a time; any number of versions."""

    def insert(self, subscriptions: Sequence[Subscription]) -> bool:
        """Adds subscriptions; whether it now has what it needs of their queries."""
        ...

    def remove(self, subscriptions: Iterable[Subscription]) -> None: ...

    def version(self) -> Version: ...

    def whole(self) -> Segment | None:
        """What is alive as one segment, if there is an index of anything; to be asked while nobody writes."""
        ...

    def planned(self) -> Plan | None:
        """The plan that it runs, if it does."""
        ...

    def locate(self, subscription: Subscription) -> Located | None:
        """Where a subscription stands in the index, if there is one."""
        ...

    def adopt(self, segment: Segment) -> None:
        """Takes over the subscriptions of a segment, before any other."""
        ...


class PairMatcher(Protocol):
    """The same for a strategy that looks at pairs."""

    def insert(self, subscriptions: Sequence[Subscription]) -> None: ...

    def remove(self, subscriptions: Iterable[Subscription]) -> None: ...

    def version(self) -> Pairwise: ...
