"""hg:density of neighbourhoods and of selections: what networkx says of the same vertices.

Values and reports of neighbourhoods in random streams are tested in `test_vertex_measures`.
"""

from __future__ import annotations

from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.density import NeighbourhoodDensity, SelectionDensity, selections
from heliograph.watch.metrics.thresholds import CAME, WENT, Points
from tests.watch.metrics.streams import (
    VERTICES,
    Edge,
    Saying,
    as_log,
    at_ends,
    check_close,
    directed,
    edge_steps,
    listed,
    passes,
    random_steps,
    toggled,
    undirected,
)


def density_around(there: set[Edge], centre: int, hops: int) -> float:
    near, made = undirected(there), directed(there)
    near.add_node(centre)
    return float(nx.density(made.subgraph(nx.ego_graph(near, centre, radius=hops))))


def density_of(there: set[Edge], held: set[int]) -> float:
    made = directed(there)
    made.add_nodes_from(held)
    return float(nx.density(made.subgraph(held)))


# --- neighbourhoods ---------------------------------------------------------------------------------------------


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
    for number, (step, there) in enumerate(zip(steps, at_ends(steps), strict=True)):
        measure.follow(as_log([step]))
        if number % 300 == 299:
            found = [measure.value(vertex) for vertex in range(60)]
            assert found == pytest.approx([density_around(there, vertex, 2) for vertex in range(60)])
    measure.follow(as_log([[(WENT, edge) for edge in sorted(there)]]))
    assert [measure.value(vertex) for vertex in range(60)] == [0.0] * 60


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


@given(edge_steps, picks, st.integers(1, 7))
def test_selections_are_measured_as_they_change(
    drawn: list[list[Edge]], picked: list[list[tuple[int, int, bool]]], size: int
) -> None:
    count = max(len(drawn), len(picked))
    steps = toggled([*drawn, *([[]] * (count - len(drawn)))])
    rows = selected_rows([*picked, *([[]] * (count - len(picked)))])
    measure = SelectionDensity()
    watched: dict[int, Points] = {0: None, 1: [0.3, 0.6]}
    assert [measure.watch([], points) for points in watched.values()] == [0, 1]
    found: list[Saying] = []
    for first in range(0, count, size):
        some = selections([(n, *row) for n, step in enumerate(rows[first : first + size]) for row in step])
        said = listed(measure.follow(as_log(steps[first : first + size]), some))
        found += [(first + step, instance, value) for step, instance, value in said]
    bound, expected, before = Counter[tuple[int, int]](), list[Saying](), [0.0, 0.0]
    for number, there in enumerate(at_ends(steps)):
        for instance, vertex, times in rows[number]:
            bound[instance, vertex] += times
        for instance, points in watched.items():
            after = density_of(there, {vertex for one, vertex in +bound if one == instance})
            if passes(points, before[instance], after):
                expected.append((number, instance, after))
            before[instance] = after
    check_close(found, expected)


def test_a_selected_vertex_may_have_more_neighbours_than_there_is_room_for() -> None:
    """None of them follows it, so no room is needed for them."""
    measure = SelectionDensity()
    measure.follow(as_log([[(CAME, (0, 0, other)) for other in range(1, 100)]]))
    chosen = measure.watch([0, 1, 2], None)
    assert measure.value(chosen) == pytest.approx(2 / 6)
    said = measure.follow(as_log([[]]), selections([(0, chosen, 0, 1), (0, chosen, 1, -1)]))
    assert listed(said) == [(0, chosen, 0.5)]


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
    assert listed(measure.follow(as_log([[(WENT, (0, 5, 2))]]))) == [(0, pair, 0.0)]
    measure.unwatch_all([0.4])
    assert len(measure.follow(as_log([[(CAME, (0, 5, 2))]])).step) == 0
