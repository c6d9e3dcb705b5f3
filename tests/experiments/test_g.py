"""The figures of [G] at a tiny size: points for every line, and a verdict that can go either way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from benchmarks.experiments.experiment import Outcome, Run, Scale, Word
from benchmarks.experiments.filter_memory import MATRIX
from benchmarks.experiments.g_workload import ALL
from benchmarks.experiments.runner import experiments

from tests.experiments.outcomes import lines

TINY: Mapping[str, Any] = {"subscriptions": 60, "publications": 2, "copies": 2, "repeats": 2}
SOME = ("OPS", "G-ToPSS", "heliograph")
FEW = tuple(f"{name}, few labels" for name in SOME)
VARIED: Mapping[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "g-9a": (ALL, {"subscriptions": [40, 80]}),
    "g-9b": (ALL, {"subscriptions": [40, 80]}),
    "g-9c": (("G-ToPSS", MATRIX, "heliograph"), {"overlap": [0.0, 0.5]}),
    "g-9d": (ALL, {"sizes": [[5, 4], [5, 8], [9, 8]]}),
    "g-9e": (SOME, {"sizes": [[5, 4], [5, 8], [9, 8]]}),
    "g-9f": (SOME, {"match_share": [0.02, 0.2]}),
    "g-9g": ((*SOME, *FEW), {"subscriptions": [40, 80]}),
    "g-9h": (("naive", "OPS", "heliograph"), {"subscriptions": [40, 80]}),
}


@pytest.mark.long
@pytest.mark.parametrize("name", VARIED)
def test_every_line_has_points(name: str) -> None:
    experiment, (series, varied) = experiments()[name], VARIED[name]
    parameters = {**experiment.at(Scale.SMALL), **TINY, **varied}
    points = list(experiment.measure(Run(1, parameters)))
    outcome = Outcome(tuple(points))
    assert set(outcome.series) == set(series)
    assert {len(outcome.line(line)) for line in series} == {len(next(iter(varied.values())))}
    assert experiment.judge(outcome).word != Word.MEASURED


FLAT = {"G-ToPSS": [4, 4, 4], "heliograph": [1, 1, 1]}
NUMBERS = [1_000, 2_000, 4_000]
SIZES = ["(5, 4)", "(5, 8)", "(9, 8)"]
NO_EDGES = {**FLAT, "G-ToPSS": [2, 2, 4]}  # nodes count, edges do not
FASTER_OPS = {"OPS": [3, 2, 1], "OPS, few labels": [3, 2, 1], "G-ToPSS, few labels": [4, 4, 4]}


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("g-9a", lines(NUMBERS, FLAT)),
        ("g-9b", lines(NUMBERS, FLAT)),
        ("g-9c", lines([0, 50, 95], {**FLAT, MATRIX: [3, 3, 3]})),
        ("g-9d", lines(SIZES, NO_EDGES)),
        ("g-9e", lines(SIZES, NO_EDGES)),
        ("g-9f", lines([0.1, 1, 10], FLAT)),
        ("g-9g", lines(NUMBERS, {**FLAT, **FASTER_OPS})),
        ("g-9h", lines(NUMBERS, {"naive": [1, 2, 3], "OPS": [2, 3, 4], "heliograph": [1, 1, 1]})),
    ],
)
def test_what_contradicts_the_paper_is_called_different(name: str, outcome: Outcome) -> None:
    assert experiments()[name].judge(outcome).word == Word.DIFFERENT


def test_what_the_paper_says_is_called_reproduced() -> None:
    rising = {"G-ToPSS": [1, 2, 4], "heliograph": [1, 1, 1]}
    assert {experiments()[name].judge(lines(NUMBERS, rising)).word for name in ("g-9a", "g-9b")} == {Word.REPRODUCED}
