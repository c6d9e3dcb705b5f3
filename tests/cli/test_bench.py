"""`heliograph bench` runs experiments by name; `--check` prints each row beside its target, and fails with it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import tables
from benchmarks.check import Row
from benchmarks.experiments.experiment import Scale
from benchmarks.figures import growth

from tests.cli.conftest import Run

ROWS = [
    Row("fast", "a small one", "µs", 100, lambda seed: 10.0 + seed),
    Row("many", "a large one", "items/s", 5_000, lambda seed: (4_000.0, 6_000.0, 7_000.0), at_least=True, repeats=1),
    Row("beside", "no claim", "s", None, lambda seed: 3.0),
]
SMALL = {"matches": [1, 4], "subscriptions": 60, "publications": 4, "batch": 4, "repeats": 1}
SLOW = Row("slow", "too slow", "s", 1, lambda seed: 2.0)


@pytest.fixture(autouse=True)
def two_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "TABLES", {"good": ROWS, "bad": [SLOW]})


def test_a_checked_table_shows_row_workload_measured_spread_target_and_pass(run: Run) -> None:
    done = run("bench", "--check", "good", "--seed", "4")
    head, titles, *lines = done.out.splitlines()
    assert done.code == 0
    assert head.endswith("seed 4")
    assert titles.split() == ["row", "workload", "measured", "spread", "target", "pass"]
    assert [line.split() for line in lines] == [
        ["fast", "a", "small", "one", "15", "µs", "13%", "≤", "100", "µs", "yes"],
        ["many", "a", "large", "one", "6,000", "items/s", "50%", "≥", "5,000", "items/s", "yes"],
        ["beside", "no", "claim", "3", "s", "0%", "–", "–"],
    ]


def test_a_row_that_fails_fails_the_check(run: Run) -> None:
    done = run("bench", "--check", "bad")
    assert done.code == 1
    assert done.out.splitlines()[-1].endswith("NO")


def test_rows_and_experiments_are_listed(run: Run) -> None:
    listed = run("bench", "--list").out.splitlines()
    rows = [line.split()[2] for line in listed if line.startswith("--check")]
    assert rows == ["fast", "many", "beside", "slow"]
    assert len([line for line in listed if line.startswith("growth-")]) >= 10


def test_what_was_checked_is_written(run: Run) -> None:
    assert run("bench", "--check", "good", "--out", "figures").code == 0
    written = json.loads(Path("figures/good.json").read_text())
    assert written["seed"] == 1
    assert [row["median"] for row in written["rows"]] == [12.0, 6_000.0, 3.0]
    assert [row["target"] for row in written["rows"]] == [100, 5_000, None]


def test_an_experiment_is_run_by_name(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = replace(growth.EXPERIMENT_FILTER_MATCHES, parameters={Scale.SMALL: SMALL})
    monkeypatch.setattr(growth, "EXPERIMENT_FILTER_MATCHES", tiny)
    done = run("bench", "growth-filter-matches", "--out", "here", "--seed", "5")
    assert done.code == 0
    assert "growth-filter-matches (1 of 1), Growth: filter: time against matches" in done.out
    assert json.loads(Path("here/experiments/growth-filter-matches.json").read_text())["seed"] == 5
    assert "growth-filter-matches.svg" in Path("here/experiments.md").read_text()


def test_what_a_machine_lacks_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = replace(growth.EXPERIMENT_FILTER_MATCHES, needs=("nothing_of_this_name",))
    monkeypatch.setattr(growth, "EXPERIMENT_FILTER_MATCHES", lacking)
    done = run("bench", "growth-filter-matches", "--out", "here")
    assert done.code == 0
    assert "not run: nothing_of_this_name is not there" in done.out


def test_an_unknown_experiment_is_usage(run: Run) -> None:
    done = run("bench", "nothing")
    assert done.code == 2
    assert "no experiment 'nothing'" in done.err


def test_an_unknown_table_is_usage(run: Run) -> None:
    done = run("bench", "--check", "nothing")
    assert done.code == 2
    assert "there are: good, bad" in done.err
