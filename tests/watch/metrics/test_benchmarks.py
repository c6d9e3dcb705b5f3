"""The metrics table measures what it says, on small workloads, and measures nothing where an answer is wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest
from benchmarks import metric_betweenness, metric_density, metric_local, metric_paths, metric_queries
from benchmarks.check import Row, run
from benchmarks.filter_workloads import WrongAnswer
from benchmarks.metric_local import PlainSets, paper_log, paper_stream
from benchmarks.metric_stage import Asked, Stage
from benchmarks.metric_streams import Size, choose, stream
from benchmarks.tables import TABLES

from heliograph.watch.metrics.thresholds import CAME, WENT

SMALL = Size(vertices=150, changes=60, instances=5, cap=30)
LOCAL = metric_local.Size(vertices=150, additions=400, samples=2)
FEW = metric_betweenness.Size(exact=60, sampled=120, links=3, cap=12, exact_updates=30, updates=60, batch=20, samples=1)
ROWS = TABLES["metrics"]
MEASURES = {
    measure
    for module in (metric_local, metric_paths, metric_density, metric_betweenness, metric_queries)
    for name, measure in vars(module).items()
    if name.startswith("measure_")
}


def _function(row: Row) -> Callable[..., Any]:
    return row.measure.func if isinstance(row.measure, partial) else row.measure


def _size(row: Row) -> Any:
    """A small one of the kind the row's measure takes."""
    full = _function(row).__defaults__[-1]  # type: ignore[index]
    return {type(each): each for each in (SMALL, LOCAL, FEW)}[type(full)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_measures(row: Row) -> None:
    options = row.measure.keywords if isinstance(row.measure, partial) else {}
    measure = partial(_function(row), size=_size(row), **options)
    (outcome,) = run([Row(row.name, "small", "", None, measure, repeats=1)], 5)
    assert 1 <= len(outcome.samples) <= 3
    assert all(sample > 0 for sample in outcome.samples)


def test_every_claim_of_the_issue_is_in_the_table() -> None:
    assert {_function(row) for row in ROWS} == MEASURES
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert all(len(row.workload) <= 58 and len(row.name) <= 26 for row in ROWS)  # the columns of the printed table
    assert all(row.at_least for row in ROWS if row.target is not None)
    assert {row.name: row.target for row in ROWS if row.target is not None} == {
        "degree, clustering": 3,
        **dict.fromkeys(("distance ≤ 4", "distance ≤ 4, watched"), 50_000),
        **dict.fromkeys(("4-cliques", "4-cliques, watched"), 20_000),
        **dict.fromkeys(("density, 2 hops", "density, 2 hops, watched"), 20_000),
        **dict.fromkeys(("betweenness", "betweenness, watched"), 20),
        "betweenness, sampled": 160,
        **dict.fromkeys(("betweenness, batched", "betweenness, sampled, w."), 1_200),
        **dict.fromkeys(("Steiner trees", "Steiner trees, watched"), 5_000),
    }


def test_sizes_are_those_of_the_issue() -> None:
    large = [metric_paths.DISTANCES, metric_local.ATTACHED, metric_density.FULL]
    assert [(size.vertices, size.links, size.cap) for size in large] == [(100_000, 5, 500)] * 3
    assert [size.instances for size in large] == [100, 100, 1_000]
    trees = metric_paths.TREES
    assert (trees.vertices, trees.instances, metric_paths.TERMINALS) == (20_000, 100, 4)
    assert (metric_queries.EXACT.vertices, metric_queries.SAMPLED.vertices) == (4_000, 10_000)
    full = metric_betweenness.Size()
    assert (full.exact, full.sampled, full.links, full.cap) == (4_000, 10_000, 5, 500)
    assert (metric_betweenness.EPSILON, metric_betweenness.DELTA) == (0.05, 0.1)


# --- streams ----------------------------------------------------------------------------------------------------


def test_a_third_of_the_updates_are_deletions_and_no_degree_is_above_the_cap() -> None:
    given = stream(3, SMALL)
    changes = np.concatenate([part.change for part in given.parts])
    assert (len(changes), int(np.count_nonzero(changes == WENT))) == (180, 60)
    assert len(given.after) == len(given.before.step) + 120 - 60
    assert np.bincount(given.after.ravel()).max() <= SMALL.cap
    assert stream(3, SMALL._replace(instances=3)) is given  # however many ask


def test_the_paper_shaped_stream_deletes_as_much() -> None:
    log = paper_log(1, LOCAL)
    assert (log.change == WENT).mean() == pytest.approx(1 / 3, abs=0.01)
    assert len(paper_stream(1, LOCAL).after) == np.count_nonzero(log.change == CAME) - np.count_nonzero(
        log.change == WENT
    )


def test_whoever_asks_asks_for_different_vertices() -> None:
    asked = choose(3, SMALL, 4)
    assert len(asked) == SMALL.instances
    assert all(len(set(vertices)) == 4 and max(vertices) < SMALL.vertices for vertices in asked)


# --- wrong answers ----------------------------------------------------------------------------------------------


def test_a_rerun_that_differs_is_no_time() -> None:
    with pytest.raises(WrongAnswer, match="1 of 2 differ"):
        metric_paths.rerun_seconds({(0, 1): 1.0, (0, 2): 2.0}, lambda ends: 1.0)


def test_a_wrong_value_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PlainSets, "coefficient", lambda self, vertex: 2.0)
    with pytest.raises(WrongAnswer, match="other edges or triangles"):
        metric_local.measure_plain(2, LOCAL)
    monkeypatch.setattr(metric_local, "four_cliques", lambda graph: -1)
    with pytest.raises(WrongAnswer, match="by networkx"):
        metric_local.measure_cliques(2, SMALL)
    monkeypatch.setattr(metric_density, "nx_density", lambda arcs, pairs, centre: 0.5)
    with pytest.raises(WrongAnswer, match="instead of"):
        metric_density.measure_density(2, SMALL)


def test_what_subscribers_are_told_is_held_to_the_answer() -> None:
    given, asked = stream(3, SMALL), Asked("hg:degree({})", ">=", 10)
    stage = Stage(given.before, {"all": asked.everywhere, "one": asked.about((4,))})
    stage.publish(given)
    degrees: dict[int, int] = dict(nx.DiGraph(given.after.tolist()).degree)
    assert min(degrees.values()) < 10 <= max(degrees.values())
    stage.check("all", asked, {(vertex,): degree for vertex, degree in degrees.items()})
    stage.check("one", asked, {(4,): degrees[4]})
    stage.check_solutions("all", ((vertex,) for vertex, degree in degrees.items() if degree >= 10))
    with pytest.raises(WrongAnswer, match="and there are 0"):
        stage.check_solutions("all", ())
    with pytest.raises(WrongAnswer, match="and it is"):
        stage.check("more", asked, {(4,): degrees[4] + 1})
    with pytest.raises(WrongAnswer, match="where the value is"):
        stage.check("all", asked._replace(limit=0), {(min(degrees, key=degrees.__getitem__),): min(degrees.values())})


def test_what_is_told_twice_is_no_measurement() -> None:
    asked = Asked("hg:degree({})", ">=", 10)
    stage = Stage(stream(3, SMALL).before, {"all": asked.everywhere})
    stage._true.clear()
    with pytest.raises(WrongAnswer, match="told to be - twice"):
        stage.publish(stream(3, SMALL))


@pytest.mark.parametrize("limit", [0, 100])
def test_a_wrong_betweenness_is_no_measurement(limit: int) -> None:
    given = metric_betweenness.stream(4, 60, 30, FEW)
    assert (given.changes[:, 0] == WENT).sum() == 10
    assert metric_betweenness.after(given).number_of_edges() == len(given.edges) + 10
    assert np.bincount(given.edges.ravel()).max() <= FEW.cap
    measure = metric_betweenness.begun(given.edges, limit)
    measure._sums.values[:] = 0.9
    with pytest.raises(WrongAnswer, match="off by"):
        metric_betweenness._check(measure, given, 0.05)
    with pytest.raises(WrongAnswer, match="not sampled"):
        metric_betweenness.measure_sampled(3, FEW._replace(exact=500))
