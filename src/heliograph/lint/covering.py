"""Subscriptions that another one of the same subscriber covers: whatever matches them matches that one too.

Each subscriber's patterns stand in a containment forest of their own, so that a pattern which any other contains is
below a root. Subscriptions without a subscriber count as of one. Those whose options say when to notify, and those
with `hg:` functions, are left out: of them more is told than whether they match.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heliograph.lint.findings import COVERED, Finding
from heliograph.lint.repeating import owners
from heliograph.lint.subjects import Sound
from heliograph.partition.forest import Forest
from heliograph.taxonomy import Taxonomy


def covered(sound: Sequence[Sound], taxonomy: Taxonomy) -> Iterator[tuple[int, Finding]]:
    """Those that are covered, with the most general one that covers them."""
    by_subscriber: dict[str | None, list[Sound]] = {}
    for each in sound:
        if not each.options and not each.query.metrics:
            by_subscriber.setdefault(each.subscriber, []).append(each)
    for own in by_subscriber.values():
        if len(own) > 1:
            yield from _covered(own, taxonomy)


def _covered(own: Sequence[Sound], taxonomy: Taxonomy) -> Iterator[tuple[int, Finding]]:
    forest = Forest(taxonomy)
    forest.insert([(number, each.query) for number, each in enumerate(own)])
    for number, each in enumerate(own):
        node = forest.node_of(number)
        root = forest.root_of(node)
        first = forest.subscribers_of(root)[0]
        if first != number:
            how = "exactly what it matches" if root == node else "whatever it matches"
            whose = owners(each, own[first])
            message = f"covered: {own[first].id} matches {how}; {whose}; drop it unless separate notices are wanted"
            yield each.place, Finding(each.id, COVERED, message, own[first].id)
