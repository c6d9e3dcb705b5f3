"""Degrees: as networkx counts the edges of a multigraph, told where they pass a cut at the end of a step."""

from __future__ import annotations

from typing import Literal

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.watch.metrics.degree import Degree
from heliograph.watch.metrics.thresholds import CAME, CHANGED, WENT
from tests.watch.metrics.test_simple_graph_streams import (
    Asking,
    Edge,
    as_log,
    askings,
    borders,
    check_vertex_measure,
    edge_steps,
    listed,
    toggled,
)

Kind = Literal["degree", "indegree", "outdegree"]
KINDS: list[Kind] = ["degree", "indegree", "outdegree"]


def degrees(kind: Kind, edges: set[Edge]) -> dict[int, float]:
    graph = nx.MultiDiGraph()
    graph.add_edges_from((s, o, p) for s, p, o in edges)
    counted = {"degree": graph.degree, "indegree": graph.in_degree, "outdegree": graph.out_degree}[kind]
    return {vertex: float(degree) for vertex, degree in counted}


@given(st.sampled_from(KINDS), edge_steps, askings(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 5.0])), borders)
def test_degrees(kind: Kind, drawn: list[list[Edge]], asked: list[Asking], cuts: list[int]) -> None:
    check_vertex_measure(lambda: Degree(kind), lambda edges: degrees(kind, edges), toggled(drawn), asked, cuts)


@pytest.mark.parametrize(("kind", "value"), [("degree", 2.0), ("indegree", 1.0), ("outdegree", 1.0)])
def test_a_loop_counts_once_in_and_once_out(kind: Kind, value: float) -> None:
    measure = Degree(kind)
    measure.watch_all(None)
    assert listed(measure.follow(as_log([[(CAME, (3, 0, 3))]]))) == [(0, 3, value)]


def test_only_the_end_of_a_step_is_told() -> None:
    measure = Degree()
    measure.watch([0], [1, 2, 3])
    vertex_goes_and_comes = [(CAME, (0, 0, 1)), (CAME, (0, 0, 2)), (WENT, (0, 0, 1)), (WENT, (0, 0, 2))]
    assert listed(measure.follow(as_log([vertex_goes_and_comes]))) == []
    assert listed(measure.follow(as_log([vertex_goes_and_comes[:2]]))) == [(0, 0, 2.0)]


def test_another_weight_is_no_edge() -> None:
    measure = Degree()
    measure.follow(as_log([[(CAME, (0, 0, 1))], [(CHANGED, (0, 0, 1))]]))
    assert measure.value(0) == 1.0


def test_thousands_of_thresholds_are_one_list() -> None:
    measure = Degree()
    for point in range(1, 5001):
        measure.watch([0], [float(point)])
        measure.watch_all([float(point)])
    for point in range(2, 5001):
        measure.unwatch(0, [float(point)])
        measure.unwatch_all([float(point)])
    measure.unwatch_all([1.0])
    said = measure.follow(as_log([[(CAME, (0, 0, other))] for other in range(1, 10)]))
    assert listed(said) == [(0, 0, 1.0)]


def test_more_sayings_than_there_is_room_for_at_first() -> None:
    measure = Degree()
    measure.watch_all(None)
    said = measure.follow(as_log([[(CAME, (0, 0, other))] for other in range(1, 4000)]))
    assert len(said.step) == 2 * 3999
    assert measure.value(0) == 3999.0
