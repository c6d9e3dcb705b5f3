"""Cliques, transitivity and the average coefficient: as networkx from scratch, reported where they pass a threshold."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import NamedTuple

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.cliques import Cliques
from heliograph.watch.metrics.clustering import Clustering, GlobalClustering
from heliograph.watch.metrics.thresholds import CAME, WENT, WholeMeasure
from tests.watch.metrics.streams import (
    Edge,
    Step,
    as_log,
    at_ends,
    borders,
    check_close,
    edge_steps,
    follow_in_parts,
    listed,
    toggled,
    undirected,
    whole_sayings,
)


class Case(NamedTuple):
    make: Callable[[], WholeMeasure]
    value: Callable[[set[Edge]], float]
    points: tuple[float, ...]


def clique_count(edges: set[Edge], size: int) -> float:
    return float(sum(len(clique) == size for clique in nx.enumerate_all_cliques(undirected(edges))))


def average(edges: set[Edge]) -> float:
    return float(nx.average_clustering(undirected(edges))) if edges else 0.0


COUNTS = (0.0, 1.0, 2.0, 3.5, 5.0, 9.0)
CASES = {
    **{f"cliques of {k}": Case(partial(Cliques, k), partial(clique_count, size=k), COUNTS) for k in range(1, 6)},
    "transitivity": Case(
        partial(GlobalClustering, "transitivity"),
        lambda edges: float(nx.transitivity(undirected(edges))),
        (0.05, 0.1, 1 / 3 + 1e-6, 0.51, 0.7, 0.99),
    ),
    "average": Case(partial(GlobalClustering, "averageClustering"), average, (0.05, 0.101, 0.3001, 0.51)),
}
dense_steps = st.lists(st.lists(st.tuples(st.integers(0, 5), st.just(0), st.integers(0, 5)), max_size=12), max_size=12)


@pytest.mark.parametrize("name", CASES)
@given(edge_steps | dense_steps, st.data(), borders)
def test_values_and_reports_are_those_of_recomputing(
    name: str, drawn: list[list[Edge]], data: st.DataObject, cuts: list[int]
) -> None:
    make, value, points = CASES[name]
    every = st.nothing() if name == "average" else st.none()  # of which networkx rounds the sum otherwise
    asked = data.draw(every | st.lists(st.sampled_from(points), max_size=3))
    steps, measure, restored = toggled(drawn), make(), make()
    assert measure.watch([], asked) == 0
    values = [0.0, *map(value, at_ends(steps))]
    check_close(follow_in_parts(measure, steps, cuts), whole_sayings(values, asked))
    assert measure.value(0) == pytest.approx(values[-1], abs=1e-12)
    *_, there = [set[Edge](), *at_ends(steps)]
    restored.restore(as_log([[(CAME, edge) for edge in sorted(there)]]), measure.saved())
    assert restored.value(0) == measure.value(0)
    assert measure.evidence(0, values[-1]) == {}


@given(edge_steps, st.data())
def test_an_average_over_vertices_without_edges(drawn: list[list[Edge]], data: st.DataObject) -> None:
    steps, measure = toggled(drawn), GlobalClustering("averageClustering")
    measure.watch([], None)
    ends = list(at_ends(steps))
    alone = [data.draw(st.integers(0, 3)) for _ in steps]
    existing = np.array([len(undirected(edges)) for edges in ends], np.int64) + np.array(alone, np.int64)
    sums = [sum(nx.clustering(undirected(edges)).values()) for edges in ends]
    values = [0.0, *(total / count if count else 0.0 for total, count in zip(sums, existing.tolist(), strict=True))]
    said, expected = listed(measure.follow(as_log(steps), existing)), whole_sayings(values, None)
    changed = ([each for each in some if abs(each[2] - values[each[0]]) > 1e-12] for some in (said, expected))
    check_close(*changed)  # what is no more than rounding may be reported or not
    assert measure.isolated == (alone[-1] if steps else 0)
    assert measure.value(0) == pytest.approx(values[-1], abs=1e-12)


@pytest.mark.parametrize(("size", "sayings"), [(1, [(0, 0, 4.0), (1, 0, 5.0), (2, 0, 3.0)]), (2, [(0, 0, 1.0)])])
def test_cliques_with_vertices_that_no_edge_touches(size: int, sayings: list[tuple[int, int, float]]) -> None:
    measure = Cliques(size)
    measure.watch([], None)
    assert listed(measure.follow(as_log([[(CAME, (0, 0, 1))]]), np.array([4, 5, 3]))) == sayings
    assert measure.isolated == 1
    assert measure.value(0) == {1: 3.0, 2: 1.0}[size]


@pytest.mark.parametrize("size", [3, 4, 5])
def test_cliques_at_hubs_with_many_common_neighbours(size: int) -> None:
    """Sets of common neighbours larger than their members' lists, and the other way round; lists of any length."""
    drawing = random.Random(size)
    pairs = [(a, 0, b) for a, b in combinations(range(60), 2) if a < 3 or drawing.random() < 0.15]
    drawing.shuffle(pairs)
    going = drawing.sample(pairs, len(pairs) // 3)
    measure = Cliques(size)
    measure.watch([], None)
    said = measure.follow(as_log([*([(CAME, pair)] for pair in pairs), *([(WENT, pair)] for pair in going)]))
    assert measure.value(0) == clique_count(set(pairs) - set(going), size)
    assert clique_count(set(pairs), size) == max(value for _, _, value in listed(said))


@pytest.mark.parametrize("seed", range(2))
def test_coefficients_at_hubs_with_long_lists(seed: int) -> None:
    """Lists too long to be read through, and steps that touch more vertices than there is room for at first."""
    drawing, there, steps = random.Random(seed), set[Edge](), list[Step]()
    for number in range(900):
        hub = (drawing.randrange(3), 0, drawing.randrange(120))
        edge = hub if number % 3 else (drawing.randrange(120), 1, number % 40)
        steps.append([(WENT if edge in there else CAME, edge)])
        there ^= {edge}
    going = [edge for edge in sorted(there) if 0 in (edge[0], edge[2])]
    steps.append([(WENT, edge) for edge in going])
    clustering, total = Clustering(), GlobalClustering("averageClustering")
    clustering.watch_all(None)
    told = {instance: value for _, instance, value in listed(clustering.follow(as_log(steps)))}
    total.follow(as_log(steps))
    expected = nx.clustering(undirected(there - set(going)))
    assert all(clustering.value(vertex) == expected.get(vertex, 0.0) for vertex in range(130))
    assert {vertex: value for vertex, value in told.items() if value} == {v: c for v, c in expected.items() if c}
    assert total.total == pytest.approx(sum(expected.values()), abs=1e-12)


def test_a_metric_of_the_whole_graph_has_no_vertices() -> None:
    with pytest.raises(ValueError, match="only those of 1 to 5"):
        Cliques(6)
    measure = GlobalClustering("transitivity")
    with pytest.raises(ValueError, match=r"asked for vertices \[3\]"):
        measure.watch([3], None)
    for call in (measure.watch_all, measure.unwatch_all):
        with pytest.raises(TypeError, match="whole graph"):
            call(None)
    measure.watch([], [0.5])
    measure.unwatch(0, [0.5])
    triangle = as_log([[(CAME, (0, 0, 1)), (CAME, (1, 0, 2)), (CAME, (2, 0, 0))]])
    assert listed(measure.follow(triangle)) == []
    assert measure.value(0) == 1.0
