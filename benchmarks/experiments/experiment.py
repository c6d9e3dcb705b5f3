"""A table or figure of a paper as code: what it varies, how a point is measured, and how the outcome is judged.

The laws: a measurement raises `WrongAnswer` before it tells a time that belongs to a wrong answer; every repeat is
kept; the sentence on the outcome is made from what was measured, so that it is true at every scale and seed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

X = float | str


class Scale(StrEnum):
    """How large: minutes for all of them together, the papers' own parameters, or beyond."""

    SMALL = "small"
    PAPER = "paper"
    LARGE = "large"


class Word(StrEnum):
    """What became of a paper's statement."""

    REPRODUCED = "reproduced"
    PARTLY = "partly reproduced"
    DIFFERENT = "different"
    MEASURED = "measured"  # no paper states anything


class Verdict(NamedTuple):
    """One word, and one sentence with the figures that it rests on."""

    word: Word
    sentence: str


class Axis(NamedTuple):
    """What is drawn along an axis."""

    label: str
    unit: str = ""
    log: bool = False

    @property
    def text(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


class Point(NamedTuple):
    """One place on one line: all repeats in the unit of the y axis, and what else was counted there."""

    series: str
    x: X
    samples: Sequence[float]
    facts: Mapping[str, Any] = {}

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """Largest less smallest, as a share of the median."""
        return (max(self.samples) - min(self.samples)) / self.median if self.median else 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """What a measurement is given."""

    seed: int
    parameters: Mapping[str, Any]
    tell: Callable[[str], None] = lambda text: None  # what it is doing now

    def __getitem__(self, name: str) -> Any:
        return self.parameters[name]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The points as measured; what a verdict is made from."""

    points: tuple[Point, ...]

    @property
    def series(self) -> list[str]:
        return list(dict.fromkeys(point.series for point in self.points))

    @property
    def xs(self) -> list[X]:
        """Numbers in ascending order, names as they came."""
        found = list(dict.fromkeys(point.x for point in self.points))
        return found if any(isinstance(x, str) for x in found) else sorted(found, key=float)

    def line(self, series: str) -> list[Point]:
        """The points of a line, in the order in which they were measured."""
        return [point for point in self.points if point.series == series]

    def at(self, series: str, x: X) -> float:
        """The median at one place."""
        return next(point.median for point in self.line(series) if point.x == x)

    def first(self, series: str) -> float:
        return self.line(series)[0].median

    def last(self, series: str) -> float:
        return self.line(series)[-1].median

    def growth(self, series: str) -> float:
        """The last median as a multiple of the first."""
        return self.last(series) / self.first(series)

    def exponent(self, series: str) -> float:
        """The e of x ** e that fits the medians best, by least squares of the logarithms."""
        return exponent([(float(point.x), point.median) for point in self.line(series)])


def exponent(points: Iterable[tuple[float, float]]) -> float:
    """The slope of a straight line through the logarithms."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len(logs) < 2:
        return math.nan
    slope: float = statistics.linear_regression(*zip(*logs, strict=True)).slope
    return slope


Measure = Callable[[Run], Iterator[Point]]
Judge = Callable[[Outcome], Verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One table or figure.

    `parameters` gives for each scale what `measure` needs; a scale that is missing is the next smaller one.
    """

    name: str
    paper: str  # where it is printed: "[G] fig. 9 (a)"
    title: str
    statement: str  # what the paper says, in words of ours
    checked: str  # how answers are compared before times are
    x: Axis
    y: Axis
    parameters: Mapping[Scale, Mapping[str, Any]]
    measure: Measure
    judge: Judge
    table: bool = False  # nothing to draw
    fitted: bool = False  # with the exponent of each line
    notes: str = ""  # what differs from the paper's setting, and why
    needs: Sequence[str] = field(default=())  # "java", or a distribution that must be installed

    def at(self, scale: Scale) -> Mapping[str, Any]:
        order = list(Scale)
        for each in reversed(order[: order.index(scale) + 1]):
            if each in self.parameters:
                return self.parameters[each]
        raise KeyError(scale)
