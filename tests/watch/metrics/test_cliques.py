"""Cliques: as many as networkx lists, told where the number passes a cut at the end of a step."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.cliques import Cliques
from heliograph.watch.metrics.thresholds import CAME, WENT, Points
from tests.watch.metrics.test_simple_graph_streams import (
    Edge,
    as_log,
    at_ends,
    borders,
    edge_steps,
    follow_in_parts,
    listed,
    toggled,
    undirected,
    whole_sayings,
)


def clique_counts(edges: set[Edge]) -> Counter[int]:
    return Counter(len(clique) for clique in nx.enumerate_all_cliques(undirected(edges)))


points = st.none() | st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5, 5.0, 9.0]), max_size=3)
dense_steps = st.lists(st.lists(st.tuples(st.integers(0, 5), st.just(0), st.integers(0, 5)), max_size=12), max_size=12)


@given(st.integers(1, 5), edge_steps | dense_steps, points, borders)
def test_cliques(size: int, drawn: list[list[Edge]], asked: Points, cuts: list[int]) -> None:
    steps, measure = toggled(drawn), Cliques(size)
    assert measure.watch([], asked) == 0
    values = [0.0, *(float(clique_counts(edges)[size]) for edges in at_ends(steps))]
    assert follow_in_parts(measure, steps, cuts) == whole_sayings(values, asked)
    assert measure.value(0) == values[-1]
    restored = Cliques(size)
    *_, there = [set[Edge](), *at_ends(steps)]
    restored.restore(as_log([[(CAME, edge) for edge in sorted(there)]]), measure.saved())
    assert restored.value(0) == measure.value(0)
    assert measure.evidence(0, values[-1]) == {}


@pytest.mark.parametrize("size", [3, 4, 5])
def test_hubs_and_many_common_neighbours(size: int) -> None:
    """Sets of common neighbours larger than their members' lists, and the other way round; lists of any length."""
    drawing = random.Random(size)
    pairs = [(a, 0, b) for a, b in combinations(range(60), 2) if a < 3 or drawing.random() < 0.15]
    drawing.shuffle(pairs)
    going = drawing.sample(pairs, len(pairs) // 3)
    measure = Cliques(size)
    measure.watch([], None)
    said = measure.follow(as_log([*([(CAME, pair)] for pair in pairs), *([(WENT, pair)] for pair in going)]))
    assert measure.value(0) == clique_counts(set(pairs) - set(going))[size]
    assert clique_counts(set(pairs))[size] == max(value for _, _, value in listed(said))


@pytest.mark.parametrize("size", [4, 5])
def test_a_complete_graph(size: int) -> None:
    measure = Cliques(size)
    measure.restore(as_log([[(CAME, (a, 0, b)) for a, b in combinations(range(20), 2)]]), {})
    assert measure.value(0) == {4: 4845, 5: 15504}[size]


@pytest.mark.parametrize(("size", "sayings"), [(1, [(0, 0, 4.0), (1, 0, 5.0), (2, 0, 3.0)]), (2, [(0, 0, 1.0)])])
def test_vertices_that_no_edge_touches(size: int, sayings: list[tuple[int, int, float]]) -> None:
    measure = Cliques(size)
    measure.watch([], None)
    assert listed(measure.follow(as_log([[(CAME, (0, 0, 1))]]), np.array([4, 5, 3]))) == sayings
    assert measure.isolated == 1
    assert measure.value(0) == {1: 3.0, 2: 1.0}[size]


def test_what_is_no_clique() -> None:
    with pytest.raises(ValueError, match="only those of 1 to 5"):
        Cliques(6)
    measure = Cliques(3)
    with pytest.raises(TypeError, match="whole graph"):
        measure.watch_all(None)
    measure.watch([], [1.0])
    measure.unwatch(0, [1.0])
    assert listed(measure.follow(as_log([[(CAME, (0, 0, 1)), (CAME, (1, 0, 2)), (CAME, (2, 0, 0))]]))) == []
