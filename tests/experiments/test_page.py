"""docs/experiments.md: made from the records beside it, which hold every experiment that there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.experiments.page import page
from benchmarks.experiments.record import Record, records
from benchmarks.experiments.runner import experiments

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECORDS = records(DOCS / "experiments")


def test_the_page_is_what_the_records_say() -> None:
    assert (DOCS / "experiments.md").read_text() == page(RECORDS)


def test_every_experiment_was_run_and_drawn() -> None:
    known = experiments()
    assert {record.name for record in RECORDS} == set(known)
    drawn = {path.stem for path in (DOCS / "experiments").glob("*.svg")}
    assert drawn == {path.stem for path in (DOCS / "experiments").glob("*.png")}
    assert drawn == {name for name, experiment in known.items() if not experiment.table}


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_the_verdict_follows_from_the_points(record: Record) -> None:
    experiment = experiments()[record.name]
    assert experiment.judge(record.outcome) == record.verdict
    assert record.facts["title"] == experiment.title
    assert record.facts["statement"] == experiment.statement
