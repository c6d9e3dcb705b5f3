"""Components and numbers: scipy and networkx agree, the kernel and its plain twin give the same."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from heliograph.route import numbering
from heliograph.route.exchange import strong_components as components
from heliograph.route.numbering import Numbering, number_nodes
from heliograph.route.read import Edge
from tests.route.exchange_worlds import Exchange

Pairs = list[tuple[int, int]]
graphs = st.integers(1, 14).flatmap(
    lambda count: st.tuples(
        st.just(count), st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=30)
    )
)


@pytest.fixture(params=[False, True], ids=["plain", "kernel"])
def by_kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(numbering, "pays", lambda count: request.param)
    return bool(request.param)


def ends(pairs: Pairs) -> tuple[Any, Any]:
    table = np.array(pairs, np.int32).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def check(count: int, pairs: Pairs, found: Numbering) -> None:
    """The order is a topological one of components, whose nodes are consecutive and come by breadth."""
    sources, targets = ends(pairs)
    total, labels = connected_components(
        coo_array((np.ones(len(pairs)), (sources, targets)), shape=(count, count)), connection="strong"
    )
    assert found.components.max() + 1 == total
    assert len({(a, b) for a, b in zip(labels.tolist(), found.components.tolist(), strict=True)}) == total
    assert sorted(found.order.tolist()) == list(range(count))
    assert (np.diff(found.components[found.order]) >= 0).all()
    assert (found.components[sources] <= found.components[targets]).all()
    graph = nx.DiGraph(pairs)
    graph.add_nodes_from(range(count))
    for members in nx.strongly_connected_components(graph):
        ordered = [node for node in found.order.tolist() if node in members]
        depth = nx.single_source_shortest_path_length(graph.subgraph(members), ordered[0])
        assert [depth[node] for node in ordered] == sorted(depth.values())


@settings(max_examples=50)
@given(graphs)
def test_the_plain_twin(graph: tuple[int, Pairs]) -> None:
    count, pairs = graph
    check(count, pairs, number_nodes(count, *ends(pairs)))


@settings(max_examples=50)
@given(graphs)
def test_the_kernel_gives_what_the_twin_gives(graph: tuple[int, Pairs]) -> None:
    count, pairs = graph
    plain = number_nodes(count, *ends(pairs))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "pays", lambda count: True)
        compiled = number_nodes(count, *ends(pairs))
    assert compiled.order.tolist() == plain.order.tolist()
    assert compiled.components.tolist() == plain.components.tolist()


@pytest.mark.usefixtures("by_kernel")
@pytest.mark.parametrize("closed", [False, True])
def test_long_chains_need_no_recursion(closed: bool) -> None:
    count = 100_000
    sources = np.arange(count, dtype=np.int32)
    targets = (sources + 1) % count
    kept = count if closed else count - 1
    found = number_nodes(count, sources[:kept], targets[:kept])
    assert found.components.max() == (0 if closed else count - 1)
    assert found.order.tolist() == list(range(count))


@pytest.mark.usefixtures("by_kernel")
def test_a_large_random_graph() -> None:
    chance = np.random.default_rng(5)
    pairs = [tuple(pair) for pair in chance.integers(0, 3000, (3500, 2)).tolist()]
    check(3000, pairs, number_nodes(3000, *ends(pairs)))


@pytest.mark.usefixtures("by_kernel")
def test_nothing_at_all() -> None:
    found = number_nodes(0, np.zeros(0, np.int32), np.zeros(0, np.int32))
    assert (len(found.order), len(found.components)) == (0, 0)


def test_the_components_of_a_version() -> None:
    """Live changes that merge and split components show at once, whatever the numbers."""
    exchange = Exchange()
    exchange.put_edges([Edge("a", "b"), Edge("b", "c"), Edge("c", "d")])
    assert groups(exchange) == ["a", "b", "c", "d"]
    exchange.put_edges([Edge("c", "a")])
    assert groups(exchange) == ["abc", "d"]
    with exchange.reading() as held:
        exchange.drop_edges(held.between_numbers(held.number("a"), held.number("b")))
        assert len(set(components(held.graph)[held.node_numbers()].tolist())) == 2
    assert groups(exchange)[:2] == ["b", "c"]
    assert sorted(groups(exchange)) == ["a", "b", "c", "d"]


def groups(exchange: Exchange) -> list[str]:
    """The members of each component, in topological order."""
    version = exchange.current
    of = components(version.graph)
    found: dict[int, str] = {}
    for number in version.node_numbers().tolist():
        found[int(of[number])] = found.get(int(of[number]), "") + version.node(number).id
    return [found[component] for component in sorted(found)]
