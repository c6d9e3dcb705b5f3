"""Clustering, transitivity, the average: as networkx from scratch, told where they pass a cut at the end of a step."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.clustering import Clustering, GlobalClustering
from heliograph.watch.metrics.thresholds import CAME, WENT, Points
from tests.watch.metrics.test_simple_graph_streams import (
    Asking,
    Edge,
    Step,
    as_log,
    askings,
    at_ends,
    borders,
    check_close,
    check_vertex_measure,
    edge_steps,
    follow_in_parts,
    listed,
    toggled,
    undirected,
    whole_sayings,
)

points = st.none() | st.lists(st.sampled_from([0.05, 0.1, 1 / 3 + 1e-6, 0.51, 0.7, 0.99]), max_size=3)


def coefficients(edges: set[Edge]) -> dict[int, float]:
    return {vertex: float(value) for vertex, value in nx.clustering(undirected(edges)).items()}


def average(edges: set[Edge]) -> float:
    return float(nx.average_clustering(undirected(edges))) if edges else 0.0


def transitivity(edges: set[Edge]) -> float:
    return float(nx.transitivity(undirected(edges)))


@given(edge_steps, askings(st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 2 / 3, 1.0])), borders)
def test_clustering(drawn: list[list[Edge]], asked: list[Asking], cuts: list[int]) -> None:
    check_vertex_measure(Clustering, coefficients, toggled(drawn), asked, cuts)


@given(edge_steps, points, borders)
def test_transitivity(drawn: list[list[Edge]], asked: Points, cuts: list[int]) -> None:
    steps, measure = toggled(drawn), GlobalClustering("transitivity")
    assert measure.watch([], asked) == 0
    values = [0.0, *map(transitivity, at_ends(steps))]
    check_close(follow_in_parts(measure, steps, cuts), whole_sayings(values, asked))
    assert measure.value(0) == pytest.approx(values[-1], abs=1e-12)
    assert (measure.total, measure.saved(), measure.evidence(0, 0.5)) == (0.0, {}, {})


@given(edge_steps, st.lists(st.sampled_from([0.05, 0.101, 0.3001, 0.51]), max_size=3), borders)
def test_average(drawn: list[list[Edge]], asked: list[float], cuts: list[int]) -> None:
    steps, measure = toggled(drawn), GlobalClustering("averageClustering")
    measure.watch([], asked)
    values = [0.0, *map(average, at_ends(steps))]
    check_close(follow_in_parts(measure, steps, cuts), whole_sayings(values, asked))
    assert measure.value(0) == pytest.approx(values[-1], abs=1e-12)
    restored = GlobalClustering("averageClustering")
    *_, there = [set[Edge](), *at_ends(steps)]
    restored.restore(as_log([[(CAME, edge) for edge in sorted(there)]]), {})
    assert (restored.value(0), restored.total) == (measure.value(0), measure.total)


@given(edge_steps, st.data())
def test_average_over_vertices_without_edges(drawn: list[list[Edge]], data: st.DataObject) -> None:
    steps, measure = toggled(drawn), GlobalClustering("averageClustering")
    measure.watch([], None)
    ends = list(at_ends(steps))
    alone = [data.draw(st.integers(0, 3)) for _ in steps]
    touched = [len(undirected(edges)) for edges in ends]
    existing = np.array(touched, np.int64) + np.array(alone, np.int64)
    sums = [sum(coefficients(edges).values()) for edges in ends]
    values = [0.0, *(total / count if count else 0.0 for total, count in zip(sums, existing.tolist(), strict=True))]
    said = listed(measure.follow(as_log(steps), existing))
    check_close(
        [saying for saying in said if not is_rounding(saying[2], values[saying[0]])],
        [saying for saying in whole_sayings(values, None) if not is_rounding(saying[2], values[saying[0]])],
    )
    assert measure.isolated == (alone[-1] if steps else 0)
    assert measure.value(0) == pytest.approx(values[-1], abs=1e-12)


def is_rounding(after: float, before: float) -> bool:
    return abs(after - before) < 1e-12


@pytest.mark.parametrize("seed", range(2))
def test_hubs_and_long_lists(seed: int) -> None:
    """Lists too long to be read through, and steps that touch more vertices than there is room for at first."""
    drawing = random.Random(seed)
    there: set[Edge] = set()
    steps: list[Step] = []
    for number in range(900):
        edge = (
            (drawing.randrange(3), 0, drawing.randrange(120))
            if number % 3
            else (drawing.randrange(120), 1, number % 40)
        )
        steps.append([(WENT if edge in there else CAME, edge)])
        there ^= {edge}
    hub = [edge for edge in sorted(there) if 0 in (edge[0], edge[2])]
    steps.append([(WENT, edge) for edge in hub])
    clustering, total = Clustering(), GlobalClustering("averageClustering")
    clustering.watch_all(None)
    said = clustering.follow(as_log(steps))
    total.follow(as_log(steps))
    expected = coefficients(there - set(hub))
    assert all(clustering.value(vertex) == expected.get(vertex, 0.0) for vertex in range(130))
    told = {instance: value for _, instance, value in listed(said)}
    assert {vertex: value for vertex, value in told.items() if value} == {v: c for v, c in expected.items() if c}
    assert total.total == pytest.approx(sum(expected.values()), abs=1e-12)


def test_an_unwatched_vertex_is_told_from_when_it_is_watched() -> None:
    measure = Clustering()
    measure.follow(as_log([[(CAME, (0, 0, 1)), (CAME, (1, 0, 2)), (CAME, (2, 0, 0))]]))
    measure.watch([0], [0.5])
    assert listed(measure.follow(as_log([[(CAME, (0, 0, 3))]]))) == [(0, 0, 1 / 3)]
    measure.unwatch(0, [0.5])
    measure.watch_all([0.5])
    measure.unwatch_all([0.5])
    assert listed(measure.follow(as_log([[(WENT, (0, 0, 3))]]))) == []


def test_a_metric_of_the_whole_graph_has_no_vertices() -> None:
    measure = GlobalClustering("transitivity")
    with pytest.raises(ValueError, match=r"asked for vertices \[3\]"):
        measure.watch([3], None)
    with pytest.raises(TypeError, match="whole graph"):
        measure.watch_all(None)
    with pytest.raises(TypeError, match="whole graph"):
        measure.unwatch_all(None)
    measure.watch([], [0.5])
    measure.unwatch(0, [0.5])
    triangle = as_log([[(CAME, (0, 0, 1)), (CAME, (1, 0, 2)), (CAME, (2, 0, 0))]])
    assert listed(measure.follow(triangle)) == []
    assert measure.value(0) == 1.0
