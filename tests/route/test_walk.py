"""The plain walk: against networkx on the valid part of the exchange, its counters, and what it remembers."""

from __future__ import annotations

import gc
import weakref
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.predicate.evaluate import Attributes
from heliograph.route.exchange import Exchange
from heliograph.route.read import Edge, Event, Node, refused_node
from heliograph.route.strategy import Acceptance, Arrival, cheapest, fewest_hops, ground_of, links_of
from heliograph.route.exchange import Version
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


def ids(version: Version, found: dict[int, Arrival]) -> dict[str, Arrival]:
    return {version.node(number).id: arrival for number, arrival in found.items()}


def check_path(graph: Any, path: list[str], arrival: Arrival) -> None:
    """The path is valid, and as long as the arrival says."""
    steps = ["start", *path[1:]]
    assert all(graph.has_edge(*step) for step in pairwise(steps))
    assert len(path) == arrival.hops + 1


@given(exchanges, values)
def test_fewest_hops_are_those_of_networkx(case: Case, x: int | None) -> None:
    version, start = made(case), case.edges[0]["source"]
    found = ids(version, fewest_hops(version, version.number(start), Acceptance(version, event_of(x))))
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
    found = ids(version, cheapest(version, version.number(start), Acceptance(version, event_of(x))))
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
    short, cheap = (walk(version, start, Acceptance(version, event_of(x)), hops) for walk in (fewest_hops, cheapest))
    assert set(short) == set(cheap)
    assert all(arrival.hops <= hops for arrival in cheap.values())
    assert all(cheap[number].cost <= arrival.cost for number, arrival in short.items())


@given(exchanges, values, st.data())
def test_within_bounds_the_walk(case: Case, x: int | None, data: st.DataObject) -> None:
    version = made(case)
    start, every = version.number(case.edges[0]["source"]), version.node_numbers().tolist()
    within = set(data.draw(st.lists(st.sampled_from(every), unique=True)))
    found = cheapest(version, start, Acceptance(version, event_of(x)), within=within)
    assert set(found) <= within
    assert cheapest(version, start, Acceptance(version, event_of(x)), within=every) == cheapest(
        version, start, Acceptance(version, event_of(x))
    )


@given(exchanges, values)
def test_each_is_asked_once(case: Case, x: int | None) -> None:
    version = made(case)
    acceptance = Acceptance(version, event_of(x))
    start = version.number(case.edges[0]["source"])
    cheapest(version, start, acceptance, 6)
    counted = acceptance.candidates, acceptance.verified
    fewest_hops(version, start, acceptance)
    assert (acceptance.candidates, acceptance.verified) == counted
    targeted = [row for row in (*case.nodes, *case.edges) if row["targeting"]]
    assert acceptance.verified <= acceptance.candidates <= len(targeted)


def test_the_walk_stands_alone() -> None:
    exchange = Exchange()
    exchange.put_nodes([Node("p"), Node("a")])
    version = exchange.current
    acceptance = Acceptance(version, event_of(1))
    start = version.number("p")
    assert fewest_hops(version, start, acceptance) == cheapest(version, start, acceptance) == {}


def test_what_accepts_everything_is_not_counted() -> None:
    exchange = Exchange()
    exchange.put_nodes([Node("a", text="TRUE"), Node("b", text="x = 1"), refused_node("c", "HG-451")])
    edges = [Edge("p", "a", text="x = 2"), Edge("p", "b", text=" "), Edge("p", "c"), Edge("p", "d", text="1 = 1")]
    exchange.put_edges(edges)
    version = exchange.current
    acceptance = Acceptance(version, event_of(1))
    assert set(ids(version, fewest_hops(version, version.number("p"), acceptance))) == {"b", "d"}
    assert (acceptance.candidates, acceptance.verified) == (2, 1)
    assert [acceptance.edge(edge) for edge in version.out_numbers(version.number("p"))] == [False, True, True, True]


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
    acceptance = Acceptance(version, Event("e", "p", Attributes({}), frozenset("AB")), match)
    assert set(ids(version, fewest_hops(version, version.number("p"), acceptance))) == expected
    assert (acceptance.candidates, acceptance.verified) == counted


def test_what_was_met_is_remembered_as_long_as_its_version() -> None:
    exchange = Exchange()
    exchange.put_edges([Edge("p", "a"), Edge("p", "b")])
    version = exchange.current
    ground = ground_of(version)
    assert ground_of(version) is ground
    links = links_of(version, ground, version.number("p"))
    assert links_of(version, ground, version.number("p")) is links
    assert [version.node(link.target).id for link in links] == ["a", "b"]
    exchange.put_edges([Edge("p", "c")])
    assert ground_of(exchange.current) is not ground
    assert len(links_of(exchange.current, ground_of(exchange.current), exchange.current.number("p"))) == 3
    old = weakref.ref(version)
    del version
    gc.collect()
    assert old() is None
