"""Sampled betweenness: gates let through whatever matters, draws are fair, and the guarantee holds over many seeds."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from heliograph.watch.metrics.betweenness import Betweenness, samples_needed
from heliograph.watch.metrics.thresholds import CAME, WENT
from tests.watch.metrics.streams import Edge
from tests.watch.metrics.streams import as_log as log_of
from tests.watch.metrics.test_betweenness import (
    Step,
    as_steps,
    oracle,
    present,
    random_steps,
    streams,
)


def drawn(measure: Betweenness) -> list[Any]:
    """What every sample holds: its pair, and its path if there is one."""
    assert measure._sampling is not None
    samples = measure._sampling
    assert not samples.dirty.any()
    pairs = zip(samples.source.tolist(), samples.target.tolist(), samples.length.tolist(), strict=True)
    stored = [max(int(length), 1) - 1 for length in samples.length]
    return [(*pair, row[:end].tolist()) for pair, row, end in zip(pairs, samples.inner, stored, strict=True)]


def anew(edges: set[Edge], measure: Betweenness, **options: Any) -> Betweenness:
    """A measure that begins with these edges, from as many samples as another has."""
    other = Betweenness(**options)
    other.restore(log_of([[(CAME, edge) for edge in sorted(edges)]]), measure.saved())
    return other


def check_drawn(measure: Betweenness, edges: set[Edge], **options: Any) -> None:
    """Samples and values are those of the graph alone, and their paths are shortest ones."""
    other = anew(edges, measure, **options)
    assert drawn(measure) == drawn(other)
    vertices = {end for edge in edges for end in (edge[0], edge[2])}
    assert {v: measure.value(v) for v in vertices} == {v: other.value(v) for v in vertices}
    graph = nx.DiGraph((subject, object) for subject, _, object in edges)
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    for source, target, length, inner in drawn(measure):
        assert lengths[source].get(target, -1) == length
        if length > 0:
            assert nx.is_path(graph, [source, *inner, target])


# --- gates ------------------------------------------------------------------------------------------------------


@given(streams)
def test_samples_are_a_function_of_the_graph_after_every_step(stream: list[list[Edge]]) -> None:
    """If a gate held back what matters, a sample would be another one than in a measure that begins here."""
    measure, edges = Betweenness(limit=0, epsilon=0.35), set[Edge]()
    for step in as_steps(stream):
        measure.follow(log_of([step]))
        edges = edges ^ present([step])
        if edges:
            check_drawn(measure, edges, limit=0, epsilon=0.35)


@pytest.mark.parametrize(("seed", "vertices", "most"), [(1, 60, 1), (2, 150, 3), (3, 90, 12)])
def test_samples_of_sparser_graphs(seed: int, vertices: int, most: int) -> None:
    options: dict[str, Any] = {"limit": 20, "epsilon": 0.2, "seed": 5}
    measure, edges = Betweenness(**options), set[Edge]()
    for number, step in enumerate(random_steps(seed, vertices, 200, most)):
        measure.follow(log_of([step]))
        edges ^= present([step])
        if measure.sampled and number % 10 == 0:
            check_drawn(measure, edges, **options)
    assert measure.sampled


def test_what_a_search_cannot_leave_may_be_too_large_to_be_stored() -> None:
    """Two long chains: nothing leads from one to the other, until an arc does."""
    options: dict[str, Any] = {"limit": 10, "epsilon": 0.2}
    chains: Step = [(CAME, (k, 0, k + 1)) for k in range(160) if k != 80]
    measure, edges = Betweenness(**options), present([chains])
    measure.follow(log_of([chains]))
    check_drawn(measure, edges, **options)
    for step in ([(CAME, (80, 0, 81))], [(CAME, (3, 0, 150))], [(WENT, (40, 0, 41))], [(WENT, (80, 0, 81))]):
        measure.follow(log_of([step]))
        edges ^= present([step])
        check_drawn(measure, edges, **options)


def test_only_what_an_arc_can_affect_is_drawn_again() -> None:
    """On a ring of 200, an arc from a vertex to the next but one matters to the pairs around it."""
    measure = Betweenness(limit=10, epsilon=0.1)
    measure.follow(log_of([[(CAME, (k, 0, (k + 1) % 200)) for k in range(200)]]))
    before = drawn(measure)
    measure.follow(log_of([[(CAME, (10, 0, 12))]]))
    changed = [old for old, new in zip(before, drawn(measure), strict=True) if old != new]
    assert changed
    assert len(changed) < len(before)
    assert all(11 in inner for _, _, _, inner in changed)


# --- fairness and the guarantee -------------------------------------------------------------------------------

SEEDS = 120


def run(seed: int, steps: list[Step], **options: Any) -> Betweenness:
    measure = Betweenness(limit=10, seed=seed, **options)
    measure.follow(log_of(steps))
    assert measure.sampled
    return measure


def test_estimates_are_unbiased_after_changes() -> None:
    """The mean over seeds of 30 vertices lies within 6 deviations: a fair one fails with probability 30 * 2e-9."""
    steps = random_steps(11, 30, 90)
    expected = oracle(present(steps))
    runs = [run(seed, steps, epsilon=0.2) for seed in range(SEEDS)]
    pairs, vertices = SEEDS * runs[0].samples, len(expected)
    factor = vertices**2 / ((vertices - 1) * (vertices - 2))
    for vertex, value in expected.items():
        share = value / factor
        mean = np.mean([measure.value(vertex) for measure in runs]) / factor
        assert abs(mean - share) <= 6 * np.sqrt(share * (1 - share) / pairs) + 1e-9


def test_paths_are_equally_likely() -> None:
    """One pair of ends, 1 + 2 * 3 shortest paths between them; shares of the inner vertices within 6 deviations."""
    diamond = [(0, 1), (0, 2), (0, 3), (1, 9), (2, 4), (2, 5), (2, 6), (3, 4), (3, 5), (3, 6), (1, 4), (4, 8), (5, 8)]
    arcs = [*diamond, (6, 8), (8, 7), (9, 8)]
    counts: dict[tuple[int, ...], int] = {}
    for seed in range(40):
        measure = Betweenness(limit=0, epsilon=0.1, seed=seed)
        measure.follow(log_of([[(CAME, (tail, 0, head))] for tail, head in arcs]))
        for source, target, _, inner in drawn(measure):
            if (source, target) == (0, 7):
                counts[tuple(inner)] = counts.get(tuple(inner), 0) + 1
    graph = nx.DiGraph(arcs)
    paths = {tuple(path[1:-1]) for path in nx.all_shortest_paths(graph, 0, 7)}
    total = sum(counts.values())
    assert total > 200
    assert counts.keys() <= paths
    deviation = np.sqrt(total / len(paths) * (1 - 1 / len(paths)))
    assert all(abs(counts.get(path, 0) - total / len(paths)) < 6 * deviation for path in paths)


def test_the_guarantee_holds_over_many_seeds() -> None:
    """Each of 120 runs may be off somewhere with probability 0.1: more than 33 are with probability below 1e-6."""
    steps = random_steps(12, 40, 120)
    expected = oracle(present(steps))
    failed = 0
    for seed in range(SEEDS):
        measure = run(seed, steps, epsilon=0.1, delta=0.1)
        intervals = {vertex: measure.evidence(vertex, measure.value(vertex))["interval"] for vertex in expected}
        failed += any(not low <= expected[v] <= high for v, (low, high) in intervals.items())
    assert failed <= 33


def test_the_number_of_samples_is_that_of_the_bound() -> None:
    few = samples_needed(10_000, 3_000, 0.05, 0.1)
    assert few == pytest.approx(np.log(2 * 2**14 / 0.1) / (2 * 0.05**2), rel=0.003)
    assert samples_needed(10_000, 3_000, 0.05, 0.01) > few > samples_needed(8_000, 3_000, 0.05, 0.1)


# --- going over -----------------------------------------------------------------------------------------------


def test_going_over_and_back_with_hysteresis() -> None:
    """Exact up to 40 vertices; sampled above, down to 30."""
    measure, edges, modes = Betweenness(limit=40, epsilon=0.2), set[Edge](), dict[int, set[bool]]()
    growing = [(CAME, (k, 0, (k * 7 + 3) % k if k else 1)) for k in range(1, 60)]
    steps: list[Step] = [[change] for change in growing]
    steps += [[(WENT, edge)] for _, edge in reversed(growing)]
    for step in steps:
        measure.follow(log_of([step]))
        edges ^= present([step])
        vertices = len({end for edge in edges for end in (edge[0], edge[2])})
        modes.setdefault(vertices, set()).add(measure.sampled)
    assert all(modes[n] == {True} for n in range(41, 60) if n in modes)
    assert all(modes[n] == {False, True} for n in range(31, 40))
    assert all(modes[n] == {False} for n in range(2, 30))


def test_samples_become_more_as_the_graph_grows() -> None:
    measure = Betweenness(limit=10, epsilon=0.2)
    counts = []
    for k in range(100):
        measure.follow(log_of([[(CAME, (k, 0, k + 1))]]))
        counts.append(measure.samples)
    assert counts == sorted(counts)
    assert len(set(counts)) == 5  # none, up to 16 vertices, 32, 64 and 128
    check_drawn(measure, {(k, 0, k + 1) for k in range(100)}, limit=10, epsilon=0.2)
