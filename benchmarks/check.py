"""A speed table as code: each row has a workload, a target, and a function that measures it.

A row is measured several times; the median is held against the target and the spread (slowest − fastest, as a share of
the median) is shown beside it. Nothing is dropped.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a speed table. `measure(seed)` returns a number in `unit`, or several of one workload.

    A row without a target tells something beside the table's claims and cannot fail.
    """

    name: str
    workload: str
    unit: str
    target: float | None
    measure: Callable[[int], float | Sequence[float]]
    at_least: bool = False  # else the target is an upper limit
    repeats: int = 3

    @property
    def target_text(self) -> str:
        return "–" if self.target is None else f"{'≥' if self.at_least else '≤'} {self.target:,.6g} {self.unit}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A row as measured."""

    row: Row
    samples: tuple[float, ...]

    @property
    def measured(self) -> float:
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        return (max(self.samples) - min(self.samples)) / self.measured if self.measured else 0.0

    @property
    def passed(self) -> bool:
        if self.row.target is None:
            return True
        return self.measured >= self.row.target if self.row.at_least else self.measured <= self.row.target


def run(rows: list[Row], seed: int) -> Iterator[Outcome]:
    """Measures each row with seeds that follow `seed`, so that no repeat sees the same workload twice."""
    for row in rows:
        measured = [row.measure(seed + repeat) for repeat in range(row.repeats)]
        yield Outcome(row, tuple(sample for each in measured for sample in _samples(each)))


def _samples(measured: float | Sequence[float]) -> Sequence[float]:
    return measured if isinstance(measured, Sequence) else (measured,)
