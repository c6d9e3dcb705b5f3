"""The plain walk: against networkx on the valid part of the exchange, its counters, and what it remembers."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from heliograph.predicate.evaluate import Attributes
from heliograph.route.exchange import Version
from heliograph.route.read import Edge, Event, Node, refused_node
from heliograph.route.strategy import Arrival, PlainWalk
from tests.route.exchange_worlds import Exchange
from tests.route.exchanges import Case, cost, exchanges, values


def made(case: Case) -> Version:
    """The exchange of a case, without an engine around it."""
    exchange = Exchange()
    exchange.put_nodes([Node(row["node_id"], text=row["targeting"], cost=cost(row, 0.0)) for row in case.nodes])
    edges = [Edge(row["source"], row["target"], text=row["targeting"], cost=cost(row, 1.0)) for row in case.edges]
    exchange.put_edges(edges)
    return exchange.current


def event_of(x: int | None, **more: Any) -> Event:
    return Event("e", "p", Attributes({"x": x, **more}))


def ids(version: Version, found: Iterable[Arrival]) -> dict[str, Arrival]:
    return {version.node(arrival.node).id: arrival for arrival in found}


@given(exchanges, values, st.data())
def test_within_bounds_the_walk(case: Case, x: int | None, data: st.DataObject) -> None:
    version = made(case)
    start, every = version.number(case.edges[0]["source"]), version.node_numbers().tolist()
    within = set(data.draw(st.lists(st.sampled_from(every), unique=True)))
    found = PlainWalk(version, event_of(x)).cheapest(start, within=within)
    assert set(found) <= within
    walk = PlainWalk(version, event_of(x))
    assert walk.cheapest(start, within=every) == walk.cheapest(start)


def test_what_accepts_everything_is_not_counted() -> None:
    exchange = Exchange()
    exchange.put_nodes([Node("a", text="TRUE"), Node("b", text="x = 1"), refused_node("c", "HG-451")])
    edges = [Edge("p", "a", text="x = 2"), Edge("p", "b", text=" "), Edge("p", "c"), Edge("p", "d", text="1 = 1")]
    exchange.put_edges(edges)
    version = exchange.current
    walk = PlainWalk(version, event_of(1))
    assert set(ids(version, walk.fewest_hops(version.number("p")))) == {"b", "d"}
    assert (walk.candidates, walk.verified) == (2, 1)
    assert [walk.edge(edge) for edge in version.out_numbers(version.number("p"))] == [False, True, True, True]


def test_what_was_met_is_remembered_as_long_as_its_version() -> None:
    exchange = Exchange()
    exchange.put_edges([Edge("p", "a"), Edge("p", "b")])
    version = exchange.current
    links = PlainWalk(version, event_of(1)).links(version.number("p"))
    assert PlainWalk(version, event_of(2)).links(version.number("p")) is links
    assert [version.node(link.target).id for link in links] == ["a", "b"]
    exchange.put_edges([Edge("p", "c")])
    assert len(PlainWalk(exchange.current, event_of(1)).links(exchange.current.number("p"))) == 3
    old = weakref.ref(version)
    del version
    gc.collect()
    assert old() is None
