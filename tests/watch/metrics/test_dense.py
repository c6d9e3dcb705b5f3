"""hg:dense: within its factor of the optimum after every step, a function of the graph alone, and told in time."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.terms import plain_name
from heliograph.watch.metrics.dense import EDGES, FACTOR, FIRST, FOLLOWING, Cores, Dense
from heliograph.watch.metrics.dense import VERTICES as OF_VERTICES
from heliograph.watch.metrics.naive import naive_value
from heliograph.watch.metrics.thresholds import CAME, WENT, Measure, Points
from tests.watch.metrics.density_streams import (
    Edge,
    Step,
    applied,
    as_log,
    expected_sayings,
    follow_in_batches,
    pairs,
    random_steps,
    said_as_set,
    toggles,
)

VERTICES = 9
NEAR = 1e-3  # how far from the optimum a search by flows ends


def dense_of(there: set[Edge], vertex: int) -> float:
    """By its twin in plain Python."""
    names = {(s, p, o): tuple(plain_name(str(part)) for part in (s, p, o)) for s, p, o in there}
    return naive_value("dense", [plain_name(str(vertex))], dict.fromkeys(names.values()))  # type: ignore[arg-type]


def optimum(made: Any, vertex: int) -> float:
    """The largest density of any set of vertices that holds one, by trying each."""
    if vertex not in made:
        return 0.0
    others = [other for other in made if other != vertex]
    sets = (made.subgraph({vertex, *some}) for size in range(len(others) + 1) for some in combinations(others, size))
    return float(max(some.number_of_edges() / some.number_of_nodes() for some in sets))


def optimum_by_flow(made: Any, vertex: int) -> float:
    """The same, by Goldberg's cuts: a set of more than density g that holds a vertex is there if the cut is small."""
    low, high = 0.0, float(made.number_of_edges())
    while high - low > NEAR:
        guess = (low + high) / 2
        low, high = (guess, high) if _is_denser(made, vertex, guess) else (low, guess)
    return high


def _is_denser(made: Any, vertex: int, guess: float) -> bool:
    """Each edge brings 1 and needs both ends; each vertex costs `guess`, and one of them is taken whatever it costs."""
    flow = nx.DiGraph()
    for one, other in made.edges:
        flow.add_edge("source", (one, other), capacity=1.0)
        flow.add_edge((one, other), one)
        flow.add_edge((one, other), other)
    for other in made:
        flow.add_edge(other, "sink", capacity=guess if other != vertex else 0.0)
    cut = nx.minimum_cut_value(flow, "source", "sink")
    return bool(made.number_of_edges() - cut - guess > 1e-9)


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


@given(toggles(VERTICES, most=60))
def test_core_numbers_and_their_order(steps: list[Step]) -> None:
    measure, there = Dense(), set[Edge]()
    for step in steps:
        measure.follow(as_log([step]))
        check_cores(measure._cores, pairs(applied(there, step)))


@pytest.mark.parametrize("seed", range(3))
def test_core_numbers_of_larger_graphs(seed: int) -> None:
    """Enough neighbours of one core number for many candidates at once, and for labels to run out."""
    measure, there = Dense(), set[Edge]()
    for number, step in enumerate(random_steps(seed, 120, 3_000, deletions=0.35)):
        measure.follow(as_log([step]))
        applied(there, step)
        if number % 150 == 149:
            check_cores(measure._cores, pairs(there))
            squeeze_labels(measure._cores)
    restored = Dense()
    restored.restore(as_log([[(CAME, edge) for edge in there]]), {})
    check_cores(restored._cores, pairs(there))


# --- values -----------------------------------------------------------------------------------------------------


@given(toggles(VERTICES, most=12))
def test_the_optimum_is_within_the_interval_after_every_step(steps: list[Step]) -> None:
    measure, there = Dense(), set[Edge]()
    for step in steps:
        measure.follow(as_log([step]))
        made = pairs(applied(there, step))
        for vertex in range(0, VERTICES, 3):
            value = measure.value(vertex)
            low, high = measure.evidence(vertex, value)["interval"]
            assert (low, high) == (value, FACTOR * value)
            assert low - 1e-12 <= optimum(made, vertex) <= high + 1e-12


@given(st.integers(0, 2**31 - 1), st.floats(0.3, 0.9))
def test_both_ways_to_the_optimum_agree(seed: int, share: float) -> None:
    made = nx.gnp_random_graph(6, share, seed=seed)
    made.add_edge(0, 1)
    made.remove_nodes_from(list(nx.isolates(made)))
    assert optimum_by_flow(made, 0) == pytest.approx(optimum(made, 0), abs=2 * NEAR)


@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_by_flow_is_within_the_interval(seed: int) -> None:
    measure, there = Dense(), set[Edge]()
    for number, step in enumerate(random_steps(seed, 25, 240, deletions=0.3)):
        measure.follow(as_log([step]))
        made = pairs(applied(there, step))
        if number % 60 == 59:
            for vertex in sorted(made)[::6]:
                value, best = measure.value(vertex), optimum_by_flow(made, vertex)
                assert value - 2 * NEAR <= best <= FACTOR * value + 2 * NEAR


@given(toggles(VERTICES))
def test_values_are_those_of_the_twin_whatever_the_past(steps: list[Step]) -> None:
    measure, restored, there = Dense(), Dense(), set[Edge]()
    measure.watch_all([1.0])
    measure.follow(as_log(steps))
    for step in steps:
        applied(there, step)
    restored.restore(as_log([[(CAME, edge) for edge in sorted(there)]]), measure.saved())
    expected = [dense_of(there, vertex) for vertex in range(VERTICES)]
    assert [measure.value(vertex) for vertex in range(VERTICES)] == pytest.approx(expected)
    assert [restored.value(vertex) for vertex in range(VERTICES)] == pytest.approx(expected)


def test_members_and_an_outsider() -> None:
    """Five that all know each other have 10 edges; with the one that knows but one of them there are 11 for 6."""
    measure = Dense()
    clique = [(CAME, (one, 0, other)) for one, other in combinations(range(5), 2)]
    measure.follow(as_log([[*clique, (CAME, (4, 0, 5)), (CAME, (6, 0, 7)), (CAME, (8, 0, 8))]]))
    assert [measure.value(vertex) for vertex in (0, 5, 6, 8, 99)] == [2.0, 11 / 6, 10 / 6, 0.0, 0.0]


# --- sayings ----------------------------------------------------------------------------------------------------


@given(toggles(VERTICES), st.integers(1, 7))
def test_sayings_are_those_of_recomputing_whatever_the_batches(steps: list[Step], size: int) -> None:
    watched: dict[int, Points] = {0: [0.5, 1.0], 1: [1.2], 5: [0.9, 1.5, 1.6], 7: [1.0]}
    measure = Dense()
    for vertex, points in watched.items():
        assert measure.watch([vertex], points) == vertex
    assert follow_in_batches(measure, steps, size) == expected_sayings(steps, watched, dense_of)


@given(toggles(VERTICES), st.integers(1, 7), st.sampled_from([[1.0], [0.9, 1.1, 1.3], None]))
def test_all_may_be_watched_before_they_are_there(steps: list[Step], size: int, points: Points) -> None:
    measure = Dense()
    measure.watch_all(points)
    watched = dict.fromkeys(range(VERTICES), points)
    assert follow_in_batches(measure, steps, size) == expected_sayings(steps, watched, dense_of)


@given(toggles(VERTICES), st.integers(1, 7))
def test_one_may_ask_for_every_change_beside_others(steps: list[Step], size: int) -> None:
    measure = Dense()
    watched: dict[int, Points] = {2: None, 3: [1.0]}
    for vertex, points in watched.items():
        measure.watch([vertex], points)
    assert follow_in_batches(measure, steps, size) == expected_sayings(steps, watched, dense_of)


@given(toggles(VERTICES, most=20), st.sampled_from([[1.0], None]))
def test_who_watches_later_hears_what_happens_then(steps: list[Step], points: Points) -> None:
    half = len(steps) // 2
    early, late, of_all = (Dense() for _ in range(3))
    early.watch([0], points)
    for measure in (early, late, of_all):
        measure.follow(as_log(steps[:half]))
    late.watch([0], points)
    of_all.watch_all(points)
    of_all.watch([0], points)
    of_all.unwatch_all(points)
    rest = as_log(steps[half:])
    assert said_as_set(early.follow(rest)) == said_as_set(late.follow(rest)) == said_as_set(of_all.follow(rest))
    late.unwatch(0, points)
    assert len(late.follow(as_log([[(CAME, (0, 7, other)) for other in range(1, 9)]])).step) == 0


def test_the_gate_spares_nearly_everybody() -> None:
    """Of 400 vertices watched for what they never come near, only those that move are looked at."""
    measure, steps = Dense(), random_steps(3, 400, 2_000, deletions=0.3)
    measure.watch_all([50.0])
    measure.follow(as_log(steps))
    assert measure._cores.seen < 4 * len(steps)


def test_many_are_told_in_one_step() -> None:
    """More than there was room for at first; then all edges go."""
    measure: Measure = Dense()
    measure.watch_all([0.4])
    edges = [(one, 0, one + 1) for one in range(0, 200, 2)]
    said = measure.follow(as_log([[(CAME, edge) for edge in edges]]))
    assert sorted(said.instance.tolist()) == list(range(200))
    assert np.array_equal(said.value, np.full(200, 0.5))
    gone = measure.follow(as_log([[(WENT, edge) for edge in edges]]))
    assert (len(gone.step), gone.value.max()) == (200, 0.0)
