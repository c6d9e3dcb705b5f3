"""The tables of exact betweenness are, after every arc, those worked out from the graph alone."""

from __future__ import annotations

import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.betweenness import UNREACHED, Arc, ExactTables, Sums

arcs_of_few = st.tuples(st.integers(0, 8), st.integers(0, 8)).filter(lambda arc: arc[0] != arc[1])


def sums_of(vertices: int) -> Sums:
    sums = Sums()
    sums.resize("vertex", max(vertices, len(sums.raw)))
    return sums


def toggle(exact: ExactTables, graph: nx.DiGraph, arc: Arc, vertices: int) -> None:
    """An arc comes, or goes if it is there."""
    there = graph.has_edge(*arc)
    assert exact.change([arc] if there else [], [] if there else [arc], sums_of(vertices))
    (graph.remove_edge if there else graph.add_edge)(*arc)


def check_tables(exact: ExactTables, graph: nx.DiGraph) -> None:
    """Distances and counts of paths are networkx's, and nothing is left where updates write along their way."""
    slots = exact._slots
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    for source, row in slots.items():
        for target, column in slots.items():
            length = lengths[source].get(target, UNREACHED)
            paths = sum(1 for _ in nx.all_shortest_paths(graph, source, target)) if length < UNREACHED else 0
            assert (exact.distance[row, column], exact.paths[row, column]) == (length, paths)
    assert not any(marks.any() for marks in (exact.mark, exact.lost, exact.level))


@given(st.lists(arcs_of_few, min_size=1, max_size=50))
def test_tables_are_right_after_every_arc(arcs: list[Arc]) -> None:
    exact, graph = ExactTables(4_000), nx.DiGraph()
    for arc in arcs:
        toggle(exact, graph, arc, 9)
    check_tables(exact, graph)


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_larger_graphs_are_those_worked_out_anew(seed: int) -> None:
    """Long ways round: a ring of 40 with some chords, so that an arc that goes makes many much farther."""
    rng, exact, graph = random.Random(seed), ExactTables(4_000), nx.DiGraph()
    for k in range(40):
        toggle(exact, graph, (k, (k + 1) % 40), 40)
    for _ in range(120):
        tail, head = rng.sample(range(40), 2)
        arc = (tail, head) if rng.random() < 0.5 else rng.choice(sorted(graph.edges))
        toggle(exact, graph, arc, 40)
        check_anew(exact, graph)


def check_anew(exact: ExactTables, graph: nx.DiGraph) -> None:
    other = ExactTables(4_000, np.array(graph.edges, np.int32))
    assert not other.is_beyond
    ours, theirs = (np.array([each._slots[vertex] for vertex in other._slots]) for each in (exact, other))
    for name in ("distance", "paths"):
        found, expected = getattr(exact, name), getattr(other, name)
        assert (found[np.ix_(ours, ours)] == expected[np.ix_(theirs, theirs)]).all()
    assert exact.sums[ours] == pytest.approx(other.sums[theirs], abs=1e-9)


@given(st.sets(arcs_of_few, max_size=25), arcs_of_few)
def test_the_law_of_sources_and_targets(arcs: set[Arc], arc: Arc) -> None:
    """Where an arc fails the test, it changes neither distances nor numbers of paths."""
    without = nx.DiGraph(arcs - {arc})
    without.add_nodes_from(range(9))
    with_arc = nx.DiGraph(without)
    with_arc.add_edge(*arc)
    lengths, new = (dict(nx.all_pairs_shortest_path_length(graph)) for graph in (without, with_arc))
    for before in (lengths, new):  # as it comes, and as it goes
        for source in range(9):
            first = lengths[source].get(arc[0], 99) + 1
            for target in range(9):
                if first + lengths[arc[1]].get(target, 99) > before[source].get(target, 99):
                    assert paths(without, source, target) == paths(with_arc, source, target)


def paths(graph: nx.DiGraph, source: int, target: int) -> set[tuple[int, ...]]:
    found = nx.all_shortest_paths(graph, source, target) if nx.has_path(graph, source, target) else ()
    return {tuple(path) for path in found}


def test_tables_grow_up_to_the_limit_and_no_further() -> None:
    exact, graph = ExactTables(50), nx.DiGraph()
    for k in range(49):
        toggle(exact, graph, (k, k + 1), 60)
    assert exact.slots == 50
    check_tables(exact, graph)
