"""The store of compiled targeting: what it holds, in bulk and one by one, while snapshots are out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heliograph.predicate.attributes import LABELS, NameTable
from heliograph.predicate.compile import Targeting
from heliograph.predicate.evaluate import Attributes, accepts
from heliograph.predicate.form import ACCEPT, Constant, Predicate, spell_value
from heliograph.predicate.layout import ALWAYS, NEVER
from heliograph.workloads.route import accepted, draw_events, draw_targeting, spell_event, spell_targeting
from tests.naive_targeting import Interpreter, encode
from tests.predicate.forms import check_holds, events, forms
from tests.predicate.test_oracle import Case, cases


@given(st.lists(forms, min_size=1, max_size=4), st.lists(events, min_size=1, max_size=3))
def test_code_means_what_the_form_means(several: list[Predicate], trees: list[dict[str, Any]]) -> None:
    targeting = Targeting()
    check_holds(targeting, {targeting.add(form): form for form in several}, trees)


def test_always_and_never_have_their_numbers() -> None:
    targeting = Targeting()
    assert len(targeting) == 2
    assert targeting.add(ACCEPT) == ALWAYS
    assert targeting.add(Constant(False)) == targeting.add(Constant(None)) == NEVER
    assert targeting.add_many([None, "", "  ", "TRUE", "-- nothing", "FALSE", "a = NULL"]) == [0] * 5 + [1] * 2
    assert Interpreter(targeting.snapshot(), encode(targeting.names, [{}]), 0, []).holds(ALWAYS)
    assert not Interpreter(targeting.snapshot(), encode(targeting.names, [{}]), 0, []).holds(NEVER)


@settings(max_examples=30)
@given(st.lists(forms, min_size=4, max_size=12), st.lists(events, min_size=1, max_size=3))
def test_a_snapshot_stays_as_it_was(several: list[Predicate], trees: list[dict[str, Any]]) -> None:
    targeting = Targeting()
    early = {targeting.add(form): form for form in several[:3]}
    snapshot = targeting.snapshot()
    copies = [part.tolist() for part in snapshot]
    for form in several:
        targeting.add(form)
    assert [part.tolist() for part in snapshot] == copies
    assert not any(part.flags.writeable for part in snapshot)
    cells, slow = encode(targeting.names, trees), targeting.slow_truth(trees)
    for event, tree in enumerate(trees):
        interpreter = Interpreter(snapshot, cells, event, slow)
        assert {number: interpreter.holds(number) for number in early} == {
            number: accepts(form, Attributes(tree)) for number, form in early.items()
        }


labels = st.frozensets(st.sampled_from(["x", "y", "z"]))


@given(labels, labels)
def test_label_sets_are_compared(own: frozenset[str], theirs: frozenset[str]) -> None:
    targeting = Targeting()
    expected = {"superset": own >= theirs, "subset": own <= theirs, "intersects": bool(own & theirs)}
    numbers = {match: targeting.add_labels(own, match) for match in expected}
    cells = encode(targeting.names, [{LABELS[0]: {LABELS[1]: sorted(theirs)}}])
    interpreter = Interpreter(targeting.snapshot(), cells, 0, [])
    assert {match: interpreter.holds(number) for match, number in numbers.items()} == expected


def test_slow_tests_are_kept_once() -> None:
    targeting = Targeting()
    targeting.add_many(["a ILIKE 'x%'", "b = 1 AND NOT a ILIKE 'x%'", "a BETWEEN 'x' AND 'y'"])
    assert len(targeting.slow) == 2
    truth = targeting.slow_truth([{"a": "X"}, {"a": 5}, {"a": ["x", 5]}, {}])
    assert truth.tolist() == [[1, -1, 1, -1], [0, -1, 1, -1]]
    assert truth.dtype == np.int8
    assert not truth.flags.writeable
    assert Targeting().slow_truth([{}, {}]).shape == (0, 2)


def test_names_may_be_shared() -> None:
    names = NameTable()
    one, two = Targeting(names), Targeting(names)
    one.add_many(["a = 'x'"])
    two.add_many(["b = 'x' AND a = 'x'"])
    assert names.paths == [("a",), ("b",)]
    assert names.word_count == 2


def test_a_drawn_workload_is_exact_and_small() -> None:
    """The truth of the workload is known by its construction; about 130 bytes an expression of 7.5 tests."""
    rng = np.random.default_rng(5)
    drawn, picked = draw_targeting(rng, 2000, 1 / 4), draw_events(rng, 5)
    targeting = Targeting()
    numbers = targeting.add_many(spell_targeting(drawn))
    cells = encode(targeting.names, [json.loads(spell_event(event)) for event in picked])
    programs = targeting.snapshot()
    for row, event in enumerate(picked):
        interpreter = Interpreter(programs, cells, row, [])
        assert [interpreter.holds(int(str(number))) for number in numbers] == accepted(drawn, event).tolist()
    assert targeting.nbytes < 250 * len(targeting)


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    yield connection
    connection.close()


@given(case=cases())
def test_duckdb_agrees(duck: duckdb.DuckDBPyConnection, case: Case) -> None:
    types, condition, rows = case
    values = ", ".join(
        f"({', '.join(f'CAST({spell_value(row[name])} AS {types[name]})' for name in 'abc')})" for row in rows
    )
    theirs = duck.execute(f"SELECT ({condition}) FROM (VALUES {values}) AS v(a, b, c)").fetchall()
    targeting = Targeting()
    (number,) = targeting.add_many([condition])
    cells, slow = encode(targeting.names, rows), targeting.slow_truth(rows)
    ours = [Interpreter(targeting.snapshot(), cells, event, slow).holds(int(str(number))) for event in range(len(rows))]
    assert ours == [row[0] is True for row in theirs]
