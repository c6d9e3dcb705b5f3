"""Distances, Steiner trees and their plain twins agree on what they have in common, evidence included."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.terms import Term, literal, plain_name
from heliograph.watch.metrics.distance import Distance, Steiner, SteinerPoint
from heliograph.watch.metrics.naive import naive_evidence, naive_value
from heliograph.watch.metrics.thresholds import Measure
from tests.watch.metrics.test_distance_scenes import Edge, Edges, apply_rows, by_step, decimal_steps, log_of, rows_of

NAMES = [plain_name(name) for name in "fbhdacgei"]  # so that the order of terms is not that of their numbers
WAYS = [(undirected, weighted) for undirected in (False, True) for weighted in (False, True)]


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
    edges: Edges = {}
    for rows in by_step(rows_of(scene, weighted=True)):
        for measure in (trees, points, *distances):
            measure.follow(log_of(rows))
        apply_rows(edges, rows)
        ends = [NAMES[each] for each in (a, b, c)]
        check_twin(trees, tree, "steiner", ends, edges)
        check_twin(points, point, "steinerPoint", [NAMES[x], *ends], edges)
        for way, distance, pair in zip(WAYS, distances, pairs, strict=True):
            check_twin(distance, pair, "distance", [*ends[:2], *words(*way)], edges)


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
