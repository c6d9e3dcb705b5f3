"""The subscriptions of matches: a plain list of them, or those that stand in the segments of an index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.index.segment import Segment
from heliograph.subscriptions import Subscription

_FEW = 8  # of so many subscriptions fewer than one matches: then only those that do are looked at


class Named(NamedTuple):
    """Ids and subscribers of some subscriptions, and for each match which of them it is."""

    numbers: npt.NDArray[np.int64]
    ids: pa.Array[Any]
    subscribers: pa.Array[Any]

    @classmethod
    def of(cls, numbers: npt.NDArray[np.int64], entries: list[Subscription]) -> Self:
        ids, subscribers = ([getattr(entry, name) for entry in entries] for name in ("id", "subscriber"))
        return cls(numbers, pa.array(ids, pa.string()), pa.array(subscribers, pa.string()))


class Roster(ABC):
    """Subscriptions by their places."""

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def subscriptions(self, places: npt.NDArray[np.int64]) -> list[Subscription]: ...

    @abstractmethod
    def numbers(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The numbers of those at these places, in the order of subscribing."""
        ...

    @abstractmethod
    def everybody(self) -> list[Subscription]: ...

    def named(self, places: npt.NDArray[np.int64]) -> Named:
        """Those at these places by name; what few matches cost does not grow with the subscriptions."""
        if len(places) * _FEW >= len(self):
            return Named.of(places, self.everybody())
        own, numbers = np.unique(places, return_inverse=True)
        return Named.of(numbers, self.subscriptions(own))


@dataclass(frozen=True, slots=True)
class Listed(Roster):
    """Subscriptions one by one; the place of each is its number in the list."""

    entries: list[Subscription]

    def subscriptions(self, places: npt.NDArray[np.int64]) -> list[Subscription]:
        return [self.entries[place] for place in places.tolist()]

    def numbers(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.array([self.entries[place].number for place in places.tolist()], np.int64)

    def __len__(self) -> int:
        return len(self.entries)

    def everybody(self) -> list[Subscription]:
        return self.entries


@dataclass(frozen=True, slots=True)
class Segmented(Roster):
    """Subscriptions of segments end to end, each in order of subscribing."""

    segments: tuple[Segment, ...]

    def subscriptions(self, places: npt.NDArray[np.int64]) -> list[Subscription]:
        which, inside = self._inside(places)
        pairs = zip(which.tolist(), inside.tolist(), strict=True)
        return [self.segments[number].owners[place] for number, place in pairs]

    def _inside(self, places: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The segment of each place, and its place there."""
        ends = np.cumsum([len(segment) for segment in self.segments])
        which = np.searchsorted(ends, places, side="right")
        return which, places - np.append(0, ends)[which]

    def numbers(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        which, inside = self._inside(places)
        numbers = np.zeros(len(places), np.int64)
        for number, segment in enumerate(self.segments):
            rows = np.flatnonzero(which == number)
            numbers[rows] = segment.index.numbers[segment.by_number[inside[rows]]]
        return numbers

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    def everybody(self) -> list[Subscription]:
        return list(chain.from_iterable(segment.owners for segment in self.segments))
