"""How a cost grows: the same for each verb, one line or several over one axis, with the exponent that fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.experiments.experiment import (
    Axis,
    Experiment,
    Judge,
    Measure,
    Outcome,
    Scale,
    Verdict,
    Word,
    exponent,
)


def growth(
    name: str,
    title: str,
    axes: tuple[Axis, Axis],
    parameters: Mapping[Scale, Mapping[str, Any]],
    measure: Measure,
    notes: str = "",
) -> Experiment:
    """An experiment that no paper has: both axes are logarithmic."""
    x, y = axes
    return Experiment(
        name=f"growth-{name}",
        paper="Growth",
        title=title,
        statement="",
        checked="notifications are those that the workload must give",
        x=x._replace(log=True),
        y=y._replace(log=True),
        parameters=parameters,
        measure=measure,
        judge=_judging(x, y),
        fitted=True,
        notes=notes,
    )


def _judging(x: Axis, y: Axis) -> Judge:
    def judge(outcome: Outcome) -> Verdict:
        lines = (_grows(outcome, series, x, y) for series in outcome.series)
        return Verdict(Word.MEASURED, f"{'; '.join(lines)}.")

    return judge


def _grows(outcome: Outcome, series: str, x: Axis, y: Axis) -> str:
    line = outcome.line(series)
    times = float(line[-1].x) / float(line[0].x)
    last = exponent((float(point.x), point.median) for point in line[-2:])
    return (
        f"{series}: {times:,.0f} times the {x.label} make the {y.label} {outcome.growth(series):.3g} times as large "
        f"(exponent {outcome.exponent(series):.2f}, in the last step {last:.2f})"
    )
