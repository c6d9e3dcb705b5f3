"""The route's speed table measures what it says, on small workloads, and measures nothing where an answer is wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import pyarrow as pa
import pytest
from benchmarks import route_changes, route_size, route_speed
from benchmarks.check import Row, run
from benchmarks.filter_workloads import WrongAnswer
from benchmarks.route_script import Script
from benchmarks.route_walks import from_arguments, from_dicts
from benchmarks.route_workloads import Case, Size, checked, loaded, make, singles, spelled_out
from benchmarks.tables import TABLES

from heliograph.workloads.route import generate_route, sizes

SMALL = Size(scale=0.01, copies=2, events=40, streamed=5, changes=28, warm=0.01)


def _function(row: Row) -> Callable[..., Any]:
    return row.measure.func if isinstance(row.measure, partial) else row.measure


def _options(row: Row) -> dict[str, Any]:
    return row.measure.keywords if isinstance(row.measure, partial) else {}


MEASURES = {
    measure
    for module in (route_speed, route_size, route_changes)
    for name, measure in vars(module).items()
    if name.startswith("measure_")
}
ROWS = [row for row in TABLES["route"] if _function(row) in MEASURES]


@pytest.fixture(scope="module")
def case() -> Case:
    return make(3, SMALL)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_measures(row: Row) -> None:
    options = _options(row)
    if "copies" in options:
        options = {"copies": min(options["copies"], SMALL.copies)}
    (outcome,) = run([Row(row.name, "small", "", None, partial(_function(row), size=SMALL, **options), repeats=1)], 5)
    assert len(outcome.samples) in (1, route_speed.SAMPLES)
    assert all(sample > 0 for sample in outcome.samples) or row.name.startswith("memory")


def test_every_claim_of_the_issue_is_in_the_table() -> None:
    rows = TABLES["route"]
    assert {_function(row) for row in ROWS} == MEASURES
    assert len({row.name for row in rows}) == len(rows)
    assert all(len(row.workload) <= 58 and len(row.name) <= 26 for row in rows)  # the columns of the printed table
    claims = {row.name: (row.target, row.at_least) for row in rows if row.target is not None}
    times = {"1/16": 3, "1/8": 10, "1/4": 30, "1/2": 50, "1": 80}
    assert {f"route {text}": (least, True) for text, least in times.items()}.items() <= claims.items()
    assert {f"route {text}, paper": (1, True) for text in times}.items() <= claims.items()
    assert {f"graph × {times}": (2, False) for times in (2, 3, 4, 5)}.items() <= claims.items()
    assert (claims["build 71,097"], claims["build 1,066,455"]) == ((5, False), (90, False))
    assert claims["first result 1/2"] == claims["first result 1"] == (0.25, False)
    assert claims["live change"] == (1_000, False)
    least = [claims[f"predicates, {name}"] for name in ("11,000", "100,000", "sparse")]
    assert least == [(15_000, True), (1_500, True), (5_000, True)]


# --- answers ----------------------------------------------------------------------------------------------------


def test_a_wrong_answer_is_not_measured(case: Case) -> None:
    wrong = case._replace(tables={**case.tables, "expected": case.tables["expected"].slice(1)})
    with pytest.raises(WrongAnswer, match="that are not the"):
        wrong.seconds()
    with pytest.raises(WrongAnswer, match="that are not the"):
        wrong.seconds(with_table=True)
    (event, *_) = singles(case.tables, 1)
    for measure in (route_speed._streamed, route_speed._published):
        with pytest.raises(WrongAnswer, match="that are not the 0 expected"):
            measure(case, [event._replace(nodes=frozenset())])


def test_an_exchange_that_is_refused_is_not_measured(case: Case) -> None:
    broken = pa.table({"node_id": ["a"], "targeting": ["age >"]})
    with pytest.raises(WrongAnswer, match="refused"):
        loaded({**case.tables, "nodes": broken})


def test_the_plain_walks_are_checked_too(case: Case) -> None:
    for made in (from_dicts, from_arguments):
        walk = made(case.tables)
        assert checked(walk, case.tables) is walk
        assert walk.seconds() > 0
        with pytest.raises(WrongAnswer, match="the plain walk"):
            checked(walk, {**case.tables, "expected": case.tables["expected"].slice(1)})


def test_targeting_that_always_holds_changes_no_answer() -> None:
    case = make(3, SMALL, selectivity=1.0)
    assert case.tables["nodes"]["targeting"].null_count == case.tables["nodes"].num_rows
    other = spelled_out(case, 3)
    assert other.tables["nodes"]["targeting"].null_count == sizes(SMALL.scale).publishers
    assert other.seconds() > 0


# --- sizes ------------------------------------------------------------------------------------------------------


# --- changes ----------------------------------------------------------------------------------------------------


def test_every_other_change_merges_or_splits_components() -> None:
    script = Script(generate_route(2, scale=0.02, events=0), sizes(0.02), 2, 0.25)
    before = _components(script)
    kinds, seen = [], 0
    for step in script.steps(84):
        after = _components(script)
        assert (after != before) == step.components
        before = after
        seen += step.seen
        kinds.append(step.call)
    assert seen >= 0.9 * len(kinds)
    assert set(kinds) == {"add_nodes", "add_edges", "remove_nodes", "remove_edges"}


def test_a_change_that_is_not_seen_is_not_measured() -> None:
    tables = generate_route(2, scale=0.05, events=0)
    steps = [step for step in Script(tables, sizes(0.05), 2, 0.25).steps(4) if step.seen]
    with pytest.raises(WrongAnswer, match="not those of the model"):
        route_changes._ask(loaded(tables), steps[-1])


def _components(script: Script) -> set[frozenset[str]]:
    graph = nx.DiGraph((source, target) for source, targets in script.model.out.items() for target in targets)
    return {frozenset(each) for each in nx.strongly_connected_components(graph) if len(each) > 1}
