"""Which publications must reach which shards: those that match a root with something below it there.

The law: whatever is told holds for the version that is asked. What was found out about a root is kept until the plan
changes, since a root that matches one publication often matches many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.index.search import Hits
from heliograph.index.segment import Segment
from heliograph.kernels.filter_layout import Int32s, Int64s
from heliograph.partition.plan import Version


class _Known(NamedTuple):
    """What is known of the roots of a segment, by place: whether anything, and a bit for each shard."""

    segment: Segment
    asked: npt.NDArray[np.bool_]
    shards: npt.NDArray[np.uint8]


class Reach:
    """The shards of the roots that were met in the present version of a plan."""

    def __init__(self, shards: int) -> None:
        self._shards = shards
        self._bytes = (shards + 7) // 8
        self._known: tuple[int, dict[int, _Known]] = (-1, {})  # a version, and by segment what is known of it

    def wanted(self, version: Version, hits: Sequence[Hits], first: int, last: int) -> Iterator[Int64s]:
        """For each shard the publications between `first` and `last` that must reach it, counted from the first."""
        reached = np.zeros((self._shards, last - first), np.bool_)
        table = self._table(version.stamp)
        for each in hits:
            rows, numbers = met(each)
            if not len(rows):
                continue
            places = each.segment.places(numbers)
            shards = self._of(table, version, each.segment, places)
            for shard in range(self._shards):
                goes = shards[:, shard >> 3] & (1 << (shard & 7)) != 0
                reached[shard, rows[goes] - first] = True
        return (np.flatnonzero(row) for row in reached)

    def _table(self, stamp: int) -> dict[int, _Known]:
        """What is known of a version; of others it is forgotten."""
        known = self._known
        if known[0] != stamp:
            known = self._known = (stamp, {})
        return known[1]

    def _of(
        self, table: dict[int, _Known], version: Version, segment: Segment, places: Int64s
    ) -> npt.NDArray[np.uint8]:
        known = table.get(id(segment))
        if known is None:
            size = len(segment)
            known = _Known(segment, np.zeros(size, np.bool_), np.zeros((size, self._bytes), np.uint8))
            table[id(segment)] = known
        new = np.zeros(len(segment), np.bool_)
        new[places] = True
        asked = np.flatnonzero(new & ~known.asked)
        if len(asked):
            numbers = segment.index.numbers[segment.by_number[asked]].tolist()
            bits = [version.routes[number].shards(version.stamp).to_bytes(self._bytes, "little") for number in numbers]
            known.shards[asked] = np.frombuffer(b"".join(bits), np.uint8).reshape(-1, self._bytes)
            known.asked[asked] = True  # last, since other publishers look as well
        return known.shards[places]


def met(hits: Hits) -> tuple[Int32s, Int64s]:
    """The publications and numbers that were found, in doubt or not."""
    if not hits.doubtful:
        return hits.publication, hits.number
    rows = np.array([each.publication for each in hits.doubtful], np.int32)
    members = np.array([each.member for each in hits.doubtful], np.int64)
    return np.concatenate([hits.publication, rows]), np.concatenate([hits.number, hits.segment.index.numbers[members]])
