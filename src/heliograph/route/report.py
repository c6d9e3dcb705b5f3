"""What was reached as notifications: columns that are made when they are wanted, with paths where they were asked for.

The law: results come event by event, in the order of reporting or, ranked, by cost and then by id; a limit keeps the
first of each event, and what it cuts is counted: all of it, or where ranks stop the search early, at least one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from heliograph.io.coerce import json_text
from heliograph.model import NOTIFICATIONS_SCHEMA, Notification
from heliograph.predicate.layout import Int32s, Int64s
from heliograph.route.events import Events
from heliograph.route.exchange import Version
from heliograph.route.numbering import strings
from heliograph.route.strategy import Reached, RouteOptions, Strategy, joined


def walk_alone(
    strategy: Strategy, version: Version, events: Events, options: RouteOptions
) -> tuple[Reached, int, list[str]]:
    """What events reach that walk by themselves, in order and cut; how many were cut, and the evidence of each."""
    parts: list[Reached] = []
    evidence: list[str] = []
    cut = 0
    for row in range(len(events)):
        found = strategy.walk(version, events, row, options)
        if options.rank:
            ids = strings(version.names(found.nodes))
            order = sorted(range(len(ids)), key=lambda place: (found.costs[place], ids[place]))
        else:
            order = np.argsort(version.places_of(found.nodes), kind="stable").tolist()
        kept = order[: options.limit]
        cut += len(order) - len(kept)
        nodes = found.nodes[np.array(kept, np.int64)]
        parts.append(Reached(np.array([0, len(kept)]), nodes, found.candidates, found.verified))
        if options.evidence and kept and found.path is not None:
            paths = [found.path(place) for place in kept]
            names = strings(version.names(np.array([node for path in paths for node in path], np.int32)))
            end = 0
            for place, path in zip(kept, paths, strict=True):
                begin, end = end, end + len(path)
                evidence.append(json_text({"path": names[begin:end], "cost": found.costs[place]}))
    return joined(parts), cut, evidence


FEW = 16  # notifications of one event that are made at once, without columns


def few_notifications(version: Version, id: str, nodes: Int32s) -> list[Notification]:
    """The nodes that one event reached, one by one."""
    return [Notification(name, None, id, "route", "+") for name in version.arrays.names.few(nodes)]


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
