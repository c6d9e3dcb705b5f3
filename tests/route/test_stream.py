"""Streams: what `publish` gives, each result once, the first before the walk has ended, and all of one version."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import PublicationError, TableError
from heliograph.predicate import evaluate as predicate_truth
from heliograph.predicate.evaluate import Attributes
from heliograph.predicate.form import Predicate
from heliograph.route import Route
from heliograph.route import kernels as hopping
from heliograph.route import strategy as route_walk
from heliograph.route.layout import EVALUATED
from tests.route.worlds import WAYS, World, answer, event, worlds

BOTH = ("walk", "lanes")


def stream(engine: Route, way: str, one: dict[str, Any], **options: Any) -> list[str]:
    engine._strategy = WAYS[way]
    return [item.subscription_id for item in engine.stream(one, **options)]


@settings(max_examples=60)
@given(worlds(), st.integers(0, 2**32), st.booleans(), st.one_of(st.none(), st.integers(0, 4)))
def test_a_stream_gives_what_publish_gives(world: World, seed: int, ends_only: bool, hops: int | None) -> None:
    engine = world.engine()
    for one in world.batch(5, seed):
        if one["publisher"] in world.names:
            expected = [
                item.subscription_id for item in answer(engine, "walk", [one], subscribers_only=ends_only, hops=hops)
            ]
            for way in ("walk", "lanes", "general"):
                assert sorted(stream(engine, way, one, subscribers_only=ends_only, hops=hops)) == sorted(expected)
    assert engine._exchange._readers == {}


@pytest.mark.parametrize("way", BOTH)
def test_results_come_by_the_number_of_their_edges(way: str) -> None:
    edges = [(f"n{node // 3}", f"n{node}") for node in range(1, 2000)]
    found = stream(Route(edges=edges), way, event("n0", {}))
    assert len(found) == len(set(found)) == 1999
    depths = {"n0": 0}
    for source, target in edges:
        depths[target] = depths[source] + 1
    assert [depths[node] for node in found] == sorted(depths[node] for node in found)


def tree_engine() -> Route:
    nodes = [(f"n{node}", f"x > {-node}") for node in range(1, 3000)]
    return Route(nodes, [(f"n{node // 3}", f"n{node}") for node in range(1, 3000)])


def test_the_walk_gives_the_first_before_it_has_asked_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Predicate] = []

    def counted(form: Predicate, attributes: Attributes) -> bool:
        asked.append(form)
        return predicate_truth.accepts(form, attributes)

    monkeypatch.setattr(route_walk, "accepts", counted)
    engine = tree_engine()
    engine._strategy = WAYS["walk"]
    results = engine.stream(event("n0", {"x": 1}))
    assert next(results).subscription_id == "n1"
    assert len(asked) == 1
    assert len(list(results)) == 2998
    assert len(asked) == 2999


def test_lanes_give_the_first_before_they_have_asked_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    advance = hopping.advance

    def counted(graph: Any, job: Any, trail: Any, wanted: int) -> Any:
        more = advance(graph, job, trail, wanted)
        asked.append(int(trail.head[EVALUATED]))
        return more

    monkeypatch.setattr(hopping, "advance", counted)
    engine = tree_engine()
    engine._strategy = WAYS["lanes"]
    results = engine.stream(event("n0", {"x": 1}))
    assert next(results).subscription_id == "n1"
    assert asked == [1]
    assert len(list(results)) == 2998
    assert asked[-1] == 2999
    assert len(asked) < 20  # ever larger pieces


@pytest.mark.parametrize("way", BOTH)
def test_a_stream_that_is_closed_lets_its_version_go(way: str) -> None:
    engine = tree_engine()
    engine._strategy = WAYS[way]
    results = engine.stream(event("n0", {"x": 1}))
    next(results)
    engine.add_nodes([("n5", "FALSE")])
    engine.remove_nodes(["n7"])
    assert len(engine._exchange._readers) == 1
    assert engine._exchange._arrays.history
    results.close()  # type: ignore[attr-defined]
    assert engine._exchange._readers == {}
    assert not engine._exchange._arrays.history


@pytest.mark.parametrize("way", BOTH)
def test_a_stream_sees_the_version_of_its_first_result(way: str) -> None:
    engine = tree_engine()
    engine._strategy = WAYS[way]
    early, late = engine.stream(event("n0", {"x": 1})), engine.stream(event("n0", {"x": 1}))
    found = [next(early).subscription_id]
    engine.remove_nodes([f"n{node}" for node in range(2, 3000)])
    engine._exchange.compact()
    assert [item.subscription_id for item in late] == ["n1"]
    found += [item.subscription_id for item in early]
    assert set(found) == {f"n{node}" for node in range(1, 3000)}
    assert len(found) == 2999


@pytest.mark.parametrize("way", BOTH)
def test_streams_side_by_side(way: str) -> None:
    """Each has its room: what one has marked does not keep another from going there."""
    engine = tree_engine()
    engine._strategy = WAYS[way]
    several = [engine.stream(event(f"n{start}", {"x": 1})) for start in (0, 1, 0, 2)]
    found: list[list[str]] = [[], [], [], []]
    waiting = set(range(4))
    while waiting:
        for place in sorted(waiting):
            item = next(several[place], None)
            if item is None:
                waiting.discard(place)
            else:
                found[place].append(item.subscription_id)
    for start, got in zip((0, 1, 0, 2), found, strict=True):
        assert got == stream(engine, way, event(f"n{start}", {"x": 1}))


@pytest.mark.parametrize("way", BOTH)
def test_a_bad_event_raises(way: str) -> None:
    engine = Route(edges=[("p", "a")], algorithm=way)
    with pytest.raises(PublicationError, match="HG-643"):
        next(engine.stream(event("nobody", {})))
    with pytest.raises(PublicationError, match="HG-642"):
        next(engine.stream({"event_id": "e", "publisher": "p", "attributes": "{"}))
    with pytest.raises(TableError, match="HG-640"):
        next(engine.stream([]))
    assert engine._exchange._readers == {}
