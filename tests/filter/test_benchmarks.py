"""The filter's speed table measures what it says, on small workloads, and measures nothing where an answer is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from benchmarks import filter_changes, filter_size, filter_speed
from benchmarks.check import Outcome, Row, run
from benchmarks.filter_opponent import ask
from benchmarks.filter_workloads import Case, Size, WrongAnswer, check, loaded, make, queries, repeated
from benchmarks.tables import TABLES

from heliograph import Filter
from heliograph.workloads.filter import generate_filter

SMALL = Size(
    subscriptions=200,
    many=400,
    few=100,
    publications=10,
    different=20,
    matches=5,
    batch=20,
    asked=20,
    changes=20,
    classes=12,
)
MEASURES: dict[str, Callable[[int, Size], float | Sequence[float]]] = {
    name: measure
    for module in (filter_speed, filter_size, filter_changes)
    for name, measure in vars(module).items()
    if name.startswith("measure_")
}


@pytest.fixture(scope="module")
def case() -> Case:
    return make(3, SMALL.batch, SMALL.options())


@pytest.mark.parametrize("name", MEASURES)
def test_a_row_measures(name: str) -> None:
    (outcome,) = run([Row(name, "small", "", None, lambda seed: MEASURES[name](seed, SMALL), repeats=1)], 5)
    assert len(outcome.samples) in (1, filter_speed.SAMPLES)
    assert all(sample > 0 for sample in outcome.samples) or name in ("measure_memory", "measure_pause")


def test_every_row_of_the_issue_is_in_the_table() -> None:
    rows = TABLES["filter"]
    assert {getattr(row.measure, "__name__", "") for row in rows} == set(MEASURES)
    assert len({row.name for row in rows}) == len(rows)
    assert all(len(row.workload) <= 58 and len(row.name) <= 26 for row in rows)  # the columns of the printed table


def test_a_wrong_answer_is_not_measured(case: Case) -> None:
    wrong = case._replace(expected=case.expected.slice(1))
    for form in (wrong.batch, wrong.strings):
        with pytest.raises(WrongAnswer, match="are not the 99 expected"):
            wrong.seconds(form)
    with pytest.raises(WrongAnswer, match="refused"):
        check(case.engine.publish([("p", [("", "b", "c")])]), case.expected)
    with pytest.raises(WrongAnswer, match="refused"):
        loaded({**case.tables, "constraints": case.tables["patterns"].rename_columns(_CONSTRAINTS)})


_CONSTRAINTS = ["subscription_id", "variable", "operator", "value"]


def test_the_opponent_is_checked_too(case: Case) -> None:
    asking = ask(case.tables, 200, 2)
    assert len(asking.queries) == asking.subscriptions == 200
    assert asking.seconds("d1") > 0
    with pytest.raises(WrongAnswer, match="pyoxigraph says True"):
        asking._replace(expected=frozenset()).seconds("d0")


def test_copies_are_publications_of_their_own(case: Case) -> None:
    strings, expected = repeated(case.tables, 3, 1)
    plain = case.tables["publications"]
    assert strings.num_rows == 3 * plain.num_rows
    assert expected["publication_id"].to_pylist()[-1] == "c2-d9"
    columns = ["subject", "property", "object"]
    first = {tuple(row.values()) for row in strings.slice(0, 90).select(columns).to_pylist()}
    assert first == {tuple(row.values()) for row in plain.slice(0, 90).select(columns).to_pylist()}
    assert not strings.slice(0, 90).select(columns).equals(plain.slice(0, 90).select(columns))


def test_text_and_tables_say_the_same() -> None:
    """With ranges on values: the constraints become FILTERs."""
    tables = generate_filter(2, **SMALL.one_structure(100))
    texts = queries(tables, [f"s{number}" for number in range(100)])
    engine = Filter()
    engine.subscribe(list(texts.items()))
    check(engine.publish(tables["publications"]), tables["expected"])
    assert sum("FILTER" in text for text in texts.values()) == 100


def test_what_a_publisher_finds_wrong_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_few(*given: Any) -> list[filter_changes.Small]:
        return [each._replace(fewest=1000, most=1000) for each in batches(*given)]

    batches = filter_changes._batches
    monkeypatch.setattr(filter_changes, "_batches", too_few)
    with pytest.raises(WrongAnswer, match="where there are 1000"):
        filter_changes.change(77, SMALL)


def test_a_row_without_a_target_cannot_fail() -> None:
    row = Row("r", "w", "s", None, lambda seed: (1.0, 2.0, 4.0), repeats=2)
    (outcome,) = run([row], 0)
    assert (outcome.samples, outcome.measured, outcome.passed) == ((1.0, 2.0, 4.0) * 2, 2.0, True)
    assert (row.target_text, outcome.spread) == ("–", 1.5)
    assert not Outcome(Row("r", "w", "s", 1.0, lambda seed: 2.0), (2.0,)).passed
