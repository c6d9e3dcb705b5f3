"""All evaluators give one answer, in one order: the plain walk, the lanes, the seed's algorithms; and networkx agrees.

The shapes are DAGs, one large component, components within components, chains, self-loops, parallel edges, parts that
cannot be reached, and ends of edges that are no listed nodes; see `worlds`.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.errors import UsageError
from heliograph.route import Route
from heliograph.route import strategy as reaching
from heliograph.route.strategy import ALGORITHMS, SEEDS
from tests.route.worlds import (
    SHAPES,
    WAYS,
    World,
    answer,
    build,
    check_alike,
    check_reach,
    event,
    told,
    worlds,
)

BATCHES = (1, 2, 63, 64, 65, 130, 200)  # around the 64 lanes of a board
seeds = st.integers(0, 2**32)
limits = st.one_of(st.none(), st.integers(0, 6))
TEXTS = (
    *(None, "x > 3", "x <= 7 AND s = 'a'", "s IN ('a', 'c') OR x BETWEEN 2 AND 5", "NOT s = 'b'", "s LIKE 'a%'"),
    *("x IS NULL OR d.e = TRUE", "x <> 4 AND (s <> 'a' OR y > 0.5)", "FALSE", "x IN (1, 3, 5, 7)", "s ILIKE 'A'"),
)
TREES: list[dict[str, Any]] = [
    *({"x": x, "s": s, "y": x / 10} for x in range(10) for s in "abc"),
    *({}, {"x": [1, 6], "s": ["a", "b"]}, {"x": 2**60 + 1, "s": "a"}, {"x": True, "s": None, "d": {"e": True}}),
    *({"x": "a", "s": 3}, {"x": {"a": 1}}, {"x": [], "s": [[1]]}, {"unknown": 1, "x": 4.5, "d": {"e": [False, True]}}),
]


@given(worlds(), st.sampled_from(BATCHES), seeds, st.booleans())
def test_every_evaluator_gives_one_answer(world: World, size: int, seed: int, ends_only: bool) -> None:
    events = world.batch(size, seed)
    engine = world.engine()
    found = check_alike(world, engine, events, subscribers_only=ends_only)
    if not ends_only:
        check_reach(world, events, found)


@given(worlds(), st.sampled_from(BATCHES), seeds, limits, st.one_of(st.none(), st.integers(0, 5)), st.booleans())
def test_limits_and_hops(
    world: World, size: int, seed: int, limit: int | None, hops: int | None, ends_only: bool
) -> None:
    events, engine = world.batch(size, seed), world.engine()
    events = events if hops is None else events[:20]  # which walk one by one
    check_alike(world, engine, events, subscribers_only=ends_only, limit=limit, hops=hops)
    check_alike(world, engine, events[:3], subscribers_only=ends_only, limit=limit, hops=hops, rank="cost")


@pytest.mark.parametrize("match", ["superset", "subset", "intersects"])
@settings(max_examples=30)
@given(st.data(), st.sampled_from(BATCHES), seeds)
def test_labels(match: str, data: st.DataObject, size: int, seed: int) -> None:
    world = data.draw(worlds(match=match))
    events = world.batch(size, seed)
    check_reach(world, events, check_alike(world, world.engine(), events))


@settings(max_examples=25)
@given(worlds(), seeds)
def test_a_batch_is_its_events_one_by_one(world: World, seed: int) -> None:
    events, engine = world.batch(70, seed), world.engine()
    one_by_one = [pair for row in events for pair in told(answer(engine, "lanes", [row]))[0]]
    assert told(answer(engine, "lanes", events))[0] == one_by_one


@settings(max_examples=50)
@given(worlds(), seeds, st.sampled_from(["walk", "lanes"]))
def test_one_event_is_a_table_of_one(world: World, seed: int, way: str) -> None:
    """However it is given: as a dictionary, as one of a list, with its attributes as text or as values."""
    engine = world.engine()
    for row in world.batch(5, seed):
        valued = {**row, "attributes": json.loads(row["attributes"])}
        expected = told(answer(engine, way, pa.Table.from_pylist([row])))
        assert [told(answer(engine, way, given)) for given in (row, [row], valued, [valued])] == [expected] * 4


@settings(max_examples=50)
@given(worlds(), seeds)
def test_events_that_begin_in_one_part_walk_together(world: World, seed: int) -> None:
    """As in large exchanges; the order of answers is that of the events."""
    events, engine = world.batch(200, seed), world.engine()
    expected = told(answer(engine, "lanes", events))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reaching, "_LARGE", 0)
        assert told(answer(engine, "lanes", events)) == expected


@settings(max_examples=50)
@given(worlds(), st.sampled_from([1, 10, 64, 65]), seeds)
def test_nothing_is_asked_twice(world: World, size: int, seed: int) -> None:
    """Candidates are pairs of an event and of a node or an edge; events that are alike are asked about once."""
    engine = world.engine()
    events = {(row["publisher"], row["attributes"]): row for row in world.batch(size, seed)}
    targeted = sum(bool(row["targeting"]) for row in (*world.nodes, *world.edges))
    for way in ("walk", "lanes"):
        for options in ({}, {"paths": True}, {"rank": "cost"}, {"rank": "cost", "hops": 3}):
            asked: Any = answer(engine, way, list(events.values()), **options).stats
            assert asked.verified <= asked.candidates <= targeted * len(events)


@settings(max_examples=50)
@given(worlds(), seeds)
def test_where_only_nodes_have_targeting_all_ask_the_same(world: World, seed: int) -> None:
    world = World(world.nodes, [{**edge, "targeting": None} for edge in world.edges], world.trees)
    engine = world.engine()
    events = list({(row["publisher"], row["attributes"]): row for row in world.batch(65, seed)}.values())
    for options in ({}, {"paths": True}, {"rank": "cost"}):
        plain, lanes = (answer(engine, way, events, **options).stats for way in ("walk", "lanes"))
        assert (lanes.candidates, lanes.verified) == (plain.candidates, plain.verified)


@pytest.mark.parametrize("size", [150, 700])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__.strip("_"))
def test_larger_exchanges(shape: Any, size: int) -> None:
    """Results beyond the first buffer, more than one word of bitmaps, deep components, events of every kind."""
    world = build(shape, size, (*[None] * 20, *TEXTS), TREES, seed=size)
    events = world.batch(200, seed=1)
    engine = world.engine()
    found = check_alike(world, engine, events)
    check_reach(world, events[:8], answer(engine, "lanes", events[:8]))
    assert len(found) > 200
    assert len(check_alike(world, engine, events, limit=3)) < len(found)
    check_alike(world, engine, events[:70], subscribers_only=True)


@pytest.mark.parametrize("way", ["dag", "dag-skip"])
def test_what_needs_an_order_refuses_cycles(way: str) -> None:
    engine = Route(edges=[("a", "b"), ("b", "a")])
    with pytest.raises(UsageError, match="HG-066"):
        answer(engine, way, [event("a", {})])


def test_every_algorithm_has_a_name() -> None:
    assert set(ALGORITHMS) == {"auto", *WAYS}
    assert set(SEEDS) < set(WAYS)
    with pytest.raises(UsageError, match="HG-045"):
        Route(algorithm="fast")
