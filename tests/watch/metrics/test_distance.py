"""Distances against networkx after every step of random scenes, and the laws of measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.terms import Term, literal, plain_name
from heliograph.watch.metrics.distance import Distance, Steiner, SteinerPoint
from heliograph.watch.metrics.naive import naive_evidence, naive_value
from heliograph.watch.metrics.thresholds import CAME, WENT, Measure, Points
from tests.watch.metrics.distance_scenes import (
    CUTS,
    Edge,
    Edges,
    Row,
    apply_rows,
    by_step,
    decimal_steps,
    log_of,
    nx_distance,
    rows_of,
    side,
    steps,
    vertices,
)

NAMES = [plain_name(name) for name in "fbhdacgei"]  # so that the order of terms is not that of their numbers
WAYS = [(undirected, weighted) for undirected in (False, True) for weighted in (False, True)]
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


# --- twins in plain Python, evidence included -------------------------------------------------------------------


def rank(id: int) -> str:
    return NAMES[id].value


def graph_of(edges: Edges) -> dict[tuple[Term, Term, Term], float | None]:
    return {
        (NAMES[s], NAMES[p], NAMES[o]): None if math.isnan(weight) else weight for (s, p, o), weight in edges.items()
    }


def edges_of(shown: Any) -> list[Edge]:
    numbers = {name: number for number, name in enumerate(NAMES)}
    return [(numbers[s], numbers[p], numbers[o]) for s, p, o in shown.get("edges", ())]


def words(undirected: bool, weighted: bool) -> list[Term]:
    return [literal("undirected")] * undirected + [literal("weight")] * weighted


def check_twin(measure: Measure, instance: int, name: str, arguments: list[Term], edges: Edges) -> None:
    """That a measure and its twin say and show the same."""
    value = measure.value(instance)
    assert value == naive_value(name, arguments, graph_of(edges))
    shown = list(measure.evidence(instance, value).get("edges", ()))
    assert shown == edges_of(naive_evidence(name, arguments, graph_of(edges)))


def check_twins(scene: Any, chosen: list[int]) -> None:
    """Distances and trees between some vertices, after every step."""
    a, b, c, x = chosen[:4]
    trees, points = Steiner(rank), SteinerPoint(rank)
    distances = [Distance(undirected=each[0], weighted=each[1], order=rank) for each in WAYS]
    tree, point = trees.watch((a, b, c), (2.5,)), points.watch((x, a, b, c), None)
    pairs = [distance.watch((a, b), (1.5,)) for distance in distances]
    edges, ends = Edges(), [NAMES[each] for each in (a, b, c)]
    for rows in by_step(rows_of(scene, weighted=True)):
        for measure in (trees, points, *distances):
            measure.follow(log_of(rows))
        apply_rows(edges, rows)
        check_twin(trees, tree, "steiner", ends, edges)
        check_twin(points, point, "steinerPoint", [NAMES[x], *ends], edges)
        for way, distance, pair in zip(WAYS, distances, pairs, strict=True):
            check_twin(distance, pair, "distance", [*ends[:2], *words(*way)], edges)
    for way in WAYS:  # whatever came before
        restored = Distance(undirected=way[0], weighted=way[1], order=rank)
        restored.restore(log_of([(0, CAME, *edge, weight) for edge, weight in edges.items()][::-1]), restored.saved())
        check_twin(restored, restored.watch((a, b), (2.5,)), "distance", [*ends[:2], *words(*way)], edges)


@settings(max_examples=12, deadline=None)
@given(decimal_steps, st.permutations(range(9)))
def test_twins_agree_after_every_step(scene: Any, chosen: list[int]) -> None:
    check_twins(scene, chosen)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(decimal_steps, st.permutations(range(9)))
def test_twins_agree_in_many_streams(scene: Any, chosen: list[int]) -> None:
    check_twins(scene, chosen)


@settings(max_examples=40, deadline=None)
@given(decimal_steps, st.sampled_from([None, (0.35,), (1.5, 3.5), (math.inf,)]))
def test_a_tree_of_two_terminals_is_a_distance(scene: Any, points: tuple[float, ...] | None) -> None:
    distance, tree = Distance(undirected=True, weighted=True), Steiner()
    assert distance.watch((2, 7), points) == tree.watch((7, 2), points)
    rows = rows_of(scene, weighted=True)
    said, told = distance.follow(log_of(rows)), tree.follow(log_of(rows))
    assert [column.tolist() for column in said] == [column.tolist() for column in told]
    assert distance.value(0) == tree.value(0)
