"""What is said of peers: how many times as long each takes as Heliograph, wherever both were measured."""

from __future__ import annotations

from benchmarks.experiments.experiment import Outcome, Verdict, Word

OURS = "heliograph"


def against_ours(outcome: Outcome) -> Verdict:
    """Each peer over all places that it was taken to; below 1 it is the quicker one."""
    told = (_ratios(outcome, series) for series in outcome.series if series != OURS)
    return Verdict(
        Word.MEASURED, f"As multiples of Heliograph's time, from the first place to the last: {'; '.join(told)}."
    )


def _ratios(outcome: Outcome, series: str) -> str:
    line = outcome.line(series)
    first, last = (_number(point.median / outcome.at(OURS, point.x)) for point in (line[0], line[-1]))
    return f"{series} {first} to {last}" if len(line) > 1 else f"{series} {first}"


def _number(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2g}"
