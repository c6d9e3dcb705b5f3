"""How subscriptions are arranged so that those matched together are evaluated apart: the narrow waist of partitioning.

An arrangement keeps distinct patterns as *nodes*, each with the numbers of the subscriptions that ask it. Nodes form
trees. The laws: whatever matches a node matches its root, so only roots need be looked up at the front; a root is a
pattern that somebody subscribed to, or a synthetic merger that nobody did and that is never reported; every change
returns exactly what became different, so plans are maintained, not rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from heliograph.syntax.query import Query


class Change(NamedTuple):
    """What a change did to the nodes. A node is in `entered` or `placed` whenever its root is another than before."""

    entered: tuple[int, ...] = ()  # nodes that are roots now
    left: tuple[int, ...] = ()  # nodes that are roots no longer, though they still stand
    placed: tuple[tuple[int, int], ...] = ()  # nodes below a root, and that root
    gone: tuple[int, ...] = ()  # nodes that are no more


class Arrangement(Protocol):
    """Patterns in trees. Nodes have numbers that are never used again."""

    def insert(self, subscriptions: Sequence[tuple[int, Query]]) -> Change:
        """Takes subscriptions by number, above all earlier ones."""
        ...

    def remove(self, numbers: Iterable[int]) -> Change:
        """Forgets subscriptions that are there."""
        ...

    def node_of(self, number: int) -> int:
        """The node of a subscription."""
        ...

    def root_of(self, node: int) -> int:
        """The root above a node, or the node itself."""
        ...

    def query_of(self, node: int) -> Query:
        """The pattern of a node."""
        ...

    def subscribers_of(self, node: int) -> Sequence[int]:
        """The subscriptions that ask a node, in order; none of a synthetic merger."""
        ...

    def is_synthetic(self, node: int) -> bool: ...

    def roots(self) -> Iterable[int]: ...
