"""The watch table measures what it says, on small workloads, and measures nothing where an answer is wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from benchmarks import watch_opponents, watch_patterns, watch_size, watch_speed, watch_subscriptions
from benchmarks.check import Row, run
from benchmarks.filter_workloads import Tables, WrongAnswer
from benchmarks.tables import TABLES
from benchmarks.watch_opponents import as_numbers
from benchmarks.watch_oracle import Oracle
from benchmarks.watch_stage import Stage
from benchmarks.watch_workloads import Size, accepted, concrete, one_query, query_edges, subscribed, with_variables
from pyoxigraph import NamedNode, Quad, Store

from heliograph import Watch
from heliograph.terms import PLAIN
from heliograph.workloads.watch import generate_watch

SMALL = Size(
    vertices=400,
    updates=1_000,
    queries=60,
    few=20,
    structures=6,
    samples=2,
    scanned=50,
    walked=400,
    batches=2,
    batch=60,
    alone=20,
    asked=10,
    subscribed=5,
    warm=50,
)


def _function(row: Row) -> Callable[..., Any]:
    return row.measure.func if isinstance(row.measure, partial) else row.measure


def _options(row: Row) -> dict[str, Any]:
    return row.measure.keywords if isinstance(row.measure, partial) else {}


MEASURES = {
    measure
    for module in (watch_speed, watch_patterns, watch_size, watch_subscriptions)
    for name, measure in vars(module).items()
    if name.startswith("measure_")
}
ROWS = TABLES["watch"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_measures(row: Row) -> None:
    measure = partial(_function(row), size=SMALL, **_options(row))
    (outcome,) = run([Row(row.name, "small", "", None, measure, repeats=1)], 5)
    assert 1 <= len(outcome.samples) <= max(SMALL.samples, SMALL.batches)
    assert all(sample > 0 for sample in outcome.samples) or row.name.startswith(("memory", "subscribe"))


def test_every_claim_of_the_issue_is_in_the_table() -> None:
    assert {_function(row) for row in ROWS} == MEASURES
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert all(len(row.workload) <= 58 and len(row.name) <= 26 for row in ROWS)  # the columns of the printed table
    claims = {row.name: (row.target, row.at_least) for row in ROWS if row.target is not None}
    shapes = {f"one {shape}, {form}" for shape in ("chain", "star", "cyclic") for form in ("change", "count")}
    assert claims == {
        "concrete": (6, True),
        "concrete, Parquet": (1e6, True),
        "deletions, concrete": (2, False),
        **dict.fromkeys(shapes, (300_000, True)),
        "variables 1,000": (50_000, True),
        "variables 50,000": (10_000, True),
        "deletions 1,000": (2, False),
        "deletions 50,000": (2, False),
        "memory, concrete": (1, False),
        "memory, variables": (1, False),
        "subscribe, concrete": (50, False),
        "subscribe, variables": (1_000, False),
    }


def test_sizes_are_those_of_the_issue() -> None:
    full = Size()
    assert (full.vertices, full.updates, full.queries, full.few) == (1_200_000, 1_000_000, 50_000, 1_000)
    assert full.loaded == 798_000
    assert query_edges(pa.table({"query": ["ASK { :a :p :b . :b :p :c }", "ASK { :a :p :b }"]})) == 3


# --- opponents --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mix", [watch_speed.ADDITIONS, watch_speed.HALF, watch_speed.MIXED])
def test_opponents_are_held_to_the_answer(mix: watch_speed.Mix) -> None:
    given = as_numbers(3, SMALL, *mix)
    wrong = given._replace(expected=[(0, True, 0), *given.expected])
    end = len(given.subject)
    measures = (
        watch_opponents.inv_seconds,
        partial(watch_opponents.brute_force_seconds, count=2 * end),
        partial(watch_opponents.trie_seconds, count=end),
    )
    for measure in measures:
        assert measure(given) > 0
        with pytest.raises(WrongAnswer, match="an opponent tells other things"):
            measure(wrong)


def test_ours_is_held_to_the_answer() -> None:
    tables = concrete(3, SMALL)
    wrong = {**tables, "expected": tables["expected"].slice(1)}
    with pytest.raises(WrongAnswer, match="that are not the"):
        watch_speed._interned(wrong)
    with pytest.raises(WrongAnswer, match="refused"):
        subscribed(pa.table({"subscription_id": ["q"], "query": ["ASK"]}))
    with pytest.raises(WrongAnswer, match="refused"):
        accepted(Watch().publish([("*", "a", "b", "c")]))


# --- the oracle -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "classes"), [("chain", 2), ("star", 2), ("graph", 2), ("cyclic", 2), ("cyclic", 0)])
def test_the_oracle_counts_as_pyoxigraph_does(shape: str, classes: int) -> None:
    tables = generate_watch(
        4, vertices=40, updates=150, queries=20, variables=True, properties=3, classes=classes, edges=4, shape=shape
    )
    oracle, store = Oracle(tables["updates"], tables["graph"]), _store(tables)
    counts = [oracle.count(text) for text in _texts(tables)]
    assert counts == [_solutions(store, text) for text in _texts(tables)]
    assert any(counts)


def _texts(tables: Tables) -> list[str]:
    return [str(text) for text in tables["subscriptions"]["query"]]


def _store(tables: Tables) -> Store:
    store = Store()
    for name in ("updates", "graph"):
        columns = (tables[name][column].to_pylist() for column in ("subject", "property", "object"))
        store.extend(Quad(*map(_node, row)) for row in zip(*columns, strict=True))
    return store


def _node(cell: str) -> NamedNode:
    return NamedNode(_TYPE if cell == "a" else f"{PLAIN}{cell}")


_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def _solutions(store: Store, text: str) -> int:
    found = store.query(f"PREFIX : <{PLAIN}> {text.replace('ASK', 'SELECT (COUNT(*) AS ?n)')}")
    return int(next(iter(found))["n"].value)  # type: ignore[arg-type]


# --- queries with variables -------------------------------------------------------------------------------------


def test_a_count_that_is_not_exact_is_not_measured() -> None:
    tables = one_query(3, SMALL, "chain")
    text, count = _texts(tables)[0], watch_patterns._matches(3, SMALL, "chain")
    assert count > 0
    assert watch_patterns._through(tables, watch_patterns._counting(text, count), True) > 0
    for least, holds in ((count, False), (count + 1, True)):
        with pytest.raises(WrongAnswer, match="where the oracle says"):
            watch_patterns._through(tables, watch_patterns._counting(text, least), holds)


def test_every_other_update_of_a_mixed_batch_removes_what_is_there() -> None:
    stage = Stage(with_variables(3, SMALL), 20, SMALL)
    before = stage._present.copy()
    batch = stage.mixed(60, np.random.default_rng(1))
    assert batch["op"].to_pylist() == ["-", "+"] * 30
    assert stage._present.sum() == before.sum()
    assert (before & ~stage._present).sum() == (~before & stage._present).sum() == 30


def test_what_the_oracle_does_not_say_is_not_measured() -> None:
    tables = generate_watch(3, vertices=400, updates=1_000, queries=20, variables=True, properties=2, classes=2)
    stage = Stage(tables, 20, SMALL)
    stage.check(20, np.random.default_rng(1))
    assert 0 < stage._true.sum() < 20
    stage._true = ~stage._true
    with pytest.raises(WrongAnswer, match="the oracle does not say"):
        stage.check(20, np.random.default_rng(1))


def test_what_is_told_twice_is_not_measured() -> None:
    stage, other = Stage(with_variables(3, SMALL), 20, SMALL), Watch("change")
    other.subscribe(("q0", "ASK { :a :p :b }"))
    found = other.publish(("+", "a", "p", "b"))
    stage._true[0] = True
    with pytest.raises(WrongAnswer, match="twice"):
        stage._note(found)


def test_patience_ends() -> None:
    stage = Stage(with_variables(3, SMALL), 20, SMALL)
    assert len(stage.publish((stage.additions(5) for _ in range(4)), 0.0)) == 1
