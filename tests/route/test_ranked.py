"""Ranked delivery: the costs of Dijkstra on what accepts the event, the order of cost and id, paths that add up, and of
a limit the first of all.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from heliograph.model import Notification
from heliograph.route import Route
from heliograph.route import layout as routing_layout
from heliograph.route import strategy as alone
from tests.route.worlds import World, answer, event, worlds

WAYS = ("walk", "lanes")
ways = st.sampled_from(WAYS)
seeds = st.integers(0, 2**32)


def known_events(world: World, seed: int, size: int = 6) -> list[dict[str, Any]]:
    return [row for row in world.batch(size, seed) if row["publisher"] in world.names]


def by_event(found: Any, events: list[dict[str, Any]]) -> dict[str, list[Notification]]:
    return {row["event_id"]: [item for item in found if item.publication_id == row["event_id"]] for row in events}


def check_path(world: World, row: dict[str, Any], item: Notification, graph: Any) -> None:
    """Each step of the evidence is an edge that accepts the event and leads to a node that does; their costs add up."""
    path, cost = item.proof["path"], item.proof["cost"]
    assert (path[0], path[-1]) == (row["publisher"], item.subscription_id)
    steps = [("the start", path[1]), *pairwise(path[1:])]
    assert all(graph.has_edge(*step) for step in steps)
    assert cost == pytest.approx(sum(graph.edges[step]["weight"] for step in steps))


@settings(max_examples=60)
@given(worlds(), seeds, ways)
def test_costs_are_those_of_dijkstra(world: World, seed: int, way: str) -> None:
    events = known_events(world, seed)
    found = by_event(answer(world.engine(), way, events, rank="cost"), events)
    for row in events:
        graph = world.valid_graph(row["publisher"], json.loads(row["attributes"]))
        costs = nx.single_source_dijkstra_path_length(graph, "the start")
        del costs["the start"]
        items = found[row["event_id"]]
        assert {item.subscription_id: pytest.approx(item.proof["cost"]) for item in items} == costs
        ranks = [(item.proof["cost"], item.subscription_id) for item in items]
        assert ranks == sorted(ranks)
        for item in items:
            check_path(world, row, item, graph)


@settings(max_examples=60)
@given(worlds(), seeds, ways, st.integers(0, 8), st.booleans(), st.one_of(st.none(), st.integers(0, 5)))
def test_a_limit_keeps_the_first(
    world: World, seed: int, way: str, limit: int, ends_only: bool, hops: int | None
) -> None:
    """Of results at one cost those with the smallest ids, however late the search comes to them."""
    engine, events = world.engine(), known_events(world, seed)
    options: Any = {"rank": "cost", "subscribers_only": ends_only, "hops": hops}
    whole = by_event(answer(engine, way, events, **options), events)
    cut = answer(engine, way, events, limit=limit, **options)
    expected = [(item.subscription_id, item.proof["cost"]) for items in whole.values() for item in items[:limit]]
    assert [(item.subscription_id, item.proof["cost"]) for item in cut] == expected
    lost = [max(len(items) - limit, 0) for items in whole.values()]
    assert cut.complete == (sum(lost) == 0)
    assert sum(map(bool, lost)) <= cut.stats.truncated <= sum(lost)


@settings(max_examples=60)
@given(worlds(), seeds, st.integers(0, 6))
@example(World([], [{"source": "a", "target": "a", "targeting": None, "cost": 0.0}], [{}]), 0, 3)
def test_both_ways_rank_alike_within_hops(world: World, seed: int, hops: int) -> None:
    engine, events = world.engine(), known_events(world, seed)
    shown = [
        [
            (item.publication_id, item.subscription_id, item.proof["cost"])
            for item in answer(engine, way, events, rank="cost", hops=hops)
        ]
        for way in WAYS
    ]
    assert shown[0] == shown[1]
    for row, items in zip(events, by_event(answer(engine, "lanes", events, rank="cost", hops=hops), events).values()):
        graph = world.valid_graph(row["publisher"], json.loads(row["attributes"]))
        for item in items:
            check_path(world, row, item, graph)
            assert len(item.proof["path"]) - 1 <= hops


@pytest.mark.parametrize("way", WAYS)
def test_edges_that_cost_nothing(way: str) -> None:
    """A ring of them, and a way around it: all ties are by id, and no walk goes round for ever."""
    ring = [{"source": f"n{node}", "target": f"n{(node + 1) % 50}", "cost": 0.0} for node in range(50)]
    engine = Route([("n9", None, 0.5)], [*ring, {"source": "n8", "target": "n10", "cost": 0.25}])
    found = answer(engine, way, [event("n0", {})], rank="cost")
    cheap = sorted(f"n{node}" for node in range(1, 9))
    assert [item.subscription_id for item in found][:8] == cheap
    assert {item.proof["cost"] for item in found} == {0.0, 0.25, 0.5}
    assert len(found) == 50
    assert [item.subscription_id for item in answer(engine, way, [event("n0", {})], rank="cost", limit=3)] == cheap[:3]


@pytest.mark.parametrize("way", WAYS)
def test_the_last_found_of_many_ties_may_come_first(way: str) -> None:
    """A limit keeps the smallest ids of those at one cost, and those are the last on a path that costs nothing."""
    names = [f"n{99 - node}" for node in range(40)]
    engine = Route(edges=[{"source": a, "target": b, "cost": 0.0} for a, b in pairwise(names)])
    for limit in (1, 2, 5, 38, 39):
        found = answer(engine, way, [event(names[0], {})], rank="cost", limit=limit)
        assert [item.subscription_id for item in found] == names[:0:-1][:limit]
        assert found.complete == (limit == 39)


@pytest.mark.parametrize("way", WAYS)
def test_costs_as_large_as_they_may_be(way: str) -> None:
    edges = [{"source": f"n{node}", "target": f"n{node + 1}", "cost": 1e300} for node in range(2000)]
    engine = Route([(f"n{node}", None, 1e300) for node in range(2001)], edges)
    (last,) = answer(engine, way, [event("n0", {})], rank="cost", subscribers_only=True)
    assert last.proof["cost"] == pytest.approx(4e303)
    assert len(last.proof["path"]) == 2001


def test_more_paths_than_there_was_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search begins again with more room; what it asked in vain is not counted."""
    made: list[int] = []

    def counted(nodes: int, edges: int, labels: int) -> Any:
        made.append(labels)
        return routing_layout.make_ranks(nodes, edges, labels)

    monkeypatch.setattr(alone, "make_ranks", counted)
    edges = [
        {"source": f"{layer} {one}", "target": f"{layer + 1} {other}", "cost": float((one * 7 + other * 3) % 11)}
        for layer in range(4)
        for one in range(40)
        for other in range(40)
    ]
    nodes = [(f"{layer} {one}", f"x > {one % 20}") for layer in range(5) for one in range(40)]
    engine = Route(nodes, edges)
    for hops in (None, 4):
        plain, lanes = (answer(engine, way, [event("0 0", {"x": 15})], rank="cost", hops=hops) for way in WAYS)
        assert [(item.subscription_id, item.proof["cost"]) for item in lanes] == [
            (item.subscription_id, item.proof["cost"]) for item in plain
        ]
        assert lanes.stats.candidates == plain.stats.candidates
    assert made == [1024, 4096, 1024, 4096]


def test_the_first_few_are_found_without_the_others() -> None:
    nodes = [(f"n{node}", f"x > {-node}") for node in range(1, 3000)]
    engine = Route(nodes, [(f"n{node // 3}", f"n{node}") for node in range(1, 3000)])
    whole, few = (answer(engine, "lanes", [event("n0", {"x": 5})], rank="cost", limit=n) for n in (None, 3))
    assert few.items == whole.items[:3]
    assert not few.complete
    assert few.stats.candidates * 20 < whole.stats.candidates == 2999
