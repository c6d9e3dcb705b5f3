"""Every figure of growth and every peer, at a tiny size: answers are checked, and every line has its points."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.experiments.experiment import Outcome, Point, Run, Word
from benchmarks.experiments.peers import against_ours
from benchmarks.experiments.runner import experiments

WATCH = {"vertices": 400, "updates": 300, "queries": 20, "repeats": 1}
FILTER = {"subscriptions": 200, "publications": 4, "matches": 5, "batch": 8, "repeats": 1}
TINY: dict[str, dict[str, Any]] = {
    "growth-filter": {**FILTER, "subscriptions": [100, 200]},
    "growth-filter-matches": {**FILTER, "matches": [1, 8]},
    "growth-filter-size": {**FILTER, "edges": [30, 90], "labels": 1_000},
    "growth-route": {"copies": [1, 2], "scales": [0.01, 0.02], "scale": 0.01, "events": 10, "repeats": 1},
    "growth-route-matches": {"selectivities": [0.25, 0.5], "scale": 0.01, "events": 10, "repeats": 1},
    "growth-route-size": {"attributes": [6, 20], "scale": 0.01, "events": 10, "repeats": 1},
    "growth-watch": {**WATCH, "queries": [5, 20], "pattern queries": [2, 4]},
    "growth-watch-batch": {**WATCH, "batches": [10, 100]},
    "growth-watch-graph": {**WATCH, "edges": [200, 300]},
    "growth-watch-matches": {**WATCH, "matching": [0.1, 0.5]},
    "peers-betweenness": {"vertices": [30, 40], "edges": 4, "repeats": 1},
    "peers-filter": {"subscriptions": [40, 80], "publications": 2, "matches": 3, "most": {"rdflib": 40}},
    "peers-route": {"selectivities": [0.25, 0.5], "scale": 0.01, "events": 10, "repeats": 1},
    "peers-watch": {
        "queries": [10, 20],
        "vertices": 400,
        "edges": 300,
        "window": {"heliograph": 50, "rdflib": 20},
        "most": {"rdflib": 10},
        "repeats": 1,
    },
}

SLOW = ("growth-watch", "peers-betweenness", "peers-filter", "peers-watch")


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else []) for name in TINY])
def test_each_is_measured_and_judged(name: str) -> None:
    experiment = experiments()[name]
    outcome = Outcome(tuple(experiment.measure(Run(3, TINY[name]))))
    assert len(outcome.points) >= 2
    assert all(sample > 0 for point in outcome.points for sample in point.samples)
    verdict = experiment.judge(outcome)
    assert verdict.word is Word.MEASURED
    assert verdict.sentence.endswith(".")


@pytest.mark.long
@pytest.mark.parametrize("name", ["growth-filter-memory", "growth-route-memory", "growth-watch-memory"])
def test_memory_is_measured_in_a_process_of_its_own(name: str) -> None:
    sizes = {"subscriptions": [200, 400], "scales": [0.01, 0.05], "queries": [100], "edges": [200_000]}
    run = Run(3, {**sizes, "vertices": 3_000, "updates": 2_000})
    assert len(list(experiments()[name].measure(run))) == 2


def test_peers_are_told_as_multiples_from_first_to_last() -> None:
    points = [Point("heliograph", 10, [2.0]), Point("heliograph", 100, [2.0])]
    points += [Point("slow", 10, [6.0]), Point("other", 10, [1.0]), Point("other", 100, [2e3])]
    sentence = against_ours(Outcome(tuple(points))).sentence
    assert sentence.endswith("from the first place to the last: slow 3; other 0.5 to 1,000.")
