"""What is read off measured points: medians, spreads, growth and exponents."""

from __future__ import annotations

import math

import pytest
from benchmarks.experiments.experiment import Outcome, Point, Scale, exponent
from benchmarks.experiments.runner import experiments
from hypothesis import given
from hypothesis import strategies as st


def test_medians_spreads_and_growth() -> None:
    points = (Point("a", 10, [3.0, 1.0, 2.0]), Point("b", 10, [5.0]), Point("a", 100, [20.0, 10.0, 30.0]))
    outcome = Outcome(points)
    assert outcome.series == ["a", "b"]
    assert (outcome.first("a"), outcome.last("a"), outcome.at("b", 10)) == (2.0, 20.0, 5.0)
    assert outcome.growth("a") == 10.0
    assert points[0].spread == 1.0


def test_numbers_are_in_order_and_names_as_they_came() -> None:
    assert Outcome((Point("a", 30, [1.0]), Point("b", 4, [1.0]))).xs == [4, 30]
    assert Outcome((Point("a", "z", [1.0]), Point("a", "b", [1.0]))).xs == ["z", "b"]


@given(st.floats(-2, 3), st.floats(0.01, 100), st.lists(st.floats(1, 1e6), min_size=2, max_size=6, unique=True))
def test_a_power_is_found_again(power: float, factor: float, xs: list[float]) -> None:
    if max(xs) / min(xs) > 1.5:
        assert exponent((x, factor * x**power) for x in xs) == pytest.approx(power, abs=1e-6)


def test_one_point_has_no_exponent() -> None:
    assert math.isnan(exponent([(3.0, 4.0)]))


def test_every_experiment_has_a_name_of_its_own_and_a_small_scale() -> None:
    found = experiments()
    assert len(found) >= 17
    for name, experiment in found.items():
        assert name == experiment.name
        assert experiment.at(Scale.SMALL)
        assert experiment.at(Scale.LARGE)
