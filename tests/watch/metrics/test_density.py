"""hg:density of neighbourhoods and of selections: after every step what networkx says of the same vertices."""

from __future__ import annotations

from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.density import NeighbourhoodDensity, SelectionDensity, selections
from heliograph.watch.metrics.thresholds import CAME, WENT, Measure, Points
from tests.watch.metrics.density_streams import (
    Edge,
    Step,
    applied,
    arcs,
    as_log,
    expected_sayings,
    follow_in_batches,
    pairs,
    random_steps,
    said_as_set,
    toggles,
)

VERTICES = 8


def density_around(there: set[Edge], centre: int, hops: int) -> float:
    near, made = pairs(there), arcs(there)
    near.add_node(centre)
    return float(nx.density(made.subgraph(nx.ego_graph(near, centre, radius=hops))))


def density_of(there: set[Edge], held: set[int]) -> float:
    made = arcs(there)
    made.add_nodes_from(held)
    return float(nx.density(made.subgraph(held)))


# --- neighbourhoods ---------------------------------------------------------------------------------------------


@given(toggles(VERTICES), st.integers(0, 4))
def test_values_are_those_of_networkx_after_every_step(steps: list[Step], hops: int) -> None:
    measure, there = NeighbourhoodDensity(hops), set[Edge]()
    for vertex in range(0, VERTICES, 2):  # the others are asked for without being watched
        measure.watch([vertex], [0.5])
    for step in steps:
        measure.follow(as_log([step]))
        applied(there, step)
        found = [measure.value(vertex) for vertex in range(VERTICES)]
        assert found == pytest.approx([density_around(there, vertex, hops) for vertex in range(VERTICES)])


@given(toggles(VERTICES), st.integers(1, 3), st.integers(1, 7))
def test_sayings_are_those_of_recomputing_whatever_the_batches(steps: list[Step], hops: int, size: int) -> None:
    watched: dict[int, Points] = {0: [0.25, 0.5], 1: None, 5: [1.0]}
    measure = NeighbourhoodDensity(hops)
    for vertex, points in watched.items():
        assert measure.watch([vertex], points) == vertex
    found = follow_in_batches(measure, steps, size)
    assert found == expected_sayings(steps, watched, lambda there, vertex: density_around(there, vertex, hops))


@given(toggles(VERTICES), st.integers(1, 7))
def test_all_may_be_watched_before_they_are_there(steps: list[Step], size: int) -> None:
    measure = NeighbourhoodDensity(2)
    measure.watch([3], [0.75])
    measure.watch_all([0.5])
    watched: dict[int, Points] = {vertex: [0.5] if vertex != 3 else [0.5, 0.75] for vertex in range(VERTICES)}
    found = follow_in_batches(measure, steps, size)
    assert found == expected_sayings(steps, watched, lambda there, vertex: density_around(there, vertex, 2))


@given(toggles(VERTICES, most=20))
def test_who_watches_later_hears_what_happens_then(steps: list[Step]) -> None:
    """Restored, or watched over a graph that is there: as if watched from the beginning."""
    half = len(steps) // 2
    early, late, restored = (NeighbourhoodDensity(2) for _ in range(3))
    early.watch([0], None)
    restored.watch([0], None)
    early.follow(as_log(steps[:half]))
    late.follow(as_log(steps[:half]))
    late.watch([0], None)
    there: set[Edge] = set()
    for step in steps[:half]:
        applied(there, step)
    restored.restore(as_log([[(CAME, edge) for edge in sorted(there)]]), early.saved())
    rest = as_log(steps[half:])
    assert said_as_set(early.follow(rest)) == said_as_set(late.follow(rest)) == said_as_set(restored.follow(rest))


def test_who_is_not_watched_costs_nothing() -> None:
    """Once unwatched, by itself and with all, a centre holds no vertex."""
    measure = NeighbourhoodDensity(2)
    measure.follow(as_log(random_steps(1, 30, 200)))
    measure.watch([1], [0.5])
    measure.watch([1], None)
    measure.watch_all([0.1])
    groups = measure._groups
    everyone = groups.live
    measure.unwatch_all([0.1])
    alone = groups.live
    measure.unwatch(1, [0.5])
    assert groups.live == alone < everyone
    measure.unwatch(1, None)
    assert groups.live == 0
    assert len(measure.follow(as_log([[(CAME, (1, 9, 2))]])).step) == 0
    with pytest.raises(KeyError):
        measure.unwatch(1, None)


def test_a_long_stream_with_hubs() -> None:
    """Room is made again and again in the middle of what one edge does."""
    steps, measure, there = random_steps(7, 60, 1_500), NeighbourhoodDensity(2), set[Edge]()
    measure.watch_all([0.2])
    for number, step in enumerate(steps):
        measure.follow(as_log([step]))
        applied(there, step)
        if number % 300 == 299:
            found = [measure.value(vertex) for vertex in range(60)]
            assert found == pytest.approx([density_around(there, vertex, 2) for vertex in range(60)])
    measure.follow(as_log([[(WENT, edge) for edge in there]]))
    assert [measure.value(vertex) for vertex in range(60)] == [0.0] * 60


def test_a_measure_is_one() -> None:
    measures: list[Measure] = [NeighbourhoodDensity(1), SelectionDensity()]
    assert [(measure.saved(), measure.evidence(0, 0.5)) for measure in measures] == [({}, {})] * 2


# --- selections -------------------------------------------------------------------------------------------------

picks = st.lists(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, VERTICES - 1), st.booleans()), max_size=3), max_size=40
)


def selected_rows(picked: list[list[tuple[int, int, bool]]]) -> list[list[tuple[int, int, int]]]:
    """By step rows (instance, vertex, times): one more solution binds a vertex, or one less of those that do."""
    bound: Counter[tuple[int, int]] = Counter()
    rows: list[list[tuple[int, int, int]]] = []
    for step in picked:
        rows.append([])
        for instance, vertex, more in step:
            times = 1 if more or not bound[instance, vertex] else -1
            bound[instance, vertex] += times
            rows[-1].append((instance, vertex, times))
    return rows


@given(toggles(VERTICES), picks, st.integers(1, 7))
def test_selections_are_measured_as_they_change(
    steps: list[Step], picked: list[list[tuple[int, int, bool]]], size: int
) -> None:
    count = max(len(steps), len(picked))
    steps = [*steps, *([[]] * (count - len(steps)))]
    rows = selected_rows([*picked, *([[]] * (count - len(picked)))])
    measure, watched = SelectionDensity(), {0: None, 1: [0.3, 0.6]}
    assert [measure.watch([], points) for points in watched.values()] == [0, 1]

    found = set()
    for first in range(0, count, size):
        some = [(n, *row) for n, step in enumerate(rows[first : first + size]) for row in step]
        found |= said_as_set(measure.follow(as_log(steps[first : first + size]), selections(some)), first)
    bound: Counter[tuple[int, int]] = Counter()
    ahead = iter(rows)
    states: list[Counter[tuple[int, int]]] = []

    def value(there: set[Edge], instance: int) -> float:
        if instance == 0:
            for one, vertex, times in next(ahead):
                bound[one, vertex] += times
            states.append(+bound)
        return density_of(there, {vertex for one, vertex in states[-1] if one == instance})

    assert found == expected_sayings(steps, watched, value)


def test_a_selected_vertex_may_have_more_neighbours_than_there_is_room_for() -> None:
    """None of them follows it, so no room is needed for them."""
    measure = SelectionDensity()
    measure.follow(as_log([[(CAME, (0, 0, other)) for other in range(1, 100)]]))
    chosen = measure.watch([0, 1, 2], None)
    assert measure.value(chosen) == pytest.approx(2 / 6)
    said = measure.follow(as_log([[]]), selections([(0, chosen, 0, 1), (0, chosen, 1, -1)]))
    assert said_as_set(said) == {(0, chosen, 0.5)}


def test_a_selection_is_set_silently_and_goes_with_who_watches() -> None:
    measure = SelectionDensity()
    measure.restore(as_log([[(CAME, (0, 5, 1)), (CAME, (1, 5, 0)), (CAME, (1, 5, 2))]]), {})
    pair, triple = measure.watch([0, 1, 1], [0.9]), measure.watch([0, 1, 2], [0.9])
    assert (measure.value(pair), measure.value(triple)) == (1.0, 0.5)
    measure.select(triple, [0], [2, 0])
    assert measure.value(triple) == 1.0
    measure.select(pair, [], [1, 1])
    assert measure.value(pair) == 0.0
    measure.watch_again(pair, None)
    measure.unwatch(pair, [0.9])
    assert len(measure.follow(as_log([[(CAME, (0, 5, 2))]])).step) == 0
    measure.unwatch(pair, None)
    assert measure.watch([0, 2], [0.9]) == pair
    assert measure.value(pair) == 0.5
    measure.watch_all([0.4])
    assert said_as_set(measure.follow(as_log([[(WENT, (0, 5, 2))]]))) == {(0, pair, 0.0)}
    measure.unwatch_all([0.4])
    assert len(measure.follow(as_log([[(CAME, (0, 5, 2))]])).step) == 0
