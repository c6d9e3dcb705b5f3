"""The subscriptions of matches: a plain list of them, or those that stand in the segments of an index."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.index.segment import Segment
from heliograph.subscriptions import Subscription


@dataclass(frozen=True, slots=True)
class Listed:
    """Subscriptions one by one; the place of each is its number in the list."""

    entries: list[Subscription]

    def subscriptions(self, places: npt.NDArray[np.int64]) -> list[Subscription]:
        return [self.entries[place] for place in places.tolist()]

    def ids(self) -> pa.Array[Any]:
        return pa.array([each.id for each in self.entries], pa.string())

    def subscribers(self) -> pa.Array[Any]:
        return pa.array([each.subscriber for each in self.entries], pa.string())


@dataclass(frozen=True, slots=True)
class Segmented:
    """Subscriptions of segments end to end, each in order of subscribing."""

    segments: tuple[Segment, ...]

    def subscriptions(self, places: npt.NDArray[np.int64]) -> list[Subscription]:
        ends = np.cumsum([len(segment) for segment in self.segments])
        which = np.searchsorted(ends, places, side="right")
        inside = places - np.append(0, ends)[which]
        pairs = zip(which.tolist(), inside.tolist(), strict=True)
        return [self.segments[number].owners[place] for number, place in pairs]

    def ids(self) -> pa.Array[Any]:
        return pa.array([each.id for each in self._owners()], pa.string())

    def subscribers(self) -> pa.Array[Any]:
        return pa.array([each.subscriber for each in self._owners()], pa.string())

    def _owners(self) -> Any:
        return chain.from_iterable(segment.owners for segment in self.segments)
