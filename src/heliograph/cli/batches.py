"""What is published in one call, and how much of it.

The law: how publications are cut into batches changes no notification; it only says how soon they appear and how long
Ctrl-C waits. So a batch is made as large as a fraction of a second allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from heliograph.model import Rejected, Rejections
from heliograph.tables.reads import Read

FIRST, MOST = 16, 1024  # publications or events in a batch
MOST_UPDATES = 1 << 17  # a batch has costs of its own, as high as those of a thousand updates
_SHORT, _LONG = 0.2, 0.8  # seconds: a batch that takes less is followed by a larger one, more by a smaller one


class Batch(NamedTuple):
    """The items, how many publications or rows that is, and what was rejected on the way."""

    items: Any
    size: int
    rejected: Iterable[Rejected] = ()


class Pace:
    """How many publications go into the next batch."""

    def __init__(self, size: int = FIRST, most: int = MOST) -> None:
        self.size = size
        self.most = most

    def took(self, seconds: float) -> None:
        """Learns from the time that a batch took."""
        if seconds < _SHORT:
            self.size = min(self.most, self.size * 2)
        elif seconds > _LONG:
            self.size = max(1, self.size // 2)


def cut(read: Read, starts: Sequence[int], pace: Pace) -> Iterator[Batch]:
    """The rows of a read, so many of its parts at a time; `starts` are the rows where the parts begin.

    What was refused of the read comes with the first rows.
    """
    starts = starts or [0]
    number, end = 0, len(starts)
    while number < end:
        following = min(number + pace.size, end)
        first, last = starts[number], starts[following] if following < end else read.table.num_rows
        yield Batch(_rows(read, first, last), last - first)
        number = following


def _rows(read: Read, first: int, last: int) -> Read:
    rejected = read.rejected if first == 0 else Rejections()
    return read._replace(table=read.table.slice(first, last - first), rows=read.rows[first:last], rejected=rejected)
