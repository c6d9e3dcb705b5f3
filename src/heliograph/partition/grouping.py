"""Planning in pieces: groups of subscriptions that are arranged by themselves, and then their roots together.

The laws: whatever matches below a root of a group matches that root, so the roots of all groups make a front, however
subscriptions fall into groups; and if one pattern contains another, it is known to all who arrange both. Groups only
decide how small the front becomes: patterns are put where those stand that they have a property in common with. The
roots of all groups, arranged again by containment, are those that one arrangement of everybody has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from zlib import crc32

from heliograph.partition.merging import MergingOptions
from heliograph.partition.placement import FRONT, MERGERS, Placement
from heliograph.partition.scheme import Scheme
from heliograph.subscriptions import Subscription
from heliograph.syntax.query import Query, TriplePattern
from heliograph.taxonomy import Taxonomy
from heliograph.terms import Term


def group_of(query: Query, groups: int) -> int:
    """The group of a pattern: its constant property with the smallest hash says it, so a pattern that has all
    properties of another and few more is likely to come to the same."""
    named = (
        crc32(edge.predicate.value.encode())
        for edge in query.patterns
        if isinstance(edge, TriplePattern) and isinstance(edge.predicate, Term)
    )
    return min(named, default=0) % groups


def share_of(scheme: Scheme, groups: int) -> Scheme:
    """What one of so many groups is told, so that the front of all of them keeps to what the scheme says.

    Thresholds count patterns at the front, and false positives of all mergers are summed up: each gets its part.
    """
    if scheme.partition != "merging":
        return scheme
    whole = MergingOptions.of(dict(scheme.merging))
    upper, lower = (max(1, count // groups) for count in (whole.upper, whole.lower))
    false = whole.max_false_positives if whole.max_false_positives >= 1 else whole.max_false_positives / groups
    own = {"upper": upper, "lower": lower, "max_false_positives": false}
    return Scheme(scheme.partition, scheme.shards, {**scheme.merging, **own})


class Root(NamedTuple):
    """Who stands at the front with the shards below, as bits; a merger is a query that nobody asked."""

    head: Subscription | Query
    shards: int


class Arranged(NamedTuple):
    """The roots of some subscriptions, and by shard those that stand there."""

    roots: list[Root]
    shards: dict[int, list[Subscription]]


def arrange(people: Sequence[Subscription], scheme: Scheme, taxonomy: Taxonomy) -> Arranged:
    """Subscriptions at the front and in shards, as a plan of them alone has it."""
    placement = Placement(scheme.arrangement(taxonomy), scheme.shards)
    came = placement.insert(people, 1).came
    by_number = {each.number: each for each in people}
    routes = placement.routes.table
    roots = [
        Root(by_number[n] if n < MERGERS else placement.arrangement.query_of(n - MERGERS), routes[n].shards(1))
        for n in came.pop(FRONT, [])
    ]
    return Arranged(roots, {shard: [by_number[n] for n in numbers] for shard, numbers in came.items()})


def arrange_roots(roots: Mapping[Subscription, int], scheme: Scheme, taxonomy: Taxonomy) -> Arranged:
    """The roots of several groups, each with its shards, by containment: those below another go to shards, and what was
    below them is below that other."""
    placement = Placement(scheme.arrangement(taxonomy), scheme.shards)
    by_number = {each.number: each for each in roots}
    came = placement.insert([by_number[n] for n in sorted(by_number)], 1).came
    below = dict.fromkeys(came.get(FRONT, []), 0)
    for each, shards in roots.items():
        below[placement.head(placement.root_of(each.number))] |= shards
    routes = placement.routes.table
    heads = [Root(by_number[n], shards | routes[n].shards(1)) for n, shards in below.items()]
    return Arranged(heads, {shard: [by_number[n] for n in came[shard]] for shard in came if shard != FRONT})
