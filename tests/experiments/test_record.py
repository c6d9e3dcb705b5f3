"""A record holds all that page and drawing need; the same record gives the same bytes."""

from __future__ import annotations

from pathlib import Path

from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Run, Scale, Verdict, Word
from benchmarks.experiments.page import page, write_page
from benchmarks.experiments.record import FOLDER, Record, records
from benchmarks.experiments.runner import perform

POINTS = [Point("one", 10, [1.0, 3.0, 2.0], {"matches": 4}), Point("one", 100, [20.0]), Point("two", 10, [12345.678])]


def made(**options: object) -> Experiment:
    return Experiment(
        name="growth-made",
        paper="Growth",
        title="made up",
        statement="It grows.",
        checked="nothing is",
        x=Axis("things", log=True),
        y=Axis("time", "ms", log=True),
        parameters={Scale.SMALL: {"sizes": [10, 100], "share": 0.5}},
        measure=lambda run: iter(POINTS),
        judge=lambda outcome: Verdict(Word.PARTLY, f"{outcome.growth('one'):g} times."),
        **options,  # type: ignore[arg-type]
    )


def test_a_run_writes_record_drawings_and_page(tmp_path: Path) -> None:
    """And the same record gives the same bytes."""
    experiment = made(fitted=True)
    run = Run(7, experiment.at(Scale.PAPER))
    one, two = (perform(experiment, Scale.PAPER, run, tmp_path / name) for name in ("one", "two"))
    folder = tmp_path / "one" / FOLDER
    assert sorted(path.name for path in folder.iterdir()) == [f"growth-made.{kind}" for kind in ("json", "png", "svg")]
    again = Record.read(folder / "growth-made.json")
    assert again == one
    rounded = [*POINTS[:2], POINTS[2]._replace(samples=[12346.0])]
    assert again.outcome == two.outcome == Outcome(tuple(rounded))
    assert (again.facts["seed"], again.facts["scale"], again.facts["parameters"]["sizes"]) == (7, "paper", [10, 100])
    assert {"machine", "versions", "commit"} <= set(again.facts)
    for kind in ("png", "svg"):
        drawings = [(tmp_path / name / FOLDER / f"growth-made.{kind}").read_bytes() for name in ("one", "two")]
        assert drawings[0] == drawings[1]
    text = (tmp_path / "one" / f"{FOLDER}.md").read_text()
    assert "| 10 | 2 ± 50% | 12,346 |" in text
    assert "| 100 | 20 | – |" in text
    assert "**partly reproduced.** 10 times." in text
    assert "*The paper:* It grows." in text
    assert f"![made up]({FOLDER}/growth-made.svg)" in text


def test_a_table_is_not_drawn(tmp_path: Path) -> None:
    experiment = made(table=True)
    perform(experiment, Scale.SMALL, Run(1, experiment.at(Scale.SMALL)), tmp_path)
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["growth-made.json"]
    assert "![" not in page(records(tmp_path / FOLDER))
    assert write_page(tmp_path).read_text() == page(records(tmp_path / FOLDER))
