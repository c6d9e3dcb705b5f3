"""The workloads of betweenness are what they say, and nothing is measured where a value is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import metric_betweenness
from benchmarks.filter_workloads import WrongAnswer
from benchmarks.metric_betweenness import Size, after, attached, begun, stream

from heliograph.watch.metrics.thresholds import WENT

SMALL = Size(exact=60, sampled=120, links=3, cap=12, exact_updates=30, updates=60, batch=20, samples=1)


def test_sizes_are_those_of_the_issue() -> None:
    full = Size()
    assert (full.exact, full.sampled, full.links, full.cap) == (4_000, 10_000, 5, 500)
    assert (metric_betweenness.EPSILON, metric_betweenness.DELTA) == (0.05, 0.1)


def test_a_third_of_the_updates_take_away_what_is_there() -> None:
    given = stream(4, 60, 30, SMALL)
    assert (given.changes[:, 0] == WENT).sum() == 10
    assert after(given).number_of_edges() == len(given.edges) + 10


def test_degrees_are_capped() -> None:
    arcs = attached(np.random.default_rng(1), 120, SMALL)
    assert np.bincount(arcs.ravel()).max() == SMALL.cap
    assert len(arcs) == 117 * SMALL.links


@pytest.mark.parametrize("limit", [0, 100])
def test_a_wrong_value_is_not_measured(limit: int) -> None:
    given = stream(4, 60, 30, SMALL)
    measure = begun(given.edges, limit)
    measure._sums.values[:] = 0.9
    with pytest.raises(WrongAnswer, match="off by"):
        metric_betweenness._check(measure, given, 0.05)


def test_exact_values_are_not_measured_as_sampled() -> None:
    with pytest.raises(WrongAnswer, match="not sampled"):
        metric_betweenness.measure_sampled(3, SMALL._replace(exact=500))
