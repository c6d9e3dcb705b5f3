"""Whom each event of a route workload must reach.

The deliveries come from the numbers that the targeting was drawn from and from a fixpoint over the edges, so they share
no code with the predicates and the walk that they check.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.model import NOTIFICATIONS_SCHEMA
from heliograph.workloads.route_exchange import Ints, Links, Sizes
from heliograph.workloads.route_targeting import Targeting, accepted

Bools = npt.NDArray[np.bool_]


class Part(NamedTuple):
    """One exchange of those that stand side by side; without targeting every node accepts everything."""

    links: Links
    targeting: Targeting | None


def expected_deliveries(
    names: pa.StringArray, size: Sizes, parts: list[Part], publishers: Ints, drawn: Ints
) -> pa.Table:
    """The notifications of every event, in order; publishers are numbered through all parts."""
    inner = [_from_networks(size, part.links) for part in parts]
    found: list[Ints] = []
    for publisher, event in zip(publishers.tolist(), drawn, strict=True):
        number, start = divmod(publisher, size.publishers)
        reached = _reached(size, parts[number].links, inner[number], _valid(size, parts[number], event), start)
        found.append(number * size.total + reached)
    numbers = np.repeat(np.arange(len(found)), [len(reached) for reached in found])
    ids = pa.array([f"event{number}" for number in range(len(found))], pa.string())
    return _notifications(names.take(np.concatenate([*found, np.empty(0, dtype=np.int64)])), ids.take(numbers))


def _notifications(nodes: pa.StringArray, events: pa.StringArray) -> pa.Table:
    total = len(nodes)
    columns = {
        "subscription_id": nodes,
        "subscriber": pa.nulls(total, pa.string()),
        "publication_id": events,
        "verb": pa.repeat("route", total),
        "change": pa.repeat("+", total),
        "at": pa.nulls(total, pa.timestamp("us", tz="UTC")),
        "evidence": pa.nulls(total, pa.string()),
    }
    return pa.table(columns, schema=NOTIFICATIONS_SCHEMA)


def _valid(size: Sizes, part: Part, event: Ints) -> Bools:
    """Which nodes accept the event; a publisher has no targeting."""
    valid = np.ones(size.total, dtype=bool)
    if part.targeting is not None:
        valid[size.publishers :] = accepted(part.targeting, event)
    return valid


def _from_networks(size: Sizes, links: Links) -> Links:
    """The edges that a path can take after its first."""
    later = links.source >= size.publishers
    return Links(links.source[later], links.target[later])


def _reached(size: Sizes, links: Links, inner: Links, valid: Bools, start: int) -> Ints:
    """The least set that holds the start's valid targets and the valid targets of its own members."""
    begin, end = np.searchsorted(links.source, [start, start + 1])
    reached = np.zeros(size.total, dtype=bool)
    reached[links.target[begin:end]] = True
    reached &= valid
    while True:
        grown = reached.copy()
        grown[inner.target[reached[inner.source]]] = True
        grown &= valid
        if np.array_equal(grown, reached):
            return np.flatnonzero(reached)
        reached = grown
