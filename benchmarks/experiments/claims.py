"""From the claims of a paper to one word: all of them hold, some do, or none."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.experiments.experiment import Verdict, Word


def judged(claims: Iterable[bool], sentence: str) -> Verdict:
    """Reproduced if all claims hold, partly if some do, different if none does."""
    held = list(claims)
    word = Word.REPRODUCED if all(held) else Word.PARTLY if any(held) else Word.DIFFERENT
    return Verdict(word, sentence)


def linear(exponent: float) -> bool:
    """Whether a fitted exponent is one, as far as a few medians tell."""
    return 0.8 <= exponent <= 1.2


def span(values: Iterable[float], form: str) -> str:
    """From the smallest to the largest, or the only one."""
    every = list(values)
    least, most = (format(value, form) for value in (min(every), max(every)))
    return least if least == most else f"{least} to {most}"
