"""One event in order of cost: labels are paths, the first of each node is its cheapest, and little room is no harm."""

from __future__ import annotations

import json

import networkx as nx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from heliograph.route import layout as at
from heliograph.route.kernels import rank
from heliograph.route.layout import TARGET, Ranks, make_ranks
from tests.route.walks import Ready, make_ready, publishers, set_out
from tests.route.worlds import World, worlds

ROOM = 4096


def ranked(ready: Ready, limit: int = -1, labels: int = ROOM, hops: int = at.NO_LIMIT) -> Ranks | None:
    """The results, or None where there was no room for them."""
    graph = ready.version.graph
    ranks = make_ranks(graph.node_count, len(graph.edges) if hops != at.NO_LIMIT else 0, labels)
    return ranks if rank(graph, ready.job, set_out(ready, hops), ranks, limit, False) else None


def results(ready: Ready, ranks: Ranks | None) -> list[tuple[float, str]]:
    assert ranks is not None
    found = ranks.found[: ranks.sizes[at.FOUND]]
    names = [ready.version.name(int(node)) for node in ranks.labels[found, at.NODE]]
    return list(zip(ranks.costs[found].tolist(), names, strict=True))


@settings(max_examples=50)
@given(worlds())
def test_costs_ascend_and_are_those_of_dijkstra(world: World) -> None:
    row = publishers(world)[0]
    ready = make_ready(world, [row])
    found = results(ready, ranked(ready))
    costs = [cost for cost, _ in found]
    assert costs == sorted(costs)
    graph = world.valid_graph(row["publisher"], json.loads(row["attributes"]))
    expected = nx.single_source_dijkstra_path_length(graph, "the start")
    del expected["the start"]
    assert {name: pytest.approx(cost) for cost, name in found} == expected
    assert len(found) == len(expected)


@settings(max_examples=50)
@given(worlds(), st.one_of(st.just(at.NO_LIMIT), st.integers(0, 5)))
def test_a_label_is_a_path(world: World, hops: int) -> None:
    ready = make_ready(world, publishers(world)[:1])
    ranks = ranked(ready, hops=hops)
    assert ranks is not None
    graph = ready.version.graph
    assert ranks.labels[0].tolist() == [ready.starts[0], -1, -1, 0]
    for label in range(1, int(ranks.sizes[at.LABELS])):
        node, before, edge, length = ranks.labels[label].tolist()
        assert edge in ready.version.out_numbers(int(ranks.labels[before, at.NODE]))
        assert graph.edges[edge, TARGET] == node
        assert length == ranks.labels[before, at.HOPS] + 1 <= hops
        record = ready.version.records_of(ranks.labels[label : label + 1, at.NODE])[0]
        assert ranks.costs[label] == ranks.costs[before] + graph.edge_costs[edge] + graph.record_costs[record]


@settings(max_examples=50)
@given(worlds(), st.integers(0, 6))
def test_a_limit_is_enough_for_all_ties(world: World, limit: int) -> None:
    ready = make_ready(world, publishers(world)[:1])
    every, some = results(ready, ranked(ready)), results(ready, ranked(ready, limit))
    assert sorted(some)[:limit] == sorted(every)[:limit]
    assert (len(some) > limit) == (len(every) > limit)
    assert some == every[: len(some)]


@settings(max_examples=50)
@given(worlds(), st.data())
def test_room_is_enough_or_missed(world: World, data: st.DataObject) -> None:
    ready = make_ready(world, publishers(world)[:1])
    whole = ranked(ready)
    assert whole is not None
    needed = int(whole.sizes[at.LABELS])
    assume(needed > 1)
    assert ranked(ready, labels=data.draw(st.integers(1, needed - 1))) is None
    assert results(ready, ranked(ready, labels=needed + len(world.edges))) == results(ready, whole)
