"""One event breadth first: the walk can be stopped anywhere, and each step of it is an edge to a node one further."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.route import layout as at
from heliograph.route.kernels import advance
from heliograph.route.layout import TARGET, Trail
from tests.route.walks import Ready, make_ready, publishers, set_out
from tests.route.worlds import World, worlds

FAR = np.iinfo(np.int64).max


def walked(trail: Trail) -> list[list[int]]:
    """The queue as far as it is filled, with all that is known of its places."""
    tail = int(trail.head[at.TAIL])
    return [part[:tail].tolist() for part in (trail.queue, trail.before, trail.by_edge, trail.hops)]


def whole(ready: Ready, hops: int = at.NO_LIMIT) -> Trail:
    trail = set_out(ready, hops)
    assert not advance(ready.version.graph, ready.job, trail, FAR)
    return trail


@settings(max_examples=50)
@given(worlds(), st.lists(st.integers(1, 4), min_size=1, max_size=6))
def test_a_walk_that_is_taken_up_again_goes_on(world: World, pieces: list[int]) -> None:
    ready = make_ready(world, publishers(world)[:1])
    at_once, trail = whole(ready), set_out(ready)
    wanted, more = 1, True
    while more:
        wanted += pieces[wanted % len(pieces)]
        more = advance(ready.version.graph, ready.job, trail, wanted)
        assert walked(trail) == [part[: trail.head[at.TAIL]] for part in walked(at_once)]
        assert (trail.head[at.TAIL] == wanted) or not more
    assert walked(trail) == walked(at_once)
    assert trail.head[at.EVALUATED] == at_once.head[at.EVALUATED]


@settings(max_examples=50)
@given(worlds(), st.one_of(st.just(at.NO_LIMIT), st.integers(0, 5)))
def test_each_node_is_reached_by_as_few_edges_as_possible(world: World, hops: int) -> None:
    row = publishers(world)[0]
    ready = make_ready(world, [row])
    queue, before, edges, lengths = walked(whole(ready, hops))
    graph = world.valid_graph(row["publisher"], json.loads(row["attributes"]))
    expected = nx.single_source_shortest_path_length(graph, "the start", None if hops == at.NO_LIMIT else hops)
    del expected["the start"]
    version = ready.version
    assert {version.name(node): length for node, length in zip(queue[1:], lengths[1:], strict=True)} == expected
    assert len(queue) == len(expected) + 1
    assert lengths == sorted(lengths)
    for place in range(1, len(queue)):
        assert edges[place] in version.out_numbers(queue[before[place]])
        assert version.graph.edges[edges[place], TARGET] == queue[place]
        assert lengths[place] == lengths[before[place]] + 1
