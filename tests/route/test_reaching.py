"""Batches in rooms: a room that is used again is large enough for what has grown meanwhile; answers are cut and spread
event by event.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from heliograph.predicate.layout import LANES
from heliograph.route import Route
from heliograph.route import strategy as reaching
from heliograph.route.exchange import Version
from heliograph.route.layout import Walk
from heliograph.route.strategy import WalkRoom
from tests.route.worlds import event

lists = st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=6)


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
