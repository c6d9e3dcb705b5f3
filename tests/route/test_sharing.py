"""Shares of an exchange tell together what the whole tells, each thing once."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from heliograph.io.tables import as_table
from heliograph.model import Notifications
from heliograph.route import Route
from heliograph.route.engine import Share, share_of
from heliograph.route.save import pack_exchange, unpack_exchange
from heliograph.workloads.route import generate_route

CHOICES: list[dict[str, Any]] = [{}, {"paths": True}, {"rank": "cost"}, {"subscribers_only": True}, {"hops": 2}]


def told(several: list[Notifications]) -> tuple[Counter[Any], Counter[Any], int]:
    rows = Counter(tuple(row.values()) for found in several for row in found.table.to_pylist())
    refused = Counter((entry.item, entry.code) for found in several for entry in found.rejected)
    return rows, refused, sum(found.stats.publications for found in several)


def opened(engine: Route, number: int, shares: int) -> Share:
    with engine.reading() as version, share_of(version, number, shares).reading() as share:
        exchange = unpack_exchange(pack_exchange(share), engine.match)
    made = Route(match=engine.match)
    made._exchange = exchange
    return Share.of(made, number, shares)


def drawn(seed: int) -> tuple[list[Any], list[Any], pa.Table]:
    """An exchange with cycles, refused nodes, and ends of all kinds; events of publishers that are known or not."""
    draw = random.Random(seed)
    names = [f"n{number}" for number in range(14)]
    texts = (None, "x = 1", "x > 1 OR y = 'a'", "x =")
    nodes = [(name, draw.choices(texts, (4, 3, 3, 1))[0]) for name in names if draw.random() < 0.8]
    inner = names[:7]
    edges = [
        {
            "source": draw.choice(inner),
            "target": draw.choice(names),
            "targeting": draw.choice((None, "x < 3")),
            "cost": cost,
        }
        for cost in draw.choices((0.5, 1.0, 2.5), k=22)
    ]
    events = [
        {
            "event_id": f"e{number % 38}",
            "publisher": draw.choice([*names, "nobody"]),
            "attributes": f'{{"x": {draw.randint(0, 4)}}}',
        }
        for number in range(40)
    ]
    events.append({"event_id": "bad", "publisher": "n1", "attributes": "["})
    return nodes, edges, as_table("events", events).table


@pytest.mark.parametrize("seed", range(12))
def test_shares_together_are_the_whole(seed: int) -> None:
    nodes, edges, events = drawn(seed)
    engine = Route(nodes, edges)
    for shares in (1, 2, 5):
        parts = [opened(engine, number, shares) for number in range(shares)]
        for choice in CHOICES:
            wanted = told([engine.publish(events, **choice)])
            assert told([part.publish(events, **choice) for part in parts]) == wanted, (shares, choice)


def test_labels_in_place_of_targeting() -> None:
    nodes = [
        {"node_id": name, "labels": list(labels)} for name, labels in (("a", "A"), ("b", "AB"), ("c", ""), ("d", "B"))
    ]
    engine = Route(nodes, [("p", "a"), ("a", "b"), ("a", "c"), ("p", "d"), ("p", "e")], match="intersects")
    events = as_table("events", [{"event_id": "1", "publisher": "p", "attributes": {"labels": ["A"]}}]).table
    shares = [opened(engine, number, 3) for number in range(3)]
    assert told([share.publish(events) for share in shares]) == told([engine.publish(events)])


def test_a_share_holds_its_part_of_the_ends() -> None:
    tables = generate_route(3, scale=0.02, events=50)
    engine = Route(tables["nodes"], tables["edges"])
    shares = [opened(engine, number, 4) for number in range(4)]
    assert told([share.publish(tables["events"]) for share in shares]) == told([engine.publish(tables["events"])])
    sizes = [share.engine.stats().subscriptions for share in shares]
    passing = {edge["source"] for edge in tables["edges"].to_pylist()}
    ends = engine.stats().subscriptions - len(passing)
    assert sum(sizes) == ends + 4 * len(passing)
    assert max(sizes) < len(passing) + ends / 2
