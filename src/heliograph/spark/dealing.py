"""Which queries of a watch stand together in a shard.

The laws: a query's notifications depend on nobody else's query, except in a top-k set, whose members therefore stand in
one shard. Queries are put in an order in which those that see much the same are neighbours, first those that see
everything, and the order is cut into stretches of equal size; so each update concerns few of them. The same queries are
always dealt in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from heliograph.spark.sights import EVERYTHING, Key, Keys, covers

Shown = tuple[tuple[str, str, str], ...]


class Asking(NamedTuple):
    """A subscription as it matters here: what it sees, and the top-k set that it is in."""

    id: str
    keys: Keys
    set: str | None


def dealt(askings: Iterable[Asking], shards: int, growing: bool = False) -> dict[str, int]:
    """The shard of each subscription. Where more may come, shard 0 is that of whoever could not stand elsewhere."""
    units: dict[tuple[bool, str], list[Asking]] = {}
    for asking in askings:
        units.setdefault((asking.set is not None, asking.id if asking.set is None else asking.set), []).append(asking)
    first = 1 if growing and shards > 1 else 0
    ordered = sorted((unit for unit in units.values() if not (first and _stays(unit[0]))), key=_order)
    places = {asking.id: 0 for unit in units.values() for asking in unit}
    total, done = sum(map(len, ordered)), 0
    for unit in ordered:
        places.update((asking.id, first + done * (shards - first) // total) for asking in unit)
        done += len(unit)
    return places


def placed(asking: Asking, known: Sequence[Collection[Key]], sizes: Mapping[int, int]) -> int:
    """The shard of a newcomer: the least full of those that see all that it sees, at last shard 0, which does."""
    if _stays(asking):
        return 0
    able = [shard for shard, keys in enumerate(known) if shard and covers(keys, asking.keys)]
    return min(able, key=lambda shard: (sizes.get(shard, 0), shard)) if able else 0


def _stays(asking: Asking) -> bool:
    """Whether a subscription belongs where everything is seen: it does itself, or somebody may join its set."""
    return asking.set is not None or asking.keys == EVERYTHING


def set_of(options: str | None) -> str | None:
    """The name of the top-k set that a subscription is in."""
    if not options or "top_k_of" not in options:
        return None
    top = json.loads(options).get("top_k_of")
    if top is None:
        return None
    return str(top.get("set", "")) if isinstance(top, dict) else ""


def _keys(asking: Asking) -> Keys:
    return asking.keys


def _order(unit: Sequence[Asking]) -> tuple[bool, tuple[str, ...], Shown]:
    keys = frozenset[Key]().union(*map(_keys, unit))
    shown = tuple(sorted(_shown(key) for key in keys))
    properties = tuple(sorted({property for _, property, _ in shown}))
    return EVERYTHING not in map(_keys, unit), properties, shown


def _shown(key: Key) -> tuple[str, str, str]:
    subject, property, object = ("" if term is None else term.value for term in key)
    return subject, property, object
