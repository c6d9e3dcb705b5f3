"""A route workload after [B] section 4: the advertising exchange, its targeting, events, and whom each must reach.

The expected deliveries come from the numbers that the targeting was drawn from and from a fixpoint over the edges,
so they share no code with the predicates and the walk that they check.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.model import NOTIFICATIONS_SCHEMA
from heliograph.workloads.route_exchange import Ints, Links, Sizes, exchange, sizes
from heliograph.workloads.route_targeting import (
    Targeting,
    accepted,
    draw_events,
    draw_targeting,
    spell_event,
    spell_targeting,
)

Bools = npt.NDArray[np.bool_]


def generate_route(
    seed: int, *, scale: float = 1.0, events: int = 100, selectivity: float = 0.25
) -> dict[str, pa.Table]:
    """The tables nodes, edges, events and expected. At scale 1 the exchange has the seed's 71,097 nodes.

    `selectivity` is the share of events that a network or advertiser accepts; 1 means no targeting. `expected` are the
    notifications of every event in order, without evidence.
    """
    _check(scale, events, selectivity)
    rng = np.random.default_rng(seed)
    size = sizes(scale)
    links = exchange(rng, size)
    targeting = draw_targeting(rng, size.total - size.publishers, selectivity) if selectivity < 1 else None
    publishers = rng.integers(0, size.publishers, events)
    drawn = draw_events(rng, events)
    names = node_names(size)
    return {
        "nodes": _nodes(names, size, targeting),
        "edges": _edges(rng, names, links),
        "events": _events(names, publishers, drawn),
        "expected": _expected(names, size, links, [_valid(size, targeting, event) for event in drawn], publishers),
    }


def node_names(size: Sizes) -> pa.StringArray:
    """pub0 …, net0 …, adv0 …: publishers, networks (the core first) and advertisers."""
    kinds = (("pub", size.publishers), ("net", size.networks), ("adv", size.advertisers))
    return pa.array([f"{kind}{number}" for kind, count in kinds for number in range(count)], pa.string())


def _check(scale: float, events: int, selectivity: float) -> None:
    if not 0 < scale <= 1000 or events < 0 or not 0 < selectivity <= 1:
        message = f"a route workload of scale {scale}, {events} events and selectivity {selectivity}"
        fix = "scale is above 0 and at most 1000, events from 0, selectivity above 0 and at most 1"
        raise UsageError("HG-064", message, fix=fix)


def _nodes(names: pa.StringArray, size: Sizes, targeting: Targeting | None) -> pa.Table:
    spelled = [None] * (size.total - size.publishers) if targeting is None else spell_targeting(targeting)
    texts = pa.array([*[None] * size.publishers, *spelled], pa.string())
    return pa.table({"node_id": names, "targeting": texts})


def _edges(rng: np.random.Generator, names: pa.StringArray, links: Links) -> pa.Table:
    """An edge costs 0.5 to 2.0; the nodes cost nothing."""
    cost = np.round(rng.uniform(0.5, 2.0, len(links.source)), 2)
    return pa.table({"source": names.take(links.source), "target": names.take(links.target), "cost": cost})


def _events(names: pa.StringArray, publishers: Ints, drawn: Ints) -> pa.Table:
    return pa.table(
        {
            "event_id": pa.array([f"event{number}" for number in range(len(drawn))], pa.string()),
            "publisher": names.take(publishers),
            "attributes": pa.array([spell_event(event) for event in drawn], pa.string()),
        }
    )


def _valid(size: Sizes, targeting: Targeting | None, event: Ints) -> Bools:
    """Which nodes accept the event; a publisher has no targeting."""
    outer = np.ones(size.total - size.publishers, dtype=bool) if targeting is None else accepted(targeting, event)
    return np.concatenate([np.ones(size.publishers, dtype=bool), outer])


def _expected(names: pa.StringArray, size: Sizes, links: Links, valid: list[Bools], publishers: Ints) -> pa.Table:
    inner = _from_networks(size, links)
    found = [
        _reached(size, links, inner, nodes, start) for nodes, start in zip(valid, publishers.tolist(), strict=True)
    ]
    counts = [len(nodes) for nodes in found]
    reached = np.concatenate([*found, np.empty(0, dtype=np.int64)])
    total = len(reached)
    events = [f"event{number}" for number, count in enumerate(counts) for _ in range(count)]
    columns = {
        "subscription_id": names.take(reached),
        "subscriber": pa.nulls(total, pa.string()),
        "publication_id": pa.array(events, pa.string()),
        "verb": pa.array(["route"] * total, pa.string()),
        "change": pa.array(["+"] * total, pa.string()),
        "at": pa.nulls(total, pa.timestamp("us", tz="UTC")),
        "evidence": pa.nulls(total, pa.string()),
    }
    return pa.table(columns, schema=NOTIFICATIONS_SCHEMA)


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
