"""The figures of [R] at a tiny size: points for every line, and a verdict that can go either way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from benchmarks.experiments import r_cluster
from benchmarks.experiments.experiment import Outcome, Run, Scale, Word
from benchmarks.experiments.filter_options import options
from benchmarks.experiments.r_front import MERGING
from benchmarks.experiments.r_workload import SECTION_5, drawn
from benchmarks.experiments.runner import experiments
from benchmarks.filter_workloads import check, loaded

from heliograph.spark.environment import find_java
from tests.experiments.outcomes import lines

TINY: Mapping[str, Any] = {"subscriptions": 60, "publications": 2, "copies": 2, "repeats": 2}
MATCHERS = ("RSS matcher", "heliograph")
PERCENTAGES = {"percentages": [0.3, 0.9], "strangers": 3, "matches": 5}
VARIED: Mapping[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "r-9a": ((*MATCHERS, "G-ToPSS"), {"subscriptions": [40, 80]}),
    "r-9b": ((*MATCHERS, "G-ToPSS"), {"subscriptions": [40, 80], "matches": 4}),
    "r-9c": (("centralised", "containment", MERGING), {"subscriptions": [40, 80]}),
    "r-9d": (("number × (1 − overlap)", "containment", MERGING), {"contained": [0.0, 0.5]}),
    "r-9e": (("of all publications", "of the mergers' answers"), PERCENTAGES),
    "r-9f": (("without", "containment"), {"subscriptions": [50, 100], "together": 10}),
    "r-9g": (("merging", "number × (1 − percentage)"), PERCENTAGES),
    "r-9h": (("merging",), PERCENTAGES),
    "r-9i": (
        tuple(f"{name}, {partition}" for name in MATCHERS for partition in ("containment", "merging")),
        {"clusters": [1, 3], "workers": []},
    ),
    "r-10": (
        tuple(f"{name}, {nodes}" for name in MATCHERS for nodes in ("one engine", "2 nodes", "4 nodes")),
        {"percentages": [0.3, 0.9], "workers": 0},
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", VARIED)
def test_every_line_has_points(name: str) -> None:
    experiment, (series, varied) = experiments()[name], VARIED[name]
    outcome = Outcome(tuple(experiment.measure(Run(1, {**experiment.at(Scale.SMALL), **TINY, **varied}))))
    assert set(outcome.series) == set(series)
    assert {len(outcome.line(line)) for line in series} == {2}
    assert experiment.judge(outcome).word != Word.MEASURED


NUMBERS = [1_000, 2_000, 4_000]
SHARES = [10, 50, 90]
FLAT = {"G-ToPSS": [4, 4, 4], "heliograph": [1, 1, 1]}


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("r-9a", lines(NUMBERS, {**FLAT, "RSS matcher": [3, 3, 3]})),
        ("r-9b", lines(NUMBERS, {**FLAT, "RSS matcher": [1, 2, 4]})),
        ("r-9c", lines(NUMBERS, dict.fromkeys(("centralised", "containment", MERGING), NUMBERS))),
        (
            "r-9d",
            lines(SHARES, {"number × (1 − overlap)": [90, 50, 10], "containment": [90, 90, 90], MERGING: [90, 50, 10]}),
        ),
        ("r-9e", lines(SHARES, {"of all publications": [4, 3, 2], "of the mergers' answers": [4, 3, 2]})),
        ("r-9f", lines(NUMBERS, {"without": [2, 2, 2], "containment": [1, 1, 1]})),
        ("r-9g", lines(SHARES, {"merging": [1, 2, 3], "number × (1 − percentage)": [9, 7, 5]})),
        ("r-9h", lines(SHARES, {"merging": [3, 2, 1]})),
        ("r-9i", lines([1, 2, 3], {name: [9, 5, 3] for name in VARIED["r-9i"][0]})),
        ("r-10", lines(SHARES, {name: [9, 5, 3] for name in VARIED["r-10"][0]})),
    ],
)
def test_what_contradicts_the_paper_is_called_different(name: str, outcome: Outcome) -> None:
    assert experiments()[name].judge(outcome).word == Word.DIFFERENT


def test_contained_subscriptions_match_what_the_workload_says() -> None:
    given = options(Run(1, {**SECTION_5, "subscriptions": 200, "publications": 4, "matches": 10}))
    tables = drawn(1, given, 0.5)
    assert tables["expected"].num_rows > 20
    check(loaded(tables, "naive").publish(tables["publications"]), tables["expected"])


@pytest.mark.long
def test_throughput_on_spark_is_told_of_right_answers(tmp_path: Path) -> None:
    if find_java() is None:
        pytest.skip("Spark needs Java 17 or later, and there is none on this machine")
    given = options(Run(1, {**SECTION_5, "subscriptions": 60, "publications": 2, "matches": 5}))
    job = r_cluster.job(drawn(1, given, 0.5), {"partition": "containment", "shards": 2}, 2, tmp_path)
    with r_cluster.cluster(2) as spark:
        samples = r_cluster.on_spark(spark, job, 2, tmp_path)
    assert job.published == 4
    assert min(samples) > 0
