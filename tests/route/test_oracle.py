"""networkx answers every generated exchange the same: who is reached, over how many edges, at what cost."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.route import Route
from tests.route.exchanges import NAMES, Case, event, exchanges, pairs, reached, valid_graph, values

pytestmark = pytest.mark.usefixtures("each_half")
starts = st.sampled_from(NAMES)


@given(exchanges, starts, values)
def test_paths_have_fewest_edges(exchange: Case, start: str, x: int | None) -> None:
    graph = valid_graph(exchange, start, x)
    lengths = nx.single_source_shortest_path_length(graph, "start")
    for item in Route(exchange.nodes, exchange.edges).publish(event(start, x), paths=True):
        path = item.proof["path"]
        assert (path[0], path[-1]) == (start, item.subscription_id)
        assert len(path) - 1 == lengths[item.subscription_id]
        assert set(pairwise(path)) <= pairs(exchange.edges)
        assert all(node in graph for node in path[1:])


@given(exchanges, starts, values, st.integers(0, 4))
def test_ranked_costs_within_hops(exchange: Case, start: str, x: int | None, hops: int) -> None:
    """The cheapest of all walks of at most so many edges, by dynamic programming over their number."""
    graph = valid_graph(exchange, start, x)
    best: dict[str, float] = {}
    layer = {"start": 0.0}
    for _ in range(hops):
        following: dict[str, float] = {}
        for source, before in layer.items():
            for target, link in graph.adj.get(source, {}).items():
                total = before + link["weight"]
                following[target] = min(total, following.get(target, total))
        layer = following
        best = {node: min(best.get(node, cost), cost) for node, cost in layer.items()} | {
            node: cost for node, cost in best.items() if node not in layer
        }
    engine = Route(exchange.nodes, exchange.edges)
    found = engine.publish(event(start, x), rank="cost", hops=hops)
    assert {item.subscription_id: pytest.approx(item.proof["cost"]) for item in found} == best
    assert all(len(item.proof["path"]) - 1 <= hops for item in found)
    assert set(reached(engine.publish(event(start, x), hops=hops))) == set(best)
