"""What events matched, as numbers; ids are made into texts when they are looked at.

The laws: `len` is the number of events given, also of those that were refused, which match nothing; an event's ids are
in the order of adding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import overload

import numpy as np
import pyarrow as pa

from heliograph.kernels.targeting_layout import Int32s, Int64s
from heliograph.model import Rejections, Stats
from heliograph.targeting.index_rows import Ids


class Matches(Sequence[tuple[str, ...]]):
    """For each event the ids of the predicates that are true of it.

    Event e matched the ids of the numbers from offsets[e] to offsets[e + 1].
    """

    def __init__(self, offsets: Int64s, numbers: Int32s, ids: Ids, rejected: Rejections, stats: Stats) -> None:
        self.offsets = offsets
        self.numbers = numbers
        self.rejected = rejected
        self.stats = stats
        self._ids = ids

    @property
    def complete(self) -> bool:
        return self.stats.complete

    @overload
    def __getitem__(self, index: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, ...]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, ...] | list[tuple[str, ...]]:
        wanted = range(len(self))[index]
        return [self._event(event) for event in wanted] if isinstance(wanted, range) else self._event(wanted)

    def _event(self, event: int) -> tuple[str, ...]:
        return tuple(self._ids.texts(self.numbers[self.offsets[event] : self.offsets[event + 1]]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"Matches({len(self)} events, {len(self.numbers)} matches, {self.rejected.total} rejected)"

    @cached_property
    def table(self) -> pa.Table:
        """The columns event (its number, from 0) and id."""
        event = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return pa.table({"event": pa.array(event, pa.int64()), "id": self._ids.at(self.numbers).cast(pa.string())})
