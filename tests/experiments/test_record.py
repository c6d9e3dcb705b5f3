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
    experiment = made()
    record = perform(experiment, Scale.PAPER, Run(7, experiment.at(Scale.PAPER)), tmp_path)
    folder = tmp_path / FOLDER
    assert sorted(path.name for path in folder.iterdir()) == [f"growth-made.{kind}" for kind in ("json", "png", "svg")]
    again = Record.read(folder / "growth-made.json")
    assert again == record
    assert again.outcome == Outcome(tuple(point._replace(samples=list(point.samples)) for point in _rounded()))
    assert (again.facts["seed"], again.facts["scale"], again.facts["parameters"]["sizes"]) == (7, "paper", [10, 100])
    assert {"machine", "versions", "commit"} <= set(again.facts)


def _rounded() -> list[Point]:
    return [*POINTS[:2], POINTS[2]._replace(samples=[12346.0])]


def test_the_page_shows_medians_spreads_and_the_sentence(tmp_path: Path) -> None:
    experiment = made(fitted=True)
    perform(experiment, Scale.SMALL, Run(1, experiment.at(Scale.SMALL)), tmp_path)
    text = (tmp_path / f"{FOLDER}.md").read_text()
    assert "| 10 | 2 ± 50% | 12,346 |" in text
    assert "| 100 | 20 | – |" in text
    assert "**partly reproduced.** 10 times." in text
    assert "*The paper:* It grows." in text
    assert f"![made up]({FOLDER}/growth-made.svg)" in text


def test_the_same_record_gives_the_same_bytes(tmp_path: Path) -> None:
    experiment = made()
    for name in ("one", "two"):
        perform(experiment, Scale.SMALL, Run(1, experiment.at(Scale.SMALL)), tmp_path / name)
    for kind in ("png", "svg"):
        one, two = ((tmp_path / name / FOLDER / f"growth-made.{kind}").read_bytes() for name in ("one", "two"))
        assert one == two


def test_a_table_is_not_drawn(tmp_path: Path) -> None:
    experiment = made(table=True)
    perform(experiment, Scale.SMALL, Run(1, experiment.at(Scale.SMALL)), tmp_path)
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["growth-made.json"]
    assert "![" not in page(records(tmp_path / FOLDER))
    assert write_page(tmp_path).read_text() == page(records(tmp_path / FOLDER))
