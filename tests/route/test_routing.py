"""Lanes that walk together: blocks of any sizes give one answer, and leave the room as empty as they found it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.compiled.growing import fixed
from heliograph.route.kernels import EVALUATED, HELD, route
from heliograph.route.layout import Walk, make_walk
from tests.route.walks import Ready, make_ready
from tests.route.worlds import SHAPES, World, build, worlds


def room_for(ready: Ready) -> Walk:
    return make_walk(ready.version.graph.node_count, ready.version.place_count)


def walk(ready: Ready, room: Walk, cuts: list[int], ends_only: bool = False) -> tuple[list[list[int]], int, int]:
    """The nodes of each event, with how many predicates were evaluated and how many held."""
    offsets, tally = np.zeros(len(ready.starts) + 1, np.int64), np.zeros(4, np.int64)
    blocks = fixed(ready.starts), fixed(np.array(cuts, np.int64))
    nodes: Any = route(ready.version.graph, ready.job, *blocks, room, ends_only, offsets, tally)
    found = [part.tolist() for part in np.split(nodes, offsets[1:-1])]
    return found, int(tally[EVALUATED]), int(tally[HELD])


def check_empty(room: Walk) -> None:
    assert not any(part.any() for part in (room.lanes, room.pending, room.pending_summary, room.places))
    assert not room.places_summary.any()


@settings(max_examples=50)
@given(worlds(), st.lists(st.integers(1, 64), min_size=1, max_size=5))
def test_blocks_of_any_sizes(world: World, sizes: list[int]) -> None:
    cuts = [0, *np.cumsum(sizes).tolist()]
    ready = make_ready(world, world.batch(cuts[-1], seed=7))
    room = room_for(ready)
    blocks = walk(ready, room, cuts)
    check_empty(room)
    one_by_one = walk(ready, room, list(range(cuts[-1] + 1)))
    assert blocks == one_by_one
    ends = walk(ready, room, cuts, ends_only=True)[0]
    version = ready.version
    assert ends == [[node for node in nodes if not version.out_numbers(node)] for nodes in blocks[0]]
    check_empty(room)


def test_nothing_to_route() -> None:
    world = build(SHAPES[1], 30, [None], [{}], seed=1)
    ready = make_ready(world, world.batch(10, seed=1))._replace(starts=np.full(10, -1, np.int32))
    room = room_for(ready)
    assert walk(ready, room, [0, 10]) == ([[]] * 10, 0, 0)
    check_empty(room)


def test_results_are_few_or_most_or_beyond_the_first_buffer() -> None:
    """Where most lanes reach most nodes results are written lane by lane, elsewhere bit by bit."""
    texts = [f"x >= {number}" for number in range(64)]
    world = build(SHAPES[2], 500, texts[:1], [{"x": 0}], seed=4)
    hub = [{"source": "hub", "target": f"leaf {number}", "targeting": text} for number, text in enumerate(texts)]
    events = [{"event_id": str(x), "publisher": "hub", "attributes": f'{{"x": {x}}}'} for x in range(64)]
    leaves = make_ready(World([], hub, []), events)
    found, evaluated, held = walk(leaves, room_for(leaves), [0, 64])
    assert [len(nodes) for nodes in found] == list(range(1, 65))
    assert (evaluated, held) == (64 * 63 + 64, sum(range(1, 65)))
    ring = make_ready(world, [row for row in world.batch(64, seed=2) if row["publisher"] != "nobody"])
    every, _, _ = walk(ring, room_for(ring), [0, len(ring.starts)])
    assert {len(nodes) for nodes in every} == {500}
