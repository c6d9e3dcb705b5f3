"""A plan in a few numbers, and in words about one subscription: for people, for `--stats` and for `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from heliograph.partition.hashing import EVERYTHING
from heliograph.partition.placement import FRONT, MERGERS, Placement
from heliograph.partition.plan import Plan

if TYPE_CHECKING:
    from heliograph.partition.merging import Merging

_SHOWN = 10  # mergers


class MergerOutline(NamedTuple):
    """A merger at the front: how many subscriptions are below it, how often it said yes, and how often in vain."""

    merger: int
    subscriptions: int
    answers: int
    false_positives: int


@dataclass(frozen=True, slots=True)
class Outline:
    """How a plan divides its subscriptions. `front` counts the roots, mergers among them; `shards` who is in each.

    `answers` of mergers and how many of those were `false_positives` are counted on a sample of the publications, and
    not known of a plan that was opened and has not changed. `worst` are the mergers with the most false ones.
    """

    partition: str
    version: int
    front: int
    mergers: int
    shards: tuple[int, ...]
    answers: int = 0
    false_positives: int = 0
    worst: tuple[MergerOutline, ...] = ()


def outline_of(plan: Plan) -> Outline:
    """A plan as it is now."""
    with plan.writing:
        version, arrangement = plan.version, plan.merging()
        front = version.front.size
        mergers = front + sum(shard.size for shard in version.shards) - version.size
        sizes = tuple(shard.size for shard in version.shards)
        outline = (plan.scheme.partition, version.stamp, front, mergers, sizes)
        if arrangement is None:
            return Outline(*outline)
        seen = arrangement.observed()
        return Outline(*outline, seen.answers, seen.false, _worst(plan.placement(), arrangement))


def _worst(placement: Placement, arrangement: Merging) -> tuple[MergerOutline, ...]:
    nodes = [number - MERGERS for number in placement.front if number >= MERGERS]
    seen = [(node, arrangement.observed(node)) for node in nodes]
    seen.sort(key=lambda each: (-each[1].false, -each[1].answers, each[0]))
    return tuple(
        MergerOutline(node, sum(placement.dealer.counts(node)), observed.answers, observed.false)
        for node, observed in seen[:_SHOWN]
        if observed.answers
    )


def place_in_words(plan: Plan, number: int) -> str:
    """Where a subscription stands, and why there."""
    with plan.writing:
        place, placement = plan.find(number), None if plan.arrangement is None else plan.placement()
        if place == FRONT:
            return f"at the front: {_below(placement, number)}"
        shard = f"in shard {place} of {plan.scheme.shards}"
        return shard if placement is None else f"{shard}: {_above(plan, placement, number)}"


def _below(placement: Placement | None, number: int) -> str:
    if placement is None:
        return "it is a root"
    counts = placement.dealer.counts(placement.root_of(number))
    shards = [str(shard) for shard, count in enumerate(counts) if count]
    return f"a root with {sum(counts)} below it{', in shards ' + ', '.join(shards) if shards else ''}"


def _above(plan: Plan, placement: Placement, number: int) -> str:
    root = placement.root_of(number)
    if root == EVERYTHING:
        return "every publication goes there"
    head = placement.head(root)
    if head < MERGERS:
        return f"whatever matches it matches the root {plan.members[head].id!r}"
    count = sum(placement.dealer.counts(root))
    arrangement = plan.merging()
    assert arrangement is not None  # nobody else makes mergers
    seen = arrangement.observed(root)
    return f"below merger {root} of {count}, which said yes {seen.answers} times, {seen.false} of them in vain"
