"""The growing simple graph is that of the edges that are there, whatever came and went before."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.simple_graph import BACKWARD, FORWARD, LENGTH, START, A, B, NeighbourLists, SimpleGraph
from heliograph.watch.metrics.thresholds import CAME, CHANGED, WENT
from tests.watch.metrics.streams import Edge, as_log, at_ends, toggled

few_edges = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 1), st.integers(0, 6)), max_size=80)


def check_graph(graph: SimpleGraph, there: Iterable[Edge]) -> None:
    """Counts, multiplicities and lists are those of the edges."""
    arcs = Counter((s, o) for s, _, o in there)
    simple = nx.DiGraph(list(arcs))
    loops = nx.number_of_selfloops(simple)
    pairs = nx.Graph(simple)
    counts = [graph.arcs, graph.joined, graph.loops, graph.touched, graph.taken]
    joined = pairs.number_of_edges() - loops
    assert counts == [simple.number_of_edges() - loops, joined, loops, len(pairs), joined + loops]
    rows = graph.pairs[graph.numbers[graph.keys != 0]].tolist()
    stored = Counter({(row[A], row[B]): row[FORWARD] for row in rows})
    stored.update({(row[B], row[A]): row[BACKWARD] for row in rows})
    assert +stored == arcs
    for lists, view in ((graph.undirected, pairs.adj), (graph.out, simple.succ), (graph.into, simple.pred)):
        check_lists(lists, {v: set(view[v]) - {v} for v in simple})


def check_lists(lists: NeighbourLists, expected: dict[int, set[int]]) -> None:
    """Lists that are kept hold each neighbour once, and no two blocks overlap."""
    taken = Counter[int]()
    for vertex in range(len(lists.heads)):
        start, length = int(lists.heads[vertex, START]), int(lists.heads[vertex, LENGTH])
        assert sorted(lists.pool[start : start + length].tolist()) == sorted(expected.get(vertex, set()))
        assert length <= 1 << int(lists.room[vertex])
        taken.update(range(start, start + (1 << int(lists.room[vertex]))) if length else ())
    for k in range(1, len(lists.free)):
        block = int(lists.free[k])
        while block:
            taken.update(range(block - 1, block - 1 + (1 << k)))
            block = int(lists.pool[block - 1])
    assert not taken or max(taken.values()) == 1


@given(few_edges, st.sampled_from([(True, False), (False, True)]))
def test_graph_of_a_log(drawn: list[Edge], kinds: tuple[bool, bool]) -> None:
    graph = SimpleGraph(undirected=kinds[0], directed=kinds[1])
    steps = toggled([[edge] for edge in drawn])
    for step in steps:
        graph.take_over(as_log([step]))
    *_, there = [set[Edge](), *at_ends(steps)]
    check_graph(graph, there)


@pytest.mark.parametrize("seed", range(3))
def test_large_lists_grow_and_shrink(seed: int) -> None:
    drawing = random.Random(seed)
    graph, there = SimpleGraph(undirected=False, directed=True), set[Edge]()
    for comes in (0.9, 0.1, 0.7, 0.0):
        drawn = [(drawing.randrange(3), 0, drawing.randrange(900)) for _ in range(3000)]
        step = [(CAME, edge) for edge in dict.fromkeys(drawn) if edge not in there and drawing.random() < comes]
        step += [(WENT, edge) for edge in sorted(there) if drawing.random() >= comes]
        drawing.shuffle(step)
        there ^= {edge for _, edge in step}
        graph.take_over(as_log([step]))
        check_graph(graph, there)
    assert graph.nbytes > 0


def test_changes_of_weight_change_nothing() -> None:
    graph = SimpleGraph()
    graph.take_over(as_log([[(CAME, (0, 0, 1)), (CHANGED, (0, 0, 1))]]))
    check_graph(graph, [(0, 0, 1)])


def test_what_is_not_there_does_not_go() -> None:
    graph = SimpleGraph(undirected=False, directed=True)
    graph.take_over(as_log([[(CAME, (0, 0, 1)), (WENT, (1, 0, 0)), (WENT, (2, 0, 3)), (WENT, (4, 0, 4))]]))
    check_graph(graph, [(0, 0, 1)])


def test_room_that_was_left_is_taken_again() -> None:
    graph = SimpleGraph(undirected=False, directed=True)
    star = [(0, 0, leaf) for leaf in range(1, 200)]
    sizes = []
    for _ in range(4):
        graph.take_over(as_log([[(CAME, edge) for edge in star]]))
        graph.take_over(as_log([[(WENT, edge) for edge in star]]))
        sizes.append(graph.nbytes)
    assert sizes[1:] == sizes[:1] * 3
