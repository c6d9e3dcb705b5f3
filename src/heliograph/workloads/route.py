"""A route workload after [B] section 4: the advertising exchange, its targeting, events, and whom each must reach.

Several exchanges of one scale may stand side by side, so that the whole grows while what an event can reach does not.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from heliograph.errors import UsageError
from heliograph.workloads.route_exchange import Ints, Links, Sizes, exchange, sizes
from heliograph.workloads.route_expected import Part, expected_deliveries
from heliograph.workloads.route_targeting import draw_events, draw_targeting, spell_event, spell_targeting


def generate_route(
    seed: int, *, scale: float = 1.0, copies: int = 1, events: int = 100, selectivity: float = 0.25
) -> dict[str, pa.Table]:
    """The tables nodes, edges, events and expected. At scale 1 the exchange has the paper's 71,097 nodes.

    `copies` puts so many exchanges side by side, each with edges and targeting of its own and connected to no other: 15
    at scale 1 have 1,066,455 nodes. `selectivity` is the share of events that a network or advertiser accepts; 1 means
    no targeting. `expected` are the notifications of every event in order, without evidence.
    """
    _check(scale, copies, events, selectivity)
    rng = np.random.default_rng(seed)
    size = sizes(scale)
    parts = [_part(rng, size, selectivity) for _ in range(copies)]
    publishers = rng.integers(0, size.publishers * copies, events)
    drawn = draw_events(rng, events)
    names = node_names(size, copies)
    return {
        "nodes": pa.table({"node_id": names, "targeting": _texts(size, parts)}),
        "edges": _edges(rng, names, _whole(size, parts)),
        "events": _events(publishers, drawn),
        "expected": expected_deliveries(names, size, parts, publishers, drawn),
    }


def node_names(size: Sizes, copies: int = 1) -> pa.StringArray:
    """pub0 …, net0 …, adv0 …: publishers, networks (the core first) and advertisers, one exchange after the other."""
    kinds = (("pub", size.publishers), ("net", size.networks), ("adv", size.advertisers))
    names = (
        f"{kind}{number}"
        for copy in range(copies)
        for kind, count in kinds
        for number in range(copy * count, (copy + 1) * count)
    )
    return pa.array(list(names), pa.string())


def _check(scale: float, copies: int, events: int, selectivity: float) -> None:
    if not (0 < scale <= 1000 and 0 < copies <= 1000 and events >= 0 and 0 < selectivity <= 1):
        message = f"a route workload of scale {scale}, {copies} copies, {events} events and selectivity {selectivity}"
        fix = (
            "scale is above 0 and at most 1000, copies are 1 to 1000, events from 0, selectivity above 0 and at most 1"
        )
        raise UsageError("HG-064", message, fix=fix)


def _part(rng: np.random.Generator, size: Sizes, selectivity: float) -> Part:
    links = exchange(rng, size)
    return Part(links, draw_targeting(rng, size.total - size.publishers, selectivity) if selectivity < 1 else None)


def _texts(size: Sizes, parts: list[Part]) -> pa.StringArray:
    """The targeting of every node; a publisher has none."""
    chunks: list[pa.StringArray] = []
    for part in parts:
        if part.targeting is None:
            chunks.append(pa.nulls(size.total, pa.string()))
        else:
            chunks += [pa.nulls(size.publishers, pa.string()), pa.array(spell_targeting(part.targeting), pa.string())]
    return pa.concat_arrays(chunks)


def _whole(size: Sizes, parts: list[Part]) -> Links:
    """The edges of all exchanges, the nodes numbered through."""
    return Links(
        np.concatenate([part.links.source + number * size.total for number, part in enumerate(parts)]),
        np.concatenate([part.links.target + number * size.total for number, part in enumerate(parts)]),
    )


def _edges(rng: np.random.Generator, names: pa.StringArray, links: Links) -> pa.Table:
    """An edge costs 0.5 to 2.0; the nodes cost nothing."""
    cost = np.round(rng.uniform(0.5, 2.0, len(links.source)), 2)
    return pa.table({"source": names.take(links.source), "target": names.take(links.target), "cost": cost})


def _events(publishers: Ints, drawn: Ints) -> pa.Table:
    return pa.table(
        {
            "event_id": pa.array([f"event{number}" for number in range(len(drawn))], pa.string()),
            "publisher": pa.array([f"pub{number}" for number in publishers.tolist()], pa.string()),
            "attributes": pa.array([spell_event(event) for event in drawn], pa.string()),
        }
    )
