"""`heliograph bench` prints what each row measured beside its target, and fails where a checked row fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import tables
from benchmarks.check import Row

from tests.cli.conftest import Run

ROWS = [
    Row("fast", "a small one", "µs", 100, lambda seed: 10.0 + seed),
    Row("many", "a large one", "items/s", 5_000, lambda seed: (4_000.0, 6_000.0, 7_000.0), at_least=True, repeats=1),
    Row("beside", "no claim", "s", None, lambda seed: 3.0),
]
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


def test_a_row_that_fails_fails_the_check_only(run: Run) -> None:
    assert (run("bench", "--check", "bad").code, run("bench", "bad").code) == (1, 0)
    assert run("bench", "bad").out.splitlines()[-1].endswith("NO")


def test_everything_is_listed_and_written(run: Run) -> None:
    listed = run("bench", "--list")
    assert [line.split()[1] for line in listed.out.splitlines()] == ["fast", "many", "beside", "slow"]
    assert run("bench", "--out", "figures").code == 0
    written = json.loads(Path("figures/good.json").read_text())
    assert written["seed"] == 1
    assert [row["median"] for row in written["rows"]] == [12.0, 6_000.0, 3.0]
    assert [row["target"] for row in written["rows"]] == [100, 5_000, None]


def test_an_unknown_table_is_usage(run: Run) -> None:
    done = run("bench", "--check", "nothing")
    assert done.code == 2
    assert "there are: good, bad" in done.err
