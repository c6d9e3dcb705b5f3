"""hg:dense: within its factor of the optimum after every step; core numbers are networkx's.

That values are those of a naive twin and reported in time is tested in `test_vertex_measures`.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.dense import EDGES, FACTOR, FIRST, FOLLOWING, Cores, Dense
from heliograph.watch.metrics.dense import VERTICES as OF_VERTICES
from heliograph.watch.metrics.thresholds import CAME, WENT
from tests.watch.metrics.streams import Edge, Step, as_log, at_ends, random_steps, toggled, undirected

VERTICES = 9
ends = st.integers(0, VERTICES - 1)
edges_of_few = st.lists(st.tuples(ends, st.integers(0, 1), ends), min_size=1, max_size=3)


def optimum(made: Any, vertex: int) -> float:
    """The largest density of any set of vertices that holds one, by trying each."""
    if vertex not in made or not made[vertex]:  # a loop alone is no edge
        return 0.0
    others = [other for other in made if other != vertex]
    sets = (made.subgraph({vertex, *some}) for size in range(len(others) + 1) for some in combinations(others, size))
    return float(max(some.number_of_edges() / some.number_of_nodes() for some in sets))


def check_cores(cores: Cores, made: Any) -> None:
    """Core numbers are networkx's, and everything that is kept for them is as it says."""
    expected = nx.core_number(made)
    found = {vertex: int(core) for vertex, core in enumerate(cores.core) if core}
    assert found == {vertex: core for vertex, core in expected.items() if core}
    order = order_of(cores)
    assert sorted(order) == list(range(len(cores.core)))
    assert [int(core) for core in cores.core[order]] == sorted(cores.core.tolist())
    place = {vertex: number for number, vertex in enumerate(order)}
    for vertex in made:
        near = list(made[vertex])
        assert cores.later[vertex] == sum(place[other] > place[vertex] for other in near) <= cores.core[vertex]
        assert cores.level[vertex] == sum(cores.core[other] >= cores.core[vertex] for other in near)
    for core in range(1, cores.levels):
        assert cores.sizes[core, OF_VERTICES] == sum(number == core for number in found.values())
        assert cores.sizes[core, EDGES] == sum(min(found[one], found[other]) == core for one, other in made.edges)
    assert not cores.state.any()
    assert not cores.waiting.any()


def order_of(cores: Cores) -> list[int]:
    order = []
    for core in range(len(cores.ends)):
        vertex, labels = int(cores.ends[core, FIRST]), list[int]()
        while vertex:
            order.append(vertex - 1)
            labels.append(int(cores.label[vertex - 1]))
            vertex = int(cores.links[vertex - 1, FOLLOWING])
        assert all(one < other for one, other in pairwise(labels))
    return order


def squeeze_labels(cores: Cores) -> None:
    """Leaves no number between labels."""
    cores.label[order_of(cores)] = np.arange(len(cores.core))


# --- core numbers -----------------------------------------------------------------------------------------------


@given(st.lists(edges_of_few, max_size=60).map(toggled))
def test_core_numbers_and_their_order(steps: list[Step]) -> None:
    measure = Dense()
    for step, there in zip(steps, at_ends(steps), strict=True):
        measure.follow(as_log([step]))
        check_cores(measure._cores, undirected(there))


@pytest.mark.parametrize("seed", range(3))
def test_core_numbers_of_larger_graphs(seed: int) -> None:
    """Enough neighbours of one core number for many candidates at once, and for labels to run out."""
    measure, steps, there = Dense(), random_steps(seed, 120, 3_000, deletions=0.35), set[Edge]()
    for number, (step, there) in enumerate(zip(steps, at_ends(steps), strict=True)):
        measure.follow(as_log([step]))
        if number % 150 == 149:
            check_cores(measure._cores, undirected(there))
            squeeze_labels(measure._cores)
    restored = Dense()
    restored.restore(as_log([[(CAME, edge) for edge in there]]), {})
    check_cores(restored._cores, undirected(there))


# --- values -----------------------------------------------------------------------------------------------------


@given(st.lists(edges_of_few, max_size=12).map(toggled))
def test_the_optimum_is_within_the_interval_after_every_step(steps: list[Step]) -> None:
    measure = Dense()
    for step, there in zip(steps, at_ends(steps), strict=True):
        measure.follow(as_log([step]))
        for vertex in range(0, VERTICES, 3):
            value = measure.value(vertex)
            low, high = measure.evidence(vertex, value)["interval"]
            assert (low, high) == (value, FACTOR * value)
            assert low - 1e-12 <= optimum(undirected(there), vertex) <= high + 1e-12


def test_members_and_an_outsider() -> None:
    """Five that all know each other have 10 edges; with the one that knows but one of them there are 11 for 6."""
    measure = Dense()
    clique = [(CAME, (one, 0, other)) for one, other in combinations(range(5), 2)]
    measure.follow(as_log([[*clique, (CAME, (4, 0, 5)), (CAME, (6, 0, 7)), (CAME, (8, 0, 8))]]))
    assert [measure.value(vertex) for vertex in (0, 5, 6, 8, 99)] == [2.0, 11 / 6, 10 / 6, 0.0, 0.0]


# --- reports ----------------------------------------------------------------------------------------------------


def test_the_gate_spares_nearly_everybody() -> None:
    """Of 400 vertices watched for what they never come near, only those that move are looked at."""
    measure, steps = Dense(), random_steps(3, 400, 2_000, deletions=0.3)
    measure.watch_all([50.0])
    measure.follow(as_log(steps))
    assert measure._cores.seen < 4 * len(steps)


def test_many_are_told_in_one_step() -> None:
    """More than there was room for at first; then all edges go."""
    measure = Dense()
    measure.watch_all([0.4])
    edges = [(one, 0, one + 1) for one in range(0, 200, 2)]
    said = measure.follow(as_log([[(CAME, edge) for edge in edges]]))
    assert sorted(said.instance.tolist()) == list(range(200))
    assert np.array_equal(said.value, np.full(200, 0.5))
    gone = measure.follow(as_log([[(WENT, edge) for edge in edges]]))
    assert (len(gone.step), gone.value.max()) == (200, 0.0)
