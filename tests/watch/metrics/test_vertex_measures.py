"""Metrics of one vertex: values and reports are those of an oracle that recomputes, in any batches, restored or not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.terms import plain_name
from heliograph.watch.metrics.betweenness import Betweenness
from heliograph.watch.metrics.clustering import Clustering
from heliograph.watch.metrics.degree import Degree
from heliograph.watch.metrics.dense import FACTOR, Dense
from heliograph.watch.metrics.density import NeighbourhoodDensity
from heliograph.watch.metrics.naive import naive_value
from heliograph.watch.metrics.thresholds import CAME, CHANGED, WENT, Measure
from tests.watch.metrics.streams import (
    VERTICES,
    Edge,
    as_log,
    ask,
    askings,
    at_ends,
    borders,
    check_close,
    directed,
    edge_steps,
    expected_sayings,
    follow_in_parts,
    listed,
    toggled,
    undirected,
)

Kind = Literal["degree", "indegree", "outdegree"]
EVERYBODY = range(VERTICES + 3)  # some of them never there


class Case(NamedTuple):
    make: Callable[[], Measure]
    values: Callable[[set[Edge]], dict[int, float]]
    points: tuple[float, ...]


def degrees(kind: Kind, edges: set[Edge]) -> dict[int, float]:
    graph = nx.MultiDiGraph([(s, o) for s, _, o in edges])
    return dict({"degree": graph.degree, "indegree": graph.in_degree, "outdegree": graph.out_degree}[kind])


def density_around(edges: set[Edge], hops: int) -> dict[int, float]:
    near, made = undirected(edges), directed(edges)
    return {x: float(nx.density(made.subgraph(nx.ego_graph(near, x, radius=hops)))) for x in near}


def betweenness(edges: set[Edge]) -> dict[int, float]:
    graph = nx.DiGraph([(s, o) for s, _, o in edges])
    return {x: round(value, 12) for x, value in nx.betweenness_centrality(graph).items()}


def dense(edges: set[Edge]) -> dict[int, float]:
    """By its twin in plain Python."""
    graph: Any = {tuple(plain_name(str(part)) for part in edge): None for edge in edges}
    return {x: naive_value("dense", [plain_name(str(x))], graph) for x in undirected(edges)}


SHARES = (0.0, 0.1, 0.25, 1 / 3, 0.5, 2 / 3, 1.0)
KINDS: tuple[Kind, ...] = ("degree", "indegree", "outdegree")
CASES = {
    **{kind: Case(partial(Degree, kind), partial(degrees, kind), (0.0, 0.5, 1.0, 2.0, 3.0, 5.0)) for kind in KINDS},
    "clustering": Case(Clustering, lambda edges: dict(nx.clustering(undirected(edges))), SHARES),
    **{
        f"density within {hops}": Case(partial(NeighbourhoodDensity, hops), partial(density_around, hops=hops), SHARES)
        for hops in (0, 1, 2, 4)
    },
    "betweenness": Case(Betweenness, betweenness, (0.03, 0.05, 0.1, 0.21)),
    "dense": Case(Dense, dense, (0.5, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.6)),
}
cases = st.sampled_from(sorted(CASES))


@pytest.mark.parametrize("name", CASES)
@given(edge_steps, st.data(), borders)
def test_values_and_reports_are_those_of_recomputing(
    name: str, drawn: list[list[Edge]], data: st.DataObject, cuts: list[int]
) -> None:
    make, values, points = CASES[name]
    steps, asked = toggled(drawn), data.draw(askings(st.sampled_from(points)))
    measure, restored = make(), make()
    ask(measure, asked)
    check_close(follow_in_parts(measure, steps, cuts), expected_sayings(steps, asked, values))
    *_, there = [set[Edge](), *at_ends(steps)]
    restored.restore(as_log([[(CAME, edge) for edge in sorted(there)]]), measure.saved())
    expected = values(there)
    for vertex in EVERYBODY:
        value = measure.value(vertex)
        assert value == restored.value(vertex) == pytest.approx(expected.get(vertex, 0.0), abs=1e-12)
        shown = {"interval": [value, FACTOR * value]} if name == "dense" else {}
        assert measure.evidence(vertex, value) == shown
    ask(restored, asked)
    rest = as_log([[(WENT, edge)] for edge in sorted(there)])  # everything goes, and both report the same
    assert listed(measure.follow(rest)) == listed(restored.follow(rest))


@given(cases, edge_steps, st.data())
def test_a_later_watcher_hears_what_happens_then(name: str, drawn: list[list[Edge]], data: st.DataObject) -> None:
    """And what is no longer watched, by itself or with all others, is not reported."""
    make, _, points = CASES[name]
    asked = data.draw(st.none() | st.lists(st.sampled_from(points), max_size=2))
    steps, half = toggled(drawn), len(drawn) // 2
    early, late, of_all = (make() for _ in range(3))
    early.watch([0], asked)
    for measure in (early, late, of_all):
        measure.follow(as_log(steps[:half]))
    assert late.watch([0], asked) == 0
    of_all.watch_all(asked)
    of_all.watch([0], asked)
    of_all.unwatch_all(asked)
    rest = as_log(steps[half:])
    assert listed(early.follow(rest)) == listed(late.follow(rest)) == listed(of_all.follow(rest))
    late.unwatch(0, asked)
    assert listed(late.follow(as_log([[(CAME, (0, 7, other)) for other in range(1, 9)]]))) == []
    with pytest.raises(KeyError):
        late.unwatch(0, asked)


@pytest.mark.parametrize("name", CASES)
def test_another_weight_changes_nothing(name: str) -> None:
    measure = CASES[name].make()
    measure.watch_all(None)
    measure.follow(as_log([[(CAME, (0, 0, 1)), (CAME, (1, 0, 2))]]))
    assert listed(measure.follow(as_log([[(CHANGED, (0, 0, 1))]]))) == []
    assert measure.value(99) == 0.0


# --- degrees ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "value"), [("degree", 2.0), ("indegree", 1.0), ("outdegree", 1.0)])
def test_a_loop_counts_once_in_and_once_out(kind: Kind, value: float) -> None:
    measure = Degree(kind)
    measure.watch_all(None)
    assert listed(measure.follow(as_log([[(CAME, (3, 0, 3))]]))) == [(0, 3, value)]


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


def test_more_reports_than_there_is_room_for_at_first() -> None:
    measure = Degree()
    measure.watch_all(None)
    said = measure.follow(as_log([[(CAME, (0, 0, other))] for other in range(1, 4000)]))
    assert len(said.step) == 2 * 3999
    assert measure.value(0) == 3999.0
