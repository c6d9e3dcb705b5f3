"""Steiner values against networkx after every step, the tree that is shown, and who is an inner vertex of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.watch.metrics.distance import Steiner, SteinerPoint, inner_vertices, shown_tree
from heliograph.watch.metrics.thresholds import CAME, Measure, Points
from tests.watch.metrics.test_distance_scenes import (
    CUTS,
    VERTICES,
    Edge,
    Edges,
    Row,
    apply_rows,
    by_step,
    log_of,
    nx_steiner,
    rows_of,
    side,
    simple_graph,
    steps,
    vertices,
    weight_of,
)

terminals = st.lists(vertices, min_size=1, max_size=4).map(tuple)
asked = st.dictionaries(
    terminals.map(lambda some: tuple(sorted(set(some)))), st.sampled_from(CUTS), min_size=1, max_size=4
)
points = st.lists(st.tuples(vertices, terminals), min_size=1, max_size=4, unique=True)
Terminals = tuple[int, ...]
Asked = dict[Terminals, Points]


def naive_cost(edges: Edges, start: int) -> dict[int, tuple[float, int]]:
    """Least (weight, edges) from a vertex, by relaxing until nothing changes."""
    costs = {start: (0.0, 0)} if any(start in (s, o) for s, _, o in edges) else {}
    changed = True
    while changed:
        changed = False
        for (s, _, o), weight in edges.items():
            for tail, head in ((s, o), (o, s)):
                if tail in costs and weight_of(weight) < math.inf:
                    total = costs[tail][0] + weight_of(weight)
                    if (total, costs[tail][1] + 1) < costs.get(head, (math.inf, 0)):
                        costs[head] = total, costs[tail][1] + 1
                        changed = True
    return costs


def naive_path(edges: Edges, start: int, end: int) -> list[Edge]:
    """From the end backwards, always by the smallest vertex, predicate and subject."""
    costs, path = naive_cost(edges, start), list[Edge]()
    while end != start:
        before = [
            (tail, p, s, (s, p, o))
            for (s, p, o), weight in edges.items()
            for tail, head in ((s, o), (o, s))
            if head == end and tail in costs and (costs[tail][0] + weight_of(weight), costs[tail][1] + 1) == costs[end]
        ]
        end, _, _, edge = min(before)
        path.append(edge)
    return path


def naive_tree(edges: Edges, wanted: Sequence[int]) -> list[Edge]:
    """The tree that is shown, or none, without anything of what the measure keeps."""
    chosen = sorted(set(wanted))
    costs = {start: naive_cost(edges, start) for start in chosen}
    if any(end not in costs[start] for start in chosen for end in chosen):
        return []
    joined: Any = nx.utils.UnionFind(chosen)
    union: list[Edge] = []
    for _, start, end in sorted((costs[start][end], start, end) for start, end in combinations(chosen, 2)):
        if joined[start] != joined[end]:
            joined.union(start, end)
            union += naive_path(edges, start, end)
    return shown_tree(union, chosen, lambda edge: weight_of(edges[edge]))


def check_tree(tree: Sequence[Edge], wanted: Sequence[int], edges: Edges, value: float) -> None:
    """That a tree joins its terminals, has no other leaves, and weighs no more than the value."""
    graph = nx.Graph([(s, o) for s, _, o in tree])
    graph.add_nodes_from(wanted)
    assert nx.is_tree(graph)
    assert {vertex for vertex, degree in graph.degree() if degree == 1} <= set(wanted)
    assert sum(weight_of(edges[edge]) for edge in tree) <= value


@settings(max_examples=80, deadline=None)
@given(asked, steps, st.booleans())
def test_values_and_sayings_are_those_of_networkx(asked: Asked, scene: Any, weighted: bool) -> None:
    measure = Steiner()
    instances = {measure.watch(some, cuts): some for some, cuts in asked.items()}
    told = {some: side(cuts, math.inf) for some, cuts in asked.items()}
    edges: Edges = {}
    for rows in by_step(rows_of(scene, weighted=weighted)):
        said = measure.follow(log_of(rows))
        values = dict(zip(said.instance.tolist(), said.value.tolist(), strict=True))
        apply_rows(edges, rows)
        for instance, some in instances.items():
            true = nx_steiner(edges, some)
            now = side(asked[some], true)
            assert (instance in values) == (now != told[some])
            assert values.get(instance, true) == true
            told[some] = now


@settings(max_examples=50, deadline=None)
@given(asked, steps, st.booleans())
def test_the_tree_is_that_of_the_graph_alone(asked: Asked, scene: Any, weighted: bool) -> None:
    measure = Steiner()
    instances = {measure.watch(some, cuts): some for some, cuts in asked.items()}
    edges: Edges = {}
    for rows in by_step(rows_of(scene, weighted=weighted)):
        measure.follow(log_of(rows))
        apply_rows(edges, rows)
        for instance, some in instances.items():
            value = measure.value(instance)
            assert value == nx_steiner(edges, some)
            shown = measure.evidence(instance, value)
            assert ("edges" in shown) == (value < math.inf)
            if value < math.inf:
                check_tree(shown["edges"], some, edges, value)
                assert shown["edges"] == naive_tree(edges, some)


@settings(max_examples=80, deadline=None)
@given(points, st.sampled_from((None, (0.5,), (1.0, 0.0))), steps, st.booleans())
def test_points_are_told_exactly_when_the_tree_changes(
    wanted: list[tuple[int, Terminals]], cuts: Points, scene: Any, weighted: bool
) -> None:
    """The proof of the gate: a step after which no tree was looked at again is one that changed none."""
    measure = SteinerPoint()
    instances = {measure.watch((x, *some), cuts): (x, some) for x, some in wanted}
    before = dict.fromkeys(instances, 0.0)
    edges: Edges = {}
    for rows in by_step(rows_of(scene, weighted=weighted)):
        said = measure.follow(log_of(rows))
        apply_rows(edges, rows)
        now = {i: float(x in inner_vertices(naive_tree(edges, some), some)) for i, (x, some) in instances.items()}
        told = dict(zip(said.instance.tolist(), said.value.tolist(), strict=True))
        assert told == {instance: value for instance, value in now.items() if value != before[instance]}
        assert {instance: measure.value(instance) for instance in instances} == now
        for instance, (_, some) in instances.items():
            assert measure.evidence(instance, 0.0).get("edges", []) == naive_tree(edges, some)
        before = now


@settings(max_examples=30, deadline=None)
@given(points, steps, steps)
def test_points_come_and_go(wanted: list[tuple[int, Terminals]], scene: Any, later: Any) -> None:
    rows = rows_of([*scene, *later], weighted=True)
    before, after = ([row for row in rows if (row[0] < len(scene)) == early] for early in (True, False))
    measure: Measure = SteinerPoint()
    edges: Edges = {}
    apply_rows(edges, before)
    measure.restore(log_of([(0, CAME, *edge, weight) for edge, weight in edges.items()]), measure.saved())
    for x, some in wanted:
        measure.watch((x, *some), None)
    for x, some in wanted[1:]:
        measure.unwatch(measure.watch((x, *some), (0.5,)), (0.5,))
        measure.unwatch(measure.watch((x, *some), None), None)
        measure.unwatch(measure.watch((x, *some), None), None)
    measure.follow(log_of(after))
    apply_rows(edges, after)
    x, some = wanted[0]
    expected = float(x in inner_vertices(naive_tree(edges, some), some))
    assert measure.value(measure.watch((x, *some), None)) == expected


def test_the_last_point_takes_the_balls_with_it() -> None:
    measure = SteinerPoint()
    first, second = measure.watch((9, 1, 2), None), measure.watch((8, 2, 1), (0.5,))
    measure.follow(log_of([(0, CAME, 9, 0, leaf, math.nan) for leaf in (1, 2)]))
    assert [measure.value(instance) for instance in (first, second)] == [1.0, 0.0]
    measure.unwatch(first, None)
    assert measure.groups.work["members"] > 0
    measure.unwatch(second, (0.5,))
    assert measure.groups.work["members"] == 0
    assert measure.value(measure.watch((9, 1, 2), None)) == 1.0


def test_a_ring_of_paths_is_opened_and_what_hangs_loose_is_cut_off() -> None:
    ring: list[Edge] = [(0, 0, 1), (2, 0, 1), (2, 0, 3), (3, 0, 0)]
    weights = dict.fromkeys(ring, 1.0) | {(3, 0, 0): 2.0}
    assert shown_tree(ring, (0, 2), weights.__getitem__) == [(0, 0, 1), (2, 0, 1)]
    assert shown_tree(ring, (0, 3), weights.__getitem__) == [(0, 0, 1), (2, 0, 1), (2, 0, 3)]
    assert inner_vertices([(0, 0, 1), (2, 0, 1)], (0, 2)) == {1}


@settings(max_examples=40, deadline=None)
@given(st.lists(vertices, min_size=2, max_size=4, unique=True), steps)
def test_at_most_twice_the_optimum(some: list[int], scene: Any) -> None:
    rows = rows_of(scene, weighted=True)
    measure = Steiner()
    instance = measure.watch(some, None)
    measure.follow(log_of(rows))
    edges: Edges = {}
    apply_rows(edges, rows)
    best, value = optimum(edges, some), measure.value(instance)
    assert best <= value <= 2 * best


def optimum(edges: Edges, some: Sequence[int]) -> float:
    """The least weight of a tree over any vertices that hold the terminals."""
    graph, best = simple_graph(edges, undirected=True), math.inf
    others = [vertex for vertex in range(VERTICES) if vertex not in some and vertex in graph]
    if not all(vertex in graph for vertex in some):
        return math.inf
    for size in range(len(others) + 1):
        for extra in combinations(others, size):
            part = graph.subgraph([*some, *extra])
            if nx.is_connected(part):
                best = min(best, nx.minimum_spanning_tree(part).size(weight="weight"))
    return best


def test_restoring_under_watchers_goes_on_from_there() -> None:
    star: list[Row] = [(0, CAME, 9, 0, leaf, math.nan) for leaf in (1, 2, 3)]
    steiner, point = Steiner(), SteinerPoint()
    instances = steiner.watch((1, 2, 3), (5.0,)), point.watch((9, 1, 2, 3), None)
    for measure in (steiner, point):
        measure.restore(log_of(star), measure.saved())
    assert (steiner.value(instances[0]), point.value(instances[1])) == (4.0, 1.0)
    assert not len(point.follow(log_of([(0, CAME, 1, 0, 4, math.nan)])).step)


@pytest.mark.parametrize("measure", [Steiner(), SteinerPoint()])
@pytest.mark.parametrize("call", ["watch_all", "unwatch_all"])
def test_not_every_set_can_be_watched(measure: Any, call: str) -> None:
    with pytest.raises(NotImplementedError, match="by their terminals"):
        getattr(measure, call)(None)


def test_numbers_of_points_are_taken_again() -> None:
    measure = SteinerPoint()
    for vertex in (1, 4, 5):
        instance = measure.watch((vertex, 2, 3), ())
        assert instance == 0
        measure.unwatch(instance, ())
