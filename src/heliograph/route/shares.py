"""Shares of an exchange, as [B] divides one among machines: all that passes events on, and a part of where they end.

The law: what the shares report together is what the whole reports, each node once. A node with outgoing edges is in
every share, since paths to anywhere may lead through it; a node without any, which is where most of an exchange lies,
is in one share alone, its home, with the edges that lead to it. Every node is reported, and every event of an unknown
publisher refused, by its home. Only a limit of results cannot be kept by shares that know nothing of one another.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self, Unpack
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute

from heliograph.errors import FAILED
from heliograph.io.coerce import Array
from heliograph.model import Notifications, Rejected, Rejections
from heliograph.predicate.layout import Int32s
from heliograph.route.engine import UNKNOWN_PUBLISHER, Route
from heliograph.route.exchange import Exchange, Version
from heliograph.route.numbering import strings
from heliograph.route.read import Edge
from heliograph.route.strategy import Choices

pc: Any = pyarrow.compute


def home(id: str | None, shares: int) -> int:
    """The share that reports a node, or an event."""
    return crc32((id or "").encode("utf-8", "surrogatepass")) % shares


def homes(ids: Array, shares: int) -> Int32s:
    """The home of each id."""
    several: list[Any] = ids.to_pylist()
    return np.array([home(id, shares) for id in several], np.int32)


def share_of(version: Version, number: int, shares: int) -> Exchange:
    """An exchange of its own with one share of a version.

    A node that loses its last outgoing edge gets one to itself, which lets nothing pass: it is still no end.
    """
    passing, numbers = _passing(version), version.node_numbers()
    ends = version.names(numbers[~passing[numbers]])
    copy = Exchange.of_version(version)
    copy.drop_nodes(strings(ends.filter(pa.array(homes(ends, shares) != number))))
    copy.wait()
    with copy.reading() as left:
        kept = _passing(left)
        bare = [id for id in strings(version.names(numbers[passing[numbers]])) if not kept[left.number(id)]]
    copy.put_edges([Edge(id, id, text="FALSE") for id in bare])
    return copy


def _passing(version: Version) -> Any:
    """Which nodes have outgoing edges, by number."""
    found = np.zeros(version.graph.node_count, np.bool_)
    found[version.graph.sources[version.edge_numbers()]] = True
    return found


class Share(NamedTuple):
    """One share, opened. `others` are the nodes that are here too but that another share reports."""

    engine: Route
    number: int
    shares: int
    others: Array

    @classmethod
    def of(cls, engine: Route, number: int, shares: int) -> Self:
        with engine.reading() as version:
            names = version.names(np.flatnonzero(_passing(version)).astype(np.int32))
        return cls(engine, number, shares, names.filter(pa.array(homes(names, shares) != number)))

    def publish(self, events: pa.Table, **options: Unpack[Choices]) -> Notifications:
        """What this share reports of some events; the first one counts them."""
        found = self.engine.publish(events, **options)
        rows = found.table.filter(pc.invert(pc.is_in(found.table["subscription_id"], value_set=self.others)))
        rejected = Rejections(entry for entry in found.refused if self._reports(entry, events))
        stats = replace(
            found.stats,
            publications=0 if self.number else found.stats.publications,
            notifications=rows.num_rows,
            rejected=rejected.total,
        )
        return Notifications.of_columns(lambda: rows, rows.num_rows, rejected, stats)

    def _reports(self, entry: Rejected, events: pa.Table) -> bool:
        """Whether this share reports it. Others may lack a publisher that ends nowhere; only its home knows."""
        if entry.code == FAILED:  # by each share that has it: an edge has no home
            return True
        subject = entry.item
        if entry.code == UNKNOWN_PUBLISHER:
            subject = events["publisher"][pc.index(events["event_id"], entry.item).as_py()].as_py()
        return home(subject, self.shares) == self.number
