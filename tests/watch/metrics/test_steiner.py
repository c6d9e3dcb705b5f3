"""Steiner values against networkx after every step, and which vertices are inner ones of the tree.

That the tree that is shown is that of the naive twin is tested in `test_distance`.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.watch.metrics.distance import Steiner, SteinerPoint, inner_vertices, shown_tree
from heliograph.watch.metrics.naive import naive_value
from heliograph.watch.metrics.thresholds import CAME, Points
from tests.watch.metrics.distance_scenes import (
    CUTS,
    Edge,
    Edges,
    Row,
    apply_rows,
    by_step,
    decimal_steps,
    log_of,
    nx_steiner,
    rows_of,
    side,
    steps,
    vertices,
)
from tests.watch.metrics.test_distance import NAMES, graph_of, rank

terminals = st.lists(vertices, min_size=1, max_size=4).map(tuple)
asked = st.dictionaries(
    terminals.map(lambda some: tuple(sorted(set(some)))), st.sampled_from(CUTS), min_size=1, max_size=4
)
points = st.lists(st.tuples(vertices, terminals), min_size=1, max_size=4, unique=True)
Terminals = tuple[int, ...]
Asked = dict[Terminals, Points]


def naive_point(edges: Edges, x: int, some: Terminals) -> float:
    """By its twin in plain Python."""
    return float(naive_value("steinerPoint", [NAMES[each] for each in (x, *some)], graph_of(edges)))


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


@settings(max_examples=80, deadline=None)
@given(points, st.sampled_from((None, (0.5,), (1.0, 0.0))), decimal_steps, st.booleans())
def test_points_are_told_exactly_when_the_tree_changes(
    wanted: list[tuple[int, Terminals]], cuts: Points, scene: Any, weighted: bool
) -> None:
    """The proof of the gate: a step after which no tree was looked at again is one that changed none."""
    measure = SteinerPoint(rank)
    instances = {measure.watch((x, *some), cuts): (x, some) for x, some in wanted}
    before = dict.fromkeys(instances, 0.0)
    edges: Edges = {}
    for rows in by_step(rows_of(scene, weighted=weighted)):
        said = measure.follow(log_of(rows))
        apply_rows(edges, rows)
        now = {instance: naive_point(edges, x, some) for instance, (x, some) in instances.items()}
        told = dict(zip(said.instance.tolist(), said.value.tolist(), strict=True))
        assert told == {instance: value for instance, value in now.items() if value != before[instance]}
        assert {instance: measure.value(instance) for instance in instances} == now
        before = now


@settings(max_examples=30, deadline=None)
@given(points, decimal_steps, decimal_steps)
def test_points_come_and_go(wanted: list[tuple[int, Terminals]], scene: Any, later: Any) -> None:
    rows = rows_of([*scene, *later], weighted=True)
    before, after = ([row for row in rows if (row[0] < len(scene)) == early] for early in (True, False))
    measure = SteinerPoint(rank)
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
    assert measure.value(measure.watch((x, *some), None)) == naive_point(edges, x, some)


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
