"""What was reached as notifications: columns that are made when they are wanted, with paths where they were asked for.

The law: results come event by event, in the order of reporting or, ranked, by cost and then by id; a limit keeps the
first of each event, and what it cuts is counted: all of it, or where ranks stop the search early, at least one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heliograph.io.coerce import json_text
from heliograph.model import NOTIFICATIONS_SCHEMA, Stats
from heliograph.predicate.layout import Int32s, Int64s
from heliograph.route.events import Events
from heliograph.route.strategy import Batch, Delivery, Options, Reached, Strategy, places_of
from heliograph.route.version import Version


class Made(NamedTuple):
    """So many notifications, their table when it is wanted, and what they took."""

    table: Callable[[], pa.Table]
    size: int
    stats: Stats


def without_paths(strategy: Strategy, batch: Batch, options: Options) -> Made:
    """All events together."""
    found = strategy.reach(batch, options.subscribers_only)
    kept = found if options.limit is None else found.cut(options.limit)
    size = len(kept.nodes)
    stats = _stats(found.candidates, found.verified, size, len(found.nodes) - size)
    version, events = batch.version, batch.events
    return Made(lambda: _table(version, events, kept), size, stats)


def _table(version: Version, events: Events, found: Reached) -> pa.Table:
    return notifications(version, events, found.nodes, found.events(), None)


def with_paths(strategy: Strategy, batch: Batch, options: Options) -> Made:
    """Event by event; also where paths have at most so many edges, whether they are shown or not."""
    nodes: list[int] = []
    rows: list[int] = []
    evidence: list[str] = []
    stats = Stats()
    for row in range(len(batch)):
        asked = strategy.walk(batch, row, options)
        found = _sorted(batch.version, asked.deliveries, options)
        kept = found if options.limit is None else found[: options.limit]
        nodes += [delivery.node for delivery in kept]
        rows += [row] * len(kept)
        evidence += _evidence(batch.version, kept) if options.evidence else []
        stats += _stats(asked.candidates, asked.verified, len(kept), len(found) - len(kept))
    numbers, events = np.array(nodes, np.int32), np.array(rows, np.int64)
    table = notifications(batch.version, batch.events, numbers, events, evidence if options.evidence else None)
    return Made(lambda: table, len(nodes), stats)


def _sorted(version: Version, deliveries: list[Delivery], options: Options) -> list[Delivery]:
    numbers = np.array([delivery.node for delivery in deliveries], np.int32)
    if options.rank:
        ids = version.names(numbers).to_pylist()
        order = sorted(range(len(ids)), key=lambda place: (deliveries[place].cost, ids[place]))
    else:
        order = np.argsort(places_of(version, numbers), kind="stable").tolist()
    return [deliveries[place] for place in order]


def _evidence(version: Version, deliveries: list[Delivery]) -> list[str]:
    """Each path by its ids, with its cost."""
    walked = [delivery.path() for delivery in deliveries]
    lengths = np.cumsum([len(path) for path in walked][:-1])
    steps = np.array([node for path in walked for node in path], np.int32)
    paths = np.split(np.array(version.names(steps).to_pylist(), object), lengths)
    return (
        [
            json_text({"path": path.tolist(), "cost": delivery.cost})
            for path, delivery in zip(paths, deliveries, strict=True)
        ]
        if deliveries
        else []
    )


def notifications(
    version: Version, events: Events, nodes: Int32s, rows: Int64s, evidence: list[str] | None
) -> pa.Table:
    """The table of nodes that the events of these rows reached."""
    size, text = len(nodes), pa.string()
    columns = [
        version.names(nodes),
        pa.nulls(size, text),
        events.ids.take(rows),
        pa.repeat("route", size),
        pa.repeat("+", size),
        pa.nulls(size, pa.timestamp("us", tz="UTC")),
        pa.nulls(size, text) if evidence is None else pa.array(evidence, text),
    ]
    return pa.Table.from_arrays(columns, schema=NOTIFICATIONS_SCHEMA)


def _stats(candidates: int, verified: int, kept: int, cut: int) -> Stats:
    return Stats(notifications=kept, candidates=candidates, verified=verified, truncated=cut, complete=cut == 0)
