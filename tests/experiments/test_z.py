"""The experiments of [Z] run at a tiny size, tell of every algorithm, and can contradict the paper."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.experiments import z_workload
from benchmarks.experiments.experiment import Experiment, Outcome, Point, Run, Word
from benchmarks.experiments.z_workload import BF, INV, OURS, PACKED_BF, PACKED_INV, TRIES, Setting
from benchmarks.figures import paper_z
from benchmarks.filter_workloads import WrongAnswer
from benchmarks.watch_opponents import Numbers

SERIES = {BF, INV, PACKED_BF, PACKED_INV, TRIES, OURS}
TINY: dict[str, Any] = {"vertices": 300, "updates": 300, "matching": 0.2, "scanned": 6, "walked": 100, "repeats": 1}
FILTERING = (paper_z.EXPERIMENT_1B, paper_z.EXPERIMENT_1C, paper_z.EXPERIMENT_1D)
VARIED: dict[str, dict[str, Any]] = {
    "z-1a": {"queries": [10, 20], "lengths": [4]},
    "z-1b": {"queries": [10, 20], "length": 5},
    "z-1c": {"queries": 20, "lengths": [4, 6]},
    "z-1d": {"queries": 20, "length": 5, "percents": [5, 50]},
}


def _points(experiment: Experiment) -> Outcome:
    return Outcome(tuple(experiment.measure(Run(3, {**TINY, **VARIED[experiment.name]}))))


@pytest.mark.parametrize("experiment", [paper_z.EXPERIMENT_1A, *FILTERING], ids=lambda each: each.name)
def test_every_algorithm_is_measured_at_every_place(experiment: Experiment) -> None:
    outcome = _points(experiment)
    assert set(outcome.series) == SERIES
    assert len(outcome.xs) == 2
    assert all(len(outcome.line(series)) == len(outcome.xs) for series in outcome.series)
    assert all(sample > 0 for point in outcome.points for sample in point.samples)
    assert experiment.judge(outcome).sentence.endswith(".")


def test_a_wrong_answer_is_not_measured() -> None:
    given = Setting(3, 300, 300, 20, 5, 0.5, 300, 300, 1)
    tables = z_workload.tables_of(given)
    numbers = Numbers.of(tables)
    queries = z_workload.queries_of(numbers)
    assert z_workload._counted(numbers, queries) > 0
    wrong = numbers._replace(expected=numbers.expected[1:])
    with pytest.raises(WrongAnswer):
        z_workload._counted(wrong, queries)
    with pytest.raises(WrongAnswer):
        z_workload._scanned(wrong, queries, 300)
    with pytest.raises(WrongAnswer):
        z_workload._ours({**tables, "expected": tables["expected"].slice(1)})


# --- verdicts ---------------------------------------------------------------------------------------------------


def _filtering(times: dict[str, float], queries: tuple[int, int] = (10_000, 50_000)) -> Outcome:
    """Times at the second of two places; at the first BF takes a share by its queries, the others a little less."""
    shares = {BF: queries[0] / queries[1], PACKED_BF: queries[0] / queries[1]}
    return Outcome(
        tuple(
            Point(name, number, [time * (shares.get(name, 0.9) if number == queries[0] else 1.0)], {"queries": number})
            for name, time in times.items()
            for number in queries
        )
    )


@pytest.mark.parametrize("experiment", FILTERING, ids=lambda each: each.name)
@pytest.mark.parametrize(
    ("ahead", "word"), [(45_000, Word.REPRODUCED), (10_000, Word.PARTLY), (10, Word.DIFFERENT), (0.5, Word.DIFFERENT)]
)
def test_how_far_ahead_inv_has_to_be(experiment: Experiment, ahead: float, word: Word) -> None:
    times = {BF: ahead, INV: 1.0, PACKED_BF: ahead * 0.2, PACKED_INV: 0.2, TRIES: 5.0, OURS: 0.1}
    assert experiment.judge(_filtering(times)).word is word


def test_a_time_that_does_not_grow_is_not_the_papers() -> None:
    times = {BF: 45_000.0, INV: 1.0, PACKED_BF: 9_000.0, PACKED_INV: 0.2, TRIES: 5.0, OURS: 0.1}
    grown = _filtering(times)
    flat = [point._replace(samples=[1.0]) if point.series == INV else point for point in grown.points]
    assert paper_z.judge_1b(grown).word is Word.REPRODUCED
    assert paper_z.judge_1b(Outcome(tuple(flat))).word is Word.PARTLY


def _inserting(bf: float, longer: float, larger: float) -> Outcome:
    """BF's time as a share of INV's, and the factors of longer queries and of a larger database."""
    times = {BF: 2.0, INV: 1.0, PACKED_BF: bf, PACKED_INV: 1.0, OURS: 10.0}
    places = [(length, queries) for length in (4, 6) for queries in (10, 20)]
    return Outcome(
        tuple(
            Point(
                name,
                f"{length}: {queries}",
                [time * (longer if length == 6 else 1) * (larger if queries == 20 else 1)],
                {"length": length, "queries": queries},
            )
            for name, time in times.items()
            for length, queries in places
        )
    )


def test_what_is_said_of_inserting() -> None:
    assert paper_z.judge_1a(_inserting(1 / 9, 1.4, 1.0)).word is Word.REPRODUCED
    assert paper_z.judge_1a(_inserting(1 / 2, 1.4, 1.0)).word is Word.PARTLY
    assert paper_z.judge_1a(_inserting(2.0, 0.9, 5.0)).word is Word.DIFFERENT
