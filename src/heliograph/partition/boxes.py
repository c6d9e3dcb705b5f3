"""Roots of one shape that constrain the same variables: found by how far the regions of these reach.

A root is a box: one region a variable. All extents lie in two flat arrays, so that a look takes a few comparisons of
whole columns, 40 µs each of 100,000 boxes; what passes is asked exactly by the caller. The law: `around` answers every
box that holds the asked one, `inside` every box that it holds; both may answer others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from heliograph.partition.extents import Extent

_FEW = 16  # boxes that are not worth a look at their extents


class Boxes:
    """Boxes of so many sides, by the numbers of their nodes."""

    __slots__ = ("_high", "_low", "_place", "nodes")

    def __init__(self, sides: int) -> None:
        self.nodes: list[int] = []
        self._place: dict[int, int] = {}
        self._low = np.empty((sides, 4), np.int64)
        self._high = np.empty((sides, 4), np.int64)

    def __len__(self) -> int:
        return len(self.nodes)

    def add(self, node: int, extents: Sequence[Extent]) -> None:
        place = self._place[node] = len(self.nodes)
        self.nodes.append(node)
        if place == self._low.shape[1]:
            self._low, self._high = (_doubled(column) for column in (self._low, self._high))
        for side, (low, high) in enumerate(extents):
            self._low[side, place], self._high[side, place] = low, high

    def remove(self, node: int) -> None:
        """The last box takes the place of the one that goes."""
        place, last = self._place.pop(node), self.nodes.pop()
        if last != node:
            self.nodes[place] = last
            self._place[last] = place
            for columns in (self._low, self._high):
                columns[:, place] = columns[:, len(self.nodes)]

    def around(self, extents: Sequence[Extent | None]) -> Iterable[int]:
        """Boxes that may hold a box; None is a side of it of which nothing is known, so none of them may."""
        return self._found([(side, each) for side, each in enumerate(extents) if each is not None], around=True)

    def inside(self, extents: Sequence[Extent | None]) -> Iterable[int]:
        """Boxes that a box may hold; None is a side of it that holds everything."""
        return self._found([(side, each) for side, each in enumerate(extents) if each is not None], around=False)

    def _found(self, sides: Sequence[tuple[int, Extent]], around: bool) -> Iterable[int]:
        count = len(self.nodes)
        if count <= _FEW or not sides:
            return tuple(self.nodes)
        fits: npt.NDArray[np.bool_] | None = None
        for side, (low, high) in sides:
            lows, highs = self._low[side, :count], self._high[side, :count]
            passing = (lows <= low) & (highs >= high) if around else (lows >= low) & (highs <= high)
            fits = passing if fits is None else fits & passing
        assert fits is not None
        return [self.nodes[place] for place in np.flatnonzero(fits).tolist()]


def _doubled(columns: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate((columns, np.empty_like(columns)), axis=1)
