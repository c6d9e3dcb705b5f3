"""The plain walk: against networkx on the valid part of the exchange, its counters, and what it remembers."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.predicate.evaluate import Attributes
from heliograph.route.exchange import Exchange, Version
from heliograph.route.read import Edge, Event, Node, refused_node
from heliograph.route.strategy import Arrival, PlainWalk
from tests.route.exchanges import Case, cost, exchanges, valid_graph, values


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


def check_path(graph: Any, path: list[str], arrival: Arrival) -> None:
    """The path is valid, and as long as the arrival says."""
    steps = ["start", *path[1:]]
    assert all(graph.has_edge(*step) for step in pairwise(steps))
    assert len(path) == arrival.hops + 1


@given(exchanges, values)
def test_fewest_hops_are_those_of_networkx(case: Case, x: int | None) -> None:
    version, start = made(case), case.edges[0]["source"]
    found = ids(version, PlainWalk(version, event_of(x)).fewest_hops(version.number(start)))
    graph = valid_graph(case, start, x)
    lengths = nx.single_source_shortest_path_length(graph, "start")
    assert {id: arrival.hops for id, arrival in found.items()} == {id: n for id, n in lengths.items() if id != "start"}
    for id, arrival in found.items():
        path = arrival.path(version)
        assert (path[0], path[-1]) == (start, id)
        check_path(graph, path, arrival)


@given(exchanges, values)
def test_least_costs_are_those_of_dijkstra(case: Case, x: int | None) -> None:
    version, start = made(case), case.edges[0]["source"]
    found = ids(version, PlainWalk(version, event_of(x)).cheapest(version.number(start)).values())
    graph = valid_graph(case, start, x)
    costs = nx.single_source_dijkstra_path_length(graph, "start")
    assert {id: arrival.cost for id, arrival in found.items()} == pytest.approx(
        {id: n for id, n in costs.items() if id != "start"}
    )
    for arrival in found.values():
        check_path(graph, arrival.path(version), arrival)


@given(exchanges, values, st.integers(0, 4))
def test_hops_bound_both_walks_alike(case: Case, x: int | None, hops: int) -> None:
    version = made(case)
    start = version.number(case.edges[0]["source"])
    walk = PlainWalk(version, event_of(x))
    short = {arrival.node: arrival for arrival in walk.fewest_hops(start, hops)}
    cheap = walk.cheapest(start, hops)
    assert set(short) == set(cheap)
    assert all(arrival.hops <= hops for arrival in cheap.values())
    assert all(cheap[number].cost <= arrival.cost for number, arrival in short.items())


@given(exchanges, values, st.data())
def test_within_bounds_the_walk(case: Case, x: int | None, data: st.DataObject) -> None:
    version = made(case)
    start, every = version.number(case.edges[0]["source"]), version.node_numbers().tolist()
    within = set(data.draw(st.lists(st.sampled_from(every), unique=True)))
    found = PlainWalk(version, event_of(x)).cheapest(start, within=within)
    assert set(found) <= within
    walk = PlainWalk(version, event_of(x))
    assert walk.cheapest(start, within=every) == walk.cheapest(start)


@given(exchanges, values)
def test_each_is_asked_once(case: Case, x: int | None) -> None:
    version = made(case)
    walk = PlainWalk(version, event_of(x))
    start = version.number(case.edges[0]["source"])
    walk.cheapest(start, 6)
    counted = walk.candidates, walk.verified
    list(walk.fewest_hops(start))
    assert (walk.candidates, walk.verified) == counted
    targeted = [row for row in (*case.nodes, *case.edges) if row["targeting"]]
    assert walk.verified <= walk.candidates <= len(targeted)


def test_the_walk_stands_alone() -> None:
    exchange = Exchange()
    exchange.put_nodes([Node("p"), Node("a")])
    version = exchange.current
    walk = PlainWalk(version, event_of(1))
    start = version.number("p")
    assert list(walk.fewest_hops(start)) == []
    assert walk.cheapest(start) == {}


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


@pytest.mark.parametrize(
    ("match", "expected", "counted"),
    [
        ("superset", {"ab"}, (3, 1)),
        ("subset", {"none", "ab"}, (2, 1)),
        ("intersects", {"ab", "bc"}, (2, 2)),
    ],
)
def test_labels_are_compared_where_there_are_any(match: str, expected: set[str], counted: tuple[int, int]) -> None:
    """No labels are a subset of all, and share none with any: that is known without asking."""
    exchange = Exchange(match)
    nodes = {"none": frozenset[str](), "ab": frozenset("AB"), "bc": frozenset("BC")}
    exchange.put_nodes([Node(id, text="FALSE", labels=labels) for id, labels in nodes.items()])
    exchange.put_edges([Edge("p", id) for id in nodes])
    version = exchange.current
    walk = PlainWalk(version, Event("e", "p", Attributes({}), frozenset("AB")))
    assert set(ids(version, walk.fewest_hops(version.number("p")))) == expected
    assert (walk.candidates, walk.verified) == counted


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
