"""The measurements of the predicate index, on small workloads: they give numbers, and refuse wrong answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from benchmarks import predicate_index as bench
from benchmarks.predicate_workloads import Size, draw

DENSE, SPARSE = Size(300, 6, 6, 1 / 8, 80), Size(300, 60, 12, 1 / 100, 80)


@pytest.mark.parametrize("measure", [bench.measure_small, bench.measure_alone, bench.measure_parsing])
@pytest.mark.parametrize("size", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_measurements_give_positive_numbers(measure: Callable[[int, Size], Sequence[float]], size: Size) -> None:
    assert all(sample > 0 for sample in measure(1, size))


def test_changes_are_measured_on_an_index_of_their_own() -> None:
    assert bench.measure_change(1, DENSE, 50) > 0
    assert len(bench.make(1, DENSE).predicates) == DENSE.predicates


@pytest.mark.parametrize("size", [DENSE, SPARSE], ids=["dense", "sparse"])
def test_workloads_are_as_selective_as_they_say(size: Size) -> None:
    workload = draw(2, size._replace(events=400))
    share = np.mean([len(workload.accepting(event)) for event in range(400)]) / size.predicates
    assert size.selectivity / 2 < share < size.selectivity * 2
    assert set((workload.values >= 0).sum(axis=1).tolist()) == {size.defined}


def test_wrong_answers_are_refused() -> None:
    case = bench.make(1, DENSE)
    found = case.predicates.match(case.workload.events)
    case.predicates.remove("p0")
    case.predicates.add(("p1", "topic IS NULL"))
    with pytest.raises(bench.WrongAnswer):
        bench.check(case.workload, case.predicates.match(case.workload.events))
    bench.make.cache_clear()
    assert len(found) == DENSE.events
