"""The record of one run: a JSON file from which the drawing and the page are made, and nothing else.

The law: a record holds all that is shown of it, so a page can be made again years later from the files alone.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.experiments.experiment import Axis, Experiment, Outcome, Point, Scale, Verdict, Word
from benchmarks.experiments.machine import commit, machine, versions

FOLDER = "experiments"


@dataclass(frozen=True, slots=True)
class Record:
    """One experiment as it was run."""

    facts: dict[str, Any]

    @classmethod
    def of(cls, experiment: Experiment, scale: Scale, seed: int, points: list[Point], seconds: float) -> Self:
        told = [_told(point) for point in points]
        verdict = experiment.judge(_outcome(told))  # of what is written, so that the file alone gives the sentence
        return cls(
            {
                "name": experiment.name,
                "paper": experiment.paper,
                "title": experiment.title,
                "statement": experiment.statement,
                "checked": experiment.checked,
                "notes": experiment.notes,
                "table": experiment.table,
                "fitted": experiment.fitted,
                "x": experiment.x._asdict(),
                "y": experiment.y._asdict(),
                "scale": str(scale),
                "seed": seed,
                "parameters": dict(experiment.at(scale)),
                "seconds": round(seconds, 1),
                "commit": commit(),
                "machine": machine(),
                "versions": versions(),
                "verdict": {"word": str(verdict.word), "sentence": verdict.sentence},
                "points": told,
            }
        )

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(json.loads(path.read_text()))

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps(self.facts, indent=1, ensure_ascii=False) + "\n")
        return path

    @property
    def name(self) -> str:
        return str(self.facts["name"])

    @property
    def outcome(self) -> Outcome:
        return _outcome(self.facts["points"])

    @property
    def x(self) -> Axis:
        return Axis(**self.facts["x"])

    @property
    def y(self) -> Axis:
        return Axis(**self.facts["y"])

    @property
    def verdict(self) -> Verdict:
        return Verdict(Word(self.facts["verdict"]["word"]), self.facts["verdict"]["sentence"])


def _outcome(told: list[dict[str, Any]]) -> Outcome:
    return Outcome(tuple(Point(each["series"], each["x"], each["samples"], each["facts"]) for each in told))


def _told(point: Point) -> dict[str, Any]:
    return {
        "series": point.series,
        "x": point.x,
        "median": rounded(point.median),
        "samples": [rounded(float(sample)) for sample in point.samples],
        "facts": dict(point.facts),
    }


def rounded(number: float) -> float:
    """Five digits: more were not measured. A whole number was counted or printed, and is kept."""
    return float(f"{number:.5g}") if math.isfinite(number) and number != int(number) else number


def in_order(name: str) -> list[tuple[int, str]]:
    """What names are sorted by: figure 9 stands before figure 10, tables after figures."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts if part]


def records(folder: Path) -> list[Record]:
    """All records of a folder, by name."""
    return sorted((Record.read(path) for path in folder.glob("*.json")), key=lambda record: in_order(record.name))
