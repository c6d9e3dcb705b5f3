"""The benchmarks of distances and Steiner trees, small: their answers are those of networkx, or they raise."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import metric_paths
from benchmarks.filter_workloads import WrongAnswer

from heliograph.kernels.metric_layout import WENT

SMALL = metric_paths.Size(vertices=300, changes=120, instances=10, cap=30)


@pytest.mark.parametrize("undirected", [False, True])
def test_distances_are_measured(undirected: bool) -> None:
    assert min(metric_paths.measure_distances(3, undirected, SMALL)) > 0
    assert min(metric_paths.measure_distances_rerun(3, undirected, SMALL)) > 0


def test_trees_are_measured() -> None:
    assert min(metric_paths.measure_trees(3, SMALL)) > 0
    assert min(metric_paths.measure_trees_rerun(3, SMALL)) > 0


def test_a_third_of_the_changes_are_deletions_and_no_degree_is_above_the_cap() -> None:
    stream = metric_paths.draw_stream(SMALL, np.random.default_rng(3))
    changes = np.concatenate([part.change for part in stream.parts])
    assert (len(changes), int(np.count_nonzero(changes == WENT))) == (360, 120)
    assert len(stream.after) == len(stream.before.step) + 240 - 120
    assert np.bincount(stream.after.ravel()).max() <= SMALL.cap


def test_a_wrong_answer_is_no_time() -> None:
    with pytest.raises(WrongAnswer, match="1 of 2 differ"):
        metric_paths.rerun_seconds({(0, 1): 1.0, (0, 2): 2.0}, lambda ends: 1.0)
