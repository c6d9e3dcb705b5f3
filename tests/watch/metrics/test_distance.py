"""Distances against networkx after every step of random scenes, and the laws of measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.watch.metrics.distance import Distance
from heliograph.watch.metrics.thresholds import CAME, WENT, Measure, Points
from tests.watch.metrics.test_distance_scenes import (
    CUTS,
    Edges,
    Row,
    apply_rows,
    by_step,
    check_path,
    decimal_steps,
    log_of,
    nx_distance,
    rows_of,
    side,
    steps,
    vertices,
)

kinds = st.fixed_dictionaries({"undirected": st.booleans(), "weighted": st.booleans()})
asked = st.lists(st.tuples(vertices, vertices, st.sampled_from(CUTS)), min_size=1, max_size=6)
Asked = Sequence[tuple[int, int, Points]]


def sayings(measure: Distance, rows: Sequence[Row]) -> list[tuple[int, int, float]]:
    said = measure.follow(log_of(rows))
    return list(zip(said.step.tolist(), said.instance.tolist(), said.value.tolist(), strict=True))


def watching(kind: dict[str, bool], asked: Asked) -> tuple[Distance, dict[int, tuple[int, int]]]:
    measure = Distance(undirected=kind["undirected"], weighted=kind["weighted"])
    return measure, {measure.watch((a, b), points): (a, b) for a, b, points in asked}


def points_of(asked: Asked, ends: tuple[int, int]) -> Points:
    lists = [points for a, b, points in asked if (a, b) == ends]
    return None if None in lists else sorted({point for points in lists for point in points or ()})


@settings(max_examples=120, deadline=None)
@given(kinds, asked, steps)
def test_values_and_sayings_are_those_of_networkx(kind: dict[str, bool], asked: Asked, scene: Any) -> None:
    measure, instances = watching(kind, asked)
    told = {ends: side(points_of(asked, ends), math.inf) for ends in instances.values()}
    edges: Edges = {}
    for rows in by_step(rows_of(scene, weighted=kind["weighted"])):
        said = {instance: value for _, instance, value in sayings(measure, rows)}
        apply_rows(edges, rows)
        for instance, ends in instances.items():
            true = nx_distance(edges, *ends, **kind)
            now = side(points_of(asked, ends), true)
            assert (instance in said) == (now != told[ends])
            assert said.get(instance, true) == true
            told[ends] = now


@settings(max_examples=80, deadline=None)
@given(kinds, asked, steps)
def test_values_and_witnesses_at_every_step(kind: dict[str, bool], asked: Asked, scene: Any) -> None:
    measure, instances = watching(kind, asked)
    edges: Edges = {}
    for rows in by_step(rows_of(scene, weighted=kind["weighted"])):
        measure.follow(log_of(rows))
        apply_rows(edges, rows)
        for instance, (a, b) in instances.items():
            true = nx_distance(edges, a, b, **kind)
            assert measure.value(instance) == true
            shown = measure.evidence(instance, true)
            assert ("edges" in shown) == (true < math.inf)
            if true < math.inf:
                weights = edges if kind["weighted"] else dict.fromkeys(edges, 1.0)
                length = check_path(shown["edges"], a, b, weights, undirected=kind["undirected"])
                assert length == true


@settings(max_examples=60, deadline=None)
@given(kinds, asked, steps, st.lists(st.integers(0, 40), max_size=5))
def test_batches_do_not_matter(kind: dict[str, bool], asked: Asked, scene: Any, borders: list[int]) -> None:
    rows = rows_of(scene, weighted=kind["weighted"])
    whole, _ = watching(kind, asked)
    parts, instances = watching(kind, asked)
    limits = [-1, *sorted(borders), 99]
    pieces = [[row for row in rows if low < row[0] <= high] for low, high in pairwise(limits)]
    assert sayings(whole, rows) == [saying for piece in pieces for saying in sayings(parts, piece)]
    assert [whole.value(instance) for instance in instances] == [parts.value(instance) for instance in instances]


@settings(max_examples=60, deadline=None)
@given(kinds, asked, decimal_steps, st.randoms(use_true_random=False))
def test_history_does_not_matter(kind: dict[str, bool], asked: Asked, scene: Any, random: Any) -> None:
    """The value and the path that is shown are those of the graph, whatever came before."""
    rows = rows_of(scene, weighted=kind["weighted"])
    measure, instances = watching(kind, asked)
    measure.follow(log_of(rows))
    edges: Edges = {}
    apply_rows(edges, rows)
    left: list[Row] = [(0, CAME, *edge, weight) for edge, weight in edges.items()]
    random.shuffle(left)
    fresh = Distance(undirected=kind["undirected"], weighted=kind["weighted"])
    fresh.restore(log_of(left), fresh.saved())
    for instance, ends in instances.items():
        other = fresh.watch(ends, (2.5,))
        assert fresh.value(other) == measure.value(instance)
        assert fresh.evidence(other, 0.0) == measure.evidence(instance, 0.0)


@settings(max_examples=40, deadline=None)
@given(kinds, asked, steps, steps)
def test_watchers_come_and_go(kind: dict[str, bool], asked: Asked, scene: Any, later: Any) -> None:
    rows = rows_of([*scene, *later], weighted=kind["weighted"])
    before, after = ([row for row in rows if (row[0] < len(scene)) == early] for early in (True, False))
    measure, instances = watching(kind, asked)
    measure.follow(log_of(before))
    for a, b, points in asked:
        measure.unwatch(measure.watch((a, b), points), points)
        measure.unwatch(next(i for i, ends in instances.items() if ends == (a, b)), points)
    assert measure.groups.work["members"] == 0
    again = {measure.watch((a, b), points): (a, b) for a, b, points in asked}
    measure.follow(log_of(after))
    edges: Edges = {}
    apply_rows(edges, rows)
    for instance, (a, b) in again.items():
        assert measure.value(instance) == nx_distance(edges, a, b, **kind)


def test_restoring_under_watchers_tells_nothing_and_goes_on_from_there() -> None:
    measure: Measure = Distance()
    instance = measure.watch((0, 2), (2.5,))
    measure.restore(log_of([(0, CAME, 0, 0, 1, math.nan), (0, CAME, 1, 0, 2, math.nan)]), {})
    assert measure.value(instance) == 2.0
    said = measure.follow(log_of([(0, WENT, 1, 0, 2, math.nan)]))
    assert (said.instance.tolist(), said.value.tolist()) == ([instance], [math.inf])


def test_a_vertex_is_at_itself_while_an_edge_touches_it() -> None:
    measure = Distance()
    instance = measure.watch((3, 3), None)
    assert measure.value(instance) == math.inf
    assert sayings(measure, [(0, CAME, 3, 0, 3, math.nan)]) == [(0, instance, 0.0)]
    assert measure.evidence(instance, 0.0) == {"edges": []}
    assert sayings(measure, [(0, WENT, 3, 0, 3, math.nan)]) == [(0, instance, math.inf)]


def test_a_value_beyond_the_bound_is_told_as_it_is() -> None:
    """Nobody asks for more than 2, yet what is told when that is passed is the distance."""
    measure = Distance()
    instance = measure.watch((0, 1), (2.5,))
    chain: list[Row] = [(0, CAME, v, 0, v + 1, math.nan) for v in range(10, 15)]
    ends: list[Row] = [(0, CAME, 0, 0, 10, math.nan), (0, CAME, 15, 0, 1, math.nan), (0, CAME, 0, 0, 1, math.nan)]
    assert sayings(measure, chain + ends) == [(0, instance, 1.0)]
    assert sayings(measure, [(0, WENT, 0, 0, 1, math.nan)]) == [(0, instance, 7.0)]


def test_sums_do_not_depend_on_their_order() -> None:
    """0.1 + 0.2 + 0.3 is told as the exact sum of those floats, rounded once, from wherever it was added up."""
    weights = (0.1, 0.2, 0.3)
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        measure = Distance(weighted=True)
        instance = measure.watch((0, 3), None)
        for edge in order:
            measure.follow(log_of([(0, CAME, edge, 0, edge + 1, weights[edge])]))
        assert measure.value(instance) == math.fsum(weights)


@pytest.mark.parametrize("call", ["watch_all", "unwatch_all"])
def test_not_every_pair_can_be_watched(call: str) -> None:
    with pytest.raises(NotImplementedError, match="pair by pair"):
        getattr(Distance(), call)(None)
