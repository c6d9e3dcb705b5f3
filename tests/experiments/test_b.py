"""The experiments of [B] run at a tiny size, tell of every algorithm, and can contradict the paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest
from benchmarks.experiments import b_points
from benchmarks.experiments.b_exchange import INDEX, OURS, PAPER, SETS, TESTS, WALK, Ground, Setting
from benchmarks.experiments.b_statistics import reaches, short_cycles, statistics_of
from benchmarks.experiments.experiment import Experiment, Outcome, Point, Run, Word
from benchmarks.figures import paper_b
from benchmarks.filter_workloads import WrongAnswer

from heliograph.workloads.route import Links, exchange, sizes

TINY: dict[str, Any] = {"scale": 0.01, "events": 40, "repeats": 1, "divisors": [4, 1], "times": [1, 2], "divisor": 4}
ALL = {*PAPER, WALK, OURS}
SERIES: dict[str, set[str]] = {
    "b-12": {*ALL, TESTS},
    "b-13": {*ALL, INDEX},
    "b-14": ALL,
    "b-15": {*ALL, INDEX},
    "b-16": ALL,
    "b-table2": {*SETS, *(f"{name}, paper" for name in SETS)},
    "b-table3": {*SETS, *(f"{name}, paper" for name in SETS)},
}
FIGURES = ("12", "13", "14", "15", "16", "TABLE2", "TABLE3")
EXPERIMENTS = [getattr(paper_b, f"EXPERIMENT_{name}") for name in FIGURES]


@pytest.fixture(scope="module")
def ground() -> Ground:
    return Ground(Setting(3, 0.01, 0.25, 40, 1))


@pytest.mark.long
@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_every_algorithm_is_measured_at_every_place(experiment: Experiment) -> None:
    outcome = Outcome(tuple(experiment.measure(Run(3, TINY))))
    assert set(outcome.series) == SERIES[experiment.name]
    assert len(outcome.xs) == 2
    assert all(len(outcome.line(series)) == 2 for series in outcome.series)
    assert all(sample >= 0 for point in outcome.points for sample in point.samples)
    assert experiment.judge(outcome).sentence.endswith(".")
    assert not any("|" in series for series in outcome.series)  # which parts the cells of a table


def test_sets_are_those_of_the_papers_definitions(ground: Ground) -> None:
    """By networkx, from the tables: N_R are the targets of the publisher and of the results."""
    graph = nx.DiGraph(zip(*(ground.tables["edges"][name].to_pylist() for name in ("source", "target")), strict=True))
    results: dict[str, list[str]] = {str(id): [] for id in ground.tables["events"]["event_id"].to_pylist()}
    for event, node in zip(
        *(ground.tables["expected"][name].to_pylist() for name in ("publication_id", "subscription_id")), strict=True
    ):
        results[str(event)].append(str(node))
    publishers = ground.tables["events"]["publisher"].to_pylist()
    reachable = [
        len({target for node in [start, *nodes] for target in graph.successors(node)})
        for start, nodes in zip(publishers, results.values(), strict=True)
    ]
    edges = [sum(graph.out_degree(node) for node in nodes) for nodes in results.values()]
    found = ground._sets()
    assert found["N_R"].value == pytest.approx(np.mean(reachable))
    assert found["N_R ∩ N_V"].value == pytest.approx(np.mean([len(nodes) for nodes in results.values()]))
    assert found["out(N_R ∩ N_V)"].value == pytest.approx(np.mean(edges))
    assert found["N_V"].value == pytest.approx(0.25 * (sizes(0.01).networks + sizes(0.01).advertisers), rel=0.3)


def test_a_wrong_answer_is_not_measured() -> None:
    wrong = Ground(Setting(3, 0.01, 0.25, 40, 1))
    rows = np.flatnonzero([len(nodes) for nodes in wrong.reached])
    ways: list[Callable[[], float]] = [*map(wrong._way, (*PAPER, "lanes")), wrong._by_walk]
    ways += [wrong._first_way(name, rows) for name in PAPER]
    ways += [wrong._first_ours(rows), partial(wrong._first_by_walk, rows)]
    assert all(way() >= 0 for way in ways)
    wrong.reached = [nodes[:0] for nodes in wrong.reached]
    for way in ways:
        with pytest.raises(WrongAnswer):
            way()


# --- table 1 ----------------------------------------------------------------------------------------------------


def test_statistics_agree_with_networkx() -> None:
    size = sizes(0.02)
    links = exchange(np.random.default_rng(4), size)
    graph = nx.DiGraph(zip(links.source.tolist(), links.target.tolist(), strict=True))
    publishers = np.arange(size.publishers)
    assert reaches(links, publishers, size.total).tolist() == [len(nx.descendants(graph, node)) for node in publishers]
    found = statistics_of(links, size.total)
    components = list(nx.strongly_connected_components(graph))
    assert (found["components"], found["largest component"]) == (len(components), max(map(len, components)))
    assert (found["publishers"], found["networks"]) == (size.publishers, size.networks)


@pytest.mark.parametrize("seed", range(10))
def test_short_cycles_are_counted(seed: int) -> None:
    dense = np.random.default_rng(seed).random((7, 7)) < 0.5
    np.fill_diagonal(dense, False)
    links = Links(*np.nonzero(dense))
    graph = nx.DiGraph(zip(links.source.tolist(), links.target.tolist(), strict=True))
    assert short_cycles(links, np.arange(7)) == sum(1 for _ in nx.simple_cycles(graph, length_bound=5))


def test_what_is_said_of_table_1() -> None:
    printed = {name: figure for name, (figure, _) in paper_b._PRINTED.items()}
    assert _of_table_1(printed).word is Word.REPRODUCED
    assert _of_table_1({**printed, "edges": 87_000}).word is Word.PARTLY
    assert "all but edges" in _of_table_1({**printed, "edges": 87_000}).sentence
    outcome = Outcome(tuple(paper_b.measure_table1(Run(3, {"scale": 0.01, "exchanges": 2}))))
    assert paper_b.judge_table1(outcome).word is Word.DIFFERENT
    assert {len(point.samples) for point in outcome.line(paper_b.OURS_TABLE1)} == {2}


def _of_table_1(generated: Mapping[str, float]) -> Any:
    points = (Point(paper_b.OURS_TABLE1, name, [value]) for name, value in generated.items())
    return paper_b.judge_table1(Outcome(tuple(points)))


# --- verdicts ---------------------------------------------------------------------------------------------------


def _outcome(xs: Sequence[Any], **lines: Sequence[float]) -> Outcome:
    """Lines by their names with _ for -; those that are not given lie at 1."""
    given = {name.replace("_", "-"): line for name, line in lines.items()}
    whole = {name: given.get(name, [1.0] * len(xs)) for name in (*PAPER, WALK, OURS, INDEX, TESTS)}
    facts = {"N_R": 100.0}
    return Outcome(tuple(Point(name, x, [y], facts) for name, line in whole.items() for x, y in zip(xs, line)))


@pytest.mark.parametrize(
    ("judge", "xs", "general", "others"),
    [
        (paper_b.judge_12, ["1/16", "1/2", "1"], [[5, 5, 5]] * 3, {"bfs": [[1, 6, 9], [1, 2, 9], [1, 2, 4]]}),
        (paper_b.EXPERIMENT_13.judge, ["1/2", "1"], [[1, 5], [1, 7], [2, 9]], {"index_bfs": [[1, 6]] * 3}),
        (paper_b.EXPERIMENT_15.judge, [1, 5], [[1, 5], [1, 7], [2, 9]], {"index_bfs": [[1, 6]] * 3}),
        (paper_b.judge_14, ["1/2", "1"], [[1, 5], [1, 9], [1, 12]], {"index_bfs": [[2, 10]] * 3}),
        (paper_b.judge_16, [1, 5], [[1, 4], [1, 7.5], [1, 9]], {"index_bfs": [[2, 9]] * 3}),
    ],
    ids=["bfs", "index baseline", "index baseline, larger", "first result", "first result, larger"],
)
def test_what_is_said_of_lines(judge: Any, xs: list[Any], general: list[Any], others: dict[str, list[Any]]) -> None:
    """Of three outcomes: the first is what the paper says, the second in part, the third is not."""
    for number, word in enumerate((Word.REPRODUCED, Word.PARTLY, Word.DIFFERENT)):
        drawn = {name: lines[number] for name, lines in others.items()}
        assert judge(_outcome(xs, general=general[number], **drawn)).word is word


def test_what_is_said_of_sets() -> None:
    words = {1.1: Word.REPRODUCED, 3.0: Word.DIFFERENT}
    for factor, word in words.items():
        assert b_points.judge_sets(_sets([factor] * 4)).word is word
    assert b_points.judge_sets(_sets([1, 1, 1, 3.0])).word is Word.PARTLY
    wide = b_points.judge_sets(_sets([1, 1, 1, 3.0], error=120.0))
    assert wide.word is Word.PARTLY
    assert "1 of the others within two standard errors" in wide.sentence


def _sets(factors: Sequence[float], error: float = 1.0) -> Outcome:
    pairs, facts = zip(SETS, factors, strict=True), {"standard error": error}
    points = [
        (Point(name, "1", [100 * factor], facts), Point(f"{name}, paper", "1", [100.0])) for name, factor in pairs
    ]
    return Outcome(tuple(point for pair in points for point in pair))
