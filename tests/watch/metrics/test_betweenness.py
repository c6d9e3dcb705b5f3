"""Exact betweenness is that of networkx whatever comes and goes; small graphs are in `test_vertex_measures`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeAlias

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.betweenness import Betweenness
from heliograph.watch.metrics.thresholds import CAME, WENT
from tests.watch.metrics.streams import Edge
from tests.watch.metrics.streams import as_log as log_of
from tests.watch.metrics.streams import listed as told

Step: TypeAlias = list[tuple[int, Edge]]  # changes, each with what became of the edge


def toggle(edges: set[Edge], edge: Edge) -> tuple[int, Edge]:
    """An edge comes, or goes if it is there."""
    change = WENT if edge in edges else CAME
    edges ^= {edge}
    return change, edge


def oracle(edges: set[Edge], isolated: int = 0) -> dict[int, float]:
    """Values by networkx."""
    graph = nx.DiGraph((subject, object) for subject, _, object in edges)
    graph.add_nodes_from(f"isolated {number}" for number in range(isolated))
    return dict(nx.betweenness_centrality(graph))


def check_values(measure: Betweenness, edges: set[Edge], vertices: int, isolated: int = 0) -> None:
    expected = oracle(edges, isolated)
    found = {vertex: measure.value(vertex) for vertex in range(vertices)}
    assert found == pytest.approx({vertex: expected.get(vertex, 0.0) for vertex in range(vertices)}, abs=1e-9)


def random_steps(seed: int, vertices: int, count: int, most: int = 3) -> list[Step]:
    """Steps of one or more changes; loops, parallel edges and whole vertices going are among them."""
    rng, edges, steps = random.Random(seed), set[Edge](), list[Step]()
    for _ in range(count):
        step = list[tuple[int, Edge]]()
        if rng.random() < 0.05 and edges:
            vertex = rng.choice(sorted(edges))[0]
            step = [toggle(edges, edge) for edge in sorted(edges) if vertex in (edge[0], edge[2])]
        else:
            for _ in range(rng.randint(1, most)):
                there = rng.random() < 0.4 and edges
                fresh = (rng.randrange(vertices), rng.randrange(2), rng.randrange(vertices))
                step.append(toggle(edges, rng.choice(sorted(edges)) if there else fresh))
        steps.append(step)
    return steps


def present(steps: Sequence[Step]) -> set[Edge]:
    edges = set[Edge]()
    for step in steps:
        for _, edge in step:
            edges ^= {edge}
    return edges


edges_of_few = st.tuples(st.integers(0, 7), st.integers(0, 1), st.integers(0, 7))
streams = st.lists(st.lists(edges_of_few, min_size=1, max_size=4), min_size=1, max_size=25)


def as_steps(stream: list[list[Edge]]) -> list[Step]:
    edges = set[Edge]()
    return [[toggle(edges, edge) for edge in step] for step in stream]


# --- values -----------------------------------------------------------------------------------------------------


def ring_steps(seed: int) -> list[Step]:
    """Long ways round: a ring of 40 with some chords, so that an arc that goes makes many much farther."""
    rng, edges = random.Random(seed), set[Edge]()
    steps: list[Step] = [[toggle(edges, (k, 0, (k + 1) % 40))] for k in range(40)]
    for _ in range(120):
        tail, head = rng.sample(range(40), 2)
        steps.append([toggle(edges, (tail, 0, head) if rng.random() < 0.5 else rng.choice(sorted(edges)))])
    return steps


LARGER = [
    random_steps(1, 30, 150, 1),
    random_steps(2, 60, 150, 2),
    random_steps(3, 45, 150, 6),
    *map(ring_steps, (4, 5)),
]


@pytest.mark.parametrize("steps", LARGER, ids=["single", "pairs", "several", "ring", "another ring"])
def test_values_of_larger_graphs(steps: list[Step]) -> None:
    measure, edges = Betweenness(), set[Edge]()
    for number, step in enumerate(steps):
        measure.follow(log_of([step]))
        edges ^= present([step])
        if number % 5 == 0:
            check_values(measure, edges, 60)
            assert measure._exact is not None
            assert not any(each.any() for each in (measure._exact.mark, measure._exact.lost, measure._exact.level))
    assert not measure.sampled


def test_many_arcs_in_one_step_are_worked_out_anew() -> None:
    measure = Betweenness()
    steps = random_steps(5, 40, 60)
    whole: Step = [(CAME, edge) for edge in sorted(present(steps))]
    measure.follow(log_of([whole]))
    check_values(measure, present(steps), 40)
    measure.follow(log_of([[(WENT, edge) for edge in sorted(present(steps))]]))
    assert [measure.value(vertex) for vertex in range(40)] == [0.0] * 40


def test_isolated_vertices_count() -> None:
    measure, path = Betweenness(), {(0, 0, 1), (1, 0, 2)}
    measure.watch_all([0.2])
    step: Step = [(CAME, edge) for edge in sorted(path)]
    assert told(measure.follow(log_of([step]), np.array([3]))) == [(0, 1, 0.5)]
    found = told(measure.follow(log_of([]), np.array([3, 4, 4, 6, 3, 6])))
    assert found == [(1, 1, pytest.approx(1 / 6)), (4, 1, 0.5), (5, 1, pytest.approx(0.05))]
    check_values(measure, path, 3, isolated=3)
    assert told(measure.follow(log_of([[(CAME, (1, 1, 2))]]))) == []
    check_values(measure, path, 3, isolated=3)


def test_ids_may_be_large_and_slots_are_taken_again() -> None:
    measure, edges = Betweenness(limit=40), set[Edge]()
    for start in range(0, 3_000, 60):
        step: Step = [toggle(edges, edge) for edge in sorted(edges)]
        step += [toggle(edges, (start + k, 0, start + 2 * k + 1)) for k in range(12)]
        measure.follow(log_of([step]))
        assert not measure.sampled
    check_values(measure, edges, 3_100)


def diamonds(first: int, last: int) -> list[Edge]:
    """A chain in which every diamond doubles the number of shortest paths."""
    sides = [(k, 3 * k + side) for k in range(first, last) for side in (1, 2)]
    return [(3 * k, 0, side) for k, side in sides] + [(side, 0, 3 * k + 3) for k, side in sides]


def test_more_paths_than_can_be_counted_are_sampled_below_the_limit() -> None:
    measure = Betweenness(limit=5_000, epsilon=0.1)
    measure.follow(log_of([[(CAME, edge) for edge in diamonds(0, 990)]]))
    assert not measure.sampled
    measure.follow(log_of([[(CAME, edge) for edge in diamonds(990, 1_050)]]))
    assert measure.sampled
    assert measure.value(3 * 525) == pytest.approx(0.25, abs=0.1)  # half of the others before it, half after it
    assert measure.value(3 * 525 + 1) == pytest.approx(0.125, abs=0.1)
    measure.follow(log_of([[(WENT, edge) for edge in diamonds(0, 400)]]))
    assert not measure.sampled
    assert measure.value(3 * 725) == pytest.approx(0.25, abs=1e-3)


def test_a_single_arc_may_make_too_many_paths() -> None:
    """2 ** 997 of them, where 1e300 can be counted."""
    measure, (last, *others) = Betweenness(limit=5_000, epsilon=0.1), reversed(diamonds(0, 997))
    measure.follow(log_of([[(CAME, edge) for edge in others]]))
    assert not measure.sampled
    measure.follow(log_of([[(CAME, last)]]))
    assert measure.sampled
    assert measure.evidence(0, 0.05) == {"interval": [0.0, pytest.approx(0.15)]}


def test_limits_that_distances_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="9,999"):
        Betweenness(limit=10_000)


@given(streams, st.integers(0, 25), st.sampled_from([4, 4_000]))
def test_any_cutting_of_the_log_tells_the_same(stream: list[list[Edge]], cut: int, limit: int) -> None:
    steps = as_steps(stream)
    whole, parts = (Betweenness(limit=limit, epsilon=0.2) for _ in range(2))
    for measure in (whole, parts):
        measure.watch_all(None)
    before, after = told(parts.follow(log_of(steps[:cut]))), told(parts.follow(log_of(steps[cut:])))
    assert told(whole.follow(log_of(steps))) == before + [(step + cut, *rest) for step, *rest in after]


# --- saving -----------------------------------------------------------------------------------------------------


@given(streams, streams, st.sampled_from([4, 4_000]))
def test_a_restored_measure_goes_on_as_if_nothing_had_happened(
    stream: list[list[Edge]], further: list[list[Edge]], limit: int
) -> None:
    steps = as_steps(stream + further)
    before, after = steps[: len(stream)], steps[len(stream) :]
    measure, other = (Betweenness(limit=limit, epsilon=0.2) for _ in range(2))
    measure.follow(log_of(before))
    other.restore(log_of([[(CAME, edge) for edge in sorted(present(before))]]), measure.saved())
    assert [other.value(vertex) for vertex in range(8)] == [measure.value(vertex) for vertex in range(8)]
    for each in (measure, other):
        each.watch_all(None)
    assert told(other.follow(log_of(after))) == told(measure.follow(log_of(after)))
    assert (other.sampled, other.samples) == (measure.sampled, measure.samples)


def test_a_measure_begins_over_a_graph() -> None:
    edges = present(random_steps(9, 30, 80))
    exact, sampled = Betweenness(), Betweenness(limit=10)
    for measure in (exact, sampled):
        measure.watch_all([0.01])
        measure.restore(log_of([[(CAME, edge) for edge in sorted(edges)]]), {})
    check_values(exact, edges, 30)
    assert not exact.saved()
    assert sampled.sampled
    assert exact.evidence(3, 0.5) == {}


def test_isolated_vertices_are_counted_over_a_restored_graph() -> None:
    measure, path = Betweenness(), {(0, 0, 1), (1, 0, 2)}
    measure.restore(log_of([[(CAME, edge) for edge in sorted(path)]]), {})
    measure.follow(log_of([]), np.array([7]))
    check_values(measure, path, 3, isolated=4)


def test_a_vertex_that_loses_its_last_edge_may_stay() -> None:
    measure, path = Betweenness(), {(0, 0, 1), (1, 0, 2)}
    steps: list[Step] = [[(CAME, edge) for edge in sorted(path)], [(CAME, (2, 0, 3))], [(WENT, (2, 0, 3))]]
    measure.follow(log_of(steps), np.array([3, 4, 4]))
    check_values(measure, path, 4, isolated=1)
