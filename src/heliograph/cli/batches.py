"""What is published in one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from heliograph.model import Rejected, Rejections
from heliograph.tables.reads import Read

SIZE = 1000  # publications, updates or events in a batch: what Ctrl-C may have to wait for


class Batch(NamedTuple):
    """The items, how many publications or rows that is, and what was rejected on the way."""

    items: Any
    size: int
    rejected: Iterable[Rejected] = ()


def cut(read: Read, starts: list[int]) -> Iterator[Batch]:
    """The rows of a read, from each start to the next; what was refused of it comes with the first of them."""
    for first, last in pairwise([*(starts or [0]), read.table.num_rows]):
        rejected = read.rejected if first == 0 else Rejections()
        rows = read.rows[first:last]
        part = read._replace(table=read.table.slice(first, last - first), rows=rows, rejected=rejected)
        yield Batch(part, last - first)
