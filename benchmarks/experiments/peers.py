"""What is said of peers: how many times as long each takes as Heliograph, where both were measured last."""

from __future__ import annotations

from benchmarks.experiments.experiment import Outcome, Verdict, Word

OURS = "heliograph"


def against_ours(outcome: Outcome) -> Verdict:
    """Each peer at the largest x that it was taken to."""
    told = (_ratio(outcome, series) for series in outcome.series if series != OURS)
    return Verdict(Word.OURS, f"As multiples of Heliograph's time: {', '.join(told)}.")


def _ratio(outcome: Outcome, series: str) -> str:
    last = outcome.line(series)[-1]
    ratio = last.median / outcome.at(OURS, last.x)
    where = f" at {last.x:,}" if not isinstance(last.x, str) else f" ({last.x})"
    return f"{series} {ratio:,.3g}{where}"
