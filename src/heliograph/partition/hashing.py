"""The arrangement that arranges nothing: every subscription is a pattern of its own, below no root.

The law: nobody is looked up at the front, so every shard gets every publication. Which shard a subscription prefers is
a hash of its number, the same in every process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from heliograph.partition.arrangement import Change
from heliograph.syntax.query import Query

EVERYTHING: Final = -1  # what stands above every subscription: it matches every publication
_MASK = (1 << 64) - 1


def preferred(number: int, shards: int) -> int:
    """The shard that the hash of a number names (the mixing steps of SplitMix64)."""
    mixed = (number + 0x9E3779B97F4A7C15) & _MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return (mixed ^ (mixed >> 31)) % shards


class Hashing:
    """Subscriptions as they come. A node is the number of its one subscription."""

    def __init__(self) -> None:
        self._queries: dict[int, Query | None] = {}

    def take(self, numbers: Iterable[int]) -> Change:
        """Takes subscriptions of which nobody will ask for the query."""
        return self._place(dict.fromkeys(numbers))

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> Change:
        return self._place(dict(subscriptions))

    def _place(self, taken: dict[int, Query] | dict[int, None]) -> Change:
        self._queries.update(taken)
        return Change(placed=tuple((number, EVERYTHING) for number in taken))

    def remove(self, numbers: Iterable[int]) -> Change:
        gone = tuple(numbers)
        for number in gone:
            del self._queries[number]
        return Change(gone=gone)

    def node_of(self, number: int) -> int:
        return number

    def root_of(self, node: int) -> int:
        return EVERYTHING

    def query_of(self, node: int) -> Query:
        query = self._queries[node]
        assert query is not None
        return query

    def subscribers_of(self, node: int) -> Sequence[int]:
        return (node,)

    def is_synthetic(self, node: int) -> bool:
        return False

    def roots(self) -> Iterable[int]:
        return ()
