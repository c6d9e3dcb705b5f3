"""Batches in rooms: a room that is used again is large enough for what has grown meanwhile; answers are cut and spread
event by event.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.predicate.layout import LANES
from heliograph.route import Route
from heliograph.route import strategy as reaching
from heliograph.route.exchange import Version
from heliograph.route.layout import Walk
from heliograph.route.strategy import Reached, WalkRoom, joined
from tests.route.worlds import event

lists = st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=6)


def reached(several: list[list[int]]) -> Reached:
    offsets = np.cumsum([0, *map(len, several)])
    return Reached(offsets, np.array([node for nodes in several for node in nodes], np.int32), 3, 2)


def shown(found: Reached) -> list[list[int]]:
    return [part.tolist() for part in np.split(found.nodes, found.offsets[1:-1])]


def check_room(walk: Walk, version: Version) -> None:
    """Kernels do not look at the ends of arrays: each must have a place for the last node and the last of the order."""
    nodes, places = version.graph.node_count, version.place_count
    assert min(len(part) for part in (walk.lanes, walk.touched, walk.found, walk.found_lanes)) >= nodes
    assert len(walk.pending) * 64 >= nodes
    assert len(walk.pending_summary) * 64 >= len(walk.pending)
    assert len(walk.place_lanes) >= places
    assert len(walk.places) * 64 >= places
    assert len(walk.places_summary) * 64 >= len(walk.places)
    assert len(walk.counts) >= LANES


def test_a_room_grows_with_the_exchange() -> None:
    """An end of an edge that goes and comes back has a new place each time: there are soon more places than nodes."""
    engine, room = Route([("q",)], [("p", "a")]), WalkRoom()
    for number in range(150):
        if number % 3:
            engine.remove_nodes("a")
            engine.add_edges(("p", "a"))
        else:
            engine.add_edges(("p", f"n{number}"))
        with engine._exchange.reading() as version:
            check_room(room.walk_for(version), version)
    assert version.place_count > 2 * len(version)


def test_an_end_that_comes_and_goes_is_found() -> None:
    engine = Route(edges=[("p", "a")], algorithm="lanes")
    for number in range(300):
        engine.remove_nodes("a")
        engine.add_edges([("p", "a"), ("a", f"n{number}")])
        found = [item.subscription_id for item in engine.publish([event("p", {})])]
        assert found == ["a", f"n{number}"]


@given(lists, st.integers(0, 6))
def test_a_cut_keeps_the_first_of_each_event(several: list[list[int]], limit: int) -> None:
    assert shown(reached(several).cut(limit)) == [nodes[:limit] for nodes in several]


@given(lists, st.data())
def test_events_that_are_alike_get_the_same(several: list[list[int]], data: st.DataObject) -> None:
    twins = data.draw(st.lists(st.integers(0, len(several) - 1), min_size=1, max_size=8))
    assert shown(reached(several).spread(np.array(twins))) == [several[twin] for twin in twins]


@given(st.lists(lists, min_size=1, max_size=3))
def test_batches_are_joined(batches: list[list[list[int]]]) -> None:
    found = joined([reached(several) for several in batches])
    assert shown(found) == [nodes for several in batches for nodes in several]
    assert (found.candidates, found.verified) == (3 * len(batches), 2 * len(batches))
    assert found.events().tolist() == [row for row, nodes in enumerate(shown(found)) for _ in nodes]


def test_the_order_of_reporting() -> None:
    engine = Route([("b",), ("a",)], [("p", "z"), ("y", "b")])
    with engine._exchange.reading() as version:
        numbers = np.array([version.number(name) for name in "azbpy"], np.int32)
        found = Reached(np.array([0, 5]), numbers, 0, 0).ordered(version, ends_only=False)
        assert version.names(found.nodes).to_pylist() == ["b", "a", "p", "z", "y"]
        ends = Reached(np.array([0, 2, 5]), numbers, 0, 0).ordered(version, ends_only=True)
        assert version.names(ends.nodes).to_pylist() == ["a", "z", "b"]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 1000])
def test_blocks(count: int) -> None:
    """Together they cover all events, and none has more than the lanes of a board."""
    edges = [(f"p{number}", f"r{number % 7}") for number in range(count)]
    rings = [(f"r{ring}", f"r{ring} {other}") for ring in range(7) for other in range(3)]
    back = [(target, source) for source, target in rings]
    engine = Route(edges=edges + rings + back)
    engine._exchange.compact()
    with engine._exchange.reading() as version:
        starts = np.array([version.number(f"p{number}") for number in range(count)], np.int32)
        every = np.arange(count)
        first, twin, cuts = reaching._neighbours(version, starts, every, None)
    assert sorted(first.tolist()) == every.tolist()
    assert (first[twin] == every).all()
    assert (cuts[0], cuts[-1]) == (0, count)
    assert np.diff(cuts).max() <= LANES
    assert np.diff(cuts).min() > 0
    regions = first % 7
    assert np.count_nonzero(np.diff(regions)) < 7  # those of one part lie together
