"""Outcomes of experiments as they might have been measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.experiments.experiment import Outcome, Point, X


def lines(xs: Sequence[X], drawn: Mapping[str, Sequence[float]]) -> Outcome:
    """Each line by its name, with one y for each x; matches become more along the axis."""
    return Outcome(
        tuple(
            Point(name, x, [y], {"matches": at, "candidates": 10 * at, "busiest": "front", "front": 100 // at})
            for name, ys in drawn.items()
            for at, (x, y) in enumerate(zip(xs, ys, strict=True), 1)
        )
    )
