"""Parts of a filter that is built in pieces, by processes of which none has all subscriptions: a front, and shards.

A shard is the save of a plain filter; a front is the save of a plan whose shards are empty, with routes that name the
shards of such parts. The law: the notifications of the front and of the shards that it names, together, are those of
one filter with all the subscriptions. Each part has a vocabulary of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa

from heliograph.filter.algorithms import DEFAULT
from heliograph.filter.indexed import IndexedMatcher
from heliograph.filter.options import check_options
from heliograph.filter.saving import Engine, Saving
from heliograph.filter.sharded import ShardedMatcher
from heliograph.index.tiers import Tiers
from heliograph.partition.grouping import Root
from heliograph.partition.placement import FRONT, MERGERS
from heliograph.partition.plan import Context, Plan, compiled, merger
from heliograph.partition.plan_saving import taxonomy_table
from heliograph.partition.routes import Route
from heliograph.partition.scheme import Scheme
from heliograph.subscriptions import Subscription, Subscriptions, by_origin, written
from heliograph.syntax.query import Query
from heliograph.taxonomy import Taxonomy
from heliograph.vocabulary import Vocabulary

Tables = Mapping[str, pa.Table]


class Ground(NamedTuple):
    """What all parts of a filter have in common, as it travels to other processes."""

    taxonomy: pa.Table
    prefixes: Mapping[str, str]

    @classmethod
    def of(cls, taxonomy: Taxonomy, prefixes: Mapping[str, str]) -> Self:
        return cls(taxonomy_table(taxonomy), dict(prefixes))

    def registry(self) -> Subscriptions:
        """Nobody's subscriptions yet."""
        return Subscriptions("filter", self.prefixes)

    def classes(self) -> Taxonomy:
        return Taxonomy.read(self.taxonomy)


def restored(registry: Subscriptions, tables: Tables) -> tuple[Subscription, ...]:
    """Subscribes to what was accepted before."""
    return registry.restore(tables, check_options)


def save_shard(path: str | Path, registry: Subscriptions, ground: Ground) -> None:
    """Saves everybody of a registry as a shard, indexed."""
    vocabulary, taxonomy = Vocabulary(), ground.classes()
    matcher = IndexedMatcher(vocabulary, taxonomy)
    batches, plain = by_origin(registry)
    for batch in batches:
        matcher.insert(batch.subscriptions)
    if plain:
        matcher.insert(plain)
    Saving.of(Engine(registry, taxonomy, DEFAULT, vocabulary, matcher)).write(path)


def save_front(path: str | Path, roots: Iterable[Root], scheme: Scheme, ground: Ground) -> None:
    """Saves roots as the front of shards that others build."""
    people, mergers = _apart(roots)
    registry = ground.registry()
    owners = restored(registry, written(list(people)))
    synthetic = [merger(MERGERS + number, query) for number, (query, _) in enumerate(mergers)]
    shards = [*people.values(), *(shards for _, shards in mergers)]
    plan = Plan(scheme, Context(Vocabulary(), ground.classes(), registry.prefixes))
    _fill(plan, [*owners, *synthetic], shards)
    matcher = ShardedMatcher(plan)
    Saving.of(Engine(registry, plan.context.taxonomy, DEFAULT, plan.context.vocabulary, matcher)).write(path)


def _apart(roots: Iterable[Root]) -> tuple[dict[Subscription, int], list[tuple[Query, int]]]:
    """Subscriptions and mergers, with their shards."""
    people: dict[Subscription, int] = {}
    mergers: list[tuple[Query, int]] = []
    for head, shards in roots:
        if isinstance(head, Subscription):
            people[head] = shards
        else:
            mergers.append((head, shards))
    return people, mergers


def _fill(plan: Plan, roots: Sequence[Subscription], shards: Sequence[int]) -> None:
    tiers = Tiers()
    for interests, owners in compiled(roots, plan.context):
        tiers.add(interests, owners)
    front = tiers.whole()
    routes = {each.number: Route(bits) for each, bits in zip(roots, shards, strict=True)}
    segments: dict[int, Any] = {} if front is None else {FRONT: front}
    plan.adopt(segments, routes, partial=True)
